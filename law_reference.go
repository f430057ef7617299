package onefold

import (
	"slices"
	"strings"
)

// What the law makes of a target's reference that another operation has recorded
// as its result (M18). One record confirms one operation, also where the target
// itself names it: targets merge requests with equal contents, and their answer to
// the second is the record of the first (M3). Two words make an exception of the
// target's direct word about an operation's own attempt or work: the operation's
// request names the record, so that it was there before, or the contract says that
// several operations may share one.

// References lists the target references that the event gives the law to weigh for
// the operation: what the store looks up for Recorded. The name of work that was
// merely accepted is none of them.
func (ev *Event) References(op *Operation) []string {
	var refs []string
	add := func(reference string) {
		if reference != "" && !slices.Contains(refs, reference) {
			refs = append(refs, reference)
		}
	}
	add(ev.reference())
	if l := ev.Lookup; l != nil {
		for i := range l.Candidates[:min(len(l.Candidates), MaxCandidates)] {
			add(l.Candidates[i].Reference)
		}
	}
	if ev.Answer != nil && op.Elsewhere != nil && !op.Settled() {
		add(op.Elsewhere.Reference)
	}
	return refs
}

// reference is that of the effect, or of the existing or failed record, that the
// event speaks of; "" if it names none.
func (ev *Event) reference() string {
	switch {
	case ev.Answer != nil && (ev.Answer.Outcome != OutcomeAccepted || ev.Answer.EffectExists):
		return ev.Answer.Reference
	case ev.Lookup != nil:
		return ev.Lookup.Reference
	case ev.Observation != nil && (ev.Observation.Asserts == AssertsEffect || ev.Observation.FinallyFailed):
		return ev.Observation.Reference
	case ev.Resolution != nil && ev.Resolution.Outcome == ResolveConfirmed:
		return ev.Resolution.Reference
	}
	return ""
}

// recorded tells whether a reference is another operation's result.
func (s *step) recorded(reference string) bool {
	_, recorded := s.ev.Recorded[reference]
	return recorded && reference != ""
}

// taken tells whether a reference is another operation's result and may not be
// this one's as well, so that it does not confirm by itself.
func (s *step) taken(reference string) bool { return s.recorded(reference) && !s.mayShare(reference) }

// mayShare tells whether the event is direct word that this operation has the
// record, and the record may be that of several. Where the contract says so, a
// record that was found with the operation's own identity is as good.
func (s *step) mayShare(reference string) bool {
	shared := s.ev.Policy != nil && s.ev.Policy.SharedReferences
	switch a, l := s.ev.Answer, s.ev.Lookup; {
	case a != nil && a.Reference == reference:
		return shared || a.NamedByRequest
	case l == nil || l.Reference != reference:
		return false
	case s.pollsOwnWork():
		return shared || l.NamedByRequest
	default:
		return shared && l.OwnIdentity
	}
}

// pollsOwnWork tells whether the event is a poll under what the target itself
// called the work that it accepted from this operation: it is as direct as an answer.
func (s *step) pollsOwnWork() bool {
	a := s.op.Accepted
	return s.ev.Lookup != nil && s.ev.Lookup.Polled && a != nil && !a.Found && a.Reference != ""
}

// sharedWords says who else has recorded the reference of the event, "" if nobody
// has. They name operations of the same workspace alone.
func (s *step) sharedWords() string {
	reference := s.ev.reference()
	if !s.recorded(reference) {
		return ""
	}
	return s.recorderOf(reference) + " recorded the same reference"
}

func (s *step) recorderOf(reference string) string {
	if id := s.ev.Recorded[reference]; id != "" {
		return "operation " + id + " has"
	}
	return "more operations than can be told apart have"
}

// reviewTaken hands a record that another operation has recorded to a person, who
// sees that operation's id beside it.
func (s *step) reviewTaken(reference string) {
	s.see(reference)
	whose := "the record " + Named(reference) + ", which " + s.recorderOf(reference) + " recorded as the result"
	words := "found for this operation was " + whose
	if a := s.ev.Answer; a != nil && a.Reference == reference {
		words = "the target answered this operation with " + whose
	}
	s.openReview(ReviewExistsElsewhere, words)
	r := s.newestReview(ReviewExistsElsewhere)
	if !strings.Contains(r.Detail, whose) { // it was open already, for another reason
		r.Detail, s.news = joined(r.Detail, words), true
	}
	shown := []Candidate{{Reference: reference}}
	if l := s.ev.Lookup; l != nil && len(l.Candidates) > 0 {
		shown = l.Candidates
	}
	s.showCandidates(r, shown)
}

// newestReview is the open review for the reason, or the one that this step opened
// for another and that speaks for this reason as well.
func (s *step) newestReview(reason ReviewReason) *Review {
	if r := s.op.openReview(reason); r != nil || !s.reviewed {
		return r
	}
	return &s.op.Reviews[len(s.op.Reviews)-1]
}

// showCandidates puts what a person may pick from into an open review that shows
// nothing yet.
func (s *step) showCandidates(r *Review, candidates []Candidate) {
	if r == nil || len(r.Candidates) > 0 || len(candidates) == 0 {
		return
	}
	r.Candidates = s.marked(candidates)
	s.news = true
}

// marked are candidates with the operations that have recorded them.
func (s *step) marked(candidates []Candidate) []Candidate {
	out := slices.Clone(candidates)
	for i := range out {
		out[i].RecordedBy = s.ev.Recorded[out[i].Reference]
	}
	return out
}

// ---- what speaks for an effect

// suggest notes that evidence speaks for an effect, or for one to come.
func (s *step) suggest() { s.op.EffectSuggested = true }

// refuted notes that what spoke for an effect is disproved, unless evidence named
// a reference other than the given one.
func (s *step) refuted(reference string) {
	for _, seen := range s.op.SeenReferences {
		if seen != reference {
			return
		}
	}
	s.op.EffectSuggested = false
}

// unrefuted tells whether an open review shows, or speaks of, a record that may be
// the operation's effect: a person has to say that it is not (M14).
func (s *Standing) unrefuted() bool {
	return slices.ContainsFunc(s.Reviews, func(r Review) bool {
		if r.Status != ReviewOpen {
			return false
		}
		switch r.Reason {
		case ReviewEvidence, ReviewPredates, ReviewExistsElsewhere:
			return true
		default:
			return len(r.Candidates) > 0
		}
	})
}
