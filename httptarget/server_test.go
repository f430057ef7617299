package httptarget_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/httptarget"
	"github.com/onefold-dev/onefold/internal/bootclock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is what an exchange gets in which nothing is meant to be slow.
const patience = 20 * time.Second

// target is a server on a real socket that does with each connection what a
// test says, and remembers every byte that reached it.
type target struct {
	listener net.Listener
	tls      *tls.Config
	below    func(*net.TCPConn) net.Conn
	handle   func(*peer)
	group    sync.WaitGroup
	done     chan struct{} // closed when the target ends
	once     sync.Once

	mu    sync.Mutex
	peers []*peer
}

// peer is one connection as the target sees it. What is read through it is
// remembered, in the clear.
type peer struct {
	net.Conn
	raw    *net.TCPConn
	number int
	reader *bufio.Reader
	done   chan struct{} // the target's
	frames *tally        // where HTTP/2 is spoken

	mu   sync.Mutex
	seen bytes.Buffer // the first keptBytes
	// size counts all bytes, more the requests that began after those kept.
	size, more int
}

// keptBytes is how much a target remembers word for word.
const keptBytes = 64 << 10

// mark is in every request line, and in no body.
const mark = " HTTP/1.1\r\n"

func (p *peer) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	if p.frames != nil {
		p.frames.write(b[:n])
		return n, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.size += n
	if p.seen.Len() < keptBytes {
		p.seen.Write(b[:n])
	} else {
		p.more += bytes.Count(b[:n], []byte(mark))
	}
	return n, err
}

// request reads one whole request.
func (p *peer) request() (*http.Request, []byte, error) {
	r, err := http.ReadRequest(p.reader)
	if err != nil {
		return nil, nil, err
	}
	body, err := io.ReadAll(r.Body)
	return r, body, err
}

// length finds what a request says about its body's length.
var length = regexp.MustCompile(`\r\nContent-Length: (\d+)\r\n`)

// take reads n bytes of a request, or the whole of a shorter one.
func (p *peer) take(n int) {
	var got []byte
	for len(got) < n {
		piece := make([]byte, n-len(got))
		read, err := p.reader.Read(piece)
		got = append(got, piece[:read]...)
		if head := bytes.Index(got, []byte("\r\n\r\n")); head >= 0 {
			want := head + 4
			if found := length.FindSubmatch(got[:want]); found != nil {
				size, _ := strconv.Atoi(string(found[1]))
				want += size
			}
			if len(got) >= want {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// say writes to the client; one that is gone is not the target's trouble.
func (p *peer) say(text string) { _, _ = io.WriteString(p.Conn, text) }

// reset ends the connection with RST.
func (p *peer) reset() { _ = p.raw.SetLinger(0); _ = p.raw.Close() }

// answer is a whole answer with a length.
func answer(status int, body string, headers ...string) string {
	head := ""
	for _, h := range headers {
		head += h + "\r\n"
	}
	return fmt.Sprintf("HTTP/1.1 %d %s\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		status, http.StatusText(status), head, len(body), body)
}

// serve starts a target; its end waits for every connection's.
func serve(t testing.TB, config *tls.Config, handle func(*peer)) *target {
	t.Helper()
	return serveOver(t, config, func(c *net.TCPConn) net.Conn { return c }, handle)
}

// serveOver is serve with something between the socket and TLS.
func serveOver(t testing.TB, config *tls.Config, below func(*net.TCPConn) net.Conn, handle func(*peer)) *target {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &target{listener: l, tls: config, below: below, handle: handle, done: make(chan struct{})}
	s.group.Go(s.accept)
	t.Cleanup(s.stop)
	return s
}

func (s *target) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		p := &peer{Conn: s.below(conn.(*net.TCPConn)), raw: conn.(*net.TCPConn), done: s.done}
		if s.tls != nil {
			p.Conn = tls.Server(p.Conn, s.tls)
			if s.tls.NextProtos[0] == "h2" {
				p.frames = newTally()
			}
		}
		p.reader = bufio.NewReaderSize(p, 64<<10)
		s.mu.Lock()
		p.number = len(s.peers)
		s.peers = append(s.peers, p)
		s.mu.Unlock()
		shaken, _ := p.Conn.(interface{ handshakeOver() })
		if secure, ok := p.Conn.(*tls.Conn); ok {
			shaken, _ = secure.NetConn().(interface{ handshakeOver() })
		}
		s.group.Go(func() {
			defer func() { _ = conn.Close() }()
			if secure, ok := p.Conn.(*tls.Conn); ok && secure.Handshake() != nil {
				return
			}
			if shaken != nil {
				shaken.handshakeOver()
			}
			s.handle(p)
			if secure, ok := p.Conn.(*tls.Conn); ok {
				_ = secure.CloseWrite()
			}
		})
	}
}

// stop ends the target: whatever is still being handled loses its connection.
func (s *target) stop() {
	s.once.Do(func() { close(s.done) })
	_ = s.listener.Close()
	s.mu.Lock()
	for _, p := range s.peers {
		_ = p.raw.Close()
	}
	s.mu.Unlock()
	s.group.Wait()
}

// connections is how many were accepted.
func (s *target) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.peers)
}

// seen counts the bytes and the requests, begun ones included, that reached
// the target; of HTTP/2, those that warmed a connection are left out.
func (s *target) seen() (requests, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.peers {
		if p.frames != nil {
			n, bytes := p.frames.count()
			requests, size = requests+n, size+bytes
			continue
		}
		p.mu.Lock()
		text, total, more := p.seen.String(), p.size, p.more
		p.mu.Unlock()
		size += total
		if text != "" {
			requests += max(1, strings.Count(text, mark)) + more
		}
	}
	return requests, size
}

// url is the target's, as a connection document names it.
func (s *target) url() string {
	scheme := "http"
	if s.tls != nil {
		scheme = "https"
	}
	return scheme + "://" + s.listener.Addr().String() + "/base"
}

// vault resolves secrets from a map, by reference.
type vault map[string]string

func (v vault) Resolve(_ context.Context, workspace, ref string) ([]byte, error) {
	if value, ok := v[workspace+" "+ref]; ok {
		return []byte(value), nil
	}
	return nil, fmt.Errorf("%s: none, %s", ref, canary)
}

// canary stands in every text that must not get out.
const canary = "canary-5e1f0c9ab7"

// carrier makes a Carrier that may reach loopback, with a vault.
func carrier(t testing.TB, change func(*httptarget.Options)) *httptarget.Carrier {
	t.Helper()
	o := httptarget.Options{
		Secrets: vault{}, DigestKey: []byte("0123456789abcdef"), Clock: bootclock.Now,
		AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	}
	if change != nil {
		change(&o)
	}
	c, err := httptarget.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// trusting makes a Carrier trust a test's authority.
func trusting(roots *x509.CertPool) func(*httptarget.Options) {
	return func(o *httptarget.Options) { o.RootCAs = roots }
}

// write is a dispatch of a write.
func write(url string, fresh bool, body []byte, headers ...onefold.Header) onefold.Dispatch {
	return onefold.Dispatch{
		Route:     onefold.Route{Workspace: "acme", Connection: "erp", Revision: 1, URL: url, FreshWrites: fresh},
		Request:   onefold.Frozen{Method: http.MethodPost, Path: "/bills", Headers: headers, Body: body, Timeout: patience},
		Write:     true,
		UserAgent: "onefold/test",
	}
}

// lookup is a dispatch of a look-up.
func lookup(url, path string) onefold.Dispatch {
	d := write(url, true, nil)
	d.Request.Method, d.Request.Path, d.Write = http.MethodGet, path, false
	return d
}

// warm makes one look-up on the route, so that its connection of HTTP/2 is kept.
func warm(t testing.TB, c *httptarget.Carrier, url string) {
	t.Helper()
	base := strings.TrimSuffix(url, "/base")
	d := lookup(url, "/")
	d.Request.Path = "/warm"
	d.Route.URL = base
	if x := c.Carry(t.Context(), d); x.Status != http.StatusOK || !x.Complete {
		t.Fatalf("warming up: %d %s %s", x.Status, x.Failure, x.Detail)
	}
}

// body is a JSON document of about so many bytes; nil for none.
func body(size int) []byte {
	if size == 0 {
		return nil
	}
	return []byte(`{"memo":"` + strings.Repeat("m", size) + `"}`)
}

// key is an identity in the header that standard clients take as permission.
func key(name string) onefold.Header {
	return onefold.Header{Name: name, Value: "0191d1ad-bd5b-4c8a-a77a-5f26a0b7a1f9"}
}

// numbered is a name for a subtest.
func numbered(what string, n int) string { return what + " " + strconv.Itoa(n) }
