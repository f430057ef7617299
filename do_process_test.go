package onefold_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/machine"
)

// childVariable holds what a child process of the tests is to do: mode, database
// and the target's books, in this order.
const childVariable = "ONEFOLD_DO_CHILD"

// What a child does in its Write.
const (
	killedAfter  = "killed-after-the-effect"
	killedBefore = "killed-before-the-effect"
	held         = "held-until-told"
)

func TestMain(m *testing.M) {
	if task := os.Getenv(childVariable); task != "" {
		if err := child(strings.Split(task, "|")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// fastOptions are those of the stories with processes: real clocks, and short
// times for what such a story waits for. A process that is held is not waited for.
func fastOptions(mode, path string) doOptions {
	lease, timeout := 300*time.Millisecond, "timeout: 400ms"
	if mode == held {
		lease, timeout = 30*time.Second, "timeout: 30s"
	}
	return doOptions{
		path: path, real: true, lease: lease, straggler: time.Millisecond,
		edit: replaced(
			"timeout: 10s", timeout,
			"settle: 1s\n    processing: 2s", "settle: 20ms\n    processing: 80ms",
			"compare: {/amount: {decimal: {scale: 2}}}",
			"compare: {/amount: {decimal: {scale: 2}}}\nreconcile: {within: 1h, backoff: {first: 20ms, factor: 1, max: 20ms}}\nretry: {attempts: 5, within: 1h, backoff: {first: 20ms, factor: 1, max: 20ms}}",
		),
	}
}

// child is another process with the same database: it calls Do.
func child(task []string) error {
	mode, path, booksPath := task[0], task[1], task[2]
	store, ledger, err := openDo(fastOptions(mode, path), time.Now, machine.Boot)
	if err != nil {
		return err
	}
	write := func(_ context.Context, c onefold.Call) (onefold.WriteReport, error) {
		if mode != killedBefore {
			if err := enter(booksPath, c.Reference); err != nil {
				return onefold.WriteReport{}, err
			}
		}
		fmt.Println("entered")
		if mode != held {
			self, err := os.FindProcess(os.Getpid())
			if err != nil {
				return onefold.WriteReport{}, err
			}
			_ = self.Kill()
			select {} // the signal ends the process
		}
		if _, err := io.ReadAll(os.Stdin); err != nil {
			return onefold.WriteReport{}, err
		}
		return onefold.Applied("DOC-" + c.Reference), nil
	}
	_, err = ledger.Do(context.Background(), onefold.Submission{
		Workspace: "acme", Capability: "payouts.send", Key: "k", Request: []byte(doPayout), SubmittedBy: "child",
	}, onefold.Steps{Write: write})
	return errors.Join(err, store.Close())
}

// enter writes an effect into the target's books.
func enter(path, reference string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(reference + "\n")
	return errors.Join(err, f.Sync(), f.Close())
}

// entered counts the effects with a reference.
func entered(t *testing.T, path, reference string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Count(string(text), reference+"\n")
}

// start starts a child and waits until it is inside its Write. The returned
// functions end its waiting, and wait for its end.
func start(t *testing.T, mode, path, booksPath string) (release func(), wait func() error) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+strings.Join([]string{mode, path, booksPath}, "|"))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "entered\n" {
		t.Fatalf("the child said %q: %v", line, err)
	}
	return func() { _ = in.Close() }, cmd.Wait
}

// A process is killed inside Write. Another one goes on with the same key: what
// had happened is found, and what had not is done, one time.
//
// Proves: M4, M10, M11, M12, M12a
func TestAProcessKilledInsideWrite(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{killedAfter, killedBefore} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			path, booksPath := filepath.Join(folder, "onefold.db"), filepath.Join(folder, "books")
			_, wait := start(t, mode, path, booksPath)
			if err := wait(); err == nil {
				t.Fatal("the child was not killed")
			}
			s := newDoScene(t, fastOptions(mode, path))
			steps := onefold.Steps{
				Wait: time.Minute,
				Write: func(_ context.Context, c onefold.Call) (onefold.WriteReport, error) {
					return onefold.Applied("DOC-" + c.Reference), enter(booksPath, c.Reference)
				},
				Lookup: func(_ context.Context, c onefold.Call) (onefold.LookupReport, error) {
					if entered(t, booksPath, c.Reference) > 0 {
						return onefold.Found("DOC-" + c.Reference), nil
					}
					return onefold.Absent("the books have no such line"), nil
				},
			}
			op := s.do("payouts.send", "k", doPayout, steps, nil)
			wantAttempts, from := 1, onefold.LearntFromLookup
			if mode == killedBefore {
				wantAttempts, from = 2, onefold.LearntFromResponse
			}
			if op.State != onefold.Confirmed || op.Result.LearntFrom != from || len(op.Attempts) != wantAttempts {
				t.Errorf("%s, learnt from %s, after %+v", op.State, op.Result.LearntFrom, op.Attempts)
			}
			if n := entered(t, booksPath, op.Reference); n != 1 {
				t.Errorf("%d effects", n)
			}
		})
	}
}

// Two processes call Do with one key: one carries it out, the other gets the
// operation and, if it waits, the result.
//
// Proves: M7
func TestTwoProcessesWithOneKey(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path, booksPath := filepath.Join(folder, "onefold.db"), filepath.Join(folder, "books")
	release, wait := start(t, held, path, booksPath)
	s := newDoScene(t, fastOptions(held, path))
	steps := onefold.Steps{Write: func(context.Context, onefold.Call) (onefold.WriteReport, error) {
		t.Error("the second process called Write")
		return onefold.WriteReport{}, nil
	}}
	op := s.do("payouts.send", "k", doPayout, steps, onefold.ErrLeased)
	if op.State != onefold.Attempting || !onefold.OutsideWorker(op.Lease.Worker) {
		t.Fatalf("%s, leased by %+v", op.State, op.Lease)
	}
	release()
	steps.Wait = time.Minute
	if op = s.do("payouts.send", "k", doPayout, steps, nil); op.State != onefold.Confirmed {
		t.Errorf("%s", op.State)
	}
	if err := wait(); err != nil {
		t.Errorf("the child: %v", err)
	}
	if n := entered(t, booksPath, op.Reference); n != 1 {
		t.Errorf("%d effects", n)
	}
}
