package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/onefold-dev/onefold"
)

// history is this release's migrations and two more after them.
func history(t *testing.T, second, third string) []Migration {
	t.Helper()
	files := fstest.MapFS{}
	embedded, err := embeddedMigrations()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range embedded {
		files[fmt.Sprintf("m/%04d_%s.sql", m.Version, m.Name)] = &fstest.MapFile{Data: []byte(m.text)}
	}
	files[fmt.Sprintf("m/%04d_second.sql", len(embedded)+1)] = &fstest.MapFile{Data: []byte(second)}
	files[fmt.Sprintf("m/%04d_third.sql", len(embedded)+2)] = &fstest.MapFile{Data: []byte(third)}
	out, err := readMigrations(files, "m")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const (
	goodSecond = "CREATE TABLE second (a INTEGER) STRICT;\n\n-- A remark.\n\nINSERT INTO second VALUES (1);\n"
	goodThird  = "ALTER TABLE second ADD COLUMN b TEXT;\n\nINSERT INTO second VALUES (2, 'x');\n"
)

func openRaw(t *testing.T, opts Options) *sql.DB {
	t.Helper()
	db, err := sql.Open(opts.Driver, opts.DSN(opts.Path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func versions(ms []Migration) (out []int) {
	for _, m := range ms {
		out = append(out, m.Version)
	}
	return out
}

func TestMigrationsGoForward(t *testing.T) {
	t.Parallel()
	opts, ctx := testOptions(t), context.Background()
	all := history(t, goodSecond, goodThird)
	own := len(all) - 2
	for want, some := range [][]Migration{all[:0], all[:own], all[:own], all} {
		applied, err := migrate(ctx, opts, some)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(applied); got != []int{0, own, 0, 2}[want] {
			t.Errorf("round %d applied %v", want, versions(applied))
		}
	}
	var rows int
	if err := openRaw(t, opts).QueryRow("SELECT count(*) FROM second").Scan(&rows); err != nil || rows != 2 {
		t.Errorf("%d rows, error %v", rows, err)
	}
	// An older release does not touch what a newer one made.
	if _, err := migrate(ctx, opts, all[:own+1]); !errors.Is(err, ErrNewerDatabase) {
		t.Errorf("an older release was told: %v", err)
	}
	if store, err := Open(ctx, opts); !errors.Is(err, ErrNewerDatabase) {
		t.Errorf("the store was told: %v, %v", err, store)
	}
}

func TestAnEditedMigrationIsRefused(t *testing.T) {
	t.Parallel()
	opts, ctx := testOptions(t), context.Background()
	all := history(t, goodSecond, goodThird)
	if _, err := migrate(ctx, opts, all[:len(all)-1]); err != nil {
		t.Fatal(err)
	}
	_, err := migrate(ctx, opts, history(t, goodSecond+"\n-- harmless?\n", goodThird))
	if !errors.Is(err, ErrMigrationEdited) || !strings.Contains(err.Error(), fmt.Sprintf("%d (second)", len(all)-1)) {
		t.Errorf("the migrator was told: %v", err)
	}
	if _, err := openRaw(t, opts).Exec("UPDATE migration SET checksum = replace(checksum, substr(checksum, 1, 1), 'x') WHERE version = 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := MigrationStatus(ctx, opts); !errors.Is(err, ErrMigrationEdited) {
		t.Errorf("the status was: %v", err)
	}
	if _, err := Open(ctx, opts); !errors.Is(err, ErrMigrationEdited) {
		t.Errorf("the store was told: %v", err)
	}
}

func TestAFailedMigrationLeavesNothing(t *testing.T) {
	t.Parallel()
	opts, ctx := testOptions(t), context.Background()
	all := history(t, goodSecond, goodThird+"\nINSERT INTO nowhere VALUES (1);\n")
	applied, err := migrate(ctx, opts, all)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("migration %d (third)", len(all))) {
		t.Errorf("the migrator was told: %v", err)
	}
	if len(applied) != len(all)-1 {
		t.Errorf("applied are %v", versions(applied))
	}
	// What failed is mended and applied whole.
	if applied, err = migrate(ctx, opts, history(t, goodSecond, goodThird)); err != nil || len(applied) != 1 {
		t.Errorf("after mending: %v, error %v", versions(applied), err)
	}
}

func TestMigrationFilesAreNumberedWithoutGaps(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"m/0002_a.sql", "m/first_a.sql", "m/0001a.sql"} {
		if _, err := readMigrations(fstest.MapFS{name: {Data: []byte("SELECT 1;")}}, "m"); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	embedded, err := embeddedMigrations()
	if err != nil || len(embedded) == 0 {
		t.Errorf("%d migrations, error %v", len(embedded), err)
	}
}

func TestTwoMigratorsAtOnce(t *testing.T) {
	t.Parallel()
	opts, ctx := testOptions(t), context.Background()
	all := history(t, goodSecond, goodThird)
	var group sync.WaitGroup
	counts := make([]int, 8)
	for i := range counts {
		group.Go(func() {
			applied, err := migrate(ctx, opts, all)
			if err != nil {
				t.Errorf("migrator %d: %v", i, err)
			}
			counts[i] = len(applied)
		})
	}
	group.Wait()
	total := 0
	for _, n := range counts {
		total += n
	}
	if total != len(all) {
		t.Errorf("%d migrations were applied in all: %v", total, counts)
	}
}

func TestALockedFileIsNotWaitedForForEver(t *testing.T) {
	t.Parallel()
	opts, ctx := testOptions(t), context.Background()
	opts.BusyTimeout = 20 * time.Millisecond
	if _, err := Migrate(ctx, opts); err != nil {
		t.Fatal(err)
	}
	conn, err := openRaw(t, opts).Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	_, err = migrate(ctx, opts, history(t, goodSecond, goodThird))
	if !errors.Is(err, onefold.ErrStoreUnavailable) {
		t.Errorf("the migrator was told: %v", err)
	}
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if applied, err := migrate(ctx, opts, history(t, goodSecond, goodThird)); err != nil || len(applied) != 2 {
		t.Errorf("afterwards: %v, error %v", versions(applied), err)
	}
}

func TestAFileThatIsNotCurrentIsRefused(t *testing.T) {
	t.Parallel()
	opts, ctx := testOptions(t), context.Background()
	_, err := Open(ctx, opts)
	if !errors.Is(err, ErrNotCurrent) || !strings.Contains(err.Error(), "onefold migrate") {
		t.Errorf("the store was told: %v", err)
	}
	status, err := MigrationStatus(ctx, opts)
	if err != nil || len(status) == 0 || status[0].AppliedAt != nil {
		t.Errorf("the status is %v, error %v", status, err)
	}
	if _, err := Migrate(ctx, opts); err != nil {
		t.Fatal(err)
	}
	status, err = MigrationStatus(ctx, opts)
	if err != nil || status[0].AppliedAt == nil || !status[0].AppliedAt.Equal(opts.now()) {
		t.Errorf("the status is %v, error %v", status, err)
	}
	store, err := Open(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(store.Ping(ctx), store.Close()); err != nil {
		t.Error(err)
	}
}

func TestAForeignFileIsLeftAlone(t *testing.T) {
	t.Parallel()
	opts, ctx := testOptions(t), context.Background()
	db := openRaw(t, opts)
	if _, err := db.Exec("CREATE TABLE theirs (a)"); err != nil {
		t.Fatal(err)
	}
	if _, err := Migrate(ctx, opts); !errors.Is(err, ErrForeignFile) {
		t.Errorf("the migrator was told: %v", err)
	}
	var tables int
	if err := db.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil || tables != 1 {
		t.Errorf("the file has %d tables, error %v", tables, err)
	}
}
