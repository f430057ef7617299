package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"syscall"

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
		"failed; with submit --wait also: the operation ended rejected or canceled; with submit --batch also: some are not decided, send them again",
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
	codeUsage           onefold.Code = "usage"
	codeInterrupted     onefold.Code = "interrupted"
	codeNoAnswer        onefold.Code = "no_answer"
	codeAddressInUse    onefold.Code = "address_in_use"
	codeAddressUnusable onefold.Code = "address_unusable"
	codeFolderInUse     onefold.Code = "folder_in_use"
	codeFileUnusable    onefold.Code = "file_unusable"
	codeRunnerTaken     onefold.Code = "runner_taken"
	codeUnwritten       onefold.Code = "output_unwritten"
)

// ownType begins the type of a problem that is the command line's own. It is a
// name and no address: what the API may answer has a page at /problems/CODE,
// these codes have a table on the page of the command line.
const ownType = "urn:onefold:cli:"

// OwnCode is an error code of the command line's own.
type OwnCode struct {
	Code onefold.Code
	// Title is what is shown as the problem's title, Meaning what the page says.
	Title, Meaning string
	// Exit is the exit code.
	Exit int
}

// OwnCodes lists the error codes that only the command line has, for the
// reference page.
func OwnCodes() []OwnCode {
	return []OwnCode{
		{codeUsage, "Wrong usage", "The command line is wrong: a command, argument, flag or variable.", ExitUsage},
		{codeInterrupted, "Interrupted", "Somebody ended the command before it was done.", ExitFailed},
		{codeNoAnswer, "No answer", "No server answered, or something else than an onefold server did.", ExitFailed},
		{codeAddressInUse, "Address in use", "Another process listens on the address already.", ExitFailed},
		{codeAddressUnusable, "Address unusable", "The system does not let this process listen on the address.", ExitFailed},
		{codeFolderInUse, "Data in use", "Another process works with the same data: a second `dev` on a folder, a second `sandbox` on a file.", ExitFailed},
		{codeFileUnusable, "File unusable", "A file or folder cannot be made, read or written, or is something else than it has to be.", ExitFailed},
		{codeRunnerTaken, "Runner taken", "Another process carries this database's operations out already.", ExitFailed},
		{
			codeUnwritten, "Output unwritten",
			"Standard output did not take the answer, or the rest of it. What was asked for may be done all the same; an exit code above 1 that tells what became of it is kept.",
			ExitFailed,
		},
	}
}

// ownCode finds a code of the command line's own.
func ownCode(code onefold.Code) (OwnCode, bool) {
	all := OwnCodes()
	i := slices.IndexFunc(all, func(c OwnCode) bool { return c.Code == code })
	if i < 0 {
		return OwnCode{}, false
	}
	return all[i], true
}

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

// failed is a condition of this machine that keeps a command from its work.
func failed(code onefold.Code, hint, format string, args ...any) error {
	return newFailure(ExitFailed, code, hint, fmt.Sprintf(format, args...))
}

func newFailure(exit int, code onefold.Code, hint, detail string) *failure {
	kind, title := "/problems/"+string(code), onefold.ProblemOf(code).Title
	if own, is := ownCode(code); is {
		kind, title = ownType+string(code), own.Title
	}
	f := &failure{exit: exit, problem: map[string]any{"type": kind, "title": title, "code": code, "detail": detail}}
	if hint != "" {
		f.problem["hint"] = hint
	}
	return f
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
	f := fromMachine(err)
	f.cause = err
	return f
}

// fromMachine shows an error that this machine gave: a file or folder that
// cannot be used, or anything that nobody foresaw.
func fromMachine(err error) *failure {
	switch {
	case isUnwritten(err):
		return newFailure(ExitFailed, codeUnwritten, unwrittenHint, err.Error())
	case errors.Is(err, onefold.ErrRunnerTaken):
		return newFailure(ExitFailed, codeRunnerTaken, runnerHint, runnerDetail)
	case isFileTrouble(err):
		return newFailure(ExitFailed, codeFileUnusable, fileHint, err.Error())
	}
	return newFailure(ExitFailed, onefold.CodeInternal, "", err.Error())
}

// isFileTrouble tells what a system says of a path: anything with a path in it,
// and the plain numbers for paths that lead nowhere or may not be used.
func isFileTrouble(err error) bool {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return true
	}
	for _, trouble := range []error{fs.ErrNotExist, fs.ErrPermission, syscall.ENOTDIR, syscall.EISDIR, syscall.EROFS} {
		if errors.Is(err, trouble) {
			return true
		}
	}
	return false
}

const (
	runnerDetail = "another process carries this database's operations out already"
	runnerHint   = "end the other one, or serve without one: --no-runner"
	// What cannot be shown may be done: whoever asks again has to know.
	unwrittenHint = "let standard output go where it can be written; what was asked for may be done already"
	fileHint      = "look at the path and at its permissions, or give another one"
)

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
	case onefold.CodeStoreUnavailable, onefold.CodeNotReady, onefold.CodeContractUnavailable, onefold.CodeDraining, onefold.CodeInternal,
		onefold.CodeRecordUnreadable:
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
	fmt.Fprintf(w, "onefold: %s\n", indented(fmt.Sprint(problem["detail"])))
	show := func(name, label string) {
		if value, there := problem[name]; there && value != nil && value != "" {
			fmt.Fprintf(w, "  %s %s\n", label, indented(fmt.Sprint(value)))
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
			fmt.Fprintf(w, "  - %s\n", indented(line(m)))
		}
		return
	}
	var words []any
	if json.Unmarshal(text, &words) == nil {
		for _, word := range words {
			fmt.Fprintf(w, "  - %s\n", indented(fmt.Sprint(word)))
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
	fmt.Fprintf(a.Stderr, "warning: %s\n", indented(text))
}
