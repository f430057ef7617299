package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
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
	path string
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
// as a look takes. made tells that there was no file: then the lock proves nothing
// about who ran before, who may still hold the lock of a file that was removed.
func (p *runnerPlace) take(ctx context.Context, path string) (made bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file != nil {
		return false, onefold.ErrRunnerTaken
	}
	for range maxTaken {
		file, made, err := openPlace(path)
		if err != nil {
			return false, fmt.Errorf("sqlite: the runner's lock file: %w", err)
		}
		if !made {
			err = p.lock(ctx, file)
		}
		if err == nil && isAt(file, path) {
			p.file, p.path = file, path
			return made, nil
		}
		if err := errors.Join(err, file.Close()); err != nil {
			return false, err
		}
	}
	return false, onefold.ErrRunnerTaken // somebody removes and makes it all the time
}

// maxTaken bounds how often a lock file that vanishes is taken anew.
const maxTaken = 8

// openPlace opens the lock file, or makes it: locked before anybody can see it.
func openPlace(path string) (file *os.File, made bool, err error) {
	file, err = os.OpenFile(path, os.O_RDWR, 0o600)
	if !errors.Is(err, fs.ErrNotExist) {
		return file, false, err
	}
	file, err = makePlace(path)
	if errors.Is(err, fs.ErrExist) {
		file, err = os.OpenFile(path, os.O_RDWR, 0o600)
		return file, false, err
	}
	return file, err == nil, err
}

func makePlace(path string) (_ *os.File, err error) {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return nil, err
	}
	err = lock(file)
	if err == nil {
		err = os.Link(file.Name(), path)
	}
	if removed := os.Remove(file.Name()); err == nil {
		err = removed
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// isAt tells whether an open file is the one at a path.
func isAt(file *os.File, path string) bool {
	is, err := os.Stat(path)
	if err != nil {
		return false
	}
	own, err := file.Stat()
	return err == nil && os.SameFile(is, own)
}

// still tells that the place is this process's for everybody to see, if it took it.
// A lock file that was removed is made again; where somebody else was quicker the
// place is lost.
func (p *runnerPlace) still(log *slog.Logger) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file == nil || isAt(p.file, p.path) {
		return nil
	}
	file, err := makePlace(p.path)
	if err != nil {
		return errors.Join(errPlaceLost, err)
	}
	log.Warn("the runner's lock file was removed; it is made again", "path", p.path)
	old := p.file
	p.file = file
	return old.Close()
}

// errPlaceLost is the cause of what is refused once another process may be the runner.
var errPlaceLost = errors.New("the runner's lock file is not the one that this process holds")

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
// runner's lease that stands is of a process that is gone, unless that file had to be
// made and the earlier runner never left (enterRunner). Those leases are ended
// and the attempts under them closed (M12a) before TakeRunner returns. Of workers
// outside a runner (onefold.OutsideWorker) the place proves nothing: they may be
// at work beside it, and their leases and attempts are left to their own time. An operation
// that the law refuses or that fails is logged and left to the scan for expired
// leases: one of them does not stop the others. Errors:
// onefold.ErrRunnerTaken, store_unavailable, onefold.ErrCommitUnknown.
func (s *Store) TakeRunner(ctx context.Context, worker string) (release func() error, err error) {
	made, err := s.runner.take(ctx, s.opts.Path+lockSuffix)
	if err != nil {
		return nil, err
	}
	seq, err := s.enterRunner(ctx, worker, made)
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

// enterRunner notes the new runner and ends what earlier ones left. Where the lock
// file was made now and the runner before never left in good order, it may still be
// at work: its file was removed under it. Then, and for whoever comes after, nothing
// is proven of it and of those before it: what they have under way ends by its own
// time (M12a).
func (s *Store) enterRunner(ctx context.Context, worker string, made bool) (int64, error) {
	earlier, taken, released := "", int64(0), sql.NullInt64{}
	err := s.readers.row(ctx, "health.runner", []any{int64(math.MaxInt64)}, &earlier, &taken, &released)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, s.readers.failure("look for the earlier runner", err)
	}
	unproven := err == nil && made && !released.Valid
	if unproven {
		s.opts.Log.Warn("the runner's lock file was not there, and the earlier runner did not leave in good order: it may still be at work, so that what it had under way ends by its own time",
			"earlier", earlier)
	}
	failpoint.Before(failpoint.Taken)
	seq := int64(0) // the writer's, if the caller is gone before its turn
	err = s.writer.do(ctx, func(w *session) error {
		return w.returning("runner.insert", []any{worker, nano(s.opts.now()), flag(unproven)}, &seq)
	})
	if err != nil {
		return 0, err
	}
	failpoint.After(failpoint.Taken)
	gone, err := s.provenGone(ctx)
	if err != nil {
		return 0, err
	}
	if err := s.endEarlier(ctx, "work.leased", gone, s.endLease); err != nil {
		return 0, err
	}
	return seq, s.endEarlier(ctx, "work.unclosed", gone, s.closeAttempts)
}

// provenGone tells of which workers this process's place proves that they are gone:
// of every runner's, but for those before one that proved nothing.
func (s *Store) provenGone(ctx context.Context) (func(worker string) bool, error) {
	since := int64(0)
	if err := s.readers.row(ctx, "runner.unproven", nil, &since); err != nil {
		return nil, s.readers.failure("look for earlier runners", err)
	}
	if since == 0 {
		return func(worker string) bool { return !onefold.OutsideWorker(worker) }, nil
	}
	names, err := collect(ctx, s.readers, "runner.proven", scanText, since)
	if err != nil {
		return nil, s.readers.failure("look for earlier runners", err)
	}
	return func(worker string) bool { return slices.Contains(names, worker) }, nil
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
func (s *Store) endEarlier(ctx context.Context, name string, gone func(worker string) bool, end ending) error {
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
		if err := s.endPage(ctx, sound, gone, end); err != nil {
			return err
		}
	}
}

func (s *Store) endPage(ctx context.Context, page []*held, gone func(worker string) bool, end ending) error {
	var (
		group  sync.WaitGroup
		mu     sync.Mutex
		failed error
		todo   = make(chan *held)
	)
	for range min(endingWorkers, len(page)) {
		group.Go(func() {
			for h := range todo {
				err := end(ctx, &h.op, gone)
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

// ending ends what workers of whom gone says so have under way with an operation.
type ending func(ctx context.Context, op *onefold.Operation, gone func(worker string) bool) error

func (s *Store) endLease(ctx context.Context, op *onefold.Operation, gone func(worker string) bool) error {
	if op.Lease == nil {
		s.tell(op.ID, "its row has a lease, and its standing has none")
		return nil
	}
	if !gone(op.Lease.Worker) {
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

func (s *Store) closeAttempts(ctx context.Context, op *onefold.Operation, gone func(worker string) bool) error {
	for i := range op.Attempts {
		if a := &op.Attempts[i]; a.Closed() || !gone(a.Worker) {
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
