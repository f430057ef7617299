package httptarget

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
)

// Reasons why a gate lets nothing through. None leaves this package.
var (
	errNotNow    = errors.New("the attempt may not start")
	errGivenUp   = errors.New("the caller gave up")
	errStale     = errors.New("the connection is not quiet")
	errSecond    = errors.New("a second request of one attempt")
	errTooMuch   = errors.New("more than one request's worth")
	errNoRequest = errors.New("no request is being sent")
)

// gate lets at most one request of one attempt through to the kernel, whatever
// the layers above it try, and counts how much of it the kernel took (invariant
// 3). Before the first byte it asks whether the attempt may still start (M9).
//
// The gate belongs to one connection from just before its first write. Only a
// write of which the kernel took nothing gives it back.
type gate struct {
	ctx      context.Context
	mayStart func() bool
	size     int64

	mu    sync.Mutex
	owner *wire
	// handed is what the kernel took of the request, in bytes on the wire.
	handed atomic.Int64
	// started is closed just before the first write: from then on there may be
	// an answer to read.
	started chan struct{}
	opened  bool
	refused error
}

// newGate makes the gate of one attempt for a request of so many bytes.
func newGate(ctx context.Context, size int, mayStart func() bool) *gate {
	return &gate{ctx: ctx, mayStart: mayStart, size: int64(size)}
}

// guard puts the gate before a connection and returns a channel that is closed
// just before its first write.
func (g *gate) guard(w *wire) <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.started, g.opened, g.refused = make(chan struct{}), false, nil
	w.arm(g)
	return g.started
}

// pass decides about a write of n bytes by a connection, immediately before it
// is handed to the kernel.
func (g *gate) pass(w *wire, n int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.owner == nil && g.handed.Load() == 0 {
		if g.refused = g.mayOpen(w); g.refused != nil {
			return g.refused
		}
		g.owner = w
		if !g.opened {
			g.opened = true
			close(g.started)
		}
	}
	if g.owner != w {
		return errSecond
	}
	// Over TLS the wire carries records, which are longer than what is in them;
	// there send counts what goes into the records.
	if !w.secure && g.handed.Load()+int64(n) > g.size {
		return errTooMuch
	}
	return nil
}

// mayOpen says why a connection may not send the request's first byte. What is
// there before it is nobody's answer. The deadline is asked last: nothing but the
// write itself comes after it.
func (g *gate) mayOpen(w *wire) error {
	switch {
	case g.ctx.Err() != nil:
		return errGivenUp
	case w.mute() && !quiet(w.Conn):
		return errStale
	case !asked(g.mayStart):
		return errNotNow
	}
	return nil
}

// asked asks MayStart. One that panics has not said yes.
func asked(mayStart func() bool) (yes bool) {
	defer func() {
		if recover() != nil {
			yes = false
		}
	}()
	return mayStart == nil || mayStart()
}

// took counts what the kernel took of a write. A first write of which it took
// nothing leaves the gate as it was.
func (g *gate) took(w *wire, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.handed.Add(int64(n)) == 0 && g.owner == w {
		g.owner = nil
	}
}

// spent says whether the kernel took anything of the request.
func (g *gate) spent() bool { return g.handed.Load() > 0 }

// why is the gate's own reason for having let nothing through, if it has one.
func (g *gate) why() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refused
}

// wire is a connection's lowest layer: what it writes is handed to the kernel.
// Once the connection stands nothing of a request is written but through the
// gate of one attempt.
type wire struct {
	net.Conn
	secure bool // TLS runs above
	reused bool // an earlier attempt used it

	gate     atomic.Pointer[gate]
	sealed   atomic.Bool // the connection stands: no write without a gate
	farewell atomic.Bool // TLS may say that it closes
	// aside: what is written now is HTTP/2's upkeep of the connection and holds
	// nothing of a request. The goroutine that writes a connection sets it around
	// its own write, and no request is written meanwhile.
	aside    atomic.Bool
	received atomic.Int64
}

// mute says whether nothing may have come before a request: on a connection that
// is used again, and without TLS, which says things of its own after its handshake.
func (w *wire) mute() bool { return w.reused || canPeek && !w.secure }

// maxFarewell bounds what may be written at once when a connection is closed, in
// bytes: an alert of TLS, a GOAWAY of HTTP/2 in its record.
const maxFarewell = 64

// Write hands p to the kernel if the attempt's gate lets it.
func (w *wire) Write(p []byte) (int, error) {
	g := w.gate.Load()
	switch {
	case w.farewell.Load() && len(p) <= maxFarewell, g == nil && !w.sealed.Load(), w.aside.Load():
		return w.Conn.Write(p)
	case g == nil:
		return 0, errNoRequest
	}
	if err := g.pass(w, len(p)); err != nil {
		return 0, err
	}
	n, err := w.Conn.Write(p)
	g.took(w, n)
	return n, err
}

// Read counts what comes in.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.received.Add(int64(n))
	return n, err
}

// arm gives the wire to an attempt, disarm takes it back; between attempts
// nothing can be written.
func (w *wire) arm(g *gate) {
	w.received.Store(0)
	w.sealed.Store(true)
	w.gate.Store(g)
}

func (w *wire) disarm() { w.gate.Store(nil) }

// kill ends the connection at once. It may be called from anywhere and again.
func (w *wire) kill() { _ = w.Conn.Close() }
