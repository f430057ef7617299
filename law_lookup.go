package onefold

import "slices"

// Guards and actions of the rows in which a look-up arrives, and an open attempt is
// closed.

// ---- look-ups

func (s *step) foundEffect() bool {
	return s.ev.Lookup.Result == LookupSeveral || s.foundOurs()
}

// foundOurs: a record that may be this operation's.
func (s *step) foundOurs() bool {
	return s.ev.Lookup.Result == LookupFound && !s.foundPredates() && !s.ev.Lookup.FinallyFailed
}

// foundPredates: a record that is older than the operation. One that carries our
// own derived identity, and that the target named on a clean attempt, was made
// for the same caller key by an admission that this ledger lost (I13a): that one
// is adopted, however old.
func (s *step) foundPredates() bool {
	return s.ev.Lookup.Result == LookupFound && s.ev.Lookup.Predates && !s.adopting()
}

// existsClean: the target says that the record exists, though no attempt of this
// operation can have made it (M11b).
func (s *step) existsClean() bool {
	exists := s.doubted == DoubtExists || s.op.Doubt != nil && s.op.Doubt.Reason == DoubtExists
	n := len(s.op.Attempts)
	return exists && n > 0 && s.op.Clean(s.op.Attempts[n-1].ID)
}

// adopting: that record carries our own derived identity or reference, so that
// nobody else can have made it.
func (s *step) adopting() bool { return s.existsClean() && s.ev.Lookup.OwnIdentity }

// foundElsewhere: that record carries nothing of ours.
func (s *step) foundElsewhere() bool {
	switch s.ev.Lookup.Result {
	case LookupFound, LookupSeveral, LookupPending:
		return s.existsClean() && !s.ev.Lookup.OwnIdentity
	case LookupAbsent, LookupInconclusive, LookupCandidates:
	}
	return false
}

func (s *step) foundPending() bool { return s.ev.Lookup.Result == LookupPending }

// foundPendingNews: so far the doubt was about something less, or the work had no
// name.
func (s *step) foundPendingNews() bool {
	if !s.foundPending() || s.effectBarred() {
		return false
	}
	switch s.op.Doubt.Reason {
	case DoubtExists:
		return false
	case DoubtAccepted:
		return s.op.Accepted != nil && s.op.Accepted.Reference == "" && s.ev.Lookup.Reference != ""
	default:
		return true
	}
}

// foundCandidates: evidence has something to show that the review does not show yet.
func (s *step) foundCandidates() bool {
	if s.ev.Lookup.Result != LookupCandidates {
		return false
	}
	r := s.op.openReview(ReviewEvidence)
	return r == nil || !slices.EqualFunc(r.Candidates, s.marked(s.ev.Lookup.Candidates), sameCandidate)
}

func sameCandidate(a, b Candidate) bool {
	return sameRecord(a, b) && a.RecordedBy == b.RecordedBy
}

// foundTakenAny: a record that exists, or that has failed, and that is another
// operation's as far as this ledger knows.
func (s *step) foundTakenAny() bool {
	l := s.ev.Lookup
	return l.Result == LookupFound && !s.foundPredates() && s.taken(l.Reference)
}

// foundTakenWork: what came of the work that the target accepted from this
// operation is another operation's record, and that is news.
func (s *step) foundTakenWork() bool {
	return s.foundTakenAny() && s.foundOurs() && s.pollsOwnWork() && !s.op.IsBarred(BarEffectExists)
}

func (s *step) foundDiffers() bool { return s.foundOurs() && len(s.ev.Lookup.Differs) > 0 }

func (s *step) foundSeveral() bool {
	return s.ev.Lookup.Result == LookupSeveral || s.foundOurs() && s.otherSeen(s.ev.Lookup.Reference)
}

func (s *step) foundFailedAny() bool {
	return s.ev.Lookup.Result == LookupFound && s.ev.Lookup.FinallyFailed
}

func (s *step) foundFailed() bool {
	return s.foundFailedAny() && s.mayFail() && !s.otherSeen(s.ev.Lookup.Reference)
}

// mayFail: a final failure settles the operation only while no attempt is open
// and no effect is known.
func (s *step) mayFail() bool {
	return !s.op.OpenAttempt() && !s.op.IsBarred(BarEffectExists, BarMultipleEffects)
}

func (s *step) foundBlocked() bool { return s.foundOurs() && s.blocked() }

func (s *step) foundAgrees() bool {
	l := s.ev.Lookup
	return s.foundOurs() && l.Reference != "" && len(l.Differs) == 0 && !s.blocked() && !s.otherSeen(l.Reference) &&
		!s.taken(l.Reference)
}

func (s *step) staleLookup() bool { return !s.holder(s.ev.Lookup.Token) }

// absentProven: the look-up is the holder's and its absence is proof (M12).
// What the target said it accepted it may carry out whenever it likes: that
// nothing is to be seen of it yet is no proof.
//
// Where the contract has several look-ups, the silence of one is not the word of the
// others: each of them has to have said so.
func (s *step) absentAuthoritative() bool {
	return s.absentInTime() && s.op.AbsentTurns+1 >= s.ev.Policy.Lookups
}

// absentInTime tells that a look-up that may prove absence, and began late enough,
// sees nothing.
func (s *step) absentInTime() bool {
	l, p := s.ev.Lookup, s.ev.Policy
	return l.Result == LookupAbsent && s.op.Accepted == nil && p != nil && p.AbsenceProves &&
		!s.op.OpenAttempt() && !l.Began.Before(AbsenceProvenFrom(&s.op, p))
}

func (s *step) absentProven() bool {
	return s.absentAuthoritative() && s.barredOnly(BarRestored)
}

func (s *step) absentSpent() bool       { return s.absentProven() && s.spent() }
func (s *step) absentSpentReject() bool { return s.absentSpent() && s.rejectsWhenSpent() }

func (s *step) absentWithdrawn() bool {
	return s.absentAuthoritative() && s.op.IsBarred(BarWithdrawn, BarPastDeadline) &&
		s.barredOnly(BarWithdrawn, BarPastDeadline, BarRestored)
}

// absentUnrefuted: nothing was found where it should be, and a person has a record
// that may be the effect all the same (M14).
func (s *step) absentUnrefuted() bool {
	return (s.absentProven() || s.absentWithdrawn()) && s.op.unrefuted()
}

func (s *step) absentBarred() bool { return s.absentAuthoritative() && s.op.IsBarred() }

func (s *step) tellLookup() {
	if s.ev.Lookup.Detail != "" {
		s.detail = s.ev.Lookup.Detail
	}
}

func (s *step) foundConfirmed() {
	s.tellLookup()
	from := s.foundFrom()
	if s.adopting() {
		from = LearntFromAdopted
	}
	s.confirm(s.ev.Lookup.Reference, from)
}

func (s *step) foundFrom() LearntFrom {
	if s.ev.Lookup.Polled {
		return LearntFromPoll
	}
	return LearntFromLookup
}

// foundBar: a found record on a prepared operation that does not confirm.
func (s *step) foundBar() {
	s.tellLookup()
	l := s.ev.Lookup
	s.effectOnPrepared(l.Reference, l.Differs, l.Result == LookupSeveral)
	if s.taken(l.Reference) {
		s.reviewTaken(l.Reference)
	}
}

// afterLookup counts the look-up and plans the next step; word from somebody
// who no longer holds the lease leaves the holder's lease alone.
func (s *step) afterLookup() {
	s.tellLookup()
	if s.staleLookup() {
		s.replanKeepingDoubt()
		return
	}
	if !s.ev.Lookup.Polled {
		s.op.Reconcile.Spent++
		s.countAbsence()
	}
	s.plan()
}

// countAbsence counts the look-ups in a row that see nothing; any other word of one
// begins anew.
func (s *step) countAbsence() {
	if !s.absentInTime() {
		s.op.AbsentTurns = 0
		return
	}
	s.op.AbsentTurns++
	if left := s.ev.Policy.Lookups - s.op.AbsentTurns; left > 0 {
		s.detail = joined(s.detail, "the contract's other look-ups are asked too before that proves anything")
	}
}

func (s *step) lookedUpAgain() { s.afterLookup() }

func (s *step) foundReviewPredates() {
	s.suggest()
	s.openReview(ReviewPredates, "the record found at the target is older than this operation")
	s.showFound(ReviewPredates)
	s.afterLookup()
}

// foundReviewTaken: the record is another operation's, as far as this ledger knows.
func (s *step) foundReviewTaken() {
	s.reviewTaken(s.ev.Lookup.Reference)
	s.afterLookup()
}

// foundReviewTakenWork: the target says that the effect exists; the wait is over.
func (s *step) foundReviewTakenWork() {
	s.bar(BarEffectExists)
	s.doubtAnew(DoubtEffectExists)
	s.foundReviewTaken()
}

// foundReviewElsewhere: the record is somebody else's; a person decides.
func (s *step) foundReviewElsewhere() {
	s.reviewElsewhere("the target says that a record with this identity exists, and the one found there carries nothing of this operation's")
	s.afterLookup()
}

func (s *step) absentElsewhere() {
	s.reviewElsewhere("the target says that a record with this identity exists, and there is none that carries this operation's")
	s.afterLookup()
}

func (s *step) reviewElsewhere(detail string) {
	s.openReview(ReviewExistsElsewhere, detail)
	s.showFound(ReviewExistsElsewhere)
}

// showFound shows what the look-up found in the open review for the reason.
func (s *step) showFound(reason ReviewReason) {
	s.showCandidates(s.op.openReview(reason), s.ev.Lookup.Candidates)
}

func (s *step) absentLeft() {
	s.afterLookup()
	s.detail = joined(s.detail, "an open review has a record that may be the effect, so that a person decides")
}

// absentExists: sending again would be answered as before.
func (s *step) absentExists() bool {
	return s.absentProven() && s.op.Doubt != nil && s.op.Doubt.Reason == DoubtExists
}

func (s *step) foundStillPending() {
	s.suggest()
	s.accept(s.ev.Lookup.Reference, true)
	s.doubtAnew(DoubtAccepted)
	s.afterLookup()
}

// pendingOnPrepared: the target is at work on what was thought not to be there.
// Whether it comes to an effect is open; whoever sends next may make a second one.
func (s *step) pendingOnPrepared() {
	s.tellLookup()
	s.effectOnPrepared("", nil, false)
}

func (s *step) pendingBar() {
	s.tellLookup()
	s.bar(BarEffectExists)
}

// foundReviewCandidates shows a person what evidence alone speaks for (M14).
func (s *step) foundReviewCandidates() {
	s.suggest()
	s.openReview(ReviewEvidence, s.ev.Lookup.Detail)
	r := s.op.openReview(ReviewEvidence)
	r.Detail, r.Candidates = s.ev.Lookup.Detail, s.marked(s.ev.Lookup.Candidates)
	s.afterLookup()
}

func (s *step) foundBarDiffers() {
	s.barDiffers(s.ev.Lookup.Reference, s.ev.Lookup.Differs)
	s.foundDoubt(DoubtDiffers)
}

func (s *step) foundBarSeveral() {
	s.barMultiple(s.ev.Lookup.Reference)
	s.showFound(ReviewMultipleEffects)
	s.foundDoubt(DoubtMultipleEffects)
}

func (s *step) foundDoubt(reason DoubtReason) {
	if s.from == Attempting {
		s.tellLookup()
		s.becomeDoubtful(reason)
		return
	}
	s.doubtAnew(reason)
	s.afterLookup()
}

func (s *step) foundBarEffect() {
	s.tellLookup()
	s.effectElsewhere(s.ev.Lookup.Reference, s.foundFrom())
}

// foundUnreadable: the effect exists, though not what it is called (M11c).
func (s *step) foundUnreadable() {
	s.bar(BarEffectExists)
	s.foundDoubt(DoubtEffectExists)
}

// foundEvidence: a person decides what the record is; until then, and whatever
// else is lifted, nothing is sent beside an effect that exists (M11c).
func (s *step) foundEvidence() {
	s.bar(BarEffectExists)
	s.see(s.ev.Lookup.Reference)
	s.afterLookup()
}

func (s *step) foundRejected() {
	s.tellLookup()
	s.finallyFailed(s.ev.Lookup.Reference)
	s.reject(finallyFailedRejectionCode, s.ev.Lookup.Detail)
}

// finallyFailed: of what spoke for an effect, the target says that it came to
// nothing; not of the records that a person still has to look at.
func (s *step) finallyFailed(reference string) {
	if !s.op.unrefuted() {
		s.refuted(reference)
	}
}

// proveAbsence marks every attempt that was in doubt as without effect.
func (s *step) proveAbsence(by ProvenBy) {
	s.op.AbsentTurns = 0
	for i := range s.op.Attempts {
		if a := &s.op.Attempts[i]; a.Closed() && !a.WithoutEffect() {
			a.ProvenBy = by
		}
	}
	if by == ProvenByOperator {
		// What was seen so far is dismissed with the decision; seen again, it is news.
		s.op.SeenReferences = nil
	}
	s.refuted("")
	s.op.MaybeApplied = false
	s.op.AbsenceRecorded = true
	s.op.Reconcile = Budget{}
}

func (s *step) absentCanceled() {
	s.tellLookup()
	s.lift(BarRestored)
	s.proveAbsence(ProvenByAbsence)
	s.settle("canceled")
}

func (s *step) absentPrepared() {
	s.tellLookup()
	s.lift(BarRestored)
	s.proveAbsence(ProvenByAbsence)
	s.closeReviews("absence proven", "")
	s.dueAfterBackoff()
}

func (s *step) absentExhaustedReject() {
	s.tellLookup()
	s.lift(BarRestored)
	s.proveAbsence(ProvenByAbsence)
	s.exhaustReject()
}

func (s *step) absentExhaustedHold() {
	s.tellLookup()
	s.lift(BarRestored)
	s.proveAbsence(ProvenByAbsence)
	s.closeReviews("absence proven", "")
	s.exhaustHold()
}

func (s *step) absentReview() {
	s.openReview(ReviewAbsentButBarred, "the target shows no effect, but the operation is barred")
	s.afterLookup()
}

// ---- closing open attempts

func (s *step) notOpen() bool {
	a := s.op.Attempt(s.ev.Close.Attempt)
	return a == nil || !a.Open
}

func (s *step) tooEarlyToClose() bool {
	a := s.op.Attempt(s.ev.Close.Attempt)
	return s.ev.Close.By == ClosedByStraggler && (a.CloseAt == nil || a.CloseAt.After(s.now))
}

func (s *step) closeAttempt() {
	a := s.op.Attempt(s.ev.Close.Attempt)
	at := s.now
	a.Open, a.CloseAt, a.EndedAt = false, nil, &at
	a.ClosedBy, a.Verdict = s.ev.Close.By, VerdictUnknown
	if s.op.Settled() {
		s.op.MaybeApplied = s.op.OpenAttempt()
	}
}

func (s *step) closeAndPlan() {
	s.closeAttempt()
	s.replanKeepingDoubt()
}
