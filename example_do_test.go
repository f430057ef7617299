package onefold_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold-dev/onefold"
)

// duty is a while after which a scheduler comes back.
const duty = time.Minute

// A program with a scheduler of its own carries one operation out by its own
// functions. A nil error says that the operation is settled; its state says how.
func ExampleLedger_Do() {
	ledger, _, end := exampleLedger()
	defer end()
	books := &exampleBooks{}

	op, err := ledger.Do(context.Background(), payout("salary-2026-11-P-1", "99.90"), onefold.Steps{
		Write: func(ctx context.Context, c onefold.Call) (onefold.WriteReport, error) {
			number, err := books.Enter(ctx, c.Reference)
			if err != nil {
				return onefold.WriteReport{}, err // perhaps entered, perhaps not
			}
			return onefold.Applied(number), nil
		},
		Lookup: func(ctx context.Context, c onefold.Call) (onefold.LookupReport, error) {
			if number, found := books.Find(ctx, c.Reference); found {
				return onefold.Found(number), nil
			}
			return onefold.Absent("the books hold no such reference"), nil
		},
	})
	if err != nil {
		fmt.Println("not settled:", err)
		return
	}
	switch op.State {
	case onefold.Confirmed:
		fmt.Println("paid as", op.Result.Reference)
	case onefold.Rejected:
		fmt.Println("refused:", op.Rejection.Code)
	default:
		fmt.Println("withdrawn")
	}
	// Output:
	// paid as DOC-1
}

// An answer is lost. The operation is uncertain, says why it is not run again, and
// is looked up when its scheduler comes back: one entry.
func ExampleLedger_Do_lostAnswer() {
	ledger, clock, end := exampleLedger()
	defer end()
	ctx, books := context.Background(), &exampleBooks{lose: 1}

	op, err := ledger.Do(ctx, payout("salary-1", "99.90"), books.Steps())
	fmt.Println(op.State, op.Doubt.Reason)
	fmt.Println(err)

	clock.Advance(duty)
	op, err = ledger.Do(ctx, payout("salary-1", "99.90"), books.Steps())
	fmt.Println(op.State, op.Result.Reference, op.Result.LearntFrom, err)
	fmt.Println(len(books.entries), "entry")
	// Output:
	// uncertain no_answer
	// retry_unsafe: the effect is uncertain (no_answer) and the operation is not run again: the contract does not name replay for this case
	// confirmed DOC-1 lookup <nil>
	// 1 entry
}

// A retry is refused although the first try had worked: the refusal answers for
// itself alone, and the operation is not rejected.
func ExampleLedger_Do_refusedAfterLostSuccess() {
	ledger, clock, end := exampleLedger()
	defer end()
	ctx, books := context.Background(), &exampleBooks{lose: 1}
	refusing := books.Steps()
	refusing.Write = func(context.Context, onefold.Call) (onefold.WriteReport, error) {
		return onefold.Refused("key_revoked", "401"), nil
	}

	op, _ := ledger.Do(ctx, bill("INV-0042", "1250.00"), books.Steps())
	fmt.Println(op.State, op.Doubt.Reason)

	clock.Advance(duty) // the target recognises a repeat: it is sent again, and refused
	op, _ = ledger.Do(ctx, bill("INV-0042", "1250.00"), refusing)
	fmt.Println(op.State, op.Doubt.Reason, op.Attempts[1].Kind, op.Attempts[1].Verdict)

	clock.Advance(duty)
	op, err := ledger.Do(ctx, bill("INV-0042", "1250.00"), refusing)
	fmt.Println(op.State, op.Result.Reference, err)
	// Output:
	// uncertain no_answer
	// uncertain refused_after_doubt replay rejected
	// confirmed DOC-1 <nil>
}

// A caller that gives up while Write is out gets the operation, and what came of
// it is recorded all the same.
func ExampleLedger_Do_callerGivesUp() {
	ledger, _, end := exampleLedger()
	defer end()
	books := &exampleBooks{}
	ctx, giveUp := context.WithCancel(context.Background())
	steps := books.Steps()
	steps.Write = func(ctx context.Context, c onefold.Call) (onefold.WriteReport, error) {
		number, err := books.Enter(ctx, c.Reference)
		giveUp() // somebody hangs up just now
		return onefold.Applied(number), err
	}

	op, err := ledger.Do(ctx, payout("salary-1", "99.90"), steps)
	fmt.Println(op.State, op.Result.Reference, err)
	// Output:
	// confirmed DOC-1 <nil>
}

// Where the contract knows no way out of doubt, a person owns it until it is
// decided. Time alone changes nothing.
func ExampleLedger_Resolve() {
	ledger, clock, end := exampleLedger()
	defer end()
	ctx := context.Background()
	note := onefold.Submission{Workspace: "acme", Capability: "notes.post", Key: "n-1", Request: []byte(`{"text": "late"}`), SubmittedBy: "desk"}
	steps := onefold.Steps{Write: func(context.Context, onefold.Call) (onefold.WriteReport, error) {
		return onefold.WriteReport{}, errors.New("no answer for ten seconds")
	}}

	if _, err := ledger.Do(ctx, note, steps); err != nil {
		fmt.Println(errors.Is(err, onefold.ErrRetryUnsafe))
	}
	clock.Advance(365 * 24 * time.Hour)
	op, _ := ledger.Do(ctx, note, steps)
	review := op.OpenReviews()[0]
	fmt.Println(op.State, "belongs to", review.Owner, "because of", review.Reason)

	op, err := ledger.Resolve(ctx, maria(op, "it is on the board"), onefold.Resolution{Outcome: onefold.ResolveConfirmed, Reference: "NOTE-7"})
	fmt.Println(op.State, op.Result.Reference, op.Result.LearntFrom, err)
	// Output:
	// true
	// uncertain belongs to maria@acme.example because of operator_only
	// confirmed NOTE-7 operator <nil>
}

// A look-up that cannot answer proves nothing: neither that there is an effect nor
// that there is none.
func ExampleLedger_Do_lookupFails() {
	ledger, clock, end := exampleLedger()
	defer end()
	ctx, books := context.Background(), &exampleBooks{lose: 1}
	steps := books.Steps()
	steps.Lookup = func(context.Context, onefold.Call) (onefold.LookupReport, error) {
		return onefold.LookupReport{}, errors.New("403 Forbidden")
	}

	if _, err := ledger.Do(ctx, payout("salary-1", "99.90"), steps); err != nil {
		fmt.Println(onefold.CodeOf(err))
	}
	clock.Advance(duty)
	op, err := ledger.Do(ctx, payout("salary-1", "99.90"), steps)
	fmt.Println(op.State, onefold.CodeOf(err))

	clock.Advance(duty)
	op, err = ledger.Do(ctx, payout("salary-1", "99.90"), books.Steps())
	fmt.Println(op.State, op.Result.Reference, err)
	// Output:
	// retry_unsafe
	// uncertain retry_unsafe
	// confirmed DOC-1 <nil>
}
