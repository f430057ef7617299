package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/onefold-dev/onefold"
)

// Step loads an operation, applies an event to it with the store's time, its
// connection's standing and what other operations have recorded of the references
// in it (M18), and stores what follows in one transaction. What
// the caller sets of ev.Connection.Disabled stays. A refusal of the law comes
// back as it is and changes nothing. Errors: operation_unknown, stale_version
// (with Version), record_unreadable, onefold.ErrCommitUnknown, store_unavailable.
func (s *Store) Step(ctx context.Context, id string, ev onefold.Event, ifVersion int64) (onefold.Committed, error) {
	return s.step(ctx, id, ev, ifVersion, nil)
}

// StepBegin is Step for EventBegun that stores the frozen request in the same
// transaction, if none is stored yet (M2a).
func (s *Store) StepBegin(ctx context.Context, id string, ev onefold.Event, f onefold.Frozen) (onefold.Committed, error) {
	if ev.Kind != onefold.EventBegun {
		return onefold.Committed{}, fmt.Errorf("sqlite: a frozen request comes with the event begun, not %s", ev.Kind)
	}
	return s.step(ctx, id, ev, 0, &f)
}

func (s *Store) step(ctx context.Context, id string, ev onefold.Event, ifVersion int64, f *onefold.Frozen) (onefold.Committed, error) {
	var done onefold.Committed
	ahead := s.foresee(id, ev)
	err := s.writer.do(ctx, func(w *session) (err error) {
		done, err = w.apply(id, ev, ifVersion, f, ahead)
		return err
	})
	if err != nil {
		if ev.Kind == onefold.EventLeased {
			s.suspect(ctx, id, err)
		}
		return onefold.Committed{}, err
	}
	done.Operation = done.Operation.Clone()
	return done, nil
}

// apply carries one event out in the present transaction: as it was foreseen, if
// that holds, or as the law has it now.
func (s *session) apply(id string, ev onefold.Event, ifVersion int64, f *onefold.Frozen, ahead *foreseen) (onefold.Committed, error) {
	h, err := s.find(id)
	if err != nil {
		return onefold.Committed{}, err
	}
	if ifVersion != 0 && ifVersion != h.op.Version {
		return onefold.Committed{}, stale(h)
	}
	now := s.store.now()
	if again, err := s.deliveredBefore(h, ev.Evidence); again || err != nil {
		return onefold.Committed{Operation: h.op, At: now}, err
	}
	c, err := s.connection(refOf(&h.op), false)
	if err != nil {
		return onefold.Committed{}, err
	}
	if ev.Recorded, err = s.recorded(h, &ev); err != nil {
		return onefold.Committed{}, err
	}
	if len(ev.Recorded) > 0 || !ahead.holds(h, c, now) {
		s.pauses.note(refOf(&h.op), c)
		standing := c.standing(now)
		standing.Disabled = ev.Connection.Disabled
		ev.Connection = standing
		ahead = &foreseen{at: now}
		if ahead.next, ahead.effects, err = onefold.Apply(h.op, ev, now); err != nil {
			return onefold.Committed{}, err
		}
		if ahead.row, err = rowOf(&ahead.next); err != nil {
			return onefold.Committed{}, err
		}
	}
	next, effects := ahead.next, ahead.effects
	changed := &held{num: h.num, connection: h.connection, live: next.Live(), op: next, document: ahead.row.document}
	if f != nil {
		if err := s.freeze(changed, f); err != nil {
			return onefold.Committed{}, err
		}
	}
	if err := s.replace(h, changed, &ahead.row); err != nil {
		return onefold.Committed{}, err
	}
	for i := range effects {
		if err := s.effect(changed, &ev, &effects[i], ahead.at); err != nil {
			return onefold.Committed{}, err
		}
	}
	s.keep(changed)
	return onefold.Committed{Operation: next, Effects: effects, At: ahead.at}, nil
}

// deliveredBefore tells whether evidence carries an event that its connection
// has delivered before (M17).
func (s *session) deliveredBefore(h *held, e *onefold.Evidence) (bool, error) {
	if e == nil || e.SourceEventID == "" {
		return false, nil
	}
	var one int
	err := s.row("event.delivered", []any{h.connection, e.Source, e.SourceEventID}, &one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func stale(h *held) error {
	return &onefold.Error{
		Code: onefold.CodeStaleVersion, Operation: h.op.ID, Version: h.op.Version, State: h.op.State,
		Message: fmt.Sprintf("the operation has version %d", h.op.Version),
		Hint:    "read it again and decide on what it says now",
	}
}

// find gives an operation as it is in the present transaction.
func (s *session) find(id string) (*held, error) {
	if h := s.operations[id]; h != nil {
		return h, nil
	}
	h, err := s.load("operation.by_id", id, "")
	if errors.Is(err, sql.ErrNoRows) {
		return nil, unknownOperation(id)
	}
	return h, err
}

func (s *session) load(name string, args ...any) (*held, error) {
	stmt, err := s.statements.get(context.Background(), s.queries, name)
	if err != nil {
		s.broken = true
		return nil, err
	}
	h, err := scanOperation(stmt.QueryRowContext(context.Background(), args...))
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		s.broken = true
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err != nil {
		return nil, err
	}
	return h, h.readable()
}

// replace writes an operation as a step left it, in the table where it belongs.
func (s *session) replace(was, is *held, row *standingRow) (err error) {
	switch {
	case was.live && is.live:
		err = s.updateLive(was, is, row)
	case was.live:
		if err = s.insertFinished(is, row); err == nil {
			err = s.must("live.delete", is.num)
		}
	case is.live:
		if err = s.insertLive(is, row); err == nil {
			err = s.must("finished.delete", is.num)
		}
		s.tally(&was.op, -1)
	case was.op.State != is.op.State:
		err = fmt.Errorf("the finished operation %s would go from %s to %s", is.op.ID, was.op.State, is.op.State)
	case was.op.Version != is.op.Version:
		err = s.must("finished.update", is.num, row.version, row.document)
	}
	if err != nil {
		return err
	}
	if before, after := was.op.Unresolved(), is.op.Unresolved(); before != after {
		if n, known := s.unresolved[is.connection]; known {
			s.unresolved[is.connection] = n + int(flag(after)-flag(before))
		}
	}
	if err := s.keepEarlier(was, is); err != nil {
		return err
	}
	return s.syncReviews(is, was.op.Reviews)
}

// keepEarlier makes an operation be found by the result that a person's decision
// put another in the place of (M20, I32).
func (s *session) keepEarlier(was, is *held) error {
	before, now := was.op.Result, is.op.Result
	if before == nil || now == nil || before.Reference == now.Reference {
		return nil
	}
	_, err := s.exec("result.keep_earlier", before.Reference, is.num)
	return err
}

func (s *session) insertLive(h *held, r *standingRow) error {
	return s.must("live.insert", h.num, h.op.Workspace, h.connection, nano(h.op.CreatedAt), r.state, r.version, r.sends,
		r.due, r.wake, r.leaseToken, r.leaseOwner, r.leaseUntil, r.open, r.unresolved, r.contra, r.result, r.document)
}

func (s *session) updateLive(was, is *held, r *standingRow) error {
	rest := []any{
		r.version, r.sends, r.due, r.wake, r.leaseToken, r.leaseOwner, r.leaseUntil, r.open,
		r.unresolved, r.contra, r.result, r.document,
	}
	if was.op.State == is.op.State {
		return s.must("live.update_in_state", append([]any{is.num}, rest...)...)
	}
	return s.must("live.update", append([]any{is.num, r.state}, rest...)...)
}

func (s *session) insertFinished(h *held, r *standingRow) error {
	if h.op.SettledAt == nil {
		return fmt.Errorf("the operation %s would be finished without a time", h.op.ID)
	}
	s.tally(&h.op, 1)
	return s.must("finished.insert", h.num, h.op.Workspace, nano(h.op.CreatedAt), nano(*h.op.SettledAt), r.state,
		r.version, r.result, r.document)
}

func (s *session) tally(op *onefold.Operation, n int64) {
	s.tallies[tallyKey{op.Workspace, op.State}] += n
}

// syncReviews writes the reviews that a step opened or changed.
func (s *session) syncReviews(h *held, before []onefold.Review) error {
	if len(h.op.Reviews) == 0 {
		return nil
	}
	known := make(map[string]*onefold.Review, len(before))
	for i := range before {
		known[before[i].ID] = &before[i]
	}
	for i := range h.op.Reviews {
		r := &h.op.Reviews[i]
		was := known[r.ID]
		if was != nil && reflect.DeepEqual(was, r) {
			continue
		}
		document, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("write a review: %w", err)
		}
		if was == nil {
			err = s.must("review.insert", r.ID, h.num, h.op.Workspace, string(r.Reason), string(r.Status), r.Owner,
				nano(r.OpenedAt), string(document))
		} else {
			err = s.must("review.update", r.ID, h.num, string(r.Status), r.Owner, string(document))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *session) freeze(h *held, f *onefold.Frozen) error {
	headers, err := json.Marshal(f.Headers)
	if err != nil {
		return fmt.Errorf("write a frozen request: %w", err)
	}
	body := any(nil)
	if f.Body != nil {
		body = f.Body
	}
	_, err = s.exec("frozen.insert", h.num, f.Method, f.Path, string(headers), body, f.Digest, int64(f.Timeout))
	return err
}

// effect stores what the law wants stored beside the operation.
func (s *session) effect(h *held, ev *onefold.Event, e *onefold.Effect, now time.Time) (err error) {
	switch e.Kind {
	case onefold.EffectRecord:
		if e.Entry.Seq, err = s.nextSeq(); err != nil {
			return err
		}
		return s.insertEntry(h, e.Entry)
	case onefold.EffectEvidence:
		return s.insertEvidence(h, e.Evidence)
	case onefold.EffectReleaseClaim:
		return s.releaseClaim(h, now)
	case onefold.EffectPauseConnection:
		reason := cmp.Or(e.Detail, ev.Reason)
		if reason == "" && ev.Evidence != nil {
			reason = ev.Evidence.Detail
		}
		reason = cmp.Or(reason, "an answer said that the connection cannot be used")
		ref := onefold.ConnectionRef{Workspace: h.op.Workspace, Connection: h.op.Connection}
		_, err := s.pause(ref, ev.Actor, reason, now)
		return err
	case onefold.EffectNotify:
		return nil // the timeline entry of the same step carries it until there is an outbox (M5a)
	}
	return fmt.Errorf("the law asks for %q, which this store does not know", e.Kind)
}

func (s *session) insertEntry(h *held, e *onefold.Entry) error {
	row, err := entryRow(h.num, h.op.Workspace, e)
	if err != nil {
		return err
	}
	return s.must("timeline.insert", row...)
}

func (s *session) insertEvidence(h *held, e *onefold.Evidence) error {
	document, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("write evidence: %w", err)
	}
	if e.SourceEventID != "" {
		if err := s.must("event.remember", h.connection, e.Source, e.SourceEventID); err != nil {
			return err
		}
	}
	return s.must("evidence.insert", h.num, e.ID, string(e.Kind), string(e.Asserts), nano(e.SeenAt), string(document))
}

// releaseClaim lets a key go: its history first, then the claim (I7).
func (s *session) releaseClaim(h *held, now time.Time) error {
	digest := claimDigest(onefold.ClaimKey{Workspace: h.op.Workspace, Capability: h.op.Capability, Key: h.op.Key})
	if err := s.must("claim.record_release", digest, h.num, nano(now)); err != nil {
		return err
	}
	if err := s.must("claim.release", digest, h.num); err != nil {
		return err
	}
	return s.must("operation.release", h.num)
}
