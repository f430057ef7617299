package httptarget

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http2/hpack"
)

// block is a header block as it is read: an interim head, the final one, or
// trailers.
type block struct {
	status int // 0 where none was read
	fields http.Header
	left   int // how much more is taken, in bytes
	wrong  error
	ended  bool // nothing of the stream comes after it
}

// fieldOverhead is what a field counts beside its name and value (RFC 9113,
// section 6.5.2).
const fieldOverhead = 32

// field takes one field of the block under way.
func (h *http2) field(f hpack.HeaderField) {
	b := h.block
	if b.wrong != nil {
		return
	}
	if b.left -= len(f.Name) + len(f.Value) + fieldOverhead; b.left < 0 {
		b.wrong = errLongHead
		return
	}
	name, pseudo := strings.CutPrefix(f.Name, ":")
	status, err := strconv.Atoi(f.Value)
	switch {
	case pseudo && (name != "status" || b.status != 0 || len(b.fields) > 0 || err != nil || len(f.Value) != 3 || status < 100):
		b.spoil(&breach{"an answer's head is none"})
	case pseudo:
		b.status = status
	case !isToken(f.Name) || strings.ToLower(f.Name) != f.Name || !isFieldValue(f.Value) || isForeign(f.Name):
		b.spoil(&breach{"an answer has a field that cannot be"})
	default:
		b.fields.Add(f.Name, f.Value)
	}
}

// spoil marks a malformed head. A success that it announced still counts, on the
// careful side; a refusal in it is none.
func (b *block) spoil(why error) {
	b.wrong = why
	if b.status/100 != 2 {
		b.status = 0
	}
}

// isForeign says whether a field belongs to HTTP/1.1 alone.
func isForeign(name string) bool {
	switch name {
	case "connection", "transfer-encoding", "keep-alive", "proxy-connection", "upgrade":
		return true
	}
	return false
}

// readBlock reads the header block that f begins, at most budget bytes, which
// it takes what it read from. With an error it returns what there was.
func (h *http2) readBlock(f frame, budget *int) (*block, error) {
	b := &block{fields: http.Header{}, left: *budget, ended: f.has(flagEndStream)}
	h.block = b
	defer func() { h.block, *budget = nil, b.left }()
	part, err := f.unpadded()
	if err == nil && f.has(flagPriority) {
		if len(part) < 5 {
			err = &breach{"an answer's head is none"}
		} else {
			part = part[5:]
		}
	}
	for err == nil {
		if _, err = h.decoder.Write(part); err != nil {
			if errors.Is(err, hpack.ErrStringLength) {
				return b, errLongHead
			}
			return b, &breach{"an answer's head cannot be decoded"}
		}
		if b.wrong != nil {
			return b, b.wrong
		}
		if f.has(flagEndHeaders) {
			if h.decoder.Close() != nil {
				return b, &breach{"an answer's head cannot be decoded"}
			}
			return b, nil
		}
		if f, err = readFrame(h.reader, h.buf); err != nil {
			return b, err
		}
		if f.kind != frameContinuation || f.stream != h.stream {
			return b, &breach{"an answer's head is not continued"}
		}
		part, err = f.payload, h.spend()
	}
	return b, err
}

// head reads the next head of the answer. began says whether anything of it came.
func (h *http2) head(budget *int) (status int, began bool, err error) {
	f, err := h.next()
	if err != nil {
		return 0, false, err
	}
	if f.kind != frameHeaders {
		return 0, true, &breach{"an answer has a body before its head"}
	}
	b, err := h.readBlock(f, budget)
	switch {
	case err != nil:
		return b.status, true, err
	case b.status == 0:
		return 0, true, &breach{"an answer has no status"}
	case isInterim(b.status) && b.ended:
		return 0, true, &breach{"an interim answer is all there is"}
	}
	h.final = b
	return b.status, true, nil
}

// answer is the answer whose head was read last, with its body to be read.
func (h *http2) answer(method string) (*reply, error) {
	b := h.final
	h.body = streamBody{h: h, ended: b.ended, announced: -1}
	h.body.none = method == http.MethodHead || b.status == http.StatusNoContent || b.status == http.StatusNotModified
	for _, text := range b.fields.Values("Content-Length") {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || text[0] == '+' || h.body.announced >= 0 && n != h.body.announced {
			return &reply{status: b.status, fields: b.fields}, &breach{"an answer announces no length that can be"}
		}
		h.body.announced = n
	}
	return &reply{status: b.status, fields: b.fields, body: &h.body}, nil
}

// streamBody is a body as it comes in DATA frames.
type streamBody struct {
	h         *http2
	data      []byte // of the frame read last
	got       int64
	announced int64 // -1: nothing
	none      bool  // there must not be one
	ended     bool
}

// Read gives what came, and io.EOF where the stream ended as announced.
func (b *streamBody) Read(p []byte) (int, error) {
	for len(b.data) == 0 {
		if b.ended {
			if !b.none && b.announced > b.got {
				return 0, io.ErrUnexpectedEOF
			}
			return 0, io.EOF
		}
		f, err := b.h.next()
		if err != nil {
			return 0, isOrderly(err)
		}
		if f.kind == frameHeaders {
			err = b.trailers(f)
		} else {
			err = b.take(&f)
		}
		if err != nil {
			return 0, isOrderly(err)
		}
	}
	n := copy(p, b.data)
	b.data = b.data[n:]
	return n, nil
}

// trailers reads what stands behind a body, and forgets it.
func (b *streamBody) trailers(f frame) error {
	budget := MaxHead
	trailers, err := b.h.readBlock(f, &budget)
	switch {
	case err != nil:
		return err
	case !trailers.ended || trailers.status != 0:
		return &breach{"an answer has two heads"}
	}
	b.ended = true
	return nil
}

// take takes a DATA frame, and tells the target how much more it may send.
func (b *streamBody) take(f *frame) error {
	h := b.h
	data, err := f.unpadded()
	if err != nil {
		return err
	}
	b.data, b.ended = data, f.has(flagEndStream)
	b.got += int64(len(data))
	size := int64(len(f.payload))
	h.inConn, h.inStream = h.inConn-size, h.inStream-size
	h.owedConn, h.owedStream = h.owedConn+size, h.owedStream+size
	switch {
	case h.inConn < 0 || h.inStream < 0:
		return &breach{"it sends more than it may"}
	case len(data) > 0 && b.none:
		return &breach{"an answer has a body that cannot have one"}
	case b.announced >= 0 && b.got > b.announced:
		return &breach{"an answer is longer than it announces"}
	case len(data) == 0 && !b.ended:
		if err := h.spend(); err != nil {
			return err
		}
	}
	if h.owedConn >= receiveWindow/2 {
		h.enqueue(appendWindow(nil, 0, uint32(h.owedConn))) //nolint:gosec // at most a window
		h.inConn, h.owedConn = h.inConn+h.owedConn, 0
	}
	if h.owedStream >= receiveWindow/2 && !b.ended {
		h.enqueue(appendWindow(nil, f.stream, uint32(h.owedStream))) //nolint:gosec // at most a window
		h.inStream, h.owedStream = h.inStream+h.owedStream, 0
	}
	return nil
}
