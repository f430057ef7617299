package contract

import (
	"slices"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// goBinding is a binding whose requests Go functions carry: it freezes calls
// instead of requests, and judges reports instead of answers.
type goBinding struct{ *binding }

var _ onefold.Binding = goBinding{}

// bound is a compiled binding as its protocol has it.
func bound(b *binding) onefold.Binding {
	if b.program.op.Go != nil {
		return goBinding{b}
	}
	return b
}

// compileGoOperation compiles what a Go target's operation has of templates.
func compileGoOperation(op *TargetOperation) (*program, []Fault) {
	c := &operationCompiler{}
	p := &program{op: op, verify: c.checks(op.Verify, op.Pointer+"/verify")}
	return p, c.faults
}

// Freeze builds the call (M2a): the approved request byte for byte, with identity
// and reference beside it. Errors: json_invalid for a request that is no JSON.
func (b goBinding) Freeze(op *onefold.Operation, request []byte) (onefold.Frozen, error) {
	return b.call(op, request, b.program.op.Write.Timeout)
}

func (b goBinding) call(op *onefold.Operation, request []byte, timeout time.Duration) (onefold.Frozen, error) {
	if _, err := b.registry.parseApproved(request); err != nil {
		return onefold.Frozen{}, err
	}
	f := onefold.Frozen{
		Method: onefold.GoMethod, Path: "/" + b.terms.Capability, Body: slices.Clone(request), Timeout: timeout,
		Headers: []onefold.Header{
			{Name: onefold.HeaderIdentity, Value: op.Identity},
			{Name: onefold.HeaderReference, Value: op.Reference},
		},
	}
	f.Digest = frozenDigest(&f)
	return f, nil
}

// LookupRequest builds the look-up's call; ok is false where the contract has no
// look-up.
func (b goBinding) LookupRequest(op *onefold.Operation, request []byte) (f onefold.Frozen, ok bool, err error) {
	if len(b.program.op.Lookups) == 0 {
		return onefold.Frozen{}, false, nil
	}
	f, err = b.call(op, request, b.program.op.Lookups[0].Timeout)
	return f, true, err
}

// Judge says what a function's report of a write means. What is no report is
// doubt, unless the function was provably not called.
func (b goBinding) Judge(op *onefold.Operation, request []byte, x *onefold.Exchange, clean bool) (onefold.Answer, onefold.Evidence) {
	ev := x.Evidence
	ev.Kind = onefold.EvidenceTransport
	if x.Wrote == nil {
		ans := onefold.Answer{Outcome: onefold.OutcomeUnknown, Doubt: onefold.DoubtNoAnswer, Detail: "no report" + because(x)}
		switch {
		case x.NotSent:
			ans = notSent(x)
		case x.Failure == "internal":
			ans.Doubt = onefold.DoubtInternal
		}
		return finish(&ans, ev, clean)
	}
	if x.Wrote.Outcome != onefold.OutcomeNotSent {
		ev.Kind = onefold.EvidenceResponse
	}
	ans := b.reported(op, request, x.Wrote)
	return finish(&ans, ev, clean)
}

// reported is the answer that a report gives.
func (b goBinding) reported(op *onefold.Operation, request []byte, r *onefold.WriteReport) onefold.Answer {
	ans := onefold.Answer{
		Outcome: r.Outcome, Code: cut(r.Code, maxCode), Detail: "the function reported " + string(r.Outcome) + because(detailOf(r.Detail)),
		RetryAfter: max(0, min(r.RetryAfter, maxRetryAfter)), PauseConnection: r.PauseConnection,
		OwnIdentity: r.OwnIdentity, TargetRequestID: cut(r.TargetRequestID, maxCode),
	}
	switch r.Outcome {
	case onefold.OutcomeConfirmed:
		b.confirmed(&ans, op, request, r)
	case onefold.OutcomeRejected:
		ans.SettlesOperation = r.SettlesOperation
	case onefold.OutcomeExists:
		if readable(r.Reference) {
			ans.Reference = r.Reference
		}
	case onefold.OutcomeNotApplied, onefold.OutcomeNotSent:
	case onefold.OutcomeInProgress:
		ans.Doubt = onefold.DoubtInProgress
	case onefold.OutcomeKeyConflict:
		ans.Doubt = onefold.DoubtKeyConflict
	case onefold.OutcomeUnknown, "":
		ans.Outcome, ans.Doubt = onefold.OutcomeUnknown, onefold.DoubtUnclassified
		ans.Detail = "the function's report does not say whether the effect exists" + because(detailOf(r.Detail))
	default:
		ans.Outcome, ans.Doubt = onefold.OutcomeUnknown, onefold.DoubtInternal
		ans.Detail = "the function reported an outcome that there is not" + because(detailOf(r.Detail))
	}
	ans.Stored = b.stores(ans.Outcome)
	return ans
}

// confirmed reads the reference of an effect and holds the record against the
// request (M15).
func (b goBinding) confirmed(ans *onefold.Answer, op *onefold.Operation, request []byte, r *onefold.WriteReport) {
	if readable(r.Reference) {
		ans.Reference, ans.NamedByRequest = r.Reference, b.asksFor(op, request, r.Reference)
	} else {
		ans.EffectExists, ans.Doubt = true, onefold.DoubtUnreadable
		ans.Detail = "the effect exists, but the function gave no readable reference" + because(detailOf(r.Detail))
	}
	differs, hint := b.agreement(op, request, r.Record)
	ans.Differs, ans.Detail = differs, ans.Detail+hint
}

// asksFor tells whether the request that the function is called with names a record.
func (b goBinding) asksFor(op *onefold.Operation, request []byte, reference string) bool {
	asked := b.approved(op, request).request
	return reference != "" && asked != nil && holdsText(asked, reference)
}

// agreement holds a record against the approved request; hint names what it does
// not show.
func (b goBinding) agreement(op *onefold.Operation, request, record []byte) (differs []onefold.Mismatch, hint string) {
	if len(b.program.verify) == 0 {
		return nil, ""
	}
	var v *identity.Value
	if len(record) > 0 {
		parsed, err := identity.Parse(record, identity.Limits{MaxBytes: maxAnswer})
		if err != nil {
			return nil, "; the record is no acceptable JSON and was held against nothing"
		}
		v = parsed
	}
	seen := b.program.compare(b.approved(op, request), v)
	return seen.differs, seen.hint()
}

// stores says whether the outcome is one that the target gives a repeat again, so
// that a replay would only repeat it (M11a). What is not documented counts as
// stored.
func (b goBinding) stores(o onefold.Outcome) bool {
	switch o {
	case onefold.OutcomeNotApplied, onefold.OutcomeNotSent, onefold.OutcomeInProgress:
		return false
	default:
	}
	stored := b.program.op.Go.Stores
	return !stored.Known() || slices.Contains(stored.Value, o)
}

// JudgeLookup says what a function's report of a look-up means.
func (b goBinding) JudgeLookup(op *onefold.Operation, request []byte, x *onefold.Exchange) (onefold.LookupOutcome, onefold.Evidence) {
	ev := x.Evidence
	ev.Kind, ev.Asserts = onefold.EvidenceLookup, onefold.AssertsNothing
	out := onefold.LookupOutcome{Result: onefold.LookupInconclusive}
	if x.Found == nil {
		out.Detail = "the look-up had no report" + because(x)
		out.PauseConnection = unusable(x)
	} else {
		b.found(op, request, x.Found, &out, &ev)
	}
	ev.Detail, ev.Reference, ev.Mismatches = out.Detail, out.Reference, out.Differs
	return out, ev
}

func (b goBinding) found(op *onefold.Operation, request []byte, r *onefold.LookupReport, out *onefold.LookupOutcome, ev *onefold.Evidence) {
	told := because(detailOf(r.Detail))
	switch r.Result {
	case onefold.LookupFound:
		ev.Asserts = onefold.AssertsEffect
		differs, hint := b.agreement(op, request, r.Record)
		out.Result, out.Reference, out.Differs = onefold.LookupFound, r.Reference, differs
		out.Detail = "the function found one record" + told + hint
		if !readable(r.Reference) {
			// The effect exists, whatever it is called: the law bars every further send.
			out.Reference, out.Detail = "", "a record was found, but the function gave no readable reference"+told
		}
		out.Candidates = []onefold.Candidate{{Reference: out.Reference}}
		if !r.Created.IsZero() {
			at := r.Created.UTC()
			ev.OccurredAt, out.Predates = &at, at.Before(op.CreatedAt.Add(-createdTolerance))
		}
	case onefold.LookupSeveral:
		ev.Asserts = onefold.AssertsEffect
		out.Result, out.Detail = onefold.LookupSeveral, "the function found several records"+told
	case onefold.LookupAbsent:
		out.Result, out.Detail = onefold.LookupAbsent, "the function found none"+told
		b.program.absence(ev)
	default:
		out.Detail = "the function's look-up was inconclusive" + told
	}
}

// detailOf is a report's own words, in the form in which failures are told.
func detailOf(detail string) *onefold.Exchange {
	return &onefold.Exchange{Failure: cut(onefold.Shown(detail), onefold.MaxExcerpt)}
}
