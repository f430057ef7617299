package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/sqlite"
	"github.com/onefold-dev/onefold/storetest"
)

// faulty opens a store over a driver of its own.
func faulty(t testing.TB, change ...func(*sqlite.Options)) (*storetest.Subject, *faults, sqlite.Options) {
	t.Helper()
	f := newFaults(t)
	var used sqlite.Options
	s := subject(t, append(change, func(o *sqlite.Options) {
		o.Driver = f.name
		used = *o
	})...)
	return s, f, used
}

// hold takes the file's write lock as another process would, and gives it back
// when release is called.
func hold(t testing.TB, path string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(context.Background(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	var one sync.Once
	release = func() {
		one.Do(func() {
			_, err := conn.ExecContext(context.Background(), "ROLLBACK")
			if err := errors.Join(err, conn.Close(), db.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(release)
	return release
}

// blocked waits until the writer stands before the held lock, so that what is
// handed to it afterwards gathers. It uses up one step.
func blocked(t testing.TB, s *storetest.Subject, f *faults) (first chan error) {
	t.Helper()
	reached := make(chan struct{})
	var seen sync.Once
	f.set(func(text string) error {
		if text == "BEGIN IMMEDIATE" {
			seen.Do(func() { close(reached) })
		}
		return nil
	}, nil)
	first = make(chan error, 1)
	a := s.Admission("first in line")
	go func() {
		_, _, err := s.Store.Admit(context.Background(), a)
		first <- err
	}()
	<-reached
	return first
}

// Proves: M4
func TestManyCallersShareACommit(t *testing.T) {
	t.Parallel()
	s, f, opts := faulty(t)
	release := hold(t, opts.Path)
	first := blocked(t, s, f)
	const callers = 200
	var group, ready sync.WaitGroup
	ready.Add(callers)
	before := f.commits.Load()
	for i := range callers {
		a := s.Admission(fmt.Sprint("k", i))
		group.Go(func() {
			ready.Done()
			if _, created, err := s.Store.Admit(context.Background(), a); err != nil || !created {
				t.Errorf("created %v, error %v", created, err)
			}
		})
	}
	ready.Wait()
	release()
	group.Wait()
	if err := <-first; err != nil {
		t.Error(err)
	}
	if commits := f.commits.Load() - before; commits > callers/4 {
		t.Errorf("%d callers took %d commits", callers, commits)
	}
}

func TestOneBadStepHarmsItselfAlone(t *testing.T) {
	t.Parallel()
	s, f, opts := faulty(t)
	existing := s.Admit(t, "existing")
	leased := s.Admit(t, "leased")
	release := hold(t, opts.Path)
	first := blocked(t, s, f)
	const good = 40
	var group, ready sync.WaitGroup
	ready.Add(good + 2)
	for i := range good {
		a := s.Admission(fmt.Sprint("good", i))
		group.Go(func() {
			ready.Done()
			if _, created, err := s.Store.Admit(context.Background(), a); err != nil || !created {
				t.Errorf("a good one: created %v, error %v", created, err)
			}
		})
	}
	bad := s.Admission("bad", func(o *onefold.Operation) { o.ID = existing.ID })
	group.Go(func() { // the schema refuses it after it has written
		ready.Done()
		if _, created, err := s.Store.Admit(context.Background(), bad); err == nil || created {
			t.Errorf("the bad one: created %v, error %v", created, err)
		}
	})
	panics := s.Event(onefold.EventLeased, storetest.Worker())
	panics.Lease = nil
	group.Go(func() { // the law stumbles over what no caller would give
		ready.Done()
		if _, err := s.Store.Step(context.Background(), leased.ID, panics, 0); err == nil {
			t.Error("a lease without a grant was accepted")
		}
	})
	ready.Wait()
	release()
	group.Wait()
	if err := <-first; err != nil {
		t.Error(err)
	}
	ops, _, err := s.Store.List(context.Background(), onefold.Query{Workspace: storetest.Workspace, Limit: 200})
	if err != nil || len(ops) != good+3 {
		t.Errorf("%d operations are stored, want %d, error %v", len(ops), good+3, err)
	}
	if _, found, err := s.Store.Claimed(context.Background(), onefold.ClaimKey{
		Workspace: storetest.Workspace, Capability: storetest.Capability, Key: "bad",
	}); err != nil || found {
		t.Errorf("the bad one left a claim, error %v", err)
	}
	s.Step(t, leased.ID, s.Lease())
}

// Proves: M4
func TestACommitWithUnknownOutcome(t *testing.T) {
	t.Parallel()
	ioError := &faultError{code: 10 | 4<<8, text: "disk I/O error: fsync"}
	for name, happened := range map[string]bool{"that did not happen": false, "that happened": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, f, _ := faulty(t)
			kept := s.Admit(t, "kept")
			if happened {
				f.set(nil, once("COMMIT", ioError))
			} else {
				f.set(once("COMMIT", ioError), nil)
			}
			a := s.Admission("in doubt")
			_, created, err := s.Store.Admit(context.Background(), a)
			if !errors.Is(err, onefold.ErrCommitUnknown) || created {
				t.Fatalf("created %v, error %v", created, err)
			}
			if !errors.Is(err, ioError) {
				t.Errorf("the cause is lost: %v", err)
			}
			// Reading back tells, and the store goes on.
			op, found, err := s.Store.Claimed(context.Background(), onefold.ClaimKey{
				Workspace: storetest.Workspace, Capability: storetest.Capability, Key: "in doubt",
			})
			if err != nil || found != happened || found && op.ID != a.Operation.ID {
				t.Errorf("found %v, want %v, error %v", found, happened, err)
			}
			again, created, err := s.Store.Admit(context.Background(), s.Admission("in doubt"))
			if err != nil || created == happened {
				t.Errorf("the repeat: created %v, error %v", created, err)
			}
			if happened && again.ID != a.Operation.ID {
				t.Error("the repeat made another operation")
			}
			s.Ended(t, kept.ID, onefold.OutcomeConfirmed, "B-1")
		})
	}
}

// Every caller of the batch is told that its step is in doubt, refusals and
// repeats that rest on it included.
func TestADoubtfulCommitIsEveryCallersDoubt(t *testing.T) {
	t.Parallel()
	s, f, opts := faulty(t)
	release := hold(t, opts.Path)
	first := blocked(t, s, f)
	f.set(func(text string) error {
		if text == "COMMIT" {
			return &faultError{code: 10, text: "disk I/O error"}
		}
		return nil
	}, nil)
	var group, ready sync.WaitGroup
	ready.Add(30)
	for range 30 {
		a := s.Admission("the same key")
		group.Go(func() {
			ready.Done()
			if _, created, err := s.Store.Admit(context.Background(), a); !errors.Is(err, onefold.ErrCommitUnknown) || created {
				t.Errorf("created %v, error %v", created, err)
			}
		})
	}
	ready.Wait()
	release()
	group.Wait()
	if err := <-first; !errors.Is(err, onefold.ErrCommitUnknown) {
		t.Errorf("the first: %v", err)
	}
	f.set(nil, nil)
	s.Admit(t, "the same key")
}

func TestABusyFileIsUnavailableAndNothingIsDone(t *testing.T) {
	t.Parallel()
	s, f, opts := faulty(t, func(o *sqlite.Options) { o.BusyTimeout = 20 * time.Millisecond })
	release := hold(t, opts.Path)
	_, _, err := s.Store.Admit(context.Background(), s.Admission("k"))
	if !errors.Is(err, onefold.ErrStoreUnavailable) || errors.Is(err, onefold.ErrCommitUnknown) {
		t.Errorf("begin: %v", err)
	}
	release()
	f.set(once("COMMIT", &faultError{code: 5, text: "database is locked"}), nil)
	_, _, err = s.Store.Admit(context.Background(), s.Admission("k"))
	if !errors.Is(err, onefold.ErrStoreUnavailable) || errors.Is(err, onefold.ErrCommitUnknown) {
		t.Errorf("commit: %v", err)
	}
	s.Admit(t, "k")
}

func TestAFullDiskHarmsNothingThatStands(t *testing.T) {
	t.Parallel()
	small := func(o *sqlite.Options) {
		o.DSN = func(path string) string { return "file:" + path + "?_pragma=max_page_count(130)" }
	}
	s, f, _ := faulty(t, small)
	fits := s.Admit(t, "fits")
	large := s.Admission("too large")
	large.Request = []byte(strings.Repeat("x", 1<<20))
	for range 2 {
		_, _, err := s.Store.Admit(context.Background(), large)
		if !errors.Is(err, onefold.ErrStoreUnavailable) || errors.Is(err, onefold.ErrCommitUnknown) {
			t.Fatalf("a full disk: %v", err)
		}
		if !strings.Contains(err.Error(), "full") {
			t.Errorf("the reason is not told: %v", err)
		}
	}
	if _, found, err := s.Store.Claimed(context.Background(), onefold.ClaimKey{
		Workspace: storetest.Workspace, Capability: storetest.Capability, Key: "too large",
	}); err != nil || found {
		t.Errorf("found %v, error %v", found, err)
	}
	s.Ended(t, fits.ID, onefold.OutcomeConfirmed, "B-1")
	s.Admit(t, "fits as well")
	if f.commits.Load() == 0 {
		t.Error("nothing was committed")
	}
}

// Proves: M6
func TestACallerWhoLeavesIsToldTheTruth(t *testing.T) {
	t.Parallel()
	s, f, opts := faulty(t)
	release := hold(t, opts.Path)
	reached := make(chan struct{})
	var seen sync.Once
	f.set(func(text string) error {
		if text == "BEGIN IMMEDIATE" {
			seen.Do(func() { close(reached) })
		}
		return nil
	}, nil)
	ctx, leave := context.WithCancelCause(context.Background())
	taken, waiting := make(chan error, 1), make(chan error, 1)
	admitTaken, admitWaiting := s.Admission("taken"), s.Admission("waiting")
	go func() {
		_, _, err := s.Store.Admit(ctx, admitTaken)
		taken <- err
	}()
	<-reached
	go func() {
		_, _, err := s.Store.Admit(ctx, admitWaiting)
		waiting <- err
	}()
	gone := errors.New("the caller hung up")
	leave(gone)
	if err := <-taken; !errors.Is(err, onefold.ErrCommitUnknown) || !errors.Is(err, gone) {
		t.Errorf("whose step was under way was told: %v", err)
	}
	if err := <-waiting; errors.Is(err, onefold.ErrCommitUnknown) || !errors.Is(err, gone) {
		t.Errorf("whose step waited was told: %v", err)
	}
	release()
	s.Admit(t, "after both")
	for k, want := range map[string]bool{"taken": true, "waiting": false} {
		_, found, err := s.Store.Claimed(context.Background(), onefold.ClaimKey{
			Workspace: storetest.Workspace, Capability: storetest.Capability, Key: k,
		})
		if err != nil || found != want {
			t.Errorf("%s: stored %v, error %v", k, found, err)
		}
	}
}

func TestClosingWaitsForStepsUnderWay(t *testing.T) {
	t.Parallel()
	s, f, opts := faulty(t)
	release := hold(t, opts.Path)
	first := blocked(t, s, f)
	second := make(chan error, 1)
	a := s.Admission("second")
	go func() {
		_, _, err := s.Store.Admit(context.Background(), a)
		second <- err
	}()
	closed := make(chan error, 1)
	go func() { closed <- s.Store.Close() }()
	release()
	for _, err := range []error{<-first, <-closed} {
		if err != nil {
			t.Error(err)
		}
	}
	// The second was in time or was refused; it is never lost in between.
	if err := <-second; err != nil && !errors.Is(err, onefold.ErrStoreUnavailable) {
		t.Errorf("the second was told: %v", err)
	}
	_, _, err := s.Store.Admit(context.Background(), s.Admission("late"))
	if !errors.Is(err, onefold.ErrStoreUnavailable) {
		t.Errorf("after closing: %v", err)
	}
	if _, err := s.Store.Operation(context.Background(), "", "op_1"); !errors.Is(err, onefold.ErrStoreUnavailable) {
		t.Errorf("reading after closing: %v", err)
	}
	if err := s.Store.Ping(context.Background()); !errors.Is(err, onefold.ErrStoreUnavailable) {
		t.Errorf("asking after closing: %v", err)
	}
	if err := s.Store.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

// Two stores on one file, as two processes have them: what one has in memory
// never outlives what the other writes.
//
// Proves: M7, M8
func TestTwoStoresOnOneFile(t *testing.T) {
	t.Parallel()
	var opts sqlite.Options
	s := subject(t, func(o *sqlite.Options) { opts = *o })
	other, err := sqlite.Open(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	ctx := context.Background()
	op := s.Admit(t, "k") // is in the first one's memory now
	leased, err := other.Step(ctx, op.ID, s.Lease(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Store.Step(ctx, op.ID, s.Lease(), 0); !errors.Is(err, onefold.ErrLeased) {
		t.Errorf("the first one gave the lease again: %v", err)
	}
	begun, err := s.Store.StepBegin(ctx, op.ID, s.Begin(leased.Operation.Token), storetest.Frozen())
	if err != nil {
		t.Fatal(err)
	}
	attempt := begun.Operation.Attempts[0]
	if _, err := other.Step(ctx, op.ID, s.Answer(attempt.ID, attempt.Token, onefold.OutcomeConfirmed, "B-1"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Store.Step(ctx, op.ID, s.Lease(), 0); onefold.CodeOf(err) != onefold.CodeAlreadySettled {
		t.Errorf("the first one still leases it: %v", err)
	}
	var group sync.WaitGroup
	for i := range 40 {
		store := s.Store
		if i%2 == 0 {
			store = other
		}
		mine, shared := s.Admission(fmt.Sprint("own", i)), s.Admission("shared")
		group.Go(func() {
			if _, created, err := store.Admit(ctx, mine); err != nil || !created {
				t.Errorf("created %v, error %v", created, err)
			}
			if _, _, err := store.Admit(ctx, shared); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	ops, _, err := s.Store.List(ctx, onefold.Query{Workspace: storetest.Workspace, Limit: 200})
	if err != nil || len(ops) != 42 {
		t.Errorf("%d operations, error %v", len(ops), err)
	}
	changes, err := other.Changes(ctx, "", 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(changes); i++ {
		if changes[i].Seq <= changes[i-1].Seq {
			t.Errorf("the entry %d comes after %d", changes[i].Seq, changes[i-1].Seq)
		}
	}
}
