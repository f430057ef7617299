package contract

import (
	"fmt"
	"strconv"
	"time"

	"github.com/onefold-dev/onefold"
)

// targetFact is one thing that a target's contract says, or does not say, as an
// agreement shows it.
type targetFact struct {
	member, name string
	// value is what counts, in words that say where it is not known or a guess;
	// bare is the value alone.
	value, bare string
	// careful is what onefold does because the fact is not known; empty where it is.
	careful string
	assumed *Assumption
}

// fact shows one documented value. careful says what is done without it.
func fact[T any](member, name string, d Documented[T], show func(T) string, careful string) targetFact {
	f := targetFact{member: member, name: name, assumed: d.Assumed}
	switch {
	case !d.Known():
		f.value, f.careful = "undocumented: "+careful, careful
	case d.Assumed != nil:
		f.bare = show(d.Value)
		f.value = f.bare + " (undocumented; assumed, see Assumptions)"
	default:
		f.bare = show(d.Value)
		f.value = f.bare
	}
	return f
}

// identityFacts are what the target says of the request identity; none where it
// has no use for one.
func identityFacts(op *TargetOperation) []targetFact {
	i := &op.Identity
	if i.Kind == IdentityNone {
		return nil
	}
	facts := []targetFact{
		fact("identity.scope", "Scope: what has to be the same for a repeat to be recognised", i.Scope, scopeNames, "everything counts: "+scopeNames(ScopeParts())),
		fact("identity.window", "Window: how long the identity is recognised", i.Window, span, "nothing is ever sent again on the strength of it"),
	}
	if i.Window.Known() && i.Window.Value != onefold.Forever {
		facts = append(facts, fact("identity.window.anchor", "The target counts the window", i.Anchor, anchorWords, "no matter, since onefold counts from the first dispatch, which is never later"))
	}
	return append(facts,
		fact("identity.on_repeat", "What the target does with a repeat", i.OnRepeat, repeatWords, "nothing is ever sent again on the strength of it"),
		fact("identity.compares", "What the target compares of a repeat", i.Compares, comparesWords, "onefold counts on nothing being compared"),
		storesFact(op),
		fact("identity.concurrent", "Two requests of one identity at the same moment", i.Concurrent, concurrentWords, "a repeat waits until every earlier attempt is closed"),
	)
}

// timeFacts are what the target says of time and absence.
func timeFacts(op *TargetOperation) []targetFact {
	const noProof = "absence proves nothing"
	processing := fact("processing", "Processing: how long the target may still work on a request whose connection is gone", op.Processing, span, noProof)
	if !op.Processing.Written {
		processing.value += " (not written in the contract: the write's time-out)"
	}
	return []targetFact{
		fact("settle", "Settle: how long a finished effect may stay invisible", op.Settle, span, noProof),
		processing,
		fact("absence", "What the contract calls absence", op.Absence, func(a Absence) string { return string(a) }, noProof),
	}
}

func scopeNames(parts []ScopePart) string {
	if len(parts) == 0 {
		return "nothing"
	}
	words := make([]string, len(parts))
	for i, part := range parts {
		words[i] = string(part)
	}
	return andList(words)
}

func anchorWords(a Anchor) string {
	switch a {
	case AnchorFirstSent:
		return "from when the first request was sent"
	case AnchorFirstReceived:
		return "from when it received the first request"
	case AnchorFirstCompleted:
		return "from when it completed the first request"
	case AnchorUntilTerminalState:
		return "until the effect has come to its final state"
	}
	return code(string(a))
}

func repeatWords(r OnRepeat) string {
	switch r {
	case RepeatFirstResponse:
		return "gives the first answer again"
	case RepeatCurrentState:
		return "answers with the effect's current state"
	case RepeatExistingObject:
		return "answers with the object that exists"
	case RepeatConflictMeansDone:
		return "answers with a conflict, which means that it is done"
	case RepeatNewEffect:
		return "makes a new effect"
	}
	return code(string(r))
}

func comparesWords(c Compares) string {
	switch c.Mode {
	case ComparesBodyBytes:
		return "the body, byte by byte"
	case ComparesParameters:
		return "the parameters"
	case ComparesFields:
		return "these fields alone: " + andList(codes(c.Fields))
	case ComparesNothing:
		return "nothing: a changed request under the same identity is answered like the first"
	}
	return code(string(c.Mode))
}

func storesWords(list []StatusMatch) string {
	if len(list) == 0 {
		return "none"
	}
	return orList(statusCodes(list))
}

func concurrentWords(c Concurrent) string {
	if c.Rule != "" {
		return "the second is told so, by the answer " + code(c.Rule)
	}
	switch c.Does {
	case ConcurrentBlocks:
		return "the second waits for the first"
	case ConcurrentSecondMayFail:
		return "the second may fail; a repeat waits until every earlier attempt is closed"
	case ConcurrentDuplicates:
		return "both may have an effect; a repeat waits until every earlier attempt is closed"
	}
	return code(string(c.Does))
}

func statusCodes(list []StatusMatch) []string {
	out := make([]string, len(list))
	for i, m := range list {
		if out[i] = strconv.Itoa(m.Code); m.Class != 0 {
			out[i] = strconv.Itoa(m.Class) + "xx"
		}
	}
	return out
}

// assumptions is the section about what is not certain.
func (a *agreement) assumptions() {
	a.begin("assumptions", "Assumptions, and what is not documented")
	var guesses, gaps [][]string
	facts := identityFacts(a.op)
	if len(a.op.Lookups) > 0 {
		// Without a look-up nothing asks for them.
		facts = append(facts, timeFacts(a.op)...)
	}
	for _, f := range facts {
		switch {
		case f.assumed != nil:
			guesses = append(guesses, []string{code(f.member), f.bare, prose(f.assumed.Owner), f.assumed.Date, prose(f.assumed.Reason)})
		case f.careful != "":
			gaps = append(gaps, []string{code(f.member), f.careful})
		}
	}
	if len(guesses) == 0 {
		a.say("Nothing is assumed.")
	} else {
		a.say("The target does not document these. Somebody answers for acting on them all the same; if one is wrong, what follows from it in this agreement is wrong too.")
		a.table([]string{"Member", "Assumed", "Who answers for it", "Since", "Why"}, guesses...)
	}
	if len(gaps) == 0 {
		a.say("Nothing else that this contract uses is undocumented.")
	} else {
		a.say("These are undocumented, and onefold takes the careful way.")
		a.table([]string{"Member", "What onefold does"}, gaps...)
	}
	a.provenance()
}

func (a *agreement) provenance() {
	p := a.target.Provenance
	if p == nil {
		a.say("Nothing says where the facts about this target come from, and it was never probed.")
		return
	}
	words := func(s string) string {
		if s == "" {
			return "not said"
		}
		return prose(s)
	}
	a.table([]string{"The facts about the target", "Here"},
		[]string{"Source", words(p.Source)}, []string{"Checked against it", words(p.Checked)}, []string{"Tried out (probed)", words(p.Probed)})
}

// seconds shows a short time with its fractions.
func seconds(d time.Duration) string {
	return fmt.Sprintf("%s s", strconv.FormatFloat(d.Seconds(), 'f', -1, 64))
}
