package httptarget_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/onefold-dev/onefold/httptarget"
)

// established is the state of a connection that neither side has closed, in the
// kernel's numbers.
const established = 1

// stateOf is the state of a connection as the kernel has it.
func stateOf(t *testing.T, conn *net.TCPConn) uint8 {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var info *unix.TCPInfo
	if inner := raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) }); inner != nil || err != nil {
		t.Fatal(inner, err)
	}
	return info.State
}

// A target that closes the connection, as it was asked to, is the first to do
// so: its kernel holds the ports of the connection, and ours does not run out of
// them. The answer does not wait for it.
func TestTheTargetClosesFirst(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	for name, config := range map[string]*tls.Config{"TCP": nil, "TLS": ca.server(t, nil)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			carried, closes := make(chan struct{}), make(chan error, 1)
			s := serve(t, config, whenRead(func(p *peer) {
				p.say(created)
				<-carried
				// The first end is ours: behind it comes the client's, and no reset.
				_ = p.raw.CloseWrite()
				var rest [1 << 10]byte
				for {
					if _, err := p.raw.Read(rest[:]); err != nil {
						closes <- err
						return
					}
				}
			}))
			c := carrier(t, trusting(ca.pool))
			httptarget.PartPatiently(c)
			if x := c.Carry(t.Context(), write(s.url(), true, body(10))); x.Status != http.StatusCreated || !x.Complete {
				t.Errorf("status %d, failure %q: %s", x.Status, x.Failure, x.Detail)
			}
			s.mu.Lock()
			p := s.peers[0]
			s.mu.Unlock()
			if state := stateOf(t, p.raw); state != established {
				t.Errorf("state %d: the client closed first", state)
			}
			close(carried)
			if err := <-closes; !errors.Is(err, io.EOF) {
				t.Errorf("the client's end: %v", err)
			}
		})
	}
}

// descriptors is how many files this process has open.
func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// Bursts of 64 requests at once, over targets that close as they were asked to
// and over one that never does: what is open meanwhile has a bound, and nothing
// is open afterwards. Not parallel: it counts the files of the process.
func TestBurstsLeaveNothingOpen(t *testing.T) { //nolint:paralleltest // see above
	const burst, rounds = 64, 8
	ca := newAuthority(t)
	for name, v := range map[string]struct {
		config *tls.Config
		handle func(*peer)
		open   int // how many connections may be open after a round, at each end
	}{
		"closes":         {nil, whenRead(func(p *peer) { p.say(created) }), burst},
		"closes, TLS":    {ca.server(t, nil), whenRead(func(p *peer) { p.say(created) }), burst},
		"never closes":   {nil, keeps(created), httptarget.MaxParting + burst},
		"keeps, HTTP/2":  {ca.http2Only(t), speaks(keeps2(nil)), httptarget.MaxParting + burst},
		"says too much":  {nil, keeps(created + created), httptarget.MaxParting + burst},
		"nobody answers": {nil, whenRead(func(*peer) {}), burst},
	} {
		t.Run(name, func(t *testing.T) { //nolint:paralleltest // see above
			before := descriptors(t)
			s := serve(t, v.config, v.handle)
			c := carrier(t, trusting(ca.pool))
			httptarget.PartPatiently(c)
			for round := range rounds {
				var group sync.WaitGroup
				for i := range burst {
					group.Go(func() {
						x := c.Carry(t.Context(), write(s.url(), i%2 == 0, body(10)))
						if (x.Status == 0) != (name == "nobody answers") || x.NotSent {
							t.Errorf("status %d, NotSent %v, failure %q: %s", x.Status, x.NotSent, x.Failure, x.Detail)
						}
					})
				}
				group.Wait()
				if n := descriptors(t) - before; n > 2*v.open+8 {
					t.Errorf("round %d: %d files are open", round, n)
				}
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			s.stop()
			if n := descriptors(t); n > before {
				t.Errorf("%d files are open, %d were before", n, before)
			}
		})
	}
}
