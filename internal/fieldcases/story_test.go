package fieldcases

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/rig"
	"github.com/onefold-dev/onefold/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	bill    = `{"supplier":"S-81","number":"INV-0042","total":"1250.00"}`
	order   = `{"supplier":"S-81","item":"bolt","quantity":12}`
	payment = `{"payee":"P-1","amount":"99.90","currency":"EUR"}`
)

// soon is how often a scan looks, and short a lease that is over quickly.
const (
	soon  = 20 * time.Millisecond
	short = 120 * time.Millisecond
)

var connection = onefold.ConnectionRef{Workspace: rig.Workspace, Connection: rig.Connection}

var operator = onefold.Actor{Kind: onefold.ActorPrincipal, Name: "operator"}

// ---- documents

// edit replaces texts of the rig's documents.
func edit(pairs ...string) func(string) string { return strings.NewReplacer(pairs...).Replace }

// patient gives payments.send time enough on a busy machine.
func patient(text string) string {
	return strings.Replace(text, "reconcile: {within: 1s", "reconcile: {within: 30s", 1)
}

// also makes one edit of several.
func also(edits ...func(string) string) func(string) string {
	return func(text string) string {
		for _, e := range edits {
			text = e(text)
		}
		return text
	}
}

// adding puts one more capability and its target operation into the documents.
func adding(capability, operation string) func(string) string {
	return func(text string) string {
		return strings.Replace(text, "operations:\n", "operations:\n"+operation, 1) + "---\n" + capability
	}
}

// forms is a capability called forms.file that takes any object, compares as the
// given rules say ("" for none), and hands the named members to the target.
func forms(compare string, members ...string) func(string) string {
	var capability, operation strings.Builder
	capability.WriteString("kind: capability\nname: forms.file\nversion: 1\nrequest: {type: object}\n")
	if compare != "" {
		capability.WriteString("compare:\n" + compare)
	}
	operation.WriteString(`  forms.file:
    write:
      method: POST
      path: /orders
      timeout: 2s
      body:
        supplier: S-1
        item: form
        quantity: 1
        external_ref: $operation/reference
`)
	for _, m := range members {
		operation.WriteString("        " + m + ": $request/" + m + "?\n")
	}
	operation.WriteString(`    identity: {kind: none}
    responses:
      - {name: created, when: {status: [200, 201]}, outcome: confirmed, reference: /id}
    in_doubt: [operator]
`)
	return adding(capability.String(), operation.String())
}

// ---- what callers do

// submit hands a request in and returns what the caller hears.
func submit(r *rig.Rig, capability, key, request string) (onefold.Operation, bool, error) {
	return r.Ledger.Submit(context.Background(), r.Submission(capability, key, request))
}

// replays fails unless the same key with the request finds the operation.
func replays(t *testing.T, r *rig.Rig, op onefold.Operation, request string) onefold.Operation {
	t.Helper()
	again, replayed, err := submit(r, op.Capability, op.Key, request)
	if err != nil || !replayed || again.ID != op.ID {
		t.Errorf("again with %s: %v, replayed %v, operation %s; want the original %s", request, err, replayed, again.ID, op.ID)
	}
	return again
}

// conflicts fails unless the same key with the request is refused, naming
// these members.
func conflicts(t *testing.T, r *rig.Rig, op onefold.Operation, request string, pointers ...string) {
	t.Helper()
	_, _, err := submit(r, op.Capability, op.Key, request)
	if onefold.CodeOf(err) != onefold.CodeKeyConflict {
		t.Errorf("again with %s: %v, want key_conflict", request, err)
		return
	}
	refused := asError(t, err)
	var got []string
	for _, d := range refused.Differences {
		got = append(got, d.Pointer)
	}
	if refused.Operation != op.ID || !slices.Equal(got, pointers) {
		t.Errorf("the conflict names %s and %v, want %s and %v", refused.Operation, got, op.ID, pointers)
	}
}

// now reads the operation as it is.
func now(t *testing.T, r *rig.Rig, op onefold.Operation) onefold.Operation {
	t.Helper()
	op, err := r.Ledger.Operation(context.Background(), rig.Workspace, op.ID)
	if err != nil {
		t.Fatal(err)
	}
	return op
}

// inReview waits until a person owns the operation.
func inReview(r *rig.Rig, op onefold.Operation) onefold.Operation {
	return r.Until(op.ID, "in review", func(op *onefold.Operation) bool { return len(op.OpenReviews()) > 0 })
}

// deliver brings late evidence about an operation.
func deliver(r *rig.Rig, op onefold.Operation, asserts onefold.Assertion, event, reference string) (onefold.Operation, error) {
	return r.Ledger.Deliver(context.Background(), rig.Operator(op, ""), onefold.Evidence{
		Source: "target", SourceEventID: event, Asserts: asserts, Reference: reference,
	}, nil)
}

// evidenceOf reads everything that was learnt of an operation.
func evidenceOf(t *testing.T, r *rig.Rig, op onefold.Operation) []onefold.Evidence {
	t.Helper()
	all, err := r.Store.EvidenceOf(context.Background(), op.ID, "", 200)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func asError(t *testing.T, err error) *onefold.Error {
	t.Helper()
	e, ok := errors.AsType[*onefold.Error](err)
	if !ok {
		t.Fatalf("%v is none of onefold's errors", err)
	}
	return e
}

// ---- what the target says

// agrees holds an operation against the target's ledger and request log.
func agrees(t *testing.T, r *rig.Rig, op onefold.Operation, effects, writes int) {
	t.Helper()
	if got := r.Effects(op.Reference); got != effects {
		t.Errorf("the target performed %d effects of %s %s, want %d", got, op.Capability, op.Key, effects)
	}
	if got := r.Writes(op.Reference); got != writes {
		t.Errorf("%d write requests of %s %s reached the target, want %d", got, op.Capability, op.Key, writes)
	}
}

// totals holds the whole of the target's ledger and log of writes.
func totals(t *testing.T, r *rig.Rig, effects, writes int) {
	t.Helper()
	all, err := r.Sandbox.Effects(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != effects {
		t.Errorf("the target performed %d effects, want %d", len(all), effects)
	}
	if got := len(wire(t, r, "POST")); got != writes {
		t.Errorf("%d write requests reached the target, want %d", got, writes)
	}
}

// wire lists the requests of one method that reached the target.
func wire(t *testing.T, r *rig.Rig, method string) []sandbox.Request {
	t.Helper()
	all, err := r.Sandbox.Requests(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(q sandbox.Request) bool { return q.Method != method })
}

// record returns what the target keeps of an operation's one effect.
func record(t *testing.T, r *rig.Rig, op onefold.Operation) string {
	t.Helper()
	effects, err := r.Sandbox.FindEffects(context.Background(), sandbox.Filter{Reference: &op.Reference})
	if err != nil || len(effects) != 1 {
		t.Fatalf("%v: %d effects of %s, want one", err, len(effects), op.Key)
	}
	return string(effects[0].Record)
}

// ---- time

// clock is the machine's, and can be set forward. Store and target share it.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *clock) forward(r *rig.Rig, d time.Duration) {
	c.ahead.Add(int64(d))
	r.Ledger.Kick()
}

func (c *clock) target(o *sandbox.Options) { o.Now = c.now }

// ---- what becomes of workers

// mortal is a store of a process that dies: from the given moment on nothing of
// it reaches the file any more, as after kill -9.
type mortal struct {
	onefold.Store
	// before and after choose the step at which the process dies.
	before, after onefold.EventKind
	once          sync.Once
	died          chan struct{}
}

// dying makes a mortal store.
func dying(before, after onefold.EventKind) *mortal {
	return &mortal{before: before, after: after, died: make(chan struct{})}
}

func (m *mortal) wrap(s onefold.Store) onefold.Store {
	m.Store = s
	return m
}

func (m *mortal) dead() bool {
	select {
	case <-m.died:
		return true
	default:
		return false
	}
}

func (m *mortal) die() { m.once.Do(func() { close(m.died) }) }

// unheard is what a dead process is told: that its lease is another's.
func unheard() (onefold.Committed, error) {
	return onefold.Committed{}, &onefold.Error{Code: onefold.CodeLeaseLost}
}

func (m *mortal) Step(ctx context.Context, id string, ev onefold.Event, v int64) (onefold.Committed, error) {
	if ev.Kind == m.before {
		m.die()
	}
	if m.dead() {
		return unheard()
	}
	c, err := m.Store.Step(ctx, id, ev, v)
	if ev.Kind == m.after && err == nil {
		m.die()
	}
	return c, err
}

func (m *mortal) StepBegin(ctx context.Context, id string, ev onefold.Event, f onefold.Frozen) (onefold.Committed, error) {
	if m.before == onefold.EventBegun {
		m.die()
	}
	if m.dead() {
		return unheard()
	}
	return m.Store.StepBegin(ctx, id, ev, f)
}

// steps stands before a store's Step; what it refuses does not happen.
type steps struct {
	onefold.Store
	allow func(ev onefold.Event) error
}

func (s steps) Step(ctx context.Context, id string, ev onefold.Event, v int64) (onefold.Committed, error) {
	if err := s.allow(ev); err != nil {
		return onefold.Committed{}, err
	}
	return s.Store.Step(ctx, id, ev, v)
}

func stepsIf(allow func(ev onefold.Event) error) func(onefold.Store) onefold.Store {
	return func(s onefold.Store) onefold.Store { return steps{s, allow} }
}

// errNotHeard is what a step is told that must not happen.
var errNotHeard = errors.New("not heard")

// noRenewals lets every lease run out under a worker that hangs.
func noRenewals(ev onefold.Event) error {
	if ev.Kind == onefold.EventRenewed {
		return errNotHeard
	}
	return nil
}

// carrying stands before or around the carrier.
type carrying struct {
	onefold.Carrier
	carry func(ctx context.Context, c onefold.Carrier, d onefold.Dispatch) onefold.Exchange
}

func (c carrying) Carry(ctx context.Context, d onefold.Dispatch) onefold.Exchange {
	return c.carry(ctx, c.Carrier, d)
}

func carryBy(f func(ctx context.Context, c onefold.Carrier, d onefold.Dispatch) onefold.Exchange) func(onefold.Carrier) onefold.Carrier {
	return func(c onefold.Carrier) onefold.Carrier { return carrying{c, f} }
}

// timeline reads the history of an operation.
func timeline(t *testing.T, r *rig.Rig, op onefold.Operation) []onefold.Entry {
	t.Helper()
	all, err := r.Store.Timeline(context.Background(), op.ID, 0, 200)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func key(prefix string, n int) string { return prefix + "-" + strconv.Itoa(n) }
