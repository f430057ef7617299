package onefold_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
)

// Proves: M4, M6, M22
func TestDoCallsWriteAndGivesTheRecordedAnswerToRepeats(t *testing.T) {
	t.Parallel()
	s, b := newDoScene(t, doOptions{}), &books{}
	first := s.do("payouts.send", "k", doPayout, b.steps(), nil)
	if first.State != onefold.Confirmed || first.Result.Reference != "DOC-"+first.Reference || first.Result.LearntFrom != onefold.LearntFromResponse {
		t.Fatalf("%s with the result %+v", first.State, first.Result)
	}
	// Differently spelled, but the same intent; Write is not asked again.
	again := s.do("payouts.send", "k", `{"amount": "99.9", "payee": "P-1"}`, b.steps(), nil)
	if again.ID != first.ID || again.Result.Reference != first.Result.Reference {
		t.Errorf("the repeat gave %s, %+v", again.ID, again.Result)
	}
	_, err := s.Ledger.Do(context.Background(), s.submission("payouts.send", "k", `{"payee": "P-1", "amount": "100"}`), b.steps())
	e, _ := errors.AsType[*onefold.Error](err)
	if !errors.Is(err, onefold.ErrKeyConflict) || len(e.Differences) != 1 || e.Differences[0].Pointer != "/request/amount" {
		t.Errorf("another intent under the key: %v, differences %+v", err, e.Differences)
	}
	b.counts(t, 1, 1)
}

// What Write is called with is frozen: a later attempt is called with the same,
// and only its number differs.
//
// Proves: M1, M2, M2a
func TestEveryAttemptIsCalledWithTheSame(t *testing.T) {
	t.Parallel()
	s, b := newDoScene(t, doOptions{}), &books{}
	var calls []onefold.Call
	b.before = func(ctx context.Context, c onefold.Call) (onefold.WriteReport, error) {
		calls = append(calls, c)
		if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > 10*time.Second {
			t.Error("the call's context does not end with the contract's time-out")
		}
		return onefold.NotApplied("busy"), nil
	}
	op := s.do("bills.create", "k", doBill, b.steps(), onefold.ErrNotDue)
	if op.State != onefold.Prepared || op.MaybeApplied {
		t.Fatalf("%s, maybe applied %v", op.State, op.MaybeApplied)
	}
	// Too early, nothing happens.
	s.do("bills.create", "k", doBill, b.steps(), onefold.ErrNotDue)
	b.counts(t, 1, 0)
	s.Clock.Advance(time.Second)
	s.do("bills.create", "k", doBill, b.steps(), onefold.ErrNotDue)
	if len(calls) != 2 {
		t.Fatalf("%d calls", len(calls))
	}
	one, two := calls[0], calls[1]
	if one.Attempt != 1 || two.Attempt != 2 || one.Kind != onefold.Write || two.Kind != onefold.Write {
		t.Errorf("attempts %d %s, %d %s", one.Attempt, one.Kind, two.Attempt, two.Kind)
	}
	if one.Identity != op.Identity || one.Reference != op.Reference || one.Identity == one.Reference || string(one.Request) != doBill {
		t.Errorf("called with %+v", one)
	}
	if one.Identity != two.Identity || one.Reference != two.Reference || string(one.Request) != string(two.Request) {
		t.Error("the second attempt was called with something else")
	}
	if one.Operation != op.ID || one.Account != "erp" || one.URL != "go://erp" || one.Capability != "bills.create" || one.ContractVersion != 1 {
		t.Errorf("called with %+v", one)
	}
}

// Proves: M13
func TestARefusalSettlesACleanAttemptAndNoOther(t *testing.T) {
	t.Parallel()
	s, b := newDoScene(t, doOptions{}), &books{}
	b.before = func(context.Context, onefold.Call) (onefold.WriteReport, error) {
		return onefold.Refused("supplier_blocked", "the supplier is blocked"), nil
	}
	op := s.do("bills.create", "clean", doBill, b.steps(), nil)
	if op.State != onefold.Rejected || op.Rejection.Code != "supplier_blocked" || !op.NewKeySafe() {
		t.Fatalf("%s, %+v", op.State, op.Rejection)
	}

	// An answer is lost after the effect; the repeat is refused.
	lossy := &books{answer: lost}
	s.do("bills.create", "lost", doBill, lossy.steps(), onefold.ErrRetryUnsafe)
	s.Clock.Advance(time.Second)
	op = s.do("bills.create", "lost", doBill, onefold.Steps{Write: b.Write, Lookup: lossy.Lookup}, onefold.ErrRetryUnsafe)
	if op.State != onefold.Uncertain || op.Doubt.Reason != onefold.DoubtRefusedAfterDoubt || len(op.Attempts) != 2 {
		t.Fatalf("%s, %+v after %d attempts", op.State, op.Doubt, len(op.Attempts))
	}
	s.Clock.Advance(10 * time.Second)
	op = s.do("bills.create", "lost", doBill, onefold.Steps{Write: b.Write, Lookup: lossy.Lookup}, nil)
	if op.State != onefold.Confirmed || op.Result.LearntFrom != onefold.LearntFromLookup {
		t.Fatalf("%s, %+v", op.State, op.Result)
	}
	lossy.counts(t, 1, 1)
}

// Proves: M11, M12
func TestALostAnswerIsLookedUp(t *testing.T) {
	t.Parallel()
	s, b := newDoScene(t, doOptions{}), &books{answer: lost}
	op, err := s.Ledger.Do(context.Background(), s.submission("payouts.send", "k", doPayout), b.steps())
	e, _ := errors.AsType[*onefold.Error](err)
	if !errors.Is(err, onefold.ErrRetryUnsafe) || op.State != onefold.Uncertain || op.Doubt.Reason != onefold.DoubtNoAnswer {
		t.Fatalf("%v, %s, %+v", err, op.State, op.Doubt)
	}
	if !strings.Contains(e.Reason, "does not name replay") || e.RetryAfter <= 0 || !strings.Contains(e.Message, "no_answer") {
		t.Errorf("%q because %q, again after %s", e.Message, e.Reason, e.RetryAfter)
	}
	s.Clock.Advance(e.RetryAfter)
	op = s.do("payouts.send", "k", doPayout, b.steps(), nil)
	if op.State != onefold.Confirmed || op.Result.LearntFrom != onefold.LearntFromLookup {
		t.Fatalf("%s, %+v", op.State, op.Result)
	}
	b.counts(t, 1, 1)
}

// Proves: M11, M12
func TestALostRequestIsSentAgainOnlyAfterProvenAbsence(t *testing.T) {
	t.Parallel()
	s, b := newDoScene(t, doOptions{edit: replaced("settle: 1s", "settle: 1m")}), &books{before: lost}
	op := s.do("payouts.send", "k", doPayout, b.steps(), onefold.ErrRetryUnsafe)
	ended := *op.Attempts[0].EndedAt
	for s.Clock.Now().Before(ended.Add(50 * time.Second)) {
		// Asked too early, an absence proves nothing.
		s.Clock.Advance(10 * time.Second)
		s.do("payouts.send", "k", doPayout, b.steps(), onefold.ErrRetryUnsafe)
	}
	if b.lookups == 0 {
		t.Fatal("it was never looked up early")
	}
	b.counts(t, 1, 0)
	b.before = nil
	for range 10 {
		s.Clock.Advance(30 * time.Second)
		if op, _ = s.Ledger.Do(context.Background(), s.submission("payouts.send", "k", doPayout), b.steps()); op.Settled() {
			break
		}
	}
	if op.State != onefold.Confirmed || op.Attempts[0].ProvenBy != onefold.ProvenByAbsence || len(op.Attempts) != 2 {
		t.Fatalf("%s after %+v", op.State, op.Attempts)
	}
	b.counts(t, 2, 1)
}

// Proves: M12, M16
func TestAnInconclusiveLookUpEndsWithAPerson(t *testing.T) {
	t.Parallel()
	s, b := newDoScene(t, doOptions{}), &books{answer: lost}
	b.find = func(context.Context, onefold.Call) (onefold.LookupReport, error) {
		return onefold.LookupReport{}, errors.New("403")
	}
	op := s.do("payouts.send", "k", doPayout, b.steps(), onefold.ErrRetryUnsafe)
	var err error
	for range 60 {
		s.Clock.Advance(time.Hour)
		if op, err = s.Ledger.Do(context.Background(), s.submission("payouts.send", "k", doPayout), b.steps()); len(op.OpenReviews()) > 0 {
			break
		}
	}
	e, _ := errors.AsType[*onefold.Error](err)
	if op.State != onefold.Uncertain || len(op.OpenReviews()) != 1 || !strings.Contains(e.Hint, "maria@acme.example") || e.RetryAfter != 0 {
		t.Fatalf("%s, reviews %+v, %v (%s)", op.State, op.Reviews, err, e.Hint)
	}
	b.counts(t, 1, 1)
	// Waiting changes nothing: a person has to decide.
	op = s.do("payouts.send", "k", doPayout, onefold.Steps{Write: b.Write, Lookup: b.Lookup, Wait: time.Hour}, onefold.ErrRetryUnsafe)
	if _, err := s.Ledger.Resolve(context.Background(), onefold.Decision{
		Workspace: "acme", Operation: op.ID, By: onefold.Actor{Kind: onefold.ActorPrincipal, Name: "maria"}, Reason: "seen in the bank's list",
	}, onefold.Resolution{Outcome: onefold.ResolveConfirmed, Reference: "DOC-7"}); err != nil {
		t.Fatal(err)
	}
	op = s.do("payouts.send", "k", doPayout, b.steps(), nil)
	if op.Result.Reference != "DOC-7" || op.Result.LearntFrom != onefold.LearntFromOperator {
		t.Errorf("%+v", op.Result)
	}
	b.counts(t, 1, 1)
}

// Proves: M11
func TestWithoutALookupFunctionDoubtStays(t *testing.T) {
	t.Parallel()
	s, b := newDoScene(t, doOptions{}), &books{answer: lost}
	writeOnly := onefold.Steps{Write: b.Write}
	s.do("payouts.send", "k", doPayout, writeOnly, onefold.ErrRetryUnsafe)
	s.Clock.Advance(time.Hour)
	op, err := s.Ledger.Do(context.Background(), s.submission("payouts.send", "k", doPayout), writeOnly)
	e, _ := errors.AsType[*onefold.Error](err)
	if op.State != onefold.Uncertain || !strings.Contains(e.Hint, "Lookup function") {
		t.Errorf("%s: %v (%s)", op.State, err, e.Hint)
	}
	if op := s.do("payouts.send", "k", doPayout, b.steps(), nil); op.State != onefold.Confirmed {
		t.Errorf("with one: %s", op.State)
	}
	b.counts(t, 1, 1)
}

// Proves: M11a
func TestAReplayIsMadeOnlyWhereTheContractAllowsIt(t *testing.T) {
	t.Parallel()
	s := newDoScene(t, doOptions{})
	b := &books{before: lost}
	s.do("bills.create", "inside", doBill, b.steps(), onefold.ErrRetryUnsafe)
	s.Clock.Advance(time.Second)
	b.before = nil
	op := s.do("bills.create", "inside", doBill, b.steps(), nil)
	if op.State != onefold.Confirmed || len(op.Attempts) != 2 || op.Attempts[1].Kind != onefold.Replay {
		t.Fatalf("%s after %+v", op.State, op.Attempts)
	}
	b.counts(t, 2, 1)

	// The target's window is over: it is looked up, and never repeated.
	b = &books{answer: lost}
	s.do("bills.create", "over", doBill, b.steps(), onefold.ErrRetryUnsafe)
	s.Clock.Advance(time.Hour)
	b.find = func(context.Context, onefold.Call) (onefold.LookupReport, error) {
		return onefold.Inconclusive("lagging"), nil
	}
	op, err := s.Ledger.Do(context.Background(), s.submission("bills.create", "over", doBill), b.steps())
	if op.State != onefold.Uncertain || !strings.Contains(reasonOf(err), "window") {
		t.Fatalf("%s: %v", op.State, err)
	}
	b.counts(t, 1, 1)
}

// Where the target ties the identity to the credential, nobody may guess that it
// is still the same.
//
// Proves: M11a
func TestAReplayNeedsTheSameCredential(t *testing.T) {
	t.Parallel()
	s := newDoScene(t, doOptions{edit: replaced("scope: [account]", "scope: [account, credential]")})
	named := func(name string, err error) func(context.Context) (string, error) {
		return func(context.Context) (string, error) { return name, err }
	}
	for _, c := range []struct {
		key           string
		first, second func(context.Context) (string, error)
		writes        int
	}{
		{"same", named("key-1", nil), named("key-1", nil), 2},
		{"other", named("key-1", nil), named("key-2", nil), 1},
		{"not said", nil, nil, 1},
		{"not known", named("", errors.New("no vault")), named("", errors.New("no vault")), 1},
	} {
		t.Run(c.key, func(t *testing.T) {
			b := &books{before: lost}
			key := strings.ReplaceAll(c.key, " ", "-")
			s.do("bills.create", key, doBill, onefold.Steps{Write: b.Write, Lookup: b.Lookup, Credential: c.first}, onefold.ErrRetryUnsafe)
			s.Clock.Advance(time.Second)
			_, _ = s.Ledger.Do(context.Background(), s.submission("bills.create", key, doBill), onefold.Steps{Write: b.Write, Lookup: b.Lookup, Credential: c.second})
			b.counts(t, c.writes, 0)
		})
	}
}

// Proves: M15
func TestARecordThatDiffersDoesNotConfirm(t *testing.T) {
	t.Parallel()
	s, b := newDoScene(t, doOptions{}), &books{}
	b.answer = func(_ context.Context, c onefold.Call) (onefold.WriteReport, error) {
		r := onefold.Applied("DOC-1")
		r.Record = []byte(`{"total": "1350.00"}`)
		return r, nil
	}
	op := s.do("bills.create", "k", doBill, b.steps(), onefold.ErrRetryUnsafe)
	if !op.IsBarred(onefold.BarDiffers) || len(op.OpenReviews()) != 1 || op.OpenReviews()[0].Reason != onefold.ReviewDiffers {
		t.Fatalf("barred %v, reviews %+v", op.Barred, op.Reviews)
	}
	// So does a record that a look-up finds; one that agrees by value confirms.
	for amount, want := range map[string]error{`99.90`: nil, `"1.00"`: onefold.ErrRetryUnsafe} {
		b := &books{answer: lost}
		b.find = func(context.Context, onefold.Call) (onefold.LookupReport, error) {
			r := onefold.Found("DOC-2")
			r.Record = []byte(`{"amount": ` + amount + `}`)
			return r, nil
		}
		s.do("payouts.send", "k"+amount, doPayout, b.steps(), onefold.ErrRetryUnsafe)
		s.Clock.Advance(10 * time.Second)
		op := s.do("payouts.send", "k"+amount, doPayout, b.steps(), want)
		if want != nil && !op.IsBarred(onefold.BarDiffers) {
			t.Errorf("barred %v", op.Barred)
		}
		b.counts(t, 1, 1)
	}
}

// Proves: M15
func TestAnOlderRecordAndSeveralRecordsGoToAPerson(t *testing.T) {
	t.Parallel()
	s := newDoScene(t, doOptions{})
	for reason, report := range map[onefold.ReviewReason]onefold.LookupReport{
		onefold.ReviewPredates:        {Result: onefold.LookupFound, Reference: "DOC-1", Created: s.Clock.Now().Add(-time.Hour)},
		onefold.ReviewMultipleEffects: {Result: onefold.LookupSeveral, Detail: "two"},
	} {
		b := &books{answer: lost}
		b.find = func(context.Context, onefold.Call) (onefold.LookupReport, error) { return report, nil }
		s.do("payouts.send", string(reason), doPayout, b.steps(), onefold.ErrRetryUnsafe)
		s.Clock.Advance(10 * time.Second)
		op := s.do("payouts.send", string(reason), doPayout, b.steps(), onefold.ErrRetryUnsafe)
		if open := op.OpenReviews(); len(open) != 1 || open[0].Reason != reason {
			t.Errorf("%s: %s with the reviews %+v", reason, op.State, open)
		}
		b.counts(t, 1, 1)
	}
}

// Proves: M27
func TestAHeldOperationIsNotBegunBeforeItsRelease(t *testing.T) {
	t.Parallel()
	s, b := newDoScene(t, doOptions{edit: replaced("acknowledged: {by: maria@acme.example, date: 2026-11-29, reason: tests}", "")}), &books{}
	op := s.do("notes.post", "k", doNote, b.steps(), onefold.ErrHeld)
	b.counts(t, 0, 0)
	if _, err := s.Ledger.Release(context.Background(), onefold.Decision{
		Workspace: "acme", Operation: op.ID, By: onefold.Actor{Kind: onefold.ActorPrincipal, Name: "maria"}, Reason: "approved",
	}, onefold.HoldDecision{Reason: onefold.HoldApproval, Proceed: true}); err != nil {
		t.Fatal(err)
	}
	if op := s.do("notes.post", "k", doNote, b.steps(), nil); op.State != onefold.Confirmed {
		t.Errorf("after the release: %s", op.State)
	}
	b.counts(t, 1, 1)
}

func TestAPausedConnectionBeginsNothing(t *testing.T) {
	t.Parallel()
	s, b := newDoScene(t, doOptions{}), &books{}
	ref, maria := onefold.ConnectionRef{Workspace: "acme", Connection: "erp"}, onefold.Actor{Kind: onefold.ActorPrincipal, Name: "maria"}
	b.before = func(context.Context, onefold.Call) (onefold.WriteReport, error) {
		r := onefold.NotApplied("the key was revoked")
		r.PauseConnection = true
		return r, nil
	}
	s.do("payouts.send", "k", doPayout, b.steps(), onefold.ErrPaused)
	s.Clock.Advance(time.Minute)
	s.do("payouts.send", "k", doPayout, b.steps(), onefold.ErrPaused)
	b.counts(t, 1, 0)
	b.before = nil
	if _, err := s.Store.ResumeConnection(context.Background(), ref, maria, "a new key"); err != nil {
		t.Fatal(err)
	}
	s.do("payouts.send", "k", doPayout, b.steps(), nil)
	b.counts(t, 2, 1)
}

// Proves: M24
func TestNothingIsSentForAWithdrawnOperation(t *testing.T) {
	t.Parallel()
	s, b := newDoScene(t, doOptions{}), &books{}
	cancel := func(op onefold.Operation) onefold.Operation {
		t.Helper()
		op, err := s.Ledger.Cancel(context.Background(), onefold.Decision{
			Workspace: "acme", Operation: op.ID, By: onefold.Actor{Kind: onefold.ActorPrincipal, Name: "cron"},
		}, false)
		must(t, err)
		return op
	}
	// Before anything was sent.
	op, _, err := s.Ledger.Submit(context.Background(), s.submission("bills.create", "early", doBill))
	must(t, err)
	cancel(op)
	if op := s.do("bills.create", "early", doBill, b.steps(), nil); op.State != onefold.Canceled {
		t.Errorf("%s", op.State)
	}
	b.counts(t, 0, 0)
	// While it is in doubt: it is not repeated, and what a look-up finds is told.
	b.answer = lost
	op = s.do("bills.create", "late", doBill, b.steps(), onefold.ErrRetryUnsafe)
	cancel(op)
	s.Clock.Advance(time.Minute)
	if op = s.do("bills.create", "late", doBill, b.steps(), nil); op.State != onefold.Confirmed || !op.IsBarred(onefold.BarWithdrawn) {
		t.Errorf("%s, barred %v", op.State, op.Barred)
	}
	b.counts(t, 1, 1)
	// While Write is about to begin: the call asks, and sends nothing.
	c := &books{}
	c.before = func(_ context.Context, call onefold.Call) (onefold.WriteReport, error) {
		before := call.MayStart()
		op, err := s.Ledger.Operation(context.Background(), "acme", call.Operation)
		must(t, err)
		cancel(op)
		if call.MayStart() || !before {
			t.Errorf("may start: %v before the withdrawal, and %v after it", before, call.MayStart())
		}
		return onefold.NotSent("withdrawn"), nil
	}
	if op := s.do("bills.create", "about", doBill, c.steps(), nil); op.State != onefold.Canceled {
		t.Errorf("withdrawn before the first byte: %s", op.State)
	}
}

// Proves: M24
func TestNothingBeginsAfterTheStartDeadline(t *testing.T) {
	t.Parallel()
	s, b := newDoScene(t, doOptions{}), &books{}
	b.before = func(context.Context, onefold.Call) (onefold.WriteReport, error) {
		return onefold.NotApplied("busy"), nil
	}
	deadline := s.Clock.Now().Add(10 * time.Second)
	sub := s.submission("bills.create", "k", doBill)
	sub.StartDeadline = &deadline
	if _, err := s.Ledger.Do(context.Background(), sub, b.steps()); !errors.Is(err, onefold.ErrNotDue) {
		t.Fatal(err)
	}
	s.Clock.Advance(time.Minute)
	op, err := s.Ledger.Do(context.Background(), sub, b.steps())
	if err != nil || op.State != onefold.Canceled {
		t.Errorf("%v, %s", err, op.State)
	}
	b.counts(t, 1, 0)
}

// Proves: M25
func TestDoIsForTargetsOfGoFunctions(t *testing.T) {
	t.Parallel()
	s, b := newDoScene(t, doOptions{}), &books{}
	if _, err := s.Ledger.Do(context.Background(), s.submission("payouts.send", "k", doPayout), onefold.Steps{}); !errors.Is(err, onefold.ErrMemberInvalid) {
		t.Errorf("without Write: %v", err)
	}
	if _, err := s.Ledger.Do(context.Background(), s.submission("pay.out", "k", doPayout), b.steps()); !errors.Is(err, onefold.ErrCapabilityUnknown) {
		t.Errorf("an unknown capability: %v", err)
	}
	if op, err := s.Ledger.Do(context.Background(), s.submission("hooks.call", "k", `{}`), b.steps()); !errors.Is(err, onefold.ErrNotAllowed) || op.ID != "" {
		t.Errorf("over HTTP: %v", err)
	}
	for _, capability := range []string{"payouts.send", "hooks.call"} {
		_, found, err := s.Store.Claimed(context.Background(), onefold.ClaimKey{Workspace: "acme", Capability: capability, Key: "k"})
		if err != nil || found {
			t.Errorf("a refused call left a claim behind: %v, %v", found, err)
		}
	}
	b.counts(t, 0, 0)
}
