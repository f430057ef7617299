// Package crash torments the real binary and holds its ledger against the
// target's own afterwards: processes of their own, real sockets, real files. It
// kills it between any two of its writes, at random and while it recovers, stops
// it beyond its lease, ends it with calls in flight, and takes file descriptors,
// disk and a true clock away from it. Every fault proves that it happened, and a
// run in which nothing was ever in doubt fails.
//
// The target is a sandbox that takes the same reference as often as it comes, so
// that a second effect can happen, in a process of its own (ONEFOLD_CRASH_JUDGE).
// ONEFOLD_SOAK=10m makes the random run longer, ONEFOLD_SEED=N repeats one. The
// package has tests only, for systems with Unix signals.
package crash
