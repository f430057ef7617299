package httptarget_test

import (
	"net/http"
	"testing"

	"golang.org/x/net/http2"

	"github.com/onefold-dev/onefold"
)

// keeps2 answers every request on a connection, and then does something more.
func keeps2(more func(*talk)) func(*talk) {
	return func(k *talk) {
		for {
			if _, err := k.request(); err != nil {
				return
			}
			k.answer(200, "{}")
			if more != nil {
				more(k)
			}
		}
	}
}

// Which requests share a connection of HTTP/2: those that would share one of
// HTTP/1.1. One on which anything came behind an answer is not used again.
func TestWhichRequestsShareAConnectionInHTTP2(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	look := func(u string) onefold.Dispatch { return lookup(u, "/") }
	safe := func(u string) onefold.Dispatch { return write(u, false, body(10)) }
	same := func(*onefold.Dispatch) {}
	for _, v := range []struct {
		name        string
		more        func(*talk)
		first       func(string) onefold.Dispatch
		then        func(*onefold.Dispatch)
		connections int
	}{
		{"look-ups", nil, look, same, 1},
		{"safe writes", nil, safe, same, 1},
		{"long safe writes", nil, func(u string) onefold.Dispatch { return write(u, false, body(300_000)) }, same, 1},
		{"other writes", nil, func(u string) onefold.Dispatch { return write(u, true, body(10)) }, same, 2},
		{"another workspace", nil, safe, func(d *onefold.Dispatch) { d.Route.Workspace = "globex" }, 2},
		{"another connection", nil, safe, func(d *onefold.Dispatch) { d.Route.Connection = "b" }, 2},
		{"another revision", nil, safe, func(d *onefold.Dispatch) { d.Route.Revision++ }, 2},
		{"a farewell", func(k *talk) { _ = k.framer.WriteGoAway(k.stream, http2.ErrCodeNo, nil) }, safe, same, 2},
		{"a second answer", func(k *talk) { k.answer(200, "{}") }, safe, same, 2},
		{"an answer to the next request", func(k *talk) { k.stream += 2; k.answer(201, `{"id":"B-1"}`) }, safe, same, 2},
	} {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			// What comes behind an answer has to be there before the next request.
			said := make(chan struct{}, 2)
			more := v.more
			if more != nil {
				more = func(k *talk) { v.more(k); said <- struct{}{} }
			}
			s := serve(t, ca.http2Only(t), speaks(keeps2(more)))
			c := carrier(t, trusting(ca.pool))
			first, second := v.first(s.url()), v.first(s.url())
			v.then(&second)
			for i, d := range []onefold.Dispatch{first, second} {
				if x := c.Carry(t.Context(), d); x.Failure != "" || !x.Complete || x.Status != http.StatusOK {
					t.Errorf("request %d: status %d, failure %q: %s", i, x.Status, x.Failure, x.Detail)
				}
				if more != nil {
					<-said
				}
			}
			if n := s.connections(); n != v.connections {
				t.Errorf("%d connections, want %d", n, v.connections)
			}
			s.stop()
			if requests, _ := s.seen(); requests != 2 {
				t.Errorf("%d requests", requests)
			}
		})
	}
}

// A target that negotiates HTTP/2 and wants HTTP/1.1 all the same gets it the
// next time. The attempt that learnt it is judged by what it saw.
func TestATargetThatWantsHTTP1GetsIt(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	for name, v := range map[string]struct {
		first   func(*peer)
		notSent bool
	}{
		"says so":         {speaks(heardAll(func(k *talk) { _ = k.framer.WriteRSTStream(1, http2.ErrCodeHTTP11Required); <-k.done })), false},
		"does not get it": {func(p *peer) { p.say("HTTP/1.1 400 Bad Request\r\n\r\n" + "what is this?") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := ca.http2Only(t)
			config.NextProtos = []string{"h2", "http/1.1"}
			s := serve(t, config, func(p *peer) {
				if p.number == 0 {
					v.first(p)
					return
				}
				p.frames = nil
				whenRead(func(p *peer) { p.say(created) })(p)
			})
			c := carrier(t, trusting(ca.pool))
			if x := c.Carry(t.Context(), write(s.url(), true, body(10))); x.NotSent != v.notSent || x.Status != 0 {
				t.Errorf("NotSent %v, status %d, failure %q: %s", x.NotSent, x.Status, x.Failure, x.Detail)
			}
			if x := c.Carry(t.Context(), write(s.url(), true, body(10))); x.Status != http.StatusCreated || !x.Complete {
				t.Errorf("status %d, failure %q: %s", x.Status, x.Failure, x.Detail)
			}
		})
	}
}
