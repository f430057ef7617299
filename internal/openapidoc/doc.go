// Command openapidoc writes docs/reference/openapi.json: the OpenAPI document
// that a server answers at /openapi.json, so that a change of the interface is a
// difference that somebody reads. It has the version 0 there, since the product's
// own says nothing about the interface.
//
//	go run ./internal/openapidoc                 writes the document
//	go run ./internal/openapidoc -against FILE   compares it with an earlier one, and writes nothing
//
// It is also the gate for changes that break programs. What is there is compared
// with what is generated, and each difference that breaks something — a route, an
// answer, a member or a word that is gone, a call that takes less, an answer that
// may be more kinds of thing, something new that must be sent — needs a line under
// "### Breaking" of CHANGELOG.md; without it nothing is written. It tells shapes
// from shapes and nothing about meanings: a member that means something else from
// now on is for people to tell.
//
//go:generate go run github.com/onefold-dev/onefold/internal/openapidoc
package main
