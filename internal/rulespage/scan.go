package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// proof is one test that says it proves rules.
type proof struct {
	file string // relative to the module's root, with forward slashes
	name string // the function's, or the script's without its ending
	ids  []string
}

var (
	// provesLine is the line by which a test names its rules.
	provesLine = regexp.MustCompile(`^\s*Proves:(.*)$`)
	// ruleID is the form of a rule's number.
	ruleID = regexp.MustCompile(`^[MI][0-9]+[a-z]?$`)
	// testName is the form of a function that `go test` runs.
	testName = regexp.MustCompile(`^(Test|Fuzz|Example|Benchmark)`)
)

// scan finds every proof below root. Every line that begins with "Proves:" is
// either part of one, or an error.
func scan(root fs.FS) ([]proof, error) {
	var proofs []proof
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != "." && strings.HasPrefix(entry.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		}
		inTestdata := strings.Contains("/"+name, "/testdata/")
		if !(strings.HasSuffix(name, ".go") && !inTestdata) && !strings.HasSuffix(name, ".txtar") {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		read := fromGo
		if strings.HasSuffix(name, ".txtar") {
			read = fromScript
		}
		found, err := read(name, string(text))
		proofs = append(proofs, found...)
		return err
	})
	sort.Slice(proofs, func(i, j int) bool {
		return proofs[i].file+"\x00"+proofs[i].name < proofs[j].file+"\x00"+proofs[j].name
	})
	return proofs, err
}

// fromGo reads the proofs of one Go file.
func fromGo(name, text string) ([]proof, error) {
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, name, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var proofs []proof
	owned := map[*ast.Comment]bool{}
	for _, decl := range syntax.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Doc == nil || !isTest(name, fn) {
			continue
		}
		p := proof{file: name, name: fn.Name.Name}
		for _, comment := range fn.Doc.List {
			match := provesLine.FindStringSubmatch(strings.TrimPrefix(comment.Text, "//"))
			if match == nil {
				continue
			}
			owned[comment] = true
			ids, err := parseIDs(match[1])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", fset.Position(comment.Pos()), err)
			}
			p.ids = append(p.ids, ids...)
		}
		if len(p.ids) > 0 {
			proofs = append(proofs, p)
		}
	}
	for _, group := range syntax.Comments {
		for _, comment := range group.List {
			if !owned[comment] && provesLine.MatchString(strings.TrimPrefix(comment.Text, "//")) {
				return nil, fmt.Errorf("%s: this line belongs to no test: write it in the comment of the function that proves it",
					fset.Position(comment.Pos()))
			}
		}
	}
	return proofs, nil
}

// isTest says whether a function is run as a test: by go test, or, in the
// ordinary file of a suite, by a test that hands itself to it.
func isTest(name string, fn *ast.FuncDecl) bool {
	if strings.HasSuffix(name, "_test.go") && testName.MatchString(fn.Name.Name) {
		return true
	}
	for _, field := range fn.Type.Params.List {
		kind := field.Type
		if star, ok := kind.(*ast.StarExpr); ok {
			kind = star.X
		}
		use, ok := kind.(*ast.SelectorExpr)
		if !ok {
			continue
		}
		x, ok := use.X.(*ast.Ident)
		if ok && x.Name == "testing" && slices.Contains([]string{"T", "B", "F", "TB"}, use.Sel.Name) {
			return true
		}
	}
	return false
}

// fromScript reads the proof of one script test: its lines are in the comment
// at the head, before the first line that is neither comment nor empty. A
// script of another package's golden files without such lines is no proof.
func fromScript(name, text string) ([]proof, error) {
	p := proof{file: name, name: strings.TrimSuffix(path.Base(name), ".txtar")}
	head := true
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		comment, isComment := strings.CutPrefix(line, "#")
		head = head && (isComment || line == "")
		match := provesLine.FindStringSubmatch(comment)
		if !isComment || match == nil {
			continue
		}
		if !head {
			return nil, fmt.Errorf("%s:%d: this line stands too late: write it at the head of the script", name, n)
		}
		ids, err := parseIDs(match[1])
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		p.ids = append(p.ids, ids...)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(p.ids) == 0 {
		return nil, nil
	}
	return []proof{p}, nil
}

// parseIDs reads a list of rule numbers with commas between them; a full stop
// may end it.
func parseIDs(list string) ([]string, error) {
	var ids []string
	for id := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(list), "."), ",") {
		id = strings.TrimSpace(id)
		if !ruleID.MatchString(id) {
			return nil, fmt.Errorf("%q is no rule's number: write \"Proves: M11a, I9\"", id)
		}
		if !known(id) {
			return nil, fmt.Errorf("there is no rule %s", id)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// known says whether there is a rule of that number.
func known(id string) bool {
	return slices.ContainsFunc(groups, func(g group) bool {
		return slices.ContainsFunc(g.rules, func(r rule) bool { return r.id == id })
	})
}
