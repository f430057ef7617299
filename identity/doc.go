// Package identity decides when two requests are the same.
//
// It reads caller keys (I1), parses requests strictly (I10), brings them to a
// canonical form in which numbers are exact decimals (I9), applies a
// contract's comparison rules (I11, I11a), makes the keyed fingerprint of an
// intent (I8), derives the identity and reference that a target receives
// (I13a), and says in which members two requests differ (I4).
//
// # What it promises
//
//   - One implementation. Everything in onefold that compares, digests or
//     derives goes through this package, and the vectors under testdata pin
//     its results for other languages (I14).
//   - Exactness. No number is ever held as a binary float, rounded or
//     truncated. Two values have the same canonical form only if they are
//     equal by I9; whatever the rules do not name counts in full.
//   - Bounded work. Every function takes time near linear in its input (sorting
//     members adds a logarithm) and memory in proportion to it, whatever the
//     input. Digits are never expanded from an exponent beyond 40 places.
//   - Determinism. There is no clock, no randomness and no state: equal
//     arguments give equal results in every process and release of rule set v1.
//   - Values, compiled rules and keyed fingerprinters are safe for concurrent
//     use once made, and nothing here changes a value that it was given.
//
// # What it does not promise
//
//   - It stores nothing and knows no claims, operations or contracts. Whether a
//     key is taken, and what follows, is the ledger's business.
//   - It does not validate requests against a schema and does not fill in
//     schema defaults.
//   - It does not resolve secrets. The bytes of a secret are its argument, a
//     file's trailing newline already removed (I8).
//   - A fingerprint detects change; it identifies nothing and hides a payload
//     only as well as the secret is kept.
package identity
