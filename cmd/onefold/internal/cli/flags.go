package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// day is 24 hours: documents and flags count so.
const day = 24 * time.Hour

// The ranges of flags. A value outside is a slip of the hand, and a command that
// took it would do something odd or nothing.
const (
	// leastTiming is as fine as timers and stored times are good for.
	leastTiming = time.Millisecond
	// leastLease is some commits long: a shorter lease is over before its work began.
	leastLease = 100 * time.Millisecond
	// leastScan keeps a runner from asking its database all the time.
	leastScan = 10 * time.Millisecond
	// mostScan: what is found by scanning would be found too late for a person.
	mostScan = time.Hour
	// mostTiming bounds what a process waits for by itself.
	mostTiming = day
	// mostPatience bounds what waits for people and for targets.
	mostPatience = 30 * day
	// mostAge is a hundred years, for what never is over.
	mostAge = 100 * 365 * day
	// mostBytes is more than a machine has.
	mostBytes = 1 << 50
	// mostVersion is as far as a contract's versions count.
	mostVersion = math.MaxInt32
)

// ranged is a flag's value with its range.
type ranged interface {
	pflag.Value
	// Range says the range in words: from A to B.
	Range() string
}

// addRanged gives a command a flag whose help names its range.
func addRanged(f *pflag.FlagSet, v ranged, name, usage string) {
	f.Var(v, name, usage+"; "+v.Range())
}

// outside is the refusal of a value that is out of its range.
func outside(v ranged, what, text string) error {
	return fmt.Errorf("%s %s is wanted, not %q", what, v.Range(), text)
}

// numberFlag is a whole number.
type numberFlag[T int | int64] struct {
	value       *T
	least, most T
}

// String returns the number, "" for none.
func (n numberFlag[T]) String() string {
	if n.value == nil || *n.value == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*n.value), 10)
}

// Set reads a number within the range.
func (n numberFlag[T]) Set(text string) error {
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil || value < int64(n.least) || value > int64(n.most) {
		return outside(n, "a whole number", text)
	}
	*n.value = T(value)
	return nil
}

// Type names the flag's values in help texts.
func (n numberFlag[T]) Type() string { return "N" }

// Range says the range in words.
func (n numberFlag[T]) Range() string { return fmt.Sprintf("from %d to %d", n.least, n.most) }

// durationFlag is a duration as documents write it: Go's, with d for days.
type durationFlag struct {
	value       *time.Duration
	least, most time.Duration
}

// String returns the duration in Go's spelling, "" for none.
func (d durationFlag) String() string {
	if d.value == nil || *d.value == 0 {
		return ""
	}
	return d.value.String()
}

// Set reads a duration within the range.
func (d durationFlag) Set(text string) error {
	value, err := parseDuration(text)
	if err != nil || value < d.least || value > d.most {
		return outside(d, "a duration such as 30s or 7d,", text)
	}
	*d.value = value
	return nil
}

// Type names the flag's values in help texts.
func (d durationFlag) Type() string { return "D" }

// Range says the range in words.
func (d durationFlag) Range() string { return "from " + shortly(d.least) + " to " + shortly(d.most) }

// shortly is a duration as one writes it: 36500d, 1h, 100ms.
func shortly(d time.Duration) string {
	switch {
	case d != 0 && d%day == 0:
		return strconv.FormatInt(int64(d/day), 10) + "d"
	case d != 0 && d%time.Hour == 0:
		return strconv.FormatInt(int64(d/time.Hour), 10) + "h"
	}
	return d.String()
}

// parseDuration reads Go's durations, with a leading number of days.
func parseDuration(text string) (time.Duration, error) {
	rest, days := text, time.Duration(0)
	if before, after, found := strings.Cut(text, "d"); found {
		n, err := strconv.ParseUint(before, 10, 32)
		if err != nil || time.Duration(n) > mostAge/day {
			return 0, fmt.Errorf("%q is no duration such as 30s or 7d", text)
		}
		rest, days = after, time.Duration(n)*day
		if rest == "" {
			return days, nil
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d > math.MaxInt64-days || days > 0 && d < 0 {
		return 0, fmt.Errorf("%q is no duration such as 30s or 7d", text)
	}
	return days + d, nil
}

// bytesFlag is a number of bytes: plain, or with KiB, MiB, GiB or TiB.
type bytesFlag struct{ value *int64 }

// String returns the number with its largest whole unit.
func (b bytesFlag) String() string {
	if b.value == nil || *b.value == 0 {
		return ""
	}
	return inUnits(*b.value)
}

// inUnits is a number of bytes with its largest whole unit.
func inUnits(n int64) string {
	for i := len(byteUnits()) - 1; i >= 0; i-- {
		if u := byteUnits()[i]; n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// Set reads a number within the range.
func (b bytesFlag) Set(text string) error {
	digits, unit := text, int64(1)
	for _, u := range byteUnits() {
		if rest, found := strings.CutSuffix(text, u.name); found && u.name != "" {
			digits, unit = strings.TrimSpace(rest), u.bytes
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || n > mostBytes/unit {
		return outside(b, "a number of bytes such as 1000000 or 64MiB,", text)
	}
	*b.value = n * unit
	return nil
}

// Type names the flag's values in help texts.
func (b bytesFlag) Type() string { return "BYTES" }

// Range says the range in words.
func (b bytesFlag) Range() string { return "from 1 to " + inUnits(mostBytes) }

type byteUnit struct {
	name  string
	bytes int64
}

func byteUnits() []byteUnit {
	return []byteUnit{{"", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}}
}
