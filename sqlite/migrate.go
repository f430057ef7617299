package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
)

var (
	// ErrNotCurrent says that migrations of this release have not been applied.
	ErrNotCurrent = errors.New("sqlite: the database is not current: run onefold migrate")
	// ErrMigrationEdited says that a migration was applied with another content
	// than this release has for it.
	ErrMigrationEdited = errors.New("sqlite: an applied migration was edited")
	// ErrNewerDatabase says that a newer release has migrated the database.
	ErrNewerDatabase = errors.New("sqlite: the database was migrated by a newer release")
	// ErrForeignFile says that the file is a SQLite database, but not onefold's.
	ErrForeignFile = errors.New("sqlite: the file is a database of something else")
)

//go:embed sql/migrations/*.sql
var migrationFiles embed.FS

// prefixDeployment begins a deployment id (I13a).
const prefixDeployment = "dep"

// Migration is one step of the schema.
type Migration struct {
	Version   int        // 1, 2, 3 … without gaps
	Name      string     // what its file is called after the number
	Checksum  string     // SHA-256 (hex) of its file
	AppliedAt *time.Time // nil where it is pending

	text string
}

// embeddedMigrations lists the migrations of this release in order.
func embeddedMigrations() ([]Migration, error) {
	return readMigrations(migrationFiles, "sql/migrations")
}

func readMigrations(files fs.FS, folder string) ([]Migration, error) {
	names, err := fs.Glob(files, folder+"/*.sql") // in the order of their names
	if err != nil {
		return nil, fmt.Errorf("sqlite: migrations: %w", err)
	}
	out := make([]Migration, 0, len(names))
	for i, file := range names {
		number, name, ok := strings.Cut(strings.TrimSuffix(path.Base(file), ".sql"), "_")
		version, err := strconv.Atoi(number)
		if !ok || err != nil || version != i+1 {
			return nil, fmt.Errorf("sqlite: migration %s: its number is not %d", file, i+1)
		}
		text, err := fs.ReadFile(files, file)
		if err != nil {
			return nil, fmt.Errorf("sqlite: migrations: %w", err)
		}
		sum := sha256.Sum256(text)
		out = append(out, Migration{Version: version, Name: name, Checksum: hex.EncodeToString(sum[:]), text: string(text)})
	}
	return out, nil
}

// Migrate brings the file up to date and returns what it applied. It makes the
// file where there is none. Each migration is a transaction of its own that
// holds the write lock from its start, so that one that is killed at any
// statement leaves nothing behind and is simply run again, and of two processes
// that migrate at once one waits, at most Options.BusyTimeout. Errors:
// ErrMigrationEdited, ErrNewerDatabase, ErrForeignFile, store_unavailable.
func Migrate(ctx context.Context, opts Options) ([]Migration, error) {
	opts, err := opts.filled()
	if err != nil {
		return nil, err
	}
	migrations, err := embeddedMigrations()
	if err != nil {
		return nil, err
	}
	return migrate(ctx, opts, migrations)
}

func migrate(ctx context.Context, opts Options, migrations []Migration) (applied []Migration, err error) {
	if err := makeFile(opts.Path); err != nil {
		return nil, err
	}
	c, err := newConnector(&opts, writerSettings(&opts))
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, storeError("open for migration", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	for {
		done, m, err := migrateNext(ctx, conn, &opts, migrations)
		if err != nil {
			return applied, storeError("migrate", err)
		}
		if done {
			return applied, nil
		}
		applied = append(applied, m)
	}
}

// MigrationStatus lists the migrations of this release and when each was
// applied to the file. Errors as Migrate.
func MigrationStatus(ctx context.Context, opts Options) (_ []Migration, err error) {
	opts, err = opts.filled()
	if err != nil {
		return nil, err
	}
	migrations, err := embeddedMigrations()
	if err != nil {
		return nil, err
	}
	if err := makeFile(opts.Path); err != nil {
		return nil, err
	}
	c, err := newConnector(&opts, writerSettings(&opts))
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(c)
	defer func() { err = errors.Join(err, db.Close()) }()
	applied, err := appliedMigrations(ctx, db)
	if err != nil {
		return nil, storeError("read the migrations", err)
	}
	if err := checkApplied(migrations, applied); err != nil {
		return nil, err
	}
	for i := range applied {
		migrations[i].AppliedAt = applied[i].AppliedAt
	}
	return migrations, nil
}

// migrateNext applies the first migration that is pending, in a transaction.
func migrateNext(ctx context.Context, conn *sql.Conn, opts *Options, migrations []Migration) (done bool, m Migration, err error) {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return false, m, err
	}
	committed := false
	defer func() {
		if !committed {
			_, undo := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
			_ = undo // some failures have rolled back already; the connection is closed after a failure in any case
		}
	}()
	applied, err := appliedMigrations(ctx, conn)
	if err != nil {
		return false, m, err
	}
	if err := checkApplied(migrations, applied); err != nil {
		return false, m, err
	}
	if len(applied) == len(migrations) {
		return true, m, nil
	}
	m = migrations[len(applied)]
	now := opts.now()
	m.AppliedAt = &now
	if err := applyMigration(ctx, conn, opts, m); err != nil {
		return false, m, fmt.Errorf("migration %d (%s): %w", m.Version, m.Name, err)
	}
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		return false, m, fmt.Errorf("%w: migration %d: %w", onefold.ErrCommitUnknown, m.Version, err)
	}
	committed = true
	return false, m, nil
}

func applyMigration(ctx context.Context, conn *sql.Conn, opts *Options, m Migration) error {
	if m.Version == 1 {
		const table = `CREATE TABLE migration (
			version INTEGER NOT NULL PRIMARY KEY,
			name TEXT NOT NULL,
			checksum TEXT NOT NULL CHECK (length(checksum) = 64),
			applied_at INTEGER NOT NULL
		) STRICT`
		if _, err := conn.ExecContext(ctx, table); err != nil {
			return err
		}
	}
	for _, statement := range splitStatements(m.text) {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%w, in: %.60s", err, statement)
		}
	}
	if m.Version == 1 {
		// The deployment id is made in the transaction that makes the schema: there is
		// no file with the one and without the other.
		const installation = `INSERT INTO installation (one, deployment, epoch, made_at) VALUES (1, ?1, 1, ?2)`
		if _, err := conn.ExecContext(ctx, installation, opts.IDs.New(prefixDeployment, *m.AppliedAt), m.AppliedAt.UnixNano()); err != nil {
			return err
		}
	}
	const record = `INSERT INTO migration (version, name, checksum, applied_at) VALUES (?1, ?2, ?3, ?4)`
	_, err := conn.ExecContext(ctx, record, m.Version, m.Name, m.Checksum, m.AppliedAt.UnixNano())
	return err
}

// splitStatements parts a file at its blank lines and drops comments that stand
// alone.
func splitStatements(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, "\n\n") {
		comment := true
		for line := range strings.Lines(part) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "--") {
				comment = false
			}
		}
		if !comment {
			out = append(out, part)
		}
	}
	return out
}

// querier is what reads: a pool or a connection.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// appliedMigrations lists what was applied to the file, none for an empty one.
func appliedMigrations(ctx context.Context, db querier) (_ []Migration, err error) {
	var tables, ours int
	err = db.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (WHERE type = 'table' AND name = 'migration') FROM sqlite_schema`).
		Scan(&tables, &ours)
	switch {
	case err != nil:
		return nil, err
	case ours == 0 && tables > 0:
		return nil, ErrForeignFile
	case ours == 0:
		return nil, nil
	}
	rows, err := db.QueryContext(ctx, `SELECT version, name, checksum, applied_at FROM migration ORDER BY version`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var out []Migration
	for rows.Next() {
		m, at := Migration{}, int64(0)
		if err := rows.Scan(&m.Version, &m.Name, &m.Checksum, &at); err != nil {
			return nil, err
		}
		when := fromNano(at)
		m.AppliedAt = &when
		out = append(out, m)
	}
	return out, rows.Err()
}

// checkApplied holds what was applied against the migrations of this release.
func checkApplied(migrations, applied []Migration) error {
	for i, m := range applied {
		switch {
		case i >= len(migrations):
			return fmt.Errorf("%w: it has migration %d (%s)", ErrNewerDatabase, m.Version, m.Name)
		case m.Version != migrations[i].Version, m.Checksum != migrations[i].Checksum:
			return fmt.Errorf("%w: %d (%s)", ErrMigrationEdited, m.Version, m.Name)
		}
	}
	return nil
}

// checkCurrent wants every migration of this release applied, and no other.
func checkCurrent(migrations, applied []Migration) error {
	if err := checkApplied(migrations, applied); err != nil {
		return err
	}
	if len(applied) < len(migrations) {
		return fmt.Errorf("%w (%d of %d migrations are applied)", ErrNotCurrent, len(applied), len(migrations))
	}
	return nil
}
