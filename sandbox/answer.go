package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sort"
	"strconv"
	"time"
)

// answer is what the sandbox says, whole, before anything is done to it on the way.
type answer struct {
	status  int
	headers map[string]string // beside Content-Type, Content-Length and Date
	body    []byte
}

const jsonType = "application/json"

func jsonAnswer(status int, body []byte) answer {
	return answer{status: status, headers: map[string]string{"Content-Type": jsonType}, body: body}
}

// refusal is the sandbox's error form: a code for programs, a detail for people, and members in pairs of name and value.
func refusal(status int, code, detail string, members ...string) answer {
	content := map[string]string{"code": code, "detail": detail}
	for i := 0; i+1 < len(members); i += 2 {
		content[members[i]] = members[i+1]
	}
	body, err := json.Marshal(content)
	if err != nil {
		panic("sandbox: a refusal has no JSON form: " + err.Error()) // strings always have one
	}
	return jsonAnswer(status, append(body, '\n'))
}

func (a answer) with(name, value string) answer {
	headers := map[string]string{name: value}
	for n, v := range a.headers {
		if _, given := headers[n]; !given {
			headers[n] = v
		}
	}
	a.headers = headers
	return a
}

// bodiless says that the status forbids a body (and Content-Length with it).
func (a answer) bodiless() bool {
	return a.status == http.StatusNoContent || a.status == http.StatusNotModified
}

// write sends the answer and hands it to the kernel. An error means that the client surely has not got all of it.
func (a answer) write(w http.ResponseWriter) error {
	controller := http.NewResponseController(w)
	stop := time.AfterFunc(answerTimeout, func() { _ = controller.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop.Stop()
	for name, value := range a.headers {
		w.Header().Set(name, value)
	}
	if !a.bodiless() {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(a.status)
	if !a.bodiless() {
		if _, err := w.Write(a.body); err != nil {
			return fmt.Errorf("sandbox: answer: %w", err)
		}
	}
	if err := controller.Flush(); err != nil {
		return fmt.Errorf("sandbox: answer: %w", err)
	}
	return nil
}

// wire gives the answer's bytes as HTTP/1.1, promising a body of length bytes and the connection's end, and where the body begins.
func (a answer) wire(length int, at time.Time) (all []byte, head int) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "HTTP/1.1 %d %s\r\n", a.status, http.StatusText(a.status))
	names := make([]string, 0, len(a.headers))
	for name := range a.headers {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Fprintf(&out, "%s: %s\r\n", name, a.headers[name])
	}
	fmt.Fprintf(&out, "Content-Length: %d\r\nDate: %s\r\nConnection: close\r\n\r\n", length, at.UTC().Format(http.TimeFormat))
	head = out.Len()
	out.Write(a.body)
	return out.Bytes(), head
}

// takeOver gives the bare connection. Where there is none to be had, the request is aborted: for the client that, too,
// is a connection that ends without a (whole) answer.
func takeOver(w http.ResponseWriter) net.Conn {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return connection
}

// resetConnection ends the connection with an RST.
func resetConnection(w http.ResponseWriter) {
	connection := takeOver(w)
	if tcp, isTCP := connection.(*net.TCPConn); isTCP {
		_ = tcp.SetLinger(0) // without it the close below is a FIN; it fails only where the connection is gone already
	}
	_ = connection.Close()
}

// closeConnection ends the connection with a FIN after the given bytes, if any: the client can read them all.
func closeConnection(w http.ResponseWriter, last []byte) {
	connection := takeOver(w)
	stop := time.AfterFunc(answerTimeout, func() { _ = connection.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop.Stop()
	_, _ = io.Copy(connection, bytes.NewReader(last)) // the client may be gone: then it has lost even more
	_ = connection.Close()
}
