package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/client"
	"github.com/onefold-dev/onefold/identity"
)

// submitOrder is what submit was asked for.
type submitOrder struct {
	capability, connection, key, revision, notBefore, startDeadline, metadata, batch string
	version                                                                          int
	wait                                                                             time.Duration
	dryRun                                                                           bool
}

func newSubmit(a *app) *cobra.Command {
	var o submitOrder
	c := &cobra.Command{
		Use: "submit (--capability C --key K REQUEST.json|- | --batch SUBMISSIONS.jsonl|-)", Short: "Submit an operation, or find the one that its key has",
		Args: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("batch") {
				return wants()(c, args)
			}
			return wants("REQUEST.json")(c, args)
		},
		DisableFlagsInUseLine: true,
		Long: "Submit an operation. The same key with the same intent gives the operation that it has, in whatever state: a\n" +
			"submission is always safe to repeat.\n\n" +
			"With --wait the answer comes when the operation is settled, held or needs a person, or the time is over, and the\n" +
			"exit code says which: 0 confirmed, 1 rejected or canceled, 6 unknown at the target, 7 held for a person, 8 not\n" +
			"finished yet. Without --wait, 0 means that the operation is stored.\n\n" +
			"With --batch many are submitted, one from each line of a file: a JSON object with idempotency_key, capability,\n" +
			"request and whatever else POST /v1/operations:batch takes. One result for each comes back in the order of the\n" +
			"lines, and what is wrong with one holds up no other. The exit code is 0 where all were admitted or known already, 3\n" +
			"where some were refused, and 1 where some are not decided or there was no answer: then the same command again is\n" +
			"safe, and goes on where it ended, because the keys are the file's own.",
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("batch") {
				return a.submitBatch(c, o.batch)
			}
			return a.submit(c, &o, args[0])
		},
	}
	f := c.Flags()
	f.StringVar(&o.capability, "capability", "", "`NAME` of what is asked for, for example bills.create")
	f.StringVar(&o.connection, "connection", "", "`NAME` of the connection (default: the only one that serves it)")
	f.StringVar(&o.key, "key", "", "the caller `KEY`: one for each intended effect, the same for every repeat")
	addRanged(f, numberFlag[int]{&o.version, 1, mostVersion}, "contract-version", "the contract's version, `N` (default: the newest)")
	f.StringVar(&o.revision, "revision", "", "`REVISION` of the approved document")
	f.StringVar(&o.notBefore, "not-before", "", "the `TIME` before which it is not sent (RFC 3339)")
	f.StringVar(&o.startDeadline, "start-deadline", "", "the `TIME` by which its sending must have begun (RFC 3339)")
	f.StringVar(&o.metadata, "metadata", "", "labels, a `JSON` object; not part of the intent")
	addRanged(f, durationFlag{&o.wait, leastTiming, mostPatience}, "wait", "wait that long for the outcome, for example 30s")
	f.StringVar(&o.batch, "batch", "", "submit one operation from each line of the `FILE`, or of standard input for -")
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
	submission, err := o.submission(text)
	if err != nil {
		return err
	}
	api, err := a.client()
	if err != nil {
		return err
	}
	defer api.Close()
	if o.dryRun {
		preview, err := api.DryRun(c.Context(), submission)
		if err != nil {
			return err
		}
		return a.show(preview.Raw, func(w io.Writer) { a.previewText(w, &preview) })
	}
	return a.submitted(c.Context(), api, submission, o.wait)
}

func keyFailure(err error) error {
	e := &onefold.Error{Code: onefold.CodeKeyInvalid, Message: err.Error(), Cause: err}
	if key, ok := errors.AsType[*identity.KeyError](err); ok {
		e.Message, e.Reason, e.Hint = key.Detail, key.Rule, key.Hint
	}
	return fromError(e)
}

// submission is the order as the client takes it. The request's digits travel as
// they are (I13).
func (o *submitOrder) submission(request []byte) (s client.Submission, err error) {
	if err := identity.ValidateKey(o.key); err != nil {
		return s, keyFailure(err)
	}
	s = client.Submission{
		Capability: o.capability, ContractVersion: o.version, Connection: o.connection, Key: o.key, Request: request,
		Wait: min(o.wait, client.MaxWait),
	}
	if o.revision != "" {
		s.Revision = &o.revision
	}
	if s.NotBefore, err = instant("not-before", o.notBefore); err != nil {
		return s, err
	}
	if s.StartDeadline, err = instant("start-deadline", o.startDeadline); err != nil {
		return s, err
	}
	if o.metadata != "" {
		if !json.Valid([]byte(o.metadata)) {
			return s, usage(`for example: --metadata '{"source":"inbox"}'`, "--metadata is no JSON")
		}
		s.Metadata = json.RawMessage(o.metadata)
	}
	return s, nil
}

// submitted submits and, if asked, waits; it sets the exit code.
func (a *app) submitted(ctx context.Context, c *client.Client, s client.Submission, wait time.Duration) error {
	until := a.Now().Add(wait)
	answer, err := c.Submit(ctx, s)
	if err != nil {
		return err
	}
	op := answer.Operation
	for wait > 0 && !rested(&op) && a.Now().Before(until) {
		if op, err = c.Operation(ctx, op.ID, min(until.Sub(a.Now()), client.MaxWait), op.Version); err != nil {
			return err
		}
	}
	if wait > 0 {
		a.exit = waitedExit(&op)
	}
	return a.show(op.Raw, func(w io.Writer) {
		if answer.Replayed {
			_, _ = io.WriteString(w, a.color(dim, "This key was known: nothing new was started.")+"\n")
		}
		a.operationText(w, &op)
	})
}

// waitedExit is how submit --wait ends.
func waitedExit(o *client.Operation) int {
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

func (a *app) previewText(w io.Writer, p *client.Preview) {
	line := "Nothing was stored. It would be admitted, and this would go out:"
	if p.Replayed {
		line = "Nothing was stored. The key is known; its operation is:"
	}
	_, _ = io.WriteString(w, line+"\n\n")
	if p.Replayed {
		a.operationText(w, &p.Operation)
		return
	}
	outgoingText(w, p.Outgoing)
}
