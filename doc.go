// Package onefold is the domain of onefold: the vocabulary, the law of
// transitions, and the ledger that callers use. It is for software that writes
// into somebody else's system and must not do it twice, nor lose it, nor claim
// what it cannot know.
//
// A caller submits an operation under a key of its own. The ledger binds the
// key, within workspace and capability, to a fingerprint of the normalized
// request and stores it before anything is sent; one worker carries it out
// under a lease; every attempt is sent under one request identity; and where
// the answer is lost the operation is uncertain until a safe replay, a look-up
// at the target, an event or a person settles it.
//
// A runner carries operations out over time (package runner). A program with a
// scheduler of its own carries them out one by one with Ledger.Do, by functions of
// its own (Steps); both use the one Worker. The examples of this package are its
// manual, one for each promise; docs/how-to/embed.md shows whole programs.
//
// The law is one table in transition.go, listed by Transitions and carried out
// by Apply, which is pure. Stores load, call the law, and write; they never
// decide. The package imports the standard library only: storage, contracts,
// transport and interfaces live in the folders that have their names and meet
// the domain at the interfaces Store, Contracts, Binding and Carrier.
//
// What the package does not promise: that a target behaves as its contract
// says, or that a process which is frozen between its last check and the
// kernel's write for longer than the straggler time cannot cause a second
// effect at a target that does not enforce identity (M30).
package onefold
