package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// page is where the generated page lies, below the module's root.
const page = "docs/reference/rules.md"

// errDrift says that the page is not what would be written now.
var errDrift = errors.New(page + " is out of date: run make generate and commit it")

func main() {
	check := flag.Bool("check", false, "write nothing; fail if the page is out of date")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "rulespage:", err)
		os.Exit(1)
	}
}

// run writes the page of the module around the working folder, or checks it.
func run(check bool) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	proofs, err := scan(os.DirFS(root))
	if err != nil {
		return err
	}
	text := render(proofs)
	file := filepath.Join(root, filepath.FromSlash(page))
	if check {
		return compare(file, text)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// compare says errDrift if the file does not hold the text.
func compare(file string, text []byte) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%w (%w)", errDrift, err)
	}
	if !bytes.Equal(old, text) {
		return errDrift
	}
	return nil
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
