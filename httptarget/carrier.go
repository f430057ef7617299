package httptarget

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/onefold-dev/onefold"
)

// Defaults and limits. What an Options field leaves at zero is one of these.
const (
	// DefaultTimeout is the whole exchange's where a request names none.
	DefaultTimeout = 30 * time.Second
	// DefaultConnectTimeout covers the look-up of the name and the TCP handshake:
	// one lost packet of each is sent again well within it.
	DefaultConnectTimeout = 10 * time.Second
	// DefaultTLSTimeout covers the TLS handshake.
	DefaultTLSTimeout = 10 * time.Second
	// DefaultMaxBody bounds an answer's body after decompression, in bytes: a
	// hundred times what a record needs, and little to hold for each attempt.
	DefaultMaxBody = 1 << 20
	// DefaultIdle is how long an unused connection of HTTP/2 is kept: less than
	// the 5 s after which common servers close theirs, so that we are the first to
	// go.
	DefaultIdle = 4 * time.Second
	// MaxHead bounds an answer's head, interim answers included, in bytes.
	MaxHead = 64 << 10
	// MinDigestKey is the least length of Options.DigestKey in bytes: a key that
	// is shorter than its digest's security is guessed before it is.
	MinDigestKey = 16
)

// Secrets resolves the references of a connection's document at their use. An
// implementation must keep a workspace to its own secrets.
type Secrets interface {
	Resolve(ctx context.Context, workspace, ref string) ([]byte, error)
}

// Options of a Carrier. Secrets, DigestKey and Clock are required.
type Options struct {
	Secrets Secrets
	// DigestKey keys CredentialDigest; at least MinDigestKey bytes.
	DigestKey []byte
	// Clock is monotonic; Evidence.Took is measured by it.
	Clock func() time.Duration
	// Now is the wall clock that certificates are held against and that the date
	// in an HMAC signature is taken from. Without one, certificates are held
	// against the system's clock and a signature with a date cannot be made.
	Now func() time.Time
	// AllowCIDRs are addresses of the special ranges that this deployment may
	// reach all the same. A metadata address needs an entry of its own (/32 or
	// /128): no wider range opens it.
	AllowCIDRs []netip.Prefix
	// RootCAs are trusted to sign the targets' certificates; nil: the system's.
	RootCAs *x509.CertPool
	// Proxy is the one way to every target, nil for none: a forward proxy that is
	// asked by CONNECT for a tunnel, for http targets as for https ones. ParseProxy
	// reads it. Its own address is checked like a target's. It looks the targets'
	// names up itself, so that what a name leads to cannot be checked here; a target
	// that is written as an address is checked all the same. The environment is not
	// asked for a proxy.
	Proxy *url.URL
	// Resolve looks names up; nil: the system's resolver. Its answers are checked
	// like any address.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// The deadlines of the parts of an exchange; the request's own Timeout ends
	// every one of them. FirstByte counts from the request's first byte to the
	// end of the final status line's head; Body from there to the body's end. Zero
	// is the default; FirstByte and Body have none but the whole.
	ConnectTimeout   time.Duration
	TLSTimeout       time.Duration
	FirstByteTimeout time.Duration
	BodyTimeout      time.Duration
	// MaxBody bounds an answer's body in bytes, DefaultMaxBody if 0.
	MaxBody int64
	// Idle is how long an unused connection of HTTP/2 is kept, DefaultIdle if 0.
	// Those of HTTP/1.1 are never used again.
	Idle time.Duration
}

// Carrier implements onefold.Carrier. It is safe for concurrent use; Close ends
// the connections that it keeps.
type Carrier struct {
	options Options
	dialer  dialer
	links   *pool
}

var _ onefold.Carrier = (*Carrier)(nil)

// New makes a Carrier. It fails where a required option is missing.
func New(o Options) (*Carrier, error) {
	switch {
	case o.Secrets == nil:
		return nil, errors.New("httptarget: no way to resolve secrets")
	case o.Clock == nil:
		return nil, errors.New("httptarget: no clock")
	case len(o.DigestKey) < MinDigestKey:
		return nil, fmt.Errorf("httptarget: the key of the credential digest has %d bytes, fewer than %d", len(o.DigestKey), MinDigestKey)
	}
	for _, p := range o.AllowCIDRs {
		if !p.IsValid() {
			return nil, errors.New("httptarget: an allowed address range is not valid")
		}
	}
	o.DigestKey, o.AllowCIDRs = slices.Clone(o.DigestKey), slices.Clone(o.AllowCIDRs)
	o.ConnectTimeout = orDefault(o.ConnectTimeout, DefaultConnectTimeout)
	o.TLSTimeout = orDefault(o.TLSTimeout, DefaultTLSTimeout)
	o.Idle = orDefault(o.Idle, DefaultIdle)
	if o.MaxBody <= 0 {
		o.MaxBody = DefaultMaxBody
	}
	via, err := newProxy(o.Proxy)
	if err != nil {
		return nil, err
	}
	if o.Resolve == nil {
		o.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	d := dialer{
		allow: allowance(o.AllowCIDRs), resolve: o.Resolve, roots: o.RootCAs, now: o.Now,
		proxy: via, connect: o.ConnectTimeout, handshake: o.TLSTimeout, manners: &manners{},
	}
	return &Carrier{options: o, dialer: d, links: newPool()}, nil
}

// orDefault is d, or what it is by default.
func orDefault(d, fallback time.Duration) time.Duration {
	if d <= 0 {
		return fallback
	}
	return d
}

// Close ends the connections that are kept unused or left to their targets to
// close, waits for their end, and keeps none from now on. Exchanges under way are
// not disturbed.
func (c *Carrier) Close() error {
	c.links.close()
	return nil
}

// Carry carries one request and reports what was seen. It ends when the answer
// was read, when the request's Timeout is over, or when ctx is; in each case
// the Exchange says how far the request came.
func (c *Carrier) Carry(ctx context.Context, d onefold.Dispatch) onefold.Exchange {
	started := c.options.Clock()
	ctx, cancel := context.WithTimeout(ctx, orDefault(d.Request.Timeout, DefaultTimeout))
	defer cancel()
	cred, why := c.credential(ctx, d.Route)
	s := &seen{failure: why, notSent: true}
	if why == nil {
		var m *message
		if m, s.failure = newMessage(&d, cred, c.options.Now); s.failure == nil {
			s = c.carry(ctx, &d, m, cred)
		}
	}
	x := s.exchange(&d, newRedactor(cred))
	x.Evidence.Took = c.options.Clock() - started
	if c.options.Now != nil {
		x.Evidence.SeenAt = c.options.Now()
	}
	return x
}

// carry hands the message to one connection. A connection (of HTTP/2) that was
// used before gives way to a new one where it took no byte, so that nothing was
// sent by it; for a look-up's GET also where nothing came back.
func (c *Carrier) carry(ctx context.Context, d *onefold.Dispatch, m *message, cred *credential) *seen {
	key := poolKey{
		workspace: d.Route.Workspace, connection: d.Route.Connection, revision: d.Route.Revision,
		endpoint: m.endpoint, identity: cred.identity,
	}
	g := newGate(ctx, len(m.bytes), d.MayStart)
	var before seen
	for fresh := m.fresh; ; fresh = true {
		l, why := c.obtain(ctx, key, cred, fresh)
		if why != nil {
			return &seen{failure: why, notSent: before.out == 0, out: before.out, in: before.in}
		}
		reused := l.reused // once the exchange is over, the connection may be another one's
		s := c.exchangeOver(ctx, l, m, g)
		if s.older {
			c.dialer.manners.learn(m.endpoint)
		}
		s.out, s.in = s.out+before.out, s.in+before.in
		if !reused || s.failure == nil || !s.broke {
			return s
		}
		if s.out > 0 {
			if d.Write || m.method != http.MethodGet || s.answered {
				return s
			}
			g = newGate(ctx, len(m.bytes), d.MayStart)
		}
		before = *s
	}
}

// obtain takes a connection of HTTP/2 that is kept, or makes one.
func (c *Carrier) obtain(ctx context.Context, key poolKey, cred *credential, fresh bool) (*link, *failure) {
	if !fresh {
		if l := c.links.take(key); l != nil {
			return l, nil
		}
	}
	return c.dialer.open(ctx, key, cred)
}

// CredentialDigest is a keyed digest (HMAC-SHA256, hex) of the credential that
// the route would use now: scheme, user and secret values, in that order, each
// with its length. Equal digests mean equal credentials; the digest of a route
// without authentication is a constant of the key. It fails where a secret
// cannot be had, with an error that names the reason and no value.
func (c *Carrier) CredentialDigest(ctx context.Context, r onefold.Route) (string, error) {
	cred, why := c.credential(ctx, r)
	if why != nil {
		return "", fmt.Errorf("httptarget: %s", why.detail)
	}
	mac := hmac.New(sha256.New, c.options.DigestKey)
	part := func(b []byte) { fmt.Fprintf(mac, "%d:", len(b)); mac.Write(b) }
	part([]byte(r.Auth.Scheme))
	part([]byte(r.Auth.User))
	for _, v := range cred.values {
		part(v.Reveal())
	}
	return hex.EncodeToString(mac.Sum(nil)), nil
}
