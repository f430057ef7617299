package tidy

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
)

// boast is the promise that nobody can keep (rule M26), in any spelling, also
// across a line break in a comment. It is put together from two halves so that
// this file does not hold it.
var boast = regexp.MustCompile(`(?i)exactly` + `[\s/#*_-]*` + `once`)

// workplace are names that belong to a machine on which the code was written
// and not to the product.
var workplace = regexp.MustCompile(`(^|[\s"'` + "`" + `(=:])/wo` + `rk/|\.\./sha` + `red\b|\bsha` + `red/(spec|vectors|reference|cases|hooks)\b|(?i:\bsub` + `agents?\b)`)

// checkBoast finds the promise outside docs, where it may be explained why it
// is not made.
func checkBoast(t *tree) []finding {
	var out []finding
	for _, f := range t.files {
		if !within(f.path, "docs") {
			out = append(out, matches(f, boast, "say what the target's contract supports (M26), not")...)
		}
	}
	return out
}

// checkWorkplace finds names of the place where the code was written.
func checkWorkplace(t *tree) []finding {
	var out []finding
	for _, f := range t.files {
		out = append(out, matches(f, workplace, "a name of a workplace, not of onefold")...)
	}
	return out
}

// fence opens or closes a code block in a page.
var fence = regexp.MustCompile("^ {0,3}(```|~~~)")

// checkPages holds every page to one title, on its first line.
func checkPages(t *tree) []finding {
	var out []finding
	for _, f := range t.files {
		if !strings.HasSuffix(f.path, ".md") || f.inTestdata() {
			continue
		}
		titles, code := 0, false
		for i, line := range strings.Split(f.text, "\n") {
			if fence.MatchString(line) {
				code = !code
			}
			if code || !strings.HasPrefix(line, "# ") {
				continue
			}
			if titles++; titles > 1 {
				out = append(out, finding{f.path, i + 1, "a second title: a page has one"})
			}
		}
		if titles == 0 {
			out = append(out, finding{f.path, 1, "no title: a page begins with one line \"# …\""})
		}
	}
	return out
}

// checkPackageDoc wants a doc.go with a package comment in every package.
func checkPackageDoc(t *tree) []finding {
	var out []finding
	for dir, files := range t.packages() {
		var doc *file
		for _, f := range files {
			if f.path == "doc.go" || strings.HasSuffix(f.path, "/doc.go") {
				doc = f
			}
		}
		if doc == nil {
			out = append(out, finding{files[0].path, 1, "package " + dir + " has no doc.go: say what it promises and what it does not"})
			continue
		}
		if opening := "Package " + doc.syntax.Name.Name + " "; doc.syntax.Name.Name != "main" && !strings.HasPrefix(doc.syntax.Doc.Text(), opening) {
			out = append(out, t.at(doc, doc.syntax.Package, "the package comment does not begin with %q", opening))
		}
		if doc.syntax.Doc.Text() == "" {
			out = append(out, t.at(doc, doc.syntax.Package, "doc.go has no package comment"))
		}
	}
	return out
}

// checkExportedDoc wants a comment on every exported name outside tests.
func checkExportedDoc(t *tree) []finding {
	var out []finding
	for _, f := range t.goFiles() {
		if f.isTest() || f.isGenerated() {
			continue
		}
		for _, decl := range f.syntax.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && onExported(d) && d.Doc.Text() == "" {
					out = append(out, t.at(f, d.Pos(), "exported %s has no comment", d.Name.Name))
				}
			case *ast.GenDecl:
				out = append(out, undocumented(t, f, d)...)
			}
		}
	}
	return out
}

// onExported says whether a function is no method, or one of an exported type.
func onExported(fn *ast.FuncDecl) bool {
	if fn.Recv == nil {
		return true
	}
	kind := fn.Recv.List[0].Type
	for {
		switch k := kind.(type) {
		case *ast.StarExpr:
			kind = k.X
		case *ast.IndexExpr:
			kind = k.X
		case *ast.IndexListExpr:
			kind = k.X
		case *ast.Ident:
			return k.IsExported()
		default:
			return false
		}
	}
}

// undocumented finds exported types, constants and variables without a
// comment of their own, beside them, or over their group.
func undocumented(t *tree, f *file, decl *ast.GenDecl) []finding {
	var out []finding
	if decl.Tok == token.IMPORT || decl.Doc.Text() != "" {
		return nil
	}
	for _, spec := range decl.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && s.Doc.Text() == "" && s.Comment.Text() == "" {
				out = append(out, t.at(f, s.Pos(), "exported type %s has no comment", s.Name.Name))
			}
		case *ast.ValueSpec:
			for _, name := range s.Names {
				if name.IsExported() && s.Doc.Text() == "" && s.Comment.Text() == "" {
					out = append(out, t.at(f, name.Pos(), "exported %s has no comment", name.Name))
				}
			}
		}
	}
	return out
}
