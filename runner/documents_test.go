package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/rig"
	"github.com/onefold-dev/onefold/sandbox"
)

// bank is a target that accepts for later, knows a reference again, and is asked
// by reference. It has a connection of its own.
const bank = `
---
kind: capability
name: transfers.send
version: 1
request:
  type: object
  required: [payee, amount, currency]
  properties:
    payee: {type: string}
    amount: {type: string}
    currency: {type: string}
retry: {attempts: 4, within: 1m, backoff: {first: 20ms, factor: 2, max: 200ms}, exhausted: hold}
reconcile: {within: 500ms, backoff: {first: 30ms, factor: 1.5, max: 200ms}}
---
kind: target
name: sandbox-bank
version: 1
protocol: http
operations:
  transfers.send:
    write:
      method: POST
      path: /payments
      timeout: 2s
      body:
        payee: $request/payee
        amount: $request/amount
        currency: $request/currency
        external_ref: $operation/reference
    identity: {kind: unique_reference, compares: nothing, on_repeat: conflict_means_done, window: forever, concurrent: blocks}
    responses:
      - {name: paid, when: {status: 201}, outcome: confirmed, reference: /id}
      - {name: known, when: {status: 409, json: {/code: duplicate_reference}}, outcome: exists, reference: /id}
      - {name: broken, when: {status: 5xx}, outcome: unknown}
    accepted:
      when: {status: 202}
      reference: /id
      poll: {path: "/payments/{accepted/reference}", every: 40ms, within: WITHIN}
    states: {field: /status, effect: [settled, open], pending: pending, no_effect: failed}
    verify: {/amount: $request/amount}
    lookup:
      - by: reference
        method: GET
        path: /payments?external_ref={operation/reference}
        records: /items
        complete: true
        match: {/external_ref: $operation/reference}
        reference: /id
        created: /created_at
    settle: 50ms
    processing: 150ms
    absence: authoritative
    in_doubt: [lookup, operator]
---
kind: connection
workspace: acme
name: acme-bank
target: sandbox-bank@1
url: SANDBOX_URL
owner: maria@acme.example
limits: {unresolved: 1}
`

// withBank adds the bank to the rig's documents; pairs are old and new pieces of
// its text.
func withBank(within string, pairs ...string) func(string) string {
	return func(text string) string {
		address := text[strings.LastIndex(text, "url: ")+len("url: "):]
		address, _, _ = strings.Cut(address, "\n")
		edited := strings.NewReplacer(append([]string{"SANDBOX_URL", address, "WITHIN", within}, pairs...)...).Replace(bank)
		return text + edited
	}
}

func settlement(after time.Duration, ends sandbox.Ending) func(*sandbox.Options) {
	return func(o *sandbox.Options) {
		o.Accept = map[string]sandbox.Settlement{"payments": {After: after, Ends: ends}}
	}
}

func inReview(op *onefold.Operation) bool { return len(op.OpenReviews()) > 0 }

// kinds lists the kinds of an operation's evidence.
func kinds(t *testing.T, r *rig.Rig, op onefold.Operation) map[onefold.EvidenceKind]int {
	t.Helper()
	evidence, err := r.Store.EvidenceOf(context.Background(), op.ID, "", 200)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[onefold.EvidenceKind]int{}
	for _, e := range evidence {
		seen[e.Kind]++
	}
	return seen
}

// Proves: M6, M16a
func TestAcceptedWorkIsPolledUntilItIsSettled(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: withBank("1m"), SandboxOptions: settlement(300*time.Millisecond, sandbox.Settles)})
	op := r.Submit("transfers.send", "k", payment)
	op = r.Until(op.ID, "accepted", func(op *onefold.Operation) bool { return op.Doubt != nil && op.Doubt.Reason == onefold.DoubtAccepted })
	if op.Unresolved() || op.Accepted == nil || op.Accepted.Reference == "" || op.Next != onefold.NextPoll || op.Reconcile.Since != nil {
		t.Errorf("unresolved %v, accepted %+v, next %s, reconcile %+v", op.Unresolved(), op.Accepted, op.Next, op.Reconcile)
	}
	// One unresolved operation is all that the connection may have: this is none.
	second := r.Submit("transfers.send", "k-2", payment)
	op = r.UntilState(op.ID, onefold.Confirmed)
	if op.Result.LearntFrom != onefold.LearntFromPoll || op.Accepted != nil || op.MaybeApplied {
		t.Errorf("result %+v, accepted %+v", op.Result, op.Accepted)
	}
	agrees(t, r, op, 1, 1)
	seen := kinds(t, r, op)
	if seen[onefold.EvidencePoll] < 2 || seen[onefold.EvidenceLookup] != 0 {
		t.Errorf("evidence %v: it is polled, and not looked up", seen)
	}
	agrees(t, r, r.UntilState(second.ID, onefold.Confirmed), 1, 1)
}

// Proves: M11, M13
func TestAcceptedWorkThatFinallyFailsIsRejected(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: withBank("1m"), SandboxOptions: settlement(200*time.Millisecond, sandbox.Fails)})
	op := r.UntilState(r.Submit("transfers.send", "k", payment).ID, onefold.Rejected)
	agrees(t, r, op, 0, 1)
	if op.Rejection.Code != "failed_at_target" || !op.NewKeySafe() || op.Rejection.Evidence == "" {
		t.Errorf("rejection %+v, new key safe %v", op.Rejection, op.NewKeySafe())
	}
	evidence, err := r.Store.EvidenceOf(context.Background(), op.ID, "", 200)
	if err != nil {
		t.Fatal(err)
	}
	if last := evidence[len(evidence)-1]; last.Kind != onefold.EvidencePoll || last.Asserts != onefold.AssertsNoEffect {
		t.Errorf("the proof is %+v", last)
	}
}

// Proves: M16, M16a
func TestAcceptedWorkThatNeverSettlesIsAnIncidentAfterItsTime(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: withBank("700ms"), Scan: 20 * time.Millisecond, SandboxOptions: settlement(0, sandbox.NeverEnd)})
	op := r.Submit("transfers.send", "k", payment)
	op = r.Until(op.ID, "accepted", func(op *onefold.Operation) bool { return op.Accepted != nil })
	if op.Unresolved() {
		t.Error("accepted work counts as unresolved in its agreed time")
	}
	until := op.Accepted.Until
	op = r.Until(op.ID, "overdue", func(op *onefold.Operation) bool { return op.Unresolved() })
	if !op.Accepted.Over || op.UpdatedAt.Before(until) || op.State != onefold.Uncertain || len(op.OpenReviews()) > 0 {
		t.Errorf("accepted %+v, updated %s, agreed until %s, reviews %+v", op.Accepted, op.UpdatedAt, until, op.Reviews)
	}
	_, _, err := r.Ledger.Submit(context.Background(), r.Submission("transfers.send", "k-2", payment))
	if !errors.Is(err, onefold.ErrAdmissionLimited) {
		t.Errorf("beside an unresolved operation: %v, want admission_limited", err)
	}
	op = r.Until(op.ID, "in review", inReview)
	if rev := op.OpenReviews()[0]; rev.Reason != onefold.ReviewReconcileExhausted || rev.Owner != "maria@acme.example" || op.State != onefold.Uncertain {
		t.Errorf("state %s, review %+v", op.State, rev)
	}
	if waited := op.OpenReviews()[0].OpenedAt.Sub(until); waited < 500*time.Millisecond {
		t.Errorf("the review opened %s after the agreed time; reconciling begins only then and has 500ms", waited)
	}
	agrees(t, r, op, 0, 1)
	if seen := kinds(t, r, op); seen[onefold.EvidencePoll] == 0 || seen[onefold.EvidenceLookup] == 0 {
		t.Errorf("evidence %v: first it is polled, then looked up", seen)
	}
}

// Proves: M11, M12
func TestALostAcceptanceIsFoundPendingAndThenPolled(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: withBank("1m"), SandboxOptions: settlement(400*time.Millisecond, sandbox.Settles)})
	r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect})
	op := r.Submit("transfers.send", "k", payment)
	op = r.Until(op.ID, "known to be accepted", func(op *onefold.Operation) bool { return op.Accepted != nil })
	if op.Doubt.Reason != onefold.DoubtAccepted || op.Accepted.Reference == "" || op.Unresolved() {
		t.Errorf("doubt %+v, accepted %+v", op.Doubt, op.Accepted)
	}
	op = r.UntilState(op.ID, onefold.Confirmed)
	agrees(t, r, op, 1, 1)
	if op.Result.LearntFrom != onefold.LearntFromPoll {
		t.Errorf("learnt from %s", op.Result.LearntFrom)
	}
}

// Proves: M11
func TestAStateThatNoListNamesProvesNothing(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{
		Edit:           withBank("300ms", "effect: [settled, open], pending: pending, no_effect: failed", "effect: booked, pending: pending"),
		SandboxOptions: settlement(50*time.Millisecond, sandbox.Settles),
	})
	op := r.Until(r.Submit("transfers.send", "k", payment).ID, "in review", inReview)
	review := op.OpenReviews()[0]
	if op.State != onefold.Uncertain || op.IsBarred() || review.Reason != onefold.ReviewEvidence || len(review.Candidates) != 1 {
		t.Errorf("%s, barred %v, reviews %+v", op.State, op.Barred, op.Reviews)
	}
	agrees(t, r, op, 1, 1)
}

// post sends a payment to the sandbox beside onefold.
func post(t *testing.T, r *rig.Rig, path, body string) string {
	t.Helper()
	answer, err := http.Post(r.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var made struct{ ID string }
	if err := json.NewDecoder(answer.Body).Decode(&made); err != nil || answer.StatusCode != http.StatusCreated {
		t.Fatalf("%s: %d, %v", body, answer.StatusCode, err)
	}
	return made.ID
}

// referenceOf is the reference that a key will have.
func referenceOf(t *testing.T, r *rig.Rig, capability, key, request string) string {
	t.Helper()
	p, _, err := r.Ledger.DryRun(context.Background(), r.Submission(capability, key, request))
	if err != nil {
		t.Fatal(err)
	}
	return p.Operation.Reference
}

// longAgo lets the sandbox live a day earlier.
func longAgo(o *sandbox.Options) {
	o.Now = func() time.Time { return time.Now().Add(-24 * time.Hour) }
}

// A ledger that lost an admission derives the same reference again, and finds
// what its earlier life has made.
//
// Proves: I13a, M11b
func TestARecordOfALostAdmissionIsAdopted(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: withBank("1m"), SandboxOptions: longAgo})
	reference := referenceOf(t, r, "transfers.send", "k", payment)
	id := post(t, r, "/payments", strings.Replace(payment, "{", `{"external_ref":"`+reference+`",`, 1))
	op := r.UntilState(r.Submit("transfers.send", "k", payment).ID, onefold.Confirmed)
	if op.Result.Reference != id || op.Result.LearntFrom != onefold.LearntFromAdopted {
		t.Errorf("result %+v, the record is %s", op.Result, id)
	}
	agrees(t, r, op, 1, 2) // one of them was the earlier life's
}

// Proves: M11b, M15
func TestAnAdoptedRecordHasToAgree(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: withBank("1m")})
	reference := referenceOf(t, r, "transfers.send", "k", payment)
	post(t, r, "/payments", strings.NewReplacer("{", `{"external_ref":"`+reference+`",`, "99.90", "98.90").Replace(payment))
	op := r.Until(r.Submit("transfers.send", "k", payment).ID, "in review", inReview)
	if op.State != onefold.Uncertain || !op.IsBarred(onefold.BarDiffers) || op.OpenReviews()[0].Reason != onefold.ReviewDiffers {
		t.Errorf("%s, barred %v, reviews %+v", op.State, op.Barred, op.Reviews)
	}
}

// A unique value that is the business's own says nothing about whose the record is.
//
// Proves: M11b
func TestARecordThatExistsElsewhereIsForAPerson(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: withBank(
		"1m", "external_ref: $operation/reference", "external_ref: $request/payee",
		"match: {/external_ref: $operation/reference}", "match: {/external_ref: $request/payee}",
		"external_ref={operation/reference}", "external_ref={request/payee}",
	)})
	id := post(t, r, "/payments", strings.Replace(payment, "{", `{"external_ref":"P-1",`, 1))
	op := r.Until(r.Submit("transfers.send", "k", payment).ID, "in review", inReview)
	rev := op.OpenReviews()[0]
	if op.State != onefold.Uncertain || rev.Reason != onefold.ReviewExistsElsewhere || len(rev.Candidates) != 1 || rev.Candidates[0].Reference != id {
		t.Errorf("%s, review %+v", op.State, rev)
	}
	// The look-ups that go on find that record, and it stays somebody else's.
	op = r.Until(op.ID, "done looking", func(op *onefold.Operation) bool { return op.Due == nil && op.Lease == nil })
	if op.State != onefold.Uncertain {
		t.Errorf("it became %s", op.State)
	}
	if seen := kinds(t, r, op); seen[onefold.EvidenceLookup] == 0 {
		t.Errorf("evidence %v: nothing was looked up", seen)
	}
	op, err := r.Ledger.Resolve(context.Background(), rig.Operator(op, "it is another payment"), onefold.Resolution{Outcome: onefold.ResolveRejected})
	if err != nil || op.State != onefold.Rejected {
		t.Errorf("resolve: %v, %s", err, op.State)
	}
	effects, err := r.Sandbox.Effects(context.Background())
	if err != nil || len(effects) != 1 {
		t.Errorf("effects %v, %v", effects, err)
	}
}

// On a later attempt "exists" is word of an earlier success.
//
// Proves: M11b, M13
func TestExistsOnALaterAttemptIsLookedUp(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: withBank("1m", "in_doubt: [lookup, operator]", "in_doubt: [replay, lookup, operator]")})
	r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect})
	op := r.UntilState(r.Submit("transfers.send", "k", payment).ID, onefold.Confirmed)
	agrees(t, r, op, 1, 2)
	if op.Result.LearntFrom != onefold.LearntFromLookup || len(op.Attempts) != 2 || op.Attempts[1].Verdict != onefold.VerdictUnknown {
		t.Errorf("result %+v, attempts %+v", op.Result, op.Attempts)
	}
}

// Proves: M15
func TestARecordOlderThanTheOperationIsForAPerson(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: withBank("1m"), SandboxOptions: longAgo})
	reference := referenceOf(t, r, "transfers.send", "k", payment)
	post(t, r, "/payments", strings.Replace(payment, "{", `{"external_ref":"`+reference+`",`, 1))
	r.Fault(sandbox.Fault{Kind: sandbox.DropBefore})
	op := r.Until(r.Submit("transfers.send", "k", payment).ID, "in review", inReview)
	if op.State != onefold.Uncertain || op.OpenReviews()[0].Reason != onefold.ReviewPredates {
		t.Errorf("%s, reviews %+v", op.State, op.Reviews)
	}
	agrees(t, r, op, 1, 2)
}
