package contend

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/bootclock"
	"github.com/onefold-dev/onefold/internal/rig"
	"github.com/onefold-dev/onefold/sandbox"
)

// A day passes by the store's clock while the target may still be at work on a
// lost request: that nothing is found proves nothing.
//
// Proves: M12, M16
func TestAClockThatJumpsProvesNoAbsence(t *testing.T) {
	t.Parallel()
	clock := &turned{}
	r := rig.New(t, rig.Options{Now: clock.Now, Boot: bootclock.Now, Scan: 20 * time.Millisecond, Edit: func(docs string) string {
		return strings.Replace(docs, "processing: 1s\n", "processing: 1m\n", 1)
	}})
	r.Fault(sandbox.Fault{Kind: sandbox.DropBefore})
	op := r.UntilState(r.Submit("orders.create", "k", `{"supplier":"S-81","item":"bolt","quantity":12}`).ID, onefold.Uncertain)
	clock.by.Add(int64(24 * time.Hour))
	op = r.Until(op.ID, "its owner's", func(op *onefold.Operation) bool { return len(op.OpenReviews()) > 0 || op.State != onefold.Uncertain })
	if op.State != onefold.Uncertain || r.Writes(op.Reference) != 1 {
		t.Errorf("it is %s after %d requests", op.State, r.Writes(op.Reference))
	}
}

// Two days pass by the store's clock while a worker is at work: its silence is
// measured by a clock that does not jump.
//
// Proves: M8, M12a
func TestAClockThatJumpsClosesNoAttempt(t *testing.T) {
	t.Parallel()
	clock := &turned{}
	r, op, tell := inDoubt(t, clock)
	for i := range 3 {
		clock.by.Add(int64(24 * time.Hour))
		r.UntilState(r.Submit("bills.create", fmt.Sprint("other-", i), fmt.Sprintf(`{"supplier":"S-1","number":"N-%d","total":"1.00"}`, i)).ID, onefold.Confirmed)
	}
	now, err := r.Store.Operation(t.Context(), rig.Workspace, op.ID)
	if err != nil || !now.OpenAttempt() {
		t.Errorf("the attempt was closed while its worker works: %v %+v", err, now.Attempts)
	}
	tell()
	end := r.UntilState(op.ID, onefold.Confirmed)
	if end.Attempts[0].ClosedBy == onefold.ClosedByStraggler {
		t.Errorf("the attempt is closed by %s", end.Attempts[0].ClosedBy)
	}
}

// The store's clock steps back while a repetition waits: the target's window, which
// is over, seems open again. Nothing is sent on it.
//
// Proves: M11a, M9
func TestAClockThatStepsBackReopensNoWindow(t *testing.T) {
	t.Parallel()
	clock := &turned{}
	r := rig.New(t, rig.Options{Now: clock.Now, Boot: bootclock.Now, Scan: 20 * time.Millisecond, Edit: strings.NewReplacer(
		// Open for a second: the rest is the write's time-out and the clock's error.
		"window: {guaranteed: 24h,", "window: {guaranteed: 3500ms,",
		"retry: {attempts: 6, within: 1m, backoff: {first: 20ms, factor: 2, max: 200ms}", "retry: {attempts: 6, within: 1m, backoff: {first: 800ms, factor: 1, max: 800ms}",
	).Replace})
	r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect})
	op := r.Until(r.Submit("bills.create", "k", `{"supplier":"S-1","number":"N-1","total":"1.00"}`).ID, "to be repeated", func(op *onefold.Operation) bool {
		return op.State == onefold.Uncertain && op.Next == onefold.NextReplay
	})
	clock.by.Add(int64(-time.Second))
	end := r.UntilState(op.ID, onefold.Confirmed)
	if r.Writes(op.Reference) != 1 || r.Effects(op.Reference) != 1 || end.Result.LearntFrom != onefold.LearntFromLookup {
		t.Errorf("%d requests, %d effects, learnt from %s; attempts %+v", r.Writes(op.Reference), r.Effects(op.Reference), end.Result.LearntFrom, end.Attempts)
	}
}
