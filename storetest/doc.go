// Package storetest is the suite that every store of onefold passes: it tells
// the stories of the specification over the interface onefold.Store and knows
// nothing about what is behind it. A store's own tests call Run with a function
// that opens an empty store.
//
// It promises to hold a store to what the interface says about claims,
// admissions, steps, leases, pauses, lists, history, documents and principals,
// under races as well, and to wait for nothing: the clock is the suite's own.
// It does not know about files, servers and crashes beyond reopening: what a
// particular engine can lose, its own package has to show.
package storetest
