package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onefold-dev/onefold"
)

func stepStories() []story {
	return []story{
		{"an operation is carried through", carriedThrough},
		{"one worker of many gets the lease", oneLease},
		{"a stale worker changes nothing and is heard", staleWorker},
		{"a stale version is refused with the version", staleVersion},
		{"a refusal changes nothing", refusalChangesNothing},
		{"an operation that does not exist", unknownOperations},
		{"the frozen request is stored once", frozenOnce},
		{"one decision wins for each version", oneDecision},
		{"a disabled connection begins nothing", disabledStays},
		{"a contradiction moves a finished operation back", contradiction},
		{"an operation is found by every result that it had", everyResult},
		{"a caller who has gone changes nothing unseen", callerGone},
		{"a record that another operation has recorded confirms no second one", recordedOnce},
		{"what others have recorded is known to the commit", recordedAtOnce},
	}
}

// Proves: M4, M6, M7, M2a
func carriedThrough(t *testing.T, s *Subject) {
	ctx := context.Background()
	op := s.Admit(t, "k")
	leased := s.Step(t, op.ID, s.Lease())
	if !leased.At.Equal(s.Clock.Now()) {
		t.Errorf("the step was at %v, the store's time is %v", leased.At, s.Clock.Now())
	}
	if l := leased.Operation.Lease; l == nil || l.Worker != Worker().Name || !l.Until.Equal(s.Clock.Now().Add(30*time.Second)) {
		t.Fatalf("the lease is %+v", l)
	}
	s.Clock.Advance(time.Second)
	begun, err := s.Store.StepBegin(ctx, op.ID, s.Begin(leased.Operation.Token), Frozen())
	noError(t, err)
	attempt := begun.Operation.Attempts[0]
	s.Clock.Advance(time.Second)
	done := s.Step(t, op.ID, s.Answer(attempt.ID, attempt.Token, onefold.OutcomeConfirmed, "B-77"))
	if done.Operation.State != onefold.Confirmed || done.Operation.Result.Reference != "B-77" {
		t.Fatalf("the operation is %s with %+v", done.Operation.State, done.Operation.Result)
	}
	read, err := s.Store.Operation(ctx, Workspace, op.ID)
	noError(t, err)
	if diff := cmp.Diff(done.Operation, read); diff != "" {
		t.Errorf("what was read differs from what was committed (-committed +read):\n%s", diff)
	}
	for _, e := range done.Effects {
		if e.Kind == onefold.EffectRecord && e.Entry.Seq <= 0 {
			t.Error("the committed entry has no sequence number")
		}
	}
}

// Proves: M7
func oneLease(t *testing.T, s *Subject) {
	op := s.Admit(t, "wanted")
	var won, leased atomic.Int64
	var group sync.WaitGroup
	for range 50 {
		ev := s.Lease()
		group.Go(func() {
			switch _, err := s.Store.Step(context.Background(), op.ID, ev, 0); {
			case err == nil:
				won.Add(1)
			case errors.Is(err, onefold.ErrLeased):
				leased.Add(1)
			default:
				t.Errorf("a worker was told: %v", err)
			}
		})
	}
	group.Wait()
	if won.Load() != 1 || leased.Load() != 49 {
		t.Errorf("%d workers got the lease, %d were told that it is taken", won.Load(), leased.Load())
	}
}

// Proves: M8, M10, M12a, M20
func staleWorker(t *testing.T, s *Subject) {
	ctx := context.Background()
	op := s.Admit(t, "slow")
	begun := s.Attempting(t, op.ID)
	attempt := begun.Attempts[0]
	s.Clock.Advance(31 * time.Second)
	expired := s.Step(t, op.ID, s.Event(onefold.EventLeaseExpired, onefold.Actor{Kind: onefold.ActorEngine, Name: "scan"})).Operation
	if expired.State != onefold.Uncertain || !expired.Attempts[0].Open {
		t.Fatalf("after the lease expired the operation is %s", expired.State)
	}
	renew := s.Event(onefold.EventRenewed, Worker())
	renew.Lease = &onefold.LeaseGrant{Worker: Worker().Name, Token: attempt.Token, For: 30 * time.Second}
	_, err := s.Store.Step(ctx, op.ID, renew, 0)
	wantError(t, err, onefold.ErrLeaseLost)
	again := s.Begin(attempt.Token)
	again.Begin.Kind = onefold.Replay
	_, err = s.Store.StepBegin(ctx, op.ID, again, Frozen())
	wantError(t, err, onefold.ErrLeaseLost)

	late := s.Answer(attempt.ID, attempt.Token, onefold.OutcomeConfirmed, "B-1")
	settled := s.Step(t, op.ID, late).Operation
	if settled.State != onefold.Confirmed || settled.Attempts[0].ClosedBy != onefold.ClosedByReport {
		t.Errorf("the late success left the operation %s, closed by %q", settled.State, settled.Attempts[0].ClosedBy)
	}
	evidence, err := s.Store.EvidenceOf(ctx, op.ID, "", 10)
	noError(t, err)
	if !slices.ContainsFunc(evidence, func(e onefold.Evidence) bool { return e.ID == late.Evidence.ID }) {
		t.Error("what the stale worker learnt was not kept")
	}
}

// Proves: M8
func staleVersion(t *testing.T, s *Subject) {
	ctx := context.Background()
	op := s.Admit(t, "decided")
	op = s.Ended(t, op.ID, onefold.OutcomeUnknown, "")
	decide := s.Event(onefold.EventResolved, Caller())
	decide.Resolution = &onefold.Resolution{Outcome: onefold.ResolveConfirmed, Reference: "B-2"}
	_, err := s.Store.Step(ctx, op.ID, decide, op.Version-1)
	wantError(t, err, onefold.ErrStaleVersion)
	if e, ok := errors.AsType[*onefold.Error](err); !ok || e.Version != op.Version {
		t.Errorf("the refusal does not tell the version: %+v", e)
	}
	_, err = s.Store.Step(ctx, op.ID, decide, op.Version)
	noError(t, err)
}

func refusalChangesNothing(t *testing.T, s *Subject) {
	ctx := context.Background()
	op := s.Admit(t, "k")
	op = s.Step(t, op.ID, s.Lease()).Operation
	before, err := s.Store.Timeline(ctx, op.ID, 0, 100)
	noError(t, err)
	refused := []onefold.Event{s.Lease(), s.Begin(op.Token + 1), s.Event(onefold.EventRecovered+"?", Caller())}
	resolve := s.Event(onefold.EventResolved, Caller())
	resolve.Resolution = &onefold.Resolution{Outcome: onefold.ResolveRejected}
	resolve.Evidence = &onefold.Evidence{ID: s.IDs.New("ev", s.Clock.Now()), Kind: onefold.EvidenceOperator, Asserts: onefold.AssertsNothing}
	for _, ev := range append(refused, resolve) {
		if _, err := s.Store.Step(ctx, op.ID, ev, 0); err == nil {
			t.Fatalf("%s was not refused", ev.Kind)
		}
	}
	read, err := s.Store.Operation(ctx, Workspace, op.ID)
	noError(t, err)
	if diff := cmp.Diff(op, read); diff != "" {
		t.Errorf("a refusal changed the operation:\n%s", diff)
	}
	after, err := s.Store.Timeline(ctx, op.ID, 0, 100)
	noError(t, err)
	evidence, err := s.Store.EvidenceOf(ctx, op.ID, "", 100)
	noError(t, err)
	if len(after) != len(before) || len(evidence) != 0 {
		t.Errorf("refusals left %d entries and %d pieces of evidence", len(after)-len(before), len(evidence))
	}
}

func unknownOperations(t *testing.T, s *Subject) {
	ctx := context.Background()
	for _, id := range []string{s.IDs.New(onefold.PrefixOperation, s.Clock.Now()), "", "op_", "'; DROP TABLE claim; --"} {
		_, err := s.Store.Step(ctx, id, s.Lease(), 0)
		wantError(t, err, onefold.ErrOperationUnknown)
		_, err = s.Store.Operation(ctx, Workspace, id)
		wantError(t, err, onefold.ErrOperationUnknown)
		_, err = s.Store.Request(ctx, id)
		wantError(t, err, onefold.ErrOperationUnknown)
		if _, found, err := s.Store.FrozenRequest(ctx, id); err != nil || found {
			t.Errorf("found %v, error %v", found, err)
		}
		if entries, err := s.Store.Timeline(ctx, id, 0, 10); err != nil || len(entries) != 0 {
			t.Errorf("%d entries, error %v", len(entries), err)
		}
	}
}

// Proves: M2a
func frozenOnce(t *testing.T, s *Subject) {
	ctx := context.Background()
	op := s.Admit(t, "k")
	if _, found, err := s.Store.FrozenRequest(ctx, op.ID); err != nil || found {
		t.Fatalf("before the first attempt: found %v, error %v", found, err)
	}
	leased := s.Step(t, op.ID, s.Lease()).Operation
	if _, err := s.Store.StepBegin(ctx, op.ID, s.Begin(leased.Token+1), Frozen()); err == nil {
		t.Fatal("a begin without the lease was not refused")
	}
	if _, found, err := s.Store.FrozenRequest(ctx, op.ID); err != nil || found {
		t.Fatalf("a refused begin stored the request: found %v, error %v", found, err)
	}
	begun, err := s.Store.StepBegin(ctx, op.ID, s.Begin(leased.Token), Frozen())
	noError(t, err)
	attempt := begun.Operation.Attempts[0]
	retried := s.Step(t, op.ID, s.Answer(attempt.ID, attempt.Token, onefold.OutcomeNotSent, "")).Operation
	s.WaitFor(*retried.Due)
	leased = s.Step(t, op.ID, s.Lease()).Operation
	other := Frozen()
	other.Body, other.Path = nil, "/other"
	_, err = s.Store.StepBegin(ctx, op.ID, s.Begin(leased.Token), other)
	noError(t, err)
	f, found, err := s.Store.FrozenRequest(ctx, op.ID)
	noError(t, err)
	if diff := cmp.Diff(Frozen(), f); diff != "" || !found {
		t.Errorf("the frozen request differs (-first +read):\n%s", diff)
	}
	bare := s.Admit(t, "without a body")
	leased = s.Step(t, bare.ID, s.Lease()).Operation
	other.Headers = nil
	_, err = s.Store.StepBegin(ctx, bare.ID, s.Begin(leased.Token), other)
	noError(t, err)
	if f, _, err := s.Store.FrozenRequest(ctx, bare.ID); err != nil || f.Body != nil {
		t.Errorf("no body came back as %q, error %v", f.Body, err)
	}
}

// Proves: M16
func oneDecision(t *testing.T, s *Subject) {
	op := s.Admit(t, "disputed")
	op = s.Ended(t, op.ID, onefold.OutcomeUnknown, "")
	var won atomic.Int64
	var group sync.WaitGroup
	for i := range 20 {
		ev := s.Event(onefold.EventResolved, Caller())
		ev.Resolution = &onefold.Resolution{Outcome: onefold.ResolveConfirmed, Reference: "B-1"}
		if i%2 == 0 {
			ev.Resolution = &onefold.Resolution{Outcome: onefold.ResolveRejected}
		}
		group.Go(func() {
			switch _, err := s.Store.Step(context.Background(), op.ID, ev, op.Version); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, onefold.ErrStaleVersion):
				t.Errorf("a decision was told: %v", err)
			}
		})
	}
	group.Wait()
	if won.Load() != 1 {
		t.Errorf("%d decisions won", won.Load())
	}
}

func disabledStays(t *testing.T, s *Subject) {
	op := s.Admit(t, "k")
	leased := s.Step(t, op.ID, s.Lease()).Operation
	ev := s.Begin(leased.Token)
	ev.Connection.Disabled = true
	_, err := s.Store.StepBegin(context.Background(), op.ID, ev, Frozen())
	wantError(t, err, onefold.ErrPaused)
}

// Proves: M19, M19a, M20, I28
func contradiction(t *testing.T, s *Subject) {
	ctx := context.Background()
	op := s.Admit(t, "k")
	op = s.Ended(t, op.ID, onefold.OutcomeRejected, "")
	if op.State != onefold.Rejected {
		t.Fatalf("the operation is %s", op.State)
	}
	observe := func(reference string) onefold.Event {
		ev := s.Event(onefold.EventObserved, Caller())
		ev.Observation = &onefold.Observation{Asserts: onefold.AssertsEffect, Reference: reference}
		ev.Evidence = &onefold.Evidence{
			ID: s.IDs.New(onefold.PrefixEvidence, s.Clock.Now()), Kind: onefold.EvidenceEvent,
			Asserts: onefold.AssertsEffect, Reference: reference,
		}
		return ev
	}
	seen := s.Step(t, op.ID, observe("B-5")).Operation
	if seen.State != onefold.Rejected || !seen.Contradicted || len(seen.OpenReviews()) != 1 {
		t.Fatalf("the contradicted operation is %s, contradicted %v", seen.State, seen.Contradicted)
	}
	stats, err := s.Store.Stats(ctx, Workspace)
	noError(t, err)
	if stats.ByState[onefold.Rejected] != 1 || stats.Contradicted != 1 || stats.OpenReviews != 1 {
		t.Errorf("the counts are %+v", stats)
	}
	s.Clock.Advance(2 * time.Hour)
	overdue, err := s.Store.Overdue(ctx, s.Clock.Now(), 10)
	noError(t, err)
	if diff := cmp.Diff([]string{op.ID}, idsOf(overdue)); diff != "" {
		t.Errorf("a settled operation's review is not escalated:\n%s", diff)
	}
	decide := s.Event(onefold.EventResolved, Caller())
	decide.Resolution = &onefold.Resolution{Outcome: onefold.ResolveConfirmed, Reference: "B-5"}
	decided := s.Step(t, op.ID, decide).Operation
	read, err := s.Store.Operation(ctx, Workspace, op.ID)
	noError(t, err)
	if diff := cmp.Diff(decided, read); diff != "" || read.State != onefold.Confirmed {
		t.Errorf("the decided operation is %s:\n%s", read.State, diff)
	}
	stats, err = s.Store.Stats(ctx, Workspace)
	noError(t, err)
	want := map[onefold.State]int64{onefold.Confirmed: 1}
	if diff := cmp.Diff(want, nonZero(stats.ByState)); diff != "" || stats.OpenReviews != 0 {
		t.Errorf("%d reviews are open; the counts by state differ:\n%s", stats.OpenReviews, diff)
	}
	found, _, err := s.Store.List(ctx, onefold.Query{Workspace: Workspace, State: onefold.Confirmed, Reference: "B-5"})
	noError(t, err)
	if len(found) != 1 {
		t.Errorf("%d operations are found by state and reference", len(found))
	}
	repeated := observe("B-5")
	again := s.Step(t, op.ID, repeated).Operation
	if again.Version != decided.Version {
		t.Error("a repeated confirmation raised the version")
	}
	evidence, err := s.Store.EvidenceOf(ctx, op.ID, "", 10)
	noError(t, err)
	if len(evidence) != 3 {
		t.Errorf("%d pieces of evidence are kept, want the answer, the event and its repetition", len(evidence))
	}
}

func nonZero(counts map[onefold.State]int64) map[onefold.State]int64 {
	out := map[onefold.State]int64{}
	for state, n := range counts {
		if n != 0 {
			out[state] = n
		}
	}
	return out
}

// Proves: M6
func callerGone(t *testing.T, s *Subject) {
	op := s.Admit(t, "k")
	gone, leave := context.WithCancel(context.Background())
	leave()
	_, err := s.Store.Step(gone, op.ID, s.Lease(), 0)
	wantError(t, err, context.Canceled)
	if errors.Is(err, onefold.ErrCommitUnknown) {
		t.Error("nothing was begun, and the caller was told that it may have been")
	}
	_, _, err = s.Store.Admit(gone, s.Admission("never"))
	wantError(t, err, context.Canceled)
	if _, found, err := s.Store.Claimed(context.Background(), key("never")); err != nil || found {
		t.Errorf("found %v, error %v", found, err)
	}
	s.Step(t, op.ID, s.Lease())
}
