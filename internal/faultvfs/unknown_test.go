package faultvfs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/faultvfs"
	"github.com/onefold-dev/onefold/internal/rig"
	"github.com/onefold-dev/onefold/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	bill  = `{"supplier":"S-81","number":"INV-0042","total":"1250.00"}`
	order = `{"supplier":"S-81","item":"bolt","quantity":12}`
)

// numbers make the drivers' names.
var numbers = &struct{ n atomic.Int64 }{}

func newDisk() *faultvfs.Disk { return faultvfs.New(fmt.Sprintf("faulty-%d", numbers.n.Add(1))) }

// trouble is one way in which a commit fails, and what became of it.
type trouble struct {
	name     string
	fault    faultvfs.Fault
	happened bool
	// known: the store can tell that it did not happen.
	known bool
}

func troubles() []trouble {
	return []trouble{
		{name: "busy", fault: faultvfs.Fault{Place: faultvfs.CommitBegin, Error: faultvfs.ErrBusy}, known: true},
		{name: "busy log", fault: faultvfs.Fault{Place: faultvfs.LogWrite, Error: faultvfs.ErrBusy}, known: true},
		{name: "full", fault: faultvfs.Fault{Place: faultvfs.LogWrite, Error: faultvfs.ErrFull}},
		{name: "write error", fault: faultvfs.Fault{Place: faultvfs.LogWrite, Error: faultvfs.ErrIO}},
		{name: "sync error", fault: faultvfs.Fault{Place: faultvfs.LogSync, Error: faultvfs.ErrSync}},
		{name: "error instead of commit", fault: faultvfs.Fault{Place: faultvfs.CommitBegin, Error: faultvfs.ErrIO}},
		{name: "lost answer", fault: faultvfs.Fault{Place: faultvfs.CommitAnswer, Error: faultvfs.ErrIO}, happened: true},
		{name: "lost answer, full", fault: faultvfs.Fault{Place: faultvfs.CommitAnswer, Error: faultvfs.ErrFull}, happened: true},
	}
}

func faulty(d *faultvfs.Disk) rig.Options { return rig.Options{Driver: d.Driver(), DSN: d.DSN} }

// Proves: I3, M4, M6, M22
func TestAnAdmissionOfWhichNobodyKnows(t *testing.T) {
	t.Parallel()
	for _, tr := range troubles() {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			disk := newDisk()
			o := faulty(disk)
			o.Idle = true
			r := rig.New(t, o)
			disk.Fail(tr.fault)
			op, replayed, err := r.Ledger.Submit(context.Background(), r.Submission("bills.create", "k", bill))
			if disk.Fired() != 1 {
				t.Fatalf("%d faults happened, want one", disk.Fired())
			}
			// The caller is told the truth: it was admitted, or it is not known, or not.
			switch {
			case tr.happened && (err != nil || replayed):
				t.Fatalf("it was admitted and could be read back; the caller was told %v, replayed %v", err, replayed)
			case tr.happened:
			case onefold.CodeOf(err) != onefold.CodeStoreUnavailable:
				t.Fatalf("the caller was told %v", err)
			case errors.Is(err, onefold.ErrCommitUnknown) == tr.known:
				t.Fatalf("the caller was told %v; that it did not happen was known: %v", err, tr.known)
			}
			if _, found, err := r.Store.Claimed(context.Background(), onefold.ClaimKey{Workspace: rig.Workspace, Capability: "bills.create", Key: "k"}); err != nil || found != tr.happened {
				t.Fatalf("the claim is there: %v, %v", found, err)
			}
			// The same key is safe.
			again, replayed, err := r.Ledger.Submit(context.Background(), r.Submission("bills.create", "k", bill))
			if err != nil || replayed != tr.happened || tr.happened && again.ID != op.ID {
				t.Fatalf("the repeat: %v, replayed %v, %s after %s", err, replayed, again.ID, op.ID)
			}
			r.Start()
			agrees(t, r, r.UntilState(again.ID, onefold.Confirmed), 1)
		})
	}
}

// strike arms a fault when a step of the given kind comes to the store, once.
type strike struct {
	onefold.Store
	disk  *faultvfs.Disk
	kind  onefold.EventKind
	fault faultvfs.Fault
	done  atomic.Bool
	// after is called with what the store said. dead: no step comes to the store any
	// more.
	after func(error)
	dead  atomic.Bool
}

func (s *strike) wrap(inner onefold.Store) onefold.Store { s.Store = inner; return s }

func (s *strike) around(kind onefold.EventKind, step func() (onefold.Committed, error)) (onefold.Committed, error) {
	if s.dead.Load() {
		return onefold.Committed{}, onefold.ErrStoreUnavailable
	}
	if kind != s.kind || !s.done.CompareAndSwap(false, true) {
		return step()
	}
	s.disk.Fail(s.fault)
	c, err := step()
	if s.after != nil {
		s.after(err)
	}
	return c, err
}

func (s *strike) Step(ctx context.Context, id string, ev onefold.Event, v int64) (onefold.Committed, error) {
	return s.around(ev.Kind, func() (onefold.Committed, error) { return s.Store.Step(ctx, id, ev, v) })
}

func (s *strike) StepBegin(ctx context.Context, id string, ev onefold.Event, f onefold.Frozen) (onefold.Committed, error) {
	return s.around(ev.Kind, func() (onefold.Committed, error) { return s.Store.StepBegin(ctx, id, ev, f) })
}

// Proves: M4, M10, M11
func TestABeginOfWhichNobodyKnowsSendsNothing(t *testing.T) {
	t.Parallel()
	for _, tr := range troubles() {
		for capability, request := range map[string]string{"bills.create": bill, "orders.create": order} {
			t.Run(tr.name+"/"+capability, func(t *testing.T) {
				t.Parallel()
				disk := newDisk()
				o := faulty(disk)
				struck := &strike{disk: disk, kind: onefold.EventBegun, fault: tr.fault}
				o.Store = struck.wrap
				r := rig.New(t, o)
				op := r.UntilState(r.Submit(capability, "k", request).ID, onefold.Confirmed)
				if disk.Fired() != 1 {
					t.Fatalf("%d faults happened, want one", disk.Fired())
				}
				agrees(t, r, op, 1)
				if writes := r.Writes(op.Reference); writes != 1 {
					t.Errorf("%d requests reached the target, one of them after a begin of which nobody knew", writes)
				}
				switch begun := len(op.Attempts); {
				case tr.happened && (begun != 2 || op.Attempts[0].Verdict != onefold.VerdictNotSent):
					t.Errorf("the begin happened, nothing was sent; the attempts are %+v", op.Attempts)
				case !tr.happened && begun != 1:
					t.Errorf("the begin did not happen; the attempts are %+v", op.Attempts)
				}
			})
		}
	}
}

// Proves: M4, M6, M11, M28
func TestAnOutcomeOfWhichNobodyKnowsIsRecordedOnce(t *testing.T) {
	t.Parallel()
	for _, tr := range troubles() {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			disk := newDisk()
			o := faulty(disk)
			struck := &strike{disk: disk, kind: onefold.EventAnswered, fault: tr.fault}
			o.Store = struck.wrap
			r := rig.New(t, o)
			began := time.Now()
			op := r.UntilState(r.Submit("orders.create", "k", order).ID, onefold.Confirmed)
			// Whoever waits is told when it is durable, not when a lease ran out.
			if waited := time.Since(began); waited > onefold.DefaultLease {
				t.Errorf("it took %s", waited)
			}
			if disk.Fired() != 1 {
				t.Fatalf("%d faults happened, want one", disk.Fired())
			}
			agrees(t, r, op, 1)
			if len(op.Attempts) != 1 || op.Attempts[0].Verdict != onefold.VerdictConfirmed || op.Contradicted {
				t.Errorf("the attempts are %+v, contradicted %v", op.Attempts, op.Contradicted)
			}
			r.Stop()
			evidence, err := r.Store.EvidenceOf(context.Background(), op.ID, "", 100)
			if err != nil || len(evidence) != 1 {
				t.Errorf("one answer left %d pieces of evidence, %v: %+v", len(evidence), err, evidence)
			}
		})
	}
}

// Proves: M12, M16
func TestALookupOfWhichNobodyKnowsIsRecordedAfterAll(t *testing.T) {
	t.Parallel()
	for _, tr := range troubles() {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			disk := newDisk()
			o := faulty(disk)
			struck := &strike{disk: disk, kind: onefold.EventLookedUp, fault: tr.fault}
			o.Store = struck.wrap
			r := rig.New(t, o)
			r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect})
			op := r.UntilState(r.Submit("orders.create", "k", order).ID, onefold.Confirmed)
			if disk.Fired() != 1 {
				t.Fatalf("%d faults happened, want one", disk.Fired())
			}
			agrees(t, r, op, 1)
		})
	}
}

// A decision of which nobody knows: the operator is told so, and reads it again.
//
// Proves: M24, M28
func TestAWithdrawalOfWhichNobodyKnows(t *testing.T) {
	t.Parallel()
	for _, tr := range troubles() {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			disk := newDisk()
			o := faulty(disk)
			o.Idle = true
			r := rig.New(t, o)
			op := r.Submit("bills.create", "k", bill)
			disk.Fail(tr.fault)
			_, err := r.Ledger.Cancel(context.Background(), rig.Operator(op, "changed my mind"), true)
			if onefold.CodeOf(err) != onefold.CodeStoreUnavailable || errors.Is(err, onefold.ErrCommitUnknown) == tr.known {
				t.Fatalf("the operator was told %v", err)
			}
			now, err := r.Ledger.Operation(context.Background(), rig.Workspace, op.ID)
			if err != nil || (now.State == onefold.Canceled) != tr.happened {
				t.Fatalf("the operation is %s, %v; it happened: %v", now.State, err, tr.happened)
			}
			_, err = r.Ledger.Cancel(context.Background(), rig.Operator(op, "once more"), true)
			if tr.happened != (onefold.CodeOf(err) == onefold.CodeAlreadySettled) {
				t.Errorf("the second decision got %v", err)
			}
		})
	}
}

// The log could not be synced, and the process died: what the next process reads
// is that the commit happened.
//
// Proves: I3, M4, M12a, M22
func TestACommitThatAppearsAfterTheCrash(t *testing.T) {
	t.Parallel()
	for _, kind := range []onefold.EventKind{onefold.EventAdmitted, onefold.EventBegun, onefold.EventAnswered} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			disk, path := newDisk(), filepath.Join(t.TempDir(), "onefold.db")
			next := filepath.Join(t.TempDir(), "onefold.db")
			struck := &strike{disk: disk, kind: kind, fault: faultvfs.Fault{Place: faultvfs.LogSync, Error: faultvfs.ErrSync}}
			crashed := make(chan error, 1)
			struck.after = func(err error) {
				// From here on the first process is as good as dead.
				struck.dead.Store(true)
				copyFile(t, path, next)
				copyFile(t, path+"-wal", next+"-wal")
				crashed <- err
			}
			o := faulty(disk)
			o.Path, o.Store, o.Lease, o.Drain = path, struck.wrap, time.Second, time.Millisecond
			o.Idle = kind == onefold.EventAdmitted
			r := rig.New(t, o)
			if kind == onefold.EventAdmitted {
				disk.Fail(struck.fault)
			}
			op, _, err := r.Ledger.Submit(context.Background(), r.Submission("orders.create", "k", order))
			if kind == onefold.EventAdmitted {
				if !errors.Is(err, onefold.ErrCommitUnknown) {
					t.Fatalf("the caller was told %v", err)
				}
				struck.after(err)
			} else if err != nil {
				t.Fatal(err)
			}
			if err := <-crashed; !errors.Is(err, onefold.ErrCommitUnknown) {
				t.Fatalf("the store said %v", err)
			}
			sent := 0
			if kind == onefold.EventAnswered {
				sent = 1
			}
			requests, err := r.Sandbox.Requests(context.Background())
			if err != nil || len(requests) != sent {
				t.Fatalf("%d requests reached the target before the crash, want %d, %v", len(requests), sent, err)
			}
			if kind != onefold.EventAdmitted {
				r.Stop()
			}

			second := rig.New(t, rig.Options{Path: next, Sandbox: r.Sandbox, Edit: func(string) string { return "" }, Idle: true})
			again, replayed, err := second.Ledger.Submit(context.Background(), second.Submission("orders.create", "k", order))
			if err != nil || !replayed || op.ID != "" && again.ID != op.ID {
				t.Fatalf("the next process does not know the operation: %v, replayed %v", err, replayed)
			}
			if kind == onefold.EventBegun && again.State != onefold.Attempting || kind == onefold.EventAnswered && again.State != onefold.Confirmed {
				t.Errorf("the next process reads %s", again.State)
			}
			second.Start()
			agrees(t, second, second.UntilState(again.ID, onefold.Confirmed), 1)
		})
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = in.Close() }()
	out, err := os.Create(to)
	if err == nil {
		_, err = io.Copy(out, in)
		err = errors.Join(err, out.Close())
	}
	if err != nil {
		t.Error(err)
	}
}

// agrees holds a confirmed operation against the target's ledger: one effect, one
// request for each attempt that was sent.
func agrees(t *testing.T, r *rig.Rig, op onefold.Operation, effects int) {
	t.Helper()
	if got := r.Effects(op.Reference); got != effects {
		t.Errorf("the target performed %d effects, want %d", got, effects)
	}
	sent := 0
	for _, a := range op.Attempts {
		if a.Verdict != onefold.VerdictNotSent && a.ClosedBy != onefold.ClosedByProcessEnd {
			sent++
		}
	}
	if got := r.Writes(op.Reference); got < sent || got > len(op.Attempts) {
		t.Errorf("%d write requests reached the target; attempts %+v", got, op.Attempts)
	}
	if !strings.HasPrefix(op.Result.Reference, "BILL-") && !strings.HasPrefix(op.Result.Reference, "ORD-") {
		t.Errorf("the result is %+v", op.Result)
	}
}
