package bench

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/rig"
)

// request is what both sides store: about 200 bytes of JSON.
const request = `{"supplier":"S-81","number":"INV-0042","total":"1250.00","memo":"a memo of a common length, so that the request has about two hundred bytes as the peers' requests have","trace_id":"0123456789abcdef"}`

// callers are the numbers of concurrent callers that every case is run with.
var callers = []int{1, 8, 64}

// together runs b.N operations by n callers and reports the rate.
func together(b *testing.B, n int, op func(i int64) error) {
	b.Helper()
	b.ReportAllocs()
	var next, failed atomic.Int64
	var first atomic.Pointer[error]
	b.ResetTimer()
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			for {
				i := next.Add(1)
				if i > int64(b.N) {
					return
				}
				if err := op(i); err != nil {
					failed.Add(1)
					first.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	group.Wait()
	b.StopTimer()
	if err := first.Load(); err != nil {
		b.Fatalf("%d operations failed, the first with: %v", failed.Load(), *err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
}

// callerKey makes 32 characters without order, as callers' keys have none.
func callerKey(i int64) string {
	digest := sha256.Sum256([]byte(strconv.FormatInt(i, 10)))
	return hex.EncodeToString(digest[:16])
}

// noop is a target in the same process that always confirms.
type noop struct{}

func (noop) Carry(_ context.Context, d onefold.Dispatch) onefold.Exchange {
	if d.MayStart != nil && !d.MayStart() {
		return onefold.Exchange{NotSent: true, Failure: "deadline_before_send"}
	}
	return onefold.Exchange{
		Status: 201, Complete: true, Body: []byte(`{"id":"BILL-1","total":"1250.00"}`),
		Headers: []onefold.Header{{Name: "Content-Type", Value: "application/json"}},
	}
}

func (noop) CredentialDigest(context.Context, onefold.Route) (string, error) { return "", nil }

func onefoldRig(b *testing.B, idle bool) *rig.Rig {
	b.Helper()
	return rig.New(b, rig.Options{Carrier: noop{}, Idle: idle, Edit: func(text string) string {
		return strings.NewReplacer("SANDBOX_URL", "http://127.0.0.1:1", "in_flight: 64", "in_flight: 256", "unresolved: 100", "unresolved: 1000000").Replace(text)
	}})
}

func BenchmarkAdmission(b *testing.B) {
	for _, n := range callers {
		b.Run(fmt.Sprintf("onefold/callers=%d", n), func(b *testing.B) {
			r := onefoldRig(b, true)
			together(b, n, func(i int64) error {
				_, _, err := r.Ledger.Submit(b.Context(), r.Submission("bills.create", callerKey(i), request))
				return err
			})
		})
		b.Run(fmt.Sprintf("hand-written/callers=%d", n), func(b *testing.B) {
			t := openTable(b)
			together(b, n, func(i int64) error { return t.admit(b.Context(), callerKey(i)) })
		})
	}
}

func BenchmarkWholePath(b *testing.B) {
	for _, n := range callers {
		b.Run(fmt.Sprintf("onefold/callers=%d", n), func(b *testing.B) {
			r := onefoldRig(b, false)
			together(b, n, func(i int64) error {
				op, _, err := r.Ledger.Submit(b.Context(), r.Submission("bills.create", callerKey(i), request))
				if err != nil {
					return err
				}
				op, err = r.Ledger.Wait(b.Context(), rig.Workspace, op.ID, onefold.Rested)
				if err == nil && op.State != onefold.Confirmed {
					err = fmt.Errorf("the operation is %s", op.State)
				}
				return err
			})
		})
		b.Run(fmt.Sprintf("hand-written/callers=%d", n), func(b *testing.B) {
			t := openTable(b)
			together(b, n, func(i int64) error {
				key := callerKey(i)
				if err := t.admit(b.Context(), key); err != nil {
					return err
				}
				if err := t.start(b.Context(), key); err != nil {
					return err
				}
				return t.finish(b.Context(), key)
			})
		})
	}
}

func BenchmarkRepeat(b *testing.B) {
	for _, n := range callers {
		b.Run(fmt.Sprintf("onefold/callers=%d", n), func(b *testing.B) {
			r := onefoldRig(b, false)
			op := r.Submit("bills.create", "k", request)
			r.UntilState(op.ID, onefold.Confirmed)
			together(b, n, func(int64) error {
				_, replayed, err := r.Ledger.Submit(b.Context(), r.Submission("bills.create", "k", request))
				if err == nil && !replayed {
					err = fmt.Errorf("a repeat was admitted")
				}
				return err
			})
		})
		b.Run(fmt.Sprintf("hand-written/callers=%d", n), func(b *testing.B) {
			t := openTable(b)
			for _, err := range []error{t.admit(b.Context(), "k"), t.start(b.Context(), "k"), t.finish(b.Context(), "k")} {
				if err != nil {
					b.Fatal(err)
				}
			}
			together(b, n, func(int64) error { return t.repeat(b.Context(), "k") })
		})
	}
}

// table is the hand-written idempotency table: one row for each caller key,
// three commits for each operation, on one writing connection and a few that
// read, which is what suits SQLite best.
type table struct {
	write, read *sql.DB
}

func openTable(b *testing.B) *table {
	b.Helper()
	path := filepath.Join(b.TempDir(), "table.db")
	const settings = "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=wal_autocheckpoint(4000)&_txlock=immediate"
	open := func(conns int) *sql.DB {
		db, err := sql.Open("sqlite", "file:"+path+settings)
		if err != nil {
			b.Fatal(err)
		}
		db.SetMaxOpenConns(conns)
		db.SetMaxIdleConns(conns)
		b.Cleanup(func() { _ = db.Close() })
		return db
	}
	t := &table{write: open(1), read: open(4)}
	_, err := t.write.Exec(`create table idem (
		id integer primary key, tenant text not null, key text not null, request_hash blob not null,
		request text not null, state text not null default 'admitted', attempt int not null default 0,
		locked_at int, response text, created_at int not null default (unixepoch()), finished_at int,
		unique (tenant, key))`)
	if err != nil {
		b.Fatal(err)
	}
	return t
}

var hash = make([]byte, 32)

func (t *table) admit(ctx context.Context, key string) error {
	_, err := t.write.ExecContext(ctx, `insert into idem (tenant, key, request_hash, request) values ('acme', ?, ?, ?) on conflict do nothing`, key, hash, request)
	return err
}

func (t *table) start(ctx context.Context, key string) error {
	_, err := t.write.ExecContext(ctx, `update idem set state = 'started', attempt = attempt + 1, locked_at = unixepoch() where tenant = 'acme' and key = ? and state = 'admitted'`, key)
	return err
}

func (t *table) finish(ctx context.Context, key string) error {
	_, err := t.write.ExecContext(ctx, `update idem set state = 'done', response = '{"id":"BILL-1"}', finished_at = unixepoch(), locked_at = null where tenant = 'acme' and key = ? and state = 'started'`, key)
	return err
}

func (t *table) repeat(ctx context.Context, key string) error {
	var state string
	var response sql.NullString
	return t.read.QueryRowContext(ctx, `select state, response from idem where tenant = 'acme' and key = ?`, key).Scan(&state, &response)
}
