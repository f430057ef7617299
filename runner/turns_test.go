package runner_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/rig"
)

// TestLookUpsAndWritesTakeTurns lets one request at a time out, while more writes
// wait than look-ups: neither kind waits for the other's queue.
//
// Proves: M16
func TestLookUpsAndWritesTakeTurns(t *testing.T) {
	t.Parallel()
	const doubts, writes = 3, 8
	var (
		mu    sync.Mutex
		kinds []bool // in the order in which they went out: writes or not
		count bool
	)
	target := func(c onefold.Carrier) onefold.Carrier {
		return carrierFunc(c, func(ctx context.Context, d onefold.Dispatch) onefold.Exchange {
			mu.Lock()
			defer mu.Unlock()
			if !count {
				return onefold.Exchange{Failure: "no_answer"} // a doubt, and no answer to it
			}
			kinds = append(kinds, d.Write)
			return c.Carry(ctx, d)
		})
	}
	r := rig.New(t, rig.Options{Wrap: target, Edit: edit("in_flight: 64", "in_flight: 1")})
	for i := range doubts {
		op := r.Submit("orders.create", fmt.Sprint("doubt-", i), order)
		r.Until(op.ID, "in doubt", func(op *onefold.Operation) bool { return op.State == onefold.Uncertain })
	}
	r.Stop()
	var all []string
	for i := range writes {
		all = append(all, r.Submit("orders.create", fmt.Sprint("write-", i), order).ID)
	}
	doubtful, _, err := r.Store.List(context.Background(), onefold.Query{Workspace: rig.Workspace, State: onefold.Uncertain, Limit: 10})
	if err != nil || len(doubtful) != doubts {
		t.Fatalf("%d doubts, error %v", len(doubtful), err)
	}
	for i := range doubtful {
		r.Until(doubtful[i].ID, "due", func(op *onefold.Operation) bool { return op.Due != nil && op.Due.Before(time.Now()) })
	}
	mu.Lock()
	count = true
	mu.Unlock()
	r.Start()
	for _, id := range all {
		r.UntilState(id, onefold.Confirmed)
	}
	mu.Lock()
	defer mu.Unlock()
	asked, sent := 0, 0
	for _, write := range kinds {
		if write {
			sent++
		} else {
			asked++
		}
		if asked == doubts {
			break
		}
		if ahead := sent - asked; ahead > 1 || ahead < -1 {
			t.Fatalf("they did not take turns: writes %v", kinds)
		}
	}
	if asked < doubts {
		t.Errorf("%d of %d doubts were looked up before the last write: %v", asked, doubts, kinds)
	}
}
