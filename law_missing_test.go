package onefold

import (
	"testing"
	"time"
)

// without is a worker that leases the operation and has not its contract.
func (l *tale) without(what string) *tale {
	l.t.Helper()
	l.lease()
	return l.do(Event{Kind: EventReconsidered, Reconsider: &Reconsideration{Token: l.op.Token, Missing: what}})
}

// lines counts the timeline entries of the last event.
func (l *tale) lines() (n int) {
	for _, e := range l.last {
		if e.Kind == EffectRecord {
			n++
		}
	}
	return n
}

// TestAContractThatIsMissingIsWaitedFor: a worker that has not the contract says
// nothing about the operation, which is not held and whose budget is not spent. It
// stays due, at growing intervals; the first time is told, and after a minute a
// person is, once. As soon as a worker has it the operation goes on, and the review
// is over.
//
// Proves: M16, M28
func TestAContractThatIsMissingIsWaitedFor(t *testing.T) {
	t.Parallel()
	const gone = "its contract cannot be loaded here: capability_unknown"
	for _, state := range []State{Prepared, Uncertain} {
		l := newTale(t)
		if state == Uncertain {
			l.send(Write).answer(1, Answer{Outcome: OutcomeUnknown})
		}
		next, spent, version, began := l.op.Next, l.op.Retry, l.op.Version, time.Time{}
		var wait time.Duration
		for n := 0; ; n++ {
			l.without(gone).is(state)
			if began.IsZero() {
				began = l.now
			}
			if len(l.op.Holds) > 0 || l.op.Next != next || l.op.Retry != spent || l.op.Lease != nil {
				t.Fatalf("%s: it became %+v", state, l.op.Standing)
			}
			if left := l.op.Due.Sub(l.now); left < wait/2 || left <= 0 || left > 5*time.Minute {
				t.Fatalf("%s: due again after %v, and the time before after %v", state, left, wait)
			}
			wait = l.op.Due.Sub(l.now)
			if l.now.Sub(began) >= MissingPatience {
				break
			}
			if told := l.lines() == 1; told != (n == 0) || len(l.op.Reviews) != 0 || l.op.Version != version {
				t.Fatalf("%s: try %d left %d lines, %d reviews and version %d", state, n, l.lines(), len(l.op.Reviews), l.op.Version)
			}
		}
		l.owned(ReviewUnsendable)
		if version++; l.lines() != 1 || l.op.Version != version {
			t.Errorf("%s: the review left %d lines and version %d", state, l.lines(), l.op.Version)
		}
		if l.without(gone).owned(ReviewUnsendable); l.lines() != 0 || l.op.Version != version {
			t.Errorf("%s: told again: %d lines, version %d", state, l.lines(), l.op.Version)
		}
		if state == Prepared {
			l.send(Write).is(Attempting)
		} else {
			l.look(LookupOutcome{Result: LookupInconclusive}).is(Uncertain)
		}
		if len(l.op.OpenReviews()) != 0 || l.op.Missing != (Budget{}) || l.op.Version != version+1 {
			t.Errorf("%s: it went on, and left %+v", state, l.op.Standing)
		}
	}
}

// TestAMissingContractIsNoOtherReason: what cannot be built is told as that, in a
// review of its own, though the contract was missing before.
//
// Proves: M16
func TestAMissingContractIsNoOtherReason(t *testing.T) {
	t.Parallel()
	l := newTale(t).without("gone").wait(MissingPatience).without("gone").owned(ReviewUnsendable)
	l.lease().do(Event{Kind: EventReconsidered, Reconsider: &Reconsideration{Token: l.op.Token, Unsendable: "its body cannot be built"}})
	l.is(Prepared).owned(ReviewUnsendable)
	if open := l.op.OpenReviews()[0]; open.Detail != "its body cannot be built" || len(l.op.Holds) != 1 || l.op.Holds[0].Review != open.ID {
		t.Errorf("held as %+v, with %+v", l.op.Holds, open)
	}
}
