package httptarget_test

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/onefold-dev/onefold"
)

// cutter is a socket below TLS that breaks after so many bytes, wherever in a
// record they end.
type cutter struct {
	*net.TCPConn
	resets bool // by RST, otherwise by FIN
	// in counts from the connection's first byte, out from the end of the handshake,
	// whose own length differs from time to time. Below 0: never.
	in, out int
	shaken  atomic.Bool
	totals  *totals
}

// totals are what passed over a socket, counted as in and out are.
type totals struct{ in, out atomic.Int64 }

func (c *cutter) handshakeOver() { c.shaken.Store(true) }

func (c *cutter) cut() error {
	if c.resets {
		_ = c.SetLinger(0)
	}
	_ = c.Close()
	return net.ErrClosed
}

func (c *cutter) Read(p []byte) (int, error) {
	if c.in >= 0 {
		if p = p[:min(len(p), c.in-int(c.totals.in.Load()))]; len(p) == 0 {
			return 0, c.cut()
		}
	}
	n, err := c.TCPConn.Read(p)
	c.totals.in.Add(int64(n))
	return n, err
}

func (c *cutter) Write(p []byte) (int, error) {
	if !c.shaken.Load() {
		return c.TCPConn.Write(p)
	}
	if left := c.out - int(c.totals.out.Load()); c.out >= 0 && left < len(p) {
		n, _ := c.TCPConn.Write(p[:left])
		c.totals.out.Add(int64(n))
		return n, c.cut()
	}
	n, err := c.TCPConn.Write(p)
	c.totals.out.Add(int64(n))
	return n, err
}

// cutAt makes one write at a target whose socket breaks as said, holds the
// report against what the target saw, and returns both.
func cutAt(t *testing.T, config *tls.Config, change carrierChange, handle func(*peer), in, out int, resets bool) (x onefold.Exchange, sent int, passed *totals) {
	t.Helper()
	passed = &totals{}
	s := serveOver(t, config, func(c *net.TCPConn) net.Conn {
		return &cutter{TCPConn: c, resets: resets, in: in, out: out, totals: passed}
	}, handle)
	c := carrier(t, change)
	x = c.Carry(t.Context(), write(s.url(), true, body(20), key("Idempotency-Key")))
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	s.stop()
	requests, size := s.seen()
	switch {
	case requests > 1:
		t.Errorf("cut at %d/%d: %d requests for one attempt", in, out, requests)
	case x.NotSent && size > 0:
		t.Errorf("cut at %d/%d: nothing sent, it says (%s, %s), but %d bytes came", in, out, x.Failure, x.Detail, size)
	case x.NotSent != (x.Evidence.BytesOut == 0):
		t.Errorf("cut at %d/%d: NotSent is %v with %d bytes out", in, out, x.NotSent, x.Evidence.BytesOut)
	case x.Complete != (x.Failure == "") || x.Failure == "timeout":
		t.Errorf("cut at %d/%d: status %d, complete %v, failure %q: %s", in, out, x.Status, x.Complete, x.Failure, x.Detail)
	case x.Complete && (x.Status != http.StatusCreated || string(x.Body) != `{"id":"B-1"}`):
		t.Errorf("cut at %d/%d: status %d, body %q", in, out, x.Status, x.Body)
	}
	return x, size, passed
}

// A break after every byte that crosses the wire, in the middle of records as
// well as between them, from the handshake's first byte to the last of the
// answer, by a reset and by an end without a word: one request at most, "nothing
// was sent" only where not a byte of it came, and no answer that is called whole
// before it is.
//
// Proves: M11
func TestABreakAtEveryByteOfTheWire(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	answers2 := speaks(heardAll(func(k *talk) { k.answer(201, `{"id":"B-1"}`) }))
	for _, v := range []struct {
		name   string
		config *tls.Config
		handle func(*peer)
	}{
		{"HTTP/1.1 over TCP", nil, whenRead(func(p *peer) { p.say(created) })},
		{"HTTP/1.1 over TLS", ca.server(t, nil), whenRead(func(p *peer) { p.say(created) })},
		{"HTTP/2 over TLS", ca.http2Only(t), answers2},
	} {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			x, sent, whole := cutAt(t, v.config, trusting(ca.pool), v.handle, -1, -1, false)
			if !x.Complete || sent < 100 || whole.out.Load() < 50 {
				t.Fatalf("uncut: status %d, failure %q: %s; %d bytes sent, %d answered", x.Status, x.Failure, x.Detail, sent, whole.out.Load())
			}
			doubts, certain := 0, 0
			// The handshake's bytes are many and alike: every 53rd of them will do.
			for n, step := 0, 53; n < int(whole.in.Load()); n += step {
				if n >= int(whole.in.Load())-sent-200 {
					step = 1
				}
				switch x, _, _ := cutAt(t, v.config, trusting(ca.pool), v.handle, n, -1, n%2 == 0); {
				case x.NotSent:
					certain++
				case !x.Complete:
					doubts++
				}
			}
			if doubts == 0 || v.config != nil && certain == 0 {
				t.Errorf("%d doubts, %d times nothing sent: it tested nothing", doubts, certain)
			}
			for n := range int(whole.out.Load()) {
				x, size, _ := cutAt(t, v.config, trusting(ca.pool), v.handle, -1, n, n%2 == 0)
				if size > 0 && x.NotSent {
					t.Errorf("answer cut at %d: nothing sent, it says", n)
				}
				// TLS's and HTTP/2's farewells come behind an answer that is whole.
				if size > 0 && x.Complete && v.config == nil {
					t.Errorf("answer cut at %d of %d: called whole", n, whole.out.Load())
				}
			}
		})
	}
}
