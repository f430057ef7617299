package faultvfs_test

import (
	"context"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/rig"
)

// TestAnAdmissionWithItsBeginOfWhichNobodyKnows lets the one commit fail that stores
// an operation with its lease and its first attempt, while a runner is there to
// carry it out: nothing is sent on it, the caller is told the truth, and the same
// key has one effect.
//
// Proves: I3, M4, M6, M10, M11
func TestAnAdmissionWithItsBeginOfWhichNobodyKnows(t *testing.T) {
	t.Parallel()
	for _, tr := range troubles() {
		for capability, request := range map[string]string{"bills.create": bill, "orders.create": order} {
			t.Run(tr.name+"/"+capability, func(t *testing.T) {
				t.Parallel()
				disk := newDisk()
				r := rig.New(t, faulty(disk))
				// The first operation shows that what is admitted here is begun at once.
				first := r.UntilState(r.Submit(capability, "first", request).ID, onefold.Confirmed)
				if len(first.Attempts) != 1 {
					t.Fatalf("the first operation: %+v", first.Attempts)
				}
				disk.Fail(tr.fault)
				op, replayed, err := r.Ledger.Submit(context.Background(), r.Submission(capability, "k", request))
				if disk.Fired() != 1 {
					t.Fatalf("%d faults happened, want one", disk.Fired())
				}
				switch {
				case tr.happened && (err != nil || replayed):
					t.Fatalf("it was admitted and could be read back; the caller was told %v, replayed %v", err, replayed)
				case !tr.happened && onefold.CodeOf(err) != onefold.CodeStoreUnavailable:
					t.Fatalf("the caller was told %v", err)
				}
				again, _, err := r.Ledger.Submit(context.Background(), r.Submission(capability, "k", request))
				if err != nil || tr.happened && again.ID != op.ID {
					t.Fatalf("the repeat: %v, %s after %s", err, again.ID, op.ID)
				}
				done := r.UntilState(again.ID, onefold.Confirmed)
				agrees(t, r, done, 1)
				if writes := r.Writes(done.Reference); writes != 1 {
					t.Errorf("%d requests reached the target, one of them after a begin of which nobody knew", writes)
				}
				if begun := len(done.Attempts); tr.happened && (begun != 2 || done.Attempts[0].Verdict != onefold.VerdictNotSent) {
					t.Errorf("the begin happened, nothing was sent; the attempts are %+v", done.Attempts)
				}
			})
		}
	}
}
