package crash

import (
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"
)

const (
	bill  = `{"capability":"bills.create","request":{"supplier":"S-81","number":"INV-0042","total":"1250.00"}}`
	order = `{"capability":"orders.create","request":{"supplier":"S-81","item":"bolt","quantity":12}}`
)

// place is one point at which the process is killed.
type place struct {
	name string
	// point is the failpoint; empty means that the test itself kills as soon as
	// the sandbox holds the effect.
	point string
	// unsent tells that the attempt which was begun put nothing on the wire.
	unsent int
}

var places = []place{
	{name: "after admission", point: "after-admitted"},
	{name: "after lease", point: "after-leased"},
	{name: "after begin", point: "after-begun", unsent: 1},
	{name: "after the effect"},
	{name: "after the answer", point: "after-sent"},
	{name: "after the outcome", point: "after-answered"},
}

// Proves: M4, M6, M8, M10, M11, M12a, M22, I3
func TestKilledAnywhereThereIsOneEffectAndNoOperationIsLost(t *testing.T) {
	t.Parallel()
	for _, p := range places {
		for name, body := range map[string]string{"enforced": bill, "reconcilable": order} {
			t.Run(p.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				killedAt(t, p, body)
			})
		}
	}
}

func killedAt(t *testing.T, p place, body string) {
	h := newHouse(t)
	mark := h.open(p.point)
	if p.point == "" {
		h.fault(`{"kind":"delay","after":"50s"}`)
	}
	sent := make(chan answer, 1)
	go func() { sent <- h.call(http.MethodPost, "/v1/operations", "k-1", body) }()
	if p.point == "" {
		h.until("the effect", func() bool { return len(h.list("/admin/effects")) == 1 })
		h.serve.kill()
	}
	h.serve.ended(t)
	if mark != "" {
		if _, err := os.Stat(mark); err != nil {
			t.Fatalf("the failpoint %s did not fire: %v", p.point, err)
		}
	}
	first := <-sent

	h.open("")
	again := h.call(http.MethodPost, "/v1/operations", "k-1", body)
	switch again.status {
	case http.StatusOK: // it was stored before the kill
	default:
		t.Fatalf("an admitted operation was lost: the repeat got %d %v", again.status, again.body)
	}
	if first.status != 0 && first.text("id") != again.text("id") {
		t.Fatalf("the repeat answers %s, the first submission said %s", again.text("id"), first.text("id"))
	}
	op := h.settled(again.text("id"))
	if op.text("state") != "confirmed" {
		t.Fatalf("the operation ended %s: %v", op.text("state"), op.body)
	}
	h.agree(op, p.unsent)
}

// until asks again and again, without hurry, until something is so.
func (h *house) until(what string, so func() bool) {
	h.t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-deadline:
			h.t.Fatalf("never came: %s\n%s", what, h.serve.log)
		case <-tick.C:
		}
	}
}

// settled waits for the end of an operation.
func (h *house) settled(id string) answer {
	h.t.Helper()
	var op answer
	h.until("the end of "+id, func() bool {
		op = h.call(http.MethodGet, "/v1/operations/"+id+"?wait=10", "", "")
		switch op.text("state") {
		case "confirmed", "rejected", "canceled":
			return true
		}
		return false
	})
	return op
}

// agree holds the operation against the sandbox's own ledger: one effect with
// the recorded reference, and no wire request without a begun attempt.
func (h *house) agree(op answer, unsent int) {
	h.t.Helper()
	result, _ := op.body["result"].(map[string]any)
	reference := op.text("reference")
	effects := 0
	for _, e := range h.list("/admin/effects") {
		if e["reference"] == reference {
			effects++
			if e["id"] != result["reference"] {
				h.t.Errorf("the sandbox's effect is %v, the ledger says %v", e["id"], result["reference"])
			}
		}
	}
	if effects != 1 {
		h.t.Errorf("the sandbox performed %d effects for one confirmed operation", effects)
	}
	writes := 0
	for _, r := range h.list("/admin/requests") {
		if r["method"] != http.MethodGet && r["reference"] == reference {
			writes++
		}
	}
	begun := int(op.body["attempts"].(float64))
	if writes != begun-unsent {
		h.t.Errorf("%d write requests reached the sandbox; %d attempts were begun, %d of them killed before the first byte", writes, begun, unsent)
	}
}

// Proves: I3, M22
func TestTwoHundredCallersWithOneKey(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.open("")
	const n = 200
	answers := make([]answer, n)
	var group sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		group.Go(func() {
			<-begin
			answers[i] = h.call(http.MethodPost, "/v1/operations", "k-200", bill)
		})
	}
	close(begin)
	group.Wait()
	created, replayed := 0, 0
	for _, a := range answers {
		switch {
		case a.status == http.StatusCreated:
			created++
		case a.status == http.StatusOK && a.header.Get("Idempotent-Replayed") == "true":
			replayed++
		default:
			t.Errorf("a caller got %d %v", a.status, a.body)
		}
		if a.text("id") != answers[0].text("id") {
			t.Errorf("two operations for one key: %s and %s", a.text("id"), answers[0].text("id"))
		}
	}
	if created != 1 || replayed != n-1 {
		t.Errorf("%d callers were told that they admitted it, %d that they repeated it", created, replayed)
	}
	h.agree(h.settled(answers[0].text("id")), 0)
}

// Proves: M4, M10, M12a, M16
func TestKilledUnderLoadAndAgainWhileRecovering(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	mark := h.open("after-begun@20")
	const n = 48
	bodies := make([]string, n)
	var group sync.WaitGroup
	for i := range n {
		bodies[i] = fmt.Sprintf(`{"capability":"bills.create","request":{"supplier":"S-%d","number":"N-%d","total":"%d.00"}}`, i, i, i)
		group.Go(func() { h.call(http.MethodPost, "/v1/operations", fmt.Sprint("k-", i), bodies[i]) })
	}
	h.serve.ended(t)
	group.Wait()
	if _, err := os.Stat(mark); err != nil {
		t.Fatalf("the failpoint did not fire: %v", err)
	}
	// Killed once more while it recovers.
	again := h.open("after-answered@3")
	for i := range n {
		if a := h.call(http.MethodPost, "/v1/operations", fmt.Sprint("k-", i), bodies[i]); a.status == 0 {
			break
		}
	}
	h.serve.ended(t)
	if _, err := os.Stat(again); err != nil {
		t.Fatalf("the second failpoint did not fire: %v", err)
	}
	h.open("")
	for i := range n {
		a := h.call(http.MethodPost, "/v1/operations", fmt.Sprint("k-", i), bodies[i])
		if a.status != http.StatusOK && a.status != http.StatusCreated {
			t.Fatalf("caller %d got %d %v", i, a.status, a.body)
		}
		op := h.settled(a.text("id"))
		if op.text("state") != "confirmed" {
			t.Fatalf("operation %d ended %s", i, op.text("state"))
		}
	}
	perReference := map[any]int{}
	for _, e := range h.list("/admin/effects") {
		perReference[e["reference"]]++
	}
	if len(perReference) != n {
		t.Errorf("the sandbox holds effects of %d operations, %d were confirmed", len(perReference), n)
	}
	for reference, effects := range perReference {
		if effects != 1 {
			t.Errorf("%v has %d effects", reference, effects)
		}
	}
}
