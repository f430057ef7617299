package runner_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/bootclock"
	"github.com/onefold-dev/onefold/internal/rig"
	"github.com/onefold-dev/onefold/sandbox"
)

// sick is a store that takes no outcome until it is well again.
type sick struct {
	onefold.Store
	well   atomic.Bool
	denied chan struct{}
}

func (s *sick) Step(ctx context.Context, id string, ev onefold.Event, v int64) (onefold.Committed, error) {
	if ev.Kind == onefold.EventAnswered && !s.well.Load() {
		select {
		case s.denied <- struct{}{}:
		default:
		}
		return onefold.Committed{}, errors.New("the disk is full")
	}
	return s.Store.Step(ctx, id, ev, v)
}

// Proves: M6, M8, M12a
func TestAnOutcomeIsKeptHoweverLongTheStoreIsSick(t *testing.T) {
	t.Parallel()
	store := &sick{denied: make(chan struct{}, 1)}
	r := rig.New(t, rig.Options{
		Lease: 50 * time.Millisecond, Scan: 10 * time.Millisecond, Edit: onlyOperator,
		Store: func(s onefold.Store) onefold.Store { store.Store = s; return store },
	})
	op := r.Submit("bills.create", "k", bill)
	// The lease ends meanwhile, and what the worker knows is late: it is not lost.
	op = r.UntilState(op.ID, onefold.Uncertain)
	<-store.denied
	if !op.OpenAttempt() {
		t.Fatalf("attempts %+v", op.Attempts)
	}
	store.well.Store(true)
	agrees(t, r, r.UntilState(op.ID, onefold.Confirmed), 1, 1)
}

// Proves: M24, M11c
func TestWhatAnotherProcessBarsBeforeTheFirstByteIsNotWritten(t *testing.T) {
	t.Parallel()
	var boot atomic.Int64
	var store onefold.Store
	dialling := func(c onefold.Carrier) onefold.Carrier {
		return carrierFunc(c, func(ctx context.Context, d onefold.Dispatch) onefold.Exchange {
			if d.Write {
				// While the connection is made, another process withdraws the operation:
				// this one's ledger hears nothing of it.
				boot.Add(int64(time.Second))
				_, err := store.Step(ctx, d.Operation.ID, onefold.Event{
					Kind: onefold.EventCanceled, Actor: operator, ReviewID: "rev_0", Cancel: &onefold.Cancellation{},
				}, 0)
				if err != nil {
					t.Error(err)
				}
			}
			return c.Carry(ctx, d)
		})
	}
	r := rig.New(t, rig.Options{
		Wrap: dialling, Boot: func() time.Duration { return bootclock.Now() + time.Duration(boot.Load()) },
		Store: func(s onefold.Store) onefold.Store { store = s; return s },
	})
	op := r.UntilState(r.Submit("bills.create", "k", bill).ID, onefold.Canceled)
	agrees(t, r, op, 0, 0)
}

// Proves: M25
func TestARequestThatCannotBeBuiltIsRefusedAtAdmission(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: edit("path: /bills\n", "path: /bills/{request/memo}\n")})
	for _, request := range []string{bill, strings.Replace(bill, "}", `,"memo":".."}`, 1)} {
		_, _, err := r.Ledger.Submit(context.Background(), r.Submission("bills.create", "k", request))
		if !errors.Is(err, onefold.ErrRequestInvalid) {
			t.Errorf("%s: %v, want request_invalid", request, err)
		}
	}
	_, found, err := r.Store.Claimed(context.Background(), onefold.ClaimKey{Workspace: rig.Workspace, Capability: "bills.create", Key: "k"})
	if err != nil || found {
		t.Errorf("a refused admission left a claim behind: %v %v", found, err)
	}
}

// Proves: M2a, M12
func TestAnOperationInDoubtStaysWithTheAddressThatItWasSentTo(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	elsewhere := rig.New(t, rig.Options{})
	for capability, request := range map[string]string{"bills.create": bill, "orders.create": order} {
		t.Run(capability, func(t *testing.T) {
			// What is there has its own numbers, and has given the first away.
			elsewhere.UntilState(elsewhere.Submit(capability, "earlier", request).ID, onefold.Confirmed)
			held := rig.New(t, rig.Options{Sandbox: r.Sandbox, Wrap: func(c onefold.Carrier) onefold.Carrier {
				var lost atomic.Bool
				return carrierFunc(c, func(ctx context.Context, d onefold.Dispatch) onefold.Exchange {
					x := c.Carry(ctx, d)
					if d.Write && lost.CompareAndSwap(false, true) {
						return onefold.Exchange{Failure: "no_answer"}
					}
					return x
				})
			}, Edit: edit("first: 20ms", "first: 400ms", "first: 30ms", "first: 400ms", "max: 200ms", "max: 500ms", "max: 300ms", "max: 500ms")})
			op := held.UntilState(held.Submit(capability, "k", request).ID, onefold.Uncertain)
			// The connection moves to another address while the operation is in doubt.
			held.Publish(strings.ReplaceAll(rig.Documents()[strings.LastIndex(rig.Documents(), "---"):], "SANDBOX_URL", elsewhere.URL))
			op = held.UntilState(op.ID, onefold.Confirmed)
			if here, there := held.Effects(op.Reference), elsewhere.Effects(op.Reference); here != 1 || there != 0 {
				t.Errorf("%d effects where it was sent first, %d at the new address", here, there)
			}
			if there := elsewhere.Writes(op.Reference); there != 0 {
				t.Errorf("%d writes reached the new address", there)
			}
			// A new operation goes to the new address.
			fresh := held.UntilState(held.Submit(capability, "k-2", request).ID, onefold.Confirmed)
			if elsewhere.Effects(fresh.Reference) != 1 {
				t.Error("a new operation did not go to the new address")
			}
		})
	}
}

// Proves: M11, M12
func TestWhatTheTargetAcceptedIsNeverSentAgainForItsAbsence(t *testing.T) {
	t.Parallel()
	accepted := strings.NewReplacer(
		"        external_ref: $operation/reference\n    identity: {kind: none}\n    responses:\n      - {name: created, when: {status: [200, 201]}, outcome: confirmed, reference: /id}\n    lookup:",
		"        external_ref: $operation/reference\n    identity: {kind: none}\n    responses:\n      - {name: created, when: {status: [200, 201]}, outcome: confirmed, reference: /id}\n"+
			"    accepted: {when: {status: 202}, poll: {path: '/payments/none', every: 50ms, within: 300ms}, states: {field: /status, effect: [settled], pending: [pending], no_effect: [failed]}}\n    lookup:",
		"match: {/external_ref: $operation/reference}\n        reference: /id\n    settle: 50ms\n    processing: 200ms\n    absence: inconclusive",
		"match: {/external_ref: $operation/reference}\n        reference: /id\n        complete: true\n    settle: 50ms\n    processing: 200ms\n    absence: authoritative",
	).Replace
	r := rig.New(t, rig.Options{Edit: accepted, Scan: 20 * time.Millisecond})
	r.Fault(sandbox.Fault{Kind: sandbox.Status, Status: 202, Body: `{"id":"PAY-9","status":"pending"}`})
	op := r.Until(r.Submit("payments.send", "k", payment).ID, "in review", func(op *onefold.Operation) bool { return len(op.OpenReviews()) > 0 })
	if op.State != onefold.Uncertain || len(op.Attempts) != 1 {
		t.Errorf("%s after %d attempts", op.State, len(op.Attempts))
	}
	agrees(t, r, op, 0, 1)
}

// Proves: M11c
func TestARecordWithoutAReadableReferenceBarsEverySend(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: edit("match: {/external_ref: $operation/reference}\n        reference: /id\n    settle: 50ms\n    processing: 1s", "match: {/external_ref: $operation/reference}\n        reference: /no_such_member\n    settle: 50ms\n    processing: 50ms", "reconcile: {within: 20s", "reconcile: {within: 1s")})
	r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect})
	op := r.Until(r.Submit("orders.create", "k", order).ID, "in review", func(op *onefold.Operation) bool { return len(op.OpenReviews()) > 0 })
	if !op.IsBarred(onefold.BarEffectExists) {
		t.Errorf("%s, barred %v", op.State, op.Barred)
	}
	agrees(t, r, op, 1, 1)
	_, err := r.Ledger.Resolve(context.Background(), rig.Operator(op, "nothing there"), onefold.Resolution{Outcome: onefold.ResolveNotApplied})
	if !errors.Is(err, onefold.ErrBarred) {
		t.Errorf("not applied beside a record: %v, want barred", err)
	}
}

// Proves: M12
func TestALookUpForWhatWasNeverSentProvesNoAbsence(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: edit(
		"        quantity: $request/quantity\n        external_ref: $operation/reference\n", "        quantity: $request/quantity\n",
		"processing: 1s", "processing: 50ms", "reconcile: {within: 20s", "reconcile: {within: 1s",
	)})
	r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect})
	op := r.Until(r.Submit("orders.create", "k", order).ID, "in review", func(op *onefold.Operation) bool {
		return len(op.OpenReviews()) > 0 || len(op.Holds) > 0
	})
	if op.State != onefold.Uncertain && len(op.Holds) == 0 || len(op.Attempts) > 1 {
		t.Errorf("%s after %d attempts", op.State, len(op.Attempts))
	}
}
