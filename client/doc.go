// Package client speaks to a onefold server over HTTP, for the command line and
// for Go programs that do not embed the ledger.
//
// It promises that every call ends: each has a time-out, to which a wait that was
// asked for is added; that a refusal comes back as a *Problem with its code,
// status and members, whatever the call; that a call which may have reached the
// server without an answer says so (*Unanswered), since for a submission that
// means "send the same key again" and never "it did not happen"; that redirects
// are not followed and answers are read to a limit; and that the token goes to
// the one server and into no error.
//
// It never repeats a call by itself and keeps nothing between calls. Each value
// has the server's own text in Raw, with members that this release does not know.
package client
