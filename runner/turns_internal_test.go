package runner

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/onefold-dev/onefold"
)

// TestTurnsLoseNothingAndKeepOrder orders any list of due work: it is the same work,
// each kind of each connection in the order in which it waited, the connections'
// places as they were, and while both kinds of a connection are left they alternate.
func TestTurnsLoseNothingAndKeepOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var items []onefold.DueItem
		for i := range rapid.IntRange(0, 30).Draw(t, "items") {
			items = append(items, onefold.DueItem{
				ID:         fmt.Sprint(i),
				Connection: onefold.ConnectionRef{Workspace: "w", Connection: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "connection")},
				Sends:      rapid.Bool().Draw(t, "sends"),
			})
		}
		turns := turns{}
		if len(items) > 0 && rapid.Bool().Draw(t, "one before") {
			turns.took(items[0])
		}
		last := map[onefold.ConnectionRef]bool{}
		for c, sends := range turns {
			last[c] = sends
		}
		out := turns.order(slices.Clone(items))
		if len(out) != len(items) {
			t.Fatalf("%d of %d came out", len(out), len(items))
		}
		of := func(list []onefold.DueItem, c onefold.ConnectionRef, sends bool) (ids []string) {
			for _, item := range list {
				if item.Connection == c && item.Sends == sends {
					ids = append(ids, item.ID)
				}
			}
			return ids
		}
		for i, item := range items {
			if out[i].Connection != item.Connection {
				t.Fatalf("place %d went from %v to %v", i, item.Connection, out[i].Connection)
			}
			for _, sends := range []bool{true, false} {
				if was, is := of(items, item.Connection, sends), of(out, item.Connection, sends); !slices.Equal(was, is) {
					t.Fatalf("%v %v: %v became %v", item.Connection, sends, was, is)
				}
			}
		}
		for i, item := range out {
			if was := last[item.Connection]; item.Sends == was && len(of(out[i:], item.Connection, !was)) > 0 {
				t.Fatalf("at place %d %v had two turns in a row", i, item.Connection)
			}
			last[item.Connection] = item.Sends
		}
	})
}
