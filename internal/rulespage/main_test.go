package main

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/onefold-dev/onefold/internal/page"
)

// files makes a small tree.
func files(pairs ...string) fstest.MapFS {
	tree := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		tree[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return tree
}

// moduleProofs scans the module that this test belongs to.
func moduleProofs(t *testing.T) []proof {
	t.Helper()
	root, err := page.Root()
	if err != nil {
		t.Fatal(err)
	}
	proofs, err := scan(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	return proofs
}

// unproved lists the rules that have to have a test and have none.
func unproved(proofs []proof) []rule {
	var out []rule
	for _, g := range groups {
		for _, r := range g.rules {
			if !r.later && len(testsOf(r.id, proofs)) == 0 {
				out = append(out, r)
			}
		}
	}
	return out
}

// TestThePageIsCurrent fails when tests came or went and the page was not
// written anew.
func TestThePageIsCurrent(t *testing.T) {
	t.Parallel()
	if err := rules().Check(); err != nil {
		t.Error(err)
	}
}

// TestEveryBuiltRuleHasATest fails for each rule that nothing proves.
func TestEveryBuiltRuleHasATest(t *testing.T) {
	t.Parallel()
	for _, r := range unproved(moduleProofs(t)) {
		t.Errorf("no test says that it proves %s: %s", r.id, r.title)
	}
}

// TestRulesAreListedInOrder keeps the table readable and free of repeats.
func TestRulesAreListedInOrder(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, g := range groups {
		for _, r := range g.rules {
			if !ruleID.MatchString(r.id) || r.title == "" || seen[r.id] {
				t.Errorf("rule %q is malformed or listed twice", r.id)
			}
			seen[r.id] = true
		}
	}
}

// TestProofsAreFound walks a small tree with a proof of each kind.
func TestProofsAreFound(t *testing.T) {
	t.Parallel()
	proofs, err := scan(files(
		"a_test.go", "package a\n\n// TestA tells.\n//\n// Proves: M1, M11a\n// Proves: I9.\nfunc TestA(t *testing.T) {}\n",
		"store/suite.go", "package store\n\n// Proves: I2\nfunc claims(t *testing.T, s any) {}\n",
		"x/fuzz_test.go", "package x\n\n// Proves: I10\nfunc FuzzParse(f *testing.F) {}\n\n// Proves: I14\nfunc Example_fingerprint() {}\n",
		"cmd/onefold/testdata/script/cancel.txtar", "# Cancel.\n# Proves: M24\n\nexec onefold version\n-- a --\n",
		"x/testdata/ignored.go", "not go at all, Proves: nothing",
		".build/b_test.go", "package b\n\n// Proves: M2\nfunc TestB(t *testing.T) {}\n",
		"golden.txtar", "-- in --\nx\n",
	))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range proofs {
		got = append(got, p.file+" "+p.name+" "+strings.Join(p.ids, "+"))
	}
	want := []string{
		"a_test.go TestA M1+M11a+I9",
		"cmd/onefold/testdata/script/cancel.txtar cancel M24",
		"store/suite.go claims I2",
		"x/fuzz_test.go Example_fingerprint I14",
		"x/fuzz_test.go FuzzParse I10",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	text := string(render(proofs))
	for _, line := range []string{
		"| [onefold: TestA](../../a_test.go) |",
		"| [cmd/onefold/testdata/script: cancel](../../cmd/onefold/testdata/script/cancel.txtar) |",
		"Not built yet: M5, M5a",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("the page lacks %q:\n%s", line, text)
		}
	}
	for _, r := range unproved(proofs) {
		if r.later || r.id == "M1" || r.id == "I14" {
			t.Errorf("%s counts as unproved", r.id)
		}
	}
}

// TestNoLineIsLost gives lines that would prove nothing and wants each refused
// with its place.
func TestNoLineIsLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, says string }{
		{"a_test.go", "package a\n\n// Proves: M1\nfunc help() {}\n", "a_test.go:3:1: this line belongs to no test"},
		{"a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n\t// Proves: M1\n}\n", "belongs to no test"},
		{"a_test.go", "package a\n\n// Proves: M1\n\nfunc TestA(t *testing.T) {}\n", "belongs to no test"},
		{"a.go", "package a\n\n// Proves: M1\nfunc Apply() {}\n", "belongs to no test"},
		{"a_test.go", "package a\n\n// Proves: M99\nfunc TestA(t *testing.T) {}\n", "a_test.go:3:1: there is no rule M99"},
		{"a_test.go", "package a\n\n// Proves: M1 and I2\nfunc TestA(t *testing.T) {}\n", `"M1 and I2" is no rule's number`},
		{"a_test.go", "package a\n\n// Proves:\nfunc TestA(t *testing.T) {}\n", `"" is no rule's number`},
		{"a.txtar", "exec onefold version\n# Proves: M1\n", "a.txtar:2: this line stands too late"},
		{"a.txtar", "# Proves: X1\n", "a.txtar:1: \"X1\" is no rule's number"},
		{"a_test.go", "package a\nfunc {", "a_test.go:2"},
	} {
		_, err := scan(files(c.name, c.text))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("want %q, got %v, for\n%s", c.says, err, c.text)
		}
	}
}
