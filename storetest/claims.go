package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onefold-dev/onefold"
)

func claimStories() []story {
	return []story{
		{"what is admitted comes back", admittedComesBack},
		{"many callers with one key", manyCallersOneKey},
		{"a repeat finds the original and writes nothing", repeatWritesNothing},
		{"keys are apart by workspace and capability", keysAreApart},
		{"a released key admits again", releasedKey},
		{"a kept key stays bound", keptKey},
		{"a taken identity is refused and leaves nothing", identityTaken},
		{"an identity is free again with its key", identityFreedByRelease},
		{"unresolved operations are capped", unresolvedCap},
		{"notes are kept and bounded", notesBounded},
		{"notes are of the version of their moment", notesAsOfNow},
		{"nothing half is admitted", nothingHalf},
	}
}

func key(k string) onefold.ClaimKey {
	return onefold.ClaimKey{Workspace: Workspace, Capability: Capability, Key: k}
}

// Proves: I3, I13, M1, M4
func admittedComesBack(t *testing.T, s *Subject) {
	ctx := context.Background()
	revision, day := "rev 7", 24*time.Hour
	later := s.Clock.Now().Add(day).Add(123456789 * time.Nanosecond)
	far := time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)
	a := s.Admission("all of it", func(o *onefold.Operation) {
		o.Revision, o.NotBefore, o.StartDeadline = &revision, &later, &far
		o.Metadata = json.RawMessage(`{"b": 1, "a": "ß"}`)
		o.IdentityCounter, o.Due = 2, &later
	})
	stored, created, err := s.Store.Admit(ctx, a)
	noError(t, err)
	if !created {
		t.Fatal("not created")
	}
	for name, got := range map[string]func() (onefold.Operation, error){
		"admitted": func() (onefold.Operation, error) { return stored, nil },
		"by id":    func() (onefold.Operation, error) { return s.Store.Operation(ctx, Workspace, stored.ID) },
		"by claim": func() (onefold.Operation, error) {
			op, found, err := s.Store.Claimed(ctx, key("all of it"))
			if !found {
				t.Error("the claim is not found")
			}
			return op, err
		},
	} {
		op, err := got()
		noError(t, err)
		if diff := cmp.Diff(a.Operation, op); diff != "" {
			t.Errorf("%s differs (-admitted +read):\n%s", name, diff)
		}
	}
	request, err := s.Store.Request(ctx, stored.ID)
	noError(t, err)
	if !bytes.Equal(request, a.Request) {
		t.Errorf("the request came back as %s", request)
	}
	entries, err := s.Store.Timeline(ctx, stored.ID, 0, 10)
	noError(t, err)
	want := a.Entry
	if len(entries) != 1 || entries[0].Seq <= 0 {
		t.Fatalf("the timeline is %v", entries)
	}
	want.Seq = entries[0].Seq
	if diff := cmp.Diff(want, entries[0]); diff != "" {
		t.Errorf("the first entry differs (-given +read):\n%s", diff)
	}
}

// Proves: I2, I3
func manyCallersOneKey(t *testing.T, s *Subject) {
	const callers = 200
	var created atomic.Int64
	var group sync.WaitGroup
	ids := make([]string, callers)
	start := make(chan struct{})
	for i := range callers {
		a := s.Admission("one")
		group.Go(func() {
			<-start
			op, fresh, err := s.Store.Admit(context.Background(), a)
			if err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
			if fresh {
				created.Add(1)
				if op.ID != a.Operation.ID {
					t.Errorf("caller %d created %s and was given %s", i, a.Operation.ID, op.ID)
				}
			}
			ids[i] = op.ID
		})
	}
	close(start)
	group.Wait()
	if created.Load() != 1 {
		t.Errorf("%d callers created an operation", created.Load())
	}
	for i, id := range ids {
		if id != ids[0] {
			t.Fatalf("caller %d was given %s, caller 0 %s", i, id, ids[0])
		}
	}
	all, _, err := s.Store.List(context.Background(), onefold.Query{Workspace: Workspace, Limit: 200})
	noError(t, err)
	if len(all) != 1 {
		t.Errorf("%d operations are stored", len(all))
	}
}

// Proves: I3a, I4, M22
func repeatWritesNothing(t *testing.T, s *Subject) {
	ctx := context.Background()
	op := s.Admit(t, "again")
	op = s.Ended(t, op.ID, onefold.OutcomeConfirmed, "B-1")
	before, err := s.Store.Changes(ctx, Workspace, 0, 1000)
	noError(t, err)
	for range 3 {
		again, created, err := s.Store.Admit(ctx, s.Admission("again"))
		noError(t, err)
		if created {
			t.Fatal("a repeat created an operation")
		}
		if diff := cmp.Diff(op, again); diff != "" {
			t.Fatalf("the repeat was answered with something else:\n%s", diff)
		}
	}
	after, err := s.Store.Changes(ctx, Workspace, 0, 1000)
	noError(t, err)
	if len(after) != len(before) {
		t.Errorf("repeats added %d entries", len(after)-len(before))
	}
}

// Proves: I2, I5
func keysAreApart(t *testing.T, s *Subject) {
	ctx := context.Background()
	here := s.Admit(t, "k")
	there := s.Admit(t, "k", func(o *onefold.Operation) { o.Workspace = "umbrella" })
	other := s.Admit(t, "k", func(o *onefold.Operation) { o.Capability = "orders.create" })
	upper := s.Admit(t, "K")
	// Parts that join to the same text are still different parts.
	joined := s.Admit(t, "eK", func(o *onefold.Operation) { o.Capability = "bills.creat" })
	seen := map[string]bool{}
	for _, op := range []onefold.Operation{here, there, other, upper, joined} {
		found, ok, err := s.Store.Claimed(ctx, onefold.ClaimKey{Workspace: op.Workspace, Capability: op.Capability, Key: op.Key})
		noError(t, err)
		if !ok || found.ID != op.ID || seen[found.ID] {
			t.Errorf("the key %q of %s %s finds %s", op.Key, op.Workspace, op.Capability, found.ID)
		}
		seen[found.ID] = true
	}
	if _, found, err := s.Store.Claimed(ctx, onefold.ClaimKey{Workspace: "nobody", Capability: Capability, Key: "k"}); err != nil || found {
		t.Errorf("a workspace without operations has the key: found %v, error %v", found, err)
	}
}

func (s *Subject) cancel(release bool) onefold.Event {
	ev := s.Event(onefold.EventCanceled, Caller())
	ev.Cancel = &onefold.Cancellation{Release: release}
	return ev
}

// Proves: M24, I7
func releasedKey(t *testing.T, s *Subject) {
	ctx := context.Background()
	first := s.Admit(t, "reused")
	gone := s.Step(t, first.ID, s.cancel(true)).Operation
	if gone.State != onefold.Canceled || !gone.KeyReleased {
		t.Fatalf("the operation is %s, key released: %v", gone.State, gone.KeyReleased)
	}
	if _, found, err := s.Store.Claimed(ctx, key("reused")); err != nil || found {
		t.Fatalf("the released key is still held: found %v, error %v", found, err)
	}
	second := s.Admit(t, "reused")
	if holder, found, err := s.Store.Claimed(ctx, key("reused")); err != nil || !found || holder.ID != second.ID {
		t.Fatalf("the key is held by %q, error %v", holder.ID, err)
	}
	kept, err := s.Store.Operation(ctx, Workspace, first.ID)
	noError(t, err)
	if diff := cmp.Diff(gone, kept); diff != "" {
		t.Errorf("the first operation's record changed:\n%s", diff)
	}
	both, _, err := s.Store.List(ctx, onefold.Query{Workspace: Workspace, Key: "reused"})
	noError(t, err)
	if diff := cmp.Diff([]string{second.ID, first.ID}, idsOf(both)); diff != "" {
		t.Errorf("the list by key differs:\n%s", diff)
	}
	s.Step(t, second.ID, s.cancel(true))
	s.Admit(t, "reused")
}

// Proves: M24, I7
func keptKey(t *testing.T, s *Subject) {
	ctx := context.Background()
	op := s.Admit(t, "kept")
	s.Step(t, op.ID, s.cancel(false))
	again, created, err := s.Store.Admit(ctx, s.Admission("kept"))
	noError(t, err)
	if created || again.ID != op.ID || again.State != onefold.Canceled {
		t.Errorf("created %v, %s is %s", created, again.ID, again.State)
	}
	tried := s.Admit(t, "tried")
	tried = s.Ended(t, tried.ID, onefold.OutcomeNotSent, "")
	s.Step(t, tried.ID, s.cancel(true))
	if again, created, err := s.Store.Admit(ctx, s.Admission("tried")); err != nil || created || again.ID != tried.ID {
		t.Errorf("an attempted operation's key was let go: created %v, error %v", created, err)
	}
}

// Proves: I13a
func identityTaken(t *testing.T, s *Subject) {
	ctx := context.Background()
	first := s.Admit(t, "first")
	for name, take := range map[string]func(*onefold.Operation){
		"identity":  func(o *onefold.Operation) { o.Identity = first.Identity },
		"reference": func(o *onefold.Operation) { o.Reference = first.Reference },
	} {
		a := s.Admission("second by "+name, take)
		if _, _, err := s.Store.Admit(ctx, a); err == nil {
			t.Fatalf("the taken %s was admitted", name)
		} else {
			wantError(t, err, onefold.ErrIdentityTaken)
		}
		if _, found, err := s.Store.Claimed(ctx, key("second by "+name)); err != nil || found {
			t.Errorf("the refused admission left a claim: error %v", err)
		}
		_, err := s.Store.Operation(ctx, Workspace, a.Operation.ID)
		wantError(t, err, onefold.ErrOperationUnknown)
		s.Admit(t, "elsewhere by "+name, take, func(o *onefold.Operation) { o.Connection = "other by " + name })
	}
	// Derived again with the next counter, it is admitted (I13a).
	s.Admit(t, "second by identity", func(o *onefold.Operation) { o.IdentityCounter = 1 })
	// A target without identity or reference leaves them empty: empty is not taken.
	for i := range 2 {
		s.Admit(t, fmt.Sprint("empty ", i), func(o *onefold.Operation) { o.Identity, o.Reference = "", "" })
	}
}

// Proves: I13a, I7
func identityFreedByRelease(t *testing.T, s *Subject) {
	ctx := context.Background()
	same := func(o *onefold.Operation) { o.Identity, o.Reference = "same identity", "same reference" }
	first := s.Admit(t, "k", same)
	s.Step(t, first.ID, s.cancel(true))
	second := s.Admit(t, "k", same)
	for name, q := range map[string]onefold.Query{
		"identity": {Workspace: Workspace, Identity: "same identity"}, "reference": {Workspace: Workspace, Reference: "same reference"},
	} {
		both, _, err := s.Store.List(ctx, q)
		noError(t, err)
		if diff := cmp.Diff([]string{second.ID, first.ID}, idsOf(both)); diff != "" {
			t.Errorf("the list by %s differs:\n%s", name, diff)
		}
	}
}

// Proves: M16a, I3a
func unresolvedCap(t *testing.T, s *Subject) {
	ctx := context.Background()
	admit := func(k, connection string) error {
		a := s.Admission(k, func(o *onefold.Operation) { o.Connection = connection })
		a.UnresolvedLimit = 2
		_, _, err := s.Store.Admit(ctx, a)
		return err
	}
	var doubtful []string
	for _, k := range []string{"a", "b"} {
		op := s.Admit(t, k)
		doubtful = append(doubtful, s.Ended(t, op.ID, onefold.OutcomeUnknown, "").ID)
	}
	wantError(t, admit("c", Connection), onefold.ErrAdmissionLimited)
	noError(t, admit("a", Connection)) // a repeat meets no limit
	noError(t, admit("c", "another"))
	if _, found, err := s.Store.Claimed(ctx, key("d")); err != nil || found {
		t.Errorf("found %v, error %v", found, err)
	}
	// What the target merely accepted does not count, nor what is resolved.
	resolved := s.Event(onefold.EventResolved, Caller())
	resolved.Resolution = &onefold.Resolution{Outcome: onefold.ResolveConfirmed, Reference: "B-9"}
	s.Step(t, doubtful[0], resolved)
	noError(t, admit("d", Connection))
	accepted, found, err := s.Store.Claimed(ctx, key("d"))
	noError(t, err)
	if !found {
		t.Fatal("the admitted operation is not found")
	}
	s.Ended(t, accepted.ID, onefold.OutcomeAccepted, "")
	noError(t, admit("e", Connection))
	stats, err := s.Store.Stats(ctx, Workspace)
	noError(t, err)
	if stats.Unresolved[Connection] != 1 {
		t.Errorf("%d unresolved are counted, want 1", stats.Unresolved[Connection])
	}
	// From the end of its agreed time it counts: who looks after what is overdue
	// finds it, and the store counts on.
	over := s.Event(onefold.EventAgreedTimeOver, Worker())
	_, err = s.Store.Step(ctx, accepted.ID, over, 0)
	wantError(t, err, &onefold.Error{Code: onefold.CodeNotDue})
	accepted, err = s.Store.Operation(ctx, "", accepted.ID)
	noError(t, err)
	s.WaitFor(accepted.Accepted.Until)
	overdue, err := s.Store.Overdue(ctx, s.Clock.Now(), 100)
	noError(t, err)
	if !slices.Contains(idsOf(overdue), accepted.ID) {
		t.Error("nobody is told that the agreed time is over")
	}
	s.Step(t, accepted.ID, over)
	wantError(t, admit("f", Connection), onefold.ErrAdmissionLimited)
	stats, err = s.Store.Stats(ctx, Workspace)
	noError(t, err)
	if stats.Unresolved[Connection] != 2 {
		t.Errorf("%d unresolved are counted, want 2", stats.Unresolved[Connection])
	}
}

// A note stands at its place among what happens: its version and state are those that
// the operation has when it is written, whatever its writer had read.
//
// Proves: M5a, M22
func notesAsOfNow(t *testing.T, s *Subject) {
	ctx := context.Background()
	read := s.Admit(t, "noted")
	note := onefold.Entry{
		Operation: read.ID, Actor: Caller(), Event: onefold.EventNoted, From: read.State, To: read.State, Version: read.Version,
	}
	is := []onefold.Operation{read}
	is = append(is, s.Attempting(t, read.ID))
	noError(t, s.Store.Note(ctx, note))
	answered := s.Step(t, read.ID, s.Answer(last(&is[1]).ID, is[1].Token, onefold.OutcomeConfirmed, "B-1")).Operation
	noError(t, s.Store.Note(ctx, note))
	changes, err := s.Store.Changes(ctx, "", 0, 100)
	noError(t, err)
	version, notes := int64(0), []onefold.Entry{}
	for _, e := range changes {
		if e.Version < version {
			t.Errorf("the version goes back from %d to %d with %s", version, e.Version, e.Event)
		}
		if version = e.Version; e.Event == onefold.EventNoted {
			notes = append(notes, e)
		}
	}
	for i, want := range []onefold.Operation{is[1], answered} {
		if n := notes[i]; n.Version != want.Version || n.From != want.State || n.To != want.State {
			t.Errorf("note %d is of version %d, %s to %s; the operation had %d, %s", i, n.Version, n.From, n.To, want.Version, want.State)
		}
	}
}

// Proves: M22
func notesBounded(t *testing.T, s *Subject) {
	ctx := context.Background()
	op := s.Admit(t, "noted")
	note := onefold.Entry{
		Operation: op.ID, Actor: Caller(), Event: onefold.EventNoted, Detail: "refused: another request under this key",
		Pointers: []string{"/request/amount", "/request/a~1b"}, Version: op.Version,
	}
	for range onefold.MaxNotes + 20 {
		noError(t, s.Store.Note(ctx, note))
	}
	entries, err := s.Store.Timeline(ctx, op.ID, 0, 1000)
	noError(t, err)
	if len(entries) != onefold.MaxNotes+1 {
		t.Errorf("the timeline has %d entries, want %d notes and the admission", len(entries), onefold.MaxNotes)
	}
	got := entries[len(entries)-1]
	note.Seq, note.At, note.From, note.To = got.Seq, s.Clock.Now(), op.State, op.State
	if diff := cmp.Diff(note, got); diff != "" {
		t.Errorf("a note differs (-given +read):\n%s", diff)
	}
	unchanged, err := s.Store.Operation(ctx, Workspace, op.ID)
	noError(t, err)
	if diff := cmp.Diff(op, unchanged); diff != "" {
		t.Errorf("notes changed the operation:\n%s", diff)
	}
	note.Operation = s.IDs.New(onefold.PrefixOperation, s.Clock.Now())
	wantError(t, s.Store.Note(ctx, note), onefold.ErrOperationUnknown)
}

// Proves: I3
func nothingHalf(t *testing.T, s *Subject) {
	ctx := context.Background()
	first := s.Admit(t, "first")
	for name, change := range map[string]func(*onefold.Operation){
		"the id of another operation": func(o *onefold.Operation) { o.ID = first.ID },
		"a state that is not prepared": func(o *onefold.Operation) {
			now := s.Clock.Now()
			o.State, o.Due, o.Next, o.SettledAt = onefold.Canceled, nil, onefold.NextNone, &now
		},
		"neither due nor held": func(o *onefold.Operation) { o.Due = nil },
		"no key":               func(o *onefold.Operation) { o.Key = "" },
	} {
		a := s.Admission("half", change)
		if _, created, err := s.Store.Admit(ctx, a); err == nil || created {
			t.Errorf("%s: admitted", name)
		}
		if _, found, err := s.Store.Claimed(ctx, key("half")); err != nil || found {
			t.Errorf("%s: a claim is left, error %v", name, err)
		}
	}
	all, _, err := s.Store.List(ctx, onefold.Query{Workspace: Workspace})
	noError(t, err)
	if diff := cmp.Diff([]string{first.ID}, idsOf(all)); diff != "" {
		t.Errorf("something is left:\n%s", diff)
	}
	if changes, err := s.Store.Changes(ctx, Workspace, 0, 10); err != nil || len(changes) != 1 {
		t.Errorf("the timeline has %d entries, error %v", len(changes), err)
	}
	s.Admit(t, "half")
}
