package onefold

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"
)

// DefaultLease is how long a worker's lease lasts (M9).
const DefaultLease = 30 * time.Second

// lastWords is how long outcomes may take to be recorded once calls in flight
// were cut off.
const lastWords = 5 * time.Second

// outsidePrefix marks the names of workers that are not the store's runner.
const outsidePrefix = "do:"

// OutsideWorker tells whether a worker's name is that of a program that carries
// its operations out by Ledger.Do. Such a worker is not the store's runner: that
// a runner's place in a store is free proves nothing about its process, so that
// its leases and attempts end by their own time alone (M12a).
func OutsideWorker(name string) bool { return strings.HasPrefix(name, outsidePrefix) }

// WorkerConfig sets a worker up. Name, Boot and Carrier are required.
type WorkerConfig struct {
	// Name names the worker in leases, attempts and the timeline.
	Name string
	// Boot is a monotonic clock that also counts suspended time (M9).
	Boot func() time.Duration
	// Carrier chooses who carries requests of operations that run under the given
	// terms; nil where nobody here can.
	Carrier func(Terms) Carrier
	// Lease is how long a lease lasts; 0 means DefaultLease.
	Lease time.Duration
	// UserAgent is sent with every request.
	UserAgent string
	// Logger takes what nobody is there to be told; nil discards it.
	Logger *slog.Logger
}

// Worker carries operations one step on: it leases one, begins the attempt
// durably before anything is sent (M4), has the request carried, judges what
// came back, and records it, renewing its lease meanwhile. It is the one way in
// which anything is sent: a runner uses it over time, Ledger.Do for one
// operation. It decides nothing: the contract says what an answer means, the
// law what follows. Safe for concurrent use.
type Worker struct {
	ledger *Ledger
	store  Store
	cfg    WorkerConfig
	log    *slog.Logger
	actor  Actor
}

// NewWorker returns a worker of a ledger.
func NewWorker(l *Ledger, cfg WorkerConfig) (*Worker, error) {
	if l == nil || cfg.Name == "" || cfg.Boot == nil || cfg.Carrier == nil {
		return nil, errors.New("onefold: a worker needs a ledger, a name, a boot clock and a choice of carriers")
	}
	if cfg.Lease <= 0 {
		cfg.Lease = DefaultLease
	}
	log := cfg.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Worker{ledger: l, store: l.store, cfg: cfg, log: log, actor: Actor{ActorWorker, cfg.Name}}, nil
}

// task is one operation under a lease of this worker.
type task struct {
	op        Operation
	token     int64
	asked     time.Duration // boot clock before the lease was asked for (M9)
	leasedAt  time.Time     // the store's time of the lease
	withdrawn func() bool
	binding   Binding
	policy    Policy
	carrier   Carrier
	// begun tells that an attempt is on record: from then on any doubt means
	// "maybe sent".
	begun bool
	// mute tells that the credential could not be had when the attempt began: it
	// sends nothing, even if the carrier finds one a moment later that nobody has
	// held against the scope.
	mute bool
}

// Carry leases an operation that is due and carries it one step on: an attempt,
// a safe replay or a look-up, whichever its plan says. ctx bounds the call to
// the target; what came of it is recorded whatever becomes of ctx. withdrawn is
// asked immediately before the first byte (M24). The error is the refusal of the
// lease (leased, held, not_due, already_settled) or store_unavailable; whatever
// happened under the lease stands in the operation.
func (w *Worker) Carry(ctx context.Context, id string, withdrawn func() bool) error {
	t := &task{asked: w.cfg.Boot(), withdrawn: withdrawn}
	c, err := w.lease(ctx, id)
	if err != nil {
		// Refusals are other workers', holds and decisions; a lease whose commit is
		// unknown is found by the scan.
		w.unlessRefused(ctx, "the operation cannot be leased", id, err)
		return unavailable(err)
	}
	t.op, t.token, t.leasedAt = c.Operation, c.Operation.Lease.Token, c.At
	defer w.poisoned(ctx, t)
	if t.binding, err = w.ledger.Pinned(ctx, &t.op); err != nil {
		return w.unbound(ctx, t, err)
	}
	t.policy = t.binding.Policy()
	if t.carrier = w.cfg.Carrier(t.binding.Terms()); t.carrier == nil {
		w.reconsider(ctx, t, Reconsideration{Missing: "nothing here carries requests to the target " + t.binding.Terms().Target})
		return nil
	}
	switch {
	case t.op.State == Prepared:
		w.attempt(ctx, t, Write)
	case t.op.Next == NextReplay:
		w.attempt(ctx, t, Replay)
	case t.op.Next == NextLookup || t.op.Next == NextPoll:
		w.lookup(ctx, t)
	default:
		w.reconsider(ctx, t, Reconsideration{})
	}
	return nil
}

// Reconsider leases an operation that is due and plans its next step anew without
// taking it: for a runner that sees that only a person is left, and has nobody to
// carry the step that was planned (M16). Errors as Carry's.
func (w *Worker) Reconsider(ctx context.Context, id string) error {
	c, err := w.lease(ctx, id)
	if err != nil {
		return unavailable(err)
	}
	t := &task{op: c.Operation, token: c.Operation.Lease.Token}
	if t.binding, err = w.ledger.Pinned(ctx, &t.op); err != nil {
		return w.unbound(ctx, t, err)
	}
	t.policy = t.binding.Policy()
	w.reconsider(ctx, t, Reconsideration{})
	return nil
}

// unbound lets an operation go whose contract this process has not, even after it
// has read the documents anew: that is no fact about the operation. Trouble with the
// store is the store's, and the step is due as before.
func (w *Worker) unbound(ctx context.Context, t *task, err error) error {
	if e, ok := errors.AsType[*Error](err); ok && e.Code == CodeContractUnavailable {
		w.log.Warn("worker: the contract of an operation cannot be loaded here", "operation", t.op.ID, "error", err, "cause", e.Cause)
		w.reconsider(ctx, t, Reconsideration{Missing: "its contract cannot be loaded here: " + e.Reason})
		return nil
	}
	w.handBack(context.WithoutCancel(ctx), t)
	return unavailable(err)
}

// lease asks for the lease, whatever becomes of ctx meanwhile: one that was given
// and not heard of would keep everybody away until it expires.
func (w *Worker) lease(ctx context.Context, id string) (Committed, error) {
	if err := ctx.Err(); err != nil {
		return Committed{}, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.cfg.Lease)
	defer cancel()
	return w.ledger.Step(ctx, id, Event{
		Kind: EventLeased, Actor: w.actor, Lease: &LeaseGrant{Worker: w.cfg.Name, For: w.cfg.Lease},
	}, 0)
}

// poisoned catches what a mapping or an answer breaks, so that it harms only its
// own operation. Before the begin the operation goes to a person; afterwards
// the lease is left to expire or the caller of the judge has answered already.
func (w *Worker) poisoned(ctx context.Context, t *task) {
	broken := recover()
	if broken == nil {
		return
	}
	w.log.Error("worker: a poison operation", "operation", t.op.ID, "broken", fmt.Sprint(broken), "stack", string(debug.Stack()))
	if t.begun || t.binding == nil {
		return
	}
	w.reconsider(ctx, t, Reconsideration{Unsendable: "building its request breaks the mapping"})
}

// step carries an event of this task's holder out.
func (w *Worker) step(ctx context.Context, t *task, ev Event) error {
	ev.Actor = w.actor
	if t.binding != nil {
		ev.Policy = &t.policy
		ev.Connection.Disabled = t.binding.Terms().Mode == ModeDisabled
	}
	boot := w.cfg.Boot()
	c, err := w.ledger.Step(ctx, t.op.ID, ev, 0)
	if err == nil {
		w.ledger.seen.note(&c.Operation, ev.Kind, boot)
	}
	return err
}

func (w *Worker) handBack(ctx context.Context, t *task) {
	err := w.step(ctx, t, Event{Kind: EventHandedBack, Lease: &LeaseGrant{Token: t.token}})
	w.unlessRefused(ctx, "a lease cannot be handed back", t.op.ID, err)
}

func (w *Worker) reconsider(ctx context.Context, t *task, why Reconsideration) {
	why.Token = t.token
	err := w.step(ctx, t, Event{Kind: EventReconsidered, Reconsider: &why})
	w.unlessRefused(ctx, "an operation cannot be planned", t.op.ID, err)
}

// isTrouble tells whether a step failed for a reason that is not the law's.
func isTrouble(code Code) bool {
	return code == CodeInternal || code == CodeStoreUnavailable || code == CodeRecordUnreadable
}

// unlessRefused logs errors that are not refusals of the law.
func (w *Worker) unlessRefused(ctx context.Context, what, id string, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	if code := CodeOf(err); !isTrouble(code) {
		w.log.Debug("worker: refused", "what", what, "operation", id, "code", string(code))
		return
	}
	w.log.Error("worker: step failed", "what", what, "operation", id, "error", err)
}

// renewing keeps the lease alive until the returned function is called.
func (w *Worker) renewing(ctx context.Context, t *task) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(w.cfg.Lease / 3)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			err := w.step(ctx, t, Event{Kind: EventRenewed, Lease: &LeaseGrant{Token: t.token, For: w.cfg.Lease}})
			if errors.Is(err, ErrLeaseLost) {
				w.log.Warn("worker: a lease was lost while the call was out", "operation", t.op.ID)
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

// recording is the context in which an outcome is recorded: it goes on for as
// long as the work does, and a lease and lastWords longer. Whoever gave up
// waiting does not undo what happened.
func (w *Worker) recording(ctx context.Context) (context.Context, context.CancelFunc) {
	record, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(w.cfg.Lease+lastWords, cancel) })
	return record, func() { stop(); cancel() }
}

// conclude records an outcome, however long the store cannot be reached: an
// outcome that is not recorded is a loss of what was known. Should the process
// have to end first, the log has it.
func (w *Worker) conclude(ctx context.Context, t *task, ev Event) {
	ctx, cancel := w.recording(ctx)
	defer cancel()
	wait := concludeFirst
	for {
		err := w.step(ctx, t, ev)
		if err == nil {
			return
		}
		if code := CodeOf(err); !isTrouble(code) {
			// Refused: recorded before by a commit whose outcome was unknown, or the
			// operation does not take it any more.
			w.log.Debug("worker: outcome refused", "operation", t.op.ID, "code", string(code))
			return
		}
		w.log.Error("worker: an outcome cannot be recorded yet", "operation", t.op.ID, "learnt", learnt(&ev), "error", err)
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

// learnt says in a word what an event would have recorded.
func learnt(ev *Event) string {
	switch {
	case ev.Answer != nil:
		return strings.TrimSpace(string(ev.Answer.Outcome) + " " + ev.Answer.Reference)
	case ev.Lookup != nil:
		return strings.TrimSpace(string(ev.Lookup.Result) + " " + ev.Lookup.Reference)
	}
	return string(ev.Kind)
}

// How long conclude waits between its tries.
const (
	concludeFirst = 20 * time.Millisecond
	concludeMax   = 2 * time.Second
)
