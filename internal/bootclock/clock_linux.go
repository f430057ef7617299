package bootclock

import (
	"time"

	"golang.org/x/sys/unix"
)

// CountsSuspension says whether this system's clock counts suspended time.
const CountsSuspension = true

// Now returns the time since the machine was started, suspensions included. It
// is safe for concurrent use and does not allocate.
func Now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		// Every kernel since 2.6.39 has the clock, and a reading of anything else
		// would silently move every deadline.
		panic("bootclock: the kernel has no CLOCK_BOOTTIME: " + err.Error())
	}
	return time.Duration(ts.Nano())
}
