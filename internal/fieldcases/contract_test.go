package fieldcases

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/rig"
	"github.com/onefold-dev/onefold/sandbox"
)

const day = 24 * time.Hour

// A batch of changes took effect twice under one key: nobody knew how long the provider remembers keys.
//
// Proves: M11a
func TestC78ProviderForgetsKeys(t *testing.T) {
	t.Parallel()
	for name, story := range map[string]struct {
		later   time.Duration
		kind    onefold.AttemptKind
		from    onefold.LearntFrom
		writes  int
		lookups bool
	}{
		"within the window": {later: time.Hour, kind: onefold.Replay, from: onefold.LearntFromResponse, writes: 2},
		"after the window":  {later: day + time.Second, kind: onefold.Write, from: onefold.LearntFromLookup, writes: 1, lookups: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &clock{}
			var r *rig.Rig
			ctx := context.Background()
			var stopped atomic.Bool
			r = rig.New(t, rig.Options{Now: c.now, SandboxOptions: c.target, Scan: soon, Idle: true, Wrap: carryBy(
				func(ctx context.Context, carrier onefold.Carrier, d onefold.Dispatch) onefold.Exchange {
					x := carrier.Carry(ctx, d)
					if d.Write && stopped.CompareAndSwap(false, true) {
						// Nothing more is sent until somebody comes back to it.
						if _, err := r.Store.PauseConnection(context.WithoutCancel(ctx), connection, operator, "closing time"); err != nil {
							t.Error(err)
						}
					}
					return x
				})})
			r.Start()
			r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect})
			op := r.UntilState(r.Submit("bills.create", "k", bill).ID, onefold.Uncertain)
			c.ahead.Add(int64(story.later))
			if _, err := r.Store.ResumeConnection(ctx, connection, operator, "back"); err != nil {
				t.Fatal(err)
			}
			r.Ledger.Kick()
			op = r.UntilState(op.ID, onefold.Confirmed)
			agrees(t, r, op, 1, story.writes)
			if last := op.Attempts[len(op.Attempts)-1]; last.Kind != story.kind || op.Result.LearntFrom != story.from || (len(wire(t, r, "GET")) > 0) != story.lookups {
				t.Errorf("last attempt %s, learnt from %s after %d look-ups", last.Kind, op.Result.LearntFrom, len(wire(t, r, "GET")))
			}
		})
	}
}

// A payout in doubt was swept up again days later with the key that the provider had long forgotten.
//
// Proves: M11, M11a, M16
func TestC79PayoutSweptUpAfterDays(t *testing.T) {
	t.Parallel()
	c := &clock{}
	r := rig.New(t, rig.Options{Now: c.now, SandboxOptions: c.target, Scan: soon, Edit: edit(
		"reconcile: {within: 1s, backoff: {first: 30ms, factor: 2, max: 200ms}, escalate: {after: 1s, to: finance-lead}}",
		"reconcile: {within: 200h, backoff: {first: 20h, factor: 1, max: 20h}}")})
	r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect})
	r.Fault(sandbox.Fault{Kind: sandbox.Status, Status: 503, Method: "GET", Times: 3})
	began := c.now()
	op := r.UntilState(r.Submit("payments.send", "payout-1", payment).ID, onefold.Uncertain)
	for sweep := 1; sweep <= 3; sweep++ {
		c.forward(r, day)
		op = r.Until(op.ID, "looked up", func(op *onefold.Operation) bool { return op.Reconcile.Spent >= sweep && op.Lease == nil })
		if op.State != onefold.Uncertain || op.NewKeySafe() {
			t.Errorf("sweep %d: %s, new key safe %v", sweep, op.State, op.NewKeySafe())
		}
		replays(t, r, op, payment)
		agrees(t, r, op, 1, 1)
	}
	stats, err := r.Store.Stats(context.Background(), rig.Workspace)
	if err != nil || stats.OldestOpenID != op.ID || stats.OldestOpen == nil || stats.OldestOpen.After(began.Add(time.Minute)) {
		t.Errorf("%v: the oldest in doubt is %s since %v, want %s since %s", err, stats.OldestOpenID, stats.OldestOpen, op.ID, began)
	}
	c.forward(r, day)
	agrees(t, r, r.UntilState(op.ID, onefold.Confirmed), 1, 1)
}

// Deleting history also made keys free: "reject duplicates" compared with what was still retained, and ran it again.
//
// Proves: I26, I29, I7, M24
func TestC80UniqueWhileRetainedOnly(t *testing.T) {
	t.Parallel()
	c := &clock{}
	r := rig.New(t, rig.Options{Now: c.now, SandboxOptions: c.target, Scan: soon})
	done := r.UntilState(r.Submit("bills.create", "k80", bill).ID, onefold.Confirmed)
	refused := r.UntilState(r.Submit("bills.create", "k81", `{"supplier":"S-REFUSED","number":"1","total":"1"}`).ID, onefold.Rejected)
	// Nobody frees the key of what was done, nor by that way of what was refused.
	for _, op := range []onefold.Operation{done, refused} {
		if _, err := r.Ledger.Cancel(context.Background(), rig.Operator(op, "again, please"), true); onefold.CodeOf(err) != onefold.CodeAlreadySettled {
			t.Errorf("freeing the key of a %s operation: %v, want already_settled", op.State, err)
		}
	}
	c.forward(r, 29*day)
	replays(t, r, done, bill)
	for _, later := range []time.Duration{2 * day, 400 * day} {
		c.forward(r, later)
		for _, request := range []string{bill, `{"supplier":"S-2","number":"2","total":"2"}`} {
			_, _, err := submit(r, "bills.create", "k80", request)
			e := asError(t, err)
			if e.Code != onefold.CodeKeyExpired || e.Operation != done.ID || e.State != onefold.Confirmed || e.Reference != done.Result.Reference || e.NewKeySafe {
				t.Errorf("after the retention: %v, operation %s %s %s, new key safe %v", err, e.Operation, e.State, e.Reference, e.NewKeySafe)
			}
		}
	}
	if _, _, err := submit(r, "bills.create", "k81", `{"supplier":"S-REFUSED","number":"1","total":"1"}`); asError(t, err).Code != onefold.CodeKeyExpired || !asError(t, err).NewKeySafe {
		t.Errorf("the refused one: %v", err)
	}
	agrees(t, r, done, 1, 1)
	totals(t, r, 1, 2)
}

// uniqueBill is an operation at a target that refuses a reference which it has seen.
const uniqueBill = `  invoices.clear:
    write:
      method: POST
      path: /bills
      timeout: 2s
      body: {supplier: $request/supplier, number: $request/number, total: $request/total}
    identity:
      kind: unique_reference
      carrier: {in: body, name: /external_ref}
      scope: [account]
      window: forever
      on_repeat: conflict_means_done
      compares: nothing
      stores: [2xx, 4xx]
      concurrent: second_may_fail
    responses:
      - {name: created, when: {status: [200, 201]}, outcome: confirmed, reference: /id}
      - {name: seen before, when: {status: 409}, outcome: unknown}
    verify: {/total: $request/total}
    lookup:
      - by: identity
        method: GET
        path: /bills?external_ref={operation/identity}
        records: /items
        complete: true
        match: {/external_ref: $operation/identity}
        reference: /id
    settle: 50ms
    processing: 2s
    absence: authoritative
    in_doubt: [replay, lookup, operator]
`

// "Duplicate" was filed under failure, although it meant that the first send had worked.
//
// Proves: M11a, M11b, M13
func TestC86DuplicateMeansThatItWorked(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: adding("kind: capability\nname: invoices.clear\nversion: 1\nrequest: {type: object}\nretry: {attempts: 6, within: 1m, backoff: {first: 20ms}}\nreconcile: {within: 30s, backoff: {first: 30ms, max: 300ms}}\n", uniqueBill)})
	r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect})
	op := r.UntilState(r.Submit("invoices.clear", "k", bill).ID, onefold.Confirmed)
	effects, err := r.Sandbox.Effects(context.Background())
	if err != nil || len(effects) != 1 || effects[0].ID != op.Result.Reference || effects[0].Reference != op.Identity {
		t.Fatalf("%v: effects %+v, result %+v", err, effects, op.Result)
	}
	writes := wire(t, r, "POST")
	if len(writes) != 2 || writes[1].Status != 409 || op.Attempts[1].Verdict == onefold.VerdictRejected || op.Result.LearntFrom != onefold.LearntFromLookup {
		t.Errorf("%d writes, attempts %+v, learnt from %s", len(writes), op.Attempts, op.Result.LearntFrom)
	}
}

// One provider: a repeated number was refused for one kind of document, and made a second document of another.
//
// Proves: M11, M11a
func TestC87TwinsWithOppositeRules(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect, Path: "/bills"})
	r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect, Path: "/orders"})
	repeats := r.UntilState(r.Submit("bills.create", "k", bill).ID, onefold.Confirmed)
	looks := r.UntilState(r.Submit("orders.create", "k", order).ID, onefold.Confirmed)
	agrees(t, r, repeats, 1, 2)
	agrees(t, r, looks, 1, 1)
	if repeats.Target != looks.Target || repeats.Result.LearntFrom != onefold.LearntFromResponse || looks.Result.LearntFrom != onefold.LearntFromLookup {
		t.Errorf("learnt from %s and %s", repeats.Result.LearntFrom, looks.Result.LearntFrom)
	}
}

// Two honest refunds of one amount within minutes: the provider refused the second as a duplicate, and it read like a decline.
//
// Proves: M3, M13
func TestC111ProvidersOwnDuplicateWindow(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: edit("- {name: other body,", "- {name: duplicate window, when: {status: 409, json: {/code: duplicate_transaction}}, outcome: not_applied, retry_after: {header: Retry-After}}\n      - {name: other body,")})
	const refund = `{"supplier":"card-1","number":"refund","total":"-10.00"}`
	first := r.UntilState(r.Submit("bills.create", "r1", refund).ID, onefold.Confirmed)
	r.Fault(sandbox.Fault{Kind: sandbox.Status, Status: 409, Body: `{"code":"duplicate_transaction"}`, Headers: map[string]string{"Retry-After": "1"}})
	second := r.UntilState(r.Submit("bills.create", "r2", refund).ID, onefold.Confirmed)
	agrees(t, r, first, 1, 1)
	agrees(t, r, second, 1, 2)
	a := second.Attempts[0]
	if a.Verdict != onefold.VerdictNotApplied || second.Attempts[1].BegunAt.Sub(*a.EndedAt) < time.Second {
		t.Errorf("attempts %+v; want a first that was told to come back, and a second that did", second.Attempts)
	}
	if seen := evidenceOf(t, r, second)[0]; seen.Rule != "duplicate window" {
		t.Errorf("the evidence names the rule %q", seen.Rule)
	}
}
