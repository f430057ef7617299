package onefold

import (
	"slices"
	"time"
)

// The rows of the reference table in which evidence arrives.

// claim is what a piece of evidence says about the effect.
type claim struct {
	effect    bool // an effect exists
	confirms  bool // and the evidence could record it
	reference string
	differs   bool
	several   bool
	conflict  bool // the identity was used with another request
	from      LearntFrom
	attempt   string // that it speaks of
}

// against are the bars that the claim calls for by disagreeing.
func (c claim) against(op *Operation) (b bars) {
	other := c.reference != "" && slices.ContainsFunc(op.SeenReferences, func(r string) bool { return r != c.reference })
	if c.effect && c.differs {
		b |= differs
	}
	if c.effect && (c.several || other) {
		b |= multiple
	}
	if c.conflict {
		b |= conflict
	}
	return b
}

func (c claim) agrees(op *Operation) bool {
	return c.confirms && c.reference != "" && c.against(op) == 0 && barsOf(op.Barred)&blocking == 0
}

// reviewFor names the review for bars that disagreeing evidence sets: where one
// event sets several, the first reason is the review's.
func reviewFor(b bars) ReviewReason {
	switch {
	case b&differs != 0:
		return ReviewDiffers
	case b&conflict != 0:
		return ReviewKeyConflict
	case b&multiple != 0:
		return ReviewMultipleEffects
	}
	return ""
}

// judgeClaim is the table for evidence that is not the answer of the attempt
// that is out; ok is false where it says nothing about an effect.
func judgeClaim(op *Operation, c claim) (r ruling, ok bool) {
	against := c.against(op)
	switch {
	case isOver(op.State):
		return judgeClaimAfter(op, c), c.effect
	case op.State == Prepared && c.effect:
		return judgeClaimBefore(op, c), true
	case against != 0: // attempting and uncertain, and a conflict on prepared
		r = doubtful(op, against)
		r.review = reviewFor(against)
		return r, true
	case !c.effect:
		return same(op), false
	case op.State == Attempting:
		r = same(op)
		r.bars |= exists
		return r, true
	case c.agrees(op):
		return confirmedAs(op, c.reference, c.from), true
	}
	return doubtful(op, exists), true
}

// judgeClaimBefore: an effect exists although the operation is prepared.
func judgeClaimBefore(op *Operation, c claim) ruling {
	var r ruling
	if c.agrees(op) {
		r = confirmedAs(op, c.reference, c.from)
	} else {
		r = doubtful(op, exists|c.against(op))
		r.review = reviewFor(c.against(op))
	}
	if op.AbsenceRecorded {
		r.contradicted, r.review = true, ReviewContradicted
	}
	return r
}

// judgeClaimAfter is M19 and M20.
func judgeClaimAfter(op *Operation, c claim) ruling {
	r := same(op)
	r.due, r.lease = free, free
	disagrees := op.State != Confirmed || c.several
	if op.State == Confirmed && c.reference != "" {
		known := false
		for result := op.Result; result != nil; result = result.Earlier {
			known = known || result.Reference == c.reference
		}
		disagrees = disagrees || !known
	}
	if a := attemptOf(op, c.attempt); op.State == Confirmed && c.reference == "" && a != nil && a.ProvenBy == ProvenByOperator {
		disagrees = true
	}
	if c.effect && disagrees {
		r.contradicted = true
		if !op.Contradicted {
			r.review = ReviewContradicted
		}
	}
	return r
}

func judgeAnswer(op *Operation, ev *Event, now time.Time) ruling {
	answer := ev.Answer
	a := attemptOf(op, answer.Attempt)
	if a == nil || a.Token != answer.Token || a.EndedAt != nil && (a.ClosedBy == "" || a.ClosedBy == ClosedByReport) {
		return refused(CodeNotAllowed)
	}
	c := claim{
		effect: answer.Outcome == OutcomeConfirmed || answer.EffectExists, confirms: answer.Outcome == OutcomeConfirmed,
		reference: answer.Reference, differs: len(answer.Differs) > 0,
		conflict: answer.Outcome == OutcomeKeyConflict, from: LearntFromResponse, attempt: answer.Attempt,
	}
	noEffect := !c.effect && slices.Contains([]Outcome{OutcomeRejected, OutcomeNotApplied, OutcomeNotSent}, answer.Outcome)
	// The operation as it is once this attempt's verdict is known.
	after := *op
	after.Attempts = slices.Clone(op.Attempts)
	told := attemptOf(&after, answer.Attempt)
	if told.EndedAt == nil {
		told.EndedAt = &now
	}
	if noEffect {
		told.Verdict = Verdict(answer.Outcome)
	} else if c.effect {
		told.Verdict, told.ProvenBy = VerdictUnknown, ""
	}
	if !a.Open && a.EndedAt == nil {
		return judgeOwnAnswer(&after, ev, c, noEffect, now)
	}
	r, ok := judgeClaim(&after, c)
	if c.effect {
		r2, _ := judgeClaim(op, c) // whether an operator had spoken is asked before
		r.contradicted, r.review = r2.contradicted, r2.review
	}
	switch {
	case isOver(op.State):
		r.maybe = unfinished(&after) > 0
	case ok || op.State != Uncertain:
	case noEffect && cleanBut(&after, "") && r.bars == 0:
		r = lateRetry(&after, ev, now)
	case noEffect && cleanBut(&after, "") && r.bars.only(leaving):
		r = over(&after, Canceled)
	default:
		r.due = free
	}
	return r
}

// lateRetry: due after back-off; the budget row is for the operation once it is
// prepared and due.
func lateRetry(op *Operation, ev *Event, now time.Time) ruling {
	r := same(op)
	r.state, r.maybe, r.lease, r.due = Prepared, false, gone, given
	r.dueAt = now.Add(max(ev.Policy.RetryBackoff.Wait(op.Retry.Spent-1, ev.Chance), ev.Answer.RetryAfter))
	if len(op.Holds) > 0 {
		r.due = gone
	}
	return r
}

// judgeOwnAnswer is what the answer of the attempt that is out, by its holder,
// leads to; op knows its verdict already.
func judgeOwnAnswer(op *Operation, ev *Event, c claim, noEffect bool, now time.Time) ruling {
	answer := ev.Answer
	barred := barsOf(op.Barred)
	clean := cleanBut(op, answer.Attempt)
	wait := max(ev.Policy.RetryBackoff.Wait(op.Retry.Spent-1, ev.Chance), answer.RetryAfter)
	unsure := doubtful(op, 0)
	unsure.maybe = !cleanBut(op, "")
	switch against := c.against(op); {
	case against != 0:
		unsure.bars |= against
		unsure.review = reviewFor(against)
		return unsure
	case c.agrees(op):
		return confirmedAs(op, c.reference, LearntFromResponse)
	case barred&exists != 0 && barred&blocking == 0 && op.Elsewhere != nil:
		return confirmedAs(op, op.Elsewhere.Reference, op.Elsewhere.LearntFrom)
	case c.effect:
		unsure.bars |= exists
		return unsure
	case answer.Outcome == OutcomeExists && clean && !answer.OwnIdentity:
		unsure.review = ReviewExistsElsewhere
		return unsure
	case answer.Outcome == OutcomeRejected && clean && barred.only(leaving):
		return rejectedFor(op, "refused")
	case noEffect && !clean && answer.SettlesOperation && barred == 0:
		return rejectedFor(op, "refused")
	case noEffect && clean && barred == 0:
		return prepareAgain(op, ev, wait, now)
	case noEffect && clean && barred.only(leaving) && answer.Outcome != OutcomeRejected:
		return over(op, Canceled)
	}
	return unsure
}

func judgeLookup(op *Operation, ev *Event, now time.Time) ruling {
	l := ev.Lookup
	adopt, pending := saidToExist(op) && l.OwnIdentity, l.Result == LookupPending
	older := l.Predates && !adopt
	if !older && saidToExist(op) && !adopt && (l.Result == LookupFound || l.Result == LookupSeveral || pending) {
		r := same(op)
		r.due, r.lease, r.review = free, free, ReviewExistsElsewhere
		return r
	}
	c := claim{
		reference: l.Reference, differs: len(l.Differs) > 0, several: l.Result == LookupSeveral, from: LearntFromLookup,
		effect: l.Result == LookupSeveral || l.Result == LookupFound && !older && !l.FinallyFailed,
	}
	c.confirms = c.effect && !c.several
	switch {
	case adopt:
		c.from = LearntFromAdopted
	case l.Polled:
		c.from = LearntFromPoll
	}
	if pending && (op.State == Prepared || op.State == Attempting) {
		c = claim{effect: true} // whatever comes of it, nothing is sent beside it
	}
	r, ok := judgeClaim(op, c)
	if ok || op.State != Uncertain {
		return r
	}
	r.due, r.lease = free, free
	barred := barsOf(op.Barred)
	proven := holds(op, l.Token) && l.Result == LookupAbsent && ev.Policy.AbsenceProves && op.Accepted == nil && unfinished(op) == 0 &&
		!l.Began.Before(proofFrom(op, ev.Policy))
	switch {
	case l.Result == LookupFound && older:
		r.review = ReviewPredates
	case l.Result == LookupFound && l.FinallyFailed && unfinished(op) == 0 && barred&(exists|multiple) == 0:
		return rejectedFor(op, "failed_at_target")
	case proven && barred.only(leaving|restored) && barred&leaving != 0:
		r = over(op, Canceled)
		r.bars &^= restored
	case proven && barred.only(restored) && op.Doubt.Reason == DoubtExists:
		r.review = ReviewExistsElsewhere
	case l.Result == LookupCandidates:
		r.review = ReviewEvidence
	case proven && barred.only(restored):
		r = prepareAgain(op, ev, ev.Policy.RetryBackoff.Wait(op.Retry.Spent-1, ev.Chance), now)
		r.bars &^= restored
	case proven:
		r.review = ReviewAbsentButBarred
	}
	return r
}

func judgeObserved(op *Operation, ev *Event) ruling {
	o := ev.Observation
	c := claim{
		effect: o.Asserts == AssertsEffect, confirms: o.Asserts == AssertsEffect, reference: o.Reference,
		differs: len(o.Differs) > 0, from: LearntFromEvent, attempt: o.Attempt,
	}
	if o.ByHand {
		c.from = LearntFromOperator
	}
	r, ok := judgeClaim(op, c)
	if !ok && op.State == Uncertain && o.FinallyFailed && !o.ByHand && unfinished(op) == 0 &&
		barsOf(op.Barred)&(exists|multiple) == 0 {
		return rejectedFor(op, "failed_at_target")
	}
	return r
}

// judgeClosed is M12a.
func judgeClosed(op *Operation, ev *Event, now time.Time) ruling {
	a := attemptOf(op, ev.Close.Attempt)
	if a == nil || !a.Open {
		return refused(CodeNotAllowed)
	}
	if ev.Close.By == ClosedByStraggler && (a.CloseAt == nil || now.Before(*a.CloseAt)) {
		return refused(CodeNotDue)
	}
	r := same(op)
	if op.State == Uncertain {
		r.due = free
	}
	if isOver(op.State) {
		r.maybe = unfinished(op) > 1
	}
	return r
}
