package onefold

import (
	"slices"
	"strings"
	"time"
)

// step is one application of the law: the operation being changed and what
// happened to it.
type step struct {
	op      Operation // a clone; changed in place
	ev      *Event
	now     time.Time
	from    State
	rule    *Transition
	effects []Effect
	detail  string // for the timeline
	// doubted is the doubt that a settlement ends.
	doubted DoubtReason
	// reviewed tells that this step opened a review; it is the last one.
	reviewed bool
	// incident tells that in this step a wait stopped being as agreed, news that it
	// changed a fact although its row changes none.
	incident, news bool
	// unkept tells that the step repeats what is on record, so that it leaves neither
	// line nor evidence; repeated says how often that was told.
	unkept   bool
	repeated string
	// retold tells that the step before said the same, so that it leaves no line.
	retold bool
}

// whole tells whether the event has the payload that its kind needs.
func (ev *Event) whole() bool {
	switch ev.Kind {
	case EventLeased, EventRenewed, EventHandedBack:
		return ev.Lease != nil
	case EventBegun:
		return ev.Begin != nil
	case EventAnswered:
		return ev.Answer != nil
	case EventLookedUp:
		return ev.Lookup != nil
	case EventObserved:
		return ev.Observation != nil
	case EventAttemptClosed:
		return ev.Close != nil
	case EventReconsidered:
		return ev.Reconsider != nil
	case EventCanceled:
		return ev.Cancel != nil
	case EventHoldPlaced:
		return ev.Place != nil
	case EventHoldDecided:
		return ev.Hold != nil
	case EventResolved:
		return ev.Resolution != nil
	case EventAssigned:
		return ev.Assignment != nil
	case EventAdmitted, EventNoted, EventLeaseExpired, EventDeadlinePassed, EventRetryAsked, EventEscalated,
		EventAgreedTimeOver, EventRecovered:
	}
	return true
}

func (s *step) move(to State) {
	s.op.State = to
	if !to.Terminal() {
		return
	}
	if s.op.Doubt != nil {
		s.doubted = s.op.Doubt.Reason
	}
	s.op.Lease, s.op.Due, s.op.Holds, s.op.Doubt, s.op.Accepted = nil, nil, nil, nil, nil
	s.op.Next = NextNone
	at := s.now
	s.op.SettledAt = &at
}

// settle puts an operation to rest: reviews that evidence has answered are
// closed, and maybe_applied remains only while an attempt is still open.
func (s *step) settle(decision string) {
	s.op.MaybeApplied = s.op.OpenAttempt()
	s.closeReviews(decision, "")
}

// finish writes down what every step leaves behind: version, timeline, evidence
// and word to the outside.
func (s *step) finish() {
	// A review that opens is a change of fact, whatever row it opens in: decisions
	// are made against a version. So is an agreed time that is over.
	if !s.uneventful() {
		s.op.Version++
		s.op.UpdatedAt = s.now
	}
	s.notePoll()
	if e := s.ev.Evidence; e != nil && !s.unkept {
		e := *e
		e.Operation, e.SeenAt = s.op.ID, s.now
		e.Detail = joined(e.Detail, s.sharedWords(), s.repeated)
		if e.RecordedBy == (Actor{}) {
			e.RecordedBy = s.ev.Actor
		}
		s.effects = append(s.effects, Effect{Kind: EffectEvidence, Evidence: &e})
	}
	if !s.rule.Silent && !s.unkept && !s.retold {
		s.effects = append(s.effects, Effect{Kind: EffectRecord, Entry: s.entry()})
	}
	if l := s.ev.Lookup; l != nil && l.PauseConnection {
		s.effects = append(s.effects, Effect{Kind: EffectPauseConnection, Detail: l.Detail})
	}
	// Ordinary acceptance is no incident: word of it goes out when its agreed time
	// is over (section 4).
	if (s.op.State != s.from || s.incident) && !s.op.AwaitedAsAgreed() {
		s.notify("operation." + string(s.op.State))
	}
	if s.reviewed {
		s.notify("review.opened")
	}
}

// uneventful tells whether the step changed no fact.
func (s *step) uneventful() bool {
	return s.rule.Quiet && !s.reviewed && !s.incident && !s.news
}

// joined puts what is said about one thing into one line.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}

func (s *step) entry() *Entry {
	e := &Entry{
		Operation: s.op.ID, At: s.now, Actor: s.ev.Actor, Event: s.ev.Kind, Rule: s.rule.ID,
		From: s.from, To: s.op.State, Detail: s.detail, Reason: s.ev.Reason, Version: s.op.Version,
	}
	if e.Detail == "" {
		e.Detail = s.rule.Does
	}
	e.Detail = joined(e.Detail, s.sharedWords(), s.repeated)
	if s.ev.Evidence != nil {
		e.Evidence = s.ev.Evidence.ID
	}
	switch {
	case s.ev.Begin != nil:
		e.Attempt = s.ev.Begin.Attempt
	case s.ev.Answer != nil:
		e.Attempt = s.ev.Answer.Attempt
	case s.ev.Close != nil:
		e.Attempt = s.ev.Close.Attempt
	case s.ev.Assignment != nil:
		e.Review = s.ev.Assignment.Review
	}
	return e
}

func (s *step) notify(topic string) {
	s.effects = append(s.effects, Effect{Kind: EffectNotify, Topic: topic})
}

func (s *step) refusal(row *Transition) *Error {
	e := &Error{Code: row.Refusal, Operation: s.op.ID, State: s.op.State, Version: s.op.Version, Bars: s.op.Barred}
	e.Message = "the operation is " + string(s.op.State)
	if row.When != "" {
		e.Message += ": " + row.When
	}
	if row.Refusal == CodeRetryUnsafe || row.Refusal == CodeReplay {
		e.Reason = "attempting"
		if s.op.State == Uncertain {
			e.Reason = s.replayDenied(s.beginScope())
		}
		e.Message = "sending again is not safe: " + e.Reason
	}
	return e
}

// ---- bars, doubt, references

func (s *step) bar(b Bar) {
	if s.op.IsBarred(b) {
		return
	}
	switch b {
	case BarEffectExists, BarDiffers, BarMultipleEffects, BarKeyConflict:
		s.suggest()
	case BarWithdrawn, BarPastDeadline, BarRestored:
	}
	s.op.Barred = append(s.op.Barred, b)
	order := Bars()
	slices.SortFunc(s.op.Barred, func(x, y Bar) int { return slices.Index(order, x) - slices.Index(order, y) })
}

func (s *step) lift(bars ...Bar) {
	s.op.Barred = slices.DeleteFunc(s.op.Barred, func(b Bar) bool { return slices.Contains(bars, b) })
}

func (s *step) doubt(reason DoubtReason) {
	s.op.Doubt = &Doubt{Reason: reason, Since: s.now}
}

// doubtAnew gives a lasting doubt another reason.
func (s *step) doubtAnew(reason DoubtReason) {
	since := s.now
	if s.op.Doubt != nil {
		since = s.op.Doubt.Since
	}
	s.op.Doubt = &Doubt{Reason: reason, Since: since}
}

func (s *step) see(reference string) {
	if reference == "" {
		return
	}
	s.suggest()
	// Evidence keeps every one; the standing, which each step writes anew, so many.
	if len(s.op.SeenReferences) < MaxSeenReferences && !slices.Contains(s.op.SeenReferences, reference) {
		s.op.SeenReferences = append(s.op.SeenReferences, reference)
	}
}

// otherSeen tells whether evidence named a reference other than the given one.
func (s *step) otherSeen(reference string) bool {
	return reference != "" && slices.ContainsFunc(s.op.SeenReferences, func(r string) bool { return r != reference })
}

// blocked tells whether a bar stands under which evidence of an effect goes to
// the review instead of confirming.
func (s *step) blocked() bool { return s.op.IsBarred(BarDiffers, BarKeyConflict, BarMultipleEffects) }

// barredOnly tells whether no bar but the given ones is set.
func (s *step) barredOnly(allowed ...Bar) bool {
	for _, b := range s.op.Barred {
		if !slices.Contains(allowed, b) {
			return false
		}
	}
	return true
}

// ---- reviews

// openReview opens a review for the reason, unless one is open for it. Every
// review has an owner (M16): the connection's owner now, else at admission.
//
// One event opens one review at most, since it brings one id: what else needs
// the person's eye is told in that review's detail. The operation's bars and
// its contradiction are recorded on their own.
func (s *step) openReview(reason ReviewReason, detail string) string {
	if r := s.op.openReview(reason); r != nil {
		return r.ID
	}
	if s.reviewed {
		r := &s.op.Reviews[len(s.op.Reviews)-1]
		r.Detail += "; " + detail
		return r.ID
	}
	s.reviewed = true
	r := Review{
		ID: s.ev.ReviewID, Reason: reason, Status: ReviewOpen, Owner: s.op.Owner, OpenedAt: s.now, Detail: detail,
	}
	if p := s.ev.Policy; p != nil {
		if p.Owner != "" {
			r.Owner = p.Owner
		}
		if p.EscalateAfter > 0 && p.EscalateTo != "" {
			at := s.now.Add(p.EscalateAfter)
			r.EscalateAt, r.EscalateTo = &at, p.EscalateTo
		}
	}
	if s.ev.Evidence != nil {
		r.Evidence = s.ev.Evidence.ID
	}
	s.op.Reviews = append(s.op.Reviews, r)
	return r.ID
}

// closeReviews resolves all open reviews, or the named one. Two sorts stay open
// unless they are named: the review of a contradiction, which only a person
// resolves (M20), and that of a hold that still stands.
func (s *step) closeReviews(decision, id string) {
	for i := range s.op.Reviews {
		r := &s.op.Reviews[i]
		if r.Status != ReviewOpen || id != "" && r.ID != id {
			continue
		}
		if id == "" && (s.op.Contradicted && r.Reason == ReviewContradicted || s.holdReview(r.ID)) {
			continue
		}
		at, by := s.now, s.ev.Actor
		r.Status, r.ResolvedAt, r.ResolvedBy = ReviewResolved, &at, &by
		r.Decision, r.Justification = decision, s.ev.Reason
	}
}

func (s *step) holdReview(id string) bool {
	return slices.ContainsFunc(s.op.Holds, func(h Hold) bool { return h.Review == id })
}

// ---- leases

func (s *step) leaseLive() bool    { return s.op.Lease != nil && s.op.Lease.Until.After(s.now) }
func (s *step) held() bool         { return len(s.op.Holds) > 0 }
func (s *step) barred() bool       { return s.op.IsBarred() }
func (s *step) notDue() bool       { return s.op.Due == nil || s.op.Due.After(s.now) }
func (s *step) holds() bool        { return s.holder(s.ev.Lease.Token) }
func (s *step) leaseNotOver() bool { return s.op.Lease == nil || s.leaseLive() && !s.ev.processGone() }

func (ev *Event) processGone() bool { return ev.Lease != nil && ev.Lease.ProcessGone }

func (s *step) holder(token int64) bool { return s.op.Lease != nil && s.op.Lease.Token == token }

func (s *step) lease() {
	s.op.Token++
	s.op.Lease = &Lease{Token: s.op.Token, Worker: s.ev.Lease.Worker, Until: s.now.Add(s.ev.Lease.For)}
}

func (s *step) renew() {
	s.op.Lease.Until = s.now.Add(s.ev.Lease.For)
}

func (s *step) unlease() { s.op.Lease = nil }

// expireAttempt turns a silent attempt into an open one (M10, M12a).
func (s *step) expireAttempt() {
	s.leaveOpen()
	s.op.MaybeApplied = true
	s.doubt(DoubtLeaseExpired)
	s.plan()
}

// leaveOpen takes the lease away and leaves the outstanding attempt open.
func (s *step) leaveOpen() {
	s.op.Lease = nil
	a := s.outstanding()
	if a == nil {
		return
	}
	at := s.now
	a.Open, a.OpenSince = true, &at
	s.setCloseAt(a)
}

// setCloseAt says when straggler closes an open attempt: never less than the
// attempt's time-out after it went silent (M12a). Without a policy that time is
// not known, and the attempt stays open until it is or a report or a dead
// process closes it.
func (s *step) setCloseAt(a *Attempt) {
	p := s.ev.Policy
	if !a.Open || a.CloseAt != nil || a.OpenSince == nil || p == nil {
		return
	}
	at := a.OpenSince.Add(max(p.Straggler, p.Timeout))
	a.CloseAt = &at
}

// outstanding is the attempt that is out under the present lease.
func (s *step) outstanding() *Attempt {
	for i := range s.op.Attempts {
		if a := &s.op.Attempts[i]; !a.Closed() && !a.Open {
			return a
		}
	}
	return nil
}

// ---- beginning

func (s *step) notLiveHolder() bool { return !s.holder(s.ev.Begin.Token) || !s.leaseLive() }

func (s *step) connectionClosed() bool { return s.ev.Connection.Paused || s.ev.Connection.Disabled }

func (s *step) beforeStart() bool { return s.op.NotBefore != nil && s.now.Before(*s.op.NotBefore) }

func (s *step) pastDeadline() bool {
	return s.op.StartDeadline != nil && !s.now.Before(*s.op.StartDeadline)
}

func (s *step) otherFrozen() bool {
	return s.op.FrozenDigest != "" && s.op.FrozenDigest != s.ev.Begin.FrozenDigest
}

func (s *step) budgetGone() bool {
	return s.ev.Policy != nil && s.retrySpent(0)
}

func (s *step) isWrite() bool  { return s.ev.Begin.Kind == Write }
func (s *step) isReplay() bool { return s.ev.Begin.Kind == Replay }

func (s *step) beginScope() string {
	if s.ev.Begin == nil {
		return s.op.Scope
	}
	return s.ev.Begin.Scope
}

func (s *step) replayUnsafe() bool { return s.replayDenied(s.beginScope()) != "" }

func (s *step) begin() {
	b := s.ev.Begin
	if s.op.FrozenDigest == "" {
		s.op.FrozenDigest, s.op.ConnectionRevision = b.FrozenDigest, b.ConnectionRevision
	}
	// Where every earlier attempt is proven without effect, nothing at the target
	// is bound to the scope that they used.
	if s.op.Clean("") {
		s.op.Scope = b.Scope
	}
	at := s.now
	if s.op.FirstDispatched == nil {
		s.op.FirstDispatched = &at
	}
	if s.op.Retry.Since == nil {
		s.op.Retry.Since, s.op.Retry.PausedFor = &at, s.ev.Connection.PausedFor
	}
	s.op.Retry.Spent++
	s.op.Attempts = append(s.op.Attempts, Attempt{
		ID: b.Attempt, Number: len(s.op.Attempts) + 1, Kind: b.Kind, Worker: s.op.Lease.Worker,
		Token: b.Token, BegunAt: at, CredentialDigest: b.CredentialDigest,
	})
	s.op.Doubt, s.op.Due, s.op.AbsentTurns = nil, nil, 0
	s.op.Next = NextAttempt
	if b.Kind == Replay {
		s.op.Next = NextReplay
		return
	}
	// What was accepted before is proven to have come to nothing.
	s.op.Accepted = nil
}
