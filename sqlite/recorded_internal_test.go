package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"testing"
)

// Which operation has recorded a reference is told from the latest ones that share
// it; where they are too many to tell, that is said, and nothing is made up.
//
// Proves: M18
func TestWhoHasRecordedAReference(t *testing.T) {
	t.Parallel()
	db := rawDatabase(t)
	q, err := loadQueries()
	if err != nil {
		t.Fatal(err)
	}
	record := func(num, connection int64, capability, reference string, live bool) {
		t.Helper()
		_, err := db.Exec(`INSERT INTO operation VALUES (?1, 'op_' || ?1, 'w', ?3, 1, 't', 1, ?2, 'k', 'ada', NULL, NULL, NULL, NULL, 'v1:0', 'k1', 'i' || ?1, 'r' || ?1, 0, 'ada', 0, 0, 0)`,
			num, connection, capability)
		if err == nil && live {
			_, err = db.Exec(`INSERT INTO live_operation VALUES (?1, 'w', ?2, 0, 'confirmed', 1, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, 1, ?3, '{}')`, num, connection, reference)
		} else if err == nil {
			_, err = db.Exec(`INSERT INTO finished_operation VALUES (?1, 'w', 0, 0, 'confirmed', 1, ?2, '{}')`, num, reference)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const bound = 3
	for num := range int64(5) { // more of connection 2 than are looked at
		record(num+1, 2, "c", "7", false)
	}
	record(10, 1, "c", "8", false)
	record(11, 1, "c", "8", false)
	record(12, 2, "c", "8", false)
	record(13, 1, "c", "9", false)
	record(14, 1, "c", "9", true)
	record(15, 1, "c", "9", false)
	for _, c := range []struct {
		reference  string
		but        int64
		connection int64
		capability string
		want       string
	}{
		{"7", 0, 2, "c", "op_5"},
		{"7", 5, 2, "c", "op_4"},
		{"7", 0, 1, "c", ""}, // it may be beyond those that are looked at
		{"8", 0, 1, "c", "op_11"},
		{"8", 11, 1, "c", "op_10"},
		{"8", 0, 2, "c", "op_12"},
		{"8", 0, 1, "d", "none"},
		{"8", 0, 3, "c", "none"},
		{"9", 0, 1, "c", "op_14"},
		{"9", 14, 1, "c", "op_15"},
		{"unheard of", 0, 1, "c", "none"},
	} {
		got := ""
		err := db.QueryRow(q["result.recorded"].text, c.reference, c.but, c.connection, c.capability, bound).Scan(&got)
		if errors.Is(err, sql.ErrNoRows) {
			got, err = "none", nil
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", fmt.Sprint(c.reference, " but ", c.but, " of ", c.connection, c.capability), got, err, c.want)
		}
	}
}
