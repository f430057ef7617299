package ids

import (
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
)

func TestIdentifiersCarryTheirTimeAndDoNotRepeat(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 29, 10, 0, 0, 5e6, time.UTC)
	seen := map[string]bool{}
	for range 10_000 {
		id := Random{}.New(onefold.PrefixOperation, at)
		if seen[id] {
			t.Fatalf("%s was made twice", id)
		}
		seen[id] = true
		if got := onefold.IDTime(onefold.PrefixOperation, id); !got.Equal(at) {
			t.Fatalf("%s carries %s, want %s", id, got, at)
		}
	}
}

func TestChanceVaries(t *testing.T) {
	t.Parallel()
	if first, second := (Random{}).Chance(), (Random{}).Chance(); first == second {
		t.Fatal("the same number twice in a row")
	}
}
