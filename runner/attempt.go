package runner

import (
	"context"
	"errors"
	"time"

	"github.com/onefold-dev/onefold"
)

// attempt carries one write or replay out: freeze, begin durably, one request,
// judge, record.
func (r *Runner) attempt(ctx context.Context, t *task, kind onefold.AttemptKind) {
	request, frozen, err := r.frozen(ctx, t)
	if err != nil {
		if onefold.CodeOf(err) == onefold.CodeStoreUnavailable || ctx.Err() != nil {
			r.handBack(context.WithoutCancel(ctx), t)
			return
		}
		r.reconsider(ctx, t, onefold.Reconsideration{Unsendable: describe(err)})
		return
	}
	route := t.binding.Route()
	// A credential that cannot be had is the carrier's to tell: not sent.
	credential, err := r.carrier.CredentialDigest(ctx, route)
	if err != nil {
		credential = ""
	}
	begin := onefold.Begin{
		Attempt: r.ledger.NewID(onefold.PrefixAttempt), Token: t.token, Kind: kind, FrozenDigest: frozen.Digest,
		ConnectionRevision: route.Revision, Scope: t.binding.Scope(credential), CredentialDigest: credential,
	}
	bootAtBegin := r.cfg.Boot()
	c, ok := r.begin(ctx, t, begin, frozen)
	if !ok {
		return
	}
	t.op, t.begun = c.Operation, true
	pointBegun()

	stop := r.renewing(context.WithoutCancel(ctx), t)
	x := r.exchange(ctx, t, onefold.Dispatch{
		Route: route, Request: frozen, Write: true, UserAgent: r.cfg.UserAgent,
		MayStart: r.mayStart(t, kind, c.At, bootAtBegin),
	})
	pointAnswered()
	answer, evidence := r.judge(t, request, &x, begin.Attempt)
	stop()
	answer.Attempt, answer.Token = begin.Attempt, t.token
	evidence.ID, evidence.Attempt = r.ledger.NewID(onefold.PrefixEvidence), begin.Attempt
	r.conclude(t, onefold.Event{Kind: onefold.EventAnswered, Answer: &answer, Evidence: &evidence})
}

// frozen returns the approved request and the frozen one: as stored, or built
// now for the first attempt (M2a).
func (r *Runner) frozen(ctx context.Context, t *task) ([]byte, onefold.Frozen, error) {
	request, err := r.store.Request(ctx, t.op.ID)
	if err != nil {
		return nil, onefold.Frozen{}, unavailable(err)
	}
	frozen, found, err := r.store.FrozenRequest(ctx, t.op.ID)
	if err != nil {
		return nil, onefold.Frozen{}, unavailable(err)
	}
	if !found {
		frozen, err = t.binding.Freeze(&t.op, request)
	}
	return request, frozen, err
}

func unavailable(err error) error {
	if _, ok := errors.AsType[*onefold.Error](err); ok {
		return err
	}
	return &onefold.Error{Code: onefold.CodeStoreUnavailable, Message: "the store cannot be reached", Cause: err}
}

// describe is an error's text if it is one of ours, which are safe to show.
func describe(err error) string {
	if e, ok := errors.AsType[*onefold.Error](err); ok {
		return e.Error()
	}
	return "the request cannot be built"
}

// begin makes the attempt durable; ok is false if nothing may be sent. A refusal
// is answered by what it asks for.
func (r *Runner) begin(ctx context.Context, t *task, b onefold.Begin, f onefold.Frozen) (c onefold.Committed, ok bool) {
	ev := onefold.Event{Kind: onefold.EventBegun, Actor: r.actor, Policy: &t.policy, Begin: &b}
	ev.Connection.Disabled = t.binding.Terms().Mode == onefold.ModeDisabled
	c, err := r.ledger.Begin(ctx, t.op.ID, ev, f)
	if err == nil {
		return c, true
	}
	after := context.WithoutCancel(ctx)
	if errors.Is(err, onefold.ErrCommitUnknown) || ctx.Err() != nil {
		r.unbegin(after, t, b)
		return c, false
	}
	switch onefold.CodeOf(err) {
	case onefold.CodeLeaseLost, onefold.CodeAlreadySettled, onefold.CodeHeld:
	case onefold.CodePaused, onefold.CodeNotDue, onefold.CodeStoreUnavailable, onefold.CodeInternal:
		r.unlessRefused("an attempt cannot begin", t.op.ID, err)
		r.handBack(after, t)
	case onefold.CodeDeadlinePast:
		_, err = r.step(after, t, onefold.Event{Kind: onefold.EventDeadlinePassed})
		r.unlessRefused("a passed deadline cannot be recorded", t.op.ID, err)
	case onefold.CodeReplay:
		reason := "a replay is not safe"
		if e, isOurs := errors.AsType[*onefold.Error](err); isOurs && e.Reason != "" {
			reason = e.Reason
		}
		r.reconsider(after, t, onefold.Reconsideration{ReplayUnsafe: reason})
	default:
		r.reconsider(after, t, onefold.Reconsideration{})
	}
	return c, false
}

// unbegin settles a begin whose commit is unknown. Nothing was sent, and that is
// what is recorded if the attempt is on record after all (M4).
func (r *Runner) unbegin(ctx context.Context, t *task, b onefold.Begin) {
	op, err := r.store.Operation(ctx, "", t.op.ID)
	switch {
	case err != nil: // the scan finds the expired lease
	case op.Attempt(b.Attempt) == nil:
		r.handBack(ctx, t)
	default:
		t.op = op
		r.conclude(t, onefold.Event{
			Kind: onefold.EventAnswered,
			Answer: &onefold.Answer{
				Attempt: b.Attempt, Token: b.Token, Outcome: onefold.OutcomeNotSent,
				Detail: "nothing was sent: it was not known whether the attempt was on record",
			},
			Evidence: &onefold.Evidence{
				ID: r.ledger.NewID(onefold.PrefixEvidence), Attempt: b.Attempt, Kind: onefold.EvidenceTransport, Asserts: onefold.AssertsNoEffect,
			},
		})
	}
}

// mayStart is asked immediately before the first byte (M9). It counts on a clock
// that goes on while the machine sleeps, from before the lease was asked for,
// and says no once the lease may be over, the operation is withdrawn, or a
// deadline or the target's window has passed by the store's time.
func (r *Runner) mayStart(t *task, kind onefold.AttemptKind, begunAt time.Time, bootAtBegin time.Duration) func() bool {
	op, policy, lease := t.op, t.policy, r.cfg.Lease
	return func() bool {
		boot := r.cfg.Boot()
		if boot-t.asked >= lease || t.withdrawn() {
			return false
		}
		now := begunAt.Add(boot - bootAtBegin) // never earlier than the store's time
		if op.StartDeadline != nil && !now.Before(*op.StartDeadline) {
			return false
		}
		if kind == onefold.Replay && policy.Window != onefold.Forever {
			return !now.After(op.FirstDispatched.Add(policy.Window - policy.WindowMargin))
		}
		return true
	}
}

// exchange carries the request; a panic below means "maybe sent".
func (r *Runner) exchange(ctx context.Context, t *task, d onefold.Dispatch) (x onefold.Exchange) {
	defer func() {
		if broken := recover(); broken != nil {
			r.log.Error("runner: the carrier broke", "operation", t.op.ID)
			x = onefold.Exchange{Failure: "internal", Detail: "the transport failed inside"}
		}
	}()
	return r.carrier.Carry(ctx, d)
}

// judge asks the contract what the answer means; a panic in it means doubt.
func (r *Runner) judge(t *task, request []byte, x *onefold.Exchange, attempt string) (a onefold.Answer, e onefold.Evidence) {
	defer func() {
		if broken := recover(); broken != nil {
			r.log.Error("runner: judging an answer broke", "operation", t.op.ID)
			a = onefold.Answer{Outcome: onefold.OutcomeUnknown, Doubt: onefold.DoubtInternal, Detail: "the answer could not be judged"}
			e = x.Evidence
			e.Kind, e.Asserts = onefold.EvidenceTransport, onefold.AssertsNothing
		}
	}()
	return t.binding.Judge(&t.op, request, x, t.op.Clean(attempt))
}
