// Package deployment puts the parts of an installation together: the store
// behind a database address, the deployment's secret, the published documents,
// and the node that serves the API and runs operations.
//
// It promises that every command opens a database in the same way; that a node
// does not start on a database whose migrations are not current, whose
// fingerprint secret is another one (I8), or on which another runner works; that
// documents published beside a running node take effect within about a second;
// and that a node drains when its context ends: no new admissions, no new
// leases, calls in flight finish within the drain time-out, the rest is recorded
// as uncertain.
//
// It decides nothing about operations and prints nothing.
package deployment
