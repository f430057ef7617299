package httptarget

import (
	"bufio"
	"bytes"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2/hpack"
)

// scripted is a connection that takes everything and says what it was given.
type scripted struct {
	net.Conn // nil: nothing else is asked of it
	says     *bytes.Reader
}

func (s *scripted) Read(p []byte) (int, error)        { return s.says.Read(p) }
func (s *scripted) Write(p []byte) (int, error)       { return len(p), nil }
func (s *scripted) Close() error                      { return nil }
func (s *scripted) SetReadDeadline(_ time.Time) error { return nil }

// fuzzLimit is how much of a body is taken.
const fuzzLimit = 1000

// heardOf is what is seen of a request whose target says these bytes; nil where
// HTTP/2 was not begun.
func heardOf(t *testing.T, says []byte, second bool, method string) *seen {
	t.Helper()
	c := &Carrier{options: Options{MaxBody: fuzzLimit, Idle: time.Second}, links: newPool()}
	defer c.links.close()
	// What it says is there from the beginning, as only TLS lets it be.
	w := &wire{Conn: &scripted{says: bytes.NewReader(says)}, secure: true}
	l := newLink(poolKey{}, w)
	l.reader = bufio.NewReaderSize(w, bufferSize)
	l.speaker = &http1{link: l}
	if second {
		h := newHTTP2(l)
		if h.greet() != nil {
			return nil
		}
		l.speaker = h
	}
	m := &message{method: method, target: "/", authority: "erp.example", fields: []field{{name: "A", value: "b"}}, body: []byte("{}")}
	m.bytes = m.write()
	return c.exchangeOver(t.Context(), l, m, newGate(t.Context(), len(m.bytes), nil))
}

// hold holds what was seen against what may ever be said.
func hold(t *testing.T, s *seen) {
	t.Helper()
	switch {
	case s.notSent || s.out == 0:
		t.Errorf("the request was taken, and it says %v, %d bytes", s.notSent, s.out)
	case s.complete != (s.failure == nil):
		t.Errorf("complete %v with %+v", s.complete, s.failure)
	case s.complete && s.status < 200, s.status != 0 && s.status < 200 && s.status != 101, s.status > 999:
		t.Errorf("status %d, complete %v", s.status, s.complete)
	case len(s.body) > fuzzLimit:
		t.Errorf("%d bytes of a body", len(s.body))
	case s.failure != nil && (s.failure.word == "" || s.failure.detail == ""):
		t.Errorf("%+v", s.failure)
	case s.failure != nil && s.failure.word == failTimeout:
		t.Error("it waited, and nothing was to come")
	}
}

// Whatever a target answers over HTTP/1.1, reading it ends, within the limits,
// and what is said of it does not contradict itself.
func FuzzAnswerOfHTTP1(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 201 Created\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nA: b\r\n\r\n", "HTTP/1.0 200 OK\n\n{}",
		"HTTP/1.1 204 No Content\r\nKeep-Alive: timeout=5\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 20\r\n\r\n\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		"HTTP/1.1 307 Temporary Redirect\r\nLocation: /\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "SSH-2.0", "",
		"HTTP/1.1 000 No\r\n\r\n{}", "HTTP/1.1 099 No\r\n\r\n{}", "HTTP/1.1 +20 No\r\n\r\n{}",
	} {
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, says []byte, head bool) {
		hold(t, heardOf(t, says, false, map[bool]string{true: "HEAD", false: "POST"}[head]))
	})
}

// The same over HTTP/2.
func FuzzAnswerOfHTTP2(f *testing.F) {
	greeting := appendFrame(nil, frameSettings, 0, 0, appendSetting(nil, settingWindow, 1))
	ack := appendFrame(nil, frameSettings, flagAck, 0, nil)
	head := func(fields ...string) []byte {
		var b bytes.Buffer
		e := hpack.NewEncoder(&b)
		for i := 0; i < len(fields); i += 2 {
			if err := e.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}); err != nil {
				f.Fatal(err)
			}
		}
		return b.Bytes()
	}
	created := head(":status", "201", "content-length", "2")
	for _, frames := range [][]byte{
		appendData(appendHead(nil, 1, created, false), 1, []byte("{}"), true),
		appendHead(appendData(appendHead(nil, 1, head(":status", "200"), false), 1, []byte("{}"), false), 1, head("a", "b"), true),
		appendHead(appendHead(nil, 1, head(":status", "103", "link", "</a>"), false), 1, head(":status", "204"), true),
		appendFrame(appendFrame(nil, frameHeaders, flagPadded|flagPriority, 1, append([]byte{1, 0, 0, 0, 0, 9}, 0x88, 0)), frameContinuation, flagEndHeaders, 1, nil),
		appendFrame(nil, frameReset, 0, 1, []byte{0, 0, 0, 7}), appendFrame(nil, frameGoAway, 0, 0, make([]byte, 8)),
		appendFrame(appendWindow(appendWindow(nil, 0, 5), 1, 5), framePing, 0, 0, make([]byte, 8)),
		appendFrame(nil, framePush, flagEndHeaders, 1, append([]byte{0, 0, 0, 2}, head(":method", "GET")...)),
		appendFrame(nil, frameSettings, 0, 0, appendSetting(appendSetting(nil, settingMaxFrame, 1<<20), settingMaxStreams, 0)),
		nil,
	} {
		f.Add(append(append(bytes.Clone(greeting), ack...), frames...), false)
	}
	f.Fuzz(func(t *testing.T, says []byte, head bool) {
		// What comes before the first settings is the connection's beginning, and is
		// read in few ways: most of the time is better spent behind it.
		if s := heardOf(t, append(bytes.Clone(greeting), says...), true, map[bool]string{true: "HEAD", false: "POST"}[head]); s != nil {
			hold(t, s)
		}
		if s := heardOf(t, says, true, "POST"); s != nil {
			hold(t, s)
		}
	})
}
