package onefold

import (
	"testing"
	"time"
)

// inDoubt is an uncertain operation after one attempt, begun 10 minutes after
// dawn and ended without an answer a minute later.
func inDoubt(attempts string) (Operation, *Policy) {
	s := &scene{state: Uncertain, attempts: attempts}
	return s.build(), s.policy()
}

// TestAReplayIsSafeOnlyIfEveryClauseHolds takes the clauses of M11a one by one:
// each alone denies the replay, and nothing else does.
//
// Proves: M11, M11a, M11c, M24
func TestAReplayIsSafeOnlyIfEveryClauseHolds(t *testing.T) {
	t.Parallel()
	first := dawn.Add(10 * time.Minute)
	for _, c := range []struct {
		name   string
		change func(*Operation, *Policy)
		scope  string
		at     time.Time
		want   string
	}{
		{name: "safe"},
		{name: "not named", change: func(_ *Operation, p *Policy) { p.InDoubt = []RecoveryStep{StepLookup, StepOperator} }, want: replayNotNamed},
		{name: "barred", change: func(o *Operation, _ *Policy) { o.Barred = []Bar{BarWithdrawn} }, want: replayBarred},
		{name: "past the deadline", change: func(o *Operation, _ *Policy) { o.StartDeadline = &first }, want: replayDeadline},
		{name: "before the deadline", change: func(o *Operation, _ *Policy) { o.StartDeadline = at(7 * time.Hour) }},
		{name: "unrecognised", change: func(_ *Operation, p *Policy) { p.Window = 0 }, want: replayNoWindow},
		{name: "never dispatched", change: func(o *Operation, _ *Policy) { o.FirstDispatched = nil }, want: replayNotSent},
		{name: "last moment of the window", at: first.Add(24*time.Hour - 21*time.Second), change: forLong},
		{name: "inside the margin", at: first.Add(24*time.Hour - 21*time.Second + 1), change: forLong, want: replayWindowOver},
		{name: "window over", at: first.Add(25 * time.Hour), change: forLong, want: replayWindowOver},
		{name: "a time-out beyond the window", change: func(_ *Operation, p *Policy) { p.Window = 10 * time.Second }, want: replayWindowOver},
		{name: "for ever", at: first.Add(9000 * time.Hour), change: func(o *Operation, p *Policy) { forLong(o, p); p.Window = Forever }},
		{name: "a clock that went back", at: first.Add(-time.Second), change: forLong, want: replayClockBack},
		{name: "a clock that went back, recognised for ever", at: first.Add(-time.Second), change: func(o *Operation, p *Policy) {
			forLong(o, p)
			p.Window, p.ConcurrentSafe = Forever, true
		}},
		{name: "another scope", scope: "another", want: replayScope},
		{name: "a stored answer", change: func(o *Operation, _ *Policy) { o.Attempts[0].Stored = true }, want: replayStored},
		{name: "budget spent by count", change: func(o *Operation, p *Policy) { o.Retry.Spent = p.RetryAttempts }, want: replaySpent},
		{name: "budget spent by time", change: func(_ *Operation, p *Policy) { p.RetryWithin = time.Hour }, want: replaySpent},
		{name: "attempts without end", change: func(o *Operation, _ *Policy) {
			for len(o.Attempts) < MaxAttempts {
				o.Attempts = append(o.Attempts, o.Attempts[0])
			}
		}, want: replaySpent},
		{name: "ended just now", change: func(o *Operation, _ *Policy) { o.Attempts[0].EndedAt = at(6 * time.Hour) }, at: dawn.Add(6*time.Hour + time.Second), want: replayAtWork},
		{name: "ended just now, at a target that serializes", change: func(o *Operation, p *Policy) {
			o.Attempts[0].EndedAt, p.ConcurrentSafe = at(6*time.Hour), true
		}, at: dawn.Add(6*time.Hour + time.Second)},
		{name: "ended just now, proven without effect", change: func(o *Operation, _ *Policy) {
			o.Attempts[0].EndedAt, o.Attempts[0].ProvenBy = at(6*time.Hour), ProvenByOperator
		}, at: dawn.Add(6*time.Hour + time.Second)},
		{name: "an open attempt", change: func(o *Operation, _ *Policy) { o.Attempts[0].EndedAt, o.Attempts[0].Open = nil, true }, want: replayAttemptOpen},
		{name: "an open attempt at a target that serializes", change: func(o *Operation, p *Policy) {
			o.Attempts[0].EndedAt, o.Attempts[0].Open, p.ConcurrentSafe = nil, true, true
		}},
	} {
		op, p := inDoubt("u")
		if c.change != nil {
			c.change(&op, p)
		}
		scope, when := "scope", noon
		if c.scope != "" {
			scope = c.scope
		}
		if !c.at.IsZero() {
			when = c.at
		}
		if got := ReplayDenied(&op, p, ConnectionStanding{}, scope, when); got != c.want {
			t.Errorf("%s: denied because %q, want %q", c.name, got, c.want)
		}
	}
}

// forLong takes the retry budget out of the way: it never overrides the window,
// and is not what these cases are about.
func forLong(_ *Operation, p *Policy) { p.RetryWithin = 100_000 * time.Hour }

// TestAPauseStopsTheBudgetsAndNotTheWindow: paused time counts against neither
// retry nor reconcile budget, but the target's window does not wait.
//
// Proves: M11a
func TestAPauseStopsTheBudgetsAndNotTheWindow(t *testing.T) {
	t.Parallel()
	op, p := inDoubt("u")
	p.RetryWithin, p.ReconcileWithin = time.Hour, time.Hour
	paused := ConnectionStanding{PausedFor: 5 * time.Hour}
	if got := ReplayDenied(&op, p, ConnectionStanding{}, "scope", noon); got != replaySpent {
		t.Errorf("without a pause: %q", got)
	}
	if got := ReplayDenied(&op, p, paused, "scope", noon); got != "" {
		t.Errorf("with five paused hours: %q", got)
	}
	p.Window = time.Hour
	if got := ReplayDenied(&op, p, paused, "scope", noon); got != replayWindowOver {
		t.Errorf("the window waited for the pause: %q", got)
	}
	p.InDoubt = []RecoveryStep{StepLookup, StepOperator}
	if next := NextStep(&op, p, ConnectionStanding{}, "", 0, noon); next.Action != NextOperator {
		t.Errorf("a spent reconcile budget leads to %s", next.Action)
	}
	if next := NextStep(&op, p, paused, "", 0, noon); next.Action != NextLookup {
		t.Errorf("a budget that stood still leads to %s", next.Action)
	}
	// What was paused before the budget began does not lengthen it.
	op.Reconcile.PausedFor = 5 * time.Hour
	if next := NextStep(&op, p, paused, "", 0, noon); next.Action != NextOperator {
		t.Errorf("an old pause leads to %s", next.Action)
	}
}

// TestThePlanTakesTheFirstStepThatIsPossible walks in_doubt lists.
//
// Proves: M11, M11a, M12a, M16
func TestThePlanTakesTheFirstStepThatIsPossible(t *testing.T) {
	t.Parallel()
	replay, lookup, operator := StepReplay, StepLookup, StepOperator
	for _, c := range []struct {
		name     string
		inDoubt  []RecoveryStep
		attempts string
		change   func(*Operation, *Policy)
		denied   string
		want     NextAction
		at       time.Duration // from noon
	}{
		{"replay first", []RecoveryStep{replay, lookup, operator}, "u", nil, "", NextReplay, 0},
		{"look-up first", []RecoveryStep{lookup, replay, operator}, "u", nil, "", NextLookup, 2 * time.Second},
		{"a replay that the runner found unsafe", []RecoveryStep{replay, lookup, operator}, "u", nil, "the scope", NextLookup, 2 * time.Second},
		{"barred", []RecoveryStep{replay, lookup}, "u", func(o *Operation, _ *Policy) { o.Barred = []Bar{BarDiffers} }, "", NextLookup, 2 * time.Second},
		{"no step left", []RecoveryStep{replay, operator}, "u", func(_ *Operation, p *Policy) { p.Window = 0 }, "", NextOperator, 0},
		{"nothing named", nil, "u", nil, "", NextOperator, 0},
		{"operator only", []RecoveryStep{operator}, "u", nil, "", NextOperator, 0},
		{"look-ups spent", []RecoveryStep{lookup, operator}, "u", func(_ *Operation, p *Policy) { p.ReconcileWithin = time.Hour }, "", NextOperator, 0},
		{"look-ups spent, a replay left", []RecoveryStep{lookup, replay}, "u", func(_ *Operation, p *Policy) { p.ReconcileWithin = time.Hour }, "", NextReplay, 0},
		{"an open attempt is waited for", []RecoveryStep{replay, operator}, "uo", nil, "", NextReplay, time.Hour},
		{"but looked up meanwhile", []RecoveryStep{replay, lookup, operator}, "uo", nil, "", NextLookup, 2 * time.Second},
		{"the window would be over by then", []RecoveryStep{replay, lookup}, "u", func(o *Operation, p *Policy) {
			o.Attempts[0].EndedAt = &noon
			p.RetryBackoff = Backoff{First: time.Hour}
			p.Window = 6*time.Hour + 30*time.Minute
		}, "", NextLookup, 2 * time.Second},
	} {
		op, p := inDoubt(c.attempts)
		p.InDoubt = c.inDoubt
		if c.change != nil {
			c.change(&op, p)
		}
		got := NextStep(&op, p, ConnectionStanding{}, c.denied, 0, noon)
		if got.Action != c.want || !got.At.Equal(noon.Add(c.at)) {
			t.Errorf("%s: %s at %v, want %s at %v", c.name, got.Action, got.At.Sub(noon), c.want, c.at)
		}
		if got.Action == NextOperator && got.Why == "" {
			t.Errorf("%s: the operator is not told why", c.name)
		}
	}
}

// TestLookupsMeetTheMomentOfProof: a look-up is never later than the first time
// at which its absence would be proof, nor than the end of its budget.
//
// Proves: M12, M16
func TestLookupsMeetTheMomentOfProof(t *testing.T) {
	t.Parallel()
	ended := noon.Add(-10 * time.Second) // proof from noon + 25 s
	for _, c := range []struct {
		name   string
		change func(*Operation, *Policy)
		want   time.Duration
	}{
		{"a long back-off meets the proof", nil, 25 * time.Second},
		{"a short one comes before it", func(_ *Operation, p *Policy) { p.ReconcileBackoff.First = 5 * time.Second }, 5 * time.Second},
		{"absence proves nothing", func(_ *Operation, p *Policy) { p.AbsenceProves = false }, time.Hour},
		{"an attempt is open", func(o *Operation, _ *Policy) { o.Attempts[0].EndedAt, o.Attempts[0].Open = nil, true }, time.Hour},
		{"the proof is past", func(o *Operation, _ *Policy) { o.Attempts[0].EndedAt = &dawn }, time.Hour},
		{"harmless attempts do not count", func(o *Operation, _ *Policy) { o.Attempts[0].Verdict = VerdictNotSent }, time.Hour},
		{"the last look-up ends the budget", func(_ *Operation, p *Policy) {
			p.AbsenceProves, p.ReconcileWithin = false, 5*time.Hour+10*time.Minute
		}, 10 * time.Minute},
	} {
		op, p := inDoubt("u")
		op.Attempts[0].EndedAt, op.Reconcile.Spent = &ended, 0
		p.InDoubt, p.ReconcileBackoff = []RecoveryStep{StepLookup}, Backoff{First: time.Hour}
		if c.change != nil {
			c.change(&op, p)
		}
		if got := NextStep(&op, p, ConnectionStanding{}, "", 0, noon); got.Action != NextLookup || got.At.Sub(noon) != c.want {
			t.Errorf("%s: %s after %v, want %v", c.name, got.Action, got.At.Sub(noon), c.want)
		}
	}
}

// TestProofCountsFromTheLastEnd: every attempt that may have reached the target
// counts, and a straggler's closing as its end.
//
// Proves: M12, M12a
func TestProofCountsFromTheLastEnd(t *testing.T) {
	t.Parallel()
	for attempts, last := range map[string]time.Duration{"u": 11, "us": 21, "un": 11, "nnu": 31, "ua": 11, "iu": 21} {
		op, p := inDoubt(attempts)
		if got := AbsenceProvenFrom(&op, p).Sub(dawn); got != last*time.Minute+35*time.Second {
			t.Errorf("%q: proof from %v", attempts, got)
		}
	}
}

// TestWakeAtIsTheNextThingToLookAfter names the earliest of what may be overdue.
//
// Proves: M10, M12a, M16
func TestWakeAtIsTheNextThingToLookAfter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		scene scene
		want  *time.Time
	}{
		{"nothing", scene{state: Prepared}, nil},
		{"a lease", scene{state: Prepared, profile: profile{lease: "live"}}, at(6*time.Hour + 30*time.Second)},
		{"a straggler", scene{state: Uncertain, attempts: "uo"}, at(7 * time.Hour)},
		{"the earlier straggler", scene{state: Uncertain, attempts: "oo"}, at(5 * time.Hour)},
		{"a straggler of a settled one", scene{state: Rejected, attempts: "o"}, at(5 * time.Hour)},
		{"a deadline", scene{state: Prepared, profile: profile{deadline: "ahead"}}, at(8 * time.Hour)},
		{"a deadline seen before", scene{state: Uncertain, bars: late, profile: profile{deadline: "past"}}, nil},
		{"a deadline of a settled one", scene{state: Canceled, profile: profile{deadline: "past"}}, nil},
		{"a review to escalate", scene{state: Uncertain, profile: profile{unscheduled: true}}, at(5 * time.Hour)},
		{"the earliest of all", scene{state: Uncertain, attempts: "uo", profile: profile{deadline: "past", lease: "live"}}, at(4 * time.Hour)},
	} {
		op := c.scene.build()
		got := op.WakeAt()
		if (got == nil) != (c.want == nil) || got != nil && !got.Equal(*c.want) {
			t.Errorf("%s: wake at %v, want %v", c.name, got, c.want)
		}
		if got != nil && op.Lease != nil && got == &op.Lease.Until {
			t.Errorf("%s: the caller could change the lease through it", c.name)
		}
	}
}

// TestLiveIsWhatMayStillChange.
//
// Proves: M16, M20
func TestLiveIsWhatMayStillChange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scene scene
		want  bool
	}{
		{scene{state: Prepared}, true},
		{scene{state: Attempting, attempts: "x", profile: profile{lease: "live"}}, true},
		{scene{state: Uncertain, attempts: "u"}, true},
		{scene{state: Confirmed, attempts: "u"}, false},
		{scene{state: Rejected, attempts: "o"}, true},
		{scene{state: Canceled}, false},
		{scene{state: Canceled, profile: profile{contradicted: true}}, true},
	} {
		op := c.scene.build()
		if op.Live() != c.want {
			t.Errorf("%s: live is %v", &c.scene, op.Live())
		}
		op.Reviews = append(op.Reviews, review("rev_x", ReviewEvidence))
		if !op.Live() {
			t.Errorf("%s: not live with an open review", &c.scene)
		}
	}
}

// TestBackoffStaysInItsBounds: waits grow by the factor, never beyond the
// largest, lose at most a quarter to chance, and the same chance gives the same.
func TestBackoffStaysInItsBounds(t *testing.T) {
	t.Parallel()
	b := Backoff{First: time.Second, Factor: 2, Max: time.Minute}
	for n, want := range map[int]time.Duration{-3: 1, 0: 1, 1: 2, 2: 4, 5: 32, 6: 60, 1000: 60, 1 << 40: 60} {
		whole := want * time.Second
		if got := b.Wait(n, 0); got != whole {
			t.Errorf("wait %d without jitter is %v, want %v", n, got, whole)
		}
		for chance := range uint64(2048) {
			got := b.Wait(n, chance)
			if got > whole || got < whole*3/4 || got != b.Wait(n, chance) {
				t.Fatalf("wait %d with chance %d is %v", n, chance, got)
			}
		}
	}
	for _, odd := range []Backoff{{}, {First: time.Second}, {First: time.Second, Factor: 0.5, Max: time.Second}, {First: 1 << 62, Factor: 1e300}} {
		if got := odd.Wait(400, 1023); got < 0 || odd.Max > 0 && got > odd.Max {
			t.Errorf("%+v waits %v", odd, got)
		}
	}
	if got := (Backoff{First: time.Hour, Factor: 2, Max: time.Minute}).Wait(0, 0); got != time.Minute {
		t.Errorf("a first wait above the largest is %v", got)
	}
}
