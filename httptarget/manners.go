package httptarget

import "sync"

// maxManners bounds how many targets are remembered; far more than a deployment
// has. Beyond it a target is asked for HTTP/2 again each time.
const maxManners = 4096

// manners remembers, for the life of a process, which targets negotiate HTTP/2
// and cannot speak it, or want HTTP/1.1 for what we ask. The attempt that learnt
// it has its own outcome; later connections offer HTTP/1.1 alone.
type manners struct {
	mu  sync.Mutex
	old map[endpoint]bool
}

// learn remembers that a target wants HTTP/1.1.
func (m *manners) learn(e endpoint) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.old == nil {
		m.old = map[endpoint]bool{}
	}
	if len(m.old) < maxManners {
		m.old[e] = true
	}
}

// offer is what a target is offered in the handshake, best first.
func (m *manners) offer(e endpoint) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.old[e] {
		return []string{protocolHTTP1}
	}
	return []string{protocolHTTP2, protocolHTTP1}
}

// The names of the protocols in TLS's negotiation.
const (
	protocolHTTP1 = "http/1.1"
	protocolHTTP2 = "h2"
)
