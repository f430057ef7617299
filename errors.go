package onefold

import (
	"errors"
	"time"
)

// Code is one problem of the interface. The same word stands in Go, in HTTP
// answers and in the documentation.
type Code string

// The problem codes, in order of precedence: of several faults of one request,
// the first of this list is told.
const (
	CodeUnauthenticated        Code = "unauthenticated"
	CodeNotPermitted           Code = "not_permitted"
	CodeTooLarge               Code = "too_large"
	CodeNotJSON                Code = "not_json"
	CodeKeyRequired            Code = "key_required"
	CodeKeyInvalid             Code = "key_invalid"
	CodeKeyTimeRequired        Code = "key_time_required"
	CodeJSONInvalid            Code = "json_invalid"
	CodeUnknownMember          Code = "unknown_member"
	CodeMemberInvalid          Code = "member_invalid"
	CodeParameterInvalid       Code = "parameter_invalid"
	CodeKeyConflict            Code = "key_conflict"
	CodeKeyExpired             Code = "key_expired"
	CodeKeyTooOld              Code = "key_too_old"
	CodeDraining               Code = "draining"
	CodeStoreUnavailable       Code = "store_unavailable"
	CodeNotReady               Code = "not_ready"
	CodeContractUnavailable    Code = "contract_unavailable"
	CodeKeyInOpenTransaction   Code = "key_in_open_transaction"
	CodeCapabilityUnknown      Code = "capability_unknown"
	CodeContractVersionUnknown Code = "contract_version_unknown"
	CodeConnectionUnknown      Code = "connection_unknown"
	CodeConnectionAmbiguous    Code = "connection_ambiguous"
	CodeConnectionDisabled     Code = "connection_disabled"
	CodeAmendsUnknown          Code = "amends_unknown"
	CodeRequestInvalid         Code = "request_invalid"
	CodeDeadlinePast           Code = "deadline_past"
	CodeBusinessDuplicate      Code = "business_duplicate"
	CodeAdmissionLimited       Code = "admission_limited"
	CodeOperationUnknown       Code = "operation_unknown"
	CodeReviewUnknown          Code = "review_unknown"
	CodeNotFound               Code = "not_found"
	CodeMethodNotAllowed       Code = "method_not_allowed"
	CodeIfMatchRequired        Code = "if_match_required"
	CodeStaleVersion           Code = "stale_version"
	CodeAlreadySettled         Code = "already_settled"
	CodeHeld                   Code = "held"
	CodePayloadNotRetained     Code = "payload_not_retained"
	CodeRetryUnsafe            Code = "retry_unsafe"
	CodeAttemptOpen            Code = "attempt_open"
	CodeBarred                 Code = "barred"
	CodeNotDecidable           Code = "not_decidable"
	CodeHoldUnknown            Code = "hold_unknown"
	CodeOriginalUnsettled      Code = "original_unsettled"
	CodeDocumentInvalid        Code = "document_invalid"
	CodeVersionImmutable       Code = "version_immutable"
	CodeNotSupportedYet        Code = "not_supported_yet"
	CodeWorkspaceUnknown       Code = "workspace_unknown"
	CodeWorkspaceExists        Code = "workspace_exists"
	CodeTokenUnknown           Code = "token_unknown"
	// The law's own refusals: a runner meets them, and whoever calls Do.
	CodeLeaseLost  Code = "lease_lost"
	CodeNotDue     Code = "not_due"
	CodeLeased     Code = "leased"
	CodePaused     Code = "paused"
	CodeReplay     Code = "replay_unsafe"
	CodeNotAllowed Code = "not_allowed"
	// CodeRecordUnreadable: what is stored of one operation is damaged. No caller can
	// mend that, and the store is well otherwise.
	CodeRecordUnreadable Code = "record_unreadable"
	CodeInternal         Code = "internal"
)

// Fault is one member of a request that is wrong.
type Fault struct {
	Pointer string `json:"pointer"`
	Rule    string `json:"rule"`
	Detail  string `json:"detail"`
}

// Error is a problem that callers can match by its code: errors.Is(err,
// onefold.ErrKeyConflict) holds for every Error of that code. Message and Hint
// are safe to show to anybody who may make the call; Cause is for logs alone.
type Error struct {
	Code    Code
	Message string
	Hint    string
	Cause   error

	// Set where the code's documentation says so.
	Operation   string // id of the operation concerned
	Pointer     string
	Offset      *int // byte offset into the submitted text
	Reason      string
	Faults      []Fault
	Differences []Difference
	Bars        []Bar
	RetryAfter  time.Duration
	Version     int64 // of the operation, for stale_version
	// ClaimChecked tells that the claim was looked up, and that there was none or
	// that the submission was judged by it (I3a). While it is false the key may be
	// that of an operation.
	ClaimChecked bool
	ExpiredAt    *time.Time
	State        State
	Reference    string
	NewKeySafe   bool
}

// Error returns code and message.
func (e *Error) Error() string {
	if e.Message == "" {
		return string(e.Code)
	}
	return string(e.Code) + ": " + e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is matches another *Error of the same code, so that the sentinels below work
// with errors.Is.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error) //nolint:errorlint // Is is asked about this one value, not its chain
	return ok && other.Code == e.Code
}

// CodeOf returns the code of an error, or CodeInternal for any other error.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

func refuse(code Code, message string) *Error { return &Error{Code: code, Message: message} }

// Sentinels for errors.Is, one for each code.
var (
	ErrKeyRequired            = &Error{Code: CodeKeyRequired}
	ErrKeyInvalid             = &Error{Code: CodeKeyInvalid}
	ErrJSONInvalid            = &Error{Code: CodeJSONInvalid}
	ErrTooLarge               = &Error{Code: CodeTooLarge}
	ErrMemberInvalid          = &Error{Code: CodeMemberInvalid}
	ErrKeyConflict            = &Error{Code: CodeKeyConflict}
	ErrKeyExpired             = &Error{Code: CodeKeyExpired}
	ErrDraining               = &Error{Code: CodeDraining}
	ErrStoreUnavailable       = &Error{Code: CodeStoreUnavailable}
	ErrNotReady               = &Error{Code: CodeNotReady}
	ErrContractUnavailable    = &Error{Code: CodeContractUnavailable}
	ErrCapabilityUnknown      = &Error{Code: CodeCapabilityUnknown}
	ErrContractVersionUnknown = &Error{Code: CodeContractVersionUnknown}
	ErrConnectionUnknown      = &Error{Code: CodeConnectionUnknown}
	ErrConnectionAmbiguous    = &Error{Code: CodeConnectionAmbiguous}
	ErrConnectionDisabled     = &Error{Code: CodeConnectionDisabled}
	ErrRequestInvalid         = &Error{Code: CodeRequestInvalid}
	ErrDeadlinePast           = &Error{Code: CodeDeadlinePast}
	ErrAdmissionLimited       = &Error{Code: CodeAdmissionLimited}
	ErrOperationUnknown       = &Error{Code: CodeOperationUnknown}
	ErrReviewUnknown          = &Error{Code: CodeReviewUnknown}
	ErrNotFound               = &Error{Code: CodeNotFound}
	ErrIfMatchRequired        = &Error{Code: CodeIfMatchRequired}
	ErrStaleVersion           = &Error{Code: CodeStaleVersion}
	ErrAlreadySettled         = &Error{Code: CodeAlreadySettled}
	ErrHeld                   = &Error{Code: CodeHeld}
	ErrPayloadNotRetained     = &Error{Code: CodePayloadNotRetained}
	ErrRetryUnsafe            = &Error{Code: CodeRetryUnsafe}
	ErrAttemptOpen            = &Error{Code: CodeAttemptOpen}
	ErrBarred                 = &Error{Code: CodeBarred}
	ErrNotDecidable           = &Error{Code: CodeNotDecidable}
	ErrHoldUnknown            = &Error{Code: CodeHoldUnknown}
	ErrDocumentInvalid        = &Error{Code: CodeDocumentInvalid}
	ErrVersionImmutable       = &Error{Code: CodeVersionImmutable}
	ErrNotSupportedYet        = &Error{Code: CodeNotSupportedYet}
	ErrWorkspaceUnknown       = &Error{Code: CodeWorkspaceUnknown}
	ErrWorkspaceExists        = &Error{Code: CodeWorkspaceExists}
	ErrTokenUnknown           = &Error{Code: CodeTokenUnknown}
	ErrUnauthenticated        = &Error{Code: CodeUnauthenticated}
	ErrNotPermitted           = &Error{Code: CodeNotPermitted}
	ErrLeaseLost              = &Error{Code: CodeLeaseLost}
	ErrNotDue                 = &Error{Code: CodeNotDue}
	ErrLeased                 = &Error{Code: CodeLeased}
	ErrPaused                 = &Error{Code: CodePaused}
	ErrReplayUnsafe           = &Error{Code: CodeReplay}
	ErrNotAllowed             = &Error{Code: CodeNotAllowed}
	ErrNotJSON                = &Error{Code: CodeNotJSON}
	ErrKeyTimeRequired        = &Error{Code: CodeKeyTimeRequired}
	ErrUnknownMember          = &Error{Code: CodeUnknownMember}
	ErrParameterInvalid       = &Error{Code: CodeParameterInvalid}
	ErrKeyTooOld              = &Error{Code: CodeKeyTooOld}
	ErrKeyInOpenTransaction   = &Error{Code: CodeKeyInOpenTransaction}
	ErrAmendsUnknown          = &Error{Code: CodeAmendsUnknown}
	ErrBusinessDuplicate      = &Error{Code: CodeBusinessDuplicate}
	ErrMethodNotAllowed       = &Error{Code: CodeMethodNotAllowed}
	ErrOriginalUnsettled      = &Error{Code: CodeOriginalUnsettled}
	ErrRecordUnreadable       = &Error{Code: CodeRecordUnreadable}
	ErrInternal               = &Error{Code: CodeInternal}
)

// ErrCommitUnknown is a store's word that a commit was sent and its outcome is
// not known: the step may or may not have happened. Callers read back before
// they decide (M4). It is never shown to a caller of the interface.
var ErrCommitUnknown = errors.New("onefold: the outcome of the commit is unknown")

// ErrRunnerTaken is a store's word that another runner holds it (SQLite: one
// runner for each file).
var ErrRunnerTaken = errors.New("onefold: another runner holds this store")

// ErrIdentityTaken is a store's word that a derived identity or reference
// belongs to another operation whose key is not released: it is derived again
// with the next counter (I13a).
var ErrIdentityTaken = errors.New("onefold: the derived identity is taken")
