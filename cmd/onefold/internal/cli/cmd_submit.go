package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/cmd/onefold/internal/remote"
	"github.com/onefold-dev/onefold/identity"
)

// maxServerWait is the longest wait that the API takes in one call.
const maxServerWait = 60 * time.Second

// submitOrder is what submit was asked for.
type submitOrder struct {
	capability, connection, key, revision, notBefore, startDeadline, metadata string
	version                                                                   int
	wait                                                                      time.Duration
	dryRun                                                                    bool
}

func newSubmit(a *app) *cobra.Command {
	var o submitOrder
	c := &cobra.Command{
		Use: "submit --capability C --key K REQUEST.json|-", Short: "Submit an operation, or find the one that its key has", Args: wants("REQUEST.json"),
		DisableFlagsInUseLine: true,
		Long: "Submit an operation. The same key with the same intent gives the operation that it has, in whatever state: a\n" +
			"submission is always safe to repeat.\n\n" +
			"With --wait the answer comes when the operation is settled, held or needs a person, or the time is over, and the\n" +
			"exit code says which: 0 confirmed, 1 rejected or canceled, 6 unknown at the target, 7 held for a person, 8 not\n" +
			"finished yet. Without --wait, 0 means that the operation is stored.",
		RunE: func(c *cobra.Command, args []string) error { return a.submit(c, &o, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&o.capability, "capability", "", "`NAME` of what is asked for, for example bills.create")
	f.StringVar(&o.connection, "connection", "", "`NAME` of the connection (default: the only one that serves it)")
	f.StringVar(&o.key, "key", "", "the caller `KEY`: one for each intended effect, the same for every repeat")
	f.IntVar(&o.version, "contract-version", 0, "the contract's version, `N` (default: the newest)")
	f.StringVar(&o.revision, "revision", "", "`REVISION` of the approved document")
	f.StringVar(&o.notBefore, "not-before", "", "the `TIME` before which it is not sent (RFC 3339)")
	f.StringVar(&o.startDeadline, "start-deadline", "", "the `TIME` by which its sending must have begun (RFC 3339)")
	f.StringVar(&o.metadata, "metadata", "", "labels, a `JSON` object; not part of the intent")
	f.Var(durationFlag{value: &o.wait}, "wait", "wait that long for the outcome, for example 30s")
	f.BoolVar(&o.dryRun, "dry-run", false, "make all checks, show the request that would go out, and store nothing")
	a.addServer(c)
	return c
}

func (a *app) submit(c *cobra.Command, o *submitOrder, name string) error {
	if err := required(c, "capability", o.capability, "for example: --capability bills.create"); err != nil {
		return err
	}
	if err := required(c, "key", o.key, "one key for each intended effect, the same for every repeat"); err != nil {
		return err
	}
	if o.dryRun && o.wait > 0 {
		return usage("leave one of them out", "--dry-run stores nothing that could be waited for")
	}
	text, err := a.readRequest(name)
	if err != nil {
		return err
	}
	if _, err := identity.Parse(text, identity.Limits{}); err != nil {
		return syntaxFailure(err) // it could not even be put into the envelope
	}
	body, err := o.envelope(text)
	if err != nil {
		return err
	}
	r, err := a.remote()
	if err != nil {
		return err
	}
	quoted, err := identity.QuoteKey(o.key)
	if err != nil {
		return keyFailure(err)
	}
	call := remote.Request{Method: http.MethodPost, Path: "/v1/operations", Body: body, Header: http.Header{"Idempotency-Key": {quoted}}}
	if o.dryRun {
		call.Query = url.Values{"dry_run": {"true"}}
		rep, err := r.Call(c.Context(), call)
		if err != nil {
			return err
		}
		return show(a, rep, a.previewText)
	}
	return a.submitted(c.Context(), r, call, o.wait)
}

func keyFailure(err error) error {
	e := &onefold.Error{Code: onefold.CodeKeyInvalid, Message: err.Error(), Cause: err}
	if key, ok := errors.AsType[*identity.KeyError](err); ok {
		e.Message = key.Detail
	}
	return fromError(e)
}

// envelope is the submission as the API takes it. The request's own text goes
// into it as it is, digit for digit (I13).
func (o *submitOrder) envelope(request []byte) ([]byte, error) {
	envelope := map[string]any{"capability": o.capability}
	set := func(name, value string) {
		if value != "" {
			envelope[name] = value
		}
	}
	set("connection", o.connection)
	set("revision", o.revision)
	set("not_before", o.notBefore)
	set("start_deadline", o.startDeadline)
	if o.version != 0 {
		envelope["contract_version"] = o.version
	}
	if o.metadata != "" {
		if !json.Valid([]byte(o.metadata)) {
			return nil, usage(`for example: --metadata '{"source":"inbox"}'`, "--metadata is no JSON")
		}
		envelope["metadata"] = json.RawMessage(o.metadata)
	}
	head, err := json.Marshal(envelope)
	if err != nil {
		return nil, err
	}
	// The encoder would rewrite what it embeds, so the request is put in by hand.
	body := append(head[:len(head)-1], `,"request":`...)
	return append(append(body, request...), '}'), nil
}

// submitted submits and, if asked, waits; it sets the exit code.
func (a *app) submitted(ctx context.Context, r *remote.Server, call remote.Request, wait time.Duration) error {
	until := a.Now().Add(wait)
	if wait > 0 {
		call.Wait = min(wait, maxServerWait)
		call.Header.Set("Prefer", "wait="+seconds(call.Wait))
	}
	rep, err := r.Call(ctx, call)
	if err != nil {
		return err
	}
	replayed := rep.Replayed()
	op, err := decode[operation](rep.Body)
	if err != nil {
		return err
	}
	for wait > 0 && !op.rested() && a.Now().Before(until) {
		step := min(until.Sub(a.Now()), maxServerWait)
		rep, err = r.Call(ctx, remote.Request{Method: http.MethodGet, Path: remote.OperationPath(op.ID), Wait: step, Query: url.Values{
			"wait": {seconds(step)}, "after_version": {strconv.FormatInt(op.Version, 10)},
		}})
		if err != nil {
			return err
		}
		if op, err = decode[operation](rep.Body); err != nil {
			return err
		}
	}
	if wait > 0 {
		a.exit = waitedExit(&op)
	}
	return show(a, rep, func(w io.Writer, o operation) {
		if replayed {
			_, _ = io.WriteString(w, a.color(dim, "This key was known: nothing new was started.")+"\n")
		}
		a.operationText(w, o)
	})
}

// seconds is a wait as the API takes it: whole seconds, at least one.
func seconds(d time.Duration) string {
	return strconv.Itoa(max(1, int((d+time.Second-1)/time.Second)))
}

// waitedExit is how submit --wait ends.
func waitedExit(o *operation) int {
	switch {
	case o.State == onefold.Confirmed:
		return ExitDone
	case o.State.Terminal():
		return ExitFailed
	case o.State == onefold.Uncertain:
		return ExitUnknown
	case len(o.Holds) > 0:
		return ExitHeld
	}
	return ExitUnfinished
}

// preview is what a dry run answers.
type preview struct {
	Replayed  bool      `json:"replayed"`
	Operation operation `json:"operation"`
	Outgoing  *outgoing `json:"outgoing"`
}

// outgoing is a frozen request.
type outgoing struct {
	Method  string              `json:"method"`
	Path    string              `json:"path"`
	Headers []map[string]string `json:"headers"`
	Body    *string             `json:"body"`
}

func (a *app) previewText(w io.Writer, p preview) {
	line := "Nothing was stored. It would be admitted, and this would go out:"
	if p.Replayed {
		line = "Nothing was stored. The key is known; its operation is:"
	}
	_, _ = io.WriteString(w, line+"\n\n")
	if p.Replayed {
		a.operationText(w, p.Operation)
		return
	}
	outgoingText(w, p.Outgoing)
}
