package onefold

import "time"

// ReviewReason is why a person has to look at an operation.
type ReviewReason string

// The review reasons.
const (
	ReviewDiffers            ReviewReason = "differs"
	ReviewKeyConflict        ReviewReason = "key_conflict"
	ReviewMultipleEffects    ReviewReason = "multiple_effects"
	ReviewPredates           ReviewReason = "predates"
	ReviewExistsElsewhere    ReviewReason = "exists_elsewhere"
	ReviewReconcileExhausted ReviewReason = "reconcile_exhausted"
	ReviewOperatorOnly       ReviewReason = "operator_only"
	ReviewAbsentButBarred    ReviewReason = "absent_but_barred"
	ReviewContradicted       ReviewReason = "contradicted"
	ReviewRetryExhausted     ReviewReason = "retry_exhausted"
	ReviewApproval           ReviewReason = "approval"
	ReviewEvidence           ReviewReason = "evidence"
	ReviewUnsendable         ReviewReason = "unsendable"
)

// ReviewStatus tells whether a review still needs its owner.
type ReviewStatus string

// The statuses of a review.
const (
	ReviewOpen     ReviewStatus = "open"
	ReviewResolved ReviewStatus = "resolved"
)

// Review is work that a person owns because evidence alone cannot settle an
// operation. It never is without an owner (M16).
type Review struct {
	ID       string       `json:"id"` // TypeID rev_…
	Reason   ReviewReason `json:"reason"`
	Status   ReviewStatus `json:"status"`
	Owner    string       `json:"owner"`
	OpenedAt time.Time    `json:"opened_at"`
	// EscalateAt is when a second person is named, EscalateTo who; EscalatedAt is
	// set when it happened (M16).
	EscalateAt  *time.Time `json:"escalate_at,omitempty"`
	EscalateTo  string     `json:"escalate_to,omitempty"`
	EscalatedAt *time.Time `json:"escalated_at,omitempty"`
	ResolvedAt  *time.Time `json:"resolved_at,omitempty"`
	// ResolvedBy, Decision and Justification are who decided what and why; a
	// review that evidence settled has the engine here.
	ResolvedBy    *Actor `json:"resolved_by,omitempty"`
	Decision      string `json:"decision,omitempty"`
	Justification string `json:"justification,omitempty"`
	Evidence      string `json:"evidence,omitempty"` // what opened it
	Detail        string `json:"detail,omitempty"`
	// Candidates are records at the target from which the person may pick the one
	// that is the operation's effect; a resolution names its reference (M14).
	Candidates []Candidate `json:"candidates,omitempty"`
}

// MaxCandidates bounds the candidates of a review: more than a person compares.
const MaxCandidates = 20

// Candidate is one record at the target that may be the operation's effect.
type Candidate struct {
	// Reference is the target's own; empty where it could not be read, and then it
	// cannot be picked.
	Reference string           `json:"reference"`
	Fields    []CandidateField `json:"fields,omitempty"`
	// RecordedBy is another operation of the same workspace, connection and
	// capability that has recorded this reference as its result (M18).
	RecordedBy string `json:"recorded_by,omitempty"`
}

// CandidateField is what a record shows at a JSON Pointer, as JSON text.
type CandidateField struct {
	Pointer string `json:"pointer"`
	Value   string `json:"value"`
}

// OpenReviews returns the reviews that still need their owner.
func (s *Standing) OpenReviews() []Review {
	var open []Review
	for _, r := range s.Reviews {
		if r.Status == ReviewOpen {
			open = append(open, r)
		}
	}
	return open
}

func (s *Standing) openReview(reason ReviewReason) *Review {
	for i := range s.Reviews {
		if s.Reviews[i].Status == ReviewOpen && (reason == "" || s.Reviews[i].Reason == reason) {
			return &s.Reviews[i]
		}
	}
	return nil
}
