package onefold

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// ownTime is how long Do may take to read the operation back once its caller has
// given up: what became of it is worth a few seconds, and a store that is gone
// must not hold a caller for ever.
const ownTime = 5 * time.Second

// lookAgain is when it is worth looking again at what somebody else is working
// on: most calls are over by then, and a look costs one read.
const lookAgain = time.Second

// maxRefusedLeases bounds how often Do asks again for a lease that somebody else
// took first: then it says so instead.
const maxRefusedLeases = 3

// Do carries one operation out by the caller's own functions, for programs with a
// scheduler of their own: a job worker, a cron loop, a handler. It admits the
// operation or finds the one that the key already has (Submit), begins the attempt
// if the rules allow it, calls Write, and records what it reported. Called again
// with the same key it goes on where the operation stands: it gives the recorded
// answer, looks an uncertain operation up, repeats it where that is safe (M11a),
// or says why it does neither. The connection's target has protocol: go.
//
// The error is nil only when the operation is settled, and that is not yet a yes:
// its State says whether it is Confirmed, Rejected or Canceled. Otherwise the error
// is an *Error, and the operation, wherever there is one, comes with it as it now
// is:
//
//   - retry_unsafe: the effect is uncertain, and Reason says why it is not run
//     again now. RetryAfter is when its next step is due, 0 where a person has to
//     decide;
//   - leased: it is being worked on by somebody else;
//   - not_due: nothing was sent, or provably nothing happened; it is tried again
//     after RetryAfter;
//   - held, paused: a person has to release it, or to resume the connection;
//   - not_allowed: its target is not one that functions carry;
//   - store_unavailable: the store cannot be reached, so that the operation may have
//     gone further than what is returned says;
//   - contract_unavailable: the operation exists, and this process cannot load what
//     it runs under;
//   - whatever Submit returns: nothing was admitted here, and the operation is empty.
//
// In each of these cases the same key is safe to use again, and is the way to go on.
//
// A context that ends while Write is out ends nothing but the waiting: Write sees
// it, what it then reports is recorded under a context of its own, and the
// operation is returned. Do never returns a context's error for an operation that
// exists. What Write reported is not let go because the store cannot be reached:
// Do goes on trying while the context lasts, and a lease longer.
//
// Do keeps to no limits in flight or per second, which are a runner's; it is as
// concurrent as its callers. Where a runner has functions for the same target,
// whoever leases first carries the operation.
func (l *Ledger) Do(ctx context.Context, s Submission, steps Steps) (Operation, error) {
	if steps.Write == nil {
		return Operation{}, &Error{Code: CodeMemberInvalid, Pointer: "/write", Message: "Do needs a Write function"}
	}
	if l.cfg.Boot == nil {
		return Operation{}, &Error{Code: CodeMemberInvalid, Pointer: "/boot", Message: "Do needs a ledger with Config.Boot"}
	}
	// Before admission, so that nothing is admitted that others would carry. A
	// binding that cannot be found is Submit's to refuse, after the claim (I3a).
	if b, err := l.bind(ctx, &s); err == nil && b.Terms().Protocol != ProtocolGo {
		return Operation{}, notByFunctions(nil, b.Terms())
	}
	op, _, err := l.submit(ctx, s, byItself)
	if err != nil {
		return Operation{}, err
	}
	d := &doing{ledger: l, steps: steps, op: op, began: l.cfg.Boot()}
	if err := d.prepare(ctx); err != nil {
		return op, err
	}
	return d.run(ctx)
}

// byItself asks no runner for a place: Do carries the operation out.
func byItself(context.Context, *Operation, Binding, []byte, Frozen) *Ahead { return nil }

func notByFunctions(op *Operation, t Terms) *Error {
	e := &Error{
		Code: CodeNotAllowed, Message: "the target " + t.Target + " is spoken to over " + t.Protocol + ": a runner carries its operations",
		Hint: "Do is for targets with protocol: go",
	}
	if op != nil {
		e.Operation, e.State, e.Version = op.ID, op.State, op.Version
	}
	return e
}

// doing is one call of Do.
type doing struct {
	ledger  *Ledger
	steps   Steps
	worker  *Worker
	binding Binding
	policy  Policy
	op      Operation
	began   time.Duration // boot clock
}

// prepare finds the contract of the operation and makes the worker.
func (d *doing) prepare(ctx context.Context) (err error) {
	l := d.ledger
	if d.binding, err = l.Pinned(ctx, &d.op); err != nil {
		return err
	}
	if t := d.binding.Terms(); t.Protocol != ProtocolGo {
		return notByFunctions(&d.op, t)
	}
	d.policy = d.binding.Policy()
	carrier := l.CarrierOf(d.steps)
	d.worker, err = NewWorker(l, WorkerConfig{
		Name: outsidePrefix + l.cfg.Worker, Boot: l.cfg.Boot, Lease: l.cfg.Lease, Logger: l.cfg.Logger,
		Carrier: func(Terms) Carrier { return carrier },
	})
	return err
}

// run carries the operation on, step by step, until it is settled or what comes
// next is not for now.
func (d *doing) run(ctx context.Context) (Operation, error) {
	changes := d.ledger.hub.join(d.op.ID)
	defer d.ledger.hub.leave(d.op.ID, changes)
	withdrawn := withdrawnSince(changes)
	for refused := 0; ; {
		why, err := d.look(ctx)
		switch {
		case err != nil:
			return d.op, err
		case d.op.Settled():
			return d.op, nil
		case why != nil && !d.wait(ctx, why):
			return d.op, why
		case why != nil:
			continue
		case ctx.Err() != nil:
			return d.op, d.because(CodeNotDue, "the caller gave up before the next step; nothing was begun")
		}
		if err := d.worker.Carry(ctx, d.op.ID, withdrawn); err != nil {
			if refused++; refused > maxRefusedLeases || CodeOf(err) == CodeStoreUnavailable {
				return d.reread(ctx), d.refusal(err)
			}
		}
		d.reread(ctx)
	}
}

// withdrawnSince listens for a withdrawal in this process while a call is about
// to start.
func withdrawnSince(changes <-chan Operation) func() bool {
	var seen atomic.Bool
	return func() bool {
		select {
		case op := <-changes:
			if op.IsBarred(BarWithdrawn) {
				seen.Store(true)
			}
		default:
		}
		return seen.Load()
	}
}

// look tends the operation and says what keeps its next step from being taken
// now, nil if nothing does.
func (d *doing) look(ctx context.Context) (why *Error, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ownTime)
	defer cancel()
	now, err := d.ledger.store.Now(ctx)
	if err != nil {
		return nil, d.refusal(err)
	}
	d.op = d.worker.Tend(ctx, d.op, now)
	ref := ConnectionRef{d.op.Workspace, d.op.Connection}
	standing, err := d.ledger.store.Connection(ctx, ref)
	if err != nil {
		return nil, d.refusal(err)
	}
	standing.Disabled = d.binding.Terms().Mode == ModeDisabled
	return d.hindrance(standing, now), nil
}

// hindrance says why the next step cannot be taken now; nil if it can.
func (d *doing) hindrance(c ConnectionStanding, now time.Time) *Error {
	op := &d.op
	closed := c.Paused || c.Disabled
	switch {
	case op.Settled():
		return nil
	case op.Lease != nil && op.Lease.Until.After(now):
		e := d.because(CodeLeased, "the operation is being worked on by "+op.Lease.Worker)
		e.RetryAfter = min(op.Lease.Until.Sub(now), lookAgain)
		return e
	case len(op.Holds) > 0 && op.State == Prepared:
		e := d.because(CodeHeld, "the operation is held: "+string(op.Holds[0].Reason))
		e.Reason = string(op.Holds[0].Reason)
		return e
	case op.State == Uncertain:
		return d.doubtful(c, now)
	case closed:
		return d.because(CodePaused, "the connection "+op.Connection+" is paused or disabled")
	case op.Due == nil || op.Due.After(now):
		e := d.because(CodeNotDue, "no effect exists; the next attempt is not due yet")
		if op.Due != nil {
			e.RetryAfter = op.Due.Sub(now)
		}
		return e
	}
	return nil
}

// doubtful says why an uncertain operation is neither looked up nor repeated
// now; nil if it is.
func (d *doing) doubtful(c ConnectionStanding, now time.Time) *Error {
	op := &d.op
	due := op.Due != nil && !op.Due.After(now)
	switch {
	case due && op.Next == NextReplay && (c.Paused || c.Disabled):
		return d.because(CodePaused, "a safe repetition is due, but the connection "+op.Connection+" is paused or disabled")
	case due && (op.Next != NextLookup && op.Next != NextPoll || d.steps.Lookup != nil):
		return nil
	}
	reason := ReplayDenied(op, &d.policy, c, op.Scope, now)
	e := d.because(CodeRetryUnsafe, "")
	switch {
	case op.Due == nil:
		e.Hint = "a person finds out at the target and records it; " + d.owners()
	case op.Next == NextReplay:
		reason, e.Hint = "a safe repetition is planned and not due yet", "call again with the same key"
	case d.steps.Lookup == nil:
		e.Hint = "the next step is a look-up: give a Lookup function, and call again with the same key"
	default:
		e.Hint = "it is looked up when that is due: call again with the same key"
	}
	if reason == "" {
		reason = "it is looked up first"
	}
	if op.Due != nil && op.Due.After(now) {
		e.RetryAfter = op.Due.Sub(now)
	}
	e.Reason = reason
	e.Message = "the effect is uncertain"
	if op.Doubt != nil {
		e.Message += " (" + string(op.Doubt.Reason) + ")"
	}
	e.Message += " and the operation is not run again: " + reason
	return e
}

// owners names who has the operation's open reviews.
func (d *doing) owners() string {
	text := "it belongs to " + d.op.Owner
	if open := d.op.OpenReviews(); len(open) > 0 {
		text = "it belongs to " + open[len(open)-1].Owner + " (" + open[len(open)-1].ID + ")"
	}
	return text
}

// because is an error about the operation as it is.
func (d *doing) because(code Code, message string) *Error {
	return &Error{
		Code: code, Message: message, Hint: "call again with the same key",
		Operation: d.op.ID, State: d.op.State, Version: d.op.Version, Bars: d.op.Barred,
	}
}

// refusal is an error of the store or of the law, with the operation's facts. A
// context's end is the store's silence here, never an outcome.
func (d *doing) refusal(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok && e.Code != CodeStoreUnavailable {
		out := d.because(e.Code, e.Message)
		out.Reason = e.Reason
		return out
	}
	out := d.because(CodeStoreUnavailable, "the store cannot be reached just now; the operation may have gone further than is known here")
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		out.Cause = err
	}
	return out
}

// reread reads the operation back, whatever became of the caller's context.
func (d *doing) reread(ctx context.Context) Operation {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ownTime)
	defer cancel()
	if op, err := d.ledger.store.Operation(ctx, d.op.Workspace, d.op.ID); err == nil {
		d.op = op
	}
	return d.op
}

// wait waits for what only needs time, within Steps.Wait; it tells whether it is
// worth looking again.
func (d *doing) wait(ctx context.Context, why *Error) bool {
	left := d.steps.Wait - (d.ledger.cfg.Boot() - d.began)
	if left <= 0 || why.RetryAfter <= 0 || ctx.Err() != nil {
		return false
	}
	if why.Code != CodeLeased && why.RetryAfter > left {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, min(left, why.RetryAfter))
	defer cancel()
	seen := d.op
	op, err := d.ledger.Wait(ctx, seen.Workspace, seen.ID, func(now *Operation) bool {
		return now.Version != seen.Version || now.Token != seen.Token || (now.Lease == nil) != (seen.Lease == nil)
	})
	if err == nil {
		d.op = op
	}
	return true
}
