package runner_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/bootclock"
	"github.com/onefold-dev/onefold/internal/rig"
	"github.com/onefold-dev/onefold/runner"
	"github.com/onefold-dev/onefold/sandbox"
)

var ref = onefold.ConnectionRef{Workspace: rig.Workspace, Connection: rig.Connection}

var operator = onefold.Actor{Kind: onefold.ActorPrincipal, Name: "operator"}

func edit(pairs ...string) func(string) string {
	return strings.NewReplacer(pairs...).Replace
}

// resume lifts a pause as the interface does.
func resume(t *testing.T, r *rig.Rig) {
	t.Helper()
	if _, err := r.Store.ResumeConnection(context.Background(), ref, operator, "mended"); err != nil {
		t.Fatal(err)
	}
	r.Ledger.Kick()
}

func paused(t *testing.T, r *rig.Rig) bool {
	t.Helper()
	c, err := r.Store.Connection(context.Background(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return c.Paused
}

// Proves: M13
func TestRefusedCredentialsPauseTheConnectionAndItGoesOnAfterwards(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	r.Fault(sandbox.Fault{Kind: sandbox.Unauthorized})
	op := r.Submit("bills.create", "k", bill)
	op = r.Until(op.ID, "not applied", func(op *onefold.Operation) bool {
		return op.State == onefold.Prepared && len(op.Attempts) == 1
	})
	if !paused(t, r) || op.Attempts[0].Verdict != onefold.VerdictNotApplied {
		t.Fatalf("paused %v, verdict %s", paused(t, r), op.Attempts[0].Verdict)
	}
	resume(t, r)
	op = r.UntilState(op.ID, onefold.Confirmed)
	agrees(t, r, op, 1, 2)
}

func TestAPauseStopsEveryBeginAndLetsLookUpsGoOn(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect, After: 200 * time.Millisecond})
	doubtful := r.Submit("orders.create", "k-1", order)
	r.Until(doubtful.ID, "begun", func(op *onefold.Operation) bool { return len(op.Attempts) == 1 })
	if _, err := r.Store.PauseConnection(context.Background(), ref, operator, "by hand"); err != nil {
		t.Fatal(err)
	}
	waiting := r.Submit("orders.create", "k-2", order)
	// The look-up of the first goes on, though nothing of the second begins.
	r.UntilState(doubtful.ID, onefold.Confirmed)
	now, err := r.Ledger.Operation(context.Background(), rig.Workspace, waiting.ID)
	if err != nil || now.State != onefold.Prepared || len(now.Attempts) != 0 {
		t.Fatalf("%v: %s with %d attempts while paused", err, now.State, len(now.Attempts))
	}
	resume(t, r)
	agrees(t, r, r.UntilState(waiting.ID, onefold.Confirmed), 1, 1)
}

// Proves: M16a, M25
func TestUnresolvedOperationsOfAConnectionAreCapped(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: edit("unresolved: 100", "unresolved: 2")})
	r.Fault(sandbox.Fault{Kind: sandbox.DropBefore, Times: 2})
	for i := range 2 {
		op := r.Submit("payments.send", fmt.Sprint("k-", i), payment)
		r.Until(op.ID, "in review", func(op *onefold.Operation) bool { return len(op.OpenReviews()) > 0 })
	}
	_, _, err := r.Ledger.Submit(context.Background(), r.Submission("bills.create", "k-2", bill))
	if !errors.Is(err, onefold.ErrAdmissionLimited) {
		t.Fatalf("the third admission: %v, want admission_limited", err)
	}
	_, found, err := r.Store.Claimed(context.Background(), onefold.ClaimKey{Workspace: rig.Workspace, Capability: "bills.create", Key: "k-2"})
	if err != nil || found {
		t.Fatalf("a refused admission left a claim behind: %v %v", found, err)
	}
	// Repeats of a known key are still answered (I3a).
	if _, replayed, err := r.Ledger.Submit(context.Background(), r.Submission("payments.send", "k-0", payment)); err != nil || !replayed {
		t.Fatalf("a repeat: %v, replayed %v", err, replayed)
	}
}

func TestInFlightIsLimitedForEachConnection(t *testing.T) {
	t.Parallel()
	var out, most atomic.Int64
	count := func(c onefold.Carrier) onefold.Carrier {
		return carrierFunc(c, func(ctx context.Context, d onefold.Dispatch) onefold.Exchange {
			n := out.Add(1)
			defer out.Add(-1)
			for {
				m := most.Load()
				if n <= m || most.CompareAndSwap(m, n) {
					break
				}
			}
			return c.Carry(ctx, d)
		})
	}
	r := rig.New(t, rig.Options{Wrap: count, Edit: edit("in_flight: 64", "in_flight: 3")})
	r.Fault(sandbox.Fault{Kind: sandbox.Delay, Before: 30 * time.Millisecond, Times: 20})
	var ops []onefold.Operation
	for i := range 20 {
		ops = append(ops, r.Submit("bills.create", fmt.Sprint("k-", i), fmt.Sprintf(`{"supplier":"S","number":"%d","total":"1"}`, i)))
	}
	for _, op := range ops {
		agrees(t, r, r.UntilState(op.ID, onefold.Confirmed), 1, 1)
	}
	if most.Load() > 3 || most.Load() < 2 {
		t.Errorf("at most %d requests were out at once, the limit is 3", most.Load())
	}
}

func TestRatesAreKept(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: edit("in_flight: 64", "in_flight: 64, per_second: 10")})
	began := time.Now()
	var last onefold.Operation
	for i := range 20 {
		last = r.Submit("bills.create", fmt.Sprint("k-", i), fmt.Sprintf(`{"supplier":"S","number":"%d","total":"1"}`, i))
	}
	for i := range 20 {
		op, _, err := r.Ledger.Submit(context.Background(), r.Submission("bills.create", fmt.Sprint("k-", i), fmt.Sprintf(`{"supplier":"S","number":"%d","total":"1"}`, i)))
		if err != nil {
			t.Fatal(err)
		}
		r.UntilState(op.ID, onefold.Confirmed)
	}
	// Ten may go at once, the other ten take a second.
	if took := time.Since(began); took < 900*time.Millisecond {
		t.Errorf("20 operations at 10 a second took %s (the last is %s)", took, last.ID)
	}
}

// Proves: M16
func TestAnExhaustedRetryBudgetIsHeldForTheOwnerOrRejected(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	r.Fault(sandbox.Fault{Kind: sandbox.Status, Status: 429, Times: 10})
	held := r.Until(r.Submit("bills.create", "k", bill).ID, "held", func(op *onefold.Operation) bool { return len(op.Holds) > 0 })
	if held.Holds[0].Reason != onefold.HoldRetryExhausted || len(held.Attempts) != 6 || held.OpenReviews()[0].Owner != "maria@acme.example" {
		t.Fatalf("holds %+v after %d attempts, reviews %+v", held.Holds, len(held.Attempts), held.Reviews)
	}
	agrees(t, r, held, 0, 6)
	rejected := r.UntilState(r.Submit("orders.create", "k", order).ID, onefold.Rejected)
	if rejected.Rejection.Code != "retry_exhausted" || len(rejected.Attempts) != 4 {
		t.Fatalf("rejection %+v after %d attempts", rejected.Rejection, len(rejected.Attempts))
	}
	// Releasing it starts a new budget.
	if _, err := r.Ledger.Release(context.Background(), rig.Operator(held, "the target is back"), onefold.HoldDecision{Reason: onefold.HoldRetryExhausted, Proceed: true}); err != nil {
		t.Fatal(err)
	}
	agrees(t, r, r.UntilState(held.ID, onefold.Confirmed), 1, 7)
}

// Proves: M24
func TestStartTimesAreKept(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Scan: 20 * time.Millisecond})
	now := time.Now()
	later, deadline := now.Add(300*time.Millisecond), now.Add(150*time.Millisecond)
	s := r.Submission("bills.create", "later", bill)
	s.NotBefore = &later
	op, _, err := r.Ledger.Submit(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	op = r.UntilState(op.ID, onefold.Confirmed)
	if op.Attempts[0].BegunAt.Before(later.Truncate(time.Microsecond)) {
		t.Errorf("begun %s, not before %s", op.Attempts[0].BegunAt, later)
	}
	if _, err := r.Store.PauseConnection(context.Background(), ref, operator, "by hand"); err != nil {
		t.Fatal(err)
	}
	s = r.Submission("bills.create", "deadline", bill)
	s.StartDeadline = &deadline
	deadline = time.Now().Add(150 * time.Millisecond)
	op, _, err = r.Ledger.Submit(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	op = r.UntilState(op.ID, onefold.Canceled)
	if op.KeyReleased {
		t.Error("a passed deadline released the key")
	}
	agrees(t, r, op, 0, 0)
}

// Proves: M27
func TestWhatProtectsTooLittleNeedsApprovalUntilItIsAcknowledged(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: edit("acknowledged: {by: maria@acme.example, date: 2026-11-29, reason: tests}", "acknowledged: null")})
	op := r.Submit("payments.send", "k", payment)
	if len(op.Holds) != 1 || op.Holds[0].Reason != onefold.HoldApproval || len(op.OpenReviews()) != 1 {
		t.Fatalf("holds %+v, reviews %+v", op.Holds, op.Reviews)
	}
	enforced := r.UntilState(r.Submit("bills.create", "k", bill).ID, onefold.Confirmed)
	agrees(t, r, enforced, 1, 1)
	if now, _ := r.Ledger.Operation(context.Background(), rig.Workspace, op.ID); len(now.Attempts) != 0 {
		t.Fatal("a held operation was attempted")
	}
	if _, err := r.Ledger.Release(context.Background(), rig.Operator(op, "approved"), onefold.HoldDecision{Reason: onefold.HoldApproval, Proceed: true}); err != nil {
		t.Fatal(err)
	}
	agrees(t, r, r.UntilState(op.ID, onefold.Confirmed), 1, 1)
}

// poisonous breaks in one method for one key.
type poisonous struct {
	onefold.Contracts
	where string
}

type poisonedBinding struct {
	onefold.Binding
	where string
}

func (p poisonous) Pinned(op *onefold.Operation) (onefold.Binding, error) {
	b, err := p.Contracts.Pinned(op)
	if err == nil && op.Key == "poison" {
		return poisonedBinding{b, p.where}, nil
	}
	return b, err
}

func (b poisonedBinding) Freeze(op *onefold.Operation, request []byte) (onefold.Frozen, error) {
	if b.where == "freeze" {
		panic("a mapping that breaks")
	}
	return b.Binding.Freeze(op, request)
}

func (b poisonedBinding) Judge(op *onefold.Operation, request []byte, x *onefold.Exchange, clean bool) (onefold.Answer, onefold.Evidence) {
	if b.where == "judge" {
		panic("an answer that breaks")
	}
	return b.Binding.Judge(op, request, x, clean)
}

func (b poisonedBinding) JudgeLookup(op *onefold.Operation, request []byte, x *onefold.Exchange) (onefold.LookupOutcome, onefold.Evidence) {
	if b.where == "lookup" {
		panic("a look-up that breaks")
	}
	return b.Binding.JudgeLookup(op, request, x)
}

// Proves: M16
func TestAPoisonOperationHarmsOnlyItself(t *testing.T) {
	t.Parallel()
	for where, want := range map[string]func(op *onefold.Operation) bool{
		// Nothing was begun: it waits for a person.
		"freeze": func(op *onefold.Operation) bool {
			return op.State == onefold.Prepared && len(op.Holds) == 1 && len(op.Attempts) == 0 && len(op.OpenReviews()) == 1
		},
		// Maybe sent: in doubt, and never guessed.
		"judge": func(op *onefold.Operation) bool {
			return op.Doubt != nil && op.Doubt.Reason == onefold.DoubtInternal || op.State == onefold.Confirmed
		},
		"lookup": func(op *onefold.Operation) bool { return op.State == onefold.Uncertain && len(op.OpenReviews()) == 1 },
	} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			r := rig.New(t, rig.Options{
				// What its own process begins with its admission is built before: see below.
				Idle:      true,
				Contracts: func(c onefold.Contracts) onefold.Contracts { return poisonous{c, where} },
				Edit:      edit("reconcile: {within: 20s", "reconcile: {within: 1s"),
			})
			if where == "lookup" {
				r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect})
			}
			op := r.Submit("orders.create", "poison", order)
			r.Start()
			r.Until(op.ID, "dealt with", want)
			for i := range 5 {
				agrees(t, r, r.UntilState(r.Submit("orders.create", fmt.Sprint("k-", i), order).ID, onefold.Confirmed), 1, 1)
			}
			if n := r.Effects(op.Reference); n > 1 {
				t.Errorf("the poison operation has %d effects", n)
			}
		})
	}
}

// Proves: M6
func TestADrainLetsCallsInFlightFinish(t *testing.T) {
	t.Parallel()
	g := newGate()
	r := rig.New(t, rig.Options{Wrap: g.wrap, Drain: time.Minute})
	op := r.Submit("bills.create", "k", bill)
	<-g.reached
	stopped := make(chan struct{})
	go func() { r.Stop(); close(stopped) }()
	select {
	case <-stopped:
		t.Error("the drain did not wait for the call in flight")
	case <-time.After(20 * time.Millisecond):
	}
	close(g.open)
	<-stopped
	agrees(t, r, r.UntilState(op.ID, onefold.Confirmed), 1, 1)
}

// Proves: M6, M10
func TestADrainThatTakesTooLongRecordsCallsAsUncertain(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Drain: time.Millisecond, Edit: edit("in_doubt: [replay, lookup, operator]", "in_doubt: [operator]")})
	r.Fault(sandbox.Fault{Kind: sandbox.Hang})
	op := r.Submit("bills.create", "slow", bill)
	r.Until(op.ID, "begun", func(op *onefold.Operation) bool { return len(op.Attempts) == 1 })
	r.Stop()
	op, err := r.Ledger.Operation(context.Background(), rig.Workspace, op.ID)
	if err != nil {
		t.Fatal(err)
	}
	// Cut off before or after the first byte: never lost, and never called failed.
	if op.Attempts[0].Verdict == onefold.VerdictNotSent {
		if op.State != onefold.Prepared {
			t.Errorf("nothing was sent, and the operation is %s", op.State)
		}
		return
	}
	if op.State != onefold.Uncertain || op.OpenAttempt() || len(op.OpenReviews()) != 1 {
		t.Errorf("after the drain: %s, %+v, reviews %+v", op.State, op.Attempts, op.Reviews)
	}
}

// Proves: I3, M22
func TestManyCallersWithOneKey(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	const n = 200
	ids, fresh := make([]string, n), atomic.Int64{}
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			op, replayed, err := r.Ledger.Submit(context.Background(), r.Submission("bills.create", "k", bill))
			if err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
			if !replayed {
				fresh.Add(1)
			}
			ids[i] = op.ID
		})
	}
	group.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("two operations: %s and %s", id, ids[0])
		}
	}
	if fresh.Load() != 1 {
		t.Errorf("%d callers admitted it", fresh.Load())
	}
	agrees(t, r, r.UntilState(ids[0], onefold.Confirmed), 1, 1)
}

// Proves: M7
func TestOneRunnerForAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "onefold.db")
	r := rig.New(t, rig.Options{Path: path})
	agrees(t, r, r.UntilState(r.Submit("bills.create", "k", bill).ID, onefold.Confirmed), 1, 1)
	second := rig.New(t, rig.Options{Path: path, Sandbox: r.Sandbox, Idle: true})
	run, err := runner.New(second.Ledger, carrier{}, runner.Config{Worker: "second", Boot: bootclock.Now})
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Run(context.Background()); !errors.Is(err, onefold.ErrRunnerTaken) {
		t.Fatalf("a second runner: %v, want that the place is taken", err)
	}
}

// poisonousAtOnce breaks in one method of the binding under which an operation is
// admitted, for one capability.
type poisonousAtOnce struct {
	onefold.Contracts
	where string
}

func (p poisonousAtOnce) Bind(workspace, capability string, version int, connection string) (onefold.Binding, error) {
	b, err := p.Contracts.Bind(workspace, capability, version, connection)
	if err == nil && capability == "orders.create" {
		return poisonedBinding{b, p.where}, nil
	}
	return b, err
}

// Proves: M4, M16
func TestAPoisonOperationThatIsBegunAtOnceHarmsOnlyItself(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"freeze", "judge"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			r := rig.New(t, rig.Options{Contracts: func(c onefold.Contracts) onefold.Contracts { return poisonousAtOnce{c, where} }})
			r.UntilState(r.Submit("bills.create", "first", bill).ID, onefold.Confirmed)
			op, _, err := r.Ledger.Submit(context.Background(), r.Submission("orders.create", "poison", order))
			if where == "freeze" {
				if !errors.Is(err, onefold.ErrInternal) {
					t.Errorf("the caller was told %v", err)
				}
				if _, found, err := r.Store.Claimed(context.Background(), onefold.ClaimKey{Workspace: rig.Workspace, Capability: "orders.create", Key: "poison"}); err != nil || found {
					t.Errorf("a claim is there: %v, %v", found, err)
				}
			} else {
				if err != nil {
					t.Fatal(err)
				}
				// The look-up finds what the answer could not tell.
				agrees(t, r, r.UntilState(op.ID, onefold.Confirmed), 1, 1)
			}
			for i := range 3 {
				agrees(t, r, r.UntilState(r.Submit("bills.create", fmt.Sprint("k-", i), billOf(i)).ID, onefold.Confirmed), 1, 1)
			}
		})
	}
}
