// Package cli is the command line: it reads flags and environment, calls what
// does the work, and prints the answer for a person or as JSON.
//
// It promises that standard output holds nothing but the answer (one JSON value,
// or JSON lines for what goes on, under --output json), that every error is one
// JSON object on standard error under --output json, and that the exit code says
// what kind of end it was (see the Exit constants). Commands are built by
// functions; there is no package state.
//
// It decides nothing about operations: rules live in the packages below it, and
// client commands show what the server answers.
package cli
