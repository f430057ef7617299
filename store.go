package onefold

import (
	"context"
	"time"
)

// Store is the seam to storage. Stores do not decide: they load an operation,
// call the law (Apply) with their own time, and write the outcome conditionally
// in one transaction. Everything that a returned error does not deny is durable
// (M4, M6). Any method may return ErrCommitUnknown where it writes, and
// store_unavailable where the store cannot be reached; nothing else is
// "perhaps".
//
// Every store passes the suite in storetest.
type Store interface {
	Claims
	Operations
	Work
	Documents
	Principals

	// Installation returns what identifies this copy of the data.
	Installation(ctx context.Context) (Installation, error)
	// Now is the store's time (M9).
	Now(ctx context.Context) (time.Time, error)
	// Ping tells whether the store can be reached and its migrations are current.
	Ping(ctx context.Context) error
	// Close waits for steps under way and releases everything.
	Close() error
}

// Installation is the record of M29.
type Installation struct {
	// Deployment is made once and moves with the data (I13a).
	Deployment string
	Epoch      int64
	// Secrets maps the id of each fingerprint secret in use to its check value (I8).
	Secrets map[string]string
	// KeyIDs are the ids of the secrets that stored operations' fingerprints were made
	// under, sorted, as far as a short look shows: at the oldest, the newest and some
	// between. One that Secrets does not have means that its check value was lost.
	KeyIDs []string
}

// ClaimKey names a claim: unique for all time (I2).
type ClaimKey struct{ Workspace, Capability, Key string }

// Admission is one operation to be stored together with its claim and its first
// timeline entry, or not at all (I3).
type Admission struct {
	Operation Operation
	Request   []byte // as submitted (I13), at most 1 MiB
	Entry     Entry
	// UnresolvedLimit is the cap of M16a for the operation's connection.
	UnresolvedLimit int
}

// Claims binds caller keys to operations.
type Claims interface {
	// Admit stores the admission. created is false if a claim for its key was
	// there first: then op is the operation that holds it, and nothing was
	// written. Errors: admission_limited (M16a), ErrIdentityTaken.
	Admit(ctx context.Context, a Admission) (op Operation, created bool, err error)
	// Claimed finds the operation that holds a key. It writes nothing.
	Claimed(ctx context.Context, k ClaimKey) (op Operation, found bool, err error)
	// Note appends an entry to an operation's timeline and changes nothing else
	// (M22); at most MaxNotes for one operation, the rest is dropped.
	Note(ctx context.Context, e Entry) error
}

// MaxNotes bounds the refused submissions noted on one operation's timeline: a
// caller that repeats a wrong request for ever must not fill the disk.
const MaxNotes = 100

// Committed is a step that was carried out and is durable.
type Committed struct {
	Operation Operation
	Effects   []Effect
	At        time.Time // the store's time of the step
}

// Operations reads operations and carries steps out.
type Operations interface {
	// Step loads the operation, applies the event with the store's time and the
	// connection's standing, and stores what follows, in one transaction. It fills
	// Event.Recorded in for the event's References: of several operations that have
	// recorded one, it names a live one, else the one that was admitted last. A
	// refusal of the law comes back as it is, with nothing changed.
	// ifVersion, unless 0, must equal the operation's version (stale_version).
	// An event whose evidence carries a source and source event id that the
	// operation's connection has recorded before changes nothing: the operation
	// comes back as it is, without effects (M17).
	Step(ctx context.Context, id string, ev Event, ifVersion int64) (Committed, error)
	// StepBegin is Step for EventBegun that stores the frozen request in the same
	// transaction, if none is stored yet.
	StepBegin(ctx context.Context, id string, ev Event, f Frozen) (Committed, error)

	// Operation finds one operation; workspace "" means any, for the engine alone.
	// Errors: operation_unknown.
	Operation(ctx context.Context, workspace, id string) (Operation, error)
	// Request returns the approved request.
	Request(ctx context.Context, id string) ([]byte, error)
	// FrozenRequest returns the frozen request; found is false before the first attempt.
	FrozenRequest(ctx context.Context, id string) (f Frozen, found bool, err error)
	// Reading one whose record is damaged is record_unreadable, of Step too.

	// List returns a page, newest first, and the cursor of the next ("" at the end).
	// An operation whose record is damaged is in it as Unreadable.
	List(ctx context.Context, q Query) ([]Operation, string, error)
	// Timeline and EvidenceOf return pages in order of time, oldest first.
	Timeline(ctx context.Context, id string, after int64, limit int) ([]Entry, error)
	EvidenceOf(ctx context.Context, id string, after string, limit int) ([]Evidence, error)
	// Reviews returns a page of reviews, newest first; the operation of one may be
	// Unreadable.
	Reviews(ctx context.Context, q ReviewQuery) ([]ReviewItem, string, error)
	// Changes returns timeline entries of the whole workspace in commit order
	// after the given sequence number.
	Changes(ctx context.Context, workspace string, after int64, limit int) ([]Entry, error)
	// Stats counts.
	Stats(ctx context.Context, workspace string) (Stats, error)
}

// Query filters a list of operations; empty members do not filter.
type Query struct {
	Workspace    string
	Capability   string
	Connection   string
	State        State
	Key          string
	Reference    string // the operation's own reference or its result's
	Identity     string
	Review       string // id of a review
	Contradicted *bool
	CreatedFrom  *time.Time
	CreatedTo    *time.Time
	SubmittedBy  string
	Limit        int // 1 to 200
	Cursor       string
}

// ReviewQuery filters reviews.
type ReviewQuery struct {
	Workspace string
	Owner     string
	Reason    ReviewReason
	Status    ReviewStatus
	OlderThan *time.Time // opened before
	Limit     int
	Cursor    string
}

// ReviewItem is a review with the operation that it is about.
type ReviewItem struct {
	Review    Review
	Operation Operation
}

// Stats counts a workspace's work.
type Stats struct {
	ByState       map[State]int64
	Unresolved    map[string]int64 // by connection
	OpenReviews   int64
	Contradicted  int64
	OldestOpen    *time.Time // admission of the oldest operation that is uncertain (M16)
	OldestOpenID  string
	OpenAttempts  int64
	ExpiredLeases int64
}

// Work is what a runner needs.
type Work interface {
	// TakeRunner makes the caller the runner of this store, ends the leases of an
	// earlier runner whose process is proven gone (EventLeaseExpired with
	// ProcessGone) and closes its open attempts (EventAttemptClosed, M12a). It
	// knows no contracts: the events carry no policy, so the law leaves the
	// operations due at once and unplanned, and the runner plans them
	// (EventReconsidered). release gives the place back. Errors: ErrRunnerTaken.
	TakeRunner(ctx context.Context, worker string) (release func() error, err error)
	// Due returns ids of operations of the given connections that are due and not
	// leased, the longest waiting first: of each connection at most its number of
	// those whose next step sends something, and as many of those whose next step
	// asks the target, so that neither hides the other; a connection that the map
	// does not name is left out unless others is above 0.
	// Of a paused connection only uncertain operations whose next step is not a
	// replay are returned: a pause stops every begin, look-ups go on (section 3).
	Due(ctx context.Context, at time.Time, free map[ConnectionRef]int, others int) ([]DueItem, error)
	// NextDue is when the next unleased operation is due, zero if none is scheduled.
	NextDue(ctx context.Context) (time.Time, error)
	// Overdue returns operations, settled ones included, whose WakeAt has passed:
	// expired leases, open attempts beyond straggler, passed start deadlines,
	// reviews to escalate. One whose record is damaged is left out.
	Overdue(ctx context.Context, at time.Time, limit int) ([]Operation, error)
	// Connection returns a connection's standing.
	Connection(ctx context.Context, c ConnectionRef) (ConnectionStanding, error)
	// PauseConnection and ResumeConnection switch the paused state, with who and
	// why; changed is false if it was so already.
	PauseConnection(ctx context.Context, c ConnectionRef, by Actor, reason string) (changed bool, err error)
	ResumeConnection(ctx context.Context, c ConnectionRef, by Actor, reason string) (changed bool, err error)
	// Pauses lists the paused connections of a workspace ("" all).
	Pauses(ctx context.Context, workspace string) ([]Pause, error)
}

// ConnectionRef names a connection.
type ConnectionRef struct{ Workspace, Connection string }

// DueItem is one operation that may be leased.
type DueItem struct {
	ID         string
	Connection ConnectionRef
	Due        time.Time
	// Sends: its next step sends something to the target, a write or a replay.
	Sends bool
}

// Pause is a paused connection.
type Pause struct {
	Connection ConnectionRef
	Since      time.Time
	By         Actor
	Reason     string
}

// Document is one published document, as its author wrote it.
type Document struct {
	Kind      string // capability, target, connection
	Workspace string // connections only
	Name      string
	Version   int // connections: their revision
	Source    []byte
	// Canonical is the document's canonical JSON: equality of two publications.
	Canonical   []byte
	PublishedAt time.Time
	PublishedBy string
}

// Documents keeps what was published.
type Documents interface {
	// Publish stores documents in one transaction; those that are there already
	// with equal content are left. Errors: version_immutable for a capability or
	// target whose version exists with other content. A connection gets its next
	// revision.
	Publish(ctx context.Context, docs []Document) (stored []Document, err error)
	// AllDocuments returns all documents in order of publication, connections in
	// every revision: operations in doubt stay with theirs.
	AllDocuments(ctx context.Context) ([]Document, error)
	// DocumentsRevision rises with every publication; cheap to ask.
	DocumentsRevision(ctx context.Context) (int64, error)
}

// Role is what a principal may do.
type Role string

// The roles of section 4.
const (
	RoleSubmit   Role = "submit"
	RoleRead     Role = "read"
	RoleOperate  Role = "operate"
	RoleEvidence Role = "evidence"
	RoleAdmin    Role = "admin"
)

// Roles lists all roles.
func Roles() []Role {
	return []Role{RoleSubmit, RoleRead, RoleOperate, RoleEvidence, RoleAdmin}
}

// Token is a stored credential; the secret itself is not.
type Token struct {
	ID        string `json:"id"` // TypeID tok_…
	Hash      string `json:"-"`  // SHA-256 of the secret, hex
	Workspace string `json:"workspace"`
	Name      string `json:"name"` // the principal
	Roles     []Role `json:"roles"`
	// Connections limits the role evidence to the named connections.
	Connections []string   `json:"connections"`
	CreatedAt   time.Time  `json:"created_at"`
	ExpiresAt   *time.Time `json:"expires_at"`
	RevokedAt   *time.Time `json:"revoked_at"`
	LastUsedAt  *time.Time `json:"last_used_at"`
}

// Workspace is a tenant.
type Workspace struct {
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
}

// Principals keeps workspaces and tokens.
type Principals interface {
	CreateWorkspace(ctx context.Context, name string) (Workspace, error) // workspace_exists
	Workspaces(ctx context.Context) ([]Workspace, error)
	CreateToken(ctx context.Context, t Token) error // workspace_unknown
	Tokens(ctx context.Context, workspace string) ([]Token, error)
	RevokeToken(ctx context.Context, workspace, id string) error // token_unknown
	// TokenByHash finds a token, expired and revoked ones included.
	TokenByHash(ctx context.Context, hash string) (Token, bool, error)
	// TouchToken records a use; at most once a minute is written.
	TouchToken(ctx context.Context, id string, at time.Time) error
	// RememberSecret stores the check value of a fingerprint secret, once.
	RememberSecret(ctx context.Context, keyID, check string) error
}
