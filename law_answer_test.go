package onefold

import (
	"testing"
	"time"
)

// TestARefusedRetryAfterALostSuccess: the answer of the first attempt is lost,
// the replay is refused because the key was revoked meanwhile. That says nothing
// about the first; its worker's word, when it comes at last, does.
//
// Proves: M8, M10, M12a, M13
func TestARefusedRetryAfterALostSuccess(t *testing.T) {
	t.Parallel()
	l := newTale(t)
	l.send(Write).silence().is(Uncertain)
	if a := l.op.Attempts[0]; !a.Open || a.CloseAt == nil || a.CloseAt.Sub(l.now) != 10*time.Minute || !l.op.MaybeApplied {
		t.Fatalf("the silent attempt is %+v", a)
	}
	l.do(Event{Kind: EventAttemptClosed, Close: &AttemptClose{Attempt: "att_1", By: ClosedByProcessEnd}})
	l.send(Replay).answer(2, Answer{Outcome: OutcomeRejected, Code: "unauthorized"}).is(Uncertain)
	if l.op.Doubt.Reason != DoubtRefusedAfterDoubt || !l.op.MaybeApplied || l.op.Rejection != nil {
		t.Fatalf("doubt %v, maybe applied %v, rejection %v", l.op.Doubt, l.op.MaybeApplied, l.op.Rejection)
	}
	l.wait(time.Minute).answer(1, Answer{Outcome: OutcomeConfirmed, Reference: ourRef}).is(Confirmed)
	if r := l.op.Result; r.Reference != ourRef || r.LearntFrom != LearntFromResponse || l.op.MaybeApplied {
		t.Fatalf("result %+v", r)
	}
}

// TestARuleThatSettlesTheOperation speaks for earlier attempts too; without it,
// or under a bar, the doubt stands.
//
// Proves: M13
func TestARuleThatSettlesTheOperation(t *testing.T) {
	t.Parallel()
	for settles, want := range map[bool]State{true: Rejected, false: Uncertain} {
		l := newTale(t).send(Write)
		l.answer(1, Answer{Outcome: OutcomeUnknown}).send(Replay)
		l.answer(2, Answer{Outcome: OutcomeRejected, Code: "closed", SettlesOperation: settles}).is(want)
	}
	l := newTale(t).send(Write)
	l.answer(1, Answer{Outcome: OutcomeUnknown}).send(Replay).do(Event{Kind: EventCanceled, Cancel: &Cancellation{}})
	l.answer(2, Answer{Outcome: OutcomeRejected, SettlesOperation: true}).is(Uncertain, BarWithdrawn)
	newTale(t).send(Write).answer(1, Answer{Outcome: OutcomeNotApplied, SettlesOperation: true}).is(Prepared)
}

// TestASuccessThatWasCutOffIsNeverSentAgain: not by a replay, not by an
// operator, not after an absence; only finding it settles it.
//
// Proves: M11, M11c, M16
func TestASuccessThatWasCutOffIsNeverSentAgain(t *testing.T) {
	t.Parallel()
	l := newTale(t).send(Write)
	l.answer(1, Answer{Outcome: OutcomeUnknown, EffectExists: true}).is(Uncertain, BarEffectExists)
	l.lease()
	l.refuses(l.begin(Replay), CodeBarred)
	l.refuses(l.try(Event{Kind: EventRetryAsked}), CodeRetryUnsafe)
	err := l.try(Event{Kind: EventResolved, Resolution: &Resolution{Outcome: ResolveNotApplied}})
	l.refuses(err, CodeBarred)
	if e, ok := err.(*Error); !ok || len(e.Bars) != 1 || e.Bars[0] != BarEffectExists { //nolint:errorlint // Apply's own error, unwrapped
		t.Errorf("the refusal names the bars %v", err)
	}
	l.do(Event{Kind: EventHandedBack, Lease: &LeaseGrant{Token: l.op.Token}}).wait(time.Hour)
	l.look(LookupOutcome{Result: LookupAbsent}).is(Uncertain, BarEffectExists).owned(ReviewAbsentButBarred)
	l.look(LookupOutcome{Result: LookupFound, Reference: ourRef}).is(Confirmed, BarEffectExists)
	if len(l.op.OpenReviews()) != 0 || len(l.op.Attempts) != 1 {
		t.Errorf("reviews %v, %d attempts", l.op.OpenReviews(), len(l.op.Attempts))
	}
}

// TestProgressIsWaitedOut as long as the target asks for.
//
// Proves: M11b
func TestProgressIsWaitedOut(t *testing.T) {
	t.Parallel()
	l := newTale(t).send(Write)
	l.answer(1, Answer{Outcome: OutcomeInProgress, RetryAfter: 90 * time.Second}).is(Uncertain)
	if l.op.Doubt.Reason != DoubtInProgress || l.op.Due.Sub(l.now) != 90*time.Second {
		t.Errorf("doubt %v, due after %v", l.op.Doubt, l.op.Due.Sub(l.now))
	}
	l = newTale(t).send(Write)
	l.answer(1, Answer{Outcome: OutcomeNotApplied, RetryAfter: 90 * time.Second}).is(Prepared)
	if l.op.Due.Sub(l.now) != 90*time.Second {
		t.Errorf("a throttled write is due after %v", l.op.Due.Sub(l.now))
	}
}

// TestTheResultNamesItsProof: an event names the effect while the attempt is
// out, and the attempt then ends without an answer. The result is the event's.
//
// Proves: M11c, M28
func TestTheResultNamesItsProof(t *testing.T) {
	t.Parallel()
	l := newTale(t).send(Write)
	l.observe(Observation{Asserts: AssertsEffect, Reference: ourRef}).is(Attempting, BarEffectExists)
	proof := l.last[0].Evidence.ID
	l.wait(time.Second).answer(1, Answer{Outcome: OutcomeUnknown, Doubt: DoubtNoAnswer}).is(Confirmed, BarEffectExists)
	if r := l.op.Result; r.Evidence != proof || r.LearntFrom != LearntFromEvent || r.Reference != ourRef {
		t.Errorf("result %+v, the proof is %s", r, proof)
	}
	// The attempt itself names another effect: two of them.
	l = newTale(t).send(Write).observe(Observation{Asserts: AssertsEffect, Reference: ourRef})
	l.answer(1, Answer{Outcome: OutcomeConfirmed, Reference: otherRef}).is(Uncertain, BarEffectExists, BarMultipleEffects)
	l.owned(ReviewMultipleEffects)
}

// TestExistsOnACleanAttemptIsSomebodyElses, unless the unique value is our own
// and the record agrees.
//
// Proves: M11b
func TestExistsOnACleanAttemptIsSomebodyElses(t *testing.T) {
	t.Parallel()
	newTale(t).send(Write).answer(1, Answer{Outcome: OutcomeExists}).is(Uncertain).owned(ReviewExistsElsewhere)
	l := newTale(t).send(Write).answer(1, Answer{Outcome: OutcomeExists, OwnIdentity: true}).is(Uncertain)
	if len(l.op.OpenReviews()) != 0 || l.op.Doubt.Reason != DoubtExists {
		t.Errorf("reviews %v, doubt %v", l.op.OpenReviews(), l.op.Doubt)
	}
	l.policy.InDoubt = []RecoveryStep{StepLookup}
	// A record that does not carry our own identity is somebody else's after all.
	l.look(LookupOutcome{Result: LookupFound, Reference: otherRef}).is(Uncertain).owned(ReviewExistsElsewhere)
	// One that does is the effect of an admission that this ledger lost, and so is
	// older than this one's.
	l.look(LookupOutcome{Result: LookupFound, Reference: ourRef, OwnIdentity: true, Predates: true}).is(Confirmed)
	if l.op.Result.LearntFrom != LearntFromAdopted {
		t.Errorf("learnt from %s", l.op.Result.LearntFrom)
	}
}

// TestWhatDiffersAndWhatIsAnotherRecordAreBothBarred: only one of the two may be
// lifted, so neither hides the other, and one event opens one review.
//
// Proves: M11c, M15
func TestWhatDiffersAndWhatIsAnotherRecordAreBothBarred(t *testing.T) {
	t.Parallel()
	l := newTale(t).send(Write).answer(1, Answer{Outcome: OutcomeUnknown})
	l.observe(Observation{Asserts: AssertsEffect, Reference: ourRef, Differs: odd}).is(Uncertain, BarDiffers).owned(ReviewDiffers)
	if text := l.op.OpenReviews()[0].Detail; text != `the target's record differs from the approved request: /total is "1.00", approved was "10.00"` {
		t.Errorf("the review says %q", text)
	}
	l.observe(Observation{Asserts: AssertsEffect, Reference: otherRef, Differs: odd}).is(Uncertain, BarDiffers, BarMultipleEffects)
	l.refuses(l.try(Event{Kind: EventResolved, Resolution: &Resolution{Outcome: ResolveNotApplied}}), CodeBarred)
}

// TestALateReportMovesTheEnd: a worker that reports after straggler had closed
// its attempt was still at it, so that absence is proof later.
//
// Proves: M8, M12, M12a
func TestALateReportMovesTheEnd(t *testing.T) {
	t.Parallel()
	l := newTale(t).send(Write).silence().straggle(1)
	closed := AbsenceProvenFrom(&l.op, &l.policy)
	l.wait(20*time.Second).answer(1, Answer{Outcome: OutcomeUnknown})
	if later := AbsenceProvenFrom(&l.op, &l.policy); later.Sub(closed) != 20*time.Second {
		t.Errorf("proof from %v, and before the report from %v", later, closed)
	}
	l.refuses(l.try(Event{Kind: EventAnswered, Answer: &Answer{Attempt: "att_1", Token: 1, Outcome: OutcomeNotSent}}), CodeNotAllowed)
}
