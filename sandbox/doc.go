// Package sandbox is a fake ERP and bank: real HTTP over real sockets, a ledger and a request log of its own in a file of
// its own, and faults that can be queued. It is the judge in tests of onefold, and the first target that a newcomer sees.
//
// # What it promises
//
//   - Every request whose head arrived whole is in the request log, durably, once its body has been read or has
//     failed to arrive, and before anything is done about it. Only the admin API's requests are not logged.
//   - An effect is committed before a single byte of an answer goes out, together with the answer that the idempotency
//     key will repeat. What was committed, and the queue of faults, survives kill -9 of the process (not a loss of power:
//     the last commits may then be missing, the file stays sound).
//   - Nothing it does depends on the code that it judges: it imports no other package of onefold.
//   - One file, one sandbox: a second one is refused with ErrInUse.
//   - Close, and the end of Serve, leave no goroutine and no connection behind.
//
// # What it does not promise
//
// It counts requests, not connections or broken heads: a request whose head is cut never becomes one. It speaks
// HTTP/1.1 only. Its admin API has no authentication and belongs on loopback. A request that was being handled when the
// process died is "dropped" in the log after the next start, even if its answer was on its way. The list of fired
// faults says that a request took the fault; a process that dies between that and the misbehaviour has misbehaved enough.
//
// # Collections
//
// There are three: bills (ids BILL-1001, …), orders (ORD-1001, …) and payments (PAY-1001, …). Each stands at
//
//	POST /{collection}          makes an effect
//	GET  /{collection}          lists, with ?external_ref=, ?limit= (1–200, default 50), ?cursor=
//	GET  /{collection}/{id}     one record
//
// and once more under /acct/{account} (letters, digits, - _ . ; at most 64 bytes). Each account has its own ledger, its own
// references and its own idempotency keys; ids are counted across accounts, so that an id proves its account.
//
// A body is one JSON object of at most 1 MiB; its Content-Type is not looked at. Members that are not named here are
// kept and given back as they were spelled, digit for digit. null counts as absent. A decimal is -?digits[.digits] of at
// most 40 characters, as a JSON number or as a string.
//
//	all       external_ref (string of 1 to 200 bytes, optional, unique in account and collection)
//	bills     supplier, number (at most 40 bytes), total (decimal); optional: currency (three capital letters)
//	orders    supplier, item, quantity (decimal above 0)
//	payments  payee, amount (decimal above 0), currency
//
// A record, in the answer to POST (201) and in look-ups (200), is
//
//	{"id": "BILL-1001", "external_ref": "…" | null, "status": "open", "created_at": RFC 3339, …the submitted members…}
//
// and a list is {"items": [record…], "complete": true, "next_cursor": null}, oldest first. "complete" is true only where
// the page holds everything that matches (and no cursor was given); otherwise next_cursor leads on. A list without a
// match is 200 with no items. Effects younger than the look-up lag are absent from lists and 404 by id.
//
// # Accepted work
//
// A collection that Options.Accept names, and a write that takes the fault accept, is answered 202 instead of 201. The
// record's status is "pending", and later "settled" or "failed", or "pending" for ever; look-ups show it as it is. It is
// an effect from the moment it settles, and not before: what failed has no effect, and what is pending has none yet. So
// the admin API lists it among the effects only once it is settled, under the seq of its acceptance (whoever reads
// effects by after_seq has passed it by then), and counts it only then. Its reference is taken from the acceptance on,
// also where it failed. An idempotency key repeats the 202.
//
// # Refusals
//
// Every refusal is {"code": …, "detail": …} with further members as shown. In order of precedence:
//
//	413 too_large            body over 1 MiB
//	401 unauthorized         a token is configured and Authorization is not "Bearer " and the token
//	404 not_found            no such path, or no such record
//	405 method_not_allowed   with the header Allow
//	400 invalid              Idempotency-Key empty, longer than 255 bytes or given twice; a bad query
//	409 in_progress          a request with this key and the same parameters is being handled
//	422 key_reused           the key was used with other parameters, in its window or at this moment
//	(here a stored answer is repeated)
//	400 invalid              the body is no JSON object, has a repeated member, or is not UTF-8
//	422 invalid              a member is missing or invalid; "member" is its JSON Pointer
//	422 supplier_blocked     supplier (payments: payee) is S-REFUSED
//	409 duplicate_reference  external_ref was used; "id" is the record's. Off where Options.AllowDuplicateReferences says so
//	500 internal             the sandbox's own file failed; nothing is promised about the effect
//	503 closed               the sandbox is being closed
//
// A body that does not arrive whole gets no answer; the connection is closed.
//
// # Idempotency keys
//
// The header Idempotency-Key on POST. Its scope is the account; its window begins when the first request with it
// arrived and lasts Options.Window (24 h). The parameters are method, collection and the body's content: order of
// members and white space make no difference, the spelling of numbers does. Within the window, the same key with the
// same parameters gets the first answer again, byte for byte, with the header Idempotent-Replayed: true and without a
// new effect. Stored are the ledger's own answers from "400 invalid" about the body downwards (201 and 4xx); refusals
// above that line, 5xx and the answers that faults put in the place of the ledger's are not. After the window the key
// is as new. While a request is being handled (which includes a fault's "before", not its "after") its key is in
// progress. A request without the header has no such protection; its reference may have.
//
// # Faults
//
// A fault is queued and then taken by the next request that it matches; see Fault for the members in Go. In JSON:
//
//	kind             required, see below
//	method           "GET" or "POST"; default "POST"
//	path             equal to the request's path, account prefix included, without query
//	external_ref     equal to the body's member (GET: to the query's)
//	idempotency_key  equal to the header
//	times            how many requests take it; default 1
//	before           duration ("1.5s"), every kind: pause after the request was logged, before it is handled. The client
//	                 may leave meanwhile: the request is handled all the same
//	after            duration, every kind: pause after the effect was committed, before the answer
//	lag              duration, kinds that handle a POST: look-up lag of its effects
//	effect           true: the request is handled before the fault speaks; for status, html, unauthorized, hang, redirect
//	status           for status (required) and html (default 200): 200–599
//	body             for status and html: a string is sent as it is, any other JSON value as its text
//	headers          for status and html: an object of strings, such as {"Retry-After": "1"}
//	bytes, of        for cut; bytes for wrong_length too
//	settle, ends     for accept: after how long (default: at once) it is "settled" (default) or "failed"; "pending": never
//	protected        for twice
//
// A member that is unknown, repeated, null, of another type or without meaning for the kind is refused. A fault takes
// only requests that arrived whole. A request takes one fault at most: the oldest that matches.
//
//	drop_after_effect  the request is handled; the connection is reset (RST) without an answer
//	drop_before        the connection is closed (FIN) without an answer; nothing was handled
//	delay              before, after, or both
//	cut                the request is handled; bytes bytes of the answer arrive, then the connection is closed (FIN). They
//	                   count from the status line (of: "response", the default) or from the body's first byte (of: "body",
//	                   the head arrives whole, with the Content-Length of the whole body). At least one byte is missing
//	status             this status, with {"code":"fault"} or body
//	html               a page instead of JSON
//	wrong_length       the request is handled; Content-Length is bytes (default 64) more than the body, then FIN
//	twice              the request is delivered a second time by an intermediary whose second delivery nothing stops: two
//	                   effects, one request in the log, the first answer. protected: true lets key and reference stop it
//	unauthorized       401, as with a wrong token
//	lag                the effect stays invisible for lag
//	hang               no answer until the client goes away
//	redirect           307 with the request's own address as Location
//	accept             the request is handled; 202, and what becomes of it comes later
//
// Under a fault the ledger goes by its own rules: a request that it refuses, or whose answer it repeats, has no effect
// under drop_after_effect either. What fired therefore says how many effects there were.
//
// # Admin API
//
// On the same listener; JSON; an unknown parameter is 400. It has no authentication, so it keeps pages away that are open in
// a browser on the same machine: the Host is localhost, a loopback address or the one it was reached at (any with
// Options.AllowRemote), else 403 foreign_host; an Origin is the API's own, else 403 foreign_origin; a body comes with
// Content-Type: application/json, else 415 media_type.
//
//	GET    /admin/effects    list of Effect;  ?reference= ?account= ?after_seq=
//	GET    /admin/requests   list of Request; ?reference= ?account= ?after_seq=
//	GET    /admin/summary    {"effects": N, "requests": N, "duplicates": [references with more than one effect]}; ?account=
//	GET    /admin/faults     list of faults in order, each with id, queued_at, remaining, cleared and
//	                         "fired": [{"request_seq": N, "at": …, "effects": N}]
//	POST   /admin/faults     one fault or a list, all or none; 201 with the same shape as in the list above.
//	                         400 invalid with "member", a JSON Pointer; 409 queue_full above 1000 waiting
//	DELETE /admin/faults     takes back what waits: {"cleared": N}; what fired stays listed
//	POST   /admin/reset      forgets everything; 403 not_enabled without Options.AllowReset
//
// Lists are plain JSON arrays, [] when empty, oldest first. ?account= with no value is the ledger without a prefix. A
// write's outcome is in the log before its answer goes out, so whoever has an answer finds it there.
package sandbox
