// Package ids makes identifiers and chance from the machine's random source. It
// is plumbing for programs that wire the domain together; tests that want
// repeatable identifiers bring a source of their own.
package ids
