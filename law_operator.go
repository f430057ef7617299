package onefold

import (
	"slices"
	"strings"
)

// Guards and actions of the rows in which a plan is reconsidered, a caller
// withdraws, or a person decides.

// ---- plans

func (s *step) reconsiderLost() bool { return !s.holder(s.ev.Reconsider.Token) }
func (s *step) unsendable() bool     { return s.ev.Reconsider.Unsendable != "" }

func (s *step) planSpent() bool {
	return s.ev.Policy != nil && s.retrySpent(0)
}

func (s *step) planSpentReject() bool { return s.planSpent() && s.rejectsWhenSpent() }

func (s *step) holdUnsendable() {
	s.detail = s.ev.Reconsider.Unsendable
	s.holdExhausted(ReviewUnsendable, s.ev.Reconsider.Unsendable)
}

func (s *step) reviewUnsendable() {
	s.detail = s.ev.Reconsider.Unsendable
	s.op.Lease, s.op.Due, s.op.Next = nil, nil, NextOperator
	s.openReview(ReviewUnsendable, s.ev.Reconsider.Unsendable)
}

func (s *step) replan() {
	if s.ev.Reconsider.ReplayUnsafe != "" {
		s.detail = "no replay: " + s.ev.Reconsider.ReplayUnsafe
	}
	s.planWithout(s.ev.Reconsider.ReplayUnsafe)
}

// ---- withdrawal

func (s *step) neverAttempted() bool { return len(s.op.Attempts) == 0 }
func (s *step) withdrawn() bool      { return s.op.IsBarred(BarWithdrawn) }

func (s *step) cancelFresh() {
	if s.ev.Cancel.Release {
		s.op.KeyReleased = true
		s.effects = append(s.effects, Effect{Kind: EffectReleaseClaim})
		s.detail = "withdrawn before anything was attempted; the key is released"
	}
	s.settle("canceled")
}

func (s *step) cancel() { s.settle("canceled") }

func (s *step) withdraw() {
	s.bar(BarWithdrawn)
	s.replanIfUncertain()
}

func (s *step) barDeadline() {
	s.bar(BarPastDeadline)
	s.replanIfUncertain()
}

func (s *step) replanIfUncertain() {
	if s.op.State == Uncertain {
		s.replanKeepingDoubt()
	}
}

func (s *step) deadlineNotNews() bool {
	return !s.pastDeadline() || s.op.IsBarred(BarPastDeadline)
}

// restore: nothing that was recorded can be trusted to be the last word. The
// operation is looked up anew, with a new budget.
func (s *step) restore() {
	s.bar(BarRestored)
	s.op.Reconcile = Budget{}
	s.becomeDoubtful(DoubtRestored)
	at := s.now
	if s.op.Due != nil {
		s.op.Due = &at
	}
}

// ---- holds

func (s *step) hold() *Hold {
	i := slices.IndexFunc(s.op.Holds, func(h Hold) bool { return h.Reason == s.ev.Hold.Reason })
	if i < 0 {
		return nil
	}
	return &s.op.Holds[i]
}

func (s *step) heldForThat() bool {
	return slices.ContainsFunc(s.op.Holds, func(have Hold) bool { return have.Reason == s.ev.Place.Reason })
}

func (s *step) noSuchHold() bool { return s.hold() == nil }
func (s *step) declines() bool   { return !s.ev.Hold.Proceed }

func (s *step) placeHold() {
	h := *s.ev.Place
	h.Since = s.now
	if h.Review == "" && s.ev.ReviewID != "" {
		h.Review = s.openReview(ReviewReason(h.Reason), s.ev.Reason)
	}
	s.op.Holds = append(s.op.Holds, h)
	s.op.Lease, s.op.Due, s.op.Next = nil, nil, NextOperator
}

func (s *step) declineHold() {
	// The hold itself went with the move to a terminal state.
	s.reject(declinedRejectionCode, s.ev.Reason)
	s.detail = "declined under hold " + string(s.ev.Hold.Reason)
}

func (s *step) releaseHold() {
	h := *s.hold()
	s.op.Holds = slices.DeleteFunc(s.op.Holds, func(have Hold) bool { return have.Reason == h.Reason })
	s.detail = "hold " + string(h.Reason) + " released"
	if h.Review != "" {
		s.closeReviews("proceed", h.Review)
	}
	if h.Reason == HoldRetryExhausted {
		s.op.Retry = Budget{}
	}
	if len(s.op.Holds) == 0 {
		s.dueNow()
	}
}

// dueNow makes a prepared operation due, though never before not_before.
func (s *step) dueNow() {
	at := s.now
	if s.beforeStart() {
		at = *s.op.NotBefore
	}
	s.schedule(at)
}

// ---- retry and resolve

func (s *step) askedReplayUnsafe() bool { return s.replayDenied(s.op.Scope) != "" }

func (s *step) replayNow() {
	at := s.now
	s.op.Due, s.op.Next = &at, NextReplay
}

func resolves(o ResolutionOutcome) func(*step) bool {
	return func(s *step) bool { return s.ev.Resolution.Outcome == o }
}

func (s *step) resolvesWithoutReference() bool {
	return s.ev.Resolution.Outcome == ResolveConfirmed && Blank(s.ev.Resolution.Reference)
}

func (s *step) attemptStillOpen() bool {
	return s.ev.Resolution.Outcome == ResolveNotApplied && s.op.OpenAttempt()
}

func (s *step) effectKnown() bool {
	return s.ev.Resolution.Outcome == ResolveNotApplied && s.op.IsBarred(BarEffectExists, BarMultipleEffects)
}

func (s *step) withdrawnOrLate() bool {
	return s.ev.Resolution.Outcome == ResolveNotApplied && s.op.IsBarred(BarWithdrawn, BarPastDeadline)
}

// decide: a person's decision on an uncertain operation has seen what
// contradicted its recorded absence, and resolves that too.
func (s *step) decide(decision string) {
	s.detail, s.op.Contradicted = "decided: "+decision, false
}

func (s *step) resolveConfirmed() {
	s.decide("confirmed as " + Named(s.ev.Resolution.Reference))
	s.confirm(s.ev.Resolution.Reference, LearntFromOperator)
}

func (s *step) resolveRejected() {
	s.decide("rejected")
	for i := range s.op.Attempts {
		if a := &s.op.Attempts[i]; a.Closed() && !a.WithoutEffect() {
			a.ProvenBy = ProvenByOperator
		}
	}
	s.op.AbsenceRecorded = true
	s.reject(operatorRejectionCode, s.ev.Reason)
}

func (s *step) resolveCanceled() {
	s.decide("not applied")
	s.proveAbsence(ProvenByOperator)
	s.settle("canceled")
}

func (s *step) resolvePrepared() {
	s.decide("not applied")
	s.proveAbsence(ProvenByOperator)
	s.op.Barred, s.op.Doubt, s.op.Lease = nil, nil, nil
	s.op.Retry = Budget{}
	s.closeReviews("not_applied", "")
	s.dueNow()
}

// ---- contradictions

// contradict opens the review of a settled operation's contradiction (M20).
func (s *step) contradict(detail string) {
	s.suggest()
	s.op.Contradicted = true
	s.detail = detail
	s.openReview(ReviewContradicted, detail)
	s.tellIn(ReviewContradicted, detail)
	s.notify("operation.contradicted")
}

// tellIn puts words into the review for the reason, unless they are there: it may
// have been open already, for something else. A review that says a great deal is
// left as it is; all of the evidence is on record.
func (s *step) tellIn(reason ReviewReason, words string) {
	r := s.newestReview(reason)
	if r == nil || strings.Contains(r.Detail, words) || len(r.Detail) > MaxExcerpt {
		return
	}
	r.Detail, s.news = joined(r.Detail, words), true
}

func (s *step) notContradicted() bool { return !s.op.Contradicted }

// disagrees tells whether an effect with the given reference (perhaps unknown)
// contradicts what is recorded. One that is not what was approved does, though it
// has the recorded reference, unless a person has seen such a difference before.
func (s *step) disagrees(reference, attempt string, ms []Mismatch) bool {
	switch {
	case s.op.State != Confirmed:
		return true
	case len(ms) > 0 && !s.op.IsBarred(BarDiffers):
		return true
	case s.isResult(reference):
		return false
	case reference != "":
		return true
	}
	a := s.op.Attempt(attempt)
	return a != nil && a.ProvenBy == ProvenByOperator
}

// isResult tells whether a reference is, or was, recorded as the result.
func (s *step) isResult(reference string) bool {
	for r := s.op.Result; r != nil; r = r.Earlier {
		if r.Reference == reference {
			return true
		}
	}
	return false
}

// deniesResult tells whether word of no effect contradicts a recorded one: it does
// if it speaks of the operation, or of the only attempt that can have had it.
func (s *step) deniesResult(attempt string) bool {
	return s.op.State == Confirmed && (attempt == "" || s.op.Clean(attempt))
}

// answerDisagrees: an effect, or, where none was to be, one that is likely or still
// to come. A record that is somebody else's is none.
func (s *step) answerDisagrees() bool {
	a := s.ev.Answer
	switch {
	case s.answerAnyEffect():
		return s.disagrees(a.Reference, a.Attempt, a.Differs)
	case s.answerRefuses():
		return s.deniesResult(a.Attempt)
	case !s.answerSuggests() || s.existsElsewhere():
		return false
	case s.op.State != Confirmed:
		return true
	}
	return s.answerExists() && a.Reference != "" && s.disagrees(a.Reference, "", nil)
}

func (s *step) lookupDisagrees() bool {
	l := s.ev.Lookup
	switch l.Result {
	case LookupSeveral:
		return true
	case LookupFound:
		return s.foundOurs() && s.disagrees(l.Reference, "", l.Differs) ||
			l.FinallyFailed && s.op.State == Confirmed && s.isResult(l.Reference)
	case LookupPending: // an effect to come
		return s.op.State != Confirmed || l.Reference != "" && s.disagrees(l.Reference, "", nil)
	case LookupCandidates:
		return s.op.State != Confirmed && s.unseenCandidates()
	case LookupAbsent, LookupInconclusive:
	}
	return false
}

// unseenCandidates tells whether a candidate was found that no review has shown, so
// that nobody has decided about it.
func (s *step) unseenCandidates() bool {
	return slices.ContainsFunc(s.ev.Lookup.Candidates, func(found Candidate) bool {
		return !slices.ContainsFunc(s.op.Reviews, func(r Review) bool {
			return slices.ContainsFunc(r.Candidates, func(shown Candidate) bool { return sameRecord(shown, found) })
		})
	})
}

func sameRecord(a, b Candidate) bool {
	return a.Reference == b.Reference && slices.Equal(a.Fields, b.Fields)
}

func (s *step) observationDisagrees() bool {
	o := s.ev.Observation
	if s.observedEffect() {
		return s.disagrees(o.Reference, o.Attempt, o.Differs)
	}
	return (o.Asserts == AssertsNoEffect || o.FinallyFailed) && s.deniesResult(o.Attempt)
}

func (s *step) lateContradicts() {
	s.lateRecord()
	a := s.ev.Answer
	s.contradict(contradiction(a.Reference, s.answerAnyEffect() || !s.answerRefuses(), a.Differs))
}

func (s *step) lookupContradicts() {
	l := s.ev.Lookup
	s.see(l.Reference)
	s.contradict(contradiction(l.Reference, !l.FinallyFailed, l.Differs))
	s.showFound(ReviewContradicted)
}

func (s *step) observationContradicts() {
	o := s.ev.Observation
	if s.observedEffect() {
		s.see(o.Reference)
	}
	s.contradict(contradiction(o.Reference, s.observedEffect(), o.Differs))
}

func (s *step) correct() {
	earlier := s.op.Result
	s.op.Contradicted = false
	s.detail = "decided: confirmed as " + Named(s.ev.Resolution.Reference)
	s.see(s.ev.Resolution.Reference)
	s.op.Result = &Result{
		Reference: s.ev.Resolution.Reference, LearntFrom: LearntFromOperator, By: s.toldBy(LearntFromOperator), At: s.now,
		Earlier: earlier,
	}
	s.settle("confirmed")
}

func (s *step) uphold() {
	s.op.Contradicted = false
	s.detail = "decided: the recorded outcome stands"
	s.settle("upheld")
}

// ---- reviews

func (s *step) review(id string) *Review {
	for i := range s.op.Reviews {
		if r := &s.op.Reviews[i]; r.ID == id && r.Status == ReviewOpen {
			return r
		}
	}
	return nil
}

func (s *step) noSuchReview() bool { return s.review(s.ev.Assignment.Review) == nil }
func (s *step) noOwner() bool      { return Blank(s.ev.Assignment.Owner) }

func (s *step) assign() {
	r := s.review(s.ev.Assignment.Review)
	s.detail = "review handed from " + Named(r.Owner) + " to " + Named(s.ev.Assignment.Owner)
	r.Owner = s.ev.Assignment.Owner
}

func (s *step) dueEscalation() *Review {
	for i := range s.op.Reviews {
		r := &s.op.Reviews[i]
		if r.Status == ReviewOpen && r.EscalateAt != nil && r.EscalatedAt == nil && !r.EscalateAt.After(s.now) {
			return r
		}
	}
	return nil
}

func (s *step) nothingToEscalate() bool { return s.dueEscalation() == nil }

func (s *step) escalate() {
	r := s.dueEscalation()
	at := s.now
	r.EscalatedAt = &at
	s.detail = "review escalated to " + Named(r.EscalateTo)
	s.notify("review.overdue")
}
