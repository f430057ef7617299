// Package bench measures the whole path on SQLite beside the idempotency table
// that a team would write by hand, with the same file settings, in one run
// (`make bench`). It promises nothing about absolute figures: machines are
// noisy, the ratios carry over.
package bench
