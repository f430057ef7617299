package onefold_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/machine"
	"github.com/onefold-dev/onefold/runner"
)

// A submission is stored before anything is sent. A runner carries it out, and the
// result is there for whoever waits.
func ExampleLedger_Submit() {
	ledger, _, end := exampleLedger()
	defer end()
	ctx := context.Background()

	op, replayed, err := ledger.Submit(ctx, bill("INV-0042", "1250.00"))
	fmt.Println(op.State, replayed, err)

	books := &exampleBooks{}
	run, err := runner.New(ledger, nil, runner.Config{
		Worker: "books-1", Boot: machine.Boot, Targets: map[string]onefold.Steps{"erp": books.Steps()},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	work, drain := context.WithCancel(ctx)
	done := make(chan error)
	go func() { done <- run.Run(work) }()

	op, err = ledger.Wait(ctx, "acme", op.ID, onefold.Rested)
	fmt.Println(op.State, op.Result.Reference, op.Result.LearntFrom, err)
	drain()
	fmt.Println(<-done)
	// Output:
	// prepared false <nil>
	// confirmed DOC-1 response <nil>
	// <nil>
}

// The same key with the same intent is the same operation, however the request is
// spelled: the contract says that a total is a decimal.
func ExampleLedger_Submit_repeat() {
	ledger, _, end := exampleLedger()
	defer end()
	ctx := context.Background()

	first, replayed, err := ledger.Submit(ctx, bill("INV-0042", "1250.00"))
	fmt.Println(replayed, err)
	second, replayed, err := ledger.Submit(ctx, bill("INV-0042", "1250.0"))
	fmt.Println(replayed, err, second.ID == first.ID)
	// Output:
	// false <nil>
	// true <nil> true
}

// The same key with another intent is refused, and the error names what differs.
func ExampleLedger_Submit_conflict() {
	ledger, _, end := exampleLedger()
	defer end()
	ctx := context.Background()

	if _, _, err := ledger.Submit(ctx, bill("INV-0042", "1250.00")); err != nil {
		fmt.Println(err)
	}
	_, _, err := ledger.Submit(ctx, bill("INV-0042", "1350.00"))
	if conflict, ok := errors.AsType[*onefold.Error](err); ok {
		fmt.Println(conflict.Code)
		for _, d := range conflict.Differences {
			fmt.Printf("%s was %s, came as %s\n", d.Pointer, d.Accepted, d.Submitted)
		}
	}
	// Output:
	// key_conflict
	// /request/total was "1250.00", came as "1350.00"
}

// Withdrawn before anything was sent, an operation is canceled and its key is free
// again; in doubt, it is only kept from being sent again.
func ExampleLedger_Cancel() {
	ledger, clock, end := exampleLedger()
	defer end()
	ctx := context.Background()

	op, _, _ := ledger.Submit(ctx, payout("salary-1", "99.90"))
	op, err := ledger.Cancel(ctx, maria(op, "paid by hand"), true)
	fmt.Println(op.State, op.NewKeySafe(), err)

	books := &exampleBooks{lose: 1}
	op, _ = ledger.Do(ctx, payout("salary-2", "99.90"), books.Steps())
	op, err = ledger.Cancel(ctx, maria(op, "entered twice"), false)
	fmt.Println(op.State, op.Barred, err)

	// The withdrawal came too late, and that is what is said.
	clock.Advance(duty)
	op, err = ledger.Do(ctx, payout("salary-2", "99.90"), books.Steps())
	fmt.Println(op.State, op.Result.Reference, err)
	fmt.Println(len(books.entries), "entry")
	// Output:
	// canceled true <nil>
	// uncertain [withdrawn] <nil>
	// confirmed DOC-1 <nil>
	// 1 entry
}
