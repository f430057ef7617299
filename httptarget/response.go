package httptarget

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"time"
)

const (
	// maxInterim bounds the interim answers (1xx) before the final one: a target
	// that reports progress sends a few, one that never ends is not waited for.
	maxInterim = 16
	// bufferSize is what is read from a connection at once.
	bufferSize = 4 << 10
)

// receive reads one final answer, skipping interim ones.
func (c *Carrier) receive(ctx context.Context, l *link, m *message) *seen {
	s := &seen{}
	part, cancel := within(ctx, c.options.FirstByteTimeout)
	stop := context.AfterFunc(part, l.kill)
	defer func() { stop(); cancel() }()
	budget := MaxHead
	for interim := 0; ; interim++ {
		status, began, err := l.speaker.head(&budget)
		s.answered = s.answered || began
		s.status = status
		if err != nil {
			s.headless(ctx, part, c.options.FirstByteTimeout, err)
			return s
		}
		if !isInterim(status) {
			break
		}
		if interim == maxInterim {
			s.status, s.failure = 0, failf(failProtocol, "more than %d interim answers came and no final one", maxInterim)
			return s
		}
	}
	if !stop() && part.Err() != nil {
		s.failure = overran(ctx, part, c.options.FirstByteTimeout, failTimeout, whereHead)
		return s
	}
	answer, err := l.speaker.answer(m.method)
	if answer != nil {
		s.headers, s.status = answer.fields, answer.status
	}
	if err != nil {
		s.failure = failf(failProtocol, "the answer's head cannot be read as HTTP")
		return s
	}
	if s.status == http.StatusSwitchingProtocols {
		s.failure = failf(failProtocol, "the target switched to another protocol, which nobody had asked for")
		return s
	}
	c.readBody(ctx, l, answer, s)
	s.again = s.complete && l.speaker.again()
	return s
}

// isInterim says whether more comes after a head with this status. 101 is the
// last of its protocol.
func isInterim(status int) bool {
	return status >= 100 && status <= 199 && status != http.StatusSwitchingProtocols
}

// within limits a part of an exchange; 0 is no limit but the whole's.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}

// headless says why there is no whole head. A status line that was read stays:
// a success status whose answer was cut off is a success status (section 3,
// rule 3). An interim one is no answer.
func (s *seen) headless(ctx, part context.Context, limit time.Duration, err error) {
	if s.status < 200 {
		s.status = 0
	}
	where := whereAnswer
	if s.answered {
		where = whereHead
	}
	var (
		rude *breach
		word *dismissal
	)
	switch why := overran(ctx, part, limit, failTimeout, where); {
	case errors.Is(err, errLongHead):
		s.failure = failf(failTooLarge, "the answer's head is longer than %d bytes", MaxHead)
	case errors.Is(err, errNotHTTP):
		s.failure = failf(failProtocol, "what came back is not HTTP/1")
	case errors.As(err, &rude):
		s.failure = failf(failProtocol, "the target does not keep to HTTP/2: %s", rude)
	case errors.As(err, &word):
		s.failure, s.broke, s.told = failf(failNoAnswer, "the request has no answer: %s", word), true, true
		s.older = word.code == codeHTTP1
	case why != nil:
		s.failure = why
	case s.status != 0:
		s.failure, s.broke = failf(failCutBody, "the connection ended within the answer's head: %s", broken(err)), true
	default:
		s.failure, s.broke = failf(failNoAnswer, "the connection ended without an answer: %s", broken(err)), true
	}
}

// meter passes a body on, up to a limit, and remembers how it ended.
type meter struct {
	body io.Reader
	left int64
	err  error
}

func (b *meter) Read(p []byte) (int, error) {
	if b.err == nil && b.left <= 0 {
		b.err = errLongBody
	}
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.body.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	b.err = err
	return n, err
}

// errLongBody: more came than is taken.
var errLongBody = errors.New("body too long")

// readBody reads the body as it was announced, at most the limit. Complete is
// said where it ended as announced: by its length, by its last chunk, or, where
// neither was announced, by the connection's orderly end (over TLS: announced
// by TLS), never by a reset.
func (c *Carrier) readBody(ctx context.Context, l *link, answer *reply, s *seen) {
	part, cancel := within(ctx, c.options.BodyTimeout)
	defer cancel()
	stop := context.AfterFunc(part, l.kill)
	defer stop()
	limit := c.options.MaxBody
	// One byte beyond the limit tells a body that is too long from one that fits.
	m := &meter{body: answer.body, left: limit + 1}
	decoded, known := decoder(m, answer)
	body, err := io.ReadAll(io.LimitReader(decoded, limit+1))
	s.body, s.raw = body, !known
	long := int64(len(body)) > limit
	if long {
		s.body = body[:limit]
	}
	ending := m.err
	why := overran(ctx, part, c.options.BodyTimeout, failTimeout, whereBody)
	var (
		rude *breach
		word *dismissal
	)
	switch {
	case long, errors.Is(ending, errLongBody), m.left == 0:
		s.failure = failf(failTooLarge, "the answer's body is longer than %d bytes", limit)
	case ending == nil, errors.Is(ending, io.EOF):
		if err != nil || !known {
			s.failure = failf(failEncoding, "the answer's body cannot be decoded")
		} else {
			s.complete = true
		}
	case errors.As(ending, &rude):
		s.failure = failf(failProtocol, "the target does not keep to HTTP/2: %s", rude)
	case errors.As(ending, &word):
		s.failure = failf(failCutBody, "the answer's body has no end: %s", word)
	case why != nil:
		s.failure = why
	case isCut(ending):
		s.failure, s.broke = failf(failCutBody, "the answer's body ended before its end: %s", broken(ending)), true
	default:
		s.failure = failf(failProtocol, "the answer's body is not framed as HTTP wants")
	}
}

// isCut says whether a connection ended within a body, as against a body that
// contradicts itself.
func isCut(err error) bool {
	var text interface{ Timeout() bool } // every error of package net
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.As(err, &text)
}

// decoder undoes the body's content coding, and says whether it knows it. Only
// gzip is known; it was not asked for, but some send it all the same.
func decoder(body io.Reader, answer *reply) (io.Reader, bool) {
	switch strings.ToLower(strings.TrimSpace(strings.Join(answer.fields.Values("Content-Encoding"), ","))) {
	case "", "identity":
		return body, true
	case "gzip", "x-gzip":
		return &unzip{source: bufio.NewReaderSize(body, bufferSize)}, true
	}
	return body, false
}

// unzip reads gzip as it is read itself, so that a body which never comes is
// waited for under the body's deadline. An empty body stays empty.
type unzip struct {
	source *bufio.Reader
	reader *gzip.Reader
}

func (u *unzip) Read(p []byte) (int, error) {
	if u.reader == nil {
		if _, err := u.source.Peek(1); err != nil {
			return 0, err
		}
		reader, err := gzip.NewReader(u.source)
		if err != nil {
			return 0, err
		}
		u.reader = reader
	}
	return u.reader.Read(p)
}
