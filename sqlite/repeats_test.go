package sqlite_test

import (
	"context"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/sqlite"
	"github.com/onefold-dev/onefold/storetest"
)

// TestARepeatSeesWhatAnotherProcessWrote repeats a finished operation's key, so
// that its store has seen it, changes the operation through another store on the
// same file, as another process would, and repeats the key again.
//
// Proves: I2, I7, M20
func TestARepeatSeesWhatAnotherProcessWrote(t *testing.T) {
	t.Parallel()
	var opts sqlite.Options
	s := subject(t, func(o *sqlite.Options) { opts = *o })
	other, err := sqlite.Open(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	})
	elsewhere := *s
	elsewhere.Store = other

	repeat := func(key string, want func(*onefold.Operation) bool, what string) {
		t.Helper()
		for range 3 { // the first reads it, the others may remember it
			op, found, err := s.Store.Claimed(context.Background(), onefold.ClaimKey{
				Workspace: storetest.Workspace, Capability: storetest.Capability, Key: key,
			})
			if err != nil || found == (want == nil) || found && !want(&op) {
				t.Errorf("%s: found %v, error %v, %+v", what, found, err, op.Standing)
			}
			if len(op.Attempts) > 0 {
				op.Attempts[0].ID = "mine" // what comes back is its caller's own
			}
		}
	}
	confirmed := func(op *onefold.Operation) bool {
		return op.State == onefold.Confirmed && !op.Contradicted && len(op.Attempts) == 1 && op.Attempts[0].ID != "mine"
	}

	one := s.Ended(t, s.Admit(t, "one").ID, onefold.OutcomeConfirmed, "B-1")
	repeat("one", confirmed, "finished")
	disputed := elsewhere.Event(onefold.EventObserved, storetest.Caller())
	disputed.Observation = &onefold.Observation{Asserts: onefold.AssertsEffect, Reference: "B-2"}
	changed := elsewhere.Step(t, one.ID, disputed).Operation
	if !changed.Contradicted {
		t.Fatalf("the evidence changed nothing: %+v", changed.Standing)
	}
	repeat("one", func(op *onefold.Operation) bool { return op.Contradicted && op.Version == changed.Version }, "contradicted elsewhere")

	two := s.Admit(t, "two")
	repeat("two", func(op *onefold.Operation) bool { return op.State == onefold.Prepared }, "live")
	elsewhere.Ended(t, two.ID, onefold.OutcomeConfirmed, "B-3")
	repeat("two", confirmed, "finished elsewhere")
	repeat("three", nil, "never admitted")
}
