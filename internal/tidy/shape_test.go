package tidy

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

const (
	// maxFunctionLines is a screen: a function that does not fit hides a step.
	maxFunctionLines = 70
	// maxFileLines is where a file is perhaps two ideas (aim: 500).
	maxFileLines = 600
)

// longFunctions are the functions that may be longer than a screen, each with
// the reason. It is empty, and a name in it that no longer needs it is itself a
// finding.
var longFunctions = map[string]string{}

// vagueNames say nothing about what is in a package.
var vagueNames = []string{"util", "utils", "common", "helper", "helpers", "model", "models", "misc", "shared", "base"}

// checkFunctionLength finds functions longer than a screen, outside tests.
func checkFunctionLength(t *tree) []finding {
	var out []finding
	used := map[string]bool{}
	for _, f := range t.goFiles() {
		if f.isTest() || f.isGenerated() {
			continue
		}
		for _, decl := range f.syntax.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			lines := t.fset.Position(fn.End()).Line - t.fset.Position(fn.Pos()).Line + 1
			if lines <= maxFunctionLines {
				continue
			}
			name := f.dir() + "." + fn.Name.Name
			used[name] = true
			if longFunctions[name] == "" {
				out = append(out, t.at(f, fn.Pos(), "%s has %d lines, more than %d: name its steps", fn.Name.Name, lines, maxFunctionLines))
			}
		}
	}
	for name := range longFunctions {
		if !used[name] {
			out = append(out, finding{"internal/tidy/shape_test.go", 1, name + " is listed as a long function and is none"})
		}
	}
	return out
}

// checkFileLength finds files that are perhaps two ideas.
func checkFileLength(t *tree) []finding {
	var out []finding
	for _, f := range t.goFiles() {
		if n := f.lines(); n > maxFileLines && !f.isGenerated() {
			out = append(out, t.at(f, f.syntax.Package, "%d lines, more than %d: perhaps two ideas", n, maxFileLines))
		}
	}
	return out
}

// checkPackageNames refuses names that say nothing.
func checkPackageNames(t *tree) []finding {
	var out []finding
	for _, f := range t.goFiles() {
		name := strings.TrimSuffix(f.syntax.Name.Name, "_test")
		if slices.Contains(vagueNames, name) || slices.Contains(vagueNames, path.Base(f.dir())) {
			out = append(out, t.at(f, f.syntax.Package, "package %s says nothing about what is in it", name))
		}
	}
	return out
}

// checkImportForms refuses dot imports and init functions.
func checkImportForms(t *tree) []finding {
	var out []finding
	for _, f := range t.goFiles() {
		for _, spec := range f.syntax.Imports {
			if spec.Name != nil && spec.Name.Name == "." {
				out = append(out, t.at(f, spec.Pos(), "dot import of %s: a reader cannot see where its names come from", spec.Path.Value))
			}
		}
		for _, decl := range f.syntax.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" && !f.isGenerated() {
				out = append(out, t.at(f, fn.Pos(), "init function: let the caller make what it needs"))
			}
		}
	}
	return out
}

// checkPackageVariables finds package variables that functions assign to, or
// whose type is there to be changed. Tables and errors are fine.
func checkPackageVariables(t *tree) []finding {
	var out []finding
	for _, files := range t.packages() {
		names := map[string]bool{}
		for _, f := range files {
			if f.isTest() || f.isGenerated() {
				continue
			}
			out = append(out, stateVariables(t, f, names)...)
		}
		for _, f := range files {
			if !f.isTest() {
				out = append(out, assignments(t, f, names)...)
			}
		}
	}
	return out
}

// stateVariables collects the names of a file's package variables and finds
// those whose type holds state.
func stateVariables(t *tree, f *file, names map[string]bool) []finding {
	var out []finding
	for _, decl := range f.syntax.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.VAR {
			continue
		}
		for _, spec := range gen.Specs {
			value := spec.(*ast.ValueSpec)
			for _, name := range value.Names {
				names[name.Name] = name.Name != "_"
			}
			selector, ok := value.Type.(*ast.SelectorExpr)
			if !ok {
				continue
			}
			if from, ok := selector.X.(*ast.Ident); ok && (from.Name == "sync" || from.Name == "atomic") {
				out = append(out, t.at(f, value.Pos(), "package variable %s holds state: make it a field", value.Names[0].Name))
			}
		}
	}
	return out
}

// assignments finds writes to the named package variables in a file's
// functions. A name that the file resolves to something local is not one.
func assignments(t *tree, f *file, names map[string]bool) []finding {
	var out []finding
	check := func(expr ast.Expr) {
		for {
			switch e := expr.(type) {
			case *ast.IndexExpr:
				expr = e.X
				continue
			case *ast.Ident:
				if names[e.Name] && isPackageLevel(f, e) {
					out = append(out, t.at(f, e.Pos(), "assignment to the package variable %s: make it a field or an argument", e.Name))
				}
			}
			return
		}
	}
	for _, decl := range f.syntax.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			switch s := n.(type) {
			case *ast.AssignStmt:
				if s.Tok != token.DEFINE {
					for _, left := range s.Lhs {
						check(left)
					}
				}
			case *ast.IncDecStmt:
				check(s.X)
			}
			return true
		})
	}
	return out
}

// isPackageLevel says whether a name in a function body means the package's
// variable: the parser resolves what is local to the function.
func isPackageLevel(f *file, name *ast.Ident) bool {
	if name.Obj == nil {
		return true // another file's, since nothing local has the name
	}
	return f.syntax.Scope != nil && f.syntax.Scope.Lookup(name.Name) == name.Obj
}

// unfinished are the marks that work leaves when it is not done.
var unfinished = regexp.MustCompile(`\b(` + "TO" + `DO|FIX` + `ME|HA` + `CK)\b`)

// checkUnfinished finds marks of unfinished work in comments and pages.
func checkUnfinished(t *tree) []finding {
	var out []finding
	for _, f := range t.files {
		if f.syntax == nil {
			if strings.HasSuffix(f.path, ".md") || strings.HasSuffix(f.path, ".sql") {
				out = append(out, matches(f, unfinished, "unfinished work: do it, or file it")...)
			}
			continue
		}
		for _, group := range f.syntax.Comments {
			if unfinished.MatchString(group.Text()) {
				out = append(out, t.at(f, group.Pos(), "unfinished work: do it, or file it"))
			}
		}
	}
	return out
}

// matches makes a finding of each place where a pattern stands in a file.
func matches(f *file, pattern *regexp.Regexp, what string) []finding {
	var out []finding
	for _, at := range pattern.FindAllStringIndex(f.text, -1) {
		line := strings.Count(f.text[:at[0]], "\n") + 1
		out = append(out, finding{f.path, line, what + ": " + strings.TrimSpace(f.text[at[0]:at[1]])})
	}
	return out
}
