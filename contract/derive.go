package contract

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// Deployment is what the deployment adds to every contract. Zero fields are
// DefaultStraggler and DefaultClockError.
type Deployment struct {
	Straggler  time.Duration // M12a
	ClockError time.Duration // M11a
}

func (d Deployment) withDefaults() Deployment {
	return Deployment{
		Straggler:  cmp.Or(d.Straggler, DefaultStraggler),
		ClockError: cmp.Or(d.ClockError, DefaultClockError),
	}
}

// Derived is what follows from a capability, a target operation and a
// connection together. It is shown in the agreement and by apply --check.
type Derived struct {
	Protection onefold.Protection
	// Reasons say what the protection rests on, or what it lacks, one sentence
	// each; guesses are named with whoever answers for them.
	Reasons []string
	// EffectiveMode is the mode in force (M27). Limitation says why it is not the
	// declared one; empty where it is.
	EffectiveMode onefold.Mode
	Limitation    string
	// Plan is what happens after doubt, step by step; it always ends with a person.
	Plan   []PlanStep
	Policy onefold.Policy
}

// PlanStep is one step of a recovery plan.
type PlanStep struct {
	Step onefold.RecoveryStep
	// Possible is false for a step that the contract names and that can never be
	// taken; it gives way to the next at once.
	Possible bool
	// After is the least time between the end of every attempt and what the step
	// may conclude: settle and processing before an absence proves anything (M12).
	After time.Duration
	// Until is when the step's time is over: the target's window less the margin,
	// from the first dispatch, for a replay; the reconcile budget, from the first
	// doubt, for a look-up. onefold.Forever is no end.
	Until time.Duration
	// Attempts bounds writes and replays together; 0 for steps that are neither.
	Attempts int
	// Text is the step in a sentence.
	Text string
}

// Derive says what follows from the three documents together.
func Derive(c *Capability, op *TargetOperation, conn *Connection, d Deployment) Derived {
	protection, reasons := protectionOf(op)
	policy := c.Policy(op, conn, d)
	out := Derived{
		Protection: protection, Reasons: reasons, EffectiveMode: effectiveMode(conn, protection), Policy: policy,
		Plan: recoveryPlan(op, policy),
	}
	if out.EffectiveMode != conn.Mode {
		out.Limitation = fmt.Sprintf("the protection is %s and nobody acknowledged it: every operation waits for an approval (M27)", protection)
	}
	return out
}

// ProtectionOf is the strength of protection that a target operation gives
// (section 3).
func ProtectionOf(op *TargetOperation) onefold.Protection {
	protection, _ := protectionOf(op)
	return protection
}

func protectionOf(op *TargetOperation) (onefold.Protection, []string) {
	protection, reasons := strengthOf(op)
	if op.References == ReferencesShared {
		reasons = append(reasons, "references: shared: two operations may be confirmed by one record")
	}
	return protection, reasons
}

func strengthOf(op *TargetOperation) (onefold.Protection, []string) {
	lacks := enforcementLacks(op)
	if len(lacks) == 0 {
		return onefold.ProtectionEnforced, append([]string{enforcement(op)}, guesses(op)...)
	}
	reasons := []string{"not enforced: " + strings.Join(lacks, "; ")}
	proves, why := provesAbsence(op)
	switch {
	case len(op.Lookups) == 0:
		return onefold.ProtectionNone, append(reasons, "there is no look-up")
	case !proves:
		return onefold.ProtectionDetectable, append(reasons, "a look-up can find an effect, but never prove that there is none: "+why)
	default:
		reasons = append(reasons, "a look-up can prove both ways, absence "+formatDuration(op.Settle.Value+op.Processing.Value)+" after the end of every attempt")
		return onefold.ProtectionReconcilable, append(reasons, guesses(op)...)
	}
}

// enforcementLacks lists what keeps an identity from being enforced: a known
// window, repeats without a new effect, and word about concurrent repeats.
func enforcementLacks(op *TargetOperation) []string {
	var lacks []string
	i := &op.Identity
	switch i.Kind {
	case IdentityNone, IdentityUpsert, IdentityPossibleResendFlag:
		return []string{"identity kind " + string(i.Kind) + " does not keep a repeat from a second effect"}
	case IdentityKey, IdentityUniqueReference, IdentityClientAssignedID, IdentityCreateOnly:
	}
	if !carried(op) {
		lacks = append(lacks, "nothing carries the identity")
	}
	if !i.Window.Known() {
		lacks = append(lacks, "the window is undocumented")
	}
	switch {
	case !i.OnRepeat.Known():
		lacks = append(lacks, "what a repeat does is undocumented")
	case i.OnRepeat.Value == RepeatNewEffect:
		lacks = append(lacks, "a repeat has a new effect")
	}
	switch at := i.Concurrent; {
	case !at.Known():
		lacks = append(lacks, "what concurrent repeats do is undocumented")
	case at.Value.Rule == "" && at.Value.Does != ConcurrentBlocks:
		lacks = append(lacks, "concurrent repeats are neither serialized nor reported")
	}
	return lacks
}

// carried says whether what the target recognises travels with a write: for a
// key the identity, for the other kinds the identity or the reference. A kind
// that rests on a value of the request names that value as the carrier. The
// functions of a Go target are called with both.
func carried(op *TargetOperation) bool {
	if op.Go != nil || carries(op, "identity") {
		return true
	}
	return op.Identity.Kind != IdentityKey && carries(op, "reference")
}

// asksInVain names a derived value that a look-up asks for and that the write
// never carries, "" if there is none: that it finds nothing says nothing.
func asksInVain(op *TargetOperation, l *Lookup) string {
	if op.Go != nil {
		return ""
	}
	texts := append([]string{l.Path}, allTexts(l.Body)...)
	for _, h := range l.Headers {
		texts = append(texts, h.Value)
	}
	for i := range l.Match {
		texts = append(texts, allTexts(l.Match[i].Value)...)
	}
	for _, member := range []string{"identity", "reference"} {
		asks := slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "operation/"+member) })
		if asks && !carries(op, member) {
			return member
		}
	}
	return ""
}

// writtenTexts lists all that may refer to something in a write.
func writtenTexts(op *TargetOperation) []string {
	texts := []string{op.Write.Path}
	for _, h := range slices.Concat(op.Write.Headers, op.Identity.Companions) {
		texts = append(texts, h.Value)
	}
	return append(texts, allTexts(op.Write.Body)...)
}

// allTexts lists the strings of a tree.
func allTexts(v *identity.Value) []string {
	if v.Kind() == identity.String {
		return []string{v.Text()}
	}
	var texts []string
	for i := range v.Len() {
		texts = append(texts, allTexts(v.Index(i))...)
	}
	return texts
}

func enforcement(op *TargetOperation) string {
	reports := "serializes concurrent ones"
	if rule := op.Identity.Concurrent.Value.Rule; rule != "" {
		reports = "reports concurrent ones"
	}
	window := "without end"
	if w := op.Identity.Window.Value; w != onefold.Forever {
		window = "for " + formatDuration(w)
	}
	return fmt.Sprintf("the target recognises the identity %s, makes no second effect of a repeat, and %s", window, reports)
}

// guesses names what was assumed, and by whom.
func guesses(op *TargetOperation) []string {
	var out []string
	for _, a := range assumptions(op) {
		out = append(out, fmt.Sprintf("%s is assumed by %s on %s: %s", a.member, a.Owner, a.Date, a.Reason))
	}
	return out
}

// assumption of one member of a target operation.
type assumedMember struct {
	member, pointer string
	*Assumption
}

// assumptions lists what somebody answers for, in the order of the document's
// table.
func assumptions(op *TargetOperation) []assumedMember {
	i := &op.Identity
	at := op.Pointer + "/identity"
	all := []assumedMember{
		{"identity.scope", at + "/scope", i.Scope.Assumed},
		{"identity.window", at + "/window", i.Window.Assumed},
		{"identity.window.anchor", at + "/window/anchor", i.Anchor.Assumed},
		{"identity.on_repeat", at + "/on_repeat", i.OnRepeat.Assumed},
		{"identity.compares", at + "/compares", i.Compares.Assumed},
		{"identity.stores", at + "/stores", i.Stores.Assumed},
		{"identity.concurrent", at + "/concurrent", i.Concurrent.Assumed},
		{"settle", op.Pointer + "/settle", op.Settle.Assumed},
		{"processing", op.Pointer + "/processing", op.Processing.Assumed},
		{"absence", op.Pointer + "/absence", op.Absence.Assumed},
	}
	return slices.DeleteFunc(all, func(a assumedMember) bool { return a.Assumption == nil })
}

// provesAbsence says whether any look-up can prove that there is no effect, or
// why none can.
func provesAbsence(op *TargetOperation) (bool, string) {
	_, _, proves := absenceTerms(op)
	switch {
	case op.Absence.Undocumented && op.Absence.Assumed == nil:
		return false, "what absence means is undocumented"
	case op.Absence.Value == AbsenceInconclusive:
		return false, "the contract calls absence inconclusive"
	case !proves:
		return false, "the times that an effect may take are undocumented or have no bound"
	}
	evidence := 0
	for i := range op.Lookups {
		if member := asksInVain(op, &op.Lookups[i]); member != "" {
			return false, "a look-up asks for the operation's " + member + ", which the write does not carry"
		}
		switch l := &op.Lookups[i]; {
		case l.By == LookupByEvidence:
			evidence++
		case l.Complete != nil || len(l.Absent) > 0:
			return true, ""
		}
	}
	if evidence > 0 && evidence == len(op.Lookups) {
		return false, "a look-up by evidence finds candidates for a person (M14)"
	}
	return false, "nothing tells whether an answer is the whole answer"
}

// Policy is the capability's policy at a target operation over a connection:
// all that the law needs to know, every default filled in.
func (c *Capability) Policy(op *TargetOperation, conn *Connection, d Deployment) onefold.Policy {
	d = d.withDefaults()
	p := onefold.Policy{
		RetryAttempts: c.Retry.Attempts, RetryWithin: c.Retry.Within, RetryBackoff: c.Retry.Backoff, Exhausted: c.Retry.Exhausted,
		ReconcileWithin: c.Reconcile.Within, ReconcileBackoff: c.Reconcile.Backoff,
		EscalateAfter: c.Reconcile.EscalateAfter, EscalateTo: c.Reconcile.EscalateTo, Owner: conn.Owner,
		InDoubt: slices.Clone(op.InDoubt), Timeout: op.Write.Timeout,
		Straggler:    max(d.Straggler, op.Write.Timeout),
		WindowMargin: op.Write.Timeout + d.ClockError,
	}
	if len(op.Lookups) == 0 {
		// A step that can never be taken gives way to the next at once.
		p.InDoubt = slices.DeleteFunc(p.InDoubt, func(s onefold.RecoveryStep) bool { return s == onefold.StepLookup })
	}
	p.Settle, p.Processing, _ = absenceTerms(op)
	p.AbsenceProves, _ = provesAbsence(op)
	for i := range op.Lookups {
		if op.Lookups[i].By != LookupByEvidence {
			p.Lookups++
		}
	}
	if recognises(op) {
		p.Window = op.Identity.Window.Value
	}
	at := op.Identity.Concurrent
	p.SharedReferences = op.References == ReferencesShared
	p.ConcurrentSafe = at.Known() && (at.Value.Rule != "" || at.Value.Does == ConcurrentBlocks)
	if op.Accepted != nil {
		p.PollEvery, p.PollWithin = op.Accepted.Every, op.Accepted.Within
	}
	return p
}
