package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onefold-dev/onefold"
)

func workStories() []story {
	return []story{
		{"paused time is counted and does not spend a budget", pausedTime},
		{"a pause is told and ends once", pauseTold},
		{"an answer can pause its connection", answerPauses},
		{"a look-up can pause its connection", lookUpPauses},
		{"due work, the longest waiting first", dueWork},
		{"a pause stops what sends and lets look-ups go on", dueWhilePaused},
		{"what is leased or held is not due", notDue},
		{"what is overdue is found", overdueWork},
		{"counts agree with what is there", countsAgree},
	}
}

func books() onefold.ConnectionRef {
	return onefold.ConnectionRef{Workspace: Workspace, Connection: Connection}
}

func pausedTime(t *testing.T, s *Subject) {
	ctx := context.Background()
	standing := func() onefold.ConnectionStanding {
		t.Helper()
		c, err := s.Store.Connection(ctx, books())
		noError(t, err)
		return c
	}
	pause := func(d time.Duration) {
		t.Helper()
		if changed, err := s.Store.PauseConnection(ctx, books(), Caller(), "maintenance"); err != nil || !changed {
			t.Fatalf("pause: changed %v, error %v", changed, err)
		}
		s.Clock.Advance(d)
		if c := standing(); !c.Paused {
			t.Fatal("the connection is not paused")
		}
		if changed, err := s.Store.ResumeConnection(ctx, books(), Caller(), "over"); err != nil || !changed {
			t.Fatalf("resume: changed %v, error %v", changed, err)
		}
	}
	if c := standing(); c != (onefold.ConnectionStanding{}) {
		t.Errorf("a connection that was never used stands at %+v", c)
	}
	pause(10 * time.Minute)
	op := s.Admit(t, "k")
	op = s.Attempting(t, op.ID)
	if op.Retry.PausedFor != 10*time.Minute {
		t.Errorf("the budget began after %v of pause, want 10m", op.Retry.PausedFor)
	}
	s.Clock.Advance(time.Minute)
	pause(3 * time.Minute)
	if c := standing(); c.Paused || c.PausedFor != 13*time.Minute {
		t.Errorf("the connection stands at %+v, want 13m of pause", c)
	}
	if got := op.Retry.Elapsed(s.Clock.Now(), standing()); got != time.Minute {
		t.Errorf("%v of the budget are spent, want 1m", got)
	}
	_, err := s.Store.PauseConnection(ctx, books(), Caller(), "again")
	noError(t, err)
	s.Clock.Advance(2 * time.Minute)
	// The present pause counts while it lasts.
	done := s.Step(t, op.ID, s.Answer(op.Attempts[0].ID, op.Token, onefold.OutcomeUnknown, ""))
	if got := done.Operation.Reconcile.PausedFor; got != 15*time.Minute {
		t.Errorf("the reconcile budget began after %v of pause, want 15m", got)
	}
}

func pauseTold(t *testing.T, s *Subject) {
	ctx := context.Background()
	if changed, err := s.Store.ResumeConnection(ctx, books(), Caller(), ""); err != nil || changed {
		t.Errorf("an end without a pause: changed %v, error %v", changed, err)
	}
	since := s.Clock.Now()
	if changed, err := s.Store.PauseConnection(ctx, books(), Caller(), "first"); err != nil || !changed {
		t.Fatalf("changed %v, error %v", changed, err)
	}
	s.Clock.Advance(time.Minute)
	if changed, err := s.Store.PauseConnection(ctx, books(), Worker(), "second"); err != nil || changed {
		t.Errorf("a second pause: changed %v, error %v", changed, err)
	}
	_, err := s.Store.PauseConnection(ctx, onefold.ConnectionRef{Workspace: "umbrella", Connection: "a"}, Worker(), "third")
	noError(t, err)
	pauses, err := s.Store.Pauses(ctx, Workspace)
	noError(t, err)
	want := []onefold.Pause{{Connection: books(), Since: since, By: Caller(), Reason: "first"}}
	if diff := cmp.Diff(want, pauses); diff != "" {
		t.Errorf("the pauses differ:\n%s", diff)
	}
	all, err := s.Store.Pauses(ctx, "")
	noError(t, err)
	if len(all) != 2 {
		t.Errorf("%d connections are paused in all", len(all))
	}
	op := s.Admit(t, "k")
	leased := s.Step(t, op.ID, s.Lease()).Operation
	_, err = s.Store.StepBegin(ctx, op.ID, s.Begin(leased.Token), Frozen())
	wantError(t, err, onefold.ErrPaused)
}

func answerPauses(t *testing.T, s *Subject) {
	ctx := context.Background()
	op := s.Admit(t, "k")
	op = s.Attempting(t, op.ID)
	ev := s.Answer(op.Attempts[0].ID, op.Token, onefold.OutcomeNotApplied, "")
	ev.Answer.PauseConnection = true
	s.Step(t, op.ID, ev)
	pauses, err := s.Store.Pauses(ctx, Workspace)
	noError(t, err)
	if len(pauses) != 1 || pauses[0].Connection != books() || pauses[0].By != Worker() || pauses[0].Reason == "" {
		t.Errorf("the pauses are %+v", pauses)
	}
}

// lookUpPauses: a look-up that cannot authenticate, say. Look-ups go on: the next
// one settles the operation, and the pause stays.
func lookUpPauses(t *testing.T, s *Subject) {
	ctx := context.Background()
	op := s.Admit(t, "k")
	op = s.Ended(t, op.ID, onefold.OutcomeUnknown, "")
	look := func(result onefold.LookupOutcome) onefold.Operation {
		s.WaitFor(*op.Due)
		op = s.Step(t, op.ID, s.Lease()).Operation
		ev := s.Event(onefold.EventLookedUp, Worker())
		result.Token, result.Began = op.Token, s.Clock.Now()
		ev.Lookup = &result
		return s.Step(t, op.ID, ev).Operation
	}
	op = look(onefold.LookupOutcome{Result: onefold.LookupInconclusive, PauseConnection: true, Detail: "env:TOKEN is not set"})
	pauses, err := s.Store.Pauses(ctx, Workspace)
	noError(t, err)
	if len(pauses) != 1 || pauses[0].Connection != books() || pauses[0].By != Worker() || pauses[0].Reason != "env:TOKEN is not set" {
		t.Fatalf("the pauses are %+v", pauses)
	}
	if op = look(onefold.LookupOutcome{Result: onefold.LookupFound, Reference: "BILL-1"}); op.State != onefold.Confirmed {
		t.Errorf("a look-up during the pause left it %s", op.State)
	}
	if c, err := s.Store.Connection(ctx, books()); err != nil || !c.Paused {
		t.Errorf("the pause was lifted: %+v %v", c, err)
	}
}

func dueIDs(items []onefold.DueItem) []string {
	out := []string{}
	for _, item := range items {
		out = append(out, item.ID)
	}
	return out
}

// at makes an operation due at a time after the suite's beginning.
func (s *Subject) at(after time.Duration, connection string) func(*onefold.Operation) {
	due := s.Clock.Now().Add(after)
	return func(o *onefold.Operation) { o.Due, o.Connection = &due, connection }
}

func dueWork(t *testing.T, s *Subject) {
	ctx := context.Background()
	if next, err := s.Store.NextDue(ctx); err != nil || !next.IsZero() {
		t.Errorf("in an empty store work is due at %v, error %v", next, err)
	}
	a3 := s.Admit(t, "a3", s.at(3*time.Second, "a"))
	b2 := s.Admit(t, "b2", s.at(2*time.Second, "b"))
	a1 := s.Admit(t, "a1", s.at(time.Second, "a"))
	a4 := s.Admit(t, "a4", s.at(4*time.Second, "a"))
	b9 := s.Admit(t, "b9", s.at(9*time.Second, "b"))
	ref := func(c string) onefold.ConnectionRef {
		return onefold.ConnectionRef{Workspace: Workspace, Connection: c}
	}
	now := s.Clock.Now()
	for _, c := range []struct {
		name   string
		at     time.Duration
		free   map[onefold.ConnectionRef]int
		others int
		want   []string
	}{
		{"nothing yet", 0, nil, 9, []string{}},
		{"the longest waiting first", 5 * time.Second, nil, 9, []string{a1.ID, b2.ID, a3.ID, a4.ID}},
		{"at its very time", 3 * time.Second, nil, 9, []string{a1.ID, b2.ID, a3.ID}},
		{"so many of each", 10 * time.Second, map[onefold.ConnectionRef]int{ref("a"): 2, ref("b"): 1}, 0, []string{a1.ID, b2.ID, a3.ID}},
		{"others only where asked for", 10 * time.Second, map[onefold.ConnectionRef]int{ref("a"): 1}, 0, []string{a1.ID}},
		{"a full one is left out", 10 * time.Second, map[onefold.ConnectionRef]int{ref("a"): 0}, 9, []string{b2.ID, b9.ID}},
		{"a connection of another workspace", 10 * time.Second, map[onefold.ConnectionRef]int{{Workspace: "umbrella", Connection: "a"}: 5}, 0, []string{}},
	} {
		items, err := s.Store.Due(ctx, now.Add(c.at), c.free, c.others)
		noError(t, err)
		if diff := cmp.Diff(c.want, dueIDs(items)); diff != "" {
			t.Errorf("%s: due work differs:\n%s", c.name, diff)
		}
		for _, item := range items {
			if item.Due.After(now.Add(c.at)) || item.Connection.Workspace != Workspace {
				t.Errorf("%s: the item is %+v", c.name, item)
			}
		}
	}
	if next, err := s.Store.NextDue(ctx); err != nil || !next.Equal(now.Add(time.Second)) {
		t.Errorf("the next work is due at %v, error %v", next, err)
	}
	s.Clock.Advance(time.Second)
	s.Step(t, a1.ID, s.Lease())
	if next, err := s.Store.NextDue(ctx); err != nil || !next.Equal(now.Add(2*time.Second)) {
		t.Errorf("after the first was leased, work is due at %v, error %v", next, err)
	}
}

func dueWhilePaused(t *testing.T, s *Subject) {
	ctx := context.Background()
	s.Admit(t, "to be sent")
	doubtful := s.Admit(t, "to be looked up")
	doubtful = s.Ended(t, doubtful.ID, onefold.OutcomeUnknown, "")
	if doubtful.Next != onefold.NextLookup {
		t.Fatalf("next is %s", doubtful.Next)
	}
	s.Clock.Advance(time.Hour)
	due := func() []string {
		items, err := s.Store.Due(ctx, s.Clock.Now(), nil, 10)
		noError(t, err)
		return dueIDs(items)
	}
	if got := due(); len(got) != 2 {
		t.Errorf("%d operations are due before the pause", len(got))
	}
	_, err := s.Store.PauseConnection(ctx, books(), Caller(), "why")
	noError(t, err)
	if diff := cmp.Diff([]string{doubtful.ID}, due()); diff != "" {
		t.Errorf("due work while paused differs:\n%s", diff)
	}
	next, err := s.Store.NextDue(ctx)
	noError(t, err)
	if !next.Equal(*doubtful.Due) {
		t.Errorf("while paused the next work is due at %v, want the look-up's %v", next, doubtful.Due)
	}
	_, err = s.Store.ResumeConnection(ctx, books(), Caller(), "")
	noError(t, err)
	if got := due(); len(got) != 2 {
		t.Errorf("%d operations are due after the pause", len(got))
	}
}

func notDue(t *testing.T, s *Subject) {
	ctx := context.Background()
	leased := s.Admit(t, "leased")
	s.Step(t, leased.ID, s.Lease())
	held := s.Admit(t, "held")
	place := s.Event(onefold.EventHoldPlaced, Caller())
	place.Place = &onefold.Hold{Reason: onefold.HoldApproval, Since: s.Clock.Now()}
	s.Step(t, held.ID, place)
	done := s.Admit(t, "done")
	s.Ended(t, done.ID, onefold.OutcomeConfirmed, "B-1")
	out := s.Admit(t, "out")
	s.Attempting(t, out.ID)
	items, err := s.Store.Due(ctx, s.Clock.Now().Add(24*time.Hour), nil, 100)
	noError(t, err)
	if len(items) != 0 {
		t.Errorf("due are %v", dueIDs(items))
	}
	if next, err := s.Store.NextDue(ctx); err != nil || !next.IsZero() {
		t.Errorf("work is due at %v, error %v", next, err)
	}
}

// Proves: M10, M12a, M16, M24
func overdueWork(t *testing.T, s *Subject) {
	ctx := context.Background()
	start := s.Clock.Now()
	deadline := start.Add(20 * time.Second)
	late := s.Admit(t, "deadline", func(o *onefold.Operation) {
		far := start.Add(time.Hour)
		o.StartDeadline, o.Due = &deadline, &far
	})
	silent := s.Admit(t, "silent")
	silent = s.Attempting(t, silent.ID) // its lease is over after 30 s
	s.Admit(t, "idle", s.at(time.Hour, Connection))
	overdue := func(after time.Duration) []string {
		t.Helper()
		ops, err := s.Store.Overdue(ctx, start.Add(after), 10)
		noError(t, err)
		return idsOf(ops)
	}
	for _, c := range []struct {
		after time.Duration
		want  []string
	}{
		{19 * time.Second, []string{}},
		{20 * time.Second, []string{late.ID}},
		{30 * time.Second, []string{late.ID, silent.ID}},
	} {
		if diff := cmp.Diff(c.want, overdue(c.after)); diff != "" {
			t.Errorf("after %v what is overdue differs:\n%s", c.after, diff)
		}
	}
	if ops, err := s.Store.Overdue(ctx, start.Add(time.Minute), 1); err != nil || len(ops) != 1 || ops[0].ID != late.ID {
		t.Errorf("the first overdue one is %v, error %v", idsOf(ops), err)
	}
	s.Clock.Advance(31 * time.Second)
	engine := onefold.Actor{Kind: onefold.ActorEngine, Name: "scan"}
	s.Step(t, late.ID, s.Event(onefold.EventDeadlinePassed, engine))
	opened := s.Step(t, silent.ID, s.Event(onefold.EventLeaseExpired, engine)).Operation
	if got := overdue(60 * time.Second); len(got) != 0 {
		t.Errorf("after they were seen to, %v are overdue", got)
	}
	closes := opened.Attempts[0].CloseAt.Sub(start)
	if diff := cmp.Diff([]string{silent.ID}, overdue(closes)); diff != "" {
		t.Errorf("at the straggler's time what is overdue differs:\n%s", diff)
	}
}

// Proves: M16
func countsAgree(t *testing.T, s *Subject) {
	ctx := context.Background()
	first := s.Admit(t, "doubtful")
	s.Clock.Advance(time.Second)
	s.Ended(t, first.ID, onefold.OutcomeUnknown, "")
	for _, k := range []string{"c1", "c2", "c3"} {
		op := s.Admit(t, k)
		s.Ended(t, op.ID, onefold.OutcomeConfirmed, "B-"+k)
	}
	refused := s.Admit(t, "refused")
	s.Ended(t, refused.ID, onefold.OutcomeRejected, "")
	withdrawn := s.Admit(t, "withdrawn")
	s.Step(t, withdrawn.ID, s.cancel(false))
	silent := s.Admit(t, "silent", func(o *onefold.Operation) { o.Connection = "other" })
	s.Attempting(t, silent.ID)
	s.Admit(t, "waiting")
	s.Clock.Advance(time.Minute)
	stats, err := s.Store.Stats(ctx, Workspace)
	noError(t, err)
	want := onefold.Stats{
		ByState: map[onefold.State]int64{
			onefold.Prepared: 1, onefold.Attempting: 1, onefold.Uncertain: 1,
			onefold.Confirmed: 3, onefold.Rejected: 1, onefold.Canceled: 1,
		},
		Unresolved: map[string]int64{Connection: 1}, OldestOpen: &first.CreatedAt, OldestOpenID: first.ID,
		OpenAttempts: 1, ExpiredLeases: 1,
	}
	if diff := cmp.Diff(want, stats); diff != "" {
		t.Errorf("the counts differ:\n%s", diff)
	}
	if empty, err := s.Store.Stats(ctx, "nobody"); err != nil || len(empty.ByState) != 0 || empty.OldestOpen != nil {
		t.Errorf("an unknown workspace has %+v, error %v", empty, err)
	}
}
