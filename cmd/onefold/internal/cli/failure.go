package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/onefold-dev/onefold"
)

// The exit codes, pinned by the specification's section "CLI".
const (
	ExitDone         = 0 // what was asked for is done
	ExitFailed       = 1 // it could not be done, or the operation ended without its effect
	ExitUsage        = 2 // the command line is wrong
	ExitRefused      = 3 // refused by the rules: conflict, invalid, unsafe
	ExitNotFound     = 4 // what was named does not exist
	ExitNotPermitted = 5 // no credential, or one that may not
	ExitUnknown      = 6 // submit --wait ended with an unknown effect at the target
	ExitHeld         = 7 // submit --wait ended with an operation that a person holds
	ExitUnfinished   = 8 // the wait was over before anything was settled
)

// ExitMeanings says in words what each exit code means, in their order.
func ExitMeanings() []string {
	return []string{
		"done",
		"failed; with submit --wait also: the operation ended rejected or canceled",
		"wrong usage",
		"refused by the rules (conflict, invalid, unsafe)",
		"not found",
		"not permitted",
		"unknown at the target (submit --wait that ends uncertain)",
		"held for a person (submit --wait)",
		"not finished when the wait was over (submit --wait)",
	}
}

// The codes that are the command line's own.
const (
	codeUsage       onefold.Code = "usage"       // a wrong command line
	codeInterrupted onefold.Code = "interrupted" // somebody ended it
	codeNoAnswer    onefold.Code = "no_answer"   // no server answered
)

// failure is an error as it is shown and as the process ends with it.
type failure struct {
	exit int
	// problem is the error in the form of an API problem (RFC 9457).
	problem map[string]any
	cause   error
}

// Error returns code and detail.
func (f *failure) Error() string {
	return fmt.Sprintf("%v: %v", f.problem["code"], f.problem["detail"])
}

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.cause }

// usage is a wrong command line.
func usage(hint, format string, args ...any) error {
	return newFailure(ExitUsage, codeUsage, hint, fmt.Sprintf(format, args...))
}

// failed is anything that went wrong and is not somebody's refusal.
func failed(hint, format string, args ...any) error {
	return newFailure(ExitFailed, onefold.CodeInternal, hint, fmt.Sprintf(format, args...))
}

func newFailure(exit int, code onefold.Code, hint, detail string) *failure {
	f := &failure{exit: exit, problem: map[string]any{
		"type": "/problems/" + string(code), "title": titleOf(code), "code": code, "detail": detail,
	}}
	if hint != "" {
		f.problem["hint"] = hint
	}
	return f
}

// titleOf is a code's title; the command line's own codes have theirs here.
func titleOf(code onefold.Code) string {
	switch code {
	case codeUsage:
		return "Wrong usage"
	case codeInterrupted:
		return "Interrupted"
	case codeNoAnswer:
		return "No answer"
	}
	return onefold.ProblemOf(code).Title
}

// asFailure turns any error into one that can be shown. The text of an error
// that nobody classified is shown whole: it went wrong on this machine, in front
// of the person who may see it.
func asFailure(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if e, ok := errors.AsType[*onefold.Error](err); ok {
		return fromError(e)
	}
	if f, ok := fromClient(err); ok && !errors.Is(err, context.Canceled) {
		return f
	}
	if errors.Is(err, context.Canceled) {
		f := newFailure(ExitFailed, codeInterrupted, "", "interrupted")
		f.cause = err
		return f
	}
	f := newFailure(ExitFailed, onefold.CodeInternal, "", err.Error())
	f.cause = err
	return f
}

// fromError shows an error of the domain with the members of its problem.
func fromError(e *onefold.Error) *failure {
	known := onefold.ProblemOf(e.Code)
	hint := e.Hint
	if hint == "" {
		hint = known.Advice
	}
	f := newFailure(exitOf(e.Code), e.Code, hint, e.Message)
	f.cause = e
	f.problem["status"] = known.Status
	set := func(name string, value any, there bool) {
		if there {
			f.problem[name] = value
		}
	}
	pointer := e.Pointer
	if pointer == "" && len(e.Faults) > 0 {
		pointer = e.Faults[0].Pointer
	}
	set("pointer", pointer, pointer != "")
	set("offset", e.Offset, e.Offset != nil)
	set("reason", e.Reason, e.Reason != "")
	set("faults", e.Faults, len(e.Faults) > 0)
	set("operation_id", e.Operation, e.Operation != "")
	switch {
	case e.Cause != nil && e.Code == onefold.CodeStoreUnavailable:
		f.problem["cause"] = e.Cause.Error()
	case e.Message == "" && e.Cause != nil:
		f.problem["detail"] = e.Cause.Error()
	case e.Message == "":
		f.problem["detail"] = known.Meaning
	}
	return f
}

// exitOf is how a refusal ends the process.
func exitOf(code onefold.Code) int {
	switch code {
	case onefold.CodeUnauthenticated, onefold.CodeNotPermitted:
		return ExitNotPermitted
	case onefold.CodeCapabilityUnknown, onefold.CodeContractVersionUnknown, onefold.CodeConnectionUnknown, onefold.CodeAmendsUnknown,
		onefold.CodeOperationUnknown, onefold.CodeReviewUnknown, onefold.CodeNotFound, onefold.CodeWorkspaceUnknown,
		onefold.CodeTokenUnknown, onefold.CodeHoldUnknown:
		return ExitNotFound
	case onefold.CodeStoreUnavailable, onefold.CodeDraining, onefold.CodeInternal:
		return ExitFailed
	case codeUsage:
		return ExitUsage
	default:
		return ExitRefused
	}
}

// fail shows a failure on standard error and returns its exit code.
func (a *app) fail(f *failure) int {
	if a.json {
		a.problemJSON(f.problem)
		return f.exit
	}
	problemText(a.Stderr, f.problem)
	return f.exit
}

func (a *app) problemJSON(problem map[string]any) {
	text, err := json.Marshal(problem)
	if err != nil {
		text = []byte(`{"code":"internal","detail":"the error cannot be shown"}`)
	}
	_, _ = a.Stderr.Write(append(text, '\n'))
}

// problemText shows a problem to a person: what, why, what to do.
func problemText(w io.Writer, problem map[string]any) {
	fmt.Fprintf(w, "onefold: %v\n", problem["detail"])
	show := func(name, label string) {
		if value, there := problem[name]; there && value != nil && value != "" {
			fmt.Fprintf(w, "  %s %v\n", label, value)
		}
	}
	show("cause", "cause:")
	show("operation_id", "operation:")
	showList(w, problem["faults"], func(m map[string]any) string { return fmt.Sprintf("%v: %v", m["pointer"], m["detail"]) })
	showList(w, problem["differences"], func(m map[string]any) string {
		return fmt.Sprintf("%v: accepted %s, submitted %s", m["pointer"], inline(m["accepted"]), inline(m["submitted"]))
	})
	showList(w, problem["bars"], nil)
	show("hint", "hint:")
	if code := fmt.Sprint(problem["code"]); code != string(codeUsage) && code != string(onefold.CodeInternal) {
		show("code", "code:")
	}
}

// showList shows the items of a list member, whatever Go type holds it.
func showList(w io.Writer, list any, line func(map[string]any) string) {
	text, err := json.Marshal(list)
	if err != nil || list == nil {
		return
	}
	var objects []map[string]any
	if line != nil && json.Unmarshal(text, &objects) == nil {
		for _, m := range objects {
			fmt.Fprintf(w, "  - %s\n", line(m))
		}
		return
	}
	var words []any
	if json.Unmarshal(text, &words) == nil {
		for _, word := range words {
			fmt.Fprintf(w, "  - %v\n", word)
		}
	}
}

// inline is a JSON value on one line; nothing is "absent".
func inline(v any) string {
	if v == nil {
		return "absent"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(text)
}

// note tells something beside the answer, on standard error; it changes no exit
// code.
func (a *app) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if a.json {
		a.problemJSON(map[string]any{"warning": text})
		return
	}
	fmt.Fprintf(a.Stderr, "warning: %s\n", text)
}
