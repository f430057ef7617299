package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/sqlite"
	"github.com/onefold-dev/onefold/storetest"
)

// migrated is an empty file that was migrated: the migrations have tests of
// their own and need not run for every other one.
var migrated = sync.OnceValues(func() (_ []byte, err error) {
	folder, err := os.MkdirTemp("", "onefold-sqlite-test-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	opts := sqlite.Options{
		Path: filepath.Join(folder, "empty.db"), Driver: "sqlite", Now: storetest.NewClock().Now, IDs: &storetest.IDs{},
	}
	if _, err := sqlite.Migrate(context.Background(), opts); err != nil {
		return nil, err
	}
	return os.ReadFile(opts.Path) // the last connection has copied the log back and removed it
})

// subject opens an empty store in a folder of the test.
func subject(t testing.TB, change ...func(*sqlite.Options)) *storetest.Subject {
	t.Helper()
	s := &storetest.Subject{Clock: storetest.NewClock(), IDs: &storetest.IDs{}}
	opts := sqlite.Options{
		Path: filepath.Join(t.TempDir(), "ledger.db"), Driver: "sqlite", Now: s.Clock.Now, IDs: s.IDs,
	}
	empty, err := migrated()
	if err == nil {
		err = os.WriteFile(opts.Path, empty, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(&opts)
	}
	open := func(t testing.TB) *sqlite.Store {
		store, err := sqlite.Open(context.Background(), opts)
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		s.Store = store
		return store
	}
	open(t)
	t.Cleanup(func() {
		if err := s.Store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	s.Reopen = func(t *testing.T) onefold.Store {
		if err := s.Store.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
		return open(t)
	}
	return s
}

// Each story of the suite says for itself which rules it proves.
func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) *storetest.Subject { return subject(t) })
}
