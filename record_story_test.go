package onefold_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/rig"
	"github.com/onefold-dev/onefold/sandbox"
)

// Stories of records at a target that are not what they seem, told to a whole
// onefold over real HTTP.

// inOperation edits one operation of the rig's target alone.
func inOperation(capability string, pairs ...string) func(string) string {
	return func(text string) string {
		begin := strings.Index(text, "  "+capability+":\n    write:")
		end := begin + strings.Index(text[begin:], "    in_doubt:") + len("    in_doubt:") + 80
		return text[:begin] + strings.NewReplacer(pairs...).Replace(text[begin:end]) + text[end:]
	}
}

func inReview(op *onefold.Operation) bool { return len(op.OpenReviews()) > 0 }

// told joins what timeline and evidence say of an operation.
func told(t *testing.T, r *rig.Rig, op onefold.Operation) string {
	t.Helper()
	entries, err := r.Store.Timeline(context.Background(), op.ID, 0, 200)
	evidence, err2 := r.Store.EvidenceOf(context.Background(), op.ID, "", 200)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, e := range entries {
		out.WriteString(e.Detail + "\n")
	}
	for _, e := range evidence {
		out.WriteString(e.Detail + "\n")
	}
	return out.String()
}

// A contract reads the reference from a place where many records carry the same
// value, which the request names. The target's direct answers confirm, with a word
// about it; what a look-up finds after a lost answer is another operation's by all
// that is known, and a person decides.
//
// Proves: M16, M18
func TestOneRecordIsNotTakenForTwoOrders(t *testing.T) {
	t.Parallel()
	const order = `{"supplier":"S-1","item":"bolts","quantity":12}`
	r := rig.New(t, rig.Options{Edit: inOperation("orders.create", "reference: /id", "reference: /item")})
	first := r.UntilState(r.Submit("orders.create", "k-1", order).ID, onefold.Confirmed)
	r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect, Path: "/orders"})
	second := r.Until(r.Submit("orders.create", "k-2", order).ID, "in review", inReview)
	review := second.OpenReviews()[0]
	if second.State != onefold.Uncertain || second.IsBarred() || review.Reason != onefold.ReviewExistsElsewhere || review.Owner != "maria@acme.example" {
		t.Fatalf("%s, barred %v, review %+v", second.State, second.Barred, review)
	}
	if len(review.Candidates) != 1 || review.Candidates[0].RecordedBy != first.ID || review.Candidates[0].Reference != "bolts" {
		t.Errorf("the review shows %+v", review.Candidates)
	}
	if text := told(t, r, second); !strings.Contains(text, "operation "+first.ID+" has recorded the same reference") {
		t.Errorf("timeline and evidence say:\n%s", text)
	}
	third := r.UntilState(r.Submit("orders.create", "k-3", order).ID, onefold.Confirmed)
	if text := told(t, r, third); !strings.Contains(text, " has recorded the same reference") {
		t.Errorf("a direct answer with a reference that is on record says nothing of it:\n%s", text)
	}
	decided, err := r.Ledger.Resolve(context.Background(), rig.Operator(second, "the second order is ORD-2"), onefold.Resolution{Outcome: onefold.ResolveConfirmed, Reference: "ORD-2"})
	if err != nil || decided.State != onefold.Confirmed {
		t.Errorf("decided: %s, %v", decided.State, err)
	}
	for _, op := range []onefold.Operation{first, second, third} {
		if effects, writes := r.Effects(op.Reference), r.Writes(op.Reference); effects != 1 || writes != 1 {
			t.Errorf("%s: %d effects of %d writes", op.Key, effects, writes)
		}
	}
}

// A target takes equal contents for one order and answers the second with the first:
// that makes no second order, and confirms none. Where the contract says that records
// are shared, or the request names the record, the same answer is a yes.
//
// Proves: M3, M16, M18
func TestATargetThatMergesEqualOrdersConfirmsOne(t *testing.T) {
	t.Parallel()
	const order = `{"supplier":"S-1","item":"bolts","quantity":12}`
	merging := func(r *rig.Rig) (first, second onefold.Operation) {
		first = r.UntilState(r.Submit("orders.create", "k-1", order).ID, onefold.Confirmed)
		r.Fault(sandbox.Fault{Kind: sandbox.Status, Path: "/orders", Status: 201, Body: `{"id":"` + first.Result.Reference + `","item":"bolts"}`})
		second = r.Until(r.Submit("orders.create", "k-2", order).ID, "told", func(op *onefold.Operation) bool {
			return op.Settled() || inReview(op)
		})
		if effects := r.Effects(first.Reference) + r.Effects(second.Reference); effects != 1 || r.Writes(second.Reference) != 1 {
			t.Errorf("%d effects, %d writes of the second", effects, r.Writes(second.Reference))
		}
		return first, second
	}
	r := rig.New(t, rig.Options{})
	first, second := merging(r)
	review := second.OpenReviews()[0]
	if second.State != onefold.Uncertain || !second.IsBarred(onefold.BarEffectExists) || second.NewKeySafe() ||
		review.Reason != onefold.ReviewExistsElsewhere || review.Owner != "maria@acme.example" {
		t.Fatalf("%s, barred %v, review %+v", second.State, second.Barred, review)
	}
	if len(review.Candidates) != 1 || review.Candidates[0].RecordedBy != first.ID || !strings.Contains(review.Detail, "the target answered this operation with the record") {
		t.Errorf("the review shows %+v", review)
	}
	decided, err := r.Ledger.Resolve(context.Background(), rig.Operator(second, "they sent one lot"), onefold.Resolution{Outcome: onefold.ResolveRejected})
	if err != nil || decided.State != onefold.Rejected || decided.NewKeySafe() {
		t.Errorf("decided: %s, %v, new key safe %v", decided.State, err, decided.NewKeySafe())
	}

	r = rig.New(t, rig.Options{Edit: inOperation("orders.create", "    identity: {kind: none}\n", "    identity: {kind: none}\n    references: shared\n")})
	if _, second = merging(r); second.State != onefold.Confirmed || !strings.Contains(told(t, r, second), "has recorded the same reference") {
		t.Errorf("shared: %s, told %s", second.State, told(t, r, second))
	}
	r = rig.New(t, rig.Options{Edit: inOperation("orders.create", "path: /orders\n", "path: /orders?of={request/supplier}\n")})
	r.Fault(sandbox.Fault{Kind: sandbox.Status, Path: "/orders", Status: 201, Body: `{"id":"S-1"}`, Times: 2})
	for _, key := range []string{"k-1", "k-2"} {
		r.UntilState(r.Submit("orders.create", key, order).ID, onefold.Confirmed)
	}
}

// The answer is lost, the repeat is told "exists already" with a record that is not
// the one that a look-up then finds: both are shown, and neither is taken.
//
// Proves: M11b, M15
func TestWhatExistsAndWhatIsFoundAreTwoRecords(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: inOperation("bills.create", "    responses:\n",
		"    responses:\n      - {name: known, when: {status: 409, json: {/code: duplicate_reference}}, outcome: exists, reference: /id}\n")})
	r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect, Path: "/bills"})
	r.Fault(sandbox.Fault{Kind: sandbox.Status, Method: "POST", Path: "/bills", Status: 409, Body: `{"code":"duplicate_reference","id":"BILL-OF-OLD"}`})
	op := r.Until(r.Submit("bills.create", "k", `{"supplier":"S-1","number":"1","total":"10.00"}`).ID, "in review", inReview)
	review := op.OpenReviews()[0]
	if op.State != onefold.Uncertain || !op.IsBarred(onefold.BarMultipleEffects) || review.Reason != onefold.ReviewMultipleEffects ||
		!strings.Contains(review.Detail, "BILL-OF-OLD") || len(op.SeenReferences) != 2 {
		t.Errorf("%s, barred %v, review %+v, seen %v", op.State, op.Barred, review, op.SeenReferences)
	}
	if effects := r.Effects(op.Reference); effects != 1 || op.NewKeySafe() {
		t.Errorf("%d effects, new key safe %v", effects, op.NewKeySafe())
	}
	rejected, err := r.Ledger.Resolve(context.Background(), rig.Operator(op, "we book it by hand"), onefold.Resolution{Outcome: onefold.ResolveRejected})
	if err != nil || rejected.State != onefold.Rejected || rejected.NewKeySafe() {
		t.Errorf("rejected in spite of two records: %s, %v, new key safe %v", rejected.State, err, rejected.NewKeySafe())
	}
}

// The contract says where a record's own time stands, and the record does not show
// it: it may be older than the operation, and absence of anything better later
// takes the decision from nobody.
//
// Proves: M12, M14, M15
func TestARecordWithoutItsTimeIsAPersonsToJudge(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: inOperation("bills.create", "created: /created_at", "created: /booked_on", "in_doubt: [replay, lookup, operator]", "in_doubt: [lookup, operator]")})
	r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect, Path: "/bills"})
	op := r.Until(r.Submit("bills.create", "k", `{"supplier":"S-1","number":"1","total":"10.00"}`).ID, "in review", inReview)
	review := op.OpenReviews()[0]
	if op.State != onefold.Uncertain || review.Reason != onefold.ReviewEvidence || len(review.Candidates) != 1 || !strings.Contains(review.Detail, "/booked_on") {
		t.Fatalf("%s, review %+v", op.State, review)
	}
	// From now on the target shows nothing of it.
	r.Fault(sandbox.Fault{Kind: sandbox.Status, Method: "GET", Path: "/bills", Status: 200, Body: `{"items":[]}`, Times: 1000})
	r.Until(op.ID, "looked up again in vain", func(*onefold.Operation) bool {
		return strings.Contains(told(t, r, op), "so that a person decides")
	})
	op, err := r.Ledger.Operation(context.Background(), rig.Workspace, op.ID)
	if err != nil || op.State != onefold.Uncertain || len(op.OpenReviews()) != 1 || op.OpenReviews()[0].ID != review.ID {
		t.Errorf("proven absence left it %s with %+v, %v", op.State, op.Reviews, err)
	}
	if writes := r.Writes(op.Reference); writes != 1 {
		t.Errorf("%d writes", writes)
	}
}
