package contract

import (
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// Kind is a document's kind, as its `kind` member says it.
type Kind string

// The kinds of document.
const (
	KindCapability Kind = "capability"
	KindTarget     Kind = "target"
	KindConnection Kind = "connection"
)

// Kinds lists the kinds of document in the order in which they build on one
// another.
func Kinds() []Kind { return []Kind{KindCapability, KindTarget, KindConnection} }

// Place is where something stands in a file. Line and Column count from 1, the
// column in characters; all zero is no place.
type Place struct {
	File         string
	Line, Column int
}

// Document is one decoded document. Exactly one of Capability, Target and
// Connection is set, the one that Kind names.
type Document struct {
	Kind      Kind
	Workspace string // of a connection; empty for the others
	Name      string
	// Version is at least 1 for capabilities and targets. A connection has none
	// (0): its revision is counted by whoever publishes it.
	Version int
	// Source is the text as it was read: this document's part of its file.
	Source []byte
	// Canonical is the canonical form (I9) of the whole document; two documents
	// are the same exactly if these bytes are (I12).
	Canonical []byte
	// Tree is the document as data, members in the order written.
	Tree *identity.Value
	// Places tells where each member stands, by JSON Pointer into Tree.
	Places map[string]Place

	Capability *Capability
	Target     *Target
	Connection *Connection
}

// At is where the member at a pointer stands, or its nearest ancestor that is
// written, or else the document.
func (d *Document) At(pointer string) Place { return placeOf(d.Places, pointer) }

// Capability is what callers may ask for. Every default is filled in.
type Capability struct {
	Name    string
	Version int
	Summary string
	Owner   string
	// Request is the JSON Schema (2020-12) of a request.
	Request *identity.Value
	// Compare is the object of comparison rules for identity.CompileRules (I11);
	// nil where the capability has none.
	Compare   *identity.Value
	Amount    *Amount // nil where none is declared
	Retention Retention
	Retry     Retry
	Reconcile Reconcile
}

// Amount points at a request's sum and its currency.
type Amount struct{ Value, Currency string }

// Retention is how long things are kept (I26), counted from the later of
// admission and last settlement; onefold.Forever is no end.
type Retention struct{ Key, Tombstone, Payload, History, Identity time.Duration }

// Retry is the budget of writes and replays.
type Retry struct {
	Attempts  int
	Within    time.Duration // from the first dispatch
	Backoff   onefold.Backoff
	Exhausted onefold.Exhausted
}

// Reconcile is the budget of finding out.
type Reconcile struct {
	Within        time.Duration // from the first doubt
	Backoff       onefold.Backoff
	EscalateAfter time.Duration // 0: nobody is named
	EscalateTo    string
}

// Documented is a fact about a target that its documentation may not tell.
// Value is what counts: the documented value, or the assumed one.
type Documented[T any] struct {
	Value T
	// Written is false where the member was left out.
	Written bool
	// Undocumented: the documentation does not tell. It is set for what was left
	// out as well, but where the field's own comment names a default.
	Undocumented bool
	// Assumed stands beside an undocumented value that somebody answers for.
	Assumed *Assumption
}

// Known says that Value may be acted on: documented, a default, or assumed.
func (d Documented[T]) Known() bool { return !d.Undocumented || d.Assumed != nil }

// Assumption is whose guess it is.
type Assumption struct{ Owner, Date, Reason string }

// Target is how one kind of external system behaves.
type Target struct {
	Name       string
	Version    int
	Protocol   string // onefold.ProtocolHTTP or ProtocolGo
	Operations []TargetOperation
	Provenance *Provenance // nil where nothing is said
}

// Provenance is where a target document's facts come from. Dates are ISO
// dates; Probed may be "never".
type Provenance struct{ Source, Checked, Probed string }

// TargetOperation is one entry under operations. Pointers into the document
// begin with Pointer.
type TargetOperation struct {
	Pointer    string // /operations/<entry as written>
	Capability string
	// CapabilityVersion is 0 where the entry serves every version.
	CapabilityVersion int
	// Go is set where Go functions carry the operation; Write then has a time-out
	// alone, and a look-up neither method nor path.
	Go *GoOperation

	Write     Write
	Identity  TargetIdentity
	Responses []Response // first match wins
	Accepted  *Accepted  // nil where the target takes nothing on for later
	Verify    []Check    // M15
	// References is never empty.
	References References
	Lookups    []Lookup // tried in order
	// States sort the records that look-ups find; nil where every found record is
	// an effect. Where the document has none, those of Accepted count: a record on
	// which the target is still at work must not pass for an effect.
	States *States

	// Settle is how long a finished effect may stay invisible; onefold.Forever is
	// `unbounded`.
	Settle Documented[time.Duration]
	// Processing is how long the target may still work after the connection is
	// gone; left out it is the write's time-out (M12), with Written false.
	Processing Documented[time.Duration]
	// Absence is authoritative or inconclusive; left out or undocumented it is
	// inconclusive.
	Absence Documented[Absence]
	// InDoubt is never empty and never repeats a step (M27a).
	InDoubt []onefold.RecoveryStep
	// ReferenceFormat is $operation/reference's; a UUID by default.
	ReferenceFormat Format
}

// References says whose the records are that the target's answers name.
type References string

// Whether the target's record is one operation's, or may be that of several: only
// then its answer confirms an operation although another has recorded the same
// reference (M18). That an operation's own request names the record is as good.
const (
	ReferencesOwn    References = "own"
	ReferencesShared References = "shared"
)

// Absence says what an absent record proves.
type Absence string

// What an absent record proves.
const (
	AbsenceAuthoritative Absence = "authoritative"
	AbsenceInconclusive  Absence = "inconclusive"
)

// Write is the request that has the effect.
type Write struct {
	Method  string // upper case
	Path    string // string template, query included; begins with /
	Headers []HeaderTemplate
	Body    *identity.Value // template tree; nil for no body
	Timeout time.Duration
}

// HeaderTemplate is one header field whose value is a string template.
type HeaderTemplate struct{ Name, Value string }

// IdentityKind is what a target enforces.
type IdentityKind string

// The kinds of identity.
const (
	IdentityKey                IdentityKind = "key"
	IdentityUniqueReference    IdentityKind = "unique_reference"
	IdentityClientAssignedID   IdentityKind = "client_assigned_id"
	IdentityCreateOnly         IdentityKind = "create_only"
	IdentityUpsert             IdentityKind = "upsert"
	IdentityPossibleResendFlag IdentityKind = "possible_resend_flag"
	IdentityNone               IdentityKind = "none"
)

// TargetIdentity is what the target does with the request identity.
type TargetIdentity struct {
	Kind IdentityKind
	// Carrier is where the identity travels; nil where templates alone carry it.
	Carrier *CarrierPlace
	// Companions are headers frozen with the first attempt.
	Companions []HeaderTemplate
	// Format is the identity's; a UUID (version 4) by default.
	Format Format
	// Scope names the parts that must be equal for a replay (M11a). Where it is
	// not Known it counts as all of ScopeParts, and Value says so.
	Scope Documented[[]ScopePart]
	// Window is how long the identity is recognised; onefold.Forever has no end.
	Window Documented[time.Duration]
	// Anchor is from when the window counts. onefold always counts from the first
	// dispatch, which is never later than any anchor.
	Anchor   Documented[Anchor]
	OnRepeat Documented[OnRepeat]
	Compares Documented[Compares]
	// Stores lists the answers that the target replays to a repeat.
	Stores     Documented[[]StatusMatch]
	Concurrent Documented[Concurrent]
}

// CarrierPlace is where the identity travels. In `header` and `query` Name is
// the field's or parameter's name, in `body` a JSON Pointer; Freeze puts the
// identity there. In `path` the path template itself holds
// {operation/identity}, and Name is empty.
type CarrierPlace struct {
	In   string // header, query, body, path
	Name string
}

// Format is the shape of a derived value with the contract's reason for having
// fewer than 64 bits, if it gives one (I13a).
type Format struct {
	identity.Format
	Reason string
}

// ScopePart is one part of what a target ties an identity to.
type ScopePart string

// The parts of a scope.
const (
	ScopeAccount     ScopePart = "account"
	ScopeEnvironment ScopePart = "environment"
	ScopeCredential  ScopePart = "credential"
	ScopeEndpoint    ScopePart = "endpoint"
	ScopeVersion     ScopePart = "version"
	ScopeRegion      ScopePart = "region"
)

// ScopeParts lists all parts of a scope.
func ScopeParts() []ScopePart {
	return []ScopePart{ScopeAccount, ScopeEnvironment, ScopeCredential, ScopeEndpoint, ScopeVersion, ScopeRegion}
}

// Anchor is from when a window counts.
type Anchor string

// The anchors of a window.
const (
	AnchorFirstSent          Anchor = "first_sent"
	AnchorFirstReceived      Anchor = "first_received"
	AnchorFirstCompleted     Anchor = "first_completed"
	AnchorUntilTerminalState Anchor = "until_terminal_state"
)

// OnRepeat is how a target answers a repeat.
type OnRepeat string

// How a target answers a repeat.
const (
	RepeatFirstResponse     OnRepeat = "first_response"
	RepeatCurrentState      OnRepeat = "current_state"
	RepeatExistingObject    OnRepeat = "existing_object"
	RepeatConflictMeansDone OnRepeat = "conflict_means_done"
	RepeatNewEffect         OnRepeat = "new_effect"
)

// Compares is what a target holds a repeat against.
type Compares struct {
	Mode   ComparesMode
	Fields []string // of ComparesFields, as the target names them
}

// ComparesMode is how much of a repeat a target compares.
type ComparesMode string

// How much of a repeat a target compares, strongest first.
const (
	ComparesBodyBytes  ComparesMode = "body_bytes"
	ComparesParameters ComparesMode = "parameters"
	ComparesFields     ComparesMode = "fields"
	ComparesNothing    ComparesMode = "nothing"
)

// Concurrent is what a target does with two requests of one identity at once.
type Concurrent struct {
	// Rule names the response rule by which the target reports it; else Does is set.
	Rule string
	Does ConcurrentDoes
}

// ConcurrentDoes is what happens without a report.
type ConcurrentDoes string

// What a target does with simultaneous repeats.
const (
	ConcurrentBlocks        ConcurrentDoes = "blocks"
	ConcurrentSecondMayFail ConcurrentDoes = "second_may_fail"
	ConcurrentDuplicates    ConcurrentDoes = "duplicates"
)

// StatusMatch is one status (Code) or a class of them (Class 4 is 4xx).
// Exactly one is set.
type StatusMatch struct{ Code, Class int }

// Matches says whether a status is meant.
func (m StatusMatch) Matches(status int) bool {
	if m.Code != 0 {
		return m.Code == status
	}
	return status/100 == m.Class
}

// Outcome is what a response rule says.
type Outcome string

// The outcomes.
const (
	OutcomeConfirmed   Outcome = "confirmed"
	OutcomeRejected    Outcome = "rejected"
	OutcomeNotApplied  Outcome = "not_applied"
	OutcomeInProgress  Outcome = "in_progress"
	OutcomeAccepted    Outcome = "accepted"
	OutcomeExists      Outcome = "exists"
	OutcomeKeyConflict Outcome = "key_conflict"
	OutcomeUnknown     Outcome = "unknown"
)

// Response is one response rule.
type Response struct {
	Pointer string // into the document
	Name    string
	When    When
	Outcome Outcome
	// Reference is where the target's own reference stands; nil where the rule
	// names none.
	Reference *Locator
	// Code is where the refusal's code stands; nil where the rule names none.
	Code *Locator
	// RetryAfter is the header that says when to come back; empty for none.
	RetryAfter string
	// PauseConnection: the connection is paused (`pause: connection`).
	PauseConnection bool
	// SettlesOperation: the refusal speaks for all attempts (M13).
	SettlesOperation bool
}

// Locator is where a value stands in an answer: a JSON Pointer into the body,
// or a header. Exactly one is set.
type Locator struct{ Pointer, Header string }

// When is a condition on an answer; all that is present must hold, and nothing
// present always holds.
type When struct {
	Status  []StatusMatch // any of them
	Headers []HeaderMatch
	JSON    []JSONMatch
	Clean   *bool
	// Cel is an expression over response, request and clean; empty for none.
	Cel string
}

// Accepted is how a target that takes work on for later is waited for.
type Accepted struct {
	Pointer string // into the document
	// When is the answer that means it, asked after all response rules; nil where
	// only a rule with the outcome accepted says so.
	When *When
	// Reference is where the target's name for the work stands; a poll refers to it
	// as $accepted/reference. Nil where it gives none.
	Reference *Locator
	// Poll asks for progress: every Every, until Within after the acceptance.
	Poll          Lookup
	Every, Within time.Duration
	// States sort the answers of polls; the operation's own where the document has
	// none here. Never nil.
	States *States
}

// States sort a record by what it says about itself. What no list names proves
// nothing.
type States struct {
	Pointer string // into the document
	// Field is a JSON Pointer inside the record.
	Field string
	// Effect: the effect exists. Pending: the target is still at work. NoEffect: it
	// finally failed, and no effect exists.
	Effect, Pending, NoEffect []*identity.Value
}

// HeaderMatch wants a header to have one of the values, compared exactly.
type HeaderMatch struct {
	Name   string
	Values []string
}

// JSONMatch wants the value at a pointer of the body to equal one of the
// values (numbers by value).
type JSONMatch struct {
	Pointer string
	Values  []*identity.Value
}

// Check is one member of verify or match: the value at Pointer in an answer or
// record must agree with the template Value.
type Check struct {
	Pointer string
	Value   *identity.Value
}

// LookupBy is what a look-up asks for.
type LookupBy string

// What a look-up asks for.
const (
	LookupByIdentity  LookupBy = "identity"
	LookupByReference LookupBy = "reference"
	// LookupByEvidence finds candidates by what the business shows; it never
	// confirms by itself (M14).
	LookupByEvidence LookupBy = "evidence"
	// lookupByPoll is a poll of accepted work.
	lookupByPoll LookupBy = "poll"
)

// Lookup is one way of finding out.
type Lookup struct {
	Pointer string // into the document
	By      LookupBy
	Method  string
	Path    string // string template, query included
	Headers []HeaderTemplate
	Body    *identity.Value // template tree; nil for no body
	Timeout time.Duration   // default: the write's
	// Records is where the candidates stand; nil: the body is the record.
	Records *string
	// Complete tells whether the answer is the whole answer; nil where the
	// contract does not say (then absence is inconclusive).
	Complete  *Complete
	Match     []Check
	Reference *Locator
	Created   string // pointer inside a record; empty for none
	Absent    []When
}

// Complete tells whether a page is the whole answer: always, or where the
// value at Locator is true.
type Complete struct {
	Always bool
	Locator
}

// Connection is one workspace's account at a target. Every default is filled in.
type Connection struct {
	Workspace     string
	Name          string
	Account       string
	Target        string
	TargetVersion int
	URL           string // without a trailing slash
	// Params is the object of $connection/params; nil for none.
	Params       *identity.Value
	Auth         onefold.Auth
	Secrets      map[string]string // name to reference (env:…, file:…)
	Owner        string
	Mode         onefold.Mode // as declared
	Limits       Limits
	Acknowledged *Acknowledgement
}

// Limits are a connection's; 0 means the default of onefold.Terms.
type Limits struct {
	InFlight   int
	PerSecond  float64
	Unresolved int
}

// Acknowledgement is who accepted the weakness of a connection's protection (M27).
type Acknowledgement struct{ By, Date, Reason string }
