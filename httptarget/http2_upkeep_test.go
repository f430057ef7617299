package httptarget

import (
	"bufio"
	"bytes"
	"io"
	"sync"
	"testing"
	"time"
)

// stubborn is a connection that takes so many writes and not one more.
type stubborn struct {
	scripted
	mu     sync.Mutex
	takes  int
	once   sync.Once
	closed chan struct{}
}

func (s *stubborn) Write(p []byte) (int, error) {
	s.mu.Lock()
	s.takes--
	stuck := s.takes < 0
	s.mu.Unlock()
	if stuck {
		<-s.closed
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

func (s *stubborn) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// A target that asks and does not take the answer to it holds nothing up: what
// it answered to the request counts, and its connection is not used again.
func TestUpkeepThatIsNotTakenHoldsNothingUp(t *testing.T) {
	t.Parallel()
	says := appendFrame(nil, frameSettings, 0, 0, nil)
	says = appendFrame(says, framePing, 0, 0, make([]byte, 8))
	says = appendData(appendHead(says, 1, []byte{0x88}, false), 1, []byte("{}"), true)
	conn := &stubborn{scripted: scripted{says: bytes.NewReader(says)}, takes: 3, closed: make(chan struct{})}
	w := &wire{Conn: conn, secure: true}
	l := newLink(poolKey{}, w)
	l.reader = bufio.NewReaderSize(w, bufferSize)
	h := newHTTP2(l)
	l.speaker = h
	if err := h.greet(); err != nil {
		t.Fatal(err)
	}
	c := &Carrier{options: Options{MaxBody: fuzzLimit, Idle: time.Minute}, links: newPool()}
	defer c.links.close()
	m := &message{method: "POST", target: "/", authority: "erp.example"}
	s := c.exchangeOver(t.Context(), l, m, newGate(t.Context(), 0, nil))
	if s.failure != nil || !s.complete || s.status != 200 || s.again {
		t.Errorf("%+v", s)
	}
	select {
	case <-conn.closed:
	default:
		t.Error("the connection is still open")
	}
}
