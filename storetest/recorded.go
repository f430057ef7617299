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
	s.answeredWith(t)
	decide := s.Event(onefold.EventResolved, Caller())
	decide.Resolution, decide.Reason = &onefold.Resolution{Outcome: onefold.ResolveConfirmed, Reference: "B-1"}, "one bill for two orders"
	if op := s.Step(t, second.ID, decide).Operation; op.State != onefold.Confirmed {
		t.Errorf("decided, and it is %s", op.State)
	}
}

// answeredWith tells answers with the record B-1 that an operation has recorded: the
// target's direct word about an attempt counts only where the record may be shared,
// and says so then.
func (s *Subject) answeredWith(t *testing.T) {
	t.Helper()
	for name, c := range map[string]struct {
		change func(*onefold.Event)
		want   onefold.State
	}{
		"merged by the target":      {func(*onefold.Event) {}, onefold.Uncertain},
		"named by the request":      {func(ev *onefold.Event) { ev.Answer.NamedByRequest = true }, onefold.Confirmed},
		"shared, says the contract": {func(ev *onefold.Event) { ev.Policy.SharedReferences = true }, onefold.Confirmed},
	} {
		op := s.Attempting(t, s.Admit(t, name).ID)
		answer := s.Answer(last(&op).ID, op.Token, onefold.OutcomeConfirmed, "B-1")
		c.change(&answer)
		op = s.Step(t, op.ID, answer).Operation
		entries, err := s.Store.Timeline(context.Background(), op.ID, 0, 10)
		noError(t, err)
		if last := entries[len(entries)-1]; op.State != c.want || !strings.Contains(last.Detail, "has recorded the same reference") {
			t.Errorf("%s: it is %s, and its timeline says %q", name, op.State, last.Detail)
		}
		open := op.OpenReviews()
		if (c.want == onefold.Uncertain) != (len(open) == 1) || len(open) == 1 && open[0].Reason != onefold.ReviewExistsElsewhere {
			t.Errorf("%s: its reviews are %+v", name, open)
		}
	}
}

// Correct contradicts a confirmed operation and resolves that with another reference.
func (s *Subject) Correct(t testing.TB, id, reference string) onefold.Operation {
	t.Helper()
	seen := s.Event(onefold.EventObserved, Caller())
	seen.Observation = &onefold.Observation{Asserts: onefold.AssertsEffect, Reference: reference}
	s.Step(t, id, seen)
	decide := s.Event(onefold.EventResolved, Caller())
	decide.Resolution = &onefold.Resolution{Outcome: onefold.ResolveConfirmed, Reference: reference}
	return s.Step(t, id, decide).Operation
}

// A caller was told a reference, and a person found later that it is another one:
// whoever asks for the first finds the operation, with both. It is no operation's
// result any more, so that another one may have it.
//
// Proves: M18, M20, I32
func everyResult(t *testing.T, s *Subject) {
	ctx := context.Background()
	op := s.Admit(t, "k")
	s.Ended(t, op.ID, onefold.OutcomeConfirmed, "B-1")
	s.Correct(t, op.ID, "B-2")
	corrected := s.Correct(t, op.ID, "B-3")
	if r := corrected.Result; r.Reference != "B-3" || r.Earlier == nil || r.Earlier.Reference != "B-2" || r.Earlier.Earlier == nil || r.Earlier.Earlier.Reference != "B-1" {
		t.Fatalf("its results are %+v", r)
	}
	for _, reference := range []string{"B-1", "B-2", "B-3", op.Reference} {
		found, _, err := s.Store.List(ctx, onefold.Query{Workspace: Workspace, Reference: reference})
		noError(t, err)
		if diff := cmp.Diff([]string{op.ID}, idsOf(found)); diff != "" {
			t.Errorf("by %s is found:\n%s", reference, diff)
		}
	}
	elsewhere, _, err := s.Store.List(ctx, onefold.Query{Workspace: "umbrella", Reference: "B-1"})
	noError(t, err)
	if len(elsewhere) != 0 {
		t.Errorf("another workspace finds %v", idsOf(elsewhere))
	}
	other := s.Admit(t, "other")
	other = s.Ended(t, other.ID, onefold.OutcomeConfirmed, "B-1")
	found, _, err := s.Store.List(ctx, onefold.Query{Workspace: Workspace, Reference: "B-1"})
	noError(t, err)
	if diff := cmp.Diff([]string{other.ID, op.ID}, idsOf(found)); diff != "" || other.State != onefold.Confirmed {
		t.Errorf("the other is %s; by the reference that both had is found:\n%s", other.State, diff)
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
