// Package runner is everything that happens to operations over time: it finds
// those that are due and has a onefold.Worker carry them on, finds expired leases,
// closes silent attempts, keeps to limits and pauses, and drains. Targets are
// reached by a carrier, or by registered Go functions.
//
// It promises that nothing is sent before the attempt is durably begun (M4),
// that one worker carries an operation at a time (M7), that a stale worker's
// word is kept and changes nothing by itself (M8), that a crash between any two
// writes is found by scanning (M10), and that one operation whose mapping or
// answer breaks something harms only itself.
//
// It decides nothing about outcomes: the contract says what an answer means,
// the law what follows. It knows no concrete store and no transport; it meets
// them at onefold.Store and onefold.Carrier.
package runner
