package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/sqlite"
	"github.com/onefold-dev/onefold/storetest"
)

// A search goes through a file of many pages, newest first, while others may work,
// and stops where its time is over.
//
// Proves: I13
func TestTheSearchForGapsGoesThroughEveryPage(t *testing.T) {
	t.Parallel()
	const operations, callers = 1201, 64
	s := &storetest.Subject{Clock: storetest.NewClock(), IDs: &storetest.IDs{}}
	opts := sqlite.Options{Path: filepath.Join(t.TempDir(), "ledger.db"), Driver: "sqlite", Now: s.Clock.Now, IDs: s.IDs, Migrate: true}
	store, err := sqlite.Open(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	s.Store = store
	var group sync.WaitGroup
	keys := make(chan string)
	for range callers {
		group.Go(func() {
			for key := range keys {
				if _, created, err := store.Admit(context.Background(), s.Admission(key)); err != nil || !created {
					t.Errorf("admit %s: %v %v", key, created, err)
				}
			}
		})
	}
	for n := range operations {
		keys <- fmt.Sprintf("k-%d", n)
	}
	close(keys)
	group.Wait()
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", opts.Path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`DELETE FROM payload WHERE operation IN (
		(SELECT min(num) FROM operation), (SELECT max(num) FROM operation), (SELECT num FROM operation WHERE key = 'k-600'))`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	i, err := sqlite.Inspect(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	visit := func(op *onefold.Operation, gaps []sqlite.Gap) {
		id := op.ID
		if len(gaps) == 0 {
			return
		}
		if len(gaps) != 1 || gaps[0].Kind != sqlite.GapPayload || found[id] {
			t.Errorf("of %s: %+v", id, gaps)
		}
		found[id] = true
	}
	if s, err := i.EachKept(context.Background(), visit); err != nil || !s.All || s.Seen != operations || len(found) != 3 {
		t.Errorf("searched %+v, found %d, error %v", s, len(found), err)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	if s, err := i.EachKept(ended, visit); err != nil || s.All || s.Seen != 0 {
		t.Errorf("a search whose time is over: %+v, %v", s, err)
	}
	if err := i.Close(); err != nil {
		t.Error(err)
	}
}

// What the search takes for granted about the law: what is observed of the target
// always leaves a line, and no change of fact is left without one.
//
// Proves: M28
func TestTheLawTellsWhatTheSearchExpects(t *testing.T) {
	t.Parallel()
	var wrong []error
	for _, row := range onefold.Transitions() {
		observes := row.On == onefold.EventAnswered || row.On == onefold.EventLookedUp || row.On == onefold.EventObserved
		if row.Silent && (observes || !row.Quiet) {
			wrong = append(wrong, fmt.Errorf("the row %s is silent", row.ID))
		}
	}
	if err := errors.Join(wrong...); err != nil {
		t.Error(err)
	}
}
