package runner_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/bootclock"
	"github.com/onefold-dev/onefold/internal/rig"
	"github.com/onefold-dev/onefold/runner"
)

// goDocuments stand beside the rig's: a target that Go functions carry.
const goDocuments = `
---
kind: capability
name: letters.post
version: 1
request: {type: object, required: [to], properties: {to: {type: string}}}
retry: {attempts: 6, within: 1m, backoff: {first: 20ms, factor: 2, max: 200ms}}
reconcile: {within: 30s, backoff: {first: 20ms, factor: 1.5, max: 100ms}}
---
kind: target
name: post-office
version: 1
protocol: go
operations:
  letters.post:
    write: {timeout: 2s}
    identity: {kind: none}
    lookup: {by: reference, timeout: 1s}
    settle: 20ms
    processing: 100ms
    absence: authoritative
    in_doubt: [lookup, operator]
---
kind: connection
workspace: acme
name: post
target: post-office@1
url: go://post-office
owner: maria@acme.example
`

const letter = `{"to": "Åse"}`

// run starts a runner with the given functions, until the returned function is
// called.
func run(t *testing.T, r *rig.Rig, c onefold.Carrier, targets map[string]onefold.Steps) (stop func()) {
	t.Helper()
	run, err := runner.New(r.Ledger, c, runner.Config{Worker: "w", Boot: bootclock.Now, Scan: 20 * time.Millisecond, Targets: targets})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func withGo(text string) string { return text + goDocuments }

// Proves: M4, M11, M12
func TestARunnerCarriesGoTargets(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Idle: true, Edit: withGo})
	var writes, lookups atomic.Int64
	defer run(t, r, nil, map[string]onefold.Steps{"post-office": {
		Write: func(_ context.Context, c onefold.Call) (onefold.WriteReport, error) {
			if string(c.Request) != letter || c.Attempt != 1 || c.Kind != onefold.Write || !c.MayStart() {
				t.Errorf("called with %+v", c)
			}
			writes.Add(1)
			return onefold.WriteReport{}, errors.New("the answer is lost")
		},
		Lookup: func(_ context.Context, c onefold.Call) (onefold.LookupReport, error) {
			if lookups.Add(1) < 3 {
				return onefold.Inconclusive("not now"), nil
			}
			return onefold.Found("LETTER-" + c.Reference), nil
		},
	}})()
	op := r.UntilState(r.Submit("letters.post", "k", letter).ID, onefold.Confirmed)
	if op.Result.LearntFrom != onefold.LearntFromLookup || op.Result.Reference != "LETTER-"+op.Reference || writes.Load() != 1 {
		t.Errorf("%+v after %d writes", op.Result, writes.Load())
	}
}

// A runner without the functions leaves the operations to the program that has
// them, does its other work, and does not go round in circles over it.
func TestARunnerLeavesGoTargetsThatItHasNoFunctionsFor(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: withGo, Scan: 10 * time.Millisecond})
	waiting := r.Submit("letters.post", "k", letter)
	agrees(t, r, r.UntilState(r.Submit("bills.create", "k", bill).ID, onefold.Confirmed), 1, 1)
	op, err := r.Ledger.Operation(context.Background(), rig.Workspace, waiting.ID)
	if err != nil || op.State != onefold.Prepared || op.Token != 0 || len(op.Holds) > 0 {
		t.Fatalf("%v, %s, leased %d times, holds %+v", err, op.State, op.Token, op.Holds)
	}
	r.Stop()
	defer run(t, r, nil, map[string]onefold.Steps{"post-office": {
		Write: func(_ context.Context, c onefold.Call) (onefold.WriteReport, error) {
			return onefold.Applied("LETTER-" + c.Reference), nil
		},
	}})()
	r.UntilState(waiting.ID, onefold.Confirmed)
	// And the other way round: this one carries nothing over HTTP.
	other := r.Submit("bills.create", "k-2", bill)
	r.UntilState(r.Submit("letters.post", "k-2", letter).ID, onefold.Confirmed)
	if op, err := r.Ledger.Operation(context.Background(), rig.Workspace, other.ID); err != nil || op.State != onefold.Prepared || op.Token != 0 {
		t.Errorf("%v, %s, leased %d times", err, op.State, op.Token)
	}
}

// A function that panics harms its own operation alone.
//
// Proves: M11
func TestAGoFunctionThatPanicsLeavesDoubt(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Idle: true, Edit: withGo})
	defer run(t, r, nil, map[string]onefold.Steps{"post-office": {
		Write: func(_ context.Context, c onefold.Call) (onefold.WriteReport, error) {
			if string(c.Request) == letter {
				panic("a poison letter")
			}
			return onefold.Applied("LETTER-2"), nil
		},
		Lookup: func(context.Context, onefold.Call) (onefold.LookupReport, error) {
			return onefold.Found("LETTER-1"), nil
		},
	}})()
	poison := r.Submit("letters.post", "k", letter)
	r.UntilState(r.Submit("letters.post", "k-2", `{"to": "Bo"}`).ID, onefold.Confirmed)
	if op := r.UntilState(poison.ID, onefold.Confirmed); op.Attempts[0].Verdict != onefold.VerdictUnknown {
		t.Errorf("the attempt that panicked is %s", op.Attempts[0].Verdict)
	}
}

func TestARunnerRefusesWhatItCannotWorkWith(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Idle: true})
	for name, c := range map[string]struct {
		carrier onefold.Carrier
		config  runner.Config
	}{
		"nothing to carry with": {nil, runner.Config{Worker: "w", Boot: bootclock.Now}},
		"no Write":              {nil, runner.Config{Worker: "w", Boot: bootclock.Now, Targets: map[string]onefold.Steps{"post-office": {}}}},
		"an outside name":       {carrier{}, runner.Config{Worker: "do:w", Boot: bootclock.Now}},
	} {
		if _, err := runner.New(r.Ledger, c.carrier, c.config); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// An operation in doubt whose program never comes back ends with its owner.
//
// Proves: M12a, M16
func TestDoubtThatNobodyComesBackForEndsWithAPerson(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Idle: true, Scan: 10 * time.Millisecond, Edit: func(text string) string {
		return edit("reconcile: {within: 30s, backoff: {first: 20ms", "reconcile: {within: 300ms, backoff: {first: 20ms")(withGo(text))
	}})
	op := r.Submit("letters.post", "k", letter)
	end := run(t, r, nil, map[string]onefold.Steps{"post-office": {
		Write: func(context.Context, onefold.Call) (onefold.WriteReport, error) {
			return onefold.WriteReport{}, errors.New("the answer is lost")
		},
		Lookup: func(context.Context, onefold.Call) (onefold.LookupReport, error) {
			return onefold.Inconclusive("not now"), nil
		},
	}})
	r.UntilState(op.ID, onefold.Uncertain)
	end()
	r.Start()
	op = r.Until(op.ID, "in review", func(op *onefold.Operation) bool { return len(op.OpenReviews()) > 0 })
	if op.State != onefold.Uncertain || op.OpenReviews()[0].Owner != "maria@acme.example" || op.Due != nil {
		t.Errorf("%s, due %v, reviews %+v", op.State, op.Due, op.Reviews)
	}
}
