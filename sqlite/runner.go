package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/failpoint"
)

const (
	// lockSuffix names the side file whose lock is the runner's place.
	lockSuffix = ".runner"
	// endingPage is how many operations of an earlier runner are read at once.
	endingPage = 500
	// endingWorkers carry their ends out at once, so that they share commits.
	endingWorkers = 64
	// placeWithin is how long a lock that is held is asked for again, placeEvery how
	// often. Who looks from beside whether somebody runs the file shares the lock for
	// some microseconds: a runner that starts in them must not be told that the place
	// is taken. A runner holds it for hours; nobody minds a tenth of a second.
	placeWithin = 100 * time.Millisecond
	placeEvery  = 2 * time.Millisecond
)

// runnerPlace is the lock that makes this store's process the runner.
type runnerPlace struct {
	mu   sync.Mutex
	file *os.File
	// pause waits between two tries; nil means for that long, or until ctx ends.
	pause func(ctx context.Context, d time.Duration) error
}

// free gives the lock back; the operating system does the same when the
// process dies, however it dies.
func (p *runnerPlace) free() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file == nil {
		return nil
	}
	file := p.file
	p.file = nil
	if err := file.Close(); err != nil {
		return fmt.Errorf("sqlite: give the runner's place back: %w", err)
	}
	return nil
}

// take takes the lock, or says onefold.ErrRunnerTaken once it was held for as long
// as a look takes.
func (p *runnerPlace) take(ctx context.Context, path string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file != nil {
		return onefold.ErrRunnerTaken
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("sqlite: the runner's lock file: %w", err)
	}
	if err := p.lock(ctx, file); err != nil {
		return errors.Join(err, file.Close())
	}
	p.file = file
	return nil
}

// lock asks for the lock until it has it, or placeWithin is over.
func (p *runnerPlace) lock(ctx context.Context, file *os.File) error {
	pause := p.pause
	if pause == nil {
		pause = pauseFor
	}
	for waited := time.Duration(0); ; waited += placeEvery {
		err := lock(file)
		if !errors.Is(err, onefold.ErrRunnerTaken) || waited >= placeWithin {
			return err
		}
		if err := pause(ctx, placeEvery); err != nil {
			return err
		}
	}
}

func pauseFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// TakeRunner makes the caller the one runner of this file. The place is the
// operating system's lock on a side file: it is free at once when the process
// that holds it ends, and never earlier, so whoever gets it knows that every
// runner's lease that stands is of a process that is gone. Those leases are ended
// and the attempts under them closed (M12a) before TakeRunner returns. Of workers
// outside a runner (onefold.OutsideWorker) the place proves nothing: they may be
// at work beside it, and their leases and attempts are left to their own time. An operation
// that the law refuses or that fails is logged and left to the scan for expired
// leases: one of them does not stop the others. Errors:
// onefold.ErrRunnerTaken, store_unavailable, onefold.ErrCommitUnknown.
func (s *Store) TakeRunner(ctx context.Context, worker string) (release func() error, err error) {
	if err := s.runner.take(ctx, s.opts.Path+lockSuffix); err != nil {
		return nil, err
	}
	seq, err := s.enterRunner(ctx, worker)
	if err != nil {
		return nil, errors.Join(err, s.runner.free())
	}
	var once sync.Once
	return func() (err error) {
		once.Do(func() {
			err = errors.Join(s.leaveRunner(seq), s.runner.free())
		})
		return err
	}, nil
}

func (s *Store) enterRunner(ctx context.Context, worker string) (seq int64, err error) {
	failpoint.Before(failpoint.Taken)
	err = s.writer.do(ctx, func(w *session) error {
		return w.returning("runner.insert", []any{worker, nano(s.opts.now())}, &seq)
	})
	if err != nil {
		return 0, err
	}
	failpoint.After(failpoint.Taken)
	if err := s.endEarlier(ctx, "work.leased", s.endLease); err != nil {
		return 0, err
	}
	return seq, s.endEarlier(ctx, "work.unclosed", s.closeAttempts)
}

// leaveRunner writes down when the runner left; a store that is closed already
// cannot, and need not.
func (s *Store) leaveRunner(seq int64) error {
	err := s.writer.do(context.Background(), func(w *session) error {
		return w.must("runner.release", seq, nano(s.opts.now()))
	})
	if errors.Is(err, onefold.ErrStoreUnavailable) {
		return nil
	}
	return err
}

// endEarlier carries end out on every operation that a query finds, page by
// page.
func (s *Store) endEarlier(ctx context.Context, name string, end func(context.Context, *onefold.Operation) error) error {
	for after := int64(0); ; {
		page, err := collect(ctx, s.readers, name, scanOperation, after, endingPage)
		if err != nil {
			return s.readers.failure("look for an earlier runner's work", err)
		}
		if len(page) == 0 {
			return nil
		}
		sound := page[:0:0]
		for _, h := range page {
			after = max(after, h.num)
			if h.op.Unreadable != "" {
				s.tell(h.op.ID, h.op.Unreadable)
				continue
			}
			sound = append(sound, h)
		}
		if err := s.endPage(ctx, sound, end); err != nil {
			return err
		}
	}
}

func (s *Store) endPage(ctx context.Context, page []*held, end func(context.Context, *onefold.Operation) error) error {
	var (
		group  sync.WaitGroup
		mu     sync.Mutex
		failed error
		todo   = make(chan *held)
	)
	for range min(endingWorkers, len(page)) {
		group.Go(func() {
			for h := range todo {
				err := end(ctx, &h.op)
				if err == nil {
					continue
				}
				s.opts.Log.Error("an earlier runner's work could not be ended", "operation", h.op.ID, "error", err)
				if errors.Is(err, onefold.ErrStoreUnavailable) || errors.Is(err, onefold.ErrCommitUnknown) || ctx.Err() != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
				}
			}
		})
	}
	for _, h := range page {
		todo <- h
	}
	close(todo)
	group.Wait()
	return failed
}

// engineEvent is an event of the store's own housekeeping. It carries no policy:
// the law leaves the operation due at once, and the runner plans it.
func (s *Store) engineEvent(kind onefold.EventKind) onefold.Event {
	now := s.opts.now()
	return onefold.Event{
		Kind:     kind,
		Actor:    onefold.Actor{Kind: onefold.ActorEngine, Name: "runner start"},
		ReviewID: s.opts.IDs.New(onefold.PrefixReview, now),
		Chance:   s.opts.IDs.Chance(),
		Reason:   "the process of the earlier runner is gone",
	}
}

func (s *Store) endLease(ctx context.Context, op *onefold.Operation) error {
	if onefold.OutsideWorker(op.Lease.Worker) {
		return nil
	}
	ev := s.engineEvent(onefold.EventLeaseExpired)
	ev.Lease = &onefold.LeaseGrant{Worker: op.Lease.Worker, Token: op.Lease.Token, ProcessGone: true}
	if op.State == onefold.Attempting {
		ev.Evidence = &onefold.Evidence{
			ID: s.opts.IDs.New(onefold.PrefixEvidence, s.opts.now()), Kind: onefold.EvidenceLeaseExpiry,
			Asserts: onefold.AssertsNothing, Detail: "the process that held the lease is gone; what it sent is not known",
		}
	}
	failpoint.Before(failpoint.LeaseEnded)
	_, err := s.Step(ctx, op.ID, ev, 0)
	failpoint.After(failpoint.LeaseEnded)
	return err
}

func (s *Store) closeAttempts(ctx context.Context, op *onefold.Operation) error {
	for i := range op.Attempts {
		if a := &op.Attempts[i]; a.Closed() || onefold.OutsideWorker(a.Worker) {
			continue
		}
		ev := s.engineEvent(onefold.EventAttemptClosed)
		ev.Close = &onefold.AttemptClose{Attempt: op.Attempts[i].ID, By: onefold.ClosedByProcessEnd}
		failpoint.Before(failpoint.AttemptEnded)
		if _, err := s.Step(ctx, op.ID, ev, 0); err != nil {
			return err
		}
		failpoint.After(failpoint.AttemptEnded)
	}
	return nil
}
