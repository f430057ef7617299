// Package fieldcases tells, as tests, what went wrong in the field with writes
// to other systems: double charges, lost orders, keys that were made one level
// too deep. Each test is named after its case (C01, C02, …) in
// docs/internals/field-cases.md and says in one line what happened; then it lets
// the same happen to a whole onefold and counts, in the target's own ledger and
// request log, what came of it.
//
// It promises that the page names every case once, either with the test that
// tells it or with what it waits for, and that every named test exists. It does
// not promise that a case whose test passes is told in full: where a part waits,
// the page says so. The death of a process is played here by a store that hears
// nothing more of it; package internal/crash kills the real binary.
//
// The package has no code outside its tests.
package fieldcases
