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
		if denied := ReplayDenied(op, p, ConnectionStanding{Disabled: e.terms.Mode == ModeDisabled}, op.Scope, e.now); denied == "" {
			out = append(out, "Sending the same request again, which the target recognises"+e.window()+".")
		} else {
			out = append(out, "Not sending again: "+denied+".")
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
	if a.Over {
		return work + "; the agreed time was over at " + clock(a.Until) + "."
	}
	return work + "; until " + clock(a.Until) + " that is as agreed."
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
	open := op.OpenReviews()
	for i := range open {
		out = append(out, fmt.Sprintf("%s has to look at it (review %s, %s, open since %s).", open[i].Owner, open[i].ID, open[i].Reason, clock(open[i].OpenedAt)))
		if n := len(open[i].Candidates); n > 0 {
			out = append(out, fmt.Sprintf("The review shows %s at the target that may be its effect.", records(n)))
		}
		if open[i].EscalatedAt != nil {
			out = append(out, open[i].EscalateTo+" was told as well.")
		}
	}
	if len(out) == 0 && op.Settled() {
		if op.NewKeySafe() {
			out = append(out, "Nothing. The business action may be started again under a new key.")
		} else {
			out = append(out, "Nothing.")
		}
	}
	return out
}

// closedWords says why the connection lets nothing be sent, "" where it does.
func (e *explanation) closedWords() string {
	name := e.op.Connection
	switch {
	case e.pause != nil:
		return fmt.Sprintf("It waits: nothing is sent over the connection %s, which was paused at %s by %s; why stands at the connection. It is sent once the pause is lifted (onefold connections resume %s).",
			name, clock(e.pause.Since), e.pause.By.Name, name)
	case e.terms.Mode == ModeDisabled:
		return fmt.Sprintf("It waits: nothing is sent over the connection %s, which is disabled.", name)
	}
	return ""
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
	if op.Next == NextAttempt || op.Next == NextReplay {
		if closed := e.closedWords(); closed != "" {
			return closed
		}
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
