package devfolder_test

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"

	"github.com/onefold-dev/onefold/cmd/onefold/internal/devfolder"
)

// The story is due in an empty folder and until it came to its end, each telling
// under a number of its own; never over data of which nothing is known.
func TestTheStoryIsDueUntilItIsTold(t *testing.T) {
	t.Parallel()
	open := func() devfolder.Folder {
		f, err := devfolder.Open(filepath.Join(t.TempDir(), "data"), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	due := func(f devfolder.Folder, empty bool, want int) {
		t.Helper()
		if got, err := f.BeginStory(empty); got != want || err != nil {
			t.Errorf("telling %d is due, want %d: %v", got, want, err)
		}
	}
	f := open()
	due(f, true, 1)
	due(f, true, 2) // ended before its first operation
	due(f, false, 3)
	if err := f.EndStory(); err != nil {
		t.Fatal(err)
	}
	due(f, false, 0)
	due(f, true, 0)
	due(open(), false, 0)
	for _, text := range []string{"", "begun", "begun x", "told\n", "begun 99999999999999999999"} {
		torn := open()
		if err := os.WriteFile(filepath.Join(torn.Path(), "story"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		due(torn, false, 0)
	}
}

// What is secret is made once, for its owner alone, and found again.
func TestSecretsAreMadeOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data")
	f, err := devfolder.Open(path, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if token, err := f.Token(); token != "" || err != nil {
		t.Errorf("a token before there was one: %q, %v", token, err)
	}
	for _, token := range []string{"ofk_first", "ofk_second"} {
		if err := f.KeepToken(token); err != nil {
			t.Fatal(err)
		}
	}
	before := read(t, filepath.Join(path, "secret"))
	again, err := devfolder.Open(path, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if token, err := again.Token(); token != "ofk_second" || err != nil {
		t.Errorf("the token is %q, %v", token, err)
	}
	if read(t, filepath.Join(path, "secret")) != before || len(before) < 64 {
		t.Error("the secret is not the one that was made")
	}
	for _, name := range []string{"secret", "token", "secrets/acme/erp-token"} {
		info, err := os.Stat(filepath.Join(path, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode().Perm())
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
