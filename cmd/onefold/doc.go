// Command onefold is the one binary of the product: the server, the worker, the
// sandbox, the tools that set an installation up, and the client of the HTTP
// API for people and scripts.
//
// It promises the pinned forms of the specification's section "CLI": first
// lines, exit codes, one JSON object for every error under --output json, and
// nothing on standard output that does not belong to the answer. Every command,
// flag and environment variable stands in docs/reference/cli.md, which is
// generated from the commands themselves.
//
// It does not promise the wording of what is printed for people.
package main

//go:generate go run ./internal/clipage
