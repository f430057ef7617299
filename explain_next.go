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
		denied := ReplayDenied(op, p, ConnectionStanding{Disabled: e.terms.Mode == ModeDisabled}, op.Scope, e.now)
		switch {
		case denied != "":
			out = append(out, "Not sending again: "+denied+".")
		case e.closed() != "":
			out = append(out, "Sending the same request again, which the target recognises"+e.window()+"; not while the connection "+e.closed()+".")
		default:
			out = append(out, "Sending the same request again, which the target recognises"+e.window()+".")
		}
	}
	if slices.Contains(p.InDoubt, StepLookup) {
		out = append(out, "A look-up that finds the record."+e.absence())
	}
	return append(out, "A person who finds out at the target and records it.")
}

// acceptedWords tells what the target took on, and until when it has time.
func (e *explanation) acceptedWords(a *Acceptance) string {
	work := "The target accepted it at " + clock(a.At)
	if a.Reference != "" {
		work += " and calls it " + a.Reference
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

func (e *explanation) window() string {
	p := e.policy
	if p.Window == Forever || e.op.FirstDispatched == nil {
		return ""
	}
	return " until " + clock(e.op.FirstDispatched.Add(p.Window-p.WindowMargin))
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
		out = append(out, fmt.Sprintf("%s has to look at it (review %s, %s, open since %s).", open[i].Owner, open[i].ID, open[i].Reason, clock(open[i].OpenedAt)))
		out = append(out, candidateWords(open[i].Candidates)...)
		if open[i].EscalatedAt != nil {
			out = append(out, open[i].EscalateTo+" was told as well.")
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
			out = append(out, "The operation "+id+" has recorded "+shown[i].Reference+" as its result.")
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
			out, fmt.Sprintf("%s, which was paused at %s by %s; why stands at the connection.", nothing, clock(p.Since), p.By.Name),
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

func (e *explanation) dueWords() string {
	op := e.op
	if op.Due == nil {
		if op.Lease != nil && op.State != Attempting {
			return "A worker is on it now."
		}
		return ""
	}
	when := "now"
	if op.Due.After(e.now.Add(time.Second)) {
		when = "at " + clock(*op.Due)
	}
	if e.closed() != "" && e.waits() {
		return "" // not before the connection is open
	}
	switch op.Next {
	case NextAttempt:
		return "It is sent " + when + "."
	case NextReplay:
		return "The same request is sent again " + when + "."
	case NextLookup:
		return "The target is asked " + when + "."
	case NextPoll:
		return "The target is asked for progress " + when + "."
	case NextPayload:
		return "It waits for its payload."
	case NextPredecessor:
		return "It waits for another operation."
	case NextOperator, NextNone:
	}
	return "The next step is planned " + when + "."
}
