package httptarget

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// http1 is one connection on which HTTP/1.1 is spoken, for one request. Nothing
// in an answer of HTTP/1.1 says which request it belongs to: it is ours because
// nobody else ever asked anything on the connection.
type http1 struct {
	link *link
	last []byte // the head read last
}

func (h *http1) open(*message) {}

// send writes the message.
func (h *http1) send(m *message, g *gate) error {
	if g.spent() {
		return errSecond
	}
	_, err := h.link.conn.Write(m.bytes)
	return err
}

// keep has nothing to do.
func (h *http1) keep(<-chan struct{}) {}

// farewell is nothing.
func (h *http1) farewell() []byte { return nil }

func (h *http1) head(budget *int) (status int, began bool, err error) {
	h.last, err = readHead(h.link.reader, budget)
	return statusOf(h.last), len(h.last) > 0, err
}

func (h *http1) answer(method string) (*reply, error) {
	source := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(h.last), h.link.reader), bufferSize)
	answer, err := http.ReadResponse(source, &http.Request{Method: method}) //nolint:bodyclose // it reads from the link, whose owner ends it
	if err != nil {
		return nil, err
	}
	if status := statusOf(h.last); status == 0 || status != answer.StatusCode {
		return nil, errNotHTTP // 000 and 099 are three digits and no status
	}
	return &reply{status: answer.StatusCode, fields: answer.Header, body: answer.Body}, nil
}

// again: never. What came behind an answer, or comes later, would be taken for
// the answer to the next request.
func (h *http1) again() bool { return false }

// Reasons why a head could not be read.
var (
	errLongHead = errors.New("head too long")
	errNotHTTP  = errors.New("not HTTP")
)

// readHead reads a head to its empty line, at most budget bytes, which it takes
// what it read from. With an error it returns what there was.
func readHead(r *bufio.Reader, budget *int) ([]byte, error) {
	var head []byte
	first := true
	for line := 0; ; {
		piece, err := r.ReadSlice('\n')
		if len(piece) > *budget {
			return head, errLongHead
		}
		*budget -= len(piece)
		head = append(head, piece...)
		if first && !bytes.HasPrefix(head, []byte("HTTP/1.")) && len(head) >= len("HTTP/1.") {
			return head, errNotHTTP
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return head, err
		}
		if end := head[line:]; !first && (string(end) == "\r\n" || string(end) == "\n") {
			return head, nil
		}
		first, line = false, len(head)
	}
}

// statusOf reads the status out of a head whose first line is whole, 0 if there
// is none.
func statusOf(head []byte) int {
	line, _, whole := bytes.Cut(head, []byte("\n"))
	_, rest, ok := strings.Cut(strings.TrimSuffix(string(line), "\r"), " ")
	if !whole || !ok || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return 0
	}
	code, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	if n, err := strconv.Atoi(code); err == nil && len(code) == 3 && n >= 100 {
		return n
	}
	return 0
}
