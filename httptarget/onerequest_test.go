package httptarget_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
)

// fault is something that a target does with the one write that it gets.
type fault struct {
	name string
	// do gets the connection before the write was read.
	do func(p *peer)
	// whole: the exchange must end without a failure, with this status.
	whole int
	// early: the target may act before it has read anything.
	early bool
}

// whenRead reads the request and goes on.
func whenRead(do func(p *peer)) func(p *peer) {
	return func(p *peer) {
		if _, _, err := p.request(); err == nil {
			do(p)
		}
	}
}

// created is the answer to a write that worked.
var created = answer(http.StatusCreated, `{"id":"B-1"}`)

// faults are what can go wrong on the wire, each a thing that makes some
// client send again.
func faults() []fault {
	out := []fault{
		{name: "answers", do: whenRead(func(p *peer) { p.say(created) }), whole: http.StatusCreated},
		{name: "closes after reading", do: whenRead(func(*peer) {})},
		{name: "resets after reading", do: whenRead((*peer).reset)},
		{name: "closes before reading", do: func(*peer) {}, early: true},
		{name: "resets before reading", do: (*peer).reset, early: true},
	}
	for _, status := range []int{301, 302, 303, 307, 308} {
		out = append(out, fault{
			name: numbered("redirects with", status), whole: status,
			do: whenRead(func(p *peer) { p.say(answer(status, "", "Location: /base/elsewhere")) }),
		})
	}
	for _, status := range []int{100, 102, 103, 199} {
		out = append(out, fault{
			name: numbered("interim", status), whole: http.StatusCreated,
			do: whenRead(func(p *peer) {
				p.say(fmt.Sprintf("HTTP/1.1 %d Wait\r\nLink: </a>\r\n\r\nHTTP/1.1 %d\r\n\r\n", status, status))
				p.say(created)
			}),
		})
		out = append(out, fault{
			name: numbered("closes after interim", status),
			do:   whenRead(func(p *peer) { p.say(fmt.Sprintf("HTTP/1.1 %d Wait\r\n\r\n", status)) }),
		})
	}
	for _, status := range []int{408, 421, 425, 429, 503} {
		out = append(out, fault{
			name: numbered("sends back with", status), whole: status,
			do: whenRead(func(p *peer) { p.say(answer(status, "{}", "Retry-After: 0", "Connection: close")) }),
		})
	}
	for _, n := range []int{1, 2, 5, 17, 60, 150, 250, 400, 4096, 70_000} {
		out = append(out, fault{name: numbered("resets in the request at", n), early: true, do: func(p *peer) {
			p.take(n)
			p.reset()
		}})
	}
	for _, n := range []int{1, 8, 12, 13, 15, 20, 40, len(created) - 13, len(created) - 1} {
		for end, do := range map[string]func(*peer){"resets": (*peer).reset, "closes": func(*peer) {}} {
			out = append(out, fault{
				name: numbered(end+" in the answer at", n),
				do:   whenRead(func(p *peer) { p.say(created[:n]); do(p) }),
			})
		}
	}
	return out
}

// attack lets one fault happen to one write and holds what was reported against
// what the target saw. Where the connection is to be warm (one of HTTP/2), the
// fault gets it as it is, and answers what warms it.
func attack(t *testing.T, f fault, config *tls.Config, change carrierChange, d onefold.Dispatch, warmed bool) {
	t.Helper()
	s := serve(t, config, f.do)
	c := carrier(t, change)
	d.Route.URL = s.url()
	if warmed {
		d.Route.FreshWrites = false
		warm(t, c, s.url())
	}
	x := c.Carry(t.Context(), d)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	s.stop()
	requests, size := s.seen()
	switch {
	case x.Failure == "timeout":
		t.Errorf("it waited for what will not come: %s", x.Detail)
	case requests > 1:
		t.Errorf("%d requests for one attempt", requests)
	case x.NotSent && size > 0:
		t.Errorf("nothing sent, it says (%s, %s), but %d bytes came", x.Failure, x.Detail, size)
	case x.NotSent && x.Evidence.BytesOut != 0, !x.NotSent && x.Evidence.BytesOut == 0:
		t.Errorf("NotSent is %v with %d bytes out", x.NotSent, x.Evidence.BytesOut)
	case x.NotSent && !f.early:
		t.Errorf("nothing sent, it says (%s, %s), but the target had read all", x.Failure, x.Detail)
	case f.whole != 0 && (x.Status != f.whole || !x.Complete || x.Failure != ""):
		t.Errorf("status %d, complete %v, failure %q: %s", x.Status, x.Complete, x.Failure, x.Detail)
	case f.whole == 0 && (x.Failure == "" || x.Complete):
		t.Errorf("status %d, complete %v, failure %q: %s", x.Status, x.Complete, x.Failure, x.Detail)
	case f.whole != 0 && requests != 1:
		t.Errorf("an answer to %d requests", requests)
	}
}

// The whole matrix over plain HTTP/1.1: whatever a target does, and whatever
// the method, the body and the key's header are, at most one request reaches it,
// and "nothing was sent" is said only where not a byte came.
//
// Proves: M11
func TestOneAttemptIsAtMostOneRequest(t *testing.T) {
	t.Parallel()
	bodies := map[int][]byte{0: nil, 200: body(200), 1 << 20: body(1 << 20)}
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
				for _, size := range []int{0, 200, 1 << 20} {
					for _, name := range []string{"", "Idempotency-Key", "X-Idempotency-Key"} {
						if size == 1<<20 && name == "X-Idempotency-Key" {
							continue // the same path at a thousand times the cost
						}
						for _, fresh := range []bool{false, true} {
							d := write("", fresh, bodies[size])
							d.Request.Method = method
							if name != "" {
								d.Request.Headers = []onefold.Header{key(name)}
							}
							t.Run(fmt.Sprintf("%s %d bytes %s fresh=%v", method, size, name, fresh), func(t *testing.T) {
								attack(t, f, nil, nil, d, false)
							})
						}
					}
				}
			}
		})
	}
}

// The same over TLS, for the request that a standard client is most eager to
// send again.
//
// Proves: M11
func TestOneAttemptIsAtMostOneRequestOverTLS(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			for _, size := range []int{0, 200, 1 << 20} {
				for _, fresh := range []bool{false, true} {
					d := write("", fresh, body(size), key("Idempotency-Key"))
					t.Run(fmt.Sprintf("%d bytes fresh=%v", size, fresh), func(t *testing.T) {
						attack(t, f, ca.server(t, nil), trusting(ca.pool), d, false)
					})
				}
			}
		})
	}
}

// A reset at every byte of a small request, and of its answer.
//
// Proves: M11
func TestResetAtEveryByte(t *testing.T) {
	t.Parallel()
	size := 0
	s := serve(t, nil, whenRead(func(p *peer) { p.say(created) }))
	carrier(t, nil).Carry(t.Context(), write(s.url(), true, body(20), key("Idempotency-Key")))
	s.stop()
	if _, size = s.seen(); size < 200 {
		t.Fatalf("the request has %d bytes", size)
	}
	for n := range size {
		f := fault{early: true, do: func(p *peer) { p.take(n); p.reset() }}
		attack(t, f, nil, nil, write("", n%2 == 0, body(20), key("Idempotency-Key")), false)
	}
	for n := range created {
		f := fault{do: whenRead(func(p *peer) { p.say(created[:n]); p.reset() })}
		attack(t, f, nil, nil, write("", n%2 == 0, body(20), key("Idempotency-Key")), false)
	}
}

// An answer that comes before the request was read to its end, with the
// connection then closed or left alone, is an answer; the rest is not sent.
func TestAnAnswerBeforeTheEndOfTheRequest(t *testing.T) {
	t.Parallel()
	for _, closes := range []bool{true, false} {
		s := serve(t, nil, func(p *peer) {
			if _, err := http.ReadRequest(bufio.NewReaderSize(p, 64)); err != nil {
				return
			}
			p.say(answer(http.StatusRequestEntityTooLarge, `{"code":"too_large"}`))
			if !closes {
				<-p.done
			}
		})
		d := write(s.url(), false, body(32<<20))
		x := carrier(t, nil).Carry(t.Context(), d)
		s.stop()
		requests, size := s.seen()
		if requests != 1 || size >= 32<<20 || x.NotSent {
			t.Errorf("closes=%v: %d requests, %d bytes, NotSent %v", closes, requests, size, x.NotSent)
		}
		if !closes && (x.Status != http.StatusRequestEntityTooLarge || !x.Complete || x.Failure != "") {
			t.Errorf("status %d, complete %v, failure %q: %s", x.Status, x.Complete, x.Failure, x.Detail)
		}
	}
}

// What goes out, byte for byte: our own fields, then the frozen ones in their
// order, then the body as it is.
//
// Proves: M2a
func TestTheRequestAsItStandsOnTheWire(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, whenRead(func(p *peer) { p.say(created) }))
	d := write(s.url(), true, []byte(`{"total": 1.10}`),
		onefold.Header{Name: "Content-Type", Value: "application/json"}, key("Idempotency-Key"), onefold.Header{Name: "A", Value: "1"})
	d.Request.Path = "/bills%2F7?x=%20&y="
	carrier(t, nil).Carry(t.Context(), d)
	s.stop()
	want := strings.ReplaceAll(`POST /base/bills%2F7?x=%20&y= HTTP/1.1
Host: `+s.listener.Addr().String()+`
Connection: close
User-Agent: onefold/test
Accept-Encoding: identity
Content-Type: application/json
Idempotency-Key: 0191d1ad-bd5b-4c8a-a77a-5f26a0b7a1f9
A: 1
Content-Length: 15

{"total": 1.10}`, "\n", "\r\n")
	if got := s.peers[0].seen.String(); got != want {
		t.Errorf("sent:\n%s\nwant:\n%s", got, want)
	}
}

// What could make one message look like two, or lead out of the connection's
// path, is not sent at all.
func TestWhatCannotStandInARequestIsNotSent(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, whenRead(func(p *peer) { p.say(created) }))
	header := func(name, value string) func(*onefold.Dispatch) {
		return func(d *onefold.Dispatch) { d.Request.Headers = []onefold.Header{{Name: name, Value: value}} }
	}
	path := func(p string) func(*onefold.Dispatch) { return func(d *onefold.Dispatch) { d.Request.Path = p } }
	method := func(m string) func(*onefold.Dispatch) { return func(d *onefold.Dispatch) { d.Request.Method = m } }
	base := func(u string) func(*onefold.Dispatch) { return func(d *onefold.Dispatch) { d.Route.URL = u } }
	host := s.listener.Addr().String()
	for i, change := range []func(*onefold.Dispatch){
		header("A", "1\r\nContent-Length: 0"), header("A", "1\n"), header("A\r\nB", "1"), header("A B", "1"), header("", "1"),
		header("A", "\x00"), header("Content-Length", "3"), header("transfer-encoding", "chunked"), header("Host", "other"),
		header("Connection", "keep-alive"), header("Expect", "100-continue"), header("Upgrade", "h2c"), header("TE", "trailers"),
		path("/a b"), path("/a\r\nX: 1"), path("/a#b"), path("/é"), path("/../admin"), path("/a/%2E%2e/b"), path("/."), path("/a/..?x"),
		method(""), method("GET /x HTTP/1.1\r\n"), method("CONNECT"),
		base(""), base("ftp://" + host), base("http://user:" + canary + "@" + host), base("http://" + host + "?k=" + canary),
		base("http://" + host + "#x"), base("http://"), base("http://" + host + "\x7f" + canary), base("http://127.0.0.1:0"),
		base("http://127.0.0.1:70000"), base("//" + host), base("http:" + host),
	} {
		d := write(s.url(), true, body(10))
		change(&d)
		x := carrier(t, nil).Carry(t.Context(), d)
		if !x.NotSent || x.Failure != "protocol" || x.Detail == "" {
			t.Errorf("case %d: NotSent %v, failure %q: %s", i, x.NotSent, x.Failure, x.Detail)
		}
		if strings.Contains(fmt.Sprintf("%+v", x), canary) {
			t.Errorf("case %d: %+v", i, x)
		}
	}
	if n := s.connections(); n != 0 {
		t.Errorf("%d connections", n)
	}
}
