// Package sqlite is the store of onefold in one SQLite file. It is for a single
// machine: one runner for each file, and any number of other processes that
// submit, read and decide beside it.
//
// What it promises. A method that returns without an error has committed to a
// write-ahead log that was synced to the disk (journal_mode WAL, synchronous
// FULL); the settings are read back from every connection, and a connection on
// which they are not in force is refused. Everything that belongs to one step
// is in one transaction (I3). Steps of many callers share a transaction and a
// sync, but not a fate: one that fails harms no other. A commit whose outcome
// cannot be known is reported as onefold.ErrCommitUnknown to each caller in it,
// and to nobody as anything else. Claims are unique for all time (I2): the
// schema itself refuses to let one go without a recorded release (I7), to
// change what was admitted, and to move a settled operation without a recorded
// contradiction (M20).
//
// Open takes the name of a registered database/sql driver: the package imports
// none, so that it cannot collide with the one that a program already uses.
//
// What it does not promise. A file system that lies about syncing, or a network
// file system without working locks, can lose or corrupt anything. The payload
// lies in the file as it was submitted; encryption at rest is not in this
// package. Time is the caller's clock (Options.Now): a store in one file has no
// other.
package sqlite
