package sqlite_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/sqlite"
	"github.com/onefold-dev/onefold/storetest"
)

// TestAFileOfTheFirstReleaseIsBroughtForward takes a file with an operation in each
// state back to its first shape, opens it with this release, and finds each
// operation where it was.
//
// Proves: M10, M28
func TestAFileOfTheFirstReleaseIsBroughtForward(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var opts sqlite.Options
	s := subject(t, func(o *sqlite.Options) { opts = *o })
	want := map[onefold.State]string{onefold.Prepared: s.Admit(t, "waits").ID}
	out := s.Admit(t, "out")
	s.Step(t, out.ID, s.Lease())
	begun, err := s.Store.StepBegin(ctx, out.ID, s.Begin(1), storetest.Frozen())
	if err != nil {
		t.Fatal(err)
	}
	want[begun.Operation.State] = out.ID
	want[onefold.Uncertain] = s.Ended(t, s.Admit(t, "lost").ID, onefold.OutcomeUnknown, "").ID
	want[onefold.Confirmed] = s.Ended(t, s.Admit(t, "done").ID, onefold.OutcomeConfirmed, "B-1").ID
	s.Correct(t, want[onefold.Confirmed], "B-2")
	s.Correct(t, want[onefold.Confirmed], "B-3")
	if err := s.Store.Close(); err != nil {
		t.Fatal(err)
	}

	db, err := sql.Open(opts.Driver, "file:"+opts.Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`DROP INDEX live_operation_by_state`,
		`CREATE INDEX live_operation_by_state ON live_operation (workspace, state, created_at)`,
		`CREATE INDEX live_operation_leased ON live_operation (operation) WHERE lease_token IS NOT NULL`,
		`CREATE INDEX live_operation_attempts ON live_operation (operation) WHERE open_attempts > 0`,
		`DROP TABLE earlier_result`,
		`ALTER TABLE runner DROP COLUMN unproven`,
		`DELETE FROM migration WHERE version > 1`,
	} {
		if _, err := db.ExecContext(ctx, text); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	if applied, err := sqlite.Migrate(ctx, opts); err != nil || len(applied) == 0 {
		t.Fatalf("applied %v, error %v", applied, err)
	}
	store, err := sqlite.Open(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	for state, id := range want {
		found, _, err := store.List(ctx, onefold.Query{Workspace: storetest.Workspace, State: state, Limit: 10})
		if err != nil || len(found) != 1 || found[0].ID != id {
			t.Errorf("%s: %d operations, error %v", state, len(found), err)
		}
	}
	for _, reference := range []string{"B-1", "B-2", "B-3"} {
		found, _, err := store.List(ctx, onefold.Query{Workspace: storetest.Workspace, Reference: reference})
		if err != nil || len(found) != 1 || found[0].ID != want[onefold.Confirmed] {
			t.Errorf("by %s: %d operations, error %v", reference, len(found), err)
		}
	}
	stats, err := store.Stats(ctx, storetest.Workspace)
	if err != nil {
		t.Fatal(err)
	}
	for state := range want {
		if stats.ByState[state] != 1 {
			t.Errorf("%s is counted %d times", state, stats.ByState[state])
		}
	}
}
