package httptarget_test

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// http2Only is a TLS configuration of a server that speaks HTTP/2 alone.
func (a *authority) http2Only(t testing.TB) *tls.Config {
	t.Helper()
	config := a.server(t, nil)
	config.NextProtos = []string{http2.NextProtoTLS}
	return config
}

// tally counts, as bytes come in on a connection of HTTP/2, how many requests
// were begun and how many bytes their frames had. It reads frames by itself:
// what it counts does not hang on what a server makes of them.
type tally struct {
	mu       sync.Mutex
	skip     int    // of the preface
	head     []byte // of the frame under way
	left     int    // of its payload
	counted  bool
	requests int
	size     int
}

func newTally() *tally { return &tally{skip: len(http2.ClientPreface)} }

func (c *tally) write(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(b) > 0 {
		switch {
		case c.skip > 0:
			n := min(c.skip, len(b))
			c.skip, b = c.skip-n, b[n:]
		case c.left > 0:
			n := min(c.left, len(b))
			if c.counted {
				c.size += n
			}
			c.left, b = c.left-n, b[n:]
		default:
			c.head = append(c.head, b[0])
			if b = b[1:]; len(c.head) == 9 {
				c.left = int(binary.BigEndian.Uint32(c.head) >> 8)
				kind := http2.FrameType(c.head[3])
				c.counted = kind == http2.FrameHeaders || kind == http2.FrameContinuation || kind == http2.FrameData
				if c.counted {
					c.size += 9
				}
				if kind == http2.FrameHeaders {
					c.requests++
				}
				c.head = c.head[:0]
			}
		}
	}
}

// forget leaves out what was counted until now.
func (c *tally) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests, c.size = 0, 0
}

func (c *tally) count() (requests, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests, c.size
}

// talk is a connection of HTTP/2 as the target sees it. Its frames are those of
// another implementation than the one that is tested.
type talk struct {
	*peer
	framer *http2.Framer
	stream uint32 // of the request read last, or under way
}

// speaks begins HTTP/2 with these settings and goes on.
func speaks(do func(*talk), settings ...http2.Setting) func(*peer) {
	return func(p *peer) {
		got := make([]byte, len(http2.ClientPreface))
		if _, err := io.ReadFull(p.reader, got); err != nil || string(got) != http2.ClientPreface {
			return
		}
		k := &talk{peer: p, framer: http2.NewFramer(p.Conn, p.reader), stream: 1}
		k.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		if k.framer.WriteSettings(settings...) == nil {
			do(k)
		}
	}
}

// heard is a request.
type heard struct {
	fields map[string]string
	order  []string // fields as "name: value", in their order
	body   []byte
}

// request reads one whole request, and gives way for its body.
func (k *talk) request() (*heard, error) { return k.read(-1) }

// read reads a request up to so many bytes of its body, -1 for all.
func (k *talk) read(limit int) (*heard, error) {
	var out *heard
	for {
		f, err := k.framer.ReadFrame()
		if err != nil {
			return out, err
		}
		ended := false
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				if err := k.framer.WriteSettingsAck(); err != nil {
					return out, err
				}
			}
		case *http2.MetaHeadersFrame:
			k.stream, out, ended = f.StreamID, &heard{fields: map[string]string{}}, f.StreamEnded()
			for _, field := range f.Fields {
				out.fields[field.Name] = field.Value
				out.order = append(out.order, field.Name+": "+field.Value)
			}
		case *http2.DataFrame:
			out.body, ended = append(out.body, f.Data()...), f.StreamEnded()
			if n := uint32(len(f.Data())); n > 0 && !ended && limit < 0 {
				if k.framer.WriteWindowUpdate(0, n) != nil || k.framer.WriteWindowUpdate(k.stream, n) != nil {
					return out, io.ErrClosedPipe
				}
			}
		}
		if ended || out != nil && limit >= 0 && len(out.body) >= limit {
			return out, nil
		}
	}
}

// head writes a head; fields are names and values in turn.
func (k *talk) head(status int, ended bool, fields ...string) {
	k.block(ended, append([]string{":status", strconv.Itoa(status)}, fields...)...)
}

// block writes a header block as it is.
func (k *talk) block(ended bool, fields ...string) {
	_ = k.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: k.stream, BlockFragment: encoded(fields...), EndHeaders: true, EndStream: ended,
	})
}

// encoded is a header block that stands for itself.
func encoded(fields ...string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	e.SetMaxDynamicTableSize(0)
	for i := 0; i < len(fields); i += 2 {
		_ = e.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return b.Bytes()
}

// data writes a part of a body.
func (k *talk) data(text string, ended bool) { _ = k.framer.WriteData(k.stream, ended, []byte(text)) }

// answer writes a whole answer.
func (k *talk) answer(status int, body string, fields ...string) {
	k.head(status, body == "", append(fields, "content-type", "application/json", "content-length", strconv.Itoa(len(body)))...)
	if body != "" {
		k.data(body, true)
	}
}

// heardAll reads a whole request and goes on.
func heardAll(do func(*talk)) func(*talk) {
	return func(k *talk) {
		if _, err := k.request(); err == nil {
			do(k)
		}
	}
}

// afterWarmth2 is afterWarmth for HTTP/2: it answers requests to /warm and gives
// the connection, with the next request unread, to a fault.
func afterWarmth2(do func(*talk)) func(*talk) {
	return func(k *talk) {
		r, err := k.request()
		if err != nil || !strings.HasPrefix(r.fields[":path"], "/warm") {
			return
		}
		k.frames.forget()
		k.answer(200, "{}")
		if _, err := k.reader.Peek(1); err == nil {
			k.stream += 2
			do(k)
		}
	}
}
