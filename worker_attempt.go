package onefold

import (
	"context"
	"errors"
	"time"

	"github.com/onefold-dev/onefold/internal/failpoint"
)

// attempt carries one write or replay out: freeze, begin durably, one request,
// judge, record.
func (w *Worker) attempt(ctx context.Context, t *task, kind AttemptKind) {
	request, frozen, err := w.frozen(ctx, t)
	if err != nil {
		if CodeOf(err) == CodeStoreUnavailable || ctx.Err() != nil {
			w.handBack(context.WithoutCancel(ctx), t)
			return
		}
		w.reconsider(ctx, t, Reconsideration{Unsendable: describeError(err)})
		return
	}
	route := t.binding.Route()
	begin := w.beginning(ctx, t, route, kind, frozen)
	boot := w.cfg.Boot()
	c, ok := w.begin(ctx, t, begin, frozen)
	if !ok {
		return
	}
	t.op, t.begun = c.Operation, true
	w.dispatch(ctx, t, request, frozen, route, begunAttempt{Begin: begin, at: c.At, boot: boot})
}

// beginning says what an attempt begins with.
func (w *Worker) beginning(ctx context.Context, t *task, route Route, kind AttemptKind, f Frozen) Begin {
	// A credential that cannot be had is the carrier's to tell: not sent. It is no
	// other credential than the earlier one, so that it makes no replay unsafe, which
	// would leave the operation to a person: the replay begins, and sends nothing.
	credential, err := t.carrier.CredentialDigest(ctx, route)
	scope := t.binding.Scope(credential)
	if err != nil {
		t.mute, credential = true, ""
		if kind == Replay {
			scope = t.op.Scope
		}
	}
	return Begin{
		Attempt: w.ledger.NewID(PrefixAttempt), Token: t.token, Kind: kind, FrozenDigest: f.Digest,
		ConnectionRevision: route.Revision, Scope: scope, CredentialDigest: credential,
	}
}

// begunAttempt is an attempt that is on record.
type begunAttempt struct {
	Begin
	at   time.Time     // the store's time of its begin
	boot time.Duration // the boot clock before the store was asked for it
}

// dispatch carries a begun attempt's request, once, judges the answer and records
// it.
func (w *Worker) dispatch(ctx context.Context, t *task, request []byte, f Frozen, route Route, begun begunAttempt) {
	w.ledger.seen.dispatched(&t.op, begun.boot)
	stop := w.renewing(context.WithoutCancel(ctx), t)
	x := w.exchange(ctx, t, Dispatch{
		Route: route, Request: f, Write: true, UserAgent: w.cfg.UserAgent,
		MayStart: starting(begun.Attempt, w.mayStart(t, begun)), Operation: &t.op,
	})
	if x.Later != nil {
		// The lease is not renewed any more: the attempt is silent, as the law knows
		// it (M10, M12a), until its call returns after all.
		stop()
		go w.reportLate(ctx, t, request, begun.Attempt, x.Later)
		return
	}
	answer, evidence := w.judge(t, request, &x, begun.Attempt)
	stop()
	w.answered(ctx, t, begun.Attempt, answer, evidence)
}

// answered records what an attempt's answer means.
func (w *Worker) answered(ctx context.Context, t *task, attempt string, answer Answer, evidence Evidence) {
	answer.Attempt, answer.Token = attempt, t.token
	evidence.ID, evidence.Attempt = w.ledger.NewID(PrefixEvidence), attempt
	w.conclude(ctx, t, Event{Kind: EventAnswered, Answer: &answer, Evidence: &evidence})
}

// reportLate waits for a call that outlasted its time and hands in what it
// learnt (M8).
func (w *Worker) reportLate(ctx context.Context, t *task, request []byte, attempt string, later <-chan Exchange) {
	x := <-later
	read, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	// Other attempts may have ended meanwhile: clean is judged as of now.
	if op, err := w.store.Operation(read, "", t.op.ID); err == nil {
		t.op = op
	}
	answer, evidence := w.judge(t, request, &x, attempt)
	w.answered(ctx, t, attempt, answer, evidence)
}

// frozen returns the approved request and the frozen one: as stored, or built
// now for the first attempt (M2a).
func (w *Worker) frozen(ctx context.Context, t *task) ([]byte, Frozen, error) {
	request, err := w.request(ctx, t)
	if err != nil {
		return nil, Frozen{}, err
	}
	// The first begin stores the frozen request and its attempt together: where no
	// attempt is on record there is none to be read.
	frozen, found := Frozen{}, false
	if len(t.op.Attempts) > 0 {
		if frozen, found, err = w.store.FrozenRequest(ctx, t.op.ID); err != nil {
			return nil, Frozen{}, unavailable(err)
		}
	}
	if !found {
		failpoint.Before(failpoint.Frozen)
		frozen, err = t.binding.Freeze(&t.op, request)
		failpoint.After(failpoint.Frozen)
	}
	return request, frozen, err
}

// request reads the approved request, and holds it against the fingerprint of its
// admission: nothing is sent for, and nothing judged by, what a damaged file makes of
// it (I13). A fingerprint under a secret that is not in use any more cannot be held
// against.
func (w *Worker) request(ctx context.Context, t *task) ([]byte, error) {
	request, err := w.store.Request(ctx, t.op.ID)
	if err != nil {
		return nil, unavailable(err)
	}
	fingerprint, key, err := t.binding.Fingerprint(request)
	if err != nil || key == t.op.FingerprintKey && fingerprint != t.op.Fingerprint {
		return nil, &Error{
			Code: CodeRequestInvalid, Operation: t.op.ID,
			Message: "what is stored as its request is not what was admitted: the file is damaged, or was written to",
		}
	}
	return request, nil
}

// describeError is an error's text if it is one of ours, which are safe to show.
func describeError(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Error()
	}
	return "the request cannot be built"
}

// begin makes the attempt durable; ok is false if nothing may be sent. A refusal
// is answered by what it asks for.
func (w *Worker) begin(ctx context.Context, t *task, b Begin, f Frozen) (c Committed, ok bool) {
	ev := Event{Kind: EventBegun, Actor: w.actor, Policy: &t.policy, Begin: &b}
	ev.Connection.Disabled = t.binding.Terms().Mode == ModeDisabled
	c, err := w.ledger.Begin(ctx, t.op.ID, ev, f)
	if err == nil {
		return c, true
	}
	after := context.WithoutCancel(ctx)
	if errors.Is(err, ErrCommitUnknown) || ctx.Err() != nil {
		w.unbegin(after, t, b)
		return c, false
	}
	switch CodeOf(err) {
	case CodeLeaseLost, CodeAlreadySettled, CodeHeld:
	case CodePaused, CodeNotDue, CodeStoreUnavailable, CodeInternal, CodeRecordUnreadable:
		w.unlessRefused(ctx, "an attempt cannot begin", t.op.ID, err)
		w.handBack(after, t)
	case CodeDeadlinePast:
		err = w.step(after, t, Event{Kind: EventDeadlinePassed})
		w.unlessRefused(ctx, "a passed deadline cannot be recorded", t.op.ID, err)
	case CodeReplay:
		reason := "a replay is not safe"
		if e, isOurs := errors.AsType[*Error](err); isOurs && e.Reason != "" {
			reason = e.Reason
		}
		w.reconsider(after, t, Reconsideration{ReplayUnsafe: reason})
	default:
		w.reconsider(after, t, Reconsideration{})
	}
	return c, false
}

// unbegin settles a begin whose commit is unknown. Nothing was sent, and that is
// what is recorded if the attempt is on record after all (M4).
func (w *Worker) unbegin(ctx context.Context, t *task, b Begin) {
	op, err := w.store.Operation(ctx, "", t.op.ID)
	switch {
	case err != nil: // the scan finds the expired lease
	case op.Attempt(b.Attempt) == nil:
		w.handBack(ctx, t)
	default:
		t.op = op
		w.conclude(ctx, t, Event{
			Kind: EventAnswered,
			Answer: &Answer{
				Attempt: b.Attempt, Token: b.Token, Outcome: OutcomeNotSent,
				Detail: "nothing was sent: it was not known whether the attempt was on record",
			},
			Evidence: &Evidence{
				ID: w.ledger.NewID(PrefixEvidence), Attempt: b.Attempt, Kind: EvidenceTransport, Asserts: AssertsNoEffect,
			},
		})
	}
}

// mayStart is asked immediately before the first byte (M9). It counts on a clock
// that goes on while the machine sleeps, from before the lease was asked for,
// and says no once the lease may be over, the operation is withdrawn, or a
// deadline or the target's window has passed by the store's time.
func (w *Worker) mayStart(t *task, begun begunAttempt) func() bool {
	op, policy, lease := t.op, t.policy, w.cfg.Lease
	return func() bool {
		boot := w.cfg.Boot()
		if t.mute || boot-t.asked >= lease || t.withdrawn() {
			return false
		}
		now := begun.at.Add(boot - begun.boot) // never earlier than the store's time
		if op.StartDeadline != nil && !now.Before(*op.StartDeadline) {
			return false
		}
		if begun.Kind == Replay && policy.Window != Forever {
			open := policy.Window - policy.WindowMargin
			if now.After(op.FirstDispatched.Add(open)) || w.ledger.seen.sentFor(op.ID, boot) > open {
				return false
			}
		}
		return boot-begun.boot < slowStart || w.stillSends(op.ID, t.token)
	}
}

// slowStart is how long after the begin the store is asked again before the
// first byte: a connection that took longer leaves time for another process to
// withdraw the operation, or to learn that the effect exists.
const slowStart = 5 * time.Millisecond

// stillSends asks the store whether the attempt is still to be sent: the lease
// stands and nothing bars it. Where the store cannot say, nothing is sent.
func (w *Worker) stillSends(id string, token int64) bool {
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	op, err := w.store.Operation(ctx, "", id)
	return err == nil && op.State == Attempting && op.Lease != nil && op.Lease.Token == token && !op.IsBarred()
}

// starting is mayStart, and marks the place between its yes and the first byte.
func starting(attempt string, mayStart func() bool) func() bool {
	return func() bool {
		if !mayStart() {
			return false
		}
		failpoint.Before(failpoint.FirstByte)
		failpoint.Note(failpoint.FirstByte, attempt)
		return true
	}
}

// exchange carries the request; a panic below means "maybe sent".
func (w *Worker) exchange(ctx context.Context, t *task, d Dispatch) (x Exchange) {
	defer func() {
		if broken := recover(); broken != nil {
			w.log.Error("worker: the carrier broke", "operation", t.op.ID)
			x = Exchange{Failure: "internal", Detail: "the transport failed inside"}
		}
	}()
	failpoint.Before(failpoint.Sent)
	x = t.carrier.Carry(ctx, d)
	failpoint.After(failpoint.Sent)
	return x
}

// judge asks the contract what the answer means; a panic in it means doubt.
func (w *Worker) judge(t *task, request []byte, x *Exchange, attempt string) (a Answer, e Evidence) {
	defer func() {
		if broken := recover(); broken != nil {
			w.log.Error("worker: judging an answer broke", "operation", t.op.ID)
			a = Answer{Outcome: OutcomeUnknown, Doubt: DoubtInternal, Detail: "the answer could not be judged"}
			e = x.Evidence
			e.Kind, e.Asserts = EvidenceTransport, AssertsNothing
		}
	}()
	a, e = t.binding.Judge(&t.op, request, x, t.op.Clean(attempt))
	if x.Redact != nil {
		for _, text := range []*string{&a.Reference, &a.Code, &a.Detail, &a.TargetRequestID} {
			*text = x.Redact(*text)
		}
		redactMismatches(a.Differs, x.Redact)
		redactEvidence(&e, x.Redact)
	}
	return a, e
}
