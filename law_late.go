package onefold

// Guards and actions of the rows in which an attempt's answer arrives late (M8).

func (s *step) lateRecord() {
	s.record(true)
	if s.op.Settled() {
		s.op.MaybeApplied = s.op.OpenAttempt()
	}
}

// lateStays closes the attempt; an uncertain operation is planned anew, since
// settle and processing count from the closing. That the target accepted it, or
// knows it, is what the doubt is about from then on.
func (s *step) lateStays() {
	s.record(true)
	if s.existsTaken() {
		s.reviewTaken(s.ev.Answer.Reference)
	}
	if s.op.State != Uncertain {
		return
	}
	if !s.effectBarred() {
		switch s.ev.Answer.Outcome {
		case OutcomeAccepted:
			s.accept(s.ev.Answer.Reference, false)
			s.doubtAnew(DoubtAccepted)
		case OutcomeExists:
			s.doubtAnew(DoubtExists)
		case OutcomeConfirmed, OutcomeRejected, OutcomeNotApplied, OutcomeNotSent, OutcomeInProgress, OutcomeKeyConflict, OutcomeUnknown:
		}
	}
	s.replanKeepingDoubt()
}

// effectBarred tells whether a bar stands that speaks of an effect.
func (s *step) effectBarred() bool { return s.blocked() || s.op.IsBarred(BarEffectExists) }

func (s *step) replanKeepingDoubt() {
	lease := s.op.Lease
	s.plan()
	s.op.Lease = lease
}

// becomeDoubtful moves on from whatever was under way: an attempt that is out
// stays behind as open, and its worker's answer will be late. Holds stand, and
// hold again if the operation is ever prepared again.
func (s *step) becomeDoubtful(reason DoubtReason) {
	if s.from == Attempting {
		s.leaveOpen()
	}
	s.op.MaybeApplied = true
	s.doubt(reason)
	s.plan()
}

func (s *step) lateDiffers() {
	s.record(true)
	s.barDiffers(s.ev.Answer.Reference, s.ev.Answer.Differs)
	s.becomeDoubtful(DoubtDiffers)
}

func (s *step) lateKeyConflict() {
	s.record(true)
	s.bar(BarKeyConflict)
	s.openReview(ReviewKeyConflict, "the target knows this identity with another request")
	s.becomeDoubtful(DoubtKeyConflict)
}

func (s *step) lateMultiple() {
	s.record(true)
	s.barMultiple(s.ev.Answer.Reference)
	s.becomeDoubtful(DoubtMultipleEffects)
}

func (s *step) lateBar() {
	s.record(true)
	s.effectElsewhere(s.ev.Answer.Reference, LearntFromResponse)
}

func (s *step) lateBarPlanned() {
	s.record(true)
	s.bar(BarEffectExists)
	s.becomeDoubtful(DoubtEffectExists)
}

func (s *step) lateTaken() {
	s.record(true)
	s.bar(BarEffectExists)
	s.reviewTaken(s.ev.Answer.Reference)
	s.becomeDoubtful(DoubtEffectExists)
}

func (s *step) latePreparedEffect() {
	s.record(true)
	s.effectOnPrepared(s.ev.Answer.Reference, s.ev.Answer.Differs, false)
	if s.taken(s.ev.Answer.Reference) {
		s.reviewTaken(s.ev.Answer.Reference)
	}
}

func (s *step) lateConfirmed() {
	s.record(true)
	s.confirm(s.ev.Answer.Reference, LearntFromResponse)
}

// lateSettlesAll tells whether, with this answer, every attempt that may have
// reached the target is closed without effect.
func (s *step) lateSettlesAll() bool {
	return s.answerRefuses() && s.op.Clean(s.ev.Answer.Attempt)
}

func (s *step) lateSettles() bool { return s.lateSettlesAll() && !s.op.IsBarred() }

func (s *step) lateSettlesWithdrawn() bool {
	return s.lateSettlesAll() && s.op.IsBarred() && s.barredOnly(BarWithdrawn, BarPastDeadline)
}

func (s *step) lateCanceled() {
	s.record(true)
	s.refuted("")
	s.settle("canceled")
}

func (s *step) latePrepared() {
	s.record(true)
	s.refuted("")
	s.op.MaybeApplied = false
	s.op.Reconcile = Budget{}
	s.closeReviews("no effect", "")
	s.dueAfterBackoff()
}
