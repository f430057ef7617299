package runner

import (
	"context"
	"time"

	"github.com/onefold-dev/onefold"
)

// uncarried are the connections whose work was met and is not this runner's: it
// has no functions for their target. They are the dispatcher's alone.
type uncarried struct {
	met    map[onefold.ConnectionRef]bool
	looked time.Time // when their operations were last looked at
}

// perLook bounds how many operations of one such connection are looked at in one
// scan; those that have waited longest come first.
const perLook = 1000

// meetUncarried notes a connection whose work is somebody else's.
func (r *Runner) meetUncarried(c onefold.ConnectionRef) {
	r.uncarried.met[c] = true
	target, _ := r.ledger.Contracts().GoTarget(c)
	r.log.Warn("runner: operations wait for a program that has the functions of their target",
		"workspace", c.Workspace, "connection", c.Connection, "target", target)
}

// leaveUncarried keeps the work of others from being asked for again and again.
// What only a person can settle is not left: a program that never comes back
// must not keep an operation in silence (M16).
func (r *Runner) leaveUncarried(ctx context.Context, now time.Time, free map[onefold.ConnectionRef]int) {
	look := !now.Before(r.uncarried.looked.Add(r.cfg.Scan))
	if look && len(r.uncarried.met) > 0 {
		// A connection that is new to this process looks like somebody else's.
		if err := r.ledger.Renew(ctx); err != nil {
			r.trouble(ctx, "published documents cannot be taken up", err)
		}
	}
	for c := range r.uncarried.met {
		if r.carries(c) {
			delete(r.uncarried.met, c)
			continue
		}
		free[c] = 0
		if look {
			r.uncarried.looked = now
			r.ownUncarried(ctx, now, c)
		}
	}
}

// ownUncarried hands the operations of a connection to their owners for which no
// step but theirs is left.
func (r *Runner) ownUncarried(ctx context.Context, now time.Time, c onefold.ConnectionRef) {
	items, err := r.store.Due(ctx, now, map[onefold.ConnectionRef]int{c: perLook}, 0)
	if err != nil {
		r.trouble(ctx, "due operations cannot be listed", err)
		return
	}
	standing, err := r.store.Connection(ctx, c)
	if err != nil {
		r.trouble(ctx, "a connection's standing cannot be had", err)
		return
	}
	for _, item := range items {
		op, err := r.store.Operation(ctx, c.Workspace, item.ID)
		if err != nil || op.State != onefold.Uncertain {
			continue
		}
		binding, err := r.ledger.Pinned(ctx, &op)
		if err != nil {
			continue
		}
		policy := binding.Policy()
		if onefold.NextStep(&op, &policy, standing, "", 0, now).Action == onefold.NextOperator {
			_ = r.worker.Reconsider(ctx, op.ID) // a refusal is somebody else's step
		}
	}
}
