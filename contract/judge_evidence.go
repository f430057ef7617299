package contract

import (
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// JudgeEvidence holds delivered evidence of an effect against the approved request
// and the admission (M15). Its body is read as a record: verify fields and the
// look-ups' created are found in it at the places where a record has them. In one
// thing it is held to more than an answer: an answer that shows less came to our own
// request, while nothing but the deliverer's word ties this body to the operation,
// so that what it does not show is told, and does not confirm.
func (b *binding) JudgeEvidence(op *onefold.Operation, request []byte, occurredAt *time.Time, body []byte) onefold.EvidenceJudgement {
	var out onefold.EvidenceJudgement
	record, readable := evidenceBody(body)
	if !readable {
		out.Detail = "its body is no acceptable JSON and was held against nothing"
	}
	b.age(op, occurredAt, record, &out)
	if len(b.program.verify) == 0 {
		return out
	}
	approved, err := b.registry.parseApproved(request)
	if err != nil {
		// Without the request nothing can agree.
		for i := range b.program.verify {
			out.Unshown = append(out.Unshown, b.program.verify[i].pointer)
		}
		out.Detail = "the approved request cannot be read"
		return out
	}
	seen := b.program.compare(b.materials(op, approved), record)
	out.Differs, out.Unshown = seen.differs, seen.hidden
	return out
}

// age tells whether the evidence is of something older than the operation: by its
// source's time, or by the record's own where one of the look-ups says where that
// stands.
func (b *binding) age(op *onefold.Operation, occurredAt *time.Time, record *identity.Value, out *onefold.EvidenceJudgement) {
	out.Predates = occurredAt != nil && older(*occurredAt, false, op.CreatedAt)
	for i := range b.program.lookups {
		at, date, ok := b.program.lookups[i].madeAt(record)
		if !ok {
			continue
		}
		if out.MadeAt == nil || at.Before(*out.MadeAt) {
			out.MadeAt = &at
		}
		out.Predates = out.Predates || older(at, date, op.CreatedAt)
	}
}

// evidenceBody reads the body as a record; a text is read as the JSON that it
// holds, since sources pass on what they were sent as it came. It is nil where
// there is none, and readable is false where there is one of no use.
func evidenceBody(body []byte) (record *identity.Value, readable bool) {
	if len(body) == 0 {
		return nil, true
	}
	v, err := identity.Parse(body, identity.Limits{MaxBytes: maxAnswer})
	if err == nil && v.Kind() == identity.String {
		text := strings.TrimSpace(v.Text())
		v, err = identity.Parse([]byte(text), identity.Limits{MaxBytes: maxAnswer})
	}
	if err != nil {
		return nil, false
	}
	return v, true
}
