package onefold_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
)

// A closed connection is told of where it is what keeps something from being sent,
// with who can change that, and nowhere else: in every state, whether the
// connection is open, paused, disabled or both, and the operation free, held or
// barred.
//
// Proves: M11c, M26
func TestExplainTellsOfAClosedConnection(t *testing.T) {
	t.Parallel()
	policy := onefold.Policy{
		InDoubt:       []onefold.RecoveryStep{onefold.StepReplay, onefold.StepLookup, onefold.StepOperator},
		RetryAttempts: 8, RetryWithin: time.Hour, Window: 24 * time.Hour, AbsenceProves: true,
	}
	pause := &onefold.PauseInfo{Since: noon, By: onefold.Actor{Kind: onefold.ActorPrincipal, Name: "grace"}}
	cases := 0
	for _, state := range onefold.States() {
		for next, op := range inState(state) {
			for _, bar := range append([]onefold.Bar{""}, onefold.Bars()...) {
				for _, mode := range []onefold.Mode{onefold.ModeAutonomous, onefold.ModeDisabled} {
					for _, paused := range []*onefold.PauseInfo{nil, pause} {
						op := op
						if bar != "" {
							op.Barred = []onefold.Bar{bar}
						}
						text := onefold.Explain(op, onefold.Terms{Mode: mode}, policy, paused, noon.Add(time.Minute))
						cases++
						for _, wrong := range wrongAboutTheConnection(&op, mode == onefold.ModeDisabled, paused != nil, text) {
							t.Errorf("%s, next %q, barred %q, mode %s, paused %v: %s\n%s", state, next, bar, mode, paused != nil, wrong, text)
						}
					}
				}
			}
		}
	}
	if cases < 300 {
		t.Errorf("only %d cases", cases)
	}
}

// inState are operations of a state, by what is next for them.
func inState(state onefold.State) map[string]onefold.Operation {
	due := noon.Add(30 * time.Second)
	at := func(next onefold.NextAction) func(*onefold.Operation) {
		return func(op *onefold.Operation) {
			if lostAnswer(op); state == onefold.Prepared {
				op.Attempts, op.Doubt, op.MaybeApplied = nil, nil, false
			}
			op.Due, op.Next = &due, next
		}
	}
	held := func(op *onefold.Operation) {
		at(onefold.NextOperator)(op)
		op.Due = nil
		op.Holds = []onefold.Hold{{Reason: onefold.HoldApproval}}
		op.Reviews = []onefold.Review{{ID: "rev_1", Reason: onefold.ReviewApproval, Status: onefold.ReviewOpen, Owner: "maria", OpenedAt: noon}}
	}
	ops := map[string]onefold.Operation{}
	switch state {
	case onefold.Prepared:
		ops["attempt"] = explained(state, at(onefold.NextAttempt))
		ops["held"] = explained(state, held)
	case onefold.Attempting:
		ops["answer"] = explained(state, func(op *onefold.Operation) {
			lostAnswer(op)
			op.Attempts[0].EndedAt, op.Attempts[0].Verdict, op.Doubt, op.Due, op.Next = nil, "", nil, nil, onefold.NextAttempt
			op.Lease = &onefold.Lease{Token: 1, Worker: "w", Until: noon.Add(time.Hour)}
		})
	case onefold.Uncertain:
		for _, next := range []onefold.NextAction{onefold.NextReplay, onefold.NextLookup, onefold.NextPoll} {
			ops[string(next)] = explained(state, at(next))
		}
		ops["held"] = explained(state, held)
	default:
		ops["nothing"] = explained(state, func(op *onefold.Operation) {
			op.Result = &onefold.Result{Reference: "R", LearntFrom: onefold.LearntFromResponse, At: noon}
			op.Rejection = &onefold.Rejection{Code: "declined", At: noon}
			op.SettledAt = &due
		})
	}
	return ops
}

func wrongAboutTheConnection(op *onefold.Operation, disabled, paused bool, text string) (wrong []string) {
	lower := strings.ToLower(text)
	wants := func(words string, wanted bool) {
		if strings.Contains(lower, words) != wanted {
			wrong = append(wrong, fmt.Sprintf("says %q: %v", words, !wanted))
		}
	}
	speaks := (disabled || paused) && !op.Settled() && !op.IsBarred()
	wants("nothing is sent over the connection acme-erp", speaks)
	wants("paused at 2026-03-01 14:03:07 utc by grace", speaks && paused)
	wants("whoever has the role operate or admin can lift the pause", speaks && paused)
	wants("disabled", speaks && disabled || disabled && strings.Contains(lower, "not while the connection"))
	wants("whoever has the role admin can publish it", speaks && disabled)
	if disabled || paused {
		for _, promise := range []string{"it is sent now", "it is sent at", "is sent again now", "is sent again at"} {
			wants(promise, false)
		}
	}
	wants("it is held", len(op.Holds) > 0)
	wants("asking the target goes on", speaks && op.Due != nil && (op.Next == onefold.NextLookup || op.Next == onefold.NextPoll))
	if op.State == onefold.Attempting {
		wants("the try that is out goes on", speaks)
	}
	return wrong
}
