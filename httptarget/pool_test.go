package httptarget_test

import (
	"crypto/tls"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/httptarget"
)

// keeps answers every request on a connection, with a surplus if asked.
func keeps(text string) func(*peer) {
	return func(p *peer) {
		for {
			if _, _, err := p.request(); err != nil {
				return
			}
			p.say(text)
		}
	}
}

// Which requests share a connection: look-ups do, and writes where a replay
// would be safe; a write that wants its own gets it; another workspace, another
// connection document or revision never shares; and a connection on which more
// came than was announced, or whose end was announced, is not used again.
func TestWhichRequestsShareAConnection(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	other := func(change func(*onefold.Route)) func(onefold.Dispatch) onefold.Dispatch {
		return func(d onefold.Dispatch) onefold.Dispatch { change(&d.Route); return d }
	}
	same := other(func(*onefold.Route) {})
	for _, v := range []struct {
		name        string
		text        string
		first       func(string) onefold.Dispatch
		then        func(onefold.Dispatch) onefold.Dispatch
		connections int
	}{
		{"look-ups", answer(200, "{}"), func(u string) onefold.Dispatch { return lookup(u, "/") }, same, 1},
		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", func(u string) onefold.Dispatch { return lookup(u, "/") }, same, 1},
		{"safe writes", created, func(u string) onefold.Dispatch { return write(u, false, body(10)) }, same, 1},
		{"large safe writes", created, func(u string) onefold.Dispatch { return write(u, false, body(1<<20)) }, same, 1},
		{"other writes", created, func(u string) onefold.Dispatch { return write(u, true, body(10)) }, same, 2},
		{"another workspace", created, func(u string) onefold.Dispatch { return write(u, false, body(10)) }, other(func(r *onefold.Route) { r.Workspace = "globex" }), 2},
		{"another connection", created, func(u string) onefold.Dispatch { return write(u, false, body(10)) }, other(func(r *onefold.Route) { r.Connection = "b" }), 2},
		{"another revision", created, func(u string) onefold.Dispatch { return write(u, false, body(10)) }, other(func(r *onefold.Route) { r.Revision++ }), 2},
		{"surplus", answer(200, "{}") + "{}", func(u string) onefold.Dispatch { return lookup(u, "/") }, same, 2},
		{"surplus after nothing", answer(200, "") + "{}", func(u string) onefold.Dispatch { return lookup(u, "/") }, same, 2},
		{"surplus answer after nothing", answer(200, "") + created, func(u string) onefold.Dispatch { return lookup(u, "/") }, same, 2},
		{"surplus beyond our buffer", answer(200, strings.Repeat(" ", 5000)) + strings.Repeat("x", 9000), func(u string) onefold.Dispatch { return lookup(u, "/") }, same, 2},
		{"surplus answer", answer(200, "{}") + answer(201, "{}"), func(u string) onefold.Dispatch { return lookup(u, "/") }, same, 2},
		{"announced end", answer(200, "{}", "Connection: close"), func(u string) onefold.Dispatch { return lookup(u, "/") }, same, 2},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", func(u string) onefold.Dispatch { return lookup(u, "/") }, same, 2},
		{"kept for no time", answer(200, "{}", "Keep-Alive: timeout=1, max=9"), func(u string) onefold.Dispatch { return lookup(u, "/") }, same, 2},
		{"kept for long", answer(200, "{}", "Keep-Alive: timeout=60"), func(u string) onefold.Dispatch { return lookup(u, "/") }, same, 1},
	} {
		for _, secure := range []bool{false, true} {
			name := v.name
			var config *tls.Config
			if secure {
				name, config = name+" over TLS", ca.server(t, nil)
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := serve(t, config, keeps(v.text))
				c := carrier(t, trusting(ca.pool))
				for i, d := range []onefold.Dispatch{v.first(s.url()), v.then(v.first(s.url()))} {
					if x := c.Carry(t.Context(), d); x.Failure != "" || !x.Complete {
						t.Errorf("request %d: status %d, failure %q: %s", i, x.Status, x.Failure, x.Detail)
					}
				}
				if n := s.connections(); n != v.connections {
					t.Errorf("%d connections, want %d", n, v.connections)
				}
			})
		}
	}
}

// A connection that the target closed while it was unused is replaced before a
// byte is written: no attempt falls into doubt for it.
func TestADeadConnectionIsReplacedBeforeItIsUsed(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{})
	s := serve(t, nil, func(p *peer) {
		if _, _, err := p.request(); err != nil {
			return
		}
		p.say(created)
		if p.number == 0 {
			p.raw.Close()
			close(closed)
		}
	})
	c := carrier(t, nil)
	for i := range 2 {
		x := c.Carry(t.Context(), write(s.url(), false, body(10)))
		if x.Status != http.StatusCreated || x.Failure != "" {
			t.Errorf("write %d: status %d, failure %q: %s", i, x.Status, x.Failure, x.Detail)
		}
		<-closed
	}
	s.stop()
	if requests, _ := s.seen(); requests != 2 {
		t.Errorf("%d requests for two attempts", requests)
	}
}

// Unused connections end by themselves after a while, and at once when the
// Carrier is closed; a closed Carrier works on and keeps none.
func TestUnusedConnectionsEnd(t *testing.T) {
	t.Parallel()
	ended := make(chan int, 3)
	s := serve(t, nil, func(p *peer) {
		keeps(answer(200, "{}"))(p)
		ended <- p.number
	})
	brief := carrier(t, func(o *httptarget.Options) { o.Idle = 10 * time.Millisecond })
	brief.Carry(t.Context(), lookup(s.url(), "/"))
	if n := <-ended; n != 0 {
		t.Errorf("connection %d ended", n)
	}
	c := carrier(t, func(o *httptarget.Options) { o.Idle = time.Hour })
	c.Carry(t.Context(), lookup(s.url(), "/"))
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if n := <-ended; n != 1 {
		t.Errorf("connection %d ended", n)
	}
	if x := c.Carry(t.Context(), lookup(s.url(), "/")); x.Status != 200 {
		t.Errorf("status %d, failure %q", x.Status, x.Failure)
	}
	if n := <-ended; n != 2 {
		t.Errorf("connection %d ended", n)
	}
}
