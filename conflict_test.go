package onefold

import (
	"strings"
	"testing"
)

// A new key is advised only to a caller who may know that it is safe, by the refusal
// of an expired key and by that of another intent.
//
// Proves: I4, I29
func TestNoHintAdvisesANewKeyThatMayNotBeSafe(t *testing.T) {
	t.Parallel()
	unknown := func() *tale { return newTale(t).send(Write).answer(1, Answer{Outcome: OutcomeUnknown}) }
	for name, c := range map[string]struct {
		op   Operation
		safe bool
	}{
		"confirmed":         {newTale(t).send(Write).answer(1, Answer{Outcome: OutcomeConfirmed, Reference: ourRef}).op, false},
		"refused":           {newTale(t).send(Write).answer(1, Answer{Outcome: OutcomeRejected}).op, true},
		"withdrawn":         {newTale(t).do(Event{Kind: EventCanceled, Cancel: &Cancellation{}}).op, true},
		"rejected in doubt": {unknown().observe(Observation{Asserts: AssertsEffect, Reference: ourRef, Differs: odd}).do(Event{Kind: EventResolved, Resolution: &Resolution{Outcome: ResolveRejected}}).op, false},
	} {
		for _, mayRead := range []bool{false, true} {
			advice := mayRead && c.safe
			if hint := expiredHint(&c.op, mayRead); strings.Contains(hint, "use a new one") != advice {
				t.Errorf("%s, may read %v: %q", name, mayRead, hint)
			}
			l := &Ledger{}
			if hint := l.conflictHint(nil, mayRead && c.op.NewKeySafe()); strings.Contains(hint, "is a new operation under a new key") != advice {
				t.Errorf("%s, may read %v: %q", name, mayRead, hint)
			}
		}
		if done := strings.Contains(expiredHint(&c.op, true), "was done: a new key would do it once more"); done != (c.op.State == Confirmed) {
			t.Errorf("%s: it was done: %v", name, done)
		}
	}
}
