package httptarget

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"time"
)

// pair is a TCP connection on loopback, both ends.
func pair(t *testing.T) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err = net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

// The gate holds below whatever is above it: a second request of one attempt
// gets through neither on the same connection nor on another, and one byte more
// than the request does not either.
//
// Proves: M11
func TestTheGateLetsOneRequestThrough(t *testing.T) {
	t.Parallel()
	request := []byte("POST / HTTP/1.1\r\n\r\n")
	client, server := pair(t)
	other, otherServer := pair(t)
	first, second := &wire{Conn: client}, &wire{Conn: other}
	g := newGate(t.Context(), len(request), nil)
	if _, err := first.Write(request); err != nil {
		t.Fatal("before a gate stands there, a handshake is free to write:", err)
	}
	started := g.guard(first)
	if n, err := first.Write(request[:4]); n != 4 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	select {
	case <-started:
	default:
		t.Error("the first byte is out, and nobody was told")
	}
	second.arm(g)
	if n, err := second.Write(request); n != 0 || !errors.Is(err, errSecond) {
		t.Errorf("on another connection: %d, %v", n, err)
	}
	if n, err := first.Write(request); n != 0 || !errors.Is(err, errTooMuch) {
		t.Errorf("again from its start: %d, %v", n, err)
	}
	if n, err := first.Write(request[4:]); n != len(request)-4 || err != nil {
		t.Errorf("its rest: %d, %v", n, err)
	}
	if n, err := first.Write([]byte("x")); n != 0 || !errors.Is(err, errTooMuch) {
		t.Errorf("one byte more: %d, %v", n, err)
	}
	first.disarm()
	if n, err := first.Write(request); n != 0 || !errors.Is(err, errNoRequest) {
		t.Errorf("between attempts: %d, %v", n, err)
	}
	l := newLink(poolKey{}, second)
	l.speaker = &http1{link: l}
	if err := send(l, &message{bytes: request}, g); !errors.Is(err, errSecond) {
		t.Errorf("handed over a second time: %v", err)
	}
	client.Close()
	other.Close()
	if got, err := io.ReadAll(server); err != nil || string(got) != string(request)+string(request) {
		t.Errorf("the target got %q, %v", got, err)
	}
	if got, err := io.ReadAll(otherServer); err != nil || len(got) != 0 {
		t.Errorf("the other connection carried %q, %v", got, err)
	}
}

// A write of which the kernel took nothing leaves the gate open for another
// connection; the deadline is asked again there, and asked last.
//
// Proves: M9
func TestAWriteThatWasNotTakenLeavesTheGateOpen(t *testing.T) {
	t.Parallel()
	client, _ := pair(t)
	other, server := pair(t)
	asked := 0
	g := newGate(t.Context(), 4, func() bool { asked++; return asked <= 2 })
	first, second, third := &wire{Conn: client, secure: true}, &wire{Conn: other}, &wire{Conn: client}
	client.Close()
	g.guard(first)
	if n, err := first.Write([]byte("abcd")); n != 0 || err == nil {
		t.Fatalf("%d, %v", n, err)
	}
	if g.spent() {
		t.Fatal("nothing was taken, and it says spent")
	}
	g.guard(second)
	if n, err := second.Write([]byte("ab")); n != 2 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if n, err := second.Write([]byte("cd")); n != 2 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if asked != 2 {
		t.Errorf("asked %d times: once for each connection's first byte", asked)
	}
	g.guard(third)
	if _, err := third.Write([]byte("ab")); !errors.Is(err, errSecond) {
		t.Error(err)
	}
	other.Close()
	if got, err := io.ReadAll(server); string(got) != "abcd" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// No reason to refuse lets a byte through: the caller gone, the deadline over,
// a question that panics, a connection with something to read on it or at its
// end, new (without TLS) or used.
//
// Proves: M9, M11
func TestWhatTheGateRefuses(t *testing.T) {
	t.Parallel()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx      context.Context
		mayStart func() bool
		reused   bool
		server   func(net.Conn)
		want     error
	}{
		"the deadline is over":   {t.Context(), func() bool { return false }, false, nil, errNotNow},
		"the question panics":    {t.Context(), func() bool { panic("clock") }, false, nil, errNotNow},
		"the caller is gone":     {gone, nil, false, nil, errGivenUp},
		"an answer before":       {t.Context(), nil, false, func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 408 \r\n\r\n") }, errStale},
		"the other side is gone": {t.Context(), nil, false, func(c net.Conn) { c.Close() }, errStale},
		"used, an answer before": {t.Context(), nil, true, func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 408 \r\n\r\n") }, errStale},
		"used, and gone":         {t.Context(), nil, true, func(c net.Conn) { c.Close() }, errStale},
	} {
		client, server := pair(t)
		w := &wire{Conn: client, secure: c.reused}
		if c.server != nil {
			c.server(server)
			for quiet(client) { // until what the other side did has arrived
				runtime.Gosched()
			}
		}
		w.reused = c.reused
		g := newGate(c.ctx, 1, c.mayStart)
		g.guard(w)
		if n, err := w.Write([]byte("x")); n != 0 || !errors.Is(err, c.want) || g.spent() {
			t.Errorf("%s: %d, %v, spent %v", name, n, err, g.spent())
		}
		if c.server == nil {
			client.Close()
			if got, err := io.ReadAll(server); len(got) != 0 || err != nil {
				t.Errorf("%s: the target got %q, %v", name, got, err)
			}
		}
	}
}

// The last word about an address is the socket's own, in the moment in which it
// is about to connect, whatever was looked up and checked before.
func TestTheSocketChecksItsAddress(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var d dialer
	for _, address := range []string{
		"100.64.0.1", "0.1.2.3", "192.0.0.9", "198.18.0.1", "240.0.0.1", "255.255.255.255", "168.63.129.16", "::127.0.0.1", "64:ff9b::8.8.8.8",
		"2002:808:808::1", "fec0::1", "192.0.2.1", "2001:db8::1", "169.254.169.254", "::1", "::ffff:10.0.0.1",
	} {
		conn, err := d.dial(t.Context(), netip.AddrPortFrom(netip.MustParseAddr(address), 80))
		if no, ok := errors.AsType[*refusal](err); !ok || no.why == "" || conn != nil {
			t.Errorf("%s: %v, %v", address, conn, err)
		}
	}
	conn, err := d.dial(t.Context(), netip.MustParseAddrPort(l.Addr().String()))
	if no, ok := errors.AsType[*refusal](err); !ok || no.why != "loopback" || conn != nil {
		t.Errorf("%v, %v", conn, err)
	}
	d.connect = time.Second
	e := endpoint{host: "erp.example", port: "80"}
	if why := d.unconnected(t.Context(), t.Context(), e, err); why.word != failAddress {
		t.Errorf("%s: %s", why.word, why.detail)
	}
}
