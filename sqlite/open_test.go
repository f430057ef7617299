package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/sqlite"
	"github.com/onefold-dev/onefold/storetest"
)

// options are for a file in a folder of the test.
func options(t testing.TB) sqlite.Options {
	t.Helper()
	return sqlite.Options{
		Path: filepath.Join(t.TempDir(), "ledger.db"), Driver: "sqlite", Now: storetest.NewClock().Now,
		IDs: &storetest.IDs{}, Migrate: true,
	}
}

// A connection that does not have what durability rests on is not used.
//
// Proves: M4
func TestSettingsAreReadBack(t *testing.T) {
	t.Parallel()
	for query, value := range map[string]string{
		"PRAGMA synchronous": "1", "PRAGMA journal_mode": "delete", "PRAGMA busy_timeout": "0",
		"PRAGMA wal_autocheckpoint": "1000", "PRAGMA query_only": "2", "SELECT sqlite_version()": "3.51.2",
	} {
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			f, opts := newFaults(t), options(t)
			f.answer = map[string]string{query: value}
			opts.Driver = f.name
			store, err := sqlite.Open(context.Background(), opts)
			if err == nil {
				t.Fatal("opened:", store.Close())
			}
			want := sqlite.ErrSettings
			if strings.HasPrefix(query, "SELECT") {
				want = sqlite.ErrVersion
			}
			if !errors.Is(err, want) || !strings.Contains(err.Error(), value) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestWrongOptionsAreRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*sqlite.Options){
		"no path":          func(o *sqlite.Options) { o.Path = "" },
		"no driver":        func(o *sqlite.Options) { o.Driver = "" },
		"unknown driver":   func(o *sqlite.Options) { o.Driver = "none" },
		"no clock":         func(o *sqlite.Options) { o.Now = nil },
		"no ids":           func(o *sqlite.Options) { o.IDs = nil },
		"negative readers": func(o *sqlite.Options) { o.Readers = -1 },
		"no such folder":   func(o *sqlite.Options) { o.Path = filepath.Join(filepath.Dir(o.Path), "none", "x.db") },
		"a folder":         func(o *sqlite.Options) { o.Path = filepath.Dir(o.Path) },
	} {
		opts := options(t)
		change(&opts)
		if store, err := sqlite.Open(context.Background(), opts); err == nil {
			t.Errorf("%s: opened, %v", name, store.Close())
		}
	}
}

func TestTheFileIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	opts := options(t)
	opts.Path = filepath.Join(filepath.Dir(opts.Path), "odd name?#%41 ü.db")
	store, err := sqlite.Open(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, suffix := range []string{"", "-wal"} {
		info, err := os.Stat(opts.Path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v", info.Name(), info.Mode())
		}
	}
}

// Two spellings of a file are one file: its place for a runner is one.
//
// Proves: M12a
func TestALinkLeadsToTheSameRunner(t *testing.T) {
	t.Parallel()
	opts := options(t)
	first, err := sqlite.Open(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if _, err := first.TakeRunner(context.Background(), "w1"); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(opts.Path, link); err != nil {
		t.Fatal(err)
	}
	opts.Path = link
	second, err := sqlite.Open(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if _, err := second.TakeRunner(context.Background(), "w2"); !errors.Is(err, onefold.ErrRunnerTaken) {
		t.Errorf("the second was told: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	release, err := second.TakeRunner(context.Background(), "w2")
	if err != nil {
		t.Fatalf("after the first closed: %v", err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}
