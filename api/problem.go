package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
)

// problemView is an application/problem+json document (RFC 9457). The first six
// members and request_id are always there, the others where the code's page says
// so.
type problemView struct {
	Type      string       `json:"type" doc:"The page of the code, /problems/<code>."`
	Title     string       `json:"title"`
	Status    int          `json:"status"`
	Detail    string       `json:"detail" doc:"What is wrong with this call."`
	Code      onefold.Code `json:"code"`
	RequestID string       `json:"request_id"`

	Hint        string              `json:"hint,omitempty" doc:"What to do."`
	Claim       string              `json:"claim,omitempty" enum:"none,unchecked" doc:"Of a refused submission (I3a): none, this submission left no claim behind; unchecked, the claim was not looked up, or the submission could not be compared with the operation that has it (operation_id): the key may be known."`
	Pointer     string              `json:"pointer,omitempty" doc:"The member concerned, as a JSON Pointer into the body."`
	Parameter   string              `json:"parameter,omitempty" doc:"The query parameter or header concerned."`
	Offset      *int                `json:"offset,omitempty" doc:"Byte offset into the body."`
	Reason      string              `json:"reason,omitempty"`
	Roles       []onefold.Role      `json:"roles,omitempty" doc:"The roles of which one is needed."`
	Faults      []onefold.Fault     `json:"faults,omitempty"`
	Operation   string              `json:"operation_id,omitempty"`
	Differences []differenceView    `json:"differences,omitempty" doc:"In what the submission differs; values only for those who may read requests, and an absent member has none."`
	Barred      []onefold.Bar       `json:"barred,omitempty"`
	Version     int64               `json:"version,omitempty" doc:"The operation's version now."`
	Changes     []entryView         `json:"changes,omitempty" doc:"What happened since the version that If-Match named, newest last."`
	ExpiredAt   *time.Time          `json:"expired_at,omitempty"`
	State       onefold.State       `json:"state,omitempty"`
	Reference   string              `json:"reference,omitempty"`
	NewKeySafe  *bool               `json:"new_key_safe,omitempty"`
	RetryAdvice onefold.RetryAdvice `json:"retry" doc:"Whether the same request is safe to send again, and whether it can help."`
}

// differenceView is one member in which a repeat differs.
type differenceView struct {
	Pointer   string          `json:"pointer"`
	Accepted  json.RawMessage `json:"accepted,omitempty"`
	Submitted json.RawMessage `json:"submitted,omitempty"`
}

// maxChanges bounds what stale_version tells: the newest changes.
const maxChanges = 20

// panicError is a panic of ours, with where it happened; the log shows it.
type panicError struct {
	value any
	stack string
}

func panicked(value any) error { return &panicError{value, string(debug.Stack())} }

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// unreachable makes store_unavailable of a store's own fault, and leaves
// refusals as they are.
func unreachable(err error) error {
	if _, ok := errors.AsType[*onefold.Error](err); ok || err == nil {
		return err
	}
	e := &onefold.Error{Code: onefold.CodeStoreUnavailable, Message: "the store cannot be reached just now", Cause: err, RetryAfter: time.Second}
	if errors.Is(err, onefold.ErrCommitUnknown) {
		e.Message, e.Hint = "it is not known whether the step was stored", "read before deciding anew"
	}
	return e
}

// domainError finds the domain's error for whatever went wrong: any error that
// is nobody's refusal is internal, and its text is for the log.
func domainError(err error) *onefold.Error {
	if e, ok := errors.AsType[*onefold.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*parameterError](err); ok {
		return e.problem()
	}
	if e, ok := errors.AsType[*permissionError](err); ok {
		return &onefold.Error{Code: onefold.CodeNotPermitted, Message: e.message}
	}
	if e, ok := errors.AsType[*methodError](err); ok {
		return &onefold.Error{Code: onefold.CodeMethodNotAllowed, Message: e.Error()}
	}
	if e, ok := errors.AsType[*bodyError](err); ok {
		return &onefold.Error{Code: onefold.CodeJSONInvalid, Message: e.Error(), Reason: "incomplete", Cause: e.cause}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &onefold.Error{Code: onefold.CodeStoreUnavailable, Message: "the call ended before the store answered", Cause: err, RetryAfter: time.Second}
	}
	if errors.Is(err, onefold.ErrCommitUnknown) {
		return unreachable(err).(*onefold.Error) //nolint:errorlint,forcetypeassert // made just there
	}
	return &onefold.Error{Code: onefold.CodeInternal, Cause: err}
}

// problem makes the answer of a refusal.
func (c *call) problem(err error) *reply {
	p, wait, cause := c.refusal(err, c.route != nil && (c.route.key || c.route.isBatch()))
	c.code, c.cause = p.Code, cause
	rep := &reply{status: p.Status, header: http.Header{}, body: p}
	rep.header.Set("Content-Type", "application/problem+json")
	if method, ok := errors.AsType[*methodError](err); ok {
		rep.header.Set("Allow", method.allowed)
	}
	if p.Code == onefold.CodeUnauthenticated {
		rep.header.Set("WWW-Authenticate", `Bearer realm="onefold"`)
	}
	if wait > 0 {
		rep.header.Set("Retry-After", strconv.Itoa(wait))
	}
	return rep
}

// refusal makes the document of a refusal, the seconds after which the request may
// be sent again (0 where that says nothing), and what is for the log alone. It
// changes nothing of the call.
func (c *call) refusal(err error, submission bool) (p *problemView, wait int, cause error) {
	e := domainError(err)
	known := onefold.ProblemOf(e.Code)
	if known.Status >= http.StatusInternalServerError {
		cause = errors.Join(e, e.Cause)
	}
	p = &problemView{
		Type: "/problems/" + string(known.Code), Title: known.Title, Status: known.Status, Code: known.Code,
		RequestID: c.id, Detail: e.Message, Hint: e.Hint, RetryAdvice: known.Retry,
	}
	if known.Code == onefold.CodeInternal {
		p.Detail, p.Hint = "internal error", "report the request's id if it happens again"
	} else {
		c.describe(p, e)
	}
	if p.Detail == "" {
		p.Detail = known.Meaning
	}
	if submission {
		p.Claim = "unchecked"
		if e.ClaimChecked {
			p.Claim = "none"
		}
	}
	if p.Hint == "" {
		p.Hint = adviceFor(&known, p.Claim)
	}
	if parameter, ok := errors.AsType[*parameterError](err); ok {
		p.Parameter = parameter.name
	}
	if permission, ok := errors.AsType[*permissionError](err); ok {
		p.Roles = permission.roles
	}
	return p, retryAfter(p.Status, e.RetryAfter), cause
}

// adviceFor is the code's advice. That the key was not used is said of a submission
// whose claim was looked up, and of nothing else.
func adviceFor(known *onefold.Problem, claim string) string {
	if claim == "none" {
		return known.Advice
	}
	return strings.TrimSpace(strings.TrimSuffix(known.Advice, onefold.KeyNotUsed))
}

// retryAfter is the value of Retry-After, 0 for none: whole seconds, at least one
// where the status calls for it.
func retryAfter(status int, wait time.Duration) int {
	switch status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		wait = max(wait, time.Second)
	}
	return int(math.Ceil(wait.Seconds()))
}

// describe fills in the members that say where and what.
func (c *call) describe(p *problemView, e *onefold.Error) {
	p.Pointer, p.Offset, p.Reason, p.Faults = e.Pointer, e.Offset, e.Reason, e.Faults
	for _, d := range e.Differences {
		p.Differences = append(p.Differences, differenceView{d.Pointer, d.Accepted, d.Submitted})
	}
	switch e.Code {
	case onefold.CodeKeyExpired:
		p.Operation, p.ExpiredAt = e.Operation, e.ExpiredAt
		if e.State != "" {
			p.State, p.Reference, p.NewKeySafe = e.State, e.Reference, &e.NewKeySafe
		}
	case onefold.CodeBarred:
		p.Operation, p.Barred, p.State, p.Version = e.Operation, e.Bars, e.State, e.Version
	case onefold.CodeStaleVersion:
		p.Operation, p.Version = e.Operation, e.Version
		c.changes(p)
	case onefold.CodeOperationUnknown:
		// Whatever is not there answers alike, whoever asks for what (I5).
		p.Pointer, p.Reason, p.Detail, p.Hint = "", "", "there is no such operation", ""
	case onefold.CodeKeyConflict, onefold.CodeBusinessDuplicate:
		p.Operation = e.Operation
	default:
		if e.Operation != "" {
			p.Operation, p.State, p.Version = e.Operation, e.State, e.Version
		}
	}
}

// changes tells what happened to an operation since the version that the caller
// saw, and who did it.
func (c *call) changes(p *problemView) {
	id := c.path["id"]
	if id == "" || c.version == nil {
		return
	}
	op, err := c.server.ledger.Operation(c.ctx, c.who.workspace, id)
	if err != nil || !c.who.sees(&op) {
		return
	}
	entries, err := c.server.timeline(c.ctx, id)
	if err != nil {
		return
	}
	p.Operation, p.Version, p.State = id, op.Version, op.State
	for i := range entries {
		if entries[i].Version > *c.version {
			p.Changes = append(p.Changes, viewEntry(&entries[i]))
		}
	}
	p.Changes = p.Changes[max(0, len(p.Changes)-maxChanges):]
}
