package main

import (
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
)

// TestThePageIsTheLaw fails when the law changed and the page did not.
func TestThePageIsTheLaw(t *testing.T) {
	t.Parallel()
	if err := states().Check(); err != nil {
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
