package story

import (
	"slices"
	"time"
)

// fault is a planned misbehaviour, as the sandbox's admin API takes it; which
// request takes it is filled in.
type fault map[string]any

// scene is one operation of the story.
type scene struct {
	title string
	// tells says what is arranged.
	tells      string
	capability string
	request    string
	faults     []fault
	// slow scenes begin at once, beside the others.
	slow bool
	play play
}

// play is what is done with a scene's operation; the zero play submits it and
// waits for its outcome.
type play int

const (
	playSubmit play = iota
	playTwice       // two submissions at once
	playChange      // then another request under the same key
	playCancel      // submitted for later, and withdrawn
)

const (
	bills    = "bills.create"
	orders   = "orders.create"
	payments = "payments.send"
)

// withdrawnAfter is how far in the future the operation that is withdrawn would
// be sent.
const withdrawnAfter = time.Hour

// scenes are the story, in the order in which it is told.
func scenes() []scene {
	return slices.Concat(plainScenes(), lostScenes(), callerScenes(), targetScenes())
}

// plainScenes are those in which nothing goes wrong.
func plainScenes() []scene {
	return []scene{
		{
			title: "A bill", tells: "nothing goes wrong", capability: bills,
			request: `{"supplier_id":"S-81","invoice_number":"INV-0042","total":"1250.00","currency":"EUR"}`,
		},
		{
			title: "An order", tells: "nothing goes wrong", capability: orders,
			request: `{"supplier_id":"S-81","item":"paper, A4","quantity":40}`,
		},
		{
			title: "A payment", tells: "nothing goes wrong", capability: payments,
			request: `{"payee":"S-81","amount":"1250.00","currency":"EUR","purpose":"INV-0042"}`,
		},
	}
}

// lostScenes are those in which the outcome gets lost on the way.
func lostScenes() []scene {
	return []scene{
		{
			title: "A lost answer", tells: "the target makes the bill, and its answer is lost on the way", capability: bills,
			request: `{"supplier_id":"S-82","invoice_number":"2026-117","total":"4210.00","currency":"EUR"}`,
			faults:  []fault{{"kind": "drop_after_effect"}},
		},
		{
			title: "A lost answer, no keys", tells: "the same, at a target that does not recognise repeats", capability: orders,
			request: `{"supplier_id":"S-82","item":"toner","quantity":3}`,
			faults:  []fault{{"kind": "drop_after_effect"}},
		},
		{
			title: "A lost request", tells: "the connection breaks before the target does anything", capability: orders, slow: true,
			request: `{"supplier_id":"S-83","item":"chairs","quantity":12}`,
			faults:  []fault{{"kind": "drop_before"}},
		},
		{
			title: "An error after the effect", tells: "the payment is made, and the answer is 503", capability: payments,
			request: `{"payee":"S-82","amount":"4210.00","currency":"EUR","purpose":"2026-117"}`,
			faults:  []fault{{"kind": "status", "status": 503, "effect": true}},
		},
	}
}

// callerScenes are those in which a caller does something odd.
func callerScenes() []scene {
	return []scene{
		{
			title: "A double submit", tells: "two callers submit one bill under one key, at the same moment", capability: bills,
			request: `{"supplier_id":"S-84","invoice_number":"R-9001","total":"88.40","currency":"EUR"}`, play: playTwice,
		},
		{
			title: "A changed request", tells: "then the same key comes with another total", capability: bills,
			request: `{"supplier_id":"S-84","invoice_number":"R-9002","total":"310.00","currency":"EUR"}`, play: playChange,
		},
		{
			title: "A withdrawal", tells: "an order for later is withdrawn before it is sent", capability: orders,
			request: `{"supplier_id":"S-89","item":"lamps","quantity":6}`, play: playCancel,
		},
	}
}

// targetScenes are those in which the target is slow, says no, or says something odd.
func targetScenes() []scene {
	return []scene{
		{
			title: "A slow target", tells: "the answer takes most of a second", capability: orders, slow: true,
			request: `{"supplier_id":"S-85","item":"desks","quantity":2}`,
			faults:  []fault{{"kind": "delay", "before": "800ms"}},
		},
		{
			title: "A refusal", tells: "the target says no to a supplier", capability: bills,
			request: `{"supplier_id":"S-REFUSED","invoice_number":"X-1","total":"10.00","currency":"EUR"}`,
		},
		{
			title: "A refusal after a lost success", tells: "the bill is made, its answer lost, and the repeat gets 401", capability: bills, slow: true,
			request: `{"supplier_id":"S-86","invoice_number":"77/2026","total":"920.00","currency":"EUR"}`,
			faults:  []fault{{"kind": "drop_after_effect"}, {"kind": "unauthorized"}},
		},
		{
			title: "A busy target", tells: "the first answer is 429: come back in a second", capability: bills, slow: true,
			request: `{"supplier_id":"S-87","invoice_number":"A-15","total":"64.00","currency":"EUR"}`,
			faults:  []fault{{"kind": "status", "status": 429, "headers": map[string]string{"Retry-After": "1"}}},
		},
		{
			title: "An answer cut short", tells: "201, and then the connection ends within the body", capability: bills,
			request: `{"supplier_id":"S-88","invoice_number":"B-3","total":"1999.99","currency":"EUR"}`,
			faults:  []fault{{"kind": "cut", "of": "body", "bytes": 12}},
		},
		{
			title: "A time-out for a person", tells: "the bank never answers, and shows no such payment", capability: payments, slow: true,
			request: `{"payee":"S-90","amount":"7800.00","currency":"EUR","purpose":"deposit"}`,
			faults:  []fault{{"kind": "hang"}},
		},
	}
}
