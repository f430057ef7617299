package fieldcases

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/rig"
	"github.com/onefold-dev/onefold/sandbox"
)

// Shoppers found several charges for one order: some paths sent no key, and a lost answer was simply tried again.
//
// Proves: M1, M11, M22
func TestC01SeveralChargesForOneOrder(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: patient})
	r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect})
	r.Fault(sandbox.Fault{Kind: sandbox.Delay, Method: "GET", Before: 100 * time.Millisecond})
	op := r.Submit("payments.send", "order-7001:pay:1", payment)
	r.UntilState(op.ID, onefold.Uncertain)
	replays(t, r, op, payment)
	replays(t, r, op, payment)
	op = r.UntilState(op.ID, onefold.Confirmed)
	agrees(t, r, op, 1, 1)
	if again := replays(t, r, op, payment); again.Result.Reference != op.Result.Reference || op.Result.LearntFrom != onefold.LearntFromLookup {
		t.Errorf("the repeat hears of %+v, the original of %+v", again.Result, op.Result)
	}
}

// A slow purchase was asked for again and again, and each click became a row, a payment and a credit of its own.
//
// Proves: M22, I4
func TestC02SlowPurchaseAskedForAgain(t *testing.T) {
	t.Parallel()
	arrived, goOn := make(chan struct{}), make(chan struct{})
	r := rig.New(t, rig.Options{SandboxOptions: func(o *sandbox.Options) {
		o.Received = func(sandbox.Request) { close(arrived); <-goOn }
	}})
	op := r.Submit("bills.create", "topup-u17-1", bill)
	<-arrived
	for range 2 {
		if again := replays(t, r, op, bill); again.State != onefold.Attempting {
			t.Errorf("while the target is at it, the repeat hears %s", again.State)
		}
	}
	close(goOn)
	op = r.UntilState(op.ID, onefold.Confirmed)
	agrees(t, r, op, 1, 1)
	totals(t, r, 1, 1)
}

// mail is an operation at a target that knows no keys and offers no look-up.
const mail = `  mail.send:
    write:
      method: POST
      path: /payments
      timeout: 1s
      body: {payee: $request/to, amount: 1, currency: EUR, external_ref: $operation/reference}
    identity: {kind: none}
    responses:
      - {name: created, when: {status: [200, 201]}, outcome: confirmed, reference: /id}
    in_doubt: [operator]
`

// A mail went out up to four times, because a library took a read time-out for "not accepted" and sent it again.
//
// Proves: M11, M16
func TestC03MailSentAgainAfterAReadTimeOut(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: also(patient, adding("kind: capability\nname: mail.send\nversion: 1\nrequest: {type: object}\n", mail))})
	// The effect is there, the answer comes after the reader has given up.
	r.Fault(sandbox.Fault{Kind: sandbox.Delay, After: 3 * time.Second, Times: 2})
	found := r.Submit("payments.send", "m-1", payment)
	blind := r.Submit("mail.send", "m-2", `{"to":"a@example.test"}`)
	found = r.UntilState(found.ID, onefold.Confirmed)
	agrees(t, r, found, 1, 1)
	if found.Result.LearntFrom != onefold.LearntFromLookup {
		t.Errorf("learnt from %s", found.Result.LearntFrom)
	}
	blind = inReview(r, blind)
	if blind.State != onefold.Uncertain || !blind.MaybeApplied || blind.OpenReviews()[0].Reason != onefold.ReviewOperatorOnly {
		t.Errorf("without a look-up: %s, reviews %+v", blind.State, blind.Reviews)
	}
	agrees(t, r, blind, 1, 1)
}

// A gateway's error page was passed on as "200, processing": neither callers nor people knew that nobody knew.
//
// Proves: M11, M16, M26
func TestC11ErrorPageShownAsProcessing(t *testing.T) {
	t.Parallel()
	const page = "<html><h1>Bad Gateway 4711</h1></html>"
	r := rig.New(t, rig.Options{Edit: patient})
	r.Fault(sandbox.Fault{Kind: sandbox.HTML, Status: 502, Body: page, Effect: true})
	r.Fault(sandbox.Fault{Kind: sandbox.Delay, Method: "GET", Before: 300 * time.Millisecond})
	op := r.UntilState(r.Submit("payments.send", "k", payment).ID, onefold.Uncertain)
	if op.NewKeySafe() || !op.MaybeApplied || op.Doubt.Reason != onefold.DoubtServerError || op.Next != onefold.NextLookup || op.Due == nil {
		t.Errorf("new key safe %v, doubt %+v, next %s at %v", op.NewKeySafe(), op.Doubt, op.Next, op.Due)
	}
	binding, err := r.Ledger.Contracts().Pinned(&op)
	if err != nil {
		t.Fatal(err)
	}
	if said := onefold.Explain(op, binding.Terms(), binding.Policy(), nil, time.Now()); strings.Contains(said, "4711") {
		t.Errorf("the target's page is repeated to people: %s", said)
	}
	seen := evidenceOf(t, r, op)[0]
	if seen.Status != 502 || !strings.Contains(seen.Excerpt, "4711") {
		t.Errorf("the page is not kept as evidence: %+v", seen)
	}
	op = r.UntilState(op.ID, onefold.Confirmed)
	agrees(t, r, op, 1, 1)
}

// A refused transfer was refunded; the retry skipped the debit as "done already" and the transfer then went out.
//
// Proves: M19a, M22
func TestC15RefundedDebitAndALaterTransfer(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	r.Fault(sandbox.Fault{Kind: sandbox.Status, Status: 422, Path: "/payments"})
	const debit, transfer, credit = `{"supplier":"wallet","number":"payout-9","total":"-200.00"}`, `{"payee":"P-9","amount":"200.00","currency":"EUR"}`, `{"supplier":"wallet","number":"payout-9-back","total":"200.00"}`
	debited := r.UntilState(r.Submit("bills.create", "payout-9:debit", debit).ID, onefold.Confirmed)
	refused := r.UntilState(r.Submit("payments.send", "payout-9:transfer", transfer).ID, onefold.Rejected)
	credited := r.UntilState(r.Submit("bills.create", "payout-9:credit", credit).ID, onefold.Confirmed)
	// The whole flow runs again under its keys, and the bank would pay now.
	for range 3 {
		replays(t, r, debited, debit)
		if again := replays(t, r, refused, transfer); again.State != onefold.Rejected {
			t.Errorf("the refused transfer is %s", again.State)
		}
		replays(t, r, credited, credit)
	}
	agrees(t, r, debited, 1, 1)
	agrees(t, r, refused, 0, 1)
	agrees(t, r, credited, 1, 1)
	totals(t, r, 2, 3)
}

// A refund whose answer was lost still looked new; the next refund swept it up and sent both again.
//
// Proves: M3, M11
func TestC20NextRefundSweptUpTheFirst(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: patient})
	r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect})
	r.Fault(sandbox.Fault{Kind: sandbox.Delay, Method: "GET", Before: 200 * time.Millisecond})
	first := r.Submit("payments.send", "refund-a", `{"payee":"P-1","amount":"10.00","currency":"EUR"}`)
	if op := r.UntilState(first.ID, onefold.Uncertain); op.Next != onefold.NextLookup {
		t.Errorf("the first waits for %s", op.Next)
	}
	second := r.UntilState(r.Submit("payments.send", "refund-b", `{"payee":"P-1","amount":"5.00","currency":"EUR"}`).ID, onefold.Confirmed)
	agrees(t, r, second, 1, 1)
	agrees(t, r, r.UntilState(first.ID, onefold.Confirmed), 1, 1)
	totals(t, r, 2, 2)
}

// After a decline the same key only repeated the decline, so people invented new keys, also where the first had worked.
//
// Proves: M13, M19a, M22
func TestC30DeclinedForEverUnderOneKey(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	const declined = `{"supplier":"S-REFUSED","number":"o7","total":"1"}`
	first := r.UntilState(r.Submit("bills.create", "o7:1", declined).ID, onefold.Rejected)
	for range 2 {
		if again := replays(t, r, first, declined); again.State != onefold.Rejected || !again.NewKeySafe() {
			t.Errorf("the same key hears %s, new key safe %v", again.State, again.NewKeySafe())
		}
	}
	agrees(t, r, first, 0, 1)
	second := r.UntilState(r.Submit("bills.create", "o7:2", bill).ID, onefold.Confirmed)
	agrees(t, r, second, 1, 1)
	// While it is not known whether a try worked, a new key is not called safe.
	r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect})
	r.Fault(sandbox.Fault{Kind: sandbox.Status, Status: 503, Method: "GET", Times: 1000})
	doubtful := inReview(r, r.Submit("payments.send", "o8:1", payment))
	if doubtful.State != onefold.Uncertain || doubtful.NewKeySafe() {
		t.Errorf("in doubt: %s, new key safe %v", doubtful.State, doubtful.NewKeySafe())
	}
}

// The target told of a payment that its own read interface did not know yet, and "404" was taken for "bogus".
//
// Proves: M11, M12
func TestC90ReadInterfaceDoesNotKnowItYet(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: patient})
	r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect})
	r.Fault(sandbox.Fault{Kind: sandbox.Status, Status: 404, Method: "GET", Times: 3})
	op := r.UntilState(r.Submit("payments.send", "k", payment).ID, onefold.Confirmed)
	agrees(t, r, op, 1, 1)
	if got := len(wire(t, r, "GET")); got != 4 {
		t.Errorf("%d look-ups, want three that learnt nothing and one that found it", got)
	}
	for _, e := range timeline(t, r, op) {
		if e.To == onefold.Rejected || e.To == onefold.Canceled {
			t.Errorf("a 404 on a look-up moved it to %s", e.To)
		}
	}
}

// A search that lagged behind said "none", and the record was made a second time.
//
// Proves: M12
func TestC96SearchLagsBehindTheWrite(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: edit("settle: 50ms\n    processing: 1s", "settle: 2s\n    processing: 1s")})
	r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect, Lag: time.Second})
	op := r.UntilState(r.Submit("orders.create", "k", order).ID, onefold.Confirmed)
	agrees(t, r, op, 1, 1)
	if got := len(wire(t, r, "GET")); got < 3 || op.Result.LearntFrom != onefold.LearntFromLookup {
		t.Errorf("%d look-ups, learnt from %s; want several that found nothing before the one that did", got, op.Result.LearntFrom)
	}
}

// A transfer was repeated by hand: the ledger showed one, the bank two, and only the payee noticed.
//
// Proves: M15
func TestC127PaidTwiceByHand(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	r.Fault(sandbox.Fault{Kind: sandbox.Twice, After: 3 * time.Second})
	op := inReview(r, r.Submit("orders.create", "k", order))
	if op.State != onefold.Uncertain || !op.IsBarred(onefold.BarMultipleEffects) || op.OpenReviews()[0].Reason != onefold.ReviewMultipleEffects {
		t.Fatalf("%s, barred %v, reviews %+v", op.State, op.Barred, op.Reviews)
	}
	agrees(t, r, op, 2, 1)
	effects, err := r.Sandbox.FindEffects(context.Background(), sandbox.Filter{Reference: &op.Reference})
	if err != nil {
		t.Fatal(err)
	}
	told := op.OpenReviews()[0].Detail
	for _, e := range evidenceOf(t, r, op) {
		told += e.Detail + e.Excerpt
	}
	for _, e := range effects {
		if !strings.Contains(told, e.ID) {
			t.Errorf("nobody is told of the record %s", e.ID)
		}
	}
	// "Nothing was done" is no way out, and a decision for one of them is.
	if _, err := r.Ledger.Resolve(context.Background(), rig.Operator(op, "none"), onefold.Resolution{Outcome: onefold.ResolveNotApplied}); !errors.Is(err, onefold.ErrBarred) {
		t.Errorf("not applied: %v, want barred", err)
	}
	op, err = r.Ledger.Resolve(context.Background(), rig.Operator(op, "the other was reversed at the bank"), onefold.Resolution{Outcome: onefold.ResolveConfirmed, Reference: effects[0].ID})
	if err != nil || op.State != onefold.Confirmed || op.Result.Reference != effects[0].ID {
		t.Errorf("resolve: %v, %s %+v", err, op.State, op.Result)
	}
	agrees(t, r, op, 2, 1)
}
