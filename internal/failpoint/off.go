//go:build !failpoint

package failpoint

import "time"

// Before marks the place before a write by its name. In this build it does nothing.
func Before(string) {}

// After marks the place after a write by its name. In this build it does nothing.
func After(string) {}

// Note writes down that a place was passed, and by whom. In this build it does nothing.
func Note(_, _ string) {}

// WallClock is the clock that the process reads. In this build it is now itself.
func WallClock(now func() time.Time) func() time.Time { return now }
