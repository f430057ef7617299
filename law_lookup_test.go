package onefold

import (
	"testing"
	"time"
)

// TestAbsenceCountsOnlyOnceItIsProof: a look-up that begins too early learns
// nothing, however often; one that begins late enough frees the operation.
//
// Proves: M11, M12
func TestAbsenceCountsOnlyOnceItIsProof(t *testing.T) {
	t.Parallel()
	l := newTale(t)
	l.policy.InDoubt = []RecoveryStep{StepLookup, StepOperator}
	l.send(Write).answer(1, Answer{Outcome: OutcomeUnknown, Doubt: DoubtNoAnswer})
	proof, version := l.now.Add(35*time.Second), l.op.Version
	for looks := 0; l.op.State == Uncertain; looks++ {
		l.lease()
		early := l.now.Before(proof)
		l.do(Event{Kind: EventLookedUp, Lookup: &LookupOutcome{Result: LookupAbsent, Token: l.op.Token, Began: l.now}})
		switch {
		case looks > 20:
			t.Fatal("absence never counted")
		case early && (l.op.State != Uncertain || l.op.Version != version || !l.op.MaybeApplied):
			t.Fatalf("an early absence made it %s", l.op.State)
		case !early && l.op.State != Prepared:
			t.Fatalf("a proven absence left it %s", l.op.State)
		}
	}
	if !l.now.Equal(proof) {
		t.Errorf("the look-up that proved it began at %v, proof was from %v", l.now, proof)
	}
	if l.op.MaybeApplied || l.op.Doubt != nil || l.op.Reconcile.Since != nil || l.op.Attempts[0].ProvenBy != ProvenByAbsence {
		t.Errorf("it is left as %+v", l.op.Standing)
	}
	l.send(Write).answer(2, Answer{Outcome: OutcomeConfirmed, Reference: ourRef}).is(Confirmed)
}

// TestAbsenceNeedsTheWordOfEveryLookup: where a contract has several look-ups, each has
// to see nothing, one after the other; a failure of one begins anew, and so does an
// attempt.
//
// Proves: M12
func TestAbsenceNeedsTheWordOfEveryLookup(t *testing.T) {
	t.Parallel()
	absent, failed := LookupOutcome{Result: LookupAbsent}, LookupOutcome{Result: LookupInconclusive}
	l := newTale(t)
	l.policy.Lookups = 2
	l.send(Write).answer(1, Answer{Outcome: OutcomeUnknown}).wait(time.Hour)
	l.look(absent).is(Uncertain).look(failed).is(Uncertain).look(absent).is(Uncertain).look(failed).is(Uncertain)
	l.look(absent).is(Uncertain).look(absent).is(Prepared)
	if l.op.AbsentTurns != 0 {
		t.Errorf("%d turns are left over", l.op.AbsentTurns)
	}
	l.send(Write).answer(2, Answer{Outcome: OutcomeUnknown}).wait(time.Hour).look(absent).is(Uncertain).look(absent).is(Prepared)
	// One by one it is as ever.
	l.policy.Lookups = 1
	l.send(Write).answer(3, Answer{Outcome: OutcomeUnknown}).wait(time.Hour).look(absent).is(Prepared)
}

// TestAbsenceNeedsTheHolderAndClosedAttempts: neither a stale look-up nor one
// beside an open attempt proves anything, nor one whose contract cannot.
//
// Proves: M8, M12, M12a
func TestAbsenceNeedsTheHolderAndClosedAttempts(t *testing.T) {
	t.Parallel()
	l := newTale(t).send(Write).answer(1, Answer{Outcome: OutcomeUnknown}).wait(time.Hour).lease()
	l.do(Event{Kind: EventLookedUp, Lookup: &LookupOutcome{Result: LookupAbsent, Token: l.op.Token - 1, Began: l.now}}).is(Uncertain)
	if l.op.Lease == nil {
		t.Error("a stale look-up took the holder's lease away")
	}
	l.policy.AbsenceProves = false
	l.do(Event{Kind: EventLookedUp, Lookup: &LookupOutcome{Result: LookupAbsent, Token: l.op.Token, Began: l.now}}).is(Uncertain)

	l = newTale(t).send(Write).silence().wait(5 * time.Minute)
	l.look(LookupOutcome{Result: LookupAbsent}).is(Uncertain)
	l.straggle(1).wait(34 * time.Second)
	l.lease().do(Event{Kind: EventLookedUp, Lookup: &LookupOutcome{Result: LookupAbsent, Token: l.op.Token, Began: l.op.Attempts[0].EndedAt.Add(34 * time.Second)}}).is(Uncertain)
	l.wait(time.Second).look(LookupOutcome{Result: LookupAbsent}).is(Prepared)
}

// TestLookingUpEndsWithAPerson: look-ups that learn nothing are spaced out, stop
// when the budget is spent, and end in a review with an owner; a second person
// is named in time. Nothing is rejected.
//
// Proves: M16, M28
func TestLookingUpEndsWithAPerson(t *testing.T) {
	t.Parallel()
	l := newTale(t)
	l.policy.InDoubt, l.policy.ReconcileWithin = []RecoveryStep{StepLookup, StepOperator}, time.Hour
	l.send(Write).answer(1, Answer{Outcome: OutcomeUnknown})
	doubted, looks := l.now, 0
	for ; l.op.Due != nil; looks++ {
		l.look(LookupOutcome{Result: LookupInconclusive}).is(Uncertain)
		if looks > 100 {
			t.Fatal("it is looked up for ever")
		}
	}
	if spent := l.now.Sub(doubted); spent != time.Hour || looks < 8 {
		t.Errorf("%d look-ups in %v", looks, spent)
	}
	l.owned(ReviewReconcileExhausted)
	topics := map[string]bool{}
	for _, e := range l.last {
		topics[e.Topic] = true
	}
	if !topics["review.opened"] || l.op.Next != NextOperator {
		t.Errorf("told %v, next is %s", topics, l.op.Next)
	}
	l.refuses(l.try(Event{Kind: EventEscalated}), CodeNotDue)
	l.now = *l.op.WakeAt()
	l.do(Event{Kind: EventEscalated})
	if r := l.op.OpenReviews()[0]; r.EscalatedAt == nil || r.EscalateTo != "finance-lead" || l.op.WakeAt() != nil {
		t.Errorf("escalated: %+v", r)
	}
	l.do(Event{Kind: EventAssigned, Assignment: &Assignment{Review: l.op.OpenReviews()[0].ID, Owner: "otto"}})
	l.refuses(l.try(Event{Kind: EventAssigned, Assignment: &Assignment{Review: l.op.OpenReviews()[0].ID}}), CodeMemberInvalid)
	l.is(Uncertain)
}

// TestAFoundRecordIsHeldAgainstTheRequest: a differing one, an older one,
// several and one without a readable name do not confirm.
//
// Proves: M11c, M15
func TestAFoundRecordIsHeldAgainstTheRequest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		found  LookupOutcome
		bars   []Bar
		review ReviewReason
	}{
		{LookupOutcome{Result: LookupFound, Reference: ourRef, Differs: odd}, []Bar{BarDiffers}, ReviewDiffers},
		{LookupOutcome{Result: LookupFound, Reference: ourRef, Predates: true}, nil, ReviewPredates},
		{LookupOutcome{Result: LookupSeveral, Detail: "two records"}, []Bar{BarMultipleEffects}, ReviewMultipleEffects},
		{LookupOutcome{Result: LookupFound}, []Bar{BarEffectExists}, ""},
	} {
		l := newTale(t).send(Write).answer(1, Answer{Outcome: OutcomeUnknown}).look(c.found).is(Uncertain, c.bars...)
		if c.review != "" {
			l.owned(c.review)
		} else if l.op.Due == nil {
			t.Error("an unreadable record is not looked at again")
		}
	}
}

// TestNobodyKnowsWhenAStragglerEndsWithoutAPolicy: an attempt that goes silent
// while its contract is not at hand stays open until the plan is made.
//
// Proves: M12a
func TestNobodyKnowsWhenAStragglerEndsWithoutAPolicy(t *testing.T) {
	t.Parallel()
	l := newTale(t).send(Write)
	l.now = l.op.Lease.Until
	op, _, err := Apply(l.op, Event{Kind: EventLeaseExpired}, l.now)
	if err != nil {
		t.Fatal(err)
	}
	l.op = op
	silent := l.now
	closing := Event{Kind: EventAttemptClosed, Close: &AttemptClose{Attempt: "att_1", By: ClosedByStraggler}}
	l.refuses(l.wait(time.Hour).try(closing), CodeNotDue)
	l.lease().do(Event{Kind: EventReconsidered, Reconsider: &Reconsideration{Token: l.op.Token}})
	if closeAt := l.op.Attempts[0].CloseAt; closeAt == nil || closeAt.Sub(silent) != 10*time.Minute {
		t.Fatalf("straggler closes it at %v", closeAt)
	}
	l.do(closing).is(Uncertain)
}
