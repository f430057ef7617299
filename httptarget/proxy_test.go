package httptarget_test

import (
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/onefold-dev/onefold/httptarget"
	"github.com/onefold-dev/onefold/internal/bootclock"
)

// proxying is a forward proxy for one test: it connects where a CONNECT says,
// whatever the name, if it leads to the test's target.
func proxying(to *target, asked *sync.Map) func(*peer) {
	return func(p *peer) {
		r, err := http.ReadRequest(p.reader)
		if err != nil || r.Method != http.MethodConnect {
			return
		}
		asked.Store(r.Host, r.Header.Get("Proxy-Authorization"))
		conn, err := net.Dial("tcp", to.listener.Addr().String())
		if err != nil {
			p.say("HTTP/1.1 502 Bad Gateway\r\n\r\n")
			return
		}
		defer conn.Close()
		p.say("HTTP/1.1 200 Connection established\r\nVia: 1.1 p\r\n\r\n")
		var group sync.WaitGroup
		defer group.Wait()
		group.Go(func() {
			_, _ = io.Copy(conn, p.reader)
			_ = conn.(*net.TCPConn).CloseWrite()
		})
		_, _ = io.Copy(p.Conn, conn)
		_ = p.raw.Close()
	}
}

// via makes a Carrier go through a proxy.
func via(t *testing.T, ca *authority, text string) *httptarget.Carrier {
	t.Helper()
	u, err := httptarget.ParseProxy(text)
	if err != nil {
		t.Fatal(err)
	}
	return carrier(t, func(o *httptarget.Options) {
		o.Proxy, o.RootCAs = u, ca.pool
		o.Resolve = names(map[string][]string{"proxy.example": {"127.0.0.1"}})
	})
}

// Every target is reached by the proxy that the deployment names, http and https
// alike, by names that only the proxy knows; the target gets the same request,
// the proxy its own credentials and nothing of the target's.
func TestEveryTargetIsReachedThroughTheProxy(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	named := ca.server(t, nil)
	for _, v := range []struct {
		name   string
		target *target
		url    string
		host   string
	}{
		{"http", serve(t, nil, keeps(created)), "http://erp.example", "erp.example:80"},
		{"https", serve(t, named, keeps(created)), "https://localhost.example", "localhost.example:443"},
		{"HTTP/2", serve(t, ca.http2Only(t), speaks(heardAll(func(k *talk) { k.answer(201, `{"id":"B-1"}`) }))), "", ""},
	} {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			var asked sync.Map
			p := serve(t, nil, proxying(v.target, &asked))
			_, port, _ := net.SplitHostPort(p.listener.Addr().String())
			c := via(t, ca, "http://me:pa%3Ass@proxy.example:"+port)
			d := write(v.url, true, body(10), key("Idempotency-Key"))
			if v.url == "" || v.name == "https" { // a certificate is for the address
				d.Route.URL, v.host = v.target.url(), v.target.listener.Addr().String()
			}
			x := c.Carry(t.Context(), d)
			if x.Status != http.StatusCreated || !x.Complete || x.NotSent {
				t.Fatalf("status %d, failure %q: %s", x.Status, x.Failure, x.Detail)
			}
			if got, ok := asked.Load(v.host); !ok || got != "Basic bWU6cGE6c3M=" {
				t.Errorf("the proxy was asked for %v with %v", v.host, got)
			}
			v.target.stop()
			if requests, _ := v.target.seen(); requests != 1 {
				t.Errorf("%d requests", requests)
			}
			if strings.Contains(v.target.peers[0].seen.String(), "Proxy-") {
				t.Error("the proxy's credential reached the target")
			}
		})
	}
}

// A proxy that makes no connection is no connection: nothing was sent, and not a
// byte of the request reached it.
func TestAProxyThatRefusesSendsNothing(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	says := func(text string) func(*peer) {
		return func(p *peer) {
			if _, err := http.ReadRequest(p.reader); err == nil {
				p.say(text)
				if strings.Contains(text, " 200 ") {
					<-p.done
				}
			}
		}
	}
	for _, v := range []struct {
		name, says string
		handle     func(*peer)
	}{
		{"403", "it answered 403", says("HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nno!\n")},
		{"407", "other credentials", says("HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n")},
		{"502", "it answered 502", says("HTTP/1.1 502 Bad Gateway\r\n\r\n")},
		{"a redirect", "it answered 302", says("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\n\r\n")},
		{"101", "it answered 101", says("HTTP/1.1 101 Switching Protocols\r\n\r\n")},
		{"interim answers without end", "it answered 102", says(strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 40))},
		{"more than an answer", "cannot be read", says("HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 201 Created\r\n\r\n")},
		{"a long head", "cannot be read", says("HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", httptarget.MaxHead) + "\r\n\r\n")},
		{"no HTTP", "cannot be read", says("SSH-2.0-OpenSSH\r\n")},
		{"half an answer", "closed it", says("HTTP/1.1 20")},
		{"nothing", "closed it", says("")},
		{"a reset", "reset", func(p *peer) { _, _ = p.reader.Peek(1); p.reset() }},
	} {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, nil, v.handle)
			c := via(t, ca, "http://"+p.listener.Addr().String())
			x := c.Carry(t.Context(), write("http://erp.example/base", true, body(10), key("Idempotency-Key")))
			if !x.NotSent || x.Failure != "connect" || !strings.Contains(x.Detail, v.says) || x.Evidence.BytesOut != 0 {
				t.Errorf("NotSent %v, failure %q: %s", x.NotSent, x.Failure, x.Detail)
			}
			p.stop()
			if seen := p.peers[0].seen.String(); p.connections() != 1 || !strings.HasPrefix(seen, "CONNECT erp.example:80 HTTP/1.1\r\n") || strings.Contains(seen, "POST") {
				t.Errorf("%d connections, the proxy saw %q", p.connections(), seen)
			}
		})
	}
	t.Run("a stall", func(t *testing.T) {
		t.Parallel()
		p := serve(t, nil, func(p *peer) { <-p.done })
		u, _ := httptarget.ParseProxy("http://" + p.listener.Addr().String())
		c := carrier(t, func(o *httptarget.Options) { o.Proxy, o.ConnectTimeout = u, short })
		if x := c.Carry(t.Context(), write("http://erp.example", true, body(10))); !x.NotSent || x.Failure != "connect" || !strings.Contains(x.Detail, "proxy") {
			t.Errorf("NotSent %v, failure %q: %s", x.NotSent, x.Failure, x.Detail)
		}
	})
}

// A proxy opens nothing: its own address is held to the deployment's ranges, and
// so is a target that is written as an address, in every spelling, or by a name
// that needs no look-up to lead inside. The proxy is not even asked.
func TestAProxyOpensNoAddress(t *testing.T) {
	t.Parallel()
	p := serve(t, nil, func(*peer) {})
	u, err := httptarget.ParseProxy("http://" + p.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := carrier(t, func(o *httptarget.Options) {
		o.Proxy, o.AllowCIDRs = u, []netip.Prefix{netip.MustParsePrefix(p.listener.Addr().(*net.TCPAddr).IP.String() + "/32")}
	})
	hosts := []string{
		"2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "127.0.0.1.2", "localhost", "LOCALHOST.", "a.localhost",
		"metadata.google.internal", "instance-data", "instance-data.ec2.internal", "10.0.0.1.", "0x",
	}
	for _, a := range refusedAddresses {
		if a == "127.0.0.1" || a == "::ffff:127.0.0.1" {
			continue // the proxy's own, which is allowed
		}
		if strings.Contains(a, ":") {
			a = "[" + a + "]"
		}
		hosts = append(hosts, a)
	}
	for _, host := range hosts {
		x := c.Carry(t.Context(), write("https://"+host+"/base", true, body(10)))
		if !x.NotSent || x.Failure != "address_refused" {
			t.Errorf("%s: NotSent %v, failure %q: %s", host, x.NotSent, x.Failure, x.Detail)
		}
	}
	closed := carrier(t, func(o *httptarget.Options) { o.Proxy, o.AllowCIDRs = u, nil })
	if x := closed.Carry(t.Context(), write("https://erp.example", true, body(10))); !x.NotSent || x.Failure != "address_refused" {
		t.Errorf("a proxy at loopback: NotSent %v, failure %q: %s", x.NotSent, x.Failure, x.Detail)
	}
	if n := p.connections(); n != 0 {
		t.Errorf("%d connections to the proxy", n)
	}
}

// No proxy is taken from the environment, and none that is not whole is taken.
func TestAProxyIsNamedInFull(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, "http://127.0.0.1:9")
	}
	s := serve(t, nil, whenRead(func(p *peer) { p.say(created) }))
	if x := carrier(t, nil).Carry(t.Context(), write(s.url(), true, body(10))); x.Status != http.StatusCreated {
		t.Errorf("status %d, failure %q: %s", x.Status, x.Failure, x.Detail)
	}
	for _, text := range []string{
		"", "proxy:3128", "https://proxy:3128", "socks5://proxy:1080", "http://proxy", "http://:3128", "http://proxy:3128/x", "http://proxy:0",
		"http://proxy:3128?x=" + canary, "http://proxy:3128#" + canary, "http://a%3Ab:" + canary + "@proxy:3128", "http://" + canary + "\x7f:1",
	} {
		u, err := httptarget.ParseProxy(text)
		if err == nil || u != nil || strings.Contains(err.Error(), canary) {
			t.Errorf("%q: %v, %v", text, u, err)
		}
	}
	if c, err := httptarget.New(httptarget.Options{Secrets: vault{}, DigestKey: make([]byte, 32), Clock: bootclock.Now, Proxy: &url.URL{Scheme: "https", Host: "p:1"}}); err == nil || c != nil {
		t.Error("a proxy that cannot be used was taken")
	}
}
