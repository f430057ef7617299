//go:build unix

package crash

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/failpoint"
)

// notReached are events of the law that nothing in this release brings about.
var notReached = []onefold.EventKind{onefold.EventHoldPlaced, onefold.EventRecovered}

// leastPlaces is how many names the matrix has to have.
const leastPlaces = 20

// Proves: M4, M6, M8, M10, M11, M12a, M13, M22, M24, I3
func TestKilledBetweenAnyTwoWrites(t *testing.T) {
	t.Parallel()
	j := newJudge(t)
	sum := &totals{}
	t.Cleanup(func() {
		if n := sum.tally; n.uncertain == 0 || n.unsent == 0 {
			t.Errorf("nothing was ever in doubt: %s", n)
		}
		t.Logf("in all: %s", sum.tally)
	})
	account := 0
	for _, s := range stories() {
		for _, place := range s.places {
			for _, side := range []string{"before-", "after-"} {
				if s.only != "" && s.only != side {
					continue
				}
				account++
				name := "h" + string(rune('a'+account/26/26%26)) + string(rune('a'+account/26%26)) + string(rune('a'+account%26))
				t.Run(s.name+"/"+side+place, func(t *testing.T) {
					t.Parallel()
					sum.add(killedAt(t, &judge{j.process, t}, name, s, side+place))
				})
			}
		}
	}
}

// killedAt tells a story to a process that dies at the place, then to one that
// does not, and compares the ledgers.
func killedAt(t *testing.T, j *judge, account string, s story, place string) tally {
	h := newHouse(t, j, account, s.edit)
	h.flags = s.flags
	if s.fault != nil {
		s.fault(h)
	}
	var told []answer
	for _, points := range append(slices.Clone(s.earlier), join(s.beside, place)) {
		h.open(points)
		if h.serve.url != "" {
			told = append(told, s.tell(h))
		}
		h.serve.ended(t)
		last := points[strings.LastIndex(points, ",")+1:]
		if !h.fired(last) {
			t.Fatalf("the failpoint %s did not fire", last)
		}
	}
	h.open("")
	op := s.tell(h)
	if op.text("state") != s.ends {
		t.Fatalf("the story ended with %d %v, want %s\n%s", op.status, op.body, s.ends, h.serve.log)
	}
	for _, before := range told {
		if before.text("id") != "" && before.text("id") != op.text("id") && !released(h, before.text("id")) {
			t.Errorf("a caller was told of %s, the repeat got %s", before.text("id"), op.text("id"))
		}
	}
	again := h.call(http.MethodGet, "/v1/operations/"+op.text("id"), "", "")
	if again.text("state") != s.ends {
		t.Errorf("the operation reads %s, the story ended %s", again.text("state"), s.ends)
	}
	h.serve.drained(t)
	n := h.compare()
	if n.requests < s.writes {
		t.Errorf("%d write requests in all, the story has at least %d", n.requests, s.writes)
	}
	return n
}

// released tells whether an operation was canceled and let its key go: then the
// key may name another.
func released(h *house, id string) bool {
	op := h.call(http.MethodGet, "/v1/operations/"+id, "", "")
	return op.text("state") == "canceled" && op.number("attempts") == 0
}

func join(points ...string) string {
	return strings.Join(slices.DeleteFunc(points, func(p string) bool { return p == "" }), ",")
}

// Every event of the law has its place in the matrix, or is known not to happen
// in this release.
func TestTheMatrixIsWhole(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, s := range stories() {
		for _, place := range s.places {
			name, _, _ := strings.Cut(place, "@")
			names[name] = true
		}
	}
	if len(names) < leastPlaces {
		t.Errorf("%d places, fewer than %d", len(names), leastPlaces)
	}
	want := []string{
		failpoint.Claimed, failpoint.Frozen, failpoint.FirstByte, failpoint.Sent, failpoint.Committed, failpoint.Taken,
		failpoint.LeaseEnded, failpoint.AttemptEnded, string(onefold.EventAdmitted), string(onefold.EventNoted),
	}
	for _, kind := range onefold.EventKinds() {
		if !slices.Contains(notReached, kind) {
			want = append(want, string(kind))
		}
	}
	slices.SortFunc(want, cmp.Compare[string])
	for _, name := range want {
		if !names[name] {
			t.Errorf("no story passes %s", name)
		}
	}
	for _, kind := range notReached {
		if names[string(kind)] {
			t.Errorf("%s is listed as not reached, and a story passes it", kind)
		}
	}
}
