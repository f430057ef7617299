package httptarget_test

import (
	"context"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/httptarget"
)

// Deadlines that are meant to be met: of a part, and of a whole exchange, which
// must leave time for what comes before the part that stalls.
const (
	short = 150 * time.Millisecond
	long  = 600 * time.Millisecond
)

// Each part of an exchange has its own end. What is said of it is what is
// known: nothing was sent while there was no connection; afterwards there is a
// doubt; and a status line that was read is told even if its body never came.
func TestEveryStallEnds(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	stallAfter := func(text string) func(*peer) {
		return whenRead(func(p *peer) { p.say(text); <-p.done })
	}
	whole := func(o *httptarget.Options) {}
	for _, c := range []struct {
		name    string
		handle  func(*peer)
		change  func(*httptarget.Options)
		timeout time.Duration
		secure  bool // the client speaks TLS, the target does not
		stall   bool // the name is never answered
		failure string
		status  int
		notSent bool
	}{
		{name: "name", change: func(o *httptarget.Options) { o.ConnectTimeout = short }, stall: true, failure: "dns", notSent: true},
		{name: "name, whole", change: whole, timeout: long, stall: true, failure: "dns", notSent: true},
		{name: "TLS", change: func(o *httptarget.Options) { o.TLSTimeout = short }, secure: true, failure: "tls", notSent: true},
		{name: "TLS, whole", change: whole, timeout: long, secure: true, failure: "tls", notSent: true},
		{name: "first byte", handle: stallAfter(""), change: func(o *httptarget.Options) { o.FirstByteTimeout = short }, failure: "timeout"},
		{name: "first byte, whole", handle: stallAfter(""), change: whole, timeout: long, failure: "timeout"},
		{
			name: "interim answers do not stretch it", handle: stallAfter("HTTP/1.1 102 Processing\r\n\r\n"),
			change: func(o *httptarget.Options) { o.FirstByteTimeout = short }, failure: "timeout",
		},
		{name: "within the head", handle: stallAfter("HTTP/1.1 201 Created\r\nA: b\r\n"), change: whole, timeout: long, failure: "timeout", status: 201},
		{name: "within the status line", handle: stallAfter("HTTP/1.1 201 Cre"), change: whole, timeout: long, failure: "timeout"},
		{
			name: "within the body", handle: stallAfter(created[:len(created)-2]), failure: "timeout", status: 201,
			change: func(o *httptarget.Options) { o.BodyTimeout = short },
		},
		{name: "within the body, whole", handle: stallAfter(created[:len(created)-2]), change: whole, timeout: long, failure: "timeout", status: 201},
		{
			name: "a body that trickles", failure: "timeout", status: 200, change: func(o *httptarget.Options) { o.BodyTimeout = short },
			handle: whenRead(func(p *peer) {
				p.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
				ticker := time.NewTicker(5 * time.Millisecond)
				defer ticker.Stop()
				for range ticker.C {
					if _, err := p.Conn.Write([]byte("1\r\nx\r\n")); err != nil {
						return
					}
				}
			}),
		},
		{
			name: "nobody reads the request", handle: func(p *peer) { <-p.done }, change: whole, timeout: long, failure: "timeout",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.handle == nil {
				c.handle = func(p *peer) { <-p.done }
			}
			s := serve(t, nil, c.handle)
			d := write(s.url(), true, body(100))
			if c.name == "nobody reads the request" {
				d.Request.Body = body(8 << 20)
			}
			if c.timeout != 0 {
				d.Request.Timeout = c.timeout
			}
			if c.secure {
				d.Route.URL = "https" + d.Route.URL[len("http"):]
			}
			x := carrier(t, func(o *httptarget.Options) {
				c.change(o)
				o.RootCAs = ca.pool
				if c.stall {
					d.Route.URL = "http://slow.example"
					o.Resolve = func(ctx context.Context, _ string) ([]netip.Addr, error) { <-ctx.Done(); return nil, ctx.Err() }
				}
			}).Carry(t.Context(), d)
			if x.Failure != c.failure || x.Status != c.status || x.NotSent != c.notSent || x.Complete {
				t.Errorf("NotSent %v, status %d, complete %v, failure %q: %s", x.NotSent, x.Status, x.Complete, x.Failure, x.Detail)
			}
			if x.Evidence.Took < short-10*time.Millisecond || x.Evidence.Took > patience/2 {
				t.Errorf("it took %v", x.Evidence.Took)
			}
			if x.NotSent == (x.Evidence.BytesOut > 0) {
				t.Errorf("NotSent %v, and %d bytes went out", x.NotSent, x.Evidence.BytesOut)
			}
		})
	}
}

// A connection that cannot be had sends nothing: a port where nobody listens,
// a name that leads nowhere, a caller whose own time is over.
func TestNoConnectionSendsNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, whenRead(func(*peer) {}))
	s.stop()
	c := carrier(t, func(o *httptarget.Options) {
		o.Resolve = func(context.Context, string) ([]netip.Addr, error) { return nil, nil }
	})
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	for _, v := range []struct {
		ctx          context.Context
		url, failure string
	}{
		{t.Context(), s.url(), "connect"},
		{t.Context(), "http://nowhere.example", "dns"},
		{t.Context(), "https://nowhere.example", "dns"},
		{late, s.url(), "connect"},
	} {
		x := c.Carry(v.ctx, write(v.url, true, body(10)))
		if !x.NotSent || x.Failure != v.failure || x.Detail == "" || x.Evidence.Kind != onefold.EvidenceTransport {
			t.Errorf("%s: NotSent %v, failure %q, %s: %s", v.url, x.NotSent, x.Failure, x.Evidence.Kind, x.Detail)
		}
	}
}

// Over HTTP/1.1 nothing is asked again, look-ups included: a new connection that
// ends without an answer is no sign of one that was dead before.
//
// Proves: M11
func TestNothingIsAskedAgain(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*onefold.Dispatch){
		"look-up":         func(d *onefold.Dispatch) { d.Request.Method, d.Write = http.MethodGet, false },
		"look-up by POST": func(d *onefold.Dispatch) { d.Write = false },
		"write by GET":    func(d *onefold.Dispatch) { d.Request.Method = http.MethodGet },
		"write":           func(*onefold.Dispatch) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, nil, whenRead(func(p *peer) {
				if p.number == 0 {
					p.say(answer(http.StatusOK, `{"items":[]}`))
				}
			}))
			c := carrier(t, nil)
			d := write(s.url(), false, nil, key("Idempotency-Key"))
			change(&d)
			if x := c.Carry(t.Context(), d); x.Status != http.StatusOK || !x.Complete {
				t.Errorf("status %d, failure %q: %s", x.Status, x.Failure, x.Detail)
			}
			if x := c.Carry(t.Context(), d); x.Failure != "no_answer" || x.NotSent {
				t.Errorf("status %d, failure %q: %s", x.Status, x.Failure, x.Detail)
			}
			s.stop()
			if requests, _ := s.seen(); requests != 2 {
				t.Errorf("%d requests", requests)
			}
		})
	}
}
