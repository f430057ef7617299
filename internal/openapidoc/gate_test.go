package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A document that breaks something is written only when the changelog tells it, in
// a line with the place, under the heading, among what is not released.
func TestNothingBreaksUntold(t *testing.T) {
	t.Parallel()
	now := changed(t, `["new", "old"]`, `["new"]`)
	const place = "`Thing.state`"
	for _, c := range []struct {
		name, changelog string
		written         bool
	}{
		{"nothing", "# Changelog\n\n## [Unreleased]\n", false},
		{"another place", "## [Unreleased]\n\n### Breaking\n\n- `Thing.id` is a number.\n", false},
		{"no backquotes", "## [Unreleased]\n\n### Breaking\n\n- Thing.state has no old.\n", false},
		{"another heading", "## [Unreleased]\n\n### Changed\n\n- " + place + " has no old.\n", false},
		{"an earlier release", "## [Unreleased]\n\n## [1.0.0]\n\n### Breaking\n\n- " + place + " has no old.\n", false},
		{"no item", "## [Unreleased]\n\n### Breaking\n\n" + place + " has no old.\n", false},
		{"told", "## [Unreleased]\n\n### Breaking\n\n- " + place + " has no old: read new instead.\n", true},
		{"told over two lines", "## [Unreleased]\n\n### Added\n\n- x\n\n### Breaking\n\n- y\n- What was old\n  in " + place + " is new.\n", true},
	} {
		root := t.TempDir()
		file := filepath.Join(root, filepath.FromSlash(document))
		write(t, filepath.Join(root, changelog), c.changelog)
		write(t, file, base)
		var out strings.Builder
		err := run(root, "", now, &out)
		left, readErr := os.ReadFile(file)
		if readErr != nil {
			t.Fatal(readErr)
		}
		if (err == nil) != c.written || (string(left) == string(now)) != c.written {
			t.Errorf("%s: error %v, written %v", c.name, err, string(left) == string(now))
		}
		if err != nil && !strings.Contains(err.Error(), place) {
			t.Errorf("%s: the refusal does not name the place: %v", c.name, err)
		}
		if !strings.Contains(out.String(), `!!! `+place) {
			t.Errorf("%s: the differences: %s", c.name, out.String())
		}
	}
}

// What breaks nothing is written without a word, the first document too; comparing
// with an earlier one writes nothing.
func TestWhatBreaksNothingIsWritten(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	file := filepath.Join(root, filepath.FromSlash(document))
	write(t, filepath.Join(root, changelog), "# Changelog\n")
	var out strings.Builder
	if err := run(root, "", []byte(base), &out); err != nil {
		t.Fatal(err)
	}
	more := changed(t, `["new", "old"]`, `["new", "old", "lost"]`)
	if err := run(root, "", more, &out); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadFile(file); err != nil || string(left) != string(more) {
		t.Errorf("not written: %v", err)
	}
	if err := run(root, file, []byte(base), &out); err == nil {
		t.Error("a word that is gone was not refused")
	}
	if left, _ := os.ReadFile(file); string(left) != string(more) {
		t.Error("comparing wrote the document")
	}
	if err := run(root, filepath.Join(root, "none.json"), []byte(base), &out); err == nil {
		t.Error("a document that is not there was compared with")
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
