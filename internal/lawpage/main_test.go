package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
)

// TestThePageIsTheLaw fails when the law changed and the page did not.
func TestThePageIsTheLaw(t *testing.T) {
	t.Parallel()
	if err := run(true); err != nil {
		t.Error(err)
	}
}

// TestEveryRowIsOnThePage: each row stands in the table of each of its states,
// the page has one title, and each change of state has its arrow.
func TestEveryRowIsOnThePage(t *testing.T) {
	t.Parallel()
	law := onefold.Transitions()
	text, err := render(law)
	if err != nil {
		t.Fatal(err)
	}
	tables := map[onefold.State]string{}
	for _, part := range strings.Split(string(text), "\n### From ")[1:] {
		name, rest, _ := strings.Cut(part, "\n")
		tables[onefold.State(name)] = rest
	}
	if len(tables) != len(onefold.States()) {
		t.Errorf("%d tables for %d states", len(tables), len(onefold.States()))
	}
	for _, row := range law {
		for _, from := range row.From {
			if !strings.Contains(tables[from], "| "+row.ID+" |") {
				t.Errorf("row %s is not in the table of %s", row.ID, from)
			}
			arrow := "    " + string(from) + " --> " + string(row.To) + ": "
			if row.To != "" && row.To != from && !strings.Contains(string(text), arrow) {
				t.Errorf("row %s has no arrow %q", row.ID, arrow)
			}
		}
	}
	if n := strings.Count("\n"+string(text), "\n# "); n != 1 {
		t.Errorf("the page has %d titles", n)
	}
}

// TestDriftIsSeen compares a page that is missing, old, and current.
func TestDriftIsSeen(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "states.md")
	if err := compare(file, []byte("new")); !errors.Is(err, errDrift) {
		t.Errorf("missing page: %v", err)
	}
	for text, want := range map[string]error{"old": errDrift, "new": nil} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := compare(file, []byte("new")); !errors.Is(err, want) {
			t.Errorf("page %q: %v", text, err)
		}
	}
}
