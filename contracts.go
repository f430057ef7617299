package onefold

import (
	"context"
	"time"
)

// Contracts gives access to the published, compiled documents. The contract
// package implements it.
type Contracts interface {
	// CheckRequest parses a request strictly (I10) and says nothing else about it.
	// Errors: json_invalid with reason and byte offset, too_large.
	CheckRequest(raw []byte) error
	// Bind finds what a new operation would run under. version 0 is the newest,
	// connection "" the workspace's only one that serves the capability. Errors:
	// capability_unknown, contract_version_unknown, connection_unknown,
	// connection_ambiguous.
	Bind(workspace, capability string, version int, connection string) (Binding, error)
	// Pinned finds what an admitted operation runs under: the capability and
	// target versions of its admission and, once its request is frozen, the
	// connection's revision of that moment: address, account and parameters. Who
	// owns the connection, its mode and its limits are those of now: whoever
	// disables it means what is under way as well. So is how it authenticates, since
	// credentials are taken fresh (M2a), unless it has moved to another host, which
	// a new credential is for.
	Pinned(op *Operation) (Binding, error)
	// Limits returns the limits of a connection, defaults filled in; those of an
	// unknown connection are the defaults.
	Limits(c ConnectionRef) Limits
	// GoTarget names the target of a connection whose requests Go functions carry;
	// ok is false for every other connection, an unknown one included.
	GoTarget(c ConnectionRef) (target string, ok bool)
}

// The protocols of a target document.
const (
	ProtocolHTTP = "http"
	// ProtocolGo: the target is spoken to by Go functions (Steps).
	ProtocolGo = "go"
)

// Limits bound what is under way at one connection, for the whole deployment.
type Limits struct {
	InFlight   int
	PerSecond  float64 // 0: unlimited
	Unresolved int
}

// Terms are the facts of a binding that admission and the interfaces show.
type Terms struct {
	Capability      string
	ContractVersion int
	Target          string
	TargetVersion   int
	Protocol        string // of the target: ProtocolHTTP or ProtocolGo
	Workspace       string
	Connection      string
	// ConnectionRevision rises with each change of the connection's document.
	ConnectionRevision int
	Owner              string
	Mode               Mode // as it is in force, see M27
	DeclaredMode       Mode
	Protection         Protection
	Acknowledged       bool
	// Limits are the connection's, defaults filled in.
	Limits Limits
	// KeyRetention is how long a key is honoured after settlement (I26).
	KeyRetention time.Duration
}

// Defaults of a connection's limits.
const (
	// DefaultInFlight is how many attempts and look-ups of one connection are out
	// at once: enough to hide latency, few enough not to be a flood.
	DefaultInFlight = 8
	// DefaultUnresolved caps unresolved operations of one connection (M16a).
	DefaultUnresolved = 200
)

// Mode is how a connection may act.
type Mode string

// The modes of a connection.
const (
	ModeAutonomous Mode = "autonomous"
	ModeApproval   Mode = "approval"
	ModeDisabled   Mode = "disabled"
)

// Protection is what protects against a second effect at a target (section 3).
type Protection string

// The strengths of protection, strongest first.
const (
	ProtectionEnforced     Protection = "enforced"
	ProtectionReconcilable Protection = "reconcilable"
	ProtectionDetectable   Protection = "detectable"
	ProtectionNone         Protection = "none"
)

// Binding is one capability version at one target operation over one
// connection: everything that turns requests into messages and answers into
// meaning. Implementations are immutable and safe for concurrent use, and they
// never touch the network. Any error or panic in them means "maybe sent" once
// an attempt has begun.
type Binding interface {
	Terms() Terms
	Policy() Policy

	// Fingerprint normalizes a request (I11) and returns its fingerprint (I8) and
	// the id of the secret that it was made under. Errors: request_invalid with
	// faults, json_invalid.
	Fingerprint(request []byte) (fingerprint, keyID string, err error)
	// Validate holds the request against the contract's JSON Schema. Errors:
	// request_invalid with faults.
	Validate(request []byte) error
	// Differences lists what differs between two requests by JSON Pointer,
	// compared as the contract says; pointers begin with /request.
	Differences(accepted, submitted []byte) []Difference
	// Derive makes request identity and reference of a caller key (I13a).
	Derive(deployment, key string, counter int) (identity, reference string)

	// Freeze builds the outgoing write: the same operation and request always
	// give the same bytes (M2a).
	Freeze(op *Operation, request []byte) (Frozen, error)
	// Scope digests the parts that must equal for a replay (M11a); credential is
	// the keyed digest of the credential that would be used now.
	Scope(credential string) string
	// Judge says what an answer to a write means. clean is whether the attempt is
	// clean (it may decide which rule matches).
	Judge(op *Operation, request []byte, x *Exchange, clean bool) (Answer, Evidence)

	// LookupRequest builds the look-up or, where the operation's next step is a
	// poll and the contract has one that can be built, the poll; ok is false where
	// the contract has neither.
	LookupRequest(op *Operation, request []byte) (f Frozen, ok bool, err error)
	// JudgeLookup says what the answer to LookupRequest's request means, for the
	// same operation as it was then.
	JudgeLookup(op *Operation, request []byte, x *Exchange) (LookupOutcome, Evidence)

	// JudgeEvidence holds the body of delivered evidence of an effect, and the time at
	// which its source says that it occurred, against the approved request and the
	// admission: by the contract's verify fields and its records' times, as Judge and
	// JudgeLookup do with an answer or a record (M15). body is a JSON text, nil for none.
	JudgeEvidence(op *Operation, request []byte, occurredAt *time.Time, body []byte) EvidenceJudgement

	// Route says where and how the binding's requests travel.
	Route() Route
}

// Frozen is a request as it goes out, but for credentials.
type Frozen struct {
	Method string
	// Path is the part after the connection's URL, with its query.
	Path    string
	Headers []Header // in the order in which they are sent
	Body    []byte   // nil for none
	// Digest is SHA-256 (hex) over method, path, headers and body.
	Digest string
	// Timeout is the whole exchange's.
	Timeout time.Duration
}

// Header is one header field of a frozen request.
type Header struct{ Name, Value string }

// Route is a connection as the transport sees it.
type Route struct {
	Workspace  string
	Connection string
	Revision   int
	Account    string // which account at the target
	Params     []byte // the connection's params, a JSON object; nil for none
	URL        string // base, without credentials
	Auth       Auth
	// Secrets maps the names used in Auth to references such as env:NAME.
	Secrets map[string]string
	// FreshWrites: a write takes a connection of its own over HTTP/2, too. Over
	// HTTP/1.1 every request does (section 3).
	FreshWrites bool
}

// Auth is how a connection authenticates. Exactly one scheme, or none.
type Auth struct {
	Scheme string // "", bearer, basic, header, query, hmac, mtls
	// Secret names the entry of Route.Secrets that holds the credential.
	Secret string
	// User is the user name of basic, or names its secret entry as UserSecret.
	User, UserSecret string
	// Name is the header's or the query parameter's name.
	Name string
	// Prefix stands before the secret in a header.
	Prefix string
	// Certificate and Key name the entries of mtls.
	Certificate, Key string
	// Algorithm and Signed are hmac's: sha256 or sha512 over the listed parts.
	Algorithm string
	Signed    []string
}

// Difference is one member in which two requests differ; Accepted or Submitted
// is nil where the member is absent. Values are JSON text.
type Difference struct {
	Pointer   string
	Accepted  []byte
	Submitted []byte
}

// Carrier carries one request to a target and reports what was seen. It never
// retries, never follows redirects, and answers every failure by an Exchange:
// whatever talks to the world returns evidence, not errors.
type Carrier interface {
	Carry(ctx context.Context, d Dispatch) Exchange
	// CredentialDigest is a keyed digest of the credential that the route would
	// use now; it fails where a secret cannot be had.
	CredentialDigest(ctx context.Context, r Route) (string, error)
}

// Dispatch is one request to be carried.
type Dispatch struct {
	Route   Route
	Request Frozen
	// Write tells a write from a look-up.
	Write bool
	// MayStart is asked immediately before the first byte is handed to the
	// kernel, by the connection's own Write; where it says no, nothing is written
	// (M9). Nil means always.
	MayStart func() bool
	// UserAgent names the product.
	UserAgent string
	// Operation is the operation that the request belongs to, as it was when the
	// attempt or look-up began. It is not to be changed.
	Operation *Operation
}

// FailureSecret is the word of Exchange.Failure for a connection that cannot
// authenticate as its document says: a secret that cannot be had, or that cannot
// be used. It is as true of every other operation of the connection, and of the
// next attempt, until somebody mends it: a write that it kept from being sent
// pauses the connection.
const FailureSecret = "secret" // #nosec G101 -- a word, no credential

// Exchange is what was seen of one request on the wire.
type Exchange struct {
	// NotSent: no byte of the request reached the kernel, as section 3 defines it.
	NotSent bool
	// Failure is a short word for what went wrong below the answer, empty where
	// a whole answer was read: dns, connect, tls, address_refused, secret,
	// deadline_before_send, canceled, write, no_answer, timeout, cut_body,
	// too_large, bad_encoding, protocol.
	Failure string
	// Detail is one sentence without secrets.
	Detail string
	// Status is 0 where no status line was read.
	Status  int
	Headers []Header // all that were read, for judging; evidence keeps an allow-list
	Body    []byte   // at most the response limit, decoded
	// Complete: the whole body was read as announced.
	Complete bool
	// Evidence is the transport's part of the evidence: allow-listed headers,
	// redacted excerpt, digest, counts, time.
	Evidence Evidence
	// Redact blots the secrets of this exchange out of a text that the target
	// wrote, for whatever of its answer is kept; nil where there are none.
	Redact func(string) string `json:"-"`
	// Wrote and Found are what a Go function reported, of a write and of a look-up;
	// nil where it reported nothing, and for every other carrier.
	Wrote *WriteReport
	Found *LookupReport
	// Later, where it is not nil, says that the call has outlasted its time and
	// goes on: this Exchange says nothing, and the real one comes here once.
	Later <-chan Exchange `json:"-"`
}
