package runner

import (
	"context"
	"time"

	"github.com/onefold-dev/onefold"
)

// perPoll bounds how many operations of an idle connection one poll asks for.
const perPoll = 64

// dispatch starts work on what is due until ctx ends.
func (r *Runner) dispatch(ctx context.Context) {
	for ctx.Err() == nil {
		wait := r.poll(ctx)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-r.kick:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// poll starts as much of what is due as has a place, and tells how long there is
// nothing to do, at most until the next scan.
func (r *Runner) poll(ctx context.Context) time.Duration {
	now, err := r.store.Now(ctx)
	if err != nil {
		return r.trouble(ctx, "the store's time cannot be had", err)
	}
	r.wake.set(now.Add(r.cfg.Scan))
	r.slots.looking()
	free, left := r.slots.free(r.ledger.Contracts().Limits)
	if left <= 0 {
		return r.cfg.Scan
	}
	r.leaveUncarried(ctx, now, free)
	others := min(perPoll, left)
	items, err := r.store.Due(ctx, now, free, others)
	if err != nil {
		return r.trouble(ctx, "due operations cannot be listed", err)
	}
	wait := r.cfg.Scan
	found := map[onefold.ConnectionRef]int{}
	for _, item := range r.turns.order(items) {
		found[item.Connection]++
		if ctx.Err() != nil {
			return 0
		}
		if !r.carries(item.Connection) {
			r.meetUncarried(item.Connection)
			continue
		}
		started, pause := r.start(item)
		switch {
		case started:
			r.turns.took(item)
		case pause > 0:
			wait = min(wait, pause)
		}
	}
	r.slots.looked(found, free, others)
	next, err := r.store.NextDue(ctx)
	if err != nil {
		return r.trouble(ctx, "the next due time cannot be had", err)
	}
	if next.After(now) {
		r.wake.earlier(next)
		wait = min(wait, next.Sub(now))
	}
	return wait
}

func (r *Runner) trouble(ctx context.Context, what string, err error) time.Duration {
	if ctx.Err() == nil {
		r.log.Error("runner: store trouble", "what", what, "error", err)
	}
	return r.cfg.Scan
}

// start begins work on one operation if there is a place for it. started tells
// whether it did; otherwise wait says how long the connection's rate needs, if
// that is why.
func (r *Runner) start(item onefold.DueItem) (started bool, wait time.Duration) {
	withdrawn, wait := r.slots.take(item, r.ledger.Contracts().Limits(item.Connection))
	if withdrawn == nil {
		return false, wait
	}
	go func() {
		var err error
		defer func() {
			r.slots.give(item, withdrawn)
			// A store that does not take a lease, and a record that cannot be read, are
			// asked again at the next scan, not at once and for ever.
			if code := onefold.CodeOf(err); err == nil || code != onefold.CodeStoreUnavailable && code != onefold.CodeRecordUnreadable {
				r.placeFreed()
			}
		}()
		err = r.carry(r.work, item, withdrawn.Load)
	}()
	return true, 0
}

// placeFreed has due work looked for if any waits for a place.
func (r *Runner) placeFreed() {
	if r.slots.waiting() {
		r.nudge()
	}
}

// takeAhead gives a place to an operation that is about to be admitted, if it is
// due at once and nothing waits before it.
func (r *Runner) takeAhead(ctx context.Context, op *onefold.Operation, b onefold.Binding, request []byte, f onefold.Frozen) *onefold.Ahead {
	item := onefold.DueItem{ID: op.ID, Connection: onefold.ConnectionRef{Workspace: op.Workspace, Connection: op.Connection}}
	if op.Due == nil || op.Due.After(op.CreatedAt) || len(op.Holds) > 0 || !r.carries(item.Connection) {
		return nil
	}
	withdrawn := r.slots.takeNew(item, b.Terms().Limits)
	if withdrawn == nil {
		return nil
	}
	done := func() {
		r.slots.give(item, withdrawn)
		r.placeFreed()
	}
	ahead := r.worker.Ahead(ctx, onefold.AheadConfig{
		Binding: b, Request: request, Frozen: f, Withdrawn: withdrawn.Load, Work: r.work, Done: done,
	})
	if ahead == nil {
		done()
	}
	return ahead
}
