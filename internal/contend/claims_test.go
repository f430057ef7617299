package contend

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"go.uber.org/goleak"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/rig"
	"github.com/onefold-dev/onefold/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What a caller did with a key, and what it was told.
type (
	asked struct {
		key, intent string
		// cancel withdraws the operation with this id; "" submits.
		cancel string
	}
	told struct {
		what verdict
		id   string
	}
	verdict string
)

const (
	admitted verdict = "admitted"
	repeated verdict = "repeated"
	conflict verdict = "conflict"
	released verdict = "released" // canceled, and the key was let go
	kept     verdict = "kept"     // canceled or withdrawn, and the key stays bound
	over     verdict = "over"     // settled before
	unknown  verdict = "unknown"  // no answer: it may or may not have happened
)

// somebody is an operation of which no caller was told the id yet.
const somebody = "?"

// claim is what the key names: an operation and its intent, or nothing.
type claim struct{ holder, intent string }

// is tells whether the claim may be that operation's, and what it is then.
func (c claim) is(id string) (claim, bool) {
	if c.holder == somebody {
		c.holder = id
	}
	return c, c.holder == id
}

// claims is the specification: one key names one operation, until it is let go.
func claims() porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			byKey := map[string][]porcupine.Operation{}
			for _, op := range history {
				key := op.Input.(asked).key
				byKey[key] = append(byKey[key], op)
			}
			var parts [][]porcupine.Operation
			for _, part := range byKey {
				parts = append(parts, part)
			}
			return parts
		},
		Init: func() any { return claim{} },
		Step: func(state, input, output any) (bool, any) {
			c, in, out := state.(claim), input.(asked), output.(told)
			if in.cancel == "" {
				return submitStep(c, in, out)
			}
			return cancelStep(c, in, out)
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v → %+v", input, output) },
	}
}

func submitStep(c claim, in asked, out told) (bool, any) {
	bound, same := c.is(out.id)
	switch out.what {
	case admitted:
		return c.holder == "", claim{out.id, in.intent}
	case repeated:
		return same && c.intent == in.intent, bound
	case conflict:
		return same && c.intent != in.intent, bound
	case unknown:
		if c.holder == "" {
			return true, claim{somebody, in.intent}
		}
		return true, c
	case released, kept, over:
	}
	return false, c
}

func cancelStep(c claim, in asked, out told) (bool, any) {
	bound, same := c.is(in.cancel)
	switch out.what {
	case released:
		return same, claim{}
	case kept:
		return same, bound
	case over:
		return true, c
	case unknown:
		if c.holder == in.cancel {
			return true, claim{}
		}
		return true, c
	case admitted, repeated, conflict:
	}
	return false, c
}

// history is what everybody did, by a clock that only rises.
type history struct {
	clock atomic.Int64
	mu    sync.Mutex
	ops   []porcupine.Operation
}

func (h *history) do(client int, in asked, call func() told) told {
	began := h.clock.Add(1)
	out := call()
	ended := h.clock.Add(1)
	if out.what == unknown {
		ended = math.MaxInt64 // it may still happen
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: in, Call: began, Output: out, Return: ended})
	return out
}

// The size of a history: few keys, so that callers meet.
const (
	rounds, clients, calls, keys = 3, 12, 30, 5
)

// Proves: I2, I3, I4, I7, M22, M24
func TestClaimsUnderLoadAreLinearizable(t *testing.T) {
	t.Parallel()
	// Few at once, so that many wait and a withdrawal can come in time.
	r := rig.New(t, rig.Options{Edit: func(docs string) string { return strings.Replace(docs, "in_flight: 64", "in_flight: 2", 1) }})
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	verdicts := map[verdict]int{}
	for round := range rounds {
		h := &history{}
		var group sync.WaitGroup
		known := &ids{byKey: map[string][]string{}}
		for client := range clients {
			chance := rand.New(rand.NewPCG(seed, uint64(round*clients+client))) //nolint:gosec // not a secret
			group.Go(func() {
				for range calls {
					act(t, r, h, known, client, chance, fmt.Sprintf("round-%d-%d", round, chance.IntN(keys)))
				}
			})
		}
		group.Wait()
		result, info := porcupine.CheckOperationsVerbose(claims(), h.ops, time.Minute)
		if result != porcupine.Ok {
			t.Errorf("the history of round %d is %s: %v", round, result, info.PartialLinearizationsOperations())
		}
		for _, op := range h.ops {
			verdicts[op.Output.(told).what]++
		}
	}
	t.Log(verdicts)
	for _, v := range []verdict{admitted, repeated, conflict, released, unknown} {
		if verdicts[v] == 0 {
			t.Errorf("nothing was ever %s: too little was tried", v)
		}
	}
	conserved(t, r)
}

// ids are the operations that callers were told of.
type ids struct {
	mu    sync.Mutex
	byKey map[string][]string
}

func (i *ids) add(key, id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.byKey[key] = append(i.byKey[key], id)
}

func (i *ids) last(key string) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	if list := i.byKey[key]; len(list) > 0 {
		return list[len(list)-1]
	}
	return ""
}

// act makes one call: a submission with one of two intents, or a withdrawal; now
// and then by a caller who hangs up.
func act(t *testing.T, r *rig.Rig, h *history, known *ids, client int, chance *rand.Rand, key string) {
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	if chance.IntN(4) == 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(chance.IntN(3000))*time.Microsecond)
	}
	defer cancel()
	if id := known.last(key); id != "" && chance.IntN(3) == 0 {
		h.do(client, asked{key: key, cancel: id}, func() told { return withdraw(ctx, t, r, id) })
		return
	}
	intent := []string{"a", "b"}[min(1, chance.IntN(3))]
	out := h.do(client, asked{key: key, intent: intent}, func() told {
		s := r.Submission("bills.create", key, fmt.Sprintf(`{"supplier":"S-1","number":%q,"total":"1.00","memo":%q}`, key, intent))
		op, replayed, err := r.Ledger.Submit(ctx, s)
		switch {
		case err == nil && replayed:
			return told{repeated, op.ID}
		case err == nil:
			return told{admitted, op.ID}
		case onefold.CodeOf(err) == onefold.CodeKeyConflict:
			e, _ := errors.AsType[*onefold.Error](err)
			return told{conflict, e.Operation}
		}
		return unheard(ctx, t, err)
	})
	if out.what == admitted || out.what == repeated {
		known.add(key, out.id)
	}
}

// unheard is a call whose answer was lost: nothing else may go wrong.
func unheard(ctx context.Context, t *testing.T, err error) told {
	if ctx.Err() == nil {
		t.Errorf("a call failed: %v", err)
	}
	return told{what: unknown}
}

func withdraw(ctx context.Context, t *testing.T, r *rig.Rig, id string) told {
	op, err := r.Ledger.Cancel(ctx, onefold.Decision{
		Workspace: rig.Workspace, Operation: id, By: onefold.Actor{Kind: onefold.ActorPrincipal, Name: "caller"},
	}, true)
	switch {
	case err == nil && op.KeyReleased:
		return told{what: released}
	case err == nil:
		return told{what: kept}
	case onefold.CodeOf(err) == onefold.CodeAlreadySettled:
		return told{what: over}
	}
	return unheard(ctx, t, err)
}

// conserved waits until all has settled and holds both ledgers together.
func conserved(t *testing.T, r *rig.Rig) {
	t.Helper()
	ctx := context.Background()
	effects, attempts := map[string]int{}, 0
	for cursor := ""; ; {
		page, next, err := r.Store.List(ctx, onefold.Query{Workspace: rig.Workspace, Limit: 200, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, op := range page {
			op = r.Until(op.ID, "settled", func(op *onefold.Operation) bool { return op.Settled() })
			want := 0
			if op.State == onefold.Confirmed {
				want = 1
			}
			effects[op.Reference] += want
			for _, a := range op.Attempts {
				if a.Verdict != onefold.VerdictNotSent {
					attempts++
				}
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	for reference, want := range effects {
		if got := r.Effects(reference); got != want {
			t.Errorf("the target made %d effects for %s, the ledger has %d", got, reference, want)
		}
	}
	requests, err := r.Sandbox.Requests(ctx)
	if err != nil {
		t.Fatal(err)
	}
	writes := 0
	for _, q := range requests {
		if q.Method == "POST" && q.Outcome != sandbox.Pending {
			writes++
		}
	}
	if writes != attempts {
		t.Errorf("%d write requests reached the target for %d attempts that were sent", writes, attempts)
	}
}

// A checker that lets everything pass would prove nothing.
func TestTheCheckerOfClaimsBites(t *testing.T) {
	t.Parallel()
	submit := func(call, end int64, intent string, what verdict, id string) porcupine.Operation {
		return porcupine.Operation{Input: asked{key: "k", intent: intent}, Call: call, Output: told{what, id}, Return: end}
	}
	cancel := func(call, end int64, id string, what verdict) porcupine.Operation {
		return porcupine.Operation{Input: asked{key: "k", cancel: id}, Call: call, Output: told{what: what}, Return: end}
	}
	for name, c := range map[string]struct {
		history []porcupine.Operation
		fine    bool
	}{
		"one admits":                    {[]porcupine.Operation{submit(1, 4, "a", admitted, "1"), submit(2, 3, "a", repeated, "1")}, true},
		"two admit":                     {[]porcupine.Operation{submit(1, 4, "a", admitted, "1"), submit(2, 3, "a", admitted, "2")}, false},
		"a repeat before it was":        {[]porcupine.Operation{submit(3, 4, "a", admitted, "1"), submit(1, 2, "a", repeated, "1")}, false},
		"the wrong operation":           {[]porcupine.Operation{submit(1, 2, "a", admitted, "1"), submit(3, 4, "a", repeated, "2")}, false},
		"another intent is stored":      {[]porcupine.Operation{submit(1, 2, "a", admitted, "1"), submit(3, 4, "b", repeated, "1")}, false},
		"another intent conflicts":      {[]porcupine.Operation{submit(1, 2, "a", admitted, "1"), submit(3, 4, "b", conflict, "1")}, true},
		"admitted again after release":  {[]porcupine.Operation{submit(1, 2, "a", admitted, "1"), cancel(3, 4, "1", released), submit(5, 6, "b", admitted, "2")}, true},
		"admitted again, key kept":      {[]porcupine.Operation{submit(1, 2, "a", admitted, "1"), cancel(3, 4, "1", kept), submit(5, 6, "b", admitted, "2")}, false},
		"lost answer, then a repeat":    {[]porcupine.Operation{submit(1, math.MaxInt64, "a", unknown, ""), submit(2, 3, "a", repeated, "1")}, true},
		"lost answer, never happened":   {[]porcupine.Operation{submit(1, math.MaxInt64, "a", unknown, ""), submit(2, 3, "b", admitted, "1")}, true},
		"lost answer, two who it is":    {[]porcupine.Operation{submit(1, math.MaxInt64, "a", unknown, ""), submit(2, 3, "a", repeated, "1"), submit(4, 5, "a", repeated, "2")}, false},
		"lost release, then admitted":   {[]porcupine.Operation{submit(1, 2, "a", admitted, "1"), cancel(3, math.MaxInt64, "1", unknown), submit(4, 5, "a", admitted, "2")}, true},
		"a key that comes back to life": {[]porcupine.Operation{submit(1, 2, "a", admitted, "1"), cancel(3, 4, "1", released), submit(5, 6, "a", repeated, "1")}, false},
	} {
		if got := porcupine.CheckOperations(claims(), c.history); got != c.fine {
			t.Errorf("%s: linearizable %v, want %v", name, got, c.fine)
		}
	}
}
