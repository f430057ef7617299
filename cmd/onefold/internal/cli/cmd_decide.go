package cli

import (
	"encoding/json"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/cmd/onefold/internal/remote"
)

// decision is what a command decides about an operation.
type decision struct {
	action string
	body   map[string]any
	// version is the one that was seen; empty reads the operation first.
	version string
	// free actions need no version.
	free bool
}

// addDecision gives a command the flags of a decision.
func addDecision(c *cobra.Command, d *decision, reason string) {
	c.Flags().StringVar(&d.version, "if-version", "", "decide only if the operation is still at version `N` (default: the one that is read first)")
	c.Flags().Var(bodyFlag{d.body, "reason"}, "reason", reason)
}

// bodyFlag is a flag that goes into a decision's body.
type bodyFlag struct {
	body map[string]any
	name string
}

// String returns what is set.
func (b bodyFlag) String() string {
	text, _ := b.body[b.name].(string)
	return text
}

// Set keeps the value.
func (b bodyFlag) Set(value string) error {
	b.body[b.name] = value
	return nil
}

// Type names the flag's values in help texts.
func (b bodyFlag) Type() string { return "TEXT" }

// decide carries a decision out on the version that was seen.
func (a *app) decide(c *cobra.Command, id string, d *decision) error {
	r, err := a.remote()
	if err != nil {
		return err
	}
	header := http.Header{}
	switch {
	case d.version != "":
		header.Set("If-Match", `"`+d.version+`"`)
	case !d.free:
		seen, err := r.Get(c.Context(), remote.OperationPath(id), nil)
		if err != nil {
			return err
		}
		header.Set("If-Match", seen.Header.Get("ETag"))
	}
	body, err := json.Marshal(d.body)
	if err != nil {
		return err
	}
	rep, err := r.Call(c.Context(), remote.Request{Method: http.MethodPost, Path: remote.OperationPath(id, d.action), Header: header, Body: body})
	if err != nil {
		return err
	}
	return show(a, rep, a.operationText)
}

// newDecision builds a command that decides about an operation.
func newDecision(a *app, use, short, long string, d *decision) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Args: wants("ID"),
		RunE: func(c *cobra.Command, args []string) error { return a.decide(c, args[0], d) },
	}
}

func newOpsCancel(a *app) *cobra.Command {
	d := &decision{action: "cancel", body: map[string]any{}, free: true}
	keep := false
	c := newDecision(a, "cancel ID", "Withdraw an operation",
		"Withdraw an operation. One that was never tried is canceled, and its key is free again unless --keep-key is\n"+
			"given. One that is being sent or is uncertain gets the withdrawal recorded: nothing is sent again, and what\n"+
			"became of it is found out.", d)
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if keep {
			d.body["release"] = false
		}
		return run(c, args)
	}
	addDecision(c, d, "why")
	c.Flags().BoolVar(&keep, "keep-key", false, "do not let the key go")
	return c
}

func newOpsRetry(a *app) *cobra.Command {
	d := &decision{action: "retry", body: map[string]any{}}
	c := newDecision(a, "retry ID", "Make the due attempt, or a safe replay, now",
		"Make the due attempt, or a safe replay, now. It is refused where sending again would not be safe.", d)
	addDecision(c, d, "why")
	return c
}

func newOpsResolve(a *app) *cobra.Command {
	d := &decision{action: "resolve", body: map[string]any{}}
	c := newDecision(a, "resolve ID --outcome OUTCOME --reason TEXT", "Decide what became of an uncertain operation",
		"Decide what became of an uncertain operation, or of one with conflicting answers: confirmed (with the target's\n"+
			"reference), rejected, or not_applied (it is tried again). The decision is evidence, with your name.", d)
	c.DisableFlagsInUseLine = true
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		outcome, _ := d.body["outcome"].(string)
		if err := required(c, "outcome", outcome, "confirmed, rejected or not_applied"); err != nil {
			return err
		}
		if err := required(c, "reason", bodyFlag{d.body, "reason"}.String(), "a decision needs a reason"); err != nil {
			return err
		}
		return run(c, args)
	}
	addDecision(c, d, "why; required")
	c.Flags().Var(bodyFlag{d.body, "outcome"}, "outcome", "confirmed, rejected or not_applied")
	c.Flags().Var(bodyFlag{d.body, "reference"}, "reference", "the target's reference; required for confirmed")
	return c
}

func newOpsRelease(a *app) *cobra.Command {
	d := &decision{action: "release", body: map[string]any{}}
	c := newDecision(a, "release ID --decision DECISION --reason TEXT", "Decide a hold: proceed, or decline",
		"Decide a hold: proceed, or decline. Where the operation has one hold, it need not be named.", d)
	c.DisableFlagsInUseLine = true
	c.RunE = func(c *cobra.Command, args []string) error {
		word, _ := d.body["decision"].(string)
		if err := required(c, "decision", word, "proceed or decline"); err != nil {
			return err
		}
		if err := required(c, "reason", bodyFlag{d.body, "reason"}.String(), "a decision needs a reason"); err != nil {
			return err
		}
		return a.release(c, args[0], d)
	}
	addDecision(c, d, "why; required")
	c.Flags().Var(bodyFlag{d.body, "decision"}, "decision", "proceed or decline")
	c.Flags().Var(bodyFlag{d.body, "hold"}, "hold", "which hold, by its reason")
	return c
}

// release names the hold where there is only one.
func (a *app) release(c *cobra.Command, id string, d *decision) error {
	if _, named := d.body["hold"]; !named {
		r, err := a.remote()
		if err != nil {
			return err
		}
		rep, err := r.Get(c.Context(), remote.OperationPath(id), nil)
		if err != nil {
			return err
		}
		op, err := decode[operation](rep.Body)
		if err != nil {
			return err
		}
		switch len(op.Holds) {
		case 0:
			return newFailure(ExitRefused, onefold.CodeHoldUnknown, "", "the operation has no hold")
		case 1:
			d.body["hold"] = op.Holds[0].Reason
		default:
			return usage("name one with --hold", "the operation has several holds")
		}
	}
	return a.decide(c, id, d)
}

func newOpsAssign(a *app) *cobra.Command {
	d := &decision{action: "assign", body: map[string]any{}}
	c := newDecision(a, "assign ID --owner NAME", "Hand a review to another owner",
		"Hand an operation's review to another owner. Where one review is open, it need not be named.", d)
	c.DisableFlagsInUseLine = true
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		owner, _ := d.body["owner"].(string)
		if err := required(c, "owner", owner, "who owns the review from now on"); err != nil {
			return err
		}
		return run(c, args)
	}
	addDecision(c, d, "why")
	c.Flags().Var(bodyFlag{d.body, "owner"}, "owner", "who owns the review from now on")
	c.Flags().Var(bodyFlag{d.body, "review"}, "review", "which review, by its id")
	return c
}
