package storetest

import (
	"time"

	"pgregory.net/rapid"

	"github.com/onefold-dev/onefold"
)

// likely lists the events that can move an operation in its state, those that
// lead further more than once, so that random walks reach deep into the law.
func likely(op *onefold.Operation) []onefold.EventKind {
	switch {
	case op.State == onefold.Prepared && op.Lease != nil:
		return []onefold.EventKind{
			onefold.EventBegun, onefold.EventBegun, onefold.EventBegun, onefold.EventBegun, onefold.EventHandedBack,
			onefold.EventLeaseExpired, onefold.EventCanceled, onefold.EventReconsidered,
		}
	case op.State == onefold.Prepared && len(op.Holds) > 0:
		return []onefold.EventKind{onefold.EventHoldDecided, onefold.EventHoldDecided, onefold.EventObserved}
	case op.State == onefold.Prepared:
		return []onefold.EventKind{
			onefold.EventLeased, onefold.EventLeased, onefold.EventLeased, onefold.EventLeased, onefold.EventCanceled,
			onefold.EventHoldPlaced, onefold.EventObserved, onefold.EventAnswered,
		}
	case op.State == onefold.Attempting:
		return []onefold.EventKind{
			onefold.EventAnswered, onefold.EventAnswered, onefold.EventAnswered, onefold.EventLeaseExpired,
			onefold.EventObserved, onefold.EventCanceled,
		}
	case op.State == onefold.Uncertain && op.Lease == nil:
		return []onefold.EventKind{
			onefold.EventLeased, onefold.EventLeased, onefold.EventLeased, onefold.EventAnswered, onefold.EventObserved,
			onefold.EventAttemptClosed, onefold.EventAttemptClosed, onefold.EventResolved, onefold.EventCanceled,
			onefold.EventEscalated, onefold.EventAgreedTimeOver,
		}
	case op.State == onefold.Uncertain:
		return []onefold.EventKind{
			onefold.EventLookedUp, onefold.EventLookedUp, onefold.EventLookedUp, onefold.EventBegun, onefold.EventAnswered,
			onefold.EventObserved, onefold.EventResolved, onefold.EventReconsidered, onefold.EventAttemptClosed,
		}
	}
	return []onefold.EventKind{
		onefold.EventObserved, onefold.EventObserved, onefold.EventResolved, onefold.EventAnswered, onefold.EventLookedUp,
		onefold.EventAttemptClosed, onefold.EventAssigned, onefold.EventEscalated,
	}
}

// event draws an event for an operation: mostly one that may fit, sometimes a
// stale, early or senseless one.
func (m *model) event(r *rapid.T, op *onefold.Operation) onefold.Event {
	kinds := likely(op)
	if rapid.IntRange(0, 4).Draw(r, "unlikely") == 0 {
		kinds = onefold.EventKinds()
	}
	ev := m.subject.Event(rapid.SampledFrom(kinds).Draw(r, "event"), Caller())
	if ev.Kind == onefold.EventLeased && op.Due != nil && rapid.IntRange(0, 4).Draw(r, "early") > 0 {
		m.subject.WaitFor(*op.Due)
	}
	token := op.Token
	if rapid.IntRange(0, 9).Draw(r, "stale") == 0 {
		token--
	}
	if rapid.Bool().Draw(r, "with evidence") {
		ev.Evidence = &onefold.Evidence{
			ID: m.subject.IDs.New(onefold.PrefixEvidence, m.now()), Kind: onefold.EvidenceEvent, Asserts: onefold.AssertsNothing,
		}
	}
	attempt := onefold.Attempt{ID: "att_none"}
	if n := len(op.Attempts); n > 0 {
		attempt = op.Attempts[rapid.IntRange(0, n-1).Draw(r, "attempt")]
	}
	reference := rapid.SampledFrom([]string{"", "B-1", "B-1", "B-2"}).Draw(r, "reference")
	switch ev.Kind {
	case onefold.EventLeased, onefold.EventRenewed, onefold.EventHandedBack, onefold.EventLeaseExpired:
		ev.Lease = &onefold.LeaseGrant{
			Worker: "w1", Token: token, For: 30 * time.Second, ProcessGone: rapid.Bool().Draw(r, "process gone"),
		}
	case onefold.EventBegun:
		ev.Begin = m.subject.Begin(token).Begin
		if op.State == onefold.Uncertain {
			ev.Begin.Kind = onefold.Replay
		}
	case onefold.EventAnswered:
		ev.Answer = drawAnswer(r, &attempt, reference)
	case onefold.EventLookedUp:
		ev.Lookup = &onefold.LookupOutcome{
			Token: token, Began: m.now(), Reference: reference, Predates: rapid.IntRange(0, 9).Draw(r, "predates") == 0,
			Result: rapid.SampledFrom([]onefold.LookupResult{
				onefold.LookupFound, onefold.LookupAbsent, onefold.LookupInconclusive, onefold.LookupSeveral,
				onefold.LookupPending, onefold.LookupCandidates,
			}).Draw(r, "result"),
			OwnIdentity: rapid.Bool().Draw(r, "own identity"), FinallyFailed: rapid.IntRange(0, 9).Draw(r, "failed") == 0,
			Polled: op.Next == onefold.NextPoll, PauseConnection: rapid.IntRange(0, 9).Draw(r, "pauses") == 0,
		}
		if ev.Lookup.Result == onefold.LookupCandidates {
			ev.Lookup.Candidates = []onefold.Candidate{{Reference: reference, Fields: []onefold.CandidateField{{Pointer: "/amount", Value: `"1"`}}}}
		}
	case onefold.EventObserved:
		ev.Observation = &onefold.Observation{
			Reference: reference, ByHand: rapid.Bool().Draw(r, "by hand"),
			Asserts: rapid.SampledFrom([]onefold.Assertion{
				onefold.AssertsEffect, onefold.AssertsNoEffect, onefold.AssertsNothing,
			}).Draw(r, "asserts"),
		}
	case onefold.EventAttemptClosed:
		ev.Close = &onefold.AttemptClose{
			Attempt: attempt.ID,
			By:      rapid.SampledFrom([]onefold.CloseWay{onefold.ClosedByProcessEnd, onefold.ClosedByStraggler}).Draw(r, "by"),
		}
	default:
		m.decision(r, &ev, op, token, reference)
	}
	return ev
}

func drawAnswer(r *rapid.T, attempt *onefold.Attempt, reference string) *onefold.Answer {
	a := &onefold.Answer{
		Attempt: attempt.ID, Token: attempt.Token, Reference: reference,
		Outcome:          rapid.SampledFrom(onefold.Outcomes()).Draw(r, "outcome"),
		EffectExists:     rapid.IntRange(0, 9).Draw(r, "effect") == 0,
		PauseConnection:  rapid.IntRange(0, 9).Draw(r, "pauses") == 0,
		SettlesOperation: rapid.Bool().Draw(r, "settles"),
		Stored:           rapid.Bool().Draw(r, "stored"),
	}
	switch a.Outcome {
	case onefold.OutcomeRejected:
		a.Code = "refused"
	case onefold.OutcomeUnknown:
		a.Doubt = onefold.DoubtNoAnswer
	default:
	}
	return a
}

// decision draws what a caller, an operator or the plan decides.
func (m *model) decision(r *rapid.T, ev *onefold.Event, op *onefold.Operation, token int64, reference string) {
	switch ev.Kind {
	case onefold.EventReconsidered:
		ev.Reconsider = &onefold.Reconsideration{Token: token}
	case onefold.EventCanceled:
		ev.Cancel = &onefold.Cancellation{Release: rapid.Bool().Draw(r, "release")}
	case onefold.EventHoldPlaced:
		ev.Place = &onefold.Hold{Reason: onefold.HoldApproval, Since: m.now()}
	case onefold.EventHoldDecided:
		ev.Hold = &onefold.HoldDecision{Reason: onefold.HoldApproval, Proceed: rapid.Bool().Draw(r, "proceed")}
	case onefold.EventResolved:
		ev.Resolution = &onefold.Resolution{
			Reference: reference,
			Outcome: rapid.SampledFrom([]onefold.ResolutionOutcome{
				onefold.ResolveConfirmed, onefold.ResolveRejected, onefold.ResolveNotApplied,
			}).Draw(r, "decision"),
		}
	case onefold.EventAssigned:
		ev.Assignment = &onefold.Assignment{Review: "rev_none", Owner: "carol"}
		if n := len(op.Reviews); n > 0 {
			ev.Assignment.Review = op.Reviews[rapid.IntRange(0, n-1).Draw(r, "review")].ID
		}
	default:
	}
}
