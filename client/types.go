package client

import (
	"encoding/json"
	"time"

	"github.com/onefold-dev/onefold"
)

// Received is embedded in what a call answers with: Raw is the server's own text.
type Received struct {
	Raw json.RawMessage `json:"-"`
}

func (r *Received) keep(raw json.RawMessage) { r.Raw = raw }

// Operation is an operation as the interface shows it. To a token that may not
// see more, only ID and State are set.
type Operation struct {
	Received
	ID              string             `json:"id"`
	Workspace       string             `json:"workspace"`
	Capability      string             `json:"capability"`
	ContractVersion int                `json:"contract_version"`
	Connection      string             `json:"connection"`
	Key             string             `json:"idempotency_key"`
	SubmittedBy     string             `json:"submitted_by"`
	Revision        *string            `json:"revision"`
	Fingerprint     string             `json:"fingerprint"`
	Identity        string             `json:"identity"`
	Reference       string             `json:"reference"`
	State           onefold.State      `json:"state"`
	NewKeySafe      bool               `json:"new_key_safe"`
	Doubt           *onefold.Doubt     `json:"doubt"`
	Next            Next               `json:"next"`
	Attempts        int                `json:"attempts"`
	MaybeApplied    bool               `json:"maybe_applied"`
	Barred          []onefold.Bar      `json:"barred"`
	Contradicted    bool               `json:"contradicted"`
	Holds           []Hold             `json:"holds"`
	Result          *onefold.Result    `json:"result"`
	Rejection       *Rejection         `json:"rejection"`
	Reviews         []OperationReview  `json:"reviews"`
	Identities      []BusinessIdentity `json:"business_identities"`
	Amends          *string            `json:"amends"`
	AmendedBy       []string           `json:"amended_by"`
	DuplicateOf     *string            `json:"duplicate_of"`
	Payload         string             `json:"payload"`
	Metadata        json.RawMessage    `json:"metadata"`
	CreatedAt       time.Time          `json:"created_at"`
	UpdatedAt       time.Time          `json:"updated_at"`
	SettledAt       *time.Time         `json:"settled_at"`
	KeyExpiresAt    *time.Time         `json:"key_expires_at"`
	Version         int64              `json:"version"`
}

// NeedsPerson tells whether the operation waits for a person: held, or with an
// open review.
func (o *Operation) NeedsPerson() bool {
	if len(o.Holds) > 0 {
		return true
	}
	for _, r := range o.Reviews {
		if r.Status == onefold.ReviewOpen {
			return true
		}
	}
	return false
}

// Next is what moves an operation on, and when.
type Next struct {
	Action onefold.NextAction `json:"action"`
	At     *time.Time         `json:"at"`
}

// Hold is one reason why an operation waits.
type Hold struct {
	Reason      onefold.HoldReason `json:"reason"`
	Since       time.Time          `json:"since"`
	Review      *string            `json:"review"`
	DuplicateOf *string            `json:"duplicate_of"`
}

// Rejection is why an operation was not done.
type Rejection struct {
	Code     string    `json:"code"`
	Detail   string    `json:"detail"`
	Evidence *string   `json:"evidence"`
	At       time.Time `json:"at"`
}

// OperationReview is a review as its operation shows it.
type OperationReview struct {
	ID       string               `json:"id"`
	Reason   onefold.ReviewReason `json:"reason"`
	Status   onefold.ReviewStatus `json:"status"`
	Owner    string               `json:"owner"`
	OpenedAt time.Time            `json:"opened_at"`
}

// BusinessIdentity is one business identity that the operation has.
type BusinessIdentity struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Place int    `json:"place"`
}

// Entry is one line of a timeline.
type Entry struct {
	At       time.Time         `json:"at"`
	Actor    onefold.Actor     `json:"actor"`
	Event    onefold.EventKind `json:"event"`
	Rule     string            `json:"rule"`
	From     *onefold.State    `json:"from"`
	To       *onefold.State    `json:"to"`
	Evidence *string           `json:"evidence"`
	Attempt  *string           `json:"attempt"`
	Review   *string           `json:"review"`
	Detail   string            `json:"detail"`
	Reason   string            `json:"reason"`
	Pointers []string          `json:"pointers"`
	Version  int64             `json:"version"`
}

// Change is one change of one operation of a workspace.
type Change struct {
	// Cursor is its place: what comes after it is found with it.
	Cursor    string `json:"cursor"`
	Operation string `json:"operation"`
	Entry
}

// Changes is a page of changes. There is always a cursor to go on from.
type Changes struct {
	Received
	Items      []Change `json:"items"`
	NextCursor string   `json:"next_cursor"`
}

// Attempt is one try.
type Attempt struct {
	ID              string              `json:"id"`
	Number          int                 `json:"number"`
	Kind            onefold.AttemptKind `json:"kind"`
	Worker          string              `json:"worker"`
	BegunAt         time.Time           `json:"begun_at"`
	EndedAt         *time.Time          `json:"ended_at"`
	Open            bool                `json:"open"`
	OpenSince       *time.Time          `json:"open_since"`
	CloseAt         *time.Time          `json:"close_at"`
	Verdict         *onefold.Verdict    `json:"verdict"`
	ProvenBy        *onefold.ProvenBy   `json:"proven_by"`
	ClosedBy        *onefold.CloseWay   `json:"closed_by"`
	TargetRequestID *string             `json:"target_request_id"`
	Evidence        *string             `json:"evidence"`
}

// Evidence is one observed fact.
type Evidence struct {
	ID         string               `json:"id"`
	Operation  string               `json:"operation"`
	Attempt    *string              `json:"attempt"`
	Kind       onefold.EvidenceKind `json:"kind"`
	Asserts    onefold.Assertion    `json:"asserts"`
	Reference  *string              `json:"reference"`
	Source     *string              `json:"source"`
	EventID    *string              `json:"event_id"`
	Rule       *string              `json:"rule"`
	Detail     string               `json:"detail"`
	Status     *int                 `json:"status"`
	Headers    map[string]string    `json:"headers"`
	Excerpt    string               `json:"excerpt"`
	Digest     *string              `json:"digest"`
	BytesOut   int64                `json:"bytes_out"`
	BytesIn    int64                `json:"bytes_in"`
	TookMillis int64                `json:"took_ms"`
	Mismatches []onefold.Mismatch   `json:"mismatches"`
	OccurredAt *time.Time           `json:"occurred_at"`
	SeenAt     time.Time            `json:"seen_at"`
	RecordedBy onefold.Actor        `json:"recorded_by"`
}

// Request is what was submitted and what goes out.
type Request struct {
	Received
	Operation     string          `json:"operation"`
	Request       json.RawMessage `json:"request"`
	NotBefore     *time.Time      `json:"not_before"`
	StartDeadline *time.Time      `json:"start_deadline"`
	Outgoing      *Outgoing       `json:"outgoing"`
}

// Outgoing is a request as it goes over the wire, but for credentials.
type Outgoing struct {
	Method   string           `json:"method"`
	Path     string           `json:"path"`
	Headers  []OutgoingHeader `json:"headers"`
	Body     *string          `json:"body"`
	Encoding string           `json:"body_encoding"` // text or base64
	Digest   string           `json:"digest"`
}

// OutgoingHeader is one header field.
type OutgoingHeader struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Preview is the answer of a dry run.
type Preview struct {
	Received
	DryRun    bool      `json:"dry_run"`
	Replayed  bool      `json:"replayed"`
	Operation Operation `json:"operation"`
	Outgoing  *Outgoing `json:"outgoing"`
}

// Explanation is an operation in plain language.
type Explanation struct {
	Received
	Operation string        `json:"operation"`
	State     onefold.State `json:"state"`
	Version   int64         `json:"version"`
	Text      string        `json:"text"`
}

// Review is a review with the operation that it is about.
type Review struct {
	ID            string               `json:"id"`
	Reason        onefold.ReviewReason `json:"reason"`
	Status        onefold.ReviewStatus `json:"status"`
	Owner         string               `json:"owner"`
	OpenedAt      time.Time            `json:"opened_at"`
	EscalateAt    *time.Time           `json:"escalate_at"`
	EscalateTo    *string              `json:"escalate_to"`
	EscalatedAt   *time.Time           `json:"escalated_at"`
	ResolvedAt    *time.Time           `json:"resolved_at"`
	ResolvedBy    *onefold.Actor       `json:"resolved_by"`
	Decision      *string              `json:"decision"`
	Justification *string              `json:"justification"`
	Evidence      *string              `json:"evidence"`
	Detail        string               `json:"detail"`
	// Candidates are records at the target from which a resolution may name one.
	Candidates []onefold.Candidate `json:"candidates"`
	Operation  Operation           `json:"operation"`
}

// Connection is a connection with its running state.
type Connection struct {
	Received
	onefold.ConnectionInfo
	Limits Limits             `json:"limits"`
	Paused *onefold.PauseInfo `json:"paused"`
}

// Limits bound what is under way at a connection.
type Limits struct {
	InFlight   int     `json:"in_flight"`
	PerSecond  float64 `json:"per_second"`
	Unresolved int     `json:"unresolved"`
}

// Switched is the answer of pausing or resuming a whole workspace.
type Switched struct {
	Received
	Changed []string     `json:"changed"`
	Items   []Connection `json:"items"`
}

// Agreement is an integration agreement.
type Agreement struct {
	Received
	onefold.Agreement
}

// Stats counts a workspace's work.
type Stats struct {
	Received
	ByState       map[onefold.State]int64 `json:"by_state"`
	Unresolved    map[string]int64        `json:"unresolved"`
	OpenReviews   int64                   `json:"open_reviews"`
	Contradicted  int64                   `json:"contradicted"`
	Oldest        *Oldest                 `json:"oldest_uncertain"`
	OpenAttempts  int64                   `json:"open_attempts"`
	ExpiredLeases int64                   `json:"expired_leases"`
}

// Oldest is the uncertain operation that was admitted first.
type Oldest struct {
	Operation string    `json:"operation"`
	CreatedAt time.Time `json:"created_at"`
}

// Publication is what a publication of documents did.
type Publication struct {
	Received
	Stored    []DocumentName `json:"stored"`
	Unchanged []DocumentName `json:"unchanged"`
	Warnings  []string       `json:"warnings"`
	DryRun    bool           `json:"dry_run"`
}

// DocumentName names one document.
type DocumentName struct {
	Kind      string `json:"kind"`
	Workspace string `json:"workspace"`
	Name      string `json:"name"`
	Version   int    `json:"version"`
}

// Page is one page of a list; NextCursor is nil on the last.
type Page[T any] struct {
	Received
	Items      []T     `json:"items"`
	NextCursor *string `json:"next_cursor"`
	// Unreadable are operations that belong to a page of operations or reviews and
	// whose stored records are damaged; they are no items.
	Unreadable []Unreadable `json:"unreadable"`
}

// Unreadable is an operation whose stored record is damaged. Detail is for a person;
// reading the operation alone is answered with Code.
type Unreadable struct {
	ID     string       `json:"id"`
	Code   onefold.Code `json:"code"`
	Detail string       `json:"detail"`
}

// PageOf says which page: zero values are the first page and the server's size.
type PageOf struct {
	Limit  int // 1 to 200
	Cursor string
}
