package storetest

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/onefold-dev/onefold"
)

// model is what the law makes of the same events, kept in maps: it shares
// nothing with a store but the law itself.
type model struct {
	subject   *Subject
	workspace string
	ops       map[string]onefold.Operation
	order     []string
	claims    map[string]string
	pauses    map[string]*pauseModel // by connection
	entries   map[string]int
	evidence  map[string][]string
}

type pauseModel struct {
	since *time.Time
	total time.Duration
}

// agreesWithModel draws random commands and gives them to the store and to the
// model. Answers, refusals and everything that can be read have to agree.
//
// Proves: I2, I3, I7, M7, M8, M10, M11c, M20, M24, M28
func agreesWithModel(t *testing.T, open func(t *testing.T) *Subject) {
	rapid.Check(t, func(r *rapid.T) {
		s := open(t)
		defer func() { noError(t, s.Store.Close()) }()
		m := &model{
			subject: s, workspace: Workspace, ops: map[string]onefold.Operation{}, claims: map[string]string{},
			entries: map[string]int{}, evidence: map[string][]string{},
			pauses: map[string]*pauseModel{"books": {}, "bank": {}},
		}
		for range rapid.IntRange(1, maxActions).Draw(r, "actions") {
			m.act(r, rapid.SampledFrom(actions()).Draw(r, "action"))
		}
		m.look(r)
	})
}

// actions lists what may happen next, the usual more than once.
func actions() []string {
	return []string{"admit", "steps", "steps", "steps", "advance", "pause", "resume", "look"}
}

func (m *model) act(r *rapid.T, action string) {
	switch action {
	case "admit":
		m.admit(r)
	case "steps":
		m.steps(r)
	case "advance":
		m.advance(r)
	case "pause":
		m.pause(r)
	case "resume":
		m.resume(r)
	case "look":
		m.look(r)
	}
}

func (m *model) now() time.Time { return m.subject.Clock.Now() }

func (m *model) standing(connection string) onefold.ConnectionStanding {
	p := m.pauses[connection]
	c := onefold.ConnectionStanding{Paused: p.since != nil, PausedFor: p.total}
	if p.since != nil {
		c.PausedFor += m.now().Sub(*p.since)
	}
	return c
}

func (m *model) connection(r *rapid.T) string {
	return rapid.SampledFrom([]string{"books", "bank"}).Draw(r, "connection")
}

func (m *model) admit(r *rapid.T) {
	k := rapid.SampledFrom([]string{"k1", "k2", "k3", "k4"}).Draw(r, "key")
	connection := m.connection(r)
	a := m.subject.Admission(k, func(o *onefold.Operation) {
		o.Workspace, o.Connection = m.workspace, connection
		if rapid.Bool().Draw(r, "deadline") {
			at := m.now().Add(time.Hour)
			o.StartDeadline = &at
		}
	})
	op, created, err := m.subject.Store.Admit(context.Background(), a)
	holder, claimed := m.claims[k]
	switch {
	case err != nil:
		r.Fatalf("admit %s: %v", k, err)
	case created == claimed:
		r.Fatalf("admit %s: created %v, but the model has the claim: %v", k, created, claimed)
	case claimed:
		same(r, "the holder of "+k, m.ops[holder], op)
	default:
		m.claims[k] = op.ID
		m.ops[op.ID] = a.Operation
		m.order = append(m.order, op.ID)
		m.entries[op.ID] = 1
	}
}

// maxActions bounds the actions of one round: enough to reach every row of the
// law in a hundred rounds, few enough that the suite stays quick.
const maxActions = 16

// stepsInARow is how many events one operation is given one after the other.
const stepsInARow = 6

func (m *model) steps(r *rapid.T) {
	if len(m.order) == 0 {
		m.admit(r)
	}
	id := rapid.SampledFrom(m.order).Draw(r, "operation")
	for range stepsInARow {
		m.step(r, id)
	}
}

func (m *model) step(r *rapid.T, id string) {
	op := m.ops[id]
	ev := m.event(r, &op)
	done, err := m.subject.Store.Step(context.Background(), id, ev, 0)
	ev.Connection = m.standing(op.Connection)
	ev.Recorded = m.recorded(&op, &ev)
	want, effects, wantErr := onefold.Apply(op, ev, m.now())
	if (err == nil) != (wantErr == nil) || err != nil && onefold.CodeOf(err) != onefold.CodeOf(wantErr) {
		r.Fatalf("%s: the store says %v, the law %v", ev.Kind, err, wantErr)
	}
	if err != nil {
		return
	}
	same(r, "the operation after "+string(ev.Kind), want, done.Operation)
	m.ops[id] = want
	for _, e := range effects {
		switch e.Kind {
		case onefold.EffectRecord:
			m.entries[id]++
		case onefold.EffectEvidence:
			m.evidence[id] = append(m.evidence[id], e.Evidence.ID)
		case onefold.EffectReleaseClaim:
			delete(m.claims, op.Key)
		case onefold.EffectPauseConnection:
			if p := m.pauses[op.Connection]; p.since == nil {
				at := m.now()
				p.since = &at
			}
		case onefold.EffectNotify:
		}
	}
}

// recorded is what a store says of the references that an event names: a live
// operation that has recorded one, else the latest.
func (m *model) recorded(op *onefold.Operation, ev *onefold.Event) map[string]string {
	found := map[string]string{}
	for _, reference := range ev.References(op) {
		for _, live := range []bool{true, false} {
			for _, id := range slices.Backward(m.order) {
				other := m.ops[id]
				_, known := found[reference]
				if !known && id != op.ID && other.Live() == live && other.Connection == op.Connection &&
					other.Result != nil && other.Result.Reference == reference {
					found[reference] = id
				}
			}
		}
	}
	return found
}

func (m *model) advance(r *rapid.T) {
	m.subject.Clock.Advance(rapid.SampledFrom([]time.Duration{
		time.Millisecond, time.Second, 10 * time.Second, 31 * time.Second, 11 * time.Minute, 2 * time.Hour,
	}).Draw(r, "by"))
}

func (m *model) pause(r *rapid.T) {
	connection := m.connection(r)
	p := m.pauses[connection]
	changed, err := m.subject.Store.PauseConnection(context.Background(), m.ref(connection), Caller(), "drawn")
	if err != nil || changed != (p.since == nil) {
		r.Fatalf("pause: changed %v, error %v", changed, err)
	}
	if changed {
		at := m.now()
		p.since = &at
	}
}

func (m *model) resume(r *rapid.T) {
	connection := m.connection(r)
	p := m.pauses[connection]
	changed, err := m.subject.Store.ResumeConnection(context.Background(), m.ref(connection), Caller(), "drawn")
	if err != nil || changed != (p.since != nil) {
		r.Fatalf("resume: changed %v, error %v", changed, err)
	}
	p.total, p.since = m.standing(connection).PausedFor, nil
}

func (m *model) ref(connection string) onefold.ConnectionRef {
	return onefold.ConnectionRef{Workspace: m.workspace, Connection: connection}
}

func same(r *rapid.T, what string, want, got any) {
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		r.Fatalf("%s differs (-model +store):\n%s", what, diff)
	}
}

// look compares everything that can be read.
func (m *model) look(r *rapid.T) {
	ctx, store := context.Background(), m.subject.Store
	reviews := map[string]onefold.Review{}
	counts := map[onefold.State]int64{}
	for _, id := range m.order {
		got, err := store.Operation(ctx, m.workspace, id)
		if err != nil {
			r.Fatal(err)
		}
		want := m.ops[id]
		same(r, "the operation "+id, want, got)
		entries, err := store.Timeline(ctx, id, 0, 1000)
		if err != nil || len(entries) != m.entries[id] {
			r.Fatalf("%s has %d entries, the model %d, error %v", id, len(entries), m.entries[id], err)
		}
		evidence, err := store.EvidenceOf(ctx, id, "", 1000)
		if err != nil {
			r.Fatal(err)
		}
		var kept []string
		for _, e := range evidence {
			kept = append(kept, e.ID)
		}
		same(r, "the evidence of "+id, m.evidence[id], kept)
		for _, review := range want.Reviews {
			reviews[review.ID] = review
		}
		counts[want.State]++
	}
	m.lookAtLists(r, counts)
	m.lookAtWork(r)
	items, _, err := store.Reviews(ctx, onefold.ReviewQuery{Workspace: m.workspace, Limit: 200})
	if err != nil {
		r.Fatal(err)
	}
	listed := map[string]onefold.Review{}
	for _, item := range items {
		listed[item.Review.ID] = item.Review
	}
	same(r, "the reviews", reviews, listed)
	for connection := range m.pauses {
		got, err := store.Connection(ctx, m.ref(connection))
		if err != nil {
			r.Fatal(err)
		}
		same(r, "the connection "+connection, m.standing(connection), got)
	}
}

func (m *model) lookAtLists(r *rapid.T, counts map[onefold.State]int64) {
	ctx, store := context.Background(), m.subject.Store
	for _, k := range []string{"k1", "k2", "k3", "k4"} {
		op, found, err := store.Claimed(ctx, onefold.ClaimKey{Workspace: m.workspace, Capability: Capability, Key: k})
		if err != nil || op.ID != m.claims[k] || found != (m.claims[k] != "") {
			r.Fatalf("the key %s is held by %q, the model says %q, error %v", k, op.ID, m.claims[k], err)
		}
	}
	stats, err := store.Stats(ctx, m.workspace)
	if err != nil {
		r.Fatal(err)
	}
	same(r, "the counts", counts, nonZero(stats.ByState))
	for _, state := range onefold.States() {
		listed, _, err := store.List(ctx, onefold.Query{Workspace: m.workspace, State: state, Limit: 200})
		if err != nil {
			r.Fatal(err)
		}
		want := slices.DeleteFunc(slices.Clone(m.order), func(id string) bool { return m.ops[id].State != state })
		slices.Sort(want)
		same(r, "the list of "+string(state), want, slices.Sorted(slices.Values(idsOf(listed))))
	}
}

func (m *model) lookAtWork(r *rapid.T) {
	ctx, store, now := context.Background(), m.subject.Store, m.now()
	due, overdue := map[string]bool{}, map[string]bool{}
	for id, op := range m.ops {
		sends := op.State == onefold.Prepared || op.Next == onefold.NextReplay
		if op.Due != nil && op.Lease == nil && !op.Due.After(now) && !(sends && m.standing(op.Connection).Paused) {
			due[id] = true
		}
		if wake := op.WakeAt(); wake != nil && !wake.After(now) {
			overdue[id] = true
		}
	}
	items, err := store.Due(ctx, now, map[onefold.ConnectionRef]int{m.ref("books"): 1000, m.ref("bank"): 1000}, 0)
	if err != nil {
		r.Fatal(err)
	}
	same(r, "what is due", slices.Sorted(maps.Keys(due)), slices.Sorted(slices.Values(dueIDs(items))))
	late, err := store.Overdue(ctx, now, 1000)
	if err != nil {
		r.Fatal(err)
	}
	same(r, "what is overdue", slices.Sorted(maps.Keys(overdue)), slices.Sorted(slices.Values(idsOf(late))))
}
