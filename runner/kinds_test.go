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
