package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
)

func runnerStories() []story {
	return []story{
		{"one runner at a time", oneRunner},
		{"a new runner ends what an old one left", endsEarlierRunner},
		{"a new runner leaves what workers outside a runner are at", leavesOutsideWorkers},
	}
}

// Proves: M12a
func oneRunner(t *testing.T, s *Subject) {
	ctx := context.Background()
	release, err := s.Store.TakeRunner(ctx, "w1")
	noError(t, err)
	_, err = s.Store.TakeRunner(ctx, "w2")
	wantError(t, err, onefold.ErrRunnerTaken)
	noError(t, release())
	noError(t, release())
	again, err := s.Store.TakeRunner(ctx, "w2")
	noError(t, err)
	noError(t, again())
}

// Proves: M10, M12a
func endsEarlierRunner(t *testing.T, s *Subject) {
	ctx := context.Background()
	const many = 30
	leasedOnly, attempting := make([]string, many), make([]string, many)
	for i := range many {
		leased := s.Admit(t, fmt.Sprint("leased ", i))
		s.Step(t, leased.ID, s.Lease())
		begun := s.Admit(t, fmt.Sprint("begun ", i))
		s.Attempting(t, begun.ID)
		leasedOnly[i], attempting[i] = leased.ID, begun.ID
	}
	open := s.Admit(t, "open")
	s.Attempting(t, open.ID)
	s.Clock.Advance(time.Minute)
	s.Step(t, open.ID, s.Event(onefold.EventLeaseExpired, Worker()))
	looking := s.Admit(t, "looking")
	looking = s.Ended(t, looking.ID, onefold.OutcomeUnknown, "")
	s.WaitFor(*looking.Due)
	s.Step(t, looking.ID, s.Lease())
	idle := s.Admit(t, "idle")

	release, err := s.Store.TakeRunner(ctx, "w2")
	noError(t, err)
	defer func() { noError(t, release()) }()
	read := func(id string) onefold.Operation {
		op, err := s.Store.Operation(ctx, Workspace, id)
		noError(t, err)
		if op.Lease != nil {
			t.Errorf("%s is still leased", op.Key)
		}
		return op
	}
	for i := range many {
		if op := read(leasedOnly[i]); op.State != onefold.Prepared {
			t.Errorf("%s is %s", op.Key, op.State)
		}
	}
	for _, id := range append(attempting, open.ID) {
		op := read(id)
		if a := op.Attempts[0]; op.State != onefold.Uncertain || a.Open || a.ClosedBy != onefold.ClosedByProcessEnd {
			t.Errorf("%s is %s with the attempt %+v", op.Key, op.State, a)
		}
		// Whoever plans it finds it due: the store knows no contract.
		if op.Due == nil || op.Due.After(s.Clock.Now()) {
			t.Errorf("%s is due at %v", op.Key, op.Due)
		}
	}
	if op := read(looking.ID); op.State != onefold.Uncertain || op.Due == nil {
		t.Errorf("%s is %s, due %v", op.Key, op.State, op.Due)
	}
	if op := read(idle.ID); op.Version != idle.Version {
		t.Error("an operation without a lease was touched")
	}
	items, err := s.Store.Due(ctx, s.Clock.Now(), nil, 1000)
	noError(t, err)
	if len(items) != 2*many+3 {
		t.Errorf("%d operations are due, want %d", len(items), 2*many+3)
	}
}

// A program that carries its operations out by Do is no runner, and may be in the
// middle of a write while a runner starts.
//
// Proves: M10, M12a
func leavesOutsideWorkers(t *testing.T, s *Subject) {
	ctx := context.Background()
	outside := func(ev onefold.Event) onefold.Event {
		ev.Lease.Worker = "do:cron"
		return ev
	}
	begin := func(key string) onefold.Operation {
		op := s.Admit(t, key)
		leased := s.Step(t, op.ID, outside(s.Lease()))
		done, err := s.Store.StepBegin(ctx, op.ID, s.Begin(leased.Operation.Token), Frozen())
		noError(t, err)
		return done.Operation
	}
	silent := begin("silent outside")
	s.Clock.Advance(time.Minute)
	s.Step(t, silent.ID, s.Event(onefold.EventLeaseExpired, Worker()))
	begun := begin("begun outside")
	looking := s.Admit(t, "leased outside")
	s.Step(t, looking.ID, outside(s.Lease()))

	release, err := s.Store.TakeRunner(ctx, "w2")
	noError(t, err)
	defer func() { noError(t, release()) }()
	for id, wantLease := range map[string]bool{begun.ID: true, silent.ID: false, looking.ID: true} {
		op, err := s.Store.Operation(ctx, Workspace, id)
		noError(t, err)
		if (op.Lease != nil) != wantLease {
			t.Errorf("%s: leased %v, want %v", op.Key, op.Lease != nil, wantLease)
		}
		for _, a := range op.Attempts {
			if a.Closed() {
				t.Errorf("%s: the attempt was closed: %+v", op.Key, a)
			}
		}
	}
}
