package onefold

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// known lists facts.
func (e *explanation) known() []string {
	op := e.op
	var out []string
	add := func(sentence string) {
		if sentence != "" {
			out = append(out, sentence)
		}
	}
	if op.State != Prepared {
		add(e.triesWords())
	}
	if a := op.Accepted; a != nil {
		add(e.acceptedWords(a))
	}
	for _, b := range op.Barred {
		add(e.barWords(b))
	}
	if op.State != Confirmed && len(op.SeenReferences) > 0 {
		add("Evidence names the reference " + named(op.SeenReferences, " and ") + ".")
	}
	if op.State == Confirmed && op.Result.Earlier != nil {
		add("Before a person decided, the reference " + Named(op.Result.Earlier.Reference) + " was recorded, by " + learntWords(op.Result.Earlier) + ".")
	}
	for _, h := range op.Holds {
		add("It is held: " + e.holdWords(h) + ".")
	}
	if op.Contradicted {
		add("Later evidence disagrees with what is recorded" + e.otherReferences() + ".")
	}
	return out
}

// triesWords counts the tries that are over, those that never left, and those that
// had no effect, by proof or by a person's word. The try that is out is told of by
// the story.
func (e *explanation) triesWords() string {
	op := e.op
	over := op.Attempts
	before := ""
	if op.State == Attempting && len(over) > 0 {
		over, before = over[:len(over)-1], " before,"
	}
	if len(over) == 0 {
		return ""
	}
	verb, unsent, without, decided := "sent", 0, 0, 0
	for i := range over {
		a := &over[i]
		if !knownSent(a) {
			verb = "tried"
		}
		switch {
		case a.Verdict == VerdictNotSent:
			unsent++
		case a.ProvenBy == ProvenByOperator:
			decided++
		case a.WithoutEffect():
			without++
		}
	}
	words := "It was " + verb + " " + times(len(over)) + before + " under one identity"
	if op.State == Confirmed && unsent+without+decided == len(over) {
		return words + "; that none of the tries had an effect was recorded before."
	}
	if unsent > 0 {
		words += "; " + ofTries(unsent, "was not sent", "were not sent")
	}
	if without > 0 {
		how := "proven"
		if op.Contradicted || op.effectMayExist() {
			how = "recorded as"
		}
		words += "; " + ofTries(without, "is "+how+" without effect", "are "+how+" without effect")
	}
	if decided > 0 {
		words += "; of " + ofTries(decided, "a person has decided that it had no effect", "a person has decided that they had no effect")
	}
	return words + "."
}

func ofTries(n int, one, many string) string {
	if n == 1 {
		return "one of the tries " + one
	}
	return fmt.Sprintf("%d of the tries %s", n, many)
}

// otherReferences are those that evidence named and that are not the result.
func (e *explanation) otherReferences() string {
	others := slices.DeleteFunc(slices.Clone(e.op.SeenReferences), func(reference string) bool {
		return e.op.State == Confirmed && e.op.Result.Reference == reference
	})
	if len(others) == 0 {
		return ""
	}
	return " (references seen: " + named(others, ", ") + ")"
}

// barWords are a bar's fact, and what follows from all bars together while the
// operation is open. "" where the story says it already.
func (e *explanation) barWords(b Bar) string {
	op := e.op
	settled := op.Settled()
	follows := func(fact, consequence string) string {
		if settled {
			return fact + "."
		}
		return fact + ", so " + consequence + "."
	}
	// A person's decision lifts some bars and not others: what one of these says
	// holds for all.
	decides := "nothing is sent until a person decides"
	if op.IsBarred(BarEffectExists, BarMultipleEffects, BarWithdrawn, BarPastDeadline) {
		decides = "nothing is sent again"
	}
	switch b {
	case BarEffectExists:
		return follows("Evidence speaks for an effect", "nothing is sent again")
	case BarDiffers:
		return follows("What was found at the target differs from what was approved", decides)
	case BarMultipleEffects:
		return follows("More than one record was found or named for it", "nothing is sent again")
	case BarKeyConflict:
		return follows("The target saw our identity with another request", decides)
	case BarWithdrawn:
		return e.withdrawnWords()
	case BarPastDeadline:
		if op.State == Canceled && !op.IsBarred(BarWithdrawn) {
			return ""
		}
		return follows("Its start deadline has passed", "nothing is sent again")
	case BarRestored:
		const fact = "The ledger was restored from a copy"
		if settled || slices.ContainsFunc(op.Barred, func(other Bar) bool { return other != BarRestored }) {
			return fact + "."
		}
		return fact + ", so nothing is sent before the target was asked."
	}
	return "It is barred: " + string(b) + "."
}

func (e *explanation) withdrawnWords() string {
	switch e.op.State {
	case Confirmed:
		return "It was withdrawn, too late."
	case Canceled:
		return "" // the story
	case Rejected:
		return "It was withdrawn."
	default:
		return "It was withdrawn: nothing is sent again, and if it was carried out the withdrawal came too late."
	}
}

func (e *explanation) holdWords(h Hold) string {
	op := e.op
	again := ""
	if len(op.Attempts) > 0 {
		again = " again"
	}
	switch h.Reason {
	case HoldApproval:
		return "it needs an approval before it is sent" + again
	case HoldSuspectedDuplicate:
		return "it looks like a duplicate of another operation"
	case HoldSameNumberOtherPeriod:
		return "another operation has the same number in another period"
	case HoldIdentityIncomplete:
		return "a field of its business identity is missing"
	case HoldAmendment:
		return "the operation that it amends has to be decided first"
	case HoldRetryExhausted:
		return e.exhaustedWords(h)
	case HoldAwaitingPayload:
		return "its payload is not kept and has to be submitted again"
	case HoldRecovery:
		return "the ledger was restored from a copy"
	}
	return string(h.Reason)
}

// exhaustedWords say why nothing is tried any more: the request cannot be sent, the
// tries are used up, or the time for them is. That none had an effect is said only
// of an operation of which nothing else is known.
func (e *explanation) exhaustedWords(h Hold) string {
	op, p := e.op, e.policy
	if e.unsendable(h) {
		if len(op.Attempts) == 0 {
			return "its request cannot be built or sent as it was approved: nothing was sent, and trying again changes nothing until that is mended"
		}
		return "its request cannot be built or sent as it was approved: trying again changes nothing until that is mended"
	}
	tried := op.Retry.Spent
	none := ""
	if op.State == Prepared && !op.effectMayExist() && !op.Contradicted {
		none = ", and none had an effect"
	}
	switch {
	case len(op.Attempts) == 0:
		return "no try was made, and none is planned"
	case p.RetryAttempts > 0 && tried >= p.RetryAttempts:
		return "every try that the contract allows was made" + none
	case len(op.Attempts) >= MaxAttempts:
		return fmt.Sprintf("it was tried %s, and no operation is tried more often%s", times(len(op.Attempts)), none)
	}
	within := ""
	if p.RetryWithin > 0 {
		within = " (" + spell(p.RetryWithin) + ")"
	}
	made := times(tried)
	if p.RetryAttempts > 0 {
		made = fmt.Sprintf("%d of %d", tried, p.RetryAttempts)
	}
	return "no further try fits into the time that the contract allows for them" + within + "; made were " + made + none
}

// unsendable tells whether the hold is of a request that cannot be sent at all.
func (e *explanation) unsendable(h Hold) bool {
	return slices.ContainsFunc(e.op.Reviews, func(r Review) bool { return r.ID == h.Review && r.Reason == ReviewUnsendable })
}

// spell is a duration without the parts that are zero.
func spell(d time.Duration) string {
	words := d.String()
	if strings.HasSuffix(words, "m0s") {
		words = strings.TrimSuffix(words, "0s")
	}
	if strings.HasSuffix(words, "h0m") {
		words = strings.TrimSuffix(words, "0m")
	}
	return words
}

// notKnown lists what is open.
func (e *explanation) notKnown() []string {
	op := e.op
	var out []string
	switch {
	case op.State == Attempting:
		out = append(out, "Whether the request has reached the target.")
	case op.State == Uncertain:
		out = append(out, e.openQuestion())
	case op.Contradicted:
		out = append(out, "Which of the conflicting facts is true.")
	case op.State != Prepared && op.State != Confirmed && op.effectMayExist():
		out = append(out, "Whether an effect exists at the target, for which evidence spoke.")
	}
	if op.OpenAttempt() && op.State != Attempting {
		out = append(out, "Whether a try that went silent may still reach the target"+e.openUntil()+".")
	}
	return out
}

// openQuestion is what an uncertain operation leaves open, after what was found.
func (e *explanation) openQuestion() string {
	switch e.finding() {
	case foundMany:
		return "Which of the records, if any, is its effect."
	case foundOther:
		return "Whether what was found is its effect, and may stand."
	case foundAnEffect:
		if len(e.op.SeenReferences) > 0 {
			return "Whether the record that evidence names is its effect."
		}
		return "Which record at the target is its effect."
	case foundExisting:
		return "Whether the record that the target speaks of is its effect."
	case foundNothing:
	}
	return "Whether an effect exists at the target."
}

func (e *explanation) openUntil() string {
	until := openUntil(e.op, e.now)
	if !until.After(e.now) {
		return ""
	}
	return " (it counts as closed from " + clock(until) + ")"
}
