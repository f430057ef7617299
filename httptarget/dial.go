package httptarget

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// maxAddresses bounds how many addresses of a name are looked at; a name with
	// more is answered for by somebody who floods.
	maxAddresses = 32
	// stagger is how long the next address waits for the one before it (RFC 8305):
	// a network without IPv6 costs that much and not a time-out.
	stagger = 250 * time.Millisecond
)

// dialer makes connections to addresses that may be connected to.
type dialer struct {
	allow              allowance
	resolve            func(ctx context.Context, host string) ([]netip.Addr, error)
	roots              *x509.CertPool
	now                func() time.Time
	proxy              *proxy // nil: none
	connect, handshake time.Duration
	manners            *manners
}

// refusal is an address that must not be connected to.
type refusal struct{ why string }

// Error names the range.
func (r *refusal) Error() string { return "address refused: " + r.why }

// open makes a connection on which a request can be sent. Where it fails, no
// connection was obtained: nothing was sent (section 3, rule 4).
func (d *dialer) open(ctx context.Context, key poolKey, cred *credential) (*link, *failure) {
	part, cancel := context.WithTimeout(ctx, d.connect)
	defer cancel()
	hop := key.endpoint
	if d.proxy != nil {
		if why := d.mayTunnel(key.endpoint); why != nil {
			return nil, why
		}
		hop = d.proxy.endpoint
	}
	raw, why := d.reach(ctx, part, hop)
	if why != nil {
		return nil, why
	}
	w := &wire{Conn: raw, secure: key.endpoint.secure}
	l := newLink(key, w)
	l.speaker = &http1{link: l}
	if d.proxy != nil {
		why = d.tunnel(ctx, part, w, key.endpoint)
	}
	if why == nil && w.secure {
		why = d.secure(ctx, l, cred)
	}
	if why != nil {
		l.kill()
		return nil, why
	}
	w.sealed.Store(true)
	if l.reader == nil {
		l.reader = bufio.NewReaderSize(l.conn, bufferSize)
	}
	return l, nil
}

// reach connects to a target or a proxy.
func (d *dialer) reach(whole, part context.Context, hop endpoint) (net.Conn, *failure) {
	addrs, why := d.addresses(whole, part, hop.host)
	if why != nil {
		return nil, why
	}
	port, err := strconv.ParseUint(hop.port, 10, 16)
	if err != nil {
		return nil, failf(failConnect, "the port %s does not exist", hop.port)
	}
	raw, err := d.first(part, addrs, uint16(port))
	if err != nil {
		return nil, d.unconnected(whole, part, hop, err)
	}
	return raw, nil
}

// addresses looks a name up. A name that leads to one refused address is
// refused whole: which of its addresses is tried must not decide.
func (d *dialer) addresses(whole, ctx context.Context, host string) ([]netip.Addr, *failure) {
	addrs := []netip.Addr{}
	if addr, err := netip.ParseAddr(host); err == nil {
		addrs = append(addrs, addr)
	} else {
		found, err := d.resolve(ctx, strings.TrimSuffix(host, "."))
		if why := ended(whole, whereConnect); why != nil && why.word == failCanceled {
			return nil, why
		}
		switch {
		case ctx.Err() != nil:
			return nil, failf(failDNS, "the name %s was not answered in time", host)
		case err != nil, len(found) == 0:
			return nil, failf(failDNS, "the name %s leads to no address", host)
		case len(found) > maxAddresses:
			return nil, failf(failDNS, "the name %s leads to more than %d addresses", host, maxAddresses)
		}
		addrs = found
	}
	var out []netip.Addr
	for _, addr := range addrs {
		addr = addr.Unmap()
		if why := d.allow.refuses(addr); why != "" {
			return nil, refused(host, addr, why)
		}
		if !slices.Contains(out, addr) {
			out = append(out, addr)
		}
	}
	return out, nil
}

// refused says which address must not be connected to.
func refused(host string, addr netip.Addr, why string) *failure {
	return failf(failAddress, "%s leads to %s (%s), which this deployment does not allow", host, addr, why)
}

// dialed is what became of one address.
type dialed struct {
	conn net.Conn
	err  error
}

// first connects to the addresses in their order, the next one when the one
// before failed or did not answer soon. The first connection wins, the others
// are ended without a byte.
func (d *dialer) first(ctx context.Context, addrs []netip.Addr, port uint16) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan dialed, len(addrs))
	next, running := 0, 0
	start := func() {
		addr := netip.AddrPortFrom(addrs[next], port)
		next++
		running++
		go func() {
			conn, err := d.dial(ctx, addr)
			results <- dialed{conn, err}
		}()
	}
	start()
	timer := time.NewTicker(stagger)
	defer timer.Stop()
	var failed error
	for running > 0 {
		select {
		case r := <-results:
			running--
			if r.err == nil {
				cancel()
				for ; running > 0; running-- {
					if late := <-results; late.err == nil {
						_ = late.conn.Close()
					}
				}
				return r.conn, nil
			}
			failed = errors.Join(failed, r.err)
		case <-timer.C:
		}
		if next < len(addrs) && ctx.Err() == nil {
			start()
		}
	}
	return nil, failed
}

// dial connects to one address. The address is checked once more in the moment
// in which the socket is about to connect to it: whatever was looked up before,
// that is the one which counts.
func (d *dialer) dial(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	n := net.Dialer{ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return &refusal{why: "no address"}
		}
		if why := d.allow.refuses(to.Addr()); why != "" {
			return &refusal{why: why}
		}
		return nil
	}}
	return n.DialContext(ctx, "tcp", addr.String())
}

// unconnected says why there is no connection.
func (d *dialer) unconnected(whole, part context.Context, e endpoint, err error) *failure {
	if no, ok := errors.AsType[*refusal](err); ok {
		return failf(failAddress, "%s leads to an address (%s) which this deployment does not allow", e.host, no.why)
	}
	if why := overran(whole, part, d.connect, failConnect, whereConnect); why != nil {
		return why
	}
	return failf(failConnect, "no connection to %s port %s: %s", e.host, e.port, broken(err))
}

// secure makes the connection a TLS one and, where the target chooses it,
// begins HTTP/2 on it.
func (d *dialer) secure(ctx context.Context, l *link, cred *credential) *failure {
	config := &tls.Config{
		MinVersion: tls.VersionTLS12,
		ServerName: strings.TrimSuffix(l.key.endpoint.host, "."),
		RootCAs:    d.roots,
		NextProtos: d.manners.offer(l.key.endpoint),
		Time:       d.now,
	}
	if cred.certificate != nil {
		config.Certificates = []tls.Certificate{*cred.certificate}
	}
	part, cancel := context.WithTimeout(ctx, d.handshake)
	defer cancel()
	conn := tls.Client(l.wire, config)
	if err := conn.HandshakeContext(part); err != nil {
		if why := overran(ctx, part, d.handshake, failTLS, whereHandshake); why != nil {
			return why
		}
		return failf(failTLS, "the TLS handshake with %s failed: %s", l.key.endpoint.host, unsecured(err))
	}
	l.conn = conn
	if conn.ConnectionState().NegotiatedProtocol != protocolHTTP2 {
		return nil
	}
	return d.greet(ctx, part, l)
}

// greet begins HTTP/2. A connection on which the target has not begun it is
// none: nothing of a request is written before.
func (d *dialer) greet(ctx, part context.Context, l *link) *failure {
	l.reader = bufio.NewReaderSize(l.conn, bufferSize)
	h := newHTTP2(l)
	l.speaker = h
	stop := context.AfterFunc(part, l.kill)
	defer stop()
	err := h.greet()
	if err == nil {
		return nil
	}
	if why := overran(ctx, part, d.handshake, failConnect, whereGreeting); why != nil {
		return why
	}
	var (
		rude *breach
		op   *net.OpError
	)
	host := l.key.endpoint.host
	switch {
	case errors.As(err, &rude):
		d.manners.learn(l.key.endpoint)
		return failf(failConnect, "HTTP/2 cannot be spoken with %s: %s", host, err)
	case errors.Is(err, errNoStream):
		return failf(failConnect, "HTTP/2 cannot be spoken with %s: %s", host, err)
	case errors.As(err, &op) && op.Op == "remote error":
		return failf(failTLS, "the TLS handshake with %s failed: %s", host, unsecured(err))
	}
	return failf(failConnect, "HTTP/2 cannot be spoken with %s: %s", host, broken(err))
}

// unsecured says in words why a handshake failed.
func unsecured(err error) string {
	var (
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
		op      *net.OpError
		header  tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &unknown):
		return "its certificate is signed by nobody whom we trust"
	case errors.As(err, &name):
		return "its certificate is for another name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "its certificate is not valid at this time"
	case errors.As(err, &invalid):
		return "its certificate is not valid"
	case errors.As(err, &header):
		return "what came back is not TLS"
	case errors.As(err, &op) && op.Op == "remote error":
		// What stands below is one of the protocol's own names for an alert.
		return "it refused with the alert " + strconv.Quote(op.Err.Error())
	}
	return broken(err)
}
