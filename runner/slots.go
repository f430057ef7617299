package runner

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/onefold-dev/onefold"
)

// slots counts what is under way, in all and for each connection, and keeps to
// the connections' rates.
type slots struct {
	mu     sync.Mutex
	max    int
	total  int
	using  map[onefold.ConnectionRef]int
	paces  map[onefold.ConnectionRef]*pace
	active map[string]*atomic.Bool // operation id → withdrawn
	closed bool
	group  sync.WaitGroup // one for each place that is taken
	// behind are the connections that have work for which there was no place, with
	// the look at due work during which that was noticed.
	behind map[onefold.ConnectionRef]uint64
	look   uint64
}

type pace struct {
	limit   float64
	limiter *rate.Limiter
}

func newSlots(limit int) *slots {
	return &slots{
		max: limit, using: map[onefold.ConnectionRef]int{}, paces: map[onefold.ConnectionRef]*pace{},
		active: map[string]*atomic.Bool{}, behind: map[onefold.ConnectionRef]uint64{},
	}
}

// take reserves a place for an operation. It fails if the operation is under way
// already, or no place or no rate is left; wait then is how long the rate needs.
func (s *slots) take(item onefold.DueItem, limits onefold.Limits) (withdrawn *atomic.Bool, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	withdrawn, wait = s.reserve(item, limits)
	if withdrawn == nil {
		s.behind[item.Connection] = s.look
	}
	return withdrawn, wait
}

// takeNew is take for an operation that is only about to be admitted: what waits
// already goes first.
func (s *slots) takeNew(item onefold.DueItem, limits onefold.Limits) *atomic.Bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, behind := s.behind[item.Connection]; behind {
		return nil
	}
	withdrawn, _ := s.reserve(item, limits)
	return withdrawn
}

func (s *slots) reserve(item onefold.DueItem, limits onefold.Limits) (withdrawn *atomic.Bool, wait time.Duration) {
	if s.closed || s.active[item.ID] != nil || s.total >= s.max || s.using[item.Connection] >= limits.InFlight {
		return nil, 0
	}
	if limits.PerSecond > 0 {
		p := s.paces[item.Connection]
		if p == nil || p.limit != limits.PerSecond {
			burst := max(1, int(limits.PerSecond))
			p = &pace{limits.PerSecond, rate.NewLimiter(rate.Limit(limits.PerSecond), burst)}
			s.paces[item.Connection] = p
		}
		if !p.limiter.Allow() {
			return nil, time.Duration(float64(time.Second) / limits.PerSecond)
		}
	}
	s.total++
	s.using[item.Connection]++
	s.group.Add(1)
	withdrawn = new(atomic.Bool)
	s.active[item.ID] = withdrawn
	return withdrawn, 0
}

// close lets nothing be taken any more; wait returns when all places were given
// back.
func (s *slots) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
}

func (s *slots) wait() { s.group.Wait() }

// letGo forgets that an operation is under way, because its lease is over: who
// hangs on to it keeps a place, but must not keep the operation from its next
// step (M10).
func (s *slots) letGo(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.active, id)
}

// looking notes that due work is about to be looked for.
func (s *slots) looking() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look++
}

// looked notes how many operations the look found of each connection, of which it
// asked for at most asked[connection], or others: where it found as many, there may
// be more. A connection for which nothing waited since the look began has caught up.
func (s *slots) looked(found, asked map[onefold.ConnectionRef]int, others int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := func(c onefold.ConnectionRef) int {
		if n, named := asked[c]; named {
			return n
		}
		return others
	}
	for c, n := range found {
		if n >= limit(c) {
			s.behind[c] = s.look
		}
	}
	for c, look := range s.behind {
		if look < s.look && limit(c) > 0 {
			delete(s.behind, c)
		}
	}
}

// isBehind tells whether operations of a connection wait for a place.
func (s *slots) isBehind(c onefold.ConnectionRef) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, behind := s.behind[c]
	return behind
}

// waiting tells whether anything waits for a place.
func (s *slots) waiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.behind) > 0
}

// give returns a place that take gave with the given mark.
func (s *slots) give(item onefold.DueItem, withdrawn *atomic.Bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.group.Done()
	if s.active[item.ID] == withdrawn {
		delete(s.active, item.ID)
	}
	s.total--
	if s.using[item.Connection]--; s.using[item.Connection] == 0 {
		delete(s.using, item.Connection)
	}
}

// free tells how many more operations each busy connection may have under way,
// and how many there may be in all.
func (s *slots) free(limits func(onefold.ConnectionRef) onefold.Limits) (map[onefold.ConnectionRef]int, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	free := make(map[onefold.ConnectionRef]int, len(s.using))
	for c, n := range s.using {
		free[c] = max(0, limits(c).InFlight-n)
	}
	return free, s.max - s.total
}

// withdraw marks an operation under way as withdrawn, so that its first byte is
// not written if it was not yet.
func (s *slots) withdraw(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if flag := s.active[id]; flag != nil {
		flag.Store(true)
	}
}

// wakeTime is the earliest time for which the dispatcher is set.
type wakeTime struct {
	mu sync.Mutex
	at time.Time
}

// earlier notes a time at which something is due and tells whether it lies
// before everything noted so far.
func (w *wakeTime) earlier(at time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.at.IsZero() || at.Before(w.at) {
		w.at = at
		return true
	}
	return false
}

func (w *wakeTime) set(at time.Time) {
	w.mu.Lock()
	w.at = at
	w.mu.Unlock()
}
