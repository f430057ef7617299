package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/failpoint"
)

const (
	// maxBatch bounds the steps that share a transaction: beyond a few hundred
	// the sync is paid for and only the wait of the first in the batch grows.
	maxBatch = 512
	// maxQueue bounds the steps that wait; callers beyond it wait to be let in.
	maxQueue = 4096
)

// errBrokenStep is a fault of ours: a step that lost a failure on its way.
var errBrokenStep = errors.New("a statement failed and its step did not say so")

// task is one step on its way through the writer. run carries it out; it may be
// run again, in a transaction of its own, and starts afresh then.
type task struct {
	run   func(*session) error
	done  chan error // buffered: the writer never waits for a caller
	state atomic.Int32
	err   error
}

// The states of a task. Who moves it out of taskWaiting decides its fate: the
// writer takes it, or its caller gives it up.
const (
	taskWaiting int32 = iota
	taskTaken
	taskGivenUp
)

// writer is the one writer of a store: it takes whatever waits, carries it out
// in one transaction, and answers after the commit. There is no timer: while
// one commit runs, the next batch gathers.
type writer struct {
	db      *sql.DB
	opts    *Options
	queries queries
	known   *known // what committed steps left behind
	pauses  *pauses
	present *presence
	queue   chan *task
	stopped chan struct{}
	session *session // nil: to be opened; the writer's goroutine's alone

	mu     sync.RWMutex // held for reading while a task is put into the queue
	closed bool
}

func openWriter(ctx context.Context, opts *Options, q queries, k *known, p *pauses, present *presence) (*writer, error) {
	c, err := newConnector(opts, writerSettings(opts))
	if err != nil {
		return nil, err
	}
	w := &writer{
		db: sql.OpenDB(c), opts: opts, queries: q, known: k, pauses: p, present: present,
		queue: make(chan *task, maxQueue), stopped: make(chan struct{}),
	}
	w.db.SetMaxOpenConns(1)
	if w.session, err = openSession(ctx, w.db, opts, q, p); err != nil {
		return nil, errors.Join(storeError("open for writing", err), w.db.Close())
	}
	go w.loop()
	return w, nil
}

// stop lets the steps that wait be carried out and refuses later ones.
func (w *writer) stop() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.queue)
	}
	w.mu.Unlock()
	<-w.stopped
}

func (w *writer) close() error {
	w.stop()
	var failed error
	if w.session != nil {
		failed = w.session.close()
		w.session = nil
	}
	return errors.Join(failed, w.db.Close())
}

// do carries a step out and returns when it is durable. Where ctx ends while
// the step still waits, nothing is done and ctx's error comes back; where it
// ends later, what became of the step is not known: ErrCommitUnknown.
func (w *writer) do(ctx context.Context, run func(*session) error) error {
	if err := ctx.Err(); err != nil {
		return notBegun(ctx)
	}
	t := &task{run: run, done: make(chan error, 1)}
	if err := w.enqueue(ctx, t); err != nil {
		return err
	}
	select {
	case err := <-t.done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-t.done:
		return err
	default:
	}
	if t.state.CompareAndSwap(taskWaiting, taskGivenUp) {
		return notBegun(ctx)
	}
	return fmt.Errorf("%w: %w", onefold.ErrCommitUnknown, context.Cause(ctx))
}

func (w *writer) enqueue(ctx context.Context, t *task) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return unavailable("the store is closed", "", nil)
	}
	select {
	case w.queue <- t:
		return nil
	case <-ctx.Done():
		return notBegun(ctx)
	}
}

func notBegun(ctx context.Context) error {
	return fmt.Errorf("sqlite: nothing was done: %w", context.Cause(ctx))
}

func (w *writer) loop() {
	defer close(w.stopped)
	batch := make([]*task, 0, maxBatch)
	for first := range w.queue {
		batch = w.gather(append(batch[:0], first))
		if len(batch) == 0 {
			continue
		}
		w.carryOut(batch)
		for i, t := range batch {
			t.done <- t.err
			batch[i] = nil
		}
	}
}

// gather takes what waits and was not given up.
func (w *writer) gather(batch []*task) []*task {
	taken := batch[:0]
	if batch[0].state.CompareAndSwap(taskWaiting, taskTaken) {
		taken = batch
	}
	for len(taken) < maxBatch {
		select {
		case t, open := <-w.queue:
			if !open {
				return taken
			}
			if t.state.CompareAndSwap(taskWaiting, taskTaken) {
				taken = append(taken, t)
			}
		default:
			return taken
		}
	}
	return taken
}

// carryOut runs the steps of a batch in one transaction and leaves each its
// outcome. Where one of them fails in a way that may have left something
// behind, all is undone and each is run in a transaction of its own, so that it
// harms itself alone.
func (w *writer) carryOut(batch []*task) {
	if w.transaction(batch) {
		return
	}
	for i := range batch {
		if w.transaction(batch[i : i+1]) {
			continue
		}
		if _, refused := errors.AsType[*onefold.Error](batch[i].err); !refused {
			w.opts.Log.Error("a step failed and was undone", "error", batch[i].err)
		}
	}
}

// transaction runs steps in one transaction. It is false where a step failed
// and everything was undone; the error of that step is then in the task.
func (w *writer) transaction(batch []*task) bool {
	if err := w.present.check(); err != nil {
		setAll(batch, err)
		return true
	}
	if err := w.begin(); err != nil {
		setAll(batch, storeError("begin", err))
		return true
	}
	for _, t := range batch {
		if !w.step(t) {
			w.undo()
			return false
		}
	}
	if err := w.session.flush(); err != nil {
		setAll(batch, storeError("count", err))
		w.undo()
		return true
	}
	failpoint.Before(failpoint.Committed)
	if err := w.session.commit(); err != nil {
		setAll(batch, w.commitFailed(err))
		return true
	}
	failpoint.After(failpoint.Committed)
	// Nobody is told of what was written to a file that is not at its path any more.
	if err := w.present.check(); err != nil {
		setAll(batch, fmt.Errorf("%w: %w", onefold.ErrCommitUnknown, err))
		return true
	}
	w.known.keep(w.session.changed)
	return true
}

func (w *writer) begin() error {
	ctx := context.Background()
	if w.session == nil {
		s, err := openSession(ctx, w.db, w.opts, w.queries, w.pauses)
		if err != nil {
			return err
		}
		w.session = s
	}
	err := w.session.begin()
	if err != nil && classify(err) != failureBusy {
		w.discard()
	}
	return err
}

// step runs one step. It is false where the step failed after it wrote, or so
// that the transaction cannot be trusted; a refusal that wrote nothing is none
// of this and leaves the transaction as it was.
func (w *writer) step(t *task) (sound bool) {
	s := w.session
	before := s.writes
	t.err = nil
	defer func() {
		if r := recover(); r != nil {
			t.err = fmt.Errorf("sqlite: a step panicked: %v", r)
			sound = false
		}
	}()
	err := t.run(s)
	if err == nil && s.broken {
		err = errBrokenStep
	}
	if err == nil {
		return true
	}
	t.err = storeError("step", err)
	return !s.broken && s.writes == before
}

// undo rolls back; a connection on which that fails is not used again.
func (w *writer) undo() {
	if err := w.session.rollback(); err != nil {
		w.opts.Log.Error("a transaction could not be rolled back", "error", err)
		w.discard()
	}
}

// commitFailed says what a failed commit means. One that found the file busy
// did not happen and is undone; of every other the outcome is unknown: its
// pages may or may not have reached the disk.
func (w *writer) commitFailed(err error) error {
	if classify(err) == failureBusy {
		if undone := w.session.rollback(); undone == nil {
			return storeError("commit", err)
		}
	}
	w.opts.Log.Error("the outcome of a commit is unknown", "error", err)
	w.discard()
	return fmt.Errorf("%w: %w", onefold.ErrCommitUnknown, err)
}

func (w *writer) discard() {
	if w.session == nil {
		return
	}
	if err := w.session.close(); err != nil {
		w.opts.Log.Warn("the writer's connection did not close", "error", err)
	}
	w.session = nil
	// The pool would hand the same connection out again.
	w.db.SetMaxIdleConns(0)
	w.db.SetMaxIdleConns(1)
}

func setAll(batch []*task, err error) {
	for _, t := range batch {
		t.err = err
	}
}
