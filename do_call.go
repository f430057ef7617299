package onefold

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"
)

// The frozen request of a Go target. It is stored, digested and shown like any
// other (M2a): what a function is called with is what every later attempt is
// called with.
const (
	// GoMethod stands where a request over HTTP has its method.
	GoMethod = "CALL"
	// HeaderIdentity and HeaderReference name the fields of a frozen call that
	// hold the request identity and the reference; its body is the approved
	// request, byte for byte.
	HeaderIdentity  = "Onefold-Identity"
	HeaderReference = "Onefold-Reference"
)

// DefaultGrace is how long a function may take to come back once its context
// has ended: enough to close a connection and say what happened.
const DefaultGrace = 5 * time.Second

// Call is what a Go function is called with. Identity, Reference and Request are
// frozen before the first attempt begins and are the same for every later one
// (M1, M2a): send Identity, or Reference, as the value by which the target
// recognises a repeat or a look-up finds the record.
type Call struct {
	Operation       string // id of the operation
	Workspace       string
	Capability      string
	ContractVersion int
	Connection      string
	Account         string // the connection's account at the target
	URL             string // the connection's address, go://NAME
	Params          []byte // the connection's params, a JSON object; nil for none

	Identity  string
	Reference string
	Request   []byte // the approved request as it was submitted, JSON text

	// Attempt is the attempt's number, from 1, and Kind what it is: a write, or a
	// replay of one that may have worked. In a look-up they are 0 and "".
	Attempt int
	Kind    AttemptKind
	// MayStart tells whether a write may still begin: the lease stands, no deadline
	// and no window has passed, and the operation is not withdrawn (M9, M24). It was
	// asked just before the call; a function that does much before its first byte
	// asks again immediately before it, and reports NotSent where the answer is no.
	MayStart func() bool
}

// WriteReport is what a Write function says about its call. Its zero value says
// nothing, and leaves the operation in doubt.
type WriteReport struct {
	// Outcome is OutcomeConfirmed, OutcomeRejected, OutcomeNotApplied,
	// OutcomeNotSent, OutcomeInProgress, OutcomeExists, OutcomeKeyConflict or
	// OutcomeUnknown. It speaks of this attempt alone (M13).
	Outcome Outcome
	// Reference is the target's own reference of a confirmed effect, or of the record
	// that exists already.
	Reference string
	// Record is what the target answered, as JSON text, which the contract's verify
	// is held against (M15); nil where there is nothing to compare.
	Record []byte
	// Code and Detail say why. They are shown to people: no secrets.
	Code, Detail string
	// RetryAfter is the wait that the target asked for.
	RetryAfter time.Duration
	// PauseConnection: the answer says that the connection itself is unusable.
	PauseConnection bool
	// SettlesOperation: this refusal speaks for every attempt (M13).
	SettlesOperation bool
	// OwnIdentity, with OutcomeExists: the value that the target calls taken is the
	// call's own Identity or Reference (M11b).
	OwnIdentity bool
	// TargetRequestID is the target's name for the exchange.
	TargetRequestID string
}

// Applied reports that the effect exists under the target's own reference.
func Applied(reference string) WriteReport {
	return WriteReport{Outcome: OutcomeConfirmed, Reference: reference}
}

// Refused reports that the target refused for good. After an attempt that may
// have worked it settles nothing (M13).
func Refused(code, detail string) WriteReport {
	return WriteReport{Outcome: OutcomeRejected, Code: code, Detail: detail}
}

// NotApplied reports that the target answered and did nothing, and that another
// attempt may succeed.
func NotApplied(detail string) WriteReport {
	return WriteReport{Outcome: OutcomeNotApplied, Detail: detail}
}

// NotSent reports that not one byte of the request left this process. Report it
// only where that is known: a failed dial, never a failed write.
func NotSent(detail string) WriteReport {
	return WriteReport{Outcome: OutcomeNotSent, Detail: detail}
}

// InDoubt reports that the target answered, and that the answer does not say
// whether the effect exists.
func InDoubt(detail string) WriteReport {
	return WriteReport{Outcome: OutcomeUnknown, Detail: detail}
}

// LookupReport is what a Lookup function found. Its zero value says nothing.
type LookupReport struct {
	// Result is LookupFound, LookupAbsent, LookupSeveral or LookupInconclusive.
	Result LookupResult
	// Reference is the target's own reference of the record found.
	Reference string
	// Record is the record found, as JSON text, which the contract's verify is held
	// against (M15).
	Record []byte
	// Created is the record's own time, zero where it has none: a record older than
	// the operation is not the operation's (M15).
	Created time.Time
	// Detail is a sentence for a person.
	Detail string
}

// Found reports the one record that carries the call's Identity or Reference.
func Found(reference string) LookupReport {
	return LookupReport{Result: LookupFound, Reference: reference}
}

// Absent reports that the target was asked for everything that it holds under
// the call's Identity or Reference, and holds nothing. A refusal, an error or a
// page that may not be the last is not absence.
func Absent(detail string) LookupReport {
	return LookupReport{Result: LookupAbsent, Detail: detail}
}

// Inconclusive reports that the target was asked and did not answer the question.
func Inconclusive(detail string) LookupReport {
	return LookupReport{Result: LookupInconclusive, Detail: detail}
}

// Steps are the functions that carry a program's own operations out, for a
// target document with protocol: go.
//
// A function is called with a context that ends at the contract's write.timeout,
// or the look-up's, or when whoever called gives up. It reports what the target
// said; an error, a panic or a report that says nothing is doubt, never "failed".
// An error's text is kept as evidence and shown to people: no secrets in it. A
// function that does not come back within Grace of its context's end is not waited
// for: its attempt counts as silent, and what it reports afterwards is late
// evidence (M8, M12a).
type Steps struct {
	// Write has the effect. It is called at most one time for each attempt, and
	// must not try again by itself.
	Write func(ctx context.Context, c Call) (WriteReport, error)
	// Lookup finds out whether the effect exists and has none itself. It is needed
	// where the contract has a lookup, and never called where it has none.
	Lookup func(ctx context.Context, c Call) (LookupReport, error)
	// Credential names the credential that Write would use now: the id or a keyed
	// digest of it, never itself. Without it a contract whose scope has the
	// credential allows no replay, since nobody can tell that it is the same (M11a).
	Credential func(ctx context.Context) (string, error)
	// Grace is how long a function may take to come back after its context's end;
	// 0 means DefaultGrace.
	Grace time.Duration
	// Wait is for Ledger.Do alone: how long it may wait in all for what is not due
	// yet, or is being worked on by somebody else. With 0 it does what is due and
	// returns.
	Wait time.Duration
}

// stepsCarrier carries requests by calling Go functions.
type stepsCarrier struct {
	steps  Steps
	unique func() string
	log    *slog.Logger
}

var _ Carrier = stepsCarrier{}

// CarrierOf returns Go functions as a Carrier of this ledger's operations.
func (l *Ledger) CarrierOf(s Steps) Carrier {
	return stepsCarrier{steps: s, unique: func() string { return l.NewID(PrefixAttempt) }, log: l.log()}
}

// CredentialDigest returns what Steps.Credential says. Without it every answer is
// another one: a scope that has the credential then never equals an earlier one.
func (c stepsCarrier) CredentialDigest(ctx context.Context, _ Route) (string, error) {
	if c.steps.Credential != nil {
		if digest, err := c.steps.Credential(ctx); err == nil && digest != "" {
			return digest, nil
		}
	}
	return "unknown:" + c.unique(), nil
}

// Carry calls the function.
func (c stepsCarrier) Carry(ctx context.Context, d Dispatch) Exchange {
	call := callOf(&d)
	if d.Write && !call.MayStart() {
		return Exchange{NotSent: true, Failure: "deadline_before_send", Detail: "the function was not called"}
	}
	if ctx.Err() != nil {
		return Exchange{NotSent: true, Failure: "canceled", Detail: "the caller gave up before the function was called"}
	}
	ctx, cancel := context.WithTimeout(ctx, d.Request.Timeout)
	done := make(chan Exchange, 1)
	go func() {
		defer cancel()
		done <- c.run(ctx, &d, call)
	}()
	select {
	case x := <-done:
		return x
	case <-ctx.Done():
	}
	grace := c.steps.Grace
	if grace <= 0 {
		grace = DefaultGrace
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case x := <-done:
		return x
	case <-timer.C:
	}
	if !d.Write {
		return Exchange{Failure: "timeout", Detail: "the look-up function did not come back"}
	}
	return Exchange{Failure: "timeout", Detail: "the function did not come back", Later: done}
}

// run calls the function in a goroutine of its own, so that one that ends its
// goroutine instead of returning is noticed as well as one that panics.
func (c stepsCarrier) run(ctx context.Context, d *Dispatch, call Call) Exchange {
	ended := make(chan Exchange, 1)
	go func() {
		x := Exchange{Failure: "internal", Detail: "the function ended its goroutine"}
		defer func() {
			if broken := recover(); broken != nil {
				c.log.Error("onefold: a function panicked", "operation", call.Operation, "broken", fmt.Sprint(broken), "stack", string(debug.Stack()))
				x = Exchange{Failure: "internal", Detail: "the function panicked: " + plainText(fmt.Sprint(broken))}
			}
			ended <- x
		}()
		x = c.call(ctx, d, call)
	}()
	return <-ended
}

func (c stepsCarrier) call(ctx context.Context, d *Dispatch, call Call) Exchange {
	if d.Write {
		report, err := c.steps.Write(ctx, call)
		if err != nil {
			return failed(err)
		}
		return Exchange{Wrote: &report, Complete: true}
	}
	if c.steps.Lookup == nil {
		return Exchange{NotSent: true, Failure: "no_lookup", Detail: "no look-up function was given"}
	}
	report, err := c.steps.Lookup(ctx, call)
	if err != nil {
		return failed(err)
	}
	return Exchange{Found: &report, Complete: true}
}

// failed is what an error of a function means: no answer.
func failed(err error) Exchange {
	x := Exchange{Failure: "error", Detail: plainText(err.Error())}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		x.Failure = "timeout"
	case errors.Is(err, context.Canceled):
		x.Failure = "canceled"
	}
	return x
}

// callOf reads a frozen call back.
func callOf(d *Dispatch) Call {
	c := Call{
		Workspace: d.Route.Workspace, Connection: d.Route.Connection, Account: d.Route.Account,
		URL: d.Route.URL, Params: bytes.Clone(d.Route.Params), Request: bytes.Clone(d.Request.Body), MayStart: d.MayStart,
	}
	for _, h := range d.Request.Headers {
		switch h.Name {
		case HeaderIdentity:
			c.Identity = h.Value
		case HeaderReference:
			c.Reference = h.Value
		}
	}
	if c.MayStart == nil {
		c.MayStart = func() bool { return true }
	}
	if op := d.Operation; op != nil {
		c.Operation, c.Capability, c.ContractVersion = op.ID, op.Capability, op.ContractVersion
		if n := len(op.Attempts); d.Write && n > 0 {
			c.Attempt, c.Kind = op.Attempts[n-1].Number, op.Attempts[n-1].Kind
		}
	}
	return c
}

// plainText makes a text of somebody else's fit to be kept and shown: one line,
// valid UTF-8, at most MaxExcerpt bytes.
func plainText(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
	if len(s) <= MaxExcerpt {
		return s
	}
	cut := MaxExcerpt
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}
