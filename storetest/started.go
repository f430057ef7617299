package storetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onefold-dev/onefold"
)

// startStories are of a store that begins an operation's first attempt with its
// admission (onefold.Starter), as every store of ours does.
func startStories() []story {
	return []story{
		{"an attempt begun with its admission is what three steps make", startedIsThreeSteps},
		{"what the law does not let begin is admitted alone", admittedAlone},
		{"what cannot be admitted is not begun", notBegun},
		{"of many that admit and begin one key, one does", manyStartOneKey},
		{"an attempt begun with its admission ends like any other", startedEnds},
	}
}

// started admits and begins; the token of the begin is the store's to fill in.
func (s *Subject) started(t testing.TB, a onefold.Admission) (onefold.Operation, bool, error) {
	t.Helper()
	starter, able := s.Store.(onefold.Starter)
	if !able {
		t.Fatal("the store begins nothing with its admission")
	}
	return starter.AdmitStarted(context.Background(), a, onefold.Start{Lease: s.Lease(), Begin: s.Begin(0), Frozen: Frozen()})
}

// Proves: I3, M1, M2a, M4, M7, M28
func startedIsThreeSteps(t *testing.T, s *Subject) {
	ctx := context.Background()
	whole := s.Admission("whole")
	got, created, err := s.started(t, whole)
	noError(t, err)
	if !created {
		t.Fatal("it was not created")
	}
	want := s.Attempting(t, s.Admit(t, "in steps").ID)
	one, other := got.Clone(), want.Clone()
	for _, op := range []*onefold.Operation{&one, &other} {
		op.Admitted = onefold.Admitted{}
		op.Attempts[0].ID = ""
	}
	if diff := cmp.Diff(other, one); diff != "" {
		t.Errorf("it differs (-three steps +one):\n%s", diff)
	}
	for id, op := range map[string]onefold.Operation{got.ID: got, want.ID: want} {
		read, err := s.Store.Operation(ctx, Workspace, id)
		noError(t, err)
		if diff := cmp.Diff(op, read); diff != "" {
			t.Errorf("read back it differs (-told +read):\n%s", diff)
		}
		frozen, found, err := s.Store.FrozenRequest(ctx, id)
		noError(t, err)
		if !found || !cmp.Equal(frozen, Frozen()) {
			t.Errorf("the frozen request is %v, %+v", found, frozen)
		}
		entries, err := s.Store.Timeline(ctx, id, 0, 10)
		noError(t, err)
		var told []onefold.EventKind
		for i := range entries {
			told = append(told, entries[i].Event)
		}
		if !cmp.Equal(told, []onefold.EventKind{onefold.EventAdmitted, onefold.EventBegun}) {
			t.Errorf("the timeline tells %v", told)
		}
	}
	due, err := s.Store.Due(ctx, s.Clock.Now().Add(time.Hour), nil, 10)
	noError(t, err)
	if len(due) != 0 {
		t.Errorf("what is under a lease is due: %v", due)
	}
}

// Proves: M4, M7, M24
func admittedAlone(t *testing.T, s *Subject) {
	ctx := context.Background()
	soon := s.Clock.Now().Add(time.Hour)
	_, err := s.Store.PauseConnection(ctx, onefold.ConnectionRef{Workspace: Workspace, Connection: "paused"}, Caller(), "maintenance")
	noError(t, err)
	for name, change := range map[string]func(*onefold.Operation){
		"paused": func(o *onefold.Operation) { o.Connection = "paused" },
		"later":  func(o *onefold.Operation) { o.NotBefore, o.Due = &soon, &soon },
		"held": func(o *onefold.Operation) {
			o.Due, o.Holds = nil, []onefold.Hold{{Reason: onefold.HoldApproval, Since: o.CreatedAt}}
		},
		"overdue": func(o *onefold.Operation) { o.StartDeadline = &o.CreatedAt },
	} {
		a := s.Admission(name, change)
		op, created, err := s.started(t, a)
		noError(t, err)
		if !created || op.State != onefold.Prepared || op.Lease != nil || len(op.Attempts) != 0 {
			t.Errorf("%s: created %v, it is %s with the lease %v and %d attempts", name, created, op.State, op.Lease, len(op.Attempts))
		}
		if _, found, err := s.Store.FrozenRequest(ctx, op.ID); err != nil || found {
			t.Errorf("%s: a request was frozen: %v, error %v", name, found, err)
		}
		if entries, err := s.Store.Timeline(ctx, op.ID, 0, 10); err != nil || len(entries) != 1 {
			t.Errorf("%s: the timeline has %d entries, error %v", name, len(entries), err)
		}
	}
	_, err = s.Store.ResumeConnection(ctx, onefold.ConnectionRef{Workspace: Workspace, Connection: "paused"}, Caller(), "done")
	noError(t, err)
	// A pause that is over is no obstacle, and its time is counted.
	op, _, err := s.started(t, s.Admission("after the pause", func(o *onefold.Operation) { o.Connection = "paused" }))
	noError(t, err)
	if op.State != onefold.Attempting {
		t.Errorf("after the pause it is %s", op.State)
	}
}

// Proves: I2, I13a, M16a
func notBegun(t *testing.T, s *Subject) {
	ctx := context.Background()
	first := s.Admit(t, "first")
	same, created, err := s.started(t, s.Admission("first"))
	noError(t, err)
	if created || same.ID != first.ID || same.State != onefold.Prepared {
		t.Errorf("a held key: created %v, %s, it is %s", created, same.ID, same.State)
	}
	_, _, err = s.started(t, s.Admission("second", func(o *onefold.Operation) { o.Identity = first.Identity }))
	wantError(t, err, onefold.ErrIdentityTaken)
	doubtful := s.Ended(t, s.Admit(t, "doubtful").ID, onefold.OutcomeUnknown, "")
	a := s.Admission("third")
	a.UnresolvedLimit = 1
	_, _, err = s.started(t, a)
	wantError(t, err, onefold.ErrAdmissionLimited)
	for _, k := range []string{"second", "third"} {
		if _, found, err := s.Store.Claimed(ctx, key(k)); err != nil || found {
			t.Errorf("%s: a claim was left: %v, error %v", k, found, err)
		}
	}
	if op, err := s.Store.Operation(ctx, Workspace, doubtful.ID); err != nil || op.Version != doubtful.Version {
		t.Errorf("another operation changed: %v, error %v", op.Version, err)
	}
}

// Proves: I2, I3, M7
func manyStartOneKey(t *testing.T, s *Subject) {
	var (
		group   sync.WaitGroup
		created atomic.Int64
		attempt [24]string
	)
	for i := range attempt {
		a := s.Admission("one key")
		start := onefold.Start{Lease: s.Lease(), Begin: s.Begin(0), Frozen: Frozen()}
		group.Go(func() {
			starter := s.Store.(onefold.Starter) //nolint:forcetypeassert // the first story says so
			op, made, err := starter.AdmitStarted(context.Background(), a, start)
			if err != nil || op.State != onefold.Attempting || len(op.Attempts) != 1 {
				t.Errorf("caller %d: %v, it is %s with %d attempts", i, err, op.State, len(op.Attempts))
				return
			}
			if attempt[i] = op.Attempts[0].ID; made {
				created.Add(1)
				if attempt[i] != start.Begin.Begin.Attempt {
					t.Errorf("caller %d created it and did not begin it", i)
				}
			}
		})
	}
	group.Wait()
	for i := range attempt {
		if attempt[i] != attempt[0] {
			t.Errorf("callers saw the attempts %s and %s", attempt[0], attempt[i])
		}
	}
	if created.Load() != 1 {
		t.Errorf("%d callers created it", created.Load())
	}
}

// Proves: M4, M6, M8
func startedEnds(t *testing.T, s *Subject) {
	for i, outcome := range []onefold.Outcome{onefold.OutcomeConfirmed, onefold.OutcomeRejected, onefold.OutcomeUnknown, onefold.OutcomeNotSent} {
		op, _, err := s.started(t, s.Admission(fmt.Sprint("ends ", i)))
		noError(t, err)
		done := s.Step(t, op.ID, s.Answer(last(&op).ID, op.Token, outcome, map[bool]string{true: "B-1"}[outcome == onefold.OutcomeConfirmed]))
		want := map[onefold.Outcome]onefold.State{
			onefold.OutcomeConfirmed: onefold.Confirmed, onefold.OutcomeRejected: onefold.Rejected,
			onefold.OutcomeUnknown: onefold.Uncertain, onefold.OutcomeNotSent: onefold.Prepared,
		}[outcome]
		if done.Operation.State != want {
			t.Errorf("%s left it %s", outcome, done.Operation.State)
		}
		// A worker that comes again with the old token changes nothing.
		if _, err := s.Store.Step(context.Background(), op.ID, s.Answer(last(&op).ID, op.Token-1, onefold.OutcomeRejected, ""), 0); err == nil && done.Operation.State != onefold.Uncertain {
			now, err := s.Store.Operation(context.Background(), Workspace, op.ID)
			noError(t, err)
			if now.State != want {
				t.Errorf("a stale answer left it %s", now.State)
			}
		}
	}
}
