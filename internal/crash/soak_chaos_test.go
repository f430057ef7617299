//go:build unix

package crash

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/onefold-dev/onefold/internal/failpoint"
)

// chaos is what befalls the process.
type chaos struct {
	*soak
	chance *rand.Rand
}

type chaosKind struct {
	name string
	do   func(*chaos)
}

func chaosKinds() []chaosKind {
	return []chaosKind{
		{"kill at random", (*chaos).kill},
		{"kill during recovery", (*chaos).killTwice},
		{"kill at a named place", (*chaos).killAtPlace},
		{"panic at a named place", (*chaos).panicAtPlace},
		{"pause beyond the lease", (*chaos).pauseBeyondLease},
		{"pause beyond straggler", (*chaos).pauseBeyondStraggler},
		{"pause at a named place", (*chaos).pauseAtPlace},
		{"drain", (*chaos).drain},
		{"drain overrun", (*chaos).overrun},
	}
}

// live goes through every kind in some order, and then goes on by chance.
func (c *chaos) live(end time.Time) {
	kinds := chaosKinds()
	c.chance.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	c.start("")
	for n := 0; (n < len(kinds) || time.Now().Before(end)) && !c.t.Failed(); n++ {
		kind := kinds[c.chance.IntN(len(kinds))]
		if n < len(kinds) {
			kind = kinds[n]
		}
		c.peace(800 * time.Millisecond)
		if c.h.serve.gone() {
			c.t.Fatalf("onefold ended, and nobody had asked for it: %s\n%s", c.h.serve.cmd.ProcessState, c.h.serve.log)
		}
		kind.do(c)
		c.count(kind.name)
	}
}

// peace lets work be done for a while.
func (c *chaos) peace(most time.Duration) { c.pause(time.Duration(c.chance.Int64N(int64(most)))) }

// start starts onefold, in place of the process that runs, if one does. Where it
// is armed it may be gone before it is ready.
func (s *soak) start(points string) {
	if s.h.serve != nil && !s.h.serve.gone() {
		s.publish("")
		s.h.serve.drained(s.t)
	}
	s.h.open(points)
	if points == "" && s.h.serve.url == "" {
		s.h.serve.ended(s.t)
		s.t.Fatalf("onefold did not start again\n%s", s.h.serve.log)
	}
	s.publish(s.h.serve.url)
}

// swap starts onefold armed, mostly after a kill, sometimes after a drain.
func (c *chaos) swap(points string) {
	if c.chance.IntN(4) > 0 {
		c.h.serve.signal(syscall.SIGKILL)
		c.killed()
	}
	c.start(points)
}

// killed makes sure that the process died by a kill and nothing else.
func (c *chaos) killed() {
	c.t.Helper()
	c.publish("")
	c.h.serve.ended(c.t)
	status, ok := c.h.serve.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		c.t.Errorf("the process ended by %s, not by a kill\n%s", c.h.serve.cmd.ProcessState, c.h.serve.log)
	}
}

func (c *chaos) kill() {
	c.h.serve.signal(syscall.SIGKILL)
	c.killed()
	c.start("")
}

// killTwice kills again while the next process comes up.
func (c *chaos) killTwice() {
	c.h.serve.signal(syscall.SIGKILL)
	c.killed()
	for range 1 + c.chance.IntN(3) {
		cmd := c.h.serving("")
		if err := cmd.Start(); err != nil {
			c.t.Fatal(err)
		}
		c.pause(time.Duration(c.chance.Int64N(int64(150 * time.Millisecond))))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	c.start("")
}

// somewhere is a place that a busy process soon reaches.
func (c *chaos) somewhere() string {
	names := []string{
		failpoint.Claimed, failpoint.Frozen, failpoint.FirstByte, failpoint.Sent, failpoint.Committed, failpoint.Taken,
		"admitted", "leased", "begun", "answered", "looked_up",
	}
	name := names[c.chance.IntN(len(names))]
	side := "before-"
	if name != failpoint.FirstByte && c.chance.IntN(2) == 0 {
		side = "after-"
	}
	count := 1
	if name != failpoint.Taken {
		count += c.chance.IntN(20)
	}
	return fmt.Sprintf("%s%s@%d", side, name, count)
}

// reached waits until the armed place was reached.
func (c *chaos) reached(place string) {
	c.t.Helper()
	until(c.t, place, func() bool { return c.h.fired(place) })
}

func (c *chaos) killAtPlace() {
	place := c.somewhere()
	c.swap(place)
	c.reached(place)
	c.killed()
	c.start("")
}

// panicAtPlace: one goroutine breaks. Who is prepared for it goes on, otherwise
// the process ends; both are in order.
func (c *chaos) panicAtPlace() {
	place := c.somewhere()
	c.broken.Store(true)
	c.swap(place + "=panic")
	c.reached(place)
	c.peace(500 * time.Millisecond)
	if c.h.serve.gone() {
		c.count("panics that ended the process")
	} else {
		c.count("panics that were survived")
		c.h.serve.signal(syscall.SIGKILL)
	}
	c.publish("")
	c.h.serve.ended(c.t)
	c.start("")
	c.pause(patientFor) // the last answers of the broken one are read by then
	c.broken.Store(false)
}

// stopped pauses the process and proves that it does nothing meanwhile.
func (c *chaos) stopped(d time.Duration) {
	c.h.serve.signal(syscall.SIGSTOP)
	c.pause(d / 2)
	client := http.Client{Timeout: d/2 + time.Millisecond}
	if res, err := client.Get(c.h.serve.url + "/livez"); err == nil { //nolint:noctx // the client has a time-out
		_ = res.Body.Close()
		c.t.Error("a stopped process answers")
	}
	c.h.serve.signal(syscall.SIGCONT)
}

func (c *chaos) pauseBeyondLease() { c.stopped(soakLease * 3 / 2) }

func (c *chaos) pauseBeyondStraggler() { c.stopped(soakLease + soakStraggler*3/2) }

// pauseAtPlace freezes the process between two of its writes, among them the last
// check and the first byte.
func (c *chaos) pauseAtPlace() {
	place := c.somewhere()
	if strings.HasSuffix(strings.Split(place, "@")[0], failpoint.Taken) {
		place = "before-" + failpoint.FirstByte // a start that hangs has no address yet
	}
	c.swap(place + "=stop")
	c.reached(place)
	c.pause(soakLease + time.Duration(c.chance.Int64N(int64(soakStraggler))))
	c.h.serve.signal(syscall.SIGCONT)
}

// drain ends the process in good order with slow calls in flight.
func (c *chaos) drain() {
	c.start("")
	c.peace(time.Second)
	c.start("")
}

// overrun ends it while calls are in flight that do not end in time.
func (c *chaos) overrun() {
	flags := c.h.flags
	c.h.flags = append(append([]string{}, flags...), "--drain-timeout", "0s")
	defer func() { c.h.flags = flags }()
	for {
		c.start("")
		c.peace(1500 * time.Millisecond)
		c.publish("")
		c.h.serve.drained(c.t)
		if strings.Contains(c.h.serve.log.String(), "drain time-out") {
			break
		}
	}
	c.h.flags = flags
	c.start("")
}
