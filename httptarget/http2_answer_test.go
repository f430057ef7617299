package httptarget_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/httptarget"
)

// answers2 are answers of HTTP/2, good and bad, and what is said of them where
// limit bytes of a body are taken.
type answer2 struct {
	name     string
	do       func(*talk)
	failure  string
	body     string
	status   int
	complete bool
}

func answers2(t *testing.T, limit int) []answer2 {
	t.Helper()
	big, bomb := strings.Repeat("b", limit+1), zipped(t, strings.Repeat("0", 8<<20))
	flood := func(write func(*talk) error) func(*talk) {
		return func(k *talk) {
			for range 1 << 16 {
				if write(k) != nil {
					return
				}
			}
		}
	}
	raw := func(kind http2.FrameType, flags http2.Flags, stream uint32, payload string) func(*talk) {
		return func(k *talk) { _ = k.framer.WriteRawFrame(kind, flags, stream, []byte(payload)) }
	}
	return []answer2{
		{"whole", func(k *talk) { k.answer(201, "{}") }, "", "{}", 201, true},
		{"no body", func(k *talk) { k.answer(201, "") }, "", "", 201, true},
		{"an empty last frame", func(k *talk) { k.head(201, false); k.data("{", false); k.data("}", false); k.data("", true) }, "", "{}", 201, true},
		{"padding", func(k *talk) {
			k.head(201, false)
			_ = k.framer.WriteDataPadded(1, true, []byte("{}"), make([]byte, 200))
		}, "", "{}", 201, true},
		{"trailers", func(k *talk) { k.head(201, false); k.data("{}", false); k.block(true, "grpc-status", "0") }, "", "{}", 201, true},
		{"a head in pieces, with a priority", func(k *talk) {
			b := encoded(":status", "201", "etag", `"1"`)
			_ = k.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b[:1], PadLength: 9, Priority: http2.PriorityParam{Weight: 3}})
			_ = k.framer.WriteContinuation(1, false, nil)
			_ = k.framer.WriteContinuation(1, true, b[1:])
			k.data("{}", true)
		}, "", "{}", 201, true},
		{"gzip", func(k *talk) { k.answer(201, zipped(t, "{}"), "content-encoding", "gzip") }, "", "{}", 201, true},
		{"gzip bomb", func(k *talk) { k.answer(201, bomb, "content-encoding", "gzip") }, "too_large", strings.Repeat("0", limit), 201, false},
		{"too long", func(k *talk) { k.answer(201, big) }, "too_large", big[:limit], 201, false},
		{"a gigabyte announced", func(k *talk) { k.head(201, false, "content-length", "1073741824"); k.data("{}", true) }, "cut_body", "{}", 201, false},
		{"shorter than announced", func(k *talk) { k.head(201, false, "content-length", "3"); k.data("{}", true) }, "cut_body", "{}", 201, false},
		{"nothing of what is announced", func(k *talk) { k.head(201, true, "content-length", "3") }, "cut_body", "", 201, false},
		{"longer than announced", func(k *talk) { k.head(201, false, "content-length", "1"); k.data("{}", true) }, "protocol", "", 201, false},
		{"two lengths", func(k *talk) { k.head(201, false, "content-length", "2", "content-length", "3"); k.data("{}", true) }, "protocol", "", 201, false},
		{"a negative length", func(k *talk) { k.head(201, true, "content-length", "-1") }, "protocol", "", 201, false},
		{"a body that cannot be", func(k *talk) { k.head(204, false); k.data("{}", true) }, "protocol", "", 204, false},
		{"two heads", func(k *talk) { k.head(201, false); k.data("{}", false); k.head(200, true) }, "protocol", "{}", 201, false},
		{"trailers without end", func(k *talk) { k.head(201, false); k.block(false, "a", "b") }, "protocol", "", 201, false},
		{"no status", func(k *talk) { k.block(true, "a", "b") }, "protocol", "", 0, false},
		{"a status of two digits", func(k *talk) { k.block(true, ":status", "20") }, "protocol", "", 0, false},
		{"two statuses", func(k *talk) { k.block(true, ":status", "201", ":status", "200") }, "protocol", "", 201, false},
		{"a late status", func(k *talk) { k.block(true, "a", "b", ":status", "201") }, "protocol", "", 0, false},
		{"a request's field", func(k *talk) { k.block(true, ":status", "201", ":path", "/") }, "protocol", "", 201, false},
		{"upper case", func(k *talk) { k.block(true, ":status", "201", "Etag", "1") }, "protocol", "", 201, false},
		{"a line break", func(k *talk) { k.block(true, ":status", "201", "etag", "1\r\nb: c") }, "protocol", "", 201, false},
		{"HTTP/1.1's fields", func(k *talk) { k.block(true, ":status", "201", "transfer-encoding", "chunked") }, "protocol", "", 201, false},
		{"a long head", func(k *talk) {
			b := encoded(":status", "201", "a", strings.Repeat("\x01", httptarget.MaxHead-40), "b", strings.Repeat("b", 100))
			_ = k.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b[:9]})
			for b = b[9:]; len(b) > 16384; b = b[16384:] {
				_ = k.framer.WriteContinuation(1, false, b[:16384])
			}
			_ = k.framer.WriteContinuation(1, true, b)
		}, "too_large", "", 201, false},
		{"a head that unpacks without end", func(k *talk) {
			// One field put into the table, then named again and again, a byte each.
			b := []byte{0x08, 3, '2', '0', '1'}
			b = append(b, 0x40, 1, 'a', 0x7f, 0xa1, 0x1e) // a name, and a value of 4,000 bytes
			b = append(b, bytes.Repeat([]byte{'v'}, 4000)...)
			b = append(b, bytes.Repeat([]byte{0x80 | 62}, 12_000)...)
			_ = k.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b[:16000], EndHeaders: true, EndStream: true})
		}, "too_large", "", 201, false},
		{"continuations without end", func(k *talk) {
			_ = k.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: encoded(":status", "201")})
			flood(func(k *talk) error { return k.framer.WriteContinuation(1, false, nil) })(k)
		}, "protocol", "", 201, false},
		{"pings without end", flood(func(k *talk) error { return k.framer.WritePing(false, [8]byte{}) }), "protocol", "", 0, false},
		{"settings without end", flood(func(k *talk) error { return k.framer.WriteSettings() }), "protocol", "", 0, false},
		{"windows without end", flood(func(k *talk) error { return k.framer.WriteWindowUpdate(0, 1) }), "protocol", "", 0, false},
		{"empty frames without end", func(k *talk) {
			k.head(201, false)
			flood(func(k *talk) error { return k.framer.WriteData(1, false, nil) })(k)
		}, "protocol", "", 201, false},
		{"padding without end", func(k *talk) {
			k.head(201, false)
			flood(func(k *talk) error { return k.framer.WriteDataPadded(1, false, nil, make([]byte, 100)) })(k)
		}, "protocol", "", 201, false},
		{"interim answers without end", flood(func(k *talk) error { k.head(102, false); return nil }), "protocol", "", 0, false},
		{"long interim answers", func(k *talk) {
			for range 12 {
				k.head(103, false, "a", strings.Repeat("a", 8000))
			}
		}, "too_large", "", 0, false},
		{"an interim answer is all", func(k *talk) { k.head(103, true) }, "protocol", "", 0, false},
		{"another protocol", func(k *talk) { k.head(101, true) }, "protocol", "", 101, false},
		{"a body before the head", func(k *talk) { k.data("{}", true) }, "protocol", "", 0, false},
		{"an answer to another", func(k *talk) { k.stream = 3; k.answer(201, "{}") }, "protocol", "", 0, false},
		{"a body of another", func(k *talk) { k.head(201, false); k.stream = 3; k.data("{}", true) }, "protocol", "", 201, false},
		{"a push", func(k *talk) {
			_ = k.framer.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, EndHeaders: true, BlockFragment: encoded(":method", "GET")})
			k.answer(201, "{}")
		}, "protocol", "", 0, false},
		{"more than it may", func(k *talk) {
			k.head(201, false)
			for range 80 {
				_ = k.framer.WriteData(1, false, make([]byte, 16384))
			}
		}, "too_large", strings.Repeat("\x00", limit), 201, false},
		{"a frame that is too long", func(k *talk) {
			k.head(201, false)
			_, _ = k.Conn.Write([]byte{0x10, 0, 0, 0, 0, 0, 0, 0, 1})
		}, "protocol", "", 201, false},
		{"padding longer than its frame", raw(http2.FrameData, http2.FlagDataPadded, 1, "\x05ab"), "protocol", "", 0, false},
		{"no code", raw(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1, "\xff\xff\xff\xff\xff\xff"), "protocol", "", 0, false},
		{"a reset of nothing", raw(http2.FrameRSTStream, 0, 7, "\x00\x00\x00\x00"), "protocol", "", 0, false},
		{"half a ping", raw(http2.FramePing, 0, 0, "\x00"), "protocol", "", 0, false},
		{"half a farewell", raw(http2.FrameGoAway, 0, 0, "\x00"), "protocol", "", 0, false},
		{"settings of a stream", raw(http2.FrameSettings, 0, 1, ""), "protocol", "", 0, false},
		{"settings that cannot be", raw(http2.FrameSettings, 0, 0, "\x00\x05\x00\x00\x00\x01"), "protocol", "", 0, false},
		{"a window that cannot be", raw(http2.FrameWindowUpdate, 0, 0, "\x7f\xff\xff\xff"), "protocol", "", 0, false},
		{"no window", raw(http2.FrameWindowUpdate, 0, 1, "\x00\x00\x00\x00"), "protocol", "", 0, false},
		{"a continuation of nothing", raw(http2.FrameContinuation, 4, 1, ""), "protocol", "", 0, false},
		{"HTTP/1.1", func(k *talk) { k.say(created) }, "protocol", "", 0, false},
	}
}

// How much of an answer of HTTP/2 is taken, and what is said of it: as of one of
// HTTP/1.1. A target that does not keep to the protocol, floods, or sends what
// nobody asked for leaves a doubt, and a status that was read is told.
func TestHowAnAnswerEndsInHTTP2(t *testing.T) {
	t.Parallel()
	const limit = 1000
	ca := newAuthority(t)
	for _, c := range answers2(t, limit) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, ca.http2Only(t), speaks(heardAll(c.do)))
			x := carrier(t, func(o *httptarget.Options) { o.MaxBody, o.RootCAs = limit, ca.pool }).Carry(t.Context(), write(s.url(), true, body(10)))
			if x.Failure != c.failure || x.Status != c.status || x.Complete != c.complete || x.NotSent {
				t.Errorf("status %d, complete %v, failure %q, NotSent %v: %s", x.Status, x.Complete, x.Failure, x.NotSent, x.Detail)
			}
			if string(x.Body) != c.body {
				t.Errorf("body %.80q, want %.80q", x.Body, c.body)
			}
			s.stop()
			if requests, _ := s.seen(); requests != 1 {
				t.Errorf("%d requests", requests)
			}
		})
	}
}

// A connection on which HTTP/2 could not be begun is none: nothing was sent, and
// the target saw nothing of a request.
func TestHTTP2ThatIsNotBegunSendsNothing(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	strict := ca.http2Only(t)
	strict.ClientAuth, strict.MinVersion = tls.RequireAnyClientCert, tls.VersionTLS13
	stall := func(o *httptarget.Options) { o.TLSTimeout = short }
	for _, c := range []struct {
		name, failure, says string
		config              *tls.Config
		change              carrierChange
		handle              func(*peer)
	}{
		{name: "it says nothing", failure: "connect", says: "while HTTP/2 was begun", change: stall, handle: func(p *peer) { <-p.done }},
		{name: "it closes", failure: "connect", says: "closed it", handle: func(*peer) {}},
		{name: "it resets", failure: "connect", says: "reset", handle: func(p *peer) { _, _ = p.reader.Peek(1); p.reset() }},
		{name: "it leaves", failure: "connect", says: "settings", handle: func(p *peer) { _ = http2.NewFramer(p.Conn, nil).WriteGoAway(0, 0, nil) }},
		{name: "it speaks HTTP/1.1", failure: "connect", says: "HTTP/2 cannot be spoken", handle: func(p *peer) { p.say(created) }},
		{
			name: "it takes no stream", failure: "connect", says: "takes no request",
			handle: speaks(func(k *talk) { <-k.done }, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 0}),
		},
		{name: "TLS 1.3 wants a client certificate", failure: "tls", says: "alert", config: strict, handle: func(*peer) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.config == nil {
				c.config = ca.http2Only(t)
			}
			s := serve(t, c.config, c.handle)
			x := carrier(t, func(o *httptarget.Options) {
				o.RootCAs = ca.pool
				if c.change != nil {
					c.change(o)
				}
			}).Carry(t.Context(), write(s.url(), true, body(10), key("Idempotency-Key")))
			if !x.NotSent || x.Failure != c.failure || !strings.Contains(x.Detail, c.says) || x.Evidence.BytesOut != 0 {
				t.Errorf("NotSent %v, failure %q, %d bytes out: %s", x.NotSent, x.Failure, x.Evidence.BytesOut, x.Detail)
			}
			s.stop()
			if requests, size := s.seen(); requests != 0 || size != 0 {
				t.Errorf("%d requests, %d bytes", requests, size)
			}
		})
	}
}

// Each part of an exchange over HTTP/2 has its own end, too: a target that never
// opens its window, that answers nothing, or that stops within its answer.
func TestEveryStallEndsInHTTP2(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	first := func(o *httptarget.Options) { o.FirstByteTimeout = short }
	for _, c := range []struct {
		name    string
		do      func(*talk)
		change  carrierChange
		timeout time.Duration
		status  int
	}{
		{name: "it opens no window", do: func(k *talk) { _, _ = k.read(1); <-k.done }, change: first},
		{name: "it opens no window, whole", do: func(k *talk) { _, _ = k.read(1); <-k.done }, timeout: 3 * time.Second},
		{name: "nobody reads", do: func(k *talk) { <-k.done }, change: first},
		{name: "first byte", do: heardAll(func(k *talk) { <-k.done }), change: first},
		{name: "interim answers do not stretch it", do: heardAll(func(k *talk) { k.head(102, false); <-k.done }), change: first},
		{name: "pings do not stretch it", do: heardAll(func(k *talk) {
			ticker := time.NewTicker(5 * time.Millisecond)
			defer ticker.Stop()
			for range ticker.C {
				if k.framer.WritePing(false, [8]byte{}) != nil {
					return
				}
			}
		}), change: first},
		{name: "within the head", do: heardAll(func(k *talk) {
			_ = k.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: encoded(":status", "201")})
			<-k.done
		}), change: first, status: 201},
		{
			name: "within the body", do: heardAll(func(k *talk) { k.head(201, false); k.data("{", false); <-k.done }), status: 201,
			change: func(o *httptarget.Options) { o.BodyTimeout = short },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, ca.http2Only(t), speaks(c.do))
			d := write(s.url(), true, body(8<<20))
			if c.timeout != 0 {
				d.Request.Timeout = c.timeout
			} else if c.status != 0 || strings.Contains(c.name, "stretch") || c.name == "first byte" {
				d.Request.Body = body(10)
			}
			x := carrier(t, func(o *httptarget.Options) {
				o.RootCAs = ca.pool
				if c.change != nil {
					c.change(o)
				}
			}).Carry(t.Context(), d)
			if x.Failure != "timeout" || x.Status != c.status || x.NotSent || x.Complete || x.Evidence.BytesOut == 0 {
				t.Errorf("NotSent %v, status %d, complete %v, failure %q: %s", x.NotSent, x.Status, x.Complete, x.Failure, x.Detail)
			}
			if x.Evidence.Took < short-10*time.Millisecond || x.Evidence.Took > patience/2 {
				t.Errorf("it took %v", x.Evidence.Took)
			}
		})
	}
}

// A server of another make: bodies that are longer than every window, both ways,
// look-ups that share a connection, and a fresh connection where one is wanted.
func TestHTTP2WithTheStandardServer(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	var connections, requests atomic.Int64
	page := strings.Repeat("p", 3<<20)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.ProtoMajor != 2 {
			w.WriteHeader(http.StatusHTTPVersionNotSupported)
			return
		}
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, page)
			return
		}
		sum := sha256.New()
		n, _ := io.Copy(sum, r.Body)
		if n != r.ContentLength {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, hex.EncodeToString(sum.Sum(nil)))
	}))
	server.TLS = ca.http2Only(t)
	server.EnableHTTP2 = true
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	c := carrier(t, func(o *httptarget.Options) { o.RootCAs, o.MaxBody, o.Idle = ca.pool, 4<<20, time.Minute })
	d := lookup(server.URL, "/page")
	for range 3 {
		if x := c.Carry(t.Context(), d); string(x.Body) != page || !x.Complete || x.Failure != "" {
			t.Fatalf("status %d, %d bytes, failure %q: %s", x.Status, len(x.Body), x.Failure, x.Detail)
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections for three look-ups", n)
	}
	for _, size := range []int{0, 1, 70_000, 5 << 20} {
		d := write(server.URL, true, body(size), key("Idempotency-Key"))
		sum := sha256.Sum256(d.Request.Body)
		if x := c.Carry(t.Context(), d); x.Status != http.StatusCreated || string(x.Body) != hex.EncodeToString(sum[:]) || !x.Complete {
			t.Errorf("%d bytes: status %d, body %.80q, failure %q: %s", size, x.Status, x.Body, x.Failure, x.Detail)
		}
	}
	if n, m := connections.Load(), requests.Load(); n != 5 || m != 7 {
		t.Errorf("%d connections, %d requests", n, m)
	}
}

// An answer before the end of the request ends the sending; the rest is not sent.
func TestAnAnswerBeforeTheEndOfTheRequestInHTTP2(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	s := serve(t, ca.http2Only(t), speaks(func(k *talk) {
		if _, err := k.read(0); err == nil {
			k.answer(413, `{"code":"too_large"}`)
			_ = k.framer.WriteRSTStream(1, http2.ErrCodeNo)
			<-k.done
		}
	}))
	x := carrier(t, trusting(ca.pool)).Carry(t.Context(), write(s.url(), false, body(32<<20)))
	s.stop()
	if requests, size := s.seen(); requests != 1 || size >= 1<<20 || x.NotSent || x.Status != 413 || !x.Complete || x.Failure != "" {
		t.Errorf("%d requests, %d bytes, NotSent %v, status %d, failure %q: %s", requests, size, x.NotSent, x.Status, x.Failure, x.Detail)
	}
}

// A look-up by GET whose used connection is taken away is asked once more, on a
// new one; a write is not, whatever the target says of it.
//
// Proves: M11
func TestOnlyALookupIsAskedAgainInHTTP2(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	for _, v := range []struct {
		name     string
		d        func(url string) onefold.Dispatch
		requests int
	}{
		{"look-up", func(url string) onefold.Dispatch { return lookup(url, "/bills") }, 2},
		{"write", func(url string) onefold.Dispatch { return write(url, false, body(10), key("Idempotency-Key")) }, 1},
	} {
		for name, do := range map[string]func(*talk){
			"refused": func(k *talk) { _ = k.framer.WriteRSTStream(k.stream, http2.ErrCodeRefusedStream) },
			"left":    func(k *talk) { _ = k.framer.WriteGoAway(k.stream-2, http2.ErrCodeNo, nil) },
		} {
			t.Run(v.name+" "+name, func(t *testing.T) {
				t.Parallel()
				s := serve(t, ca.http2Only(t), func(p *peer) {
					if p.number > 0 {
						speaks(heardAll(func(k *talk) { k.answer(200, `{"items":[]}`) }))(p)
						return
					}
					speaks(afterWarmth2(heardAll(func(k *talk) { do(k); <-k.done })))(p)
				})
				c := carrier(t, trusting(ca.pool))
				warm(t, c, s.url())
				x := c.Carry(t.Context(), v.d(s.url()))
				if got := x.Status == http.StatusOK && x.Complete; got != (v.requests == 2) || x.NotSent {
					t.Errorf("status %d, failure %q: %s", x.Status, x.Failure, x.Detail)
				}
				s.stop()
				if requests, _ := s.seen(); requests != v.requests {
					t.Errorf("%d requests", requests)
				}
			})
		}
	}
}
