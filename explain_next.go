package onefold

import (
	"fmt"
	"slices"
	"time"
)

// settling lists what would decide the case.
func (e *explanation) settling() []string {
	op := e.op
	switch {
	case op.State == Attempting:
		return []string{"The target's answer."}
	case op.State == Uncertain:
		return e.settlingDoubt()
	case op.Contradicted:
		return []string{"A person who compares both sides at the target and records the decision; nothing is sent."}
	case len(op.Holds) > 0:
		return []string{"A decision to proceed or to decline."}
	}
	return nil
}

func (e *explanation) settlingDoubt() []string {
	op, p := e.op, e.policy
	var out []string
	if op.AwaitedAsAgreed() {
		out = append(out, "The target's word that it is done, or has failed.")
	}
	if slices.Contains(p.InDoubt, StepReplay) {
		denied, when := e.replayDenied(), ""
		if denied == replayAtWork {
			denied, when = "", "; not before "+clock(replayFrom(op, p))+", for until then the target may still be at work on what it got"
		}
		switch {
		case denied != "":
			out = append(out, "Not sending again: "+denied+".")
		case len(op.Holds) > 0:
			out = append(out, "Sending the same request again, which the target recognises"+e.window()+when+"; not while it is held.")
		case e.closed() != "":
			out = append(out, "Sending the same request again, which the target recognises"+e.window()+when+"; not while the connection "+e.closed()+".")
		default:
			out = append(out, "Sending the same request again, which the target recognises"+e.window()+when+".")
		}
	}
	if slices.Contains(p.InDoubt, StepLookup) {
		out = append(out, e.lookupWords())
	}
	return append(out, "A person who finds out at the target and records it.")
}

// replayDenied is why nothing is sent again. For how long the connection was paused,
// which does not count against the time for tries, is not known here: what is planned
// is believed, and of the time no more is said than that.
func (e *explanation) replayDenied() string { return e.replayDeniedAt(e.now) }

func (e *explanation) replayDeniedAt(at time.Time) string {
	op, p := e.op, e.policy
	denied := ReplayDenied(op, p, ConnectionStanding{Disabled: e.terms.Mode == ModeDisabled}, op.Scope, at)
	switch {
	case denied == replayAttemptOpen:
		return "" // that goes by itself: see window
	case denied != replaySpent:
		return denied
	case op.Retry.Spent >= p.RetryAttempts:
		return "every try that the contract allows was made"
	case len(op.Attempts) >= MaxAttempts:
		return "no operation is tried more often"
	case op.Next == NextReplay:
		return ""
	}
	return "the time that the contract allows for tries is over, but for pauses, which do not count"
}

// lookupWords say what a look-up may still settle.
func (e *explanation) lookupWords() string {
	op := e.op
	switch {
	case op.Due == nil && op.Lease == nil:
		return "No further look-up is planned."
	case op.IsBarred(BarDiffers, BarMultipleEffects, BarKeyConflict):
		return "A look-up alone settles nothing any more: what it finds goes to a person."
	}
	return "A look-up that finds the record." + e.absence()
}

// acceptedWords tells what the target took on, and until when it has time.
func (e *explanation) acceptedWords(a *Acceptance) string {
	work := "The target accepted it at " + clock(a.At)
	if a.Reference != "" {
		work += " and calls it " + Named(a.Reference)
	}
	switch {
	case !a.Until.After(a.At):
		work += "; the contract agrees on no time for it."
	case a.Over:
		work += "; the agreed time was over at " + clock(a.Until) + "."
	default:
		work += "; until " + clock(a.Until) + " that is as agreed."
	}
	if p := a.Polls; p != nil {
		work += fmt.Sprintf(" It was asked for progress %s, the last time at %s.", times(p.Times), clock(p.LastAt))
	}
	return work
}

// window says for how long the target recognises a repeat, and that it waits for a
// try that went silent where the target does not keep two apart.
func (e *explanation) window() string {
	p := e.policy
	until, closed := "", ""
	if p.Window != Forever && e.op.FirstDispatched != nil {
		until = " until " + clock(e.op.FirstDispatched.Add(p.Window-p.WindowMargin))
	}
	if e.op.OpenAttempt() && !p.ConcurrentSafe {
		closed = "; not before the try that went silent counts as closed"
	}
	return until + closed
}

func (e *explanation) absence() string {
	switch {
	case !e.policy.AbsenceProves:
		return " Finding nothing proves nothing at this target."
	case e.op.OpenAttempt():
		return " Finding nothing proves nothing while a try is still open."
	case e.op.Accepted != nil:
		return " Finding nothing proves nothing of work that the target has accepted."
	case e.op.Doubt != nil && e.op.Doubt.Reason == DoubtExists:
		return " Finding nothing proves nothing: the target says that there is such a record."
	case e.op.IsBarred(BarEffectExists, BarDiffers, BarMultipleEffects, BarKeyConflict), e.op.unrefuted():
		return " Finding nothing leaves it to a person, since evidence speaks for an effect."
	}
	from := AbsenceProvenFrom(e.op, e.policy)
	if !from.After(e.now) {
		return " Finding nothing proves that there is no effect."
	}
	return " Finding nothing proves that there is no effect if the look-up begins after " + clock(from) + "."
}

func records(n int) string {
	if n == 1 {
		return "one record"
	}
	return fmt.Sprintf("%d records", n)
}

// next says what will happen, when, and who has to act.
func (e *explanation) next() []string {
	op := e.op
	var out []string
	if due := e.dueWords(); due != "" {
		out = append(out, due)
	}
	out = append(out, e.closedWords()...)
	open := op.OpenReviews()
	for i := range open {
		out = append(out, fmt.Sprintf("%s has to look at it (review %s, %s, open since %s).", Named(open[i].Owner), open[i].ID, open[i].Reason, clock(open[i].OpenedAt)))
		out = append(out, candidateWords(open[i].Candidates)...)
		if open[i].EscalatedAt != nil {
			out = append(out, Named(open[i].EscalateTo)+" was told as well.")
		}
	}
	return append(out, e.settledWords(len(out) == 0)...)
}

// candidateWords says what a review shows.
func candidateWords(shown []Candidate) []string {
	if len(shown) == 0 {
		return nil
	}
	out := []string{fmt.Sprintf("The review shows %s at the target that may be its effect.", records(len(shown)))}
	for i := range shown {
		if id := shown[i].RecordedBy; id != "" {
			out = append(out, "The operation "+id+" has recorded "+Named(shown[i].Reference)+" as its result.")
		}
	}
	return out
}

// settledWords says what a settled operation leaves to be done, and whether the
// business action may be started again.
func (e *explanation) settledWords(nothing bool) []string {
	op := e.op
	words := ""
	switch {
	case !op.Settled():
		return nil
	case op.State == Confirmed:
	case op.NewKeySafe():
		words = "The business action may be started again under a new key."
	case op.Contradicted:
		words = "Starting it again under a new key is not safe while this is open."
	case op.effectMayExist():
		words = "Starting it again under a new key is not safe: the target may have it already."
	default:
		words = "Starting it again under a new key is not safe while a try may still reach the target."
	}
	var out []string
	if nothing {
		out = append(out, "Nothing.")
	}
	if words != "" {
		out = append(out, words)
	}
	return out
}

// closed says in what way the connection is closed, "" where it is open.
func (e *explanation) closed() string {
	switch {
	case e.terms.Mode == ModeDisabled:
		return "is disabled"
	case e.pause != nil:
		return "is paused"
	}
	return ""
}

// closedWords says that the connection lets nothing be sent, since when, and who
// can change that; nothing where it does, or where nothing would be sent anyway.
func (e *explanation) closedWords() []string {
	op, name := e.op, e.op.Connection
	if e.closed() == "" || op.Settled() || op.IsBarred() {
		return nil
	}
	var out []string
	nothing := "Nothing is sent over the connection " + name
	if e.waits() {
		nothing = "It waits: nothing is sent over the connection " + name
	}
	if p := e.pause; p != nil {
		out = append(
			out, fmt.Sprintf("%s, which was paused at %s by %s; why stands at the connection.", nothing, clock(p.Since), Named(p.By.Name)),
			"Whoever has the role operate or admin can lift the pause (onefold connections resume "+name+").",
		)
	}
	if e.terms.Mode == ModeDisabled {
		disabled := nothing + ", which is disabled."
		if e.pause != nil {
			disabled = "It is disabled as well."
		}
		out = append(out, disabled, "Whoever has the role admin can publish it in another mode.")
	}
	switch {
	case op.State == Attempting:
		out = append(out, "The try that is out goes on; no other is begun.")
	case op.Due != nil && (op.Next == NextLookup || op.Next == NextPoll):
		out = append(out, "Asking the target goes on.")
	}
	return out
}

// waits tells whether the next step would send something.
func (e *explanation) waits() bool {
	return e.op.Due != nil && (e.op.Next == NextAttempt || e.op.Next == NextReplay)
}

// lateAfter is how long what is due may be taken for what is done now: runners look
// for due work about every second, and take some of it up at once.
const lateAfter = 2 * time.Second

// dueWords say what is done next, and when: now, at a time, or, where it should have
// been done by now, since when it waits.
func (e *explanation) dueWords() string {
	op := e.op
	if op.Lease != nil && op.State != Attempting {
		if op.Lease.Until.After(e.now) {
			return "A worker is on it now."
		}
		return "A worker took it up and has given no sign of life in its time, which was over at " + clock(op.Lease.Until) + "; another takes it up."
	}
	if op.Due == nil || op.State == Attempting || e.waits() && (e.closed() != "" || len(op.Holds) > 0 || op.IsBarred()) {
		return "" // nothing is planned, or nothing can be sent until something else has changed
	}
	next := op.Next
	if next == NextReplay && e.replayDeniedAt(later(*op.Due, e.now)) != "" {
		next = NextNone // it has become impossible since it was planned
	}
	does, doing := nextWords(next)
	switch late := e.now.Sub(*op.Due); {
	case op.Next == NextPayload || op.Next == NextPredecessor:
		return does + "."
	case late > lateAfter:
		return doing + " is due since " + clock(*op.Due) + " and has not begun: it waits for its turn."
	case late < -time.Second:
		return does + " at " + clock(*op.Due) + "."
	}
	return does + " now."
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// nextWords name a next step as what is done, and as the doing of it.
func nextWords(next NextAction) (does, doing string) {
	switch next {
	case NextAttempt:
		return "It is sent", "Sending it"
	case NextReplay:
		return "The same request is sent again", "Sending the same request again"
	case NextLookup:
		return "The target is asked", "Asking the target"
	case NextPoll:
		return "The target is asked for progress", "Asking the target for progress"
	case NextPayload:
		return "It waits for its payload", ""
	case NextPredecessor:
		return "It waits for another operation", ""
	case NextOperator, NextNone:
	}
	return "The next step is planned", "Planning the next step"
}
