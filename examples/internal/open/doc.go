// Package open opens the ledgers of the examples: what a program does once, when it
// starts, to have onefold on a database file of its own. Copy it with the example
// that is copied; there is nothing in it but calls of public packages.
//
// It promises what the examples promise, and no way to open anything but a file.
package open
