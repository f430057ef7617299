package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/api"
	"github.com/onefold-dev/onefold/client"
	"github.com/onefold-dev/onefold/contract"
	"github.com/onefold-dev/onefold/internal/ids"
	"github.com/onefold-dev/onefold/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const documents = `
kind: capability
name: payments.send
version: 1
request: {type: object}
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
---
kind: connection
workspace: acme
name: bank
target: bank@1
url: https://bank.example
owner: maria@acme.example
`

// clock moves only when it is told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// bureau is a server on real storage, and a client of it.
type bureau struct {
	*client.Client
	url    string
	token  string
	ledger *onefold.Ledger
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newBureau(t *testing.T) *bureau {
	t.Helper()
	ctx := context.Background()
	c := &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	store, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(t.TempDir(), "ledger.db"), Driver: "sqlite", Now: c.Now, IDs: ids.Random{}, Migrate: true})
	must(t, err)
	t.Cleanup(func() { _ = store.Close() })
	installation, err := store.Installation(ctx)
	must(t, err)
	registry := contract.NewRegistry(contract.Options{Secret: []byte("a secret of the tests"), SecretID: "s1"})
	decoded, faults := contract.DecodeFile("documents.yaml", []byte(documents))
	must(t, faults.Err())
	var docs []onefold.Document
	for _, d := range decoded {
		docs = append(docs, onefold.Document{Kind: string(d.Kind), Workspace: d.Workspace, Name: d.Name, Version: max(1, d.Version), Source: d.Source, Canonical: d.Canonical})
	}
	must(t, registry.Load(docs))
	ledger, err := onefold.New(store, onefold.Config{Contracts: registry, IDs: ids.Random{}, Now: c.Now, Deployment: installation.Deployment})
	must(t, err)
	server, err := api.New(api.Config{
		Ledger: ledger, Catalog: contract.NewCatalog(registry, contract.CatalogOptions{}), Now: c.Now, Logger: slog.New(slog.DiscardHandler),
	})
	must(t, err)
	listener := httptest.NewServer(server)
	t.Cleanup(listener.Close)
	_, err = store.CreateWorkspace(ctx, "acme")
	must(t, err)
	token, err := api.NewToken(strings.NewReader("chance that is no chance at all"))
	must(t, err)
	must(t, store.CreateToken(ctx, onefold.Token{
		ID: ledger.NewID(onefold.PrefixToken), Hash: api.HashToken(token), Workspace: "acme", Name: "maria", Roles: onefold.Roles(), CreatedAt: c.Now(),
	}))
	b := &bureau{url: listener.URL, token: token, ledger: ledger}
	b.Client, err = client.New(client.Options{Server: listener.URL + "/", Token: token})
	must(t, err)
	t.Cleanup(b.Close)
	return b
}

func payment(key string) client.Submission {
	return client.Submission{Capability: "payments.send", Key: key, Request: json.RawMessage(`{"amount": 1.10, "note": "<&>"}`)}
}

// isProblem holds an error to a code.
func isProblem(t *testing.T, err error, code onefold.Code, exit int) {
	t.Helper()
	_ = problemIn(t, err, code, exit) // the problem itself is for others
}

// problemIn is isProblem for a test that looks at the problem.
func problemIn(t *testing.T, err error, code onefold.Code, exit int) *client.Problem {
	t.Helper()
	p, ok := errors.AsType[*client.Problem](err)
	if !ok || p.Code != code || !errors.Is(err, &onefold.Error{Code: code}) || client.ExitCode(err) != exit {
		t.Fatalf("got %v (exit %d), wanted %s (exit %d)", err, client.ExitCode(err), code, exit)
	}
	return p
}

// One operation's way through every call that a person has.
// Proves: I1, I4, I13, M24
func TestEveryCall(t *testing.T) {
	t.Parallel()
	b, ctx := newBureau(t), t.Context()
	first, err := b.Submit(ctx, payment(`odd"\key`))
	must(t, err)
	if first.Replayed || first.Key != `odd"\key` || len(first.Holds) != 1 || !first.NeedsPerson() || !json.Valid(first.Raw) {
		t.Fatalf("submitted: %+v", first.Operation)
	}
	again := payment(`odd"\key`)
	again.Wait = time.Minute // at rest already: held
	repeat, err := b.Submit(ctx, again)
	must(t, err)
	if !repeat.Replayed || repeat.ID != first.ID {
		t.Errorf("repeated: %+v", repeat)
	}
	changed := payment(`odd"\key`)
	changed.Request = json.RawMessage(`{"amount": 2}`)
	_, err = b.Submit(ctx, changed)
	if p := problemIn(t, err, onefold.CodeKeyConflict, client.ExitRefused); p.Operation != first.ID || len(p.Differences) == 0 || p.Claim != "none" {
		t.Errorf("a conflict: %+v", p)
	}
	preview, err := b.DryRun(ctx, payment("dry"))
	must(t, err)
	if preview.Outgoing == nil || *preview.Outgoing.Body != `{"amount":1.10,"note":"<&>"}` {
		t.Errorf("a dry run: %s", preview.Raw)
	}
	request, err := b.Request(ctx, first.ID)
	must(t, err)
	if string(request.Request) != `{"amount":1.10,"note":"<&>"}` {
		t.Errorf("the request: %s", request.Raw)
	}
	released, err := b.Release(ctx, client.Decision{Operation: first.ID, Version: 1, Reason: "fine"}, onefold.HoldApproval, true)
	must(t, err)
	_, err = b.Retry(ctx, client.Decision{Operation: first.ID, Version: 1})
	if p := problemIn(t, err, onefold.CodeStaleVersion, client.ExitRefused); len(p.Changes) != 1 || p.Changes[0].Actor.Name != "maria" {
		t.Errorf("a stale decision: %+v", p)
	}
	_, err = b.Retry(ctx, client.Decision{Operation: first.ID})
	isProblem(t, err, onefold.CodeIfMatchRequired, client.ExitRefused)
	_, err = b.Retry(ctx, client.Decision{Operation: first.ID, Version: released.Version})
	must(t, err)
	_, err = b.Resolve(ctx, client.Decision{Operation: first.ID, Version: released.Version, Reason: "x"}, onefold.ResolveRejected, "")
	isProblem(t, err, onefold.CodeNotDecidable, client.ExitRefused)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	done, err := b.Deliver(ctx, client.Decision{Operation: first.ID}, client.Delivery{
		Asserts: onefold.AssertsEffect, Reference: "P-1", Source: "bank", EventID: "e1", OccurredAt: &at, Body: json.RawMessage(`{"id":"P-1"}`),
	})
	must(t, err)
	if done.State != onefold.Confirmed || done.Result.Reference != "P-1" {
		t.Errorf("delivered: %s", done.Raw)
	}
	_, _, err = b.Cancel(ctx, client.Decision{Operation: first.ID}, false)
	isProblem(t, err, onefold.CodeAlreadySettled, client.ExitRefused)
	_, err = b.Assign(ctx, client.Decision{Operation: first.ID, Version: done.Version}, "", "joe")
	isProblem(t, err, onefold.CodeReviewUnknown, client.ExitNotFound)

	explained, err := b.Explain(ctx, first.ID)
	must(t, err)
	if !strings.Contains(explained.Text, "P-1") {
		t.Errorf("explained: %s", explained.Text)
	}
	timeline, err := b.Timeline(ctx, first.ID, client.PageOf{Limit: 2})
	must(t, err)
	if len(timeline.Items) != 2 || timeline.NextCursor == nil {
		t.Errorf("the timeline: %s", timeline.Raw)
	}
	evidence, err := b.Evidence(ctx, first.ID, client.PageOf{})
	must(t, err)
	attempts, err := b.Attempts(ctx, first.ID, client.PageOf{})
	must(t, err)
	if len(evidence.Items) != 2 || len(attempts.Items) != 0 {
		t.Errorf("evidence %s, attempts %s", evidence.Raw, attempts.Raw)
	}
	second, err := b.Submit(ctx, payment("k-2"))
	must(t, err)
	withdrawn, recorded, err := b.Cancel(ctx, client.Decision{Operation: second.ID, Reason: "no more"}, true)
	must(t, err)
	if recorded || withdrawn.State != onefold.Canceled {
		t.Errorf("canceled: %s", withdrawn.Raw)
	}
	read, err := b.Operation(ctx, second.ID, time.Second, 1)
	must(t, err)
	if read.Version != withdrawn.Version {
		t.Errorf("read: %s", read.Raw)
	}
	yes := true
	list, err := b.Operations(ctx, client.Filter{Key: "k-2", State: onefold.Canceled, CreatedFrom: &at, PageOf: client.PageOf{Limit: 10}})
	must(t, err)
	none, err := b.Operations(ctx, client.Filter{Contradicted: &yes})
	must(t, err)
	if len(list.Items) != 1 || len(none.Items) != 0 {
		t.Errorf("listed: %s %s", list.Raw, none.Raw)
	}
}

// Proves: M16, I33
func TestReviewsAndCatalog(t *testing.T) {
	t.Parallel()
	b, ctx := newBureau(t), t.Context()
	_, err := b.Submit(ctx, payment("k"))
	must(t, err)
	reviews, err := b.Reviews(ctx, client.ReviewFilter{Status: onefold.ReviewOpen, Owner: "maria@acme.example", Reason: onefold.ReviewApproval})
	must(t, err)
	old, err := b.Reviews(ctx, client.ReviewFilter{Age: time.Hour})
	must(t, err)
	if len(reviews.Items) != 1 || reviews.Items[0].Operation.Key != "k" || len(old.Items) != 0 {
		t.Fatalf("reviews: %s", reviews.Raw)
	}
	assigned, err := b.Assign(ctx, client.Decision{Operation: reviews.Items[0].Operation.ID, Version: 1}, reviews.Items[0].ID, "joe")
	must(t, err)
	if assigned.Reviews[0].Owner != "joe" {
		t.Errorf("assigned: %s", assigned.Raw)
	}
	paused, err := b.Pause(ctx, "bank", "month end")
	must(t, err)
	if paused.Paused == nil || paused.Owner != "maria@acme.example" || paused.Limits.InFlight == 0 {
		t.Errorf("paused: %s", paused.Raw)
	}
	resumed, err := b.Resume(ctx, "bank", "")
	must(t, err)
	all, err := b.PauseAll(ctx, "stop")
	must(t, err)
	back, err := b.ResumeAll(ctx, "")
	must(t, err)
	if resumed.Paused != nil || !slices.Equal(all.Changed, []string{"bank"}) || back.Items[0].Paused != nil {
		t.Errorf("resumed: %s %s %s", resumed.Raw, all.Raw, back.Raw)
	}
	_, err = b.Connection(ctx, "a/b c")
	isProblem(t, err, onefold.CodeConnectionUnknown, client.ExitNotFound)
	one, err := b.Connection(ctx, "bank")
	must(t, err)
	connections, err := b.Connections(ctx, client.PageOf{})
	must(t, err)
	capabilities, err := b.Capabilities(ctx, client.PageOf{})
	must(t, err)
	targets, err := b.Targets(ctx, client.PageOf{})
	must(t, err)
	tokens, err := b.Tokens(ctx, client.PageOf{})
	must(t, err)
	if one.Name != "bank" || len(connections.Items) != 1 || len(capabilities.Items) != 1 || len(targets.Items) != 1 || tokens.Items[0].Name != "maria" {
		t.Errorf("catalog: %s %s", connections.Raw, tokens.Raw)
	}
	agreement, err := b.Agreement(ctx, "payments.send", "bank")
	must(t, err)
	if agreement.Agreement.Protection != onefold.ProtectionNone || !strings.Contains(agreement.Markdown, "bank") {
		t.Errorf("the agreement: %s", agreement.Raw)
	}
	stats, err := b.Stats(ctx)
	must(t, err)
	if stats.ByState[onefold.Prepared] != 1 || stats.OpenReviews != 1 {
		t.Errorf("stats: %s", stats.Raw)
	}
	_, err = b.Publish(ctx, []client.SourceFile{{Name: "a.yaml", Text: "x"}}, true)
	isProblem(t, err, onefold.CodeNotFound, client.ExitNotFound)
}

// What cannot go into a call is refused here, with the code that the server has.
// Proves: I1
func TestWhatCannotBeSent(t *testing.T) {
	t.Parallel()
	b, ctx := newBureau(t), t.Context()
	for key, code := range map[string]onefold.Code{"": onefold.CodeKeyInvalid, "a\nb": onefold.CodeKeyInvalid, "a b": onefold.CodeKeyInvalid, "ké": onefold.CodeKeyInvalid} {
		_, err := b.Submit(ctx, payment(key))
		isProblem(t, err, code, client.ExitRefused)
	}
	broken := payment("k")
	broken.Request = json.RawMessage(`{"a":`)
	_, err := b.Submit(ctx, broken)
	isProblem(t, err, onefold.CodeJSONInvalid, client.ExitRefused)
	broken.Request = nil
	_, err = b.Submit(ctx, broken)
	isProblem(t, err, onefold.CodeJSONInvalid, client.ExitRefused)
	for _, o := range []client.Options{
		{}, {Server: "127.0.0.1:80"}, {Server: "ftp://host"}, {Server: "http://user:pass@host"}, {Server: "http://host?x=1"}, {Server: "http://host", Token: "a\nb"},
	} {
		if _, err := client.New(o); err == nil || strings.Contains(err.Error(), "pass") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	stranger, err := client.New(client.Options{Server: b.url, Token: "ofk_nobody"})
	must(t, err)
	defer stranger.Close()
	_, err = stranger.Stats(ctx)
	isProblem(t, err, onefold.CodeUnauthenticated, client.ExitNotPermitted)
}

// No answer is no verdict, and no error holds the token or the key.
// Proves: M26
func TestNoAnswerIsNoVerdict(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	silent := make(chan struct{})
	var accepted sync.WaitGroup
	accepted.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			accepted.Go(func() {
				defer connection.Close()
				<-silent
			})
		}
	})
	defer accepted.Wait()
	defer listener.Close()
	defer close(silent)
	c, err := client.New(client.Options{Server: "http://" + listener.Addr().String(), Token: "ofk_secret", Timeout: 50 * time.Millisecond})
	must(t, err)
	defer c.Close()
	_, err = c.Submit(t.Context(), payment("key-of-mine"))
	lost, ok := errors.AsType[*client.Unanswered](err)
	if !ok || !errors.Is(err, context.DeadlineExceeded) || client.ExitCode(err) != client.ExitFailed {
		t.Fatalf("a server that is silent: %v", err)
	}
	if text := lost.Error(); strings.Contains(text, "ofk_secret") || strings.Contains(text, "key-of-mine") || !strings.Contains(text, "the time was over") {
		t.Errorf("the error says %q", text)
	}
}

// Answers that no onefold server gives are not mistaken for one's.
func TestStrangersAnswers(t *testing.T) {
	t.Parallel()
	var redirected int
	answers := map[string]http.HandlerFunc{
		"html": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<p>")
		},
		"broken": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"id":`)
		},
		"bad": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, "ofk_secret")
		},
		"away": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		},
		"long": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(make([]byte, 17<<20))
		},
		"no code": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(404)
			_, _ = io.WriteString(w, `{}`)
		},
	}
	for name, answer := range answers {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/elsewhere" {
				redirected++
			}
			answer(w, r)
		}))
		c, err := client.New(client.Options{Server: server.URL, Token: "ofk_secret"})
		must(t, err)
		_, err = c.Stats(t.Context())
		if err == nil || strings.Contains(err.Error(), "ofk_secret") || client.ExitCode(err) == 0 {
			t.Errorf("%s: %v", name, err)
		}
		c.Close()
		server.Close()
	}
	if redirected > 0 {
		t.Error("a redirect was followed, with the token")
	}
}

// The types of this package have the members that the document describes.
func TestTypesAreTheDocuments(t *testing.T) {
	t.Parallel()
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	must(t, json.Unmarshal(api.OpenAPI("0"), &document))
	for name, value := range map[string]any{
		"Operation": client.Operation{}, "Next": client.Next{}, "Hold": client.Hold{}, "Rejection": client.Rejection{}, "ReviewBrief": client.OperationReview{},
		"BusinessIdentity": client.BusinessIdentity{}, "Entry": client.Entry{}, "Attempt": client.Attempt{}, "Evidence": client.Evidence{},
		"Request": client.Request{}, "Outgoing": client.Outgoing{}, "Preview": client.Preview{}, "Explanation": client.Explanation{}, "Review": client.Review{},
		"Connection": client.Connection{}, "Switched": client.Switched{}, "Agreement": client.Agreement{}, "Stats": client.Stats{}, "Publication": client.Publication{},
		"OperationPage": client.Page[client.Operation]{}, "Result": onefold.Result{}, "Doubt": onefold.Doubt{}, "Token": onefold.Token{},
		"Change": client.Change{}, "Changes": client.Changes{}, "BatchResult": client.BatchResult{},
	} {
		var want []string
		for member := range document.Components.Schemas[name].Properties {
			want = append(want, member)
		}
		got := membersOf(reflect.TypeOf(value))
		slices.Sort(want)
		slices.Sort(got)
		if len(want) == 0 || !slices.Equal(want, got) {
			t.Errorf("%s has\n%v\nand the document\n%v", name, got, want)
		}
	}
}

func membersOf(t reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && tag == "":
			out = append(out, membersOf(f.Type)...)
		case tag != "-" && tag != "":
			out = append(out, tag)
		}
	}
	return out
}
