// Package doctor examines an installation from beside: whether its file is
// durable, sound and current, whether somebody works on it, and whether every
// operation in it is leased and live, scheduled, or owned by a person.
//
// It promises to change nothing and to end within its limits. A check says ok,
// warning, failed or not_checked; what could not be looked at is never called ok.
// Failed means that something is wrong with the installation; a warning is worth
// a person's look and may be as it should be.
//
// It does not promise to see what no file can show: whether the disk keeps what
// it acknowledged, or what the target holds. It looks at one moment; beside a
// server the next moment is another.
package doctor
