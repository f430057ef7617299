package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/rig"
	"github.com/onefold-dev/onefold/sandbox"
)

// byEvidence lets the rig's payments be looked up by what they are about alone.
func byEvidence(text string) string {
	return strings.NewReplacer(
		`      - by: reference
        method: GET
        path: /payments?external_ref={operation/reference}
        records: /items
        match: {/external_ref: $operation/reference}
        reference: /id
`, `      - by: evidence
        method: GET
        path: /payments?limit=200
        records: /items
        complete: true
        match: {/payee: $request/payee, /amount: $request/amount}
        reference: /id
        created: /created_at
`,
	).Replace(text)
}

// Proves: M14, M16
func TestEvidenceAloneGivesCandidatesOfWhichAPersonPicks(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: byEvidence})
	post(t, r, "/payments", strings.Replace(payment, "P-1", "P-2", 1))
	twin := post(t, r, "/payments", payment)
	r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect})
	op := r.Submit("payments.send", "k", payment)
	op = r.Until(op.ID, "in review", inReview)
	rev := op.OpenReviews()[0]
	if op.State != onefold.Uncertain || rev.Reason != onefold.ReviewEvidence || len(rev.Candidates) != 2 || rev.Owner == "" {
		t.Fatalf("%s, review %+v", op.State, rev)
	}
	effects, err := r.Sandbox.FindEffects(context.Background(), sandbox.Filter{Reference: &op.Reference})
	if err != nil || len(effects) != 1 {
		t.Fatalf("effects %v, %v", effects, err)
	}
	ours := effects[0].ID
	if rev.Candidates[0].Reference != twin || rev.Candidates[1].Reference != ours {
		t.Errorf("candidates %+v, want %s and %s", rev.Candidates, twin, ours)
	}
	if f := rev.Candidates[1].Fields; len(f) < 2 || f[0] != (onefold.CandidateField{Pointer: "/payee", Value: `"P-1"`}) || f[1].Value != `"99.90"` {
		t.Errorf("fields %+v", f)
	}
	op, err = r.Ledger.Resolve(context.Background(), rig.Operator(op, "the second is ours"), onefold.Resolution{Outcome: onefold.ResolveConfirmed, Reference: ours})
	if err != nil || op.State != onefold.Confirmed || op.Result.Reference != ours || inReview(&op) {
		t.Errorf("resolve: %v, %s %+v", err, op.State, op.Result)
	}
	agrees(t, r, op, 1, 1)
}

// One record that matches in amount and payee is still no proof, and none is
// none of absence.
//
// Proves: M12, M14
func TestEvidenceNeverConfirmsByItselfAndNeverProvesAbsence(t *testing.T) {
	t.Parallel()
	authoritative := func(text string) string {
		return strings.Replace(byEvidence(text), "absence: inconclusive", "absence: authoritative", 1)
	}
	for _, fault := range []sandbox.Kind{sandbox.DropAfterEffect, sandbox.DropBefore} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			r := rig.New(t, rig.Options{Edit: authoritative})
			r.Fault(sandbox.Fault{Kind: fault})
			op := r.Submit("payments.send", "k", payment)
			op = r.Until(op.ID, "left to a person", func(op *onefold.Operation) bool {
				return op.State == onefold.Uncertain && op.Due == nil && op.Lease == nil && inReview(op)
			})
			effects := map[sandbox.Kind]int{sandbox.DropAfterEffect: 1}[fault]
			agrees(t, r, op, effects, 1)
			if want := map[int]onefold.ReviewReason{1: onefold.ReviewEvidence, 0: onefold.ReviewReconcileExhausted}[effects]; op.OpenReviews()[0].Reason != want {
				t.Errorf("reviews %+v, want %s", op.Reviews, want)
			}
		})
	}
}

// Proves: M13
func TestAnExpressionDecidesWhichRuleMatches(t *testing.T) {
	t.Parallel()
	edit := func(text string) string {
		return strings.Replace(text, `      - {name: invalid, when: {status: [400, 404, 422], clean: true}, outcome: rejected, code: /code}
`, `      - {name: limit, when: {cel: "response.status == 422 && clean && response.json.limit < decimal(request.total)"}, outcome: rejected, code: /code}
`, 1)
	}
	edit2 := func(text string) string {
		return strings.Replace(edit(text), "response.json.limit < ", "decimal(response.json.limit) < ", 1)
	}
	for _, c := range []struct {
		name, body string
		edit       func(string) string
		want       onefold.State
	}{
		{"it holds", `{"code":"over_limit","limit":1249.99}`, edit2, onefold.Rejected},
		{"digits that no float has", `{"code":"over_limit","limit":1249.99999999999999999999}`, edit2, onefold.Rejected},
		// 422 of a clean attempt is rejected by itself where no rule speaks.
		{"it does not hold", `{"code":"other","limit":"1250.00"}`, edit2, onefold.Rejected},
		{"a member is absent", `{"code":"over_limit"}`, edit2, onefold.Confirmed},
		{"types that do not fit", `{"code":"over_limit","limit":5}`, edit, onefold.Confirmed},
		{"not json", `over the limit`, edit2, onefold.Confirmed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := rig.New(t, rig.Options{Edit: c.edit})
			r.Fault(sandbox.Fault{Kind: sandbox.Status, Status: 422, Body: c.body})
			// What could not be evaluated is doubt, and nothing was done: it is found out
			// and sent again.
			op := r.Submit("bills.create", "k", bill)
			op = r.Until(op.ID, "settled", func(op *onefold.Operation) bool { return op.Settled() })
			if op.State != c.want {
				t.Errorf("it is %s %+v", op.State, op.Attempts)
			}
			if c.want == onefold.Confirmed && op.Attempts[0].Verdict != onefold.VerdictUnknown {
				t.Errorf("the first attempt's verdict is %s, not unknown", op.Attempts[0].Verdict)
			}
		})
	}
}

// A 201 under an expression that fails is an effect of which nothing is known:
// neither a later rule nor anybody else calls it done, and nothing is sent again.
//
// Proves: M11c
func TestAnExpressionThatFailsMakesASuccessUncertain(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: func(text string) string {
		return strings.Replace(onlyOperator(text), "      - {name: created, when: {status: [200, 201]}, outcome: confirmed, reference: /id}\n      - {name: same", `      - {name: half, when: {cel: "response.json.rows[7].state == 'half'"}, outcome: unknown}
      - {name: created, when: {status: [200, 201]}, outcome: confirmed, reference: /id}
      - {name: same`, 1)
	}})
	op := r.Until(r.Submit("bills.create", "k", bill).ID, "in review", inReview)
	if op.State != onefold.Uncertain || !op.IsBarred(onefold.BarEffectExists) {
		t.Errorf("%s, barred %v", op.State, op.Barred)
	}
	agrees(t, r, op, 1, 1)
	evidence, err := r.Store.EvidenceOf(context.Background(), op.ID, "", 10)
	if err != nil || evidence[0].Rule != "half" || !strings.Contains(evidence[0].Detail, "could not be evaluated") {
		t.Errorf("evidence %+v, %v", evidence, err)
	}
}

// Proves: I13, M2a
func TestLinesAreMappedAndReplayedByteForByte(t *testing.T) {
	t.Parallel()
	edit := func(text string) string {
		text = strings.Replace(text, "    memo: {type: [string, \"null\"]}\n", "    memo: {type: [string, \"null\"]}\n    lines: {type: array}\n", 1)
		text = strings.Replace(text, "        memo: $request/memo?\n", `        memo: $request/memo?
        lines: {each: $request/lines?, as: line, do: {sku: $line/sku, text: "{line/sku} of {request/number}", qty: $line/qty, lots: {each: $line/lots?, as: lot, do: {line: $line/sku, lot: $lot}}}}
`, 1)
		return strings.Replace(text, "    verify: {/total: $request/total}\n", "    verify: {/total: $request/total, /lines: {each: $request/lines?, as: line, do: {sku: $line/sku, qty: $line/qty}}}\n", 1)
	}
	r := rig.New(t, rig.Options{Edit: edit})
	r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect})
	r.Fault(sandbox.Fault{Kind: sandbox.Status, Status: 503})
	request := `{"supplier":"S-81","number":"INV-0042","total":"1250.00","lines":[{"sku":"a","qty":1.50,"lots":[7,12345678901234567890.10]},{"sku":"b\u00e9","qty":2e1}]}`
	op := r.UntilState(r.Submit("bills.create", "k", request).ID, onefold.Confirmed)
	agrees(t, r, op, 1, 3)
	f, found, err := r.Store.FrozenRequest(context.Background(), op.ID)
	want := `"lines":[{"sku":"a","text":"a of INV-0042","qty":1.50,"lots":[{"line":"a","lot":7},{"line":"a","lot":12345678901234567890.10}]},{"sku":"bé","text":"bé of INV-0042","qty":2e1}]`
	if err != nil || !found || !strings.Contains(string(f.Body), want) {
		t.Errorf("frozen %v, %v: %s", found, err, f.Body)
	}
	requests, err := r.Sandbox.FindRequests(context.Background(), sandbox.Filter{Reference: &op.Reference})
	if err != nil {
		t.Fatal(err)
	}
	digests := map[string]int{}
	for _, q := range requests {
		if q.Method == "POST" {
			digests[fmt.Sprint(q.BodyDigest, " ", q.IdempotencyKey)]++
		}
	}
	if len(digests) != 1 {
		t.Errorf("the writes differ: %v", digests)
	}
	// Without lines the member is left out; an element that lacks what it needs is
	// refused with its place.
	plain := r.UntilState(r.Submit("bills.create", "k-2", bill).ID, onefold.Confirmed)
	if f, _, err := r.Store.FrozenRequest(context.Background(), plain.ID); err != nil || strings.Contains(string(f.Body), "lines") {
		t.Errorf("%v: %s", err, f.Body)
	}
	_, _, err = r.Ledger.DryRun(context.Background(), r.Submission("bills.create", "k-3", strings.Replace(request, `"qty":2e1`, `"n":2`, 1)))
	if e, ok := errors.AsType[*onefold.Error](err); !ok || len(e.Faults) != 1 || e.Faults[0].Pointer != "/request/lines/1/qty" {
		t.Errorf("%v", err)
	}
}

// A record that is not what was approved is for a person while the target may
// still carry it out.
//
// Proves: M15
func TestAPendingRecordThatDiffersIsBarredAtOnce(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: withBank("1m", "verify: {/amount: $request/amount}", "verify: {/amount: $request/currency}"), SandboxOptions: settlement(time.Hour, sandbox.Settles)})
	op := r.Until(r.Submit("transfers.send", "k", payment).ID, "in review", inReview)
	if op.State != onefold.Uncertain || !op.IsBarred(onefold.BarDiffers) {
		t.Errorf("%s, barred %v, reviews %+v", op.State, op.Barred, op.Reviews)
	}
	agrees(t, r, op, 0, 1)
}
