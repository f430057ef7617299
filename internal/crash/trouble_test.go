//go:build unix

package crash

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/failpoint"
)

// stubborn submits again as long as the goroutine that should have answered
// breaks, and waits until the operation is settled or a person's.
func stubborn(h *house) (op answer) {
	until(h.t, "an answer", func() bool {
		op = submitted(order, "")(h)
		return op.status != http.StatusInternalServerError
	})
	if op.text("id") == "" {
		return op
	}
	op, _ = h.await(op.text("id"), "the end or an owner", func(op answer) bool { return settled(op) || len(owners(op)) > 0 })
	return op
}

// owners are those of an operation's open reviews.
func owners(op answer) (owners []any) {
	reviews, _ := op.body["reviews"].([]any)
	for _, r := range reviews {
		if review, _ := r.(map[string]any); review["status"] == "open" {
			owners = append(owners, review["owner"])
		}
	}
	return owners
}

// A goroutine breaks at any place. Whether the process survives it or not, the
// others and the next process bring everything to its end, or to a person where
// the operation itself seems to be what breaks it.
//
// Proves: M4, M6, M10, M11, M16
func TestAPanicAnywhere(t *testing.T) {
	t.Parallel()
	j := newJudge(t)
	places := []string{
		failpoint.Claimed, failpoint.Frozen, failpoint.Sent, failpoint.Committed + "@6", "admitted", "leased", "begun", "answered", "looked_up",
	}
	points := []string{"before-" + failpoint.FirstByte}
	for _, place := range places {
		points = append(points, "before-"+place, "after-"+place)
	}
	for i, point := range points {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, &judge{j.process, t}, fmt.Sprint("panic-", i), nil)
			h.flags = impatient
			lost("orders")(h)
			h.open(point + "=panic")
			op := stubborn(h)
			if !within(patience, func() bool { return h.fired(point) }) {
				t.Fatalf("the failpoint did not fire\n%s", h.serve.log)
			}
			if op.status == 0 {
				h.serve.ended(t)
				h.open("")
				op = stubborn(h)
			}
			if op.text("state") != "confirmed" && len(owners(op)) == 0 {
				t.Fatalf("the story ended with %d %v\n%s", op.status, op.body, h.serve.log)
			}
			h.serve.drained(t)
			n := h.compare()
			if op.text("state") == "confirmed" && n.effects != 1 {
				t.Errorf("in the end there are %s", n)
			}
			t.Logf("%s, owned by %v: %s", op.text("state"), owners(op), n)
		})
	}
}

// crowd submits many operations at once, each until it is admitted or each says
// that it is enough.
func crowd(h *house, n int, each func(answer) (enough bool)) {
	h.t.Helper()
	bodies := []string{
		`{"capability":"bills.create","request":{"supplier":"S-%d","number":"N-%d","total":"1.00"}}`,
		`{"capability":"orders.create","request":{"supplier":"S-%d","item":"bolt-%d","quantity":1}}`,
	}
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			within(patience, func() bool {
				a := h.call(http.MethodPost, "/v1/operations", fmt.Sprint("crowd-", i), fmt.Sprintf(bodies[i%2], i, i))
				enough := each != nil && each(a)
				return enough || a.status == http.StatusCreated || a.status == http.StatusOK
			})
		})
	}
	group.Wait()
}

// allEnd waits until every operation is settled or a person's.
func allEnd(h *house) {
	h.t.Helper()
	var open []string
	if !within(patience, func() bool {
		open = open[:0]
		for _, state := range []string{"prepared", "attempting", "uncertain"} {
			page := h.call(http.MethodGet, "/v1/operations?limit=200&state="+state, "", "")
			if page.status != http.StatusOK {
				open = append(open, fmt.Sprint(page.status, page.body))
			}
			for _, op := range page.items() {
				if len(owners(answer{body: op})) == 0 {
					open = append(open, fmt.Sprint(op["id"], op["capability"], op["state"], op["next"]))
				}
			}
		}
		return len(open) == 0
	}) {
		h.t.Fatalf("neither ended nor owned: %s\n%s", strings.Join(open, "\n"), h.serve.log)
	}
}

// Proves: M4, M6
func TestWithoutFileDescriptors(t *testing.T) {
	t.Parallel()
	const n = 80
	h := newHouse(t, nil, "few", nil)
	h.flags = []string{"--lease", "2s", "--scan", "100ms"}
	h.wrap = func(cmd *exec.Cmd) *exec.Cmd {
		limited := exec.Command("sh", append([]string{"-c", `ulimit -n 96 && exec "$@"`, "sh"}, cmd.Args...)...) //nolint:gosec // our own binary
		limited.Env = cmd.Env
		return limited
	}
	// Calls that hang keep descriptors.
	h.fault("bills", `"kind":"hang","effect":true,"times":20`)
	h.fault("orders", `"kind":"hang","times":20`)
	h.open("")
	if h.serve.url == "" {
		t.Fatalf("onefold does not start with few descriptors\n%s", h.serve.log)
	}
	crowd(h, n, nil)
	allEnd(h)
	h.serve.drained(t)
	tally := h.compare()
	// Nothing else keeps a request from being sent here.
	if tally.operations != n || tally.uncertain == 0 || tally.notSent == 0 {
		t.Errorf("of %d callers, some without a descriptor: %s", n, tally)
	}
	t.Log(tally)
}

// Proves: M7, M12a
func TestTwoRunnersOnOneFile(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil, "two", nil)
	h.open("")
	first := h.serve
	refused := func(when string) {
		t.Helper()
		second := start(t, "api", h.serving(""))
		second.ended(t)
		if second.url != "" || second.cmd.ProcessState.ExitCode() != 1 || !strings.Contains(second.log.String(), "another process") {
			t.Fatalf("a second runner, %s: address %q, exit code %d\n%s", when, second.url, second.cmd.ProcessState.ExitCode(), second.log)
		}
	}
	refused("while the first works")
	// A process that is stopped still holds its place: it may go on at any time.
	first.signal(syscall.SIGSTOP)
	refused("while the first is stopped")
	first.signal(syscall.SIGCONT)
	if op := toTheEnd(bill)(h); op.text("state") != "confirmed" {
		t.Fatalf("the first runner does not work any more: %v", op.body)
	}
	// Its place is free at once when it dies.
	first.kill()
	h.open("")
	if op := toTheEnd(bill)(h); op.status != http.StatusOK || op.text("state") != "confirmed" {
		t.Fatalf("the next runner: %d %v\n%s", op.status, op.body, h.serve.log)
	}
	h.serve.drained(t)
	h.compare()
}

// The clock jumps forward a day just after an answer was lost. A day is over by
// the clock, and the target is still at work: absence proves nothing yet.
//
// Proves: M9, M12
func TestTheClockJumpsWhileTheTargetIsAtWork(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil, "clock", nil)
	h.more = []string{failpoint.Wall + "=" + h.file("wall")}
	// The write's time-out is 1 s; the target may work for 1 s more.
	h.fault("orders", `"kind":"delay","before":"1800ms"`)
	h.open("")
	op := submitted(order, "")(h)
	h.await(op.text("id"), "doubt", inState("uncertain"))
	h.write("wall", []byte("24h"))
	// A day is more than look-ups may take: it is a person's at the latest.
	end, _ := h.await(op.text("id"), "the end or an owner", func(op answer) bool { return settled(op) || len(owners(op)) > 0 })
	until(t, "the effect", func() bool { return len(h.judge.effects(h.account)) > 0 })
	h.serve.drained(t)
	n := h.compare()
	if state := end.text("state"); state != "confirmed" && state != "uncertain" || n.requests != 1 || n.effects != 1 {
		t.Errorf("it is %s: %s", end.text("state"), n)
	}
}

// The clock jumps by a day to and fro while work is done, and is right again.
// Jumps may delay and make doubt; they never make a second effect.
//
// Proves: M9, M10, M12, M16
func TestAClockThatJumps(t *testing.T) {
	t.Parallel()
	const n = 120
	h := newHouse(t, nil, "jumps", func(docs string) string {
		return strings.Replace(docs, "limits: {in_flight: 64, unresolved: 100}", "limits: {in_flight: 64, unresolved: 1000}", 1)
	})
	h.flags = []string{"--lease", "1s", "--scan", "50ms", "--straggler", "2s"}
	h.more = []string{failpoint.Wall + "=" + h.file("wall")}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // not a secret
	for _, collection := range []string{"bills", "orders"} {
		h.fault(collection, `"kind":"drop_after_effect","times":10`)
		h.fault(collection, `"kind":"drop_before","times":10`)
		h.fault(collection, `"kind":"delay","before":"500ms","times":10`)
		h.fault(collection, `"kind":"delay","after":"1500ms","times":10`)
	}
	h.open("")
	done := make(chan struct{})
	go func() { defer close(done); crowd(h, n, nil) }()
	jumps := 0
	for over := time.After(8 * time.Second); ; jumps++ {
		h.write("wall", []byte([]string{"0s", "24h", "-24h"}[chance.IntN(3)]))
		select {
		case <-time.After(time.Duration(100+chance.IntN(900)) * time.Millisecond):
			continue
		case <-over:
		}
		break
	}
	<-done
	// What was put off to a day that was none is due two days later.
	h.write("wall", []byte("48h"))
	allEnd(h)
	h.serve.drained(t)
	tally := h.compare()
	t.Logf("%d jumps: %s", jumps, tally)
	if tally.operations != n || tally.uncertain == 0 || tally.states[onefold.Confirmed] == 0 {
		t.Errorf("of %d callers: %s", n, tally)
	}
}
