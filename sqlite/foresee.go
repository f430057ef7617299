package sqlite

import (
	"sync"
	"time"

	"github.com/onefold-dev/onefold"
)

// maxForesight is how old what was worked out before its turn may be when the turn
// comes: a queue of a few commits. Times in the history are then never wrong by more.
const maxForesight = 100 * time.Millisecond

// foreseen is what the law makes of an event, worked out by its caller while others
// are at the writer, so that the one writer has less to do. It counts only if it was
// worked out from what the writer finds at its turn: the same standing of the
// operation, which nobody has replaced meanwhile, of a connection that is not paused
// and was paused for as long, and no other operation with the same reference (M18).
type foreseen struct {
	base    *held // nil for an admission
	total   int64 // all pauses of the connection, nanoseconds
	at      time.Time
	next    onefold.Operation
	effects []onefold.Effect
	row     standingRow
}

func (f *foreseen) holds(base *held, c *connectionRow, now time.Time) bool {
	if f == nil || f.base != base || now.Before(f.at) || now.Sub(f.at) > maxForesight {
		return false
	}
	return c == nil && f.total == 0 || c != nil && c.since == 0 && c.total == f.total
}

// pauses keeps how long connections have been paused in all, as the writer last
// found them, where that is not zero. It is a guess until the writer compares it.
type pauses struct{ total sync.Map }

func (p *pauses) guess(ref onefold.ConnectionRef) int64 {
	if n, known := p.total.Load(ref); known {
		return n.(int64) //nolint:forcetypeassert // note stores nothing else
	}
	return 0
}

func (p *pauses) note(ref onefold.ConnectionRef, c *connectionRow) {
	if c != nil && c.total != 0 {
		p.total.Store(ref, c.total)
	}
}

func refOf(op *onefold.Operation) onefold.ConnectionRef {
	return onefold.ConnectionRef{Workspace: op.Workspace, Connection: op.Connection}
}

// foresee works a step out, nil where that cannot be done now or the law refuses:
// then the writer decides.
func (s *Store) foresee(id string, ev onefold.Event) *foreseen {
	h := s.known.find(id)
	if h == nil || !h.live {
		return nil
	}
	f := &foreseen{base: h, total: s.pauses.guess(refOf(&h.op)), at: s.opts.now()}
	ev.Connection.Paused, ev.Connection.PausedFor, ev.Recorded = false, time.Duration(f.total), nil
	var err error
	if f.next, f.effects, err = onefold.Apply(h.op, ev, f.at); err != nil {
		return nil
	}
	if f.row, err = rowOf(&f.next); err != nil {
		return nil
	}
	return f
}
