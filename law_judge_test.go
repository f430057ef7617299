package onefold

import (
	"slices"
	"time"
)

// This file is the specification's table of transitions, written a second time
// and on its own: judge says what must follow from an event, row by row, with
// none of the law's guards, actions or questions. The walk in
// transition_test.go holds the law against it.

// fate is what must become of a lease or a due time.
type fate int

const (
	free fate = iota // the table does not say
	kept
	gone
	given
)

// ruling is what must follow: a refusal with one of the codes, or a step.
type ruling struct {
	refused []Code

	state        State
	bars         bars
	maybe        bool
	contradicted bool
	holds        []HoldReason
	lease        fate
	due          fate         // kept, gone, or given: at dueAt, or any time if that is zero
	dueAt        time.Time    //
	review       ReviewReason // that must open; none but one of planning may, otherwise
	result       string       // the reference that must be recorded
	learnt       LearntFrom   // with it
	rejection    string       // the code of the rejection
	released     bool         // the claim goes
	begun        bool         // an attempt more
}

// bars is a set of bars, one bit each.
type bars uint8

const (
	exists bars = 1 << iota
	differs
	multiple
	conflict
	withdrawn
	late
	restored
)

// blocking bars send evidence of an effect to the review; leaving ones make
// proof of no effect a cancellation (M24).
const (
	blocking = differs | multiple | conflict
	leaving  = withdrawn | late
)

var barNames = []Bar{
	BarEffectExists, BarDiffers, BarMultipleEffects, BarKeyConflict, BarWithdrawn, BarPastDeadline, BarRestored,
}

func barsOf(list []Bar) (b bars) {
	for i, name := range barNames {
		if slices.Contains(list, name) {
			b |= 1 << i
		}
	}
	return b
}

func (b bars) list() (list []Bar) {
	for i, name := range barNames {
		if b&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	return list
}

func (b bars) only(allowed bars) bool { return b&^allowed == 0 }

// ---- what the words of the specification mean

func isOver(s State) bool { return s == Confirmed || s == Rejected || s == Canceled }

// harmless: closed, and proven to have had no effect.
func harmless(a *Attempt) bool {
	if a.EndedAt == nil {
		return false
	}
	return a.Verdict == VerdictNotSent || a.Verdict == VerdictNotApplied || a.Verdict == VerdictRejected || a.ProvenBy != ""
}

// cleanBut tells whether every attempt but one is harmless.
func cleanBut(op *Operation, id string) bool {
	return !slices.ContainsFunc(op.Attempts, func(a Attempt) bool { return a.ID != id && !harmless(&a) })
}

// unfinished counts the attempts that are out or open.
func unfinished(op *Operation) (n int) {
	for i := range op.Attempts {
		if op.Attempts[i].EndedAt == nil {
			n++
		}
	}
	return n
}

// awaited: accepted by the target, in its agreed time as far as is known.
func awaited(op *Operation) bool {
	return op.State == Uncertain && op.Doubt != nil && op.Doubt.Reason == DoubtAccepted && op.Accepted != nil && !op.Accepted.Over
}

// saidToExist: the target says so, though no attempt can have made the record.
func saidToExist(op *Operation) bool {
	n := len(op.Attempts)
	return op.State == Uncertain && op.Doubt != nil && op.Doubt.Reason == DoubtExists && n > 0 && cleanBut(op, op.Attempts[n-1].ID)
}

func attemptOf(op *Operation, id string) *Attempt {
	for i := range op.Attempts {
		if op.Attempts[i].ID == id {
			return &op.Attempts[i]
		}
	}
	return nil
}

func holds(op *Operation, token int64) bool { return op.Lease != nil && op.Lease.Token == token }

func live(op *Operation, now time.Time) bool { return op.Lease != nil && op.Lease.Until.After(now) }

// spentBudget is the budget row's condition, after a wait.
func spentBudget(op *Operation, p *Policy, wait time.Duration, now time.Time) bool {
	if op.Retry.Spent >= p.RetryAttempts || len(op.Attempts) >= MaxAttempts {
		return true
	}
	return op.Retry.Since != nil && now.Sub(*op.Retry.Since)+wait > p.RetryWithin
}

// proofFrom is when a look-up may begin whose absence is proof (M12).
func proofFrom(op *Operation, p *Policy) (from time.Time) {
	for i := range op.Attempts {
		if a := &op.Attempts[i]; !harmless(a) && a.EndedAt != nil && a.EndedAt.After(from) {
			from = *a.EndedAt
		}
	}
	return from.Add(p.Settle + p.Processing)
}

// ---- the table

func same(op *Operation) ruling {
	r := ruling{
		state: op.State, bars: barsOf(op.Barred), maybe: op.MaybeApplied, contradicted: op.Contradicted,
		lease: kept, due: kept,
	}
	for _, h := range op.Holds {
		r.holds = append(r.holds, h.Reason)
	}
	if op.Result != nil {
		r.result = op.Result.Reference
	}
	if op.Rejection != nil {
		r.rejection = op.Rejection.Code
	}
	return r
}

func refused(codes ...Code) ruling { return ruling{refused: codes} }

// over is the ruling for an operation that comes to rest: nothing is due, held
// or leased, and what went silent may still have been applied.
func over(op *Operation, to State) ruling {
	r := same(op)
	r.state, r.holds, r.lease, r.due = to, nil, gone, gone
	r.maybe = unfinished(op) > 0
	return r
}

func confirmedAs(op *Operation, reference string, from LearntFrom) ruling {
	r := over(op, Confirmed)
	r.result, r.learnt = reference, from
	return r
}

func rejectedFor(op *Operation, code string) ruling {
	r := over(op, Rejected)
	r.rejection = code
	return r
}

// doubtful is the ruling for an operation that becomes or stays uncertain.
func doubtful(op *Operation, more bars) ruling {
	r := same(op)
	r.state, r.maybe, r.due = Uncertain, true, free
	r.bars |= more
	r.lease = gone
	if op.State == Uncertain {
		r.lease = free
	}
	return r
}

// judge is the table.
func judge(op *Operation, ev *Event, now time.Time) ruling {
	switch ev.Kind {
	case EventAssigned, EventEscalated:
		return judgeReview(op, ev, now)
	case EventAnswered:
		return judgeAnswer(op, ev, now)
	case EventLookedUp:
		return judgeLookup(op, ev, now)
	case EventObserved:
		return judgeObserved(op, ev)
	case EventAttemptClosed:
		return judgeClosed(op, ev, now)
	case EventLeased, EventRenewed, EventHandedBack, EventLeaseExpired:
		return judgeLease(op, ev, now)
	case EventBegun:
		return judgeBegun(op, ev, now)
	case EventReconsidered:
		return judgePlan(op, ev, now)
	default:
		return judgeDecision(op, ev, now)
	}
}

func judgeReview(op *Operation, ev *Event, now time.Time) ruling {
	r := same(op)
	if ev.Kind == EventEscalated {
		if !slices.ContainsFunc(op.Reviews, func(v Review) bool {
			return v.Status == ReviewOpen && v.EscalatedAt == nil && v.EscalateAt != nil && !v.EscalateAt.After(now)
		}) {
			return refused(CodeNotDue)
		}
		return r
	}
	var codes []Code
	if !slices.ContainsFunc(op.Reviews, func(v Review) bool { return v.ID == ev.Assignment.Review && v.Status == ReviewOpen }) {
		codes = append(codes, CodeReviewUnknown)
	}
	if ev.Assignment.Owner == "" {
		codes = append(codes, CodeMemberInvalid)
	}
	r.refused = codes
	return r
}

func judgeLease(op *Operation, ev *Event, now time.Time) ruling {
	r := same(op)
	switch ev.Kind {
	case EventLeased:
		var codes []Code
		if isOver(op.State) {
			codes = append(codes, CodeAlreadySettled)
		}
		if live(op, now) || op.State == Attempting {
			codes = append(codes, CodeLeased)
		}
		if len(op.Holds) > 0 && op.State == Prepared {
			codes = append(codes, CodeHeld)
		}
		if op.Due == nil || op.Due.After(now) {
			codes = append(codes, CodeNotDue)
		}
		r.refused, r.lease = codes, given
	case EventRenewed:
		r.lease = given
		if !holds(op, ev.Lease.Token) {
			return refused(CodeLeaseLost)
		}
	case EventHandedBack:
		r.lease = gone
		if !holds(op, ev.Lease.Token) || op.State == Attempting {
			return refused(CodeLeaseLost)
		}
	default:
		if op.Lease == nil || live(op, now) && (ev.Lease == nil || !ev.Lease.ProcessGone) {
			return refused(CodeNotDue, CodeNotAllowed)
		}
		r.lease = gone
		if op.State == Attempting {
			r = doubtful(op, 0)
		}
	}
	return r
}

func judgeBegun(op *Operation, ev *Event, now time.Time) ruling {
	b, p := ev.Begin, ev.Policy
	switch {
	case isOver(op.State):
		return refused(CodeAlreadySettled)
	case op.State == Attempting:
		return refused(CodeNotAllowed)
	}
	var codes []Code
	add := func(wrong bool, code Code) {
		if wrong {
			codes = append(codes, code)
		}
	}
	add(!holds(op, b.Token) || !live(op, now), CodeLeaseLost)
	add(len(op.Holds) > 0, CodeHeld)
	add(len(op.Barred) > 0, CodeBarred)
	add(ev.Connection.Paused || ev.Connection.Disabled, CodePaused)
	add(op.StartDeadline != nil && !now.Before(*op.StartDeadline), CodeDeadlinePast)
	add(op.FrozenDigest != "" && op.FrozenDigest != b.FrozenDigest, CodeNotAllowed)
	if op.State == Prepared {
		add(op.NotBefore != nil && now.Before(*op.NotBefore), CodeNotDue)
		add(spentBudget(op, p, 0, now), CodeNotAllowed)
		add(b.Kind != Write, CodeNotAllowed)
	} else {
		add(b.Kind != Replay, CodeNotAllowed)
		add(!replayIsSafe(op, p, b.Scope, now), CodeReplay)
	}
	r := same(op)
	r.refused, r.state, r.begun, r.due = codes, Attempting, true, free
	return r
}

// replayIsSafe is M11a.
func replayIsSafe(op *Operation, p *Policy, scope string, now time.Time) bool {
	n := len(op.Attempts)
	return slices.Contains(p.InDoubt, StepReplay) && p.Window > 0 && len(op.Barred) == 0 &&
		op.FirstDispatched != nil && (p.Window == Forever || !now.After(op.FirstDispatched.Add(p.Window-p.WindowMargin)) && !now.Before(*op.FirstDispatched)) &&
		scope == op.Scope && (unfinished(op) == 0 && workOver(op, p, now) || p.ConcurrentSafe) &&
		n > 0 && !op.Attempts[n-1].Stored && n < MaxAttempts &&
		op.Retry.Spent < p.RetryAttempts && now.Sub(*op.Retry.Since) < p.RetryWithin &&
		(op.StartDeadline == nil || now.Before(*op.StartDeadline))
}

// workOver tells that the target has had its time for everything that reached it.
func workOver(op *Operation, p *Policy, now time.Time) bool {
	for _, a := range op.Attempts {
		harmless := a.ProvenBy != "" || a.Verdict == VerdictNotSent || a.Verdict == VerdictNotApplied || a.Verdict == VerdictRejected
		if a.EndedAt != nil && !harmless && (now.Sub(*a.EndedAt) < p.Processing || now.Sub(*a.EndedAt) < p.Timeout) {
			return false
		}
	}
	return true
}

// prepareAgain is "prepared, due after back-off; then as the budget row says".
func prepareAgain(op *Operation, ev *Event, wait time.Duration, now time.Time) ruling {
	if spentBudget(op, ev.Policy, wait, now) {
		return exhausted(op, ev)
	}
	r := same(op)
	r.state, r.maybe, r.lease = Prepared, false, gone
	r.due, r.dueAt = given, now.Add(wait)
	if len(op.Holds) > 0 {
		r.due = gone
	}
	return r
}

func exhausted(op *Operation, ev *Event) ruling {
	if ev.Policy.Exhausted == ExhaustedReject {
		return rejectedFor(op, "retry_exhausted")
	}
	r := same(op)
	r.state, r.maybe, r.lease, r.due = Prepared, false, gone, gone
	if !slices.Contains(r.holds, HoldRetryExhausted) {
		r.holds, r.review = append(slices.Clone(r.holds), HoldRetryExhausted), ReviewRetryExhausted
	}
	return r
}

// judgePlan: what was planned is not possible now.
func judgePlan(op *Operation, ev *Event, now time.Time) ruling {
	switch {
	case isOver(op.State):
		return refused(CodeNotAllowed)
	case !holds(op, ev.Reconsider.Token):
		return refused(CodeLeaseLost)
	case op.State == Attempting:
		return refused(CodeNotAllowed)
	}
	r := same(op)
	r.lease = gone
	stuck := ev.Reconsider.Unsendable != ""
	switch {
	case ev.Reconsider.Missing != "":
		r.due = given // the worker lacks something: the operation is none the worse
		if since := op.Missing.Since; since != nil && now.Sub(*since) >= time.Minute {
			r.review = ReviewUnsendable
		}
	case op.State == Prepared && stuck:
		r.holds, r.review, r.due = append(r.holds, HoldRetryExhausted), ReviewUnsendable, gone
	case op.State == Prepared && spentBudget(op, ev.Policy, 0, now):
		r = exhausted(op, ev)
	case op.State == Uncertain && stuck:
		r.review, r.due = ReviewUnsendable, gone
	case op.State == Uncertain:
		r.due = free
	}
	return r
}
