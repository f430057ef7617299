package storetest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onefold-dev/onefold"
)

// lookedUp leases an uncertain operation when it is due and finds a record.
func (s *Subject) lookedUp(t testing.TB, op onefold.Operation, reference string) onefold.Committed {
	t.Helper()
	s.WaitFor(*op.Due)
	op = s.Step(t, op.ID, s.Lease()).Operation
	return s.Step(t, op.ID, s.found(&op, reference))
}

// found is the event of a look-up that finds one record.
func (s *Subject) found(op *onefold.Operation, reference string) onefold.Event {
	ev := s.Event(onefold.EventLookedUp, Worker())
	ev.Lookup = &onefold.LookupOutcome{
		Token: op.Token, Began: s.Clock.Now(), Result: onefold.LookupFound, Reference: reference, Detail: "one record matches",
	}
	ev.Evidence = &onefold.Evidence{
		ID: s.IDs.New(onefold.PrefixEvidence, s.Clock.Now()), Kind: onefold.EvidenceLookup,
		Asserts: onefold.AssertsEffect, Reference: reference, Detail: ev.Lookup.Detail,
	}
	return ev
}

// Proves: M18, I5
func recordedOnce(t *testing.T, s *Subject) {
	ctx := context.Background()
	first := s.Admit(t, "first")
	first = s.Ended(t, first.ID, onefold.OutcomeConfirmed, "B-1")
	// The same reference of another connection, capability or workspace is another record.
	for name, elsewhere := range map[string]func(*onefold.Operation){
		"connection": func(o *onefold.Operation) { o.Connection = "bank" },
		"capability": func(o *onefold.Operation) { o.Capability = "orders.create" },
		"workspace":  func(o *onefold.Operation) { o.Workspace = "umbrella" },
	} {
		other := s.Admit(t, "of another "+name, elsewhere)
		other = s.Ended(t, other.ID, onefold.OutcomeUnknown, "")
		if done := s.lookedUp(t, other, "B-1").Operation; done.State != onefold.Confirmed {
			t.Errorf("of another %s: it is %s with %+v", name, done.State, done.Reviews)
		}
	}
	second := s.Admit(t, "second")
	second = s.Ended(t, second.ID, onefold.OutcomeUnknown, "")
	done := s.lookedUp(t, second, "B-1")
	open := done.Operation.OpenReviews()
	if done.Operation.State != onefold.Uncertain || len(open) != 1 || open[0].Reason != onefold.ReviewExistsElsewhere {
		t.Fatalf("the second operation is %s with %+v", done.Operation.State, open)
	}
	want := []onefold.Candidate{{Reference: "B-1", RecordedBy: first.ID}}
	if diff := cmp.Diff(want, open[0].Candidates); diff != "" {
		t.Errorf("the review does not show whose record it is:\n%s", diff)
	}
	evidence, err := s.Store.EvidenceOf(ctx, second.ID, "", 10)
	noError(t, err)
	if last := evidence[len(evidence)-1]; !strings.Contains(last.Detail, first.ID) {
		t.Errorf("the evidence says %q", last.Detail)
	}
	// The target's direct word about an attempt of its own counts, and says so.
	third := s.Admit(t, "third")
	third = s.Ended(t, third.ID, onefold.OutcomeConfirmed, "B-1")
	entries, err := s.Store.Timeline(ctx, third.ID, 0, 10)
	noError(t, err)
	if last := entries[len(entries)-1]; third.State != onefold.Confirmed || !strings.Contains(last.Detail, first.ID) {
		t.Errorf("the third operation is %s, and its timeline says %q", third.State, last.Detail)
	}
	decide := s.Event(onefold.EventResolved, Caller())
	decide.Resolution, decide.Reason = &onefold.Resolution{Outcome: onefold.ResolveConfirmed, Reference: "B-1"}, "one bill for two orders"
	if op := s.Step(t, second.ID, decide).Operation; op.State != onefold.Confirmed {
		t.Errorf("decided, and it is %s", op.State)
	}
}

// Of many that find one record at the same time, one is confirmed: each step sees
// those that were committed before it, also within one commit.
//
// Proves: M18
func recordedAtOnce(t *testing.T, s *Subject) {
	var leased []onefold.Operation
	for i := range 20 {
		op := s.Admit(t, strings.Repeat("k", i+1))
		leased = append(leased, s.Ended(t, op.ID, onefold.OutcomeUnknown, ""))
	}
	s.Clock.Advance(time.Minute)
	for i := range leased {
		leased[i] = s.Step(t, leased[i].ID, s.Lease()).Operation
	}
	states := make([]onefold.State, len(leased))
	var group sync.WaitGroup
	for i := range leased {
		ev := s.found(&leased[i], "B-1")
		group.Go(func() {
			done, err := s.Store.Step(context.Background(), leased[i].ID, ev, 0)
			if err != nil {
				t.Error(err)
			}
			states[i] = done.Operation.State
		})
	}
	group.Wait()
	confirmed := 0
	for _, state := range states {
		if state == onefold.Confirmed {
			confirmed++
		}
	}
	if confirmed != 1 {
		t.Errorf("one record confirmed %d operations: %v", confirmed, states)
	}
}
