// Package machine is what a program that embeds onefold takes from the machine
// that it runs on: a clock that goes on while the machine sleeps, and identifiers
// from its random source. Everything else in onefold takes clocks, identifiers and
// chance as arguments.
//
// What it promises is what the machine does: on Linux Boot counts suspended time
// (M9); elsewhere it counts it on some systems and not on others.
package machine
