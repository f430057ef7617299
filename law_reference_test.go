package onefold

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// another is what the store says where another operation has recorded ourRef.
func another() map[string]string { return map[string]string{ourRef: "op_another"} }

// lookFor leases and looks up, where the store says who has recorded what.
func (l *tale) lookFor(found LookupOutcome, recorded map[string]string) *tale {
	l.t.Helper()
	l.lease()
	found.Token, found.Began = l.op.Token, l.now
	return l.do(Event{Kind: EventLookedUp, Lookup: &found, Recorded: recorded})
}

// told gives the details of the timeline entry and of the evidence of the last step.
func (l *tale) told() (entry, evidence string) {
	for _, e := range l.last {
		switch e.Kind {
		case EffectRecord:
			entry = e.Entry.Detail
		case EffectEvidence:
			evidence = e.Evidence.Detail
		default:
		}
	}
	return entry, evidence
}

// tellsOfAnother checks that timeline and evidence name the other operation.
func (l *tale) tellsOfAnother() *tale {
	l.t.Helper()
	entry, evidence := l.told()
	for _, text := range []string{entry, evidence} {
		if !strings.Contains(text, "operation op_another has recorded the same reference") {
			l.t.Errorf("timeline %q, evidence %q", entry, evidence)
		}
	}
	return l
}

// TestOneRecordConfirmsOneOperation: what a look-up or an event finds, and another
// operation has recorded, goes to a person, who sees that operation's id; whatever
// state the operation is in, and also where it would be adopted.
//
// Proves: M11b, M16, M18
func TestOneRecordConfirmsOneOperation(t *testing.T) {
	t.Parallel()
	found := LookupOutcome{Result: LookupFound, Reference: ourRef, Detail: "one record matches", Candidates: []Candidate{{
		Reference: ourRef, Fields: []CandidateField{{Pointer: "/total", Value: `"10.00"`}},
	}}}
	doubtful := func() *tale { return newTale(t).send(Write).answer(1, Answer{Outcome: OutcomeUnknown}) }
	review := func(l *tale) *Review {
		t.Helper()
		l.owned(ReviewExistsElsewhere).tellsOfAnother()
		r := l.op.openReview(ReviewExistsElsewhere)
		if !strings.Contains(r.Detail, ourRef) || !strings.Contains(r.Detail, "op_another") ||
			len(r.Candidates) != 1 || r.Candidates[0].RecordedBy != "op_another" {
			t.Errorf("the review shows %+v", r)
		}
		return r
	}
	l := doubtful().lookFor(found, another()).is(Uncertain)
	if r := review(l); len(r.Candidates[0].Fields) != 1 {
		t.Errorf("the review does not show the record: %+v", r)
	}
	version, reviews := l.op.Version, len(l.op.Reviews)
	if l.lookFor(found, another()).is(Uncertain); l.op.Version != version || len(l.op.Reviews) != reviews {
		t.Error("the same find again is news")
	}
	// Nobody has recorded it any more: it is what was seen before, and agrees.
	l.lookFor(found, nil).is(Confirmed)

	event := Event{Kind: EventObserved, Observation: &Observation{Asserts: AssertsEffect, Reference: ourRef}, Recorded: another()}
	review(doubtful().do(event).is(Uncertain))
	review(newTale(t).do(event).is(Uncertain, BarEffectExists))

	adopted := found
	adopted.OwnIdentity, adopted.Predates = true, true
	l = newTale(t).send(Write).answer(1, Answer{Outcome: OutcomeExists, OwnIdentity: true})
	l.policy.InDoubt = []RecoveryStep{StepLookup}
	review(l.lookFor(adopted, another()).is(Uncertain))

	// What has failed is not this operation's failure either.
	failed := found
	failed.FinallyFailed = true
	review(doubtful().lookFor(failed, another()).is(Uncertain))

	event.Observation = &Observation{Asserts: AssertsNoEffect, FinallyFailed: true, Reference: ourRef}
	if refs := event.References(&l.op); !slices.Equal(refs, []string{ourRef}) {
		t.Errorf("the word of a failure gives %v to weigh", refs)
	}
	doubtful().do(event).is(Uncertain)
	event.Recorded = nil
	doubtful().do(event).is(Rejected)

	// More share it than can be told apart: that confirms nothing, and names nobody.
	l = doubtful().lookFor(found, map[string]string{ourRef: ""}).is(Uncertain).owned(ReviewExistsElsewhere)
	if r := l.op.OpenReviews()[0]; strings.Contains(r.Detail, "operation op_") || r.Candidates[0].RecordedBy != "" {
		t.Errorf("the review makes somebody up: %+v", r)
	}
	// A person's word counts, and says the same.
	l.do(Event{Kind: EventResolved, Resolution: &Resolution{Outcome: ResolveConfirmed, Reference: ourRef}, Recorded: another()})
	l.is(Confirmed).tellsOfAnother()
}

// TestOneAnswerForTwoOperations: a target that merges equal contents answers the
// second operation with the record of the first. That does not confirm it, be the
// answer early or late, of an attempt or of work that was accepted, and whatever is
// thought to be the case; a person sees whose record it is.
//
// Proves: M3, M8, M18
func TestOneAnswerForTwoOperations(t *testing.T) {
	t.Parallel()
	confirms := Event{Kind: EventAnswered, Answer: &Answer{Attempt: "att_1", Token: 1, Outcome: OutcomeConfirmed, Reference: ourRef}, Recorded: another()}
	review := func(l *tale) {
		t.Helper()
		l.owned(ReviewExistsElsewhere).tellsOfAnother()
		r := l.op.openReview(ReviewExistsElsewhere)
		if !strings.Contains(r.Detail, "answered this operation with the record "+ourRef) || !strings.Contains(r.Detail, "op_another") ||
			len(r.Candidates) != 1 || r.Candidates[0].RecordedBy != "op_another" {
			t.Errorf("the review shows %+v", r)
		}
	}
	l := newTale(t).send(Write).do(confirms).is(Uncertain, BarEffectExists)
	review(l)
	if l.op.Doubt.Reason != DoubtEffectExists || l.op.NewKeySafe() {
		t.Errorf("it is in doubt for %s, and a new key is safe: %v", l.op.Doubt.Reason, l.op.NewKeySafe())
	}
	l.do(Event{Kind: EventResolved, Resolution: &Resolution{Outcome: ResolveConfirmed, Reference: ourRef}}).is(Confirmed, BarEffectExists)

	review(newTale(t).send(Write).silence().do(confirms).is(Uncertain, BarEffectExists))
	// Late, while another attempt is out: nothing is kept for when that one ends.
	l = newTale(t).send(Write).silence().straggle(1).send(Replay).do(confirms).is(Attempting, BarEffectExists)
	review(l)
	l.answer(2, Answer{Outcome: OutcomeUnknown}).is(Uncertain, BarEffectExists)
	// Late, after an operator's "not applied": contradicted as well.
	l = newTale(t).send(Write).silence().straggle(1)
	l.do(Event{Kind: EventResolved, Resolution: &Resolution{Outcome: ResolveNotApplied}}).is(Prepared)
	l.do(confirms).is(Uncertain, BarEffectExists).owned(ReviewContradicted).tellsOfAnother()

	polled := LookupOutcome{Result: LookupFound, Reference: ourRef, Polled: true}
	l = accepting(t).answer(1, Answer{Outcome: OutcomeAccepted, Reference: ourRef}).lookFor(polled, another())
	l.is(Uncertain, BarEffectExists).owned(ReviewExistsElsewhere).tellsOfAnother()
	if l.op.AwaitedAsAgreed() {
		t.Error("it is still waited for as agreed")
	}
	version := l.op.Version
	if l.lookFor(polled, another()).is(Uncertain, BarEffectExists); l.op.Version != version {
		t.Error("the same again is news")
	}
	// More share it than can be told apart.
	confirms.Recorded = map[string]string{ourRef: ""}
	newTale(t).send(Write).do(confirms).is(Uncertain, BarEffectExists).owned(ReviewExistsElsewhere)
}

// accepting has an attempt out at a target that accepts for later.
func accepting(t *testing.T) *tale {
	l := newTale(t)
	l.policy.PollEvery, l.policy.PollWithin = time.Minute, 3*time.Hour
	return l.send(Write)
}

// sharing are the two ways in which a record may be that of several operations.
func sharing() map[string]func(l *tale, ev *Event) {
	return map[string]func(l *tale, ev *Event){
		"the request names it": func(_ *tale, ev *Event) {
			if ev.Answer != nil {
				ev.Answer.NamedByRequest = true
			} else {
				ev.Lookup.NamedByRequest = true
			}
		},
		"the contract says so": func(l *tale, _ *Event) { l.policy.SharedReferences = true },
	}
}

// TestTheTargetsDirectWordCountsWhereRecordsAreShared: updates of a known record, and
// upserts under a contract that says so: an answer to the operation's own attempt, a
// poll of what the target itself called its work and, where the contract says so, a
// record with its own identity confirm, and say who else has the reference. Anything
// else that was found does not.
//
// Proves: M8, M18
func TestTheTargetsDirectWordCountsWhereRecordsAreShared(t *testing.T) {
	t.Parallel()
	for name, share := range sharing() {
		answer := func(l *tale, attempt string, outcome Outcome) *tale {
			ev := Event{
				Kind:   EventAnswered,
				Answer: &Answer{Attempt: attempt, Token: l.op.Attempt(attempt).Token, Outcome: outcome, Reference: ourRef}, Recorded: another(),
			}
			share(l, &ev)
			return l.do(ev)
		}
		look := func(l *tale, found LookupOutcome) *tale {
			share(l, &Event{Lookup: &found})
			return l.lookFor(found, another())
		}
		t.Run(name, func(t *testing.T) {
			answer(newTale(t).send(Write), "att_1", OutcomeConfirmed).is(Confirmed).tellsOfAnother()
			answer(newTale(t).send(Write).silence(), "att_1", OutcomeConfirmed).is(Confirmed).tellsOfAnother()
			l := answer(newTale(t).send(Write).silence().straggle(1).send(Replay), "att_1", OutcomeConfirmed).is(Attempting, BarEffectExists)
			l.do(Event{Kind: EventAnswered, Answer: &Answer{Attempt: "att_2", Token: l.op.Token, Outcome: OutcomeUnknown}, Recorded: another()}).is(Confirmed, BarEffectExists)

			polled := LookupOutcome{Result: LookupFound, Reference: ourRef, Polled: true}
			failed := polled
			failed.FinallyFailed = true
			named := func() *tale { return accepting(t).answer(1, Answer{Outcome: OutcomeAccepted, Reference: otherRef}) }
			look(named(), polled).is(Confirmed).tellsOfAnother()
			look(named(), failed).is(Rejected)
			found := LookupOutcome{Result: LookupFound, Reference: ourRef, OwnIdentity: true}
			doubtful := func() *tale { return newTale(t).send(Write).answer(1, Answer{Outcome: OutcomeUnknown}) }
			if l = look(doubtful(), found); l.policy.SharedReferences {
				l.is(Confirmed).tellsOfAnother()
			} else {
				l.is(Uncertain).owned(ReviewExistsElsewhere)
			}

			found.OwnIdentity = false
			look(doubtful(), found).is(Uncertain).owned(ReviewExistsElsewhere)
			// A poll of work whose name a look-up found is a find.
			pending := LookupOutcome{Result: LookupPending, Reference: ourRef}
			l = accepting(t).answer(1, Answer{Outcome: OutcomeUnknown}).lookFor(pending, nil)
			if l.op.Accepted == nil || !l.op.Accepted.Found {
				t.Fatalf("what a look-up found pending is known as %+v", l.op.Accepted)
			}
			look(l, polled).is(Uncertain).owned(ReviewExistsElsewhere)
			// The worker's late word that the target calls the work so makes it direct.
			l = accepting(t).silence().straggle(1).lookFor(pending, nil)
			l.answer(1, Answer{Outcome: OutcomeAccepted, Reference: ourRef})
			if l.op.Accepted.Found {
				t.Error("the target's own name for the work counts as found")
			}
			look(l, polled).is(Confirmed)
		})
	}
}

// TestWhatIsNamedWhileTheAttemptIsOut: it stops the attempt, and confirms nothing
// afterwards if another operation has it, be it then or meanwhile.
//
// Proves: M11c, M18
func TestWhatIsNamedWhileTheAttemptIsOut(t *testing.T) {
	t.Parallel()
	named := func(recorded map[string]string) Event {
		return Event{Kind: EventObserved, Observation: &Observation{Asserts: AssertsEffect, Reference: ourRef}, Recorded: recorded}
	}
	silent := Event{Kind: EventAnswered, Answer: &Answer{Attempt: "att_1", Token: 1, Outcome: OutcomeUnknown}, Recorded: another()}
	l := newTale(t).send(Write).do(named(another())).is(Attempting, BarEffectExists).owned(ReviewExistsElsewhere)
	l.do(silent).is(Uncertain, BarEffectExists)

	l = newTale(t).send(Write).do(named(nil)).is(Attempting, BarEffectExists)
	if refs := (&Event{Answer: &Answer{Outcome: OutcomeUnknown}}).References(&l.op); !slices.Equal(refs, []string{ourRef}) {
		t.Errorf("the end of the attempt gives %v to weigh", refs)
	}
	l.do(silent).is(Uncertain, BarEffectExists).owned(ReviewExistsElsewhere)
}

// TestWhatExistsIsComparedWithWhatIsFound: the record that the target calls existing
// and the one that a look-up, an event or a later answer names must be one.
//
// Proves: M11b, M15
func TestWhatExistsIsComparedWithWhatIsFound(t *testing.T) {
	t.Parallel()
	exists := func() *tale {
		l := newTale(t).send(Write).answer(1, Answer{Outcome: OutcomeUnknown}).send(Replay)
		l.policy.InDoubt = []RecoveryStep{StepLookup}
		return l.answer(2, Answer{Outcome: OutcomeExists, Reference: ourRef, Stored: true}).is(Uncertain)
	}
	exists().look(LookupOutcome{Result: LookupFound, Reference: ourRef}).is(Confirmed)
	both := func(l *tale) {
		t.Helper()
		l.is(Uncertain, BarMultipleEffects).owned(ReviewMultipleEffects)
		if r := l.op.OpenReviews()[0]; !strings.Contains(r.Detail, ourRef) || !strings.Contains(r.Detail, otherRef) {
			t.Errorf("the review shows one side alone: %q", r.Detail)
		}
	}
	both(exists().look(LookupOutcome{Result: LookupFound, Reference: otherRef}))
	both(exists().observe(Observation{Asserts: AssertsEffect, Reference: otherRef}))
	l := newTale(t).send(Write).silence().straggle(1).send(Replay)
	both(l.answer(2, Answer{Outcome: OutcomeExists, Reference: ourRef, Stored: true}).answer(1, Answer{Outcome: OutcomeConfirmed, Reference: otherRef}))
	l = newTale(t).send(Write).silence().straggle(1).send(Replay)
	both(l.answer(2, Answer{Outcome: OutcomeUnknown}).observe(Observation{Asserts: AssertsNothing}).answer(1, Answer{Outcome: OutcomeExists, Reference: ourRef}).
		look(LookupOutcome{Result: LookupFound, Reference: otherRef}))
	// Word from elsewhere while the attempt is out, and then the target names another.
	l = newTale(t).send(Write).observe(Observation{Asserts: AssertsEffect, Reference: otherRef})
	l.answer(1, Answer{Outcome: OutcomeExists, Reference: ourRef, OwnIdentity: true}).is(Uncertain, BarEffectExists, BarMultipleEffects)
	// Adopting makes no exception, and what failed is not all there is.
	l = newTale(t).send(Write).answer(1, Answer{Outcome: OutcomeExists, Reference: ourRef, OwnIdentity: true})
	l.policy.InDoubt = []RecoveryStep{StepLookup}
	both(l.look(LookupOutcome{Result: LookupFound, Reference: otherRef, OwnIdentity: true}))
	exists().look(LookupOutcome{Result: LookupFound, Reference: otherRef, FinallyFailed: true}).is(Uncertain)
	// A record that another operation has recorded goes to a person at once.
	l = newTale(t).send(Write).answer(1, Answer{Outcome: OutcomeUnknown}).send(Replay)
	l.do(Event{Kind: EventAnswered, Answer: &Answer{Attempt: "att_2", Token: l.op.Token, Outcome: OutcomeExists, Reference: ourRef}, Recorded: another()})
	l.is(Uncertain).owned(ReviewExistsElsewhere).tellsOfAnother()
}

// TestAbsenceDoesNotDismissWhatAPersonHas: proof that nothing is where it should be
// leaves a record that evidence found to its review's owner; her decision goes on.
//
// Proves: M12, M14, M15
func TestAbsenceDoesNotDismissWhatAPersonHas(t *testing.T) {
	t.Parallel()
	for name, found := range map[string]LookupOutcome{
		"by evidence": {Result: LookupCandidates, Detail: "one", Candidates: []Candidate{{Reference: otherRef}}},
		"older":       {Result: LookupFound, Reference: otherRef, Predates: true, Candidates: []Candidate{{Reference: otherRef}}},
	} {
		for _, withdrawn := range []bool{false, true} {
			l := newTale(t).send(Write).answer(1, Answer{Outcome: OutcomeUnknown})
			l.policy.InDoubt = []RecoveryStep{StepLookup, StepOperator}
			if l.look(found).is(Uncertain); withdrawn {
				l.do(Event{Kind: EventCanceled, Cancel: &Cancellation{}})
			}
			shown := l.op.OpenReviews()[0]
			version := l.op.Version
			l.wait(time.Hour).look(LookupOutcome{Result: LookupAbsent, Detail: "none of 0 records matches"})
			if open := l.op.OpenReviews(); l.op.State != Uncertain || len(open) != 1 || open[0].ID != shown.ID || len(open[0].Candidates) != 1 || l.op.Version != version {
				t.Fatalf("%s, withdrawn %v: absence left it %s with %+v", name, withdrawn, l.op.State, open)
			}
			if entry, _ := l.told(); !strings.Contains(entry, "none of 0 records") || !strings.Contains(entry, "a person decides") {
				t.Errorf("%s: the timeline says %q", name, entry)
			}
			want := Prepared
			if withdrawn {
				want = Canceled
			}
			l.do(Event{Kind: EventResolved, Resolution: &Resolution{Outcome: ResolveNotApplied}})
			if l.op.State != want || len(l.op.OpenReviews()) != 0 {
				t.Errorf("%s, withdrawn %v: decided, and it is %s", name, withdrawn, l.op.State)
			}
		}
	}
}

// TestReferencesWithoutEndDoNotFillTheRecord delivers evidence with a reference of its
// own each time: the standing names the first, and stays a contradiction in one
// review.
//
// Proves: M15, M18
func TestReferencesWithoutEndDoNotFillTheRecord(t *testing.T) {
	t.Parallel()
	l := newTale(t).send(Write).answer(1, Answer{Outcome: OutcomeUnknown})
	for i := range 10 * MaxSeenReferences {
		l.do(Event{Kind: EventObserved, Observation: &Observation{Asserts: AssertsEffect, Reference: fmt.Sprint("R-", i)}})
		if i == 0 {
			l.is(Confirmed)
		}
	}
	if len(l.op.SeenReferences) != MaxSeenReferences || l.op.SeenReferences[0] != "R-0" || !l.op.Contradicted {
		t.Errorf("%d references, contradicted %v", len(l.op.SeenReferences), l.op.Contradicted)
	}
	if open := l.op.OpenReviews(); len(open) != 1 {
		t.Errorf("%d reviews are open", len(open))
	}
}
