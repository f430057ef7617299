package fieldcases

import (
	"context"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/rig"
	"github.com/onefold-dev/onefold/sandbox"
)

// A framework that resumes by running everything again repeated what had been done before the pause, once for each resume.
//
// Proves: M22
func TestC77ResumeRunsEverythingAgain(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	steps := map[string]string{"orders.create": order, "bills.create": bill}
	for run := range 4 {
		for capability, request := range steps {
			op, replayed, err := submit(r, capability, "run-5:step-2:notify", request)
			if err != nil || replayed != (run > 0) {
				t.Fatalf("run %d, %s: %v, replayed %v", run, capability, err, replayed)
			}
			agrees(t, r, r.UntilState(op.ID, onefold.Confirmed), 1, 1)
		}
	}
	totals(t, r, 2, 2)
}

// The provider's message came seconds before its own answer, and there was no id yet to find the order by.
//
// Proves: M18, M19, M11c
func TestC88MessageBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	performed, goOn := make(chan sandbox.Effect, 1), make(chan struct{})
	r := rig.New(t, rig.Options{SandboxOptions: func(o *sandbox.Options) {
		o.Performed = func(e sandbox.Effect) { performed <- e; <-goOn }
	}})
	op := r.Submit("bills.create", "exec-88", bill)
	e := <-performed
	early, err := deliver(r, op, onefold.AssertsEffect, "approved-1", e.ID)
	if err != nil || early.State != onefold.Attempting || !early.IsBarred(onefold.BarEffectExists) {
		t.Errorf("while the call is out: %v, %s, barred %v", err, early.State, early.Barred)
	}
	close(goOn)
	op = r.UntilState(op.ID, onefold.Confirmed)
	agrees(t, r, op, 1, 1)
	if op.Result.Reference != e.ID || op.Contradicted || len(op.OpenReviews()) != 0 {
		t.Errorf("result %+v, contradicted %v, reviews %+v", op.Result, op.Contradicted, op.Reviews)
	}
	again, err := deliver(r, op, onefold.AssertsEffect, "approved-2", e.ID)
	if err != nil || again.Version != op.Version {
		t.Errorf("told once more: %v, version %d after %d", err, again.Version, op.Version)
	}
}

// A decline of the first card came late and put the order, paid with the second, back to failed.
//
// Proves: M17, M20
func TestC91OldFailureKnocksAPaidOrderBack(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	declined := r.UntilState(r.Submit("bills.create", "o-1:card-1", `{"supplier":"S-REFUSED","number":"o-1","total":"9"}`).ID, onefold.Rejected)
	paid := r.UntilState(r.Submit("bills.create", "o-1:card-2", bill).ID, onefold.Confirmed)
	for range 2 {
		for _, op := range []onefold.Operation{declined, paid} {
			got, err := deliver(r, op, onefold.AssertsNoEffect, "failed:"+op.Key, "")
			if err != nil || got.State != op.State {
				t.Errorf("%s: %v, it was %s and is %s", op.Key, err, op.State, got.State)
			}
		}
	}
	seen := 0
	for _, e := range evidenceOf(t, r, paid) {
		if e.SourceEventID == "failed:"+paid.Key && e.Asserts == onefold.AssertsNoEffect {
			seen++
		}
	}
	if got := now(t, r, paid); seen != 1 || got.Result.Reference != paid.Result.Reference {
		t.Errorf("the late message is on record %d times, the result is %+v", seen, got.Result)
	}
	agrees(t, r, paid, 1, 1)
	agrees(t, r, declined, 0, 1)
}

// The acknowledgement of a push was lost; two and a half days later it was pushed again, and a second order was made.
//
// Proves: I2, M22
func TestC94PushedAgainDaysLater(t *testing.T) {
	t.Parallel()
	c := &clock{}
	r := rig.New(t, rig.Options{Now: c.now, SandboxOptions: c.target, Scan: soon})
	// The handler's key is the payment of which the push speaks.
	op := r.UntilState(r.Submit("orders.create", "klarna:pay_77", order).ID, onefold.Confirmed)
	c.forward(r, 60*time.Hour)
	again := replays(t, r, op, order)
	if again.State != onefold.Confirmed || again.Result.Reference != op.Result.Reference {
		t.Errorf("the second push hears %s %+v", again.State, again.Result)
	}
	agrees(t, r, op, 1, 1)
	totals(t, r, 1, 1)
}

// One payment was told of by two kinds of event, each more than once, and each telling was credited.
//
// Proves: I3, M3
func TestC95EventsCreditedTwice(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	tellings := []string{"charge.succeeded", "charge.succeeded", "payment.succeeded", "charge.succeeded", "payment.succeeded"}
	// Whatever the event is called, the credit's key is the payment's.
	op := one(t, atOnce(len(tellings), func(i int) (onefold.Operation, bool, error) {
		s := r.Submission("bills.create", "credit:pay_9", bill)
		s.Metadata = []byte(`{"event":"` + tellings[i] + `"}`)
		return r.Ledger.Submit(context.Background(), s)
	}))
	agrees(t, r, r.UntilState(op.ID, onefold.Confirmed), 1, 1)
	totals(t, r, 1, 1)
}

// What staff had paid by hand kept its failed mark, and was paid again at the next run.
//
// Proves: M16, M22, M28
func TestC129PaidByHandAndStillFailed(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	r.Fault(sandbox.Fault{Kind: sandbox.DropBefore})
	op := inReview(r, r.Submit("payments.send", "k", payment))
	decide := func(reason, reference string) (onefold.Operation, error) {
		return r.Ledger.Resolve(context.Background(), rig.Operator(op, reason), onefold.Resolution{Outcome: onefold.ResolveConfirmed, Reference: reference})
	}
	for _, refused := range [][2]string{{"paid at the bank", ""}, {"", "bank-ref-9"}} {
		if _, err := decide(refused[0], refused[1]); onefold.CodeOf(err) != onefold.CodeMemberInvalid {
			t.Errorf("reason %q, reference %q: %v, want member_invalid", refused[0], refused[1], err)
		}
	}
	op, err := decide("paid at the bank", "bank-ref-9")
	if err != nil || op.State != onefold.Confirmed || op.Result.LearntFrom != onefold.LearntFromOperator || len(op.OpenReviews()) != 0 || op.Due != nil {
		t.Fatalf("%v: %s %+v, reviews %+v, due %v", err, op.State, op.Result, op.Reviews, op.Due)
	}
	if again := replays(t, r, op, payment); again.Result.Reference != "bank-ref-9" {
		t.Errorf("the same key hears of %+v", again.Result)
	}
	told := timeline(t, r, op)
	if last := told[len(told)-1]; last.Actor.Name != "operator" || last.Reason != "paid at the bank" || last.Evidence == "" {
		t.Errorf("the decision is on record as %+v", last)
	}
	agrees(t, r, op, 0, 1)
}
