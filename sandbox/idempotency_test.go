package sandbox_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/onefold-dev/onefold/sandbox"
)

func TestSameKeyRepeatsTheFirstAnswer(t *testing.T) {
	t.Parallel()
	w := start(t)
	first := w.send("POST", "/bills", bill("r-1"), "Idempotency-Key", "k-1")
	w.clock.advance(time.Minute)
	spelled := `{ "external_ref":"r-1", "total":"12.50", "number":"A-7", "supplier":"S-1" }`
	again := w.send("POST", "/bills", spelled, "Idempotency-Key", "k-1")
	expect(t, "status", again.status, 201)
	expect(t, "body", again.body, first.body)
	expect(t, "says so", again.header.Get("Idempotent-Replayed"), "true")
	expect(t, "the first does not", first.header.Get("Idempotent-Replayed"), "")
	expect(t, "effects", len(w.effects()), 1)
	expect(t, "requests", len(w.requests()), 2)
}

func TestSameKeyOtherParametersIsRefusedAndNotStored(t *testing.T) {
	t.Parallel()
	w := start(t)
	first := w.send("POST", "/bills", bill("r-1"), "Idempotency-Key", "k-1")
	for name, body := range map[string]string{"other content": bill("r-2"), "not even JSON": "{"} {
		other := w.send("POST", "/bills", body, "Idempotency-Key", "k-1")
		expect(t, name, fmt.Sprint(other.status, other.member("code")), "422key_reused")
	}
	order := w.send("POST", "/orders", bill("r-1"), "Idempotency-Key", "k-1")
	expect(t, "other collection", order.member("code"), "key_reused")
	expect(t, "the first still stands", w.send("POST", "/bills", bill("r-1"), "Idempotency-Key", "k-1").body, first.body)
	expect(t, "another account is another scope", w.send("POST", "/acct/a/bills", bill("r-2"), "Idempotency-Key", "k-1").status, 201)
	expect(t, "effects", len(w.effects()), 2)
}

func TestRefusalsOfTheLedgerAreStoredAndOthersAreNot(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *sandbox.Options) { o.Token = "t" })
	w.send("POST", "/bills", bill("r-1"), "Authorization", "Bearer t")
	for name, body := range map[string]string{"broken": "{", "invalid": "{}", "duplicate": bill("r-1")} {
		first := w.send("POST", "/bills", body, "Idempotency-Key", name, "Authorization", "Bearer t")
		again := w.send("POST", "/bills", body, "Idempotency-Key", name, "Authorization", "Bearer t")
		expect(t, name, fmt.Sprint(again.status, again.body), fmt.Sprint(first.status, first.body))
		expect(t, name+" is a repeat", again.header.Get("Idempotent-Replayed"), "true")
	}
	expect(t, "401", w.send("POST", "/bills", bill("r-2"), "Idempotency-Key", "k").status, 401)
	expect(t, "401 is not stored", w.send("POST", "/bills", bill("r-2"), "Idempotency-Key", "k", "Authorization", "Bearer t").status, 201)
	bad := w.send("POST", "/bills", bill("r-3"), "Idempotency-Key", "", "Authorization", "Bearer t")
	expect(t, "an empty key", bad.member("code"), "invalid")
	expect(t, "effects", len(w.effects()), 2)
}

func TestNoKeyNoProtection(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.send("POST", "/bills", bill(""))
	w.send("POST", "/bills", bill(""))
	expect(t, "effects", len(w.effects()), 2)
}

func TestWindowCountsFromTheFirstArrival(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *sandbox.Options) { o.Window = time.Hour })
	send := func() reply { return w.send("POST", "/bills", bill(""), "Idempotency-Key", "k-1") }
	first := send()
	w.clock.advance(30 * time.Minute)
	send() // a repeat does not prolong the window
	w.clock.advance(30*time.Minute - 1)
	expect(t, "at its last moment", send().body, first.body)
	w.clock.advance(1)
	later := send()
	expect(t, "over: a new effect", later.member("id"), "BILL-1002")
	expect(t, "in a window of its own", send().body, later.body)
	expect(t, "effects", len(w.effects()), 2)
}

func TestKeyIsInProgressWhileItsFirstRequestIsHandled(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.fault(sandbox.Fault{Kind: sandbox.Delay, Before: 3 * time.Second})
	slow := make(chan reply)
	go func() {
		r, err := w.try("POST", "/bills", bill("r-1"), "Idempotency-Key", "k-1")
		if err != nil {
			t.Error(err)
		}
		slow <- r
	}()
	pause := <-w.pauses
	expect(t, "length", pause.length, 3*time.Second)
	expect(t, "same", w.send("POST", "/bills", bill("r-1"), "Idempotency-Key", "k-1").member("code"), "in_progress")
	expect(t, "other", w.send("POST", "/bills", bill("r-2"), "Idempotency-Key", "k-1").member("code"), "key_reused")
	expect(t, "other key", w.send("POST", "/bills", bill("r-3"), "Idempotency-Key", "k-2").status, 201)
	expect(t, "effects so far", len(w.effects()), 1)
	close(pause.over)
	made := <-slow
	expect(t, "the slow one", made.status, 201)
	expect(t, "and now its answer", w.send("POST", "/bills", bill("r-1"), "Idempotency-Key", "k-1").body, made.body)
	expect(t, "effects", len(w.effects()), 2)
}

func TestTwoHundredAtOnceWithOneKeyMakeOneEffect(t *testing.T) {
	t.Parallel()
	const callers = 200
	w := start(t)
	replies := make(chan reply, callers)
	var gate, done sync.WaitGroup
	gate.Add(1)
	for range callers {
		done.Go(func() {
			gate.Wait()
			r, err := w.try("POST", "/bills", bill("r-1"), "Idempotency-Key", "k-1")
			if err != nil {
				t.Error(err)
			}
			replies <- r
		})
	}
	gate.Done()
	done.Wait()
	close(replies)
	for r := range replies {
		if !(r.status == 201 && r.member("id") == "BILL-1001") && !(r.status == 409 && r.member("code") == "in_progress") {
			t.Errorf("got %d %s", r.status, r.body)
		}
	}
	expect(t, "effects", len(w.effects()), 1)
	expect(t, "requests", len(w.requests()), callers)
}

func TestSixtyFourWritersAtOnce(t *testing.T) {
	t.Parallel()
	const writers, each = 64, 5
	w := start(t)
	var done sync.WaitGroup
	for i := range writers {
		done.Go(func() {
			for j := range each {
				r, err := w.try("POST", "/bills", bill(fmt.Sprintf("r-%d-%d", i, j)))
				if err != nil || r.status != 201 {
					t.Errorf("got %d %s, %v", r.status, r.body, err)
				}
			}
		})
	}
	done.Wait()
	seen := map[string]bool{}
	for _, e := range w.effects() {
		seen[e.ID] = true
	}
	expect(t, "different ids", len(seen), writers*each)
}
