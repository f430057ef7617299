package onefold

import (
	"slices"
	"time"
)

// Step is what the plan says is next for an uncertain operation.
type Step struct {
	Action NextAction // poll, replay, lookup or operator
	At     time.Time
	Why    string // for operator: what is not possible any more
}

// NextStep walks the contract's in_doubt list and gives the first step that is
// possible now; a step that is not (window, bar, budget) gives way to the next.
// Work that the target accepted is asked for progress until its agreed time is
// over, before any of them.
// A replay that only waits for an open attempt to be closed is waited for if
// nothing but the operator would be left. Where nothing is left, the operator is.
func NextStep(op *Operation, p *Policy, c ConnectionStanding, replayDenied string, chance uint64, now time.Time) Step {
	if at, ok := pollAt(op, p, now); ok {
		return Step{Action: NextPoll, At: at}
	}
	waiting := Step{}
	why := "the contract names no further step"
	for _, step := range p.InDoubt {
		switch step {
		case StepReplay:
			denied := replayDenied
			if denied == "" {
				denied = ReplayDenied(op, p, c, op.Scope, now)
			}
			if denied == "" || denied == replayAtWork {
				at := replayAt(op, p, chance, now)
				later := ReplayDenied(op, p, c, op.Scope, at)
				if later == "" {
					return Step{Action: NextReplay, At: at}
				}
				denied = replayWindowOver
				if later != replayWindowOver {
					denied = later
				}
			}
			if denied == replayAttemptOpen {
				waiting = Step{Action: NextReplay, At: openUntil(op, now)}
			}
			why = denied
		case StepLookup:
			if at, ok := lookupAt(op, p, c, chance, now); ok {
				return Step{Action: NextLookup, At: at}
			}
			why = "the reconcile budget is spent"
		case StepOperator:
			if waiting.Action != "" {
				return waiting
			}
			return Step{Action: NextOperator, At: now, Why: why}
		case StepPoll: // no word of in_doubt: whether it is due was asked before them
		}
	}
	if waiting.Action != "" {
		return waiting
	}
	return Step{Action: NextOperator, At: now, Why: why}
}

// Why a replay is not safe, in the order in which it is asked.
const (
	replayNotNamed    = "the contract does not name replay for this case"
	replayBarred      = "the operation is barred"
	replayAttemptOpen = "an earlier attempt is still open"
	replayAtWork      = "the target may still be at work on an earlier attempt, and does not serialize"
	replayNoWindow    = "the target does not recognise a repetition"
	replayNotSent     = "nothing was dispatched yet"
	replayWindowOver  = "the target's window for recognising a repetition is over"
	replayClockBack   = "by the store's clock, which must have gone back, it was not sent yet: whether the target's window is over is not known"
	replayScope       = "the connection differs in a part that the target's recognition depends on"
	replayStored      = "the target stores answers of the last one's class: a replay would only repeat it"
	replaySpent       = "the retry budget is spent"
	replayDeadline    = "the start deadline has passed"
)

// ReplayDenied tells why a replay is not safe at the given time (M11a), or ""
// if it is. scope is the digest of the parts that must be equal.
func ReplayDenied(op *Operation, p *Policy, c ConnectionStanding, scope string, at time.Time) string {
	switch {
	case !slices.Contains(p.InDoubt, StepReplay):
		return replayNotNamed
	case op.IsBarred():
		return replayBarred
	case op.StartDeadline != nil && !at.Before(*op.StartDeadline):
		return replayDeadline
	case p.Window <= 0:
		return replayNoWindow
	case op.FirstDispatched == nil:
		return replayNotSent
	case p.Window != Forever && at.After(op.FirstDispatched.Add(p.Window-p.WindowMargin)):
		return replayWindowOver
	case p.Window != Forever && at.Before(*op.FirstDispatched):
		return replayClockBack
	case scope != op.Scope:
		return replayScope
	case len(op.Attempts) > 0 && op.Attempts[len(op.Attempts)-1].Stored:
		return replayStored
	case op.Retry.Spent >= p.RetryAttempts || op.Retry.Elapsed(at, c) >= p.RetryWithin || len(op.Attempts) >= MaxAttempts:
		return replaySpent
	case op.OpenAttempt() && !p.ConcurrentSafe:
		return replayAttemptOpen
	case at.Before(replayFrom(op, p)):
		return replayAtWork
	}
	return ""
}

// replayFrom is the earliest time of a replay at a target that neither serializes
// repeats nor reports them: the end of our attempt is not the end of its work, for
// which it has the contract's processing, and never less than the write's time-out
// (M11a, M12). The zero time where it is safe at once.
func replayFrom(op *Operation, p *Policy) time.Time {
	last := lastEnd(op)
	if p.ConcurrentSafe || last.IsZero() {
		return time.Time{}
	}
	return last.Add(max(p.Processing, p.Timeout))
}

// replayAt is when the next replay is due: after the back-off from the end of
// the last attempt, and not while the target may still be at work on it.
func replayAt(op *Operation, p *Policy, chance uint64, now time.Time) time.Time {
	at := now
	if last := lastEnd(op); !last.IsZero() {
		at = last
	}
	at = at.Add(p.RetryBackoff.Wait(op.Retry.Spent-1, chance))
	if from := replayFrom(op, p); at.Before(from) {
		at = from
	}
	if at.Before(now) {
		at = now
	}
	return at
}

// pollAt is when accepted work is next asked for progress; the last time is when
// its agreed time is over. ok is false where there is nothing to wait for.
func pollAt(op *Operation, p *Policy, now time.Time) (at time.Time, ok bool) {
	if p.PollEvery <= 0 || !op.AwaitedAsAgreed() || !now.Before(op.Accepted.Until) {
		return time.Time{}, false
	}
	at = now.Add(p.PollEvery)
	if at.After(op.Accepted.Until) {
		at = op.Accepted.Until
	}
	return at, true
}

// lookupAt is when the next look-up is due: after its back-off, but no later
// than the first moment at which absence would be proof, and never beyond the
// reconcile budget; ok is false once that is spent.
func lookupAt(op *Operation, p *Policy, c ConnectionStanding, chance uint64, now time.Time) (at time.Time, ok bool) {
	left := p.ReconcileWithin - op.Reconcile.Elapsed(now, c)
	if left <= 0 {
		return time.Time{}, false
	}
	wait := p.ReconcileBackoff.Wait(op.Reconcile.Spent, chance)
	at = now.Add(min(wait, left))
	if p.AbsenceProves && !op.OpenAttempt() {
		if proof := AbsenceProvenFrom(op, p); proof.After(now) && proof.Before(at) {
			at = proof
		}
	}
	return at, true
}

// AbsenceProvenFrom is the earliest time at which a look-up may begin whose
// absence is proof: settle + processing after the end of every attempt that may
// have reached the target (M12). While an attempt is open there is no such time.
func AbsenceProvenFrom(op *Operation, p *Policy) time.Time {
	return lastEnd(op).Add(p.Settle + p.Processing)
}

// lastEnd is the latest end of an attempt that may have reached the target, the
// zero time if there is none.
func lastEnd(op *Operation) time.Time {
	var last time.Time
	for i := range op.Attempts {
		if a := &op.Attempts[i]; a.Closed() && !a.WithoutEffect() && a.EndedAt.After(last) {
			last = *a.EndedAt
		}
	}
	return last
}

// openUntil is when the last open attempt is closed by straggler.
func openUntil(op *Operation, now time.Time) time.Time {
	at := now
	for i := range op.Attempts {
		if a := &op.Attempts[i]; a.Open && a.CloseAt != nil && a.CloseAt.After(at) {
			at = *a.CloseAt
		}
	}
	return at
}

// WakeAt is the next time at which housekeeping has to look at the operation,
// whatever its state: a lease that expires, an open attempt that straggler
// closes, a start deadline that passes, an agreed time that is over, a review
// that is escalated. Nil if there is none.
func (o *Operation) WakeAt() *time.Time {
	var wake *time.Time
	at := func(t *time.Time) {
		if t != nil && (wake == nil || t.Before(*wake)) {
			copied := *t
			wake = &copied
		}
	}
	if o.Lease != nil {
		at(&o.Lease.Until)
	}
	for i := range o.Attempts {
		if o.Attempts[i].Open {
			at(o.Attempts[i].CloseAt)
		}
	}
	if !o.Settled() && !o.IsBarred(BarPastDeadline) {
		at(o.StartDeadline)
	}
	if o.AwaitedAsAgreed() {
		at(&o.Accepted.Until)
	}
	for i := range o.Reviews {
		if r := &o.Reviews[i]; r.Status == ReviewOpen && r.EscalatedAt == nil {
			at(r.EscalateAt)
		}
	}
	return wake
}

// Live tells whether anything may still happen to the operation: it is not
// settled, or contradicted, or has an open review or attempt. Stores keep live
// operations apart from what is finished (I28).
func (o *Operation) Live() bool {
	return !o.Settled() || o.Contradicted || o.openReview("") != nil || o.OpenAttempt()
}

// ---- budgets and planning inside a step

func (s *step) replayDenied(scope string) string {
	if s.ev.Policy == nil {
		return replayNotNamed
	}
	return ReplayDenied(&s.op, s.ev.Policy, s.ev.Connection, scope, s.now)
}

// retryWait is how long a prepared operation waits before its next attempt.
func (s *step) retryWait() time.Duration {
	wait := s.ev.Policy.RetryBackoff.Wait(s.op.Retry.Spent-1, s.ev.Chance)
	if s.ev.Answer != nil {
		wait = max(wait, s.ev.Answer.RetryAfter)
	}
	return wait
}

// retrySpent tells whether no further attempt fits the retry budget after wait.
func (s *step) retrySpent(wait time.Duration) bool {
	p := s.ev.Policy
	return s.op.Retry.Spent >= p.RetryAttempts || len(s.op.Attempts) >= MaxAttempts ||
		s.op.Retry.Since != nil && s.op.Retry.Elapsed(s.now, s.ev.Connection)+wait > p.RetryWithin
}

func (s *step) spent() bool {
	return s.ev.Policy != nil && s.retrySpent(s.retryWait())
}

func (s *step) rejectsWhenSpent() bool {
	return s.ev.Policy != nil && s.ev.Policy.Exhausted == ExhaustedReject
}

// dueAfterBackoff schedules the next attempt of a prepared operation.
func (s *step) dueAfterBackoff() {
	wait := time.Duration(0)
	if s.ev.Policy != nil {
		wait = s.retryWait()
	}
	s.op.Lease, s.op.Doubt = nil, nil
	s.schedule(s.now.Add(wait))
}

// schedule makes a prepared operation due at the time, unless it is held: a hold
// that stood before the doubt stands after it.
func (s *step) schedule(at time.Time) {
	if len(s.op.Holds) > 0 {
		s.op.Due, s.op.Next = nil, NextOperator
		return
	}
	s.op.Due, s.op.Next = &at, NextAttempt
}

// holdExhausted holds a prepared operation whose retry budget is spent.
func (s *step) holdExhausted(reason ReviewReason, detail string) {
	s.op.Lease, s.op.Doubt, s.op.Due, s.op.Next = nil, nil, nil, NextOperator
	if slices.ContainsFunc(s.op.Holds, func(h Hold) bool { return h.Reason == HoldRetryExhausted }) {
		return
	}
	review := s.openReview(reason, detail)
	s.op.Holds = append(s.op.Holds, Hold{Reason: HoldRetryExhausted, Since: s.now, Review: review})
}

// plan schedules the next step of an uncertain operation, or opens a review
// where only the operator is left (M16). Without a policy the operation is due
// at once and unplanned: the runner reconsiders it.
func (s *step) plan() { s.planWithout("") }

func (s *step) planWithout(replayDenied string) {
	s.op.Lease = nil
	s.noteAgreedTime()
	// While a wait is as agreed there is nothing to reconcile yet.
	if s.op.Reconcile.Since == nil && !s.op.AwaitedAsAgreed() {
		at := s.now
		s.op.Reconcile.Since, s.op.Reconcile.PausedFor = &at, s.ev.Connection.PausedFor
	}
	at := s.now
	if s.ev.Policy == nil {
		s.op.Due, s.op.Next = &at, NextNone
		return
	}
	for i := range s.op.Attempts {
		s.setCloseAt(&s.op.Attempts[i])
	}
	next := NextStep(&s.op, s.ev.Policy, s.ev.Connection, replayDenied, s.ev.Chance, s.now)
	s.op.Next = next.Action
	if next.Action != NextOperator {
		s.op.Due = &next.At
		return
	}
	s.op.Due = nil
	if s.op.openReview("") != nil {
		return
	}
	reason := ReviewOperatorOnly
	switch {
	case s.existsClean():
		reason = ReviewExistsElsewhere
	case slices.Contains(s.ev.Policy.InDoubt, StepLookup):
		reason = ReviewReconcileExhausted
	}
	s.openReview(reason, next.Why)
}

// noteAgreedTime makes a wait an incident once its agreed time is over: it counts
// as unresolved (M16a), the outside is told, and the reconcile budget begins.
func (s *step) noteAgreedTime() {
	if s.agreedTimeNotOver() {
		return
	}
	over := *s.op.Accepted
	over.Over = true
	s.op.Accepted, s.op.Reconcile, s.incident = &over, Budget{}, true
}

// agreedTimeNotOver: there is no wait whose agreed time has just passed.
func (s *step) agreedTimeNotOver() bool {
	return !s.op.AwaitedAsAgreed() || s.now.Before(s.op.Accepted.Until)
}
