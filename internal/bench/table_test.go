package bench

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/onefold-dev/onefold/internal/bench/measure"
)

// table is the hand-written idempotency table: one row for each caller key,
// three commits for each operation, on one writing connection and a few that
// read, which is what suits SQLite best.
type table struct {
	write, read *sql.DB
}

// openTable makes a table in a file of its own; disk is nil for the driver that
// the binary ships.
func openTable(b *testing.B, disk *measure.Disk) *table {
	b.Helper()
	path := filepath.Join(b.TempDir(), "table.db")
	driver, dsn := "sqlite", "file:"+path+measure.Settings
	if disk != nil {
		driver, dsn = measure.Driver, disk.DSN(path, measure.Settings)
	}
	open := func(conns int) *sql.DB {
		db, err := sql.Open(driver, dsn)
		if err != nil {
			b.Fatal(err)
		}
		db.SetMaxOpenConns(conns)
		db.SetMaxIdleConns(conns)
		b.Cleanup(func() { _ = db.Close() })
		return db
	}
	t := &table{write: open(1), read: open(4)}
	_, err := t.write.Exec(`create table idem (
		id integer primary key, tenant text not null, key text not null, request_hash blob not null,
		request text not null, state text not null default 'admitted', attempt int not null default 0,
		locked_at int, response text, created_at int not null default (unixepoch()), finished_at int,
		unique (tenant, key))`)
	if err != nil {
		b.Fatal(err)
	}
	return t
}

func (t *table) admit(ctx context.Context, key string) error {
	_, err := t.write.ExecContext(ctx, `insert into idem (tenant, key, request_hash, request) values ('acme', ?, ?, ?) on conflict do nothing`, key, make([]byte, 32), measure.Request)
	return err
}

func (t *table) start(ctx context.Context, key string) error {
	_, err := t.write.ExecContext(ctx, `update idem set state = 'started', attempt = attempt + 1, locked_at = unixepoch() where tenant = 'acme' and key = ? and state = 'admitted'`, key)
	return err
}

func (t *table) finish(ctx context.Context, key string) error {
	_, err := t.write.ExecContext(ctx, `update idem set state = 'done', response = ?, finished_at = unixepoch(), locked_at = null where tenant = 'acme' and key = ? and state = 'started'`, measure.Result, key)
	return err
}

// whole is an operation from its admission to its end.
func (t *table) whole(ctx context.Context, key string) error {
	for _, step := range []func(context.Context, string) error{t.admit, t.start, t.finish} {
		if err := step(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) repeat(ctx context.Context, key string) error {
	var state string
	var response sql.NullString
	return t.read.QueryRowContext(ctx, `select state, response from idem where tenant = 'acme' and key = ?`, key).Scan(&state, &response)
}

func (t *table) close(b *testing.B) {
	b.Helper()
	for _, db := range []*sql.DB{t.read, t.write} {
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
