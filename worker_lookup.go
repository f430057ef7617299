package onefold

import "context"

// lookup asks the target whether the effect exists. It is no attempt: it has no
// effect. It counts as begun at the lease, which was durable before it (M12).
func (w *Worker) lookup(ctx context.Context, t *task) {
	request, err := w.request(ctx, t)
	if CodeOf(err) == CodeRequestInvalid {
		w.reconsider(ctx, t, Reconsideration{Unsendable: describeError(err)})
		return
	}
	if err != nil {
		w.handBack(context.WithoutCancel(ctx), t)
		return
	}
	frozen, ok, err := t.binding.LookupRequest(&t.op, request)
	if err != nil || !ok {
		why := "its contract has no look-up"
		if err != nil {
			why = "its look-up cannot be built: " + describeError(err)
		}
		w.reconsider(ctx, t, Reconsideration{Unsendable: why})
		return
	}
	stop := w.renewing(context.WithoutCancel(ctx), t)
	x := w.exchange(ctx, t, Dispatch{
		Route: t.binding.Route(), Request: frozen, UserAgent: w.cfg.UserAgent, Operation: &t.op,
	})
	found, evidence := w.judgeLookup(t, request, &x)
	stop()
	found.Token, found.Began = t.token, w.ledger.seen.began(&t.op, t.leasedAt, t.asked)
	// Where a poll could not be built, a look-up went out instead.
	found.Polled = evidence.Kind == EvidencePoll
	evidence.ID = w.ledger.NewID(PrefixEvidence)
	w.conclude(ctx, t, Event{Kind: EventLookedUp, Lookup: &found, Evidence: &evidence})
}

// judgeLookup asks the contract what the look-up found; a panic in it means that
// nothing was learnt.
func (w *Worker) judgeLookup(t *task, request []byte, x *Exchange) (l LookupOutcome, e Evidence) {
	defer func() {
		if broken := recover(); broken != nil {
			w.log.Error("worker: judging a look-up broke", "operation", t.op.ID)
			l = LookupOutcome{Result: LookupInconclusive, Detail: "the look-up's answer could not be judged"}
			e = x.Evidence
			e.Kind, e.Asserts = EvidenceLookup, AssertsNothing
		}
	}()
	l, e = t.binding.JudgeLookup(&t.op, request, x)
	if x.Redact != nil {
		l.Reference, l.Detail = x.Redact(l.Reference), x.Redact(l.Detail)
		redactMismatches(l.Differs, x.Redact)
		redactCandidates(l.Candidates, x.Redact)
		redactEvidence(&e, x.Redact)
	}
	return l, e
}

func redactCandidates(cs []Candidate, redact func(string) string) {
	for i := range cs {
		cs[i].Reference = redact(cs[i].Reference)
		for j := range cs[i].Fields {
			cs[i].Fields[j].Value = redact(cs[i].Fields[j].Value)
		}
	}
}

// redactEvidence blots secrets out of what is kept of an answer: a target that
// echoes a credential must not put it into the ledger. The transport has done so
// for its own part.
func redactEvidence(e *Evidence, redact func(string) string) {
	e.Reference, e.Detail = redact(e.Reference), redact(e.Detail)
	redactMismatches(e.Mismatches, redact)
}

func redactMismatches(ms []Mismatch, redact func(string) string) {
	for i := range ms {
		ms[i].Found = redact(ms[i].Found)
	}
}
