//go:build unix

package crash

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver that the binary ships

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/failpoint"
	"github.com/onefold-dev/onefold/internal/ids"
	"github.com/onefold-dev/onefold/internal/rig"
	"github.com/onefold-dev/onefold/sandbox"
	"github.com/onefold-dev/onefold/sqlite"
)

// tally is what a comparison of both ledgers counted.
type tally struct {
	operations, attempts, requests, effects int
	// notSent are attempts that the transport proved not sent; unsent those whose
	// process was killed before the first byte, by the trace of failpoints; between
	// those that were killed between the last check and the kernel.
	notSent, unsent, between int
	uncertain                int // attempts of which no answer told the outcome
	states                   map[onefold.State]int
	contradicted             int
}

func (n tally) String() string {
	return fmt.Sprintf("%d operations %v, %d contradicted; %d attempts, %d without an answer that told; "+
		"%d write requests = attempts - %d not sent - %d killed before the first byte - %d killed between check and kernel; %d effects",
		n.operations, n.states, n.contradicted, n.attempts, n.uncertain, n.requests, n.notSent, n.unsent, n.between, n.effects)
}

// totals sums up what was counted in many houses.
type totals struct {
	mu sync.Mutex
	tally
}

func (s *totals) add(n tally) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.operations += n.operations
	s.attempts += n.attempts
	s.requests += n.requests
	s.effects += n.effects
	s.notSent += n.notSent
	s.unsent += n.unsent
	s.between += n.between
	s.uncertain += n.uncertain
	s.contradicted += n.contradicted
	if s.states == nil {
		s.states = map[onefold.State]int{}
	}
	for state, count := range n.states {
		s.states[state] += count
	}
}

// operations reads our ledger from its file. serve may have ended.
func (h *house) operations() []onefold.Operation {
	h.t.Helper()
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Options{Path: h.file("onefold.db"), Driver: "sqlite", Now: time.Now, IDs: ids.Random{}})
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			h.t.Error(err)
		}
	}()
	var all []onefold.Operation
	for cursor := ""; ; {
		page, next, err := store.List(ctx, onefold.Query{Workspace: rig.Workspace, Limit: 200, Cursor: cursor})
		if err != nil {
			h.t.Fatal(err)
		}
		all = append(all, page...)
		if cursor = next; cursor == "" {
			return all
		}
	}
}

// started are the attempts that had come to their first byte.
func (h *house) started() map[string]bool {
	h.t.Helper()
	trace, err := os.ReadFile(h.file("trace"))
	if err != nil && !os.IsNotExist(err) {
		h.t.Fatal(err)
	}
	started := map[string]bool{}
	for line := range strings.Lines(string(trace)) {
		if attempt, ok := strings.CutPrefix(strings.TrimSpace(line), failpoint.FirstByte+" "); ok {
			started[attempt] = true
		}
	}
	return started
}

// compare holds our ledger against the judge's, operation by operation, as the
// table of the specification says it (invariants 3, 15 and 23).
func (h *house) compare() tally {
	h.t.Helper()
	return compare(h.t, h.operations(), h.started(), h.judge.effects(h.account), h.judge.requests(h.account), h.judge.faults())
}

func compare(t testing.TB, ops []onefold.Operation, started map[string]bool, effects []sandbox.Effect, requests []sandbox.Request, faults []plannedFault) tally {
	t.Helper()
	n := tally{operations: len(ops), states: map[onefold.State]int{}, effects: len(effects)}
	byReference := map[string][]*onefold.Operation{}
	for i := range ops {
		op := &ops[i]
		n.states[op.State]++
		if op.Contradicted {
			n.contradicted++
		}
		if broken := op.Broken(); broken != "" {
			t.Errorf("%s is broken: %s", op.ID, broken)
		}
		byReference[op.Reference] = append(byReference[op.Reference], op)
	}
	writes, made, saw := map[string]int{}, map[string][]string{}, map[string][]string{}
	kinds := map[string]string{}
	for _, f := range faults {
		kinds[f.ID] = f.Kind
	}
	reference := map[int64]string{}
	for _, r := range requests {
		reference[r.Seq] = r.Reference
		if r.Method == http.MethodGet {
			continue
		}
		n.requests++
		writes[r.Reference]++
		saw[r.Reference] = append(saw[r.Reference], fmt.Sprintf("%s %s %d %s", r.At.Format("15:04:05.000"), r.Outcome, r.Status, kinds[r.Fault]))
		if byReference[r.Reference] == nil {
			t.Errorf("the write request %d carries %q, which is of no operation", r.Seq, r.Reference)
		}
	}
	for _, e := range effects {
		made[e.Reference] = append(made[e.Reference], e.ID)
		if byReference[e.Reference] == nil {
			t.Errorf("the effect %s carries %q, which is of no operation", e.ID, e.Reference)
		}
	}
	// An intermediary that delivers twice makes effects that are not ours, where
	// nothing stops it.
	theirs := map[string]int{}
	for _, f := range faults {
		for _, fired := range f.Fired {
			if f.Kind == string(sandbox.Twice) && fired.Effects > 1 {
				theirs[reference[fired.RequestSeq]] += fired.Effects - 1
			}
		}
	}
	for ref, group := range byReference {
		checkRequests(t, &n, group, writes[ref], started)
		if !checkEffects(t, group, made[ref], theirs[ref]) {
			t.Errorf("the target saw %q; attempts %+v", saw[ref], group[0].Attempts)
		}
	}
	return n
}

// checkRequests: no attempt has more than one request, and every attempt has one
// but for those that are proved or known not to have been sent.
func checkRequests(t testing.TB, n *tally, group []*onefold.Operation, writes int, started map[string]bool) {
	t.Helper()
	sure, perhaps := 0, 0
	for _, op := range group {
		for i := range op.Attempts {
			a := &op.Attempts[i]
			n.attempts++
			silent := !a.Closed() || a.ClosedBy != "" && a.ClosedBy != onefold.ClosedByReport
			switch {
			case a.Verdict == onefold.VerdictNotSent:
				n.notSent++
			case !started[a.ID]:
				n.unsent++
				if !silent && a.Verdict != onefold.VerdictUnknown {
					t.Errorf("attempt %d of %s has an answer (%s), and its first byte was never written", a.Number, op.ID, a.Verdict)
				}
			case silent:
				perhaps++
			default:
				sure++
			}
			if a.Verdict == onefold.VerdictUnknown {
				n.uncertain++
			}
		}
	}
	n.between += max(0, sure+perhaps-writes)
	if writes < sure || writes > sure+perhaps {
		t.Errorf("%d write requests reached the target for %s, which sent %d, and perhaps %d more: %+v", writes, group[0].ID, sure, perhaps, group[0].Attempts)
	}
}

// checkEffects is the table of the oracle. A released key gives its identity to
// the next operation, so that a group may have several operations, of which all
// but one never began.
func checkEffects(t testing.TB, group []*onefold.Operation, made []string, theirs int) bool {
	t.Helper()
	fine := true
	slices.SortFunc(group, func(a, b *onefold.Operation) int { return len(b.Attempts) - len(a.Attempts) })
	for _, op := range group[1:] {
		if len(op.Attempts) > 0 || !op.KeyReleased && !group[0].KeyReleased {
			t.Errorf("%s shares its identity with %s, and both may have been sent", op.ID, group[0].ID)
		}
	}
	op := group[0]
	least, most := 0, 0
	switch op.State {
	case onefold.Confirmed:
		least, most = 1, 1+theirs
		if !slices.Contains(made, op.Result.Reference) {
			t.Errorf("%s is confirmed with %s; the target made %v", op.ID, op.Result.Reference, made)
		}
	case onefold.Rejected, onefold.Canceled, onefold.Prepared:
	case onefold.Attempting, onefold.Uncertain:
		most = 1 + theirs
	}
	if len(made) < least || len(made) > most {
		fine = false
		t.Errorf("%s (%s) is %s, barred %v, and the target holds %d effects %v", op.ID, op.Capability, op.State, op.Barred, len(made), made)
	}
	for _, op := range group {
		owned := op.Settled() || op.Lease != nil || op.Due != nil || slices.ContainsFunc(op.Reviews, func(r onefold.Review) bool {
			return r.Status == onefold.ReviewOpen && r.Owner != ""
		})
		if !owned {
			t.Errorf("%s is stranded: %s without an owner or a next step", op.ID, op.State)
		}
	}
	return fine
}
