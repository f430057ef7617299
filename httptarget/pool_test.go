package httptarget_test

import (
	"crypto/tls"
	"fmt"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/httptarget"
)

// keeps answers every request on a connection, and closes none.
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

// Over HTTP/1.1 no request shares a connection with another, whoever asks and
// whatever was answered: not a look-up, not a write that is safe to repeat, not
// where the target would keep the connection. Each asks the target to close it.
// What stands behind an answer is nobody's.
//
// Proves: M11
func TestNoRequestSharesAConnectionOfHTTP1(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	look := func(u string) onefold.Dispatch { return lookup(u, "/") }
	safe := func(u string) onefold.Dispatch { return write(u, false, body(10)) }
	for _, v := range []struct {
		name, text string
		dispatch   func(string) onefold.Dispatch
	}{
		{"look-ups", answer(200, "{}"), look},
		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", look},
		{"safe writes", created, safe},
		{"large safe writes", created, func(u string) onefold.Dispatch { return write(u, false, body(1<<20)) }},
		{"other writes", created, func(u string) onefold.Dispatch { return write(u, true, body(10)) }},
		{"kept for long", answer(200, "{}", "Connection: keep-alive", "Keep-Alive: timeout=60, max=9"), look},
		{"surplus", answer(200, "{}") + "{}", look},
		{"surplus after nothing", answer(200, "") + "{}", safe},
		{"surplus answer after nothing", answer(200, "") + created, look},
		{"surplus answer", created + answer(400, `{"code":"bad"}`), safe},
		{"surplus beyond every buffer", answer(200, strings.Repeat(" ", 5000)) + strings.Repeat("x", 200_000), safe},
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
				for i := range 3 {
					x := c.Carry(t.Context(), v.dispatch(s.url()))
					if x.Failure != "" || !x.Complete || !strings.HasPrefix(v.text, fmt.Sprintf("HTTP/1.1 %d ", x.Status)) {
						t.Errorf("request %d: status %d, failure %q: %s", i, x.Status, x.Failure, x.Detail)
					}
				}
				s.stop()
				if n := s.connections(); n != 3 {
					t.Errorf("%d connections for three requests", n)
				}
				for i, p := range s.peers {
					if head, _, _ := strings.Cut(p.seen.String(), "\r\n\r\n"); !strings.Contains(head, "\r\nConnection: close\r\n") {
						t.Errorf("request %d does not ask for the connection's end: %q", i, head)
					}
				}
			})
		}
	}
}

// A target that does not close, whatever it says meanwhile, is not waited for
// for long; and a Carrier that is closed ends every connection, and has none
// afterwards.
func TestConnectionsOfAnsweredRequestsEnd(t *testing.T) {
	t.Parallel()
	const requests = 8
	ended := make(chan int, 3*requests)
	s := serve(t, nil, func(p *peer) {
		keeps(answer(200, "{}"))(p)
		ended <- p.number
	})
	c := carrier(t, nil)
	for range requests {
		c.Carry(t.Context(), lookup(s.url(), "/"))
	}
	for range requests {
		<-ended
	}
	httptarget.PartPatiently(c)
	for range requests {
		c.Carry(t.Context(), lookup(s.url(), "/"))
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for range requests {
		if x := c.Carry(t.Context(), lookup(s.url(), "/")); x.Status != 200 {
			t.Errorf("status %d, failure %q", x.Status, x.Failure)
		}
	}
	for range 2 * requests {
		<-ended
	}
}
