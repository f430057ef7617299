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
		return e.attemptingStory()
	case Uncertain:
		return e.doubtStory()
	case Confirmed:
		return fmt.Sprintf("%s at %s is done, confirmed by %s at %s; the target's reference is %s.",
			op.Capability, op.Connection, learntWords(op.Result), clock(op.Result.At), Named(op.Result.Reference))
	case Rejected:
		was := "was not done"
		if !op.NewKeySafe() {
			was = "is recorded as not done"
		}
		return fmt.Sprintf("%s at %s %s: rejected (%s) at %s.%s",
			op.Capability, op.Connection, was, Named(op.Rejection.Code), clock(op.Rejection.At), e.noEffect("No effect exists, and none will be tried."))
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
	switch {
	case e.decided() > 0:
		known = "a person has decided"
	case e.op.effectMayExist():
		known = "it is recorded"
	}
	return accepted + fmt.Sprintf(" It was tried %s, the last time at %s, and %s that nothing came of it.", times(len(e.op.Attempts)), e.lastBegun(), known)
}

// attemptingStory speaks of the try that is out, and of its worker only while that
// gives signs of life.
func (e *explanation) attemptingStory() string {
	const maybe = "An effect may be happening."
	op := e.op
	if op.Lease != nil && !op.Lease.Until.After(e.now) {
		return fmt.Sprintf("We began to send %s (attempt %d, begun at %s), and its worker has given no sign of life in its time, which was over at %s. %s",
			e.what(), len(op.Attempts), e.lastBegun(), clock(op.Lease.Until), maybe)
	}
	return fmt.Sprintf("We are sending %s just now (attempt %d, begun at %s). %s", e.what(), len(op.Attempts), e.lastBegun(), maybe)
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
	story := e.what() + " " + e.canceledWhy() + "." + e.noEffect("No effect exists, and nothing will be sent.")
	if e.op.KeyReleased {
		story += " Its key was released and may be used again."
	}
	return story
}

// canceledWhy tells a withdrawal from a start deadline that passed. Of an operation
// that was withdrawn or late before anything was sent the standing does not say
// which, once the deadline had passed.
func (e *explanation) canceledWhy() string {
	op := e.op
	at := ""
	if op.SettledAt != nil {
		at = " at " + clock(*op.SettledAt)
	}
	deadline := op.StartDeadline
	passed := deadline != nil && op.SettledAt != nil && !op.SettledAt.Before(*deadline) && !op.KeyReleased
	switch {
	case op.IsBarred(BarWithdrawn):
		return "was withdrawn" + at
	case op.IsBarred(BarPastDeadline) && deadline == nil:
		return "was canceled" + at + ", its start deadline having passed"
	case op.IsBarred(BarPastDeadline):
		return "was canceled" + at + ", its start deadline (" + clock(*deadline) + ") having passed"
	case passed:
		return "was canceled" + at + ", after its start deadline (" + clock(*deadline) + ")"
	}
	return "was withdrawn" + at
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
		return fmt.Sprintf("This ledger has no record of sending %s, and %s. %s", e.what(), withoutTry(words, e.op.Doubt.Reason), e.doubtVerdict())
	}
	return fmt.Sprintf("We %s %s at %s, and %s. %s", e.sendVerb(), e.what(), e.lastBegun(), words, e.doubtVerdict())
}

// withoutTry are a doubt's words where no try is on record that they could be about.
func withoutTry(words string, reason DoubtReason) string {
	switch reason {
	case DoubtNoAnswer:
		return "there was no answer"
	case DoubtRefusedAfterDoubt, DoubtBarred:
		return "something forbids sending it"
	default:
		return words
	}
}

// sendVerb is what is known of the last try: what a silent worker began may never
// have left.
func (e *explanation) sendVerb() string {
	last := &e.op.Attempts[len(e.op.Attempts)-1]
	switch {
	case knownSent(last):
		return "sent"
	case last.Verdict == VerdictNotSent:
		return "tried to send"
	}
	return "began to send"
}

// knownSent tells whether the try is known to have begun its way to the target: it
// ended by a word of its own, and that was not that nothing was sent.
func knownSent(a *Attempt) bool {
	return a.Closed() && a.Verdict != VerdictNotSent && (a.ClosedBy == "" || a.ClosedBy == ClosedByReport)
}

// finding is what the evidence on record comes to while an operation is uncertain,
// the gravest first. All sentences about the effect are made from it, so that none
// says what another denies.
type finding int

const (
	foundNothing finding = iota
	foundExisting
	foundAnEffect
	foundOther
	foundMany
)

func (e *explanation) finding() finding {
	switch op := e.op; {
	case op.IsBarred(BarMultipleEffects):
		return foundMany
	case op.IsBarred(BarDiffers):
		return foundOther
	case op.IsBarred(BarEffectExists):
		return foundAnEffect
	case op.Doubt != nil && op.Doubt.Reason == DoubtExists:
		return foundExisting
	}
	return foundNothing
}

func (e *explanation) doubtVerdict() string {
	switch e.finding() {
	case foundMany:
		return "More than one record may be its effect."
	case foundOther:
		return "A record was found, and it is not what was approved."
	case foundAnEffect:
		if len(e.op.SeenReferences) > 0 {
			return "Evidence speaks for an effect."
		}
		return "Evidence speaks for an effect, but does not say under which reference."
	case foundExisting:
		return "We do not know whether that record is its effect."
	case foundNothing:
	}
	if len(e.op.Attempts) == 0 {
		return "We do not know what the target holds."
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
		return "the last try came to nothing, which says nothing about an earlier one"
	case DoubtExists:
		return "the target says that such a record exists already"
	case DoubtEffectExists:
		return "there is evidence of an effect"
	case DoubtDiffers:
		return "what was found at the target differs from what was approved"
	case DoubtMultipleEffects:
		return "more than one record was found or named for it"
	case DoubtKeyConflict:
		return "the target knows its identity from another request"
	case DoubtRestored:
		return "the ledger was restored from a copy since"
	case DoubtBarred:
		return "that came to nothing, but something forbids another try"
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
		return "an event" + byWords(r)
	case LearntFromOperator:
		return "a person's decision" + byWords(r)
	case LearntFromAdopted:
		return "a record at the target that carries our own identity"
	}
	return string(r.LearntFrom)
}

// byWords names who delivered or decided, where that is known.
func byWords(r *Result) string {
	switch {
	case r.By == "":
		return ""
	case r.LearntFrom == LearntFromEvent:
		return " that " + Named(r.By) + " delivered"
	}
	return " (" + Named(r.By) + ")"
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
