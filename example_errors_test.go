package onefold_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold-dev/onefold"
)

// Every problem has a code; errors.Is matches by it, and errors.AsType gives the
// facts. Which of them are worth another try, and when, the error says itself.
func ExampleError() {
	ledger, _, end := exampleLedger()
	defer end()
	ctx := context.Background()
	busy := onefold.Steps{Write: func(context.Context, onefold.Call) (onefold.WriteReport, error) {
		r := onefold.NotApplied("503")
		r.RetryAfter = 90 * time.Second
		return r, nil
	}}

	op, err := ledger.Do(ctx, payout("salary-1", "99.90"), busy)
	switch {
	case err == nil:
		fmt.Println("settled:", op.State)
	case errors.Is(err, onefold.ErrRetryUnsafe):
		fmt.Println("uncertain: do not start it again under another key")
	case errors.Is(err, onefold.ErrLeased):
		fmt.Println("somebody else is at it")
	case errors.Is(err, onefold.ErrNotDue):
		e, _ := errors.AsType[*onefold.Error](err)
		fmt.Println("nothing happened; again in", e.RetryAfter)
	default:
		fmt.Println(err)
	}
	fmt.Println(op.State, op.MaybeApplied)

	wrong := payout("salary-2", "99.90")
	wrong.Request = []byte(`{"payee": "P-1"}`)
	_, err = ledger.Do(ctx, wrong, busy)
	if e, ok := errors.AsType[*onefold.Error](err); ok && errors.Is(err, onefold.ErrRequestInvalid) {
		fmt.Println(e.Code, e.Faults[0].Pointer, e.Faults[0].Rule)
		fmt.Println(onefold.ProblemOf(e.Code).Retry)
	}
	// Output:
	// nothing happened; again in 1m30s
	// prepared false
	// request_invalid /request/amount required
	// after_a_change
}
