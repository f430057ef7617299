package onefold

import (
	"testing"
	"time"
)

// TestANewKeyIsSafeOnlyIfNothingSpeaksForAnEffect: what a person rejects although
// evidence speaks for an effect, or for one to come, is not safe to start again,
// and neither is what such evidence reaches afterwards.
//
// Proves: M11c, M20, M24
func TestANewKeyIsSafeOnlyIfNothingSpeaksForAnEffect(t *testing.T) {
	t.Parallel()
	resolve := func(o ResolutionOutcome) Event {
		return Event{Kind: EventResolved, Resolution: &Resolution{Outcome: o}}
	}
	unknown := func() *tale { return newTale(t).send(Write).answer(1, Answer{Outcome: OutcomeUnknown}) }
	accepted := func() *tale { return newTale(t).send(Write).answer(1, Answer{Outcome: OutcomeAccepted}) }
	candidates := LookupOutcome{Result: LookupCandidates, Candidates: []Candidate{{Reference: otherRef}}}
	lookingUp := func(l *tale) *tale {
		l.policy.InDoubt = []RecoveryStep{StepLookup, StepOperator}
		return l
	}
	for name, c := range map[string]struct {
		tale *tale
		safe bool
	}{
		"nothing was learnt":         {unknown().do(resolve(ResolveRejected)), true},
		"a refusal":                  {newTale(t).send(Write).answer(1, Answer{Outcome: OutcomeRejected}), true},
		"a 200 without a rule":       {newTale(t).send(Write).answer(1, Answer{Outcome: OutcomeUnknown, EffectExists: true}).do(resolve(ResolveRejected)), false},
		"two records":                {lookingUp(unknown()).look(LookupOutcome{Result: LookupSeveral}).do(resolve(ResolveRejected)), false},
		"another amount":             {unknown().observe(Observation{Asserts: AssertsEffect, Reference: ourRef, Differs: odd}).do(resolve(ResolveRejected)), false},
		"used with another request":  {newTale(t).send(Write).answer(1, Answer{Outcome: OutcomeKeyConflict}).do(resolve(ResolveRejected)), false},
		"accepted for later":         {accepted().do(resolve(ResolveRejected)), false},
		"in progress":                {newTale(t).send(Write).answer(1, Answer{Outcome: OutcomeInProgress}).do(resolve(ResolveRejected)), false},
		"it exists":                  {newTale(t).send(Write).answer(1, Answer{Outcome: OutcomeExists}).do(resolve(ResolveRejected)), false},
		"records by evidence":        {lookingUp(unknown()).look(candidates).do(resolve(ResolveRejected)), false},
		"an older record":            {lookingUp(unknown()).look(LookupOutcome{Result: LookupFound, Reference: otherRef, Predates: true}).do(resolve(ResolveRejected)), false},
		"still at work":              {lookingUp(unknown()).look(LookupOutcome{Result: LookupPending}).do(resolve(ResolveRejected)), false},
		"another's record":           {lookingUp(unknown()).lookFor(LookupOutcome{Result: LookupFound, Reference: ourRef}, another()).do(resolve(ResolveRejected)), false},
		"it finally failed":          {lookingUp(accepted()).look(LookupOutcome{Result: LookupFound, Reference: ourRef, FinallyFailed: true}), true},
		"it failed, beside another":  {lookingUp(unknown()).look(candidates).look(LookupOutcome{Result: LookupFound, Reference: ourRef, FinallyFailed: true}), false},
		"dismissed, and withdrawn":   {lookingUp(unknown()).look(candidates).do(Event{Kind: EventCanceled, Cancel: &Cancellation{}}).do(resolve(ResolveNotApplied)), true},
		"dismissed, and then given":  {lookingUp(unknown()).look(candidates).do(resolve(ResolveNotApplied)).do(Event{Kind: EventCanceled, Cancel: &Cancellation{}}), true},
		"withdrawn, and proven":      {lookingUp(unknown()).do(Event{Kind: EventCanceled, Cancel: &Cancellation{}}).wait(time.Hour).look(LookupOutcome{Result: LookupAbsent}), true},
		"a contradiction, dismissed": {unknown().do(resolve(ResolveRejected)).observe(Observation{Asserts: AssertsEffect, Reference: ourRef}).do(resolve(ResolveRejected)), false},
	} {
		if c.tale.op.State != Rejected && c.tale.op.State != Canceled {
			t.Errorf("%s: it is %s", name, c.tale.op.State)
		}
		if got := c.tale.op.NewKeySafe(); got != c.safe {
			t.Errorf("%s: %s, and a new key is safe: %v", name, c.tale.op.State, got)
		}
	}
}

// TestALateWordOfAnEffectToComeContradicts: a person had rejected while an attempt
// was silent; its answer, or a look-up that was under way, then speaks for an effect
// that may still come.
//
// Proves: M8, M20
func TestALateWordOfAnEffectToComeContradicts(t *testing.T) {
	t.Parallel()
	rejected := func() *tale {
		return newTale(t).send(Write).silence().do(Event{Kind: EventResolved, Resolution: &Resolution{Outcome: ResolveRejected}})
	}
	lookUp := func(found LookupOutcome) Event { return Event{Kind: EventLookedUp, Lookup: &found} }
	for _, outcome := range []Outcome{OutcomeAccepted, OutcomeInProgress, OutcomeKeyConflict} {
		l := rejected().answer(1, Answer{Outcome: outcome}).is(Rejected).owned(ReviewContradicted)
		if l.op.NewKeySafe() || l.op.OpenAttempt() {
			t.Errorf("%s: a new key is safe: %v", outcome, l.op.NewKeySafe())
		}
	}
	rejected().do(lookUp(LookupOutcome{Result: LookupPending})).owned(ReviewContradicted)
	l := rejected().do(lookUp(LookupOutcome{Result: LookupCandidates, Candidates: []Candidate{{Reference: otherRef}}})).owned(ReviewContradicted)
	if shown := l.op.OpenReviews()[0].Candidates; len(shown) != 1 {
		t.Errorf("the review shows %+v", shown)
	}
	// A record that a person has seen and decided about is no news.
	l.do(Event{Kind: EventResolved, Resolution: &Resolution{Outcome: ResolveRejected}})
	version := l.op.Version
	l.do(lookUp(LookupOutcome{Result: LookupCandidates, Candidates: []Candidate{{Reference: otherRef}}}))
	if l.op.Contradicted || l.op.Version != version {
		t.Error("a record that was decided about contradicts again")
	}
	// An answer that tells nothing closes the attempt; a confirmed operation is not
	// contradicted by its own progress.
	if l := rejected().answer(1, Answer{Outcome: OutcomeUnknown}); l.op.Contradicted || !l.op.NewKeySafe() {
		t.Errorf("contradicted %v, new key safe %v", l.op.Contradicted, l.op.NewKeySafe())
	}
	done := newTale(t).send(Write).silence().straggle(1).send(Replay).answer(2, Answer{Outcome: OutcomeConfirmed, Reference: ourRef})
	for _, a := range []Answer{{Outcome: OutcomeAccepted}, {Outcome: OutcomeInProgress}, {Outcome: OutcomeExists}, {Outcome: OutcomeExists, Reference: ourRef}} {
		again := *done
		if again.answer(1, a); again.op.Contradicted {
			t.Errorf("%s contradicts what is confirmed", a.Outcome)
		}
	}
	if done.answer(1, Answer{Outcome: OutcomeExists, Reference: otherRef}); !done.op.Contradicted {
		t.Error("another record that exists contradicts nothing")
	}
}
