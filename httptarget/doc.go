// Package httptarget carries one write or one look-up to a target over HTTP and
// reports what was seen. It is the Carrier of the domain; what an answer means
// is not its business.
//
// What it promises:
//
//   - One call of Carry for a write puts at most one request on the wire, for
//     every method, body and header, on warm and cold connections, over HTTP/1.1
//     and, where a target negotiates it in TLS, HTTP/2. It does not use the
//     standard client: it hands one message to one connection, and a gate below
//     it lets one message through and no second (section 3, "How the HTTP target
//     sends"). Redirects are reported and never followed, cookies are not kept,
//     and no proxy is used but the one that Options name, by CONNECT.
//   - Immediately before the first byte of the request reaches the kernel, the
//     connection's own Write asks Dispatch.MayStart; where it says no, nothing
//     is written (M9).
//   - NotSent is said only where no connection was obtained or where the
//     connection counted that the kernel took no byte of the request (section
//     3, "How a response is judged", rule 4). Everything else is for the reader
//     of the Exchange to doubt, a stream that an HTTP/2 target refused or left
//     out of its GOAWAY included: that it did nothing is its word.
//   - Addresses are checked when dialling, on the address that is dialled.
//     Behind a proxy that is the proxy's, and a target's only where its URL spells
//     an address: names are then looked up by the proxy.
//   - Evidence holds headers of an allow-list, a redacted excerpt, a digest,
//     counts and times; Detail is a sentence of this package's own. No text of
//     a library's error goes into either, because such texts repeat URLs.
//   - An answer is the answer to its own request. Nothing in HTTP/1.1 ties the two
//     but their order, so every request, look-ups and polls included, has a
//     connection to itself, asks the target to close it, and does not read what
//     comes behind the answer. In HTTP/2 streams have numbers: an answer on a
//     stream that is not under way breaks the protocol, and is nobody's.
//
// Over HTTP/2 look-ups, and writes that are safe to repeat, may take a connection
// that was used before, and a look-up's GET whose connection turns out to be dead
// is asked once more.
//
// What it does not promise: HTTP/2 without TLS; several streams on a connection;
// a proxy that is itself reached over TLS; that a secret is found in an answer that spells
// it in a way of its own (in capitals, backwards, in parts); that
// Exchange.Body and the headers for judging, which are the target's words, are
// fit to be logged; and that a process which is frozen between the check and
// the kernel's write sends in time (M30).
package httptarget
