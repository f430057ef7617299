//go:build !linux

package bootclock

import "time"

// CountsSuspension says whether this system's clock counts suspended time.
const CountsSuspension = false

// origin is where this process's readings begin.
var origin = time.Now()

// Now returns the time since the process was started by the runtime's
// monotonic clock. It is safe for concurrent use and does not allocate.
func Now() time.Duration { return time.Since(origin) }
