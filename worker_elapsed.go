package onefold

import (
	"sync"
	"time"
)

// maxSightings bounds what a process remembers; of what it forgot, as of what
// happened before it began, it knows by the store's time alone.
const maxSightings = 16 << 10

// sightings is what a process knows by its boot clock about attempts that it saw
// end, or go silent. The store's time can jump; how long a target has had to work
// on a request since its attempt ended, and how long a worker has been silent, is
// held against a clock that does not (M12, M12a). Safe for concurrent use.
type sightings struct {
	mu sync.Mutex
	of map[string]sighting
	// first is when this process first sent what is not settled.
	first map[string]time.Duration
}

// sighting is what was seen of one operation.
type sighting struct {
	end       time.Time     // the store's time of the last attempt's end, zero: none was seen
	ended     time.Duration // the boot clock's, or earlier
	open      string        // the attempt that went silent, "": none was seen to
	openSince time.Duration
}

// dispatched remembers when this process first sent an operation; boot is from before
// the attempt was begun. A later attempt changes nothing of it.
func (s *sightings) dispatched(op *Operation, boot time.Duration) {
	if len(op.Attempts) != 1 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.first) >= maxSightings {
		for id := range s.first {
			delete(s.first, id)
			break
		}
	}
	if s.first == nil {
		s.first = map[string]time.Duration{}
	}
	s.first[op.ID] = boot
}

// sentFor is how long ago this process first sent an operation, by the boot clock; 0
// where it does not know. The store's time can step back, and a window at the target
// that is over must not seem open again (M11a).
func (s *sightings) sentFor(id string, boot time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	first, known := s.first[id]
	if !known {
		return 0
	}
	return boot - first
}

// note remembers how a step left an operation; boot is from before the step.
func (s *sightings) note(op *Operation, kind EventKind, boot time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if op.Settled() {
		delete(s.first, op.ID)
	}
	if op.State != Uncertain && !op.OpenAttempt() {
		delete(s.of, op.ID)
		return
	}
	switch kind {
	case EventAnswered, EventAttemptClosed, EventLeaseExpired:
	default:
		return
	}
	seen, known := s.of[op.ID]
	if !known && len(s.of) >= maxSightings {
		for id := range s.of {
			delete(s.of, id)
			break
		}
	}
	if end := lastEnd(op); !end.IsZero() && !end.Equal(seen.end) {
		seen.end, seen.ended = end, boot
	}
	if open := lastOpen(op); open != seen.open {
		seen.open, seen.openSince = open, boot
	}
	if s.of == nil {
		s.of = map[string]sighting{}
	}
	s.of[op.ID] = seen
}

// lastOpen is the last attempt that went silent and was not closed yet.
func lastOpen(op *Operation) string {
	for i := len(op.Attempts) - 1; i >= 0; i-- {
		if op.Attempts[i].Open {
			return op.Attempts[i].ID
		}
	}
	return ""
}

// began is when a look-up began that was leased at the given times: by the
// store's, but no longer after the last attempt's end than the boot clock says.
func (s *sightings) began(op *Operation, leased time.Time, boot time.Duration) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen, known := s.of[op.ID]
	if !known || !seen.end.Equal(lastEnd(op)) {
		return leased
	}
	if atMost := seen.end.Add(boot - seen.ended); atMost.Before(leased) {
		return atMost
	}
	return leased
}

// silent tells whether an attempt that is open has been so for the given time, as
// far as the boot clock knows.
func (s *sightings) silent(op *Operation, straggler, boot time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen, known := s.of[op.ID]
	return !known || seen.open == "" || seen.open != lastOpen(op) || boot-seen.openSince >= straggler
}
