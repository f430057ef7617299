package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/onefold-dev/onefold"
)

// task is one operation under a lease of this runner.
type task struct {
	op        onefold.Operation
	token     int64
	asked     time.Duration // boot clock before the lease was asked for (M9)
	leasedAt  time.Time     // the store's time of the lease
	withdrawn func() bool
	binding   onefold.Binding
	policy    onefold.Policy
	// begun tells that an attempt is on record: from then on any doubt means
	// "maybe sent".
	begun bool
}

// carry leases one operation and carries it one step on.
func (r *Runner) carry(ctx context.Context, item onefold.DueItem, withdrawn func() bool) {
	t := &task{asked: r.cfg.Boot(), withdrawn: withdrawn}
	c, err := r.ledger.Step(ctx, item.ID, onefold.Event{
		Kind: onefold.EventLeased, Actor: r.actor, Lease: &onefold.LeaseGrant{Worker: r.cfg.Worker, For: r.cfg.Lease},
	}, 0)
	if err != nil {
		// Refusals are other workers', holds and decisions; a lease whose commit is
		// unknown is found by the scan.
		r.unlessRefused("the operation cannot be leased", item.ID, err)
		return
	}
	pointLeased()
	t.op, t.token, t.leasedAt = c.Operation, c.Operation.Lease.Token, c.At
	defer r.poisoned(ctx, t)
	if t.binding, err = r.ledger.Contracts().Pinned(&t.op.Admitted); err != nil {
		r.reconsider(ctx, t, onefold.Reconsideration{Unsendable: "its contract cannot be loaded: " + string(onefold.CodeOf(err))})
		return
	}
	t.policy = t.binding.Policy()
	switch {
	case t.op.State == onefold.Prepared:
		r.attempt(ctx, t, onefold.Write)
	case t.op.Next == onefold.NextReplay:
		r.attempt(ctx, t, onefold.Replay)
	case t.op.Next == onefold.NextLookup || t.op.Next == onefold.NextPoll:
		r.lookup(ctx, t)
	default:
		r.reconsider(ctx, t, onefold.Reconsideration{})
	}
}

// poisoned catches what a mapping or an answer breaks, so that it harms only its
// own operation. Before the begin the operation goes to a person; afterwards
// the lease is left to expire or the caller of the judge has answered already.
func (r *Runner) poisoned(ctx context.Context, t *task) {
	broken := recover()
	if broken == nil {
		return
	}
	r.log.Error("runner: a poison operation", "operation", t.op.ID, "broken", fmt.Sprint(broken), "stack", string(debug.Stack()))
	if t.begun || t.binding == nil {
		return
	}
	r.reconsider(ctx, t, onefold.Reconsideration{Unsendable: "building its request breaks the mapping"})
}

// step carries an event of this task's holder out.
func (r *Runner) step(ctx context.Context, t *task, ev onefold.Event) (onefold.Committed, error) {
	ev.Actor = r.actor
	if t.binding != nil {
		ev.Policy = &t.policy
		ev.Connection.Disabled = t.binding.Terms().Mode == onefold.ModeDisabled
	}
	return r.ledger.Step(ctx, t.op.ID, ev, 0)
}

func (r *Runner) handBack(ctx context.Context, t *task) {
	_, err := r.step(ctx, t, onefold.Event{Kind: onefold.EventHandedBack, Lease: &onefold.LeaseGrant{Token: t.token}})
	r.unlessRefused("a lease cannot be handed back", t.op.ID, err)
}

func (r *Runner) reconsider(ctx context.Context, t *task, why onefold.Reconsideration) {
	why.Token = t.token
	_, err := r.step(ctx, t, onefold.Event{Kind: onefold.EventReconsidered, Reconsider: &why})
	r.unlessRefused("an operation cannot be planned", t.op.ID, err)
}

// unlessRefused logs errors that are not refusals of the law.
func (r *Runner) unlessRefused(what, id string, err error) {
	if err == nil || r.work.Err() != nil {
		return
	}
	code := onefold.CodeOf(err)
	if code != onefold.CodeInternal && code != onefold.CodeStoreUnavailable {
		r.log.Debug("runner: refused", "what", what, "operation", id, "code", string(code))
		return
	}
	r.log.Error("runner: step failed", "what", what, "operation", id, "error", err)
}

// renewing keeps the lease alive until the returned function is called.
func (r *Runner) renewing(ctx context.Context, t *task) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(r.cfg.Lease / 3)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			_, err := r.step(ctx, t, onefold.Event{Kind: onefold.EventRenewed, Lease: &onefold.LeaseGrant{Token: t.token, For: r.cfg.Lease}})
			if errors.Is(err, onefold.ErrLeaseLost) {
				r.log.Warn("runner: a lease was lost while the call was out", "operation", t.op.ID)
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

// conclude records an outcome, however often the store has to be asked: an
// outcome that is not recorded is doubt that nobody needed.
func (r *Runner) conclude(t *task, ev onefold.Event) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.work), r.cfg.Lease+lastWords)
	defer cancel()
	wait := concludeFirst
	for {
		_, err := r.step(ctx, t, ev)
		if err == nil {
			pointRecorded()
			return
		}
		if code := onefold.CodeOf(err); code != onefold.CodeInternal && code != onefold.CodeStoreUnavailable {
			// Refused: recorded before by a commit whose outcome was unknown, or the
			// operation does not take it any more.
			r.log.Debug("runner: outcome refused", "operation", t.op.ID, "code", string(code))
			return
		}
		r.log.Error("runner: an outcome cannot be recorded yet", "operation", t.op.ID, "error", err)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		wait = min(2*wait, concludeMax)
	}
}

// How long conclude waits between its tries.
const (
	concludeFirst = 20 * time.Millisecond
	concludeMax   = 2 * time.Second
)
