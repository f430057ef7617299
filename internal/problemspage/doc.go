// Command problemspage writes docs/reference/problems.md: every problem code in
// order of precedence, with its status, whether the same request may be sent
// again, what it means and what to do. It says what onefold.Problems says, which
// is also what a server answers at /problems/<code>.
//
// It promises that no code is left out. It does not promise that the words are
// right; those are in the root package.
//
//	go run ./internal/problemspage          writes the page
//	go run ./internal/problemspage -check   fails if the page is out of date
//
//go:generate go run github.com/onefold-dev/onefold/internal/problemspage
package main
