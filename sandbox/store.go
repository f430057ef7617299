package sandbox

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrInUse says that another process, or another Sandbox of this one, holds the file. Two judges over one ledger
// would each see half of the truth, so a file has one owner at a time; its death, by whatever signal, frees it.
var ErrInUse = errors.New("sandbox: file is in use by another sandbox")

// ErrForeignFile says that the file is a SQLite database, but not one of this version of the sandbox. It is left as it is.
var ErrForeignFile = errors.New("sandbox: file is not a ledger of this version of the sandbox")

const (
	applicationID = 0x0f5a4d01 // marks the file, so that no other database is ever taken for a ledger
	// schemaVersion rises with the schema. A ledger of version 1 knows nothing that was accepted for later, and takes the
	// one table that it lacks.
	schemaVersion = 2
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// store is the sandbox's file: one connection, held exclusively, so that every transaction is alone and in order.
// Commits survive the death of the process (write-ahead log, synchronous NORMAL); a loss of power may take the last few.
type store struct {
	db         *sql.DB
	statements map[string]*sql.Stmt
	folder     string // the temporary folder to remove at close, or ""
}

// openStore opens or makes the ledger at path; "" makes one in a temporary folder that closing removes.
func openStore(ctx context.Context, path string) (_ *store, err error) {
	st := &store{}
	defer func() {
		if err != nil {
			err = errors.Join(err, st.close())
		}
	}()
	if path == "" {
		if st.folder, err = os.MkdirTemp("", "onefold-sandbox-"); err != nil {
			return nil, fmt.Errorf("sandbox: temporary folder: %w", err)
		}
		path = filepath.Join(st.folder, "ledger.db")
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("sandbox: path: %w", err)
	}
	// Exclusive: no shared-memory file, and a second opener is refused instead of mixed in. The journal's mode is set
	// later, once the file is known to be ours: it is written into the file.
	settings := url.Values{"_txlock": {"immediate"}, "_pragma": {"locking_mode(EXCLUSIVE)", "synchronous(NORMAL)"}}
	file := url.URL{Scheme: "file", Path: path, RawQuery: settings.Encode()}
	if st.db, err = sql.Open("sqlite", file.String()); err != nil {
		return nil, fmt.Errorf("sandbox: open: %w", err)
	}
	st.db.SetMaxOpenConns(1)
	st.db.SetMaxIdleConns(1)
	if err = st.prepareFile(ctx); err != nil {
		return nil, err
	}
	return st, st.prepareStatements(ctx)
}

func (st *store) close() error {
	var failed error
	for _, statement := range st.statements {
		failed = errors.Join(failed, statement.Close())
	}
	if st.db != nil {
		failed = errors.Join(failed, st.db.Close())
	}
	if st.folder != "" {
		failed = errors.Join(failed, os.RemoveAll(st.folder))
	}
	return failed
}

// prepareFile makes the schema in an empty file and refuses a file that is something else, without writing to it.
func (st *store) prepareFile(ctx context.Context) error {
	version, err := st.recognise(ctx)
	if err != nil {
		return err
	}
	var journal, locking string
	var synchronous int
	if err := st.db.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&journal); err != nil {
		return openError(err)
	}
	if err := st.db.QueryRowContext(ctx, "PRAGMA locking_mode").Scan(&locking); err != nil {
		return openError(err)
	}
	if err := st.db.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&synchronous); err != nil {
		return openError(err)
	}
	if journal != "wal" || locking != "exclusive" || synchronous != 1 {
		return fmt.Errorf("sandbox: open: the file is in modes %s, %s, %d instead of wal, exclusive, 1", journal, locking, synchronous)
	}
	if version == schemaVersion {
		return nil
	}
	schema, err := schemaFrom(version)
	if err != nil {
		return err
	}
	mark := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, schemaVersion)
	return st.within(ctx, func(t transaction) error {
		if _, err := t.tx.ExecContext(ctx, schema+mark); err != nil {
			return fmt.Errorf("sandbox: schema: %w", err)
		}
		return nil
	})
}

// schemaFrom is what a file of a version lacks; 0 is an empty one.
func schemaFrom(version int64) (string, error) {
	whole, err := sqlFiles.ReadFile("sql/schema.sql")
	if err != nil {
		return "", fmt.Errorf("sandbox: schema: %w", err)
	}
	if version == 0 {
		return string(whole), nil
	}
	for _, statement := range strings.SplitAfter(string(whole), ";\n") {
		if strings.Contains(statement, "CREATE TABLE settlements") {
			return statement, nil
		}
	}
	return "", errors.New("sandbox: schema: no table of settlements")
}

// recognise gives the version of a ledger, 0 of an empty file, and refuses one that is neither.
func (st *store) recognise(ctx context.Context) (version int64, err error) {
	tx, err := st.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, openError(err)
	}
	defer func() { _ = tx.Rollback() }() // it only read
	var application, tables int64
	err = tx.QueryRowContext(ctx, `SELECT (SELECT application_id FROM pragma_application_id),
		(SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`).
		Scan(&application, &version, &tables)
	switch {
	case err != nil:
		return 0, openError(err)
	case application == applicationID && version >= 1 && version <= schemaVersion:
		return version, nil
	case application != 0 || version != 0 || tables != 0:
		return 0, ErrForeignFile
	}
	return 0, nil
}

// openError names the two failures that a caller can do something about.
func openError(err error) error {
	var failure *sqlite.Error
	if errors.As(err, &failure) {
		switch failure.Code() & 0xff {
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
			return fmt.Errorf("%w: %w", ErrInUse, err)
		case sqlite3.SQLITE_NOTADB:
			return fmt.Errorf("%w: %w", ErrForeignFile, err)
		}
	}
	return fmt.Errorf("sandbox: open: %w", err)
}

func (st *store) prepareStatements(ctx context.Context) error {
	queries, err := loadQueries()
	if err != nil {
		return err
	}
	st.statements = make(map[string]*sql.Stmt, len(queries))
	for _, q := range queries {
		statement, err := st.db.PrepareContext(ctx, q.text)
		if err != nil {
			return fmt.Errorf("sandbox: statement %s: %w", q.name, err)
		}
		st.statements[q.name] = statement
	}
	return nil
}

// query is one named statement of the .sql files, with the index that it must use ("" where any plan will do).
type query struct {
	name, index, text string
}

// loadQueries reads the named statements: a line "-- name: N" begins one, "-- index: I" says what its plan must name.
func loadQueries() ([]query, error) {
	names, err := fs.Glob(sqlFiles, "sql/*.sql")
	if err != nil {
		return nil, fmt.Errorf("sandbox: statements: %w", err)
	}
	var queries []query
	for _, name := range names {
		if name == "sql/schema.sql" {
			continue
		}
		content, err := sqlFiles.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("sandbox: statements: %w", err)
		}
		for _, section := range strings.Split("\n"+string(content), "\n-- name: ")[1:] {
			title, text, _ := strings.Cut(section, "\n")
			q := query{name: strings.TrimSpace(title), text: strings.TrimSpace(text)}
			if after, found := strings.CutPrefix(q.text, "-- index: "); found {
				index, rest, _ := strings.Cut(after, "\n")
				q.index, q.text = strings.TrimSpace(index), rest
			}
			queries = append(queries, q)
		}
	}
	return queries, nil
}

// transaction is one unit of work; everything inside it is alone in the file.
type transaction struct {
	ctx   context.Context
	tx    *sql.Tx
	store *store
}

// within runs work in one transaction and commits it, or leaves nothing behind.
// The context's end aborts it; callers that must not be cut short pass one that does not end.
func (st *store) within(ctx context.Context, work func(transaction) error) error {
	tx, err := st.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("sandbox: begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit this does nothing
	if err := work(transaction{ctx: ctx, tx: tx, store: st}); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("sandbox: commit: %w", err)
	}
	return nil
}

func (t transaction) statement(name string) *sql.Stmt {
	statement, known := t.store.statements[name]
	if !known {
		panic("sandbox: no statement " + name) // a slip of this package: its tests run every statement
	}
	return t.tx.StmtContext(t.ctx, statement)
}

func (t transaction) exec(name string, arguments ...any) (sql.Result, error) {
	result, err := t.statement(name).ExecContext(t.ctx, arguments...)
	if err != nil {
		return nil, fmt.Errorf("sandbox: %s: %w", name, err)
	}
	return result, nil
}

// one scans the only row into targets; it answers false where there is none.
func (t transaction) one(name string, targets []any, arguments ...any) (bool, error) {
	err := t.statement(name).QueryRowContext(t.ctx, arguments...).Scan(targets...)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("sandbox: %s: %w", name, err)
	}
	return true, nil
}

// each calls row once for every row; row scans it.
func (t transaction) each(name string, row func(scan func(...any) error) error, arguments ...any) error {
	rows, err := t.statement(name).QueryContext(t.ctx, arguments...)
	if err != nil {
		return fmt.Errorf("sandbox: %s: %w", name, err)
	}
	defer func() { _ = rows.Close() }() // its error is rows.Err, asked below
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return fmt.Errorf("sandbox: %s: %w", name, err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("sandbox: %s: %w", name, err)
	}
	return nil
}
