// Package peers measures what others offer for the same work, beside the
// benchmarks of internal/bench: the same callers, request, keys and settings. It
// is a module of its own, so that the product depends on none of them.
//
// What it promises: peers are tuned as their makers advise and beyond. What it
// does not: their promises are not the same. River's caller is answered when the
// work was done, not when its result is on disk, which flatters River.
package peers
