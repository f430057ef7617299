package deployment

import (
	"net"
	"sync"
)

// share is which part of the process's file descriptors callers of the API may
// take, one in so many; the rest is for the database and for targets. A crowd of
// callers must not keep the runner from its work.
const share = 2

// leastConnections are served however few descriptors there are.
const leastConnections = 8

// bounded is a listener that accepts no more than so many connections at once;
// whoever comes later waits in the system's queue.
type bounded struct {
	net.Listener
	places chan struct{}
	once   sync.Once
	closed chan struct{}
}

// bound bounds a listener by the file descriptors that the process may have, if
// the system tells.
func bound(l net.Listener) net.Listener {
	n, known := descriptors()
	if !known {
		return l
	}
	return &bounded{Listener: l, places: make(chan struct{}, max(leastConnections, n/share)), closed: make(chan struct{})}
}

// Accept waits for a place, then for a connection.
func (b *bounded) Accept() (net.Conn, error) {
	select {
	case b.places <- struct{}{}:
	case <-b.closed:
		return nil, net.ErrClosed
	}
	conn, err := b.Listener.Accept()
	if err != nil {
		<-b.places
		return nil, err
	}
	return &placed{Conn: conn, give: sync.OnceFunc(func() { <-b.places })}, nil
}

// Close ends waiting too.
func (b *bounded) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.Listener.Close()
}

// placed is a connection that gives its place back when it is closed.
type placed struct {
	net.Conn
	give func()
}

// Close closes the connection.
func (p *placed) Close() error {
	defer p.give()
	return p.Conn.Close()
}
