package onefold_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
)

// tried is how far an operation's tries went, and how its budget for them stands.
type tried struct {
	name     string
	attempts []onefold.Attempt
	spent    int
}

// explainPolicy allows three tries within an hour.
func explainPolicy() onefold.Policy {
	return onefold.Policy{
		InDoubt:       []onefold.RecoveryStep{onefold.StepReplay, onefold.StepLookup, onefold.StepOperator},
		RetryAttempts: 3, RetryWithin: time.Hour, Window: 24 * time.Hour, ReconcileWithin: time.Hour, AbsenceProves: true,
	}
}

// triesOf are the ways in which the tries of an operation in the state may have gone.
func triesOf(state onefold.State) []tried {
	of := func(verdicts ...onefold.Verdict) (list []onefold.Attempt) {
		for i, v := range verdicts {
			a := attempt(i+1, v)
			a.ID = fmt.Sprintf("att_%d", i+1)
			list = append(list, a)
		}
		return list
	}
	silent := attempt(1, "")
	silent.EndedAt, silent.Open = nil, true
	closed := attempt(1, onefold.VerdictUnknown)
	closed.ClosedBy = onefold.ClosedByStraggler
	decided := attempt(1, onefold.VerdictUnknown)
	decided.ProvenBy = onefold.ProvenByOperator
	if state == onefold.Attempting {
		out := attempt(2, "")
		out.ID, out.EndedAt = "att_out", nil
		return []tried{
			{"the first is out", []onefold.Attempt{out}, 1},
			{"the second is out", append(of(onefold.VerdictNotApplied), out), 2},
			{"a replay is out", append([]onefold.Attempt{silent}, out), 2},
		}
	}
	list := []tried{
		{"none", nil, 0},
		{"one without effect", of(onefold.VerdictNotApplied), 1},
		{"one never left", of(onefold.VerdictNotSent), 1},
		{"one decided", []onefold.Attempt{decided}, 1},
		{"all without effect", of(onefold.VerdictNotApplied, onefold.VerdictNotSent, onefold.VerdictRejected), 3},
		{"one unknown", of(onefold.VerdictUnknown), 1},
		{"all in doubt", of(onefold.VerdictUnknown, onefold.VerdictInProgress, onefold.VerdictUnknown), 3},
		{"one silent", []onefold.Attempt{silent}, 1},
		{"one closed in silence", []onefold.Attempt{closed}, 1},
	}
	if state == onefold.Prepared {
		list = append(list, tried{"far too many", of(slices.Repeat([]onefold.Verdict{onefold.VerdictNotApplied}, onefold.MaxAttempts)...), 1})
	}
	return list
}

// holdsOf are the holds that are weighed: one stands for all that are a fixed
// sentence where there is more to tell.
func holdsOf(state onefold.State, bars []onefold.Bar) []onefold.HoldReason {
	switch {
	case state == onefold.Prepared:
		return append([]onefold.HoldReason{""}, onefold.HoldReasons()...)
	case state != onefold.Uncertain:
		return []onefold.HoldReason{""} // the others are never held
	case len(bars) > 1:
		return []onefold.HoldReason{"", onefold.HoldRetryExhausted}
	}
	return []onefold.HoldReason{"", onefold.HoldApproval, onefold.HoldRetryExhausted}
}

// barSets are no bar, each bar, and each two.
func barSets() [][]onefold.Bar {
	sets := [][]onefold.Bar{nil}
	for i, one := range onefold.Bars() {
		sets = append(sets, []onefold.Bar{one})
		for _, other := range onefold.Bars()[i+1:] {
			sets = append(sets, []onefold.Bar{one, other})
		}
	}
	return sets
}

// doubtsOf are the doubts that an operation in the state may be in.
func doubtsOf(state onefold.State) []onefold.DoubtReason {
	if state != onefold.Uncertain {
		return []onefold.DoubtReason{""}
	}
	return []onefold.DoubtReason{
		onefold.DoubtNoAnswer, onefold.DoubtLeaseExpired, onefold.DoubtServerError, onefold.DoubtUnreadable, onefold.DoubtUnclassified,
		onefold.DoubtAccepted, onefold.DoubtInProgress, onefold.DoubtRefusedAfterDoubt, onefold.DoubtExists, onefold.DoubtEffectExists,
		onefold.DoubtDiffers, onefold.DoubtMultipleEffects, onefold.DoubtKeyConflict, onefold.DoubtRestored, onefold.DoubtBarred,
		onefold.DoubtInternal, onefold.DoubtProcessInterrupted,
	}
}

// whatIsKnown are the facts that the sentences of an explanation turn on, beside
// state, doubt, bars, holds and tries.
type whatIsKnown struct {
	references              []string
	suggested, contradicted bool
	review                  onefold.ReviewReason
	due                     time.Duration // before now; 0 is none, in the state Attempting of the lease
	next                    onefold.NextAction
	deadline                bool
}

func knownSets(state onefold.State) []whatIsKnown {
	sets := []whatIsKnown{
		{due: -time.Minute, next: onefold.NextLookup},
		{due: 35 * time.Second, next: onefold.NextLookup, references: []string{"R-1"}, suggested: true},
		{due: time.Millisecond, next: onefold.NextReplay},
		{due: -time.Minute, next: onefold.NextReplay, deadline: true},
		{due: time.Minute, next: onefold.NextReplay, contradicted: true, review: onefold.ReviewContradicted, references: []string{"R-1", "R-2"}, suggested: true},
		{review: onefold.ReviewUnsendable, next: onefold.NextOperator},
		{review: onefold.ReviewReconcileExhausted, next: onefold.NextOperator},
	}
	if state == onefold.Prepared {
		for i := range sets {
			if sets[i].due != 0 {
				sets[i].next = onefold.NextAttempt
			}
		}
	}
	return sets
}

// standing is an operation of those facts; ok is false where the law knows none.
func standing(state onefold.State, doubt onefold.DoubtReason, hold onefold.HoldReason, bars []onefold.Bar, tries tried, k whatIsKnown, now time.Time) (onefold.Operation, bool) {
	first, settled, due := noon, noon.Add(20*time.Minute), now.Add(-k.due)
	op := explained(state, func(op *onefold.Operation) {
		op.Attempts, op.Barred, op.Next = tries.attempts, bars, k.next
		op.Retry = onefold.Budget{Spent: tries.spent, Since: &first}
		op.SeenReferences, op.EffectSuggested, op.Contradicted = k.references, k.suggested, k.contradicted
		op.FrozenDigest, op.FirstDispatched = "d", &first
		if doubt != "" {
			op.Doubt = &onefold.Doubt{Reason: doubt, Since: noon}
		}
		if k.review != "" {
			op.Reviews = []onefold.Review{{ID: "rev_1", Reason: k.review, Status: onefold.ReviewOpen, Owner: "maria", OpenedAt: noon}}
		}
		if hold != "" {
			op.Holds = []onefold.Hold{{Reason: hold, Since: noon, Review: "rev_1"}}
		}
		if k.deadline {
			op.StartDeadline = &settled
		}
		switch {
		case state.Terminal():
			op.SettledAt, op.Next = &settled, onefold.NextNone
			op.Result = &onefold.Result{Reference: "R-1", LearntFrom: onefold.LearntFromResponse, At: settled}
			op.Rejection = &onefold.Rejection{Code: "declined", At: settled}
		case state == onefold.Attempting:
			op.Lease = &onefold.Lease{Token: 1, Worker: "w", Until: due}
		case k.due != 0:
			op.Due = &due
		}
	})
	if state == onefold.Prepared && !op.Clean("") || op.Broken() != "" {
		return op, false
	}
	return op, true
}

// telling is one explanation beside what it was made of.
type telling struct {
	op   *onefold.Operation
	p    *onefold.Policy
	now  time.Time
	text string
}

func (t *telling) effectMayExist() bool {
	return t.op.EffectSuggested || t.op.IsBarred(onefold.BarEffectExists, onefold.BarDiffers, onefold.BarMultipleEffects, onefold.BarKeyConflict)
}

// over are the tries that are not out just now.
func (t *telling) over() []onefold.Attempt {
	if t.op.State == onefold.Attempting {
		return t.op.Attempts[:len(t.op.Attempts)-1]
	}
	return t.op.Attempts
}

func knownToHaveLeft(a onefold.Attempt) bool {
	return a.Closed() && a.Verdict != onefold.VerdictNotSent && a.ClosedBy != onefold.ClosedByStraggler
}

// all tells whether something holds of all of at least one.
func all(list []onefold.Attempt, holds func(onefold.Attempt) bool) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(a onefold.Attempt) bool { return !holds(a) })
}

func (t *telling) dueFor(least, most time.Duration) bool {
	if t.op.Due == nil {
		return false
	}
	late := t.now.Sub(*t.op.Due)
	return late >= least && late <= most
}

// licence is what has to hold for the words to be said.
type licence struct {
	words string
	holds func(*telling) bool
}

func licences() []licence {
	withoutEffect := func(a onefold.Attempt) bool { return a.WithoutEffect() }
	safe := func(t *telling) bool { return t.op.NewKeySafe() }
	live := func(t *telling) bool { return t.op.Lease != nil && t.op.Lease.Until.After(t.now) }
	barred := func(bars ...onefold.Bar) func(*telling) bool {
		return func(t *telling) bool { return t.op.IsBarred(bars...) }
	}
	not := func(f func(*telling) bool) func(*telling) bool { return func(t *telling) bool { return !f(t) } }
	forGood := barred(onefold.BarEffectExists, onefold.BarMultipleEffects, onefold.BarWithdrawn, onefold.BarPastDeadline)
	return []licence{
		{"every try that the contract allows was made", func(t *telling) bool { return t.op.Retry.Spent >= t.p.RetryAttempts }},
		{"no further try fits into the time", func(t *telling) bool { return t.op.Retry.Spent < t.p.RetryAttempts && len(t.op.Attempts) > 0 }},
		{"no operation is tried more often", func(t *telling) bool { return len(t.op.Attempts) >= onefold.MaxAttempts }},
		{"no try was made", func(t *telling) bool { return len(t.op.Attempts) == 0 }},
		{"none had an effect", func(t *telling) bool {
			return t.op.State == onefold.Prepared && all(t.op.Attempts, withoutEffect) && !t.effectMayExist() && !t.op.Contradicted
		}},
		{"nothing was sent", func(t *telling) bool { return len(t.op.Attempts) == 0 }},
		{"Nothing was sent yet", func(t *telling) bool { return len(t.op.Attempts) == 0 }},
		{"We sent", func(t *telling) bool { return knownToHaveLeft(t.op.Attempts[len(t.op.Attempts)-1]) }},
		{"It was sent", func(t *telling) bool { return all(t.over(), knownToHaveLeft) }},
		{"it is proven that nothing came of it", func(t *telling) bool {
			return !t.effectMayExist() && all(t.op.Attempts, func(a onefold.Attempt) bool { return a.WithoutEffect() && a.ProvenBy != onefold.ProvenByOperator })
		}},
		{"proven without effect", func(t *telling) bool { return !t.effectMayExist() && !t.op.Contradicted }},
		{"A record was found", barred(onefold.BarDiffers)},
		{"More than one record", barred(onefold.BarMultipleEffects)},
		{"Evidence speaks for an effect", barred(onefold.BarEffectExists)},
		{"does not say under which reference", func(t *telling) bool { return len(t.op.SeenReferences) == 0 }},
		{"Whether an effect exists at the target.", func(t *telling) bool {
			return t.op.Doubt.Reason != onefold.DoubtExists && !t.op.IsBarred(onefold.BarEffectExists, onefold.BarDiffers, onefold.BarMultipleEffects)
		}},
		{"No effect exists", safe},
		{"was not done", safe},
		{"may be started again under a new key", safe},
		{"was withdrawn at", func(t *telling) bool {
			return t.op.IsBarred(onefold.BarWithdrawn) || t.op.StartDeadline == nil && !t.op.IsBarred(onefold.BarPastDeadline)
		}},
		{"its start deadline", func(t *telling) bool { return t.op.StartDeadline != nil || t.op.IsBarred(onefold.BarPastDeadline) }},
		{"nothing is sent again", func(t *telling) bool { return forGood(t) && !t.op.Settled() }},
		{"until a person decides", not(func(t *telling) bool { return forGood(t) || len(t.op.Attempts) > 0 && t.op.Settled() })},
		{"just now", live},
		{"has given no sign of life", not(live)},
		{" now.", func(t *telling) bool { return live(t) || t.dueFor(-time.Second, 2*time.Second) }},
		{"waits for its turn", func(t *telling) bool { return t.dueFor(2*time.Second, time.Hour) }},
		{"It is sent", func(t *telling) bool { return len(t.op.Holds) == 0 && !t.op.IsBarred() }},
		{"The same request is sent again", func(t *telling) bool { return len(t.op.Holds) == 0 && !t.op.IsBarred() }},
		{"Sending the same request again", func(t *telling) bool { return !t.op.IsBarred() }},
		{"A look-up that finds the record.", func(t *telling) bool {
			return t.op.Due != nil && !t.op.IsBarred(onefold.BarDiffers, onefold.BarMultipleEffects, onefold.BarKeyConflict)
		}},
		{"No further look-up is planned", func(t *telling) bool { return t.op.Due == nil }},
	}
}

// contradictions are words that deny each other, each of the first with each of the
// others.
func contradictions() [][]string {
	return [][]string{
		{"Whether an effect exists at the target.", "A record was found", "More than one record", "Evidence speaks for an effect", "that record"},
		{"none had an effect", "Evidence speaks for an effect", "Whether an effect exists", "An effect may be happening"},
		{"No effect exists", "Evidence", "Whether an effect exists", "if it was carried out", "is not safe", "may still reach"},
		{" is done, ", "if it was carried out", "was not done", "Whether an effect exists"},
		{"does not say under which reference", "Evidence names the reference"},
		{"nothing is sent again", "until a person decides", "It is sent", "request is sent again", "Sending the same request again, which"},
		{"Not sending again", "The same request is sent again", "Sending the same request again"},
		{"It is held", "It is sent now", "It is sent at", "The same request is sent again"},
		{"no try was made", "It was sent", "It was tried", "We sent"},
		{"nothing was sent:", "It was sent", "It was tried", "We sent"},
		{"just now", "no sign of life"},
		{"every try that the contract allows was made", "no further try fits into the time", "which the target recognises"},
		{"No further look-up is planned", "The target is asked", "Asking the target is due"},
		{"was withdrawn at", "having passed"},
	}
}

// No explanation contradicts itself, and none says more than the operation's standing
// holds: over every state with every doubt, hold and two bars, however its tries went
// and ended (by their number or their time), and whatever else is known or planned.
//
// Proves: M26, M16, M11c
func TestNoExplanationSaysMoreThanIsKnown(t *testing.T) {
	t.Parallel()
	policy, now := explainPolicy(), noon.Add(2*time.Hour)
	said, licences, denials := map[string]int{}, licences(), contradictions()
	cases := 0
	for _, state := range onefold.States() {
		for _, doubt := range doubtsOf(state) {
			for _, bars := range barSets() {
				for _, hold := range holdsOf(state, bars) {
					for _, tries := range triesOf(state) {
						for _, k := range knownSets(state) {
							op, ok := standing(state, doubt, hold, bars, tries, k, now)
							if !ok {
								continue
							}
							cases++
							text := onefold.Explain(op, onefold.Terms{Mode: onefold.ModeAutonomous}, policy, nil, now)
							for _, wrong := range wrongIn(&telling{&op, &policy, now, text}, licences, denials, said) {
								t.Fatalf("%s, doubt %q, hold %q, bars %q, tries %q, known %+v: %s\n%s", state, doubt, hold, bars, tries.name, k, wrong, text)
							}
						}
					}
				}
			}
		}
	}
	for _, l := range licences {
		if said[l.words] == 0 {
			t.Errorf("never said in %d cases: %q", cases, l.words)
		}
	}
}

func wrongIn(t *telling, licences []licence, denials [][]string, said map[string]int) (wrong []string) {
	for _, l := range licences {
		if !strings.Contains(t.text, l.words) {
			continue
		}
		if said[l.words]++; !l.holds(t) {
			wrong = append(wrong, fmt.Sprintf("%q is not so", l.words))
		}
	}
	for _, words := range denials {
		for _, other := range words[1:] {
			if strings.Contains(t.text, words[0]) && strings.Contains(t.text, other) {
				wrong = append(wrong, fmt.Sprintf("%q contradicts %q", words[0], other))
			}
		}
	}
	return wrong
}
