package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onefold-dev/onefold"
)

func listStories() []story {
	return []story{
		{"each filter finds what it should", filters},
		{"pages are stable while others write", stablePages},
		{"wrong pages are refused", wrongPages},
		{"reviews are listed as they stand", reviewsListed},
	}
}

// Proves: I32
func filters(t *testing.T, s *Subject) {
	ctx := context.Background()
	start := s.Clock.Now()
	by := map[string]string{}
	admit := func(k string, change ...func(*onefold.Operation)) onefold.Operation {
		s.Clock.Advance(time.Second)
		op := s.Admit(t, k, change...)
		by[op.ID] = k
		return op
	}
	a := admit("a")
	b := admit("b", func(o *onefold.Operation) { o.Capability = "orders.create" })
	c := admit("c", func(o *onefold.Operation) { o.Connection, o.SubmittedBy = "bank", "bob" })
	d := admit("d")
	s.Ended(t, d.ID, onefold.OutcomeConfirmed, "B-9")
	e := admit("e", func(o *onefold.Operation) { o.Capability, o.Connection = "orders.create", "bank" })
	s.Ended(t, e.ID, onefold.OutcomeRejected, "")
	contradict := s.Event(onefold.EventObserved, Caller())
	contradict.Observation = &onefold.Observation{Asserts: onefold.AssertsEffect, Reference: "B-7"}
	review := s.Step(t, e.ID, contradict).Operation.Reviews[0].ID
	f := admit("a", func(o *onefold.Operation) { o.Capability = "orders.create" })
	s.Ended(t, f.ID, onefold.OutcomeUnknown, "")
	for _, q := range filterCases([]onefold.Operation{a, b, c, d, e, f}, review, start) {
		q.query.Workspace = Workspace
		found, next, err := s.Store.List(ctx, q.query)
		noError(t, err)
		if diff := cmp.Diff(q.want, idsOf(found)); diff != "" || next != "" {
			t.Errorf("%s: the list differs, next %q, of %v:\n%s", q.name, next, by, diff)
		}
	}
	everywhere, _, err := s.Store.List(ctx, onefold.Query{})
	noError(t, err)
	if len(everywhere) != 6 {
		t.Errorf("%d operations in all workspaces", len(everywhere))
	}
}

// filterCase is a query and the operations that it has to find, newest first.
type filterCase struct {
	name  string
	query onefold.Query
	want  []string
}

// filterCases are told over six operations, admitted one second after the other.
func filterCases(ops []onefold.Operation, review string, start time.Time) []filterCase {
	a, b, c, d, e, f := ops[0], ops[1], ops[2], ops[3], ops[4], ops[5]
	yes, no := true, false
	at := func(seconds int) *time.Time { at := start.Add(time.Duration(seconds) * time.Second); return &at }
	return []filterCase{
		{"nothing", onefold.Query{}, []string{f.ID, e.ID, d.ID, c.ID, b.ID, a.ID}},
		{"capability", onefold.Query{Capability: "orders.create"}, []string{f.ID, e.ID, b.ID}},
		{"connection", onefold.Query{Connection: "bank"}, []string{e.ID, c.ID}},
		{"unknown connection", onefold.Query{Connection: "none"}, []string{}},
		{"prepared", onefold.Query{State: onefold.Prepared}, []string{c.ID, b.ID, a.ID}},
		{"uncertain", onefold.Query{State: onefold.Uncertain}, []string{f.ID}},
		{"confirmed", onefold.Query{State: onefold.Confirmed}, []string{d.ID}},
		{"rejected, though live again", onefold.Query{State: onefold.Rejected}, []string{e.ID}},
		{"key", onefold.Query{Key: "a"}, []string{f.ID, a.ID}},
		{"key of a capability", onefold.Query{Key: "a", Capability: Capability}, []string{a.ID}},
		{"own reference", onefold.Query{Reference: b.Reference}, []string{b.ID}},
		{"target's reference", onefold.Query{Reference: "B-9"}, []string{d.ID}},
		{"identity", onefold.Query{Identity: c.Identity}, []string{c.ID}},
		{"review", onefold.Query{Review: review}, []string{e.ID}},
		{"contradicted", onefold.Query{Contradicted: &yes}, []string{e.ID}},
		{"not contradicted", onefold.Query{Contradicted: &no}, []string{f.ID, d.ID, c.ID, b.ID, a.ID}},
		{"from", onefold.Query{CreatedFrom: at(5)}, []string{f.ID, e.ID}},
		{"to, which is not within", onefold.Query{CreatedTo: at(3)}, []string{b.ID, a.ID}},
		{"between", onefold.Query{CreatedFrom: at(2), CreatedTo: at(4)}, []string{c.ID, b.ID}},
		{"submitted by", onefold.Query{SubmittedBy: "bob"}, []string{c.ID}},
		{"state and connection", onefold.Query{State: onefold.Prepared, Connection: "bank"}, []string{c.ID}},
		{"settled state and capability", onefold.Query{State: onefold.Confirmed, Capability: "orders.create"}, []string{}},
		{"reference and a state it has not", onefold.Query{Reference: "B-9", State: onefold.Prepared}, []string{}},
		{"contradicted and of another capability", onefold.Query{Contradicted: &yes, Capability: Capability}, []string{}},
		{"all at once", onefold.Query{
			Key: "e", Capability: "orders.create", Connection: "bank", State: onefold.Rejected, Reference: e.Reference,
			Identity: e.Identity, Review: review, Contradicted: &yes, CreatedFrom: at(0), CreatedTo: at(9), SubmittedBy: "ada",
		}, []string{e.ID}},
	}
}

// Proves: I32
func stablePages(t *testing.T, s *Subject) {
	ctx := context.Background()
	const before = 45
	var want []string
	for i := range before {
		if i%7 == 0 {
			s.Clock.Advance(time.Millisecond) // several share a time
		}
		op := s.Admit(t, fmt.Sprint("k", i))
		if i%3 == 0 {
			s.Ended(t, op.ID, onefold.OutcomeConfirmed, fmt.Sprint("B-", i))
		}
		want = append(want, op.ID)
	}
	slices.Reverse(want)
	s.Clock.Advance(time.Second)
	for name, q := range map[string]onefold.Query{
		"by time": {}, "by capability": {Capability: Capability}, "by connection": {Connection: Connection},
		"of all workspaces": {},
	} {
		if name != "of all workspaces" {
			q.Workspace = Workspace
		}
		q.Limit = 10
		var got []string
		var group sync.WaitGroup
		for page := 0; ; page++ {
			group.Go(func() { // while the pages are turned, more is admitted
				for i := range 3 {
					a := s.Admission(fmt.Sprint("meanwhile ", name, page, i))
					if _, _, err := s.Store.Admit(ctx, a); err != nil {
						t.Error(err)
					}
				}
			})
			found, next, err := s.Store.List(ctx, q)
			noError(t, err)
			got = append(got, idsOf(found)...)
			if q.Cursor = next; next == "" {
				break
			}
			if len(found) != q.Limit {
				t.Fatalf("%s: a page of %d that is not the last", name, len(found))
			}
		}
		group.Wait()
		got = slices.DeleteFunc(got, func(id string) bool { return !slices.Contains(want, id) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: page by page differs:\n%s", name, diff)
		}
	}
}

func wrongPages(t *testing.T, s *Subject) {
	ctx := context.Background()
	for _, q := range []onefold.Query{{Limit: -1}, {Limit: 201}, {Cursor: "?"}, {Cursor: "bm90aGluZw"}, {Cursor: "Mi5hLmI"}} {
		q.Workspace = Workspace
		_, _, err := s.Store.List(ctx, q)
		if onefold.CodeOf(err) != onefold.CodeParameterInvalid {
			t.Errorf("%+v was answered with %v", q, err)
		}
		_, _, err = s.Store.Reviews(ctx, onefold.ReviewQuery{Workspace: Workspace, Limit: q.Limit, Cursor: q.Cursor})
		if onefold.CodeOf(err) != onefold.CodeParameterInvalid {
			t.Errorf("reviews with %+v were answered with %v", q, err)
		}
	}
}

// Proves: M16
func reviewsListed(t *testing.T, s *Subject) {
	ctx := context.Background()
	open := func(k string, policy func(*onefold.Policy)) onefold.Operation {
		s.Clock.Advance(time.Second)
		op := s.Admit(t, k)
		op = s.Attempting(t, op.ID)
		ev := s.Answer(op.Attempts[0].ID, op.Token, onefold.OutcomeUnknown, "")
		ev.Policy.InDoubt = []onefold.RecoveryStep{onefold.StepOperator}
		policy(ev.Policy)
		return s.Step(t, op.ID, ev).Operation
	}
	first := open("first", func(*onefold.Policy) {})
	second := open("second", func(p *onefold.Policy) { p.Owner = "bob" })
	third := open("third", func(*onefold.Policy) {})
	list := func(q onefold.ReviewQuery) []string {
		t.Helper()
		q.Workspace = Workspace
		items, _, err := s.Store.Reviews(ctx, q)
		noError(t, err)
		keys := []string{}
		for _, item := range items {
			keys = append(keys, item.Operation.Key)
			if !slices.ContainsFunc(item.Operation.Reviews, func(r onefold.Review) bool { return cmp.Equal(r, item.Review) }) {
				t.Errorf("the listed review is not the operation's: %+v", item.Review)
			}
		}
		return keys
	}
	assign := s.Event(onefold.EventAssigned, Caller())
	assign.Assignment = &onefold.Assignment{Review: third.Reviews[0].ID, Owner: "carol"}
	s.Step(t, third.ID, assign)
	resolve := s.Event(onefold.EventResolved, Caller())
	resolve.Resolution = &onefold.Resolution{Outcome: onefold.ResolveRejected}
	s.Step(t, first.ID, resolve)
	cut := second.Reviews[0].OpenedAt
	for _, c := range []struct {
		name  string
		query onefold.ReviewQuery
		want  []string
	}{
		{"all", onefold.ReviewQuery{}, []string{"third", "second", "first"}},
		{"open", onefold.ReviewQuery{Status: onefold.ReviewOpen}, []string{"third", "second"}},
		{"resolved", onefold.ReviewQuery{Status: onefold.ReviewResolved}, []string{"first"}},
		{"of an owner", onefold.ReviewQuery{Owner: "bob"}, []string{"second"}},
		{"handed on", onefold.ReviewQuery{Owner: "carol", Status: onefold.ReviewOpen}, []string{"third"}},
		{"opened before", onefold.ReviewQuery{OlderThan: &cut}, []string{"first"}},
		{"of a reason", onefold.ReviewQuery{Reason: onefold.ReviewOperatorOnly}, []string{"third", "second", "first"}},
		{"of another reason", onefold.ReviewQuery{Reason: onefold.ReviewDiffers}, []string{}},
	} {
		if diff := cmp.Diff(c.want, list(c.query)); diff != "" {
			t.Errorf("%s: the reviews differ:\n%s", c.name, diff)
		}
	}
	reviewsPaged(t, s, []string{"third", "second", "first"})
	if items, _, err := s.Store.Reviews(ctx, onefold.ReviewQuery{Workspace: "umbrella"}); err != nil || len(items) != 0 {
		t.Errorf("another workspace sees %d reviews, error %v", len(items), err)
	}
}

// reviewsPaged turns the pages of one review each.
func reviewsPaged(t *testing.T, s *Subject, want []string) {
	t.Helper()
	ctx := context.Background()
	var paged []string
	for q := (onefold.ReviewQuery{Workspace: Workspace, Limit: 1}); ; {
		items, next, err := s.Store.Reviews(ctx, q)
		noError(t, err)
		for _, item := range items {
			paged = append(paged, item.Operation.Key)
		}
		if q.Cursor = next; next == "" {
			break
		}
	}
	if diff := cmp.Diff(want, paged); diff != "" {
		t.Errorf("page by page the reviews differ:\n%s", diff)
	}
}
