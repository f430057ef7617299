package runner

import (
	"context"
	"time"

	"github.com/onefold-dev/onefold"
)

// perScan bounds how many operations one scan looks after; the next one takes
// the rest.
const perScan = 256

// housekeep looks after what time alone changes: expired leases, silent
// attempts, passed start deadlines, agreed times that are over, reviews that
// nobody took up. Expiry is found
// by scanning states (M10).
func (r *Runner) housekeep(ctx context.Context) {
	ticker := time.NewTicker(r.cfg.Scan)
	defer ticker.Stop()
	for {
		r.scan(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (r *Runner) scan(ctx context.Context) {
	now, err := r.store.Now(ctx)
	if err != nil {
		r.trouble(ctx, "the store's time cannot be had", err)
		return
	}
	overdue, err := r.store.Overdue(ctx, now, perScan)
	if err != nil {
		r.trouble(ctx, "overdue operations cannot be listed", err)
		return
	}
	for i := range overdue {
		if ctx.Err() != nil {
			return
		}
		r.lookAfter(ctx, &overdue[i], now)
	}
}

// lookAfter carries out whatever is overdue for one operation.
func (r *Runner) lookAfter(ctx context.Context, op *onefold.Operation, now time.Time) {
	for _, ev := range overdueEvents(op, now) {
		ev.Actor = onefold.Actor{Kind: onefold.ActorEngine, Name: r.cfg.Worker}
		if binding, err := r.ledger.Contracts().Pinned(&op.Admitted); err == nil {
			policy := binding.Policy()
			ev.Policy = &policy
		}
		if ev.Kind == onefold.EventLeaseExpired || ev.Kind == onefold.EventAttemptClosed {
			ev.Evidence = &onefold.Evidence{
				ID: r.ledger.NewID(onefold.PrefixEvidence), Kind: onefold.EvidenceLeaseExpiry, Asserts: onefold.AssertsNothing,
				Detail: "no word from the worker",
			}
		}
		_, err := r.ledger.Step(ctx, op.ID, ev, 0)
		r.unlessRefused("housekeeping failed", op.ID, err)
	}
}

// overdueEvents lists what is overdue for an operation at now.
func overdueEvents(op *onefold.Operation, now time.Time) []onefold.Event {
	var events []onefold.Event
	past := func(at *time.Time) bool { return at != nil && !at.After(now) }
	if op.Lease != nil && past(&op.Lease.Until) {
		events = append(events, onefold.Event{Kind: onefold.EventLeaseExpired, Lease: &onefold.LeaseGrant{Token: op.Lease.Token}})
	}
	for i := range op.Attempts {
		if a := &op.Attempts[i]; a.Open && past(a.CloseAt) {
			events = append(events, onefold.Event{
				Kind: onefold.EventAttemptClosed, Close: &onefold.AttemptClose{Attempt: a.ID, By: onefold.ClosedByStraggler},
			})
		}
	}
	if !op.Settled() && past(op.StartDeadline) && !op.IsBarred(onefold.BarPastDeadline) {
		events = append(events, onefold.Event{Kind: onefold.EventDeadlinePassed})
	}
	if op.AwaitedAsAgreed() && !op.Accepted.Until.After(now) {
		events = append(events, onefold.Event{Kind: onefold.EventAgreedTimeOver})
	}
	for i := range op.Reviews {
		if rev := &op.Reviews[i]; rev.Status == onefold.ReviewOpen && rev.EscalatedAt == nil && past(rev.EscalateAt) {
			events = append(events, onefold.Event{Kind: onefold.EventEscalated})
		}
	}
	return events
}
