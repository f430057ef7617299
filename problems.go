package onefold

import "net/http"

// RetryAdvice says what sending the same request again does after a problem.
type RetryAdvice string

// The answers to "may I send it again?".
const (
	// RetrySame: the very same request, under the same key, is safe to send again
	// and may succeed later.
	RetrySame RetryAdvice = "same_request"
	// RetryChanged: the same request fails again; a corrected one may succeed.
	RetryChanged RetryAdvice = "after_a_change"
	// RetryNever: nothing that the caller could send makes this succeed.
	RetryNever RetryAdvice = "never"
)

// Problem is what is known in general about a code: what the page of the code
// says, and what every answer with it has in common. It holds nothing of a
// particular request.
type Problem struct {
	Code  Code
	Title string
	// Status is the HTTP status of answers with the code.
	Status int
	// Retry tells whether the same request is safe to send again, and whether it
	// can help.
	Retry RetryAdvice
	// Meaning and Advice are sentences for a person: what happened, what to do.
	Meaning string
	Advice  string
}

// KeyNotUsed is the last sentence of the advice of refusals that leave no claim
// behind. It is true of a submission whose claim was looked up; an interface that
// answers another call with such a code leaves it out.
const KeyNotUsed = "The key was not used."

// Problems lists every code in order of precedence (the order of the constants),
// each with its page. A code without an entry does not exist: a test holds the
// list against the constants.
func Problems() []Problem {
	var all []Problem
	for _, part := range [][]Problem{
		requestProblems(), keyProblems(), stateProblems(), admissionProblems(), findingProblems(), decisionProblems(),
		documentProblems(), engineProblems(),
	} {
		all = append(all, part...)
	}
	return all
}

// ProblemOf returns the entry of a code, and that of CodeInternal for a code
// that does not exist.
func ProblemOf(code Code) Problem {
	if p, ok := problemsByCode[code]; ok {
		return p
	}
	return problemsByCode[CodeInternal]
}

// problemsByCode is the registry by code, made once from Problems.
var problemsByCode = func() map[Code]Problem {
	byCode := map[Code]Problem{}
	for _, p := range Problems() {
		byCode[p.Code] = p
	}
	return byCode
}()

func requestProblems() []Problem {
	return []Problem{
		{
			CodeUnauthenticated, "No valid token", http.StatusUnauthorized, RetryChanged,
			"The request carries no token, or one that does not exist, has expired or was revoked. Nothing else was looked at.",
			"Send `Authorization: Bearer ofk_…` with a valid token. The key of a submission stays good.",
		},
		{
			CodeNotPermitted, "Not permitted", http.StatusForbidden, RetryChanged,
			"The token is valid, but none of its roles allows this call. Nothing was changed.",
			"Use a token with one of the roles that the answer names.",
		},
		{
			CodeTooLarge, "Too large", http.StatusRequestEntityTooLarge, RetryChanged,
			"The body, or the request in it, is longer than this server takes. It was read no further than the limit, and nothing was stored.",
			"Send a smaller document; put large attachments elsewhere and name them.",
		},
		{
			CodeNotJSON, "Not JSON", http.StatusUnsupportedMediaType, RetryChanged,
			"The body is not declared to be plain JSON in UTF-8, or it is compressed. It was not read.",
			"Send `Content-Type: application/json` and no `Content-Encoding`.",
		},
	}
}

func keyProblems() []Problem {
	return []Problem{
		{
			CodeKeyRequired, "A key is required", http.StatusBadRequest, RetryChanged,
			"A submission needs an `Idempotency-Key`: it is what makes a repetition recognisable.",
			"Choose one key for each intended effect, store it, and send it with every repetition.",
		},
		{
			CodeKeyInvalid, "The key is invalid", http.StatusBadRequest, RetryChanged,
			"A key is 1 to 255 characters of visible ASCII, the first of them no quote. The header `Idempotency-Key` takes it bare or as a quoted structured-field string, one time; everywhere else it is bare. The answer names the rule.",
			"Mend the key. Nothing was stored under the wrong one.",
		},
		{
			CodeKeyTimeRequired, "The key's time is required", http.StatusBadRequest, RetryChanged,
			"The capability forgets old keys and therefore asks when the key was made.",
			"Send `Onefold-Key-Issued-At`, or use keys that carry their time.",
		},
		{
			CodeJSONInvalid, "Not acceptable JSON", http.StatusBadRequest, RetryChanged,
			"The body is not strict JSON: the answer names the reason (syntax, encoding, depth, duplicate member …) and the byte offset.",
			"Mend the text at the offset. Nothing was stored.",
		},
		{
			CodeUnknownMember, "Unknown member", http.StatusBadRequest, RetryChanged,
			"The body has a member that this call does not know. It is refused rather than ignored, because a misspelt member would change the meaning in silence.",
			"Remove the member that `pointer` names, or mend its spelling.",
		},
		{
			CodeMemberInvalid, "Invalid member", http.StatusBadRequest, RetryChanged,
			"A member of the body is missing, has the wrong type, or is out of its range.",
			"Mend the member that `pointer` names.",
		},
		{
			CodeParameterInvalid, "Invalid parameter", http.StatusBadRequest, RetryChanged,
			"A query parameter or header is unknown, repeated, or has a value that is not allowed.",
			"Mend the parameter that `parameter` names.",
		},
		{
			CodeKeyConflict, "The key belongs to another intent", http.StatusUnprocessableEntity, RetryNever,
			"The key is known, and what was submitted with it first differs from this request. Nothing was changed or started; the refusal is noted on the original operation.",
			"A repetition sends the same request. Another business action has another key. A changed decision about this one is a new operation under a new key only if the operation's `new_key_safe` is true: until then its first form may have had its effect. Where two values look the same and are not (Unicode forms, characters that cannot be seen, digits beyond double precision), the answer's `hint` says so.",
		},
		{
			CodeKeyExpired, "The key has expired", http.StatusGone, RetryNever,
			"The key's retention is over. The operation that it named is known, and nothing was compared or started.",
			"Look at the operation. To start the business action again use a new key, if `new_key_safe` is true; where the answer has no `new_key_safe`, somebody who may read requests finds that out first.",
		},
		{
			CodeKeyTooOld, "The key is too old", http.StatusGone, RetryNever,
			"The key was made longer ago than this capability remembers keys, so it is not known whether it was used.",
			"Find out by the target reference or the business identity before submitting under a new key.",
		},
	}
}

// stateProblems are those of the server itself, and of what it finds under way.
func stateProblems() []Problem {
	return []Problem{
		{
			CodeDraining, "Shutting down", http.StatusServiceUnavailable, RetrySame,
			"This server is shutting down and admits nothing new. Nothing was admitted.",
			"Send the same request with the same key again, after `Retry-After`.",
		},
		{
			CodeStoreUnavailable, "The store is unavailable", http.StatusServiceUnavailable, RetrySame,
			"The database cannot be reached, or it did not say whether it stored what it was given. The answer says which.",
			"A submission: send the same request with the same key again. A decision: read the operation before deciding anew.",
		},
		{
			CodeNotReady, "Not ready", http.StatusServiceUnavailable, RetrySame,
			"`/readyz` alone answers so: the server works, but something is missing that it was set up to need, such as a secret that an enabled connection names. Calls are served all the same.",
			"The server's log says what is missing and what to do; `onefold doctor` does too.",
		},
		{
			CodeContractUnavailable, "The contract cannot be loaded", http.StatusServiceUnavailable, RetrySame,
			"This server has not the documents that the call is about, though it has just read them anew: they are gone, or another version of onefold has published what this one cannot read. With `operation_id` the operation exists and runs under them; a submission under its key was not compared with it, and the key is not free. Without one, nothing was admitted.",
			"Send the same request with the same key again, after `Retry-After`; never another key. The server's log says what cannot be loaded: publish it again, or bring the server to the version that published it.",
		},
		{
			CodeKeyInOpenTransaction, "The key is in an open transaction", http.StatusConflict, RetrySame,
			"Another transaction has submitted the key and has neither committed nor given up. This submission was not admitted.",
			"Send the same request with the same key again, after `Retry-After`.",
		},
	}
}

func admissionProblems() []Problem {
	return []Problem{
		{
			CodeCapabilityUnknown, "Unknown capability", http.StatusNotFound, RetryChanged,
			"No capability of this name is published.",
			"See `GET /v1/capabilities`. " + KeyNotUsed,
		},
		{
			CodeContractVersionUnknown, "Unknown contract version", http.StatusNotFound, RetryChanged,
			"The capability has no such version.",
			"Leave `contract_version` out to use the newest. " + KeyNotUsed,
		},
		{
			CodeConnectionUnknown, "Unknown connection", http.StatusNotFound, RetryChanged,
			"The workspace has no connection of this name, or none that serves the capability.",
			"See `GET /v1/connections`. " + KeyNotUsed,
		},
		{
			CodeConnectionAmbiguous, "Several connections serve the capability", http.StatusConflict, RetryChanged,
			"More than one connection of the workspace serves the capability, and none was named.",
			"Name one in `connection`. " + KeyNotUsed,
		},
		{
			CodeConnectionDisabled, "The connection is disabled", http.StatusConflict, RetryChanged,
			"The connection takes no new operations. Those that it has go on being looked up.",
			"Enable the connection, or use another. " + KeyNotUsed,
		},
		{
			CodeAmendsUnknown, "Unknown operation to amend", http.StatusNotFound, RetryChanged,
			"The operation that `amends` names does not exist.",
			"Mend `amends`. " + KeyNotUsed,
		},
		{
			CodeRequestInvalid, "The request breaks its contract", http.StatusUnprocessableEntity, RetryChanged,
			"The request does not keep the capability's schema or comparison rules; `faults` lists what is wrong, each with its pointer.",
			"Mend the request. " + KeyNotUsed,
		},
		{
			CodeDeadlinePast, "The start deadline is past", http.StatusUnprocessableEntity, RetryChanged,
			"`start_deadline` lies in the past, so that the operation could never start.",
			"Submit with a later deadline, or without. " + KeyNotUsed,
		},
		{
			CodeBusinessDuplicate, "A business duplicate", http.StatusConflict, RetryChanged,
			"Another operation already has this business identity, and the capability refuses a second one.",
			"Look at the operation that `duplicate_of` names. " + KeyNotUsed,
		},
		{
			CodeAdmissionLimited, "Too many unresolved operations", http.StatusTooManyRequests, RetrySame,
			"So many operations of the connection are unresolved that no more are admitted until some are settled.",
			"Settle the open reviews, then send the same request with the same key again. " + KeyNotUsed,
		},
	}
}
