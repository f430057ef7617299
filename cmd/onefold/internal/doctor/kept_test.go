package doctor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/cmd/onefold/internal/doctor"
	"github.com/onefold-dev/onefold/sqlite"
)

// archive is a store with an operation of each fate, and nothing missing.
type archive struct {
	*clinic
	done, doubt, waits, released onefold.Operation
}

func newArchive(t *testing.T) *archive {
	t.Helper()
	a := &archive{clinic: newClinic(t)}
	a.running()
	a.done = a.Ended(t, a.Admit(t, "done").ID, onefold.OutcomeConfirmed, "BILL-1")
	a.released = a.Admit(t, "let go")
	ev := a.Event(onefold.EventCanceled, onefold.Actor{Kind: onefold.ActorPrincipal, Name: "ada"})
	ev.Cancel = &onefold.Cancellation{Release: true}
	a.released = a.Step(t, a.released.ID, ev).Operation
	a.doubt = a.Ended(t, a.Admit(t, "doubt").ID, onefold.OutcomeUnknown, "")
	a.WaitFor(*a.doubt.Due)
	// A look-up that learns nothing changes nothing, and yet is told and evidenced.
	a.doubt = a.Step(t, a.doubt.ID, a.Lease()).Operation
	look := a.Event(onefold.EventLookedUp, a.Lease().Actor)
	look.Lookup = &onefold.LookupOutcome{Token: a.doubt.Token, Began: a.Clock.Now(), Result: onefold.LookupInconclusive}
	look.Evidence = &onefold.Evidence{
		ID: a.IDs.New(onefold.PrefixEvidence, a.Clock.Now()), Kind: onefold.EvidenceLookup, Asserts: onefold.AssertsNothing,
	}
	a.doubt = a.Step(t, a.doubt.ID, look).Operation
	a.waits = a.Admit(t, "waits")
	return a
}

// of is a condition on a table's column that names an operation.
func of(op *onefold.Operation) string {
	return fmt.Sprintf("operation = (SELECT num FROM operation WHERE id = '%s')", op.ID)
}

// TestRowsThatAreGoneAreMissed deletes rows behind the store's back, from every
// table that an operation has rows in. Each is missed by the check that speaks of
// it, with the operation's name, and by no other.
//
// Proves: I2, I7, I13, M2a, M28
func TestRowsThatAreGoneAreMissed(t *testing.T) {
	t.Parallel()
	healthy := newArchive(t)
	healthy.finds(nil)
	for name, c := range map[string]struct {
		do    func(a *archive) []string
		check string
		// found is a piece of what is told; of names the operation.
		found string
		of    func(a *archive) string
	}{
		"the claim of a settled operation": {func(a *archive) []string {
			return []string{"DROP TRIGGER claim_is_not_lost", "DELETE FROM claim WHERE " + of(&a.done)}
		}, "claims", "nothing holds its key", func(a *archive) string { return a.done.ID }},
		"the claim of an open one": {func(a *archive) []string {
			return []string{"DROP TRIGGER claim_is_not_lost", "DELETE FROM claim WHERE " + of(&a.waits)}
		}, "claims", "nothing holds its key", func(a *archive) string { return a.waits.ID }},
		"the word of a key that was let go": {func(a *archive) []string {
			return []string{"DELETE FROM released_claim"}
		}, "claims", "tells that it was let go", func(a *archive) string { return a.released.ID }},
		"the approved request": {func(a *archive) []string {
			return []string{"DELETE FROM payload WHERE " + of(&a.waits)}
		}, "payloads", "its approved request is gone", func(a *archive) string { return a.waits.ID }},
		"the approved request of a settled one": {func(a *archive) []string {
			return []string{"DELETE FROM payload WHERE " + of(&a.done)}
		}, "payloads", "its approved request is gone", func(a *archive) string { return a.done.ID }},
		"the outgoing request": {func(a *archive) []string {
			return []string{"DELETE FROM frozen WHERE " + of(&a.doubt)}
		}, "outgoing_requests", "the request that it sent is gone", func(a *archive) string { return a.doubt.ID }},
		"another outgoing request": {func(a *archive) []string {
			return []string{"DROP TRIGGER frozen_is_fixed", "UPDATE frozen SET digest = 'd2' WHERE " + of(&a.done)}
		}, "outgoing_requests", "is not the one that its attempts began with", func(a *archive) string { return a.done.ID }},
		"the evidence of an answer": {func(a *archive) []string {
			return []string{"DELETE FROM evidence WHERE " + of(&a.done)}
		}, "evidence", "is named and gone", func(a *archive) string { return a.done.ID + " (" + a.done.Result.Evidence }},
		"the evidence of a look-up that learnt nothing": {func(a *archive) []string {
			return []string{"DELETE FROM evidence WHERE kind = 'lookup'"}
		}, "evidence", "is named and gone", func(a *archive) string { return a.doubt.ID }},
		"a whole timeline": {func(a *archive) []string {
			return []string{"DELETE FROM timeline WHERE " + of(&a.done)}
		}, "timelines", "does not begin with its admission; no line tells of ", func(a *archive) string { return a.done.ID }},
		"the line of the admission": {func(a *archive) []string {
			return []string{"DELETE FROM timeline WHERE event = 'admitted' AND " + of(&a.waits)}
		}, "timelines", "does not begin with its admission", func(a *archive) string { return a.waits.ID }},
		"the line of a begin": {func(a *archive) []string {
			return []string{"DELETE FROM timeline WHERE event = 'begun' AND " + of(&a.done)}
		}, "timelines", "no line tells that ", func(a *archive) string { return a.done.ID }},
		"the last line": {func(a *archive) []string {
			return []string{"DELETE FROM timeline WHERE seq = (SELECT max(seq) FROM timeline WHERE " + of(&a.done) + ")"}
		}, "timelines", "1 of its 3 changes have no line, the first is the one to version 3", func(a *archive) string { return a.done.ID }},
		"the line of a look-up that learnt nothing": {func(a *archive) []string {
			return []string{"DELETE FROM timeline WHERE event = 'looked_up'"}
		}, "timelines", "no line tells of ev_", func(a *archive) string { return a.doubt.ID }},
		"a standing that went back": {func(a *archive) []string {
			return []string{"UPDATE finished_operation SET standing = json_set(standing, '$.version', 2), version = 2 WHERE " + of(&a.done)}
		}, "timelines", "its newest line is of version 3, its standing of 2", func(a *archive) string { return a.done.ID }},
		"a reference that is not the recorded one": {func(a *archive) []string {
			return []string{"UPDATE finished_operation SET result_reference = 'OTHER' WHERE " + of(&a.done)}
		}, "standings", "its column result_reference is not what its standing says", func(a *archive) string { return a.done.ID }},
		"a finished standing that nobody can read": {func(a *archive) []string {
			return []string{"UPDATE finished_operation SET standing = '' WHERE " + of(&a.done)}
		}, "standings", "its standing cannot be read", func(a *archive) string { return a.done.ID }},
		"another state, version and time": {func(a *archive) []string {
			return []string{"UPDATE finished_operation SET state = 'rejected', result_reference = NULL, version = 9, settled_at = 1 WHERE " + of(&a.done)}
		}, "standings", "its column state is not what its standing says", func(a *archive) string { return a.done.ID }},
		"another workspace's list": {func(a *archive) []string {
			return []string{"UPDATE finished_operation SET workspace = 'umbrella' WHERE " + of(&a.released)}
		}, "standings", "its workspace or time is not that of its admission", func(a *archive) string { return a.released.ID }},
		"a finished standing that breaks the law": {func(a *archive) []string {
			return []string{"UPDATE finished_operation SET standing = json_remove(standing, '$.result') WHERE " + of(&a.done)}
		}, "standings", "confirmed", func(a *archive) string { return a.done.ID }},
		"an operation but for its standing": {func(a *archive) []string {
			return []string{"DELETE FROM operation WHERE id = '" + a.done.ID + "'"}
		}, "admitted", "finished operations are gone but for their standing", func(*archive) string { return "row 1" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArchive(t)
			a.sql(c.do(a)...)
			found := a.finds(failed(c.check))[c.check]
			if !strings.Contains(found.Found, c.found) || !strings.Contains(found.Found, c.of(a)) || !strings.HasPrefix(found.Found, "1 ") {
				t.Errorf("it says %s", found.Found)
			}
			if !strings.Contains(found.Do, "keep a copy of the file") {
				t.Errorf("and to do %s", found.Do)
			}
		})
	}
}

// TestASearchThatIsNotOverSaysHowFarItCame: what was not looked at is never called
// whole, and what was found until then is told.
func TestASearchThatIsNotOverSaysHowFarItCame(t *testing.T) {
	t.Parallel()
	h := &hasty{gap: "op_1", seen: sqlite.Searched{Seen: 500}}
	if have := h.examine(t); have["payloads"].Status != doctor.Failed || have["claims"].Status != doctor.OK ||
		!strings.Contains(have["payloads"].Found, "1 of the newest 500 operations (the time was over) have no approved request: op_1") ||
		!strings.Contains(have["claims"].Found, "the newest 500 operations (the time was over)") {
		t.Errorf("after 500: %+v, %+v", have["payloads"], have["claims"])
	}
	h = &hasty{}
	if have := h.examine(t); have["payloads"].Status != doctor.NotChecked || !strings.Contains(have["payloads"].Do, "--within") {
		t.Errorf("after none: %+v", have["payloads"])
	}
}

// hasty is a store whose search for gaps is cut off.
type hasty struct {
	doctor.Health
	gap  string
	seen sqlite.Searched
}

func (h *hasty) EachKept(_ context.Context, visit func(*onefold.Operation, []sqlite.Gap)) (sqlite.Searched, error) {
	if h.gap != "" {
		op := &onefold.Operation{Admitted: onefold.Admitted{ID: h.gap, FingerprintKey: "k1"}}
		visit(op, []sqlite.Gap{{Kind: sqlite.GapPayload, Text: "its approved request is gone"}})
	}
	return h.seen, nil
}

func (h *hasty) examine(t *testing.T) map[string]doctor.Check {
	t.Helper()
	c := newClinic(t)
	i, err := sqlite.Inspect(context.Background(), c.opts)
	if err != nil {
		t.Fatal(err)
	}
	h.Health = i
	byName := map[string]doctor.Check{}
	for _, check := range doctor.Examine(context.Background(), h, c.options).Checks {
		byName[check.Name] = check
	}
	if err := i.Close(); err != nil {
		t.Error(err)
	}
	return byName
}
