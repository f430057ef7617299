package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/bench/measure"
	"github.com/onefold-dev/onefold/internal/rig"
)

// noop is a target in the same process that always confirms, each operation with a
// record of its own.
type noop struct{}

func (noop) Carry(_ context.Context, d onefold.Dispatch) onefold.Exchange {
	if d.MayStart != nil && !d.MayStart() {
		return onefold.Exchange{NotSent: true, Failure: "deadline_before_send"}
	}
	return onefold.Exchange{
		Status: 201, Complete: true, Body: []byte(`{"id":"` + d.Operation.ID + `","total":"1250.00"}`),
		Headers: []onefold.Header{{Name: "Content-Type", Value: "application/json"}},
	}
}

func (noop) CredentialDigest(context.Context, onefold.Route) (string, error) { return "", nil }

// options make a rig with the no-op target and limits that nothing meets.
func options(idle bool) rig.Options {
	return rig.Options{Carrier: noop{}, Idle: idle, Edit: func(text string) string {
		return strings.NewReplacer("SANDBOX_URL", "http://127.0.0.1:1", "in_flight: 64", "in_flight: 1024", "unresolved: 100", "unresolved: 1000000").Replace(text)
	}}
}

// submit admits an operation, or finds it.
func submit(ctx context.Context, r *rig.Rig, key string) (onefold.Operation, bool, error) {
	return r.Ledger.Submit(ctx, r.Submission("bills.create", key, measure.Request))
}

// whole submits an operation and waits until its outcome is on record.
func whole(ctx context.Context, r *rig.Rig, key string) error {
	op, _, err := submit(ctx, r, key)
	if err != nil {
		return err
	}
	op, err = r.Ledger.Wait(ctx, rig.Workspace, op.ID, onefold.Rested)
	if err == nil && op.State != onefold.Confirmed {
		err = fmt.Errorf("the operation is %s", op.State)
	}
	return err
}

var errAdmitted = errors.New("a repeat was admitted")

// repeat submits what is known already.
func repeat(ctx context.Context, r *rig.Rig, key string) error {
	_, replayed, err := submit(ctx, r, key)
	if err == nil && !replayed {
		err = errAdmitted
	}
	return err
}

// each runs a case with every number of callers.
func each(b *testing.B, who string, run func(b *testing.B, callers int)) {
	b.Helper()
	for _, n := range measure.Callers() {
		b.Run(fmt.Sprintf("%s/callers=%d", who, n), func(b *testing.B) { run(b, n) })
	}
}

// BenchmarkAdmission is a submission until it is durable; nothing carries it out.
func BenchmarkAdmission(b *testing.B) {
	each(b, "onefold", func(b *testing.B, callers int) {
		r := rig.New(b, options(true))
		measure.Together(b, callers, func() error {
			_, _, err := submit(b.Context(), r, measure.Key())
			return err
		})
	})
	each(b, "hand-written", func(b *testing.B, callers int) {
		t := openTable(b, nil)
		measure.Together(b, callers, func() error { return t.admit(b.Context(), measure.Key()) })
	})
}

// BenchmarkWholePath is a submission until the caller has its durable outcome.
func BenchmarkWholePath(b *testing.B) {
	each(b, "onefold", func(b *testing.B, callers int) {
		r := rig.New(b, options(false))
		measure.Together(b, callers, func() error { return whole(b.Context(), r, measure.Key()) })
	})
	each(b, "hand-written", func(b *testing.B, callers int) {
		t := openTable(b, nil)
		measure.Together(b, callers, func() error { return t.whole(b.Context(), measure.Key()) })
	})
}

// BenchmarkRepeat is the same submission again: it is answered and writes nothing.
func BenchmarkRepeat(b *testing.B) {
	each(b, "onefold", func(b *testing.B, callers int) {
		r := rig.New(b, options(false))
		key := measure.Key()
		if err := whole(b.Context(), r, key); err != nil {
			b.Fatal(err)
		}
		measure.Together(b, callers, func() error { return repeat(b.Context(), r, key) })
	})
	each(b, "hand-written", func(b *testing.B, callers int) {
		t := openTable(b, nil)
		key := measure.Key()
		if err := t.whole(b.Context(), key); err != nil {
			b.Fatal(err)
		}
		measure.Together(b, callers, func() error { return t.repeat(b.Context(), key) })
	})
}
