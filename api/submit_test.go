package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
)

// Proves: I1, I4, I6, M22
func TestSubmitRepeatConflict(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead)
	first := h.call("POST", "/v1/operations", token, bill("acme", "1250.00"), key("k-1")).wants(t, http.StatusCreated, "")
	id := first.text("id")
	if first.header.Get("Location") != "/v1/operations/"+id || first.header.Get("ETag") != `"1"` || first.header.Get("Idempotent-Replayed") != "" {
		t.Errorf("header of an admission: %v", first.header)
	}
	if first.text("workspace") != "acme" || first.text("idempotency_key") != "k-1" || first.text("submitted_by") != "submit-read-service" {
		t.Errorf("the operation: %s", first.raw)
	}

	for _, form := range []string{"k-1", `"k-1"`} {
		for _, body := range []map[string]any{
			bill("acme", "1250.00"), bill("acme", "1250.0"),
			{"capability": "bills.create", "request": map[string]any{"total": "1250", "supplier_id": "S-81", "memo": nil}},
		} {
			again := h.call("POST", "/v1/operations", token, body, key(form)).wants(t, http.StatusOK, "")
			if again.text("id") != id || again.header.Get("Idempotent-Replayed") != "true" || again.header.Get("Location") != "" {
				t.Errorf("a repeat: %d %v", again.status, again.header)
			}
		}
	}

	changed := h.call("POST", "/v1/operations", token, bill("acme", "1250.01"), key("k-1")).wants(t, http.StatusUnprocessableEntity, onefold.CodeKeyConflict)
	difference := changed.json["differences"].([]any)[0].(map[string]any)
	if changed.text("operation_id") != id || difference["pointer"] != "/request/total" || !strings.Contains(string(changed.raw), "1250.00") || !strings.Contains(string(changed.raw), "1250.01") {
		t.Errorf("a conflict: %s", changed.raw)
	}
	blind := h.call("POST", "/v1/operations", h.token("acme", onefold.RoleSubmit), bill("acme", "1250.01"), key("k-1")).wants(t, http.StatusUnprocessableEntity, onefold.CodeKeyConflict)
	if strings.Contains(string(blind.raw), "1250") {
		t.Errorf("values are shown to somebody who may not read requests: %s", blind.raw)
	}
	timeline := h.call("GET", "/v1/operations/"+id+"/timeline", token, nil).wants(t, http.StatusOK, "")
	if entries := timeline.items(); len(entries) != 3 || entries[1]["pointers"].([]any)[0] != "/request/total" {
		t.Errorf("the refused submission is not noted: %s", timeline.raw)
	}
}

// What stands beside the fingerprint conflicts only where it is named again.
// Proves: I4, I6
func TestMembersBesideTheFingerprint(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead)
	later := h.clock.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	body := bill("acme", "1.00")
	body["revision"], body["not_before"] = "approval-118", later
	h.call("POST", "/v1/operations", token, body, key("k")).wants(t, http.StatusCreated, "")
	h.call("POST", "/v1/operations", token, bill("acme", "1.00"), key("k")).wants(t, http.StatusOK, "")
	for member, value := range map[string]any{
		"revision": "approval-119", "not_before": "2030-01-01T00:00:00Z", "start_deadline": "2030-01-01T00:00:00Z",
		"contract_version": 1, "connection": "acme-full", "amends": "op_01jd0000000000000000000000",
	} {
		body := bill("acme", "1.00")
		body[member] = value
		answer := h.call("POST", "/v1/operations", token, body, key("k")).wants(t, http.StatusUnprocessableEntity, onefold.CodeKeyConflict)
		if pointer := answer.json["differences"].([]any)[0].(map[string]any)["pointer"]; pointer != "/"+member {
			t.Errorf("%s: the conflict names %v", member, pointer)
		}
	}
}

// Every refusal of a new key leaves nothing behind, and says whether the claim
// was looked up.
// Proves: M25, I3a
func TestRefusalsLeaveNoClaim(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead)
	with := func(name string, value any) map[string]any {
		body := bill("acme", "1.00")
		if value == nil {
			delete(body, name)
		} else {
			body[name] = value
		}
		return body
	}
	full := with("connection", "acme-full")
	answer := h.call("POST", "/v1/operations", token, full, key("filler")).wants(t, http.StatusCreated, "")
	h.begun(answer.text("id"))
	h.ended(answer.text("id"), onefold.OutcomeUnknown, "")
	for _, c := range []struct {
		name   string
		body   any
		status int
		code   onefold.Code
		claim  string
	}{
		{"capability", with("capability", "none.such"), 404, onefold.CodeCapabilityUnknown, "none"},
		{"version", with("contract_version", 99), 404, onefold.CodeContractVersionUnknown, "none"},
		{"connection", with("connection", "none"), 404, onefold.CodeConnectionUnknown, "none"},
		{"another workspace's", with("connection", "umbrella-erp"), 404, onefold.CodeConnectionUnknown, "none"},
		{"ambiguous", with("connection", nil), 409, onefold.CodeConnectionAmbiguous, "none"},
		{"disabled", with("connection", "acme-old"), 409, onefold.CodeConnectionDisabled, "none"},
		{"schema", with("request", map[string]any{"supplier_id": ""}), 422, onefold.CodeRequestInvalid, "none"},
		{"deadline", with("start_deadline", "2020-01-01T00:00:00Z"), 422, onefold.CodeDeadlinePast, "none"},
		{"amends", with("amends", "op_1"), 422, onefold.CodeNotSupportedYet, "none"},
		{"metadata", with("metadata", map[string]any{"x": strings.Repeat("y", onefold.MaxMetadata)}), 400, onefold.CodeMemberInvalid, "none"},
		{"limit", full, 429, onefold.CodeAdmissionLimited, "none"},
		{"unknown member", with("capabilty", "x"), 400, onefold.CodeUnknownMember, "unchecked"},
		{"no request", with("request", nil), 400, onefold.CodeMemberInvalid, "unchecked"},
	} {
		answer := h.call("POST", "/v1/operations", token, c.body, key("k")).wants(t, c.status, c.code)
		if answer.text("claim") != c.claim {
			t.Errorf("%s: claim %q, wanted %q", c.name, answer.text("claim"), c.claim)
		}
		if c.status == 429 && answer.header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", c.name)
		}
		if c.code == onefold.CodeRequestInvalid && len(answer.json["faults"].([]any)) < 2 {
			t.Errorf("%s: faults %v", c.name, answer.json["faults"])
		}
	}
	if list := h.call("GET", "/v1/operations?key=k", token, nil); len(list.items()) != 0 {
		t.Errorf("a refused submission was stored: %s", list.raw)
	}
	h.call("POST", "/v1/operations", token, bill("acme", "1.00"), key("k")).wants(t, http.StatusCreated, "")
}

// With a known key nothing but replay, conflict or expiry is judged: no drain, no
// mode, no schema, no capability.
// Proves: I3a, I4
func TestAKnownKeyIsAnsweredFirst(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead)
	h.submitted("acme", token, "k")
	invalid := bill("acme", "10.00")
	invalid["request"] = map[string]any{"supplier_id": ""}
	h.call("POST", "/v1/operations", token, invalid, key("k")).wants(t, 422, onefold.CodeKeyConflict)

	h.server.Drain()
	h.call("POST", "/v1/operations", token, bill("acme", "10.00"), key("k")).wants(t, http.StatusOK, "")
	h.call("POST", "/v1/operations", token, invalid, key("k")).wants(t, 422, onefold.CodeKeyConflict)
	draining := h.call("POST", "/v1/operations", token, bill("acme", "10.00"), key("k-2")).wants(t, 503, onefold.CodeDraining)
	if draining.text("claim") != "none" || draining.header.Get("Retry-After") == "" {
		t.Errorf("a drain: %s %v", draining.raw, draining.header)
	}
	h.call("GET", "/readyz", "", nil).wants(t, 503, onefold.CodeDraining)
	h.call("GET", "/livez", "", nil).wants(t, 200, "")
}

// The first fault in the order of precedence is told, whatever else is wrong.
// Proves: I3a
func TestOrderOfRefusals(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	submit, read := h.token("acme", onefold.RoleSubmit), h.token("acme", onefold.RoleRead)
	const path = "/v1/operations?no_such=1"
	for _, step := range []struct {
		token   string
		body    string
		headers []header
		status  int
		code    onefold.Code
	}{
		{"ofk_nobody", "{", nil, 401, onefold.CodeUnauthenticated},
		{read, "{", nil, 403, onefold.CodeNotPermitted},
		{submit, "{", []header{{"Content-Type", "text/plain"}}, 415, onefold.CodeNotJSON},
		{submit, "{", nil, 400, onefold.CodeKeyRequired},
		{submit, "{", []header{key("a b")}, 400, onefold.CodeKeyInvalid},
		{submit, "{", []header{key("k")}, 400, onefold.CodeJSONInvalid},
		{submit, `{"capability": 1, "x": 2}`, []header{key("k")}, 400, onefold.CodeUnknownMember},
		{submit, `{"capability": 1}`, []header{key("k")}, 400, onefold.CodeMemberInvalid},
		{submit, `{"capability": "bills.create", "request": {}}`, []header{key("k")}, 400, onefold.CodeParameterInvalid},
	} {
		answer := h.call("POST", path, step.token, step.body, step.headers...).wants(t, step.status, step.code)
		if answer.text("claim") != "unchecked" {
			t.Errorf("%s: claim %q", step.code, answer.text("claim"))
		}
	}
}

// Proves: I3a
func TestDryRunStoresNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead)
	answer := h.call("POST", "/v1/operations?dry_run=true", token, bill("acme", "1.50"), key("k")).wants(t, http.StatusOK, "")
	outgoing := answer.json["outgoing"].(map[string]any)
	if outgoing["path"] != "/bills" || !strings.Contains(outgoing["body"].(string), `"1.50"`) {
		t.Errorf("the rendered request: %s", answer.raw)
	}
	id := answer.json["operation"].(map[string]any)["id"].(string)
	h.call("GET", "/v1/operations/"+id, token, nil).wants(t, 404, onefold.CodeOperationUnknown)
	invalid := bill("acme", "1.555")
	h.call("POST", "/v1/operations?dry_run=true", token, invalid, key("k")).wants(t, 422, onefold.CodeRequestInvalid)
	h.call("POST", "/v1/operations", token, bill("acme", "1.50"), key("k")).wants(t, http.StatusCreated, "")
	known := h.call("POST", "/v1/operations?dry_run=true", token, bill("acme", "1.50"), key("k")).wants(t, http.StatusOK, "")
	if known.header.Get("Idempotent-Replayed") != "true" || known.json["replayed"] != true {
		t.Errorf("a dry run of a known key: %s", known.raw)
	}
}

// Proves: I26, I29
func TestAnExpiredKeyIsNeverNew(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead)
	id := h.submitted("acme", token, "k")
	h.begun(id)
	h.ended(id, onefold.OutcomeConfirmed, "BILL-1")
	h.clock.Advance(31 * 24 * time.Hour)
	answer := h.call("POST", "/v1/operations", token, bill("acme", "99.00"), key("k")).wants(t, 410, onefold.CodeKeyExpired)
	if answer.text("operation_id") != id || answer.text("state") != "confirmed" || answer.text("reference") != "BILL-1" || answer.json["new_key_safe"] != false || answer.text("expired_at") == "" {
		t.Errorf("an expired key: %s", answer.raw)
	}
	blind := h.call("POST", "/v1/operations", h.token("acme", onefold.RoleSubmit), bill("acme", "99.00"), key("k")).wants(t, 410, onefold.CodeKeyExpired)
	if blind.text("operation_id") != id || blind.text("state") != "" || blind.text("reference") != "" {
		t.Errorf("an expired key, to one who may not read: %s", blind.raw)
	}
}

// The answer waits for the operation to rest; the submission is durable before.
// Proves: M6
func TestPreferWait(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead)
	held := map[string]any{"capability": "payments.send", "request": map[string]any{"amount": "1"}}
	answer := h.call("POST", "/v1/operations", token, held, key("held"), header{"Prefer", "respond-async, wait=99"}).wants(t, http.StatusCreated, "")
	if answer.header.Get("Preference-Applied") != "wait=60" || len(answer.json["holds"].([]any)) != 1 {
		t.Errorf("a held operation is at rest: %v %s", answer.header, answer.raw)
	}

	done := make(chan said, 1)
	started := make(chan struct{})
	h.ledger.Watch(func(_ onefold.Operation, admitted bool) {
		if admitted {
			close(started)
		}
	}, nil)
	go func() {
		done <- h.call("POST", "/v1/operations", token, bill("acme", "5.00"), key("waits"), header{"Prefer", "wait=30"})
	}()
	<-started
	h.ledger.Watch(nil, nil)
	ops, _, err := h.store.List(context.Background(), onefold.Query{Workspace: "acme", Key: "waits", Limit: 1})
	h.must(err)
	h.begun(ops[0].ID)
	h.ended(ops[0].ID, onefold.OutcomeConfirmed, "BILL-5")
	if answer := <-done; answer.status != http.StatusCreated || answer.text("state") != "confirmed" {
		t.Errorf("after the wait: %d %s", answer.status, answer.raw)
	}
	again := h.call("POST", "/v1/operations", token, bill("acme", "5.00"), key("waits"), header{"Prefer", `wait="1"`}).wants(t, http.StatusOK, "")
	if again.header.Get("Preference-Applied") != "wait=1" {
		t.Errorf("a repeat that prefers to wait: %v", again.header)
	}
	soon := h.call("POST", "/v1/operations", token, bill("acme", "6.00"), key("soon"), header{"Prefer", "wait=1"}).wants(t, http.StatusCreated, "")
	if soon.text("state") != "prepared" {
		t.Errorf("after a wait that was over: %s", soon.raw)
	}
	for _, wrong := range []string{"wait=soon", "wait=-1", "wait", "wait=1, wait=2", "wait=1.5"} {
		answer := h.call("POST", "/v1/operations", token, bill("acme", "7.00"), key("wrong"), header{"Prefer", wrong}).wants(t, 400, onefold.CodeParameterInvalid)
		if answer.text("parameter") != "Prefer" {
			t.Errorf("%q: %s", wrong, answer.raw)
		}
	}
}

// A drain answers those who wait, with what is known.
func TestDrainEndsWaiting(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead)
	done := make(chan said, 1)
	h.ledger.Watch(func(onefold.Operation, bool) { h.server.Drain() }, nil)
	go func() {
		done <- h.call("POST", "/v1/operations", token, bill("acme", "5.00"), key("k"), header{"Prefer", "wait=60"})
	}()
	if answer := <-done; answer.status != http.StatusCreated || answer.text("state") != "prepared" {
		t.Errorf("after a drain: %d %s", answer.status, answer.raw)
	}
}
