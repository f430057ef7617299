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
	free, left := r.slots.free(r.ledger.Contracts().Limits)
	if left <= 0 {
		return r.cfg.Scan
	}
	r.leaveUncarried(ctx, now, free)
	items, err := r.store.Due(ctx, now, free, min(perPoll, left))
	if err != nil {
		return r.trouble(ctx, "due operations cannot be listed", err)
	}
	wait := r.cfg.Scan
	for _, item := range items {
		if ctx.Err() != nil {
			return 0
		}
		if !r.carries(item.Connection) {
			r.meetUncarried(item.Connection)
			continue
		}
		if started, pause := r.start(item); !started && pause > 0 {
			wait = min(wait, pause)
		}
	}
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
			// A store that does not take a lease is asked again at the next scan, not
			// at once and for ever.
			if err == nil || onefold.CodeOf(err) != onefold.CodeStoreUnavailable {
				r.nudge()
			}
		}()
		err = r.carry(r.work, item, withdrawn.Load)
	}()
	return true, 0
}
