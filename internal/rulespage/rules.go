package main

// rule is one rule of the specification: its number, what it asks in a line,
// and whether what is built so far has to prove it.
type rule struct {
	id    string
	title string
	// later marks a rule about something that is not built yet. It may have
	// tests already; it need not.
	later bool
}

// group is a heading of the page with its rules, in order of number.
type group struct {
	title string
	rules []rule
}

// groups lists every rule.
var groups = []group{
	{"The model", modelRules},
	{"Identity", identityRules},
}

// modelRules are the rules about an operation's life.
var modelRules = []rule{
	{id: "M1", title: "The operation's id is made once, at admission; identity and reference are derived, stored and sent by every attempt."},
	{id: "M2", title: "An attempt's id is separate and is never sent as the request identity."},
	{id: "M2a", title: "The outgoing request is frozen before the first attempt and sent byte for byte by every later one."},
	{id: "M3", title: "Two operations with equal payloads and different keys are two operations."},
	{id: "M4", title: "The operation is durable before any call is made for it, the attempt before its first byte."},
	{id: "M5", title: "An operation admitted in the caller's transaction commits with it or not at all.", later: true},
	{id: "M5a", title: "Outcomes leave by an outbox, queued in the transaction that makes them.", later: true},
	{id: "M6", title: "A result is reported to nobody before it is durable."},
	{id: "M7", title: "A lease is won by one worker; beginning is a second durable step of its holder's."},
	{id: "M8", title: "Lease tokens rise; a stale worker changes no state, and what it learnt is kept."},
	{id: "M9", title: "Lease time is the store's; the deadline is checked in the connection's own write."},
	{id: "M10", title: "A lease that expires after the begin leaves doubt, before it frees; expiry is found by scanning."},
	{id: "M11", title: "From doubt nothing writes again but a safe replay, or a fresh attempt after proven absence or a decision."},
	{id: "M11a", title: "When a replay is safe: named, recognised, inside the window, in the same scope, with no attempt open."},
	{id: "M11b", title: "\"Already exists\" is evidence of an earlier success; \"in progress\" is waited out."},
	{id: "M11c", title: "While anything bars an operation, no write and no replay begins."},
	{id: "M12", title: "Absence counts only if the contract says so and the look-up began late enough."},
	{id: "M12a", title: "An attempt without word from its worker is open until a report, a dead process or the straggler's time closes it."},
	{id: "M13", title: "A refusal answers for its own attempt."},
	{id: "M14", title: "Amount and date are never an identity.", later: true},
	{id: "M15", title: "What differs from the approved request does not confirm; several records go to a person."},
	{id: "M16", title: "An unresolved operation has an owner; exhausted reconciliation ends in a review."},
	{id: "M16a", title: "The number of unresolved operations of a connection is capped."},
	{id: "M16b", title: "Later operations on the same subject wait.", later: true},
	{id: "M17", title: "Evidence delivered again changes nothing."},
	{id: "M18", title: "Evidence is matched only within the workspace and connection through which it came."},
	{id: "M19", title: "A confirmation that repeats the recorded reference changes nothing else."},
	{id: "M19a", title: "Once a caller was told rejected or canceled, nothing is ever sent again."},
	{id: "M20", title: "Evidence that disagrees with a finished operation is shown beside its result, never instead of it."},
	{id: "M21", title: "Evidence for nothing that is known is kept, and never makes an operation.", later: true},
	{id: "M22", title: "Same key and intent replay; same key and another intent are refused and noted."},
	{id: "M23", title: "A changed decision is a new operation that names the one it amends.", later: true},
	{id: "M24", title: "Cancel before anything was sent; afterwards it is a withdrawal that undoes nothing."},
	{id: "M25", title: "A refused admission leaves no claim behind."},
	{id: "M26", title: "The product promises what the target's contract supports, and no more."},
	{id: "M27", title: "A connection with weak protection waits for approval until its limits are acknowledged."},
	{id: "M27a", title: "A write's contract is not published without saying what happens in doubt."},
	{id: "M28", title: "Everything that changed an operation is in its timeline."},
	{id: "M29", title: "A restored, promoted or copied store sends nothing until it is recovered.", later: true},
	{id: "M30", title: "What cannot be promised is said."},
}

// identityRules are the rules about keys, fingerprints and what follows.
var identityRules = []rule{
	{id: "I1", title: "A key is 1 to 255 visible ASCII characters, taken as it is."},
	{id: "I2", title: "A claim is unique on workspace, capability and key for all time."},
	{id: "I3", title: "Admission is atomic; of simultaneous submissions one admits and none fails because of the race."},
	{id: "I3a", title: "The claim is looked up before anything else about the request is checked."},
	{id: "I4", title: "Same fingerprint: the original. Another: a conflict that names what differs."},
	{id: "I5", title: "A key gives access to nothing; another workspace's is as if it did not exist."},
	{id: "I6", title: "What a retry leaves out means what it meant the first time."},
	{id: "I7", title: "A claim is released by cancelling before anything was sent, and by nothing else."},
	{id: "I8", title: "The fingerprint is keyed, versioned, and over the canonical intent; a missing key stops the server."},
	{id: "I9", title: "The canonical form keeps numbers as exact decimals."},
	{id: "I10", title: "The parser is strict and says where."},
	{id: "I11", title: "Comparison is exact unless the contract's rules say otherwise."},
	{id: "I11a", title: "What each comparison rule leaves in the canonical form, and in which order they apply."},
	{id: "I12", title: "A published contract version is immutable."},
	{id: "I13", title: "The target receives what was approved, digit for digit."},
	{id: "I13a", title: "Identity and reference are derived from the key, so that a restored ledger sends them again."},
	{id: "I14", title: "One implementation, one public file of vectors, one command that shows it."},
	{id: "I15", title: "The payload is kept until its own retention ends.", later: true},
	{id: "I16", title: "The payload is erased when the operation is settled.", later: true},
	{id: "I17", title: "Only a digest of the payload is stored.", later: true},
	{id: "I18", title: "A contract may declare business identities.", later: true},
	{id: "I19", title: "A business claim is unique and outlives keys.", later: true},
	{id: "I20", title: "A new key with a taken business identity is held or refused, never merged.", later: true},
	{id: "I21", title: "What is shown beside a suspected duplicate does not decide about it.", later: true},
	{id: "I22", title: "The review of a duplicate ends with a recorded decision.", later: true},
	{id: "I23", title: "Each admitted operation has its own place under the business claim.", later: true},
	{id: "I24", title: "A missing identity field is refused or held.", later: true},
	{id: "I25", title: "A serialized subject has one slot.", later: true},
	{id: "I26", title: "Each capability states how long each thing is kept.", later: true},
	{id: "I27", title: "A key's retention covers every budget.", later: true},
	{id: "I28", title: "Nothing of an open operation expires.", later: true},
	{id: "I29", title: "An expired key is said to be expired, never taken for new.", later: true},
	{id: "I30", title: "A finite memory for keys asks for keys with times.", later: true},
	{id: "I31", title: "History goes by partition, claims in small batches, and neither blocks.", later: true},
	{id: "I32", title: "Operations are found again by each of their names.", later: true},
	{id: "I33", title: "The agreement is written from the contract that runs.", later: true},
}
