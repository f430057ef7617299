package httptarget

import (
	"bytes"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
)

// endpoint is where a message goes.
type endpoint struct {
	secure bool
	host   string // name or address, without brackets
	port   string
}

// message is one request, and how it stands on the wire in HTTP/1.1. It is whole
// before a connection is asked for: what is sent does not depend on how it is
// sent.
type message struct {
	endpoint  endpoint
	method    string
	authority string // whom it is for: Host
	target    string // path and query
	// fields are all but Host and Connection, in their order.
	fields []field
	body   []byte
	bytes  []byte
	// fresh: over HTTP/2, too, the connection is made for this message and ends
	// with it. Over HTTP/1.1 it always is.
	fresh bool
}

// field is one header field as it goes out.
type field struct {
	name, value string
	secret      bool
}

// framing are the header fields that say where a message ends or what becomes
// of its connection. They are this package's: in a frozen request they could
// make one message look like two.
func isFraming(name string) bool {
	switch strings.ToLower(name) {
	case "host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade",
		"expect", "proxy-connection", "proxy-authorization", "http2-settings":
		return true
	}
	return false
}

// newMessage builds the message of a dispatch. It fails on what cannot stand in
// a request; nothing was sent then.
func newMessage(d *onefold.Dispatch, cred *credential, now func() time.Time) (*message, *failure) {
	base, why := parseBase(d.Route.URL)
	if why != nil {
		return nil, why
	}
	f := &d.Request
	if !isToken(f.Method) || f.Method == http.MethodConnect {
		return nil, failf(failProtocol, "the request's method cannot be sent")
	}
	target, why := joinTarget(base, f.Path)
	if why != nil {
		return nil, why
	}
	if why := checkHeaders(f.Headers, cred); why != nil {
		return nil, why
	}
	draft := signable{method: f.Method, host: base.authority, target: target, headers: f.Headers, body: f.Body}
	extra, why := cred.sign(&draft, now)
	if why != nil {
		return nil, why
	}
	m := &message{
		endpoint: base.endpoint, method: f.Method, authority: draft.host, target: draft.target, body: draft.body,
		fresh: d.Write && d.Route.FreshWrites,
	}
	m.fields = m.gather(d, extra)
	m.bytes = m.write()
	return m, nil
}

// gather puts the fields together: our own, the frozen ones in their order,
// credentials, the body's length.
func (m *message) gather(d *onefold.Dispatch, extra []onefold.Header) []field {
	agent, encoded := d.UserAgent, false
	if agent == "" || !isFieldValue(agent) {
		agent = "onefold"
	}
	for _, h := range d.Request.Headers {
		if strings.EqualFold(h.Name, "User-Agent") {
			agent = h.Value + " " + agent
		}
		encoded = encoded || strings.EqualFold(h.Name, "Accept-Encoding")
	}
	out := []field{{name: "User-Agent", value: agent}}
	if !encoded {
		out = append(out, field{name: "Accept-Encoding", value: "identity"})
	}
	for _, h := range d.Request.Headers {
		if !strings.EqualFold(h.Name, "User-Agent") {
			out = append(out, field{name: h.Name, value: h.Value})
		}
	}
	for _, h := range extra {
		out = append(out, field{name: h.Name, value: h.Value, secret: true})
	}
	if m.body != nil || m.method == http.MethodPost || m.method == http.MethodPut || m.method == http.MethodPatch {
		out = append(out, field{name: "Content-Length", value: strconv.Itoa(len(m.body))})
	}
	return out
}

// write lays the message out for HTTP/1.1.
func (m *message) write() []byte {
	var b bytes.Buffer
	b.Grow(len(m.body) + 1024)
	line := func(name, value string) {
		b.WriteString(name)
		b.WriteString(": ")
		b.WriteString(value)
		b.WriteString("\r\n")
	}
	b.WriteString(m.method + " " + m.target + " HTTP/1.1\r\n")
	line("Host", m.authority)
	line("Connection", "close")
	for _, f := range m.fields {
		line(f.name, f.value)
	}
	b.WriteString("\r\n")
	b.Write(m.body)
	return b.Bytes()
}

// base is a connection's URL, taken apart.
type base struct {
	endpoint  endpoint
	authority string // as it stands in Host
	path      string // escaped, without a slash at its end
}

// parseBase reads a connection's URL. Details do not repeat it: it may hold a
// credential that belongs elsewhere.
func parseBase(text string) (*base, *failure) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, failf(failProtocol, "the connection's url cannot be read")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, failf(failProtocol, "the connection's url is neither http nor https")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.Opaque != "":
		return nil, failf(failProtocol, "the connection's url holds more than host and path")
	}
	host, port := u.Hostname(), u.Port()
	if host == "" || !isVisible(host) || strings.ContainsAny(host, "/\\@?#%") {
		return nil, failf(failProtocol, "the connection's url has no host that can be used")
	}
	b := &base{endpoint: endpoint{secure: u.Scheme == "https", host: strings.ToLower(host), port: port}}
	b.authority = b.endpoint.host
	if strings.Contains(host, ":") {
		b.authority = "[" + b.endpoint.host + "]"
	}
	standard := "80"
	if b.endpoint.secure {
		standard = "443"
	}
	if port == "" {
		b.endpoint.port = standard
	}
	if n, err := strconv.ParseUint(b.endpoint.port, 10, 16); err != nil || n == 0 {
		return nil, failf(failProtocol, "the connection's url has a port that does not exist")
	}
	if b.endpoint.port != standard {
		b.authority += ":" + b.endpoint.port
	}
	b.path = strings.TrimSuffix(u.EscapedPath(), "/")
	return b, nil
}

// joinTarget puts the frozen path behind the connection's own, byte for byte.
// A segment that would lead out of the connection's path is refused: paths are
// made of requests.
func joinTarget(b *base, path string) (string, *failure) {
	if path != "" && path[0] != '/' && path[0] != '?' {
		path = "/" + path
	}
	target := b.path + path
	if target == "" || target[0] == '?' {
		target = "/" + target
	}
	if !isVisible(target) || strings.Contains(target, "#") {
		return "", failf(failProtocol, "the request's path holds what cannot stand in a request line")
	}
	way, _, _ := strings.Cut(target, "?")
	for segment := range strings.SplitSeq(way, "/") {
		plain := strings.ReplaceAll(strings.ToLower(segment), "%2e", ".")
		if plain == "." || plain == ".." {
			return "", failf(failProtocol, "the request's path has a segment of dots")
		}
	}
	return target, nil
}

// checkHeaders holds the frozen fields against what may stand there.
func checkHeaders(headers []onefold.Header, cred *credential) *failure {
	for _, h := range headers {
		switch {
		case !isToken(h.Name):
			return failf(failProtocol, "a header of the request has a name that cannot be sent")
		case !isFieldValue(h.Value):
			return failf(failProtocol, "the header %s has a value that cannot be sent", h.Name)
		case isFraming(h.Name):
			return failf(failProtocol, "the header %s is not the request's to set", h.Name)
		case cred.header != "" && strings.EqualFold(h.Name, cred.header):
			return failf(failProtocol, "the header %s is the credential's", h.Name)
		}
	}
	return nil
}

// isToken says whether s may be a method or a field name (RFC 9110).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

// isFieldValue says whether s may be a field's value: no line breaks, no other
// control characters but the tab.
func isFieldValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// isVisible says whether s holds visible ASCII alone.
func isVisible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}
