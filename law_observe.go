package onefold

import (
	"slices"
	"strings"
)

// Guards and actions of the rows in which an event or delivered evidence arrives.

func (s *step) observedEffect() bool { return s.ev.Observation.Asserts == AssertsEffect }

func (s *step) observedDiffers() bool {
	return s.observedEffect() && len(s.ev.Observation.Differs) > 0
}

func (s *step) observedOther() bool {
	return s.observedEffect() && s.otherSeen(s.ev.Observation.Reference)
}

func (s *step) observedAgrees() bool {
	o := s.ev.Observation
	return s.observedEffect() && o.Reference != "" && len(o.Differs) == 0 && len(o.Unshown) == 0 && !o.Predates &&
		!s.blocked() && !s.otherSeen(o.Reference) && !s.observedTaken()
}

func (s *step) observedTaken() bool {
	return s.observedEffect() && s.taken(s.ev.Observation.Reference)
}

// observedPredates: what it speaks of is older than the operation.
func (s *step) observedPredates() bool { return s.observedEffect() && s.ev.Observation.Predates }

// observedUnshown: it names the effect, and not all that the contract verifies. A
// reference alone is somebody's word that the record is this operation's; nothing
// of ours is in it, as it is in an answer.
func (s *step) observedUnshown() bool {
	o := s.ev.Observation
	return s.observedEffect() && o.Reference != "" && len(o.Unshown) > 0
}

func (s *step) observedBlocked() bool { return s.observedEffect() && s.blocked() }

// observedFailed: only the target's own word settles; a no_effect delivered by
// hand moves nothing.
func (s *step) observedFailed() bool {
	o := s.ev.Observation
	return o.FinallyFailed && !o.ByHand && !s.observedEffect() && s.mayFail() && !s.otherSeen(o.Reference) &&
		!s.taken(o.Reference)
}

func (s *step) observedFrom() LearntFrom {
	if s.ev.Observation.ByHand {
		return LearntFromOperator
	}
	return LearntFromEvent
}

func (s *step) observedConfirmed() { s.confirm(s.ev.Observation.Reference, s.observedFrom()) }

func (s *step) observedEvidence() {
	s.bar(BarEffectExists)
	s.see(s.ev.Observation.Reference)
}

func (s *step) observedBar() {
	s.bar(BarEffectExists)
	s.see(s.ev.Observation.Reference)
	s.doubtAnew(DoubtEffectExists)
	s.replanKeepingDoubt()
}

func (s *step) observedOnPrepared() {
	s.barOnPrepared(s.ev.Observation.Reference, s.ev.Observation.Differs, false)
	switch {
	case s.observedTaken():
		s.reviewTaken(s.ev.Observation.Reference)
	case s.observedPredates():
		s.reviewObserved(ReviewPredates, s.predatesWords())
	case s.observedUnshown():
		s.reviewObserved(ReviewEvidence, s.unshownWords())
	}
	s.becomeDoubtful(DoubtEffectExists)
}

// observedReviewPredates: as little an effect of this operation as an old record is
// that a look-up finds, until a person says so.
func (s *step) observedReviewPredates() {
	s.suggest()
	s.reviewObserved(ReviewPredates, s.predatesWords())
	if s.op.State == Uncertain {
		s.replanKeepingDoubt()
	}
}

// observedReviewUnshown: what was said counts, and a person, an answer or a look-up
// has to say the rest.
func (s *step) observedReviewUnshown() {
	s.bar(BarEffectExists)
	s.see(s.ev.Observation.Reference)
	s.reviewObserved(ReviewEvidence, s.unshownWords())
	s.doubtAnew(DoubtEffectExists)
	s.replanKeepingDoubt()
}

func (s *step) predatesWords() string {
	words := "the evidence speaks of a record that is older than this operation"
	if reference := s.ev.Observation.Reference; reference != "" {
		words = "the evidence speaks of the record " + Named(reference) + ", which is older than this operation"
	}
	if e := s.ev.Evidence; e != nil && e.OccurredAt != nil {
		words += ": it is of " + clock(*e.OccurredAt) + ", the operation of " + clock(s.op.CreatedAt)
	}
	return words
}

func (s *step) unshownWords() string {
	unshown := strings.Join(s.ev.Observation.Unshown, ", ")
	if unshown == "" { // the pointer of the whole
		unshown = "all of it"
	}
	return "the evidence names the record " + Named(s.ev.Observation.Reference) +
		" and does not show what the contract compares with the approved request: " + unshown
}

// reviewObserved hands delivered evidence to a person, with the record that it names.
func (s *step) reviewObserved(reason ReviewReason, words string) {
	s.openReview(reason, words)
	s.tellIn(reason, words)
	reference := s.ev.Observation.Reference
	r := s.newestReview(reason)
	if r == nil || reference == "" || len(r.Candidates) >= MaxCandidates ||
		slices.ContainsFunc(r.Candidates, func(c Candidate) bool { return c.Reference == reference }) {
		return
	}
	r.Candidates = append(r.Candidates, s.marked([]Candidate{{Reference: reference}})...)
	s.news = true
}

// observedReviewTaken: the effect is another operation's, as far as this ledger
// knows.
func (s *step) observedReviewTaken() {
	s.reviewTaken(s.ev.Observation.Reference)
	s.replanKeepingDoubt()
}

func (s *step) observedBarStays() {
	if s.observedUnshown() { // it is not kept for when the attempt ends
		s.bar(BarEffectExists)
		s.see(s.ev.Observation.Reference)
		s.reviewObserved(ReviewEvidence, s.unshownWords())
		return
	}
	s.effectElsewhere(s.ev.Observation.Reference, s.observedFrom())
}

func (s *step) observedBarDiffers() {
	s.barDiffers(s.ev.Observation.Reference, s.ev.Observation.Differs)
	s.observedDoubt(DoubtDiffers)
}

func (s *step) observedBarMultiple() {
	s.barMultiple(s.ev.Observation.Reference)
	s.observedDoubt(DoubtMultipleEffects)
}

func (s *step) observedDoubt(reason DoubtReason) {
	if s.from == Attempting {
		s.becomeDoubtful(reason)
		return
	}
	s.doubtAnew(reason)
	s.replanKeepingDoubt()
}

func (s *step) observedRejected() {
	s.finallyFailed(s.ev.Observation.Reference)
	s.reject(finallyFailedRejectionCode, "the target states that the operation finally failed")
}
