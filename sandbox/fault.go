package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Kind says what goes wrong. The package documentation describes each kind in full.
type Kind string

// The kinds of fault.
const (
	DropAfterEffect Kind = "drop_after_effect" // handled, then the connection is reset (RST) without an answer
	DropBefore      Kind = "drop_before"       // read, then the connection is closed; nothing is handled
	Delay           Kind = "delay"             // waits before handling, before answering, or both
	Cut             Kind = "cut"               // handled; the answer ends after Bytes bytes
	Status          Kind = "status"            // another status, with or without the effect
	HTML            Kind = "html"              // a page instead of JSON, with or without the effect
	WrongLength     Kind = "wrong_length"      // handled; Content-Length promises more than is sent
	Twice           Kind = "twice"             // an intermediary delivers the request a second time
	Unauthorized    Kind = "unauthorized"      // 401, with or without the effect
	Lag             Kind = "lag"               // handled; the effect stays invisible to look-ups for a while
	Hang            Kind = "hang"              // no answer until the client goes away, with or without the effect
	Redirect        Kind = "redirect"          // 307 to the very same address, with or without the effect
	Accept          Kind = "accept"            // handled; 202 now, and settled, failed or neither later
)

// Kinds lists every kind, in the order of the documentation.
func Kinds() []Kind {
	return []Kind{
		DropAfterEffect, DropBefore, Delay, Cut, Status, HTML, WrongLength, Twice, Unauthorized, Lag, Hang, Redirect,
		Accept,
	}
}

// CutOf says from where Fault.Bytes counts.
type CutOf string

// The two places from which a cut counts.
const (
	OfResponse CutOf = "response" // from the first byte of the status line
	OfBody     CutOf = "body"     // from the first byte of the body; the head arrives whole
)

// Limits of faults. They keep a slip in a test from occupying the sandbox for ever.
const (
	MaxQueuedFaults = 1000                // each request looks through all that are queued
	MaxFaultTimes   = 1_000_000           // more than any run sends
	MaxFaultWait    = time.Hour           // Before and After: longer than any time-out worth testing
	MaxFaultLag     = 30 * 24 * time.Hour // Lag: longer than any window worth testing
	MaxFaultBytes   = 1 << 20             // Bytes: as large as an answer of the sandbox
	MaxFaultHeaders = 16                  // Headers: an answer's head stays small
	maxFaultText    = 1024                // a match member or a header's value
	defaultTooLong  = 64                  // how much wrong_length promises too much where Bytes is 0
)

// Fault is one planned misbehaviour. A request takes the oldest queued fault that matches it, and only that one.
//
// Method, Path, ExternalRef and IdempotencyKey say which requests match: all that are set must be equal. Method ""
// means POST, so that a fault with none of them takes the next write. Path is the request's path, with its account
// prefix and without its query; ExternalRef is the body's member, or the query's in a look-up.
//
// The zero value of every other member means its default; a member that means nothing for the kind is refused.
type Fault struct {
	ID             string            // given by the sandbox ("F-1"); must be empty when a fault is added
	Kind           Kind              // required
	Method         string            // GET or POST
	Path           string            //
	ExternalRef    string            //
	IdempotencyKey string            //
	Times          int               // how many requests it takes; 0 means 1
	Before         time.Duration     // every kind: wait after the request is read and logged, before it is handled
	After          time.Duration     // every kind: wait after the effect is committed, before the answer
	Lag            time.Duration     // kinds that handle a write: look-up lag of its effects, instead of the sandbox's
	Effect         bool              // status, html, unauthorized, hang, redirect: handle the request first
	Status         int               // status: required, 200–599; html: 200 by default
	Body           string            // status, html: the body to send instead of the built-in one
	Headers        map[string]string // status, html: further headers, such as Retry-After
	Bytes          int               // cut: bytes that still arrive; wrong_length: bytes that never come (default 64)
	Of             CutOf             // cut: where Bytes counts from; OfResponse by default
	Settle         time.Duration     // accept: how long until it ends; 0 means at once
	Ends           Ending            // accept: what becomes of it; Settles by default
	Protected      bool              // twice: the second delivery obeys idempotency keys and unique references
}

// FaultError refuses a fault. Member is a JSON Pointer into what was given ("" for the whole); Detail says what is wrong.
type FaultError struct {
	Member string
	Detail string
}

// Error gives the place and what is wrong there.
func (e *FaultError) Error() string {
	if e.Member == "" {
		return "sandbox: fault: " + e.Detail
	}
	return "sandbox: fault: " + e.Member + ": " + e.Detail
}

func faultError(member, format string, arguments ...any) error {
	return &FaultError{Member: "/" + member, Detail: fmt.Sprintf(format, arguments...)}
}

// effectOptional says that Fault.Effect decides whether the request is handled under this kind.
func (k Kind) effectOptional() bool {
	return slices.Contains([]Kind{Status, HTML, Unauthorized, Hang, Redirect}, k)
}

// handles says whether the request reaches the ledger: always, unless the fault keeps it away.
func (f Fault) handles() bool {
	if f.Kind.effectOptional() {
		return f.Effect
	}
	return f.Kind != DropBefore
}

// check refuses a fault that could not do what it says, and fills in the defaults.
func (f Fault) check() (Fault, error) {
	if f.ID != "" {
		return f, faultError("id", "is given by the sandbox")
	}
	if !slices.Contains(Kinds(), f.Kind) {
		return f, faultError("kind", "is %q; known are %v", f.Kind, Kinds())
	}
	if f.Method == "" {
		f.Method = http.MethodPost
	}
	if f.Times == 0 {
		f.Times = 1
	}
	if f.Kind == Cut && f.Of == "" {
		f.Of = OfResponse
	}
	if f.Kind == WrongLength && f.Bytes == 0 {
		f.Bytes = defaultTooLong
	}
	if f.Kind == HTML && f.Status == 0 {
		f.Status = http.StatusOK
	}
	if f.Kind == Accept && f.Ends == "" {
		f.Ends = Settles
	}
	return f, errors.Join(f.checkMatch(), f.checkTimes(), f.checkAnswer(), f.checkSettlement())
}

func (f Fault) checkMatch() error {
	if f.Method != http.MethodPost && f.Method != http.MethodGet {
		return faultError("method", "is %q; a fault takes POST or GET", f.Method)
	}
	if f.Path != "" && !strings.HasPrefix(f.Path, "/") {
		return faultError("path", "must begin with /")
	}
	if len(f.Path) > maxFaultText || len(f.ExternalRef) > maxFaultText || len(f.IdempotencyKey) > maxFaultText {
		return &FaultError{Detail: fmt.Sprintf("path, external_ref and idempotency_key have at most %d bytes", maxFaultText)}
	}
	if f.Method == http.MethodGet && (f.Kind == Twice || f.Kind == Lag || f.Kind == Accept) {
		return faultError("method", "%s is about effects, and a look-up has none", f.Kind)
	}
	return nil
}

func (f Fault) checkSettlement() error {
	switch {
	case f.Kind != Accept && f.Settle != 0:
		return faultError("settle", "means nothing for %s", f.Kind)
	case f.Kind != Accept && f.Ends != "":
		return faultError("ends", "means nothing for %s", f.Kind)
	case f.Kind != Accept:
		return nil
	}
	if _, err := (Settlement{After: f.Settle, Ends: f.Ends}).check(); err != nil {
		return faultError("ends", "%s", err)
	}
	return nil
}

func (f Fault) checkTimes() error {
	switch {
	case f.Times < 1 || f.Times > MaxFaultTimes:
		return faultError("times", "must be 1 to %d", MaxFaultTimes)
	case f.Before < 0 || f.Before > MaxFaultWait:
		return faultError("before", "must be 0 to %s", MaxFaultWait)
	case f.After < 0 || f.After > MaxFaultWait:
		return faultError("after", "must be 0 to %s", MaxFaultWait)
	case f.Lag < 0 || f.Lag > MaxFaultLag:
		return faultError("lag", "must be 0 to %s", MaxFaultLag)
	case f.Kind == Delay && f.Before == 0 && f.After == 0:
		return faultError("before", "delay needs before, after, or both")
	case f.Kind == Lag && f.Lag == 0:
		return faultError("lag", "lag needs a duration")
	case f.Lag > 0 && (!f.handles() || f.Method == http.MethodGet):
		return faultError("lag", "there is no effect that could lag")
	}
	return nil
}

func (f Fault) checkAnswer() error {
	replaces := f.Kind == Status || f.Kind == HTML
	switch {
	case f.Effect && !f.Kind.effectOptional():
		return faultError("effect", "means nothing for %s", f.Kind)
	case replaces && (f.Status < 200 || f.Status > 599):
		return faultError("status", "must be 200 to 599")
	case !replaces && f.Status != 0:
		return faultError("status", "means nothing for %s", f.Kind)
	case !replaces && f.Body != "":
		return faultError("body", "means nothing for %s", f.Kind)
	case !replaces && len(f.Headers) > 0:
		return faultError("headers", "means nothing for %s", f.Kind)
	case len(f.Body) > MaxFaultBytes:
		return faultError("body", "has more than %d bytes", MaxFaultBytes)
	case f.Bytes < 0 || f.Bytes > MaxFaultBytes:
		return faultError("bytes", "must be 0 to %d", MaxFaultBytes)
	case f.Bytes > 0 && f.Kind != Cut && f.Kind != WrongLength:
		return faultError("bytes", "means nothing for %s", f.Kind)
	case f.Of != "" && f.Kind != Cut:
		return faultError("of", "means nothing for %s", f.Kind)
	case f.Kind == Cut && f.Of != OfResponse && f.Of != OfBody:
		return faultError("of", "must be %q or %q", OfResponse, OfBody)
	case f.Protected && f.Kind != Twice:
		return faultError("protected", "means nothing for %s", f.Kind)
	}
	return checkHeaders(f.Headers)
}

// checkHeaders refuses what would break the framing of the answer: that is what cut and wrong_length are for.
func checkHeaders(headers map[string]string) error {
	if len(headers) > MaxFaultHeaders {
		return faultError("headers", "has more than %d", MaxFaultHeaders)
	}
	for name, value := range headers {
		token := name != "" && strings.IndexFunc(name, func(r rune) bool {
			letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
			return !letter
		}) < 0
		plain := strings.IndexFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) < 0
		switch http.CanonicalHeaderKey(name) {
		case "Content-Length", "Transfer-Encoding", "Connection", "Date":
			return faultError("headers/"+name, "is the sandbox's own")
		}
		if !token || !plain || len(name)+len(value) > maxFaultText {
			return faultError("headers/"+name, "is no header that can be sent")
		}
	}
	return nil
}

// matches says whether a request falls under the fault.
func (f Fault) matches(method, path, externalRef, key string) bool {
	return f.Method == method &&
		(f.Path == "" || f.Path == path) &&
		(f.ExternalRef == "" || f.ExternalRef == externalRef) &&
		(f.IdempotencyKey == "" || f.IdempotencyKey == key)
}

// faultMembers is a fault as JSON: durations in Go's spelling, everything unset left out.
type faultMembers struct {
	ID             string            `json:"id,omitempty"`
	Kind           Kind              `json:"kind"`
	Method         string            `json:"method,omitempty"`
	Path           string            `json:"path,omitempty"`
	ExternalRef    string            `json:"external_ref,omitempty"`
	IdempotencyKey string            `json:"idempotency_key,omitempty"`
	Times          int               `json:"times,omitempty"`
	Before         string            `json:"before,omitempty"`
	After          string            `json:"after,omitempty"`
	Lag            string            `json:"lag,omitempty"`
	Effect         bool              `json:"effect,omitempty"`
	Status         int               `json:"status,omitempty"`
	Body           string            `json:"body,omitempty"`
	Headers        map[string]string `json:"headers,omitempty"`
	Bytes          int               `json:"bytes,omitempty"`
	Of             CutOf             `json:"of,omitempty"`
	Settle         string            `json:"settle,omitempty"`
	Ends           Ending            `json:"ends,omitempty"`
	Protected      bool              `json:"protected,omitempty"`
}

// MarshalJSON gives the form that the admin API speaks: durations as Go spells them, unset members left out.
func (f Fault) MarshalJSON() ([]byte, error) { return json.Marshal(f.members()) }

func (f Fault) members() faultMembers {
	spell := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return d.String()
	}
	return faultMembers{
		ID: f.ID, Kind: f.Kind, Method: f.Method, Path: f.Path, ExternalRef: f.ExternalRef, IdempotencyKey: f.IdempotencyKey,
		Times: f.Times, Before: spell(f.Before), After: spell(f.After), Lag: spell(f.Lag), Effect: f.Effect,
		Status: f.Status, Body: f.Body, Headers: f.Headers, Bytes: f.Bytes, Of: f.Of, Settle: spell(f.Settle), Ends: f.Ends, Protected: f.Protected,
	}
}

// UnmarshalJSON reads the same form strictly: a member that is unknown, repeated, null or of another type is a *FaultError.
// It does not judge whether the fault makes sense; adding it does.
func (f *Fault) UnmarshalJSON(raw []byte) error {
	members, err := parseObject(raw)
	if err != nil {
		return &FaultError{Detail: err.Error()}
	}
	read := Fault{}
	for _, m := range members {
		if string(m.value) == "null" {
			return faultError(m.name, "is null; leave it out instead")
		}
		if err := read.set(m); err != nil {
			return err
		}
	}
	*f = read
	return nil
}

func (f *Fault) set(m member) error {
	var target any
	switch m.name {
	case "id":
		target = &f.ID
	case "kind":
		target = &f.Kind
	case "method":
		target = &f.Method
	case "path":
		target = &f.Path
	case "external_ref":
		target = &f.ExternalRef
	case "idempotency_key":
		target = &f.IdempotencyKey
	case "times":
		target = &f.Times
	case "before":
		return setDuration(&f.Before, m)
	case "after":
		return setDuration(&f.After, m)
	case "lag":
		return setDuration(&f.Lag, m)
	case "effect":
		target = &f.Effect
	case "status":
		target = &f.Status
	case "body":
		return f.setBody(m)
	case "headers":
		target = &f.Headers
	case "bytes":
		target = &f.Bytes
	case "of":
		target = &f.Of
	case "settle":
		return setDuration(&f.Settle, m)
	case "ends":
		target = &f.Ends
	case "protected":
		target = &f.Protected
	default:
		return faultError(m.name, "is no member of a fault")
	}
	if err := json.Unmarshal(m.value, target); err != nil {
		return faultError(m.name, "is of the wrong type")
	}
	if m.name == "times" && f.Times == 0 {
		return faultError(m.name, "must be 1 to %d", MaxFaultTimes) // in JSON the default is absence, not 0
	}
	return nil
}

// setBody takes a string as the very bytes to send, and any other JSON value as its own text.
func (f *Fault) setBody(m member) error {
	if m.value[0] != '"' {
		f.Body = string(m.value)
		return nil
	}
	if err := json.Unmarshal(m.value, &f.Body); err != nil {
		return faultError(m.name, "is of the wrong type")
	}
	return nil
}

func setDuration(target *time.Duration, m member) error {
	var text string
	if err := json.Unmarshal(m.value, &text); err != nil {
		return faultError(m.name, `must be a duration such as "1.5s"`)
	}
	parsed, err := time.ParseDuration(text)
	if err != nil || parsed <= 0 {
		return faultError(m.name, `%q is no positive duration such as "1.5s"`, text)
	}
	*target = parsed
	return nil
}
