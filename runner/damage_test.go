package runner_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/rig"
	"github.com/onefold-dev/onefold/sandbox"
)

// damage writes another amount into the stored request of an operation, as a bit
// that flips or a hand in the file does.
func damage(t *testing.T, path, id string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, text := range []string{
		`DROP TRIGGER payload_is_fixed`,
		`UPDATE payload SET request = CAST(replace(CAST(request AS TEXT), '1250.00', '9250.00') AS BLOB)
			WHERE operation = (SELECT num FROM operation WHERE id = '` + id + `')`,
	} {
		if _, err := db.ExecContext(context.Background(), text); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
}

// TestADamagedRequestIsNotSent damages what waits to be sent, and what is in doubt:
// neither is sent or judged by, and both belong to a person who is told why.
//
// Proves: I13, M2a, M16
func TestADamagedRequestIsNotSent(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"before it is sent": false, "in doubt": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "ledger.db")
			// Nothing is learnt by look-ups until the damage is done.
			var blind atomic.Bool
			blind.Store(true)
			r := rig.New(t, rig.Options{Path: path, Idle: true, Wrap: func(c onefold.Carrier) onefold.Carrier {
				return carrierFunc(c, func(ctx context.Context, d onefold.Dispatch) onefold.Exchange {
					if !d.Write && blind.Load() {
						return onefold.Exchange{NotSent: true, Failure: "connect"}
					}
					return c.Carry(ctx, d)
				})
			}})
			want := 0
			if lost {
				r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect})
				want = 1
			}
			op := r.Submit("orders.create", "k", `{"supplier":"S-81","item":"1250.00","quantity":12}`)
			if lost {
				r.Start()
				r.Until(op.ID, "in doubt", func(op *onefold.Operation) bool { return op.State == onefold.Uncertain })
				r.Stop()
			}
			damage(t, path, op.ID)
			blind.Store(false)
			r.Start()
			op = r.Until(op.ID, "with a person", func(op *onefold.Operation) bool { return len(op.OpenReviews()) > 0 })
			review := op.OpenReviews()[0]
			if review.Reason != onefold.ReviewUnsendable || !strings.Contains(review.Detail, "not what was admitted") {
				t.Errorf("the review is %s: %q", review.Reason, review.Detail)
			}
			agrees(t, r, op, want, want)
		})
	}
}
