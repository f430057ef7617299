package api_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
)

// bodies that keep each route's own rules, so that what answers is the rule
// under test and not the decoder.
var goodBody = map[string]string{
	"/v1/operations":               `{"capability":"bills.create","connection":"acme-erp","request":{"supplier_id":"S","total":"1"}}`,
	"/v1/operations/{id}/cancel":   `{}`,
	"/v1/operations/{id}/retry":    `{}`,
	"/v1/operations/{id}/resolve":  `{"outcome":"confirmed","reference":"B-1","reason":"seen"}`,
	"/v1/operations/{id}/release":  `{"hold":"approval","decision":"proceed","reason":"seen"}`,
	"/v1/operations/{id}/assign":   `{"owner":"joe@acme.example"}`,
	"/v1/operations/{id}/evidence": `{"asserts":"nothing"}`,
	"/v1/documents":                `{"files":[{"name":"a.yaml","text":"x"}]}`,
}

func filled(path, id, name string) string {
	return strings.NewReplacer("{id}", id, "{name}", name, "{capability}", "bills.create", "{connection}", name, "{code}", "internal").Replace(path)
}

// Every role on every route: what section 4 gives is not refused, everything else
// is, and the refusal names the roles.
// Proves: I5
func TestEveryRoleOnEveryRoute(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id := h.fresh("acme")
	for route, roles := range routesOfSection4 {
		method, path, _ := strings.Cut(route, " ")
		allowed := strings.Fields(roles)
		for _, role := range append(onefold.Roles(), "") {
			token := ""
			if role != "" {
				token = h.token("acme", role)
			}
			var body any
			if text := goodBody[path]; text != "" {
				body = text
			}
			answer := h.call(method, filled(path, id, "acme-erp"), token, body, key("role-"+string(role)), header{"If-Match", `"999"`})
			switch {
			case roles == "":
				if answer.status != http.StatusOK {
					t.Errorf("%s to everybody: %d", route, answer.status)
				}
			case role == "":
				answer.wants(t, 401, onefold.CodeUnauthenticated)
				if answer.header.Get("WWW-Authenticate") == "" {
					t.Errorf("%s: no WWW-Authenticate", route)
				}
			case slices.Contains(allowed, string(role)):
				if answer.status == 401 || answer.status == 403 && answer.text("detail") == "no role of this token allows this call" {
					t.Errorf("%s to %s: %s", route, role, answer.raw)
				}
			default:
				answer.wants(t, 403, onefold.CodeNotPermitted)
				if got := fmt.Sprint(answer.json["roles"]); got != "["+roles+"]" {
					t.Errorf("%s to %s names the roles %s", route, role, got)
				}
			}
		}
	}
}

// requestID is the one member in which two equal refusals differ.
var requestID = regexp.MustCompile(`req_[0-9a-z]{26}`)

// What belongs to another workspace answers byte for byte like what never was:
// every route that names something, with every role at once, both ways round.
// Proves: I5, M18
func TestAnotherWorkspaceIsNotThere(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	mirror := map[string]string{"acme": "umbrella", "umbrella": "acme"}
	ids := map[string]string{"acme": h.uncertain("acme").ID, "umbrella": h.uncertain("umbrella").ID}
	for workspace, other := range mirror {
		token := h.token(workspace, onefold.RoleSubmit, onefold.RoleRead, onefold.RoleOperate, onefold.RoleAdmin)
		for route := range routesOfSection4 {
			method, path, _ := strings.Cut(route, " ")
			if !strings.Contains(path, "{id}") && !strings.Contains(path, "{name}") && !strings.Contains(path, "{connection}") {
				continue
			}
			var body any
			if text := goodBody[path]; text != "" {
				body = text
			}
			ask := func(id, name string) string {
				answer := h.call(method, filled(path, id, name), token, body, header{"If-Match", `"1"`})
				if answer.status != http.StatusNotFound {
					t.Errorf("%s answers %d about another workspace: %s", route, answer.status, answer.raw)
				}
				return requestID.ReplaceAllString(string(answer.raw), "") + answer.header.Get("ETag")
			}
			foreign, missing, malformed := ask(ids[other], other+"-erp"), ask(h.ledger.NewID("op"), "never-was"), ask("op_X", "a%2Fb")
			if foreign != missing || foreign != malformed {
				t.Errorf("%s tells what is foreign from what is missing:\n%s\n%s\n%s", route, foreign, missing, malformed)
			}
		}
		for _, list := range []string{"/v1/operations", "/v1/reviews", "/v1/connections", "/v1/tokens", "/v1/stats", "/v1/capabilities"} {
			answer := h.call("GET", list, token, nil).wants(t, 200, "")
			if text := string(answer.raw); strings.Contains(text, ids[other]) || strings.Contains(text, `"`+other) {
				t.Errorf("%s of %s shows %s: %s", list, workspace, other, text)
			}
		}
	}
	// One key in both workspaces is two operations.
	both := h.token("acme", onefold.RoleSubmit)
	h.call("POST", "/v1/operations", both, bill("acme", "3.00"), key("same")).wants(t, 201, "")
	h.call("POST", "/v1/operations", h.token("umbrella", onefold.RoleSubmit), bill("umbrella", "4.00"), key("same")).wants(t, 201, "")
}

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
