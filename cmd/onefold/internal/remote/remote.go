package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// answerTimeout is how long a call may take beside the wait that it asks for.
	answerTimeout = 30 * time.Second
	// maxAnswer bounds what is read of one answer: a page of 200 operations with
	// large metadata is far below it.
	maxAnswer = 64 << 20
)

// Server is an API and the token that it is called with. New makes one; it is
// safe for concurrent use.
type Server struct {
	base      string
	token     string
	userAgent string
	http      *http.Client
}

// New takes the address of a server, http or https, without query and user. An
// empty token calls without one.
func New(address, token, userAgent string) (*Server, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.User != nil || u.Fragment != "" {
		return nil, fmt.Errorf("%q is no address of a server", address)
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute}
	return &Server{base: strings.TrimRight(address, "/"), token: token, userAgent: userAgent, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close ends the connections that are kept unused.
func (s *Server) Close() { s.http.CloseIdleConnections() }

// Request is one call.
type Request struct {
	Method string
	Path   string
	Query  url.Values
	Header http.Header
	Body   []byte // JSON; nil for none
	// Wait is how long the server was asked to wait.
	Wait time.Duration
}

// Reply is an answer below 300. Body is the JSON that the server wrote.
type Reply struct {
	Status int
	Header http.Header
	Body   json.RawMessage
}

// Replayed tells whether a submission found the operation that its key had.
func (r *Reply) Replayed() bool { return r.Header.Get("Idempotent-Replayed") == "true" }

// Problem is a refusal by the server, with all members that it wrote; numbers
// are json.Number.
type Problem struct {
	Status  int
	Members map[string]any
}

// Code is the problem's code.
func (p *Problem) Code() string {
	code, _ := p.Members["code"].(string)
	return code
}

// Error returns code and detail.
func (p *Problem) Error() string {
	return fmt.Sprintf("%v: %v", p.Members["code"], p.Members["detail"])
}

// NoAnswer says that no answer came. Write tells whether the call could have
// changed something: then it is not known whether it did.
type NoAnswer struct {
	Address string
	Write   bool
	Cause   error
}

// Error says from where no answer came, and why.
func (e *NoAnswer) Error() string { return fmt.Sprintf("no answer from %s: %s", e.Address, e.Cause) }

// Unwrap returns the cause.
func (e *NoAnswer) Unwrap() error { return e.Cause }

// ErrForeign says that what answered is no onefold server.
var ErrForeign = errors.New("this is not how an onefold server answers")

// Get reads one thing.
func (s *Server) Get(ctx context.Context, path string, query url.Values) (Reply, error) {
	return s.Call(ctx, Request{Method: http.MethodGet, Path: path, Query: query})
}

// Call makes one call. Errors: *Problem, *NoAnswer, ErrForeign.
func (s *Server) Call(ctx context.Context, q Request) (Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, q.Wait+answerTimeout)
	defer cancel()
	req, err := s.request(ctx, q)
	if err != nil {
		return Reply{}, err
	}
	answer, err := s.http.Do(req)
	if err != nil {
		return Reply{}, s.noAnswer(q, err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return Reply{}, s.noAnswer(q, err)
	}
	return s.read(answer, text)
}

func (s *Server) request(ctx context.Context, q Request) (*http.Request, error) {
	address := s.base + q.Path
	if len(q.Query) > 0 {
		address += "?" + q.Query.Encode()
	}
	var body io.Reader
	if q.Body != nil {
		body = bytes.NewReader(q.Body)
	}
	req, err := http.NewRequestWithContext(ctx, q.Method, address, body)
	if err != nil {
		return nil, fmt.Errorf("the call cannot be made: %w", err)
	}
	for name, values := range q.Header {
		req.Header[name] = values
	}
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", s.userAgent)
	if q.Body != nil {
		req.Header.Set("Content-Type", "application/json")
		// A body that can be had again would let the transport send the call a second
		// time by itself; whoever calls decides that.
		req.GetBody = nil
	}
	return req, nil
}

func (s *Server) noAnswer(q Request, err error) error {
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		err = urlErr.Err
	}
	return &NoAnswer{Address: s.base, Write: q.Method != http.MethodGet, Cause: err}
}

// read takes an answer apart.
func (s *Server) read(answer *http.Response, text []byte) (Reply, error) {
	if answer.StatusCode < 300 {
		if !json.Valid(text) {
			return Reply{}, fmt.Errorf("%w: %s answered with something that is no JSON", ErrForeign, s.base)
		}
		return Reply{Status: answer.StatusCode, Header: answer.Header, Body: bytes.TrimSpace(text)}, nil
	}
	members := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&members); err != nil || members["code"] == nil {
		return Reply{}, fmt.Errorf("%w: %s answered with status %d", ErrForeign, s.base, answer.StatusCode)
	}
	return Reply{}, &Problem{Status: answer.StatusCode, Members: members}
}

// OperationPath is the path of an operation, or of a part of it.
func OperationPath(id string, more ...string) string {
	return "/v1/operations/" + strings.Join(append([]string{url.PathEscape(id)}, more...), "/")
}
