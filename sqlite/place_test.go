package sqlite_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/sqlite"
	"github.com/onefold-dev/onefold/storetest"
)

// beside opens another store on the same file, as another process does.
func beside(t *testing.T, s *storetest.Subject, opts sqlite.Options) *storetest.Subject {
	t.Helper()
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
	return &elsewhere
}

// TestALockFileThatIsRemovedLetsNobodyIn removes the runner's lock file under it, as
// somebody does who takes it for a stale one.
//
// Proves: M7, M12a
func TestALockFileThatIsRemovedLetsNobodyIn(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var opts sqlite.Options
	s := subject(t, func(o *sqlite.Options) { opts = *o })
	if _, err := s.Store.TakeRunner(ctx, storetest.Worker().Name); err != nil {
		t.Fatal(err)
	}
	op := s.Attempting(t, s.Admit(t, "k").ID)
	if err := os.Remove(opts.Path + ".runner"); err != nil {
		t.Fatal(err)
	}
	// Its next step makes the file again, locked.
	s.Admit(t, "next")
	other := beside(t, s, opts)
	if _, err := other.Store.TakeRunner(ctx, "two"); !errors.Is(err, onefold.ErrRunnerTaken) {
		t.Fatalf("a second runner was told %v", err)
	}
	if now, err := s.Store.Operation(ctx, storetest.Workspace, op.ID); err != nil || now.State != onefold.Attempting || now.Lease == nil {
		t.Errorf("what is under way is %s, error %v", now.State, err)
	}
}

// TestWhoMakesTheLockFileProvesNothing removes the lock file, and lets a second
// runner make it before the first has noticed: what the first has under way stays
// its own until its time is over, and the first does nothing more.
//
// Proves: M4, M7, M12a
func TestWhoMakesTheLockFileProvesNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var opts sqlite.Options
	s := subject(t, func(o *sqlite.Options) { opts = *o })
	if _, err := s.Store.TakeRunner(ctx, storetest.Worker().Name); err != nil {
		t.Fatal(err)
	}
	op := s.Attempting(t, s.Admit(t, "k").ID)
	other := beside(t, s, opts)
	if err := os.Remove(opts.Path + ".runner"); err != nil {
		t.Fatal(err)
	}
	release, err := other.Store.TakeRunner(ctx, "two")
	if err != nil {
		t.Fatal(err)
	}
	now, err := other.Store.Operation(ctx, storetest.Workspace, op.ID)
	if err != nil || now.State != onefold.Attempting || now.Lease == nil || now.Attempts[0].Closed() {
		t.Errorf("what the first has under way is %s, attempts %+v, error %v", now.State, now.Attempts, err)
	}
	if _, _, err := s.Store.Admit(ctx, s.Admission("lost")); !errors.Is(err, onefold.ErrStoreUnavailable) {
		t.Errorf("the first was told %v", err)
	}
	other.Admit(t, "found")

	// Of the second's own work the third knows that nobody is at it any more; of the
	// first's still nothing.
	lease := s.Lease()
	lease.Actor.Name, lease.Lease.Worker = "two", "two"
	theirs := other.Step(t, other.Admit(t, "of two").ID, lease).Operation
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Store.TakeRunner(ctx, "three"); err != nil {
		t.Fatal(err)
	}
	if now, err = other.Store.Operation(ctx, storetest.Workspace, op.ID); err != nil || now.State != onefold.Attempting {
		t.Errorf("the first's is %s, error %v", now.State, err)
	}
	if now, err = other.Store.Operation(ctx, storetest.Workspace, theirs.ID); err != nil || now.Lease != nil {
		t.Errorf("the second's has the lease %+v, error %v", now.Lease, err)
	}
}

// Proves: M7
func TestAFileWithTwoNamesIsRefused(t *testing.T) {
	t.Parallel()
	var opts sqlite.Options
	s := subject(t, func(o *sqlite.Options) { opts = *o })
	s.Admit(t, "k")
	second := opts
	second.Path = opts.Path + ".second"
	if err := os.Link(opts.Path, second.Path); err != nil {
		t.Fatal(err)
	}
	for _, o := range []sqlite.Options{opts, second} {
		if store, err := sqlite.Open(context.Background(), o); !errors.Is(err, sqlite.ErrLinked) {
			t.Errorf("%s was opened: %v, error %v", o.Path, store, err)
		}
	}
}
