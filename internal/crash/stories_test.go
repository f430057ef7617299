//go:build unix

package crash

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/onefold-dev/onefold/internal/failpoint"
)

const (
	bill    = `{"capability":"bills.create","request":{"supplier":"S-81","number":"INV-0042","total":"1250.00"}%s}`
	order   = `{"capability":"orders.create","request":{"supplier":"S-81","item":"bolt","quantity":12}%s}`
	payment = `{"capability":"payments.send","request":{"payee":"P-1","amount":"99.90","currency":"EUR"}%s}`
)

// story is something that happens to one operation, as its caller and its
// operator tell it. It is told to a process that dies in the middle, and then
// from its beginning to the next one, with the same key: that is what a careful
// caller does. It returns early where the process is gone.
type story struct {
	name string
	// places are the names of the law's events and of the other failpoints that the
	// story passes, NAME or NAME@N; only is "before-" or "after-" where there is
	// but one side.
	places []string
	only   string
	// earlier are the points at which earlier processes die while the story is
	// told to them; beside is armed beside the place.
	earlier []string
	beside  string
	flags   []string
	edit    func(string) string
	// fault prepares the judge, once.
	fault func(*house)
	tell  func(*house) answer
	ends  string
	// writes are the least write requests that reach the target in the end.
	writes int
}

// impatient are flags under which a silent worker is found out in little time.
var impatient = []string{"--lease", "600ms", "--scan", "50ms", "--straggler", "1s"}

func submitted(body string, more string) func(*house) answer {
	return func(h *house) answer {
		return h.call(http.MethodPost, "/v1/operations", "k-1", fmt.Sprintf(body, more))
	}
}

// toTheEnd submits and waits until the operation is settled.
func toTheEnd(body string) func(*house) answer {
	return func(h *house) answer {
		op := submitted(body, "")(h)
		if op.text("id") == "" {
			return op
		}
		op, _ = h.await(op.text("id"), "the end", settled)
		return op
	}
}

func stories() []story {
	commits := make([]string, 7)
	for i := range commits {
		commits[i] = fmt.Sprintf("%s@%d", failpoint.Committed, i+1)
	}
	return append([]story{
		{
			name: "plain", places: []string{failpoint.Claimed, "admitted", "leased", failpoint.Frozen, "begun", failpoint.Sent, "answered"},
			tell: toTheEnd(bill), ends: "confirmed", writes: 1,
		},
		{name: "plain order", places: []string{"admitted", "begun", failpoint.Sent, "answered"}, tell: toTheEnd(order), ends: "confirmed", writes: 1},
		{name: "first byte", places: []string{failpoint.FirstByte}, only: "before-", tell: toTheEnd(order), ends: "confirmed", writes: 1},
		{name: "every commit", places: commits, tell: toTheEnd(bill), ends: "confirmed", writes: 1},
		{
			name: "lost answer, looked up", places: []string{"leased@2", failpoint.Sent + "@2", "looked_up"},
			fault: lost("orders"), tell: toTheEnd(order), ends: "confirmed", writes: 1,
		},
		{
			name: "lost answer, replayed", places: []string{"leased@2", "begun@2", failpoint.Sent + "@2", "answered@2"},
			fault: lost("bills"), tell: toTheEnd(bill), ends: "confirmed", writes: 2,
		},
		{
			name: "first byte of a replay", places: []string{failpoint.FirstByte + "@2"}, only: "before-",
			fault: lost("bills"), tell: toTheEnd(bill), ends: "confirmed", writes: 2,
		},
		{
			name: "died after the begin", earlier: []string{"after-begun"},
			places: []string{failpoint.Taken, failpoint.LeaseEnded, "reconsidered", "looked_up", "begun", "answered"},
			tell:   toTheEnd(order), ends: "confirmed", writes: 1,
		},
		{
			name: "died with an open attempt", earlier: []string{"before-renewed=hold,after-lease_expired"},
			places: []string{failpoint.AttemptEnded}, flags: impatient, fault: slow("orders", "before"),
			tell: toTheEnd(order), ends: "confirmed", writes: 1,
		},
		{
			name: "slow call", places: []string{"renewed"}, flags: impatient, fault: slow("bills", "after"),
			tell: toTheEnd(bill), ends: "confirmed", writes: 1,
		},
		{
			name: "silent worker", places: []string{"lease_expired", "attempt_closed"}, flags: impatient, beside: "before-renewed=hold",
			fault: slow("orders", "before"), tell: closedInTheEnd, ends: "confirmed", writes: 1,
		},
		{
			name: "accepted beyond its time", places: []string{"looked_up", "agreed_time_over", "looked_up@2"}, flags: []string{"--scan", "50ms"},
			edit: acceptedFor("300ms"), fault: settlesLate, tell: toTheEnd(payment), ends: "confirmed", writes: 1,
		},
		{name: "paused under the lease", places: []string{"handed_back"}, beside: "after-leased=hold", tell: pausedUnderTheLease, ends: "confirmed", writes: 1},
	}, personsStories()...)
}

// personsStories are those in which somebody decides.
func personsStories() []story {
	return []story{
		{name: "withdrawn before anything", places: []string{"canceled"}, tell: withdrawnEarly, ends: "canceled"},
		{
			name: "withdrawn in doubt", places: []string{"canceled"}, fault: unread("orders"), tell: withdrawnInDoubt, ends: "canceled", writes: 1,
		},
		{name: "too late", places: []string{"deadline_passed"}, flags: impatient, tell: tooLate, ends: "canceled"},
		{
			name: "approved", places: []string{"hold_decided"}, tell: approved, ends: "confirmed", writes: 1,
			edit: func(docs string) string { return docs + "mode: approval\n" },
		},
		{
			name: "asked to retry", places: []string{"retry_asked"}, tell: askedToRetry, ends: "confirmed", writes: 2,
			fault: func(h *house) { h.fault("bills", `"kind":"status","status":429,"headers":{"Retry-After":"50"}`) },
		},
		{
			name: "with a person", places: []string{"escalated", "assigned", "observed", "resolved"}, flags: []string{"--scan", "50ms"},
			edit: func(docs string) string {
				return strings.Replace(docs, "reconcile: {within: 1s, backoff: {first: 30ms, factor: 2, max: 200ms}, escalate: {after: 1s,",
					"reconcile: {within: 300ms, backoff: {first: 30ms, factor: 2, max: 200ms}, escalate: {after: 100ms,", 1)
			},
			fault: unread("payments"), tell: withAPerson, ends: "confirmed", writes: 2,
		},
		{name: "another intent", places: []string{"noted"}, tell: anotherIntent, ends: "confirmed", writes: 1},
	}
}

func lost(collection string) func(*house) {
	return func(h *house) { h.fault(collection, `"kind":"drop_after_effect"`) }
}

func unread(collection string) func(*house) {
	return func(h *house) { h.fault(collection, `"kind":"drop_before"`) }
}

func slow(collection, side string) func(*house) {
	return func(h *house) { h.fault(collection, `"kind":"delay","`+side+`":"400ms"`) }
}

// acceptedFor lets the bank take payments on for later, with a time to do it in.
func acceptedFor(agreed string) func(string) string {
	const lookup = "    lookup:\n      - by: reference\n        method: GET\n        path: /payments?"
	return func(docs string) string {
		docs = strings.Replace(docs, "reconcile: {within: 1s,", "reconcile: {within: 30s,", 1)
		return strings.Replace(docs, lookup, `    accepted:
      when: {status: 202}
      poll: {path: "/payments?external_ref={operation/reference}", records: /items, match: {/external_ref: $operation/reference}, reference: /id, every: `+agreed+", within: "+agreed+`}
    states: {field: /status, effect: [settled, open], pending: pending, no_effect: failed}
`+lookup, 1)
	}
}

// settlesLate: the payment is done after its agreed time, and while that ends the
// bank is slow to say so, so that the scan is the first to notice.
func settlesLate(h *house) {
	h.fault("payments", `"kind":"accept","settle":"1200ms"`)
	h.fault("payments", `"kind":"delay","method":"GET","before":"400ms"`)
}

// closedInTheEnd waits also until no attempt of the operation is open.
func closedInTheEnd(h *house) answer {
	op := toTheEnd(order)(h)
	if h.serve.gone() || op.status == 0 {
		return op
	}
	until(h.t, "the attempt's end", func() bool {
		attempts := h.call(http.MethodGet, "/v1/operations/"+op.text("id")+"/attempts", "", "")
		for _, a := range attempts.items() {
			if a["ended_at"] == nil {
				return h.serve.gone()
			}
		}
		return attempts.status == http.StatusOK || h.serve.gone()
	})
	return op
}

func pausedUnderTheLease(h *house) answer {
	op := submitted(order, "")(h)
	if h.armed {
		until(h.t, "the lease", func() bool { return h.fired("after-leased") })
		h.call(http.MethodPost, "/v1/connections/acme-erp/pause", "", `{"reason":"a test"}`)
		h.letGo()
		h.serve.ended(h.t)
		return op
	}
	h.call(http.MethodPost, "/v1/connections/acme-erp/resume", "", `{"reason":"a test"}`)
	op, _ = h.await(op.text("id"), "the end", settled)
	return op
}

func withdrawnEarly(h *house) answer {
	op := submitted(bill, `,"not_before":"2099-01-01T00:00:00Z"`)(h)
	if op.status == 0 || settled(op) {
		return op
	}
	return h.decide(op.text("id"), "cancel", `{}`)
}

func withdrawnInDoubt(h *house) answer {
	op := submitted(order, "")(h)
	if op.status == 0 {
		return op
	}
	op, alive := h.await(op.text("id"), "doubt", func(op answer) bool { return settled(op) || op.text("state") == "uncertain" })
	if !alive || settled(op) {
		return op
	}
	if op = h.decide(op.text("id"), "cancel", `{}`); op.status == 0 {
		return op
	}
	op, _ = h.await(op.text("id"), "the end", settled)
	return op
}

func tooLate(h *house) answer {
	// The deadline is part of what was asked for: a repeat names the same.
	if h.memo["deadline"] == "" {
		h.memo["deadline"] = soon(1500 * time.Millisecond)
	}
	h.call(http.MethodPost, "/v1/connections/acme-erp/pause", "", `{"reason":"a test"}`)
	op := submitted(bill, fmt.Sprintf(`,"start_deadline":%q`, h.memo["deadline"]))(h)
	if op.status == 0 {
		return op
	}
	op, _ = h.await(op.text("id"), "the end", settled)
	return op
}

func approved(h *house) answer {
	op := submitted(bill, "")(h)
	if op.status == 0 {
		return op
	}
	if holds, _ := op.body["holds"].([]any); len(holds) > 0 {
		if op := h.decide(op.text("id"), "release", `{"hold":"approval","decision":"proceed","reason":"a test"}`); op.status == 0 {
			return op
		}
	}
	op, _ = h.await(op.text("id"), "the end", settled)
	return op
}

func askedToRetry(h *house) answer {
	op := submitted(bill, "")(h)
	if op.status == 0 {
		return op
	}
	op, alive := h.await(op.text("id"), "the first attempt", func(op answer) bool {
		return settled(op) || op.text("state") == "prepared" && op.number("attempts") == 1
	})
	if !alive || settled(op) {
		return op
	}
	if asked := h.decide(op.text("id"), "retry", `{}`); asked.status == 0 {
		return asked
	}
	op, _ = h.await(op.text("id"), "the end", settled)
	return op
}

func withAPerson(h *house) answer {
	op := submitted(payment, "")(h)
	if op.status == 0 {
		return op
	}
	id := op.text("id")
	op, alive := h.await(id, "a review", func(op answer) bool {
		reviews, _ := op.body["reviews"].([]any)
		return settled(op) || len(reviews) > 0
	})
	if !alive || settled(op) {
		return op
	}
	escalated := func() bool {
		timeline := h.call(http.MethodGet, "/v1/operations/"+id+"/timeline?limit=200", "", "")
		for _, entry := range timeline.items() {
			if entry["event"] == "escalated" {
				return true
			}
		}
		return h.serve.gone()
	}
	until(h.t, "the escalation", escalated)
	for _, act := range [][2]string{
		{"evidence", `{"asserts":"nothing","source":"bank","event_id":"e-1","reason":"the bank was asked"}`},
		{"assign", `{"owner":"joe@acme.example","reason":"on holiday"}`},
		{"resolve", `{"outcome":"not_applied","reason":"the bank says so"}`},
	} {
		if done := h.decide(id, act[0], act[1]); done.status == 0 {
			return done
		}
	}
	op, _ = h.await(id, "the end", settled)
	return op
}

func anotherIntent(h *house) answer {
	op := toTheEnd(bill)(h)
	if op.status == 0 || h.serve.gone() {
		return op
	}
	other := strings.Replace(bill, "1250.00", "1250.01", 1)
	refused := submitted(other, "")(h)
	if refused.status != 0 && refused.text("code") != "key_conflict" {
		h.t.Errorf("another intent under the key got %d %v", refused.status, refused.body)
	}
	return op
}
