package onefold_test

import (
	"context"
	"errors"
	"testing"

	"github.com/onefold-dev/onefold"
)

// Blanks, and characters that nobody can see, are no reason, no owner, no reference
// and no source: what a decision needs is refused without them, and nothing has
// changed.
//
// Proves: M16, M28
func TestBlanksAreNoReason(t *testing.T) {
	t.Parallel()
	ledger, _, end := exampleLedger()
	defer end()
	ctx := context.Background()
	op, err := ledger.Do(ctx, onefold.Submission{
		Workspace: "acme", Capability: "notes.post", Key: "n-1", Request: []byte(`{"text": "late"}`), SubmittedBy: "desk",
	}, onefold.Steps{Write: func(context.Context, onefold.Call) (onefold.WriteReport, error) {
		return onefold.WriteReport{}, errors.New("no answer")
	}})
	if op.State != onefold.Uncertain || len(op.OpenReviews()) != 1 {
		t.Fatalf("%s, %v", op.State, err)
	}
	review := op.OpenReviews()[0].ID
	because := func(reason string) onefold.Decision { return maria(op, reason) }
	for _, blank := range []string{"", " ", "\t\n", "\u00a0", "\u3000", "\u200b\u2060", "\ufeff", "\u2800", " \u200d \U000e0020"} {
		for what, decide := range map[string]func() (onefold.Operation, error){
			"resolve, reason": func() (onefold.Operation, error) {
				return ledger.Resolve(ctx, because(blank), onefold.Resolution{Outcome: onefold.ResolveRejected})
			},
			"resolve, reference": func() (onefold.Operation, error) {
				return ledger.Resolve(ctx, because("seen"), onefold.Resolution{Outcome: onefold.ResolveConfirmed, Reference: blank})
			},
			"release": func() (onefold.Operation, error) {
				return ledger.Release(ctx, because(blank), onefold.HoldDecision{Reason: onefold.HoldApproval, Proceed: true})
			},
			"assign": func() (onefold.Operation, error) {
				return ledger.Assign(ctx, because("holiday"), onefold.Assignment{Review: review, Owner: blank})
			},
			"evidence, reference": func() (onefold.Operation, error) {
				return ledger.Deliver(ctx, because(""), onefold.Evidence{Asserts: onefold.AssertsEffect, Reference: blank + " "}, nil)
			},
			"evidence, source": func() (onefold.Operation, error) {
				return ledger.Deliver(ctx, because(""), onefold.Evidence{Asserts: onefold.AssertsNothing, Source: blank + " "}, nil)
			},
			"evidence, event": func() (onefold.Operation, error) {
				return ledger.Deliver(ctx, because(""), onefold.Evidence{Asserts: onefold.AssertsNothing, SourceEventID: blank + " "}, nil)
			},
		} {
			if _, err := decide(); !errors.Is(err, onefold.ErrMemberInvalid) {
				t.Errorf("%s %q: %v", what, blank, err)
			}
		}
	}
	for _, owner := range []string{"jan\nWhat we know: nothing", "jan\x1b[31m", "jan\u2028", "\u202enaj"} {
		if _, err := ledger.Assign(ctx, because("holiday"), onefold.Assignment{Review: review, Owner: owner}); !errors.Is(err, onefold.ErrMemberInvalid) {
			t.Errorf("owner %q: %v", owner, err)
		}
	}
	if now, err := ledger.Operation(ctx, "acme", op.ID); err != nil || now.Version != op.Version || now.OpenReviews()[0].Owner != op.OpenReviews()[0].Owner {
		t.Errorf("a refused decision has changed something: %v", err)
	}
	if _, err := ledger.Assign(ctx, because("holiday"), onefold.Assignment{Review: review, Owner: "jan"}); err != nil {
		t.Errorf("a name that can be read: %v", err)
	}
}
