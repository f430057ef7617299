package onefold_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
)

// Whatever a function does but report is doubt, and is never sent again at a
// target that does not recognise a repeat.
//
// Proves: M11, M11c
func TestWhatIsNoReportIsDoubt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		write func(context.Context, onefold.Call) (onefold.WriteReport, error)
		doubt onefold.DoubtReason
		bar   onefold.Bar
	}{
		"an error": {lost, onefold.DoubtNoAnswer, ""},
		"an error beside a report": {func(context.Context, onefold.Call) (onefold.WriteReport, error) {
			return onefold.NotApplied("no"), errors.New("but")
		}, onefold.DoubtNoAnswer, ""},
		"a panic": {func(context.Context, onefold.Call) (onefold.WriteReport, error) { panic("a nil map") }, onefold.DoubtInternal, ""},
		"an end of the goroutine": {func(context.Context, onefold.Call) (onefold.WriteReport, error) {
			runtime.Goexit()
			return onefold.WriteReport{}, nil
		}, onefold.DoubtInternal, ""},
		"an empty report": {func(context.Context, onefold.Call) (onefold.WriteReport, error) {
			return onefold.WriteReport{}, nil
		}, onefold.DoubtUnclassified, ""},
		"an unclear answer": {func(context.Context, onefold.Call) (onefold.WriteReport, error) {
			return onefold.InDoubt("500"), nil
		}, onefold.DoubtUnclassified, ""},
		"an outcome that there is not": {func(context.Context, onefold.Call) (onefold.WriteReport, error) {
			return onefold.WriteReport{Outcome: "failed"}, nil
		}, onefold.DoubtInternal, ""},
		"still in progress": {func(context.Context, onefold.Call) (onefold.WriteReport, error) {
			return onefold.WriteReport{Outcome: onefold.OutcomeInProgress}, nil
		}, onefold.DoubtInProgress, ""},
		"another request's identity": {func(context.Context, onefold.Call) (onefold.WriteReport, error) {
			return onefold.WriteReport{Outcome: onefold.OutcomeKeyConflict}, nil
		}, onefold.DoubtKeyConflict, onefold.BarKeyConflict},
		"an effect without a reference": {func(context.Context, onefold.Call) (onefold.WriteReport, error) {
			return onefold.Applied(""), nil
		}, onefold.DoubtEffectExists, onefold.BarEffectExists},
		"an effect with a strange reference": {func(context.Context, onefold.Call) (onefold.WriteReport, error) {
			return onefold.Applied("DOC\x001"), nil
		}, onefold.DoubtEffectExists, onefold.BarEffectExists},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, b := newDoScene(t, doOptions{}), &books{before: c.write}
			op := s.do("notes.post", "k", doNote, b.steps(), onefold.ErrRetryUnsafe)
			if op.State != onefold.Uncertain || op.Doubt.Reason != c.doubt || !op.MaybeApplied {
				t.Fatalf("%s, doubt %+v", op.State, op.Doubt)
			}
			if c.bar != "" && !op.IsBarred(c.bar) {
				t.Errorf("barred %v, want %s", op.Barred, c.bar)
			}
			if open := op.OpenReviews(); len(open) != 1 || open[0].Owner != "maria@acme.example" {
				t.Errorf("reviews %+v", open)
			}
			s.Clock.Advance(time.Hour)
			s.do("notes.post", "k", doNote, b.steps(), onefold.ErrRetryUnsafe)
			b.counts(t, 1, 0)
		})
	}
}

// A function that breaks while it looks has learnt nothing.
//
// Proves: M12
func TestALookUpThatBreaksLearnsNothing(t *testing.T) {
	t.Parallel()
	for name, find := range map[string]func(context.Context, onefold.Call) (onefold.LookupReport, error){
		"an error": func(context.Context, onefold.Call) (onefold.LookupReport, error) {
			return onefold.Absent(""), errors.New("500")
		},
		"a panic":             func(context.Context, onefold.Call) (onefold.LookupReport, error) { panic("a nil map") },
		"an empty report":     func(context.Context, onefold.Call) (onefold.LookupReport, error) { return onefold.LookupReport{}, nil },
		"found, but not what": func(context.Context, onefold.Call) (onefold.LookupReport, error) { return onefold.Found(" "), nil },
		"a word that is not in": func(context.Context, onefold.Call) (onefold.LookupReport, error) {
			return onefold.LookupReport{Result: "gone"}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, b := newDoScene(t, doOptions{}), &books{answer: lost, find: find}
			s.do("payouts.send", "k", doPayout, b.steps(), onefold.ErrRetryUnsafe)
			s.Clock.Advance(time.Minute)
			op := s.do("payouts.send", "k", doPayout, b.steps(), onefold.ErrRetryUnsafe)
			if op.State != onefold.Uncertain || b.lookups != 1 {
				t.Errorf("%s after %d look-ups", op.State, b.lookups)
			}
			b.find = nil
			s.Clock.Advance(time.Minute)
			if op = s.do("payouts.send", "k", doPayout, b.steps(), nil); op.State != onefold.Confirmed {
				t.Errorf("then %s", op.State)
			}
			b.counts(t, 1, 1)
		})
	}
}

// A caller that gives up gets the operation, not the word that it was canceled.
//
// Proves: M6
func TestACallerThatGivesUpInFlightGetsTheOperation(t *testing.T) {
	t.Parallel()
	for name, report := range map[string]onefold.WriteReport{
		"and Write saw nothing":    {},
		"and Write saw the answer": onefold.Applied("DOC-1"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, b := newDoScene(t, doOptions{}), &books{}
			ctx, giveUp := context.WithCancel(context.Background())
			b.answer = func(ctx context.Context, _ onefold.Call) (onefold.WriteReport, error) {
				giveUp()
				<-ctx.Done()
				if report.Outcome == "" {
					return onefold.WriteReport{}, ctx.Err()
				}
				return report, nil
			}
			op, err := s.Ledger.Do(ctx, s.submission("payouts.send", "k", doPayout), b.steps())
			if errors.Is(err, context.Canceled) {
				t.Errorf("the error is the context's: %v", err)
			}
			if report.Outcome != "" {
				if err != nil || op.State != onefold.Confirmed {
					t.Errorf("%v, %s", err, op.State)
				}
				return
			}
			if !errors.Is(err, onefold.ErrRetryUnsafe) || op.State != onefold.Uncertain || op.OpenAttempt() {
				t.Fatalf("%v, %s, %+v", err, op.State, op.Attempts)
			}
			s.Clock.Advance(time.Minute)
			if op = s.do("payouts.send", "k", doPayout, b.steps(), nil); op.State != onefold.Confirmed {
				t.Errorf("looked up: %s", op.State)
			}
			b.counts(t, 1, 1)
		})
	}
}

// A caller that has given up before anything began learns that, too.
//
// Proves: M4
func TestACallerThatGaveUpBeforehandSendsNothing(t *testing.T) {
	t.Parallel()
	s, b := newDoScene(t, doOptions{}), &books{}
	over, end := context.WithCancel(context.Background())
	end()
	if op, err := s.Ledger.Do(over, s.submission("payouts.send", "new", doPayout), b.steps()); err == nil || op.ID != "" && op.State != onefold.Prepared {
		t.Errorf("%v, %s", err, op.State)
	}
	// It gives up between admission and lease: the operation is known, and stands.
	ctx, giveUp := context.WithCancel(context.Background())
	s.Ledger.Watch(func(op onefold.Operation, admitted bool) { giveUp() }, nil)
	op, err := s.Ledger.Do(ctx, s.submission("payouts.send", "k", doPayout), b.steps())
	if !errors.Is(err, onefold.ErrNotDue) || errors.Is(err, context.Canceled) || op.State != onefold.Prepared || op.Lease != nil {
		t.Fatalf("%v, %s, leased %v", err, op.State, op.Lease)
	}
	// It gives up after the lease, or after the begin: provably nothing was sent.
	for _, at := range []func(*onefold.Operation) bool{
		func(op *onefold.Operation) bool { return op.State == onefold.Prepared && op.Lease != nil },
		func(op *onefold.Operation) bool { return op.State == onefold.Attempting },
	} {
		s.Clock.Advance(time.Minute)
		ctx, giveUp := context.WithCancel(context.Background())
		s.Ledger.Watch(func(op onefold.Operation, _ bool) {
			if at(&op) {
				giveUp()
			}
		}, nil)
		op, err = s.Ledger.Do(ctx, s.submission("payouts.send", "k", doPayout), b.steps())
		if !errors.Is(err, onefold.ErrNotDue) || op.State != onefold.Prepared || op.Lease != nil || op.MaybeApplied {
			t.Errorf("%v, %s, leased %v", err, op.State, op.Lease)
		}
		giveUp()
	}
	b.counts(t, 0, 0)
	s.Ledger.Watch(nil, nil)
	s.Clock.Advance(time.Minute)
	s.do("payouts.send", "k", doPayout, b.steps(), nil)
	b.counts(t, 1, 1)
}

// A function that does not come back is not waited for: its attempt is silent,
// and what it says in the end is late evidence.
//
// Proves: M8, M10, M12a
func TestAFunctionThatDoesNotComeBackIsSilent(t *testing.T) {
	t.Parallel()
	for name, expired := range map[string]bool{"its lease stands": false, "its lease is over": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, b := newDoScene(t, doOptions{}), &books{}
			release := make(chan struct{})
			ctx, giveUp := context.WithCancel(context.Background())
			b.answer = func(context.Context, onefold.Call) (onefold.WriteReport, error) {
				giveUp()
				<-release
				return onefold.Applied("DOC-late"), nil
			}
			steps := b.steps()
			steps.Grace = 20 * time.Millisecond
			op, err := s.Ledger.Do(ctx, s.submission("payouts.send", "k", doPayout), steps)
			if !errors.Is(err, onefold.ErrLeased) || op.State != onefold.Attempting {
				t.Fatalf("%v, %s", err, op.State)
			}
			// Nobody else begins meanwhile.
			s.do("payouts.send", "k", doPayout, steps, onefold.ErrLeased)
			if expired {
				s.Clock.Advance(onefold.DefaultLease)
				b.find = func(context.Context, onefold.Call) (onefold.LookupReport, error) { return onefold.Absent(""), nil }
				op = s.do("payouts.send", "k", doPayout, steps, onefold.ErrRetryUnsafe)
				if op.Doubt.Reason != onefold.DoubtLeaseExpired || !op.OpenAttempt() {
					t.Fatalf("%+v, %+v", op.Doubt, op.Attempts)
				}
				// Absence proves nothing while the function may still send.
				s.Clock.Advance(10 * time.Second)
				s.do("payouts.send", "k", doPayout, steps, onefold.ErrRetryUnsafe)
			}
			close(release)
			waiting, stop := context.WithTimeout(context.Background(), time.Minute)
			defer stop()
			op, err = s.Ledger.Wait(waiting, "acme", op.ID, func(op *onefold.Operation) bool { return op.Settled() })
			if err != nil || op.State != onefold.Confirmed || op.Result.Reference != "DOC-late" || op.OpenAttempt() {
				t.Errorf("%v, %s, %+v", err, op.State, op.Attempts)
			}
			b.counts(t, 1, 1)
		})
	}
}

// An attempt that stays silent is closed by the straggler time, and only then an
// absence proves anything.
//
// Proves: M12, M12a
func TestASilentAttemptIsClosedBeforeAnythingIsSentAgain(t *testing.T) {
	t.Parallel()
	s, b := newDoScene(t, doOptions{}), &books{}
	release := make(chan struct{})
	ctx, giveUp := context.WithCancel(context.Background())
	b.before = func(context.Context, onefold.Call) (onefold.WriteReport, error) {
		giveUp()
		<-release
		return onefold.NotSent("never dialled"), nil
	}
	steps := b.steps()
	steps.Grace = 20 * time.Millisecond
	if _, err := s.Ledger.Do(ctx, s.submission("payouts.send", "k", doPayout), steps); !errors.Is(err, onefold.ErrLeased) {
		t.Fatal(err)
	}
	began := s.Clock.Now()
	b.before = nil
	var op onefold.Operation
	for range 60 {
		s.Clock.Advance(5 * time.Second)
		op, _ = s.Ledger.Do(context.Background(), s.submission("payouts.send", "k", doPayout), steps)
		if op.Settled() {
			break
		}
	}
	if op.State != onefold.Confirmed || len(op.Attempts) != 2 || op.Attempts[0].ClosedBy != onefold.ClosedByStraggler {
		t.Fatalf("%s after %+v", op.State, op.Attempts)
	}
	if waited := op.Attempts[1].BegunAt.Sub(began); waited < onefold.DefaultLease+doStraggler+3*time.Second {
		t.Errorf("sent again after %s", waited)
	}
	b.counts(t, 2, 1)
	// The first one comes back after all: its word is kept, and changes nothing.
	close(release)
	waiting, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	op, err := s.Ledger.Wait(waiting, "acme", op.ID, func(op *onefold.Operation) bool { return op.Attempts[0].ClosedBy == onefold.ClosedByReport })
	if err != nil || op.State != onefold.Confirmed || op.Attempts[0].Verdict != onefold.VerdictNotSent || op.Contradicted {
		t.Errorf("%v, %s after %+v", err, op.State, op.Attempts)
	}
}

// Proves: M9
func TestTheLeaseIsRenewedWhileWriteIsOut(t *testing.T) {
	t.Parallel()
	s, b := newDoScene(t, doOptions{lease: 60 * time.Millisecond}), &books{}
	b.answer = func(ctx context.Context, c onefold.Call) (onefold.WriteReport, error) {
		for range 3 {
			op, err := s.Ledger.Operation(ctx, "acme", c.Operation)
			must(t, err)
			before := op.Lease.Until
			s.Clock.Advance(20 * time.Millisecond)
			_, err = s.Ledger.Wait(ctx, "acme", c.Operation, func(op *onefold.Operation) bool { return op.Lease.Until.After(before) })
			must(t, err)
		}
		// Somebody else comes later than the lease that was given first.
		if _, err := s.Ledger.Do(ctx, s.submission("payouts.send", "k", doPayout), b.steps()); !errors.Is(err, onefold.ErrLeased) {
			t.Errorf("beside a renewed lease: %v", err)
		}
		return onefold.Applied("DOC-1"), nil
	}
	if op := s.do("payouts.send", "k", doPayout, b.steps(), nil); op.State != onefold.Confirmed {
		t.Errorf("%s", op.State)
	}
	b.counts(t, 1, 1)
}

// Proves: M7, I3
func TestManyCallersOfDoWithOneKey(t *testing.T) {
	t.Parallel()
	const callers = 64
	s, b := newDoScene(t, doOptions{real: true}), &books{}
	entered, release := make(chan struct{}), make(chan struct{})
	b.answer = func(_ context.Context, c onefold.Call) (onefold.WriteReport, error) {
		close(entered)
		<-release
		return onefold.Applied("DOC-" + c.Reference), nil
	}
	waiting := b.steps()
	waiting.Wait = time.Minute
	var group sync.WaitGroup
	var confirmed, leased atomic.Int64
	call := func(steps onefold.Steps) {
		op, err := s.Ledger.Do(context.Background(), s.submission("payouts.send", "k", doPayout), steps)
		switch {
		case err == nil && op.State == onefold.Confirmed:
			confirmed.Add(1)
		case errors.Is(err, onefold.ErrLeased) && op.ID != "" && strings.Contains(err.Error(), "being worked on"):
			leased.Add(1)
		default:
			t.Errorf("%v, %s", err, op.State)
		}
	}
	group.Go(func() { call(b.steps()) })
	<-entered
	for i := range callers {
		if i%2 == 0 {
			call(b.steps()) // does not wait, and is told so at once
			continue
		}
		group.Go(func() { call(waiting) })
	}
	close(release)
	group.Wait()
	if confirmed.Load() != 1+callers/2 || leased.Load() != callers/2 {
		t.Errorf("%d confirmed, %d leased", confirmed.Load(), leased.Load())
	}
	b.counts(t, 1, 1)
}

// Do waits for what is not due yet as long as its caller allows.
//
// Proves: M11, M12
func TestDoSettlesDoubtByItselfWithinItsWait(t *testing.T) {
	t.Parallel()
	s := newDoScene(t, doOptions{real: true, edit: replaced(
		"compare: {/amount: {decimal: {scale: 2}}}",
		"compare: {/amount: {decimal: {scale: 2}}}\nreconcile: {within: 1h, backoff: {first: 20ms, factor: 1, max: 20ms}}\nretry: {attempts: 5, within: 1h, backoff: {first: 20ms, factor: 1, max: 20ms}}",
		"settle: 1s\n    processing: 2s", "settle: 20ms\n    processing: 80ms",
	)})
	b := &books{before: lost}
	b.find = func(context.Context, onefold.Call) (onefold.LookupReport, error) {
		b.before = nil // the next write works
		return onefold.Absent("the whole day was listed"), nil
	}
	steps := b.steps()
	steps.Wait = time.Minute
	op := s.do("payouts.send", "k", doPayout, steps, nil)
	if op.State != onefold.Confirmed || len(op.Attempts) != 2 || op.Attempts[0].ProvenBy != onefold.ProvenByAbsence {
		t.Errorf("%s after %+v", op.State, op.Attempts)
	}
	b.counts(t, 2, 1)
}

// A store that fails says so, with the operation as it was last known.
//
// Proves: M6
func TestAStoreThatIsGoneIsNotAnOutcome(t *testing.T) {
	t.Parallel()
	s, b := newDoScene(t, doOptions{}), &books{answer: lost}
	op := s.do("payouts.send", "k", doPayout, b.steps(), onefold.ErrRetryUnsafe)
	must(t, s.Store.Close())
	got, err := s.Ledger.Do(context.Background(), s.submission("payouts.send", "k", doPayout), b.steps())
	if !errors.Is(err, onefold.ErrStoreUnavailable) || got.ID != "" && got.ID != op.ID {
		t.Errorf("%v, %s", err, got.ID)
	}
	b.counts(t, 1, 1)
}
