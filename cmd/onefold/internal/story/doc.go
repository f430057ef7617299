// Package story is what `onefold dev` shows: some sixteen operations at a
// target that misbehaves on request, and what became of each.
//
// It promises that it is a client like any other: it submits over the HTTP API,
// queues faults at the sandbox's admin API, and counts requests and effects in
// the sandbox's own ledger. Nothing that it tells is known beforehand: every
// outcome is read back from the server, every number from the sandbox. A step
// that goes wrong is told as such.
//
// It is over within ten seconds on an idle machine, but for what waits for a
// person.
package story
