package storetest

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onefold-dev/onefold"
)

func historyStories() []story {
	return []story{
		{"the timeline tells every change in order", timelineOrder},
		{"evidence is kept as it was given", evidenceKept},
		{"an event delivered again changes nothing", eventDeliveredAgain},
		{"changes come in commit order and none is missed", changesInOrder},
		{"workspaces do not see each other", workspacesApart},
		{"everything is there after reopening", reopened},
	}
}

// Proves: M28
func timelineOrder(t *testing.T, s *Subject) {
	ctx := context.Background()
	op := s.Admit(t, "k")
	other := s.Admit(t, "other")
	s.Clock.Advance(time.Second)
	op = s.Ended(t, op.ID, onefold.OutcomeUnknown, "")
	s.Ended(t, other.ID, onefold.OutcomeConfirmed, "B-0")
	s.Clock.Advance(time.Second)
	resolve := s.Event(onefold.EventResolved, Caller())
	resolve.Resolution, resolve.Reason = &onefold.Resolution{Outcome: onefold.ResolveConfirmed, Reference: "B-1"}, "seen in the books"
	s.Step(t, op.ID, resolve)
	entries, err := s.Store.Timeline(ctx, op.ID, 0, 100)
	noError(t, err)
	type line struct {
		Event    onefold.EventKind
		From, To onefold.State
		Actor    string
		Reason   string
	}
	var got []line
	seq := int64(0)
	for _, e := range entries {
		if e.Seq <= seq || e.Operation != op.ID || e.At.IsZero() {
			t.Errorf("the entry %+v stands after %d", e, seq)
		}
		seq = e.Seq
		got = append(got, line{e.Event, e.From, e.To, e.Actor.Name, e.Reason})
	}
	want := []line{
		{onefold.EventAdmitted, "", onefold.Prepared, "ada", ""},
		{onefold.EventBegun, onefold.Prepared, onefold.Attempting, "w1", ""},
		{onefold.EventAnswered, onefold.Attempting, onefold.Uncertain, "w1", ""},
		{onefold.EventResolved, onefold.Uncertain, onefold.Confirmed, "ada", "seen in the books"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the timeline differs:\n%s", diff)
	}
	// Page by page it reads the same.
	var paged []onefold.Entry
	for after := int64(0); ; {
		page, err := s.Store.Timeline(ctx, op.ID, after, 1)
		noError(t, err)
		if len(page) == 0 {
			break
		}
		paged, after = append(paged, page...), page[0].Seq
	}
	if diff := cmp.Diff(entries, paged); diff != "" {
		t.Errorf("page by page the timeline differs:\n%s", diff)
	}
}

// Proves: M8, M19, M28
func evidenceKept(t *testing.T, s *Subject) {
	ctx := context.Background()
	op := s.Admit(t, "k")
	begun := s.Attempting(t, op.ID)
	occurred := s.Clock.Now().Add(-time.Hour)
	var given []onefold.Evidence
	for i := range 5 {
		ev := s.Event(onefold.EventObserved, Caller())
		ev.Observation = &onefold.Observation{Asserts: onefold.AssertsNothing}
		ev.Evidence = &onefold.Evidence{
			ID: s.IDs.New(onefold.PrefixEvidence, s.Clock.Now()), Attempt: begun.Attempts[0].ID, Kind: onefold.EvidenceEvent,
			Asserts: onefold.AssertsNothing, Source: "erp", SourceEventID: strconv.Itoa(i), Rule: "r", Detail: "“quoted”\x00",
			Status: 202, Headers: map[string]string{"Date": "x", "Retry-After": "1"}, Excerpt: "<html>", Digest: "ab",
			BytesOut: 1 << 40, BytesIn: 7, Took: 3 * time.Millisecond, OccurredAt: &occurred,
			Mismatches: []onefold.Mismatch{{Pointer: "/amount", Approved: "12.50", Found: `"12,50"`}},
		}
		s.Clock.Advance(time.Millisecond)
		done := s.Step(t, op.ID, ev)
		e := *ev.Evidence
		e.Operation, e.SeenAt, e.RecordedBy = op.ID, done.At, Caller()
		given = append(given, e)
	}
	all, err := s.Store.EvidenceOf(ctx, op.ID, "", 100)
	noError(t, err)
	if diff := cmp.Diff(given, all); diff != "" {
		t.Errorf("the evidence differs (-given +read):\n%s", diff)
	}
	rest, err := s.Store.EvidenceOf(ctx, op.ID, given[1].ID, 2)
	noError(t, err)
	if diff := cmp.Diff(given[2:4], rest); diff != "" {
		t.Errorf("the second page differs:\n%s", diff)
	}
}

// A reader that follows the changes while many write sees every entry once and
// never one with a number below what it has seen.
//
// Proves: M28
func changesInOrder(t *testing.T, s *Subject) {
	ctx := context.Background()
	const writers, each = 8, 15
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := range each {
				op, _, err := s.Store.Admit(ctx, s.Admission(fmt.Sprintf("k-%d-%d", w, i)))
				if err == nil {
					_, err = s.Store.Step(ctx, op.ID, s.cancel(false), 0)
				}
				if err != nil {
					t.Errorf("writer %d: %v", w, err)
				}
			}
		})
	}
	seen := map[string]int{}
	follow := func(after int64) int64 {
		page, err := s.Store.Changes(ctx, Workspace, after, 50)
		noError(t, err)
		for _, e := range page {
			if e.Seq <= after {
				t.Errorf("the entry %d came after %d", e.Seq, after)
			}
			after = e.Seq
			seen[e.Operation]++
		}
		return after
	}
	finished := make(chan struct{})
	go func() { group.Wait(); close(finished) }()
	after := int64(0)
	for running := true; running; {
		select {
		case <-finished:
			running = false
		default:
		}
		after = follow(after)
	}
	for last := int64(-1); after != last; {
		last = after
		after = follow(after)
	}
	if len(seen) != writers*each {
		t.Errorf("%d operations were seen, want %d", len(seen), writers*each)
	}
	for id, n := range seen {
		if n != 2 {
			t.Errorf("%d entries of %s were seen, want 2", n, id)
		}
	}
}

// Proves: I5
func workspacesApart(t *testing.T, s *Subject) {
	ctx := context.Background()
	umbrella := func(o *onefold.Operation) { o.Workspace, o.Identity, o.Reference = "umbrella", "same", "same" }
	theirs := s.Admit(t, "k", umbrella)
	theirs = s.Ended(t, theirs.ID, onefold.OutcomeUnknown, "")
	// The same connection name, identity and reference in another workspace collide with nothing.
	ours := s.Admit(t, "k", func(o *onefold.Operation) { o.Identity, o.Reference = "same", "same" })

	_, err := s.Store.Operation(ctx, Workspace, theirs.ID)
	wantError(t, err, onefold.ErrOperationUnknown)
	if found, err := s.Store.Operation(ctx, "", theirs.ID); err != nil || found.ID != theirs.ID {
		t.Errorf("the engine does not find it: %v", err)
	}
	for name, q := range map[string]onefold.Query{
		"all": {}, "by key": {Key: "k"}, "by identity": {Identity: "same"}, "by reference": {Reference: "same"},
		"by connection": {Connection: Connection}, "by capability": {Capability: Capability}, "prepared": {State: onefold.Prepared},
	} {
		q.Workspace = Workspace
		found, _, err := s.Store.List(ctx, q)
		noError(t, err)
		if diff := cmp.Diff([]string{ours.ID}, idsOf(found)); diff != "" {
			t.Errorf("the list %s differs:\n%s", name, diff)
		}
	}
	for name, q := range map[string]onefold.Query{"uncertain": {State: onefold.Uncertain}, "by review": {Review: "rev_none"}} {
		q.Workspace = Workspace
		if found, _, err := s.Store.List(ctx, q); err != nil || len(found) != 0 {
			t.Errorf("the list %s has %d operations, error %v", name, len(found), err)
		}
	}
	changes, err := s.Store.Changes(ctx, Workspace, 0, 100)
	noError(t, err)
	for _, e := range changes {
		if e.Operation != ours.ID {
			t.Errorf("the changes hold %s of another workspace", e.Operation)
		}
	}
	stats, err := s.Store.Stats(ctx, Workspace)
	noError(t, err)
	if diff := cmp.Diff(map[onefold.State]int64{onefold.Prepared: 1}, nonZero(stats.ByState)); diff != "" || len(stats.Unresolved) != 0 {
		t.Errorf("the counts differ, unresolved %v:\n%s", stats.Unresolved, diff)
	}
	everybody, err := s.Store.Stats(ctx, "")
	noError(t, err)
	want := map[onefold.State]int64{onefold.Prepared: 1, onefold.Uncertain: 1}
	if diff := cmp.Diff(want, nonZero(everybody.ByState)); diff != "" {
		t.Errorf("the counts of all differ:\n%s", diff)
	}
}

// Proves: M4, M6
func reopened(t *testing.T, s *Subject) {
	if s.Reopen == nil {
		return
	}
	ctx := context.Background()
	prepared := s.Admit(t, "prepared")
	doubtful := s.Admit(t, "doubtful")
	doubtful = s.Ended(t, doubtful.ID, onefold.OutcomeUnknown, "")
	confirmed := s.Admit(t, "confirmed")
	confirmed = s.Ended(t, confirmed.ID, onefold.OutcomeConfirmed, "B-3")
	_, err := s.Store.PauseConnection(ctx, onefold.ConnectionRef{Workspace: Workspace, Connection: Connection}, Caller(), "why")
	noError(t, err)
	installation, err := s.Store.Installation(ctx)
	noError(t, err)
	changes, err := s.Store.Changes(ctx, "", 0, 100)
	noError(t, err)

	s.Store = s.Reopen(t)
	for _, was := range []onefold.Operation{prepared, doubtful, confirmed} {
		is, err := s.Store.Operation(ctx, Workspace, was.ID)
		noError(t, err)
		if diff := cmp.Diff(was, is); diff != "" {
			t.Errorf("after reopening an operation differs:\n%s", diff)
		}
	}
	again, err := s.Store.Installation(ctx)
	noError(t, err)
	if diff := cmp.Diff(installation, again); diff != "" || again.Deployment == "" {
		t.Errorf("the installation record differs:\n%s", diff)
	}
	kept, err := s.Store.Changes(ctx, "", 0, 100)
	noError(t, err)
	if diff := cmp.Diff(changes, kept); diff != "" {
		t.Errorf("the changes differ:\n%s", diff)
	}
	pauses, err := s.Store.Pauses(ctx, Workspace)
	noError(t, err)
	if len(pauses) != 1 {
		t.Errorf("%d connections are paused", len(pauses))
	}
	if op, created, err := s.Store.Admit(ctx, s.Admission("confirmed")); err != nil || created || op.ID != confirmed.ID {
		t.Errorf("a repeat after reopening: created %v, error %v", created, err)
	}
	next := s.Admit(t, "next")
	entries, err := s.Store.Timeline(ctx, next.ID, 0, 1)
	noError(t, err)
	if entries[0].Seq <= changes[len(changes)-1].Seq {
		t.Errorf("the sequence went back to %d after %d", entries[0].Seq, changes[len(changes)-1].Seq)
	}
}

// Proves: M17
func eventDeliveredAgain(t *testing.T, s *Subject) {
	ctx := context.Background()
	op := s.Admit(t, "k")
	s.Attempting(t, op.ID)
	deliver := func(source, event string) onefold.Committed {
		t.Helper()
		ev := s.Event(onefold.EventObserved, Caller())
		ev.Observation = &onefold.Observation{Asserts: onefold.AssertsEffect, Reference: "R-1"}
		ev.Evidence = &onefold.Evidence{
			ID: s.IDs.New(onefold.PrefixEvidence, s.Clock.Now()), Kind: onefold.EvidenceEvent, Asserts: onefold.AssertsEffect,
			Reference: "R-1", Source: source, SourceEventID: event,
		}
		return s.Step(t, op.ID, ev)
	}
	first := deliver("bank", "e-1")
	if len(first.Effects) == 0 {
		t.Fatal("the first delivery left nothing behind")
	}
	again := deliver("bank", "e-1")
	if len(again.Effects) != 0 || again.Operation.Version != first.Operation.Version {
		t.Errorf("the same event again: %d effects, version %d after %d", len(again.Effects), again.Operation.Version, first.Operation.Version)
	}
	if other := deliver("other bank", "e-1"); len(other.Effects) == 0 {
		t.Error("the same id of another source was taken for the same event")
	}
	all, err := s.Store.EvidenceOf(ctx, op.ID, "", 100)
	noError(t, err)
	if len(all) != 2 {
		t.Errorf("%d pieces of evidence are on record, want 2", len(all))
	}
}
