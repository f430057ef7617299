package sandbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold/sandbox"
)

// mishap is one fault over a real socket: what the client sees, what the ledger holds, what the log says.
type mishap struct {
	name    string
	fault   sandbox.Fault
	sees    func(got string, err error) bool
	effects int
	outcome sandbox.Outcome
	status  int
}

// whole says that an answer is as long as it promises.
func whole(got string, err error) bool {
	response, parseErr := http.ReadResponse(bufio.NewReader(strings.NewReader(got)), nil)
	if err != nil || parseErr != nil {
		return false
	}
	defer response.Body.Close()
	_, readErr := io.ReadAll(response.Body)
	return readErr == nil
}

// lostAnswers are the faults that leave the client without an answer, or with less than a whole one.
func lostAnswers() []mishap {
	return []mishap{
		{
			"drop after effect: a reset and not one byte",
			sandbox.Fault{Kind: sandbox.DropAfterEffect},
			func(got string, err error) bool { return got == "" && isReset(err) },
			1, sandbox.Dropped, 0,
		},
		{
			"drop before: a close and not one byte",
			sandbox.Fault{Kind: sandbox.DropBefore},
			func(got string, err error) bool { return got == "" && err == nil },
			0, sandbox.Dropped, 0,
		},
		{
			"cut in the status line",
			sandbox.Fault{Kind: sandbox.Cut, Bytes: 7},
			func(got string, err error) bool { return got == "HTTP/1." && err == nil },
			1, sandbox.CutShort, 201,
		},
		{
			"cut before the first byte",
			sandbox.Fault{Kind: sandbox.Cut},
			func(got string, err error) bool { return got == "" && err == nil },
			1, sandbox.CutShort, 201,
		},
		{
			"cut in the body",
			sandbox.Fault{Kind: sandbox.Cut, Bytes: 5, Of: sandbox.OfBody},
			func(got string, err error) bool {
				head, body, found := strings.Cut(got, "\r\n\r\n")
				return err == nil && found && strings.HasPrefix(head, "HTTP/1.1 201 Created\r\n") && body == `{"id"` && !whole(got, err)
			},
			1, sandbox.CutShort, 201,
		},
		{
			"cut beyond the end still lacks a byte",
			sandbox.Fault{Kind: sandbox.Cut, Bytes: 100_000},
			func(got string, err error) bool {
				return strings.HasPrefix(got, "HTTP/1.1 201") && !whole(got, err) && whole(got+"}", err)
			},
			1, sandbox.CutShort, 201,
		},
		{
			"wrong length",
			sandbox.Fault{Kind: sandbox.WrongLength, Bytes: 3},
			func(got string, err error) bool {
				return err == nil && strings.HasSuffix(got, "}") && !whole(got, err) && whole(got+"123", err)
			},
			1, sandbox.CutShort, 201,
		},
	}
}

// replacedAnswers are the faults that put another answer in the place of the ledger's.
func replacedAnswers() []mishap {
	return []mishap{
		{
			"status without effect",
			sandbox.Fault{Kind: sandbox.Status, Status: 429, Headers: map[string]string{"retry-after": "2"}},
			func(got string, err error) bool {
				return whole(got, err) && strings.HasPrefix(got, "HTTP/1.1 429 ") && strings.Contains(got, "Retry-After: 2\r\n")
			},
			0, sandbox.Answered, 429,
		},
		{
			"status after the effect, with a body",
			sandbox.Fault{Kind: sandbox.Status, Status: 503, Effect: true, Body: `{"oh":1}`},
			func(got string, err error) bool {
				return whole(got, err) && strings.HasPrefix(got, "HTTP/1.1 503 ") && strings.HasSuffix(got, "\r\n\r\n"+`{"oh":1}`)
			},
			1, sandbox.Answered, 503,
		},
		{
			"a status without a body",
			sandbox.Fault{Kind: sandbox.Status, Status: 204, Effect: true},
			func(got string, err error) bool {
				return strings.HasPrefix(got, "HTTP/1.1 204 ") && strings.HasSuffix(got, "\r\n\r\n")
			},
			1, sandbox.Answered, 204,
		},
		{
			"a page",
			sandbox.Fault{Kind: sandbox.HTML},
			func(got string, err error) bool {
				return whole(got, err) && strings.HasPrefix(got, "HTTP/1.1 200 ") && strings.Contains(got, "Content-Type: text/html") &&
					strings.Contains(got, "<html>")
			},
			0, sandbox.Answered, 200,
		},
		{
			"a page after the effect",
			sandbox.Fault{Kind: sandbox.HTML, Status: 502, Effect: true},
			func(got string, err error) bool {
				return whole(got, err) && strings.HasPrefix(got, "HTTP/1.1 502 ") && strings.Contains(got, "<html>")
			},
			1, sandbox.Answered, 502,
		},
	}
}

// otherMishaps are double delivery and the refusals and detours on the way.
func otherMishaps() []mishap {
	return []mishap{
		{
			"twice",
			sandbox.Fault{Kind: sandbox.Twice},
			func(got string, err error) bool { return whole(got, err) && strings.Contains(got, "BILL-1001") },
			2, sandbox.Answered, 201,
		},
		{
			"twice, stopped by the reference",
			sandbox.Fault{Kind: sandbox.Twice, Protected: true},
			func(got string, err error) bool { return whole(got, err) && strings.Contains(got, "BILL-1001") },
			1, sandbox.Answered, 201,
		},
		{
			"unauthorized",
			sandbox.Fault{Kind: sandbox.Unauthorized},
			func(got string, err error) bool {
				return whole(got, err) && strings.HasPrefix(got, "HTTP/1.1 401 ") && strings.Contains(got, `"unauthorized"`)
			},
			0, sandbox.Answered, 401,
		},
		{
			"unauthorized after the effect",
			sandbox.Fault{Kind: sandbox.Unauthorized, Effect: true},
			func(got string, err error) bool { return whole(got, err) && strings.HasPrefix(got, "HTTP/1.1 401 ") },
			1, sandbox.Answered, 401,
		},
		{
			"redirect",
			sandbox.Fault{Kind: sandbox.Redirect},
			func(got string, err error) bool {
				return whole(got, err) && strings.HasPrefix(got, "HTTP/1.1 307 ") && strings.Contains(got, "Location: /bills\r\n")
			},
			0, sandbox.Answered, 307,
		},
		{
			"redirect after the effect",
			sandbox.Fault{Kind: sandbox.Redirect, Effect: true},
			func(got string, err error) bool { return whole(got, err) && strings.HasPrefix(got, "HTTP/1.1 307 ") },
			1, sandbox.Answered, 307,
		},
	}
}

func TestFaultsOnTheWire(t *testing.T) {
	t.Parallel()
	for _, c := range slices.Concat(lostAnswers(), replacedAnswers(), otherMishaps()) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			id := w.fault(c.fault)
			got, err := w.raw("POST", "/bills", bill("r-1"), "Connection", "close")
			if !c.sees(got, err) {
				t.Errorf("the client saw %q, %v", got, err)
			}
			expect(t, "effects", len(w.effects()), c.effects)
			logged := w.last()
			expect(t, "requests", len(w.requests()), 1)
			expect(t, "outcome", logged.Outcome, c.outcome)
			expect(t, "status", logged.Status, c.status)
			expect(t, "fault", logged.Fault, id)
			expect(t, "fired", fmt.Sprint(w.fired(id)),
				fmt.Sprint([]sandbox.Firing{{RequestSeq: logged.Seq, At: w.clock.Now(), Effects: int64(c.effects)}}))
			after := w.send("POST", "/bills", bill("r-2"))
			expect(t, "the next request is spared", after.status, 201)
		})
	}
}

func TestLostAnswerIsRepeatedUnderItsKey(t *testing.T) {
	t.Parallel()
	for _, kind := range []sandbox.Fault{
		{Kind: sandbox.DropAfterEffect},
		{Kind: sandbox.Status, Status: 500, Effect: true},
		{Kind: sandbox.Cut, Bytes: 30},
	} {
		w := start(t)
		w.fault(kind)
		_, _ = w.raw("POST", "/bills", bill("r-1"), "Connection", "close", "Idempotency-Key", "k-1")
		again := w.send("POST", "/bills", bill("r-1"), "Idempotency-Key", "k-1")
		expect(t, string(kind.Kind), fmt.Sprint(again.status, again.member("id")), "201BILL-1001")
		expect(t, "effects", len(w.effects()), 1)
		w.stop()
	}
}

func TestAnswersPutInItsPlaceLeaveTheKeyFree(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.fault(sandbox.Fault{Kind: sandbox.Status, Status: 400})
	expect(t, "status", w.send("POST", "/bills", bill("r-1"), "Idempotency-Key", "k-1").status, 400)
	expect(t, "then", w.send("POST", "/bills", bill("r-1"), "Idempotency-Key", "k-1").status, 201)
}

func TestFaultHasNoEffectWhereTheLedgerRefuses(t *testing.T) {
	t.Parallel()
	w := start(t)
	id := w.fault(sandbox.Fault{Kind: sandbox.DropAfterEffect})
	_, err := w.raw("POST", "/bills", `{}`)
	expect(t, "reset", isReset(err), true)
	fired := w.fired(id)
	expect(t, "fired", len(fired), 1)
	expect(t, "and says that nothing was lost", fired[0].Effects, int64(0))
}

func TestDelayBeforeOutlivesTheClient(t *testing.T) {
	t.Parallel()
	performed := make(chan sandbox.Effect, 1)
	w := start(t, func(o *sandbox.Options) { o.Performed = func(e sandbox.Effect) { performed <- e } })
	w.fault(sandbox.Fault{Kind: sandbox.Delay, Before: time.Minute})
	ctx, giveUp := context.WithCancel(context.Background())
	request, err := http.NewRequestWithContext(ctx, "POST", w.url+"/bills", strings.NewReader(bill("r-1")))
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan error)
	go func() {
		response, err := w.client.Do(request)
		if err == nil {
			_ = response.Body.Close()
		}
		gone <- err
	}()
	pause := <-w.pauses
	expect(t, "logged before it is handled", w.last().Outcome, sandbox.Pending)
	giveUp()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Fatalf("the client: %v", err)
	}
	expect(t, "effects while it waits", len(w.effects()), 0)
	close(pause.over)
	expect(t, "made all the same", (<-performed).Reference, "r-1")
}

func TestDelayAfterComesBetweenEffectAndAnswer(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.fault(sandbox.Fault{Kind: sandbox.Delay, After: time.Minute})
	answered := make(chan reply)
	go func() {
		r, err := w.try("POST", "/bills", bill("r-1"), "Idempotency-Key", "k-1")
		if err != nil {
			t.Error(err)
		}
		answered <- r
	}()
	pause := <-w.pauses
	expect(t, "effects while it waits", len(w.effects()), 1)
	expect(t, "outcome while it waits", w.last().Outcome, sandbox.Pending)
	expect(t, "the key has its answer", w.send("POST", "/bills", bill("r-1"), "Idempotency-Key", "k-1").status, 201)
	close(pause.over)
	expect(t, "answer", (<-answered).status, 201)
	expect(t, "outcome", w.requests()[0].Outcome, sandbox.Answered)
}

func TestHangLastsUntilTheClientLeaves(t *testing.T) {
	t.Parallel()
	for effects, effect := range []bool{false, true} {
		received := make(chan sandbox.Request, 1)
		w := start(t, func(o *sandbox.Options) { o.Received = func(r sandbox.Request) { received <- r } })
		w.fault(sandbox.Fault{Kind: sandbox.Hang, Effect: effect, After: time.Second})
		ctx, giveUp := context.WithCancel(context.Background())
		request, err := http.NewRequestWithContext(ctx, "POST", w.url+"/bills", strings.NewReader(bill("r-1")))
		if err != nil {
			t.Fatal(err)
		}
		gone := make(chan error)
		go func() {
			response, err := w.client.Do(request)
			if err == nil {
				_ = response.Body.Close()
			}
			gone <- err
		}()
		<-received
		close((<-w.pauses).over) // its After: by now the effect, if any, is there
		expect(t, "effects", len(w.effects()), effects)
		expect(t, "outcome meanwhile", w.last().Outcome, sandbox.Pending)
		giveUp()
		<-gone
		w.stop()
	}
}

func TestEndOfServeEndsEveryWait(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.fault(sandbox.Fault{Kind: sandbox.Delay, Before: time.Hour})
	failed := make(chan error)
	go func() {
		_, err := w.try("POST", "/bills", bill("r-1"))
		failed <- err
	}()
	<-w.pauses
	w.stop()
	if err := <-failed; err == nil {
		t.Error("the request was answered")
	}
}

func TestLagOfOneEffect(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.fault(sandbox.Fault{Kind: sandbox.Lag, Lag: time.Minute, ExternalRef: "r-2"})
	w.send("POST", "/bills", bill("r-1"))
	expect(t, "made", w.send("POST", "/bills", bill("r-2")).status, 201)
	expect(t, "others are seen", w.send("GET", "/bills/BILL-1001", "").status, 200)
	expect(t, "this one is not", w.send("GET", "/bills/BILL-1002", "").status, 404)
	w.clock.advance(time.Minute)
	expect(t, "later it is", w.send("GET", "/bills/BILL-1002", "").status, 200)
}

func TestFaultsTakeOnlyWhatTheyMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault sandbox.Fault
		takes string // of the requests below, by number
	}{
		{"nothing said: writes", sandbox.Fault{}, "1 2 3"},
		{"method", sandbox.Fault{Method: "GET"}, "0 4"},
		{"path", sandbox.Fault{Path: "/bills"}, "1 2"},
		{"path with account", sandbox.Fault{Path: "/acct/a/bills"}, "3"},
		{"reference", sandbox.Fault{ExternalRef: "r-2"}, "2"},
		{"reference of a look-up", sandbox.Fault{Method: "GET", ExternalRef: "r-1"}, "4"},
		{"key", sandbox.Fault{IdempotencyKey: "k-1"}, "1 3"},
		{"all of it", sandbox.Fault{Method: "POST", Path: "/acct/a/bills", ExternalRef: "r-1", IdempotencyKey: "k-1"}, "3"},
		{"one member differs", sandbox.Fault{Path: "/bills", ExternalRef: "r-1", IdempotencyKey: "k-2"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			c.fault.Kind, c.fault.Status, c.fault.Times = sandbox.Status, 418, 10
			w.fault(c.fault)
			var taken []string
			for i, got := range []reply{
				w.send("GET", "/bills", ""),
				w.send("POST", "/bills", bill("r-1"), "Idempotency-Key", "k-1"),
				w.send("POST", "/bills", bill("r-2"), "Idempotency-Key", "k-2"),
				w.send("POST", "/acct/a/bills", bill("r-1"), "Idempotency-Key", "k-1"),
				w.send("GET", "/bills?external_ref=r-1", ""),
			} {
				if got.status == 418 {
					taken = append(taken, fmt.Sprint(i))
				}
			}
			expect(t, "taken", strings.Join(taken, " "), c.takes)
		})
	}
}

func TestOldestFaultFirstAndAsOftenAsItSays(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.fault(sandbox.Fault{Kind: sandbox.Status, Status: 500, Times: 2})
	w.fault(sandbox.Fault{Kind: sandbox.Status, Status: 501})
	var got []int
	for range 4 {
		got = append(got, w.send("POST", "/bills", bill("")).status)
	}
	expect(t, "answers", fmt.Sprint(got), "[500 500 501 201]")
}

func TestFaultsOfLookups(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.send("POST", "/bills", bill("r-1"))
	w.fault(sandbox.Fault{Kind: sandbox.DropAfterEffect, Method: "GET"})
	w.fault(sandbox.Fault{Kind: sandbox.HTML, Method: "GET", Path: "/bills/BILL-1001"})
	got, err := w.raw("GET", "/bills?external_ref=r-1", "")
	expect(t, "reset", got == "" && isReset(err), true)
	page := w.send("GET", "/bills/BILL-1001", "")
	expect(t, "page", page.header.Get("Content-Type"), "text/html; charset=utf-8")
	expect(t, "then", w.send("GET", "/bills/BILL-1001", "").status, 200)
}
