package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/onefold-dev/onefold"
)

const (
	// poisonFor is how long an operation whose record is damaged is left out of what
	// is due: long enough that it costs the others nothing, short enough that one
	// that was mended by hand goes on by itself.
	poisonFor = time.Minute
	// maxPoison bounds how many are remembered at once; beyond it they are found out
	// anew, each at the price of one refused lease.
	maxPoison = 1024
)

// poison remembers operations whose damaged records keep them from being leased
// although their rows say that they are due. They stay the longest waiting for ever,
// and would take the places of all others of their connection (invariant 25). It is
// safe for concurrent use.
type poison struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// mark leaves an operation out for a while; first tells whether it was not left out
// before.
func (p *poison) mark(id string, now time.Time) (first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until == nil || len(p.until) >= maxPoison {
		p.until = map[string]time.Time{}
	}
	_, known := p.until[id]
	p.until[id] = now.Add(poisonFor)
	return !known
}

// size is how many may be left out.
func (p *poison) size() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.until)
}

// has tells whether an operation is left out now. One whose time is over may be
// tried again, and stays known as one that was told of.
func (p *poison) has(id string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	until, known := p.until[id]
	return known && now.Before(until)
}

// tell logs that an operation's record is damaged, once.
func (s *Store) tell(id, why string) {
	if s.poison.mark(id, s.opts.now()) {
		s.opts.Log.Error("a stored operation is damaged and left alone; onefold doctor says more", "operation", id, "damage", why)
	}
}

// suspect looks why an operation that its row says is due was refused a lease: a
// record that cannot be read, or columns that are not what the standing says.
func (s *Store) suspect(ctx context.Context, id string, refused error) {
	switch onefold.CodeOf(refused) { //nolint:exhaustive // what else is refused is no sign of damage
	case onefold.CodeRecordUnreadable:
		s.tell(id, reasonOf(refused))
		return
	case onefold.CodeNotDue, onefold.CodeAlreadySettled, onefold.CodeHeld, onefold.CodeNotAllowed:
	default:
		return
	}
	op, err := s.Operation(ctx, "", id)
	if err != nil {
		return
	}
	due, token := sql.NullInt64{}, sql.NullInt64{}
	if err := s.readers.row(ctx, "work.row", []any{id}, &due, &token); err != nil {
		return
	}
	if !token.Valid && anyInt(due) != nullNano(op.Due) {
		s.tell(id, "its column due_at is not what its standing says")
	}
}

// reasonOf is what stands behind a refusal, for the log.
func reasonOf(err error) string {
	if e, ok := errors.AsType[*onefold.Error](err); ok && e.Cause != nil {
		return e.Cause.Error()
	}
	return err.Error()
}
