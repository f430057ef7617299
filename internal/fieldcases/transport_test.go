package fieldcases

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/contract"
	"github.com/onefold-dev/onefold/internal/rig"
	"github.com/onefold-dev/onefold/sandbox"
)

// socket is a target of our own on a raw socket: it keeps every byte of every
// request and answers as it is told.
type socket struct {
	url string
	mu  sync.Mutex
	raw []string // whole requests as they came
}

// said is what a socket does with a request: the bytes that it answers, and
// whether the connection is reset afterwards.
type said struct {
	answer string
	reset  bool
}

// listen starts a target; answer is asked for each request, counted from 1.
func listen(t *testing.T, answer func(n int, q *http.Request) said) *socket {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &socket{url: "http://" + l.Addr().String()}
	var open sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); open.Wait() })
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { s.serve(c, answer) })
		}
	})
	return s
}

// serve reads whole requests of a connection one after the other.
func (s *socket) serve(c net.Conn, answer func(n int, q *http.Request) said) {
	defer func() { _ = c.Close() }()
	for {
		var raw bytes.Buffer
		// One byte at a time, so that nothing is read beyond the request.
		q, err := http.ReadRequest(bufio.NewReaderSize(io.TeeReader(c, &raw), 16))
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, q.Body); err != nil {
			return
		}
		s.mu.Lock()
		s.raw = append(s.raw, raw.String())
		n := len(s.raw)
		s.mu.Unlock()
		does := answer(n, q)
		_, _ = io.WriteString(c, does.answer)
		if does.reset {
			_ = c.(*net.TCPConn).SetLinger(0)
			return
		}
	}
}

// writes lists the write requests, whole, as they came.
func (s *socket) writes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.raw), func(raw string) bool { return strings.HasPrefix(raw, "GET ") })
}

// at points the connection of the documents at a target of our own.
func at(url string) func(string) string {
	line := regexp.MustCompile(`(?m)^url: .*$`)
	return func(text string) string { return line.ReplaceAllString(text, "url: "+url) }
}

// created answers with a record; none is a look-up without a match.
const (
	createdBody = `{"id":"BILL-1","total":"1250.00"}`
	created     = "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 33\r\n\r\n" + createdBody
	none        = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n" + `{"items":[]}`
)

// headers lists the values of a header in a raw request, whatever its case.
func headers(raw, name string) []string {
	head, _, _ := strings.Cut(raw, "\r\n\r\n")
	var values []string
	for _, line := range strings.Split(head, "\r\n")[1:] {
		if n, v, _ := strings.Cut(line, ":"); strings.EqualFold(n, name) {
			values = append(values, strings.TrimSpace(v))
		}
	}
	return values
}

// A client library's own retry, around a call that may not be repeated, sent customers' mail twice.
//
// Proves: M4, M11
func TestC04LibraryRetriesByItself(t *testing.T) {
	t.Parallel()
	// The first call is answered, on a connection that the target would keep; the
	// second arrives whole, and is answered by a reset.
	target := listen(t, func(n int, q *http.Request) said {
		switch {
		case q.Method == http.MethodGet:
			return said{answer: none}
		case n == 1:
			return said{answer: created}
		}
		return said{reset: true}
	})
	r := rig.New(t, rig.Options{Edit: also(at(target.url), edit("in_doubt: [replay, lookup, operator]", "in_doubt: [operator]"))})
	r.UntilState(r.Submit("bills.create", "warm", bill).ID, onefold.Confirmed)
	op := inReview(r, r.Submit("bills.create", "k", bill))
	if got := len(target.writes()); got != 2 {
		t.Errorf("%d write requests arrived, want one for each operation", got)
	}
	if len(op.Attempts) != 1 || op.Attempts[0].Verdict != onefold.VerdictUnknown || op.State != onefold.Uncertain {
		t.Errorf("%s after %+v", op.State, op.Attempts)
	}
}

// A library made the key inside the function that it retried, so that each of three tries carried a key of its own.
//
// Proves: M1, M2, M2a
func TestC21KeyMadeInsideTheRetry(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	r.Fault(sandbox.Fault{Kind: sandbox.DropBefore, Times: 2})
	op := r.UntilState(r.Submit("bills.create", "k", bill).ID, onefold.Confirmed)
	agrees(t, r, op, 1, 3)
	for _, q := range wire(t, r, "POST") {
		first := wire(t, r, "POST")[0]
		if q.IdempotencyKey != op.Identity || q.BodyDigest != first.BodyDigest {
			t.Errorf("request %d carries %s and %s, want %s and %s", q.Seq, q.IdempotencyKey, q.BodyDigest, op.Identity, first.BodyDigest)
		}
	}
}

// A throttled call was tried again under a new key, and elsewhere an old key went out with a changed body.
//
// Proves: M1, M2a, I4
func TestC22NewKeyForOldBodyAndOldKeyForNewBody(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	r.Fault(sandbox.Fault{Kind: sandbox.Status, Status: 429, Times: 2, Headers: map[string]string{"Retry-After": "1"}})
	op := r.Submit("bills.create", "k", `{"supplier":"S","number":"3","total":"3.00"}`)
	r.Until(op.ID, "throttled", func(op *onefold.Operation) bool { return len(op.Attempts) > 0 })
	conflicts(t, r, op, `{"supplier":"S","number":"3","total":"4.00"}`, "/request/total")
	op = r.UntilState(op.ID, onefold.Confirmed)
	agrees(t, r, op, 1, 3)
	for _, q := range wire(t, r, "POST") {
		if q.IdempotencyKey != op.Identity || q.BodyDigest != wire(t, r, "POST")[0].BodyDigest {
			t.Errorf("request %d carries %s and another body", q.Seq, q.IdempotencyKey)
		}
	}
	if strings.Contains(record(t, r, op), `"4.00"`) {
		t.Errorf("the changed request reached the target: %s", record(t, r, op))
	}
}

// A library took the key as a parameter and never put it on the wire: same key, two transactions, every time.
//
// Proves: M1, I13a
func TestC25KeyNeverOnTheWire(t *testing.T) {
	t.Parallel()
	target := listen(t, func(int, *http.Request) said { return said{answer: created} })
	r := rig.New(t, rig.Options{Edit: at(target.url)})
	op := r.UntilState(r.Submit("bills.create", "k25", bill).ID, onefold.Confirmed)
	sent := target.writes()
	if len(sent) != 1 {
		t.Fatalf("%d requests arrived", len(sent))
	}
	if got := headers(sent[0], "Idempotency-Key"); !slices.Equal(got, []string{op.Identity}) {
		t.Errorf("the wire carries %q, want %s and nothing else", got, op.Identity)
	}
	if !strings.Contains(sent[0], `"external_ref":"`+op.Reference+`"`) {
		t.Errorf("the body does not carry the reference %s: %s", op.Reference, sent[0])
	}
	if strings.Contains(sent[0], op.Attempts[0].ID) {
		t.Error("the attempt's own id is on the wire")
	}
}

// A request id was set through a library and left out of the request: the same id twice, two payments.
//
// Proves: M1, M27a
func TestC27RequestIDThatStaysAtHome(t *testing.T) {
	t.Parallel()
	byQuery := edit("carrier: {in: header, name: Idempotency-Key}", "carrier: {in: query, name: requestid}")
	r := rig.New(t, rig.Options{Edit: byQuery})
	r.Fault(sandbox.Fault{Kind: sandbox.DropBefore})
	op := r.UntilState(r.Submit("bills.create", "k", bill).ID, onefold.Confirmed)
	agrees(t, r, op, 1, 2)
	for _, q := range wire(t, r, "POST") {
		if q.Query != "requestid="+op.Identity {
			t.Errorf("request %d has the query %q, want the identity %s", q.Seq, q.Query, op.Identity)
		}
	}
	// A contract that promises replays and sends no identity is refused.
	homely := edit("carrier: {in: header, name: Idempotency-Key}", "companions: []", "        external_ref: $operation/reference\n", "", "SANDBOX_URL", "http://127.0.0.1:1")
	docs, faults := contract.DecodeFile("documents.yaml", []byte(homely(rig.Documents())))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	faults, _ = contract.Lint(&contract.Set{New: docs})
	if !strings.Contains(faults.Error(), "nothing carries the identity") {
		t.Errorf("faults %v, want that nothing carries the identity", faults)
	}
}

// A tool offered no way to pass a key and sent none: three calls, three refunds.
//
// Proves: I1, M1, M22
func TestC36ToolWithoutAPlaceForTheKey(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	if _, _, err := submit(r, "bills.create", "", bill); onefold.CodeOf(err) != onefold.CodeKeyRequired {
		t.Errorf("without a key: %v, want key_required", err)
	}
	// The tool's own reference is the key, and the gateway makes the target's.
	op := r.Submit("bills.create", "rf-1", bill)
	replays(t, r, op, bill)
	replays(t, r, op, bill)
	op = r.UntilState(op.ID, onefold.Confirmed)
	agrees(t, r, op, 1, 1)
	totals(t, r, 1, 1)
	if q := wire(t, r, "POST")[0]; q.IdempotencyKey != op.Identity || q.IdempotencyKey == "" {
		t.Errorf("the target got the key %q, want %s", q.IdempotencyKey, op.Identity)
	}
}
