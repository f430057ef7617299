package contract

import (
	"fmt"
	"slices"
	"time"

	"github.com/onefold-dev/onefold"
)

// oldProvenance is from when on facts about a target are called old: providers
// change their rules within a year or two.
const oldProvenance = 365 * day

// operationWarnings looks at one entry of a target.
func (l *linter) operationWarnings(d *Document, op *TargetOperation) {
	if len(op.Lookups) > 0 && !op.Processing.Written {
		l.warn(d, op.Pointer, "processing is left to its default, the write's time-out of "+formatDuration(op.Write.Timeout), "write it, or undocumented")
	}
	replay := slices.Index(op.InDoubt, onefold.StepReplay)
	lookup := slices.Index(op.InDoubt, onefold.StepLookup)
	if protection := ProtectionOf(op); replay >= 0 && lookup > replay && protection != onefold.ProtectionEnforced {
		l.warn(d, op.Pointer+"/in_doubt", fmt.Sprintf("replay comes before lookup, but the target is %s, not enforced", protection), "look it up first")
	}
	for i := range op.Lookups {
		if member := asksInVain(op, &op.Lookups[i]); member != "" {
			l.warn(d, fmt.Sprintf("%s/lookup/%d", op.Pointer, i), "the look-up asks for the operation's "+member+", which the write does not carry: it finds nothing, and that proves nothing",
				"write $operation/"+member+" into the request")
		}
	}
	l.timeoutWarning(d, op)
	l.referencesWarning(d, op)
	if op.Go == nil {
		l.ruleWarnings(d, op)
	}
	for _, a := range assumptions(op) {
		l.warn(d, a.pointer, fmt.Sprintf("%s is assumed by %s on %s: %s", a.member, a.Owner, a.Date, a.Reason), "")
	}
}

// referencesWarning finds records that several operations may share without a word
// of the contract, and such a word that leaves nothing to tell them apart.
func (l *linter) referencesWarning(d *Document, op *TargetOperation) {
	switch shared := op.References == ReferencesShared; {
	case shared && len(op.Verify) == 0:
		l.warn(d, op.Pointer+"/references", "records may be shared and nothing is verified: an answer with the record of another operation confirms, whatever that one asked for", "add verify")
	case !shared && op.Identity.Kind == IdentityUpsert:
		l.warn(d, op.Pointer, "the target writes over what is there, and references are own: an answer with a record that another operation has recorded goes to a person, unless the request names that record",
			"write references: shared if several operations may write one record")
	}
}

// timeoutWarning finds windows that are over before a replay could begin: a
// first attempt takes up to one time-out, and the margin is another and the
// clock error.
func (l *linter) timeoutWarning(d *Document, op *TargetOperation) {
	if !recognises(op) || !slices.Contains(op.InDoubt, onefold.StepReplay) {
		return
	}
	window, timeout := op.Identity.Window.Value, op.Write.Timeout
	needed := 2*timeout + l.set.Deployment.withDefaults().ClockError
	if window > needed {
		return
	}
	l.warn(d, op.Pointer+"/write/timeout", fmt.Sprintf(
		"a time-out of %s is near or beyond the window of %s: after a time-out nothing is ever replayed", formatDuration(timeout), formatDuration(window)),
		"the window has to be longer than "+formatDuration(needed))
}

// ruleWarnings finds answers that every target gives one day and that no rule
// knows.
func (l *linter) ruleWarnings(d *Document, op *TargetOperation) {
	has := func(outcome Outcome) bool {
		return slices.ContainsFunc(op.Responses, func(r Response) bool { return r.Outcome == outcome })
	}
	at := op.Pointer + "/responses"
	repeats := op.Identity.Kind != IdentityNone
	compares := op.Identity.Compares
	if repeats && !has(OutcomeKeyConflict) && !(compares.Known() && compares.Value.Mode == ComparesNothing) {
		l.warn(d, at, "no rule knows the answer to a repeat with a changed body", "add a rule with outcome: key_conflict")
	}
	concurrent := op.Identity.Concurrent
	if repeats && !has(OutcomeInProgress) && !(concurrent.Known() && concurrent.Value.Does == ConcurrentBlocks) {
		l.warn(d, at, "no rule knows the answer while the first request is in progress", "add a rule with outcome: in_progress")
	}
	if has(OutcomeExists) && len(op.Lookups) == 0 {
		l.warn(d, at, "a rule says that the record exists, and there is no look-up: only a person can tell whose it is", "add lookup")
	}
	l.acceptedWarning(d, op)
	const serverError = 5
	if !slices.ContainsFunc(op.Responses, func(r Response) bool { return len(r.When.Status) > 0 && mayMatch(r.When.Status, serverError) }) {
		l.warn(d, at, "no rule knows server errors: each of them is uncertain", "add a rule for those that the target documents")
	}
}

// acceptedWarning finds a rule that takes every acceptance for success before it
// is asked what it is.
func (l *linter) acceptedWarning(d *Document, op *TargetOperation) {
	if op.Accepted == nil || op.Accepted.When == nil || len(op.Accepted.When.Status) == 0 {
		return
	}
	for i := range op.Responses {
		r := &op.Responses[i]
		plain := len(r.When.JSON) == 0 && len(r.When.Headers) == 0 && r.When.Clean == nil && r.When.Cel == ""
		covers := !slices.ContainsFunc(op.Accepted.When.Status, func(m StatusMatch) bool {
			return len(r.When.Status) > 0 && !slices.Contains(r.When.Status, m) && !slices.Contains(r.When.Status, StatusMatch{Class: m.Code / 100})
		})
		if plain && covers && r.Outcome != OutcomeAccepted {
			l.warn(d, r.Pointer, fmt.Sprintf("rule %s matches every answer that accepted means, which is asked last", quoted(r.Name)), "name the statuses that the rule is for")
			return
		}
	}
}

// provenance finds facts that nobody looked at for long, or never tried.
func (l *linter) provenance(d *Document) {
	p := d.Target.Provenance
	if p == nil {
		l.warn(d, "", "nothing says where the facts of this target come from, and it was never probed", "add provenance")
		return
	}
	for _, date := range []struct{ name, value, lacks string }{
		{"checked", p.Checked, "was never checked against its source"}, {"probed", p.Probed, "was never probed"},
	} {
		at := "/provenance/" + date.name
		when, err := time.Parse(time.DateOnly, date.value)
		switch {
		case err != nil:
			l.warn(d, at, "this contract "+date.lacks, "")
		case !l.set.Today.IsZero() && l.set.Today.Sub(when) > oldProvenance:
			l.warn(d, at, fmt.Sprintf("this contract was last %s on %s, more than a year ago", date.name, date.value), "")
		}
	}
}

// principal finds an owner whom nobody could reach.
func (l *linter) principal(d *Document) {
	owner := d.Connection.Owner
	if l.set.Principals != nil && !slices.Contains(l.set.Principals, owner) {
		l.warn(d, "/owner", "the owner "+quoted(owner)+" is no principal of this deployment", "")
	}
}
