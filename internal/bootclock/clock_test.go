package bootclock_test

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onefold-dev/onefold/internal/bootclock"
)

// Readings never go back, not within a goroutine and not from one to another
// that started later.
//
// Proves: M9
func TestReadingsNeverGoBack(t *testing.T) {
	t.Parallel()
	before := bootclock.Now()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			last := before
			for range 10_000 {
				now := bootclock.Now()
				if now < last {
					t.Errorf("the clock went back from %v to %v", last, now)
					return
				}
				last = now
			}
		})
	}
	group.Wait()
}

// An hour on this clock is an hour: over a stretch without suspension it
// advances as the runtime's does.
//
// Proves: M9
func TestAdvancesAsTheRuntimesClock(t *testing.T) {
	t.Parallel()
	first, started := bootclock.Now(), time.Now()
	<-time.After(50 * time.Millisecond)
	took, measured := bootclock.Now()-first, time.Since(started)
	if took < 50*time.Millisecond || took > measured+5*time.Millisecond {
		t.Errorf("the clock counted %v where the runtime counted %v", took, measured)
	}
}

// On Linux the reading is the time since the machine was started, suspensions
// included, which the kernel also tells in /proc/uptime. CLOCK_MONOTONIC would
// pass only on a machine that never slept; the test says so by asking for the
// clock that the kernel's own number is made of.
//
// Proves: M9
func TestCountsFromTheMachinesStart(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		if bootclock.CountsSuspension {
			t.Error("only Linux is known to count suspended time")
		}
		return
	}
	before := bootclock.Now()
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		t.Fatal(err)
	}
	after := bootclock.Now()
	seconds, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	uptime := time.Duration(seconds * float64(time.Second))
	if uptime < before-20*time.Millisecond || uptime > after+20*time.Millisecond {
		t.Errorf("between %v and %v the kernel said %v", before, after, uptime)
	}
}
