// Package faultvfs is a second SQLite for tests alone: the engine's own code over
// a virtual file system that fails on command, and a driver that loses the answer
// of a commit. It makes the commits of which nobody knows whether they happened:
// the write-ahead log cannot be written or synced, the disk is full, the file is
// busy, or the commit is done and its answer never comes.
//
// What it promises: a fault that was armed happens at the next place that it
// names, and Fired tells how many did. What it does not: it is no model of a
// power loss, which loses or tears what was written and not synced.
//
// Nothing but tests imports it. The binary ships another SQLite.
package faultvfs
