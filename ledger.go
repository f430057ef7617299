package onefold

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/onefold-dev/onefold/internal/failpoint"
)

// Config is what a ledger needs beside its store.
type Config struct {
	Contracts Contracts
	IDs       IDs
	// Now is the clock that identifiers are stamped with; decisions use the
	// store's time.
	Now func() time.Time
	// Deployment is the store's (Installation.Deployment), from which identities
	// are derived (I13a).
	Deployment string
	// Documents, where it is not nil, keeps Contracts in step with the store: before
	// anything is refused because of what is published, what others have published is
	// taken up. Nil leaves that to the program, which is then as late as it looks:
	// until it has loaded them, operations of other processes under new documents
	// are contract_unavailable to it.
	Documents *Follower

	// What follows is for Do alone.

	// Boot is a monotonic clock that also counts suspended time (M9); Do needs it.
	Boot func() time.Duration
	// Worker names this process in leases, attempts and the timeline of the
	// operations that Do carries out; "" means a name drawn for this ledger.
	Worker string
	// Lease is how long Do's leases last; 0 means DefaultLease.
	Lease time.Duration
	// Logger takes what nobody is there to be told; nil discards it.
	Logger *slog.Logger
}

// Ledger is the service: it admits operations, shows them, and takes decisions.
// It sends nothing by itself: a runner does over time, and Do for one operation.
// Safe for concurrent use.
type Ledger struct {
	store    Store
	cfg      Config
	hub      *hub
	draining atomic.Bool
	seen     sightings
}

// New returns a ledger on a store.
func New(store Store, cfg Config) (*Ledger, error) {
	if store == nil || cfg.Contracts == nil || cfg.IDs == nil || cfg.Now == nil || cfg.Deployment == "" {
		return nil, errors.New("onefold: a ledger needs a store, contracts, ids, a clock and a deployment")
	}
	if cfg.Worker == "" {
		cfg.Worker = cfg.IDs.New("wrk", cfg.Now())
	}
	return &Ledger{store: store, cfg: cfg, hub: newHub()}, nil
}

func (l *Ledger) log() *slog.Logger {
	if l.cfg.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l.cfg.Logger
}

// Store returns the ledger's store.
func (l *Ledger) Store() Store { return l.store }

// Deployment returns the id of the store's deployment (I13a).
func (l *Ledger) Deployment() string { return l.cfg.Deployment }

// Contracts returns the ledger's contracts.
func (l *Ledger) Contracts() Contracts { return l.cfg.Contracts }

// NewID makes an identifier with the given prefix.
func (l *Ledger) NewID(prefix string) string { return l.cfg.IDs.New(prefix, l.cfg.Now()) }

// Drain refuses new admissions from now on; repeats of known keys are still
// answered.
func (l *Ledger) Drain() { l.draining.Store(true) }

// Draining tells whether Drain was called.
func (l *Ledger) Draining() bool { return l.draining.Load() }

// Submit admits an operation, or finds the one that its key already has.
// replayed tells which. The order of checks is that of I3a; errors are *Error
// with ClaimChecked telling whether the claim had been looked up: key_required,
// key_invalid, json_invalid, too_large, key_conflict, key_expired, draining,
// capability_unknown, contract_version_unknown, connection_unknown,
// connection_ambiguous, connection_disabled, deadline_past, request_invalid,
// admission_limited, store_unavailable, and contract_unavailable: with an Operation
// the key is that operation's, and the submission could not be compared with it;
// without one nothing was admitted.
func (l *Ledger) Submit(ctx context.Context, s Submission) (op Operation, replayed bool, err error) {
	return l.submit(ctx, s, l.ahead)
}

// submit is Submit; ahead is asked for a place for what is about to be admitted.
func (l *Ledger) submit(ctx context.Context, s Submission, ahead takeAhead) (op Operation, replayed bool, err error) {
	op, found, err := l.claimed(ctx, s)
	if err != nil || found {
		return op, found, err
	}
	a, binding, err := l.admission(ctx, s)
	if err != nil {
		return Operation{}, false, claimChecked(err)
	}
	return l.admit(ctx, s, a, binding, ahead)
}

// claimed answers a repeat: the original operation, a conflict, or expiry.
func (l *Ledger) claimed(ctx context.Context, s Submission) (Operation, bool, error) {
	if err := checkKey(s.Key); err != nil {
		return Operation{}, false, err
	}
	if err := l.cfg.Contracts.CheckRequest(s.Request); err != nil {
		return Operation{}, false, err
	}
	failpoint.Before(failpoint.Claimed)
	op, found, err := l.store.Claimed(ctx, ClaimKey{s.Workspace, s.Capability, s.Key})
	if err != nil {
		return Operation{}, false, unavailable(err)
	}
	failpoint.After(failpoint.Claimed)
	if !found {
		return Operation{}, false, nil
	}
	op, err = l.replay(ctx, s, op)
	return op, err == nil, err
}

// replay compares a repeat with the operation that holds its key. Conflict and
// expiry are judgements by the claim; whatever else keeps it from answering leaves
// the key what it is, an operation's, and does not count as checked (I3a).
func (l *Ledger) replay(ctx context.Context, s Submission, op Operation) (Operation, error) {
	op, err := l.compare(ctx, s, op)
	if code := CodeOf(err); code == CodeKeyConflict || code == CodeKeyExpired {
		err = claimChecked(err)
	}
	return op, err
}

func (l *Ledger) compare(ctx context.Context, s Submission, op Operation) (Operation, error) {
	if err := l.expired(ctx, s, op); err != nil {
		return Operation{}, err
	}
	diffs, err := l.differences(ctx, s, op)
	if err != nil {
		return Operation{}, err
	}
	if len(diffs) == 0 {
		return op, nil
	}
	pointers := make([]string, len(diffs))
	for i := range diffs {
		pointers[i] = diffs[i].Pointer
		if !s.MayRead {
			diffs[i].Accepted, diffs[i].Submitted = nil, nil
		}
	}
	now, err := l.store.Now(ctx)
	if err != nil {
		return Operation{}, unavailable(err)
	}
	failpoint.Before(string(EventNoted))
	err = l.store.Note(ctx, Entry{
		Operation: op.ID, At: now, Actor: Actor{ActorPrincipal, s.SubmittedBy}, Event: EventNoted,
		From: op.State, To: op.State, Version: op.Version, Pointers: pointers,
		Detail: "a submission under the same key with another intent was refused",
	})
	if err != nil && !errors.Is(err, ErrCommitUnknown) {
		return Operation{}, unavailable(err)
	}
	failpoint.After(string(EventNoted))
	return Operation{}, &Error{
		Code: CodeKeyConflict, Operation: op.ID, Differences: diffs, State: op.State,
		Message: "this key belongs to an operation with another intent; nothing was changed or started",
		Hint:    l.conflictHint(diffs, s.MayRead && op.NewKeySafe()),
	}
}

func (l *Ledger) expired(ctx context.Context, s Submission, op Operation) error {
	at := op.KeyExpiresAt()
	if at == nil {
		return nil
	}
	now, err := l.store.Now(ctx)
	if err != nil {
		return unavailable(err)
	}
	if now.Before(*at) {
		return nil
	}
	e := &Error{
		Code: CodeKeyExpired, Operation: op.ID, ExpiredAt: at,
		Message: "the key's retention is over; its operation is kept, and nothing was compared or started",
		Hint:    expiredHint(&op, s.MayRead),
	}
	if s.MayRead {
		e.State, e.NewKeySafe = op.State, op.NewKeySafe()
		if op.Result != nil {
			e.Reference = op.Result.Reference
		}
	}
	return e
}

// differences lists in what a repeat differs from the operation (I4). What the
// repeat leaves out means what it meant the first time (I6).
func (l *Ledger) differences(ctx context.Context, s Submission, op Operation) ([]Difference, error) {
	var diffs []Difference
	differ := func(pointer, accepted, submitted string, same bool) {
		if !same {
			diffs = append(diffs, Difference{Pointer: pointer, Accepted: []byte(accepted), Submitted: []byte(submitted)})
		}
	}
	differ("/contract_version", fmt.Sprint(op.ContractVersion), fmt.Sprint(s.ContractVersion), s.ContractVersion == 0 || s.ContractVersion == op.ContractVersion)
	differ("/connection", quote(op.Connection), quote(s.Connection), s.Connection == "" || s.Connection == op.Connection)
	differ("/revision", quoteOpt(op.Revision), quoteOpt(s.Revision), s.Revision == nil || op.Revision != nil && *op.Revision == *s.Revision)
	differ("/amends", "null", quoteOpt(s.Amends), s.Amends == nil)
	differ("/not_before", quoteTime(op.NotBefore), quoteTime(s.NotBefore), sameTime(s.NotBefore, op.NotBefore))
	differ("/start_deadline", quoteTime(op.StartDeadline), quoteTime(s.StartDeadline), sameTime(s.StartDeadline, op.StartDeadline))

	binding, err := l.Pinned(ctx, &op)
	if err != nil {
		return nil, notCompared(err, s.MayRead)
	}
	fingerprint, _, err := binding.Fingerprint(s.Request)
	if err == nil && fingerprint == op.Fingerprint {
		return diffs, nil
	}
	// A request that the comparison rules refuse cannot be the admitted one.
	accepted, err := l.store.Request(ctx, op.ID)
	if err != nil {
		return nil, unavailable(err)
	}
	inRequest := binding.Differences(accepted, s.Request)
	if len(inRequest) == 0 {
		inRequest = []Difference{{Pointer: "/request"}}
	}
	return append(diffs, inRequest...), nil
}

// admission makes the checks of M25 and builds the operation.
func (l *Ledger) admission(ctx context.Context, s Submission) (Admitted, Binding, error) {
	if l.Draining() {
		return Admitted{}, nil, &Error{Code: CodeDraining, Message: "this server is shutting down; nothing was admitted", Hint: "the same key is safe to send again", RetryAfter: time.Second}
	}
	binding, err := l.bind(ctx, &s)
	if err != nil {
		return Admitted{}, nil, err
	}
	if s.Amends != nil {
		return Admitted{}, nil, &Error{Code: CodeNotSupportedYet, Pointer: "/amends", Message: "amendments are not supported yet"}
	}
	terms := binding.Terms()
	if terms.Mode == ModeDisabled {
		return Admitted{}, nil, &Error{Code: CodeConnectionDisabled, Message: "the connection " + terms.Connection + " is disabled"}
	}
	now, err := l.store.Now(ctx)
	if err != nil {
		return Admitted{}, nil, unavailable(err)
	}
	if err := checkTimes(s, now); err != nil {
		return Admitted{}, nil, err
	}
	if err := binding.Validate(s.Request); err != nil {
		return Admitted{}, nil, err
	}
	fingerprint, keyID, err := binding.Fingerprint(s.Request)
	if err != nil {
		return Admitted{}, nil, err
	}
	return Admitted{
		ID: l.cfg.IDs.New(PrefixOperation, now), Workspace: s.Workspace, Capability: s.Capability,
		ContractVersion: terms.ContractVersion, Target: terms.Target, TargetVersion: terms.TargetVersion,
		Connection: terms.Connection, Key: s.Key, SubmittedBy: s.SubmittedBy, Revision: s.Revision,
		NotBefore: s.NotBefore, StartDeadline: s.StartDeadline, Metadata: s.Metadata,
		Fingerprint: fingerprint, FingerprintKey: keyID, Owner: terms.Owner, CreatedAt: now,
		KeyRetention: terms.KeyRetention,
	}, binding, nil
}

func checkTimes(s Submission, now time.Time) error {
	if len(s.Metadata) > MaxMetadata {
		return &Error{Code: CodeMemberInvalid, Pointer: "/metadata", Message: fmt.Sprintf("metadata has at most %d bytes", MaxMetadata)}
	}
	if s.StartDeadline == nil {
		return nil
	}
	if !now.Before(*s.StartDeadline) {
		return &Error{Code: CodeDeadlinePast, Pointer: "/start_deadline", Message: "start_deadline is in the past"}
	}
	if s.NotBefore != nil && !s.NotBefore.Before(*s.StartDeadline) {
		return &Error{Code: CodeMemberInvalid, Pointer: "/not_before", Message: "not_before must lie before start_deadline"}
	}
	return nil
}

// maxDerivations bounds the counters that are tried when derived identities
// collide (I13a): with 64 bits or more, a second collision is no accident.
const maxDerivations = 16

// admit stores the admission; a lost race is judged like a repeat.
func (l *Ledger) admit(ctx context.Context, s Submission, a Admitted, binding Binding, take takeAhead) (Operation, bool, error) {
	terms := binding.Terms()
	var holds []HoldReason
	if terms.Mode == ModeApproval {
		holds = append(holds, HoldApproval)
	}
	for counter := range maxDerivations {
		a.IdentityCounter = counter
		a.Identity, a.Reference = binding.Derive(l.cfg.Deployment, s.Key, counter)
		op, entry := admit(a, holds, l.NewID(PrefixReview), Actor{ActorPrincipal, s.SubmittedBy})
		// What cannot be built is refused now, not held for ever.
		failpoint.Before(failpoint.Frozen)
		frozen, err := buildFrom(binding, &op, s.Request)
		if err != nil {
			return Operation{}, false, claimChecked(err)
		}
		failpoint.After(failpoint.Frozen)
		ahead := take(ctx, &op, binding, s.Request, frozen)
		stored, created, err := l.storeAdmission(ctx, Admission{Operation: op, Request: s.Request, Entry: entry, UnresolvedLimit: terms.Limits.Unresolved}, ahead)
		if errors.Is(err, ErrIdentityTaken) {
			ahead.free()
			continue
		}
		if errors.Is(err, ErrCommitUnknown) {
			return l.readBack(ctx, s, a.ID, ahead)
		}
		if err != nil || !created || !ahead.began(&stored) {
			ahead.free()
		}
		switch {
		case err != nil:
			return Operation{}, false, claimChecked(unavailable(err))
		case !created:
			stored, err = l.replay(ctx, s, stored)
			return stored, err == nil, err
		}
		l.hub.admitted(stored)
		if ahead.began(&stored) {
			ahead.carry(stored)
		}
		return stored, false, nil
	}
	return Operation{}, false, claimChecked(refuse(CodeInternal, "no free identity could be derived"))
}

// readBack decides an admission whose commit is unknown: the claim tells. An
// attempt that was begun with it is not sent (M4).
func (l *Ledger) readBack(ctx context.Context, s Submission, id string, ahead *Ahead) (Operation, bool, error) {
	if ahead != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), lastWords)
		defer cancel()
	}
	op, found, err := l.store.Claimed(ctx, ClaimKey{s.Workspace, s.Capability, s.Key})
	if err == nil && found && ahead.began(&op) {
		ahead.undo(op)
	} else {
		ahead.free()
	}
	if err != nil || !found {
		return Operation{}, false, &Error{
			Code: CodeStoreUnavailable, Cause: errors.Join(ErrCommitUnknown, err), RetryAfter: time.Second,
			Message: "it is not known whether the operation was admitted",
			Hint:    "the same key is safe to send again",
		}
	}
	if op.ID == id {
		l.hub.admitted(op)
		return op, false, nil
	}
	op, err = l.replay(ctx, s, op)
	return op, err == nil, err
}

// Preview is what a dry run shows: the operation as it would be admitted and
// the request as it would go out. Nothing is stored.
type Preview struct {
	Operation Operation
	Frozen    Frozen
}

// DryRun makes all checks of Submit and builds the outgoing request, and stores
// nothing. For a key that is known it answers as Submit would, with the
// operation that holds it.
func (l *Ledger) DryRun(ctx context.Context, s Submission) (p Preview, replayed bool, err error) {
	op, found, err := l.claimed(ctx, s)
	if err != nil {
		return Preview{}, false, err
	}
	if found {
		p.Operation = op
		p.Frozen, _, err = l.store.FrozenRequest(ctx, op.ID)
		return p, true, unavailable(err)
	}
	a, binding, err := l.admission(ctx, s)
	if err != nil {
		return Preview{}, false, claimChecked(err)
	}
	a.Identity, a.Reference = binding.Derive(l.cfg.Deployment, s.Key, 0)
	var holds []HoldReason
	if binding.Terms().Mode == ModeApproval {
		holds = append(holds, HoldApproval)
	}
	p.Operation, _ = admit(a, holds, l.NewID(PrefixReview), Actor{ActorPrincipal, s.SubmittedBy})
	if p.Frozen, err = buildFrom(binding, &p.Operation, s.Request); err != nil {
		return Preview{}, false, claimChecked(err)
	}
	return p, false, nil
}

// claimChecked marks an error as one that came after the claim was looked up.
func claimChecked(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && !e.ClaimChecked {
		marked := *e
		marked.ClaimChecked = true
		return &marked
	}
	return err
}

// unavailable turns a store's own fault into store_unavailable; refusals pass.
func unavailable(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("onefold: %w", err)
	}
	return &Error{
		Code: CodeStoreUnavailable, Message: "the store cannot be reached just now", Cause: err,
		Hint: "the same key is safe to send again", RetryAfter: time.Second,
	}
}

func sameTime(submitted, accepted *time.Time) bool {
	return submitted == nil || accepted != nil && submitted.Equal(*accepted)
}

// quote writes a text as JSON. Bytes that are no UTF-8 become U+FFFD.
func quote(s string) string {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a text always can be
	return strings.TrimSuffix(out.String(), "\n")
}

func quoteOpt(s *string) string {
	if s == nil {
		return "null"
	}
	return quote(*s)
}

func quoteTime(t *time.Time) string {
	if t == nil {
		return "null"
	}
	return quote(t.UTC().Format(time.RFC3339Nano))
}

// Operation finds one operation of a workspace.
func (l *Ledger) Operation(ctx context.Context, workspace, id string) (Operation, error) {
	if _, ok := ParseID(PrefixOperation, id); !ok {
		return Operation{}, unknownOperation()
	}
	op, err := l.store.Operation(ctx, workspace, id)
	return op, unavailable(err)
}

func unknownOperation() *Error { return refuse(CodeOperationUnknown, "there is no such operation") }

// Step carries an event out and tells whoever waits for the operation. It is
// what runners use; callers use the methods that are named after what they want.
func (l *Ledger) Step(ctx context.Context, id string, ev Event, ifVersion int64) (Committed, error) {
	if ev.ReviewID == "" {
		ev.ReviewID = l.NewID(PrefixReview)
	}
	ev.Chance = l.cfg.IDs.Chance()
	failpoint.Before(string(ev.Kind))
	c, err := l.store.Step(ctx, id, ev, ifVersion)
	if err == nil {
		failpoint.After(string(ev.Kind))
		l.hub.changed(c.Operation)
	}
	return c, err
}

// Begin carries EventBegun out, storing the frozen request with it.
func (l *Ledger) Begin(ctx context.Context, id string, ev Event, f Frozen) (Committed, error) {
	failpoint.Before(string(ev.Kind))
	c, err := l.store.StepBegin(ctx, id, ev, f)
	if err == nil {
		failpoint.After(string(ev.Kind))
		l.hub.changed(c.Operation)
	}
	return c, err
}
