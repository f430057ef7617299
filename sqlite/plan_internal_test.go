package sqlite

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/onefold-dev/onefold/storetest"
)

// testOptions are options for a file in a folder of the test.
func testOptions(t *testing.T) Options {
	t.Helper()
	ids := &storetest.IDs{}
	opts := Options{
		Path: filepath.Join(t.TempDir(), "ledger.db"), Driver: "sqlite", Now: storetest.NewClock().Now, IDs: ids,
	}
	opts, err := opts.filled()
	if err != nil {
		t.Fatal(err)
	}
	return opts
}

// rawDatabase opens a migrated file without the store.
func rawDatabase(t *testing.T) *sql.DB {
	t.Helper()
	opts := testOptions(t)
	if _, err := Migrate(context.Background(), opts); err != nil {
		t.Fatal(err)
	}
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

var parameter = regexp.MustCompile(`\?(\d+)`)

// plan explains a statement with nothing bound.
func plan(t *testing.T, db *sql.DB, text string) []string {
	t.Helper()
	n := 0
	for _, m := range parameter.FindAllStringSubmatch(text, -1) {
		i := 0
		for _, digit := range m[1] {
			i = i*10 + int(digit-'0')
		}
		n = max(n, i)
	}
	rows, err := db.Query("EXPLAIN QUERY PLAN "+text, make([]any, n)...)
	if err != nil {
		t.Fatalf("%v, in:\n%s", err, text)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var id, parent, unused int
		line := ""
		if err := rows.Scan(&id, &parent, &unused, &line); err != nil {
			t.Fatal(err)
		}
		out = append(out, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// small are what may be read from end to end: tables that stay small, and
// tables that exist within a statement only.
var small = regexp.MustCompile(`^SCAN (page|busy|seen|json_each|value|CONSTANT ROW|\(|installation|secret_check|workspace|document|d\b|sequence|connection_state)`)

func readsEverything(line string) bool {
	return strings.HasPrefix(line, "SCAN") && !strings.Contains(line, "USING") && !small.MatchString(line)
}

// Every statement is prepared against the real schema; its plan uses the
// indexes that it names, and it reads no large table from end to end.
//
// Proves: I32
func TestEveryQueryUsesItsIndex(t *testing.T) {
	t.Parallel()
	db := rawDatabase(t)
	q, err := loadQueries()
	if err != nil {
		t.Fatal(err)
	}
	statement := regexp.MustCompile(`^(SELECT|WITH|INSERT|UPDATE|DELETE)\b`)
	explained := 0
	for name, entry := range q {
		if !statement.MatchString(entry.text) || name == "operation.loaded" {
			continue // begins or ends a transaction, or is a part of others and explained with them
		}
		lines := plan(t, db, entry.text)
		explained++
		for _, index := range entry.indexes {
			if text := strings.Join(lines, "\n"); !strings.Contains(text, index) {
				t.Errorf("%s does not use %s:\n%s", name, index, text)
			}
		}
		for _, line := range lines {
			if readsEverything(line) {
				t.Errorf("%s reads everything: %s", name, line)
			}
		}
	}
	if lines := plan(t, db, "SELECT id FROM operation WHERE owner = 'ada'"); len(lines) != 1 || !readsEverything(lines[0]) {
		t.Errorf("a statement without an index is not found out: %v", lines)
	}
	if explained < 50 {
		t.Errorf("only %d statements were explained", explained)
	}
}

// Every statement has its use, and every name that the code asks for exists.
func TestQueriesAndCodeAgree(t *testing.T) {
	t.Parallel()
	q, err := loadQueries()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	code, fragments := "", ""
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		code += string(text)
	}
	for _, name := range []string{"operation", "list"} {
		text, err := queryFiles.ReadFile("sql/" + name + ".sql")
		if err != nil {
			t.Fatal(err)
		}
		fragments += string(text)
	}
	for name := range q {
		if !strings.Contains(code, `"`+name+`"`) && !strings.Contains(fragments, "{"+name+"}") {
			t.Errorf("nobody uses the query %s", name)
		}
	}
	asked := regexp.MustCompile(`"((?:claim|operation|payload|frozen|live|finished|timeline|evidence|review|list|work|runner|connection|stats|document|workspace|token|installation|result|secret|transaction)\.[a-z_]+)"`)
	for _, m := range asked.FindAllStringSubmatch(code, -1) {
		if _, known := q[m[1]]; !known {
			t.Errorf("the code asks for the query %s, which does not exist", m[1])
		}
	}
}

// What the schema itself refuses, whoever asks.
//
// Proves: I2, I7, I12, I13, M1, M2a, M20, M28
func TestTheSchemaGuardsItself(t *testing.T) {
	t.Parallel()
	db := rawDatabase(t)
	must := func(text string) {
		t.Helper()
		if _, err := db.Exec(text); err != nil {
			t.Fatalf("%v, in: %s", err, text)
		}
	}
	must(`INSERT INTO operation VALUES (1, 'op_1', 'w', 'c', 1, 't', 1, 1, 'k', 'ada', NULL, NULL, NULL, NULL, 'v1:0', 'k1', 'i', 'r', 0, 'ada', 0, 0, 0)`)
	must(`INSERT INTO claim VALUES (zeroblob(16), 'k', 1)`)
	must(`INSERT INTO payload VALUES (1, x'7b7d')`)
	must(`INSERT INTO frozen VALUES (1, 'POST', '/', '[]', NULL, 'd', 1)`)
	must(`INSERT INTO live_operation VALUES (1, 'w', 1, 0, 'prepared', 1, 1, 0, NULL, NULL, NULL, NULL, 0, 0, 0, NULL, '{}')`)
	must(`INSERT INTO live_operation VALUES (2, 'w', 1, 0, 'rejected', 1, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, NULL, '{}')`)
	must(`INSERT INTO evidence VALUES (1, 1, 'ev_1', 'lookup', 'nothing', 0, '{}')`)
	must(`INSERT INTO timeline VALUES (1, 1, 'w', 0, 'engine', 'x', 'admitted', NULL, NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL)`)
	must(`INSERT INTO document VALUES (1, 'target', '', 'erp', 1, x'', x'', 0, 'ada')`)
	must(`INSERT INTO earlier_result VALUES ('B-1', 1)`)
	must(`UPDATE sequence SET last = 5`)
	for _, refused := range []string{
		`DELETE FROM claim`,
		`UPDATE claim SET operation = 2`,
		`INSERT INTO claim VALUES (zeroblob(16), 'k', 2)`,
		`INSERT INTO claim VALUES (zeroblob(15), 'k', 2)`,
		`UPDATE operation SET identity = 'other'`,
		`UPDATE operation SET fingerprint = 'other'`,
		`UPDATE operation SET key = 'other'`,
		`UPDATE payload SET request = x'00'`,
		`UPDATE frozen SET body = x'00'`,
		`UPDATE document SET canonical = x'00'`,
		`UPDATE evidence SET document = '{"other": true}'`,
		`UPDATE earlier_result SET reference = 'B-2'`,
		`INSERT INTO earlier_result VALUES ('', 1)`,
		`UPDATE timeline SET actor = 'nobody'`,
		`UPDATE sequence SET last = 5`,
		`UPDATE installation SET deployment = 'other'`,
		`DELETE FROM installation`,
		`DELETE FROM live_operation`,
		`UPDATE live_operation SET state = 'attempting' WHERE operation = 1`,
		`UPDATE live_operation SET open_attempts = 1 WHERE operation = 1`,
		`UPDATE live_operation SET lease_token = 1 WHERE operation = 1`,
		`UPDATE live_operation SET unresolved = 1 WHERE operation = 1`,
		`UPDATE live_operation SET state = 'confirmed' WHERE operation = 1`,
		`UPDATE live_operation SET state = 'prepared' WHERE operation = 2`,
		`UPDATE live_operation SET state = 'confirmed', result_reference = 'B' WHERE operation = 2`,
		`INSERT INTO finished_operation VALUES (3, 'w', 0, 0, 'confirmed', 1, NULL, '{}')`,
		`INSERT INTO finished_operation VALUES (3, 'w', 0, 0, 'uncertain', 1, NULL, '{}')`,
		`INSERT INTO review VALUES (1, 'rev_1', 1, 'w', 'differs', 'open', '', 0, '{}')`,
	} {
		if _, err := db.Exec(refused); err == nil {
			t.Errorf("the schema allowed: %s", refused)
		} else if classify(err) != failureConstraint {
			t.Errorf("%s was refused for another reason: %v", refused, err)
		}
	}
}
