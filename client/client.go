package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// DefaultTimeout bounds a call without waiting: far above what a healthy server
	// takes, below a person's patience.
	DefaultTimeout = 30 * time.Second
	// MaxWait is the longest wait that a server grants.
	MaxWait = 60 * time.Second
	// maxAnswer is the longest answer that is read: the results of a batch of 1,000,
	// each an operation with full metadata, fit.
	maxAnswer = 32 << 20
)

// Options say which server, and as whom.
type Options struct {
	// Server is the address, such as http://127.0.0.1:7411; a path in it is kept
	// in front of every call's own.
	Server string
	Token  string
	// Timeout bounds each call beside what it waits; 0 is DefaultTimeout.
	Timeout time.Duration
	// Transport carries the calls; nil is a fresh one with the standard library's
	// settings.
	Transport http.RoundTripper
	// UserAgent names the program; empty is "onefold-client".
	UserAgent string
}

// Client makes calls to one server. It is safe for concurrent use.
type Client struct {
	base    *url.URL
	token   string
	timeout time.Duration
	agent   string
	http    *http.Client
}

// New makes a client. It makes no call.
func New(o Options) (*Client, error) {
	base, err := url.Parse(o.Server)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("client: the server is an address such as http://127.0.0.1:7411")
	}
	if base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, errors.New("client: the server's address has neither a user nor a query")
	}
	if strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("client: the token holds characters that no token has")
	}
	c := &Client{base: base, token: o.Token, timeout: o.Timeout, agent: o.UserAgent}
	if c.timeout <= 0 {
		c.timeout = DefaultTimeout
	}
	if c.agent == "" {
		c.agent = "onefold-client"
	}
	transport := o.Transport
	if transport == nil {
		transport = http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert,errcheck // the standard library's own
	}
	c.http = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// Close lets go of connections that are kept for later calls.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// request is one call to be made.
type request struct {
	method string
	path   []string // segments, escaped here
	query  url.Values
	header http.Header
	body   any // nil for none; a rawBody is JSON already
	wait   time.Duration
}

// answer is what came back of a call that succeeded.
type answer struct {
	server string // its address, without path and query
	status int
	header http.Header
	raw    []byte
}

// do makes one call. Errors: *Problem, *Unanswered, or one that says that the
// call could not even be written.
func (c *Client) do(ctx context.Context, r request) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout+r.wait)
	defer cancel()
	made, err := c.build(ctx, r)
	if err != nil {
		return nil, err
	}
	reply, err := c.http.Do(made)
	if err != nil {
		return nil, unanswered(made, err)
	}
	defer reply.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(reply.Body, maxAnswer+1))
	if err == nil && len(raw) > maxAnswer {
		err = errors.New("the answer is too long")
	}
	if err != nil {
		return nil, unanswered(made, err)
	}
	if reply.StatusCode >= http.StatusOK && reply.StatusCode < http.StatusMultipleChoices {
		return &answer{c.base.Scheme + "://" + c.base.Host, reply.StatusCode, reply.Header, raw}, nil
	}
	return nil, problemOf(reply, raw)
}

func (c *Client) build(ctx context.Context, r request) (*http.Request, error) {
	segments := make([]string, len(r.path))
	for i, s := range r.path {
		segments[i] = url.PathEscape(s)
	}
	address := *c.base
	address.RawQuery = r.query.Encode()
	address.RawPath = strings.TrimSuffix(c.base.EscapedPath(), "/") + "/" + strings.Join(segments, "/")
	path, err := url.PathUnescape(address.RawPath)
	if err != nil {
		return nil, fmt.Errorf("client: the address of the call: %w", err)
	}
	address.Path = path
	var body io.Reader
	if r.body != nil {
		raw, err := written(r.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(raw)
	}
	made, err := http.NewRequestWithContext(ctx, r.method, address.String(), body)
	if err != nil {
		return nil, fmt.Errorf("client: the call cannot be made: %w", err)
	}
	for name, list := range r.header {
		made.Header[name] = list
	}
	if body != nil {
		made.Header.Set("Content-Type", "application/json")
	}
	made.Header.Set("Accept", "application/json")
	made.Header.Set("User-Agent", c.agent)
	if c.token != "" {
		made.Header.Set("Authorization", "Bearer "+c.token)
	}
	return made, nil
}

// rawBody is a body that is sent byte for byte.
type rawBody []byte

// written writes a value as JSON, without the escapes that HTML needs: a request
// is kept as its caller wrote it (I13).
func written(body any) ([]byte, error) {
	if raw, ok := body.(rawBody); ok {
		return raw, nil
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(body); err != nil {
		return nil, fmt.Errorf("client: the body of the call cannot be written: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// get makes a call that reads a T.
func get[T any, P keeper[T]](ctx context.Context, c *Client, wait time.Duration, query url.Values, path ...string) (T, error) {
	return read[T, P](c.do(ctx, request{method: http.MethodGet, path: path, query: query, wait: wait}))
}

// post makes a call that acts and answers with a T.
func post[T any, P keeper[T]](ctx context.Context, c *Client, query url.Values, body any, path ...string) (T, error) {
	return read[T, P](c.do(ctx, request{method: http.MethodPost, path: path, query: query, body: body}))
}

func read[T any, P keeper[T]](a *answer, err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return decoded[T, P](a)
}

// keeper is a pointer to a value that keeps the text it was decoded from.
type keeper[T any] interface {
	*T
	keep(raw json.RawMessage)
}

// decoded reads an answer's JSON; members that are not known stay in Raw. A success
// that says something else than a server does is none: *Unanswered.
func decoded[T any, P keeper[T]](a *answer) (T, error) {
	var out T
	if media, _, _ := mime.ParseMediaType(a.header.Get("Content-Type")); media != "application/json" {
		return out, a.foreign("status %d with %q in place of JSON", a.status, media)
	}
	if err := json.Unmarshal(a.raw, &out); err != nil {
		return out, a.foreign("status %d with JSON that cannot be read: %w", a.status, err)
	}
	if s, ok := any(&out).(sounder); ok && !s.sound() {
		var none T
		return none, a.foreign("status %d with JSON that does not say what was asked for", a.status)
	}
	P(&out).keep(a.raw)
	return out, nil
}

// seconds is a wait as the interface takes it, rounded up and at most MaxWait.
func seconds(wait time.Duration) int {
	return int((min(wait, MaxWait) + time.Second - 1) / time.Second)
}

// set puts a parameter into a query unless it is empty.
func set(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

func setTime(q url.Values, name string, t *time.Time) {
	if t != nil {
		q.Set(name, t.UTC().Format(time.RFC3339Nano))
	}
}

func setLimit(q url.Values, limit int) {
	if limit != 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
}
