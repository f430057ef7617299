package deployment

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/contract"
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
