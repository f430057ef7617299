package onefold

import (
	"slices"
	"testing"
	"time"
)

// TestAWithdrawalUndoesNothing: before anything was attempted it releases the
// key; after that nothing more is sent, and what the target did decides.
//
// Proves: M11c, M24
func TestAWithdrawalUndoesNothing(t *testing.T) {
	t.Parallel()
	cancel := func(release bool) Event { return Event{Kind: EventCanceled, Cancel: &Cancellation{Release: release}} }
	for _, release := range []bool{true, false} {
		l := newTale(t).do(cancel(release)).is(Canceled)
		if l.op.KeyReleased != release || !l.op.NewKeySafe() {
			t.Errorf("released %v, want %v", l.op.KeyReleased, release)
		}
	}
	l := newTale(t).send(Write).answer(1, Answer{Outcome: OutcomeNotSent}).do(cancel(true)).is(Canceled)
	if l.op.KeyReleased {
		t.Error("the key of an attempted operation was released")
	}
	l = newTale(t).send(Write).do(cancel(true)).is(Attempting, BarWithdrawn)
	l.answer(1, Answer{Outcome: OutcomeConfirmed, Reference: ourRef}).is(Confirmed, BarWithdrawn)

	newTale(t).send(Write).do(cancel(true)).answer(1, Answer{Outcome: OutcomeNotApplied}).is(Canceled, BarWithdrawn)
	l = newTale(t).send(Write).answer(1, Answer{Outcome: OutcomeUnknown}).do(cancel(true)).is(Uncertain, BarWithdrawn)
	l.lease()
	l.refuses(l.begin(Replay), CodeBarred)
	version := l.op.Version
	if l.do(cancel(true)); l.op.Version != version {
		t.Error("a second withdrawal is news")
	}
	l.do(Event{Kind: EventHandedBack, Lease: &LeaseGrant{Token: l.op.Token}}).wait(time.Hour)
	l.look(LookupOutcome{Result: LookupAbsent}).is(Canceled, BarWithdrawn)
	l.refuses(l.try(cancel(true)), CodeAlreadySettled)
	l.refuses(l.begin(Write), CodeAlreadySettled)
}

// TestNothingBeginsPastTheDeadline, no replay either; its passing keeps the key.
//
// Proves: M24
func TestNothingBeginsPastTheDeadline(t *testing.T) {
	t.Parallel()
	passed := Event{Kind: EventDeadlinePassed}
	fresh := func() *tale {
		l := newTale(t)
		l.op.StartDeadline = at(time.Hour)
		return l
	}
	l := fresh()
	l.refuses(l.try(passed), CodeNotDue)
	l.wait(time.Hour).lease()
	l.refuses(l.begin(Write), CodeDeadlinePast)
	if l.do(passed).is(Canceled); l.op.KeyReleased {
		t.Error("the key was released")
	}
	l = fresh().send(Write).answer(1, Answer{Outcome: OutcomeUnknown}).wait(time.Hour).lease()
	l.refuses(l.begin(Replay), CodeDeadlinePast)
	l.do(passed).is(Uncertain, BarPastDeadline)
	l.refuses(l.try(passed), CodeNotDue)
	l.do(Event{Kind: EventHandedBack, Lease: &LeaseGrant{Token: l.op.Token}})
	l.look(LookupOutcome{Result: LookupFound, Reference: ourRef}).is(Confirmed, BarPastDeadline)
}

// TestAContradictionIsShownAndResolved: an effect turns up where none was to
// be. Both are shown, nothing is overwritten and nothing sent; a person decides.
//
// Proves: M8, M19, M19a, M20
func TestAContradictionIsShownAndResolved(t *testing.T) {
	t.Parallel()
	l := newTale(t).send(Write).silence().straggle(1)
	l.do(Event{Kind: EventResolved, Resolution: &Resolution{Outcome: ResolveRejected}}).is(Rejected)
	l.answer(1, Answer{Outcome: OutcomeConfirmed, Reference: ourRef}).is(Rejected).owned(ReviewContradicted)
	if l.op.Rejection == nil || l.op.Result != nil || !l.op.Contradicted || l.op.NewKeySafe() || !l.op.Live() {
		t.Fatalf("it is left as %+v", l.op.Standing)
	}
	l.refuses(l.try(Event{Kind: EventResolved, Resolution: &Resolution{Outcome: ResolveConfirmed}}), CodeMemberInvalid)
	l.do(Event{Kind: EventResolved, Resolution: &Resolution{Outcome: ResolveConfirmed, Reference: ourRef}}).is(Confirmed)
	if l.op.Contradicted || l.op.Rejection == nil || l.op.Result.LearntFrom != LearntFromOperator || len(l.op.Attempts) != 1 {
		t.Errorf("resolved as %+v", l.op.Standing)
	}
	// The same reference again changes nothing; another contradicts again.
	version := l.op.Version
	if l.observe(Observation{Asserts: AssertsEffect, Reference: ourRef}); l.op.Version != version || l.op.Contradicted {
		t.Error("a confirmation of what is recorded changed something")
	}
	l.observe(Observation{Asserts: AssertsEffect, Reference: otherRef}).is(Confirmed).owned(ReviewContradicted)
	l.do(Event{Kind: EventResolved, Resolution: &Resolution{Outcome: ResolveConfirmed, Reference: otherRef}})
	if r := l.op.Result; r.Reference != otherRef || r.Earlier == nil || r.Earlier.Reference != ourRef {
		t.Errorf("the earlier result is not kept beside %+v", r)
	}
	l.observe(Observation{Asserts: AssertsEffect, Reference: ourRef}) // known, and decided
	l.refuses(l.try(Event{Kind: EventResolved, Resolution: &Resolution{Outcome: ResolveRejected}}), CodeNotDecidable)
}

// TestAnEffectAfterItsAbsence: what was said not to exist turns up before the
// next attempt. The contradiction outlives the confirmation.
//
// Proves: M12, M20
func TestAnEffectAfterItsAbsence(t *testing.T) {
	t.Parallel()
	absent := func() *tale {
		l := newTale(t).send(Write).answer(1, Answer{Outcome: OutcomeUnknown}).wait(time.Hour)
		l.policy.InDoubt = []RecoveryStep{StepLookup}
		return l.look(LookupOutcome{Result: LookupInconclusive}).look(LookupOutcome{Result: LookupAbsent}).is(Prepared)
	}
	l := absent().lease().observe(Observation{Asserts: AssertsEffect, Reference: ourRef}).is(Confirmed).owned(ReviewContradicted)
	if l.op.Lease != nil || !l.op.Contradicted {
		t.Errorf("lease %v, contradicted %v", l.op.Lease, l.op.Contradicted)
	}
	l = absent().lease().observe(Observation{Asserts: AssertsEffect}).is(Uncertain, BarEffectExists).owned(ReviewContradicted)
	l.refuses(l.begin(Write), CodeLeaseLost)
	l.look(LookupOutcome{Result: LookupFound, Reference: ourRef}).is(Confirmed, BarEffectExists).owned(ReviewContradicted)
	l.do(Event{Kind: EventResolved, Resolution: &Resolution{Outcome: ResolveNotApplied}}).is(Confirmed, BarEffectExists)
	if l.op.Contradicted || len(l.op.OpenReviews()) != 0 {
		t.Errorf("upheld, and left as %+v", l.op.Standing)
	}
}

// TestNotAppliedIsADecision: refused while an attempt is open; afterwards it
// lifts what may be lifted and starts a new budget.
//
// Proves: M11, M11c, M12a
func TestNotAppliedIsADecision(t *testing.T) {
	t.Parallel()
	decide := Event{Kind: EventResolved, Resolution: &Resolution{Outcome: ResolveNotApplied}}
	l := newTale(t).send(Write).silence()
	l.refuses(l.try(decide), CodeAttemptOpen)
	l.straggle(1).observe(Observation{Asserts: AssertsEffect, Reference: ourRef, Differs: odd}).is(Uncertain, BarDiffers)
	l.do(decide).is(Prepared)
	if l.op.Retry.Spent != 0 || l.op.MaybeApplied || !l.op.Due.Equal(l.now) || len(l.op.OpenReviews()) != 0 {
		t.Errorf("it is left as %+v", l.op.Standing)
	}
	// The record that was dismissed is no second effect of the next attempt.
	l.send(Write).answer(2, Answer{Outcome: OutcomeConfirmed, Reference: otherRef}).is(Confirmed)
	l.observe(Observation{Asserts: AssertsEffect, Reference: ourRef}).owned(ReviewContradicted)
}

// TestASpentBudgetHoldsOrRejects, and a release starts a new one.
//
// Proves: M16, M19a
func TestASpentBudgetHoldsOrRejects(t *testing.T) {
	t.Parallel()
	l := newTale(t)
	l.policy.RetryAttempts = 2
	notSent := Answer{Outcome: OutcomeNotSent}
	l.send(Write).answer(1, notSent).is(Prepared).send(Write).answer(2, notSent).is(Prepared).owned(ReviewRetryExhausted)
	if len(l.op.Holds) != 1 || l.op.Holds[0].Reason != HoldRetryExhausted || l.op.Due != nil {
		t.Fatalf("held %v, due %v", l.op.Holds, l.op.Due)
	}
	l.refuses(l.try(Event{Kind: EventRetryAsked}), CodeHeld)
	l.do(Event{Kind: EventHoldDecided, Hold: &HoldDecision{Reason: HoldRetryExhausted, Proceed: true}})
	if len(l.op.OpenReviews()) != 0 || l.op.Retry.Spent != 0 {
		t.Errorf("released, and left as %+v", l.op.Standing)
	}
	l.policy.Exhausted = ExhaustedReject
	l.send(Write).answer(3, notSent).send(Write).answer(4, notSent).is(Rejected)
	l.refuses(l.begin(Write), CodeAlreadySettled)

	// A budget of none, or the limit of attempts, does not go round for ever.
	l = newTale(t)
	l.policy.RetryAttempts = 0
	l.lease()
	l.refuses(l.begin(Write), CodeNotAllowed)
	l.do(Event{Kind: EventReconsidered, Reconsider: &Reconsideration{Token: l.op.Token}}).is(Prepared).owned(ReviewRetryExhausted)
}

// TestARecoveryForgetsNoHold: what waited for approval before a restore waits
// for it afterwards, and its review stays with its owner.
//
// Proves: M11c, M16
func TestARecoveryForgetsNoHold(t *testing.T) {
	t.Parallel()
	l := newTale(t).do(Event{Kind: EventHoldPlaced, Place: &Hold{Reason: HoldApproval}}).owned(ReviewApproval)
	l.do(Event{Kind: EventRecovered}).is(Uncertain, BarRestored)
	l.lease()
	l.refuses(l.begin(Replay), CodeHeld)
	l.do(Event{Kind: EventLookedUp, Lookup: &LookupOutcome{Result: LookupAbsent, Token: l.op.Token, Began: l.now}}).is(Prepared).owned(ReviewApproval)
	if len(l.op.Holds) != 1 || l.op.Due != nil || l.op.Lease != nil {
		t.Fatalf("held %v, due %v", l.op.Holds, l.op.Due)
	}
	l.do(Event{Kind: EventHoldDecided, Hold: &HoldDecision{Reason: HoldApproval, Proceed: true}}).send(Write).is(Attempting)
}

// TestARefusalSaysWhy: an unsafe retry names the clause that denies it.
//
// Proves: M11a
func TestARefusalSaysWhy(t *testing.T) {
	t.Parallel()
	l := newTale(t).send(Write)
	l.refuses(l.try(Event{Kind: EventRetryAsked}), CodeRetryUnsafe)
	l.answer(1, Answer{Outcome: OutcomeUnknown, Stored: true})
	err := l.try(Event{Kind: EventRetryAsked})
	if e, ok := err.(*Error); !ok || e.Code != CodeRetryUnsafe || e.Reason != replayStored { //nolint:errorlint // Apply's own error, unwrapped
		t.Errorf("refused: %v", err)
	}
	l.op.Attempts[0].Stored = false
	// The end of the attempt is not the end of the target's work on it.
	err = l.try(Event{Kind: EventRetryAsked})
	if e, ok := err.(*Error); !ok || e.Code != CodeRetryUnsafe || e.Reason != replayAtWork { //nolint:errorlint // Apply's own error, unwrapped
		t.Errorf("refused: %v", err)
	}
	l.now = l.now.Add(max(l.policy.Timeout, l.policy.Processing))
	l.do(Event{Kind: EventRetryAsked})
	if l.op.Next != NextReplay || !l.op.Due.Equal(l.now) || !slices.Equal(l.op.Barred, nil) {
		t.Errorf("next %s at %v", l.op.Next, l.op.Due)
	}
	l.conn.Paused = true
	l.refuses(l.try(Event{Kind: EventRetryAsked}), CodePaused)
}
