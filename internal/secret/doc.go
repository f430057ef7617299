// Package secret turns references to secrets into their values, at the moment
// of use, and keeps the values out of everything that prints.
//
// A reference is env:NAME or file:PATH. For a workspace's own documents it
// reaches only what belongs to that workspace: names that begin with
// ONEFOLD_S_<WORKSPACE>__, and files below <secrets folder>/<workspace>/ after
// links are resolved (section 3, "Connection"). No document reaches another
// workspace's secrets (invariant 17). The deployment's own secrets, such as
// ONEFOLD_SECRET, are resolved without that limit, by a method of its own.
//
// A Value prints as *** in every form that fmt, encoding/json, encoding and
// log/slog know; only Reveal gives the bytes. Errors name the reference where
// it is well formed and never a value: somebody who put the secret itself
// where a reference belongs does not find it in a log.
//
// What the package does not promise: that the bytes leave memory. Go's runtime
// may have copied them, and a crash dump holds them.
package secret
