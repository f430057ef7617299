package onefold

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// leastCases is how many combinations the walk must have seen: well below what
// it sees now, far above what an accident would leave.
const leastCases = 1_500_000

// mostComplaints bounds what a failing walk prints.
const mostComplaints = 25

// TestTheLawIsTheTable walks every state with its bars, holds, attempts, lease,
// budget and evidence so far against every event in every variant, and holds
// what follows against the specification's table as law_judge_test.go has it.
//
// Proves: M7, M8, M10, M11, M11a, M11b, M11c, M12, M12a, M13, M15, M19, M19a, M20, M24, M28
func TestTheLawIsTheTable(t *testing.T) {
	t.Parallel()
	var walks []*walk
	t.Run("walk", func(t *testing.T) {
		for _, state := range States() {
			for n, p := range profiles(state) {
				w := &walk{rows: map[string]int{}}
				walks = append(walks, w)
				t.Run(fmt.Sprintf("%s-%d", state, n), func(t *testing.T) {
					t.Parallel()
					scenes(state, n, p, w.through)
					w.report(t)
				})
			}
		}
	})
	cases, operations, rows := 0, 0, map[string]int{}
	for _, w := range walks {
		cases, operations = cases+w.cases, operations+w.scenes
		for id, n := range w.rows {
			rows[id] += n
		}
	}
	if cases < leastCases {
		t.Errorf("the walk saw %d cases only, fewer than %d", cases, leastCases)
	}
	for _, row := range Transitions() {
		if rows[row.ID] == 0 {
			t.Errorf("the walk never came by row %s", row.ID)
		}
	}
	t.Logf("%d cases of an event and an operation, of which there were %d", cases, operations)
}

// through walks all events of one operation.
func (w *walk) through(s *scene) {
	w.scenes++
	op := s.build()
	if broken := op.Broken(); broken != "" {
		w.complain(s, &Event{}, "such an operation cannot be: %s", broken)
		return
	}
	before := s.build()
	variants(s, &op, func(ev Event) { w.try(s, &op, &ev) })
	if !reflect.DeepEqual(op, before) {
		w.complain(s, &Event{}, "the given operation was changed")
	}
}

func (w *walk) report(t *testing.T) {
	for i, text := range w.complaints {
		if i == mostComplaints {
			t.Errorf("and %d more", len(w.complaints)-i)
			break
		}
		t.Error(text)
	}
}

type walk struct {
	cases, scenes int
	complaints    []string
	rows          map[string]int
}

func (w *walk) complain(s *scene, ev *Event, format string, args ...any) {
	if len(w.complaints) < 100*mostComplaints {
		w.complaints = append(w.complaints, fmt.Sprintf("%s\n  %s\n  %s", s, describe(ev), fmt.Sprintf(format, args...)))
	}
}

func describe(ev *Event) string {
	text := string(ev.Kind)
	v := reflect.ValueOf(*ev)
	for i := range v.NumField() {
		switch name := v.Type().Field(i).Name; name {
		case "Policy", "Evidence", "Kind":
		default:
			if f := v.Field(i); f.Kind() == reflect.Pointer && !f.IsNil() {
				text += fmt.Sprintf(" %s%+v", name, f.Elem())
			}
		}
	}
	return text
}

func (w *walk) try(s *scene, op *Operation, ev *Event) {
	w.cases++
	want := judge(op, ev, noon)
	got, effects, err := Apply(*op, *ev, noon)
	w.passed(op, ev, effects, err)
	if err != nil || len(want.refused) > 0 {
		switch {
		case err == nil:
			w.complain(s, ev, "accepted as %s, though the table refuses it as %v", rowOf(effects), want.refused)
		case !slices.Contains(want.refused, CodeOf(err)):
			w.complain(s, ev, "refused: %v; the table says %v", err, want.refused)
		case len(effects) > 0:
			w.complain(s, ev, "a refusal has effects")
		}
		return
	}
	for _, wrong := range compare(op, &got, ev, &want, effects) {
		w.complain(s, ev, "row %s: %s", rowOf(effects), wrong)
	}
}

// passed counts the row that decided.
func (w *walk) passed(op *Operation, ev *Event, effects []Effect, err error) {
	if id := rowOf(effects); id != "" {
		w.rows[id]++
		return
	}
	// Refusals and silent rows leave no entry: ask the table which it was.
	step := &step{op: op.Clone(), ev: ev, now: noon, from: op.State}
	if row := step.row(); row != nil {
		w.rows[row.ID]++
	} else if CodeOf(err) != CodeNotAllowed {
		w.complaints = append(w.complaints, "no row, and yet "+fmt.Sprint(err))
	}
}

func rowOf(effects []Effect) string {
	for _, e := range effects {
		if e.Kind == EffectRecord {
			return e.Entry.Rule
		}
	}
	return ""
}

// compare tells in what a step is not what the table says.
func compare(op, got *Operation, ev *Event, want *ruling, effects []Effect) (wrong []string) {
	check := func(what string, is, should any, ok bool) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf("%s is %v, must be %v", what, is, should))
		}
	}
	equal := func(what string, is, should any) { check(what, is, should, is == should) }
	equal("state", got.State, want.state)
	check("bars", got.Barred, want.bars.list(), slices.Equal(got.Barred, want.bars.list()))
	equal("maybe_applied", got.MaybeApplied, want.maybe)
	equal("contradicted", got.Contradicted, want.contradicted)
	var held []HoldReason
	for _, h := range got.Holds {
		held = append(held, h.Reason)
	}
	check("holds", held, want.holds, slices.Equal(held, want.holds))
	reference, learnt, rejection := "", LearntFrom(""), ""
	if got.Result != nil {
		reference, learnt = got.Result.Reference, got.Result.LearntFrom
	}
	if got.Rejection != nil {
		rejection = got.Rejection.Code
	}
	equal("result", reference, want.result)
	if want.learnt != "" {
		check("learnt_from", learnt, want.learnt, learnt == want.learnt)
	}
	equal("rejection", rejection, want.rejection)
	equal("new_key_safe", got.NewKeySafe(), newKeySafe(op, ev, want, unfinished(got)))
	wrong = append(wrong, compareLease(op, got, want)...)
	wrong = append(wrong, compareDue(op, got, want)...)
	wrong = append(wrong, compareReviews(op, got, ev, want)...)
	added := 0
	if want.begun {
		added = 1
	}
	equal("attempts", len(got.Attempts), len(op.Attempts)+added)
	return append(wrong, compareTraces(op, got, ev, want, effects)...)
}

func compareLease(op, got *Operation, want *ruling) (wrong []string) {
	switch {
	case want.lease == kept && !reflect.DeepEqual(op.Lease, got.Lease):
		wrong = append(wrong, fmt.Sprintf("lease %v became %v", op.Lease, got.Lease))
	case want.lease == gone && got.Lease != nil:
		wrong = append(wrong, fmt.Sprintf("lease %v stands", got.Lease))
	case want.lease == given && (got.Lease == nil || !got.Lease.Until.Equal(noon.Add(time.Minute))):
		wrong = append(wrong, fmt.Sprintf("lease %v is not for a minute", got.Lease))
	}
	if got.Token < op.Token || got.Lease != nil && op.Lease == nil && got.Lease.Token != op.Token+1 {
		wrong = append(wrong, fmt.Sprintf("token %d follows %d", got.Token, op.Token))
	}
	return wrong
}

func compareDue(op, got *Operation, want *ruling) (wrong []string) {
	switch {
	case want.due == kept && !reflect.DeepEqual(op.Due, got.Due):
		wrong = append(wrong, fmt.Sprintf("due %v became %v", op.Due, got.Due))
	case want.due == gone && got.Due != nil:
		wrong = append(wrong, fmt.Sprintf("it is due %v", got.Due))
	case want.due == given && (got.Due == nil || !want.dueAt.IsZero() && !got.Due.Equal(want.dueAt)):
		wrong = append(wrong, fmt.Sprintf("it is due %v, must be %v", got.Due, want.dueAt))
	}
	return wrong
}

// compareReviews: the table's review opens and no other, but for planning,
// which opens one only where nothing but the operator is left (M16).
func compareReviews(op, got *Operation, ev *Event, want *ruling) (wrong []string) {
	var opened []Review
	for _, r := range got.Reviews {
		if r.ID == ev.ReviewID {
			opened = append(opened, r)
		}
		if r.Status == ReviewOpen && r.Owner == "" {
			wrong = append(wrong, "review "+r.ID+" has no owner")
		}
	}
	known := slices.ContainsFunc(op.Reviews, func(r Review) bool { return r.Reason == want.review && r.Status == ReviewOpen })
	switch {
	case len(opened) > 1:
		wrong = append(wrong, "one event opened two reviews of one id")
	case len(opened) == 0 && want.review != "" && !known:
		wrong = append(wrong, fmt.Sprintf("no review %s opened", want.review))
	case len(opened) == 1 && opened[0].Reason == ReviewOperatorOnly, len(opened) == 1 && opened[0].Reason == ReviewReconcileExhausted,
		len(opened) == 1 && opened[0].Reason == ReviewExistsElsewhere && want.review == "" && saidToExist(got):
		owned := len(op.OpenReviews())
		if mended(op, got) {
			owned--
		}
		if got.Due != nil || got.State != Uncertain || owned > 0 {
			wrong = append(wrong, fmt.Sprintf("review %s opened, though something is due or somebody has it", opened[0].Reason))
		}
	case len(opened) == 1 && opened[0].Reason != want.review:
		wrong = append(wrong, fmt.Sprintf("review %s opened, must be %q", opened[0].Reason, want.review))
	}
	// A step that a worker took shows that it has the contract again.
	if ev.Kind == EventBegun || ev.Kind == EventLookedUp {
		if got.Missing != (Budget{}) || op.Missing.Spent > 0 && got.openReview(ReviewUnsendable) != nil {
			wrong = append(wrong, "the contract is still missing")
		}
	}
	if got.Contradicted && !slices.ContainsFunc(got.Reviews, func(r Review) bool { return r.Status == ReviewOpen }) {
		wrong = append(wrong, "contradicted, and nobody has it")
	}
	return wrong
}

// facts are what is known of an operation, without leases and schedule. A clone
// has nil where there is nothing.
func facts(op *Operation) []any {
	o := op.Clone()
	accepted := Acceptance{}
	if o.Accepted != nil {
		accepted = *o.Accepted
		accepted.Polls = nil // how often it was asked is no fact about the effect
	}
	return []any{
		o.State, o.Barred, o.MaybeApplied, o.Contradicted, o.Holds, o.Reviews, o.Result, o.Rejection,
		o.KeyReleased, o.Attempts, o.Doubt, accepted, o.EffectSuggested,
	}
}

// compareTraces: the version rises with each change of fact and with no lease;
// the timeline has one line, the evidence is kept, and the outside is told.
func compareTraces(op, got *Operation, ev *Event, want *ruling, effects []Effect) (wrong []string) {
	changed := !reflect.DeepEqual(facts(op), facts(got))
	lease := ev.Kind == EventLeased || ev.Kind == EventRenewed || ev.Kind == EventHandedBack
	switch rise := got.Version - op.Version; {
	case changed && rise != 1:
		wrong = append(wrong, fmt.Sprintf("facts changed and the version rose by %d", rise))
	case lease && (rise != 0 || changed):
		wrong = append(wrong, "a lease is no change of fact")
	case rise != 0 && rise != 1:
		wrong = append(wrong, fmt.Sprintf("the version rose by %d", rise))
	}
	var entries, evidence, released int
	told := map[string]bool{}
	for _, e := range effects {
		switch e.Kind {
		case EffectRecord:
			entries++
			if en := e.Entry; en.From != op.State || en.To != got.State || en.Actor != ev.Actor || !en.At.Equal(noon) ||
				en.Event != ev.Kind || en.Version != got.Version || en.Evidence != ev.Evidence.ID || en.Detail == "" {
				wrong = append(wrong, fmt.Sprintf("timeline entry %+v", *en))
			}
		case EffectEvidence:
			evidence++
		case EffectReleaseClaim:
			released++
		case EffectNotify:
			told[e.Topic] = true
		case EffectPauseConnection: // it leaves no trace on the operation
		}
	}
	if entries > 1 || changed && entries != 1 {
		wrong = append(wrong, fmt.Sprintf("%d lines on the timeline", entries))
	}
	if evidence != 1 {
		wrong = append(wrong, fmt.Sprintf("evidence recorded %d times", evidence))
	}
	if (released == 1) != want.released || got.KeyReleased != want.released {
		wrong = append(wrong, "the claim was released, or was not")
	}
	// Ordinary acceptance is told of when its agreed time is over, not before.
	if news := got.State != op.State || awaited(op) && !awaited(got) && got.Accepted != nil && got.Accepted.Over; news && !awaited(got) != told["operation."+string(got.State)] {
		wrong = append(wrong, "of the new state somebody is told too early, or nobody at all")
	}
	if got.Contradicted && !op.Contradicted && !told["operation.contradicted"] {
		wrong = append(wrong, "nobody is told of the contradiction")
	}
	return wrong
}

// TestRowsAreWellMade: ids are unique and name their kind, every row says what
// it does or refuses, and the words of the conditions make sense.
func TestRowsAreWellMade(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, row := range Transitions() {
		if seen[row.ID] || !strings.Contains(row.ID, "/") {
			t.Errorf("row id %q is malformed or used twice", row.ID)
		}
		seen[row.ID] = true
		switch {
		case len(row.From) == 0 || !slices.Contains(EventKinds(), row.On):
			t.Errorf("%s: from %v on %q", row.ID, row.From, row.On)
		case (row.Refusal == "") == (row.Does == ""):
			t.Errorf("%s does %q and refuses as %q", row.ID, row.Does, row.Refusal)
		case row.Refusal != "" && (row.To != "" || row.act != nil || row.Quiet):
			t.Errorf("%s refuses and does something", row.ID)
		case row.Silent && !row.Quiet:
			t.Errorf("%s changes facts and leaves no line", row.ID)
		case row.To != "" && row.Quiet:
			t.Errorf("%s changes the state quietly", row.ID)
		case row.guard != nil && row.When == "":
			t.Errorf("%s has a condition without words", row.ID)
		}
		for _, from := range row.From {
			if from.Terminal() && row.To != "" && row.To != from && row.On != EventResolved {
				t.Errorf("%s moves a %s operation on %s (M20)", row.ID, from, row.On)
			}
			if row.To == Attempting && row.On != EventBegun {
				t.Errorf("%s begins an attempt on %s", row.ID, row.On)
			}
		}
	}
}

// TestWhatIsNotInTheTable lists every pair of state and event without a row; no
// variant of such an event changes anything. A pair that comes to have a row, or
// loses its last, changes this list.
//
// Proves: M19a, M20
func TestWhatIsNotInTheTable(t *testing.T) {
	t.Parallel()
	var absent []string
	for _, state := range States() {
		for _, kind := range EventKinds() {
			if !slices.ContainsFunc(Transitions(), func(r Transition) bool { return r.On == kind && slices.Contains(r.From, state) }) {
				absent = append(absent, string(state)+" "+string(kind))
			}
		}
	}
	want := []string{
		"attempting hold_placed", "uncertain hold_placed",
		"confirmed lease_expired", "confirmed reconsidered", "confirmed deadline_passed", "confirmed hold_placed",
		"rejected lease_expired", "rejected reconsidered", "rejected deadline_passed", "rejected hold_placed",
		"canceled lease_expired", "canceled reconsidered", "canceled deadline_passed", "canceled hold_placed",
	}
	if !slices.Equal(absent, want) {
		t.Errorf("pairs without a row:\n%s\nexpected:\n%s", strings.Join(absent, "\n"), strings.Join(want, "\n"))
	}
	for _, state := range States() {
		s := &scene{state: state, attempts: shapes(state)[0], profile: profiles(state)[0]}
		op := s.build()
		variants(s, &op, func(ev Event) {
			if !slices.Contains(want, string(state)+" "+string(ev.Kind)) {
				return
			}
			got, effects, err := Apply(op, ev, noon)
			if CodeOf(err) != CodeNotAllowed || len(effects) > 0 || !reflect.DeepEqual(got, op) {
				t.Errorf("%s on %s: %v, %d effects", ev.Kind, state, err, len(effects))
			}
		})
	}
}
