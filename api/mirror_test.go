package api_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/api"
)

// mirror says how a route is called so that it works, in a workspace that has what
// it needs. Every route of the table has one: a new route without is a failure of
// the two tests here.
type mirror struct {
	// body is the body's text; W stands for the workspace.
	body string
	// held: it acts on an operation that is held and has an open review; without,
	// on one whose outcome is uncertain.
	held bool
}

var mirrors = map[string]mirror{
	"POST /v1/operations":                          {body: `{"capability":"bills.create","connection":"W-erp","request":{"supplier_id":"S","total":"1"}}`},
	"POST /v1/operations:batch":                    {body: `{"items":[{"idempotency_key":"mirrored","capability":"bills.create","connection":"W-erp","request":{"supplier_id":"S","total":"1"}}]}`},
	"GET /v1/operations":                           {},
	"GET /v1/changes":                              {},
	"GET /v1/operations/{id}":                      {},
	"GET /v1/operations/{id}/timeline":             {},
	"GET /v1/operations/{id}/attempts":             {},
	"GET /v1/operations/{id}/evidence":             {},
	"GET /v1/operations/{id}/request":              {},
	"GET /v1/operations/{id}/explain":              {},
	"POST /v1/operations/{id}/cancel":              {body: `{}`},
	"POST /v1/operations/{id}/retry":               {body: `{}`},
	"POST /v1/operations/{id}/resolve":             {body: `{"outcome":"confirmed","reference":"B-1","reason":"seen"}`},
	"POST /v1/operations/{id}/release":             {body: `{"hold":"approval","decision":"proceed","reason":"seen"}`, held: true},
	"POST /v1/operations/{id}/assign":              {body: `{"owner":"joe@W.example"}`, held: true},
	"POST /v1/operations/{id}/evidence":            {body: `{"asserts":"nothing","source":"erp","event_id":"e-1"}`},
	"GET /v1/reviews":                              {},
	"GET /v1/capabilities":                         {},
	"GET /v1/targets":                              {},
	"GET /v1/connections":                          {},
	"GET /v1/connections/{name}":                   {},
	"POST /v1/connections/{name}/pause":            {body: `{"reason":"month end"}`},
	"POST /v1/connections/{name}/resume":           {body: `{}`},
	"POST /v1/connections:pause":                   {body: `{"reason":"month end"}`},
	"POST /v1/connections:resume":                  {body: `{}`},
	"GET /v1/agreements/{capability}/{connection}": {},
	"GET /v1/stats":                                {},
	"GET /v1/tokens":                               {},
	"POST /v1/documents":                           {body: `{"files":[{"name":"a.yaml","text":"x"}]}`},
	"GET /livez":                                   {},
	"GET /readyz":                                  {},
	"GET /openapi.json":                            {},
	"GET /problems":                                {},
	"GET /problems/{code}":                         {},
}

// eachRoute runs a test for every row of the table, with the row's mirror, and
// fails where one of the two lacks the other.
func eachRoute(t *testing.T, test func(t *testing.T, route string, row api.RouteRow, m mirror)) {
	t.Helper()
	left := map[string]bool{}
	for route := range mirrors {
		left[route] = true
	}
	for _, row := range api.RouteTable() {
		route := row.Method + " " + row.Path
		m, ok := mirrors[route]
		if !ok || row.Body && m.body == "" {
			t.Errorf("%s has no mirror: say in mirrors how it is called, so that it can be shown to keep workspaces apart", route)
			continue
		}
		delete(left, route)
		t.Run(route, func(t *testing.T) { test(t, route, row, m) })
	}
	for route := range left {
		t.Errorf("%s is mirrored and not served", route)
	}
}

// side is one workspace's part in a mirror test.
type side struct {
	workspace, token string
	uncertain, held  onefold.Operation
}

// newSide fills a workspace with one of everything. Keys are the same in all.
func (h *house) newSide(workspace string) *side {
	h.t.Helper()
	s := &side{workspace: workspace, token: h.token(workspace, onefold.RoleSubmit, onefold.RoleRead, onefold.RoleOperate, onefold.RoleAdmin)}
	submit := func(k string, body map[string]any) onefold.Operation {
		id := h.call("POST", "/v1/operations", s.token, body, key(k)).wants(h.t, http.StatusCreated, "").text("id")
		op, err := h.store.Operation(h.t.Context(), "", id)
		h.must(err)
		return op
	}
	s.uncertain = submit("uncertain", bill(workspace, "10.00"))
	h.begun(s.uncertain.ID)
	s.uncertain = h.ended(s.uncertain.ID, onefold.OutcomeUnknown, "")
	s.held = submit("held", map[string]any{"capability": "payments.send", "request": map[string]any{"amount": "1"}})
	submit("waiting", bill(workspace, "12.00"))
	return s
}

func (s *side) subject(m mirror) onefold.Operation {
	if m.held {
		return s.held
	}
	return s.uncertain
}

// call calls a route of the mirror on something, with the side's token.
func (s *side) call(h *house, row api.RouteRow, m mirror, id, name string, version int64, query string) said {
	h.t.Helper()
	var body any
	if m.body != "" {
		body = strings.ReplaceAll(m.body, "W", s.workspace)
	}
	token := s.token
	if row.Roles == nil {
		token = ""
	}
	return h.call(row.Method, filled(row.Path, id, name)+query, token, body, key("mirrored"), header{"If-Match", versionTag(version)})
}

func filled(path, id, name string) string {
	return strings.NewReplacer("{id}", id, "{name}", name, "{capability}", "bills.create", "{connection}", name, "{code}", "internal").Replace(path)
}

// everything is what the side can read, through every route that reads.
func (s *side) everything(h *house) string {
	h.t.Helper()
	var out strings.Builder
	for _, row := range api.RouteTable() {
		if row.Method != http.MethodGet || row.Roles == nil {
			continue
		}
		for _, op := range []onefold.Operation{s.uncertain, s.held} {
			answer := s.call(h, row, mirror{}, op.ID, s.workspace+"-erp", op.Version, "")
			fmt.Fprintln(&out, row.Path, answer.status, requestID.ReplaceAllString(string(answer.raw), ""))
		}
	}
	return out.String()
}

// shows fails where an answer holds anything by which the other side is known.
func (s *side) shows(t *testing.T, other *side, answer said) {
	t.Helper()
	text := fmt.Sprint(answer.header) + string(answer.raw)
	for _, mark := range []string{other.workspace, other.uncertain.ID, other.held.ID, other.held.Reviews[0].ID, other.uncertain.Identity, other.uncertain.Reference} {
		if strings.Contains(text, mark) {
			t.Errorf("an answer to %s shows %q of %s: %s", s.workspace, mark, other.workspace, text)
		}
	}
}

// requestID is the one member in which two equal refusals differ.
var requestID = regexp.MustCompile(`req_[0-9a-z]{26}`)

// Two workspaces that mirror one another, and every route of the table: what is
// the other's answers byte for byte like what never was, what works shows nothing
// of the other, and changes nothing of it.
// Proves: I5, M18
func TestEveryRouteKeepsWorkspacesApart(t *testing.T) {
	t.Parallel()
	eachRoute(t, func(t *testing.T, route string, row api.RouteRow, m mirror) {
		t.Parallel()
		h := newHouse(t, func(c *api.Config) { c.Publisher = &shelf{} })
		acme, umbrella := h.newSide("acme"), h.newSide("umbrella")
		for _, pair := range [][2]*side{{acme, umbrella}, {umbrella, acme}} {
			me, other := pair[0], pair[1]
			mine, theirs := me.subject(m), other.subject(m)
			before := other.everything(h)
			if strings.Contains(row.Path, "{id}") || strings.Contains(row.Path, "{name}") || strings.Contains(row.Path, "{connection}") {
				ask := func(id, name string) string {
					answer := me.call(h, row, m, id, name, mine.Version, "")
					if answer.status != http.StatusNotFound {
						t.Errorf("answers %d about another workspace: %s", answer.status, answer.raw)
					}
					return requestID.ReplaceAllString(string(answer.raw), "") + answer.header.Get("ETag")
				}
				foreign, missing, malformed := ask(theirs.ID, other.workspace+"-erp"), ask(h.ledger.NewID("op"), "never-was"), ask("op_X", "a%2Fb")
				if foreign != missing || foreign != malformed {
					t.Errorf("tells what is foreign from what is missing:\n%s\n%s\n%s", foreign, missing, malformed)
				}
			}
			if row.List && row.Roles != nil {
				page := other.call(h, row, m, theirs.ID, other.workspace+"-erp", 1, "?limit=1")
				if next := page.text("next_cursor"); next != "" {
					me.shows(t, other, me.call(h, row, m, mine.ID, me.workspace+"-erp", 1, "?cursor="+next))
				}
			}
			answer := me.call(h, row, m, mine.ID, me.workspace+"-erp", mine.Version, "")
			if answer.status >= http.StatusMultipleChoices {
				t.Fatalf("does not work by itself, so that nothing is shown: %d %s", answer.status, answer.raw)
			}
			for _, item := range answer.items() {
				if status, ok := item["status"].(float64); ok && status >= http.StatusMultipleChoices {
					t.Errorf("does not work by itself: %v", item)
				}
			}
			if row.Roles != nil {
				me.shows(t, other, answer)
			}
			if after := other.everything(h); after != before {
				t.Errorf("a call of %s changed what %s reads:\n%s\n%s", me.workspace, other.workspace, before, after)
			}
		}
	})
}

// Every role on every route: what section 4 gives is not refused, everything else
// is, and the refusal names the roles. The table of routes and section 4's list
// have the same rows.
// Proves: I5
func TestEveryRoleOnEveryRoute(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.newSide("acme")
	if len(api.RouteTable()) != len(routesOfSection4) {
		t.Errorf("%d routes are served, section 4's list has %d", len(api.RouteTable()), len(routesOfSection4))
	}
	eachRoute(t, func(t *testing.T, route string, row api.RouteRow, m mirror) {
		roles, ok := routesOfSection4[route]
		if !ok {
			t.Fatal("section 4's list says nothing about its roles")
		}
		for _, role := range append(onefold.Roles(), "") {
			caller := *s
			caller.token = ""
			if role != "" {
				caller.token = h.token("acme", role)
			}
			answer := caller.call(h, row, m, s.uncertain.ID, "acme-erp", 999, "")
			switch {
			case roles == "":
				if answer.status != http.StatusOK {
					t.Errorf("to everybody: %d", answer.status)
				}
			case role == "":
				answer.wants(t, 401, onefold.CodeUnauthenticated)
				if answer.header.Get("WWW-Authenticate") == "" {
					t.Error("no WWW-Authenticate")
				}
			case slices.Contains(strings.Fields(roles), string(role)):
				if answer.status == 401 || answer.status == 403 && answer.text("detail") == "no role of this token allows this call" {
					t.Errorf("to %s: %s", role, answer.raw)
				}
			default:
				answer.wants(t, 403, onefold.CodeNotPermitted)
				if got := fmt.Sprint(answer.json["roles"]); got != "["+roles+"]" {
					t.Errorf("to %s names the roles %s", role, got)
				}
			}
		}
	})
}
