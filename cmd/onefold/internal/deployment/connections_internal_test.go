package deployment

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"
)

// Who comes when all places are taken waits, and comes in when one is free.
func TestCallersBeyondTheBoundWait(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	inner, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &bounded{Listener: inner, places: make(chan struct{}, 1), closed: make(chan struct{})}
	accepted := make(chan net.Conn)
	ended := make(chan error, 1)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				ended <- err
				return
			}
			accepted <- conn
		}
	}()
	var callers [2]net.Conn
	for i := range callers {
		if callers[i], err = net.DialTimeout("tcp", inner.Addr().String(), time.Minute); err != nil {
			t.Fatal(err)
		}
		defer callers[i].Close()
	}
	first := <-accepted
	select {
	case <-accepted:
		t.Fatal("two were accepted, one has a place")
	case l.places <- struct{}{}:
		t.Fatal("a place is free that is taken")
	case <-time.After(50 * time.Millisecond):
	}
	// Closing twice gives one place back, not two.
	_ = first.Close()
	_ = first.Close()
	second := <-accepted
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("waiting for a place ended with %v", err)
	}
	_ = second.Close()
}

func TestTheBoundIsPartOfWhatTheProcessMayHave(t *testing.T) {
	t.Parallel()
	n, known := descriptors()
	l := bound(nil)
	b, isBounded := l.(*bounded)
	if known != isBounded || isBounded && (cap(b.places) < leastConnections || cap(b.places) > max(leastConnections, n/share)) {
		t.Errorf("%d descriptors, known %v: %+v", n, known, l)
	}
}
