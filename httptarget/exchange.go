package httptarget

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/onefold-dev/onefold"
)

// lastBytes is how long the end of a request is waited for once its answer is
// there. The two cross on the way only where a target answers without reading
// the request to its end; it is then not sent on.
const lastBytes = 100 * time.Millisecond

// seen is what was seen of one request.
type seen struct {
	failure  *failure
	notSent  bool
	broke    bool // the connection ended it, not the time, the caller or a rule
	told     bool // the target itself said that there will be no answer
	older    bool // the target wants HTTP/1.1
	answered bool // something of an answer came
	status   int
	headers  http.Header
	body     []byte
	complete bool
	raw      bool // the body could not be decoded
	again    bool // the connection may carry another request
	out, in  int64
}

// exchangeOver sends the message over a connection and reads what comes back.
// Both go on at once: a target may answer before it has read everything, and an
// answer that stands behind a broken write is evidence all the same.
func (c *Carrier) exchangeOver(ctx context.Context, l *link, m *message, g *gate) *seen {
	l.speaker.open(m)
	started := g.guard(l.wire)
	stop := context.AfterFunc(ctx, l.kill)
	defer stop()
	wrote, settled, kept := make(chan error, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(kept)
		err := send(l, m, g)
		wrote <- err
		if err == nil {
			l.speaker.keep(settled)
		}
	}()
	s := &seen{}
	var wrong error
	select {
	case <-started:
		s = c.receive(ctx, l, m)
		wrong = finish(l, s, wrote)
	case wrong = <-wrote:
		if g.spent() { // both were ready
			s = c.receive(ctx, l, m)
		}
	}
	if s.failure != nil || wrong != nil {
		l.kill()
	}
	close(settled)
	s.again = rest(l, kept) && s.again
	s.out, s.in = g.handed.Load(), l.wire.received.Load()
	if !g.spent() {
		s = unsent(ctx, g, s)
	} else if s.failure != nil && s.status == 0 && wrong != nil {
		s.failure = cutRequest(ctx, s, wrong, m)
	}
	switch {
	case s.failure != nil, wrong != nil, !stop():
		l.kill()
	case s.again && !m.fresh:
		c.links.put(l, c.options.Idle)
	default:
		c.links.part(l)
	}
	return s
}

// send writes the message once. Where the kernel took none of it the
// connection is ended, because nobody would answer.
func send(l *link, m *message, g *gate) error {
	err := l.speaker.send(m, g)
	if errors.Is(err, errSecond) || err != nil && !g.spent() {
		l.kill()
	}
	return err
}

// finish waits for the end of the sending, which may be the answer's to decide.
func finish(l *link, s *seen, wrote <-chan error) error {
	if s.failure == nil {
		timer := time.NewTimer(lastBytes)
		defer timer.Stop()
		select {
		case err := <-wrote:
			return err
		case <-timer.C:
		}
	}
	l.kill()
	return <-wrote
}

// rest waits for the last of the upkeep, and says whether it went out. A target
// that does not take it does not hold up its answer.
func rest(l *link, kept <-chan struct{}) bool {
	timer := time.NewTimer(lastBytes)
	defer timer.Stop()
	select {
	case <-kept:
		return true
	case <-timer.C:
	}
	l.kill()
	<-kept
	return false
}

// unsent says why nothing was sent. The connection counted that the kernel
// took no byte; what came in all the same was no answer to this request.
func unsent(ctx context.Context, g *gate, s *seen) *seen {
	out := &seen{notSent: true, in: s.in}
	switch why := g.why(); {
	case errors.Is(why, errNotNow):
		out.failure = failf(failDeadline, "stopped just before the first byte: its lease or a deadline was over, or it was withdrawn or barred")
	case ctx.Err() != nil:
		out.failure = ended(ctx, whereSend)
	case errors.Is(why, errStale):
		out.failure, out.broke = failf(failWrite, "the connection was over, or something came on it, before the request was sent"), true
	case s.status != 0:
		out.failure = failf(failProtocol, "the target answered before the request was sent")
	default:
		out.failure, out.broke = failf(failWrite, "the connection took no byte of the request"), true
	}
	return out
}

// cutRequest says that the request went out in part, or whole with an error,
// and that nothing came back.
func cutRequest(ctx context.Context, s *seen, wrong error, m *message) *failure {
	switch {
	case ctx.Err() != nil, s.failure.word == failTimeout, s.failure.word == failCanceled:
		return s.failure
	case s.answered, s.told:
		return s.failure
	}
	return failf(failWrite, "the connection broke while the request of %d bytes was sent: %s", len(m.bytes), broken(wrong))
}

// exchange makes the report of what was seen.
func (s *seen) exchange(d *onefold.Dispatch, r *redactor) onefold.Exchange {
	x := onefold.Exchange{
		NotSent: s.notSent, Status: s.status, Body: s.body, Complete: s.complete, Headers: r.headers(s.headers),
	}
	if len(r.inner) > 0 {
		x.Redact = r.known
	}
	if s.failure != nil {
		x.Failure, x.Detail = s.failure.word, r.line(s.failure.detail)
	}
	if s.raw {
		x.Body = nil
	}
	x.Evidence = onefold.Evidence{
		Kind: onefold.EvidenceTransport, Asserts: onefold.AssertsNothing, Status: s.status, Detail: x.Detail,
		Headers: r.evidenceHeaders(s.headers), Digest: digest(s.body), BytesOut: s.out, BytesIn: s.in,
	}
	if s.status != 0 {
		x.Evidence.Kind = onefold.EvidenceResponse
		if !d.Write {
			x.Evidence.Kind = onefold.EvidenceLookup
		}
	}
	if !s.raw {
		x.Evidence.Excerpt = r.excerpt(s.body, !s.complete)
	}
	return x
}
