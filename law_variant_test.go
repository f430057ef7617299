package onefold

import (
	"slices"
	"time"
)

// Every event, with every variant of its payload that a row may tell apart.

var odd = []Mismatch{{Pointer: "/total", Approved: `"10.00"`, Found: `"1.00"`}}

// variants walks every event that can happen to the operation.
func variants(s *scene, op *Operation, yield func(Event)) {
	base := Event{
		Actor: Actor{ActorEngine, "test"}, Policy: s.policy(), ReviewID: "rev_new", Reason: "because",
		Connection: ConnectionStanding{Paused: s.paused}, Evidence: &Evidence{ID: "ev_1", Kind: EvidenceResponse, Asserts: AssertsNothing},
	}
	give := func(kind EventKind, fill func(*Event)) {
		ev := base
		ev.Kind = kind
		if fill != nil {
			fill(&ev)
		}
		yield(ev)
		// Once more, where another operation has recorded what it names (M18).
		if slices.Contains(ev.References(op), ourRef) {
			ev.Recorded = map[string]string{ourRef: "op_another"}
			yield(ev)
		}
	}
	leaseVariants(op, give)
	answerVariants(op, give)
	lookupVariants(op, give)
	observationVariants(op, give)
	closeVariants(op, give)
	decisionVariants(op, give)
}

type giver func(EventKind, func(*Event))

// tokens are the lease's token, or the next, and a stale one.
func tokens(op *Operation) []int64 {
	if op.Lease == nil {
		return []int64{op.Token}
	}
	return []int64{op.Lease.Token, op.Lease.Token - 1}
}

func leaseVariants(op *Operation, give giver) {
	give(EventLeased, func(e *Event) { e.Lease = &LeaseGrant{Worker: "w2", For: time.Minute} })
	give(EventLeaseExpired, nil)
	give(EventLeaseExpired, func(e *Event) { e.Lease = &LeaseGrant{ProcessGone: true} })
	for _, token := range tokens(op) {
		give(EventRenewed, func(e *Event) { e.Lease = &LeaseGrant{Token: token, For: time.Minute} })
		give(EventHandedBack, func(e *Event) { e.Lease = &LeaseGrant{Token: token} })
		for _, why := range []Reconsideration{{}, {ReplayUnsafe: "because"}, {Unsendable: "because"}, {Missing: "because"}} {
			why.Token = token
			give(EventReconsidered, func(e *Event) { e.Reconsider = &why })
		}
		for _, kind := range []AttemptKind{Write, Replay} {
			for _, b := range []Begin{
				{FrozenDigest: "frozen", Scope: "scope"}, {FrozenDigest: "frozen", Scope: "another"}, {FrozenDigest: "another", Scope: "scope"},
			} {
				b.Attempt, b.Token, b.Kind = "att_new", token, kind
				give(EventBegun, func(e *Event) { e.Begin = &b })
			}
		}
	}
}

// answers are the variants of an answer to one attempt.
var answers = func() (list []Answer) {
	for _, o := range append(Outcomes(), "never heard of") {
		list = append(list, Answer{Outcome: o})
		switch o {
		case OutcomeConfirmed:
			for _, ref := range []string{"", ourRef, otherRef} {
				list = append(list, Answer{Outcome: o, Reference: ref}, Answer{Outcome: o, Reference: ref, Differs: odd})
			}
			list = append(list, Answer{Outcome: o, Reference: ourRef, NamedByRequest: true})
		case OutcomeUnknown, OutcomeAccepted:
			list = append(list, Answer{Outcome: o, EffectExists: true}, Answer{Outcome: o, EffectExists: true, Reference: otherRef})
		case OutcomeRejected, OutcomeNotApplied, OutcomeNotSent:
			list = append(
				list, Answer{Outcome: o, SettlesOperation: true}, Answer{Outcome: o, EffectExists: true}, Answer{Outcome: o, Differs: odd},
				Answer{Outcome: o, RetryAfter: 2 * time.Minute},
			)
		case OutcomeExists:
			list = append(list, Answer{Outcome: o, OwnIdentity: true})
			for _, ref := range []string{ourRef, otherRef} {
				list = append(list, Answer{Outcome: o, Reference: ref}, Answer{Outcome: o, Reference: ref, OwnIdentity: true})
			}
		default: // the bare outcome says all
		}
	}
	return list
}()

func answerVariants(op *Operation, give giver) {
	one := func(a Answer, attempt string, token int64) {
		a.Attempt, a.Token = attempt, token
		give(EventAnswered, func(e *Event) { e.Answer = &a })
	}
	one(Answer{Outcome: OutcomeConfirmed, Reference: ourRef}, "att_of_nobody", 1)
	for i := range op.Attempts {
		a := &op.Attempts[i]
		one(Answer{Outcome: OutcomeConfirmed, Reference: ourRef}, a.ID, a.Token+40)
		for _, answer := range answers {
			one(answer, a.ID, a.Token)
			if a.EndedAt != nil && a.ClosedBy == "" {
				break // it has answered: one refusal is enough
			}
		}
	}
}

var lookups = func() (list []LookupOutcome) {
	for _, ref := range []string{"", ourRef, otherRef} {
		for n := range 8 {
			l := LookupOutcome{Result: LookupFound, Reference: ref, Predates: n&1 != 0, FinallyFailed: n&2 != 0, Polled: ref == otherRef}
			if n&4 != 0 {
				l.Differs = odd
			}
			list = append(list, l)
		}
	}
	// The last attempt that may have reached the target ended within the first
	// hours; a look-up that began at dawn began too early for all of them.
	list = append(
		list, LookupOutcome{Result: LookupPending}, LookupOutcome{Result: LookupPending, Reference: ourRef},
		LookupOutcome{Result: LookupCandidates, Detail: "one", Candidates: []Candidate{{Reference: otherRef}}},
	)
	list = append(
		list, LookupOutcome{Result: LookupFound, Reference: ourRef, Polled: true},
		LookupOutcome{Result: LookupFound, Reference: ourRef, Polled: true, NamedByRequest: true},
		LookupOutcome{Result: LookupFound, Reference: ourRef, OwnIdentity: true, NamedByRequest: true},
		LookupOutcome{Result: LookupFound, Reference: ourRef, NamedByRequest: true},
		LookupOutcome{Result: LookupFound, Reference: ourRef, Polled: true, FinallyFailed: true},
	)
	for _, l := range []LookupOutcome{
		{Result: LookupFound, Reference: ourRef},
		{Result: LookupFound, Reference: ourRef, Predates: true},
		{Result: LookupFound, Reference: otherRef, FinallyFailed: true},
		{Result: LookupFound, Reference: ourRef, Differs: odd},
		{Result: LookupSeveral, Reference: otherRef},
		{Result: LookupPending, Reference: ourRef},
	} {
		l.OwnIdentity = true
		list = append(list, l)
	}
	return append(
		list, LookupOutcome{Result: LookupAbsent, Began: noon.Add(-time.Second)}, LookupOutcome{Result: LookupAbsent, Began: dawn},
		LookupOutcome{Result: LookupInconclusive, Began: noon}, LookupOutcome{Result: LookupSeveral, Detail: "two"},
		LookupOutcome{Result: LookupSeveral, Reference: otherRef},
	)
}()

func lookupVariants(op *Operation, give giver) {
	for _, token := range tokens(op) {
		for _, l := range lookups {
			l.Token = token
			give(EventLookedUp, func(e *Event) { e.Lookup = &l })
		}
	}
}

var observations = func() (list []Observation) {
	for _, ref := range []string{"", ourRef, otherRef} {
		for _, by := range []bool{false, true} {
			for _, m := range [][]Mismatch{nil, odd} {
				list = append(list, Observation{Asserts: AssertsEffect, Reference: ref, ByHand: by, Differs: m})
				list = append(list, Observation{Asserts: AssertsEffect, Reference: ref, ByHand: by, Differs: m, Predates: true})
			}
			list = append(list, Observation{Asserts: AssertsEffect, Reference: ref, ByHand: by, Unshown: []string{"/total"}})
			list = append(list, Observation{Asserts: AssertsNoEffect, Reference: ref, ByHand: by, FinallyFailed: ref != ""})
		}
		list = append(
			list, Observation{Asserts: AssertsEffect, Reference: ref, Attempt: "att_1"}, Observation{Asserts: AssertsNoEffect, Reference: ref, Attempt: "att_1"},
			Observation{Asserts: AssertsEffect, Reference: ref, Unshown: []string{"/total"}, Differs: odd, Predates: true},
		)
	}
	return append(
		list, Observation{Asserts: AssertsNothing}, Observation{Asserts: AssertsNothing, FinallyFailed: true},
		Observation{Asserts: AssertsEffect, FinallyFailed: true}, Observation{Asserts: AssertsNoEffect, Differs: odd},
	)
}()

func observationVariants(_ *Operation, give giver) {
	for i := range observations {
		give(EventObserved, func(e *Event) { e.Observation = &observations[i] })
	}
}

func closeVariants(op *Operation, give giver) {
	ids := []string{"att_of_nobody"}
	for i := range op.Attempts {
		ids = append(ids, op.Attempts[i].ID)
	}
	for _, id := range ids {
		for _, by := range []CloseWay{ClosedByStraggler, ClosedByProcessEnd} {
			give(EventAttemptClosed, func(e *Event) { e.Close = &AttemptClose{Attempt: id, By: by} })
		}
	}
}

func decisionVariants(op *Operation, give giver) {
	for _, release := range []bool{false, true} {
		give(EventCanceled, func(e *Event) { e.Cancel = &Cancellation{Release: release} })
	}
	give(EventDeadlinePassed, nil)
	give(EventRetryAsked, nil)
	give(EventRecovered, nil)
	give(EventEscalated, nil)
	give(EventAgreedTimeOver, nil)
	for _, reason := range []HoldReason{HoldApproval, HoldRetryExhausted, HoldAmendment} {
		give(EventHoldPlaced, func(e *Event) { e.Place = &Hold{Reason: reason} })
		for _, proceed := range []bool{false, true} {
			give(EventHoldDecided, func(e *Event) { e.Hold = &HoldDecision{Reason: reason, Proceed: proceed} })
		}
	}
	for _, r := range []Resolution{
		{Outcome: ResolveConfirmed},
		{Outcome: ResolveConfirmed, Reference: ourRef},
		{Outcome: ResolveConfirmed, Reference: otherRef},
		{Outcome: ResolveRejected},
		{Outcome: ResolveNotApplied},
	} {
		give(EventResolved, func(e *Event) { e.Resolution = &r })
	}
	reviews := []string{"rev_of_nobody"}
	for i := range op.Reviews {
		reviews = append(reviews, op.Reviews[i].ID)
	}
	for _, id := range reviews {
		for _, owner := range []string{"", "otto"} {
			give(EventAssigned, func(e *Event) { e.Assignment = &Assignment{Review: id, Owner: owner} })
		}
	}
}
