package onefold_test

import (
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
)

// What an attack found untrue, and what is said instead.
//
// Proves: M26, M16
func TestExplainIsHeldToTheStanding(t *testing.T) {
	t.Parallel()
	now := noon.Add(55 * time.Second)
	exhausted := func(spent int, review onefold.ReviewReason, attempts ...onefold.Attempt) func(*onefold.Operation) {
		return func(op *onefold.Operation) {
			first := noon
			op.Attempts, op.Next = attempts, onefold.NextOperator
			op.Retry = onefold.Budget{Spent: spent, Since: &first}
			op.Holds = []onefold.Hold{{Reason: onefold.HoldRetryExhausted, Since: noon, Review: "rev_1"}}
			op.Reviews = []onefold.Review{{ID: "rev_1", Reason: review, Status: onefold.ReviewOpen, Owner: "maria", OpenedAt: noon}}
		}
	}
	refused := attempt(1, onefold.VerdictNotApplied)
	dueAt := func(at time.Duration, next onefold.NextAction) func(*onefold.Operation) {
		return func(op *onefold.Operation) {
			lostAnswer(op)
			due := noon.Add(at)
			op.Due, op.Next = &due, next
		}
	}
	deadline := noon.Add(time.Second)
	for _, c := range []struct {
		name       string
		op         onefold.Operation
		says, isnt string
	}{
		{
			"the time is over, not the tries", explained(onefold.Prepared, exhausted(1, onefold.ReviewRetryExhausted, refused)),
			"It is held: no further try fits into the time that the contract allows for them (1h); made were 1 of 2, and none had an effect.", "every try",
		},
		{
			"the tries are over", explained(onefold.Prepared, exhausted(2, onefold.ReviewRetryExhausted, refused, attempt(2, onefold.VerdictNotSent))),
			"It is held: every try that the contract allows was made, and none had an effect.", "fits into the time",
		},
		{
			"never tried", explained(onefold.Prepared, exhausted(0, onefold.ReviewUnsendable)),
			"It is held: its request cannot be built or sent as it was approved: nothing was sent, and", "every try",
		},
		{
			"unsendable after a try", explained(onefold.Prepared, exhausted(1, onefold.ReviewUnsendable, refused)),
			"It is held: its request cannot be built or sent as it was approved: trying again", "nothing was sent",
		},
		{
			"another record than approved", explained(onefold.Uncertain, func(op *onefold.Operation) {
				lostAnswer(op)
				op.Doubt.Reason, op.Barred, op.SeenReferences = onefold.DoubtDiffers, []onefold.Bar{onefold.BarDiffers}, []string{"R2"}
			}), "What we do not know: Whether what was found is its effect, and may stand.", "Whether an effect exists",
		},
		{
			"several records", explained(onefold.Uncertain, func(op *onefold.Operation) {
				lostAnswer(op)
				op.Doubt.Reason, op.Barred = onefold.DoubtMultipleEffects, []onefold.Bar{onefold.BarMultipleEffects}
			}), "What we do not know: Which of the records, if any, is its effect.", "Whether an effect exists",
		},
		{
			"a look-up that is late", explained(onefold.Uncertain, dueAt(20*time.Second, onefold.NextLookup)),
			"Next: Asking the target is due since 2026-03-01 14:03:27 UTC and has not begun: it waits for its turn.", "is asked now",
		},
		{"a look-up that is due", explained(onefold.Uncertain, dueAt(54*time.Second, onefold.NextLookup)), "Next: The target is asked now.", "is due since"},
		{
			"a replay that is late", explained(onefold.Uncertain, dueAt(0, onefold.NextReplay)),
			"Next: Sending the same request again is due since 2026-03-01 14:03:07 UTC and has not begun: it waits for its turn.", "again now",
		},
		{
			"late, and just begun", explained(onefold.Uncertain, func(op *onefold.Operation) {
				dueAt(0, onefold.NextLookup)(op)
				op.Lease = &onefold.Lease{Token: 1, Worker: "w", Until: now.Add(time.Second)}
			}), "Next: A worker is on it now.", "is due since",
		},
		{
			"a worker that went silent", explained(onefold.Attempting, func(op *onefold.Operation) {
				lostAnswer(op)
				op.Attempts[0].EndedAt, op.Attempts[0].Verdict, op.Doubt, op.Due = nil, "", nil, nil
				op.Lease = &onefold.Lease{Token: 1, Worker: "w", Until: noon.Add(30 * time.Second)}
			}), "We began to send bills.create to acme-erp (attempt 1, begun at 2026-03-01 14:03:07 UTC), and its worker has given no sign of life in its time, which was over at 2026-03-01 14:03:37 UTC.", "just now",
		},
		{
			"nobody withdrew it", explained(onefold.Canceled, func(op *onefold.Operation) { op.StartDeadline, op.SettledAt = &deadline, &now }),
			"bills.create to acme-erp was canceled at 2026-03-01 14:04:02 UTC, after its start deadline (2026-03-01 14:03:08 UTC).", "withdrawn",
		},
		{
			"withdrawn too late", explained(onefold.Confirmed, func(op *onefold.Operation) {
				op.Attempts, op.Barred = []onefold.Attempt{attempt(1, onefold.VerdictConfirmed)}, []onefold.Bar{onefold.BarWithdrawn}
				op.Result = &onefold.Result{Reference: "R2", LearntFrom: onefold.LearntFromOperator, At: now, Earlier: &onefold.Result{Reference: "R1", LearntFrom: onefold.LearntFromLookup, At: noon}}
			}), "It was withdrawn, too late. Before a person decided, the reference R1 was recorded, by a look-up at the target.", "if it was carried out",
		},
	} {
		policy := onefold.Policy{
			InDoubt: []onefold.RecoveryStep{onefold.StepReplay, onefold.StepLookup, onefold.StepOperator}, RetryAttempts: 2, RetryWithin: time.Hour,
			Window: 24 * time.Hour, ReconcileWithin: time.Hour,
		}
		text := onefold.Explain(c.op, onefold.Terms{Mode: onefold.ModeAutonomous}, policy, nil, now)
		if !strings.Contains(text, c.says) || strings.Contains(text, c.isnt) {
			t.Errorf("%s: it says\n%s\n\nand not %q, or %q", c.name, text, c.says, c.isnt)
		}
	}
}
