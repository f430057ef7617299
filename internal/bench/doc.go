// Package bench measures the whole path on SQLite, in the process and over HTTP,
// beside the idempotency table that a team would write by hand and (in peers, a
// module of its own) River's SQLite driver, all with the same file settings, in one
// run: `make bench`. It also counts what is written and synced, and measures what
// a million finished operations cost and how much memory the binary takes. report
// makes one table of it.
//
// It promises nothing about absolute figures: machines are noisy, the ratios carry
// over.
package bench
