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

func (t *totals) both() [2]int { return [2]int{int(t.in.Load()), int(t.out.Load())} }

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
	// Counted before it goes out: the client may have it, and ask for the count,
	// before the write returns.
	if left := c.out - int(c.totals.out.Load()); c.out >= 0 && left < len(p) {
		c.totals.out.Add(int64(left))
		n, _ := c.TCPConn.Write(p[:left])
		return n, c.cut()
	}
	c.totals.out.Add(int64(len(p)))
	return c.TCPConn.Write(p)
}

// cutting is a target that is cut, at one byte in each run.
type cutting struct {
	config *tls.Config
	change carrierChange
	handle func(*peer)
	warmed bool // the write takes a connection (of HTTP/2) that a look-up used before
}

// at makes one write while the target's socket breaks as said, and holds the
// report against what the target saw. It returns the report, how many bytes of
// the request came, and what passed over the socket: before the write, and in all.
func (v *cutting) at(t *testing.T, in, out int, resets bool) (x onefold.Exchange, size int, before, passed [2]int) {
	t.Helper()
	sum := &totals{}
	s := serveOver(t, v.config, func(c *net.TCPConn) net.Conn {
		return &cutter{TCPConn: c, resets: resets, in: in, out: out, totals: sum}
	}, v.handle)
	c := carrier(t, v.change)
	if v.warmed {
		warm(t, c, s.url())
		before = sum.both()
	}
	x = c.Carry(t.Context(), write(s.url(), !v.warmed, body(20), key("Idempotency-Key")))
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
	return x, size, before, sum.both()
}

// A break after every byte that crosses the wire, in the middle of records as
// well as between them, from the handshake's first byte to the last of the
// answer, by a reset and by an end without a word, on a new connection and, over
// HTTP/2, on a used one: one request at most, "nothing was sent" only where not a byte of it
// came, and no answer that is called whole before it is.
//
// Proves: M11
func TestABreakAtEveryByteOfTheWire(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	says := whenRead(func(p *peer) { p.say(created) })
	says2 := heardAll(func(k *talk) { k.answer(201, `{"id":"B-1"}`) })
	for name, v := range map[string]cutting{
		"HTTP/1.1 over TCP":     {handle: says},
		"HTTP/1.1 over TLS":     {config: ca.server(t, nil), handle: says},
		"HTTP/2 over TLS":       {config: ca.http2Only(t), handle: speaks(says2)},
		"HTTP/2 over TLS, used": {config: ca.http2Only(t), handle: speaks(afterWarmth2(says2)), warmed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v.change = trusting(ca.pool)
			x, sent, before, whole := v.at(t, -1, -1, false)
			if !x.Complete || sent < 100 || whole[1]-before[1] < 50 {
				t.Fatalf("uncut: status %d, failure %q: %s; %d bytes sent, %v of %v", x.Status, x.Failure, x.Detail, sent, before, whole)
			}
			doubts, certain := 0, 0
			// The handshake's bytes are many and alike: every 53rd of them will do.
			for n, step := before[0], 53; n < whole[0]; n += step {
				if n >= whole[0]-sent-200 {
					step = 1
				}
				switch x, _, _, _ := v.at(t, n, -1, n%2 == 0); {
				case x.NotSent:
					certain++
				case !x.Complete:
					doubts++
				}
			}
			if doubts == 0 || v.config != nil && !v.warmed && certain == 0 {
				t.Errorf("%d doubts, %d times nothing sent: it tested nothing", doubts, certain)
			}
			for n := before[1]; n < whole[1]; n++ {
				x, size, _, _ := v.at(t, -1, n, n%2 == 0)
				// TLS's and HTTP/2's farewells come behind an answer that is whole.
				if size > 0 && (x.NotSent || x.Complete && v.config == nil) {
					t.Errorf("answer cut at %d of %d: NotSent %v, complete %v", n, whole[1], x.NotSent, x.Complete)
				}
			}
		})
	}
}
