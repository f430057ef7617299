package onefold_test

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
)

var noon = time.Date(2026, 3, 1, 14, 3, 7, 0, time.UTC)

// explained is a bill in a state, changed by a story.
func explained(state onefold.State, change func(*onefold.Operation)) onefold.Operation {
	op := onefold.Operation{
		Admitted: onefold.Admitted{ID: "op_1", Workspace: "acme", Capability: "bills.create", Connection: "acme-erp", Key: "the-key", Owner: "maria", CreatedAt: noon.Add(-time.Minute)},
		Standing: onefold.Standing{State: state, UpdatedAt: noon, Version: 3},
	}
	if change != nil {
		change(&op)
	}
	return op
}

func attempt(number int, verdict onefold.Verdict) onefold.Attempt {
	ended := noon.Add(20 * time.Second)
	return onefold.Attempt{ID: "att_1", Number: number, BegunAt: noon, EndedAt: &ended, Verdict: verdict}
}

func lostAnswer(op *onefold.Operation) {
	due := noon.Add(55 * time.Second)
	first := noon
	op.Attempts = []onefold.Attempt{attempt(1, onefold.VerdictUnknown)}
	op.Doubt = &onefold.Doubt{Reason: onefold.DoubtNoAnswer, Since: noon.Add(20 * time.Second)}
	op.FirstDispatched, op.Due, op.Next, op.MaybeApplied = &first, &due, onefold.NextLookup, true
	op.Retry.Spent = 1
}

// The words that a person reads, whole, for the cases that matter most.
// Proves: M26, M16, M11, M12
func TestExplain(t *testing.T) {
	t.Parallel()
	policy := onefold.Policy{
		InDoubt:       []onefold.RecoveryStep{onefold.StepReplay, onefold.StepLookup, onefold.StepOperator},
		RetryAttempts: 8, RetryWithin: time.Hour, Window: 24 * time.Hour, WindowMargin: 20500 * time.Millisecond,
		Settle: 5 * time.Second, Processing: 30 * time.Second, AbsenceProves: true,
	}
	now := noon.Add(30 * time.Second)
	pause := &onefold.PauseInfo{Since: noon, By: onefold.Actor{Kind: onefold.ActorWorker, Name: "host-7"}, Reason: "SECRET: what somebody wrote"}
	for name, c := range map[string]struct {
		op    onefold.Operation
		want  string
		mode  onefold.Mode
		pause *onefold.PauseInfo
	}{
		"fresh": {explained(onefold.Prepared, func(op *onefold.Operation) {
			due := now
			op.Due, op.Next = &due, onefold.NextAttempt
		}), `bills.create to acme-erp was accepted at 2026-03-01 14:02:07 UTC and is stored. Nothing was sent yet.
Next: It is sent now.`, onefold.ModeAutonomous, nil},
		"fresh, on a paused connection": {explained(onefold.Prepared, func(op *onefold.Operation) {
			due := now
			op.Due, op.Next = &due, onefold.NextAttempt
		}), `bills.create to acme-erp was accepted at 2026-03-01 14:02:07 UTC and is stored. Nothing was sent yet.
Next: It waits: nothing is sent over the connection acme-erp, which was paused at 2026-03-01 14:03:07 UTC by host-7; why stands at the connection. Whoever has the role operate or admin can lift the pause (onefold connections resume acme-erp).`, onefold.ModeAutonomous, pause},
		"fresh, on a disabled connection": {explained(onefold.Prepared, func(op *onefold.Operation) {
			due := now
			op.Due, op.Next = &due, onefold.NextAttempt
		}), `bills.create to acme-erp was accepted at 2026-03-01 14:02:07 UTC and is stored. Nothing was sent yet.
Next: It waits: nothing is sent over the connection acme-erp, which is disabled. Whoever has the role admin can publish it in another mode.`, onefold.ModeDisabled, nil},
		"a replay, on a paused connection": {explained(onefold.Uncertain, func(op *onefold.Operation) {
			lostAnswer(op)
			op.Next = onefold.NextReplay
		}), `We sent bills.create to acme-erp at 2026-03-01 14:03:07 UTC, and got no answer. We do not know whether it was carried out.
What we know: It was sent once under one identity.
What we do not know: Whether an effect exists at the target.
What would settle it: Sending the same request again, which the target recognises until 2026-03-02 14:02:46 UTC; not before 2026-03-01 14:03:57 UTC, for until then the target may still be at work on what it got; not while the connection is paused. A look-up that finds the record. Finding nothing proves that there is no effect if the look-up begins after 2026-03-01 14:04:02 UTC. A person who finds out at the target and records it.
Next: It waits: nothing is sent over the connection acme-erp, which was paused at 2026-03-01 14:03:07 UTC by host-7; why stands at the connection. Whoever has the role operate or admin can lift the pause (onefold connections resume acme-erp).`, onefold.ModeAutonomous, pause},
		"a look-up, on a paused connection": {explained(onefold.Uncertain, lostAnswer), `We sent bills.create to acme-erp at 2026-03-01 14:03:07 UTC, and got no answer. We do not know whether it was carried out.
What we know: It was sent once under one identity.
What we do not know: Whether an effect exists at the target.
What would settle it: Sending the same request again, which the target recognises until 2026-03-02 14:02:46 UTC; not before 2026-03-01 14:03:57 UTC, for until then the target may still be at work on what it got; not while the connection is paused. A look-up that finds the record. Finding nothing proves that there is no effect if the look-up begins after 2026-03-01 14:04:02 UTC. A person who finds out at the target and records it.
Next: The target is asked at 2026-03-01 14:04:02 UTC. Nothing is sent over the connection acme-erp, which was paused at 2026-03-01 14:03:07 UTC by host-7; why stands at the connection. Whoever has the role operate or admin can lift the pause (onefold connections resume acme-erp). Asking the target goes on.`, onefold.ModeAutonomous, pause},
		"held": {explained(onefold.Prepared, func(op *onefold.Operation) {
			op.Holds = []onefold.Hold{{Reason: onefold.HoldApproval}}
			op.Reviews = []onefold.Review{{ID: "rev_1", Reason: onefold.ReviewApproval, Status: onefold.ReviewOpen, Owner: "maria", OpenedAt: noon}}
		}), `bills.create to acme-erp was accepted at 2026-03-01 14:02:07 UTC and is stored. Nothing was sent yet.
What we know: It is held: it needs an approval before it is sent.
What would settle it: A decision to proceed or to decline.
Next: maria has to look at it (review rev_1, approval, open since 2026-03-01 14:03:07 UTC).`, "", nil},
		"lost answer": {explained(onefold.Uncertain, lostAnswer), `We sent bills.create to acme-erp at 2026-03-01 14:03:07 UTC, and got no answer. We do not know whether it was carried out.
What we know: It was sent once under one identity.
What we do not know: Whether an effect exists at the target.
What would settle it: Sending the same request again, which the target recognises until 2026-03-02 14:02:46 UTC; not before 2026-03-01 14:03:57 UTC, for until then the target may still be at work on what it got. A look-up that finds the record. Finding nothing proves that there is no effect if the look-up begins after 2026-03-01 14:04:02 UTC. A person who finds out at the target and records it.
Next: The target is asked at 2026-03-01 14:04:02 UTC.`, "", nil},
		"withdrawn": {explained(onefold.Uncertain, func(op *onefold.Operation) {
			lostAnswer(op)
			op.Barred = []onefold.Bar{onefold.BarWithdrawn}
		}), `We sent bills.create to acme-erp at 2026-03-01 14:03:07 UTC, and got no answer. We do not know whether it was carried out.
What we know: It was sent once under one identity. It was withdrawn: nothing is sent again, and if it was carried out the withdrawal came too late.
What we do not know: Whether an effect exists at the target.
What would settle it: Not sending again: the operation is barred. A look-up that finds the record. Finding nothing proves that there is no effect if the look-up begins after 2026-03-01 14:04:02 UTC. A person who finds out at the target and records it.
Next: The target is asked at 2026-03-01 14:04:02 UTC.`, "", nil},
		"done": {explained(onefold.Confirmed, func(op *onefold.Operation) {
			op.Attempts = []onefold.Attempt{attempt(1, onefold.VerdictUnknown), attempt(2, onefold.VerdictConfirmed)}
			op.Result = &onefold.Result{Reference: "BILL-991", LearntFrom: onefold.LearntFromLookup, At: now}
		}), `bills.create at acme-erp is done, confirmed by a look-up at the target at 2026-03-01 14:03:37 UTC; the target's reference is BILL-991.
What we know: It was sent 2 times under one identity.
Next: Nothing.`, "", nil},
		"contradicted": {explained(onefold.Rejected, func(op *onefold.Operation) {
			op.Rejection = &onefold.Rejection{Code: "invalid", Detail: "total 4,210.00 is too high", At: now}
			op.Contradicted, op.SeenReferences = true, []string{"BILL-7"}
			op.Reviews = []onefold.Review{{ID: "rev_1", Reason: onefold.ReviewContradicted, Status: onefold.ReviewOpen, Owner: "maria", OpenedAt: noon}}
		}), `bills.create at acme-erp is recorded as not done: rejected (invalid) at 2026-03-01 14:03:37 UTC. Nothing is sent for it again.
What we know: Evidence names the reference BILL-7. Later evidence disagrees with what is recorded (references seen: BILL-7).
What we do not know: Which of the conflicting facts is true.
What would settle it: A person who compares both sides at the target and records the decision; nothing is sent.
Next: maria has to look at it (review rev_1, contradicted, open since 2026-03-01 14:03:07 UTC). Starting it again under a new key is not safe while this is open.`, "", nil},
		"released": {explained(onefold.Canceled, func(op *onefold.Operation) {
			op.SettledAt, op.KeyReleased = &now, true
		}), `bills.create to acme-erp was withdrawn at 2026-03-01 14:03:37 UTC. No effect exists, and nothing will be sent. Its key was released and may be used again.
Next: Nothing. The business action may be started again under a new key.`, "", nil},
	} {
		if got := onefold.Explain(c.op, onefold.Terms{Mode: cmp.Or(c.mode, onefold.ModeAutonomous)}, policy, c.pause, now); got != c.want {
			t.Errorf("%s:\n%s\n\nwanted\n%s", name, got, c.want)
		}
	}
}

// Every state under every doubt, bar and hold has words, and none of them is a
// payload value, a target's text, or a claim that nobody can make.
// Proves: M26
func TestExplainHasWordsForEverything(t *testing.T) {
	t.Parallel()
	doubts := []onefold.DoubtReason{
		onefold.DoubtNoAnswer, onefold.DoubtLeaseExpired, onefold.DoubtServerError, onefold.DoubtUnreadable, onefold.DoubtUnclassified,
		onefold.DoubtAccepted, onefold.DoubtInProgress, onefold.DoubtRefusedAfterDoubt, onefold.DoubtExists, onefold.DoubtEffectExists,
		onefold.DoubtDiffers, onefold.DoubtMultipleEffects, onefold.DoubtKeyConflict, onefold.DoubtRestored, onefold.DoubtBarred,
		onefold.DoubtInternal, onefold.DoubtProcessInterrupted, "a_word_of_a_go_target",
	}
	for _, state := range onefold.States() {
		for _, doubt := range doubts {
			for _, bar := range onefold.Bars() {
				op := explained(state, lostAnswer)
				op.Doubt.Reason, op.Barred = doubt, []onefold.Bar{bar}
				op.Metadata = []byte(`{"x":"SECRET"}`)
				op.Result = &onefold.Result{Reference: "R", LearntFrom: onefold.LearntFromResponse, At: noon}
				op.Rejection = &onefold.Rejection{Code: "declined", Detail: "SECRET", At: noon}
				for _, hold := range onefold.HoldReasons() {
					op.Holds = append(op.Holds, onefold.Hold{Reason: hold})
				}
				pause := &onefold.PauseInfo{Since: noon, By: onefold.Actor{Name: "maria"}, Reason: "SECRET"}
				text := onefold.Explain(op, onefold.Terms{}, onefold.Policy{}, pause, noon)
				for _, never := range []string{"SECRET", "the-key", "_", "  ", "..", "<nil>", "%!"} {
					if state == onefold.Uncertain && doubt == "a_word_of_a_go_target" && never == "_" {
						continue
					}
					if strings.Contains(text, never) {
						t.Fatalf("%s, %s, %s: the words hold %q:\n%s", state, doubt, bar, never, text)
					}
				}
			}
		}
	}
}
