package api_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/api"
	"github.com/onefold-dev/onefold/contract"
	"github.com/onefold-dev/onefold/internal/ids"
	"github.com/onefold-dev/onefold/sqlite"
)

// TestMain holds the whole run to one thing more: every code that the document
// names was met by some test, with the status that the document gives it.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		if all := flag.Lookup("test.run").Value.String() == ""; all && status == 0 {
			if unseen := unseenCodes(); len(unseen) > 0 {
				fmt.Fprintln(os.Stderr, "codes that no test met, or met though nothing should:", unseen)
				status = 1
			}
		}
		os.Exit(status)
	}))
}

const documents = `
kind: capability
name: bills.create
version: 1
request: {type: object}
---
kind: capability
name: bills.create
version: 2
summary: Create a supplier bill
owner: accounts-payable
request:
  type: object
  required: [supplier_id, total]
  additionalProperties: false
  properties:
    supplier_id: {type: string, minLength: 1}
    total: {type: string}
    memo: {type: [string, "null"]}
compare:
  /total: {decimal: {scale: 2}}
  /memo: {absent: null, text: [trim]}
---
kind: capability
name: payments.send
version: 1
request: {type: object}
---
kind: target
name: erp
version: 1
protocol: http
operations:
  bills.create:
    write: {method: POST, path: /bills, timeout: 20s, body: {supplier: $request/supplier_id, total: $request/total, ref: $operation/reference}}
    identity:
      kind: key
      carrier: {in: header, name: Idempotency-Key}
      scope: [account, credential]
      window: {guaranteed: 24h, anchor: first_received}
      on_repeat: first_response
      compares: parameters
      stores: [2xx, 4xx]
      concurrent: {rule: busy}
    responses:
      - {name: created, when: {status: [200, 201]}, outcome: confirmed, reference: /id}
      - {name: busy, when: {status: 409, json: {/code: in_progress}}, outcome: in_progress}
      - {name: other body, when: {status: 422, json: {/code: key_reused}}, outcome: key_conflict}
      - {name: invalid, when: {status: [400, 422], clean: true}, outcome: rejected, code: /code}
    lookup:
      - {by: reference, method: GET, path: "/bills?external_ref={operation/reference}", records: /items, complete: true, match: {/external_ref: $operation/reference}, reference: /id}
    settle: 5s
    processing: 30s
    absence: authoritative
    in_doubt: [replay, lookup, operator]
---
kind: target
name: bank
version: 1
protocol: http
operations:
  payments.send:
    write: {method: POST, path: /payments, timeout: 20s, body: $request}
    identity: {kind: none}
    responses:
      - {name: created, when: {status: 201}, outcome: confirmed, reference: /id}
    in_doubt: [operator]
`

// connectionsOf are a workspace's connections: two that serve bills.create, one
// of them disabled and one nearly full, and one that asks for approval (M27).
func connectionsOf(workspace string) string {
	one := func(name, target, extra string) string {
		return "---\nkind: connection\nworkspace: " + workspace + "\nname: " + name + "\ntarget: " + target +
			"\nurl: https://erp.example/" + workspace + "\nowner: maria@" + workspace + ".example\n" + extra
	}
	return one(workspace+"-erp", "erp@1", "auth: {bearer: token}\nsecrets: {token: env:ONEFOLD_S_"+strings.ToUpper(workspace)+"__TOKEN}\n") +
		one(workspace+"-old", "erp@1", "mode: disabled\n") +
		one(workspace+"-full", "erp@1", "limits: {unresolved: 1}\n") +
		one(workspace+"-bank", "bank@1", "")
}

// house is a server on real storage with two workspaces that mirror one another.
type house struct {
	t        testing.TB
	clock    *clock
	path     string // of the ledger's file
	store    *sqlite.Store
	ledger   *onefold.Ledger
	registry *contract.Registry
	server   *api.Server
	url      string
	client   *http.Client
	log      *logBook
	schemas  *schemas
	tokens   map[string]string // workspace:role[,role] to secret
}

// clock moves only when it is told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func worker() onefold.Actor { return onefold.Actor{Kind: onefold.ActorWorker, Name: "w1"} }

// logBook keeps what was logged.
type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newHouse(t testing.TB, change ...func(*api.Config)) *house {
	t.Helper()
	h := &house{t: t, clock: newClock(), log: &logBook{}, tokens: map[string]string{}, schemas: documentSchemas(t)}
	ctx := context.Background()
	var err error
	h.path = filepath.Join(t.TempDir(), "ledger.db")
	h.store, err = sqlite.Open(ctx, sqlite.Options{
		Path: h.path, Driver: "sqlite", Now: h.clock.Now, IDs: ids.Random{}, Migrate: true,
	})
	h.must(err)
	t.Cleanup(func() { _ = h.store.Close() })
	installation, err := h.store.Installation(ctx)
	h.must(err)
	h.registry = contract.NewRegistry(contract.Options{Secret: []byte("a secret of the tests"), SecretID: "s1"})
	h.publish(documents + connectionsOf("acme") + connectionsOf("umbrella"))
	h.ledger, err = onefold.New(h.store, onefold.Config{Contracts: h.registry, IDs: ids.Random{}, Now: h.clock.Now, Deployment: installation.Deployment})
	h.must(err)
	cfg := api.Config{
		Ledger: h.ledger, Catalog: contract.NewCatalog(h.registry, contract.CatalogOptions{}), Now: h.clock.Now,
		Logger: slog.New(slog.NewJSONHandler(h.log, nil)), Version: "test",
	}
	for _, f := range change {
		f(&cfg)
	}
	h.server, err = api.New(cfg)
	h.must(err)
	listener := httptest.NewServer(h.server)
	t.Cleanup(listener.Close)
	h.url, h.client = listener.URL, listener.Client()
	for _, workspace := range []string{"acme", "umbrella"} {
		_, err := h.store.CreateWorkspace(ctx, workspace)
		h.must(err)
	}
	return h
}

// openReadOnly opens a ledger's file beside its store.
func openReadOnly(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// publish loads documents into the registry, as their author wrote them.
func (h *house) publish(text string) {
	h.t.Helper()
	decoded, faults := contract.DecodeFile("documents.yaml", []byte(text))
	h.must(faults.Err())
	var docs []onefold.Document
	for i := range decoded {
		d := &decoded[i]
		docs = append(docs, onefold.Document{
			Kind: string(d.Kind), Workspace: d.Workspace, Name: d.Name, Version: max(1, d.Version), Source: d.Source, Canonical: d.Canonical,
		})
	}
	h.must(h.registry.Load(docs))
}

// digestReader is chance that is the same in every run.
type digestReader struct {
	seed string
	n    uint64
}

func (r *digestReader) Read(p []byte) (int, error) {
	for i := 0; i < len(p); i += sha256.Size {
		sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte(r.seed), r.n))
		r.n++
		copy(p[i:], sum[:])
	}
	return len(p), nil
}

// token returns a token of a workspace with roles, named after them.
func (h *house) token(workspace string, roles ...onefold.Role) string {
	return h.named(workspace, "", roles...)
}

// named is token for a principal of a name of its own.
func (h *house) named(workspace, name string, roles ...onefold.Role) string {
	h.t.Helper()
	words := make([]string, len(roles))
	for i, r := range roles {
		words[i] = string(r)
	}
	if name == "" {
		name = strings.Join(words, "-") + "-service"
	}
	key := workspace + ":" + name + ":" + strings.Join(words, ",")
	if secret := h.tokens[key]; secret != "" {
		return secret
	}
	secret := h.store1(onefold.Token{Workspace: workspace, Name: name, Roles: roles}, key)
	h.tokens[key] = secret
	return secret
}

// store1 stores one token and returns its secret.
func (h *house) store1(token onefold.Token, seed string) string {
	h.t.Helper()
	secret, err := api.NewToken(&digestReader{seed: seed})
	h.must(err)
	token.ID, token.Hash, token.CreatedAt = h.ledger.NewID(onefold.PrefixToken), api.HashToken(secret), h.clock.Now()
	h.must(h.store.CreateToken(context.Background(), token))
	return secret
}

// said is an answer that came in.
type said struct {
	status int
	header http.Header
	raw    []byte
	json   map[string]any
}

// header sets a request's header.
type header struct{ name, value string }

// call makes one call. A string body goes as it is, anything else as JSON. Every
// JSON answer is held against the document that the server publishes.
func (h *house) call(method, path, token string, body any, headers ...header) said {
	h.t.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	case io.Reader:
		reader = b
	default:
		raw, err := json.Marshal(b)
		h.must(err)
		reader = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(context.Background(), method, h.url+path, reader)
	h.must(err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if reader != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, hd := range headers {
		r.Header[hd.name] = append(slices.Clone(r.Header[hd.name]), hd.value)
		if hd.name == "Content-Type" {
			r.Header[hd.name] = []string{hd.value}
		}
	}
	return h.send(r)
}

func (h *house) send(r *http.Request) said {
	h.t.Helper()
	answer, err := h.client.Do(r)
	h.must(err)
	defer answer.Body.Close()
	out := said{status: answer.StatusCode, header: answer.Header}
	out.raw, err = io.ReadAll(answer.Body)
	h.must(err)
	if media := answer.Header.Get("Content-Type"); strings.HasSuffix(media, "json") && len(out.raw) > 0 {
		if err := json.Unmarshal(out.raw, &out.json); err != nil {
			h.t.Fatalf("%s %s answers what is no JSON object: %v\n%s", r.Method, r.URL.Path, err, out.raw)
		}
		h.schemas.check(h.t, r, &out)
	}
	if answer.Header.Get("Request-Id") == "" {
		h.t.Errorf("%s %s answers without Request-Id", r.Method, r.URL.Path)
	}
	return out
}

func (s said) text(name string) string {
	text, _ := s.json[name].(string)
	return text
}

func (s said) items() []map[string]any {
	var out []map[string]any
	list, _ := s.json["items"].([]any)
	for _, item := range list {
		out = append(out, item.(map[string]any))
	}
	return out
}

// wants holds status and code of an answer against what is expected.
func (s said) wants(t testing.TB, status int, code onefold.Code) said {
	t.Helper()
	if s.status != status || onefold.Code(s.text("code")) != code {
		t.Fatalf("answered %d %q, wanted %d %q: %s", s.status, s.text("code"), status, code, s.raw)
	}
	if code != "" && s.header.Get("Content-Type") != "application/problem+json" {
		t.Fatalf("a refusal has the type %q", s.header.Get("Content-Type"))
	}
	return s
}

func key(k string) header { return header{"Idempotency-Key", k} }

func bill(workspace, total string) map[string]any {
	return map[string]any{
		"capability": "bills.create", "connection": workspace + "-erp",
		"request": map[string]any{"supplier_id": "S-81", "total": total},
	}
}

// submitted submits a bill with a token and returns the operation's id.
func (h *house) submitted(workspace, token, k string) string {
	h.t.Helper()
	answer := h.call("POST", "/v1/operations", token, bill(workspace, "10.00"), key(k)).wants(h.t, http.StatusCreated, "")
	return answer.text("id")
}

// fresh submits a bill of a workspace under a new key.
func (h *house) fresh(workspace string) string {
	h.t.Helper()
	return h.submitted(workspace, h.token(workspace, onefold.RoleSubmit, onefold.RoleRead), "fresh-"+h.ledger.NewID("k"))
}

// step carries an event out as the engine would.
func (h *house) step(id string, ev onefold.Event) onefold.Operation {
	h.t.Helper()
	op, err := h.store.Operation(context.Background(), "", id)
	h.must(err)
	binding, err := h.registry.Pinned(&op)
	h.must(err)
	policy := binding.Policy()
	ev.Actor, ev.Policy = worker(), &policy
	c, err := h.ledger.Step(context.Background(), id, ev, 0)
	h.must(err)
	return c.Operation
}

// begun leases an operation and begins an attempt of it.
func (h *house) begun(id string) onefold.Operation {
	h.t.Helper()
	op := h.step(id, onefold.Event{Kind: onefold.EventLeased, Lease: &onefold.LeaseGrant{Worker: "w1", For: 30 * time.Second}})
	binding, err := h.registry.Pinned(&op)
	h.must(err)
	request, err := h.store.Request(context.Background(), id)
	h.must(err)
	frozen, err := binding.Freeze(&op, request)
	h.must(err)
	policy := binding.Policy()
	c, err := h.ledger.Begin(context.Background(), id, onefold.Event{
		Kind: onefold.EventBegun, Actor: worker(), Policy: &policy,
		Begin: &onefold.Begin{Attempt: h.ledger.NewID(onefold.PrefixAttempt), Token: op.Token, Kind: onefold.Write, FrozenDigest: frozen.Digest, Scope: binding.Scope("c"), ConnectionRevision: 1},
	}, frozen)
	h.must(err)
	return c.Operation
}

// ended ends the last attempt with an outcome.
func (h *house) ended(id string, outcome onefold.Outcome, reference string) onefold.Operation {
	h.t.Helper()
	op, err := h.store.Operation(context.Background(), "", id)
	h.must(err)
	last := op.Attempts[len(op.Attempts)-1]
	a := &onefold.Answer{Attempt: last.ID, Token: last.Token, Outcome: outcome, Reference: reference}
	if outcome == onefold.OutcomeUnknown {
		a.Doubt = onefold.DoubtNoAnswer
	}
	return h.step(id, onefold.Event{Kind: onefold.EventAnswered, Answer: a, Evidence: &onefold.Evidence{
		ID: h.ledger.NewID(onefold.PrefixEvidence), Attempt: last.ID, Kind: onefold.EvidenceResponse, Asserts: onefold.AssertsNothing, Excerpt: "<&>",
	}})
}

// uncertain makes an operation whose answer was lost.
func (h *house) uncertain(workspace string) onefold.Operation {
	h.t.Helper()
	id := h.fresh(workspace)
	h.begun(id)
	return h.ended(id, onefold.OutcomeUnknown, "")
}

func tag(op onefold.Operation) header {
	return header{"If-Match", versionTag(op.Version)}
}
