// Command rulespage writes docs/reference/rules.md: for every rule of the
// model (M…) and of identity (I…), the tests that say they prove it.
//
// A Go test, fuzz target, benchmark or example says so by a line in its comment,
//
//	// Proves: M11a, I9
//
// and so does a function of a test suite that lies in an ordinary file, if it
// takes a *testing.T, a testing.TB or the like. A script test (.txtar) says so
// by a line of the same form, with # in place of //, in the comment before its
// first command.
//
// It promises that no such line is lost: one above anything else, with a rule
// that does not exist, or with a text that is not a list of rules, is an error
// with its file and line. It does not promise that a test proves what it says;
// that is for its reader.
//
//	go run ./internal/rulespage          writes the page
//	go run ./internal/rulespage -check   fails if the page is out of date
//
//go:generate go run github.com/onefold-dev/onefold/internal/rulespage
package main
