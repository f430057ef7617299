package contend

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/rig"
	"github.com/onefold-dev/onefold/sandbox"
)

// tap calls a function before and after steps on their way to the store.
type tap struct {
	onefold.Store
	before, after func(id string, kind onefold.EventKind)
}

func (s *tap) wrap(inner onefold.Store) onefold.Store { s.Store = inner; return s }

func (s *tap) around(id string, kind onefold.EventKind, step func() (onefold.Committed, error)) (onefold.Committed, error) {
	if s.before != nil {
		s.before(id, kind)
	}
	c, err := step()
	if err == nil && s.after != nil {
		s.after(id, kind)
	}
	return c, err
}

func (s *tap) Step(ctx context.Context, id string, ev onefold.Event, v int64) (onefold.Committed, error) {
	return s.around(id, ev.Kind, func() (onefold.Committed, error) { return s.Store.Step(ctx, id, ev, v) })
}

func (s *tap) StepBegin(ctx context.Context, id string, ev onefold.Event, f onefold.Frozen) (onefold.Committed, error) {
	return s.around(id, ev.Kind, func() (onefold.Committed, error) { return s.Store.StepBegin(ctx, id, ev, f) })
}

// moment is a point of an attempt at which somebody withdraws the operation.
type moment string

const (
	whenLeased    moment = "when it was leased"
	beforeBegin   moment = "before the begin is stored"
	whenBegun     moment = "when it was begun"
	atTheTarget   moment = "when the request is at the target"
	afterEffect   moment = "when the effect is there"
	beforeAnswer  moment = "before the answer is stored"
	afterTheEnd   moment = "when the answer is stored"
	nothingSent          = 0
	oneRequest           = 1
	confirmedThen        = onefold.Confirmed
)

// withdrawal is what has to come of a withdrawal at a moment, where the target
// accepts the request, and where it loses it unread.
type withdrawal struct {
	moment  moment
	writes  int
	accepts onefold.State
	loses   onefold.State
}

func withdrawals() []withdrawal {
	return []withdrawal{
		{whenLeased, nothingSent, onefold.Canceled, onefold.Canceled},
		{beforeBegin, nothingSent, onefold.Canceled, onefold.Canceled},
		{whenBegun, nothingSent, onefold.Canceled, onefold.Canceled},
		{atTheTarget, oneRequest, confirmedThen, onefold.Canceled},
		{afterEffect, oneRequest, confirmedThen, ""},
		{beforeAnswer, oneRequest, confirmedThen, onefold.Canceled},
		{afterTheEnd, oneRequest, confirmedThen, onefold.Canceled},
	}
}

// Proves: M8, M11, M11c, M12, M24
func TestAWithdrawalAtEveryPointOfAnAttempt(t *testing.T) {
	t.Parallel()
	for _, w := range withdrawals() {
		for lost, ends := range map[bool]onefold.State{false: w.accepts, true: w.loses} {
			if ends == "" {
				continue // there is no such moment
			}
			t.Run(fmt.Sprintf("%s/lost %v", w.moment, lost), func(t *testing.T) {
				t.Parallel()
				withdrawnAt(t, w, lost, ends)
			})
		}
	}
}

func withdrawnAt(t *testing.T, w withdrawal, lost bool, ends onefold.State) {
	var (
		r    *rig.Rig
		once sync.Once
		took = make(chan error, 1)
		got  onefold.Operation
	)
	withdraw := func(now moment, id string) {
		if now != w.moment {
			return
		}
		once.Do(func() {
			var err error
			got, err = r.Ledger.Cancel(context.Background(), rig.Operator(onefold.Operation{Admitted: onefold.Admitted{ID: id}}, "changed my mind"), true)
			took <- err
		})
	}
	ids := make(chan string, 1)
	theOne := sync.OnceValue(func() string { return <-ids })
	steps := &tap{
		before: func(id string, kind onefold.EventKind) {
			switch kind {
			case onefold.EventBegun:
				withdraw(beforeBegin, id)
			case onefold.EventAnswered:
				withdraw(beforeAnswer, id)
			default:
			}
		},
		after: func(id string, kind onefold.EventKind) {
			switch kind {
			case onefold.EventLeased:
				withdraw(whenLeased, id)
			case onefold.EventBegun:
				withdraw(whenBegun, id)
			case onefold.EventAnswered:
				withdraw(afterTheEnd, id)
			default:
			}
		},
	}
	r = rig.New(t, rig.Options{Store: steps.wrap, SandboxOptions: func(o *sandbox.Options) {
		o.Received = func(q sandbox.Request) {
			if q.Method == "POST" {
				withdraw(atTheTarget, theOne())
			}
		}
		o.Performed = func(sandbox.Effect) { withdraw(afterEffect, theOne()) }
	}})
	if lost {
		r.Fault(sandbox.Fault{Kind: sandbox.DropBefore})
	}
	op := r.Submit("orders.create", "k", `{"supplier":"S-81","item":"bolt","quantity":12}`)
	ids <- op.ID
	err := <-took
	switch {
	case w.moment == afterTheEnd && !lost:
		if onefold.CodeOf(err) != onefold.CodeAlreadySettled {
			t.Errorf("a withdrawal after the end got %v", err)
		}
	case err != nil:
		t.Fatalf("the withdrawal got %v", err)
	case got.State != onefold.Canceled && !got.IsBarred(onefold.BarWithdrawn):
		t.Errorf("the withdrawal was accepted, and nothing bars a further send: %s %v", got.State, got.Barred)
	}
	end := r.Until(op.ID, "settled", func(op *onefold.Operation) bool { return op.Settled() })
	r.Stop()
	effects := 0
	if ends == onefold.Confirmed {
		effects = 1
	}
	if end.State != ends || end.Contradicted || r.Effects(op.Reference) != effects || r.Writes(op.Reference) != w.writes {
		t.Errorf("it ended %s with %d effects and %d requests, want %s, %d and %d", end.State, r.Effects(op.Reference), r.Writes(op.Reference), ends, effects, w.writes)
	}
	if got.State == onefold.Canceled && end.State != onefold.Canceled {
		t.Errorf("the caller was told canceled, it ended %s", end.State)
	}
}

// Withdrawals come at any time and from several sides: what was said stays true.
//
// Proves: M6, M8, M19a, M24
func TestWithdrawalsAtAnyTime(t *testing.T) {
	t.Parallel()
	const n = 120
	r := rig.New(t, rig.Options{})
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // not a secret
	requests := map[string]string{
		"bills.create":  `{"supplier":"S-1","number":"N-%d","total":"1.00"}`,
		"orders.create": `{"supplier":"S-1","item":"bolt-%d","quantity":1}`,
	}
	for range n / 8 {
		r.Fault(sandbox.Fault{Kind: []sandbox.Kind{sandbox.DropAfterEffect, sandbox.DropBefore, sandbox.Redirect}[chance.IntN(3)]})
	}
	moments := []func(*onefold.Operation) bool{
		func(*onefold.Operation) bool { return true },
		func(op *onefold.Operation) bool { return op.State != onefold.Prepared },
		func(op *onefold.Operation) bool { return op.State == onefold.Uncertain || op.Settled() },
	}
	canceled := make([]atomic.Bool, n)
	ids := make([]string, n)
	var group sync.WaitGroup
	for i := range n {
		capability := []string{"bills.create", "orders.create"}[chance.IntN(2)]
		when := moments[chance.IntN(len(moments))]
		group.Go(func() {
			op, _, err := r.Ledger.Submit(context.Background(), r.Submission(capability, fmt.Sprint("k-", i), fmt.Sprintf(requests[capability], i)))
			if err != nil {
				t.Errorf("submit: %v", err)
				return
			}
			ids[i] = op.ID
			r.Until(op.ID, "where it is to be withdrawn", when)
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() {
					op, err := r.Ledger.Cancel(context.Background(), rig.Operator(op, "changed my mind"), true)
					if err != nil && onefold.CodeOf(err) != onefold.CodeAlreadySettled {
						t.Errorf("cancel: %v", err)
					}
					if err == nil && op.State == onefold.Canceled {
						canceled[i].Store(true)
					}
				})
			}
			both.Wait()
		})
	}
	group.Wait()
	ended := map[onefold.State]int{}
	for i, id := range ids {
		op := r.Until(id, "settled", func(op *onefold.Operation) bool { return op.Settled() })
		ended[op.State]++
		if canceled[i].Load() && op.State != onefold.Canceled {
			t.Errorf("%s was told to be canceled and is %s", id, op.State)
		}
	}
	t.Log(ended)
	if ended[onefold.Canceled] == 0 || ended[onefold.Confirmed] == 0 {
		t.Errorf("all ended alike: %v", ended)
	}
	conserved(t, r)
}
