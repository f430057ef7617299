package sandbox_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onefold-dev/onefold/sandbox"
)

// runChild is a sandbox in a process of its own that kills itself, with no chance to tidy up, at the named moment.
// It prints its address and serves until its standard input ends.
func runChild(path, dieAt string) {
	die := func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} }
	options := sandbox.Options{Path: path, Now: newClock().Now}
	switch dieAt {
	case "received":
		options.Received = func(sandbox.Request) { die() }
	case "performed":
		options.Performed = func(sandbox.Effect) { die() }
	}
	ctx, end := context.WithCancel(context.Background())
	s, err := sandbox.Open(ctx, options)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	l, err := s.Listen(ctx, ":0")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		end()
	}()
	if err := errors.Join(s.Serve(ctx, l), s.Close()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func TestKilledSandboxKeepsWhatWasCommitted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dieAt   string
		effects int
	}{{"received", 0}, {"performed", 1}} {
		t.Run(c.dieAt, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "ledger.db")
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), "SANDBOX_TEST_CHILD="+path, "SANDBOX_TEST_DIE_AT="+c.dieAt)
			input, err := child.StdinPipe() // its end, with this process, ends the child
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = input.Close() }()
			output, err := child.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(output)
			if !lines.Scan() {
				t.Fatal("the child said nothing")
			}
			send := func() error {
				request, err := http.NewRequest("POST", "http://"+lines.Text()+"/bills", strings.NewReader(bill("r-1")))
				if err != nil {
					return err
				}
				request.Header.Set("Idempotency-Key", "k-1")
				request.GetBody = nil
				request.Close = true
				response, err := http.DefaultTransport.RoundTrip(request)
				if err == nil {
					_ = response.Body.Close()
				}
				return err
			}
			if send() == nil {
				t.Error("the killed sandbox answered")
			}
			var exit *exec.ExitError
			if err := child.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the child ended otherwise: %v", err)
			}

			w := start(t, func(o *sandbox.Options) { o.Path = path })
			requests := w.requests()
			expect(t, "requests", len(requests), 1)
			expect(t, "whole", requests[0].Complete, true)
			expect(t, "effects", len(w.effects()), c.effects)
			again := w.send("POST", "/bills", bill("r-1"), "Idempotency-Key", "k-1")
			expect(t, "the same request again", again.member("id"), "BILL-1001")
			expect(t, "is a repeat where there was an effect", again.header.Get("Idempotent-Replayed") == "true", c.effects == 1)
			expect(t, "effects in the end", len(w.effects()), 1)
		})
	}
}

func TestRestartKeepsLedgerLogKeysAndFaults(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "with space?#%", "ledger.db")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	before := start(t, func(o *sandbox.Options) { o.Path = path })
	before.fault(sandbox.Fault{Kind: sandbox.DropAfterEffect})
	waiting := before.fault(sandbox.Fault{Kind: sandbox.Status, Status: 500, Times: 2, ExternalRef: "r-2"})
	_, _ = before.raw("POST", "/bills", bill("r-1"), "Idempotency-Key", "k-1")
	before.send("POST", "/bills", bill("r-2"))
	effects, requests, fired := before.effects(), before.requests(), before.fired("F-1")
	before.stop()

	after := start(t, func(o *sandbox.Options) { o.Path = path })
	expect(t, "effects", fmt.Sprint(after.effects()), fmt.Sprint(effects))
	expect(t, "requests", fmt.Sprint(after.requests()), fmt.Sprint(requests))
	expect(t, "fired", fmt.Sprint(after.fired("F-1")), fmt.Sprint(fired))
	expect(t, "key", after.send("POST", "/bills", bill("r-1"), "Idempotency-Key", "k-1").member("id"), "BILL-1001")
	expect(t, "what waits fires again", after.send("POST", "/bills", bill("r-2")).status, 500)
	expect(t, "as often as it may", after.send("POST", "/bills", bill("r-2")).member("id"), "BILL-1002")
	expect(t, "firings", len(after.fired(waiting)), 2)
}

func TestPendingRequestIsDroppedAfterTheEnd(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	w := start(t, func(o *sandbox.Options) { o.Path = path })
	w.fault(sandbox.Fault{Kind: sandbox.Delay, Before: time.Hour})
	failed := make(chan error)
	go func() {
		_, err := w.try("POST", "/bills", bill("r-1"))
		failed <- err
	}()
	<-w.pauses
	w.stop()
	<-failed
	after := start(t, func(o *sandbox.Options) { o.Path = path })
	expect(t, "outcome", after.last().Outcome, sandbox.Dropped)
	expect(t, "effects", len(after.effects()), 0)
}

func TestOneFileOneSandbox(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	start(t, func(o *sandbox.Options) { o.Path = path })
	_, err := sandbox.Open(context.Background(), sandbox.Options{Path: path, Now: newClock().Now})
	expect(t, "second", errors.Is(err, sandbox.ErrInUse), true)
}

func TestForeignFilesAreRefusedAndLeftAlone(t *testing.T) {
	t.Parallel()
	other := filepath.Join(t.TempDir(), "other.db")
	db, err := sql.Open("sqlite", other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE bills (id INTEGER)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	words := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(words, []byte(strings.Repeat("not a database. ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{other, words} {
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = sandbox.Open(context.Background(), sandbox.Options{Path: path, Now: newClock().Now})
		expect(t, fmt.Sprint(path, ": ", err), errors.Is(err, sandbox.ErrForeignFile), true)
		after, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, path+" is as it was", string(after) == string(before), true)
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	now := newClock().Now
	for name, o := range map[string]sandbox.Options{
		"no clock":           {},
		"negative window":    {Now: now, Window: -1},
		"negative lag":       {Now: now, LookupLag: -1},
		"unknown collection": {Now: now, AllowDuplicateReferences: map[string]bool{"invoices": true}},
	} {
		if s, err := sandbox.Open(context.Background(), o); err == nil {
			t.Errorf("%s: accepted", name)
			_ = s.Close()
		}
	}
}

func TestClosedSandboxSaysSo(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.stop()
	_, err := w.Effects(context.Background())
	expect(t, "Effects", errors.Is(err, sandbox.ErrClosed), true)
	l, err := (&sandbox.Sandbox{}).Listen(context.Background(), ":0")
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "Serve", errors.Is(w.Serve(context.Background(), l), sandbox.ErrClosed), true)
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
