package tidy

import (
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// rule is one rule of the house. bad are small sources that break it, each
// with words that its finding must hold; good are sources that look like a
// breach and are none. A rule without a bad source could not be shown to bite.
type rule struct {
	name  string
	check func(*tree) []finding
	bad   []sample
	good  []map[string]string
}

// sample is a source that breaks a rule and what the finding says about it.
type sample struct {
	sources map[string]string
	says    string
}

// one makes the sources of a sample with a single file.
func one(name, text string) map[string]string { return map[string]string{name: text} }

// rules lists the house rules in the order in which a reader meets them.
func rules() []rule {
	return append(append(lawRules(), shapeRules()...), append(callRules(), wordRules()...)...)
}

// TestTheHouseIsTidy holds every rule over the whole tree, among them that no
// text of the product promises what nobody can keep.
//
// Proves: M26
func TestTheHouseIsTidy(t *testing.T) {
	t.Parallel()
	tr := moduleTree(t)
	if len(tr.goFiles()) == 0 {
		t.Fatal("no Go file found: nothing was checked")
	}
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			found := r.check(tr)
			sort.Slice(found, func(i, j int) bool { return found[i].String() < found[j].String() })
			for _, f := range found {
				t.Error(f)
			}
		})
	}
}

// TestEveryRuleBites breaks every rule once in a small tree of its own.
func TestEveryRuleBites(t *testing.T) {
	t.Parallel()
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			if len(r.bad) == 0 {
				t.Fatal("the rule has no bad source: nothing shows that it can fail")
			}
			for _, s := range r.bad {
				tr, err := newTree(s.sources)
				if err != nil {
					t.Fatal(err)
				}
				found := r.check(tr)
				if !anySays(found, s.says) {
					t.Errorf("want a finding that says %q, got %v, in\n%v", s.says, found, s.sources)
				}
			}
			for _, sources := range r.good {
				tr, err := newTree(sources)
				if err != nil {
					t.Fatal(err)
				}
				if found := r.check(tr); len(found) > 0 {
					t.Errorf("want no finding, got %v, in\n%v", found, sources)
				}
			}
		})
	}
}

// anySays reports whether a finding with a place holds the words.
func anySays(found []finding, words string) bool {
	for _, f := range found {
		if strings.Contains(f.String(), words) && f.path != "" && f.line > 0 {
			return true
		}
	}
	return false
}

// TestSourcesAreFound shows what is read and what is left out.
func TestSourcesAreFound(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{
		"a.go", ".ci/run", "docs/page.md", ".build/x.go", ".git/config", "onefold-data/y.md", "go.sum", "deep/er/b.txtar",
	} {
		full := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte("package a\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "binary.db"), []byte("a\x00b"), 0o644); err != nil {
		t.Fatal(err)
	}
	sources, err := readSources(root)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]string, 0, len(sources))
	for name := range sources {
		got = append(got, name)
	}
	sort.Strings(got)
	want := ".ci/run a.go deep/er/b.txtar docs/page.md"
	if strings.Join(got, " ") != want {
		t.Errorf("read %v, want %s", got, want)
	}
}

// TestAFileThatDoesNotParseIsAnError keeps a broken file from passing unseen.
func TestAFileThatDoesNotParseIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := newTree(one("a.go", "package a\nfunc {")); err == nil {
		t.Error("a file that does not parse went through")
	}
}
