package onefold_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/onefold-dev/onefold"
)

// The examples run against a real store in a temporary folder, with a clock that
// stands still until it is moved, and a target of their own: a set of books that
// numbers what it is told to write.

// exampleLedger opens a ledger; end closes its store and removes the folder.
func exampleLedger() (ledger *onefold.Ledger, clock *scenesClock, end func()) {
	folder, err := os.MkdirTemp("", "onefold-example-")
	if err != nil {
		panic(err)
	}
	clock = &scenesClock{at: time.Date(2026, time.November, 29, 12, 0, 0, 0, time.UTC)}
	store, ledger, err := openDo(doOptions{path: filepath.Join(folder, "onefold.db")}, clock.Now, clock.Boot)
	if err != nil {
		panic(err)
	}
	return ledger, clock, func() {
		if err := errors.Join(store.Close(), os.RemoveAll(folder)); err != nil {
			panic(err)
		}
	}
}

// bill is a submission of the examples.
func bill(key, total string) onefold.Submission {
	return onefold.Submission{
		Workspace: "acme", Capability: "bills.create", Key: key, SubmittedBy: "inbox", MayRead: true,
		Request: []byte(`{"supplier": "S-81", "total": "` + total + `"}`),
	}
}

// payout is one at a target that does not recognise a repeat.
func payout(key, amount string) onefold.Submission {
	return onefold.Submission{
		Workspace: "acme", Capability: "payouts.send", Key: key, SubmittedBy: "payroll", MayRead: true,
		Request: []byte(`{"payee": "P-1", "amount": "` + amount + `"}`),
	}
}

// maria is a person who decides.
func maria(op onefold.Operation, reason string) onefold.Decision {
	return onefold.Decision{
		Workspace: "acme", Operation: op.ID, Reason: reason, By: onefold.Actor{Kind: onefold.ActorPrincipal, Name: "maria"},
	}
}

// exampleBooks is the target: it writes each reference one time for each request
// that reaches it, and shows what it has.
type exampleBooks struct {
	mu      sync.Mutex
	entries []string // references
	// lose is how many answers get lost on the way back.
	lose int
}

// Enter makes an entry, and answers, unless the answer gets lost.
func (b *exampleBooks) Enter(_ context.Context, reference string) (number string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entries = append(b.entries, reference)
	if b.lose > 0 {
		b.lose--
		return "", errors.New("connection reset by peer")
	}
	return fmt.Sprintf("DOC-%d", len(b.entries)), nil
}

// Find looks an entry up.
func (b *exampleBooks) Find(_ context.Context, reference string) (number string, found bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, have := range b.entries {
		if have == reference {
			return fmt.Sprintf("DOC-%d", i+1), true
		}
	}
	return "", false
}

// Steps are the two functions by which onefold speaks to the books.
func (b *exampleBooks) Steps() onefold.Steps {
	return onefold.Steps{
		Write: func(ctx context.Context, c onefold.Call) (onefold.WriteReport, error) {
			number, err := b.Enter(ctx, c.Reference)
			if err != nil {
				return onefold.WriteReport{}, err // perhaps entered, perhaps not
			}
			return onefold.Applied(number), nil
		},
		Lookup: func(ctx context.Context, c onefold.Call) (onefold.LookupReport, error) {
			if number, found := b.Find(ctx, c.Reference); found {
				return onefold.Found(number), nil
			}
			return onefold.Absent("the books hold no such reference"), nil
		},
	}
}
