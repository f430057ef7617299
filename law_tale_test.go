package onefold

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// tale tells what happens to one operation, step by step.
type tale struct {
	t      *testing.T
	op     Operation
	policy Policy
	conn   ConnectionStanding
	now    time.Time
	n      int
	last   []Effect
}

func newTale(t *testing.T) *tale {
	t.Helper()
	s := &scene{}
	l := &tale{t: t, policy: *s.policy(), now: dawn}
	l.policy.EscalateAfter, l.policy.EscalateTo = 8*time.Hour, "finance-lead"
	l.op, _ = admit(Admitted{ID: "op_1", Owner: "maria", CreatedAt: dawn, KeyRetention: time.Hour}, nil, "", Actor{ActorPrincipal, "ada"})
	return l
}

func (l *tale) wait(d time.Duration) *tale { l.now = l.now.Add(d); return l }

// try applies an event and returns the refusal, if it is one.
func (l *tale) try(ev Event) error {
	l.t.Helper()
	l.n++
	if ev.Policy == nil {
		ev.Policy = &l.policy
	}
	ev.Connection, ev.ReviewID = l.conn, fmt.Sprintf("rev_%d", l.n)
	ev.Actor = Actor{ActorWorker, "w"}
	ev.Evidence = &Evidence{ID: fmt.Sprintf("ev_%d", l.n)}
	op, effects, err := Apply(l.op, ev, l.now)
	if err == nil {
		l.op, l.last = op, effects
	}
	return err
}

func (l *tale) do(ev Event) *tale {
	l.t.Helper()
	if err := l.try(ev); err != nil {
		l.t.Fatalf("%s: %v", ev.Kind, err)
	}
	return l
}

// lease takes the operation when it is due.
func (l *tale) lease() *tale {
	l.t.Helper()
	if l.op.Due != nil && l.op.Due.After(l.now) {
		l.now = *l.op.Due
	}
	return l.do(Event{Kind: EventLeased, Lease: &LeaseGrant{Worker: "w", For: 30 * time.Second}})
}

func (l *tale) begin(kind AttemptKind) error {
	l.t.Helper()
	return l.try(Event{Kind: EventBegun, Begin: &Begin{
		Attempt: fmt.Sprintf("att_%d", len(l.op.Attempts)+1), Token: l.op.Token, Kind: kind, FrozenDigest: "frozen", Scope: "scope",
	}})
}

// send leases and begins.
func (l *tale) send(kind AttemptKind) *tale {
	l.t.Helper()
	l.lease()
	if err := l.begin(kind); err != nil {
		l.t.Fatalf("begin: %v", err)
	}
	return l
}

// answer is what came of the nth attempt.
func (l *tale) answer(n int, a Answer) *tale {
	l.t.Helper()
	a.Attempt, a.Token = l.op.Attempts[n-1].ID, l.op.Attempts[n-1].Token
	return l.do(Event{Kind: EventAnswered, Answer: &a})
}

// look leases and looks up.
func (l *tale) look(found LookupOutcome) *tale {
	l.t.Helper()
	l.lease()
	found.Token, found.Began = l.op.Token, l.now
	return l.do(Event{Kind: EventLookedUp, Lookup: &found})
}

func (l *tale) observe(o Observation) *tale {
	l.t.Helper()
	return l.do(Event{Kind: EventObserved, Observation: &o})
}

// silence is a worker that is never heard of again.
func (l *tale) silence() *tale {
	l.t.Helper()
	l.now = l.op.Lease.Until
	return l.do(Event{Kind: EventLeaseExpired})
}

// straggle closes the nth attempt when straggler may.
func (l *tale) straggle(n int) *tale {
	l.t.Helper()
	l.now = *l.op.Attempts[n-1].CloseAt
	return l.do(Event{Kind: EventAttemptClosed, Close: &AttemptClose{Attempt: l.op.Attempts[n-1].ID, By: ClosedByStraggler}})
}

func (l *tale) is(state State, barred ...Bar) *tale {
	l.t.Helper()
	if l.op.State != state || !slices.Equal(l.op.Barred, barred) {
		l.t.Fatalf("it is %s, barred %v; must be %s, barred %v", l.op.State, l.op.Barred, state, barred)
	}
	return l
}

func (l *tale) refuses(err error, code Code) *tale {
	l.t.Helper()
	if err == nil || CodeOf(err) != code {
		l.t.Fatalf("answered %v, must be refused as %s", err, code)
	}
	return l
}

// owned checks that exactly one open review has the reason and its owner.
func (l *tale) owned(reason ReviewReason) *tale {
	l.t.Helper()
	open := l.op.OpenReviews()
	if len(open) != 1 || open[0].Reason != reason || open[0].Owner != "maria" {
		l.t.Fatalf("open reviews %+v, must be one for %s, owned by maria", open, reason)
	}
	return l
}
