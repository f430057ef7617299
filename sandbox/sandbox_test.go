package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/onefold-dev/onefold/sandbox"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("SANDBOX_TEST_CHILD"); path != "" {
		runChild(path, os.Getenv("SANDBOX_TEST_DIE_AT"))
		return
	}
	goleak.VerifyTestMain(m)
}

// clock is a time that moves only when it is told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func newClock() *clock { return &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

// waiting is one wait of the sandbox that a test holds in its hand.
type waiting struct {
	length time.Duration
	over   chan struct{} // close it to let the wait end
}

// pauses stand in for the passing of time: each wait of the sandbox is offered to the test.
type pauses chan waiting

func (p pauses) Wait(ctx context.Context, d time.Duration) error {
	w := waiting{length: d, over: make(chan struct{})}
	select {
	case p <- w:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-w.over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// world is a sandbox that serves on a real socket.
type world struct {
	*sandbox.Sandbox
	t       *testing.T
	url     string
	address string
	clock   *clock
	pauses  pauses
	client  *http.Client
	stop    func() // ends Serve and closes; safe to call twice
}

func start(t *testing.T, change ...func(*sandbox.Options)) *world {
	t.Helper()
	w := &world{t: t, clock: newClock(), pauses: make(pauses)}
	options := sandbox.Options{Now: w.clock.Now, Wait: w.pauses.Wait}
	for _, c := range change {
		c(&options)
	}
	ctx, end := context.WithCancel(context.Background())
	var err error
	if w.Sandbox, err = sandbox.Open(ctx, options); err != nil {
		t.Fatal(err)
	}
	l, err := w.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.address = l.Addr().String()
	w.url = "http://" + w.address
	served := make(chan error, 1)
	go func() { served <- w.Serve(ctx, l) }()
	transport := &http.Transport{DisableKeepAlives: true}
	w.client = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	w.stop = sync.OnceFunc(func() {
		end()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if err := w.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		transport.CloseIdleConnections()
	})
	t.Cleanup(w.stop)
	return w
}

// reply is an answer as the client got it.
type reply struct {
	status int
	header http.Header
	body   string
}

func (r reply) member(name string) string {
	var content map[string]any
	if json.Unmarshal([]byte(r.body), &content) != nil {
		return "(no JSON) " + r.body
	}
	return fmt.Sprint(content[name])
}

// try sends one request; a body means POST.
func (w *world) try(method, path, body string, headers ...string) (reply, error) {
	request, err := http.NewRequest(method, w.url+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := w.client.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	return reply{response.StatusCode, response.Header, string(content)}, err
}

func (w *world) send(method, path, body string, headers ...string) reply {
	w.t.Helper()
	r, err := w.try(method, path, body, headers...)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	return r
}

// raw sends one request over a connection of its own and gives every byte that came back, and how the connection ended.
func (w *world) raw(method, path, body string, headers ...string) (string, error) {
	w.t.Helper()
	connection, err := net.Dial("tcp", w.address)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s %s HTTP/1.1\r\nHost: sandbox\r\nContent-Length: %d\r\n", method, path, len(body))
	for i := 0; i+1 < len(headers); i += 2 {
		fmt.Fprintf(&out, "%s: %s\r\n", headers[i], headers[i+1])
	}
	out.WriteString("\r\n" + body)
	if _, err := connection.Write(out.Bytes()); err != nil {
		w.t.Fatal(err)
	}
	all, err := io.ReadAll(connection)
	return string(all), err
}

func (w *world) fault(f sandbox.Fault) string {
	w.t.Helper()
	id, err := w.AddFault(context.Background(), f)
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

func (w *world) fired(id string) []sandbox.Firing {
	w.t.Helper()
	all, err := w.Faults(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range all {
		if f.ID == id {
			return f.Fired
		}
	}
	w.t.Fatalf("no fault %s", id)
	return nil
}

func (w *world) effects() []sandbox.Effect {
	w.t.Helper()
	all, err := w.Effects(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

func (w *world) requests() []sandbox.Request {
	w.t.Helper()
	all, err := w.Requests(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

func (w *world) last() sandbox.Request {
	w.t.Helper()
	all := w.requests()
	if len(all) == 0 {
		w.t.Fatal("no request in the log")
	}
	return all[len(all)-1]
}

// bill is a valid bill with a reference ("" for none).
func bill(reference string) string {
	if reference == "" {
		return `{"supplier":"S-1","number":"A-7","total":"12.50"}`
	}
	return fmt.Sprintf(`{"supplier":"S-1","number":"A-7","total":"12.50","external_ref":%q}`, reference)
}

func expect[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// A reset tells itself from a mere end of the stream: only the first is an error of the read.
func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && strings.Contains(err.Error(), "connection reset by peer")
}
