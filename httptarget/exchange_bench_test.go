package httptarget_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/net/http2"
)

// BenchmarkExchange is one small write and its answer over loopback, at the
// standard server: over HTTP/1.1, each on a connection of its own, plain and TLS,
// and over HTTP/2, on a connection of its own and on a kept one. "kept" is the
// standard client on a connection that it keeps: what a fresh one costs is the
// difference.
func BenchmarkExchange(b *testing.B) {
	ca := newAuthority(b)
	server := func(b *testing.B, config *tls.Config) *httptest.Server {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{"id":"B-1"}`)
		}))
		if s.TLS = config; config == nil {
			s.Start()
		} else {
			s.EnableHTTP2 = config.NextProtos[0] == http2.NextProtoTLS
			s.StartTLS()
		}
		b.Cleanup(s.Close)
		return s
	}
	for _, v := range []struct {
		name   string
		config *tls.Config
		fresh  bool
	}{
		{"HTTP1", nil, true},
		{"HTTP1-TLS", ca.server(b, nil), true},
		{"HTTP2-fresh", ca.http2Only(b), true},
		{"HTTP2-kept", ca.http2Only(b), false},
	} {
		b.Run(v.name, func(b *testing.B) {
			s := server(b, v.config)
			c := carrier(b, trusting(ca.pool))
			d := write(s.URL, v.fresh, body(200), key("Idempotency-Key"))
			b.ReportAllocs()
			for b.Loop() {
				if x := c.Carry(b.Context(), d); x.Status != http.StatusCreated || !x.Complete {
					b.Fatalf("status %d, failure %q: %s", x.Status, x.Failure, x.Detail)
				}
			}
		})
	}
	for name, config := range map[string]*tls.Config{"kept-HTTP1": nil, "kept-HTTP1-TLS": ca.server(b, nil)} {
		b.Run(name, func(b *testing.B) {
			s := server(b, config)
			transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.pool, MinVersion: tls.VersionTLS12}}
			b.Cleanup(transport.CloseIdleConnections)
			text := string(body(200))
			b.ReportAllocs()
			for b.Loop() {
				r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, s.URL, strings.NewReader(text))
				if err != nil {
					b.Fatal(err)
				}
				answer, err := transport.RoundTrip(r)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
			}
		})
	}
}
