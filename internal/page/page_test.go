package page

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inModule makes the working folder one below a module's root, and returns the
// root.
func inModule(t *testing.T) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(below, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte("module x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(below)
	return root
}

// A page's way: it is missing, written from wherever in the module, current, old,
// and written again; what cannot be rendered is told and leaves the page alone.
func TestAPageIsWrittenAndHeldAgainstItsGenerator(t *testing.T) {
	root := inModule(t)
	text, failure := "new\n", error(nil)
	p := Page{Command: "some", Path: "docs/reference/some.md", Render: func(at string) ([]byte, error) {
		if at != root {
			t.Errorf("it is rendered for %s, not %s", at, root)
		}
		return []byte(text), failure
	}}
	file := filepath.Join(root, "docs", "reference", "some.md")
	does := func(code int, says string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		if got := p.run(args, &out); got != code || !strings.Contains(out.String(), says) || says == "" && out.Len() > 0 {
			t.Errorf("%v ends with %d and %q, wanted %d and %q", args, got, out.String(), code, says)
		}
	}
	holds := func(want string) {
		t.Helper()
		if have, err := os.ReadFile(file); err != nil || string(have) != want {
			t.Errorf("the page is %q, %v", have, err)
		}
		if entries, err := os.ReadDir(filepath.Dir(file)); err != nil || len(entries) != 1 {
			t.Errorf("beside the page lies %v, %v", entries, err)
		}
	}
	does(1, "some: docs/reference/some.md: it is out of date", "-check")
	if err := p.Check(); !errors.Is(err, ErrDrift) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing page: %v", err)
	}
	does(0, "")
	holds("new\n")
	does(0, "", "-check")
	text = "newer\n"
	does(1, "out of date", "-check")
	if err := p.Check(); !errors.Is(err, ErrDrift) {
		t.Errorf("an old page: %v", err)
	}
	does(0, "")
	holds("newer\n")
	failure = errors.New("a state without words")
	does(1, "some: a state without words")
	does(1, "some: a state without words", "-check")
	holds("newer\n")
	does(2, "takes no argument", "more")
	does(2, "not defined", "-nonsense")
}

// Outside of a module there is no place for a page.
func TestThereIsNoPageWithoutAModule(t *testing.T) {
	t.Chdir("/")
	if root, err := Root(); err == nil {
		t.Errorf("the root is %s", root)
	}
}
