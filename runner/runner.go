package runner

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/onefold-dev/onefold"
)

// Defaults of Config.
const (
	// DefaultLease is how long a lease lasts (M9).
	DefaultLease = onefold.DefaultLease
	// DefaultScan is how often expired leases are looked for (M9).
	DefaultScan = time.Second
	// DefaultDrain is how long calls in flight may go on after the end was asked for.
	DefaultDrain = 25 * time.Second
	// DefaultConcurrency bounds what is under way over all connections: each
	// costs a goroutine, a socket and an answer's buffer.
	DefaultConcurrency = 1024
)

// Config sets a runner up. Worker and Boot are required; zero durations mean
// the defaults.
type Config struct {
	// Worker names this runner in leases, attempts and the timeline.
	Worker string
	// Boot is a monotonic clock that also counts suspended time (M9).
	Boot func() time.Duration
	// Lease, Scan and Drain are the timings of M9 and of the end.
	Lease, Scan, Drain time.Duration
	// Concurrency bounds attempts and look-ups under way.
	Concurrency int
	// UserAgent is sent with every request.
	UserAgent string
	Logger    *slog.Logger
	// Targets are the Go functions that carry the operations of targets with
	// protocol: go, by the target's name. Operations of such a target that is not
	// named here are left to the program that has its functions.
	Targets map[string]onefold.Steps
}

// Runner carries operations out. Create it with New.
type Runner struct {
	ledger  *onefold.Ledger
	store   onefold.Store
	carrier onefold.Carrier
	cfg     Config
	log     *slog.Logger
	worker  *onefold.Worker

	slots     *slots
	kick      chan struct{}
	wake      wakeTime
	uncarried uncarried
	turns     turns

	// work bounds calls in flight: it ends when the drain time-out is over.
	work    context.Context
	endWork context.CancelFunc
}

// New returns a runner of a ledger. carrier carries the requests of all targets
// but those with protocol: go; it may be nil where there are only such.
func New(ledger *onefold.Ledger, carrier onefold.Carrier, cfg Config) (*Runner, error) {
	if ledger == nil || carrier == nil && len(cfg.Targets) == 0 || cfg.Worker == "" || cfg.Boot == nil {
		return nil, errors.New("runner: a ledger, a carrier or Go targets, a worker's name and a boot clock are required")
	}
	if onefold.OutsideWorker(cfg.Worker) {
		return nil, errors.New("runner: names that begin so are of workers outside a runner: " + cfg.Worker)
	}
	for target, steps := range cfg.Targets {
		if steps.Write == nil {
			return nil, errors.New("runner: the target " + target + " has no Write function")
		}
	}
	cfg.Lease = orDefault(cfg.Lease, DefaultLease)
	cfg.Scan = orDefault(cfg.Scan, DefaultScan)
	cfg.Drain = orDefault(cfg.Drain, DefaultDrain)
	if cfg.Concurrency <= 0 {
		cfg.Concurrency = DefaultConcurrency
	}
	log := cfg.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	cfg.Targets = maps.Clone(cfg.Targets)
	r := &Runner{
		ledger: ledger, store: ledger.Store(), carrier: carrier, cfg: cfg, log: log,
		slots: newSlots(cfg.Concurrency), kick: make(chan struct{}, 1), uncarried: uncarried{met: map[onefold.ConnectionRef]bool{}},
		turns: turns{},
	}
	worker, err := onefold.NewWorker(ledger, onefold.WorkerConfig{
		Name: cfg.Worker, Boot: cfg.Boot, Carrier: r.carrierOf, Lease: cfg.Lease, UserAgent: cfg.UserAgent, Logger: log,
	})
	if err != nil {
		return nil, err
	}
	r.worker = worker
	return r, nil
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d <= 0 {
		return otherwise
	}
	return d
}

// Run takes the store's place for a runner and works until ctx ends; then it
// drains: no new leases, calls in flight may finish within Config.Drain, the
// rest is recorded as uncertain. It returns onefold.ErrRunnerTaken if another
// runner holds the store, and nil after a drain. A runner runs once.
func (r *Runner) Run(ctx context.Context) (err error) {
	release, err := r.store.TakeRunner(ctx, r.cfg.Worker)
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil // asked to end before it had begun: there is nothing to drain
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()

	r.work, r.endWork = context.WithCancel(context.WithoutCancel(ctx))
	defer r.endWork()
	r.ledger.Watch(r.watch, r.nudge)
	defer r.ledger.Watch(nil, nil)
	r.ledger.TakeAhead(r.takeAhead)
	defer r.ledger.TakeAhead(nil)

	var loops sync.WaitGroup
	loops.Go(func() { r.housekeep(ctx) })
	r.dispatch(ctx)
	r.slots.close()
	loops.Wait()
	r.drain()
	return nil
}

// drain waits for what is in flight, then cuts it off and lets the outcomes be
// recorded.
func (r *Runner) drain() {
	done := make(chan struct{})
	go func() { r.slots.wait(); close(done) }()
	timer := time.NewTimer(r.cfg.Drain)
	defer timer.Stop()
	select {
	case <-done:
		return
	case <-timer.C:
		r.log.Warn("drain time-out: calls in flight are cut off and recorded as uncertain")
	}
	r.endWork()
	<-done
}

// watch hears of every operation that this process admits or changes.
func (r *Runner) watch(op onefold.Operation, admitted bool) {
	if op.IsBarred() {
		r.slots.withdraw(op.ID)
	}
	if op.Lease == nil && !admitted {
		r.slots.letGo(op.ID)
	}
	if op.Due == nil || op.Lease != nil {
		return
	}
	connection := onefold.ConnectionRef{Workspace: op.Workspace, Connection: op.Connection}
	if !r.carries(connection) {
		return
	}
	if admitted && !op.Due.After(op.CreatedAt) && !r.slots.isBehind(connection) {
		started, _ := r.start(onefold.DueItem{ID: op.ID, Connection: connection, Due: *op.Due})
		if started {
			return
		}
	}
	if r.wake.earlier(*op.Due) {
		r.nudge()
	}
}

func (r *Runner) nudge() {
	select {
	case r.kick <- struct{}{}:
	default:
	}
}
