package httptarget_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/httptarget"
)

// later calls do after so long, unless the target ends before.
func (p *peer) later(group *sync.WaitGroup, after time.Duration, do func()) {
	if after == 0 {
		do()
		return
	}
	group.Go(func() {
		timer := time.NewTimer(after)
		defer timer.Stop()
		select {
		case <-timer.C:
			do()
		case <-p.done:
		}
	})
}

// refersTo is the reference that a request carries in its path.
func refersTo(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// judged is what a target answers to a request: every other write is refused, and
// a look-up finds its own record or, for every third one, nothing.
func judged(method, reference string) (status int, body string) {
	n := 0
	if _, err := fmt.Sscanf(reference, "r%d", &n); err != nil {
		return http.StatusNotFound, `{"code":"no reference"}`
	}
	record := fmt.Sprintf(`{"id":"B-%d","ref":%q}`, n, reference)
	switch {
	case method == http.MethodGet && n%3 == 0:
		return http.StatusOK, fmt.Sprintf(`{"items":[],"ref":%q}`, reference)
	case method == http.MethodGet:
		return http.StatusOK, fmt.Sprintf(`{"items":[%s],"ref":%q}`, record, reference)
	case n%2 == 0:
		return http.StatusBadRequest, fmt.Sprintf(`{"code":"bad","ref":%q}`, reference)
	}
	return http.StatusCreated, record
}

// repeats is a target that would keep its connections, answers each request, and
// sends each answer a second time, so much later, on the same connection.
func repeats(after time.Duration) func(*peer) {
	return func(p *peer) {
		var group sync.WaitGroup
		defer group.Wait()
		for {
			r, _, err := p.request()
			if err != nil {
				return
			}
			status, text := judged(r.Method, refersTo(r.URL.Path))
			again := answer(status, text)
			if after == 0 { // in one piece
				p.say(again + again)
				continue
			}
			p.say(again)
			p.later(&group, after, func() { p.say(again) })
		}
	}
}

// repeats2 is repeats over HTTP/2: the second answer is on the stream of the
// first, which is over, or so far ahead on one that is not there.
func repeats2(after time.Duration, ahead uint32) func(*talk) {
	return func(k *talk) {
		var (
			group sync.WaitGroup
			mu    sync.Mutex // of the framer
		)
		defer group.Wait()
		for {
			r, err := k.request()
			if err != nil {
				return
			}
			status, text := judged(r.fields[":method"], refersTo(r.fields[":path"]))
			say := func(stream uint32) {
				mu.Lock()
				defer mu.Unlock()
				(&talk{framer: k.framer, stream: stream}).answer(status, text)
			}
			stream := k.stream
			say(stream)
			k.later(&group, after, func() { say(stream + ahead) })
		}
	}
}

// asked is a dispatch with a reference of its own: a write or a look-up, one
// that may share a connection or not.
func asked(url string, n int) onefold.Dispatch {
	d := write(url, n%4 < 2, body(10), key("Idempotency-Key"))
	if n%5 == 0 {
		d = lookup(url, "")
	}
	d.Request.Path = fmt.Sprintf("/bills/r%d", n)
	return d
}

// everyAnswerItsOwn makes many requests at once and holds each answer against its
// own request. It returns how many have none.
func everyAnswerItsOwn(t *testing.T, c *httptarget.Carrier, url string) (unanswered int) {
	t.Helper()
	const callers, each = 6, 40
	var (
		group sync.WaitGroup
		none  atomic.Int64
	)
	for caller := range callers {
		group.Go(func() {
			for i := range each {
				d := asked(url, caller*each+i)
				reference := refersTo(d.Request.Path)
				status, text := judged(d.Request.Method, reference)
				switch x := c.Carry(t.Context(), d); {
				case x.Complete && (x.Status != status || string(x.Body) != text):
					t.Errorf("%s %s got another's answer: %d %s", d.Request.Method, reference, x.Status, x.Body)
				case x.Failure != "" && x.Status != 0, x.Complete != (x.Failure == ""):
					t.Errorf("%s %s: status %d, failure %q: %s", d.Request.Method, reference, x.Status, x.Failure, x.Detail)
				case x.Failure != "":
					none.Add(1)
				}
			}
		})
	}
	group.Wait()
	return int(none.Load())
}

// A target that sends each answer twice, the second at once, a little later, or
// much later, and keeps its connections: every write and every look-up gets its
// own answer, refusals and empty pages included, and no answer of another.
//
// Proves: M11, M12
func TestEveryRequestGetsItsOwnAnswer(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	for _, after := range []time.Duration{0, time.Millisecond / 4, 2 * time.Millisecond, 10 * time.Millisecond} {
		for name, config := range map[string]*tls.Config{"TCP": nil, "TLS": ca.server(t, nil)} {
			t.Run(fmt.Sprintf("%s, %v later", name, after), func(t *testing.T) {
				t.Parallel()
				s := serve(t, config, repeats(after))
				if n := everyAnswerItsOwn(t, carrier(t, trusting(ca.pool)), s.url()); n != 0 {
					t.Errorf("%d requests have no answer", n)
				}
			})
		}
		t.Run(fmt.Sprintf("through a proxy, %v later", after), func(t *testing.T) {
			t.Parallel()
			var names sync.Map
			s := serve(t, nil, repeats(after))
			p := serve(t, nil, proxying(s, &names))
			_, port, err := net.SplitHostPort(p.listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			if n := everyAnswerItsOwn(t, via(t, ca, "http://proxy.example:"+port), "http://erp.example"); n != 0 {
				t.Errorf("%d requests have no answer", n)
			}
			if n, m := p.connections(), s.connections(); n != m {
				t.Errorf("%d tunnels for %d connections", n, m)
			}
		})
	}
}

// Over HTTP/2, where connections are used again, an answer on a stream that is
// over, or that was not opened, breaks the protocol. It is nobody's answer: at
// worst the request that is under way has none, and is in doubt.
//
// Proves: M11, M12
func TestEveryRequestGetsItsOwnAnswerInHTTP2(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	for _, after := range []time.Duration{0, time.Millisecond / 4, 2 * time.Millisecond, 10 * time.Millisecond} {
		for name, ahead := range map[string]uint32{"its own": 0, "an unopened": 1 << 20} {
			t.Run(fmt.Sprintf("on %s stream, %v later", name, after), func(t *testing.T) {
				t.Parallel()
				s := serve(t, ca.http2Only(t), speaks(repeats2(after, ahead)))
				everyAnswerItsOwn(t, carrier(t, trusting(ca.pool)), s.url())
			})
		}
	}
}

// An answer of HTTP/2 that comes on the stream of an earlier request while
// another is under way ends the connection; the request has a doubt that says
// why, not the other's answer, and the next one a new connection.
//
// Proves: M11
func TestAnAnswerOnAStreamThatIsOverIsNobodys(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	for name, says := range map[string]func(*talk){
		"a second answer": func(k *talk) { k.stream = 1; k.answer(201, `{"id":"B-other"}`) },
		"a second head":   func(k *talk) { k.stream = 1; k.head(201, true) },
		"more of a body":  func(k *talk) { k.stream = 1; k.data(`{"id":"B-other"}`, true) },
		"one not opened":  func(k *talk) { k.stream = 5; k.answer(201, `{"id":"B-other"}`) },
		"one of its own":  func(k *talk) { k.stream = 2; k.answer(201, `{"id":"B-other"}`) },
		"within its own": func(k *talk) {
			k.head(201, false, "content-length", "9")
			k.data(`{"id":`, false)
			k.stream = 1
			k.data(`"B-other"}`, true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, ca.http2Only(t), func(p *peer) {
				if p.number > 0 {
					speaks(keeps2(nil))(p)
					return
				}
				speaks(afterWarmth2(heardAll(func(k *talk) { says(k); <-k.done })))(p)
			})
			c := carrier(t, trusting(ca.pool))
			warm(t, c, s.url())
			x := c.Carry(t.Context(), write(s.url(), false, body(10), key("Idempotency-Key")))
			if x.Failure != "protocol" || x.Complete || x.NotSent || strings.Contains(string(x.Body), "B-other") {
				t.Errorf("status %d, complete %v, NotSent %v, body %q, failure %q: %s", x.Status, x.Complete, x.NotSent, x.Body, x.Failure, x.Detail)
			}
			if x := c.Carry(t.Context(), write(s.url(), false, body(10))); x.Status != http.StatusOK || !x.Complete {
				t.Errorf("the next one: status %d, failure %q: %s", x.Status, x.Failure, x.Detail)
			}
			if n := s.connections(); n != 2 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// What a target says late, after its own request was given up, reaches nobody:
// the next request has a connection of its own.
//
// Proves: M11
func TestALateAnswerReachesNobody(t *testing.T) {
	t.Parallel()
	first := make(chan struct{})
	s := serve(t, nil, func(p *peer) {
		r, _, err := p.request()
		if err != nil {
			return
		}
		if p.number == 0 {
			close(first)
			_, _ = p.reader.Peek(1) // until the client has given up
		}
		status, text := judged(r.Method, refersTo(r.URL.Path))
		p.say(answer(status, text))
	})
	c := carrier(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan onefold.Exchange, 1)
	go func() { given <- c.Carry(ctx, asked(s.url(), 1)) }()
	<-first
	cancel()
	if x := <-given; x.Failure != "canceled" || x.NotSent || x.Status != 0 {
		t.Errorf("status %d, NotSent %v, failure %q: %s", x.Status, x.NotSent, x.Failure, x.Detail)
	}
	if n := everyAnswerItsOwn(t, c, s.url()); n != 0 {
		t.Errorf("%d requests have no answer", n)
	}
}
