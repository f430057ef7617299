package httptarget_test

import (
	"net"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/onefold-dev/onefold/httptarget"
)

// fullListener is a port at which somebody listens and nobody accepts, and at
// which no more connections find room: the kernel leaves those unanswered.
func fullListener(t *testing.T) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(name.(*unix.SockaddrInet4).Port))
	for range 16 {
		conn, err := (&net.Dialer{Timeout: short}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			return address
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	t.Fatal("the listener is never full")
	return ""
}

// A connection that is never answered ends with its own time, or with the
// request's, and nothing was sent: to a target and to a proxy alike.
func TestAConnectionThatIsNeverAnsweredSendsNothing(t *testing.T) {
	t.Parallel()
	address := fullListener(t)
	u, err := httptarget.ParseProxy("http://" + address)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*httptarget.Options){
		"connect":        func(o *httptarget.Options) { o.ConnectTimeout = short },
		"connect, whole": func(*httptarget.Options) {},
		"proxy":          func(o *httptarget.Options) { o.ConnectTimeout, o.Proxy = short, u },
	} {
		for _, scheme := range []string{"http://", "https://"} {
			d := write(scheme+address, true, body(10), key("Idempotency-Key"))
			d.Request.Timeout = long
			x := carrier(t, change).Carry(t.Context(), d)
			if !x.NotSent || x.Failure != "connect" || x.Evidence.BytesOut != 0 || x.Evidence.Took > patience/2 {
				t.Errorf("%s over %s NotSent %v, failure %q after %v: %s", name, scheme, x.NotSent, x.Failure, x.Evidence.Took, x.Detail)
			}
		}
	}
}
