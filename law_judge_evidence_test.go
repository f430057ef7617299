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
	older     bool // delivered: of a record that is older than the operation
	less      bool // delivered: without all that the contract verifies
	none      bool // there is no effect; of one attempt, if it names one
	several   bool
	conflict  bool // the identity was used with another request
	record    bool // a record exists, or is being made, that may be the effect
	likely    bool // an effect is likely, or to come
	taken     bool // the reference is another operation's result, and may not be shared
	direct    bool // the target's word about an attempt or work of this operation
	from      LearntFrom
	attempt   string // that it speaks of
}

// namesOther: it names another reference than evidence did before.
func (c claim) namesOther(op *Operation) bool {
	return c.reference != "" && slices.ContainsFunc(op.SeenReferences, func(r string) bool { return r != c.reference })
}

// against are the bars that the claim calls for by disagreeing.
func (c claim) against(op *Operation) (b bars) {
	if c.effect && c.differs {
		b |= differs
	}
	if c.effect && (c.several || c.namesOther(op)) {
		b |= multiple
	}
	if c.conflict {
		b |= conflict
	}
	return b
}

func (c claim) agrees(op *Operation) bool {
	return c.confirms && c.reference != "" && !c.taken && !c.older && !c.less && c.against(op) == 0 && barsOf(op.Barred)&blocking == 0
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
		return judgeClaimAfter(op, c), c.effect || c.likely || c.none
	case op.State == Prepared && c.effect:
		return judgeClaimBefore(op, c), true
	case c.effect && c.older: // M15: none of this operation's, until a person says so
		r = same(op)
		r.due, r.review = kept, ReviewPredates
		if op.State == Uncertain {
			r.due, r.lease = free, free
		}
		return r, true
	case against != 0: // attempting and uncertain, and a conflict on prepared
		r = doubtful(op, against)
		r.review = reviewFor(against)
		return r, true
	case !c.effect:
		return same(op), false
	case op.State == Attempting:
		r = same(op)
		r.bars |= exists
		switch {
		case c.less && c.reference != "":
			r.review = ReviewEvidence
		case c.taken && op.Elsewhere == nil:
			r.review = ReviewExistsElsewhere
		}
		return r, true
	case c.agrees(op):
		return confirmedAs(op, c.reference, c.from), true
	case c.taken && barsOf(op.Barred)&blocking == 0: // a person says whose it is
		r = doubtful(op, 0)
		if c.direct {
			r.bars |= exists
		}
		r.review = ReviewExistsElsewhere
		return r, true
	}
	r = doubtful(op, exists)
	if c.less && c.reference != "" && barsOf(op.Barred)&blocking == 0 {
		r.review = ReviewEvidence // with what is missing
	}
	return r, true
}

// judgeClaimBefore: an effect exists although the operation is prepared.
func judgeClaimBefore(op *Operation, c claim) ruling {
	var r ruling
	if c.agrees(op) {
		r = confirmedAs(op, c.reference, c.from)
	} else {
		r = doubtful(op, exists|c.against(op))
		r.review = reviewFor(c.against(op))
		switch {
		case r.review != "":
		case c.taken:
			r.review = ReviewExistsElsewhere
		case c.older:
			r.review = ReviewPredates
		case c.less && c.reference != "":
			r.review = ReviewEvidence
		}
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
	known := c.reference == ""
	for result := op.Result; result != nil; result = result.Earlier {
		known = known || result.Reference == c.reference
	}
	if op.State == Confirmed && !known {
		disagrees = true
	}
	if a := attemptOf(op, c.attempt); op.State == Confirmed && c.reference == "" && a != nil && a.ProvenBy == ProvenByOperator {
		disagrees = true
	}
	// One that is not as approved disagrees under whatever reference, but where a
	// person has decided about such a difference.
	if c.differs && barsOf(op.Barred)&differs == 0 {
		disagrees = true
	}
	denied := c.none && op.State == Confirmed && (c.attempt == "" || cleanBut(op, c.attempt))
	if denied || c.effect && disagrees || c.likely && (op.State != Confirmed || c.record && !known) {
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
	// Its word that an effect exists counts though another operation has the record,
	// if the request named it or the contract shares records (M18).
	_, recorded := ev.Recorded[answer.Reference]
	c.taken, c.direct = c.effect && recorded && !answer.NamedByRequest && !ev.Policy.SharedReferences, true
	// What the target says of existing records, of its work and of our identity is
	// no effect yet, and speaks for one all the same, unless the record is somebody
	// else's (M11b).
	saysExists := answer.Outcome == OutcomeExists
	somebodyElses := saysExists && cleanBut(op, answer.Attempt) && !answer.OwnIdentity
	if !c.effect && !somebodyElses {
		c.record = saysExists
		c.likely = slices.Contains([]Outcome{OutcomeExists, OutcomeAccepted, OutcomeInProgress, OutcomeKeyConflict}, answer.Outcome)
	}
	c.none = !c.effect && slices.Contains([]Outcome{OutcomeRejected, OutcomeNotApplied, OutcomeNotSent}, answer.Outcome)
	noEffect := c.none
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
	if doubtIsOpen := op.State == Attempting || op.State == Uncertain; doubtIsOpen && saysExists && !c.effect {
		if c.namesOther(op) {
			r := doubtful(&after, multiple)
			r.review = ReviewMultipleEffects
			return r
		}
		if _, taken := ev.Recorded[answer.Reference]; taken {
			r := same(&after)
			r.review = ReviewExistsElsewhere
			if op.State == Uncertain {
				r.due = free
			}
			return r
		}
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
	saysExists := answer.Outcome == OutcomeExists
	taken := func(reference string) bool {
		_, recorded := ev.Recorded[reference]
		return recorded
	}
	switch against := c.against(op); {
	case against != 0:
		unsure.bars |= against
		unsure.review = reviewFor(against)
		return unsure
	case saysExists && c.namesOther(op):
		unsure.bars |= multiple
		unsure.review = ReviewMultipleEffects
		return unsure
	case c.agrees(op):
		return confirmedAs(op, c.reference, LearntFromResponse)
	case c.taken && barred&blocking == 0:
		unsure.bars |= exists
		unsure.review = ReviewExistsElsewhere
		return unsure
	case barred&exists != 0 && barred&blocking == 0 && op.Elsewhere != nil && (op.ElsewhereShared || !taken(op.Elsewhere.Reference)):
		return confirmedAs(op, op.Elsewhere.Reference, op.Elsewhere.LearntFrom)
	case c.effect:
		unsure.bars |= exists
		return unsure
	case barred&exists != 0 && barred&blocking == 0 && op.Elsewhere != nil && !saysExists,
		saysExists && taken(answer.Reference):
		unsure.review = ReviewExistsElsewhere
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
	for result := op.Result; result != nil; result = result.Earlier { // the recorded effect has failed
		c.none = c.none || l.Result == LookupFound && l.FinallyFailed && result.Reference == l.Reference
	}
	// A poll under what the target itself called the work is its direct word; that a
	// record carries this operation's own value is as good where records are shared (M18).
	_, recorded := ev.Recorded[l.Reference]
	poll := l.Polled && op.Accepted != nil && op.Accepted.Reference != "" && !op.Accepted.Found
	found := l.Result == LookupFound && !older
	c.taken = found && recorded && !(poll && l.NamedByRequest) && !((poll || l.OwnIdentity) && ev.Policy.SharedReferences)
	c.direct = poll
	if pending && isOver(op.State) {
		c.likely, c.record = true, true
	}
	if l.Result == LookupCandidates && isOver(op.State) {
		c.likely = !slices.ContainsFunc(op.Reviews, func(r Review) bool { return len(r.Candidates) > 0 })
	}
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
	moves := proven && (barred.only(restored) || barred.only(leaving|restored) && barred&leaving != 0)
	switch {
	case l.Result == LookupFound && older:
		r.review = ReviewPredates
	case c.taken:
		r.review = ReviewExistsElsewhere
	case found && l.FinallyFailed && unfinished(op) == 0 && barred&(exists|multiple) == 0 && !c.namesOther(op):
		return rejectedFor(op, "failed_at_target")
	case moves && hasCandidate(op): // M14: a person has it
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
		differs: len(o.Differs) > 0, from: LearntFromEvent, attempt: o.Attempt, older: o.Predates, less: len(o.Unshown) > 0,
	}
	c.none = !c.effect && (o.Asserts == AssertsNoEffect || o.FinallyFailed)
	if o.ByHand {
		c.from = LearntFromOperator
	}
	_, recorded := ev.Recorded[o.Reference]
	c.taken = c.effect && recorded
	r, ok := judgeClaim(op, c)
	if !ok && op.State == Uncertain && o.FinallyFailed && !o.ByHand && unfinished(op) == 0 &&
		barsOf(op.Barred)&(exists|multiple) == 0 && !c.namesOther(op) && !recorded {
		return rejectedFor(op, "failed_at_target")
	}
	return r
}

// hasCandidate: an open review has, or speaks of, a record that may be the effect.
func hasCandidate(op *Operation) bool {
	return slices.ContainsFunc(op.Reviews, func(r Review) bool {
		return r.Status == ReviewOpen &&
			(len(r.Candidates) > 0 || r.Reason == ReviewEvidence || r.Reason == ReviewPredates || r.Reason == ReviewExistsElsewhere)
	})
}

// speaks tells whether evidence on record speaks for an effect, or for one to come.
func speaks(op *Operation) bool {
	return len(op.SeenReferences) > 0 || op.Contradicted || hasCandidate(op) || barsOf(op.Barred)&(exists|blocking) != 0 ||
		op.Doubt != nil && slices.Contains([]DoubtReason{DoubtExists, DoubtAccepted, DoubtInProgress}, op.Doubt.Reason) ||
		slices.ContainsFunc(op.Attempts, func(a Attempt) bool { return a.Verdict == VerdictInProgress && !harmless(&a) })
}

// newKeySafe is section 4's "may I start this business action again under another
// key?", for what an event made of an operation.
func newKeySafe(op *Operation, ev *Event, r *ruling, open int) bool {
	if r.state != Rejected && r.state != Canceled || r.contradicted || open > 0 || r.bars&(exists|blocking) != 0 {
		return false
	}
	named := func(but string) bool {
		return slices.ContainsFunc(op.SeenReferences, func(reference string) bool { return reference != but })
	}
	switch {
	case isOver(op.State): // whose record it ever is, the target has one
		return !speaks(op) && (ev.Answer == nil || ev.Answer.Outcome != OutcomeExists)
	case ev.Kind == EventResolved && ev.Resolution.Outcome == ResolveNotApplied:
		return true // a person has dismissed what was seen
	case ev.Kind == EventLookedUp && ev.Lookup.Result == LookupAbsent:
		return !named("")
	case ev.Kind == EventLookedUp:
		return !named(ev.Lookup.Reference) && !hasCandidate(op)
	case ev.Kind == EventObserved:
		return !named(ev.Observation.Reference) && !hasCandidate(op)
	case ev.Kind == EventAnswered && op.State == Uncertain:
		return !named("") // the last attempt in doubt had no effect
	}
	return !speaks(op)
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
