// Package examples holds the documents that `onefold dev` publishes: three
// capabilities, a target whose three operations are protected in three
// different ways, and a connection of the workspace acme.
//
// It promises that the documents pass `onefold apply --check` and that the
// sandbox behaves as they say. Their times are short so that a story is over
// within seconds; contracts for real systems wait longer.
package examples
