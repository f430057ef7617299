package runner_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/bootclock"
	"github.com/onefold-dev/onefold/internal/rig"
	"github.com/onefold-dev/onefold/sandbox"
)

// gate holds writes up after the answer was read, until it is opened.
type gate struct {
	onefold.Carrier
	once    sync.Once
	reached chan struct{}
	open    chan struct{}
}

func newGate() *gate { return &gate{reached: make(chan struct{}), open: make(chan struct{})} }

func (g *gate) wrap(c onefold.Carrier) onefold.Carrier {
	g.Carrier = c
	return g
}

func (g *gate) Carry(ctx context.Context, d onefold.Dispatch) onefold.Exchange {
	x := g.Carrier.Carry(ctx, d)
	if d.Write {
		first := false
		g.once.Do(func() { first = true })
		if first {
			close(g.reached)
			<-g.open
		}
	}
	return x
}

// deaf is a store that lets no lease be renewed: a worker that hangs.
type deaf struct{ onefold.Store }

func (d deaf) Step(ctx context.Context, id string, ev onefold.Event, v int64) (onefold.Committed, error) {
	if ev.Kind == onefold.EventRenewed {
		return onefold.Committed{}, errors.New("not heard")
	}
	return d.Store.Step(ctx, id, ev, v)
}

func hearNothing(s onefold.Store) onefold.Store { return deaf{s} }

// Proves: M8, M10, M12a
func TestAStaleWorkersLateSuccessIsKeptAndConfirms(t *testing.T) {
	t.Parallel()
	g := newGate()
	r := rig.New(t, rig.Options{Wrap: g.wrap, Store: hearNothing, Lease: 100 * time.Millisecond, Scan: 20 * time.Millisecond, Edit: onlyOperator})
	op := r.Submit("bills.create", "k", bill)
	<-g.reached
	op = r.UntilState(op.ID, onefold.Uncertain)
	if !op.OpenAttempt() || op.Doubt.Reason != onefold.DoubtLeaseExpired {
		t.Errorf("doubt %+v, attempts %+v", op.Doubt, op.Attempts)
	}
	_, err := r.Ledger.Resolve(context.Background(), rig.Operator(op, "it is not there"), onefold.Resolution{Outcome: onefold.ResolveNotApplied})
	if !errors.Is(err, onefold.ErrAttemptOpen) {
		t.Errorf("resolve while an attempt is open: %v, want attempt_open", err)
	}
	close(g.open)
	op = r.UntilState(op.ID, onefold.Confirmed)
	agrees(t, r, op, 1, 1)
	if op.Attempts[0].ClosedBy != onefold.ClosedByReport {
		t.Errorf("closed by %q", op.Attempts[0].ClosedBy)
	}
}

// onlyOperator takes every way out of doubt but a person.
func onlyOperator(text string) string {
	return strings.ReplaceAll(text, "in_doubt: [replay, lookup, operator]", "in_doubt: [operator]")
}

// Proves: M20
func TestALateSuccessAfterTheOperationWasRejectedContradicts(t *testing.T) {
	t.Parallel()
	g := newGate()
	r := rig.New(t, rig.Options{Wrap: g.wrap, Store: hearNothing, Lease: 100 * time.Millisecond, Scan: 20 * time.Millisecond, Edit: onlyOperator})
	op := r.Submit("bills.create", "k", bill)
	<-g.reached
	op = r.UntilState(op.ID, onefold.Uncertain)
	op, err := r.Ledger.Resolve(context.Background(), rig.Operator(op, "the supplier says no"), onefold.Resolution{Outcome: onefold.ResolveRejected})
	if err != nil || op.State != onefold.Rejected || op.NewKeySafe() {
		t.Fatalf("resolve: %v, %s, new key safe %v while an attempt is open", err, op.State, op.NewKeySafe())
	}
	close(g.open)
	op = r.Until(op.ID, "contradicted", func(op *onefold.Operation) bool { return op.Contradicted })
	if op.State != onefold.Rejected || len(op.OpenReviews()) != 1 {
		t.Errorf("state %s, reviews %+v", op.State, op.Reviews)
	}
	agrees(t, r, op, 1, 1)
}

// Proves: M9, M4
func TestNothingIsWrittenOnceTheLeaseMayBeOver(t *testing.T) {
	t.Parallel()
	var jump atomic.Int64
	boot := func() time.Duration { return bootclock.Now() + time.Duration(jump.Load()) }
	var first sync.Once
	suspend := func(c onefold.Carrier) onefold.Carrier {
		return carrierFunc(c, func(ctx context.Context, d onefold.Dispatch) onefold.Exchange {
			if d.Write {
				// The machine sleeps between the begin and the first byte.
				first.Do(func() { jump.Add(int64(time.Hour)) })
			}
			return c.Carry(ctx, d)
		})
	}
	r := rig.New(t, rig.Options{Boot: boot, Wrap: suspend})
	op := r.UntilState(r.Submit("bills.create", "k", bill).ID, onefold.Confirmed)
	agrees(t, r, op, 1, 1)
	if len(op.Attempts) != 2 || op.Attempts[0].Verdict != onefold.VerdictNotSent {
		t.Errorf("attempts %+v", op.Attempts)
	}
}

type carrier struct {
	onefold.Carrier
	carry func(context.Context, onefold.Dispatch) onefold.Exchange
}

func carrierFunc(c onefold.Carrier, f func(context.Context, onefold.Dispatch) onefold.Exchange) onefold.Carrier {
	return carrier{c, f}
}

func (c carrier) Carry(ctx context.Context, d onefold.Dispatch) onefold.Exchange {
	return c.carry(ctx, d)
}

// Proves: M24
func TestAWithdrawalBetweenBeginAndFirstByteStopsTheWrite(t *testing.T) {
	t.Parallel()
	var r *rig.Rig
	begun, withdrawn := make(chan struct{}), make(chan struct{})
	hold := func(c onefold.Carrier) onefold.Carrier {
		return carrierFunc(c, func(ctx context.Context, d onefold.Dispatch) onefold.Exchange {
			close(begun)
			<-withdrawn
			return c.Carry(ctx, d)
		})
	}
	r = rig.New(t, rig.Options{Wrap: hold})
	op := r.Submit("bills.create", "k", bill)
	<-begun
	op, err := r.Ledger.Cancel(context.Background(), rig.Operator(op, "not any more"), true)
	if err != nil || op.State != onefold.Attempting || !op.IsBarred(onefold.BarWithdrawn) {
		t.Fatalf("cancel: %v, %s, barred %v", err, op.State, op.Barred)
	}
	close(withdrawn)
	op = r.UntilState(op.ID, onefold.Canceled)
	agrees(t, r, op, 0, 0)
	if op.KeyReleased {
		t.Error("the key of an operation that was attempted was released")
	}
}

// Proves: M24
func TestAWithdrawalThatComesTooLateEndsConfirmed(t *testing.T) {
	t.Parallel()
	g := newGate()
	r := rig.New(t, rig.Options{Wrap: g.wrap})
	op := r.Submit("bills.create", "k", bill)
	<-g.reached
	if _, err := r.Ledger.Cancel(context.Background(), rig.Operator(op, "not any more"), true); err != nil {
		t.Fatal(err)
	}
	close(g.open)
	op = r.UntilState(op.ID, onefold.Confirmed)
	agrees(t, r, op, 1, 1)
}

// Proves: M15
func TestARecordThatDiffersIsBarredAndReviewed(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	r.Fault(sandbox.Fault{Kind: sandbox.Status, Status: 201, Body: `{"id":"BILL-7","total":"999.00"}`})
	op := r.Until(r.Submit("bills.create", "k", bill).ID, "in review", func(op *onefold.Operation) bool { return len(op.OpenReviews()) > 0 })
	if op.State != onefold.Uncertain || !op.IsBarred(onefold.BarDiffers) || op.OpenReviews()[0].Reason != onefold.ReviewDiffers {
		t.Errorf("%s, barred %v, reviews %+v", op.State, op.Barred, op.Reviews)
	}
	if !strings.Contains(op.OpenReviews()[0].Detail, "/total") {
		t.Errorf("the review does not say what differs: %s", op.OpenReviews()[0].Detail)
	}
	agrees(t, r, op, 0, 1)
}

// Proves: M15
func TestSeveralRecordsUnderOneIdentityAreBarredAndReviewed(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	r.Fault(sandbox.Fault{Kind: sandbox.Twice, After: 3 * time.Second})
	op := r.Until(r.Submit("orders.create", "k", order).ID, "in review", func(op *onefold.Operation) bool { return len(op.OpenReviews()) > 0 })
	if op.State != onefold.Uncertain || !op.IsBarred(onefold.BarMultipleEffects) {
		t.Errorf("%s, barred %v, reviews %+v", op.State, op.Barred, op.Reviews)
	}
	agrees(t, r, op, 2, 1)
	_, err := r.Ledger.Resolve(context.Background(), rig.Operator(op, "nothing there"), onefold.Resolution{Outcome: onefold.ResolveNotApplied})
	if !errors.Is(err, onefold.ErrBarred) {
		t.Errorf("not applied under multiple_effects: %v, want barred", err)
	}
}

// Proves: M11, M12
func TestAnOperatorsNotAppliedSendsAgain(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	r.Fault(sandbox.Fault{Kind: sandbox.DropBefore})
	op := r.Until(r.Submit("payments.send", "k", payment).ID, "in review", func(op *onefold.Operation) bool { return len(op.OpenReviews()) > 0 })
	op, err := r.Ledger.Resolve(context.Background(), rig.Operator(op, "the bank has nothing"), onefold.Resolution{Outcome: onefold.ResolveNotApplied})
	if err != nil {
		t.Fatal(err)
	}
	op = r.UntilState(op.ID, onefold.Confirmed)
	agrees(t, r, op, 1, 2)
}

// Proves: M18, M19, M20
func TestDeliveredEvidenceConfirmsRepeatsAndContradicts(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	r.Fault(sandbox.Fault{Kind: sandbox.DropBefore})
	op := r.Until(r.Submit("payments.send", "k", payment).ID, "in review", func(op *onefold.Operation) bool { return len(op.OpenReviews()) > 0 })
	deliver := func(asserts onefold.Assertion, event, reference string) onefold.Operation {
		t.Helper()
		got, err := r.Ledger.Deliver(context.Background(), rig.Operator(op, ""), onefold.Evidence{
			Source: "bank", SourceEventID: event, Asserts: asserts, Reference: reference,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := deliver(onefold.AssertsNoEffect, "e-0", ""); got.State != onefold.Uncertain {
		t.Errorf("a delivered no_effect moved the operation to %s", got.State)
	}
	confirmed := deliver(onefold.AssertsEffect, "e-1", "PAY-1")
	if confirmed.State != onefold.Confirmed || confirmed.Result.Reference != "PAY-1" || confirmed.Result.LearntFrom != onefold.LearntFromOperator {
		t.Fatalf("%s %+v", confirmed.State, confirmed.Result)
	}
	again := deliver(onefold.AssertsEffect, "e-2", "PAY-1")
	if again.Version != confirmed.Version || again.Contradicted {
		t.Errorf("a confirmation that repeats the reference changed version %d to %d", confirmed.Version, again.Version)
	}
	other := deliver(onefold.AssertsEffect, "e-3", "PAY-2")
	if !other.Contradicted || other.Result.Reference != "PAY-1" || len(other.OpenReviews()) != 1 {
		t.Errorf("another reference: contradicted %v, result %+v", other.Contradicted, other.Result)
	}
	repeated := deliver(onefold.AssertsEffect, "e-3", "PAY-2")
	if repeated.Version != other.Version {
		t.Error("the same event delivered twice changed the operation (M17)")
	}
	evidence, err := r.Store.EvidenceOf(context.Background(), op.ID, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	delivered := 0
	for _, e := range evidence {
		if e.SourceEventID == "e-3" {
			delivered++
		}
	}
	if delivered != 1 {
		t.Errorf("the event e-3 is on record %d times", delivered)
	}
}
