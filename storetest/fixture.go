package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
)

// Clock is a clock that moves only when it is told to. It begins at a fixed
// time, so that two runs read alike. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that stands at 2026-03-01 12:00 UTC.
func NewClock() *Clock {
	return &Clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
}

// Now tells the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// IDs makes identifiers that never repeat within one value of it and are the
// same in every run. It is safe for concurrent use.
type IDs struct{ n atomic.Uint64 }

// IDsFrom returns identifiers that begin at another place, for a second process
// on the same data: the places of two should lie a million apart.
func IDsFrom(place uint64) *IDs {
	ids := &IDs{}
	ids.n.Store(place)
	return ids
}

// New implements onefold.IDs.
func (i *IDs) New(prefix string, at time.Time) string {
	var text [8]byte
	binary.BigEndian.PutUint64(text[:], i.n.Add(1))
	sum := sha256.Sum256(text[:])
	return onefold.FormatID(prefix, onefold.UUIDv7(at, [10]byte(sum[:10])))
}

// Chance implements onefold.IDs.
func (i *IDs) Chance() uint64 { return i.n.Add(1) * 0x9e3779b97f4a7c15 }

// Subject is an opened store under test.
type Subject struct {
	Store onefold.Store
	// Clock is the store's time.
	Clock *Clock
	// IDs are the store's and the suite's, so that the two never collide.
	IDs *IDs
	// Reopen closes the store and opens the same data again. Nil for a store that
	// cannot; then what needs it is not told, and the store's own tests tell it.
	Reopen func(t *testing.T) onefold.Store
}

// Workspace, Connection and Capability are those of the suite's operations
// unless a story says otherwise.
const (
	Workspace  = "acme"
	Connection = "books"
	Capability = "bills.create"
)

// Caller is the principal of the suite's stories.
func Caller() onefold.Actor { return onefold.Actor{Kind: onefold.ActorPrincipal, Name: "ada"} }

// Worker is the runner of the suite's stories.
func Worker() onefold.Actor { return onefold.Actor{Kind: onefold.ActorWorker, Name: "w1"} }

// Policy is a contract's with room for retries and look-ups and a target that
// recognises an identity for a day.
func Policy() *onefold.Policy {
	backoff := onefold.Backoff{First: time.Second, Factor: 2, Max: time.Minute}
	return &onefold.Policy{
		RetryAttempts: 20, RetryWithin: 24 * time.Hour, RetryBackoff: backoff, Exhausted: onefold.ExhaustedHold,
		ReconcileWithin: 24 * time.Hour, ReconcileBackoff: backoff, EscalateAfter: time.Hour, EscalateTo: "grace",
		Owner: "ada", InDoubt: []onefold.RecoveryStep{onefold.StepLookup, onefold.StepReplay, onefold.StepOperator},
		Timeout: 10 * time.Second, Settle: time.Second, Processing: 10 * time.Second, AbsenceProves: true,
		Straggler: 10 * time.Minute, Window: 24 * time.Hour, WindowMargin: 11 * time.Second,
		PollEvery: time.Minute, PollWithin: 2 * time.Hour,
	}
}

// Admission makes an admission of a fresh operation under a key. change, if
// any, changes the operation before it is stored.
func (s *Subject) Admission(key string, change ...func(*onefold.Operation)) onefold.Admission {
	now := s.Clock.Now()
	id := s.IDs.New(onefold.PrefixOperation, now)
	op := onefold.Operation{
		Admitted: onefold.Admitted{
			ID: id, Workspace: Workspace, Capability: Capability, ContractVersion: 1, Target: "erp", TargetVersion: 1,
			Connection: Connection, Key: key, SubmittedBy: "ada", Fingerprint: "v1:" + fmt.Sprintf("%064x", len(key)),
			FingerprintKey: "k1", Identity: "idn-" + id, Reference: "ref-" + id, Owner: "ada", CreatedAt: now,
			KeyRetention: 30 * 24 * time.Hour,
		},
		Standing: onefold.Standing{State: onefold.Prepared, Due: &now, Next: onefold.NextAttempt, UpdatedAt: now, Version: 1},
	}
	for _, f := range change {
		f(&op)
	}
	return onefold.Admission{
		Operation: op, Request: []byte(`{"amount": 12.50, "supplier": "Ågren & Co"}`), UnresolvedLimit: 200,
		Entry: onefold.Entry{
			Operation: op.ID, At: now, Actor: Caller(), Event: onefold.EventAdmitted, To: onefold.Prepared, Version: 1,
			Detail: "admitted",
		},
	}
}

// Admit admits a fresh operation and fails the test unless it was created.
func (s *Subject) Admit(t testing.TB, key string, change ...func(*onefold.Operation)) onefold.Operation {
	t.Helper()
	op, created, err := s.Store.Admit(context.Background(), s.Admission(key, change...))
	if err != nil || !created {
		t.Fatalf("admit %s: created %v, error %v", key, created, err)
	}
	return op
}

// Step carries an event out and fails the test if that is refused.
func (s *Subject) Step(t testing.TB, id string, ev onefold.Event) onefold.Committed {
	t.Helper()
	done, err := s.Store.Step(context.Background(), id, ev, 0)
	if err != nil {
		t.Fatalf("step %s of %s: %v", ev.Kind, id, err)
	}
	return done
}

// WaitFor moves the clock to a time, or to the next whole microsecond after it:
// a store may round its own time down to that.
func (s *Subject) WaitFor(at time.Time) {
	at = at.Add(time.Microsecond - time.Nanosecond).Truncate(time.Microsecond)
	if wait := at.Sub(s.Clock.Now()); wait > 0 {
		s.Clock.Advance(wait)
	}
}

// Event begins an event with what every event has.
func (s *Subject) Event(kind onefold.EventKind, by onefold.Actor) onefold.Event {
	return onefold.Event{
		Kind: kind, Actor: by, Policy: Policy(), Chance: s.IDs.Chance(),
		ReviewID: s.IDs.New(onefold.PrefixReview, s.Clock.Now()),
	}
}

// Lease is the event by which a worker takes an operation for 30 seconds.
func (s *Subject) Lease() onefold.Event {
	ev := s.Event(onefold.EventLeased, Worker())
	ev.Lease = &onefold.LeaseGrant{Worker: Worker().Name, For: 30 * time.Second}
	return ev
}

// Frozen is the outgoing request of the suite's operations.
func Frozen() onefold.Frozen {
	return onefold.Frozen{
		Method: "POST", Path: "/bills?x=1", Headers: []onefold.Header{{Name: "Content-Type", Value: "application/json"}},
		Body: []byte(`{"amount":12.50}`), Digest: "d1", Timeout: 10 * time.Second,
	}
}

// Begin is the event by which the holder of a token begins a write.
func (s *Subject) Begin(token int64) onefold.Event {
	ev := s.Event(onefold.EventBegun, Worker())
	ev.Begin = &onefold.Begin{
		Attempt: s.IDs.New(onefold.PrefixAttempt, s.Clock.Now()), Token: token, Kind: onefold.Write,
		FrozenDigest: Frozen().Digest, ConnectionRevision: 3, Scope: "scope", CredentialDigest: "cd",
	}
	return ev
}

// Answer is the event of an attempt's outcome, with evidence.
func (s *Subject) Answer(attempt string, token int64, outcome onefold.Outcome, reference string) onefold.Event {
	ev := s.Event(onefold.EventAnswered, Worker())
	ev.Answer = &onefold.Answer{Attempt: attempt, Token: token, Outcome: outcome, Reference: reference}
	asserts := onefold.AssertsNothing
	switch outcome {
	case onefold.OutcomeConfirmed:
		asserts = onefold.AssertsEffect
	case onefold.OutcomeRejected:
		asserts = onefold.AssertsNoEffect
		ev.Answer.Code, ev.Answer.Detail = "invalid_account", "the account is closed"
	case onefold.OutcomeUnknown:
		ev.Answer.Doubt = onefold.DoubtNoAnswer
	default:
	}
	ev.Evidence = &onefold.Evidence{
		ID: s.IDs.New(onefold.PrefixEvidence, s.Clock.Now()), Attempt: attempt, Kind: onefold.EvidenceResponse,
		Asserts: asserts, Reference: reference, Status: 200, Headers: map[string]string{"Date": "today"},
		Excerpt: "{…}", Digest: "00", BytesOut: 17, Took: time.Millisecond,
	}
	return ev
}

// Attempting leases an operation and begins its write.
func (s *Subject) Attempting(t testing.TB, id string) onefold.Operation {
	t.Helper()
	leased := s.Step(t, id, s.Lease())
	done, err := s.Store.StepBegin(context.Background(), id, s.Begin(leased.Operation.Token), Frozen())
	if err != nil {
		t.Fatalf("begin %s: %v", id, err)
	}
	return done.Operation
}

// Ended carries an operation through lease and write to an outcome.
func (s *Subject) Ended(t testing.TB, id string, outcome onefold.Outcome, reference string) onefold.Operation {
	t.Helper()
	op := s.Attempting(t, id)
	return s.Step(t, id, s.Answer(last(&op).ID, op.Token, outcome, reference)).Operation
}

func last(op *onefold.Operation) *onefold.Attempt { return &op.Attempts[len(op.Attempts)-1] }
