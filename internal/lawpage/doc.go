// Command lawpage writes docs/reference/states.md: the states of an operation,
// the events, bars and holds, the law of transitions as one table for each
// state, and a diagram. The rows are those that Apply carries out
// (onefold.Transitions), in the order in which they are tried, so that the page
// cannot say anything else than the law does.
//
// It promises that every state, event, bar and hold has its sentence: one
// without is an error. It does not promise that the sentences are right; those
// are written here, by hand.
//
//	go run ./internal/lawpage          writes the page
//	go run ./internal/lawpage -check   fails if the page is out of date
//
//go:generate go run github.com/onefold-dev/onefold/internal/lawpage
package main
