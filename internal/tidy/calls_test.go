package tidy

import (
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// readsClock are the folders whose code may read the real clock and draw real
// chance: the wiring, programs to copy, and plumbing of the build and the tests.
// Everywhere else time, identifiers and chance are arguments.
var readsClock = []string{"cmd", "examples", "internal"}

// clockCalls are the functions of package time that read the clock.
var clockCalls = []string{"Now", "Since", "Until"}

// chancePackages draw from the machine's chance.
var chancePackages = []string{"math/rand", "math/rand/v2", "crypto/rand"}

// checkClock finds the real clock and real chance outside the wiring.
func checkClock(t *tree) []finding {
	var out []finding
	for _, f := range t.goFiles() {
		allowed := slices.ContainsFunc(readsClock, func(folder string) bool { return within(f.dir(), folder) })
		if f.isTest() || allowed {
			continue
		}
		for _, spec := range f.syntax.Imports {
			if imported := strings.Trim(spec.Path.Value, `"`); slices.Contains(chancePackages, imported) {
				out = append(out, t.at(f, spec.Pos(), "%s: chance is an argument, only cmd draws it", imported))
			}
		}
		for _, use := range selectors(f, f.importName("time"), clockCalls) {
			out = append(out, t.at(f, use.Pos(), "time.%s: the clock is an argument, only cmd reads the real one", use.Sel.Name))
		}
	}
	return out
}

// selectors lists the uses of the named members of an imported package.
func selectors(f *file, pkg string, members []string) []*ast.SelectorExpr {
	if pkg == "" {
		return nil
	}
	var out []*ast.SelectorExpr
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		use, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := use.X.(*ast.Ident); ok && x.Name == pkg && x.Obj == nil && slices.Contains(members, use.Sel.Name) {
			out = append(out, use)
		}
		return true
	})
	return out
}

// scriptSleep is a pause in a test script.
var scriptSleep = regexp.MustCompile(`(?m)^[!? ]*exec sleep\b`)

// checkSleep finds pauses: a test waits for a signal or lives in virtual time,
// and the product waits on a timer that its context can end.
func checkSleep(t *tree) []finding {
	var out []finding
	for _, f := range t.files {
		if f.syntax == nil {
			if strings.HasSuffix(f.path, ".txtar") {
				out = append(out, matches(f, scriptSleep, "a script waits for what it needs, it does not sleep")...)
			}
			continue
		}
		for _, use := range selectors(f, f.importName("time"), []string{"Sleep"}) {
			out = append(out, t.at(f, use.Pos(), "time.Sleep: wait for a signal, or use virtual time"))
		}
	}
	return out
}

// checkSkip finds tests that leave themselves out: what a test needs, `make
// test` installs.
func checkSkip(t *tree) []finding {
	var out []finding
	for _, f := range t.goFiles() {
		pkg := f.importName("testing")
		if pkg == "" {
			continue
		}
		if f.isTest() {
			for _, use := range selectors(f, pkg, []string{"Short"}) {
				out = append(out, t.at(f, use.Pos(), "testing.Short: every test runs every time"))
			}
		}
		ast.Walk(skipFinder{tree: t, file: f, pkg: pkg, out: &out}, f.syntax)
	}
	return out
}

// skipFinder walks a file and knows, at each place, which names are a
// *testing.T, *testing.B, *testing.F or testing.TB there. A property's own
// Skip (it discards one drawn case) is therefore not mistaken for a test's.
type skipFinder struct {
	tree  *tree
	file  *file
	pkg   string
	names map[string]bool
	out   *[]finding
}

// Visit implements ast.Visitor.
func (s skipFinder) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.FuncDecl:
		s.names = s.with(n.Type)
	case *ast.FuncLit:
		s.names = s.with(n.Type)
	case *ast.CallExpr:
		use, ok := n.Fun.(*ast.SelectorExpr)
		if !ok {
			break
		}
		x, ok := use.X.(*ast.Ident)
		if ok && s.names[x.Name] && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, use.Sel.Name) {
			*s.out = append(*s.out, s.tree.at(s.file, n.Pos(), "%s.%s: a test that does not run proves nothing", x.Name, use.Sel.Name))
		}
	}
	return s
}

// with adds the parameters of a function to the names known so far: those
// that are a test, and, so that they hide an outer one, those that are not.
func (s skipFinder) with(fn *ast.FuncType) map[string]bool {
	names := map[string]bool{}
	maps.Copy(names, s.names)
	for _, field := range fn.Params.List {
		kind := field.Type
		if star, ok := kind.(*ast.StarExpr); ok {
			kind = star.X
		}
		use, ok := kind.(*ast.SelectorExpr)
		x, named := (*ast.Ident)(nil), false
		if ok {
			x, named = use.X.(*ast.Ident)
		}
		for _, name := range field.Names {
			names[name.Name] = named && x.Name == s.pkg && slices.Contains([]string{"T", "B", "F", "TB"}, use.Sel.Name)
		}
	}
	return names
}
