package onefold

import "time"

// MaxAttempts bounds the attempts of one operation, operator-started ones
// included: a contract's retry budget is far below it, and an operation that
// needs more is a case for a person.
const MaxAttempts = 100

// AttemptKind tells a first try from a repetition under the same identity.
type AttemptKind string

// The kinds of attempt. Look-ups are evidence, not attempts: they have no effect.
const (
	// Write is an attempt made because no effect is known to exist.
	Write AttemptKind = "write"
	// Replay repeats the frozen request while an effect may exist (M11a).
	Replay AttemptKind = "replay"
)

// Verdict is what an attempt's own answer says about that attempt alone (M13).
type Verdict string

// The verdicts.
const (
	VerdictConfirmed  Verdict = "confirmed"
	VerdictRejected   Verdict = "rejected"
	VerdictNotApplied Verdict = "not_applied"
	VerdictNotSent    Verdict = "not_sent"
	VerdictInProgress Verdict = "in_progress"
	VerdictUnknown    Verdict = "unknown"
)

// ProvenBy is what proved after its end that an attempt had no effect.
type ProvenBy string

// What may prove an attempt to be without effect after its end.
const (
	ProvenByAbsence  ProvenBy = "absence"
	ProvenByOperator ProvenBy = "operator"
)

// Attempt is one try at carrying an operation out. Its id is never sent as the
// request identity (M2).
type Attempt struct {
	ID     string      `json:"id"` // TypeID att_…
	Number int         `json:"number"`
	Kind   AttemptKind `json:"kind"`
	Worker string      `json:"worker"`
	Token  int64       `json:"token"`
	// BegunAt was durable before the first byte (M4).
	BegunAt time.Time `json:"begun_at"`
	// EndedAt is when the attempt's answer was recorded or the attempt was
	// closed; nil while it is out or open.
	EndedAt *time.Time `json:"ended_at,omitempty"`
	// Open tells that the lease ended without word from the worker (M12a).
	// OpenSince is when, CloseAt when straggler closes it.
	Open      bool       `json:"open,omitempty"`
	OpenSince *time.Time `json:"open_since,omitempty"`
	CloseAt   *time.Time `json:"close_at,omitempty"`
	// Verdict is empty until the attempt ended; a closed attempt whose worker
	// never reported is VerdictUnknown.
	Verdict  Verdict  `json:"verdict,omitempty"`
	ProvenBy ProvenBy `json:"proven_by,omitempty"`
	ClosedBy CloseWay `json:"closed_by,omitempty"`
	// CredentialDigest is a keyed digest of the credential used.
	CredentialDigest string `json:"credential_digest,omitempty"`
	TargetRequestID  string `json:"target_request_id,omitempty"`
	// Stored tells that the answer was of a class that the target stores, so
	// that a replay would only repeat it (M11a).
	Stored   bool   `json:"stored,omitempty"`
	Evidence string `json:"evidence,omitempty"`
}

// CloseWay is how an attempt without an answer of its own was closed (M12a).
type CloseWay string

// The ways in which an open attempt is closed.
const (
	// ClosedByReport: the worker's late report.
	ClosedByReport CloseWay = "late_report"
	// ClosedByProcessEnd: proof that the worker's process is gone.
	ClosedByProcessEnd CloseWay = "process_gone"
	// ClosedByStraggler: the straggler time passed.
	ClosedByStraggler CloseWay = "straggler"
)

// Closed tells whether the attempt has ended, by an answer or by being closed.
func (a *Attempt) Closed() bool { return a.EndedAt != nil }

// WithoutEffect tells whether the attempt is closed and proven to have had no
// effect; it is what makes other attempts clean.
func (a *Attempt) WithoutEffect() bool {
	if !a.Closed() {
		return false
	}
	switch a.Verdict {
	case VerdictNotSent, VerdictNotApplied, VerdictRejected:
		return true
	case VerdictConfirmed, VerdictInProgress, VerdictUnknown:
	}
	return a.ProvenBy != ""
}

// Clean tells whether every attempt but the named one is closed and proven
// without effect.
func (s *Standing) Clean(attempt string) bool {
	for i := range s.Attempts {
		if a := &s.Attempts[i]; a.ID != attempt && !a.WithoutEffect() {
			return false
		}
	}
	return true
}

// Attempt returns the attempt with the given id, or nil.
func (s *Standing) Attempt(id string) *Attempt {
	for i := range s.Attempts {
		if s.Attempts[i].ID == id {
			return &s.Attempts[i]
		}
	}
	return nil
}

// OpenAttempt tells whether an attempt went silent and was not closed yet
// (M12a), or is still out.
func (s *Standing) OpenAttempt() bool {
	for i := range s.Attempts {
		if !s.Attempts[i].Closed() {
			return true
		}
	}
	return false
}
