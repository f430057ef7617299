package httptarget_test

import (
	"context"
	"crypto/tls"
	"sync/atomic"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/httptarget"
)

// The attempt's deadline is asked when the connection stands and the handshake
// is over, immediately before the first byte: where it is over, the target sees
// a connection and not a byte of a request on it, new or (over HTTP/2) used before.
//
// Proves: M9
func TestNothingIsWrittenAfterTheDeadline(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	for name, secure := range map[string]bool{"plain": false, "TLS": true, "HTTP/2": true} {
		for _, warmed := range []bool{false, true} {
			if warmed && name != "HTTP/2" {
				continue // nothing is sent on a used connection of HTTP/1.1
			}
			t.Run(name+map[bool]string{true: " warm", false: " cold"}[warmed], func(t *testing.T) {
				t.Parallel()
				shaken := atomic.Bool{}
				var config *tls.Config
				if secure {
					config = ca.server(t, nil)
				}
				handle := whenRead(func(p *peer) { p.say(created) })
				if name == "HTTP/2" {
					config = ca.http2Only(t)
					handle = speaks(heardAll(func(k *talk) { k.answer(201, `{"id":"B-1"}`) }))
					if warmed {
						handle = speaks(afterWarmth2(heardAll(func(k *talk) { k.answer(201, `{"id":"B-1"}`) })))
					}
				}
				s := serve(t, config, handle)
				c := carrier(t, trusting(ca.pool))
				if warmed {
					warm(t, c, s.url())
				}
				d := write(s.url(), !warmed, body(100), key("Idempotency-Key"))
				asked := 0
				d.MayStart = func() bool {
					asked++
					shaken.Store(s.connections() == 1)
					return false
				}
				x := c.Carry(t.Context(), d)
				if !x.NotSent || x.Failure != "deadline_before_send" || x.Evidence.BytesOut != 0 || x.Status != 0 {
					t.Errorf("NotSent %v, failure %q, %d bytes: %s", x.NotSent, x.Failure, x.Evidence.BytesOut, x.Detail)
				}
				if asked != 1 || !shaken.Load() {
					t.Errorf("asked %d times, over a connection: %v", asked, shaken.Load())
				}
				s.stop()
				if requests, size := s.seen(); requests != 0 || size != 0 {
					t.Errorf("%d requests, %d bytes reached the target", requests, size)
				}
			})
		}
	}
}

// A caller that gives up before anything was sent is told so; one that gives
// up afterwards gets what was seen until then, and is not told "not sent".
func TestGivingUpKeepsTheEvidence(t *testing.T) {
	t.Parallel()
	t.Run("before", func(t *testing.T) {
		t.Parallel()
		s := serve(t, nil, whenRead(func(p *peer) { p.say(created) }))
		ctx, cancel := context.WithCancel(t.Context())
		d := write(s.url(), true, body(100))
		d.MayStart = func() bool { return true }
		cancel()
		x := carrier(t, nil).Carry(ctx, d)
		if !x.NotSent || x.Failure != "canceled" {
			t.Errorf("NotSent %v, failure %q: %s", x.NotSent, x.Failure, x.Detail)
		}
	})
	for name, partial := range map[string]string{
		"before the answer": "", "within the head": "HTTP/1.1 201 Created\r\nA: ", "within the body": created[:len(created)-3],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			flushed := make(chan struct{})
			s := serve(t, nil, whenRead(func(p *peer) { p.say(partial); close(flushed); <-p.done }))
			report := make(chan onefold.Exchange, 1)
			c := carrier(t, nil)
			go func() { report <- c.Carry(ctx, write(s.url(), true, body(100))) }()
			<-flushed
			cancel()
			x := <-report
			if x.NotSent || x.Failure != "canceled" || x.Evidence.BytesOut == 0 || x.Complete {
				t.Errorf("NotSent %v, failure %q, %d bytes: %s", x.NotSent, x.Failure, x.Evidence.BytesOut, x.Detail)
			}
		})
	}
}

// A Carrier that is not whole is not made.
func TestACarrierNeedsItsParts(t *testing.T) {
	t.Parallel()
	for i, o := range []httptarget.Options{{}, {Secrets: vault{}}, {Secrets: vault{}, DigestKey: make([]byte, 32)}} {
		if c, err := httptarget.New(o); err == nil || c != nil {
			t.Errorf("case %d: made", i)
		}
	}
}
