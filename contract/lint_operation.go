package contract

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// operation judges one entry of a target by itself.
func (l *linter) operation(d *Document, op *TargetOperation) {
	if slices.Contains(op.InDoubt, onefold.StepReplay) {
		l.replay(d, op)
	}
	for i := range op.Responses {
		l.refusal(d, op, &op.Responses[i])
	}
	l.absence(d, op)
	l.references(d, op)
	l.evidence(d, op)
	l.format(d, op.Pointer+"/identity/format", op.Identity.Format)
	l.format(d, op.Pointer+"/reference_format", op.ReferenceFormat)
	l.operationWarnings(d, op)
}

// replay refuses in_doubt: replay where the identity cannot carry it.
func (l *linter) replay(d *Document, op *TargetOperation) {
	i := &op.Identity
	at := op.Pointer + "/identity"
	const cannot = "in_doubt names replay, but "
	const hint = "take replay out of in_doubt"
	switch {
	case i.Kind == IdentityNone || i.Kind == IdentityUpsert:
		l.fault(d, at+"/kind", cannot+"an identity of kind "+string(i.Kind)+" cannot carry it", hint)
		return
	case !carried(op):
		l.fault(d, at, cannot+"nothing carries the identity", "add carrier, or write $operation/identity into the request")
	}
	switch {
	case !i.OnRepeat.Known():
		l.fault(d, at+"/on_repeat", cannot+"on_repeat is undocumented", hint+", or add assumed")
	case i.OnRepeat.Value == RepeatNewEffect:
		l.fault(d, at+"/on_repeat", cannot+"a repeat has a new effect", hint)
	}
	if !i.Window.Known() {
		l.fault(d, at+"/window", cannot+"the window is undocumented", hint+", or add assumed")
	}
	if i.Compares.Known() && i.Compares.Value.Mode == ComparesBodyBytes && op.Write.Body == nil {
		l.fault(d, at+"/compares", cannot+"the target compares body bytes and the write has no body to freeze", "")
	}
	if weakly(i.Compares) && len(op.Verify) == 0 {
		l.fault(d, at+"/compares", cannot+"the target compares less than the parameters of a repeat and nothing is verified",
			"add verify, so that an answer to another request does not confirm this one")
	}
}

// weakly says that a repeat with other parameters may be answered as if it were
// the same.
func weakly(compares Documented[Compares]) bool {
	return !compares.Known() || compares.Value.Mode == ComparesFields || compares.Value.Mode == ComparesNothing
}

// refusal refuses a rule that lets a 4xx of a later attempt speak for an
// earlier one.
func (l *linter) refusal(d *Document, op *TargetOperation, r *Response) {
	const clientError = 4
	if r.Outcome != OutcomeRejected || !mayMatch(r.When.Status, clientError) {
		return
	}
	named := len(r.When.JSON) > 0 || len(r.When.Headers) > 0
	if named || r.When.Clean != nil && *r.When.Clean || storesAll(op.Identity.Stores, r.When.Status, clientError) {
		return
	}
	l.fault(d, r.Pointer, fmt.Sprintf("rule %s rejects on a 4xx that a later attempt could get after an earlier one worked", quoted(r.Name)),
		"add clean: true, or name the code that the target gives")
}

// mayMatch says whether a condition on the status lets any of a class through.
func mayMatch(statuses []StatusMatch, class int) bool {
	return len(statuses) == 0 || slices.ContainsFunc(statuses, func(m StatusMatch) bool { return m.Class == class || m.Code/100 == class })
}

// storesAll says whether the target stores every answer of a class that the
// condition lets through, so that a repeat gets the first answer again.
func storesAll(stores Documented[[]StatusMatch], statuses []StatusMatch, class int) bool {
	if !stores.Known() {
		return false
	}
	if slices.Contains(stores.Value, StatusMatch{Class: class}) {
		return true
	}
	if len(statuses) == 0 {
		return false
	}
	for _, m := range statuses {
		if (m.Class == class || m.Code/100 == class) && !slices.Contains(stores.Value, m) {
			return false
		}
	}
	return true
}

// absence refuses an absence that is called authoritative without an end to
// wait for (M12).
func (l *linter) absence(d *Document, op *TargetOperation) {
	if op.Absence.Value != AbsenceAuthoritative || !op.Absence.Known() {
		return
	}
	const hint = "write absence: inconclusive, or find the time out"
	judge := func(name string, known, unbounded bool) {
		switch {
		case !known:
			l.fault(d, op.Pointer+"/"+name, "absence is called authoritative, but "+name+" is undocumented", hint)
		case unbounded:
			l.fault(d, op.Pointer+"/"+name, "absence is called authoritative, but "+name+" has no bound", hint)
		}
	}
	judge("settle", op.Settle.Known(), op.Settle.Value == onefold.Forever)
	judge("processing", op.Processing.Known(), op.Processing.Value == onefold.Forever)
}

// references refuses shared records where each request makes a record of its own
// or none.
func (l *linter) references(d *Document, op *TargetOperation) {
	if op.References == ReferencesShared && op.Identity.Kind == IdentityCreateOnly {
		l.fault(d, op.Pointer+"/references", "records are called shared, but the target creates one for each request and never replaces it", "leave references out")
	}
}

// evidence refuses a look-up that is called one by identity or reference and
// goes by what the business shows: it would confirm without a complete business
// identity (M14). A value of the request counts where the target itself keeps it
// unique.
func (l *linter) evidence(d *Document, op *TargetOperation) {
	switch op.Identity.Kind {
	case IdentityUniqueReference, IdentityClientAssignedID, IdentityCreateOnly, IdentityUpsert:
		return
	case IdentityKey, IdentityNone, IdentityPossibleResendFlag:
	}
	for i := range op.Lookups {
		look := &op.Lookups[i]
		own := slices.ContainsFunc(look.Match, func(c Check) bool {
			return slices.ContainsFunc(allTexts(c.Value), func(s string) bool { return strings.Contains(s, "operation/") })
		})
		if look.By == LookupByEvidence || own || len(look.Match) == 0 {
			continue
		}
		l.fault(d, look.Pointer, fmt.Sprintf(
			"a look-up by %s that matches nothing of the operation's own goes by evidence, and would confirm without a complete business identity (M14)", look.By),
			"write by: evidence, so that a person picks, or match $operation/reference or $operation/identity")
	}
}

// format refuses a format that no derived value fits, or that leaves too few
// bits (I13a).
func (l *linter) format(d *Document, pointer string, f Format) {
	if err := f.Validate(); err != nil {
		detail := err.Error()
		if wrong, ok := errors.AsType[*identity.FormatError](err); ok {
			pointer, detail = identity.JoinPointer(pointer, wrong.Member), wrong.Detail
		}
		l.fault(d, pointer, "a derived identity does not fit: "+detail, "")
		return
	}
	if bits := f.Bits(); bits < identity.MinBits && f.Reason == "" {
		l.fault(d, pointer, fmt.Sprintf("a derived identity of this format has %d bits, fewer than %d (I13a)", bits, identity.MinBits),
			"allow more characters, or give a reason")
	}
}
