// Package api serves onefold over HTTP, as section 4 of the specification says.
//
// It promises that a call is judged in one order, whatever the route: the token,
// its roles, the size and kind of the body, the key, the strict parse, the
// parameters, and only then the ledger (I3a); that every fault of a call is
// refused with a code, a place and a hint in application/problem+json, and
// nothing of it is stored; that unknown members, unknown or repeated parameters
// and wrong methods are refused and never ignored; that an answer never shows
// another workspace's work, an internal error's text, SQL, a secret, or a payload
// value to somebody who may not read requests; that a batch judges each of its
// submissions as if it had come alone; that whoever follows the changes by a
// cursor misses none and sees none twice; that no cursor tells how much other
// workspaces do (I5); and that /openapi.json is made from the table of routes that
// serves.
//
// The table is the one in routes.go: path, method, roles, parameters, body and
// answers of each route stand there once, and decoding, authorization and
// documentation are all made from it.
//
// It does not decide anything about operations: it authenticates, decodes, asks
// the ledger, and writes down what the ledger says. It does not terminate TLS,
// and it limits neither the rate nor the number of connections: a proxy in front
// does, or the operating system.
package api
