package onefold

import (
	"context"
	"time"

	"github.com/onefold-dev/onefold/internal/failpoint"
)

// Start is the first attempt of an operation that the admitting process carries
// out itself: its lease and its begin, for the transaction of the admission.
type Start struct {
	Lease Event // EventLeased
	// Begin is EventBegun; the store fills in the token that the lease got.
	Begin  Event
	Frozen Frozen
}

// Starter is a store that can begin an operation's first attempt in the
// transaction of its admission: one commit where there were three, and all that
// M4 and M7 ask for is durable before the first byte all the same. A store
// without it is asked for each step by itself.
type Starter interface {
	// AdmitStarted is Claims.Admit, and applies the lease and the begin to what it
	// admits, with the store's time and the connection's standing. Where the law
	// refuses either, the operation is admitted alone: whether it was begun is for
	// the returned operation to say.
	AdmitStarted(ctx context.Context, a Admission, s Start) (op Operation, created bool, err error)
}

// Ahead is a worker's place for an operation that is about to be admitted. The
// ledger that asked for it either begins or frees it.
type Ahead struct {
	worker  *Worker
	cfg     AheadConfig
	task    *task
	route   Route
	begin   Begin
	askedAt time.Duration // boot clock, before the store was asked
}

// AheadConfig says what a worker is to carry out as soon as it is admitted.
type AheadConfig struct {
	Binding Binding
	// Request is as submitted, Frozen as it goes out.
	Request []byte
	Frozen  Frozen
	// Withdrawn is asked immediately before the first byte (M24).
	Withdrawn func() bool
	// Work bounds the call to the target.
	Work context.Context //nolint:containedctx // it is the worker's, and outlives the call that admits
	// Done is called when the place is not needed any more.
	Done func()
}

// Ahead makes the first attempt of an operation ready, nil where nobody here can
// carry it; Done is then for the caller to call. ctx bounds the look for the
// credential.
func (w *Worker) Ahead(ctx context.Context, cfg AheadConfig) *Ahead {
	carrier := w.cfg.Carrier(cfg.Binding.Terms())
	if carrier == nil {
		return nil
	}
	t := &task{asked: w.cfg.Boot(), withdrawn: cfg.Withdrawn, binding: cfg.Binding, policy: cfg.Binding.Policy(), carrier: carrier}
	a := &Ahead{worker: w, cfg: cfg, task: t, route: cfg.Binding.Route(), askedAt: t.asked}
	a.begin = w.beginning(ctx, t, a.route, Write, cfg.Frozen)
	return a
}

// start is what the store is asked for.
func (a *Ahead) start() *Start {
	w, begin := a.worker, a.begin
	lease := Event{Kind: EventLeased, Actor: w.actor, Lease: &LeaseGrant{Worker: w.cfg.Name, For: w.cfg.Lease}}
	begun := Event{Kind: EventBegun, Actor: w.actor, Policy: &a.task.policy, Begin: &begin}
	begun.Connection.Disabled = a.task.binding.Terms().Mode == ModeDisabled
	for _, ev := range []*Event{&lease, &begun} {
		ev.ReviewID, ev.Chance = w.ledger.NewID(PrefixReview), w.ledger.cfg.IDs.Chance()
	}
	return &Start{Lease: lease, Begin: begun, Frozen: a.cfg.Frozen}
}

// free gives the place back; nothing was begun.
func (a *Ahead) free() {
	if a != nil {
		a.cfg.Done()
	}
}

// began tells whether an operation was begun as this place asked for.
func (a *Ahead) began(op *Operation) bool {
	return a != nil && op.State == Attempting && op.Lease != nil && op.Attempt(a.begin.Attempt) != nil
}

// carry carries the begun operation on, in a goroutine of its own.
func (a *Ahead) carry(op Operation) {
	a.hold(&op)
	go func() {
		defer a.cfg.Done()
		defer a.worker.poisoned(a.cfg.Work, a.task)
		a.task.begun = true
		a.worker.dispatch(a.cfg.Work, a.task, a.cfg.Request, a.cfg.Frozen, a.route, begunAttempt{
			Begin: a.begin, at: op.Attempt(a.begin.Attempt).BegunAt, boot: a.askedAt,
		})
	}()
}

// undo settles a begin of which it is not known whether it is on record: nothing
// was sent, and nothing is (M4).
func (a *Ahead) undo(op Operation) {
	a.hold(&op)
	go func() {
		defer a.cfg.Done()
		a.worker.unbegin(context.WithoutCancel(a.cfg.Work), a.task, a.begin)
	}()
}

func (a *Ahead) hold(op *Operation) {
	a.task.op, a.task.token, a.begin.Token = op.Clone(), op.Lease.Token, op.Lease.Token
}

// ahead asks the runner of this process, if there is one, for a place to carry out
// what is about to be admitted; nil where it gives none.
func (l *Ledger) ahead(ctx context.Context, op *Operation, b Binding, request []byte, f Frozen) *Ahead {
	if _, able := l.store.(Starter); !able {
		return nil
	}
	l.hub.mu.Lock()
	take := l.hub.take
	l.hub.mu.Unlock()
	if take == nil {
		return nil
	}
	return take(ctx, op, b, request, f)
}

// storeAdmission stores an admission, with the first attempt where there is a place for it.
func (l *Ledger) storeAdmission(ctx context.Context, adm Admission, a *Ahead) (op Operation, created bool, err error) {
	names := []string{string(EventAdmitted)}
	if a != nil {
		names = append(names, string(EventLeased), string(EventBegun))
	}
	for _, name := range names {
		failpoint.Before(name)
	}
	if starter, able := l.store.(Starter); able && a != nil {
		// What was begun and not heard of would keep everybody away until its lease is
		// over: whoever gives up waiting does not undo it.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.worker.cfg.Lease)
		defer cancel()
		op, created, err = starter.AdmitStarted(ctx, adm, *a.start())
	} else {
		op, created, err = l.store.Admit(ctx, adm)
	}
	if err == nil && created {
		for _, name := range names {
			failpoint.After(name)
		}
	}
	return op, created, err
}
