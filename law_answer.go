package onefold

import "time"

// Guards and actions of the rows in which an attempt's answer arrives, by its
// holder or late.

func outcomeIs(o Outcome) func(*step) bool {
	return func(s *step) bool { return s.ev.Answer.Outcome == o }
}

// answersNow tells whether the answer comes from the holder of the lease under
// which its attempt is out (M8).
func (s *step) answersNow() bool {
	a := s.outstanding()
	return a != nil && a.ID == s.ev.Answer.Attempt && a.Token == s.ev.Answer.Token && s.holder(a.Token)
}

// answersNothing tells whether the answer is for no attempt of the operation, or
// for one that has answered before: nothing is learnt from it.
func (s *step) answersNothing() bool {
	a := s.op.Attempt(s.ev.Answer.Attempt)
	if a == nil || a.Token != s.ev.Answer.Token {
		return true
	}
	if a == s.outstanding() {
		return !s.answersNow()
	}
	return a.Closed() && (a.ClosedBy == "" || a.ClosedBy == ClosedByReport)
}

func (s *step) answerDiffers() bool {
	return len(s.ev.Answer.Differs) > 0 && s.answerAnyEffect()
}

func (s *step) answerKeyConflict() bool { return s.ev.Answer.Outcome == OutcomeKeyConflict }

// answerAnyEffect tells whether the answer asserts an effect, readable or not.
func (s *step) answerAnyEffect() bool {
	return s.ev.Answer.Outcome == OutcomeConfirmed || s.ev.Answer.EffectExists
}

// answerNamesRecord tells whether the answer speaks of a record that exists: an
// effect, or what the target calls a duplicate.
func (s *step) answerNamesRecord() bool {
	return s.answerAnyEffect() || s.ev.Answer.Outcome == OutcomeExists
}

func (s *step) answerOtherReference() bool {
	return s.answerNamesRecord() && s.otherSeen(s.ev.Answer.Reference)
}

func (s *step) answerEffectBlocked() bool { return s.answerAnyEffect() && s.blocked() }

func (s *step) answerConfirms() bool {
	a := s.ev.Answer
	return a.Outcome == OutcomeConfirmed && a.Reference != "" && len(a.Differs) == 0 &&
		!s.blocked() && !s.otherSeen(a.Reference) && !s.taken(a.Reference)
}

// answerTaken: an effect, as the record that another operation has recorded, and
// that may not be this one's as well (M3, M18).
func (s *step) answerTaken() bool {
	return s.answerAnyEffect() && !s.blocked() && s.taken(s.ev.Answer.Reference)
}

// elsewhereNamed: evidence from elsewhere named the effect while the attempt was
// out, and the attempt itself did not name another.
func (s *step) elsewhereNamed() bool {
	known := s.op.Elsewhere
	return s.op.IsBarred(BarEffectExists) && !s.blocked() && known != nil && !s.otherSeen(known.Reference)
}

func (s *step) knownElsewhere() bool { return s.elsewhereNamed() && !s.elsewhereTaken() }

// elsewhereTaken: another operation has recorded what that evidence named, and it
// may not be this one's as well.
func (s *step) elsewhereTaken() bool {
	known := s.op.Elsewhere
	return known != nil && s.recorded(known.Reference) && !s.op.ElsewhereShared
}

func (s *step) knownTaken() bool {
	return s.elsewhereNamed() && s.elsewhereTaken() && !s.answerNamesRecord()
}

func (s *step) answerExists() bool { return s.ev.Answer.Outcome == OutcomeExists }

// existsElsewhere: the record that the target says exists is none of ours, since
// the attempt is clean and nothing of ours is in it.
func (s *step) existsElsewhere() bool {
	return s.answerExists() && s.cleanAnswer() && !s.ev.Answer.OwnIdentity
}

// existsTaken: another operation has recorded it.
func (s *step) existsTaken() bool {
	return s.answerExists() && s.recorded(s.ev.Answer.Reference)
}

func (s *step) answerRefuses() bool {
	switch s.ev.Answer.Outcome {
	case OutcomeRejected, OutcomeNotApplied, OutcomeNotSent:
		return true
	case OutcomeConfirmed, OutcomeInProgress, OutcomeAccepted, OutcomeExists, OutcomeKeyConflict, OutcomeUnknown:
	}
	return false
}

func (s *step) cleanAnswer() bool { return s.op.Clean(s.ev.Answer.Attempt) }

func (s *step) answerRejects() bool {
	return s.ev.Answer.Outcome == OutcomeRejected && s.cleanAnswer() && s.barredOnly(BarWithdrawn, BarPastDeadline)
}

func (s *step) answerSettles() bool {
	return s.answerRefuses() && s.ev.Answer.SettlesOperation && !s.cleanAnswer() && !s.op.IsBarred()
}

func (s *step) noEffectClean() bool {
	return s.answerRefuses() && s.ev.Answer.Outcome != OutcomeRejected && s.cleanAnswer() && !s.op.IsBarred()
}

func (s *step) noEffectWithdrawn() bool {
	return s.answerRefuses() && s.ev.Answer.Outcome != OutcomeRejected && s.cleanAnswer() &&
		s.op.IsBarred() && s.barredOnly(BarWithdrawn, BarPastDeadline)
}

func (s *step) noEffectSpent() bool       { return s.noEffectClean() && s.spent() }
func (s *step) noEffectSpentReject() bool { return s.noEffectSpent() && s.rejectsWhenSpent() }

// ---- actions

// record writes what the answer says into its attempt.
func (s *step) record(late bool) {
	answer := s.ev.Answer
	a := s.op.Attempt(answer.Attempt)
	at := s.now
	// A report that comes after straggler had closed the attempt shows that its
	// worker was still at it: settle and processing count from the report (M12).
	if a.EndedAt == nil || late {
		a.EndedAt = &at
	}
	if late {
		a.ClosedBy = ClosedByReport
	}
	a.Open, a.CloseAt = false, nil
	a.Verdict = verdictOf(answer)
	a.Stored = answer.Stored
	a.TargetRequestID = answer.TargetRequestID
	if s.ev.Evidence != nil {
		a.Evidence = s.ev.Evidence.ID
	}
	if answer.Detail != "" {
		s.detail = answer.Detail
	}
	if s.answerAnyEffect() {
		a.ProvenBy = ""
	}
	if s.answerNamesRecord() {
		s.see(answer.Reference)
	}
	if s.answerSuggests() {
		s.suggest()
	}
	if answer.PauseConnection {
		s.effects = append(s.effects, Effect{Kind: EffectPauseConnection, Detail: answer.Detail})
	}
}

// answerSuggests tells whether the answer speaks for an effect, or for one to come.
func (s *step) answerSuggests() bool {
	if s.answerAnyEffect() {
		return true
	}
	switch s.ev.Answer.Outcome {
	case OutcomeExists, OutcomeAccepted, OutcomeInProgress, OutcomeKeyConflict:
		return true
	case OutcomeConfirmed, OutcomeRejected, OutcomeNotApplied, OutcomeNotSent, OutcomeUnknown:
	}
	return false
}

// verdictOf never calls an attempt without effect whose answer asserts one.
func verdictOf(a *Answer) Verdict {
	if a.EffectExists && a.Outcome != OutcomeConfirmed || a.Outcome == OutcomeConfirmed && len(a.Differs) > 0 {
		return VerdictUnknown
	}
	switch a.Outcome {
	case OutcomeConfirmed:
		return VerdictConfirmed
	case OutcomeRejected:
		return VerdictRejected
	case OutcomeNotApplied:
		return VerdictNotApplied
	case OutcomeNotSent:
		return VerdictNotSent
	case OutcomeInProgress, OutcomeAccepted:
		return VerdictInProgress
	case OutcomeExists, OutcomeKeyConflict, OutcomeUnknown:
	}
	return VerdictUnknown
}

// doubtOf is the doubt in which an answer leaves the operation.
func (s *step) doubtOf() DoubtReason {
	a := s.ev.Answer
	switch a.Outcome {
	case OutcomeInProgress:
		return DoubtInProgress
	case OutcomeAccepted:
		return DoubtAccepted
	case OutcomeExists:
		return DoubtExists
	case OutcomeKeyConflict:
		return DoubtKeyConflict
	case OutcomeRejected, OutcomeNotApplied, OutcomeNotSent:
		return DoubtRefusedAfterDoubt
	case OutcomeConfirmed, OutcomeUnknown:
	}
	switch {
	case len(a.Differs) > 0:
		return DoubtDiffers
	case s.op.IsBarred(BarMultipleEffects):
		return DoubtMultipleEffects
	case s.op.IsBarred(BarDiffers, BarKeyConflict):
		return DoubtBarred
	case s.answerAnyEffect():
		return DoubtEffectExists
	case a.Doubt != "":
		return a.Doubt
	}
	return DoubtUnclassified
}

// endUncertain ends the attempt in doubt.
func (s *step) endUncertain() {
	s.record(false)
	s.op.MaybeApplied = !s.op.Clean("")
	s.doubt(s.doubtOf())
	s.plan()
	s.waitAsTold()
}

// waitAsTold keeps to a wait that the target asked for: in progress is waited
// out, never re-sent at once (M11b).
func (s *step) waitAsTold() {
	if s.op.Due == nil || s.ev.Answer.RetryAfter <= 0 {
		return
	}
	if at := s.now.Add(s.ev.Answer.RetryAfter); s.op.Due.Before(at) {
		s.op.Due = &at
	}
}

func (s *step) endDiffers() {
	s.barDiffers(s.ev.Answer.Reference, s.ev.Answer.Differs)
	s.endUncertain()
}

// barDiffers sets what evidence of a differing effect bars (M15): differs, and
// multiple_effects as well if it names another reference than the known one.
// Only the first may be lifted, so that neither may hide the other.
func (s *step) barDiffers(reference string, ms []Mismatch) {
	s.bar(BarDiffers)
	s.openReview(ReviewDiffers, describeMismatches(ms))
	s.see(reference)
	if s.otherSeen(reference) {
		s.barMultiple(reference)
	}
}

func (s *step) barMultiple(reference string) {
	s.bar(BarMultipleEffects)
	s.see(reference)
	detail := describeReferences(s.op.SeenReferences)
	if l := s.ev.Lookup; l != nil && l.Detail != "" && len(s.op.SeenReferences) < 2 {
		detail = l.Detail
	}
	s.openReview(ReviewMultipleEffects, detail)
}

// effectOnPrepared: an effect exists where none was thought to be, and it does
// not confirm. Whoever sends next would make a second one.
func (s *step) effectOnPrepared(reference string, ms []Mismatch, several bool) {
	s.barOnPrepared(reference, ms, several)
	s.becomeDoubtful(DoubtEffectExists)
}

// barOnPrepared is effectOnPrepared without what is planned then: a review that it
// opens has a reason of its own.
func (s *step) barOnPrepared(reference string, ms []Mismatch, several bool) {
	s.bar(BarEffectExists)
	s.see(reference)
	if s.op.AbsenceRecorded {
		s.contradict("an effect was reported after its absence, or \"not applied\", had been recorded")
	}
	if len(ms) > 0 {
		s.barDiffers(reference, ms)
	}
	if several || s.otherSeen(reference) {
		s.barMultiple(reference)
	}
}

func (s *step) endKeyConflict() {
	s.bar(BarKeyConflict)
	s.openReview(ReviewKeyConflict, "the target knows this identity with another request")
	s.endUncertain()
}

func (s *step) endMultiple() {
	s.barMultiple(s.ev.Answer.Reference)
	s.endUncertain()
}

func (s *step) endEffectExists() {
	s.bar(BarEffectExists)
	s.endUncertain()
}

func (s *step) endTaken() {
	s.bar(BarEffectExists)
	s.reviewTaken(s.ev.Answer.Reference)
	s.endUncertain()
}

func (s *step) endExistsElsewhere() {
	s.openReview(ReviewExistsElsewhere, "the target says that a record with this identity exists, though nothing of ours can have made it")
	if reference := s.ev.Answer.Reference; reference != "" {
		s.showCandidates(s.op.openReview(ReviewExistsElsewhere), []Candidate{{Reference: reference}})
	}
	s.endUncertain()
}

func (s *step) endExistsTaken() {
	s.reviewTaken(s.ev.Answer.Reference)
	s.endUncertain()
}

func (s *step) endKnownTaken() {
	s.reviewTaken(s.op.Elsewhere.Reference)
	s.endUncertain()
}

func (s *step) endAccepted() {
	s.accept(s.ev.Answer.Reference, false)
	s.endUncertain()
}

// accept notes work that the target took on for later and until when it should be
// done; where the contract agrees on no time, that is over at once. The first word
// of it counts; a name that comes later is added. found tells that the reference is
// that of a record which a look-up found; where the target itself calls the work
// the same, that counts.
func (s *step) accept(reference string, found bool) {
	switch a := s.op.Accepted; {
	case a == nil:
		within := time.Duration(0)
		if s.ev.Policy != nil {
			within = s.ev.Policy.PollWithin
		}
		s.op.Accepted = &Acceptance{
			Reference: reference, Found: found && reference != "", At: s.now, Until: s.now.Add(within), Over: within <= 0,
		}
	case a.Reference == "" && reference != "", a.Found && !found && a.Reference == reference:
		named := *a
		named.Reference, named.Found = reference, found
		s.op.Accepted = &named
	}
}

func (s *step) endConfirmed() {
	s.record(false)
	s.confirm(s.ev.Answer.Reference, LearntFromResponse)
}

func (s *step) endKnownElsewhere() {
	s.record(false)
	known := *s.op.Elsewhere
	s.confirm(known.Reference, known.LearntFrom)
	s.op.Result = &known // the evidence that proves it came earlier
}

// effectElsewhere: evidence that did not come from the attempt that is out says
// that an effect exists. Nothing else is sent; if the evidence names the effect
// and agrees, it is kept for when the attempt ends.
func (s *step) effectElsewhere(reference string, from LearntFrom) {
	s.bar(BarEffectExists)
	s.see(reference)
	if reference == "" || s.op.Elsewhere != nil {
		return
	}
	if s.taken(reference) {
		s.reviewTaken(reference)
		return
	}
	s.op.Elsewhere = &Result{Reference: reference, LearntFrom: from, By: s.toldBy(from), At: s.now}
	s.op.ElsewhereShared = s.mayShare(reference)
	if s.ev.Evidence != nil {
		s.op.Elsewhere.Evidence = s.ev.Evidence.ID
	}
}

// toldBy is whose word a result is that onefold did not read at the target.
func (s *step) toldBy(from LearntFrom) string {
	if from == LearntFromEvent || from == LearntFromOperator {
		return s.ev.Actor.Name
	}
	return ""
}

// confirm records the result. Whoever is prepared although an effect exists was
// told of an absence that was none: that is a contradiction (M20).
func (s *step) confirm(reference string, from LearntFrom) {
	s.see(reference)
	s.op.Result = &Result{Reference: reference, LearntFrom: from, By: s.toldBy(from), At: s.now}
	if s.ev.Evidence != nil {
		s.op.Result.Evidence = s.ev.Evidence.ID
	}
	s.settle("confirmed")
	if s.from == Prepared && s.op.AbsenceRecorded {
		s.contradict("an effect was found after its absence, or \"not applied\", had been recorded")
	}
}

func (s *step) endRejected() {
	s.record(false)
	s.reject(s.ev.Answer.Code, s.ev.Answer.Detail)
}

func (s *step) reject(code, detail string) {
	if code == "" {
		code = "refused"
	}
	s.op.Rejection = &Rejection{Code: code, Detail: detail, At: s.now}
	if s.ev.Evidence != nil {
		s.op.Rejection.Evidence = s.ev.Evidence.ID
	}
	s.settle("rejected")
}

func (s *step) endCanceled() {
	s.record(false)
	s.settle("canceled")
}

func (s *step) endRetry() {
	s.record(false)
	s.op.MaybeApplied = false
	s.dueAfterBackoff()
}

func (s *step) endExhaustedReject() {
	s.record(false)
	s.exhaustReject()
}

func (s *step) exhaustReject() {
	s.reject(exhaustedRejectionCode, "the retry budget is spent; no attempt had an effect")
}

func (s *step) endExhaustedHold() {
	s.record(false)
	s.exhaustHold()
}

func (s *step) exhaustHold() {
	s.op.MaybeApplied = false
	s.holdExhausted(ReviewRetryExhausted, "the retry budget is spent; no attempt had an effect")
}
