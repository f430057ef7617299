package onefold

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Decision is who decides, why, and on which version of the operation.
type Decision struct {
	Workspace string
	Operation string
	By        Actor
	Reason    string
	// IfVersion is the version that the decider saw; 0 means any.
	IfVersion int64
}

// decide loads the operation, fills the event in, and carries it out. Where the
// operation's contract cannot be loaded a person can decide all the same, as the
// law can without a policy: what is left to plan waits for a worker that has it.
// Asking for the next step alone means nothing then.
func (l *Ledger) decide(ctx context.Context, d Decision, ev Event) (Operation, error) {
	op, err := l.Operation(ctx, d.Workspace, d.Operation)
	if err != nil {
		return Operation{}, err
	}
	ev.Actor, ev.Reason = d.By, d.Reason
	binding, err := l.Pinned(ctx, &op)
	switch {
	case err == nil:
		policy := binding.Policy()
		ev.Policy, ev.Connection.Disabled = &policy, binding.Terms().Mode == ModeDisabled
	case CodeOf(err) != CodeContractUnavailable || ev.Kind == EventRetryAsked:
		return Operation{}, err
	}
	c, err := l.Step(ctx, op.ID, ev, d.IfVersion)
	if errors.Is(err, ErrCommitUnknown) {
		err = &Error{Code: CodeStoreUnavailable, Cause: err, Message: "it is not known whether the decision was stored", Hint: "read the operation again before deciding anew", RetryAfter: time.Second}
	}
	return c.Operation, unavailable(err)
}

// Cancel withdraws an operation (M24). release lets the key go if nothing was
// ever attempted. Errors: operation_unknown, already_settled, stale_version.
func (l *Ledger) Cancel(ctx context.Context, d Decision, release bool) (Operation, error) {
	return l.decide(ctx, d, Event{Kind: EventCanceled, Cancel: &Cancellation{Release: release}})
}

// Retry makes the due attempt, or a safe replay, due now. Errors:
// operation_unknown, already_settled, held, paused, retry_unsafe with its
// reason, contract_unavailable, stale_version.
func (l *Ledger) Retry(ctx context.Context, d Decision) (Operation, error) {
	return l.decide(ctx, d, Event{Kind: EventRetryAsked})
}

// Resolve records a person's decision on an uncertain or contradicted
// operation. Errors: operation_unknown, member_invalid (a blank reason or reference),
// not_decidable, attempt_open, barred, stale_version.
func (l *Ledger) Resolve(ctx context.Context, d Decision, r Resolution) (Operation, error) {
	if !slices.Contains([]ResolutionOutcome{ResolveConfirmed, ResolveRejected, ResolveNotApplied}, r.Outcome) {
		return Operation{}, &Error{Code: CodeMemberInvalid, Pointer: "/outcome", Message: "outcome is confirmed, rejected or not_applied"}
	}
	if Blank(d.Reason) {
		return Operation{}, &Error{Code: CodeMemberInvalid, Pointer: "/reason", Message: "a decision needs a reason"}
	}
	if r.Reference != "" && !ReadableReference(r.Reference) {
		return Operation{}, unreadableReference()
	}
	return l.decide(ctx, d, Event{Kind: EventResolved, Resolution: &r, Evidence: l.operatorEvidence(d, string(r.Outcome), r.Reference)})
}

func (l *Ledger) operatorEvidence(d Decision, what, reference string) *Evidence {
	e := &Evidence{
		ID: l.NewID(PrefixEvidence), Kind: EvidenceOperator,
		Asserts: AssertsNothing, Reference: reference, Detail: "decided " + what + ": " + Named(d.Reason), RecordedBy: d.By,
	}
	switch ResolutionOutcome(what) {
	case ResolveConfirmed:
		e.Asserts = AssertsEffect
	case ResolveRejected, ResolveNotApplied:
		e.Asserts = AssertsNoEffect
	}
	return e
}

// Release decides one hold. Errors: operation_unknown, hold_unknown,
// member_invalid (a blank reason), stale_version.
func (l *Ledger) Release(ctx context.Context, d Decision, h HoldDecision) (Operation, error) {
	if Blank(d.Reason) {
		return Operation{}, &Error{Code: CodeMemberInvalid, Pointer: "/reason", Message: "a decision needs a reason"}
	}
	return l.decide(ctx, d, Event{Kind: EventHoldDecided, Hold: &h, Evidence: l.operatorEvidence(d, "hold "+string(h.Reason), "")})
}

// Assign hands an open review to another owner. Errors: operation_unknown,
// review_unknown, member_invalid (an owner who is not one visible line), stale_version.
func (l *Ledger) Assign(ctx context.Context, d Decision, a Assignment) (Operation, error) {
	if !ReadableName(a.Owner) {
		return Operation{}, &Error{
			Code: CodeMemberInvalid, Pointer: "/owner", Message: "the owner is one visible line, without controls or marks of direction",
		}
	}
	return l.decide(ctx, d, Event{Kind: EventAssigned, Assignment: &a})
}
