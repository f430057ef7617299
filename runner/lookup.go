package runner

import (
	"context"

	"github.com/onefold-dev/onefold"
)

// lookup asks the target whether the effect exists. It is no attempt: it has no
// effect. It counts as begun at the lease, which was durable before it (M12).
func (r *Runner) lookup(ctx context.Context, t *task) {
	request, err := r.store.Request(ctx, t.op.ID)
	if err != nil {
		r.handBack(context.WithoutCancel(ctx), t)
		return
	}
	frozen, ok, err := t.binding.LookupRequest(&t.op, request)
	if err != nil || !ok {
		why := "its contract has no look-up"
		if err != nil {
			why = "its look-up cannot be built: " + describe(err)
		}
		r.reconsider(ctx, t, onefold.Reconsideration{Unsendable: why})
		return
	}
	stop := r.renewing(context.WithoutCancel(ctx), t)
	x := r.exchange(ctx, t, onefold.Dispatch{Route: t.binding.Route(), Request: frozen, UserAgent: r.cfg.UserAgent})
	found, evidence := r.judgeLookup(t, request, &x)
	stop()
	found.Token, found.Began = t.token, t.leasedAt
	found.Polled = t.op.Next == onefold.NextPoll
	evidence.ID = r.ledger.NewID(onefold.PrefixEvidence)
	r.conclude(t, onefold.Event{Kind: onefold.EventLookedUp, Lookup: &found, Evidence: &evidence})
}

// judgeLookup asks the contract what the look-up found; a panic in it means that
// nothing was learnt.
func (r *Runner) judgeLookup(t *task, request []byte, x *onefold.Exchange) (l onefold.LookupOutcome, e onefold.Evidence) {
	defer func() {
		if broken := recover(); broken != nil {
			r.log.Error("runner: judging a look-up broke", "operation", t.op.ID)
			l = onefold.LookupOutcome{Result: onefold.LookupInconclusive, Detail: "the look-up's answer could not be judged"}
			e = x.Evidence
			e.Kind, e.Asserts = onefold.EvidenceLookup, onefold.AssertsNothing
		}
	}()
	return t.binding.JudgeLookup(&t.op, request, x)
}
