// Package rig puts a whole onefold together inside a test's process: a real
// SQLite file, real contracts, real HTTP over loopback to a sandbox with a
// ledger of its own, a runner and a ledger. Tests of what happens over time and
// benchmarks of the whole path stand on it.
package rig
