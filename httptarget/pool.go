package httptarget

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/onefold-dev/onefold"
)

const (
	// maxIdlePerKey bounds the unused connections of one connection document: as
	// many as its attempts and look-ups use at once by default.
	maxIdlePerKey = onefold.DefaultInFlight
	// maxIdle bounds all of them, and maxParting those that are left to their
	// targets to close: each a small part of the files that a process may usually
	// have open.
	maxIdle    = 256
	maxParting = 256
	// partingTime is how long a target may take to close a connection whose answer
	// is whole, as it was asked to: a round trip or two. Then we do.
	partingTime = 500 * time.Millisecond
	// farewellTime is how long TLS may take to say that it closes where the target
	// is not waited for: the few bytes go into the kernel's buffer at once, or the
	// other side has stopped reading.
	farewellTime = 100 * time.Millisecond
)

// poolKey is what must be equal for a connection to be used again. Workspace,
// connection and client certificate are in it: nothing that one of them sent or
// was sent reaches another (invariant 17).
type poolKey struct {
	workspace, connection string
	revision              int
	endpoint              endpoint
	identity              string // digest of the client certificate, if any
}

// link is a connection on which a request can be sent.
type link struct {
	key     poolKey
	wire    *wire
	conn    net.Conn // the wire, or TLS above it
	reader  *bufio.Reader
	speaker speaker
	reused  bool
	timer   *time.Timer
	once    sync.Once
	dead    chan struct{} // closed by kill
}

// newLink makes the link of a wire on which nothing is said yet.
func newLink(key poolKey, w *wire) *link {
	return &link{key: key, wire: w, conn: w, dead: make(chan struct{})}
}

// speaker is the protocol that is spoken on a link, for one request at a time.
type speaker interface {
	// open prepares for a request. Nothing is written.
	open(m *message)
	// send writes the request, once.
	send(m *message, g *gate) error
	// keep writes what the protocol wants besides, until settled is closed or the
	// link is dead. It is called after send, by the same goroutine.
	keep(settled <-chan struct{})
	// head reads the next head, interim or final, of at most budget bytes, which
	// it takes what it read from. began says whether anything of it came; a status
	// that was read is told with an error, too.
	head(budget *int) (status int, began bool, err error)
	// answer is the answer whose head was read last; its body is to be read. With
	// an error there may be one without a body.
	answer(method string) (*reply, error)
	// again says, after the answer's end, whether the connection may be kept.
	again() bool
	// farewell is what is said before the connection is closed in good order.
	farewell() []byte
}

// reply is a final answer's head, and its body to be read. The body has nothing
// to be closed: what it is read from is the link's.
type reply struct {
	status int
	fields http.Header
	body   io.Reader
}

// kill ends the connection at once. It may be called from anywhere and again.
func (l *link) kill() {
	l.wire.kill()
	l.once.Do(func() { close(l.dead) })
}

// farewell says that nothing more will be asked; HTTP/2 and TLS have words for
// it. Where the target does not take them only kill ends the waiting.
func (l *link) farewell() {
	l.wire.disarm()
	if secure, ok := l.conn.(*tls.Conn); ok {
		l.wire.farewell.Store(true)
		if last := l.speaker.farewell(); len(last) > 0 {
			_, _ = secure.Write(last)
		}
		_ = secure.CloseWrite()
	}
}

// end closes a connection in good order, and waits for nobody.
func (l *link) end() {
	timer := time.AfterFunc(farewellTime, l.kill)
	l.farewell()
	timer.Stop()
	l.kill()
}

// clean says whether nothing that was sent to us is unread: neither in our
// buffer, nor in TLS's, nor in the kernel's. What comes unasked breaks HTTP/2:
// the next request is not to be in doubt for it.
func (l *link) clean() bool {
	if l.reader.Buffered() > 0 {
		return false
	}
	if secure, ok := l.conn.(*tls.Conn); ok {
		// A deadline that is over lets TLS give what it holds and read no more.
		if secure.SetReadDeadline(time.Unix(1, 0)) != nil {
			return false
		}
		var one [1]byte
		n, err := secure.Read(one[:])
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || secure.SetReadDeadline(time.Time{}) != nil {
			return false
		}
	}
	return quiet(l.wire.Conn)
}

// pool has the connections on which no request is: those of HTTP/2 that are kept
// for another one, and those that are left to their targets to close.
type pool struct {
	patience time.Duration // partingTime
	group    sync.WaitGroup

	mu      sync.Mutex
	idle    map[poolKey][]*link
	count   int
	parting map[*link]struct{}
	closed  bool
}

func newPool() *pool {
	return &pool{patience: partingTime, idle: map[poolKey][]*link{}, parting: map[*link]struct{}{}}
}

// take hands out the connection that was used last, or nil.
func (p *pool) take(key poolKey) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		links := p.idle[key]
		if len(links) == 0 {
			return nil
		}
		l := links[len(links)-1]
		p.remove(key, len(links)-1)
		if l.timer.Stop() {
			l.reused, l.wire.reused = true, true
			return l
		}
		// Its time is over and its timer is waiting for the lock; drop finds it gone.
		l.kill()
	}
}

// put keeps a connection for a while, or parts from it.
func (p *pool) put(l *link, idle time.Duration) {
	l.wire.disarm()
	if !p.keep(l, idle) {
		p.part(l)
	}
}

// part takes leave of a connection whose last answer is whole. What the target
// still sends is read and thrown away: it is nobody's. The target is to close
// first, because the kernel of the side that does holds the pair of ports for a
// minute, and a client that did would run out of ports at a few hundred requests
// a second. The answer does not wait for it.
func (p *pool) part(l *link) {
	if !p.leave(l) {
		l.end()
	}
}

// leave says whether there is room to wait for the target, and waits for it in
// the background if so.
func (p *pool) leave(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.parting) >= maxParting {
		return false
	}
	p.parting[l] = struct{}{}
	timer := time.AfterFunc(p.patience, l.kill)
	p.group.Go(func() {
		l.farewell()
		_, _ = io.CopyN(io.Discard, l.wire.Conn, MaxHead)
		timer.Stop()
		l.kill()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.parting, l)
	})
	return true
}

// keep says whether there is room for a connection, and keeps it if so.
func (p *pool) keep(l *link, idle time.Duration) bool {
	if idle <= 0 || !l.clean() {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.count >= maxIdle || len(p.idle[l.key]) >= maxIdlePerKey {
		return false
	}
	l.timer = time.AfterFunc(idle, func() { p.drop(l) })
	p.idle[l.key] = append(p.idle[l.key], l)
	p.count++
	return true
}

// drop parts from a connection whose time is over.
func (p *pool) drop(l *link) {
	p.mu.Lock()
	found := false
	for i, other := range p.idle[l.key] {
		if other == l {
			p.remove(l.key, i)
			found = true
			break
		}
	}
	p.mu.Unlock()
	if found {
		p.part(l)
	}
}

// remove takes one entry out of the list of its key. The lock is held.
func (p *pool) remove(key poolKey, i int) {
	links := p.idle[key]
	links = append(links[:i], links[i+1:]...)
	p.count--
	if len(links) == 0 {
		delete(p.idle, key)
		return
	}
	p.idle[key] = links
}

// close ends every connection, waits for their end, and keeps none from now on.
func (p *pool) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.count, p.closed = map[poolKey][]*link{}, 0, true
	for l := range p.parting {
		l.kill()
	}
	p.mu.Unlock()
	for _, links := range idle {
		for _, l := range links {
			l.timer.Stop()
			l.end()
		}
	}
	p.group.Wait()
}
