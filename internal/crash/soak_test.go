//go:build unix

package crash

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
)

const (
	soakEnv = "ONEFOLD_SOAK"
	seedEnv = "ONEFOLD_SEED"
	// shortSoak is how long faults happen where ONEFOLD_SOAK does not say otherwise.
	shortSoak = 35 * time.Second
	callers   = 64
)

// soak is one run: callers, an operator, a target that misbehaves, and a process
// that is killed, stopped and ended again and again.
type soak struct {
	t    testing.TB
	h    *house
	seed uint64

	address atomic.Pointer[string] // of the API; "" while there is none
	leave   atomic.Bool            // callers begin nothing new
	broken  atomic.Bool            // a goroutine of the process panics: it may be the caller's own
	ended   chan struct{}          // everybody goes home

	mu     sync.Mutex
	told   map[string]string // operation → the terminal state that somebody was told
	counts map[string]int
}

// The times of the process under test: a lease and a straggler that a pause can
// outlast within a test.
const (
	soakLease     = time.Second
	soakStraggler = 2 * time.Second
)

// Proves: M4, M6, M8, M9, M10, M11, M12, M12a, M13, M16, M22, M24, I3
func TestSoak(t *testing.T) {
	t.Parallel()
	length := shortSoak
	if text := os.Getenv(soakEnv); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatalf("%s: %v", soakEnv, err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(seedEnv); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", seedEnv, err)
		}
	}
	t.Logf("seed %d: %s=%d makes the same choices", seed, seedEnv, seed)
	s := newSoak(t, seed)
	began := time.Now()
	s.run(length)
	t.Logf("seed %d, %s of faults, %s in all", seed, length, time.Since(began).Round(time.Second))
}

func newSoak(t testing.TB, seed uint64) *soak {
	s := &soak{t: t, seed: seed, ended: make(chan struct{}), told: map[string]string{}, counts: map[string]int{}}
	s.h = newHouse(t, nil, "soak", func(docs string) string {
		docs = strings.Replace(docs, "limits: {in_flight: 64, unresolved: 100}", "limits: {in_flight: 64, unresolved: 100000}", 1)
		// The target works at most this long on a request whose connection is gone:
		// a promise that it has to keep on a slow machine too.
		return strings.Replace(docs, "processing: 1s\n", "processing: 3s\n", 1)
	})
	s.h.flags = []string{"--lease", soakLease.String(), "--scan", "100ms", "--straggler", soakStraggler.String(), "--drain-timeout", "4s"}
	s.publish("")
	return s
}

func (s *soak) chance(who uint64) *rand.Rand { return rand.New(rand.NewPCG(s.seed, who)) } //nolint:gosec // to be repeated

func (s *soak) publish(address string) { s.address.Store(&address) }

func (s *soak) call(method, path, body string, headers ...string) answer {
	address := *s.address.Load()
	if address == "" {
		return answer{}
	}
	return send(address, method, path, body, headers...)
}

func (s *soak) count(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[what]++
}

// silent tells whether an answer says nothing about what was asked: there was
// none, or the server drains, or the goroutine that should have answered broke.
func (s *soak) silent(a answer) bool {
	return a.status == 0 || a.status == http.StatusServiceUnavailable || a.status == http.StatusInternalServerError && s.broken.Load()
}

// heard notes what somebody was told: a terminal state stands for good (M20).
func (s *soak) heard(op answer) {
	if op.text("id") == "" || !settled(op) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.told[op.text("id")]; before != "" && before != op.text("state") {
		s.t.Errorf("%s was told to be %s, and is told to be %s", op.text("id"), before, op.text("state"))
	}
	s.told[op.text("id")] = op.text("state")
}

// pause waits a little, or until everybody goes home: then it is false.
func (s *soak) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.ended:
		return false
	}
}

func (s *soak) run(length time.Duration) {
	var people, rest sync.WaitGroup
	for i := range callers {
		people.Go(func() { (&caller{soak: s, number: i, chance: s.chance(uint64(100 + i))}).live() })
	}
	p := &planner{soak: s, chance: s.chance(1), outstanding: map[string]string{}}
	rest.Go(func() { (&operator{soak: s, chance: s.chance(2), seen: map[string]time.Time{}}).live() })
	rest.Go(p.live)
	stopAll := sync.OnceFunc(func() { s.leave.Store(true); close(s.ended); rest.Wait(); people.Wait() })
	s.t.Cleanup(stopAll)

	(&chaos{soak: s, chance: s.chance(3)}).live(time.Now().Add(length))

	// Faults stop, once each of them has happened.
	s.start("")
	p.stop.Store(true)
	until(s.t, "the planned faults", func() bool { return p.waiting.Load() == 0 })
	s.leave.Store(true)
	people.Wait()
	s.settle()
	stopAll()
	s.h.serve.drained(s.t)
	s.judge(p)
}

// settle waits until every operation has ended: nothing goes wrong any more, and
// the operator decides what is a person's to decide.
func (s *soak) settle() {
	s.t.Helper()
	open := []string{}
	if !within(2*patience, func() bool {
		open = open[:0]
		for _, state := range []string{"prepared", "attempting", "uncertain"} {
			page := s.call(http.MethodGet, "/v1/operations?limit=20&state="+state, "")
			if page.status != http.StatusOK {
				return false
			}
			for _, op := range page.items() {
				open = append(open, fmt.Sprintf("%v %v %v next %v doubt %v reviews %v holds %v", op["id"], op["capability"], op["state"], op["next"], op["doubt"], op["reviews"], op["holds"]))
			}
		}
		stats := s.call(http.MethodGet, "/v1/stats", "")
		return len(open) == 0 && stats.number("open_attempts") == 0
	}) {
		s.t.Errorf("not everything settled after the faults stopped: %s\n%s", strings.Join(open, "\n"), s.h.serve.log)
	}
}

// judge compares the ledgers, and what callers were told with both.
func (s *soak) judge(p *planner) {
	s.t.Helper()
	ops := s.h.operations()
	faults := s.h.judge.faults()
	n := compare(s.t, ops, s.h.started(), s.h.judge.effects(s.h.account), s.h.judge.requests(s.h.account), faults)
	s.t.Log(n)
	if n.uncertain == 0 || n.states[onefold.Confirmed] == 0 {
		s.t.Error("nothing was ever in doubt, or nothing ever worked: this run tested nothing")
	}
	states := map[string]onefold.State{}
	for i := range ops {
		states[ops[i].ID] = ops[i].State
	}
	for id, told := range s.told {
		if states[id] != onefold.State(told) {
			s.t.Errorf("somebody was told that %s is %s; the ledger says %q", id, told, states[id])
		}
	}
	fired := map[string]int{}
	for _, f := range faults {
		if len(f.Fired) == 0 {
			s.t.Errorf("the planned fault %s %s never happened", f.ID, f.Kind)
		}
		fired[f.Kind]++
	}
	for _, kind := range p.kinds() {
		if fired[kind] == 0 {
			s.t.Errorf("no fault of the kind %s was planned", kind)
		}
	}
	s.t.Logf("faults of the target: %v", fired)
	s.t.Logf("what happened: %v", s.counts)
	for _, kind := range chaosKinds() {
		if s.counts[kind.name] == 0 {
			s.t.Errorf("there was no %s", kind.name)
		}
	}
}
