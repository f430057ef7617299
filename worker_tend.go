package onefold

import (
	"context"
	"time"
)

// Tend carries out what time alone has made due for an operation: an expired
// lease, a silent attempt, a passed start deadline, a review that nobody took
// up. Expiry is found by looking at states (M10), by a runner's scan or by
// whoever comes back to the operation. now is the store's time. It returns the
// operation as it then is.
func (w *Worker) Tend(ctx context.Context, op Operation, now time.Time) Operation {
	boot := w.cfg.Boot()
	for _, ev := range overdueEvents(&op, now) {
		ev.Actor = Actor{ActorEngine, w.cfg.Name}
		if binding, err := w.ledger.Pinned(ctx, &op); err == nil {
			policy := binding.Policy()
			ev.Policy = &policy
			// By the store's clock it is time; a clock that jumped is no proof (M12a).
			if ev.Kind == EventAttemptClosed && !w.ledger.seen.silent(&op, policy.Straggler, boot) {
				continue
			}
		}
		if ev.Kind == EventLeaseExpired || ev.Kind == EventAttemptClosed {
			ev.Evidence = &Evidence{
				ID: w.ledger.NewID(PrefixEvidence), Kind: EvidenceLeaseExpiry, Asserts: AssertsNothing,
				Detail: "no word from the worker",
			}
		}
		c, err := w.ledger.Step(ctx, op.ID, ev, 0)
		if err != nil {
			w.unlessRefused(ctx, "housekeeping failed", op.ID, err)
			continue
		}
		op = c.Operation
		w.ledger.seen.note(&op, ev.Kind, boot)
	}
	return op
}

// overdueEvents lists what is overdue for an operation at now.
func overdueEvents(op *Operation, now time.Time) []Event {
	var events []Event
	past := func(at *time.Time) bool { return at != nil && !at.After(now) }
	if op.Lease != nil && past(&op.Lease.Until) {
		events = append(events, Event{Kind: EventLeaseExpired, Lease: &LeaseGrant{Token: op.Lease.Token}})
	}
	for i := range op.Attempts {
		if a := &op.Attempts[i]; a.Open && past(a.CloseAt) {
			events = append(events, Event{
				Kind: EventAttemptClosed, Close: &AttemptClose{Attempt: a.ID, By: ClosedByStraggler},
			})
		}
	}
	if !op.Settled() && past(op.StartDeadline) && !op.IsBarred(BarPastDeadline) {
		events = append(events, Event{Kind: EventDeadlinePassed})
	}
	if op.AwaitedAsAgreed() && !op.Accepted.Until.After(now) {
		events = append(events, Event{Kind: EventAgreedTimeOver})
	}
	for i := range op.Reviews {
		if rev := &op.Reviews[i]; rev.Status == ReviewOpen && rev.EscalatedAt == nil && past(rev.EscalateAt) {
			events = append(events, Event{Kind: EventEscalated})
		}
	}
	return events
}
