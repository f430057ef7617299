package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/onefold-dev/onefold"
)

const (
	// maxHistoryPage bounds a page of timeline, evidence or changes: a few hundred
	// kilobytes at most.
	maxHistoryPage = 1000
	// defaultHistoryPage is given where no limit is asked for.
	defaultHistoryPage = 200
)

func historyPage(limit int) int {
	if limit <= 0 {
		return defaultHistoryPage
	}
	return min(limit, maxHistoryPage)
}

// row runs a statement for its first row.
func (r *reader) row(ctx context.Context, name string, args []any, dest ...any) error {
	stmt, err := r.statement(ctx, name)
	if err != nil {
		return err
	}
	return stmt.QueryRowContext(ctx, args...).Scan(dest...)
}

func (r *reader) operation(ctx context.Context, name string, args ...any) (*held, error) {
	stmt, err := r.statement(ctx, name)
	if err != nil {
		return nil, err
	}
	h, err := scanOperation(stmt.QueryRowContext(ctx, args...))
	if err != nil {
		return nil, err
	}
	return h, h.readable()
}

func (r *reader) connection(ctx context.Context, ref onefold.ConnectionRef) (*connectionRow, error) {
	c, since := &connectionRow{}, sql.NullInt64{}
	err := r.row(ctx, "connection.find", []any{ref.Workspace, ref.Connection}, &c.num, &since, &c.total)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	c.since = since.Int64
	return c, err
}

// collect runs a statement and reads all of its rows.
func collect[T any](ctx context.Context, r *reader, name string, scan func(scanner) (T, error), args ...any) (_ []T, err error) {
	stmt, err := r.statement(ctx, name)
	if err != nil {
		return nil, err
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var out []T
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, rows.Err()
}

func scanText(row scanner) (text string, err error) {
	err = row.Scan(&text)
	return text, err
}

// Operation finds one operation. In another workspace than the given one it is
// as if it did not exist, by the same query (I5); "" means any, for the engine
// alone. Errors: operation_unknown, record_unreadable.
func (s *Store) Operation(ctx context.Context, workspace, id string) (onefold.Operation, error) {
	if h := s.known.find(id); h != nil && (workspace == "" || workspace == h.op.Workspace) {
		same, err := s.same(ctx, h)
		if err != nil {
			return onefold.Operation{}, s.readers.failure("read an operation", err)
		}
		if same {
			return h.op.Clone(), nil
		}
	}
	h, err := s.readers.operation(ctx, "operation.by_id", id, workspace)
	if errors.Is(err, sql.ErrNoRows) {
		return onefold.Operation{}, unknownOperation(id)
	}
	if err != nil {
		return onefold.Operation{}, s.readers.failure("read an operation", err)
	}
	return h.op, nil
}

// Request returns the approved request as it was submitted (I13). Errors:
// operation_unknown, payload_not_retained.
func (s *Store) Request(ctx context.Context, id string) ([]byte, error) {
	var request []byte
	err := s.readers.row(ctx, "payload.read", []any{id}, &request)
	if errors.Is(err, sql.ErrNoRows) {
		if _, err := s.Operation(ctx, "", id); err != nil {
			return nil, err
		}
		return nil, &onefold.Error{Code: onefold.CodePayloadNotRetained, Message: "the request is not kept any more", Operation: id}
	}
	return request, s.readers.failure("read a request", err)
}

// FrozenRequest returns the frozen request; found is false before the first
// attempt, and for an operation that does not exist. Errors: record_unreadable.
func (s *Store) FrozenRequest(ctx context.Context, id string) (f onefold.Frozen, found bool, err error) {
	headers, timeout := "", int64(0)
	err = s.readers.row(ctx, "frozen.read", []any{id}, &f.Method, &f.Path, &headers, &f.Body, &f.Digest, &timeout)
	if errors.Is(err, sql.ErrNoRows) {
		return onefold.Frozen{}, false, nil
	}
	if err != nil {
		return onefold.Frozen{}, false, s.readers.failure("read a frozen request", err)
	}
	f.Timeout = time.Duration(timeout)
	if err := json.Unmarshal([]byte(headers), &f.Headers); err != nil {
		return onefold.Frozen{}, false, unreadable(id, "the request that was sent cannot be read", err.Error())
	}
	return f, true, nil
}

// Timeline returns entries of an operation after a sequence number, oldest
// first; at most 1000, 200 where limit is not positive.
func (s *Store) Timeline(ctx context.Context, id string, after int64, limit int) ([]onefold.Entry, error) {
	out, err := collect(ctx, s.readers, "timeline.read", scanEntry, id, after, historyPage(limit))
	return out, s.readers.failure("read a timeline", err)
}

// Changes returns entries of a workspace, or of all (""), in commit order after
// a sequence number; limits as Timeline. An entry that a reader has not seen
// never gets a number below one that it has seen.
func (s *Store) Changes(ctx context.Context, workspace string, after int64, limit int) ([]onefold.Entry, error) {
	name, args := "timeline.changes", []any{workspace, after, historyPage(limit)}
	if workspace == "" {
		name, args = "timeline.all_changes", args[1:]
	}
	out, err := collect(ctx, s.readers, name, scanEntry, args...)
	return out, s.readers.failure("read changes", err)
}

// EvidenceOf returns evidence of an operation after the one with the given id
// ("" from the start), in the order in which it was recorded; limits as
// Timeline. Errors: record_unreadable.
func (s *Store) EvidenceOf(ctx context.Context, id, after string, limit int) ([]onefold.Evidence, error) {
	out, err := collect(ctx, s.readers, "evidence.read", func(row scanner) (e onefold.Evidence, err error) {
		text, err := scanText(row)
		if err != nil {
			return e, err
		}
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			return e, unreadable(id, "evidence of the operation cannot be read", err.Error())
		}
		return e, nil
	}, id, after, historyPage(limit))
	return out, s.readers.failure("read evidence", err)
}
