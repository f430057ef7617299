package contract

import (
	"fmt"
	"slices"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// Bounds of what a candidate shows: enough to tell records apart.
const (
	maxCandidateFields = 12
	maxCandidateText   = 200
)

// candidates are what a look-up by evidence comes to: a person picks from them
// (M14). Finding none proves nothing, since the target may show what it was sent
// in another way.
func (p *program) candidates(l *lookup, m *materials, a *answer, seen search, out *onefold.LookupOutcome) {
	records := slices.DeleteFunc(slices.Clone(seen.matching), func(record *identity.Value) bool {
		at, date, ok := l.madeAt(record)
		return ok && older(at, date, m.op.CreatedAt)
	})
	switch {
	case len(records) > 0:
		out.Result, out.Candidates = onefold.LookupCandidates, p.shown(l, a, records)
		out.Detail = fmt.Sprintf("by evidence, %d records at the target may be its effect: %s", len(records), l.names(a, records))
		if len(records) == 1 {
			out.Detail = "by evidence, one record at the target may be its effect: " + l.names(a, records)
		}
	case seen.why != "":
		out.Detail = seen.why
	default:
		out.Detail = fmt.Sprintf("by evidence, none of %d records may be its effect; that proves nothing", seen.records)
	}
	if left := len(seen.matching) - len(records); left > 0 {
		out.Detail += fmt.Sprintf("; %d older than the operation are left out", left)
	}
}

// older says whether a record was made before the operation was admitted.
func older(at time.Time, date bool, admitted time.Time) bool {
	tolerance := createdTolerance
	if date {
		tolerance = createdDateTolerance
	}
	return at.Before(dayOr(admitted, date).Add(-tolerance))
}

// shown is what a person sees of records: reference, and the fields that the
// contract looks at.
func (p *program) shown(l *lookup, a *answer, records []*identity.Value) []onefold.Candidate {
	var out []onefold.Candidate
	for _, record := range records[:min(len(records), onefold.MaxCandidates)] {
		reference, ok := l.reference.read(a, record)
		if !ok {
			reference = ""
		}
		one := onefold.Candidate{Reference: reference}
		add := func(pointer string, tokens []string) {
			known := slices.ContainsFunc(one.Fields, func(f onefold.CandidateField) bool { return f.Pointer == pointer })
			if v, ok := walk(record, tokens); ok && !known && len(one.Fields) < maxCandidateFields {
				one.Fields = append(one.Fields, onefold.CandidateField{Pointer: pointer, Value: short(v, maxCandidateText)})
			}
		}
		for i := range l.match {
			add(l.match[i].pointer, l.match[i].tokens)
		}
		for i := range p.verify {
			add(p.verify[i].pointer, p.verify[i].tokens)
		}
		if l.states != nil {
			add(l.states.Field, l.states.tokens)
		}
		if l.Created != "" {
			add(l.Created, l.created)
		}
		out = append(out, one)
	}
	return out
}
