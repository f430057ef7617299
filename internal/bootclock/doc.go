// Package bootclock is a clock that never goes back and that also counts the
// time during which the machine was suspended (M9): an attempt that began
// before a laptop's lid was closed is over when it is opened again.
//
// On Linux it reads CLOCK_BOOTTIME. Elsewhere it reads the runtime's monotonic
// clock, which counts suspended time on some systems and not on others; there
// a suspension can make an attempt's deadline look further away than it is.
//
// Readings are durations since an instant that nothing is promised about; only
// the difference of two readings of one process means anything. They never go
// to a database and never to another process.
package bootclock
