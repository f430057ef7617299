// Package contract reads, checks and runs the documents that tell onefold what
// callers may ask for and how external systems behave: capabilities, targets
// and connections.
//
// It promises that documents are read strictly and alike from YAML and JSON
// (an unknown member is a fault with file, line and column); that a member
// which this release does not support is refused as not_supported_yet and never
// accepted and ignored, in documents of targets that Go functions carry (protocol:
// go) as in any other; that what is derived from a contract (protection,
// recovery plan, policy) is the same wherever it is shown; and that no text of
// a document, however odd, panics or costs more than its size allows.
//
// It does not touch the network, read secrets or the clock, or store anything:
// whoever publishes documents keeps them, and gives them back as they were.
package contract
