package onefold

import "time"

// EventKind names what can happen to an operation.
type EventKind string

// The events of the law. EventAdmitted begins an operation; the rest happen to
// one that exists.
const (
	EventAdmitted EventKind = "admitted"
	// EventLeased: a worker takes the operation for a while (M7).
	EventLeased EventKind = "leased"
	// EventRenewed: the holder prolongs its lease (M9).
	EventRenewed EventKind = "renewed"
	// EventHandedBack: the holder gives its lease back without having begun.
	EventHandedBack EventKind = "handed_back"
	// EventLeaseExpired: the scan found a lease whose time is over (M10).
	EventLeaseExpired EventKind = "lease_expired"
	// EventBegun: the holder begins an attempt; durable before the first byte (M4).
	EventBegun EventKind = "begun"
	// EventAnswered: an attempt's outcome, by its holder or late (M8).
	EventAnswered EventKind = "answered"
	// EventLookedUp: the outcome of a look-up.
	EventLookedUp EventKind = "looked_up"
	// EventObserved: evidence from elsewhere: an event, or delivered by hand.
	EventObserved EventKind = "observed"
	// EventAttemptClosed: an open attempt is closed (M12a).
	EventAttemptClosed EventKind = "attempt_closed"
	// EventReconsidered: the plan is looked at again because what it planned is
	// not possible now (window over, scope changed, contract without a way).
	EventReconsidered EventKind = "reconsidered"
	// EventCanceled: a caller or operator withdraws the operation (M24).
	EventCanceled EventKind = "canceled"
	// EventDeadlinePassed: the start deadline passed (M24).
	EventDeadlinePassed EventKind = "deadline_passed"
	// EventHoldPlaced and EventHoldDecided place and decide a hold.
	EventHoldPlaced  EventKind = "hold_placed"
	EventHoldDecided EventKind = "hold_decided"
	// EventRetryAsked: an operator asks for the due attempt or a safe replay now.
	EventRetryAsked EventKind = "retry_asked"
	// EventResolved: an operator decides an uncertain or contradicted operation.
	EventResolved EventKind = "resolved"
	// EventAssigned: a review is handed to another owner.
	EventAssigned EventKind = "assigned"
	// EventEscalated: a review stayed open too long; a second person is named.
	EventEscalated EventKind = "escalated"
	// EventAgreedTimeOver: the time in which the target was to finish accepted
	// work is over. It proves nothing about the effect; the wait becomes an
	// incident (M16a) and the recovery plan goes on.
	EventAgreedTimeOver EventKind = "agreed_time_over"
	// EventRecovered: recovery after a restore (M29).
	EventRecovered EventKind = "recovered"
	// EventNoted: a note on the timeline that changes nothing (M22).
	EventNoted EventKind = "noted"
)

// EventKinds lists all kinds of event that Apply takes.
func EventKinds() []EventKind {
	return []EventKind{
		EventLeased, EventRenewed, EventHandedBack, EventLeaseExpired, EventBegun, EventAnswered,
		EventLookedUp, EventObserved, EventAttemptClosed, EventReconsidered, EventCanceled,
		EventDeadlinePassed, EventHoldPlaced, EventHoldDecided, EventRetryAsked, EventResolved,
		EventAssigned, EventEscalated, EventAgreedTimeOver, EventRecovered,
	}
}

// Event is what happened, or what somebody wants to happen. The kind says which
// of the payloads is set. Identifiers and chance are part of it, so that Apply
// needs neither.
type Event struct {
	Kind  EventKind
	Actor Actor
	// Policy is the pinned contract's; nil means that nothing can be scheduled,
	// and is allowed only for events that schedule nothing.
	Policy *Policy
	// Connection is filled in by the store, in the transaction.
	Connection ConnectionStanding
	// Evidence is recorded with the event, whatever the event does.
	Evidence *Evidence
	// ReviewID is used if the event opens a review. Chance decides jitter.
	ReviewID string
	Chance   uint64
	// Reason is what the actor gave.
	Reason string
	// Recorded maps each reference that the event gives the law to weigh
	// (References) and that another operation of the same workspace, connection and
	// capability has recorded as its result to that operation's id; "" where too
	// many operations have recorded it to say which. Filled in by the store, in the
	// transaction (M18).
	Recorded map[string]string

	Lease       *LeaseGrant
	Begin       *Begin
	Answer      *Answer
	Lookup      *LookupOutcome
	Observation *Observation
	Close       *AttemptClose
	Hold        *HoldDecision
	Place       *Hold
	Cancel      *Cancellation
	Resolution  *Resolution
	Assignment  *Assignment
	Reconsider  *Reconsideration
}

// LeaseGrant asks for, prolongs or ends a lease. For EventLeased, Token is
// ignored and the law gives the next one; Until is filled in by the store from
// For and its own time.
type LeaseGrant struct {
	Worker string
	Token  int64
	For    time.Duration
	// ProcessGone, for EventLeaseExpired: the holder's process is proven gone, so
	// the lease ends whatever its time (M12a).
	ProcessGone bool
}

// Begin asks to begin an attempt under a lease.
type Begin struct {
	Attempt string // new TypeID att_…
	Token   int64
	Kind    AttemptKind
	// FrozenDigest is the digest of the frozen request; it must equal the pinned
	// one from the second attempt on (M2a).
	FrozenDigest       string
	ConnectionRevision int
	// Scope is the digest of the parts that must be equal for a replay (M11a).
	Scope            string
	CredentialDigest string
}

// Outcome is what a target's answer means for its attempt (section 3).
type Outcome string

// The outcomes. OutcomeNotSent is the transport's; the rest are the rules'.
const (
	OutcomeConfirmed   Outcome = "confirmed"
	OutcomeRejected    Outcome = "rejected"
	OutcomeNotApplied  Outcome = "not_applied"
	OutcomeNotSent     Outcome = "not_sent"
	OutcomeInProgress  Outcome = "in_progress"
	OutcomeAccepted    Outcome = "accepted"
	OutcomeExists      Outcome = "exists"
	OutcomeKeyConflict Outcome = "key_conflict"
	OutcomeUnknown     Outcome = "unknown"
)

// Outcomes lists all outcomes.
func Outcomes() []Outcome {
	return []Outcome{
		OutcomeConfirmed, OutcomeRejected, OutcomeNotApplied, OutcomeNotSent, OutcomeInProgress,
		OutcomeAccepted, OutcomeExists, OutcomeKeyConflict, OutcomeUnknown,
	}
}

// Answer is an attempt's outcome as its contract judged it.
type Answer struct {
	Attempt string
	Token   int64
	Outcome Outcome
	// Reference is the target's reference of a confirmed effect, or its name for
	// accepted work; empty where it could not be read.
	Reference string
	// NamedByRequest: the operation's own frozen request names Reference, so that the
	// record was there before: what another operation has recorded of it does not
	// stand against this one (M18).
	NamedByRequest bool
	// Differs tells that the answer's verify fields differ from the request (M15).
	Differs []Mismatch
	// EffectExists tells that an unknown outcome nevertheless proves an effect:
	// a 2xx without a rule, a success whose body was cut off.
	EffectExists bool
	// SettlesOperation: the contract's rule says that a refusal speaks for all (M13).
	SettlesOperation bool
	// Doubt is why an unknown outcome is unknown.
	Doubt DoubtReason
	// Code and Detail tell why a rejected attempt was rejected.
	Code, Detail string
	// RetryAfter is the wait that the target asked for; 0 where it did not.
	RetryAfter time.Duration
	// PauseConnection: the answer says that the connection itself is unusable.
	PauseConnection bool
	// Stored: the answer is of a class that the target stores (M11a).
	Stored          bool
	TargetRequestID string
	// OwnIdentity: an OutcomeExists whose unique value may be our own derived
	// identity or reference, so that a look-up can tell (M11b).
	OwnIdentity bool
}

// LookupResult is what a look-up found.
type LookupResult string

// The results of a look-up.
const (
	LookupFound        LookupResult = "found"
	LookupAbsent       LookupResult = "absent"
	LookupInconclusive LookupResult = "inconclusive"
	// LookupSeveral: several records under one identity.
	LookupSeveral LookupResult = "several"
	// LookupPending: a record of this operation on which the target is still at
	// work. It proves no effect, and nothing may be sent beside it.
	LookupPending LookupResult = "pending"
	// LookupCandidates: records that evidence alone speaks for; a person picks
	// (M14).
	LookupCandidates LookupResult = "candidates"
)

// LookupOutcome is a look-up's outcome as its contract judged it.
type LookupOutcome struct {
	Token int64
	// Began is a time of the store that is not later than the look-up's beginning:
	// what counts for M12 is that it began no earlier.
	Began     time.Time
	Result    LookupResult
	Reference string
	// NamedByRequest is that of Answer, of a poll of the operation's own work.
	NamedByRequest bool
	Differs        []Mismatch
	// Predates: the found record is older than the operation (M15).
	Predates bool
	// FinallyFailed: the found record is in a state without effect.
	FinallyFailed bool
	// Polled: the look-up was a poll of accepted work.
	Polled bool
	// OwnIdentity: the record carries the operation's own derived identity or
	// reference (M11b).
	OwnIdentity bool
	// Candidates are what a person may pick from.
	Candidates []Candidate
	// PauseConnection: the look-up shows that the connection itself is unusable.
	// Look-ups go on; while the pause lasts, the reconcile budget stands still.
	PauseConnection bool
	Detail          string
}

// Observation is evidence from elsewhere (M17–M21).
type Observation struct {
	Asserts   Assertion
	Reference string
	// Differs, Unshown and Predates are what came of holding the evidence against the
	// approved request and the admission (Binding.JudgeEvidence, M15). With any of them
	// it does not confirm by itself. Unshown are the places, as JSON Pointers, that the
	// contract verifies and that the evidence does not show; Predates tells that what it
	// speaks of is older than the operation.
	Differs  []Mismatch
	Unshown  []string
	Predates bool
	// FinallyFailed: the target itself states that the operation failed for good.
	FinallyFailed bool
	// ByHand: a person delivered it, and no machine. What either of them delivers as
	// no_effect is shown and moves nothing: FinallyFailed alone does.
	ByHand bool
	// Attempt is the attempt that it speaks of, if it names one.
	Attempt string
}

// AttemptClose closes an open attempt.
type AttemptClose struct {
	Attempt string
	By      CloseWay
}

// HoldDecision decides one hold.
type HoldDecision struct {
	Reason    HoldReason
	Proceed   bool // false: decline
	Exception string
}

// Cancellation withdraws an operation. Release lets the key go where nothing
// was ever attempted.
type Cancellation struct{ Release bool }

// ResolutionOutcome is what an operator may decide.
type ResolutionOutcome string

// The decisions of resolve.
const (
	ResolveConfirmed  ResolutionOutcome = "confirmed"
	ResolveRejected   ResolutionOutcome = "rejected"
	ResolveNotApplied ResolutionOutcome = "not_applied"
)

// Resolution is an operator's decision on an uncertain or contradicted operation.
type Resolution struct {
	Outcome   ResolutionOutcome
	Reference string // required for confirmed
}

// Assignment hands a review to another owner.
type Assignment struct {
	Review string
	Owner  string
}

// Reconsideration says why the planned step is not possible.
type Reconsideration struct {
	Token int64
	// ReplayUnsafe: a replay is not safe now, and why; it is left out of the plan.
	ReplayUnsafe string
	// Unsendable: the request cannot be built or carried at all (a poison
	// operation); a person has to look.
	Unsendable string
	// Missing: this process lacks what the operation runs under, and what that is;
	// the same step is tried again, here or elsewhere.
	Missing string
}

// EffectKind is what a committed step asks to be done or recorded beside the
// operation itself.
type EffectKind string

// The effects of Apply.
const (
	// EffectRecord appends Entry to the timeline (M28).
	EffectRecord EffectKind = "record"
	// EffectEvidence appends Evidence.
	EffectEvidence EffectKind = "evidence"
	// EffectReleaseClaim lets the caller key go (I7).
	EffectReleaseClaim EffectKind = "release_claim"
	// EffectPauseConnection pauses the operation's connection.
	EffectPauseConnection EffectKind = "pause_connection"
	// EffectNotify tells the outside (M5a); Topic is operation.* or review.*.
	EffectNotify EffectKind = "notify"
)

// Effect is one consequence of a committed step.
type Effect struct {
	Kind     EffectKind
	Entry    *Entry
	Evidence *Evidence
	Topic    string
	Detail   string
}
