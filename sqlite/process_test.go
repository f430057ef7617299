package sqlite_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/sqlite"
	"github.com/onefold-dev/onefold/storetest"
)

// What this test program does when it is started by one of its own tests: the
// part, and the file that it plays it on.
const (
	partVariable = "ONEFOLD_SQLITE_TEST_PART"
	pathVariable = "ONEFOLD_SQLITE_TEST_PATH"
	diesVariable = "ONEFOLD_SQLITE_TEST_DIES_AT"
)

func TestMain(m *testing.M) {
	if part := os.Getenv(partVariable); part != "" {
		if err := play(part, os.Getenv(pathVariable)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// play is the life of a child process.
func play(part, path string) error {
	s := &storetest.Subject{Clock: storetest.NewClock(), IDs: storetest.IDsFrom(uint64(os.Getpid()) << 32)}
	opts := sqlite.Options{Path: path, Driver: "sqlite", Now: s.Clock.Now, IDs: s.IDs, Migrate: true}
	if part == "migrate" {
		return playMigrate(opts)
	}
	store, err := sqlite.Open(context.Background(), opts)
	if err != nil {
		return err
	}
	s.Store = store
	if part == "admit" {
		return playAdmit(s)
	}
	return playRunner(s)
}

// playAdmit admits with eight callers and says each key once it is durable.
func playAdmit(s *storetest.Subject) error {
	var group sync.WaitGroup
	var mu sync.Mutex
	for c := range 8 {
		group.Go(func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("k-%d-%d-%d", os.Getpid(), c, i)
				if _, _, err := s.Store.Admit(context.Background(), s.Admission(key)); err != nil {
					fmt.Fprintln(os.Stderr, err)
					return
				}
				mu.Lock()
				fmt.Println(key)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return nil
}

// playRunner is a runner that has something under way when it is killed.
func playRunner(s *storetest.Subject) error {
	ctx := context.Background()
	if _, err := s.Store.TakeRunner(ctx, "child"); err != nil {
		return err
	}
	for i := range 3 {
		op, _, err := s.Store.Admit(ctx, s.Admission("k"+strconv.Itoa(i)))
		if err != nil {
			return err
		}
		leased, err := s.Store.Step(ctx, op.ID, s.Lease(), 0)
		if err != nil {
			return err
		}
		if i == 0 {
			continue
		}
		if _, err := s.Store.StepBegin(ctx, op.ID, s.Begin(leased.Operation.Token), storetest.Frozen()); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	_, err := io.Copy(io.Discard, os.Stdin) // until it is killed, or its parent is gone
	return err
}

// playMigrate kills itself at the given statement.
func playMigrate(opts sqlite.Options) error {
	dies, err := strconv.Atoi(os.Getenv(diesVariable))
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", "")
	if err != nil {
		return err
	}
	f := &faults{inner: db.Driver(), name: "dying"}
	n := 0
	f.set(func(text string) error {
		if strings.HasPrefix(text, "PRAGMA") || strings.HasPrefix(text, "SELECT") {
			return nil
		}
		if n++; n == dies {
			self, err := os.FindProcess(os.Getpid())
			if err != nil {
				return err
			}
			return self.Kill()
		}
		return nil
	}, nil)
	sql.Register(f.name, f)
	opts.Driver = f.name
	_, err = sqlite.Migrate(context.Background(), opts)
	return err
}

// child starts this program in a part. It is killed at the end of the test, if
// it still lives then.
func child(t *testing.T, part, path string, more ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), partVariable+"="+part, pathVariable+"="+path), more...)
	cmd.Stderr = os.Stderr
	// Held open by the parent: a child that reads it outlives no parent.
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(t, cmd) })
	return cmd, bufio.NewScanner(out)
}

// kill ends a child as a crash would, and waits until it is gone.
func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if cmd.ProcessState != nil {
		return
	}
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	_ = cmd.Wait() // says that it was killed
}

// What was acknowledged before a kill is there afterwards, whole.
//
// Proves: M4, M6, I3
func TestAcknowledgedAdmissionsSurviveAKill(t *testing.T) {
	t.Parallel()
	opts := options(t)
	acknowledged := map[string]bool{}
	for round, upTo := range []int{1, 50, 300} {
		cmd, lines := child(t, "admit", opts.Path)
		for range upTo {
			if !lines.Scan() {
				t.Fatalf("round %d: the child ended early: %v", round, lines.Err())
			}
			acknowledged[lines.Text()] = true
		}
		kill(t, cmd)
		for lines.Scan() { // what it still said before it died
			acknowledged[lines.Text()] = true
		}
		store, err := sqlite.Open(context.Background(), opts)
		if err != nil {
			t.Fatal(err)
		}
		for key := range acknowledged {
			op, found, err := store.Claimed(context.Background(), onefold.ClaimKey{
				Workspace: storetest.Workspace, Capability: storetest.Capability, Key: key,
			})
			if err != nil || !found {
				t.Fatalf("round %d: %s is lost, error %v", round, key, err)
			}
			request, err := store.Request(context.Background(), op.ID)
			if err != nil || len(request) == 0 {
				t.Errorf("%s has no request, error %v", key, err)
			}
			if entries, err := store.Timeline(context.Background(), op.ID, 0, 10); err != nil || len(entries) != 1 {
				t.Errorf("%s has %d entries, error %v", key, len(entries), err)
			}
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sql.Open("sqlite", "file:"+opts.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	verdict, orphans := "", 0
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("the file is %q, error %v", verdict, err)
	}
	err = db.QueryRow(`SELECT (SELECT count(*) FROM operation) * 4 - (SELECT count(*) FROM claim) - (SELECT count(*) FROM payload)
		- (SELECT count(*) FROM live_operation) - (SELECT count(*) FROM timeline)`).Scan(&orphans)
	if err != nil || orphans != 0 {
		t.Errorf("an admission is stored in part: %d, error %v", orphans, err)
	}
}

// Proves: M10, M12a
func TestTheRunnersPlaceIsFreeAtOnceAfterAKill(t *testing.T) {
	t.Parallel()
	s := &storetest.Subject{Clock: storetest.NewClock(), IDs: &storetest.IDs{}}
	opts := options(t)
	cmd, lines := child(t, "run", opts.Path)
	if !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("the child said %q, error %v", lines.Text(), lines.Err())
	}
	store, err := sqlite.Open(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s.Store = store
	if _, err := store.TakeRunner(context.Background(), "parent"); !errors.Is(err, onefold.ErrRunnerTaken) {
		t.Fatalf("beside a living runner: %v", err)
	}
	// Others go on beside the runner.
	beside, created, err := store.Admit(context.Background(), s.Admission("beside"))
	if err != nil || !created {
		t.Fatalf("beside a living runner: created %v, error %v", created, err)
	}
	kill(t, cmd)
	release, err := store.TakeRunner(context.Background(), "parent")
	if err != nil {
		t.Fatalf("after the kill: %v", err)
	}
	for i, want := range []onefold.State{onefold.Prepared, onefold.Uncertain, onefold.Uncertain} {
		op, _, err := store.Claimed(context.Background(), onefold.ClaimKey{
			Workspace: storetest.Workspace, Capability: storetest.Capability, Key: "k" + strconv.Itoa(i),
		})
		if err != nil || op.State != want || op.Lease != nil || op.OpenAttempt() {
			t.Errorf("k%d is %s, leased %v, error %v", i, op.State, op.Lease, err)
		}
	}
	if op, err := store.Operation(context.Background(), "", beside.ID); err != nil || op.Version != beside.Version {
		t.Errorf("what was not leased changed, error %v", err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}

// A migration that is killed at any statement leaves nothing, and is applied
// by the next one who tries.
func TestAKilledMigrationIsResumed(t *testing.T) {
	t.Parallel()
	opts := options(t)
	died := 0
	for at := 1; ; at += 7 {
		cmd, lines := child(t, "migrate", opts.Path, diesVariable+"="+strconv.Itoa(at))
		for lines.Scan() {
			t.Log(lines.Text())
		}
		err := cmd.Wait()
		if err == nil {
			break // there is no such statement: it went through
		}
		if cmd.ProcessState.ExitCode() == 1 {
			t.Fatalf("the child was not killed but failed: %v", err)
		}
		died++
		unmigrated := opts
		unmigrated.Migrate = false
		store, err := sqlite.Open(context.Background(), unmigrated)
		if err == nil { // it was killed after its commit
			if err := store.Close(); err != nil {
				t.Error(err)
			}
			break
		}
		if !errors.Is(err, sqlite.ErrNotCurrent) {
			t.Fatalf("after a kill at statement %d: %v", at, err)
		}
	}
	if died < 5 {
		t.Errorf("only %d migrations were killed", died)
	}
	store, err := sqlite.Open(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}
