package httptarget

import (
	"bytes"
	"errors"
	"strings"

	"golang.org/x/net/http2/hpack"
)

// maxBurst bounds what of a body is handed over at once, in bytes.
const maxBurst = 4 * maxFrame

// errGone: the connection was ended while the request waited for its window.
var errGone = errors.New("the connection was ended")

// encode lays the head of a message out for HTTP/2. The block is the same on
// every connection: it uses no table that both sides would have to keep.
func (m *message) encode() []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	e.SetMaxDynamicTableSize(0)
	put := func(name, value string, secret bool) {
		// A bytes.Buffer takes everything.
		_ = e.WriteField(hpack.HeaderField{Name: name, Value: value, Sensitive: secret})
	}
	scheme := "http"
	if m.endpoint.secure {
		scheme = "https"
	}
	put(":method", m.method, false)
	put(":scheme", scheme, false)
	put(":authority", m.authority, false)
	put(":path", m.target, false)
	for _, f := range m.fields {
		put(strings.ToLower(f.name), f.value, f.secret)
	}
	return b.Bytes()
}

// send opens the message's stream and writes it: the head at once, with as much
// of the body as the target's window lets through, the rest as it opens. It is
// the only place that opens a stream, and is called once for each.
func (h *http2) send(m *message, g *gate) error {
	if g.spent() {
		return errSecond
	}
	rest := m.body
	out := appendHead(nil, h.stream, m.encode(), len(rest) == 0)
	if n := h.reserve(len(rest)); n > 0 {
		out = appendData(out, h.stream, rest[:n], n == len(rest))
		rest = rest[n:]
	}
	if _, err := h.conn.Write(out); err != nil {
		return err
	}
	for len(rest) > 0 {
		if err := h.flush(); err != nil {
			return err
		}
		n := h.reserve(len(rest))
		if n == 0 {
			select {
			case <-h.kick:
				continue
			case <-h.dead:
				return errGone
			}
		}
		out = appendData(out[:0], h.stream, rest[:n], n == len(rest))
		if _, err := h.conn.Write(out); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// reserve takes up to n bytes out of the target's windows.
func (h *http2) reserve(n int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	got := max(0, min(int64(n), maxBurst, h.window, h.outflow))
	h.window -= got
	h.outflow -= got
	return int(got)
}

// keep writes upkeep until the exchange is settled.
func (h *http2) keep(settled <-chan struct{}) {
	for {
		if h.flush() != nil {
			return
		}
		select {
		case <-h.kick:
		case <-h.dead:
			return
		case <-settled:
			_ = h.flush()
			return
		}
	}
}
