package fieldcases

import (
	"context"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/rig"
	"github.com/onefold-dev/onefold/sandbox"
)

// house is one file and one target, in which one process dies and the next one
// goes on.
type house struct {
	path  string
	first *rig.Rig
	death *mortal
}

// mortalHouse starts a process that dies at the given moment.
func mortalHouse(t *testing.T, death *mortal, o rig.Options) *house {
	t.Helper()
	h := &house{path: filepath.Join(t.TempDir(), "onefold.db"), death: death}
	o.Path, o.Store, o.Drain = h.path, death.wrap, soon
	h.first = rig.New(t, o)
	return h
}

// next waits for the death and starts another process on the same file.
func (h *house) next(t *testing.T, o rig.Options) *rig.Rig {
	t.Helper()
	select {
	case <-h.death.died:
	case <-time.After(time.Minute):
		t.Fatal("the process never came to the point at which it dies")
	}
	h.first.Stop()
	o.Path, o.Sandbox = h.path, h.first.Sandbox
	return rig.New(t, o)
}

// A call hung, the process was started again, and once a month a payment was made twice.
//
// Proves: M4, M10, M12a
func TestC17RestartInTheMiddleOfACall(t *testing.T) {
	t.Parallel()
	h := mortalHouse(t, dying(onefold.EventAnswered, ""), rig.Options{})
	op := h.first.Submit("orders.create", "k", order)
	r := h.next(t, rig.Options{})
	op = r.UntilState(op.ID, onefold.Confirmed)
	agrees(t, r, op, 1, 1)
	if a := op.Attempts[0]; a.ClosedBy != onefold.ClosedByProcessEnd || a.Verdict != onefold.VerdictUnknown || op.Result.LearntFrom != onefold.LearntFromLookup {
		t.Errorf("attempt %+v, learnt from %s", a, op.Result.LearntFrom)
	}
}

// holdBegin holds the first begin up, before it is written, until it may go on.
type holdBegin struct {
	onefold.Store
	once   sync.Once
	held   chan struct{}
	goOn   chan struct{}
	refuse atomic.Pointer[error]
}

func (h *holdBegin) wrap(s onefold.Store) onefold.Store {
	h.Store = s
	return h
}

func (h *holdBegin) Step(ctx context.Context, id string, ev onefold.Event, v int64) (onefold.Committed, error) {
	if err := noRenewals(ev); err != nil {
		return onefold.Committed{}, err
	}
	return h.Store.Step(ctx, id, ev, v)
}

func (h *holdBegin) StepBegin(ctx context.Context, id string, ev onefold.Event, f onefold.Frozen) (onefold.Committed, error) {
	first := false
	h.once.Do(func() { first = true })
	if !first {
		return h.Store.StepBegin(ctx, id, ev, f)
	}
	close(h.held)
	<-h.goOn
	c, err := h.Store.StepBegin(ctx, id, ev, f)
	h.refuse.Store(&err)
	return c, err
}

// A claim without an end: after a kill every retry heard "in progress" until the record ran out.
//
// Proves: M8, M10, M12a
func TestC63InProgressForEver(t *testing.T) {
	t.Parallel()
	t.Run("hung before the send", func(t *testing.T) {
		t.Parallel()
		h := &holdBegin{held: make(chan struct{}), goOn: make(chan struct{})}
		r := rig.New(t, rig.Options{Store: h.wrap, Lease: short, Scan: soon})
		op := r.Submit("orders.create", "k", order)
		<-h.held
		op = r.UntilState(op.ID, onefold.Confirmed)
		close(h.goOn)
		r.Stop()
		if err := h.refuse.Load(); err == nil || *err == nil {
			t.Error("the first holder could still begin")
		}
		agrees(t, r, now(t, r, op), 1, 1)
	})
	t.Run("killed after the send", func(t *testing.T) {
		t.Parallel()
		h := mortalHouse(t, dying(onefold.EventAnswered, ""), rig.Options{Edit: patient})
		op := h.first.Submit("payments.send", "k", payment)
		r := h.next(t, rig.Options{Edit: patient})
		replays(t, r, op, payment)
		agrees(t, r, r.UntilState(op.ID, onefold.Confirmed), 1, 1)
	})
}

// The mend for "in progress for ever" ran a withdrawal of unknown outcome again as soon as the claim's time was over.
//
// Proves: M10, M11, M16
func TestC64ExpiredClaimSendsAWithdrawalAgain(t *testing.T) {
	t.Parallel()
	out, hang := make(chan struct{}), make(chan struct{})
	var first sync.Once
	r := rig.New(t, rig.Options{
		Lease: short, Scan: soon, Store: stepsIf(noRenewals),
		Wrap: carryBy(func(ctx context.Context, c onefold.Carrier, d onefold.Dispatch) onefold.Exchange {
			x := c.Carry(ctx, d)
			if d.Write {
				first.Do(func() { close(out) })
				<-hang // the answer is never told
			}
			return x
		}),
	})
	defer close(hang)
	r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect})
	r.Fault(sandbox.Fault{Kind: sandbox.Status, Status: 503, Method: "GET", Times: 1000})
	op := r.Submit("payments.send", "wd-1", payment)
	<-out
	op = r.UntilState(op.ID, onefold.Uncertain)
	if again := replays(t, r, op, payment); again.State != onefold.Uncertain {
		t.Errorf("the same key hears %s", again.State)
	}
	op = inReview(r, op)
	replays(t, r, op, payment)
	agrees(t, r, op, 1, 1)
	if op.OpenReviews()[0].Owner != "maria@acme.example" {
		t.Errorf("review %+v", op.OpenReviews()[0])
	}
}

// A job was taken for dead after six minutes and took nine: it ran two and three times over, for a week.
//
// Proves: M9
func TestC66HealthyWorkerTakenForDead(t *testing.T) {
	t.Parallel()
	var renewed, expired atomic.Int64
	r := rig.New(t, rig.Options{Lease: 300 * time.Millisecond, Scan: soon, Store: stepsIf(func(ev onefold.Event) error {
		if ev.Kind == onefold.EventRenewed {
			renewed.Add(1)
		}
		if ev.Kind == onefold.EventLeaseExpired {
			expired.Add(1)
		}
		return nil
	})})
	r.Fault(sandbox.Fault{Kind: sandbox.Delay, Before: 900 * time.Millisecond})
	op := r.UntilState(r.Submit("bills.create", "k", bill).ID, onefold.Confirmed)
	agrees(t, r, op, 1, 1)
	if len(op.Attempts) != 1 || renewed.Load() < 3 || expired.Load() != 0 {
		t.Errorf("%d attempts, %d renewals, %d expiries; want one attempt that was renewed while it ran", len(op.Attempts), renewed.Load(), expired.Load())
	}
}

// A queue gave the same long mailing out every hour until the first run was over: everybody got it four times.
//
// Proves: M22, I4
func TestC67QueueDeliversTheSameTaskFourTimes(t *testing.T) {
	t.Parallel()
	c := &clock{}
	r := rig.New(t, rig.Options{Now: c.now, SandboxOptions: c.target, Scan: soon})
	mailing := []string{"S-1", "S-2", "S-3"}
	for delivery := range 4 {
		for _, to := range mailing {
			op, replayed, err := submit(r, "orders.create", "mailing-8:"+to, `{"supplier":"`+to+`","item":"letter","quantity":1}`)
			if err != nil || replayed != (delivery > 0) {
				t.Fatalf("delivery %d to %s: %v, replayed %v", delivery, to, err, replayed)
			}
			agrees(t, r, r.UntilState(op.ID, onefold.Confirmed), 1, 1)
		}
		c.forward(r, time.Hour)
	}
	totals(t, r, len(mailing), len(mailing))
}

// A job was marked as expired while it still ran; nothing stopped its next send.
//
// Proves: M8, M9, M10
func TestC68ExpiredHolderWakesUpAndSends(t *testing.T) {
	t.Parallel()
	asleep, wake := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	r := rig.New(t, rig.Options{
		Lease: short, Scan: soon, Store: stepsIf(noRenewals),
		Wrap: carryBy(func(ctx context.Context, c onefold.Carrier, d onefold.Dispatch) onefold.Exchange {
			if d.Write && first.CompareAndSwap(false, true) {
				close(asleep)
				<-wake
			}
			return c.Carry(ctx, d)
		}),
	})
	op := r.Submit("payments.send", "k", payment)
	<-asleep
	op = r.UntilState(op.ID, onefold.Uncertain)
	agrees(t, r, op, 0, 0)
	close(wake)
	op = r.UntilState(op.ID, onefold.Confirmed)
	agrees(t, r, op, 1, 1)
	if len(op.Attempts) < 2 || op.Attempts[0].ClosedBy != onefold.ClosedByReport {
		t.Errorf("attempts %+v; want a first that reported late", op.Attempts)
	}
	// However often a holder overslept its lease, it was told that it may not send.
	for i, a := range op.Attempts {
		want := onefold.VerdictNotSent
		if i == len(op.Attempts)-1 {
			want = onefold.VerdictConfirmed
		}
		if a.Verdict != want {
			t.Errorf("attempt %d ended as %s, want %s", a.Number, a.Verdict, want)
		}
	}
}

// A sweeper deleted what it had read as expired, although it had been renewed in between.
//
// Proves: M8, M10
func TestC82SweepOfWhatWasJustRenewed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := &clock{}
	r := rig.New(t, rig.Options{Idle: true, Now: c.now})
	op := r.Submit("bills.create", "k", bill)
	worker := onefold.Actor{Kind: onefold.ActorWorker, Name: "w"}
	step := func(ev onefold.Event) (onefold.Committed, error) { return r.Ledger.Step(ctx, op.ID, ev, 0) }
	leased, err := step(onefold.Event{Kind: onefold.EventLeased, Actor: worker, Lease: &onefold.LeaseGrant{Worker: "w", For: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	token := leased.Operation.Lease.Token
	// The sweep reads the lease as over …
	stale, err := r.Store.Overdue(ctx, c.now().Add(2*time.Minute), 10)
	if err != nil || len(stale) != 1 {
		t.Fatalf("%v: %d overdue, want the one", err, len(stale))
	}
	// … it is renewed …
	if _, err := step(onefold.Event{Kind: onefold.EventRenewed, Actor: worker, Lease: &onefold.LeaseGrant{Token: token, For: time.Hour}}); err != nil {
		t.Fatal(err)
	}
	c.ahead.Add(int64(2 * time.Minute))
	// … and what the sweep then does must not hold.
	if _, err := step(onefold.Event{Kind: onefold.EventLeaseExpired, Lease: &onefold.LeaseGrant{Token: token}}); err == nil {
		t.Error("a lease that was renewed was ended by a stale read")
	}
	if op := now(t, r, op); op.Lease == nil || op.Lease.Token != token {
		t.Errorf("the lease is %+v", op.Lease)
	}
	// Once it is over, it is over for everybody, whether a sweep came by or not.
	c.ahead.Add(int64(2 * time.Hour))
	if _, err := step(onefold.Event{Kind: onefold.EventLeaseExpired, Lease: &onefold.LeaseGrant{Token: token}}); err != nil {
		t.Errorf("an expired lease could not be ended: %v", err)
	}
}

// A sweeper ran into serialization errors several times an hour, gave up, and orphans piled up.
//
// Proves: M10
func TestC123SweeperMeetsErrors(t *testing.T) {
	t.Parallel()
	const many = 10
	var tried atomic.Int64
	hang := make(chan struct{})
	r := rig.New(t, rig.Options{
		Lease: 3 * short, Scan: soon, Edit: edit("in_doubt: [replay, lookup, operator]", "in_doubt: [operator]"),
		Store: stepsIf(func(ev onefold.Event) error {
			if ev.Kind == onefold.EventLeaseExpired && tried.Add(1)%2 == 1 {
				return &onefold.Error{Code: onefold.CodeStoreUnavailable, Message: "could not serialize access"}
			}
			return noRenewals(ev)
		}),
		Wrap: carryBy(func(ctx context.Context, c onefold.Carrier, d onefold.Dispatch) onefold.Exchange {
			if d.Write {
				<-hang
				return onefold.Exchange{Failure: "no_answer"}
			}
			return c.Carry(ctx, d)
		}),
	})
	defer close(hang)
	var ops []onefold.Operation
	for i := range many {
		ops = append(ops, r.Submit("bills.create", key("k", i), bill))
	}
	for _, op := range ops {
		if op = r.UntilState(op.ID, onefold.Uncertain); op.Doubt.Reason != onefold.DoubtLeaseExpired {
			t.Errorf("doubt %+v", op.Doubt)
		}
	}
	// Every second try failed. A slow machine loses a lease before the begin too.
	if n := tried.Load(); n < 2*many || n > 6*many {
		t.Errorf("%d tries for %d expired leases", n, many)
	}
}

// A job whose work was done died while it wrote its logs, was marked as failed, and ran again.
//
// Proves: M6, M10
func TestC130SucceededAndMarkedFailed(t *testing.T) {
	t.Parallel()
	h := mortalHouse(t, dying("", onefold.EventAnswered), rig.Options{})
	op := h.first.Submit("orders.create", "k", order)
	r := h.next(t, rig.Options{})
	op = r.UntilState(op.ID, onefold.Confirmed)
	agrees(t, r, op, 1, 1)
	if op.Result.LearntFrom != onefold.LearntFromResponse || len(wire(t, r, "GET")) != 0 {
		t.Errorf("learnt from %s after %d look-ups; the answer had been stored", op.Result.LearntFrom, len(wire(t, r, "GET")))
	}
	if again := replays(t, r, op, order); again.State != onefold.Confirmed {
		t.Errorf("the same key hears %s", again.State)
	}
}

// Rows that always failed stood at the head of the queue: for hours nothing new was reached.
//
// Proves: M16
func TestC76FailedRowsAtTheHeadOfTheQueue(t *testing.T) {
	t.Parallel()
	const failing, slots = 40, 8
	r := rig.New(t, rig.Options{Edit: also(patient, edit("in_flight: 64, unresolved: 100", "in_flight: 8, unresolved: 500"))})
	r.Fault(sandbox.Fault{Kind: sandbox.Status, Status: 429, Path: "/bills", Times: 100_000})
	r.Fault(sandbox.Fault{Kind: sandbox.DropBefore, Path: "/payments"})
	r.Fault(sandbox.Fault{Kind: sandbox.Status, Status: 503, Method: "GET", Times: 100_000})
	blocked := r.Submit("payments.send", "blocked", payment)
	var ops []onefold.Operation
	for i := range failing {
		ops = append(ops, r.Submit("bills.create", key("bad", i), bill))
	}
	for _, op := range ops {
		r.Until(op.ID, "tried", func(op *onefold.Operation) bool { return len(op.Attempts) > 0 })
	}
	before := len(wire(t, r, "POST"))
	good := r.UntilState(r.Submit("orders.create", "good", order).ID, onefold.Confirmed)
	agrees(t, r, good, 1, 1)
	ahead := 0
	for _, q := range wire(t, r, "POST")[before:] {
		if q.Reference == good.Reference {
			break
		}
		ahead++
	}
	// Whatever was due earlier may go first, each once, and what was out already.
	if ahead > failing+2*slots {
		t.Errorf("%d requests went before the good one", ahead)
	}
	if blocked = now(t, r, blocked); blocked.Settled() {
		t.Errorf("the blocked one is %s", blocked.State)
	}
}
