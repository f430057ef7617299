// Package examples holds programs to copy: onefold inside a cron loop, a job-queue
// worker, and a plain net/http service. Each folder is a whole program that needs
// nothing but this module and a SQLite driver, and runs against a fake that
// misbehaves; what all of them do once, opening a ledger, is in internal/open. The
// guide to them is docs/how-to/embed.md, whose snippets are taken from them; a test
// holds the two together.
//
// They promise to compile, to run, and to be tested; not to be the best way to
// write a cron loop, a job queue or a service.
package examples
