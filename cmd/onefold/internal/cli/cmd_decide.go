package cli

import (
	"context"
	"math"

	"github.com/spf13/cobra"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/client"
)

// decision is what a command decides about an operation.
type decision struct {
	reason  string
	version int64
	// free decisions need no version.
	free bool
	// needed are the flags without which nothing is decided, with their hints.
	needed []neededFlag
	// act carries it out; seen is the operation as it was read, where it was.
	act func(ctx context.Context, api *client.Client, d client.Decision, seen *client.Operation) (client.Operation, error)
}

// neededFlag is a flag that must be given.
type neededFlag struct {
	name  string
	value *string
	hint  string
}

// newDecision builds a command that decides about an operation.
func newDecision(a *app, use, short, long string, d *decision) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Long: long, Args: wants("ID"), DisableFlagsInUseLine: len(d.needed) > 0,
		RunE: func(c *cobra.Command, args []string) error {
			for _, f := range d.needed {
				if err := required(c, f.name, *f.value, f.hint); err != nil {
					return err
				}
			}
			return a.decide(c.Context(), args[0], d)
		},
	}
	c.Flags().StringVar(&d.reason, "reason", "", "why, as `TEXT`")
	addRanged(c.Flags(), numberFlag[int64]{&d.version, 1, math.MaxInt64}, "if-version", "decide only if the operation is still at version `N` (default: the one that is read first)")
	return c
}

// decide carries a decision out on the version that was seen.
func (a *app) decide(ctx context.Context, id string, d *decision) error {
	api, err := a.client()
	if err != nil {
		return err
	}
	defer api.Close()
	made := client.Decision{Operation: id, Version: d.version, Reason: d.reason}
	var seen client.Operation
	if d.version == 0 && !d.free {
		if seen, err = api.Operation(ctx, id, 0, 0); err != nil {
			return err
		}
		made.Version = seen.Version
	}
	op, err := d.act(ctx, api, made, &seen)
	if err != nil {
		return err
	}
	return a.showOperation(&op)
}

func newOpsCancel(a *app) *cobra.Command {
	keep := false
	d := &decision{free: true}
	d.act = func(ctx context.Context, api *client.Client, made client.Decision, _ *client.Operation) (client.Operation, error) {
		op, _, err := api.Cancel(ctx, made, keep)
		return op, err
	}
	c := newDecision(a, "cancel ID", "Withdraw an operation",
		"Withdraw an operation. One that was never tried is canceled, and its key is free again unless --keep-key is\n"+
			"given. One that is being sent or is uncertain gets the withdrawal recorded: nothing is sent again, and what\n"+
			"became of it is found out.", d)
	c.Flags().BoolVar(&keep, "keep-key", false, "do not let the key go")
	return c
}

func newOpsRetry(a *app) *cobra.Command {
	d := &decision{}
	d.act = func(ctx context.Context, api *client.Client, made client.Decision, _ *client.Operation) (client.Operation, error) {
		return api.Retry(ctx, made)
	}
	return newDecision(a, "retry ID", "Make the due attempt, or a safe replay, now",
		"Make the due attempt, or a safe replay, now. It is refused where sending again would not be safe.", d)
}

func newOpsResolve(a *app) *cobra.Command {
	var outcome, reference string
	d := &decision{}
	d.needed = []neededFlag{
		{"outcome", &outcome, "confirmed, rejected or not_applied"},
		{"reason", &d.reason, "a decision needs a reason"},
	}
	d.act = func(ctx context.Context, api *client.Client, made client.Decision, _ *client.Operation) (client.Operation, error) {
		return api.Resolve(ctx, made, onefold.ResolutionOutcome(outcome), reference)
	}
	c := newDecision(a, "resolve ID --outcome OUTCOME --reason TEXT", "Decide what became of an uncertain operation",
		"Decide what became of an uncertain operation, or of one with conflicting answers: confirmed (with the target's\n"+
			"reference), rejected, or not_applied (it is tried again). The decision is evidence, with your name.", d)
	words := []string{string(onefold.ResolveConfirmed), string(onefold.ResolveRejected), string(onefold.ResolveNotApplied)}
	c.Flags().Var(wordFlag{&outcome, "OUTCOME", words}, "outcome", "confirmed, rejected or not_applied")
	c.Flags().StringVar(&reference, "reference", "", "the target's reference, `TEXT`; required for confirmed")
	return c
}

func newOpsRelease(a *app) *cobra.Command {
	var word, hold string
	d := &decision{}
	d.needed = []neededFlag{
		{"decision", &word, "proceed or decline"},
		{"reason", &d.reason, "a decision needs a reason"},
	}
	d.act = func(ctx context.Context, api *client.Client, made client.Decision, seen *client.Operation) (client.Operation, error) {
		if hold == "" {
			only, err := onlyHold(ctx, api, made.Operation, seen)
			if err != nil {
				return client.Operation{}, err
			}
			hold = only
		}
		return api.Release(ctx, made, onefold.HoldReason(hold), word == "proceed")
	}
	c := newDecision(a, "release ID --decision DECISION --reason TEXT", "Decide a hold: proceed, or decline",
		"Decide a hold: proceed, or decline. Where the operation has one hold, it need not be named.", d)
	c.Flags().Var(wordFlag{&word, "DECISION", []string{"proceed", "decline"}}, "decision", "proceed or decline")
	c.Flags().StringVar(&hold, "hold", "", "which hold, by its `REASON`")
	return c
}

// onlyHold is the operation's hold where it has one.
func onlyHold(ctx context.Context, api *client.Client, id string, seen *client.Operation) (string, error) {
	if seen.ID == "" {
		op, err := api.Operation(ctx, id, 0, 0)
		if err != nil {
			return "", err
		}
		seen = &op
	}
	switch len(seen.Holds) {
	case 0:
		return "", newFailure(ExitRefused, onefold.CodeHoldUnknown, "", "the operation has no hold")
	case 1:
		return string(seen.Holds[0].Reason), nil
	}
	return "", usage("name one with --hold", "the operation has several holds")
}

func newOpsAssign(a *app) *cobra.Command {
	var owner, review string
	d := &decision{}
	d.needed = []neededFlag{{"owner", &owner, "who owns the review from now on"}}
	d.act = func(ctx context.Context, api *client.Client, made client.Decision, _ *client.Operation) (client.Operation, error) {
		return api.Assign(ctx, made, review, owner)
	}
	c := newDecision(a, "assign ID --owner NAME", "Hand a review to another owner",
		"Hand an operation's review to another owner. Where one review is open, it need not be named.", d)
	c.Flags().StringVar(&owner, "owner", "", "the `NAME` of who owns the review from now on")
	c.Flags().StringVar(&review, "review", "", "which review, by its `ID`")
	return c
}
