package contract

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// recoveryPlan says what happens after doubt, step by step.
func recoveryPlan(op *TargetOperation, p onefold.Policy) []PlanStep {
	var plan []PlanStep
	ways := op.Accepted != nil
	if ways {
		plan = append(plan, pollStep(op, p))
	}
	for _, step := range op.InDoubt {
		if step == onefold.StepOperator {
			break // what is named behind a person is never reached
		}
		switch step {
		case onefold.StepReplay:
			s := replayStep(op, p)
			plan, ways = append(plan, s), ways || s.Possible
		case onefold.StepLookup:
			s := lookupStep(op, p)
			plan, ways = append(plan, s), ways || s.Possible
		case onefold.StepOperator, onefold.StepPoll:
		}
	}
	// A person is always last, so that nothing is left without one (M16).
	return append(plan, operatorStep(p, ways))
}

func pollStep(op *TargetOperation, p onefold.Policy) PlanStep {
	s := PlanStep{Step: onefold.StepPoll, Possible: true, Until: p.PollWithin}
	states := op.Accepted.States
	s.Text = fmt.Sprintf("Where the target accepts it for later, ask for progress every %s (%s %s), for %s: until then that is no incident. %s in %s confirms it%s; whatever else it says is waited out. After that the other steps are taken, and their time begins.",
		formatDuration(p.PollEvery), op.Accepted.Poll.Method, op.Accepted.Poll.Path, formatDuration(p.PollWithin),
		orList(texts(states.Effect)), states.Field, failing(states))
	return s
}

// failing says which states settle a failure.
func failing(s *States) string {
	if len(s.NoEffect) == 0 {
		return ""
	}
	return ", " + orList(texts(s.NoEffect)) + " rejects it"
}

// texts are values as JSON text.
func texts(values []*identity.Value) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = shortJSON(v)
	}
	return out
}

func replayStep(op *TargetOperation, p onefold.Policy) PlanStep {
	s := PlanStep{Step: onefold.StepReplay, Attempts: p.RetryAttempts}
	until := untilReplay(p)
	switch {
	case p.Window == 0:
		s.Text = "Sending again is not possible: the target is not known to recognise the identity."
		return s
	case until <= 0:
		s.Text = fmt.Sprintf("Sending again is not possible: the target's window of %s is not longer than one time-out and the clock error together, %s.",
			formatDuration(p.Window), formatDuration(p.WindowMargin))
		return s
	}
	s.Possible, s.Until = true, until
	span := "the target's window has no end"
	if until != onefold.Forever {
		span = fmt.Sprintf("until %s after the first dispatch (the target's window of %s less a margin of %s)",
			formatDuration(until), formatDuration(p.Window), formatDuration(p.WindowMargin))
	}
	s.Text = fmt.Sprintf("Send the same request with the same identity again, %s; %s; at most %s in all, within %s of the first dispatch; waiting %s%s.",
		span, scopeText(op), times(p.RetryAttempts), formatDuration(p.RetryWithin), backoffText(p.RetryBackoff), openText(p))
	return s
}

// untilReplay is how long after the first dispatch a replay may begin.
func untilReplay(p onefold.Policy) time.Duration {
	if p.Window == onefold.Forever {
		return onefold.Forever
	}
	return max(0, p.Window-p.WindowMargin)
}

func scopeText(op *TargetOperation) string {
	scope := op.Identity.Scope
	if len(scope.Value) == 0 {
		return "whatever else changed"
	}
	parts := make([]string, len(scope.Value))
	for i, part := range scope.Value {
		parts[i] = string(part)
	}
	return "only while " + andList(parts) + map[bool]string{true: " is", false: " are"}[len(parts) == 1] + " what the first dispatch used"
}

func openText(p onefold.Policy) string {
	if p.ConcurrentSafe {
		return ""
	}
	return fmt.Sprintf("; not while an earlier attempt is open, which is closed %s after its worker went silent", formatDuration(p.Straggler))
}

func lookupStep(op *TargetOperation, p onefold.Policy) PlanStep {
	s := PlanStep{Step: onefold.StepLookup}
	if len(op.Lookups) == 0 {
		s.Text = "Looking it up is not possible: the contract has no look-up."
		return s
	}
	s.Possible, s.Until = true, p.ReconcileWithin
	var by []string
	for i := range op.Lookups {
		by = append(by, lookupName(op, &op.Lookups[i]))
	}
	finding := findingText(op)
	absence := "absence proves nothing"
	if proves, _ := provesAbsence(op); proves && p.AbsenceProves {
		s.After = p.Settle + p.Processing
		absence = fmt.Sprintf("absence, seen %s or more after the end of every attempt, proves that nothing happened, and the write begins anew",
			formatDuration(s.After))
	}
	s.Text = fmt.Sprintf("Look it up by %s: %s; %s; asked again after %s, within %s of the first doubt.",
		strings.Join(by, ", then by "), finding, absence, backoffText(p.ReconcileBackoff), formatDuration(p.ReconcileWithin))
	return s
}

// findingText says what comes of a record that is found.
func findingText(op *TargetOperation) string {
	evidence := func(l Lookup) bool { return l.By == LookupByEvidence }
	text := "a record that is found"
	if !slices.ContainsFunc(op.Lookups, func(l Lookup) bool { return !evidence(l) }) {
		return "records that are found are candidates for a person, and confirm nothing"
	}
	if s := op.States; s != nil {
		text += " with " + orList(texts(s.Effect)) + " in " + s.Field
	}
	text += " confirms the operation"
	if len(op.Verify) > 0 {
		var checks []string
		for _, c := range op.Verify {
			checks = append(checks, c.Pointer)
		}
		text += " if it agrees in " + andList(checks)
	}
	if s := op.States; s != nil {
		text += failing(s)
	}
	if slices.ContainsFunc(op.Lookups, evidence) {
		text += ", but one found by evidence is a candidate for a person"
	}
	return text
}

func operatorStep(p onefold.Policy, ways bool) PlanStep {
	s := PlanStep{Step: onefold.StepOperator, Possible: true, Until: onefold.Forever}
	when := "at once"
	if ways {
		s.After = p.ReconcileWithin
		when = "when no other step is left, at the latest " + formatDuration(p.ReconcileWithin) + " after the first doubt"
		if p.PollWithin > 0 {
			when += ", which accepted work is not before its " + formatDuration(p.PollWithin) + " are over"
		}
	}
	s.Text = fmt.Sprintf("A review for %s opens %s.", p.Owner, when)
	if p.EscalateAfter > 0 {
		s.Text += fmt.Sprintf(" If it is still open %s later, %s is named as well.", formatDuration(p.EscalateAfter), p.EscalateTo)
	}
	return s
}

func backoffText(b onefold.Backoff) string {
	return fmt.Sprintf("%s, then %s× as long each time, at most %s", formatDuration(b.First), strconv.FormatFloat(b.Factor, 'g', -1, 64), formatDuration(b.Max))
}

func times(n int) string {
	if n == 1 {
		return "one attempt"
	}
	return strconv.Itoa(n) + " attempts"
}

// andList is "a", "a and b", "a, b and c".
func andList(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}
