package httptarget_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold/httptarget"
)

// A gigabyte that is really sent ends where the limit says, over either
// protocol, with or without a length: the target gets rid of a small part of it.
func TestAGigabyteIsNotTaken(t *testing.T) {
	t.Parallel()
	const gigabyte, piece = 1 << 30, 16 << 10
	ca := newAuthority(t)
	text := strings.Repeat("g", piece)
	sent := make(chan int, 1)
	pour := func(write func() error) {
		n := 0
		for ; n < gigabyte && write() == nil; n += piece {
		}
		sent <- n
	}
	plain := func(head string) func(*peer) {
		return whenRead(func(p *peer) {
			p.say(head)
			pour(func() error { _, err := p.Conn.Write([]byte(text)); return err })
		})
	}
	for _, v := range []struct {
		name   string
		config *tls.Config
		handle func(*peer)
	}{
		{"a length", nil, plain(fmt.Sprintf("HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n", gigabyte))},
		{"no length", ca.server(t, nil), plain("HTTP/1.1 201 Created\r\n\r\n")},
		{"a chunk", nil, plain(fmt.Sprintf("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n", gigabyte))},
		{"HTTP/2", ca.http2Only(t), speaks(heardAll(func(k *talk) {
			k.head(201, false, "content-length", fmt.Sprint(gigabyte))
			pour(func() error { return k.framer.WriteData(1, false, []byte(text)) })
		}))},
	} {
		t.Run(v.name, func(t *testing.T) {
			s := serve(t, v.config, v.handle)
			c := carrier(t, trusting(ca.pool))
			x := c.Carry(t.Context(), write(s.url(), true, body(10)))
			if x.Failure != "too_large" || x.Status != http.StatusCreated || x.Complete || x.NotSent || len(x.Body) != httptarget.DefaultMaxBody {
				t.Errorf("status %d, complete %v, %d bytes, failure %q: %s", x.Status, x.Complete, len(x.Body), x.Failure, x.Detail)
			}
			// What the kernels hold on the way is theirs; it is far from a gigabyte.
			if n := <-sent; n > gigabyte/8 {
				t.Errorf("the target got rid of %d bytes", n)
			}
		})
	}
}
