package onefold

import (
	"fmt"
	"strings"
	"time"
)

// Explain says in plain language what is the matter with an operation: what
// happened, what is known, what is not, what would settle it, and what comes
// next. It is the paragraph of the review card, of `ops explain` and of
// …/explain, and it is pure: the same operation, terms, policy, pause and time
// give the same text. pause is that of the operation's connection, nil while it is
// not paused. The text contains names, times, codes and the target's references,
// but no value of the payload, no text of the target's answers and no reason that
// somebody gave. Times are UTC. Parts are separated by line feeds; a part that
// would be empty is left out.
func Explain(op Operation, terms Terms, policy Policy, pause *PauseInfo, now time.Time) string {
	e := explanation{op: &op, terms: &terms, policy: &policy, pause: pause, now: now}
	parts := []string{e.story()}
	add := func(label string, sentences []string) {
		if len(sentences) > 0 {
			parts = append(parts, label+": "+strings.Join(sentences, " "))
		}
	}
	add("What we know", e.known())
	add("What we do not know", e.notKnown())
	add("What would settle it", e.settling())
	add("Next", e.next())
	return strings.Join(parts, "\n")
}

type explanation struct {
	op     *Operation
	terms  *Terms
	policy *Policy
	pause  *PauseInfo
	now    time.Time
}

func (e *explanation) what() string { return e.op.Capability + " to " + e.op.Connection }

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// story is what happened, in one or two sentences.
func (e *explanation) story() string {
	op := e.op
	switch op.State {
	case Prepared:
		return e.preparedStory()
	case Attempting:
		return fmt.Sprintf("We are sending %s just now (attempt %d, begun at %s). An effect may be happening.", e.what(), len(op.Attempts), e.lastBegun())
	case Uncertain:
		return e.doubtStory()
	case Confirmed:
		return fmt.Sprintf("%s at %s is done, confirmed by %s at %s; the target's reference is %s.",
			op.Capability, op.Connection, learntWords(op.Result), clock(op.Result.At), op.Result.Reference)
	case Rejected:
		return fmt.Sprintf("%s at %s was not done: rejected (%s) at %s.%s",
			op.Capability, op.Connection, op.Rejection.Code, clock(op.Rejection.At), e.noEffect("No effect exists, and none will be tried."))
	case Canceled:
		return e.canceledStory()
	}
	return "The operation is " + string(op.State) + "."
}

func (e *explanation) preparedStory() string {
	accepted := fmt.Sprintf("%s was accepted at %s and is stored.", e.what(), clock(e.op.CreatedAt))
	if len(e.op.Attempts) == 0 {
		return accepted + " Nothing was sent yet."
	}
	known := "it is proven"
	if e.decided() > 0 {
		known = "a person has decided"
	}
	return accepted + fmt.Sprintf(" It was tried %s, the last time at %s, and %s that nothing came of it.", times(len(e.op.Attempts)), e.lastBegun(), known)
}

// decided counts the tries of which a person's word alone says that they had no
// effect.
func (e *explanation) decided() (n int) {
	for i := range e.op.Attempts {
		if e.op.Attempts[i].ProvenBy == ProvenByOperator {
			n++
		}
	}
	return n
}

func (e *explanation) canceledStory() string {
	at := ""
	if e.op.SettledAt != nil {
		at = " at " + clock(*e.op.SettledAt)
	}
	story := fmt.Sprintf("%s was withdrawn%s.%s", e.what(), at, e.noEffect("No effect exists, and nothing will be sent."))
	if e.op.KeyReleased {
		story += " Its key was released and may be used again."
	}
	return story
}

// noEffect is a claim that holds only while nothing speaks against it.
func (e *explanation) noEffect(claim string) string {
	if !e.op.NewKeySafe() {
		return " Nothing is sent for it again."
	}
	return " " + claim
}

func (e *explanation) doubtStory() string {
	if e.op.Doubt == nil {
		return "The operation is uncertain."
	}
	words := doubtWords(e.op.Doubt.Reason)
	if len(e.op.Attempts) == 0 {
		return fmt.Sprintf("%s was not sent by this ledger, and yet: %s. We do not know what the target holds.", e.what(), words)
	}
	return fmt.Sprintf("We sent %s at %s, and %s. %s", e.what(), e.lastBegun(), words, e.doubtVerdict())
}

func (e *explanation) doubtVerdict() string {
	switch {
	case e.op.IsBarred(BarMultipleEffects):
		return "More than one record may be its effect."
	case e.op.IsBarred(BarDiffers):
		return "A record exists, and it is not what was approved."
	case e.op.IsBarred(BarEffectExists):
		return "Evidence says that it was carried out, but not under which reference."
	}
	return "We do not know whether it was carried out."
}

func doubtWords(reason DoubtReason) string {
	switch reason {
	case DoubtNoAnswer:
		return "got no answer"
	case DoubtLeaseExpired:
		return "the worker that sent it went silent"
	case DoubtProcessInterrupted:
		return "the worker that sent it was interrupted"
	case DoubtServerError:
		return "the target answered with an error of its own"
	case DoubtUnreadable:
		return "the answer could not be read"
	case DoubtUnclassified:
		return "the contract has no rule for the answer"
	case DoubtAccepted:
		return "the target accepted it for later"
	case DoubtInProgress:
		return "the target says that it is still in progress"
	case DoubtRefusedAfterDoubt:
		return "the last try was refused, which says nothing about the earlier one"
	case DoubtExists:
		return "the target says that such a record exists already"
	case DoubtEffectExists:
		return "there is evidence of an effect"
	case DoubtDiffers:
		return "what the target holds differs from what was approved"
	case DoubtMultipleEffects:
		return "the target holds several records for it"
	case DoubtKeyConflict:
		return "the target knows its identity from another request"
	case DoubtRestored:
		return "the ledger was restored from a copy since"
	case DoubtBarred:
		return "nothing came of the last try, but something forbids another"
	case DoubtInternal:
		return "its outcome could not be worked out"
	}
	return "the outcome is in doubt (" + string(reason) + ")"
}

func learntWords(r *Result) string {
	switch r.LearntFrom {
	case LearntFromResponse:
		return "the target's answer"
	case LearntFromLookup:
		return "a look-up at the target"
	case LearntFromPoll:
		return "the target, when asked for progress"
	case LearntFromEvent:
		return "an event from the target"
	case LearntFromOperator:
		return "a person's decision"
	case LearntFromAdopted:
		return "a record at the target that carries our own identity"
	}
	return string(r.LearntFrom)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func (e *explanation) lastBegun() string {
	if n := len(e.op.Attempts); n > 0 {
		return clock(e.op.Attempts[n-1].BegunAt)
	}
	return clock(e.op.UpdatedAt)
}

// known lists facts.
func (e *explanation) known() []string {
	op := e.op
	var out []string
	if len(op.Attempts) > 0 && op.State != Prepared {
		out = append(out, e.sentWords())
	}
	if a := op.Accepted; a != nil {
		out = append(out, e.acceptedWords(a))
	}
	for _, b := range op.Barred {
		out = append(out, barWords(b))
	}
	if op.State != Confirmed && len(op.SeenReferences) > 0 {
		out = append(out, "Evidence names the reference "+strings.Join(op.SeenReferences, " and ")+".")
	}
	for _, h := range op.Holds {
		out = append(out, "It is held: "+holdWords(op, h)+".")
	}
	if op.Contradicted {
		out = append(out, "Later evidence disagrees with what is recorded"+e.otherReferences()+".")
	}
	return out
}

// sentWords counts the tries, and those that had no effect, by proof or by a
// person's word.
func (e *explanation) sentWords() string {
	op, without := e.op, 0
	for i := range op.Attempts {
		if op.Attempts[i].WithoutEffect() {
			without++
		}
	}
	sent, decided := "It was sent "+times(len(op.Attempts))+" under one identity", e.decided()
	if proven := without - decided; proven > 0 {
		sent += fmt.Sprintf("; %d of the tries are proven without effect", proven)
	}
	if decided > 0 {
		sent += fmt.Sprintf("; of %d of the tries a person has decided that they had none", decided)
	}
	return sent + "."
}

func (e *explanation) otherReferences() string {
	if len(e.op.SeenReferences) == 0 {
		return ""
	}
	return " (references seen: " + strings.Join(e.op.SeenReferences, ", ") + ")"
}

func barWords(b Bar) string {
	switch b {
	case BarEffectExists:
		return "Evidence speaks for an effect, so nothing is sent again."
	case BarDiffers:
		return "What the target holds differs from what was approved, so nothing is sent until a person decides."
	case BarMultipleEffects:
		return "The target holds several records for it, so nothing is sent again."
	case BarKeyConflict:
		return "The target saw our identity with another request, so nothing is sent until a person decides."
	case BarWithdrawn:
		return "It was withdrawn: nothing is sent again, and if it was carried out the withdrawal came too late."
	case BarPastDeadline:
		return "Its start deadline has passed: nothing is sent again."
	case BarRestored:
		return "The ledger was restored from a copy: nothing is sent before the target was asked."
	}
	return "It is barred: " + string(b) + "."
}

func holdWords(op *Operation, h Hold) string {
	for i := range op.Reviews {
		if r := &op.Reviews[i]; r.ID == h.Review && r.Reason == ReviewUnsendable {
			return "its request cannot be built: nothing was sent, and trying again changes nothing until that is mended"
		}
	}
	switch h.Reason {
	case HoldApproval:
		return "it needs an approval before it is sent"
	case HoldSuspectedDuplicate:
		return "it looks like a duplicate of another operation"
	case HoldSameNumberOtherPeriod:
		return "another operation has the same number in another period"
	case HoldIdentityIncomplete:
		return "a field of its business identity is missing"
	case HoldAmendment:
		return "the operation that it amends has to be decided first"
	case HoldRetryExhausted:
		return "every try that the contract allows was made, and none had an effect"
	case HoldAwaitingPayload:
		return "its payload is not kept and has to be submitted again"
	case HoldRecovery:
		return "the ledger was restored from a copy"
	}
	return string(h.Reason)
}

// notKnown lists what is open.
func (e *explanation) notKnown() []string {
	op := e.op
	var out []string
	switch {
	case op.State == Attempting:
		out = append(out, "Whether the request has reached the target.")
	case op.State == Uncertain && op.IsBarred(BarEffectExists):
		out = append(out, "Which record at the target is its effect.")
	case op.State == Uncertain:
		out = append(out, "Whether an effect exists at the target.")
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

func (e *explanation) openUntil() string {
	until := openUntil(e.op, e.now)
	if !until.After(e.now) {
		return ""
	}
	return " (it counts as closed from " + clock(until) + ")"
}
