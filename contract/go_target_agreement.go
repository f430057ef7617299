package contract

import (
	"fmt"

	"github.com/onefold-dev/onefold"
)

// What an agreement says of a target that Go functions carry, where it is not what
// it says of any other.

func (a *agreement) requestWords() string {
	if a.op.Go != nil {
		return "a call of a Go function of the program that embeds onefold"
	}
	return code(a.op.Write.Method + " " + a.op.Write.Path)
}

// calling says what a function is called with and how often.
func (a *agreement) calling() {
	a.list(
		"What the function is called with (the approved request, the identity and the reference) is stored before the first attempt; every later attempt is called with the same. Credentials are the function's own.",
		"Identity and reference are derived from the caller's key, not drawn: the same key gives the same ones again.",
		"An attempt is recorded durably before its call, and is one call. What the function does with it is the function's: a library inside it that sends again by itself breaks this agreement.",
	)
}

// lookupCall is the table of a look-up by a function.
func (a *agreement) lookupCall(l *Lookup) {
	a.table([]string{"Look-up by " + string(l.By), "Here"},
		[]string{"Request", "a call of a Go function, which says what it found"},
		[]string{"Time-out", span(l.Timeout)},
		[]string{"Absent", "where the function reports that it saw everything, and nothing of this operation"},
	)
}

// reports says what a function's word means.
func (a *agreement) reports() {
	a.say("A Go function reads the target's answer and reports what it means for this attempt.",
		"An attempt is clean if every other attempt of its operation is closed and proven to be without effect; the first attempt always is.",
		"A refusal, or an attempt without effect, speaks for itself alone: where an earlier attempt is in doubt the operation stays in doubt, unless the report says otherwise.")
	rows := [][]string{}
	for _, r := range []struct {
		outcome onefold.Outcome
		words   string
	}{
		{onefold.OutcomeConfirmed, "the effect exists under the reference that is reported; without a readable one it is looked up, and nothing is sent again"},
		{onefold.OutcomeRejected, "refused for good: on a clean attempt rejected, otherwise in doubt"},
		{onefold.OutcomeNotApplied, "this attempt had no effect: tried again after a wait"},
		{onefold.OutcomeNotSent, "nothing was sent: tried again after a wait"},
		{onefold.OutcomeInProgress, "still being worked on: waited out, never sent again at once"},
		{onefold.OutcomeExists, "the target says that it exists already: looked up"},
		{onefold.OutcomeKeyConflict, "the target knows the identity from another request: nothing is sent again, and a person decides"},
		{onefold.OutcomeUnknown, "in doubt"},
	} {
		rows = append(rows, []string{code(string(r.outcome)), r.words})
	}
	a.table([]string{"Report", "What it means"}, append(rows,
		[]string{"an error, a panic, a report that says nothing", "in doubt"},
		[]string{"no word in time", "in doubt, and the attempt is open until the function comes back or the straggler time is over"},
	)...)
}

// reached says what the functions reach.
func (a *agreement) reached() {
	a.say(fmt.Sprintf("The functions reach %s, as the connection calls it. Which addresses that means, and who may be reached there, is the program's own to check: onefold dials nothing for this connection.", code(a.connection.URL)))
}

// lookupName is how a recovery plan speaks of a look-up.
func lookupName(op *TargetOperation, l *Lookup) string {
	if op.Go != nil {
		return string(l.By) + " (a function)"
	}
	return fmt.Sprintf("%s (%s %s)", l.By, l.Method, l.Path)
}

// storesFact is which answers the target gives a repeat again.
func storesFact(op *TargetOperation) targetFact {
	const (
		member  = "identity.stores"
		name    = "Which answers the target gives again to a repeat"
		careful = "every final answer counts as stored, and nothing is sent again only to hear it once more"
	)
	if op.Go == nil {
		return fact(member, name, op.Identity.Stores, storesWords, careful)
	}
	return fact(member, name, op.Go.Stores, func(list []onefold.Outcome) string {
		words := make([]string, len(list))
		for i, o := range list {
			words[i] = string(o)
		}
		if len(words) == 0 {
			return "none"
		}
		return orList(codes(words))
	}, careful)
}
