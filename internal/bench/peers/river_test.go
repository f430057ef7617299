package peers

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	_ "modernc.org/sqlite" // the driver that River's documentation names

	"github.com/onefold-dev/onefold/internal/bench/measure"
)

// job is the request as River carries it.
type job struct {
	Key     string `json:"key" river:"unique"`
	Request string `json:"request"`
}

// Kind implements river.JobArgs.
func (job) Kind() string { return "noop" }

// waiting is who waits for which job.
type waiting struct{ callers sync.Map }

func (w *waiting) expect(key string) <-chan struct{} {
	done := make(chan struct{})
	w.callers.Store(key, done)
	return done
}

// noop is a worker that has nothing to do but to tell who waits.
type noop struct {
	river.WorkerDefaults[job]
	waiting *waiting
}

// Work implements river.Worker.
func (n *noop) Work(_ context.Context, j *river.Job[job]) error {
	if done, ok := n.waiting.callers.LoadAndDelete(j.Args.Key); ok {
		close(done.(chan struct{})) //nolint:forcetypeassert // expect stores nothing else
	}
	return nil
}

// peer is River on a file of its own.
type peer struct {
	db      *sql.DB
	client  *river.Client[*sql.Tx]
	waiting *waiting
}

// open makes the file and a client; working tells whether it carries jobs out,
// with the settings that were quickest. River's documentation asks for a pool of
// one connection on SQLite.
func open(b *testing.B, driver, dsn string, working bool) *peer {
	b.Helper()
	p := &peer{waiting: &waiting{}}
	var err error
	if p.db, err = sql.Open(driver, dsn); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = p.db.Close() })
	p.db.SetMaxOpenConns(1)
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	m, err := rivermigrate.New(riversqlite.New(p.db), &rivermigrate.Config{Logger: quiet})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := m.Migrate(b.Context(), rivermigrate.DirectionUp, nil); err != nil {
		b.Fatal(err)
	}
	c := &river.Config{Logger: quiet, Workers: river.NewWorkers(), FetchCooldown: time.Millisecond, FetchPollInterval: time.Millisecond}
	if working {
		c.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 1000}}
	}
	river.AddWorker(c.Workers, &noop{waiting: p.waiting})
	if p.client, err = river.NewClient(riversqlite.New(p.db), c); err != nil {
		b.Fatal(err)
	}
	if working {
		if err := p.client.Start(context.WithoutCancel(b.Context())); err != nil {
			b.Fatal(err)
		}
	}
	return p
}

func fresh(b *testing.B, working bool) *peer {
	b.Helper()
	return open(b, "sqlite", "file:"+filepath.Join(b.TempDir(), "river.db")+measure.Settings, working)
}

func (p *peer) insert(ctx context.Context, key string, unique bool) error {
	var o *river.InsertOpts
	if unique {
		o = &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}}
	}
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := p.client.InsertTx(ctx, tx, job{key, measure.Request}, o); err != nil {
		return err
	}
	return tx.Commit()
}

// closed inserts a job and waits until it was worked.
func (p *peer) closed(ctx context.Context) error {
	key := measure.Key()
	done := p.waiting.expect(key)
	if err := p.insert(ctx, key, false); err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *peer) stop(b *testing.B) {
	b.Helper()
	if err := p.client.Stop(context.Background()); err != nil {
		b.Fatal(err)
	}
}

func each(b *testing.B, run func(b *testing.B, callers int)) {
	b.Helper()
	for _, n := range measure.Callers() {
		b.Run(fmt.Sprintf("River/callers=%d", n), func(b *testing.B) { run(b, n) })
	}
}

// BenchmarkAdmission is an insert with a unique key until it is durable.
func BenchmarkAdmission(b *testing.B) {
	each(b, func(b *testing.B, callers int) {
		p := fresh(b, false)
		measure.Together(b, callers, func() error { return p.insert(b.Context(), measure.Key(), true) })
	})
}

// BenchmarkWholePath is an insert until its job was worked.
func BenchmarkWholePath(b *testing.B) {
	each(b, func(b *testing.B, callers int) {
		p := fresh(b, true)
		measure.Together(b, callers, func() error { return p.closed(b.Context()) })
		p.stop(b)
	})
}

// BenchmarkRepeat is an insert whose unique key is known.
func BenchmarkRepeat(b *testing.B) {
	each(b, func(b *testing.B, callers int) {
		p := fresh(b, false)
		key := measure.Key()
		measure.Together(b, callers, func() error { return p.insert(b.Context(), key, true) })
	})
}

// BenchmarkWrites counts what River writes and syncs, up to a closed file.
func BenchmarkWrites(b *testing.B) {
	disk := measure.NewDisk("counted-river")
	for _, n := range []int{1, 64} {
		b.Run(fmt.Sprintf("River/callers=%d", n), func(b *testing.B) {
			p := open(b, measure.Driver, disk.DSN(filepath.Join(b.TempDir(), "river.db"), measure.Settings), true)
			disk.Reset()
			measure.Together(b, n, func() error { return p.closed(b.Context()) })
			p.stop(b)
			if err := p.db.Close(); err != nil {
				b.Fatal(err)
			}
			disk.Report(b)
		})
	}
}
