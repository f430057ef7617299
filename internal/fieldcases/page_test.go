package fieldcases

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// page is the list of cases, from this folder.
const page = "../../docs/internals/field-cases.md"

// cases are all that there are.
const cases = "C01 C02 C03 C04 C11 C15 C17 C20 C21 C22 C23 C25 C26 C27 C30 C32 C33 C34 C35 C36 C37 C41 C42 C43 C44 C45 C46 C48 C49 C50 " +
	"C52 C53 C57 C58 C59 C60 C61 C62 C63 C64 C66 C67 C68 C76 C77 C78 C79 C80 C82 C86 C87 C88 C89 C90 C91 C93 C94 C95 C96 C99 " +
	"C101 C105 C107 C108 C109 C110 C111 C113 C115 C116 C118 C121 C122 C123 C125 C127 C129 C130"

var (
	pageRow  = regexp.MustCompile("^\\| (C[0-9]+) \\| (.+) \\| (`(TestC[0-9]+[A-Za-z]+)`|waits) \\| ?(.*) \\|$")
	caseTest = regexp.MustCompile(`^Test(C[0-9]+)[A-Z]\w*$`)
)

// testsHere lists the story tests of this folder by their case.
func testsHere(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	tests := map[string]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil {
				continue
			}
			m := caseTest.FindStringSubmatch(f.Name.Name)
			if m == nil {
				continue
			}
			if tests[m[1]] != "" {
				t.Errorf("%s and %s tell one case", tests[m[1]], f.Name.Name)
			}
			tests[m[1]] = f.Name.Name
			if story, rules, proves := strings.Cut(f.Doc.Text(), "\n\nProves:"); !proves || strings.TrimSpace(rules) == "" || len(story) < 40 || strings.Contains(story, "\n") {
				t.Errorf("%s does not say on one line what went wrong and below it what it proves: %q", f.Name.Name, f.Doc.Text())
			}
		}
	}
	return tests
}

func TestThePageListsEveryCaseOnce(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	tests := testsHere(t)
	var listed []string
	told := 0
	for i, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "| C") {
			continue
		}
		row := pageRow.FindStringSubmatch(line)
		if row == nil {
			t.Errorf("%s:%d: no row of the form | case | what | `Test…` or waits | note |: %s", page, i+1, line)
			continue
		}
		id, by, note := row[1], row[4], row[5]
		listed = append(listed, id)
		switch {
		case by == "" && note == "":
			t.Errorf("%s:%d: %s does not say what it waits for", page, i+1, id)
		case tests[id] != by:
			t.Errorf("%s:%d: %s is told by %q on the page and by %q here", page, i+1, id, by, tests[id])
		case by != "":
			told++
		}
	}
	if want := strings.Fields(cases); !slices.Equal(listed, want) {
		t.Errorf("the page lists %d cases, want these %d, each once and in order: %v", len(listed), len(want), listed)
	}
	if told != len(tests) {
		t.Errorf("the page names %d tests, there are %d", told, len(tests))
	}
	if sum := fmt.Sprintf("%d of %d cases are told, %d wait.", told, len(listed), len(listed)-told); !strings.Contains(string(text), sum) {
		t.Errorf("the page does not say: %s", sum)
	}
}
