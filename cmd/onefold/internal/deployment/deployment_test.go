package deployment

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/contract"
	"github.com/onefold-dev/onefold/storetest"
)

// A database address is sqlite: and a path; what it holds otherwise is refused
// without being repeated, since it may hold a password.
func TestDatabaseAddresses(t *testing.T) {
	t.Parallel()
	for text, path := range map[string]string{"sqlite:a.db": "a.db", "sqlite:/var/lib/a.db": "/var/lib/a.db", "sqlite:///var/lib/a.db": "/var/lib/a.db"} {
		db, err := ParseDatabase(text)
		if err != nil || db.Path != path {
			t.Errorf("%s: %v, %v", text, db, err)
		}
	}
	for _, text := range []string{"", "a.db", "sqlite:", "sqlite::memory:", "sqlite:a.db?mode=ro", "postgres://u:hunter2@h/d", "mysql://u:hunter2@h/d"} {
		if _, err := ParseDatabase(text); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A workspace's token publishes connections of that workspace; everything else
// belongs to the deployment.
func TestWhoMayPublishWhat(t *testing.T) {
	t.Parallel()
	docs, err := ReadExamples("http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	for i := range docs {
		one := docs[i : i+1]
		if err := mayPublish("", one); err != nil {
			t.Errorf("the deployment may not publish %s: %v", one[0].Name, err)
		}
		if err := mayPublish("globex", one); !errors.Is(err, onefold.ErrNotPermitted) {
			t.Errorf("globex may publish %s %s: %v", one[0].Kind, one[0].Name, err)
		}
		own := mayPublish("acme", one) == nil
		if own != (one[0].Kind == contract.KindConnection) {
			t.Errorf("acme may publish %s %s: %v", one[0].Kind, one[0].Name, own)
		}
	}
}

// The secret of a deployment is told from another by its id and check value, is
// long enough, and never stands in what is derived from it.
//
// Proves: I8
func TestSecrets(t *testing.T) {
	t.Parallel()
	if _, err := NewSecret([]byte("fifteen bytes..")); err == nil {
		t.Error("a secret of 15 bytes is taken")
	}
	const text = "a secret that nobody has to know"
	one, err := NewSecret([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	same, _ := NewSecret([]byte(text))
	other, _ := NewSecret([]byte("another secret, long enough"))
	if one.ID != same.ID || one.Check != same.Check || one.ID == other.ID || one.Check == other.Check {
		t.Errorf("ids and check values: %v %v %v", one.ID, same.ID, other.ID)
	}
	if strings.Contains(one.ID+one.Check+string(one.digestKey()), text) || string(one.digestKey()) == string(other.digestKey()) {
		t.Error("the derived key is not derived")
	}
}

// Stores are opened only where there is one: a slip in a path makes no database.
// Secret and documents survive, and another secret is refused.
//
// Proves: I8
func TestAnInstallationIsFoundAgain(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	a := Access{Database: Database{Path: filepath.Join(folder, "deep", "a.db")}, Now: time.Now, IDs: IDs{}}
	if _, err := a.Open(t.Context(), false); !errors.Is(err, ErrNoDatabase) {
		t.Errorf("opened what is not there: %v", err)
	}
	if _, err := os.Stat(a.Database.Path); err == nil {
		t.Error("a database was made")
	}
	if applied, all, err := a.Migrate(t.Context()); err != nil || len(applied) == 0 || len(all) != len(applied) {
		t.Fatalf("migrate: %v of %v, %v", applied, all, err)
	}
	store, err := a.Open(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	one, _ := NewSecret([]byte("a secret that nobody has to know"))
	other, _ := NewSecret([]byte("another secret, long enough"))
	for range 2 {
		if _, err := one.settle(t.Context(), store); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := other.settle(t.Context(), store); onefold.CodeOf(err) != onefold.CodeStoreUnavailable {
		t.Errorf("another secret: %v", err)
	}
}

// Check values that were deleted leave the fingerprints without a word of the secret
// that made them but its id. Another secret is refused all the same, and the right
// one, whose id is the beginning of its check value, is remembered again.
//
// Proves: I8
func TestASecretIsRecognisedWithoutItsCheckValue(t *testing.T) {
	t.Parallel()
	one, _ := NewSecret([]byte("a secret that nobody has to know"))
	other, _ := NewSecret([]byte("another secret, long enough"))
	for name, c := range map[string]struct {
		sql          string
		one, another bool // who may start
	}{
		"as it was":              {"", true, false},
		"without check values":   {"DELETE FROM secret_check", true, false},
		"with another's instead": {"UPDATE secret_check SET key_id = '" + other.ID + "', check_value = '" + other.Check + "'", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &storetest.Subject{Clock: storetest.NewClock(), IDs: &storetest.IDs{}}
			a := Access{Database: Database{Path: filepath.Join(t.TempDir(), "a.db")}, Now: s.Clock.Now, IDs: s.IDs}
			open := func() {
				store, err := a.Open(t.Context(), true)
				if err != nil {
					t.Fatal(err)
				}
				s.Store = store
			}
			open()
			if _, err := one.settle(t.Context(), s.Store); err != nil {
				t.Fatal(err)
			}
			s.Admit(t, "k", func(op *onefold.Operation) { op.FingerprintKey = one.ID })
			if err := s.Store.Close(); err != nil {
				t.Fatal(err)
			}
			harm(t, a.Database.Path, c.sql)
			open()
			defer func() {
				if err := s.Store.Close(); err != nil {
					t.Error(err)
				}
			}()
			if _, err := other.settle(t.Context(), s.Store); (err == nil) != c.another || err != nil && onefold.CodeOf(err) != onefold.CodeStoreUnavailable {
				t.Errorf("another secret: %v", err)
			}
			i, err := one.settle(t.Context(), s.Store)
			if (err == nil) != c.one {
				t.Errorf("the secret: %v", err)
			}
			if i, _ = s.Store.Installation(t.Context()); c.one && i.Secrets[one.ID] != one.Check {
				t.Errorf("the secret is not remembered: %+v", i)
			}
		})
	}
}

// harm changes a file behind its store's back.
func harm(t *testing.T, path, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
