package onefold

import "time"

// EvidenceKind is where an observed fact came from.
type EvidenceKind string

// The kinds of evidence.
const (
	EvidenceResponse    EvidenceKind = "response"
	EvidenceTransport   EvidenceKind = "transport"
	EvidenceLookup      EvidenceKind = "lookup"
	EvidencePoll        EvidenceKind = "poll"
	EvidenceEvent       EvidenceKind = "event"
	EvidenceOperator    EvidenceKind = "operator"
	EvidenceLeaseExpiry EvidenceKind = "lease_expiry"
	EvidenceRecovery    EvidenceKind = "recovery"
)

// Assertion is what evidence says about the effect.
type Assertion string

// The assertions.
const (
	AssertsEffect   Assertion = "effect_exists"
	AssertsNoEffect Assertion = "no_effect"
	AssertsNothing  Assertion = "nothing"
)

// MaxExcerpt bounds the redacted excerpt of an answer that is kept, in bytes:
// enough for a person to recognise an error page, small enough for a row.
const MaxExcerpt = 2048

// Evidence is one observed fact about an operation's effect. Append-only.
type Evidence struct {
	ID        string       `json:"id"` // TypeID ev_…
	Operation string       `json:"operation"`
	Attempt   string       `json:"attempt,omitempty"`
	Kind      EvidenceKind `json:"kind"`
	Asserts   Assertion    `json:"asserts"`
	Reference string       `json:"reference,omitempty"` // the target's reference, if it names one
	// Source and SourceEventID name the sender of late evidence and its own id
	// of the event (M17).
	Source        string `json:"source,omitempty"`
	SourceEventID string `json:"source_event_id,omitempty"`
	// Rule is the name of the contract's rule that matched, Detail one sentence
	// for a person.
	Rule   string `json:"rule,omitempty"`
	Detail string `json:"detail,omitempty"`
	// Status is the HTTP status, 0 where there was none.
	Status int `json:"status,omitempty"`
	// Headers are those of an allow-list; Excerpt at most MaxExcerpt bytes with
	// secrets blotted out; Digest is SHA-256 (hex) of the whole body as read.
	Headers map[string]string `json:"headers,omitempty"`
	Excerpt string            `json:"excerpt,omitempty"`
	Digest  string            `json:"digest,omitempty"`
	// BytesOut and BytesIn count what was handed to and read from the
	// connection; Took is the whole exchange.
	BytesOut int64         `json:"bytes_out,omitempty"`
	BytesIn  int64         `json:"bytes_in,omitempty"`
	Took     time.Duration `json:"took,omitempty"`
	// Mismatches are the fields in which the target's record differs from the
	// approved request (M15).
	Mismatches []Mismatch `json:"mismatches,omitempty"`
	// OccurredAt is the source's own time, SeenAt the store's.
	OccurredAt *time.Time `json:"occurred_at,omitempty"`
	SeenAt     time.Time  `json:"seen_at"`
	RecordedBy Actor      `json:"recorded_by"`
}

// Mismatch is one field in which an answer or record differs from the approved
// request: a JSON Pointer into the answer and both values as JSON text.
type Mismatch struct {
	Pointer  string `json:"pointer"`
	Approved string `json:"approved"`
	Found    string `json:"found"`
}

// ActorKind is the sort of party that did something.
type ActorKind string

// The sorts of actor.
const (
	ActorPrincipal ActorKind = "principal" // an authenticated caller or operator
	ActorWorker    ActorKind = "worker"    // a runner carrying the operation out
	ActorEngine    ActorKind = "engine"    // the engine's own housekeeping
	ActorTarget    ActorKind = "target"    // the target, by an event
)

// Actor is who did something (M28).
type Actor struct {
	Kind ActorKind `json:"kind"`
	Name string    `json:"name"`
}

// Entry is one line of an operation's timeline: everything that changed it,
// who or what did it, when, from which state to which, because of which
// evidence (M28).
type Entry struct {
	Seq       int64     `json:"seq"` // rises in commit order over the whole store
	Operation string    `json:"operation"`
	At        time.Time `json:"at"`
	Actor     Actor     `json:"actor"`
	Event     EventKind `json:"event"`
	// Rule is the id of the transition, or empty for notes such as a refused
	// submission (M22).
	Rule     string `json:"rule,omitempty"`
	From     State  `json:"from,omitempty"`
	To       State  `json:"to,omitempty"`
	Evidence string `json:"evidence,omitempty"`
	Attempt  string `json:"attempt,omitempty"`
	Review   string `json:"review,omitempty"`
	// Detail is one sentence for a person; Reason what the actor gave.
	Detail string `json:"detail,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Pointers are the members that differed in a refused submission (M22).
	Pointers []string `json:"pointers,omitempty"`
	Version  int64    `json:"version"`
}
