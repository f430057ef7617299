package onefold

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// life is an operation on its way, under events that a random world sends it.
// What it must keep is checked after every step.
type life struct {
	op      Operation
	now     time.Time
	policy  Policy
	conn    ConnectionStanding
	ids     int
	decided bool // a person decided, or absence was proven, since the last doubt
}

func admitted(rt *rapid.T) *life {
	s := &scene{}
	l := &life{now: dawn, policy: *s.policy(), decided: true}
	l.policy.RetryAttempts = rapid.IntRange(1, 6).Draw(rt, "retry attempts")
	l.policy.RetryWithin = rapid.SampledFrom([]time.Duration{time.Minute, 6 * time.Hour, 24 * time.Hour}).Draw(rt, "retry within")
	l.policy.ReconcileWithin = rapid.SampledFrom([]time.Duration{time.Minute, time.Hour, 24 * time.Hour}).Draw(rt, "reconcile within")
	l.policy.AbsenceProves = rapid.Bool().Draw(rt, "absence proves")
	l.policy.ConcurrentSafe = rapid.Bool().Draw(rt, "concurrent")
	l.policy.Exhausted = rapid.SampledFrom([]Exhausted{ExhaustedHold, ExhaustedReject}).Draw(rt, "exhausted")
	l.policy.Window = rapid.SampledFrom([]time.Duration{0, time.Hour, Forever}).Draw(rt, "window")
	l.policy.InDoubt = rapid.SampledFrom([][]RecoveryStep{
		{StepReplay, StepLookup, StepOperator},
		{StepLookup, StepReplay, StepOperator},
		{StepLookup, StepOperator},
		{StepReplay, StepOperator},
		{StepOperator},
	}).Draw(rt, "in doubt")
	a := Admitted{ID: "op_1", Owner: "maria", CreatedAt: dawn, KeyRetention: time.Hour}
	if rapid.Bool().Draw(rt, "deadline") {
		a.StartDeadline = at(3 * time.Hour)
	}
	if rapid.Bool().Draw(rt, "not before") {
		a.NotBefore = at(time.Minute)
	}
	var held []HoldReason
	if rapid.Bool().Draw(rt, "approval") {
		held = []HoldReason{HoldApproval}
	}
	l.op, _ = admit(a, held, "rev_admission", Actor{ActorPrincipal, "ada"})
	return l
}

func (l *life) id(prefix string) string {
	l.ids++
	return fmt.Sprintf("%s_%d", prefix, l.ids)
}

// wish draws an event that somebody may send now: mostly sensible ones, since
// nonsense alone gets nowhere.
func (l *life) wish(rt *rapid.T) Event {
	ev := Event{
		Actor: Actor{ActorEngine, "test"}, Policy: &l.policy, ReviewID: l.id("rev"), Chance: rapid.Uint64().Draw(rt, "chance"),
		Connection: l.conn, Evidence: &Evidence{ID: l.id("ev"), Asserts: AssertsNothing}, Reason: "because",
	}
	if rapid.IntRange(0, 19).Draw(rt, "no policy") == 0 {
		switch ev.Kind = rapid.SampledFrom([]EventKind{EventLeaseExpired, EventRecovered}).Draw(rt, "kind"); ev.Kind {
		case EventLeaseExpired:
			ev.Lease = &LeaseGrant{ProcessGone: true}
		default:
		}
		ev.Policy = nil
		return ev
	}
	if rapid.IntRange(0, 3).Draw(rt, "carry on") > 0 {
		if l.carryOn(rt, &ev) {
			return ev
		}
	}
	var all []Event
	s := &scene{}
	variants(s, &l.op, func(v Event) {
		v.Policy, v.ReviewID, v.Chance, v.Connection, v.Evidence = ev.Policy, ev.ReviewID, ev.Chance, ev.Connection, ev.Evidence
		all = append(all, v)
	})
	drawn := rapid.SampledFrom(all).Draw(rt, "event")
	if drawn.Kind == EventBegun {
		b := *drawn.Begin
		b.Attempt = l.id("att")
		drawn.Begin = &b
	}
	return drawn
}

// carryOn is what a runner would do next.
func (l *life) carryOn(rt *rapid.T, ev *Event) bool {
	op := &l.op
	switch {
	case op.State == Attempting:
		a := &op.Attempts[len(op.Attempts)-1]
		answer := rapid.SampledFrom(answers).Draw(rt, "answer")
		answer.Attempt, answer.Token = a.ID, a.Token
		ev.Kind, ev.Answer = EventAnswered, &answer
	case op.Settled() || op.Due == nil && op.Lease == nil:
		return false
	case op.Lease == nil:
		ev.Kind, ev.Lease = EventLeased, &LeaseGrant{Worker: "w", For: 30 * time.Second}
	case op.Next == NextLookup:
		found := rapid.SampledFrom(lookups).Draw(rt, "look-up")
		found.Token, found.Began = op.Lease.Token, l.now
		ev.Kind, ev.Lookup = EventLookedUp, &found
	case op.Next == NextAttempt || op.Next == NextReplay:
		kind := Write
		if op.State == Uncertain {
			kind = Replay
		}
		ev.Kind = EventBegun
		ev.Begin = &Begin{Attempt: l.id("att"), Token: op.Lease.Token, Kind: kind, FrozenDigest: "frozen", Scope: "scope"}
	default:
		ev.Kind, ev.Reconsider = EventReconsidered, &Reconsideration{Token: op.Lease.Token}
	}
	return true
}

// pass lets time go by, and the connection be paused or resumed.
func (l *life) pass(rt *rapid.T) {
	step := rapid.SampledFrom([]time.Duration{
		0, 0, time.Second, 10 * time.Second, time.Minute, 11 * time.Minute, 2 * time.Hour,
	}).Draw(rt, "wait")
	l.now = l.now.Add(step)
	if l.conn.Paused {
		l.conn.PausedFor += step
	}
	if rapid.IntRange(0, 9).Draw(rt, "pause") == 0 {
		l.conn.Paused = !l.conn.Paused
	}
}

// TestALifeKeepsEveryPromise sends random events to an operation from its
// admission on and checks, after each, everything that the specification says
// about every operation.
//
// Proves: M2a, M7, M8, M10, M11, M11a, M11c, M16, M19a, M20, M24, M28
func TestALifeKeepsEveryPromise(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		l := admitted(rt)
		for range rapid.IntRange(1, 60).Draw(rt, "events") {
			l.pass(rt)
			l.step(rt, l.wish(rt))
		}
	})
}

func (l *life) step(rt *rapid.T, ev Event) {
	before, given := l.op, snapshot(l.op)
	got, effects, err := Apply(before, ev, l.now)
	again, effects2, err2 := Apply(before, ev, l.now)
	if !reflect.DeepEqual(got, again) || !reflect.DeepEqual(effects, effects2) || fmt.Sprint(err) != fmt.Sprint(err2) {
		rt.Fatalf("%s: the same event twice gave two answers", describe(&ev))
	}
	if !reflect.DeepEqual(before, given) {
		rt.Fatalf("%s changed the operation that it was given", describe(&ev))
	}
	if err != nil {
		if CodeOf(err) == CodeInternal {
			rt.Fatalf("%s: %v\nof %+v", describe(&ev), err, before)
		}
		if !reflect.DeepEqual(got, before) || len(effects) > 0 {
			rt.Fatalf("%s was refused and changed something", describe(&ev))
		}
		return
	}
	l.op = got
	for _, wrong := range l.broken(&before, &got, &ev, effects) {
		rt.Fatalf("%s\n%s\nbefore %+v\nafter %+v", wrong, describe(&ev), before, got)
	}
}

// snapshot is a copy that shares nothing at all.
func snapshot(op Operation) Operation {
	op.Barred, op.Holds, op.Reviews = slices.Clone(op.Barred), slices.Clone(op.Holds), slices.Clone(op.Reviews)
	op.Attempts, op.SeenReferences = slices.Clone(op.Attempts), slices.Clone(op.SeenReferences)
	if op.Lease != nil {
		lease := *op.Lease
		op.Lease = &lease
	}
	if op.Doubt != nil {
		d := *op.Doubt
		op.Doubt = &d
	}
	if op.Due != nil {
		d := *op.Due
		op.Due = &d
	}
	for r := &op.Result; *r != nil; r = &(*r).Earlier {
		c := **r
		*r = &c
	}
	return op
}

func (l *life) broken(before, after *Operation, ev *Event, effects []Effect) (wrong []string) {
	check := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	check(after.Broken() == "", "broken: %s", after.Broken())
	check(after.State == Attempting || after.Lease != nil || after.Due != nil || len(after.OpenReviews()) > 0 || after.Settled(),
		"stranded (invariant 15)")
	l.checkState(before, after, ev, check)
	l.checkSending(before, after, ev, check)
	l.checkTraces(before, after, ev, effects, check)
	check(unique(after), "two reviews or two attempts have one id")
	for i := range before.Attempts {
		check(before.Attempts[i].ID == after.Attempts[i].ID && before.Attempts[i].BegunAt.Equal(after.Attempts[i].BegunAt), "attempt %d became another", i)
	}
	return wrong
}

func unique(op *Operation) bool {
	seen := map[string]bool{}
	for i := range op.Reviews {
		if seen[op.Reviews[i].ID] {
			return false
		}
		seen[op.Reviews[i].ID] = true
	}
	for i := range op.Attempts {
		if seen[op.Attempts[i].ID] || op.Attempts[i].Number != i+1 {
			return false
		}
		seen[op.Attempts[i].ID] = true
	}
	return true
}

func (l *life) checkState(before, after *Operation, ev *Event, check func(bool, string, ...any)) {
	if before.Settled() && (before.State != after.State || !reflect.DeepEqual(before.Result, after.Result)) {
		check(ev.Kind == EventResolved && before.Contradicted, "a settled operation moved (invariant 7)")
	}
	if before.State == Uncertain && after.State != Uncertain {
		check(slices.Contains([]EventKind{EventAnswered, EventLookedUp, EventObserved, EventResolved, EventBegun}, ev.Kind),
			"time alone moved an uncertain operation (invariant 6)")
	}
	lifted := barsOf(before.Barred) &^ barsOf(after.Barred)
	if lifted != 0 {
		byOperator := ev.Kind == EventResolved
		check(lifted.only(restored) && ev.Kind == EventLookedUp || byOperator && lifted.only(differs|conflict|restored), "bars %v were lifted (M11c)", lifted.list())
	}
	if before.Contradicted && !after.Contradicted {
		check(ev.Kind == EventResolved, "a contradiction was lost (invariant 27)")
	}
	if after.FrozenDigest != before.FrozenDigest {
		check(before.FrozenDigest == "" && ev.Kind == EventBegun, "the frozen request changed (M2a)")
	}
	if before.FirstDispatched != nil {
		check(after.FirstDispatched != nil && after.FirstDispatched.Equal(*before.FirstDispatched), "the first dispatch moved")
	}
	// A stale token, that of an earlier lease, changes nothing but by its evidence.
	token, fenced := fencedToken(ev)
	if fenced && (before.Lease == nil || before.Lease.Token != token) {
		check(false, "a stale token was accepted (M8)")
	}
	check(after.Token >= before.Token, "the token fell (M8)")
}

func fencedToken(ev *Event) (int64, bool) {
	switch ev.Kind {
	case EventRenewed, EventHandedBack:
		return ev.Lease.Token, true
	case EventBegun:
		return ev.Begin.Token, true
	case EventReconsidered:
		return ev.Reconsider.Token, true
	default:
		return 0, false
	}
}

// checkSending is invariant 5: nothing begins but what may.
func (l *life) checkSending(before, after *Operation, ev *Event, check func(bool, string, ...any)) {
	if after.State == Uncertain && before.State != Uncertain {
		l.decided = false
	}
	if ev.Kind == EventResolved && ev.Resolution.Outcome == ResolveNotApplied || ev.Kind == EventLookedUp && ev.Lookup.Result == LookupAbsent && after.State == Prepared {
		l.decided = true
	}
	if after.State == Prepared && before.State == Uncertain && ev.Kind == EventAnswered {
		l.decided = cleanBut(after, "")
	}
	if after.State == Prepared && before.State == Attempting {
		l.decided = cleanBut(after, "")
	}
	if len(after.Attempts) == len(before.Attempts) {
		return
	}
	check(ev.Kind == EventBegun, "an attempt without a begin")
	check(!isOver(before.State), "sent after it was settled (M19a)")
	check(len(before.Barred) == 0 && len(before.Holds) == 0, "sent while barred or held (M11c)")
	check(!l.conn.Paused, "sent while paused")
	check(before.StartDeadline == nil || l.now.Before(*before.StartDeadline), "sent past the deadline (M24)")
	check(live(before, l.now), "sent without a live lease (M7)")
	if before.State == Prepared {
		check(cleanBut(before, "") && l.decided && !before.MaybeApplied, "written again without proof or decision (invariant 5)")
		check(before.NotBefore == nil || !l.now.Before(*before.NotBefore), "sent before its time")
		return
	}
	check(ev.Begin.Kind == Replay && l.policy.Window > 0 && slices.Contains(l.policy.InDoubt, StepReplay), "written again while in doubt (M11)")
	check(l.policy.Window == Forever || l.now.Before(before.FirstDispatched.Add(l.policy.Window)), "replayed after the window (M11a)")
	check(unfinished(before) == 0 || l.policy.ConcurrentSafe, "replayed beside an open attempt (M11a)")
}

// mended tells whether the review of a contract that no worker had was closed.
func mended(before, after *Operation) bool {
	return before.openReview(ReviewUnsendable) != nil && after.openReview(ReviewUnsendable) == nil
}

// toldMore tells whether a review that was open shows or says more than before.
func toldMore(before, after *Operation) bool {
	return slices.ContainsFunc(before.Reviews, func(was Review) bool {
		return slices.ContainsFunc(after.Reviews, func(is Review) bool {
			return is.ID == was.ID && (is.Detail != was.Detail || len(is.Candidates) != len(was.Candidates))
		})
	})
}

func (l *life) checkTraces(before, after *Operation, ev *Event, effects []Effect, check func(bool, string, ...any)) {
	entry := (*Entry)(nil)
	for _, e := range effects {
		if e.Kind == EffectRecord {
			check(entry == nil, "two lines on the timeline")
			entry = e.Entry
		}
	}
	i := slices.IndexFunc(Transitions(), func(r Transition) bool { return entry != nil && r.ID == entry.Rule })
	opened := slices.ContainsFunc(after.Reviews, func(r Review) bool { return r.ID == ev.ReviewID })
	switch {
	case entry == nil:
		check(reflect.DeepEqual(facts(before), facts(after)) && before.Version == after.Version, "facts changed and left no line (M28)")
	case Transitions()[i].Quiet && !opened && !mended(before, after) && !toldMore(before, after):
		check(before.Version == after.Version, "a quiet row raised the version")
	default:
		check(before.Version+1 == after.Version, "the version did not rise by one")
		check(entry.From == before.State && entry.To == after.State && entry.Version == after.Version && entry.Evidence == ev.Evidence.ID,
			"the timeline tells something else (M28)")
	}
}
