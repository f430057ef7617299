package onefold

import (
	"strings"
	"testing"
	"time"
)

// polling tells a tale of accepted work that is asked for progress every minute,
// and counts what is kept.
type polling struct {
	*tale
	lines, evidence int
}

func newPolling(t *testing.T, within time.Duration, name string) *polling {
	t.Helper()
	l := newTale(t)
	l.policy.PollEvery, l.policy.PollWithin = time.Minute, within
	l.send(Write).answer(1, Answer{Outcome: OutcomeAccepted, Reference: name})
	return &polling{tale: l}
}

// poll asks once; status is that of the target's answer.
func (p *polling) poll(found LookupOutcome, status int) {
	p.t.Helper()
	p.lease()
	found.Token, found.Began, found.Polled = p.op.Token, p.now, p.op.Accepted.Reference != ""
	ev := Event{
		Kind: EventLookedUp, Lookup: &found, Policy: &p.policy, ReviewID: "rev_poll", Actor: Actor{ActorWorker, "w"},
		Evidence: &Evidence{ID: "ev_poll", Kind: EvidencePoll, Status: status, Detail: found.Detail},
	}
	op, effects, err := Apply(p.op, ev, p.now)
	if err != nil {
		p.t.Fatal(err)
	}
	p.op, p.last = op, effects
	for _, e := range effects {
		switch e.Kind {
		case EffectRecord:
			p.lines++
		case EffectEvidence:
			p.evidence++
		default:
		}
	}
}

// TestAQuietWaitLeavesLittleBehind: a day of polls that tell the same is counted,
// and a handful of them is kept; what changes anything is kept all the same.
//
// Proves: M16a, M28
func TestAQuietWaitLeavesLittleBehind(t *testing.T) {
	t.Parallel()
	p := newPolling(t, 48*time.Hour, ourRef)
	const times = 1440
	version := p.op.Version
	pending := LookupOutcome{Result: LookupPending, Reference: ourRef, Detail: `the target is still at work on it (state "queued")`}
	for range times {
		p.poll(pending, 200)
	}
	if p.lines != 11 || p.evidence != 11 { // the 1st, 2nd, 4th, … 1024th
		t.Errorf("%d polls left %d lines and %d pieces of evidence", times, p.lines, p.evidence)
	}
	polls := p.op.Accepted.Polls
	if polls == nil || polls.Times != times || polls.Same != times || !polls.LastAt.Equal(p.now) || p.op.Version != version {
		t.Errorf("they are known as %+v, version %d after %d", polls, p.op.Version, version)
	}
	if text := Explain(p.op, Terms{Mode: ModeAutonomous}, p.policy, nil, p.now); !strings.Contains(text, "asked for progress 1440 times, the last time at "+clock(p.now)) {
		t.Errorf("the explanation does not say when it was last asked:\n%s", text)
	}
	// Another state is news to whoever reads the history, and so is the way back.
	running := pending
	running.Detail = `the target is still at work on it (state "running")`
	lines := p.lines
	p.poll(running, 200)
	p.poll(pending, 200)
	if p.lines != lines+2 {
		t.Errorf("two changes of what is told left %d lines", p.lines-lines)
	}
	p.poll(pending, 200)
	entry, evidence := p.told()
	if want := "told 2 times in a row, of 1443 times that it was asked"; !strings.Contains(entry, want) || !strings.Contains(evidence, want) {
		t.Errorf("timeline %q, evidence %q", entry, evidence)
	}
	p.poll(LookupOutcome{Result: LookupFound, Reference: ourRef}, 200)
	if entry, _ := p.told(); p.op.State != Confirmed || entry == "" || p.op.Result.Evidence != "ev_poll" {
		t.Errorf("it is %s by %+v, and the timeline says %q", p.op.State, p.op.Result, entry)
	}
}

// TestAnUnsteadyTargetLeavesLittleBehind: answers that alternate, or whose words
// differ each time, are bounded too.
//
// Proves: M16a, M28
func TestAnUnsteadyTargetLeavesLittleBehind(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(n int) (LookupOutcome, int){
		"alternating": func(n int) (LookupOutcome, int) {
			if n%2 == 0 {
				return LookupOutcome{Result: LookupPending, Reference: ourRef}, 200
			}
			return LookupOutcome{Result: LookupInconclusive}, 503
		},
		"never the same words": func(n int) (LookupOutcome, int) {
			return LookupOutcome{Result: LookupInconclusive, Detail: "no answer: port " + strings.Repeat("1", n%50)}, 0
		},
		"work without a name": func(int) (LookupOutcome, int) { return LookupOutcome{Result: LookupAbsent}, 200 },
		"without a connection": func(n int) (LookupOutcome, int) {
			return LookupOutcome{Result: LookupInconclusive, PauseConnection: n%3 == 0}, 0
		},
	} {
		p := newPolling(t, 1000*time.Hour, ourRef)
		if name == "work without a name" { // looked for in place of polls
			p = newPolling(t, 1000*time.Hour, "")
		}
		for n := range 2000 {
			p.poll(answer(n))
		}
		if most := maxKeptPolls + 11; p.lines > most || p.evidence > most || p.op.Accepted.Polls.Times != 2000 {
			t.Errorf("%s: %d lines and %d pieces of evidence, %+v", name, p.lines, p.evidence, p.op.Accepted.Polls)
		}
	}
}

// TestWorkWithoutAnAgreedTimeIsAnIncidentAtOnce: a contract may call an answer
// accepted and agree on no time and no poll. That is told at once, and what the
// target took on is not sent again because nothing is to be seen of it.
//
// Proves: M11, M12, M16a
func TestWorkWithoutAnAgreedTimeIsAnIncidentAtOnce(t *testing.T) {
	t.Parallel()
	for name, accepted := range map[string]func(*tale) *tale{
		"its answer": func(l *tale) *tale { return l.answer(1, Answer{Outcome: OutcomeAccepted}) },
		"a look-up": func(l *tale) *tale {
			return l.answer(1, Answer{Outcome: OutcomeUnknown}).look(LookupOutcome{Result: LookupPending})
		},
	} {
		l := newTale(t)
		l.policy.InDoubt = []RecoveryStep{StepLookup, StepOperator}
		accepted(l.send(Write)).is(Uncertain)
		if !l.op.Unresolved() || l.op.Doubt.Reason != DoubtAccepted || l.op.Next != NextLookup {
			t.Errorf("by %s: unresolved %v, doubt %+v, next %s", name, l.op.Unresolved(), l.op.Doubt, l.op.Next)
		}
		if text := Explain(l.op, Terms{Mode: ModeAutonomous}, l.policy, nil, l.now); !strings.Contains(text, "agrees on no time") ||
			!strings.Contains(text, "Finding nothing proves nothing of work") {
			t.Errorf("by %s: the explanation says\n%s", name, text)
		}
		l.wait(time.Hour).look(LookupOutcome{Result: LookupAbsent}).is(Uncertain)
		l.refuses(l.try(Event{Kind: EventAgreedTimeOver}), CodeNotDue)
		l.look(LookupOutcome{Result: LookupFound, Reference: ourRef}).is(Confirmed)
	}
}
