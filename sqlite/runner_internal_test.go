package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
)

// Somebody looks from beside at the very moment at which a runner starts. The
// runner asks again and has the place; one that is held by a runner it has not,
// and it does not ask for ever.
//
// Proves: M12a
func TestALookFromBesideKeepsNoRunnerOut(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db.runner")
	look, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if held, err := lockHeld(look); err != nil || held { // shares the lock until the file is closed
		t.Fatalf("held %v, %v", held, err)
	}
	asked := 0
	p := runnerPlace{pause: func(context.Context, time.Duration) error {
		if asked++; asked == 3 {
			return look.Close()
		}
		return nil
	}}
	if _, err := p.take(t.Context(), path); err != nil || asked != 3 {
		t.Fatalf("after %d looks: %v", asked, err)
	}

	waited := time.Duration(0)
	second := runnerPlace{pause: func(_ context.Context, d time.Duration) error { waited += d; return nil }}
	if _, err := second.take(t.Context(), path); !errors.Is(err, onefold.ErrRunnerTaken) || waited != placeWithin {
		t.Errorf("a place that is taken: %v, after %v", err, waited)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := (&runnerPlace{}).take(ended, path); !errors.Is(err, context.Canceled) {
		t.Errorf("an end while it waits: %v", err)
	}
	if err := p.free(); err != nil {
		t.Error(err)
	}
	if _, err := second.take(t.Context(), path); err != nil {
		t.Errorf("a place that became free: %v", err)
	}
	if err := second.free(); err != nil {
		t.Error(err)
	}
}
