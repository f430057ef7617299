package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/onefold-dev/onefold"
)

// maxHeld bounds the live operations that the writer keeps decoded, so that a
// step of an operation in flight reads and decodes nothing. An entry is about
// 3 KiB.
const maxHeld = 16 << 10

// held is a live or finished operation as the writer knows it.
type held struct {
	num        int64
	connection int64
	live       bool
	op         onefold.Operation // never changed in place: a step replaces it
	document   string            // its standing as it is written; "" where it was read
}

// connectionRow is a connection's row as the writer knows it. since is 0 while
// the connection is not paused.
type connectionRow struct {
	num   int64
	since int64
	total int64
}

type tallyKey struct {
	workspace string
	state     onefold.State
}

// session is the writer's connection with what it remembers of the file. Only
// the writer's goroutine uses it. What it remembers is true as of the last
// statement of the present transaction, and is forgotten whenever a transaction
// is rolled back or another process has written.
type session struct {
	conn       *sql.Conn
	queries    queries
	statements statements
	store      *Options
	pauses     *pauses

	version     int64 // of the data, by PRAGMA data_version
	seq         int64 // the last sequence number of the timeline; -1: to be read
	written     int64 // what the file says of it
	operations  map[string]*held
	connections map[onefold.ConnectionRef]*connectionRow
	unresolved  map[int64]int // by connection
	tallies     map[tallyKey]int64

	changed []*held // by the present transaction, the latest last

	writes int  // rows written in the present transaction
	broken bool // a statement failed in the present transaction
}

func openSession(ctx context.Context, db *sql.DB, opts *Options, q queries, p *pauses) (*session, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	s := &session{conn: conn, queries: q, store: opts, pauses: p}
	s.statements.prepare = func(ctx context.Context, text string) (*sql.Stmt, error) { return conn.PrepareContext(ctx, text) }
	s.forget()
	return s, nil
}

func (s *session) close() error {
	return errors.Join(s.statements.close(), s.conn.Close())
}

// forget drops what the session remembers.
func (s *session) forget() {
	s.version, s.seq = -1, -1
	s.operations = map[string]*held{}
	s.connections = map[onefold.ConnectionRef]*connectionRow{}
	s.unresolved = map[int64]int{}
	s.tallies = map[tallyKey]int64{}
}

// begin starts a transaction that may write from its first moment.
func (s *session) begin() error {
	s.writes, s.broken, s.changed = 0, false, nil
	if _, err := s.exec("transaction.begin"); err != nil {
		return err
	}
	version := int64(0)
	if err := s.row("transaction.version", nil, &version); err != nil {
		return errors.Join(err, s.rollback())
	}
	if version != s.version {
		s.forget()
		s.version = version
	}
	return nil
}

func (s *session) commit() error {
	_, err := s.exec("transaction.commit")
	return err
}

// rollback undoes the transaction. Some failures have undone it already: then
// there is none, which is as good.
func (s *session) rollback() error {
	s.forget()
	_, err := s.conn.ExecContext(context.Background(), "ROLLBACK")
	if err != nil && classify(err) == failureOther {
		return nil
	}
	return err
}

// exec runs a statement and tells how many rows it changed. Statements run
// without the caller's context: a step is not cut in the middle.
func (s *session) exec(name string, args ...any) (int64, error) {
	ctx := context.Background()
	stmt, err := s.statements.get(ctx, s.queries, name)
	if err != nil {
		s.broken = true
		return 0, err
	}
	result, err := stmt.ExecContext(ctx, args...)
	if err != nil {
		s.broken = true
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	changed, err := result.RowsAffected()
	if err != nil {
		s.broken = true
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	s.writes += int(changed)
	return changed, nil
}

// must runs a statement that has to change one row.
func (s *session) must(name string, args ...any) error {
	changed, err := s.exec(name, args...)
	if err == nil && changed != 1 {
		s.broken = true
		err = fmt.Errorf("%s: it changed %d rows, not one", name, changed)
	}
	return err
}

// row runs a statement for its first row; sql.ErrNoRows where there is none.
func (s *session) row(name string, args []any, dest ...any) error {
	ctx := context.Background()
	stmt, err := s.statements.get(ctx, s.queries, name)
	if err != nil {
		s.broken = true
		return err
	}
	err = stmt.QueryRowContext(ctx, args...).Scan(dest...)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		s.broken = true
		return fmt.Errorf("%s: %w", name, err)
	}
	return err
}

// returning is row for a statement that writes.
func (s *session) returning(name string, args []any, dest ...any) error {
	err := s.row(name, args, dest...)
	if err != nil {
		s.broken = true
		return err
	}
	s.writes++
	return nil
}

// nextSeq gives the next sequence number of the timeline.
func (s *session) nextSeq() (int64, error) {
	if s.seq < 0 {
		last, carried := int64(0), int64(0)
		if err := s.row("timeline.last", nil, &last, &carried); err != nil {
			return 0, err
		}
		if last < carried {
			s.store.Log.Error("the counter of sequence numbers is behind what was written under them and goes on after it: the file was written to by something else; onefold doctor says more",
				"counter", last, "written", carried)
		}
		if last < 0 { // its row is gone
			if err := s.must("timeline.restart", carried); err != nil {
				return 0, err
			}
			last = carried
		}
		s.seq, s.written = max(last, carried), last
	}
	s.seq++
	return s.seq, nil
}

// keep remembers a live operation and forgets one that is finished.
func (s *session) keep(h *held) {
	s.changed = append(s.changed, h)
	if !h.live {
		delete(s.operations, h.op.ID)
		return
	}
	if len(s.operations) >= maxHeld {
		for id := range s.operations { // any: what is in flight is asked for again and comes back
			delete(s.operations, id)
			break
		}
	}
	s.operations[h.op.ID] = h
}

// connection finds a connection's row, making it where make is set; nil where
// there is none.
func (s *session) connection(ref onefold.ConnectionRef, create bool) (*connectionRow, error) {
	if c := s.connections[ref]; c != nil {
		return c, nil
	}
	c, since := &connectionRow{}, sql.NullInt64{}
	err := s.row("connection.find", []any{ref.Workspace, ref.Connection}, &c.num, &since, &c.total)
	switch {
	case errors.Is(err, sql.ErrNoRows) && !create:
		return nil, nil
	case errors.Is(err, sql.ErrNoRows):
		if err := s.returning("connection.insert", []any{ref.Workspace, ref.Connection}, &c.num); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	}
	c.since = since.Int64
	s.connections[ref] = c
	return c, nil
}

// countUnresolved tells how many operations of a connection are unresolved.
func (s *session) countUnresolved(connection int64) (int, error) {
	if n, known := s.unresolved[connection]; known {
		return n, nil
	}
	n := 0
	if err := s.row("live.unresolved", []any{connection, int64(maxCounted)}, &n); err != nil {
		return 0, err
	}
	s.unresolved[connection] = n
	return n, nil
}

// maxCounted bounds one count of unresolved operations; a cap above it is none.
const maxCounted = 1 << 20

// flush writes what the transaction has counted.
func (s *session) flush() error {
	for key, n := range s.tallies {
		if n == 0 {
			continue
		}
		if _, err := s.exec("finished.count", key.workspace, string(key.state), n); err != nil {
			return err
		}
	}
	clear(s.tallies)
	if s.seq < 0 || s.seq == s.written {
		return nil
	}
	s.written = s.seq
	return s.must("timeline.remember", s.seq)
}
