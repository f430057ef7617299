package contract

import (
	"fmt"
	"strconv"

	"github.com/onefold-dev/onefold"
)

// The sections about what happens in doubt and over time, and about what cannot
// be promised.

func (a *agreement) recovery() {
	a.begin("recovery", "What happens in doubt")
	a.say("An attempt without a clear answer leaves its operation uncertain.",
		"Then these steps are tried in order; one that is not possible at the moment gives way to the next.",
		"Time alone never turns doubt into a result.")
	steps := make([]string, len(a.derived.Plan))
	for i, step := range a.derived.Plan {
		steps[i] = prose(step.Text)
	}
	a.steps(steps...)
	a.say("Whatever the plan says, nothing is ever sent for an operation while one of these stands against it:")
	a.list(
		"the effect is known to exist, though not yet under which reference; or there is more than one record of it;",
		"what the target holds differs from the request, or the target knows the identity from another request (a person may lift these);",
		"the operation was withdrawn, or its start deadline has passed.",
	)
	a.say("Once a caller was told that an operation is rejected or canceled, nothing is ever sent for it.",
		"Evidence that disagrees with a finished operation is shown beside its result and goes to a person; it never replaces the result and never sends anything.")
}

func (a *agreement) budgets() {
	p := a.policy
	a.begin("budgets", "Budgets, and what happens after them")
	a.table([]string{"Budget", "Here"},
		[]string{"Attempts, repeats included", "at most " + strconv.Itoa(p.RetryAttempts) + ", within " + span(p.RetryWithin) + " of the first dispatch"},
		[]string{"Wait between attempts", waitWords(p.RetryBackoff)},
		[]string{"Finding out", "within " + span(p.ReconcileWithin) + " of the first doubt; anew after each proof of absence"},
		[]string{"Wait between look-ups", waitWords(p.ReconcileBackoff)},
		[]string{"Owner", prose(p.Owner)},
		[]string{"Escalation", a.escalation()},
	)
	spent := "When the attempts are used up and it is proven that none had an effect, the operation is held (" + code("retry_exhausted") +
		") with a review for its owner. Letting it go starts a new budget; declining it rejects it."
	if p.Exhausted == onefold.ExhaustedReject {
		spent = "When the attempts are used up and it is proven that none had an effect, the operation is rejected (" + code("retry_exhausted") + ") and its caller is told so."
	}
	a.list(
		spent,
		"When finding out takes longer than its budget, the operation stays uncertain and a review is opened for its owner. It is never rejected for want of knowledge, and it never stays without an owner.",
		a.paused(),
		fmt.Sprintf("Each wait is shortened by up to a quarter by chance, so that many operations do not come at the same moment. No operation ever has more than %d attempts.", onefold.MaxAttempts),
	)
}

// paused says what a pause means, and which one comes by itself whatever the
// target answers.
func (a *agreement) paused() string {
	words := "While a connection is paused nothing begins, repeats included; look-ups go on. These budgets stand still, the target's window does not."
	if a.connection.Auth.Scheme != "" {
		words += " A secret of the connection that cannot be had pauses it, until a person has put it there and resumes it: nothing is sent meanwhile, and what found out has spent one attempt at most."
	}
	return words
}

func waitWords(b onefold.Backoff) string {
	if b.Factor == 1 {
		return span(b.First) + " each time"
	}
	return fmt.Sprintf("%s, then %s times as long each time, at most %s", span(b.First), strconv.FormatFloat(b.Factor, 'g', -1, 64), span(b.Max))
}

func (a *agreement) escalation() string {
	if a.policy.EscalateAfter <= 0 || a.policy.EscalateTo == "" {
		return "none: a review waits for its owner alone"
	}
	return "a review that is still open after " + span(a.policy.EscalateAfter) + " names " + prose(a.policy.EscalateTo) + " as well"
}

func (a *agreement) limits() {
	l := a.terms.Limits
	rate := "no limit"
	if l.PerSecond > 0 {
		rate = strconv.FormatFloat(l.PerSecond, 'g', -1, 64)
	}
	a.begin("limits", "Limits")
	a.table([]string{"Limit of the connection", "Here"},
		[]string{"Attempts and look-ups at once", strconv.Itoa(l.InFlight)},
		[]string{"Attempts and look-ups in a second", rate},
		[]string{"Unresolved operations", strconv.Itoa(l.Unresolved)},
	)
	a.list(
		"What is over the first two limits waits its turn; nothing is refused because of them.",
		"With "+strconv.Itoa(l.Unresolved)+" operations uncertain at the connection, new ones are refused (429 "+code("admission_limited")+"): a target that leaves so much in doubt is not sent more of it. The refused key is not used up, and repeats of known keys are answered as always.",
	)
}

func (a *agreement) mode() {
	a.begin("mode", "Mode and acknowledged limitations")
	acknowledged := "nobody"
	if ack := a.connection.Acknowledged; ack != nil {
		acknowledged = prose(ack.By) + " on " + ack.Date + ", because: " + prose(ack.Reason)
	}
	a.table([]string{"What", "Here"},
		[]string{"Mode as declared", string(a.terms.DeclaredMode)},
		[]string{"Mode in force", modeWords(a.terms.Mode)},
		[]string{"Limitations acknowledged by", acknowledged},
	)
	weak := a.terms.Protection == onefold.ProtectionNone || a.terms.Protection == onefold.ProtectionDetectable
	switch {
	case a.derived.Limitation != "":
		a.say("Not as declared: " + prose(a.derived.Limitation) + ". A person who knows the limitation records it under " + code("acknowledged") +
			" in the connection's document; from then on the connection is autonomous.")
	case weak && a.connection.Acknowledged != nil:
		a.say("The protection is " + string(a.terms.Protection) + ". The limitation is acknowledged, so that the connection acts in the mode that it declares (M27).")
	case weak:
		a.say("The protection is " + string(a.terms.Protection) + " and nobody acknowledged it: declared autonomous, the connection would still wait for approvals (M27).")
	default:
		a.say("The protection is " + string(a.terms.Protection) + ": no acknowledgement is needed (M27).")
	}
	switch a.terms.Mode {
	case onefold.ModeApproval:
		a.say("Each new operation is admitted and stored, and held (" + code("approval") + ") with a review for its owner. Nothing is sent until a person with the role " +
			code("operate") + " lets it go; declined, it is rejected without an effect.")
	case onefold.ModeDisabled:
		a.say("New submissions are refused (409 " + code("connection_disabled") + "), and nothing begins for operations that are on their way; those in doubt go on being looked up.")
	case onefold.ModeAutonomous:
	}
}

func (a *agreement) addresses() {
	a.begin("addresses", "Addresses")
	if a.op.Go != nil {
		a.reached()
		return
	}
	said := []string{"Requests go to paths below " + code(a.connection.URL) + "."}
	if a.proxy == "" {
		said = append(said, "The address is checked each time a connection is dialled, after names were resolved: loopback, private, link-local, metadata and other special addresses are refused.")
	} else {
		said = append(said, "Every connection is made through the deployment's forward proxy "+code(a.proxy)+", by CONNECT; a proxy that refuses is no connection, and nothing was sent.",
			"The proxy looks names up by itself: what a name leads to is not checked by onefold, and the proxy has to refuse what it must not reach.",
			"A target that is written as an address, and the proxy's own address, are checked: loopback, private, link-local, metadata and other special ones are refused.")
	}
	a.say(said...)
	if len(a.allow) == 0 {
		a.say("This deployment allows none of them.")
		return
	}
	ranges := make([]string, len(a.allow))
	for i, prefix := range a.allow {
		ranges[i] = code(prefix.String())
	}
	a.say("This deployment allows these all the same: " + andList(ranges) + ". No document can widen that.")
}

func (a *agreement) notPromised() {
	a.begin("not_promised", "What cannot be promised")
	a.list(append(a.weakest(),
		"onefold cannot make the target keep its contract. What stands here about the target is as true as its source (see Assumptions).",
		"Two submissions under different keys are two intended effects. onefold does not see that they mean the same business, nor what is entered at the target by other ways.",
		"A withdrawal after something was sent undoes nothing: it keeps more from being sent.",
		"A person's decision is taken at its word. \"Not applied\" where there was an effect leads to a second one; \"confirmed\" or \"rejected\" where it is not so leaves the books wrong. Who decided, and why, is kept.",
		"No time is promised in which an operation is settled. What can be promised is that an unresolved one has an owner.",
		"This release does not notice by itself that its database was put back from an older copy, or that two copies are running. An operation that such a copy has forgotten is sent as new when its key comes again, with the same identity as before"+a.afterRestore(),
	)...)
}

// afterRestore is what the same identity is worth.
func (a *agreement) afterRestore() string {
	if a.terms.Protection == onefold.ProtectionEnforced {
		return ": inside its window the target recognises it, later it does not."
	}
	return ", which this target is not known to recognise."
}

// weakest is what can go wrong in spite of everything at a target of this
// strength (M30).
func (a *agreement) weakest() []string {
	frozen := fmt.Sprintf("This target does not enforce identity: a process that is frozen between its last check and the kernel's write for longer than the straggler time (%s) can still cause a second effect (M30).",
		span(a.policy.Straggler))
	const missed = "An effect that is not found may exist. onefold does not send again, so that doubt ends in a person's hands, who has to find out elsewhere; nothing here keeps that decision from being wrong."
	late, unless := "", ""
	if a.terms.Protection == onefold.ProtectionEnforced {
		unless = ", unless the target still recognises the identity"
	}
	if a.policy.AbsenceProves && len(a.op.Lookups) > 0 {
		late = fmt.Sprintf("Absence is trusted after %s. An effect that becomes visible later than that, against the contract, can be followed by a second one%s.",
			span(a.policy.Settle+a.policy.Processing), unless)
	}
	var out []string
	switch a.terms.Protection {
	case onefold.ProtectionEnforced:
		until := "After the window, or where a part of the scope has changed,"
		if a.op.Identity.Window.Value == onefold.Forever {
			until = "Where a part of the scope has changed,"
		}
		out = append(out, a.frozenEnforced(),
			until+" the target no longer protects: then onefold repeats nothing on the strength of it, and what is still in doubt is left to the further steps of the plan.")
	case onefold.ProtectionReconcilable:
		out = append(out, frozen)
	case onefold.ProtectionDetectable:
		out = append(out, frozen, missed)
	case onefold.ProtectionNone:
		out = append(out, frozen, "The target cannot be asked. Every lost answer ends in a person's hands, who has to find out elsewhere; nothing here keeps that decision from being wrong.")
	}
	if late != "" && a.terms.Protection != onefold.ProtectionDetectable {
		out = append(out, late)
	}
	return out
}

func (a *agreement) frozenEnforced() string {
	const frozen = "A process that is frozen between its last check and the kernel's write can send late (M30). "
	if w := a.op.Identity.Window.Value; w != onefold.Forever {
		return frozen + "Inside the target's window of " + span(w) + " that is a repeat, which the target recognises; a freeze that outlasts the window can still cause a second effect."
	}
	return frozen + "The target recognises that as a repeat."
}
