package onefold

import (
	"slices"
	"time"
)

// The rows of the reference table in which somebody decides, time runs out, or
// the store is recovered.

func judgeDecision(op *Operation, ev *Event, now time.Time) ruling {
	switch ev.Kind {
	case EventCanceled:
		return judgeCancel(op, ev)
	case EventDeadlinePassed:
		return judgeDeadline(op, now)
	case EventHoldPlaced, EventHoldDecided:
		return judgeHold(op, ev, now)
	case EventRetryAsked:
		return judgeRetry(op, ev, now)
	case EventResolved:
		return judgeResolved(op, ev, now)
	case EventAgreedTimeOver:
		if !awaited(op) || now.Before(op.Accepted.Until) {
			return refused(CodeNotDue)
		}
		r := same(op)
		r.due = free
		return r
	case EventRecovered:
		if isOver(op.State) {
			return refused(CodeAlreadySettled)
		}
		r := doubtful(op, restored)
		r.due, r.dueAt = given, now // for look-up (M29)
		return r
	default:
		return refused(CodeNotAllowed)
	}
}

func judgeCancel(op *Operation, ev *Event) ruling {
	switch {
	case isOver(op.State):
		return refused(CodeAlreadySettled)
	case op.State == Prepared:
		r := over(op, Canceled)
		r.released = ev.Cancel.Release && len(op.Attempts) == 0
		return r
	}
	r := same(op)
	r.bars |= withdrawn
	if op.State == Uncertain {
		r.due = free
	}
	return r
}

func judgeDeadline(op *Operation, now time.Time) ruling {
	switch {
	case isOver(op.State):
		return refused(CodeNotAllowed)
	case op.StartDeadline == nil || now.Before(*op.StartDeadline) || barsOf(op.Barred)&late != 0:
		return refused(CodeNotDue)
	case op.State == Prepared:
		return over(op, Canceled)
	}
	r := same(op)
	r.bars |= late
	if op.State == Uncertain {
		r.due = free
	}
	return r
}

func judgeHold(op *Operation, ev *Event, now time.Time) ruling {
	if ev.Kind == EventHoldPlaced {
		r := same(op)
		switch {
		case op.State != Prepared:
			return refused(CodeNotAllowed)
		case slices.Contains(r.holds, ev.Place.Reason):
			return r
		}
		r.holds = append(r.holds, ev.Place.Reason)
		r.lease, r.due, r.review = gone, gone, ReviewReason(ev.Place.Reason)
		return r
	}
	i := slices.IndexFunc(op.Holds, func(h Hold) bool { return h.Reason == ev.Hold.Reason })
	switch {
	case i < 0:
		return refused(CodeHoldUnknown)
	case op.State != Prepared:
		return refused(CodeNotAllowed)
	case !ev.Hold.Proceed:
		return rejectedFor(op, "declined")
	}
	r := same(op)
	r.holds = slices.Delete(r.holds, i, i+1)
	if len(r.holds) == 0 {
		r.due, r.dueAt = given, notBefore(op, now)
	}
	return r
}

func notBefore(op *Operation, now time.Time) time.Time {
	if op.NotBefore != nil && op.NotBefore.After(now) {
		return *op.NotBefore
	}
	return now
}

func judgeRetry(op *Operation, ev *Event, now time.Time) ruling {
	var codes []Code
	r := same(op)
	r.due, r.dueAt = given, now
	switch {
	case isOver(op.State):
		return refused(CodeAlreadySettled)
	case op.State == Attempting:
		return refused(CodeRetryUnsafe)
	case op.State == Prepared:
		r.dueAt = notBefore(op, now)
		if len(op.Holds) > 0 {
			codes = append(codes, CodeHeld)
		}
	case !replayIsSafe(op, ev.Policy, op.Scope, now):
		codes = append(codes, CodeRetryUnsafe)
	}
	if ev.Connection.Paused || ev.Connection.Disabled {
		codes = append(codes, CodePaused)
	}
	r.refused = codes
	return r
}

func judgeResolved(op *Operation, ev *Event, now time.Time) ruling {
	d := ev.Resolution
	var codes []Code
	if d.Outcome == ResolveConfirmed && d.Reference == "" {
		codes = append(codes, CodeMemberInvalid)
	}
	if op.State == Prepared || op.State == Attempting || isOver(op.State) && !op.Contradicted {
		codes = append(codes, CodeNotDecidable)
	}
	if len(codes) > 0 {
		return refused(codes...)
	}
	if isOver(op.State) {
		r := same(op)
		r.contradicted, r.maybe = false, unfinished(op) > 0
		if d.Outcome == ResolveConfirmed {
			r.state, r.result, r.learnt = Confirmed, d.Reference, LearntFromOperator
		}
		return r
	}
	barred := barsOf(op.Barred)
	var r ruling
	switch d.Outcome {
	case ResolveConfirmed:
		r = confirmedAs(op, d.Reference, LearntFromOperator)
	case ResolveRejected:
		r = rejectedFor(op, "operator")
	default:
		if unfinished(op) > 0 {
			codes = append(codes, CodeAttemptOpen)
		}
		if barred&(exists|multiple) != 0 {
			codes = append(codes, CodeBarred)
		}
		if len(codes) > 0 {
			return refused(codes...)
		}
		if barred&leaving != 0 {
			r = over(op, Canceled)
			break
		}
		r = same(op)
		r.state, r.bars, r.maybe, r.lease = Prepared, 0, false, gone
		r.due, r.dueAt = given, notBefore(op, now)
		if len(op.Holds) > 0 {
			r.due = gone
		}
	}
	r.contradicted = false
	return r
}
