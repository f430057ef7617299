package runner_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/rig"
)

func billOf(n int) string {
	return fmt.Sprintf(`{"supplier":"S","number":"%d","total":"1"}`, n)
}

// TestWhatIsAdmittedIsBegunWithItWhereThereIsAPlace submits with a runner in the
// process and without one.
//
// Proves: M4, M7
func TestWhatIsAdmittedIsBegunWithItWhereThereIsAPlace(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Idle: true})
	waits := r.Submit("bills.create", "waits", billOf(0))
	if waits.State != onefold.Prepared || len(waits.Attempts) != 0 {
		t.Fatalf("without a runner it is %s with %d attempts", waits.State, len(waits.Attempts))
	}
	r.Start()
	agrees(t, r, r.UntilState(waits.ID, onefold.Confirmed), 1, 1)
	begun := r.Submit("bills.create", "begun", billOf(1))
	if begun.State != onefold.Attempting || len(begun.Attempts) != 1 || begun.Lease == nil {
		t.Fatalf("with a runner it is %s with %d attempts", begun.State, len(begun.Attempts))
	}
	agrees(t, r, r.UntilState(begun.ID, onefold.Confirmed), 1, 1)
}

// TestWhatWaitsGoesFirst lets one operation at a time out, and submits a new one
// whenever one has ended: none overtakes those that wait.
func TestWhatWaitsGoesFirst(t *testing.T) {
	t.Parallel()
	var (
		mu    sync.Mutex
		order []string
		out   = make(chan string)
		on    = make(chan struct{})
	)
	gate := func(c onefold.Carrier) onefold.Carrier {
		return carrierFunc(c, func(ctx context.Context, d onefold.Dispatch) onefold.Exchange {
			mu.Lock()
			order = append(order, d.Operation.ID)
			mu.Unlock()
			out <- d.Operation.ID
			<-on
			return c.Carry(ctx, d)
		})
	}
	r := rig.New(t, rig.Options{Wrap: gate, Edit: edit("in_flight: 64", "in_flight: 1")})
	var want []string
	next := func() {
		op := r.Submit("bills.create", fmt.Sprint("k-", len(want)), billOf(len(want)))
		want = append(want, op.ID)
	}
	const waiting, rounds = 4, 12
	next()
	<-out // the first has the place
	for range waiting {
		next()
	}
	for range rounds {
		on <- struct{}{}
		next()
		<-out
	}
	for range waiting {
		on <- struct{}{}
		<-out
	}
	on <- struct{}{}
	for _, id := range want {
		r.UntilState(id, onefold.Confirmed)
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(order, want) {
		t.Errorf("they were carried out in the order\n%v\nand submitted in\n%v", order, want)
	}
}

// canceling gives its caller up in the middle of an admission: after the place was
// taken and before the store is asked.
type canceling struct {
	onefold.Carrier
	giveUp func()
}

func (c canceling) CredentialDigest(ctx context.Context, r onefold.Route) (string, error) {
	c.giveUp()
	return c.Carrier.CredentialDigest(context.WithoutCancel(ctx), r)
}

// TestACallerThatGivesUpWhileItsOperationIsBegun finds the operation carried out: a
// lease that nobody uses would keep everybody away.
//
// Proves: M4, M10
func TestACallerThatGivesUpWhileItsOperationIsBegun(t *testing.T) {
	t.Parallel()
	var now atomic.Pointer[context.CancelFunc]
	r := rig.New(t, rig.Options{Wrap: func(c onefold.Carrier) onefold.Carrier {
		return canceling{c, func() {
			if giveUp := now.Load(); giveUp != nil {
				(*giveUp)()
			}
		}}
	}})
	r.UntilState(r.Submit("bills.create", "first", billOf(1)).ID, onefold.Confirmed)
	ctx, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	now.Store(&giveUp)
	op, _, err := r.Ledger.Submit(ctx, r.Submission("bills.create", "k", billOf(0)))
	if err != nil || op.State != onefold.Attempting {
		t.Fatalf("the caller was told %v; the operation is %q", err, op.State)
	}
	if ctx.Err() == nil {
		t.Fatal("the caller did not give up")
	}
	done := r.UntilState(op.ID, onefold.Confirmed)
	if len(done.Attempts) != 1 {
		t.Errorf("it took %d attempts", len(done.Attempts))
	}
	agrees(t, r, done, 1, 1)
}
