package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/onefold-dev/onefold"
)

// maxDue bounds the operations that one connection is asked for at once, and
// maxOverdue those of one look at what is overdue.
const (
	maxDue     = 1000
	maxOverdue = 1000
)

// busyConnection is a connection with scheduled work: when the first operation
// whose step would not send is due, and the first whose step would.
type busyConnection struct {
	num          int64
	ref          onefold.ConnectionRef
	paused       bool
	quiet, sends sql.NullInt64
}

func (s *Store) busy(ctx context.Context) ([]busyConnection, error) {
	return collect(ctx, s.readers, "work.busy", func(row scanner) (b busyConnection, err error) {
		err = row.Scan(&b.num, &b.ref.Workspace, &b.ref.Connection, &b.paused, &b.quiet, &b.sends)
		if b.paused {
			b.sends = sql.NullInt64{}
		}
		return b, err
	})
}

// Due returns operations that are due and not leased, the longest waiting
// first: of each connection at most free[connection], or others where free does not
// name it, of those whose next step sends something and as many of those whose next
// step sends nothing. Of a paused connection only the latter are returned.
func (s *Store) Due(ctx context.Context, at time.Time, free map[onefold.ConnectionRef]int, others int) ([]onefold.DueItem, error) {
	connections, err := s.busy(ctx)
	if err != nil {
		return nil, s.readers.failure("look for due work", err)
	}
	var out []onefold.DueItem
	for _, c := range connections {
		limit, named := free[c.ref]
		if !named {
			limit = others
		}
		if limit <= 0 {
			continue
		}
		items, err := s.dueOf(ctx, c, at, min(limit, maxDue))
		if err != nil {
			return nil, s.readers.failure("look for due work", err)
		}
		out = append(out, items...)
	}
	slices.SortStableFunc(out, func(a, b onefold.DueItem) int { return a.Due.Compare(b.Due) })
	return out, nil
}

func (s *Store) dueOf(ctx context.Context, c busyConnection, at time.Time, limit int) ([]onefold.DueItem, error) {
	var out []onefold.DueItem
	now := s.opts.now()
	for sends, first := range []sql.NullInt64{c.quiet, c.sends} {
		if !first.Valid || first.Int64 > nano(at) {
			continue
		}
		items, err := collect(ctx, s.readers, "work.due", func(row scanner) (onefold.DueItem, error) {
			item, due := onefold.DueItem{Connection: c.ref, Sends: sends == 1}, int64(0)
			err := row.Scan(&item.ID, &due)
			item.Due = fromNano(due)
			return item, err
		}, c.num, sends, nano(at), limit+s.poison.size())
		if err != nil {
			return nil, err
		}
		items = slices.DeleteFunc(items, func(item onefold.DueItem) bool { return s.poison.has(item.ID, now) })
		out = append(out, items[:min(limit, len(items))]...)
	}
	return out, nil
}

// NextDue is when the next unleased operation is due that Due would return, the
// zero time if none is scheduled.
func (s *Store) NextDue(ctx context.Context) (time.Time, error) {
	connections, err := s.busy(ctx)
	if err != nil {
		return time.Time{}, s.readers.failure("look for due work", err)
	}
	next := time.Time{}
	for _, c := range connections {
		for _, due := range []sql.NullInt64{c.quiet, c.sends} {
			if due.Valid && (next.IsZero() || due.Int64 < nano(next)) {
				next = fromNano(due.Int64)
			}
		}
	}
	return next, nil
}

// Overdue returns operations, settled ones included, whose WakeAt is not after
// at, the longest overdue first; at most 1000. Those whose records are damaged are
// left out and logged, and keep nobody else from being found.
func (s *Store) Overdue(ctx context.Context, at time.Time, limit int) ([]onefold.Operation, error) {
	if limit <= 0 || limit > maxOverdue {
		limit = maxOverdue
	}
	var out []onefold.Operation
	for asked := limit; ; {
		found, err := collect(ctx, s.readers, "work.overdue", scanOperation, nano(at), asked)
		if err != nil {
			return nil, s.readers.failure("look for overdue work", err)
		}
		out = out[:0]
		for _, h := range found {
			switch {
			case h.op.Unreadable != "":
				s.tell(h.op.ID, h.op.Unreadable)
			case h.op.WakeAt() == nil:
				s.tell(h.op.ID, "its column wake_at is not what its standing says")
			default:
				out = append(out, h.op)
			}
		}
		// As many more as were left out, until the page is full or there are no more.
		left := len(found) - len(out)
		if len(found) < asked || len(out) >= limit {
			break
		}
		asked = limit + left
	}
	slices.SortStableFunc(out, func(a, b onefold.Operation) int { return a.WakeAt().Compare(*b.WakeAt()) })
	return out[:min(limit, len(out))], nil
}

// Stats counts the work of a workspace, or of all ("", with connections of the
// same name counted together).
func (s *Store) Stats(ctx context.Context, workspace string) (onefold.Stats, error) {
	stats := onefold.Stats{ByState: map[onefold.State]int64{}, Unresolved: map[string]int64{}}
	workspaces, err := s.workspacesOf(ctx, workspace)
	if err != nil {
		return stats, s.readers.failure("count", err)
	}
	now := nano(s.opts.now())
	for _, name := range workspaces {
		if err := s.count(ctx, name, now, &stats); err != nil {
			return stats, s.readers.failure("count", err)
		}
	}
	return stats, nil
}

// count adds one workspace's work, as one moment shows it.
func (s *Store) count(ctx context.Context, workspace string, now int64, stats *onefold.Stats) (err error) {
	tx, err := s.readers.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // it has only read
	each := func(name string, scan func(scanner) error, args ...any) error {
		return s.readers.each(ctx, tx, name, scan, args...)
	}
	err = each("stats.live", func(row scanner) error {
		state, n, contradicted, open, expired := onefold.State(""), int64(0), int64(0), int64(0), int64(0)
		err := row.Scan(&state, &n, &contradicted, &open, &expired)
		stats.ByState[state] += n
		stats.Contradicted += contradicted
		stats.OpenAttempts += open
		stats.ExpiredLeases += expired
		return err
	}, workspace, now)
	if err != nil {
		return err
	}
	err = each("stats.finished", func(row scanner) error {
		state, n := onefold.State(""), int64(0)
		err := row.Scan(&state, &n)
		stats.ByState[state] += n
		return err
	}, workspace)
	if err != nil {
		return err
	}
	err = each("stats.unresolved", func(row scanner) error {
		connection, n := "", int64(0)
		err := row.Scan(&connection, &n)
		stats.Unresolved[connection] += n
		return err
	}, workspace)
	if err != nil {
		return err
	}
	err = each("stats.oldest", func(row scanner) error {
		id, created := "", int64(0)
		err := row.Scan(&id, &created)
		if at := fromNano(created); err == nil && (stats.OldestOpen == nil || at.Before(*stats.OldestOpen)) {
			stats.OldestOpen, stats.OldestOpenID = &at, id
		}
		return err
	}, workspace)
	if err != nil {
		return err
	}
	return each("stats.reviews", func(row scanner) error {
		n := int64(0)
		err := row.Scan(&n)
		stats.OpenReviews += n
		return err
	}, workspace)
}

// each runs a statement within a transaction and reads its rows one by one.
func (r *reader) each(ctx context.Context, tx *sql.Tx, name string, scan func(scanner) error, args ...any) (err error) {
	stmt, err := r.statement(ctx, name)
	if err != nil {
		return err
	}
	bound := tx.StmtContext(ctx, stmt)
	defer func() { err = errors.Join(err, bound.Close()) }()
	rows, err := bound.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
