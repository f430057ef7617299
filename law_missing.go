package onefold

import "time"

// Guards and actions of the rows in which a worker has not what an operation runs
// under: documents that it has not read yet, that it is too old to read, or that
// are gone; nobody who carries requests to the target. That is true of the worker
// and says nothing about the operation, so that its next step stays due: as soon as
// the worker has what was missing, the operation goes on by itself.

// MissingPatience is for how long an operation is tried again in silence that no
// worker has the contract of. A process that is being replaced by a newer one, or
// that reads documents now and then, is not late for longer; from then on a person
// is told (M16).
const MissingPatience = time.Minute

// missingBackoff is the wait between those tries. The first are short, for a worker
// that is a moment late; the last long, since each one costs two commits and a
// document that is gone may concern a great many operations.
func missingBackoff() Backoff {
	return Backoff{First: 250 * time.Millisecond, Factor: 2, Max: 5 * time.Minute}
}

func (s *step) missing() bool { return s.ev.Reconsider.Missing != "" }

func (s *step) missingLong() bool {
	return s.missing() && s.op.Missing.Since != nil && s.now.Sub(*s.op.Missing.Since) >= MissingPatience
}

// stayDue plans the same step once more. Only the first of a row of such tries
// leaves a line: the others tell the same.
func (s *step) stayDue() {
	s.detail = s.ev.Reconsider.Missing + "; it is tried again"
	s.retold = s.op.Missing.Spent > 0
	if s.op.Missing.Since == nil {
		at := s.now
		s.op.Missing.Since = &at
	}
	at := s.now.Add(missingBackoff().Wait(s.op.Missing.Spent, s.ev.Chance))
	s.op.Missing.Spent++
	s.op.Lease = nil
	if s.op.State == Prepared {
		s.schedule(at)
		return
	}
	s.op.Due = &at
}

// stayDueOwned also tells a person, once.
func (s *step) stayDueOwned() {
	s.stayDue()
	if s.op.openReview(ReviewUnsendable) == nil {
		s.openReview(ReviewUnsendable, s.ev.Reconsider.Missing+"; it goes on by itself once that is mended")
		s.retold = false
	}
}

// missingOver: a step that a worker took, or could not take for another reason,
// shows that nothing is missing any more.
func (s *step) missingOver() {
	if s.op.Missing.Spent == 0 || s.rule.Silent {
		return
	}
	switch s.ev.Kind {
	case EventBegun, EventLookedUp:
	case EventReconsidered:
		if s.missing() {
			return
		}
	default:
		return
	}
	s.op.Missing = Budget{}
	if r := s.op.openReview(ReviewUnsendable); r != nil {
		s.closeReviews("mended", r.ID)
		s.news = true
	}
}
