package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/onefold-dev/onefold"
)

// maxRequest bounds the stored request: what the strict parser takes at most by
// default (I10), and a bound on what one row can do to the file.
const maxRequest = 1 << 20

// Admit stores an operation with its claim, its request and its first timeline
// entry, or nothing of it (I3). Where the claim is there already the operation
// that holds it comes back, and nothing is written. Errors: admission_limited
// (M16a), onefold.ErrIdentityTaken (I13a), onefold.ErrCommitUnknown,
// store_unavailable.
func (s *Store) Admit(ctx context.Context, a onefold.Admission) (onefold.Operation, bool, error) {
	return s.admit(ctx, a, nil)
}

// AdmitStarted is Admit that leases the operation and begins its first attempt in
// the same transaction, if the law allows both: the returned operation says.
func (s *Store) AdmitStarted(ctx context.Context, a onefold.Admission, start onefold.Start) (onefold.Operation, bool, error) {
	if start.Lease.Kind != onefold.EventLeased || start.Begin.Kind != onefold.EventBegun || start.Begin.Begin == nil {
		return onefold.Operation{}, false, fmt.Errorf("sqlite: an operation is started by the events leased and begun, not %s and %s", start.Lease.Kind, start.Begin.Kind)
	}
	return s.admit(ctx, a, &start)
}

func (s *Store) admit(ctx context.Context, a onefold.Admission, start *onefold.Start) (onefold.Operation, bool, error) {
	p, err := s.prepareAdmission(a)
	if err != nil {
		return onefold.Operation{}, false, err
	}
	p.start, p.pauses = start, &s.pauses
	if start != nil {
		p.ahead = p.startFrom(&onefold.ConnectionStanding{PausedFor: time.Duration(s.pauses.guess(p.ref))}, s.opts.now())
	}
	var result *held
	created := false
	err = s.writer.do(ctx, func(w *session) (err error) {
		result, created, err = p.run(w)
		return err
	})
	if err != nil {
		return onefold.Operation{}, false, err
	}
	return result.op.Clone(), created, nil
}

// admission is an admission with all that can be worked out before its turn.
type admission struct {
	onefold.Admission
	ref    onefold.ConnectionRef
	digest []byte
	row    standingRow
	start  *onefold.Start // nil: nothing is begun
	pauses *pauses
	ahead  *started // nil: nothing was worked out, or the law refuses
}

// started is what the law makes of an operation whose first attempt is begun with
// its admission.
type started struct {
	foreseen
	lease, begin onefold.Event
	leased       []onefold.Effect // of the lease; those of the begin are foreseen
}

func (s *Store) prepareAdmission(a onefold.Admission) (*admission, error) {
	op := &a.Operation
	switch {
	case op.State != onefold.Prepared:
		return nil, fmt.Errorf("sqlite: an operation is admitted prepared, not %q", op.State)
	case op.Broken() != "":
		return nil, fmt.Errorf("sqlite: an operation is admitted %s", op.Broken())
	case len(a.Request) > maxRequest:
		return nil, &onefold.Error{Code: onefold.CodeTooLarge, Message: "the request is larger than 1 MiB"}
	}
	if a.UnresolvedLimit <= 0 {
		a.UnresolvedLimit = onefold.DefaultUnresolved
	}
	if a.Entry.At.IsZero() {
		a.Entry.At = s.opts.now()
	}
	a.Entry.Operation = op.ID
	a.Operation = op.Clone() // the writer keeps it; the caller may go on with its own
	row, err := rowOf(op)
	if err != nil {
		return nil, err
	}
	if a.Request == nil {
		a.Request = []byte{}
	}
	return &admission{
		Admission: a, row: row,
		ref:    onefold.ConnectionRef{Workspace: op.Workspace, Connection: op.Connection},
		digest: claimDigest(onefold.ClaimKey{Workspace: op.Workspace, Capability: op.Capability, Key: op.Key}),
	}, nil
}

// run takes the claim first: that it can be written is how most admissions learn
// that nobody holds the key, without asking.
func (p *admission) run(s *session) (*held, bool, error) {
	c, err := s.connection(p.ref, false)
	if err != nil {
		return nil, false, err
	}
	unresolved := 0
	if c != nil {
		if unresolved, err = s.countUnresolved(c.num); err != nil {
			return nil, false, err
		}
	}
	if c == nil || unresolved >= p.UnresolvedLimit {
		// What follows refuses or writes, and a repeat wants neither.
		if winner, err := p.winner(s); err != nil || winner != nil {
			return winner, false, err
		}
		if c != nil {
			return nil, false, limited(unresolved)
		}
		if c, err = s.connection(p.ref, true); err != nil {
			return nil, false, err
		}
	}
	h, err := p.insert(s, c)
	if err != nil || h != nil {
		return h, err == nil, err
	}
	winner, err := p.winner(s)
	if err == nil && winner == nil {
		err = fmt.Errorf("the key %q of %s is held, and by nobody", p.Operation.Key, p.Operation.Workspace)
	}
	return winner, false, err
}

// winner is the operation that holds the key already, nil if none does.
func (p *admission) winner(s *session) (*held, error) {
	key, num := "", int64(0)
	err := s.row("claim.find", []any{p.digest}, &key, &num)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	h, err := s.load("operation.by_number", num)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, unreadable("", "the key is held, and the operation that holds it is gone", fmt.Sprintf("the operation number %d is not there", num))
	}
	if err != nil {
		return nil, err
	}
	o := &p.Operation
	if key != o.Key || h.op.Workspace != o.Workspace || h.op.Capability != o.Capability {
		return nil, fmt.Errorf("two claims have one digest: %s and the key %q of %s", h.op.ID, o.Key, o.Workspace)
	}
	return h, nil
}

// insert writes the operation, nil where its key is held already: then nothing
// was written.
func (p *admission) insert(s *session, c *connectionRow) (*held, error) {
	num, err := s.nextSeq()
	if err != nil {
		return nil, err
	}
	op := &p.Operation
	claimed, err := s.exec("claim.insert", p.digest, op.Key, num)
	if err != nil {
		return nil, err
	}
	if claimed == 0 {
		s.seq-- // nothing was written under it
		return nil, nil
	}
	inserted, err := s.exec("operation.insert", admittedRow(num, c.num, &op.Admitted)...)
	if err != nil {
		return nil, err
	}
	if inserted == 0 {
		return nil, onefold.ErrIdentityTaken // and the claim is undone with the transaction
	}
	if err := s.must("payload.insert", num, p.Request); err != nil {
		return nil, err
	}
	h := &held{num: num, connection: c.num, live: true, op: *op}
	entry := p.Entry
	entry.Seq = num
	if err := s.insertEntry(h, &entry); err != nil {
		return nil, err
	}
	h.document = p.row.document
	row := &p.row
	if begun := p.begun(s, c); begun != nil {
		h = &held{num: num, connection: c.num, live: begun.next.Live(), op: begun.next, document: begun.row.document}
		row = &begun.row
		if err := p.writeBegun(s, h, begun); err != nil {
			return nil, err
		}
	}
	if err := s.insertLive(h, row); err != nil {
		return nil, err
	}
	if err := s.syncReviews(h, nil); err != nil {
		return nil, err
	}
	s.keep(h)
	return h, nil
}

// startFrom leases the admitted operation and begins its first attempt, nil where
// the law refuses either.
func (p *admission) startFrom(c *onefold.ConnectionStanding, now time.Time) *started {
	b := &started{lease: p.start.Lease, begin: p.start.Begin}
	b.total, b.at = int64(c.PausedFor), now
	for _, ev := range []*onefold.Event{&b.lease, &b.begin} {
		ev.Connection.Paused, ev.Connection.PausedFor = c.Paused, c.PausedFor
	}
	leased, effects, err := onefold.Apply(p.Operation, b.lease, now)
	if err != nil {
		return nil
	}
	asked := *b.begin.Begin
	asked.Token = leased.Lease.Token
	b.begin.Begin, b.leased = &asked, effects
	if b.next, b.effects, err = onefold.Apply(leased, b.begin, now); err != nil {
		return nil
	}
	if b.row, err = rowOf(&b.next); err != nil {
		return nil
	}
	return b
}

// begun is the operation with its first attempt begun: as it was worked out before,
// or now; nil where none is to be begun.
func (p *admission) begun(s *session, c *connectionRow) *started {
	if p.start == nil {
		return nil
	}
	now := s.store.now()
	if p.ahead != nil && p.ahead.holds(nil, c, now) {
		return p.ahead
	}
	p.pauses.note(p.ref, c)
	standing := c.standing(now)
	return p.startFrom(&standing, now)
}

func (p *admission) writeBegun(s *session, h *held, b *started) error {
	if err := s.freeze(h, &p.start.Frozen); err != nil {
		return err
	}
	for i := range b.leased {
		if err := s.effect(h, &b.lease, &b.leased[i], b.at); err != nil {
			return err
		}
	}
	for i := range b.effects {
		if err := s.effect(h, &b.begin, &b.effects[i], b.at); err != nil {
			return err
		}
	}
	return nil
}

func limited(unresolved int) error {
	return &onefold.Error{
		Code:    onefold.CodeAdmissionLimited,
		Message: fmt.Sprintf("the connection has %d unresolved operations", unresolved),
		Hint:    "resolve some of them first: ops list --state uncertain, reviews list",
	}
}

// Claimed finds the operation that holds a key. It writes nothing.
func (s *Store) Claimed(ctx context.Context, k onefold.ClaimKey) (onefold.Operation, bool, error) {
	digest := claimDigest(k)
	state, err := s.claims.ask(ctx, [16]byte(digest))
	if err != nil {
		return onefold.Operation{}, false, s.readers.failure("look a claim up", err)
	}
	if !state.held {
		return onefold.Operation{}, false, nil
	}
	if h := s.repeats.find(digest); h != nil && state.is(h) && h.holds(k) {
		return h.op.Clone(), true, nil
	}
	h, err := s.readers.operation(ctx, "operation.by_claim", digest)
	if errors.Is(err, sql.ErrNoRows) {
		return onefold.Operation{}, false, nil
	}
	if err != nil {
		return onefold.Operation{}, false, s.readers.failure("look a claim up", err)
	}
	if !h.holds(k) {
		return onefold.Operation{}, false, fmt.Errorf("sqlite: two claims have one digest: %s and the key %q of %s", h.op.ID, k.Key, k.Workspace)
	}
	if h.live {
		return h.op, true, nil
	}
	s.repeats.keep(digest, h)
	return h.op.Clone(), true, nil
}

func (h *held) holds(k onefold.ClaimKey) bool {
	return h.op.Key == k.Key && h.op.Workspace == k.Workspace && h.op.Capability == k.Capability
}

// Note appends an entry to an operation's timeline (M22), with the version and state
// that the operation has at that moment, whatever the caller has read before; at most
// onefold.MaxNotes for one operation, further ones are dropped. Errors:
// operation_unknown.
func (s *Store) Note(ctx context.Context, e onefold.Entry) error {
	if e.At.IsZero() {
		e.At = s.opts.now()
	}
	e.Event = onefold.EventNoted
	return s.writer.do(ctx, func(w *session) error {
		h, notes := &held{}, 0
		var version sql.NullInt64
		var state sql.NullString
		err := w.row("operation.now", []any{e.Operation}, &h.num, &h.op.Workspace, &version, &state)
		if errors.Is(err, sql.ErrNoRows) {
			return unknownOperation(e.Operation)
		}
		if err != nil {
			return err
		}
		if err := w.row("timeline.notes", []any{h.num}, &notes); err != nil || notes >= onefold.MaxNotes {
			return err
		}
		entry := e
		if version.Valid { // its standing is there
			entry.Version = version.Int64
			entry.From, entry.To = onefold.State(state.String), onefold.State(state.String)
		}
		if entry.Seq, err = w.nextSeq(); err != nil {
			return err
		}
		return w.insertEntry(h, &entry)
	})
}

func unknownOperation(id string) error {
	return &onefold.Error{Code: onefold.CodeOperationUnknown, Message: "there is no such operation", Operation: id}
}
