package bench

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/onefold-dev/onefold/internal/bench/measure"
	"github.com/onefold-dev/onefold/internal/rig"
)

// finished is how many operations are over already, where the file is full.
const finished = 1_000_000

// growthCallers are the callers of the measurements in a full file.
const growthCallers = 64

// BenchmarkGrowth is what a file with a million finished operations costs beside
// an empty one. BENCH_FINISHED is another number than a million.
func BenchmarkGrowth(b *testing.B) {
	n := finished
	if text := os.Getenv("BENCH_FINISHED"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 {
			b.Fatalf("BENCH_FINISHED is %q", text)
		}
	}
	for _, rows := range []int{0, n} {
		o := options(false)
		o.Path = filepath.Join(b.TempDir(), "grown.db")
		fill(b, o, rows)
		info, err := os.Stat(o.Path)
		if err != nil {
			b.Fatal(err)
		}
		r := rig.New(b, o)
		key := measure.Key()
		b.Run(fmt.Sprintf("WholePath/finished=%d", rows), func(b *testing.B) {
			measure.Together(b, growthCallers, func() error { return whole(b.Context(), r, measure.Key()) })
			if rows > 0 {
				b.ReportMetric(float64(info.Size())/float64(rows), "file-B/finished")
			}
		})
		if err := whole(b.Context(), r, key); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("Repeat/finished=%d", rows), func(b *testing.B) {
			measure.Together(b, growthCallers, func() error { return repeat(b.Context(), r, key) })
		})
		r.Stop()
		if err := r.Store.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// fill makes a file with one operation that ran its whole path and n copies of
// its rows, as if each had run: with ids, keys, identities and references of
// their own. The indexes are made afterwards, which is much quicker.
func fill(b *testing.B, o rig.Options, n int) {
	b.Helper()
	r := rig.New(b, o)
	if err := whole(b.Context(), r, measure.Key()); err != nil {
		b.Fatal(err)
	}
	r.Stop()
	if err := r.Store.Close(); err != nil {
		b.Fatal(err)
	}
	if n == 0 {
		return
	}
	db, err := sql.Open("sqlite", "file:"+o.Path+"?_pragma=synchronous(OFF)&_pragma=cache_size(-262144)&_pragma=temp_store(MEMORY)&_pragma=wal_autocheckpoint(0)")
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
	}()
	db.SetMaxOpenConns(1)
	run := func(text string, args ...any) {
		if _, err := db.ExecContext(b.Context(), text, args...); err != nil {
			b.Fatalf("%v in %s", err, text)
		}
	}
	run(`PRAGMA journal_mode = OFF`)
	indexes := dropIndexes(b, db, run)
	run(`CREATE TEMP TABLE copy AS WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ?1)
		SELECT i, i * (SELECT last FROM sequence) AS num FROM c`, n)
	for _, text := range copies {
		run(text)
	}
	run(`UPDATE finished_tally SET operations = operations + ?1`, n)
	run(`UPDATE sequence SET last = (SELECT max(seq) FROM timeline)`)
	for _, text := range indexes {
		run(text)
	}
	run(`PRAGMA journal_mode = WAL`)
	// What was filled without syncs goes to the disk now, not with the first commit
	// that is measured.
	f, err := os.OpenFile(o.Path, os.O_RDWR, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		b.Fatal(err)
	}
}

// dropIndexes drops all indexes and returns what makes them again.
func dropIndexes(b *testing.B, db *sql.DB, run func(string, ...any)) (make []string) {
	b.Helper()
	rows, err := db.QueryContext(b.Context(), `SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL`)
	if err != nil {
		b.Fatal(err)
	}
	var names []string
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			b.Fatal(err)
		}
		names, make = append(names, name), append(make, text)
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	for _, name := range names {
		run(`DROP INDEX ` + name)
	}
	return make
}

// copies are the rows of one operation, times the rows of the table copy. Claims
// have digests that no key has: they are never looked up.
var copies = []string{
	`INSERT INTO operation SELECT o.num + c.num, 'op_' || printf('%026d', c.i), o.workspace, o.capability, o.contract_version,
		o.target, o.target_version, o.connection, lower(hex(randomblob(16))), o.submitted_by, o.revision, o.not_before,
		o.start_deadline, o.metadata, o.fingerprint, o.fingerprint_key,
		substr(lower(hex(randomblob(32))), 1, length(o.identity)), substr(lower(hex(randomblob(32))), 1, length(o.reference)),
		o.identity_counter, o.owner, o.key_retention, o.created_at + c.i, o.released
		FROM copy AS c CROSS JOIN operation AS o WHERE o.num = 1`,
	`INSERT INTO claim SELECT randomblob(16) AS digest, o.key, o.num FROM operation AS o WHERE o.num > 1 ORDER BY 1`,
	`INSERT INTO payload SELECT p.operation + c.num, p.request FROM copy AS c CROSS JOIN payload AS p WHERE p.operation = 1`,
	`INSERT INTO frozen SELECT f.operation + c.num, f.method, f.path, f.headers, f.body, f.digest, f.timeout
		FROM copy AS c CROSS JOIN frozen AS f WHERE f.operation = 1`,
	`INSERT INTO finished_operation SELECT f.operation + c.num, f.workspace, f.created_at + c.i, f.settled_at + c.i, f.state,
		f.version, 'BILL-' || c.i, f.standing FROM copy AS c CROSS JOIN finished_operation AS f WHERE f.operation = 1`,
	`INSERT INTO evidence (operation, id, kind, asserts, seen_at, document)
		SELECT e.operation + c.num, e.id, e.kind, e.asserts, e.seen_at, e.document
		FROM copy AS c CROSS JOIN (SELECT * FROM evidence WHERE operation = 1) AS e`,
	`INSERT INTO timeline SELECT t.seq + c.num, t.operation + c.num, t.workspace, t.at + c.i, t.actor_kind, t.actor, t.event,
		t.rule, t.from_state, t.to_state, t.version, t.evidence, t.attempt, t.review, t.detail, t.reason, t.pointers
		FROM copy AS c CROSS JOIN timeline AS t WHERE t.seq <= (SELECT last FROM sequence)`,
}
