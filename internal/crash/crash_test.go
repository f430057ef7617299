//go:build unix

package crash

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/onefold-dev/onefold"
)

// Proves: I3, M22
func TestTwoHundredCallersWithOneKey(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil, "callers", nil)
	h.open("")
	const n = 200
	body := fmt.Sprintf(bill, "")
	answers := make([]answer, n)
	var group sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		group.Go(func() {
			<-begin
			answers[i] = h.call(http.MethodPost, "/v1/operations", "k-200", body)
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
	h.await(answers[0].text("id"), "the end", settled)
	h.serve.drained(t)
	if n := h.compare(); n.operations != 1 || n.states[onefold.Confirmed] != 1 {
		t.Errorf("in the end there are %s", n)
	}
}

// Proves: M4, M10, M12a, M16
func TestKilledUnderLoadAndAgainWhileRecovering(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil, "load", nil)
	const n = 48
	body := func(i int) string {
		return fmt.Sprintf(`{"capability":"bills.create","request":{"supplier":"S-%d","number":"N-%d","total":"%d.00"}}`, i, i, i)
	}
	// Killed among many, then twice more while it recovers.
	for _, points := range []string{"after-begun@20", "after-lease_ended@2", "after-answered@3"} {
		h.open(points)
		if h.serve.url != "" {
			var group sync.WaitGroup
			for i := range n {
				group.Go(func() { h.call(http.MethodPost, "/v1/operations", fmt.Sprint("k-", i), body(i)) })
			}
			group.Wait()
		}
		h.serve.ended(t)
		if !h.fired(points) {
			t.Fatalf("the failpoint %s did not fire", points)
		}
	}
	h.open("")
	for i := range n {
		a := h.call(http.MethodPost, "/v1/operations", fmt.Sprint("k-", i), body(i))
		if a.status != http.StatusOK && a.status != http.StatusCreated {
			t.Fatalf("caller %d got %d %v", i, a.status, a.body)
		}
		if op, _ := h.await(a.text("id"), "the end", settled); op.text("state") != "confirmed" {
			t.Fatalf("operation %d ended %s", i, op.text("state"))
		}
	}
	h.serve.drained(t)
	tally := h.compare()
	if tally.operations != n || tally.effects != n {
		t.Errorf("of %d callers: %s", n, tally)
	}
	t.Log(tally)
}
