package api_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
)

// Proves: I32
func TestListFilters(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead)
	first := h.submitted("acme", token, "k-1")
	h.begun(first)
	confirmed := h.ended(first, onefold.OutcomeConfirmed, "BILL-1")
	h.clock.Advance(time.Hour)
	middle := h.clock.Now().UTC().Format(time.RFC3339)
	second := h.submitted("acme", token, "k-2")
	for query, want := range map[string][]string{
		"":                                  {second, first},
		"?state=confirmed":                  {first},
		"?state=prepared":                   {second},
		"?key=k-2":                          {second},
		"?key=K-2":                          nil,
		"?reference=BILL-1":                 {first},
		"?reference=" + confirmed.Reference: {first},
		"?identity=" + confirmed.Identity:   {first},
		"?connection=acme-erp&capability=bills.create": {second, first},
		"?connection=acme-bank":                        nil,
		"?created_from=" + url.QueryEscape(middle):     {second},
		"?created_to=" + url.QueryEscape(middle):       {first},
		"?contradicted=false&limit=1":                  {second},
		"?contradicted=true":                           nil,
	} {
		var got []string
		for _, item := range h.call("GET", "/v1/operations"+query, token, nil).wants(t, 200, "").items() {
			got = append(got, item["id"].(string))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s lists %v, wanted %v", query, got, want)
		}
	}
}

// Pages neither repeat nor miss what was there when the walk began, though new
// operations come in between.
// Proves: I5
func TestPagesAreStable(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead)
	var want []string
	for i := range 7 {
		want = append(want, h.submitted("acme", token, fmt.Sprintf("k-%d", i)))
		h.clock.Advance(time.Second)
	}
	slices.Reverse(want)
	var got []string
	query := "?limit=2"
	for page := 0; ; page++ {
		answer := h.call("GET", "/v1/operations"+query, token, nil).wants(t, 200, "")
		for _, item := range answer.items() {
			got = append(got, item["id"].(string))
		}
		if answer.json["next_cursor"] == nil {
			break
		}
		query = "?limit=2&cursor=" + url.QueryEscape(answer.text("next_cursor"))
		h.submitted("acme", token, fmt.Sprintf("new-%d", page))
	}
	if !slices.Equal(got, want) {
		t.Errorf("pages gave\n%v\nwanted\n%v", got, want)
	}
	for _, list := range []string{"/v1/operations", "/v1/reviews"} {
		answer := h.call("GET", list+"?cursor=nonsense", h.token("acme", onefold.RoleRead), nil).wants(t, 400, onefold.CodeParameterInvalid)
		if answer.text("parameter") != "cursor" {
			t.Errorf("%s: %s", list, answer.raw)
		}
	}
}

// Proves: M26, I33
func TestCatalogAndAgreement(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit)
	capabilities := h.call("GET", "/v1/capabilities?limit=1", token, nil).wants(t, 200, "")
	if first := capabilities.items()[0]; first["name"] != "bills.create" || first["version"] != float64(2) || capabilities.text("next_cursor") != "bills.create" {
		t.Errorf("capabilities: %s", capabilities.raw)
	}
	rest := h.call("GET", "/v1/capabilities?cursor=bills.create", token, nil).wants(t, 200, "")
	if rest.items()[0]["name"] != "payments.send" || rest.json["next_cursor"] != nil {
		t.Errorf("the second page: %s", rest.raw)
	}
	if targets := h.call("GET", "/v1/targets", token, nil).wants(t, 200, "").items(); len(targets) != 2 {
		t.Errorf("targets: %v", targets)
	}
	connection := h.call("GET", "/v1/connections/acme-erp", token, nil).wants(t, 200, "")
	if connection.text("owner") != "maria@acme.example" || connection.json["paused"] != nil || strings.Contains(string(connection.raw), "ONEFOLD_S_") {
		t.Errorf("a connection: %s", connection.raw)
	}
	agreement := h.call("GET", "/v1/agreements/bills.create/acme-erp", token, nil).wants(t, 200, "")
	if agreement.text("protection") != "enforced" || len(agreement.json["sections"].([]any)) == 0 {
		t.Errorf("an agreement: %s", agreement.raw)
	}
	page := h.call("GET", "/v1/agreements/bills.create/acme-erp", token, nil, header{"Accept", "text/markdown"}).wants(t, 200, "")
	if !strings.HasPrefix(page.header.Get("Content-Type"), "text/markdown") || string(page.raw) != agreement.text("markdown") {
		t.Errorf("an agreement as a page: %v", page.header)
	}
	h.call("GET", "/v1/agreements/none/acme-erp", token, nil).wants(t, 404, onefold.CodeCapabilityUnknown)
	h.call("GET", "/v1/agreements/bills.create/none", token, nil).wants(t, 404, onefold.CodeConnectionUnknown)
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	maria := h.operator("acme")
	paused := h.call("POST", "/v1/connections/acme-erp/pause", maria, `{"reason":"month end"}`).wants(t, 200, "")
	if pause := paused.json["paused"].(map[string]any); pause["reason"] != "month end" || pause["by"].(map[string]any)["name"] != "maria" {
		t.Errorf("paused: %s", paused.raw)
	}
	h.call("POST", "/v1/connections/none/pause", maria, nil).wants(t, 404, onefold.CodeConnectionUnknown)
	all := h.call("POST", "/v1/connections:pause", h.token("acme", onefold.RoleAdmin), `{"reason":"stop"}`).wants(t, 200, "")
	if got := fmt.Sprint(all.json["changed"]); got != "[acme-bank acme-full acme-old]" {
		t.Errorf("the whole workspace paused: %s", got)
	}
	for _, item := range h.call("GET", "/v1/connections", maria, nil).wants(t, 200, "").items() {
		if item["paused"] == nil {
			t.Errorf("not paused: %v", item["name"])
		}
	}
	for _, item := range h.call("GET", "/v1/connections", h.operator("umbrella"), nil).wants(t, 200, "").items() {
		if item["paused"] != nil {
			t.Errorf("another workspace's connection is paused: %v", item["name"])
		}
	}
	h.call("POST", "/v1/connections/acme-erp/resume", maria, nil).wants(t, 200, "")
	resumed := h.call("POST", "/v1/connections:resume", maria, nil).wants(t, 200, "")
	if len(resumed.json["changed"].([]any)) != 3 {
		t.Errorf("the whole workspace resumed: %s", resumed.raw)
	}
}

// Proves: M16
func TestStats(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	op := h.uncertain("acme")
	h.fresh("acme")
	h.uncertain("umbrella")
	stats := h.call("GET", "/v1/stats", h.operator("acme"), nil).wants(t, 200, "")
	states := stats.json["by_state"].(map[string]any)
	if states["uncertain"] != float64(1) || states["prepared"] != float64(1) || states["confirmed"] != float64(0) {
		t.Errorf("by state: %s", stats.raw)
	}
	if oldest := stats.json["oldest_uncertain"].(map[string]any); oldest["operation"] != op.ID || fmt.Sprint(stats.json["unresolved"]) != "map[acme-erp:1]" {
		t.Errorf("stats: %s", stats.raw)
	}
}
