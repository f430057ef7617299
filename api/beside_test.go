package api_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/api"
	"github.com/onefold-dev/onefold/contract"
	"github.com/onefold-dev/onefold/internal/ids"
	"github.com/onefold-dev/onefold/sqlite"
)

// beside is a second server on the house's file, with a store, documents and an
// address of its own; tokens are the house's.
func (h *house) beside() *house {
	h.t.Helper()
	other := *h
	ctx := context.Background()
	var err error
	other.store, err = sqlite.Open(ctx, sqlite.Options{Path: h.path, Driver: "sqlite", Now: h.clock.Now, IDs: ids.Random{}})
	h.must(err)
	h.t.Cleanup(func() { _ = other.store.Close() })
	other.registry = contract.NewRegistry(contract.Options{Secret: []byte("a secret of the tests"), SecretID: "s1"})
	documents := onefold.Follow(other.store, other.registry.Load)
	h.must(documents.Load(ctx))
	other.ledger, err = onefold.New(other.store, onefold.Config{
		Contracts: other.registry, Documents: documents, IDs: ids.Random{}, Now: h.clock.Now, Deployment: h.ledger.Deployment(),
	})
	h.must(err)
	other.server, err = api.New(api.Config{
		Ledger: other.ledger, Catalog: contract.NewCatalog(other.registry, contract.CatalogOptions{}), Now: h.clock.Now,
		Logger: slog.New(slog.NewJSONHandler(h.log, nil)), Version: "test",
	})
	h.must(err)
	listener := httptest.NewServer(other.server)
	h.t.Cleanup(listener.Close)
	other.url, other.client = listener.URL, listener.Client()
	return &other
}

// applied stores documents as `apply` does, and has this server load them.
func (h *house) applied(text string) {
	h.t.Helper()
	decoded, faults := contract.DecodeFile("documents.yaml", []byte(text))
	h.must(faults.Err())
	var docs []onefold.Document
	for i := range decoded {
		docs = append(docs, decoded[i].Publication())
	}
	_, err := h.store.Publish(context.Background(), docs)
	h.must(err)
	all, err := h.store.AllDocuments(context.Background())
	h.must(err)
	h.must(h.registry.Load(all))
}

// fresh documents: a capability, a target and a connection of one name.
func freshDocuments(name string) string {
	return strings.ReplaceAll(`
kind: capability
name: NAME.do
version: 1
request: {type: object}
---
kind: target
name: NAME
version: 1
protocol: http
operations:
  NAME.do:
    write: {method: POST, path: /things, timeout: 5s, body: $request}
    identity: {kind: none}
    responses:
      - {name: created, when: {status: 201}, outcome: confirmed, reference: /id}
    in_doubt: [operator]
---
kind: connection
workspace: acme
name: NAME
target: NAME@1
url: https://things.example
owner: maria@acme.example
acknowledged: {by: maria@acme.example, date: 2026-03-01, reason: tests}
`, "NAME", name)
}

// TestAServerKnowsWhatAnotherWasGiven: two servers on one file. Whatever a caller
// does first at the one with an operation of the other's, under documents that it
// has not read yet, it answers as the other would; of the key of an operation it
// never says that it is free.
//
// Proves: I3a, I4, M22
func TestAServerKnowsWhatAnotherWasGiven(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.applied(documents + connectionsOf("acme"))
	other := h.beside()
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead, onefold.RoleOperate, onefold.RoleAdmin)
	body := func(name string) map[string]any {
		return map[string]any{"capability": name + ".do", "request": map[string]any{"v": 1}}
	}
	for i, first := range []func(name, id string) said{
		func(name, id string) said {
			again := other.call("POST", "/v1/operations", token, body(name), key("k-"+name))
			if again.text("id") != id || again.header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("%s: a repeat answered %s", name, again.raw)
			}
			return again
		},
		func(name, _ string) said {
			return other.call("POST", "/v1/operations?dry_run=true", token, body(name), key("k-"+name))
		},
		func(name, _ string) said {
			return other.call("POST", "/v1/operations?dry_run=true", token, body(name), key("another-"+name))
		},
		func(_, id string) said { return other.call("GET", "/v1/operations/"+id+"/explain", token, nil) },
		func(_, id string) said {
			return other.call("POST", "/v1/operations/"+id+"/cancel", token, map[string]any{})
		},
		func(_, id string) said {
			return other.call("POST", "/v1/operations/"+id+"/retry", token, map[string]any{}, header{"If-Match", `"1"`})
		},
		func(name, _ string) said { return other.call("GET", "/v1/connections/"+name, token, nil) },
		func(name, _ string) said {
			paused := other.call("POST", "/v1/connections/"+name+"/pause", token, map[string]any{})
			other.call("POST", "/v1/connections/"+name+"/resume", token, map[string]any{}).wants(t, 200, "")
			return paused
		},
		func(name, _ string) said {
			all := other.call("POST", "/v1/connections:pause", token, map[string]any{})
			if !strings.Contains(string(all.raw), `"`+name+`"`) {
				t.Errorf("%s is not among those paused: %s", name, all.raw)
			}
			other.call("POST", "/v1/connections:resume", token, map[string]any{}).wants(t, 200, "")
			return all
		},
		func(name, _ string) said {
			return other.call("GET", "/v1/agreements/"+name+".do/"+name, token, nil)
		},
	} {
		name := fmt.Sprintf("thing%d", i)
		h.applied(freshDocuments(name))
		id := h.call("POST", "/v1/operations", token, body(name), key("k-"+name)).wants(t, http.StatusCreated, "").text("id")
		first(name, id).wants(t, http.StatusOK, "")
	}
	h.applied(freshDocuments("last"))
	other.call("POST", "/v1/operations", token, body("last"), key("k-last")).wants(t, http.StatusCreated, "")
	none := other.call("POST", "/v1/operations", token, body("never"), key("k-never")).wants(t, 404, onefold.CodeCapabilityUnknown)
	if none.text("claim") != "none" || !strings.HasSuffix(none.text("hint"), onefold.KeyNotUsed) {
		t.Errorf("what nobody published: %s", none.raw)
	}
}

// TestAContractThatIsGoneFreesNoKey: the document that an operation runs under is
// not in the database any more. Its key is not free and nothing says so; the
// operation can be seen, and a person can withdraw it.
//
// Proves: I3a, M16, M22
func TestAContractThatIsGoneFreesNoKey(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.applied(documents + connectionsOf("acme"))
	h.applied(freshDocuments("thing"))
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead, onefold.RoleOperate)
	body := map[string]any{"capability": "thing.do", "request": map[string]any{"v": 1}}
	id := h.call("POST", "/v1/operations", token, body, key("k")).wants(t, http.StatusCreated, "").text("id")
	db, err := sql.Open("sqlite", h.path)
	h.must(err)
	_, err = db.ExecContext(t.Context(), "DELETE FROM document WHERE kind = 'capability' AND name = 'thing.do'")
	h.must(err)
	h.must(db.Close())
	other := h.beside()

	refused := func(what string, answer said) said {
		t.Helper()
		answer.wants(t, http.StatusServiceUnavailable, onefold.CodeContractUnavailable)
		if answer.text("operation_id") != id || answer.header.Get("Retry-After") == "" || answer.text("retry") != "same_request" ||
			answer.text("claim") == "none" || strings.Contains(string(answer.raw), "not used") {
			t.Errorf("%s: %s", what, answer.raw)
		}
		return answer
	}
	again := refused("a repeat", other.call("POST", "/v1/operations", token, body, key("k")))
	if again.text("claim") != "unchecked" || again.text("state") != "prepared" {
		t.Errorf("a repeat: %s", again.raw)
	}
	blind := refused("a repeat of who may not read", other.call("POST", "/v1/operations", h.token("acme", onefold.RoleSubmit), body, key("k")))
	if blind.text("state") != "" {
		t.Errorf("it tells the state: %s", blind.raw)
	}
	refused("a dry run", other.call("POST", "/v1/operations?dry_run=true", token, body, key("k")))
	refused("explain", other.call("GET", "/v1/operations/"+id+"/explain", token, nil))
	refused("retry", other.call("POST", "/v1/operations/"+id+"/retry", token, map[string]any{}, header{"If-Match", `"1"`}))
	item := map[string]any{"idempotency_key": "k", "capability": "thing.do", "request": map[string]any{"v": 1}}
	batch := other.call("POST", "/v1/operations:batch", token, map[string]any{"items": []any{item}}).wants(t, http.StatusOK, "")
	if text := string(batch.raw); !strings.Contains(text, "contract_unavailable") || !strings.Contains(text, `"claim":"unchecked"`) {
		t.Errorf("in a batch: %s", text)
	}
	other.call("GET", "/v1/operations/"+id, token, nil).wants(t, http.StatusOK, "")
	other.call("GET", "/v1/agreements/thing.do/thing", token, nil).wants(t, 404, onefold.CodeCapabilityUnknown)
	canceled := other.call("POST", "/v1/operations/"+id+"/cancel", token, map[string]any{"release": false}).wants(t, http.StatusOK, "")
	if canceled.text("state") != "canceled" {
		t.Errorf("withdrawn: %s", canceled.raw)
	}
}
