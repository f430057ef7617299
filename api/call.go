package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// call is one request under way.
type call struct {
	server *Server
	r      *http.Request
	ctx    context.Context
	id     string // of the request: req_…
	began  time.Time

	route *route
	path  map[string]string // values of the path's names
	who   principal
	key   string // the caller key, where the route has one
	body  values
	// pieces are the elements of the body's list whose elements are judged apart.
	pieces []piece
	query  parameters
	// version is If-Match's, nil where it was not given.
	version *int64
	// release gives back what the call holds while it is answered; nil for nothing.
	release func()

	// For the log.
	operation string
	code      onefold.Code
	cause     error
	items     int // of a batch
	refused   int // of those
}

// reply is an answer ready to be written.
type reply struct {
	status int
	header http.Header
	// body is encoded as JSON, unless raw is set.
	body any
	raw  []byte
}

// answerJSON is a 200 with a body.
func answerJSON(body any) *reply {
	return &reply{status: http.StatusOK, header: http.Header{}, body: body}
}

// match finds the call's route: not_found, or method_not_allowed with what is.
func (s *Server) match(c *call) error {
	var allowed []string
	segments := strings.Split(c.r.URL.EscapedPath(), "/")
	for i := range s.routes {
		rt := &s.routes[i]
		path, ok := rt.match(segments)
		if !ok {
			continue
		}
		if rt.method == c.r.Method || rt.method == http.MethodGet && c.r.Method == http.MethodHead {
			c.route, c.path = rt, path
			return nil
		}
		allowed = append(allowed, rt.method)
		if rt.method == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
	}
	if allowed != nil {
		return &methodError{allowed: strings.Join(allowed, ", ")}
	}
	return &onefold.Error{Code: onefold.CodeNotFound, Message: "there is nothing at this address"}
}

// methodError is a method_not_allowed with what the address takes.
type methodError struct{ allowed string }

func (e *methodError) Error() string { return "the address takes " + e.allowed }

// match compares segment by segment; a name in braces takes one whole segment.
func (rt *route) match(segments []string) (map[string]string, bool) {
	want := rt.segments
	if len(want) != len(segments) {
		return nil, false
	}
	var path map[string]string
	for i, segment := range segments {
		if want[i] == segment {
			continue
		}
		name, ok := strings.CutPrefix(want[i], "{")
		if !ok {
			return nil, false
		}
		value, err := url.PathUnescape(segment)
		if err != nil || value == "" {
			return nil, false
		}
		if path == nil {
			path = map[string]string{}
		}
		path[strings.TrimSuffix(name, "}")] = value
	}
	return path, true
}

// read takes in body, key, parameters and conditions, in that order.
func (c *call) read(w http.ResponseWriter) error {
	var raw []byte
	var err error
	if c.route.body != nil {
		if raw, err = c.readBody(w); err != nil {
			return err
		}
		if err := c.takeTurn(); err != nil {
			return err
		}
	}
	if c.route.key {
		if c.key, err = identity.ParseKey(c.r.Header.Values("Idempotency-Key")); err != nil {
			return keyProblem(err)
		}
	}
	if c.route.body != nil {
		if c.body, c.pieces, err = c.route.decodeBody(raw); err != nil {
			return err
		}
	}
	if c.route.roles == nil {
		return nil // public pages take any query
	}
	if c.query, err = readParameters(c.r.URL.RawQuery, c.route.query); err != nil {
		return err
	}
	if c.route.ifMatch != noCondition {
		c.version, err = ifMatch(c.r.Header.Values("If-Match"))
	}
	return err
}

// takeTurn waits until the call may be among the few batches that are under way.
func (c *call) takeTurn() error {
	if !c.route.isBatch() {
		return nil
	}
	select {
	case c.server.batches <- struct{}{}:
		c.release = func() { <-c.server.batches }
		return nil
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
}

// isBatch tells whether the route takes many submissions.
func (rt *route) isBatch() bool { return rt.apart() != nil }

// apart is the member whose elements are judged one by one, nil for none.
func (rt *route) apart() *member {
	if i := slices.IndexFunc(rt.body, func(m member) bool { return m.apart }); i >= 0 {
		return &rt.body[i]
	}
	return nil
}

func keyProblem(err error) error {
	wrong, ok := errors.AsType[*identity.KeyError](err)
	if !ok {
		return err
	}
	e := &onefold.Error{Code: onefold.Code(wrong.Code), Message: wrong.Detail, Reason: wrong.Rule, Hint: wrong.Hint}
	if wrong.Code == identity.CodeKeyRequired {
		e.Hint = "choose one key for each intended effect and send it again with every repetition"
	}
	return e
}

// readBody reads a body no further than its limit: too_large, not_json.
func (c *call) readBody(w http.ResponseWriter) ([]byte, error) {
	limit := c.route.maxBody(c.server)
	if c.r.ContentLength > int64(limit) {
		w.Header().Set("Connection", "close")
		c.discard(w)
		return nil, tooLarge("body", limit)
	}
	if c.r.ContentLength == 0 {
		return nil, nil
	}
	if err := c.plainJSON(); err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, c.r.Body, int64(limit)))
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		c.discard(w)
		return nil, tooLarge("body", limit)
	}
	if err != nil {
		return nil, &bodyError{cause: err}
	}
	return raw, nil
}

// tooLarge is the refusal of a body, or of a submission in it, beyond its limit.
func tooLarge(what string, limit int) error {
	return &onefold.Error{Code: onefold.CodeTooLarge, Message: "the " + what + " has at most " + strconv.Itoa(limit) + " bytes"}
}

// What is read of a body that is too long, only to be thrown away: most clients
// write all of it before they read an answer, and a connection that is closed on
// them hides the refusal behind a broken pipe. Longer ones are not waited for.
const (
	maxDiscard     = 8 << 20
	discardTimeout = 2 * time.Second
)

// discard lets a client that sends too much come to the end of it.
func (c *call) discard(w http.ResponseWriter) {
	if c.r.ContentLength > maxDiscard || c.r.Header.Get("Expect") != "" {
		return
	}
	if err := http.NewResponseController(w).SetReadDeadline(c.server.cfg.Now().Add(discardTimeout)); err != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, c.r.Body, maxDiscard)
}

// bodyError is a body that did not arrive whole; there is seldom anybody left to
// tell.
type bodyError struct{ cause error }

func (e *bodyError) Error() string { return "the body did not arrive whole" }
func (e *bodyError) Unwrap() error { return e.cause }

// plainJSON wants a body that is declared as JSON in UTF-8, not compressed.
func (c *call) plainJSON() error {
	notJSON := func(message string) error {
		return &onefold.Error{Code: onefold.CodeNotJSON, Message: message, Hint: "send Content-Type: application/json, and no Content-Encoding"}
	}
	if encodings := c.r.Header.Values("Content-Encoding"); len(encodings) > 1 || len(encodings) == 1 && !strings.EqualFold(encodings[0], "identity") {
		return notJSON("compressed bodies are not taken")
	}
	types := c.r.Header.Values("Content-Type")
	if len(types) != 1 {
		return notJSON("the body is not declared to be JSON")
	}
	media, params, err := mime.ParseMediaType(types[0])
	if err != nil || media != "application/json" {
		return notJSON("the body is not declared to be JSON")
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return notJSON("JSON is UTF-8")
	}
	return nil
}

// decodeBody decodes a body; one whose members are all optional may be left out.
// Of a list whose elements are judged apart there are the pieces alone, as many as
// it has elements.
func (rt *route) decodeBody(raw []byte) (body values, pieces []piece, err error) {
	if len(bytes.TrimSpace(raw)) == 0 && rt.bodyOptional() {
		return values{}, nil, nil
	}
	list := rt.apart()
	if list != nil {
		if pieces, raw, err = split(raw, list); err != nil {
			return nil, nil, err
		}
	}
	v, err := parseBody(raw, "body")
	if err != nil {
		return nil, nil, err
	}
	if body, err = decode(v, rt.body, ""); err != nil {
		return nil, nil, err
	}
	if list != nil && body[list.name].Len() != len(pieces) {
		return nil, nil, fmt.Errorf("api: a list of %d elements was cut into %d", body[list.name].Len(), len(pieces))
	}
	return body, pieces, nil
}

// write sends an answer. What comes after the header cannot be mended any more,
// so the body is complete before.
func (c *call) write(w http.ResponseWriter, rep *reply) {
	body := rep.raw
	if body == nil && rep.body != nil {
		var err error
		if body, err = encode(rep.body); err != nil {
			*rep = *c.problem(err)
			body, _ = encode(rep.body)
		}
		if rep.header.Get("Content-Type") == "" {
			rep.header.Set("Content-Type", "application/json")
		}
	}
	h := w.Header()
	for name, list := range rep.header {
		h[name] = list
	}
	h.Set("Request-Id", c.id)
	h.Set("X-Content-Type-Options", "nosniff")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(rep.status)
	if c.r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// encode writes JSON without the escapes that HTML needs.
func encode(body any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(body); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// log writes the call's line: no key, no body, no query, no header.
func (c *call) log(rep *reply) {
	attributes := []slog.Attr{
		slog.String("request_id", c.id), slog.String("method", c.method()), slog.Int("status", rep.status),
		slog.Float64("duration_ms", float64(c.server.cfg.Now().Sub(c.began))/float64(time.Millisecond)),
	}
	add := func(name, value string) {
		if value != "" {
			attributes = append(attributes, slog.String(name, value))
		}
	}
	if c.route != nil {
		add("route", c.route.path)
	}
	add("workspace", c.who.workspace)
	add("principal", c.who.name)
	add("operation", c.operation)
	add("code", string(c.code))
	if c.items > 0 {
		attributes = append(attributes, slog.Int("items", c.items), slog.Int("refused", c.refused))
	}
	add("trace_id", traceID(c.r.Header.Get("Traceparent")))
	level := slog.LevelInfo
	if rep.status >= http.StatusInternalServerError || c.cause != nil {
		level = slog.LevelError
	}
	if c.cause != nil {
		add("cause", c.cause.Error())
		if stack, ok := errors.AsType[*panicError](c.cause); ok {
			add("stack", stack.stack)
		}
	}
	c.server.cfg.Logger.LogAttrs(c.ctx, level, "call", attributes...)
}

// method is the call's method, or a word for one that nobody knows: it is the
// caller's text.
func (c *call) method() string {
	switch c.r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return c.r.Method
	}
	return "other"
}

// traceID takes the trace's id from a W3C traceparent, "" from anything else.
func traceID(traceparent string) string {
	parts := strings.Split(traceparent, "-")
	if len(parts) < 4 || len(parts[0]) != 2 || parts[0] == "ff" || len(parts[1]) != 32 || len(parts[2]) != 16 {
		return ""
	}
	if strings.Trim(parts[1], "0123456789abcdef") != "" || strings.Trim(parts[1], "0") == "" {
		return ""
	}
	return parts[1]
}
