package onefold

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
)

// Submission is what a caller hands in.
type Submission struct {
	Workspace       string
	Capability      string
	ContractVersion int    // 0: the newest, or what the key was admitted with
	Connection      string // "": the only one that serves, or what the key was admitted with
	Key             string // the caller's key, bare (I1): one that begins with a quote is refused
	Request         []byte // JSON text; kept and sent as it is (I13)
	SubmittedBy     string // the principal
	Revision        *string
	// Amends names the operation that this one amends (M23). Amendments are not
	// built yet: with a new key it is refused (not_supported_yet), with a known one
	// it conflicts, since no admitted operation names one.
	Amends        *string
	NotBefore     *time.Time
	StartDeadline *time.Time
	Metadata      json.RawMessage // a JSON object of at most MaxMetadata bytes
	// MayRead tells that the principal may read requests, so that a conflict may
	// show it both values (I4).
	MayRead bool
}

// MaxMetadata bounds a submission's metadata in bytes: labels, not documents.
const MaxMetadata = 16 << 10

// maxKey is the length of the longest caller key (I1).
const maxKey = 255

// checkKey holds a bare key against I1. Reasons are the words of the rules that
// every door names.
func checkKey(key string) *Error {
	if key == "" {
		return &Error{Code: CodeKeyRequired, Message: "an operation needs a key", Hint: "choose one key for each intended effect and send it again with every retry"}
	}
	bad := func(reason, message, hint string) *Error {
		return &Error{Code: CodeKeyInvalid, Reason: reason, Message: message, Hint: hint}
	}
	if key[0] == '"' {
		return bad("leading_quote", "a key does not begin with a quote",
			"leave the quotes out: the quoted form belongs to the header Idempotency-Key, and means there the key between the quotes")
	}
	if strings.IndexFunc(key, unicode.IsSpace) >= 0 {
		return bad("white_space", "a key contains no white space, and none is trimmed", "")
	}
	for i := range len(key) {
		if key[i] < 0x21 || key[i] > 0x7e {
			return bad("visible_ascii", "a key consists of visible ASCII characters", "")
		}
	}
	if len(key) > maxKey {
		return bad("length", "a key has at most 255 characters", "")
	}
	return nil
}

// admit makes the operation that a submission becomes, and its first timeline
// entry: prepared, and due unless a hold stands.
func admit(a Admitted, holds []HoldReason, reviewID string, by Actor) (Operation, Entry) {
	op := Operation{Admitted: a}
	op.State, op.Version, op.UpdatedAt, op.Next = Prepared, 1, a.CreatedAt, NextAttempt
	for _, reason := range holds {
		op.Reviews = append(op.Reviews, Review{
			ID: reviewID, Reason: ReviewReason(reason), Status: ReviewOpen, Owner: a.Owner, OpenedAt: a.CreatedAt,
		})
		op.Holds = append(op.Holds, Hold{Reason: reason, Since: a.CreatedAt, Review: reviewID})
		op.Next = NextOperator
	}
	detail := "admitted and stored; nothing was sent yet"
	if len(op.Holds) == 0 {
		due := a.CreatedAt
		if a.NotBefore != nil && a.NotBefore.After(due) {
			due = *a.NotBefore
		}
		op.Due = &due
	} else {
		detail = "admitted, stored and held: " + string(op.Holds[0].Reason)
	}
	return op, Entry{
		Operation: a.ID, At: a.CreatedAt, Actor: by, Event: EventAdmitted, Rule: "admitted",
		To: Prepared, Detail: detail, Version: 1,
	}
}

// buildFrom is Binding.Freeze for an operation that is not admitted yet: a mapping
// that breaks refuses it, and harms nobody else.
func buildFrom(b Binding, op *Operation, request []byte) (f Frozen, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = &Error{
				Code: CodeInternal, Cause: fmt.Errorf("onefold: building a request: %v", broken),
				Message: "the request for the target cannot be built: its mapping breaks; nothing was admitted",
				Hint:    "correct the target's mapping",
			}
		}
	}()
	return b.Freeze(op, request)
}
