// Command jobqueue is a worker of a small job queue, in which jobs may run more
// than one time: they are enqueued twice, picked up again after a crash, or retried
// because they failed. Each job carries its order out by Ledger.Do, and does what
// the error says: it comes back when the next step is due, and is parked where a
// person has to decide.
//
// The ERP is a fake of its own process: it loses an answer, its client panics, it
// is busy, and for one order it never says anything useful.
//
//	go run ./examples/jobqueue
package main
