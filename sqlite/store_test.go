package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/sqlite"
	"github.com/onefold-dev/onefold/storetest"
)

// subject opens an empty store in a folder of the test.
func subject(t testing.TB, change ...func(*sqlite.Options)) *storetest.Subject {
	t.Helper()
	s := &storetest.Subject{Clock: storetest.NewClock(), IDs: &storetest.IDs{}}
	opts := sqlite.Options{
		Path: filepath.Join(t.TempDir(), "ledger.db"), Driver: "sqlite", Now: s.Clock.Now, IDs: s.IDs, Migrate: true,
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

// Proves: I1, I2, I3, I5, I7
func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) *storetest.Subject { return subject(t) })
}
