package main

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/onefold-dev/onefold/internal/page"
)

func main() { rules().Main() }

// rules is the page of the rules.
func rules() page.Page {
	return page.Page{Command: "rulespage", Path: "docs/reference/rules.md", Render: func(root string) ([]byte, error) {
		proofs, err := scan(os.DirFS(root))
		if err != nil {
			return nil, err
		}
		return render(proofs), nil
	}}
}

// render writes the page: for each group a table of rules and their tests,
// and after it, in one line, the rules that wait for what is not built yet.
func render(proofs []proof) []byte {
	var b bytes.Buffer
	b.WriteString("# Rules and their tests\n\n" +
		"<!-- Written by `go run ./internal/rulespage`; do not edit. -->\n\n" +
		"Each rule of the specification that is built, and the tests that say they prove it. " +
		"A test says so with a line `// Proves: M11a, I9` above its function; a script test with `# Proves: …` at its head.\n")
	for _, g := range groups {
		fmt.Fprintf(&b, "\n## %s\n\n| rule | what it asks | tests |\n|---|---|---|\n", g.title)
		var later []string
		for _, r := range g.rules {
			tests := testsOf(r.id, proofs)
			if r.later && len(tests) == 0 {
				later = append(later, r.id)
				continue
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", r.id, r.title, strings.Join(tests, "<br>"))
		}
		if len(later) > 0 {
			fmt.Fprintf(&b, "\nNot built yet: %s.\n", strings.Join(later, ", "))
		}
	}
	return b.Bytes()
}

// testsOf lists the tests of a rule as links, in order of place.
func testsOf(id string, proofs []proof) []string {
	var tests []string
	for _, p := range proofs {
		if slices.Contains(p.ids, id) {
			dir := path.Dir(p.file)
			if dir == "." {
				dir = "onefold"
			}
			tests = append(tests, fmt.Sprintf("[%s: %s](../../%s)", dir, p.name, p.file))
		}
	}
	return tests
}
