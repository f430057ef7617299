package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
)

// A principal that may submit but not read sees its own submissions wholly, and
// of others id and state alone.
// Proves: I5
func TestSubmitOnlySeesItsOwn(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ada, ben := h.named("acme", "ada", onefold.RoleSubmit), h.named("acme", "ben", onefold.RoleSubmit)
	id := h.submitted("acme", ada, "k-ada")
	if own := h.call("GET", "/v1/operations/"+id, ada, nil).wants(t, 200, ""); own.text("idempotency_key") != "k-ada" || own.header.Get("ETag") != `"1"` {
		t.Errorf("its own: %s", own.raw)
	}
	brief := h.call("GET", "/v1/operations/"+id, ben, nil).wants(t, 200, "")
	replay := h.call("POST", "/v1/operations", ben, bill("acme", "10.00"), key("k-ada")).wants(t, 200, "")
	for _, answer := range []said{brief, replay} {
		if len(answer.json) != 2 || answer.text("id") != id || answer.text("state") != "prepared" || answer.header.Get("ETag") != "" {
			t.Errorf("another's: %s", answer.raw)
		}
	}
	for _, part := range []string{"timeline", "attempts", "evidence", "explain"} {
		h.call("GET", "/v1/operations/"+id+"/"+part, ada, nil).wants(t, 200, "")
		h.call("GET", "/v1/operations/"+id+"/"+part, ben, nil).wants(t, 403, onefold.CodeNotPermitted)
	}
	h.call("GET", "/v1/operations/"+id+"/request", ada, nil).wants(t, 403, onefold.CodeNotPermitted)
	if list := h.call("GET", "/v1/operations", ben, nil); len(list.items()) != 0 {
		t.Errorf("the list of another: %s", list.raw)
	}
	if list := h.call("GET", "/v1/operations", ada, nil); len(list.items()) != 1 {
		t.Errorf("its own list: %s", list.raw)
	}
	h.call("POST", "/v1/operations/"+id+"/cancel", ben, nil).wants(t, 403, onefold.CodeNotPermitted)
	h.call("POST", "/v1/operations/"+id+"/cancel", ada, nil).wants(t, 200, "")
}

// A token for evidence delivers for its connections, and learns of no other.
// Proves: I5, M18
func TestEvidenceTokensDeliverForTheirConnections(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	own := h.store1(onefold.Token{Workspace: "acme", Name: "erp-hook", Roles: []onefold.Role{onefold.RoleEvidence}, Connections: []string{"acme-erp"}}, "erp-hook")
	other := h.store1(onefold.Token{Workspace: "acme", Name: "bank-hook", Roles: []onefold.Role{onefold.RoleEvidence}, Connections: []string{"acme-bank"}}, "bank-hook")
	op := h.uncertain("acme")
	body := map[string]any{"source": "erp", "event_id": "e-1", "asserts": "effect_exists", "reference": "BILL-7", "body": map[string]any{"a": 1}}
	h.call("POST", "/v1/operations/"+op.ID+"/evidence", other, body).wants(t, 404, onefold.CodeOperationUnknown)
	answer := h.call("POST", "/v1/operations/"+op.ID+"/evidence", own, body).wants(t, 200, "")
	if len(answer.json) != 2 || answer.text("state") != "confirmed" {
		t.Errorf("to a token for evidence: %s", answer.raw)
	}
	h.call("GET", "/v1/operations/"+op.ID, own, nil).wants(t, 403, onefold.CodeNotPermitted)
}

// Proves: M17, M19
func TestTheSameEventAgainChangesNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	op := h.uncertain("acme")
	path := "/v1/operations/" + op.ID
	body := map[string]any{"source": "erp", "event_id": "e-1", "asserts": "effect_exists", "reference": "BILL-7", "body": map[string]any{"a": 1}}
	first := h.call("POST", path+"/evidence", h.operator("acme"), body).wants(t, 200, "")
	again := h.call("POST", path+"/evidence", h.operator("acme"), body).wants(t, 200, "")
	if string(first.raw) != string(again.raw) || again.text("state") != "confirmed" {
		t.Errorf("the same event again: %s", again.raw)
	}
	found := h.call("GET", path+"/evidence", h.operator("acme"), nil).items()
	if len(found) != 2 || found[1]["excerpt"] != `{"a":1}` || found[1]["event_id"] != "e-1" {
		t.Errorf("the evidence that is kept: %v", found)
	}
}

// Tokens that are wrong in any way are refused alike, and say nothing.
// Proves: I5
func TestTokens(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	soon := h.clock.Now().Add(time.Hour)
	expiring := h.store1(onefold.Token{Workspace: "acme", Name: "x", Roles: []onefold.Role{onefold.RoleRead}, ExpiresAt: &soon}, "expiring")
	h.call("GET", "/v1/stats", expiring, nil).wants(t, 200, "")
	admin := h.token("acme", onefold.RoleAdmin)
	listed := h.call("GET", "/v1/tokens", admin, nil).wants(t, 200, "")
	if strings.Contains(string(listed.raw), "hash") || len(listed.items()) != 2 || !strings.Contains(string(listed.raw), `"last_used_at":"2026-03-01T12:00:00Z"`) {
		t.Errorf("the tokens: %s", listed.raw)
	}
	for _, token := range listed.items() {
		if token["name"] == "x" {
			h.must(h.store.RevokeToken(t.Context(), "acme", token["id"].(string)))
		}
	}
	h.call("GET", "/v1/stats", expiring, nil).wants(t, 401, onefold.CodeUnauthenticated)
	h.clock.Advance(2 * time.Hour)
	gone := h.clock.Now().Add(-time.Minute)
	expired := h.store1(onefold.Token{Workspace: "acme", Name: "y", Roles: []onefold.Role{onefold.RoleRead}, ExpiresAt: &gone}, "expired")
	good := h.token("acme", onefold.RoleRead)
	stranger := good[:len(good)-7] + "0" + good[len(good)-6:]
	for name, headers := range map[string][]header{
		"none": nil, "expired": {{"Authorization", "Bearer " + expired}}, "basic": {{"Authorization", "Basic " + good}},
		"bare": {{"Authorization", good}}, "changed": {{"Authorization", "Bearer " + stranger}},
		"twice": {{"Authorization", "Bearer " + good}, {"Authorization", "Bearer " + good}},
		"space": {{"Authorization", "Bearer  " + good}},
	} {
		answer := h.call("GET", "/v1/stats", "", nil, headers...).wants(t, 401, onefold.CodeUnauthenticated)
		if strings.Contains(string(answer.raw), good[4:20]) || strings.Contains(string(answer.raw), expired[4:20]) {
			t.Errorf("%s: the token is said back", name)
		}
	}
	h.call("GET", "/v1/stats", "", nil, header{"Authorization", "bearer " + good}).wants(t, 200, "")
	if strings.Contains(h.log.String(), "ofk_") {
		t.Error("a token is in the log")
	}
}
