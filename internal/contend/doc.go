// Package contend sets callers, operators, workers and time against each other on
// one whole onefold in the test's process, for the race detector to watch: claims
// under load, whose histories a checker of linearizability judges; withdrawals at
// every point of an attempt; decisions against late answers and against each
// other; renewals against expiry. It has tests only.
package contend
