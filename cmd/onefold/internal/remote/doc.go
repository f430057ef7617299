// Package remote calls an onefold server's HTTP API and gives its answers as
// they are: raw JSON, so that nothing of them is lost between the server and
// whoever asked.
//
// It promises that a redirect is never followed (the token would go with it),
// that an answer is read up to a bound, and that an error is either a *Problem,
// the server's own refusal, or a *NoAnswer, after which it is not known whether
// a write was carried out. It does not repeat a call.
package remote
