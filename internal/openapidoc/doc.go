// Command openapidoc writes docs/reference/openapi.json: the OpenAPI document
// that a server answers at /openapi.json, so that a change of the interface is a
// difference that somebody reads. It has the version 0 there, since the product's
// own says nothing about the interface.
//
//	go run ./internal/openapidoc          writes the document
//
//go:generate go run github.com/onefold-dev/onefold/internal/openapidoc
package main
