package httptarget

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"

	"golang.org/x/net/http2/hpack"
)

const (
	// receiveWindow is how much of a body may be on its way to us, in bytes: an
	// answer of the usual limit comes without a pause.
	receiveWindow = 1 << 20
	// firstWindow is every window's before anybody says otherwise.
	firstWindow = 1<<16 - 1
	// maxUpkeep bounds the frames of an exchange that are no part of its answer:
	// settings, pings, windows, empty ones. A body that is sent adds one for each
	// upkeepBytes of it, since the target opens its window by as many.
	maxUpkeep   = 1024
	upkeepBytes = 512
	// maxStream is the number of the last stream of a connection that is kept.
	maxStream = 1 << 30
)

// http2 is one connection on which HTTP/2 is spoken. It carries one stream at a
// time, opened by send and by nothing else, and knows no way to send again.
//
// One goroutine reads and one writes. What the protocol wants written in
// answer to what was read (upkeep) is queued by the reader: it never waits
// for the target to take something before it reads what the target says.
type http2 struct {
	conn   net.Conn
	wire   *wire
	reader *bufio.Reader
	dead   <-chan struct{} // the link's

	// The reader's.
	buf     []byte
	decoder *hpack.Decoder
	block   *block // under way
	stream  uint32 // under way, 0 before the first
	upkeep  int    // how many more frames of upkeep are put up with
	leaving bool   // no stream after this one
	// What the target may still send, and what of it we have taken but not said so.
	inConn, inStream, owedConn, owedStream int64
	final                                  *block
	body                                   streamBody

	mu      sync.Mutex
	queue   []byte // upkeep to be written
	kick    chan struct{}
	window  int64 // what we may still send on the connection
	initial int64 // and at first on a stream
	outflow int64 // and on the one under way
	streams uint32
}

// newHTTP2 takes a connection on which nothing of HTTP/2 was said yet.
func newHTTP2(l *link) *http2 {
	h := &http2{
		conn: l.conn, wire: l.wire, reader: l.reader, dead: l.dead, buf: make([]byte, maxFrame),
		inConn: receiveWindow, window: firstWindow, initial: firstWindow, streams: maxStream,
		kick: make(chan struct{}, 1), upkeep: maxUpkeep,
	}
	h.decoder = hpack.NewDecoder(4<<10, h.field)
	h.decoder.SetMaxStringLength(MaxHead)
	return h
}

// errNoStream: the target lets no request be made on its connection.
var errNoStream = errors.New("the target takes no request on this connection")

// greet exchanges the prefaces. Nothing of it belongs to a request; that the
// target's was read also tells that it has taken our certificate, which TLS 1.3
// alone does not tell before something was sent.
func (h *http2) greet() error {
	b := []byte(preface)
	var s []byte
	s = appendSetting(s, settingPush, 0)
	s = appendSetting(s, settingWindow, receiveWindow)
	s = appendSetting(s, settingMaxFrame, maxFrame)
	s = appendSetting(s, settingMaxHead, MaxHead)
	b = appendFrame(b, frameSettings, 0, 0, s)
	b = appendWindow(b, 0, receiveWindow-firstWindow)
	if _, err := h.conn.Write(b); err != nil {
		return err
	}
	f, err := readFrame(h.reader, h.buf)
	if err != nil {
		return err
	}
	if f.kind != frameSettings || f.has(flagAck) {
		return &breach{"it does not begin with its settings"}
	}
	if err := h.tend(&f); err != nil {
		return err
	}
	if h.streams == 0 {
		return errNoStream
	}
	return h.flush()
}

// open makes the stream of the next request. Nothing is written.
func (h *http2) open(m *message) {
	if h.stream == 0 {
		h.stream = 1
	} else {
		h.stream += 2
	}
	h.upkeep = maxUpkeep + len(m.body)/upkeepBytes
	h.inStream, h.owedStream, h.final = receiveWindow, 0, nil
	h.mu.Lock()
	h.outflow = h.initial
	h.mu.Unlock()
}

// next reads until something of the answer comes: a HEADERS or DATA frame of the
// stream under way. Everything else is tended to.
func (h *http2) next() (frame, error) {
	for {
		f, err := readFrame(h.reader, h.buf)
		if err != nil {
			return f, err
		}
		if f.kind == frameHeaders || f.kind == frameData {
			if f.stream != h.stream || f.stream == 0 {
				return f, &breach{"it answers what was not asked"}
			}
			return f, nil
		}
		if err := h.spend(); err != nil {
			return f, err
		}
		if err := h.tend(&f); err != nil {
			return f, err
		}
	}
}

// spend counts a frame that is no part of an answer.
func (h *http2) spend() error {
	if h.upkeep--; h.upkeep < 0 {
		return &breach{"it sends frames without end and no answer"}
	}
	return nil
}

// dismissal is the target's word that it ends the stream under way.
type dismissal struct {
	code uint32
	// undone: the target says that it has not processed the request. That is its
	// word, and no proof that nothing was sent.
	undone bool
}

// Error names the code.
func (e *dismissal) Error() string {
	text := "the target ended it with " + codeName(e.code)
	if e.undone {
		text += " and says that it has not processed the request"
	}
	return text
}

// tend does what a frame wants that is no part of an answer.
func (h *http2) tend(f *frame) error {
	switch f.kind {
	case frameSettings:
		return h.settings(f)
	case framePing:
		if f.stream != 0 || len(f.payload) != 8 {
			return &breach{"a ping is not one"}
		}
		if !f.has(flagAck) {
			h.enqueue(appendFrame(nil, framePing, flagAck, 0, f.payload))
		}
	case frameWindow:
		return h.widen(f)
	case frameGoAway:
		if f.stream != 0 || len(f.payload) < 8 {
			return &breach{"a farewell is not one"}
		}
		h.leaving = true
		if last := binary.BigEndian.Uint32(f.payload) & maxWindow; h.stream > last {
			return &dismissal{code: binary.BigEndian.Uint32(f.payload[4:]), undone: true}
		}
	case frameReset:
		switch {
		case f.stream == 0 || len(f.payload) != 4 || h.idle(f.stream):
			return &breach{"it ends a stream that there is not"}
		case f.stream == h.stream:
			code := binary.BigEndian.Uint32(f.payload)
			return &dismissal{code: code, undone: code == codeRefused}
		}
	case framePush:
		return &breach{"it pushes what nobody has asked for, and was told not to"}
	case frameContinuation:
		return &breach{"it continues what had no beginning"}
	}
	return nil // PRIORITY, and extensions that are unknown
}

// idle says whether a stream was never opened.
func (h *http2) idle(stream uint32) bool { return stream > h.stream || stream%2 == 0 }

// settings takes the target's settings up.
func (h *http2) settings(f *frame) error {
	p := f.payload
	if f.stream != 0 || len(p)%6 != 0 || f.has(flagAck) && len(p) > 0 {
		return &breach{"its settings are none"}
	}
	if f.has(flagAck) {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for ; len(p) > 0; p = p[6:] {
		value := binary.BigEndian.Uint32(p[2:])
		switch binary.BigEndian.Uint16(p) {
		case settingWindow:
			if value > maxWindow || h.outflow+int64(value)-h.initial > maxWindow {
				return &breach{"its window is wider than a window can be"}
			}
			h.outflow += int64(value) - h.initial
			h.initial = int64(value)
		case settingMaxStreams:
			h.streams = value
		case settingMaxFrame:
			if value < maxFrame || value >= 1<<24 {
				return &breach{"its settings cannot be"}
			}
		case settingPush:
			if value != 0 {
				return &breach{"its settings cannot be"}
			}
		}
	}
	h.enqueueLocked(appendFrame(nil, frameSettings, flagAck, 0, nil))
	return nil
}

// widen takes a WINDOW_UPDATE up.
func (h *http2) widen(f *frame) error {
	if len(f.payload) != 4 {
		return &breach{"a window is none"}
	}
	more := int64(binary.BigEndian.Uint32(f.payload) & maxWindow)
	h.mu.Lock()
	defer h.mu.Unlock()
	window := &h.window
	switch {
	case more == 0, f.stream != 0 && h.idle(f.stream):
		return &breach{"it opens a window that there is not"}
	case f.stream == h.stream && f.stream != 0:
		window = &h.outflow
	case f.stream != 0:
		return nil // of a stream that is over
	}
	if *window += more; *window > maxWindow {
		return &breach{"its window is wider than a window can be"}
	}
	h.wake()
	return nil
}

// enqueue leaves upkeep to the writer.
func (h *http2) enqueue(frames []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.enqueueLocked(frames)
}

func (h *http2) enqueueLocked(frames []byte) {
	h.queue = append(h.queue, frames...)
	h.wake()
}

// wake tells the writer that there is something to be done.
func (h *http2) wake() {
	select {
	case h.kick <- struct{}{}:
	default:
	}
}

// flush writes the upkeep that is queued. It is no part of a request, and goes
// past the gate.
func (h *http2) flush() error {
	h.mu.Lock()
	frames := h.queue
	h.queue = nil
	h.mu.Unlock()
	if len(frames) == 0 {
		return nil
	}
	h.wire.aside.Store(true)
	defer h.wire.aside.Store(false)
	_, err := h.conn.Write(frames)
	return err
}

// again says whether the connection may carry another request.
func (h *http2) again() bool { return !h.leaving && h.stream < maxStream && h.reader.Buffered() == 0 }

// farewell is what is said before the connection is closed in good order.
func (h *http2) farewell() []byte { return appendFrame(nil, frameGoAway, 0, 0, make([]byte, 8)) }

// isOrderly turns the connection's end between two frames, which is within an
// answer all the same, into what it is.
func isOrderly(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
