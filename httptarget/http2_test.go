package httptarget_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/httptarget"
)

// fault2 is a fault of a target that speaks HTTP/2.
type fault2 struct {
	name  string
	do    func(*talk)
	whole int
	early bool
}

// faults2 are what a target of HTTP/2 can do to a client, each a thing that
// makes some client send again.
func faults2() []fault2 {
	all := func(do func(*talk)) func(*talk) { return heardAll(do) }
	out := []fault2{
		{name: "answers", do: all(func(k *talk) { k.answer(201, `{"id":"B-1"}`) }), whole: 201},
		{name: "closes after reading", do: all(func(*talk) {})},
		{name: "resets after reading", do: all(func(k *talk) { k.reset() })},
		{name: "closes before reading", do: func(*talk) {}, early: true},
		{name: "resets before reading", do: func(k *talk) { k.reset() }, early: true},
		{name: "half an answer", do: all(func(k *talk) { k.head(201, false, "content-length", "9"); k.data(`{"id`, false) })},
		{name: "half a head", do: all(func(k *talk) {
			_ = k.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: k.stream, BlockFragment: encoded(":status", "201")})
		})},
		{name: "leaves before reading", early: true, do: func(k *talk) { _ = k.framer.WriteGoAway(0, http2.ErrCodeNo, nil); _, _ = k.request() }},
		{name: "leaves before work", do: all(func(k *talk) { _ = k.framer.WriteGoAway(0, http2.ErrCodeNo, nil) })},
		{name: "leaves before work, and stays", do: all(func(k *talk) { _ = k.framer.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, nil); <-k.done })},
		{name: "leaves after work", do: all(func(k *talk) { _ = k.framer.WriteGoAway(k.stream, http2.ErrCodeNo, nil) })},
		{name: "leaves and answers", whole: 201, do: all(func(k *talk) {
			_ = k.framer.WriteGoAway(1<<31-1, http2.ErrCodeNo, []byte("bye"))
			_ = k.framer.WriteGoAway(k.stream, http2.ErrCodeNo, nil)
			k.answer(201, `{"id":"B-1"}`)
		})},
		{name: "pushes", do: all(func(k *talk) {
			_ = k.framer.WritePushPromise(http2.PushPromiseParam{
				StreamID: k.stream, PromiseID: 2, EndHeaders: true, BlockFragment: encoded(":method", "GET", ":scheme", "https", ":authority", "x", ":path", "/"),
			})
			k.answer(201, `{"id":"B-1"}`)
		})},
		{name: "narrow windows, pings and settings", whole: 201, do: func(k *talk) {
			_ = k.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 7}, http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0})
			_ = k.framer.WritePing(false, [8]byte{1})
			_ = k.framer.WriteRawFrame(0xbe, 0xff, k.stream, []byte("an extension"))
			_ = k.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
			if _, err := k.request(); err == nil {
				k.answer(201, `{"id":"B-1"}`)
			}
		}},
	}
	for _, code := range []http2.ErrCode{0, 1, 2, 3, 5, 7, 8, 11, 12, 13, 99} {
		reset := func(k *talk) { _ = k.framer.WriteRSTStream(k.stream, code); <-k.done }
		out = append(out,
			fault2{name: numbered("ends the stream after reading, code", int(code)), do: all(reset)},
			fault2{name: numbered("ends the stream before reading on, code", int(code)), do: func(k *talk) {
				if _, err := k.read(0); err == nil {
					reset(k)
				}
			}},
			fault2{name: numbered("ends the stream within the answer, code", int(code)), do: all(func(k *talk) {
				k.head(201, false)
				k.data(`{"id":`, false)
				reset(k)
			})},
			fault2{name: numbered("leaves before work, code", int(code)), do: all(func(k *talk) { _ = k.framer.WriteGoAway(0, code, nil); <-k.done })},
		)
	}
	for _, status := range []int{301, 302, 303, 307, 308, 408, 421, 425, 429, 503} {
		out = append(out, fault2{name: numbered("answers", status), whole: status, do: all(func(k *talk) {
			k.answer(status, "", "location", "/base/elsewhere", "retry-after", "0")
		})})
	}
	for _, status := range []int{100, 102, 103, 199} {
		out = append(out,
			fault2{name: numbered("interim", status), whole: 201, do: all(func(k *talk) {
				k.head(status, false, "link", "</a>")
				k.head(status, false)
				k.answer(201, `{"id":"B-1"}`)
			})},
			fault2{name: numbered("closes after interim", status), do: all(func(k *talk) { k.head(status, false) })},
		)
	}
	return out
}

// attack2 is attack for a target of HTTP/2.
func attack2(t *testing.T, ca *authority, f fault2, d onefold.Dispatch, warmed bool) {
	t.Helper()
	do := f.do
	if warmed {
		do = afterWarmth2(f.do)
	}
	config := ca.http2Only(t)
	attack(t, fault{name: f.name, do: speaks(do), whole: f.whole, early: f.early}, config, trusting(ca.pool), d, warmed)
}

// The matrix over HTTP/2: whatever a target does, at most one request reaches
// it, and "nothing was sent" is said only where not a byte of one came. A stream
// that was refused, and one that a GOAWAY says was never looked at, are doubt:
// that the target did nothing is its word, and bytes were sent.
//
// Proves: M11
func TestOneAttemptIsAtMostOneRequestOverHTTP2(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	// Without a body, with one, and with one that fills the target's window; keys
	// in the headers that standard clients take as permission to send again.
	writes := []struct {
		method string
		size   int
		key    string
	}{
		{"POST", 0, ""},
		{"POST", 0, "Idempotency-Key"},
		{"POST", 0, "X-Idempotency-Key"},
		{"POST", 200, ""},
		{"POST", 200, "Idempotency-Key"},
		{"POST", 300_000, "Idempotency-Key"},
		{"PUT", 200, "Idempotency-Key"},
		{"PATCH", 200, "Idempotency-Key"},
		{"DELETE", 0, "Idempotency-Key"},
	}
	for _, f := range faults2() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			for _, w := range writes {
				for _, warmed := range []bool{false, true} {
					d := write("", true, body(w.size))
					d.Request.Method = w.method
					if w.key != "" {
						d.Request.Headers = []onefold.Header{key(w.key)}
					}
					t.Run(fmt.Sprintf("%s %d bytes %s warm=%v", w.method, w.size, w.key, warmed), func(t *testing.T) {
						attack2(t, ca, f, d, warmed)
					})
				}
			}
		})
	}
}

// What a target says of a request that it did not process is told in words, and
// judged as everything else that was sent: in doubt.
//
// Proves: M11
func TestATargetsWordThatItDidNothingIsDoubt(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	for name, do := range map[string]func(*talk){
		"REFUSED_STREAM": func(k *talk) { _ = k.framer.WriteRSTStream(k.stream, http2.ErrCodeRefusedStream); <-k.done },
		"NO_ERROR":       func(k *talk) { _ = k.framer.WriteGoAway(0, http2.ErrCodeNo, nil); <-k.done },
	} {
		s := serve(t, ca.http2Only(t), speaks(heardAll(do)))
		x := carrier(t, trusting(ca.pool)).Carry(t.Context(), write(s.url(), true, body(10), key("Idempotency-Key")))
		if x.NotSent || x.Failure != "no_answer" || !strings.Contains(x.Detail, name) || !strings.Contains(x.Detail, "says that it has not processed") {
			t.Errorf("%s: NotSent %v, failure %q: %s", name, x.NotSent, x.Failure, x.Detail)
		}
	}
}

// What goes out over HTTP/2: the same fields in the same order, the credential
// marked as one that nobody may keep in a table, the body as it is.
//
// Proves: M2a
func TestTheRequestAsItStandsInHTTP2(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	var got *heard
	s := serve(t, ca.http2Only(t), speaks(func(k *talk) {
		if got, _ = k.request(); got != nil {
			k.answer(201, `{"id":"B-1"}`)
		}
	}))
	d := write(s.url(), true, []byte(`{"total": 1.10}`),
		onefold.Header{Name: "Content-Type", Value: "application/json"}, key("Idempotency-Key"), onefold.Header{Name: "A", Value: "1"},
		onefold.Header{Name: "Long", Value: strings.Repeat("l", 40_000)})
	d.Request.Path = "/bills%2F7?x=%20&y="
	d.Route.Auth, d.Route.Secrets = onefold.Auth{Scheme: "bearer", Secret: "token"}, map[string]string{"token": "env:T"}
	x := carrier(t, func(o *httptarget.Options) {
		o.RootCAs, o.Secrets = ca.pool, vault{"acme env:T": "s3cret"}
	}).Carry(t.Context(), d)
	s.stop()
	if x.Status != 201 || string(x.Body) != `{"id":"B-1"}` || !x.Complete || x.Failure != "" {
		t.Fatalf("status %d, body %q, failure %q: %s", x.Status, x.Body, x.Failure, x.Detail)
	}
	want := []string{
		":method: POST", ":scheme: https", ":authority: " + s.listener.Addr().String(), ":path: /base/bills%2F7?x=%20&y=",
		"user-agent: onefold/test", "accept-encoding: identity", "content-type: application/json",
		"idempotency-key: 0191d1ad-bd5b-4c8a-a77a-5f26a0b7a1f9", "a: 1", "long: " + strings.Repeat("l", 40_000),
		"authorization: Bearer s3cret", "content-length: 15",
	}
	if !slices.Equal(got.order, want) || string(got.body) != `{"total": 1.10}` {
		t.Errorf("sent:\n%.900q\n%q", got.order, got.body)
	}
	if !strings.Contains(fmt.Sprint(x.Headers), "{Content-Type application/json}") {
		t.Errorf("headers for judging: %v", x.Headers)
	}
}
