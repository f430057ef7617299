package httptarget

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// proxy is a forward proxy, asked by CONNECT for every connection.
type proxy struct {
	endpoint endpoint
	// authorization is the value of Proxy-Authorization, empty for none.
	authorization string
}

// ErrProxy says that a proxy's URL cannot be used.
var ErrProxy = errors.New("a proxy is http://[USER:PASSWORD@]HOST:PORT")

// ParseProxy reads a proxy for Options.Proxy: http://[USER:PASSWORD@]HOST:PORT,
// and nothing more. The error is ErrProxy, which repeats nothing of text: it may
// hold a password.
func ParseProxy(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, ErrProxy
	}
	if _, err := newProxy(u); err != nil {
		return nil, err
	}
	return u, nil
}

// newProxy takes a proxy's URL apart; nil is no proxy.
func newProxy(u *url.URL) (*proxy, error) {
	if u == nil {
		return nil, nil //nolint:nilnil // no proxy and no error
	}
	plain := *u
	plain.User = nil
	b, why := parseBase(plain.String())
	if why != nil || b.endpoint.secure || b.path != "" || u.Port() == "" {
		return nil, ErrProxy
	}
	p := &proxy{endpoint: b.endpoint}
	if u.User != nil {
		password, _ := u.User.Password()
		user := u.User.Username()
		if strings.Contains(user, ":") {
			return nil, ErrProxy
		}
		p.authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	}
	return p, nil
}

// inner are names that lead a proxy to its own machine, or to what only that
// machine may ask. A proxy looks names up by itself; these need no look-up.
var inner = []string{"localhost", "localhost.localdomain", "metadata", "metadata.google.internal", "metadata.goog", "instance-data"}

// mayTunnel says why a proxy is not asked for a target: one that is written as
// an address, in whatever spelling, is held to the same rules as without a proxy.
func (d *dialer) mayTunnel(e endpoint) *failure {
	host := strings.TrimSuffix(e.host, ".")
	if addr, err := netip.ParseAddr(host); err == nil {
		if why := d.allow.refuses(addr); why != "" {
			return refused(e.host, addr.Unmap(), why)
		}
		return nil
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	switch {
	case looksNumeric(last):
		return failf(failAddress, "%s is an address in a spelling that is read in more than one way", e.host)
	case slices.Contains(inner, host), last == "localhost", strings.HasPrefix(host, "instance-data."):
		return failf(failAddress, "%s leads to the proxy's own machine, which this deployment does not allow", e.host)
	}
	return nil
}

// looksNumeric says whether a name that ends in this label is read as an address
// by some: digits, or hexadecimal ones behind 0x.
func looksNumeric(label string) bool {
	if rest, hex := strings.CutPrefix(label, "0x"); hex {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// tunnel has the proxy connect to a target. A proxy that refuses is no
// connection: nothing was sent (section 3, rule 4).
func (d *dialer) tunnel(whole, part context.Context, w *wire, e endpoint) *failure {
	stop := context.AfterFunc(part, w.kill)
	defer stop()
	authority := net.JoinHostPort(e.host, e.port)
	ask := "CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n"
	if d.proxy.authorization != "" {
		ask += "Proxy-Authorization: " + d.proxy.authorization + "\r\n"
	}
	status, err := 0, error(nil)
	reader := bufio.NewReaderSize(w, bufferSize)
	if _, err = w.Write([]byte(ask + "\r\n")); err == nil {
		budget := MaxHead
		for interim := 0; interim <= maxInterim; interim++ {
			var head []byte
			if head, err = readHead(reader, &budget); err != nil {
				break
			}
			if status = statusOf(head); !isInterim(status) {
				break
			}
		}
	}
	if why := overran(whole, part, d.connect, failConnect, whereTunnel); why != nil {
		return why
	}
	switch {
	case errors.Is(err, errLongHead), errors.Is(err, errNotHTTP), err == nil && (status == 0 || status <= 299 && status >= 200 && reader.Buffered() > 0):
		return failf(failConnect, "the proxy's answer cannot be read")
	case err != nil:
		return failf(failConnect, "the proxy makes no connection to %s: %s", e.host, broken(err))
	case status == http.StatusProxyAuthRequired:
		return failf(failConnect, "the proxy makes no connection to %s: it wants other credentials", e.host)
	case status < 200 || status > 299:
		return failf(failConnect, "the proxy makes no connection to %s: it answered %d", e.host, status)
	}
	return nil
}
