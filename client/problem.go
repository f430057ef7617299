package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
)

// Problem is a refusal, with the members of its answer that programs look at;
// Raw has all of them. errors.As finds it.
type Problem struct {
	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Status      int             `json:"status"`
	Detail      string          `json:"detail"`
	Code        onefold.Code    `json:"code"`
	RequestID   string          `json:"request_id"`
	Hint        string          `json:"hint"`
	Claim       string          `json:"claim"`
	Pointer     string          `json:"pointer"`
	Parameter   string          `json:"parameter"`
	Offset      *int            `json:"offset"`
	Reason      string          `json:"reason"`
	Faults      []onefold.Fault `json:"faults"`
	Operation   string          `json:"operation_id"`
	Differences []Difference    `json:"differences"`
	Barred      []onefold.Bar   `json:"barred"`
	Version     int64           `json:"version"`
	Changes     []Entry         `json:"changes"`
	State       onefold.State   `json:"state"`
	// Retry tells whether the same request is safe to send again.
	Retry onefold.RetryAdvice `json:"retry"`
	// RetryAfter is the wait that the server asked for, 0 where it did not.
	RetryAfter time.Duration `json:"-"`
	// Raw is the answer's own text; empty where it was no problem document.
	Raw json.RawMessage `json:"-"`
}

// Difference is one member in which a submission differs from the operation that
// has its key; a side that has no such member, or must not be seen, is nil.
type Difference struct {
	Pointer   string          `json:"pointer"`
	Accepted  json.RawMessage `json:"accepted"`
	Submitted json.RawMessage `json:"submitted"`
}

// Error says code, detail and place in one line.
func (p *Problem) Error() string {
	var where []string
	add := func(name, value string) {
		if value != "" {
			where = append(where, name+" "+value)
		}
	}
	add("member", p.Pointer)
	add("parameter", p.Parameter)
	if p.Offset != nil {
		add("byte", strconv.Itoa(*p.Offset))
	}
	text := string(p.Code) + ": " + p.Detail
	if len(where) > 0 {
		text += " (" + strings.Join(where, ", ") + ")"
	}
	return text
}

// Is makes errors.Is(err, onefold.ErrKeyConflict) and its like hold for problems
// of that code.
func (p *Problem) Is(target error) bool {
	e, ok := target.(*onefold.Error) //nolint:errorlint // Is is asked about this one value, not its chain
	return ok && e.Code == p.Code
}

// Exit codes of the command line, as far as they follow from a problem.
const (
	ExitFailed       = 1 // something went wrong that is nobody's refusal
	ExitRefused      = 3 // refused by the rules: conflict, invalid, unsafe
	ExitNotFound     = 4
	ExitNotPermitted = 5
)

// ExitCode is the exit code that a command ends with after the error: 0 for nil.
func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	p, ok := errors.AsType[*Problem](err)
	if !ok {
		return ExitFailed
	}
	switch {
	case p.Status == http.StatusNotFound:
		return ExitNotFound
	case p.Status == http.StatusUnauthorized || p.Status == http.StatusForbidden:
		return ExitNotPermitted
	case p.Code != "" && p.Status >= http.StatusBadRequest && p.Status < http.StatusInternalServerError:
		return ExitRefused
	}
	return ExitFailed
}

// problemOf reads a refusal. An answer that is no problem document, from a proxy
// perhaps, becomes a problem without a code.
func problemOf(reply *http.Response, raw []byte) error {
	p := &Problem{}
	media, _, _ := mime.ParseMediaType(reply.Header.Get("Content-Type"))
	if media != "application/problem+json" || json.Unmarshal(raw, p) != nil || p.Code == "" {
		p = &Problem{Detail: fmt.Sprintf("answered %d, and not as a onefold server does", reply.StatusCode)}
	} else {
		p.Raw = raw
	}
	p.Status = reply.StatusCode
	if s, err := strconv.Atoi(reply.Header.Get("Retry-After")); err == nil && s > 0 {
		p.RetryAfter = time.Duration(s) * time.Second
	}
	return p
}

// Unanswered is a call that may have reached the server and got no whole answer, or
// one that no onefold server gives: a success without the operation that it is about.
// It says nothing about whether the call did what it asked for: a submission is
// sent again with the same key, a decision is read back.
type Unanswered struct {
	// Server is the address that was called, without path and query.
	Server string
	Cause  error
}

// Error says what is not known.
func (e *Unanswered) Error() string {
	why := "the connection failed"
	switch {
	case errors.Is(e.Cause, context.DeadlineExceeded):
		why = "the time was over"
	case errors.Is(e.Cause, context.Canceled):
		why = "the call was canceled"
	}
	if errors.Is(e.Cause, errForeign) {
		return fmt.Sprintf("no answer from %s: %v", e.Server, e.Cause)
	}
	return fmt.Sprintf("no whole answer from %s: %s (%v)", e.Server, why, e.Cause)
}

// Unwrap returns the cause.
func (e *Unanswered) Unwrap() error { return e.Cause }

func unanswered(r *http.Request, err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // its text would repeat the whole address
	}
	return &Unanswered{Server: r.URL.Scheme + "://" + r.URL.Host, Cause: err}
}
