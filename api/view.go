package api

import (
	"encoding/base64"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/onefold-dev/onefold"
)

// The shapes of answers. Members are always present, null or empty where there
// is nothing, unless omitempty says otherwise. Times are UTC.

// operationView is the operation, in every answer that has one.
type operationView struct {
	ID              string             `json:"id"`
	Workspace       string             `json:"workspace"`
	Capability      string             `json:"capability"`
	ContractVersion int                `json:"contract_version"`
	Connection      string             `json:"connection"`
	Key             string             `json:"idempotency_key"`
	SubmittedBy     string             `json:"submitted_by"`
	Revision        *string            `json:"revision"`
	Fingerprint     string             `json:"fingerprint"`
	Identity        string             `json:"identity" doc:"The request identity that the target receives."`
	Reference       string             `json:"reference" doc:"The reference that the target receives."`
	State           onefold.State      `json:"state"`
	NewKeySafe      bool               `json:"new_key_safe" doc:"May the business action be started again under another key? The same key is always safe to send again."`
	Doubt           *doubtView         `json:"doubt"`
	Next            nextView           `json:"next"`
	Attempts        int                `json:"attempts"`
	MaybeApplied    bool               `json:"maybe_applied"`
	Barred          []onefold.Bar      `json:"barred"`
	Contradicted    bool               `json:"contradicted"`
	Holds           []holdView         `json:"holds"`
	Result          *resultView        `json:"result"`
	Rejection       *rejectionView     `json:"rejection"`
	Reviews         []reviewBrief      `json:"reviews"`
	Identities      []businessIdentity `json:"business_identities"`
	Amends          *string            `json:"amends"`
	AmendedBy       []string           `json:"amended_by"`
	DuplicateOf     *string            `json:"duplicate_of"`
	Payload         string             `json:"payload" enum:"retained"`
	Metadata        json.RawMessage    `json:"metadata"`
	CreatedAt       time.Time          `json:"created_at"`
	UpdatedAt       time.Time          `json:"updated_at"`
	SettledAt       *time.Time         `json:"settled_at"`
	KeyExpiresAt    *time.Time         `json:"key_expires_at"`
	Version         int64              `json:"version"`
}

// operationBrief is what a principal that may submit but not read sees of the
// operations of others (I5).
type operationBrief struct {
	ID    string        `json:"id"`
	State onefold.State `json:"state"`
}

// shownOperation is an operationView, or an operationBrief to whoever may not see
// more.
type shownOperation any

// perhapsOperation is a shownOperation, or nil.
type perhapsOperation any

type doubtView struct {
	Reason onefold.DoubtReason `json:"reason"`
	Since  time.Time           `json:"since"`
}

type nextView struct {
	Action onefold.NextAction `json:"action"`
	At     *time.Time         `json:"at" doc:"When the next step is due; with operator, when the next look-up is, if one is planned. An attempt or a replay waits for its connection while that is paused or disabled."`
}

type holdView struct {
	Reason      onefold.HoldReason `json:"reason"`
	Since       time.Time          `json:"since"`
	Review      *string            `json:"review"`
	DuplicateOf *string            `json:"duplicate_of"`
}

type resultView struct {
	Reference  string             `json:"reference"`
	LearntFrom onefold.LearntFrom `json:"learnt_from"`
	By         string             `json:"by,omitempty" doc:"Who delivered the event, or decided; absent where onefold read it at the target."`
	Evidence   *string            `json:"evidence"`
	At         time.Time          `json:"at"`
	Earlier    *resultView        `json:"earlier,omitempty" doc:"What was recorded before a contradiction was resolved with another reference."`
}

type rejectionView struct {
	Code     string    `json:"code"`
	Detail   string    `json:"detail"`
	Evidence *string   `json:"evidence"`
	At       time.Time `json:"at"`
}

// reviewBrief is a review as its operation shows it.
type reviewBrief struct {
	ID       string               `json:"id"`
	Reason   onefold.ReviewReason `json:"reason"`
	Status   onefold.ReviewStatus `json:"status"`
	Owner    string               `json:"owner"`
	OpenedAt time.Time            `json:"opened_at"`
}

type businessIdentity struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Place int    `json:"place"`
}

func viewOperation(op *onefold.Operation) operationView {
	v := operationView{
		ID: op.ID, Workspace: op.Workspace, Capability: op.Capability, ContractVersion: op.ContractVersion,
		Connection: op.Connection, Key: op.Key, SubmittedBy: op.SubmittedBy, Revision: op.Revision,
		Fingerprint: op.Fingerprint, Identity: op.Identity, Reference: op.Reference,
		State: op.State, NewKeySafe: op.NewKeySafe(), Next: viewNext(op),
		Attempts: len(op.Attempts), MaybeApplied: op.MaybeApplied, Barred: list(op.Barred), Contradicted: op.Contradicted,
		Holds: []holdView{}, Result: viewResult(op.Result), Reviews: []reviewBrief{},
		Identities: []businessIdentity{}, AmendedBy: []string{}, Payload: "retained", Metadata: op.Metadata,
		CreatedAt: op.CreatedAt.UTC(), UpdatedAt: op.UpdatedAt.UTC(), SettledAt: utc(op.SettledAt),
		KeyExpiresAt: utc(op.KeyExpiresAt()), Version: op.Version,
	}
	if len(v.Metadata) == 0 {
		v.Metadata = json.RawMessage("{}")
	}
	if op.Doubt != nil {
		v.Doubt = &doubtView{op.Doubt.Reason, op.Doubt.Since.UTC()}
	}
	for _, h := range op.Holds {
		v.Holds = append(v.Holds, holdView{h.Reason, h.Since.UTC(), optional(h.Review), optional(h.DuplicateOf)})
	}
	for _, r := range op.Reviews {
		v.Reviews = append(v.Reviews, reviewBrief{r.ID, r.Reason, r.Status, r.Owner, r.OpenedAt.UTC()})
	}
	if r := op.Rejection; r != nil {
		v.Rejection = &rejectionView{r.Code, r.Detail, optional(r.Evidence), r.At.UTC()}
	}
	return v
}

// viewNext says what moves the operation on: the operator, once a review for it
// is open, though look-ups may go on.
func viewNext(op *onefold.Operation) nextView {
	next := nextView{Action: op.Next, At: utc(op.Due)}
	if next.Action == "" {
		next.Action = onefold.NextNone
	}
	if len(op.OpenReviews()) > 0 {
		next.Action = onefold.NextOperator
	}
	return next
}

func viewResult(r *onefold.Result) *resultView {
	if r == nil {
		return nil
	}
	return &resultView{r.Reference, r.LearntFrom, r.By, optional(r.Evidence), r.At.UTC(), viewResult(r.Earlier)}
}

// entryView is one line of a timeline (M28).
type entryView struct {
	At       time.Time         `json:"at"`
	Actor    onefold.Actor     `json:"actor"`
	Event    onefold.EventKind `json:"event"`
	Rule     string            `json:"rule" doc:"The id of the transition; empty for notes."`
	From     *onefold.State    `json:"from"`
	To       *onefold.State    `json:"to"`
	Evidence *string           `json:"evidence"`
	Attempt  *string           `json:"attempt"`
	Review   *string           `json:"review"`
	Detail   string            `json:"detail"`
	Reason   string            `json:"reason" doc:"What the actor gave."`
	Pointers []string          `json:"pointers" doc:"The members that differed in a refused submission (M22)."`
	Version  int64             `json:"version" doc:"The operation's version after it."`
}

func viewEntry(e *onefold.Entry) entryView {
	return entryView{
		At: e.At.UTC(), Actor: e.Actor, Event: e.Event, Rule: e.Rule, From: state(e.From), To: state(e.To),
		Evidence: optional(e.Evidence), Attempt: optional(e.Attempt), Review: optional(e.Review),
		Detail: e.Detail, Reason: e.Reason, Pointers: list(e.Pointers), Version: e.Version,
	}
}

// attemptView is one try.
type attemptView struct {
	ID              string              `json:"id"`
	Number          int                 `json:"number"`
	Kind            onefold.AttemptKind `json:"kind"`
	Worker          string              `json:"worker"`
	BegunAt         time.Time           `json:"begun_at"`
	EndedAt         *time.Time          `json:"ended_at"`
	Open            bool                `json:"open" doc:"Its lease ended without word from its worker (M12a)."`
	OpenSince       *time.Time          `json:"open_since"`
	CloseAt         *time.Time          `json:"close_at" doc:"When it counts as closed at the latest."`
	Verdict         *string             `json:"verdict" enum:"confirmed,rejected,not_applied,not_sent,in_progress,unknown" doc:"What its answer says about itself alone; null until it ended."`
	ProvenBy        *string             `json:"proven_by" enum:"absence,operator" doc:"What proved later that it had no effect."`
	ClosedBy        *string             `json:"closed_by" enum:"late_report,process_gone,straggler"`
	TargetRequestID *string             `json:"target_request_id"`
	Evidence        *string             `json:"evidence"`
}

func viewAttempt(a *onefold.Attempt) attemptView {
	return attemptView{
		ID: a.ID, Number: a.Number, Kind: a.Kind, Worker: a.Worker, BegunAt: a.BegunAt.UTC(), EndedAt: utc(a.EndedAt),
		Open: a.Open, OpenSince: utc(a.OpenSince), CloseAt: utc(a.CloseAt), Verdict: optional(string(a.Verdict)),
		ProvenBy: optional(string(a.ProvenBy)), ClosedBy: optional(string(a.ClosedBy)),
		TargetRequestID: optional(a.TargetRequestID), Evidence: optional(a.Evidence),
	}
}

// evidenceView is one observed fact.
type evidenceView struct {
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
	Status     *int                 `json:"status" doc:"The HTTP status; null where there was none."`
	Headers    map[string]string    `json:"headers" doc:"Those of an allow-list."`
	Excerpt    string               `json:"excerpt" doc:"The beginning of the body, secrets blotted out."`
	Digest     *string              `json:"digest" doc:"SHA-256 of the whole body."`
	BytesOut   int64                `json:"bytes_out"`
	BytesIn    int64                `json:"bytes_in"`
	TookMillis int64                `json:"took_ms"`
	Mismatches []onefold.Mismatch   `json:"mismatches"`
	OccurredAt *time.Time           `json:"occurred_at"`
	SeenAt     time.Time            `json:"seen_at"`
	RecordedBy onefold.Actor        `json:"recorded_by"`
}

func viewEvidence(e *onefold.Evidence) evidenceView {
	v := evidenceView{
		ID: e.ID, Operation: e.Operation, Attempt: optional(e.Attempt), Kind: e.Kind, Asserts: e.Asserts,
		Reference: optional(e.Reference), Source: optional(e.Source), EventID: optional(e.SourceEventID),
		Rule: optional(e.Rule), Detail: e.Detail, Headers: e.Headers, Excerpt: e.Excerpt, Digest: optional(e.Digest),
		BytesOut: e.BytesOut, BytesIn: e.BytesIn, TookMillis: e.Took.Milliseconds(), Mismatches: list(e.Mismatches),
		OccurredAt: utc(e.OccurredAt), SeenAt: e.SeenAt.UTC(), RecordedBy: e.RecordedBy,
	}
	if e.Status != 0 {
		v.Status = &e.Status
	}
	if v.Headers == nil {
		v.Headers = map[string]string{}
	}
	return v
}

// outgoingView is a frozen request: what goes over the wire, but for credentials.
type outgoingView struct {
	Method   string       `json:"method"`
	Path     string       `json:"path" doc:"The part after the connection's address."`
	Headers  []headerView `json:"headers" doc:"In the order in which they are sent."`
	Body     *string      `json:"body" doc:"null where there is none."`
	Encoding string       `json:"body_encoding" enum:"text,base64" doc:"base64 where the body is not UTF-8."`
	Digest   string       `json:"digest"`
}

type headerView struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func viewOutgoing(f *onefold.Frozen) *outgoingView {
	v := &outgoingView{Method: f.Method, Path: f.Path, Headers: []headerView{}, Encoding: "text", Digest: f.Digest}
	for _, h := range f.Headers {
		v.Headers = append(v.Headers, headerView(h))
	}
	if f.Body != nil {
		body := string(f.Body)
		if !utf8.ValidString(body) {
			v.Encoding, body = "base64", base64.StdEncoding.EncodeToString(f.Body)
		}
		v.Body = &body
	}
	return v
}

// requestView is what was submitted and what goes out.
type requestView struct {
	Operation     string          `json:"operation"`
	Request       json.RawMessage `json:"request" doc:"As it was submitted, with its digits."`
	NotBefore     *time.Time      `json:"not_before"`
	StartDeadline *time.Time      `json:"start_deadline"`
	Outgoing      *outgoingView   `json:"outgoing" doc:"The frozen request; null before the first attempt."`
}

// previewView is the answer of a dry run.
type previewView struct {
	DryRun    bool           `json:"dry_run"`
	Replayed  bool           `json:"replayed" doc:"The key is known: this is the operation that has it."`
	Operation shownOperation `json:"operation"`
	Outgoing  *outgoingView  `json:"outgoing"`
}

// explanationView is an operation in plain language.
type explanationView struct {
	Operation string        `json:"operation"`
	State     onefold.State `json:"state"`
	Version   int64         `json:"version"`
	Text      string        `json:"text"`
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func state(s onefold.State) *onefold.State {
	if s == "" {
		return nil
	}
	return &s
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}

// list makes an empty list of none.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
