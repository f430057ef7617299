package onefold_test

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver of the store under test

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/contract"
	"github.com/onefold-dev/onefold/machine"
	"github.com/onefold-dev/onefold/sqlite"
)

// doDocuments are three capabilities at a target that Go functions carry: bills
// (the target recognises a repeat), payouts (a look-up can prove both ways) and
// notes (nothing protects them).
const doDocuments = `
kind: capability
name: bills.create
version: 1
request:
  type: object
  required: [supplier, total]
  additionalProperties: false
  properties: {supplier: {type: string}, total: {type: string}, memo: {type: string}}
compare: {/total: {decimal: {scale: 2}}}
---
kind: capability
name: payouts.send
version: 1
request:
  type: object
  required: [payee, amount]
  additionalProperties: false
  properties: {payee: {type: string}, amount: {type: string}}
compare: {/amount: {decimal: {scale: 2}}}
---
kind: capability
name: notes.post
version: 1
request: {type: object, required: [text], properties: {text: {type: string}}}
---
kind: target
name: erp
version: 1
protocol: go
operations:
  bills.create:
    write: {timeout: 10s}
    identity:
      kind: key
      scope: [account]
      window: {guaranteed: 1h}
      on_repeat: first_response
      compares: parameters
      stores: [confirmed, rejected]
      concurrent: reported
    verify: {/total: $request/total}
    lookup: {by: reference}
    settle: 1s
    processing: 2s
    absence: authoritative
    in_doubt: [replay, lookup, operator]
  payouts.send:
    write: {timeout: 10s}
    identity: {kind: none}
    verify: {/amount: $request/amount}
    lookup: {by: reference}
    settle: 1s
    processing: 2s
    absence: authoritative
    in_doubt: [lookup, operator]
  notes.post:
    write: {timeout: 10s}
    identity: {kind: none}
    in_doubt: [operator]
---
kind: capability
name: hooks.call
version: 1
request: {type: object}
---
kind: target
name: web
version: 1
protocol: http
operations:
  hooks.call:
    write: {method: POST, path: /hook, timeout: 10s, body: $request}
    identity: {kind: none}
    responses:
      - {name: called, when: {status: 201}, outcome: confirmed, reference: /id}
    in_doubt: [operator]
---
kind: connection
workspace: acme
name: web
target: web@1
url: https://web.example
owner: maria@acme.example
acknowledged: {by: maria@acme.example, date: 2026-11-29, reason: tests}
---
kind: connection
workspace: acme
name: erp
target: erp@1
url: go://erp
owner: maria@acme.example
acknowledged: {by: maria@acme.example, date: 2026-11-29, reason: tests}
`

const (
	doBill   = `{"supplier": "S-81", "total": "1250.00"}`
	doPayout = `{"payee": "P-1", "amount": "99.90"}`
	doNote   = `{"text": "hello"}`
)

// doStraggler closes silent attempts of the scene.
const doStraggler = time.Minute

// scenesClock is the store's time and the boot clock of a scene: it stands still
// until it is moved.
type scenesClock struct {
	mu sync.Mutex
	at time.Time
}

func (c *scenesClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *scenesClock) Boot() time.Duration { return time.Duration(c.Now().UnixNano()) }

func (c *scenesClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// doScene is a ledger over a real store, with the documents above.
type doScene struct {
	t      testing.TB
	Store  *sqlite.Store
	Ledger *onefold.Ledger
	Clock  *scenesClock
}

// doOptions change a scene. The zero value is a whole one.
type doOptions struct {
	path      string              // "" is a file of the test's own
	edit      func(string) string // of the documents
	lease     time.Duration
	straggler time.Duration // 0 is doStraggler
	real      bool          // the machine's clocks instead of one that stands still
	alone     bool          // what others publish is not taken up
}

func newDoScene(t testing.TB, o doOptions) *doScene {
	t.Helper()
	s := &doScene{t: t, Clock: &scenesClock{at: time.Date(2026, time.November, 29, 12, 0, 0, 0, time.UTC)}}
	now, boot := s.Clock.Now, s.Clock.Boot
	if o.real {
		now, boot = time.Now, machine.Boot
	}
	if o.path == "" {
		o.path = filepath.Join(t.TempDir(), "onefold.db")
	}
	var err error
	s.Store, s.Ledger, err = openDo(o, now, boot)
	must(t, err)
	t.Cleanup(func() { must(t, s.Store.Close()) })
	return s
}

// openDo opens a store and a ledger on it, as an embedding program does.
func openDo(o doOptions, now func() time.Time, boot func() time.Duration) (*sqlite.Store, *onefold.Ledger, error) {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Options{Path: o.path, Driver: "sqlite", Now: now, IDs: machine.IDs(), Migrate: true})
	if err != nil {
		return nil, nil, err
	}
	if _, err := store.CreateWorkspace(ctx, "acme"); err != nil && !errors.Is(err, onefold.ErrWorkspaceExists) {
		return nil, nil, err
	}
	text := doDocuments
	if o.edit != nil {
		text = o.edit(text)
	}
	decoded, faults := contract.DecodeFile("documents.yaml", []byte(text))
	more, _ := contract.Lint(&contract.Set{New: decoded})
	if err := append(faults, more...).Err(); err != nil {
		return nil, nil, err
	}
	docs := make([]onefold.Document, 0, len(decoded))
	for i := range decoded {
		docs = append(docs, decoded[i].Publication())
	}
	if _, err := store.Publish(ctx, docs); err != nil {
		return nil, nil, err
	}
	registry := contract.NewRegistry(contract.Options{
		Secret: []byte("a secret of the scene"), SecretID: "s1", Straggler: cmp.Or(o.straggler, doStraggler),
	})
	published := onefold.Follow(store, registry.Load)
	if err := published.Load(ctx); err != nil {
		return nil, nil, err
	}
	if o.alone {
		published = nil
	}
	installation, err := store.Installation(ctx)
	if err != nil {
		return nil, nil, err
	}
	ledger, err := onefold.New(store, onefold.Config{
		Contracts: registry, Documents: published, IDs: machine.IDs(), Now: now, Deployment: installation.Deployment,
		Boot: boot, Worker: "scene", Lease: o.lease,
	})
	return store, ledger, err
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *doScene) submission(capability, key, request string) onefold.Submission {
	return onefold.Submission{
		Workspace: "acme", Capability: capability, Key: key, Request: []byte(request), SubmittedBy: "cron", MayRead: true,
	}
}

// do calls Do and fails the test unless the error is the wanted one.
func (s *doScene) do(capability, key, request string, steps onefold.Steps, want error) onefold.Operation {
	s.t.Helper()
	op, err := s.Ledger.Do(context.Background(), s.submission(capability, key, request), steps)
	if want == nil && err != nil || want != nil && !errors.Is(err, want) {
		s.t.Fatalf("Do: %v, want %v; the operation is %s", err, want, op.State)
	}
	if e, ok := errors.AsType[*onefold.Error](err); ok && op.ID != "" && (e.Operation != op.ID || e.State != op.State) {
		s.t.Errorf("the error speaks of %s (%s), the operation is %s (%s)", e.Operation, e.State, op.ID, op.State)
	}
	return op
}

// books are the target's own: what took effect under which reference.
type books struct {
	mu      sync.Mutex
	effects []onefold.Call
	writes  int
	lookups int
	// answer replaces what Write returns after the effect; nil means Applied.
	answer func(ctx context.Context, c onefold.Call) (onefold.WriteReport, error)
	// before replaces everything: no effect.
	before func(ctx context.Context, c onefold.Call) (onefold.WriteReport, error)
	// find replaces the look-up.
	find func(ctx context.Context, c onefold.Call) (onefold.LookupReport, error)
}

func (b *books) Write(ctx context.Context, c onefold.Call) (onefold.WriteReport, error) {
	b.mu.Lock()
	b.writes++
	before, answer := b.before, b.answer
	if before == nil {
		b.effects = append(b.effects, c)
	}
	b.mu.Unlock()
	switch {
	case before != nil:
		return before(ctx, c)
	case answer != nil:
		return answer(ctx, c)
	}
	return onefold.Applied("DOC-" + c.Reference), nil
}

func (b *books) Lookup(ctx context.Context, c onefold.Call) (onefold.LookupReport, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lookups++
	if b.find != nil {
		return b.find(ctx, c)
	}
	for _, e := range b.effects {
		if e.Reference == c.Reference {
			return onefold.Found("DOC-" + c.Reference), nil
		}
	}
	return onefold.Absent("the whole day was listed"), nil
}

func (b *books) steps() onefold.Steps { return onefold.Steps{Write: b.Write, Lookup: b.Lookup} }

// counts fails the test unless the target saw that many writes and has that many
// effects.
func (b *books) counts(t testing.TB, writes, effects int) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.writes != writes || len(b.effects) != effects {
		t.Errorf("%d writes and %d effects, want %d and %d", b.writes, len(b.effects), writes, effects)
	}
}

func lost(context.Context, onefold.Call) (onefold.WriteReport, error) {
	return onefold.WriteReport{}, errors.New("read: connection reset by peer")
}

func replaced(pairs ...string) func(string) string { return strings.NewReplacer(pairs...).Replace }

// reasonOf is the reason that an error gives.
func reasonOf(err error) string {
	if e, ok := errors.AsType[*onefold.Error](err); ok {
		return e.Reason
	}
	return ""
}
