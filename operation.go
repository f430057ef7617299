package onefold

import (
	"encoding/json"
	"time"
)

// State says what is known about the effect of an operation at its target
// (specification, section 1). It never says what the engine happens to be doing.
type State string

// The six states. Confirmed, Rejected and Canceled are terminal.
const (
	// Prepared: no effect exists and nothing is under way.
	Prepared State = "prepared"
	// Attempting: an effect may be happening now; one leased attempt is out.
	Attempting State = "attempting"
	// Uncertain: an effect may exist. It is a state, not an error.
	Uncertain State = "uncertain"
	// Confirmed: the effect exists and its reference is recorded.
	Confirmed State = "confirmed"
	// Rejected: no effect exists and none will be tried.
	Rejected State = "rejected"
	// Canceled: no effect exists; withdrawn.
	Canceled State = "canceled"
)

// States lists all states in the order of the specification's table.
func States() []State {
	return []State{Prepared, Attempting, Uncertain, Confirmed, Rejected, Canceled}
}

// Terminal tells whether the state is one that later evidence never moves by
// itself (M20).
func (s State) Terminal() bool { return s == Confirmed || s == Rejected || s == Canceled }

// Bar is a sticky reason why nothing may be sent for an operation again (M11c).
type Bar string

// The bars of M11c.
const (
	// BarEffectExists: the effect is known to exist, but not what it is.
	BarEffectExists Bar = "effect_exists"
	// BarDiffers: what the target holds differs from what was approved (M15).
	BarDiffers Bar = "differs"
	// BarMultipleEffects: the target holds several records under one identity.
	BarMultipleEffects Bar = "multiple_effects"
	// BarKeyConflict: the target saw our identity with another request.
	BarKeyConflict Bar = "key_conflict"
	// BarWithdrawn: the caller withdrew the operation (M24).
	BarWithdrawn Bar = "withdrawn"
	// BarPastDeadline: the operation's start deadline passed (M24).
	BarPastDeadline Bar = "past_deadline"
	// BarRestored: the store was restored from a copy (M29).
	BarRestored Bar = "restored"
)

// Bars lists all bars in a fixed order.
func Bars() []Bar {
	return []Bar{
		BarEffectExists, BarDiffers, BarMultipleEffects, BarKeyConflict,
		BarWithdrawn, BarPastDeadline, BarRestored,
	}
}

// HoldReason is why a prepared operation waits.
type HoldReason string

// The hold reasons of the interface (section 4). Those of features that this
// release does not build are listed because the law knows them.
const (
	HoldApproval               HoldReason = "approval"
	HoldSuspectedDuplicate     HoldReason = "suspected_duplicate"
	HoldSameNumberOtherPeriod  HoldReason = "same_number_other_period"
	HoldIdentityIncomplete     HoldReason = "identity_incomplete"
	HoldAmendment              HoldReason = "amendment"
	HoldRetryExhausted         HoldReason = "retry_exhausted"
	HoldAwaitingPayload        HoldReason = "awaiting_payload"
	HoldRecovery               HoldReason = "recovery"
	exhaustedRejectionCode                = "retry_exhausted"
	declinedRejectionCode                 = "declined"
	operatorRejectionCode                 = "operator"
	finallyFailedRejectionCode            = "failed_at_target"
)

// HoldReasons lists all hold reasons.
func HoldReasons() []HoldReason {
	return []HoldReason{
		HoldApproval, HoldSuspectedDuplicate, HoldSameNumberOtherPeriod, HoldIdentityIncomplete,
		HoldAmendment, HoldRetryExhausted, HoldAwaitingPayload, HoldRecovery,
	}
}

// Hold is one reason why a prepared operation waits. The operation is due when
// none is left.
type Hold struct {
	Reason      HoldReason `json:"reason"`
	Since       time.Time  `json:"since"`
	Review      string     `json:"review,omitempty"` // id of the review that decides it
	DuplicateOf string     `json:"duplicate_of,omitempty"`
}

// DoubtReason is why an operation is uncertain.
type DoubtReason string

// The doubt reasons of section 4. Classifiers of Go targets may add their own
// lower-case words; these are the ones that the engine itself gives.
const (
	DoubtNoAnswer           DoubtReason = "no_answer"
	DoubtLeaseExpired       DoubtReason = "lease_expired"
	DoubtServerError        DoubtReason = "server_error"
	DoubtUnreadable         DoubtReason = "unreadable"
	DoubtUnclassified       DoubtReason = "unclassified"
	DoubtAccepted           DoubtReason = "accepted"
	DoubtInProgress         DoubtReason = "in_progress"
	DoubtRefusedAfterDoubt  DoubtReason = "refused_after_doubt"
	DoubtExists             DoubtReason = "exists"
	DoubtEffectExists       DoubtReason = "effect_exists"
	DoubtDiffers            DoubtReason = "differs"
	DoubtMultipleEffects    DoubtReason = "multiple_effects"
	DoubtKeyConflict        DoubtReason = "key_conflict"
	DoubtRestored           DoubtReason = "restored"
	DoubtBarred             DoubtReason = "barred"
	DoubtInternal           DoubtReason = "internal"
	DoubtProcessInterrupted DoubtReason = "interrupted"
)

// Doubt says why an operation is uncertain and since when.
type Doubt struct {
	Reason DoubtReason `json:"reason"`
	Since  time.Time   `json:"since"`
}

// LearntFrom is how a result became known.
type LearntFrom string

// The ways in which a result can be learnt.
const (
	LearntFromResponse LearntFrom = "response"
	LearntFromLookup   LearntFrom = "lookup"
	LearntFromPoll     LearntFrom = "poll"
	LearntFromEvent    LearntFrom = "event"
	LearntFromOperator LearntFrom = "operator"
	LearntFromAdopted  LearntFrom = "adopted"
)

// Result is the effect that a confirmed operation has at its target.
type Result struct {
	Reference  string     `json:"reference"` // the target's own reference, never empty
	LearntFrom LearntFrom `json:"learnt_from"`
	// By names who delivered the evidence or decided; empty where onefold itself read
	// it from the target.
	By       string    `json:"by,omitempty"`
	Evidence string    `json:"evidence,omitempty"` // id of the evidence that proves it
	At       time.Time `json:"at"`
	// Earlier is what was recorded before an operator resolved a contradiction
	// with another reference; nil otherwise.
	Earlier *Result `json:"earlier,omitempty"`
}

// Rejection is why a rejected operation has no effect.
type Rejection struct {
	Code     string    `json:"code"`
	Detail   string    `json:"detail,omitempty"`
	Evidence string    `json:"evidence,omitempty"`
	At       time.Time `json:"at"`
}

// NextAction is what will move an operation on.
type NextAction string

// The next actions of section 4.
const (
	NextAttempt     NextAction = "attempt"
	NextReplay      NextAction = "replay"
	NextLookup      NextAction = "lookup"
	NextPoll        NextAction = "poll"
	NextOperator    NextAction = "operator"
	NextPayload     NextAction = "payload"
	NextPredecessor NextAction = "predecessor"
	NextNone        NextAction = "none"
)

// Lease is the right of one worker to carry an operation on for a while (M7).
// Token rises with every lease of the operation (M8); Until is the store's time.
type Lease struct {
	Token  int64     `json:"token"`
	Worker string    `json:"worker"`
	Until  time.Time `json:"until"`
}

// Admitted is what was fixed when an operation was admitted. It never changes.
type Admitted struct {
	ID              string          `json:"id"` // TypeID op_…, carries its month (I31)
	Workspace       string          `json:"workspace"`
	Capability      string          `json:"capability"`
	ContractVersion int             `json:"contract_version"`
	Target          string          `json:"target"`
	TargetVersion   int             `json:"target_version"`
	Connection      string          `json:"connection"`
	Key             string          `json:"key"` // the caller's key (I1)
	SubmittedBy     string          `json:"submitted_by"`
	Revision        *string         `json:"revision,omitempty"`
	NotBefore       *time.Time      `json:"not_before,omitempty"`
	StartDeadline   *time.Time      `json:"start_deadline,omitempty"`
	Metadata        json.RawMessage `json:"metadata,omitempty"` // a JSON object, not part of the intent
	Fingerprint     string          `json:"fingerprint"`        // "v1:" + 64 hex digits (I8)
	FingerprintKey  string          `json:"fingerprint_key"`    // id of the secret it was made under
	Identity        string          `json:"identity"`           // request identity (M1, I13a)
	Reference       string          `json:"reference"`          // reference (M1, I13a)
	IdentityCounter int             `json:"identity_counter,omitempty"`
	Owner           string          `json:"owner"` // the connection's owner at admission (M16)
	CreatedAt       time.Time       `json:"created_at"`
	// KeyRetention is how long the key is honoured after settlement (I26).
	KeyRetention time.Duration `json:"key_retention"`
}

// Standing is what is known about an operation now. Only the law (Apply)
// changes it.
type Standing struct {
	State        State    `json:"state"`
	MaybeApplied bool     `json:"maybe_applied,omitempty"`
	Barred       []Bar    `json:"barred,omitempty"` // in the order of Bars, without repeats
	Holds        []Hold   `json:"holds,omitempty"`
	Doubt        *Doubt   `json:"doubt,omitempty"`
	Contradicted bool     `json:"contradicted,omitempty"`
	KeyReleased  bool     `json:"key_released,omitempty"` // I7
	Reviews      []Review `json:"reviews,omitempty"`
	// Attempts are all attempts in the order of their numbers; at most
	// MaxAttempts.
	Attempts []Attempt `json:"attempts,omitempty"`
	// Due is when a worker may next lease the operation; nil while nothing is
	// scheduled (held, terminal, or owned by a person). Next says for what.
	Due  *time.Time `json:"due,omitempty"`
	Next NextAction `json:"next"`
	// Lease is the present lease, nil where there is none; Token is the last one
	// that was given.
	Lease *Lease `json:"lease,omitempty"`
	Token int64  `json:"token,omitempty"`
	// ConnectionRevision, FrozenDigest and Scope are pinned when the request is
	// frozen, just before the first attempt begins (M2a, M11a).
	ConnectionRevision int    `json:"connection_revision,omitempty"`
	FrozenDigest       string `json:"frozen_digest,omitempty"`
	Scope              string `json:"scope,omitempty"`
	// FirstDispatched is when the identity was first dispatched: the target's
	// window counts from it.
	FirstDispatched *time.Time `json:"first_dispatched,omitempty"`
	// Accepted is the work that the target took on for later; nil where it took
	// on none that is still in doubt.
	Accepted *Acceptance `json:"accepted,omitempty"`
	// Retry and Reconcile are the budgets in use.
	Retry     Budget `json:"retry,omitzero"`
	Reconcile Budget `json:"reconcile,omitzero"`
	// Missing counts the tries in a row for which the worker had not the contract, and
	// since when; nothing was sent in them.
	Missing Budget `json:"missing,omitzero"`
	// SeenReferences are the target references that evidence has asserted so
	// far, without repeats; the first MaxSeenReferences.
	SeenReferences []string `json:"seen_references,omitempty"`
	// EffectSuggested tells that evidence spoke for an effect, be it certain, likely
	// or still to come, and that nothing has refuted it since: proven absence, the
	// target's word that it finally failed, or a person's "not applied". What a
	// person rejects in spite of it is not safe to start again (NewKeySafe).
	EffectSuggested bool `json:"effect_suggested,omitempty"`
	// Elsewhere is the effect that agreeing evidence from elsewhere named while
	// an attempt was out: the result, unless the attempt's own answer speaks
	// against it. ElsewhereShared tells that it counts although another operation
	// records the same (M18).
	Elsewhere       *Result `json:"elsewhere,omitempty"`
	ElsewhereShared bool    `json:"elsewhere_shared,omitempty"`
	// AbsenceRecorded tells that absence or "not applied" was once recorded, so
	// that a later effect contradicts it.
	AbsenceRecorded bool `json:"absence_recorded,omitempty"`
	// AbsentTurns is how many look-ups in a row, each late enough, have seen nothing
	// since the last attempt (Policy.Lookups).
	AbsentTurns int        `json:"absent_turns,omitempty"`
	Result      *Result    `json:"result,omitempty"`
	Rejection   *Rejection `json:"rejection,omitempty"`
	UpdatedAt   time.Time  `json:"updated_at"`
	SettledAt   *time.Time `json:"settled_at,omitempty"`
	// Version rises with each change of fact, not with leases or with look-ups
	// that learn nothing.
	Version int64 `json:"version"`
}

// Acceptance is work that a target took on for later. It is made by the first word
// of it and replays do not restart it. No look-up proves it absent: the target may
// carry it out whenever it likes.
type Acceptance struct {
	// Reference is the target's own name for the work, empty where it gave none.
	Reference string    `json:"reference,omitempty"`
	At        time.Time `json:"at"`
	// Found tells that the reference is that of a record which a look-up found, and
	// not what the target called the work when it accepted it: what comes of such a
	// record is no direct answer to this operation (M18).
	Found bool `json:"found,omitempty"`
	// Until is the end of the agreed time, At where the contract agrees on none. Until
	// then the wait is no incident.
	Until time.Time `json:"until"`
	// Over is set when the agreed time had passed without a result: from then on
	// the operation counts as unresolved (M16a). It is set by the step that finds
	// it out, see EventAgreedTimeOver.
	Over bool `json:"over,omitempty"`
	// Polls is what asking for progress came to; nil before the first answer.
	Polls *Polls `json:"polls,omitempty"`
}

// Budget counts what was spent since the budget started. Paused time of the
// connection does not count (section 3), so the connection's accumulated pause
// at the start is kept beside it.
type Budget struct {
	Spent     int           `json:"spent,omitempty"` // attempts or look-ups
	Since     *time.Time    `json:"since,omitempty"` // nil while not started
	PausedFor time.Duration `json:"paused_for,omitempty"`
}

// Elapsed is the time that counts against the budget at now.
func (b Budget) Elapsed(now time.Time, c ConnectionStanding) time.Duration {
	if b.Since == nil {
		return 0
	}
	return max(0, now.Sub(*b.Since)-max(0, c.PausedFor-b.PausedFor))
}

// Operation is one intended business effect. It outlives its attempts and owns
// the request identity. The payload is not part of it: stores keep it apart.
type Operation struct {
	Admitted
	Standing
	// Unreadable says what is wrong with the stored record, "" for every operation
	// whose record can be read. One that cannot be is shown by Store.List and
	// Store.Reviews alone, so that it hides nobody else (invariant 25): with what was
	// fixed at its admission as far as that can be read, and without a standing.
	Unreadable string `json:"-"`
}

// IsBarred tells whether any of the given bars is set; without arguments,
// whether any bar at all is.
func (s *Standing) IsBarred(bars ...Bar) bool {
	if len(bars) == 0 {
		return len(s.Barred) > 0
	}
	for _, have := range s.Barred {
		for _, b := range bars {
			if have == b {
				return true
			}
		}
	}
	return false
}

// Settled tells whether the state is terminal.
func (s *Standing) Settled() bool { return s.State.Terminal() }

// NewKeySafe answers "may I start this business action again under another
// key?": only if nothing was done, nothing contradicts that, every attempt is
// closed, and no evidence speaks for an effect, whatever a person decided in
// spite of it.
func (s *Standing) NewKeySafe() bool {
	if s.State != Rejected && s.State != Canceled || s.Contradicted || s.effectMayExist() {
		return false
	}
	for i := range s.Attempts {
		if !s.Attempts[i].Closed() {
			return false
		}
	}
	return true
}

// MaxSeenReferences bounds the references that a standing names; two are a case for a
// person already.
const MaxSeenReferences = 32

// effectMayExist tells whether evidence on record speaks for an effect. A bar that
// does is not lifted by a decision to reject (M11c).
func (s *Standing) effectMayExist() bool {
	return s.EffectSuggested || s.IsBarred(BarEffectExists, BarDiffers, BarMultipleEffects, BarKeyConflict)
}

// KeyExpiresAt is when the caller key stops being honoured: nil until the
// operation is settled (I26), and while it is contradicted, in review or an
// attempt of it is open (I28).
func (o *Operation) KeyExpiresAt() *time.Time {
	if o.SettledAt == nil || o.KeyRetention <= 0 || o.Live() {
		return nil
	}
	at := *o.SettledAt
	if o.CreatedAt.After(at) {
		at = o.CreatedAt
	}
	at = at.Add(o.KeyRetention)
	return &at
}

// Unresolved tells whether the operation counts against the cap of M16a: its
// effect is unknown, and not merely because the target accepted it for later and
// still has its agreed time.
func (s *Standing) Unresolved() bool { return s.State == Uncertain && !s.AwaitedAsAgreed() }

// AwaitedAsAgreed tells that the operation is uncertain only because the target
// accepted it for later, and that the agreed time is not known to be over. That
// is no incident: nobody is notified of it, and it does not count as unresolved
// (M16a). Acceptance under a contract that agrees no time is not such a wait.
func (s *Standing) AwaitedAsAgreed() bool {
	return s.State == Uncertain && s.Doubt != nil && s.Doubt.Reason == DoubtAccepted && s.Accepted != nil && !s.Accepted.Over
}

// Clone returns a copy that shares nothing that the law changes.
func (o Operation) Clone() Operation {
	o.Barred = append([]Bar(nil), o.Barred...)
	o.Holds = append([]Hold(nil), o.Holds...)
	o.Reviews = append([]Review(nil), o.Reviews...)
	o.Attempts = append([]Attempt(nil), o.Attempts...)
	o.SeenReferences = append([]string(nil), o.SeenReferences...)
	if o.Lease != nil {
		lease := *o.Lease
		o.Lease = &lease
	}
	return o
}
