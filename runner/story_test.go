package runner_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/bootclock"
	"github.com/onefold-dev/onefold/internal/rig"
	"github.com/onefold-dev/onefold/runner"
	"github.com/onefold-dev/onefold/sandbox"
)

const (
	bill    = `{"supplier":"S-81","number":"INV-0042","total":"1250.00"}`
	order   = `{"supplier":"S-81","item":"bolt","quantity":12}`
	payment = `{"payee":"P-1","amount":"99.90","currency":"EUR"}`
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// agrees holds an operation against the sandbox's ledger.
func agrees(t *testing.T, r *rig.Rig, op onefold.Operation, effects, writes int) {
	t.Helper()
	if got := r.Effects(op.Reference); got != effects {
		t.Errorf("the sandbox performed %d effects, want %d", got, effects)
	}
	if got := r.Writes(op.Reference); got != writes {
		t.Errorf("%d write requests reached the sandbox, want %d", got, writes)
	}
}

// Proves: M4, M6
func TestAnOperationIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	op := r.UntilState(r.Submit("bills.create", "k", bill).ID, onefold.Confirmed)
	agrees(t, r, op, 1, 1)
	if op.Result.LearntFrom != onefold.LearntFromResponse || op.MaybeApplied {
		t.Errorf("result %+v, maybe applied %v", op.Result, op.MaybeApplied)
	}
}

// Proves: M1, M2a, M11, M11a
func TestALostAnswerIsReplayedWhereTheTargetRecognisesIt(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect})
	op := r.UntilState(r.Submit("bills.create", "k", bill).ID, onefold.Confirmed)
	agrees(t, r, op, 1, 2)
	if len(op.Attempts) != 2 || op.Attempts[1].Kind != onefold.Replay {
		t.Errorf("attempts %+v", op.Attempts)
	}
}

// Proves: M11, M12
func TestALostAnswerIsLookedUpWhereTheTargetDoesNot(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect})
	op := r.UntilState(r.Submit("orders.create", "k", order).ID, onefold.Confirmed)
	agrees(t, r, op, 1, 1)
	if op.Result.LearntFrom != onefold.LearntFromLookup {
		t.Errorf("learnt from %s", op.Result.LearntFrom)
	}
}

// Proves: M12
func TestALostRequestIsSentAgainOnlyAfterProvenAbsence(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	r.Fault(sandbox.Fault{Kind: sandbox.DropBefore})
	op := r.UntilState(r.Submit("orders.create", "k", order).ID, onefold.Confirmed)
	agrees(t, r, op, 1, 2)
	if op.Attempts[0].ProvenBy != onefold.ProvenByAbsence {
		t.Errorf("the first attempt was not proven without effect: %+v", op.Attempts[0])
	}
	if waited := op.Attempts[1].BegunAt.Sub(*op.Attempts[0].EndedAt); waited < 1050*1e6 {
		t.Errorf("sent again %s after the lost request, before settle and processing were over", waited)
	}
}

// Proves: M13
func TestARefusalAfterALostSuccessRejectsNothing(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect})
	r.Fault(sandbox.Fault{Kind: sandbox.Unauthorized})
	op := r.UntilState(r.Submit("bills.create", "k", bill).ID, onefold.Confirmed)
	agrees(t, r, op, 1, len(op.Attempts))
	if op.Attempts[1].Verdict == onefold.VerdictRejected || op.State != onefold.Confirmed {
		t.Errorf("state %s, second verdict %s", op.State, op.Attempts[1].Verdict)
	}
}

// Proves: M13
func TestARefusalOfACleanAttemptRejects(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	op := r.UntilState(r.Submit("bills.create", "k", `{"supplier":"S-REFUSED","number":"1","total":"1"}`).ID, onefold.Rejected)
	agrees(t, r, op, 0, 1)
	if op.Rejection.Code != "supplier_blocked" || !op.NewKeySafe() {
		t.Errorf("rejection %+v, new key safe %v", op.Rejection, op.NewKeySafe())
	}
}

// Proves: M11c
func TestASuccessWhoseBodyWasCutOffIsNeverSentAgain(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	r.Fault(sandbox.Fault{Kind: sandbox.Cut, Bytes: 5, Of: sandbox.OfBody})
	op := r.UntilState(r.Submit("bills.create", "k", bill).ID, onefold.Confirmed)
	agrees(t, r, op, 1, 1)
	if !op.IsBarred(onefold.BarEffectExists) || op.Result.LearntFrom != onefold.LearntFromLookup {
		t.Errorf("barred %v, learnt from %s", op.Barred, op.Result.LearntFrom)
	}
}

// Proves: M16
func TestExhaustedReconciliationEndsWithTheConnectionsOwner(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Scan: 50e6})
	r.Fault(sandbox.Fault{Kind: sandbox.DropBefore})
	op := r.Until(r.Submit("payments.send", "k", payment).ID, "escalated", func(op *onefold.Operation) bool {
		open := op.OpenReviews()
		return len(open) == 1 && open[0].EscalatedAt != nil
	})
	agrees(t, r, op, 0, 1)
	review := op.OpenReviews()[0]
	if op.State != onefold.Uncertain || review.Owner != "maria@acme.example" || review.Reason != onefold.ReviewReconcileExhausted || review.EscalateTo != "finance-lead" {
		t.Errorf("state %s, review %+v", op.State, review)
	}
}

// Proves: M24
func TestNothingIsWrittenForAWithdrawnOperation(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Idle: true})
	op := r.Submit("bills.create", "k", bill)
	op, err := r.Ledger.Cancel(context.Background(), onefold.Decision{
		Workspace: rig.Workspace, Operation: op.ID, By: onefold.Actor{Kind: onefold.ActorPrincipal, Name: "caller"},
	}, true)
	if err != nil || op.State != onefold.Canceled || !op.KeyReleased {
		t.Fatalf("cancel: %v, %s, released %v", err, op.State, op.KeyReleased)
	}
	r.Start()
	// A key that was let go admits a new operation, and that one is sent.
	again := r.UntilState(r.Submit("bills.create", "k", bill).ID, onefold.Confirmed)
	if again.ID == op.ID {
		t.Fatal("the released key still answers with the withdrawn operation")
	}
	agrees(t, r, again, 1, 1)
}

func TestARunnerThatIsEndedBeforeItBeganEndsWithoutAnError(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Idle: true})
	run, err := runner.New(r.Ledger, carrier{}, runner.Config{Worker: "short", Boot: bootclock.Now})
	if err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	if err := run.Run(ended); err != nil {
		t.Errorf("ended before it began: %v, want nil as after a drain", err)
	}
	// The place is free for the next one.
	release, err := r.Store.TakeRunner(context.Background(), "next")
	if err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}
