package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
)

// operator is a token with which a person works.
func (h *house) operator(workspace string) string {
	return h.named(workspace, "maria", onefold.RoleRead, onefold.RoleOperate)
}

// act calls an action on the version that the operation has.
func (h *house) act(op onefold.Operation, action string, body any) said {
	h.t.Helper()
	return h.call("POST", "/v1/operations/"+op.ID+"/"+action, h.operator(op.Workspace), body, tag(op))
}

// Proves: M24, I7
func TestCancel(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead)
	id := h.submitted("acme", token, "k")
	canceled := h.call("POST", "/v1/operations/"+id+"/cancel", token, nil).wants(t, http.StatusOK, "")
	if canceled.text("state") != "canceled" || canceled.json["new_key_safe"] != true {
		t.Errorf("canceled: %s", canceled.raw)
	}
	if second := h.submitted("acme", token, "k"); second == id {
		t.Error("the key was not released")
	}
	h.call("POST", "/v1/operations/"+id+"/cancel", token, nil).wants(t, 409, onefold.CodeAlreadySettled)

	kept := h.submitted("acme", token, "kept")
	h.call("POST", "/v1/operations/"+kept+"/cancel", token, map[string]any{"release": false, "reason": "wrong supplier"}).wants(t, 200, "")
	h.call("POST", "/v1/operations", token, bill("acme", "10.00"), key("kept")).wants(t, http.StatusOK, "")

	op := h.uncertain("acme")
	withdrawn := h.call("POST", "/v1/operations/"+op.ID+"/cancel", h.operator("acme"), `{"reason": "wrong supplier"}`).wants(t, http.StatusAccepted, "")
	if withdrawn.text("state") != "uncertain" || fmt.Sprint(withdrawn.json["barred"]) != "[withdrawn]" {
		t.Errorf("a withdrawal: %s", withdrawn.raw)
	}
	h.call("POST", "/v1/operations/"+op.ID+"/cancel", h.operator("acme"), nil).wants(t, http.StatusAccepted, "")
	h.call("POST", "/v1/operations/"+op.ID+"/cancel", h.operator("acme"), nil, header{"If-Match", `"1"`}).wants(t, 412, onefold.CodeStaleVersion)
}

// A decision names its version; one on an old version changes nothing and is told
// what happened since, and who did it.
// Proves: M28, M16
func TestDecisionsNeedTheirVersion(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	op := h.uncertain("acme")
	path := "/v1/operations/" + op.ID
	read := h.call("GET", path, h.operator("acme"), nil).wants(t, 200, "")
	seen := read.header.Get("ETag")
	if seen != versionTag(op.Version) {
		t.Fatalf("ETag %s of version %d", seen, op.Version)
	}
	resolve := map[string]any{"outcome": "confirmed", "reference": "BILL-1", "reason": "I saw it"}
	for action, body := range map[string]any{
		"resolve": resolve, "retry": nil, "assign": map[string]any{"owner": "joe"},
		"release": map[string]any{"hold": "approval", "decision": "proceed", "reason": "x"},
	} {
		h.call("POST", path+"/"+action, h.operator("acme"), body).wants(t, 428, onefold.CodeIfMatchRequired)
		for _, wrong := range []string{"7", `W/"7"`, "*", `"0"`, `"07"`, `"-1"`, `"1", "2"`, `"x"`, `""`, `"99999999999999999999"`} {
			answer := h.call("POST", path+"/"+action, h.operator("acme"), body, header{"If-Match", wrong}).wants(t, 400, onefold.CodeParameterInvalid)
			if answer.text("parameter") != "If-Match" {
				t.Errorf("%s: %s", wrong, answer.raw)
			}
		}
	}
	h.call("POST", path+"/cancel", h.named("acme", "joe", onefold.RoleOperate), `{"reason":"changed my mind"}`).wants(t, 202, "")
	stale := h.call("POST", path+"/resolve", h.operator("acme"), resolve, header{"If-Match", seen}).wants(t, 412, onefold.CodeStaleVersion)
	changes := stale.json["changes"].([]any)
	last := changes[len(changes)-1].(map[string]any)
	if len(changes) != 1 || last["actor"].(map[string]any)["name"] != "joe" || last["event"] != "canceled" || last["reason"] != "changed my mind" || stale.json["version"] != float64(op.Version+1) {
		t.Errorf("a stale decision: %s", stale.raw)
	}
	after := h.call("GET", path, h.operator("acme"), nil)
	done := h.call("POST", path+"/resolve", h.operator("acme"), resolve, header{"If-Match", after.header.Get("ETag")}).wants(t, 200, "")
	if done.text("state") != "confirmed" || done.header.Get("ETag") == seen {
		t.Errorf("resolved: %s", done.raw)
	}
	result := done.json["result"].(map[string]any)
	if result["reference"] != "BILL-1" || result["learnt_from"] != "operator" || result["evidence"] == nil {
		t.Errorf("the result: %s", done.raw)
	}
}

// Proves: M11, M11c, M12a
func TestResolveAndItsRefusals(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	reason := "asked the supplier"
	prepared := h.fresh("acme")
	h.call("POST", "/v1/operations/"+prepared+"/resolve", h.operator("acme"), map[string]any{"outcome": "rejected", "reason": reason}, header{"If-Match", `"1"`}).wants(t, 409, onefold.CodeNotDecidable)

	op := h.uncertain("acme")
	h.act(op, "resolve", map[string]any{"outcome": "confirmed", "reason": reason}).wants(t, 400, onefold.CodeMemberInvalid)
	h.act(op, "resolve", map[string]any{"outcome": "rejected", "reference": "B", "reason": reason}).wants(t, 400, onefold.CodeMemberInvalid)
	h.act(op, "resolve", map[string]any{"outcome": "rejected"}).wants(t, 400, onefold.CodeMemberInvalid)
	if again := h.act(op, "resolve", map[string]any{"outcome": "not_applied", "reason": reason}).wants(t, 200, ""); again.text("state") != "prepared" {
		t.Errorf("not applied: %s", again.raw)
	}

	open := h.fresh("acme")
	h.begun(open)
	h.clock.Advance(time.Minute)
	silent := h.step(open, onefold.Event{Kind: onefold.EventLeaseExpired})
	h.act(silent, "resolve", map[string]any{"outcome": "not_applied", "reason": reason}).wants(t, 409, onefold.CodeAttemptOpen)
	if rejected := h.act(silent, "resolve", map[string]any{"outcome": "rejected", "reason": reason}).wants(t, 200, ""); rejected.text("state") != "rejected" || rejected.json["new_key_safe"] != false {
		t.Errorf("rejected while an attempt is open: %s", rejected.raw)
	}

	seen := h.fresh("acme")
	h.begun(seen)
	exists := h.ended(seen, onefold.OutcomeConfirmed, "")
	barred := h.act(exists, "resolve", map[string]any{"outcome": "not_applied", "reason": reason}).wants(t, 409, onefold.CodeBarred)
	if fmt.Sprint(barred.json["barred"]) != "[effect_exists]" || barred.text("operation_id") != seen {
		t.Errorf("barred: %s", barred.raw)
	}
}

// Proves: M11, M11a, M27
func TestRetryAndReleaseAndTheirRefusals(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit)
	body := map[string]any{"capability": "payments.send", "request": map[string]any{"amount": "1"}}
	held := h.call("POST", "/v1/operations", token, body, key("held")).wants(t, 201, "").text("id")
	path := "/v1/operations/" + held
	one := header{"If-Match", `"1"`}
	h.call("POST", path+"/retry", h.operator("acme"), nil, one).wants(t, 409, onefold.CodeHeld)
	h.call("POST", path+"/release", h.operator("acme"), map[string]any{"hold": "recovery", "decision": "proceed", "reason": "x"}, one).wants(t, 409, onefold.CodeHoldUnknown)
	h.call("POST", path+"/release", h.operator("acme"), map[string]any{"hold": "approval", "decision": "proceed", "reason": "x", "exception": "reuse"}, one).wants(t, 422, onefold.CodeNotSupportedYet)
	h.call("POST", path+"/release", h.operator("acme"), map[string]any{"hold": "approval", "decision": "later", "reason": "x"}, one).wants(t, 400, onefold.CodeMemberInvalid)
	released := h.call("POST", path+"/release", h.operator("acme"), map[string]any{"hold": "approval", "decision": "proceed", "reason": "approved"}, one).wants(t, 200, "")
	if len(released.json["holds"].([]any)) != 0 || released.json["next"].(map[string]any)["action"] != "attempt" {
		t.Errorf("released: %s", released.raw)
	}
	tag2 := header{"If-Match", released.header.Get("ETag")}
	h.call("POST", path+"/retry", h.operator("acme"), nil, tag2).wants(t, 200, "")
	h.call("POST", "/v1/connections/acme-bank/pause", h.operator("acme"), `{"reason":"month end"}`).wants(t, 200, "")
	h.call("POST", path+"/retry", h.operator("acme"), nil, tag2).wants(t, 409, onefold.CodePaused)

	second := h.call("POST", "/v1/operations", token, body, key("held-2")).wants(t, 201, "").text("id")
	declined := h.call("POST", "/v1/operations/"+second+"/release", h.operator("acme"), map[string]any{"hold": "approval", "decision": "decline", "reason": "no"}, one).wants(t, 200, "")
	if declined.text("state") != "rejected" || declined.json["rejection"].(map[string]any)["code"] != "declined" {
		t.Errorf("declined: %s", declined.raw)
	}

	unsafe := h.fresh("acme")
	h.begun(unsafe)
	op := h.ended(unsafe, onefold.OutcomeConfirmed, "")
	refused := h.act(op, "retry", nil).wants(t, 409, onefold.CodeRetryUnsafe)
	if refused.text("reason") == "" {
		t.Errorf("an unsafe retry: %s", refused.raw)
	}
	lost := h.uncertain("acme")
	if replay := h.act(lost, "retry", nil).wants(t, 200, ""); replay.json["next"].(map[string]any)["action"] != "replay" {
		t.Errorf("a safe replay: %s", replay.raw)
	}
}

// Proves: M16, M20
func TestReviewsAndAssign(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	op := h.uncertain("acme")
	h.act(op, "assign", map[string]any{"owner": "joe"}).wants(t, 404, onefold.CodeReviewUnknown)
	h.act(op, "resolve", map[string]any{"outcome": "rejected", "reason": "not there"}).wants(t, 200, "")
	body := map[string]any{"source": "erp", "event_id": "e1", "asserts": "effect_exists", "reference": "BILL-9", "occurred_at": "2026-03-01T11:00:00+01:00", "body": "seen <b>BILL-9</b>", "reason": "late mail"}
	contradicted := h.call("POST", "/v1/operations/"+op.ID+"/evidence", h.operator("acme"), body).wants(t, 200, "")
	if contradicted.json["contradicted"] != true || contradicted.text("state") != "rejected" || contradicted.json["next"].(map[string]any)["action"] != "operator" {
		t.Fatalf("a contradiction: %s", contradicted.raw)
	}
	reviews := h.call("GET", "/v1/reviews?status=open&reason=contradicted&owner=maria@acme.example", h.operator("acme"), nil).wants(t, 200, "").items()
	if len(reviews) != 1 || reviews[0]["operation"].(map[string]any)["id"] != op.ID {
		t.Fatalf("the reviews: %v", reviews)
	}
	review := reviews[0]["id"].(string)
	etag := header{"If-Match", contradicted.header.Get("ETag")}
	path := "/v1/operations/" + op.ID
	h.call("POST", path+"/assign", h.operator("acme"), map[string]any{"owner": "joe", "review": "rev_none"}, etag).wants(t, 404, onefold.CodeReviewUnknown)
	h.call("POST", path+"/assign", h.operator("acme"), map[string]any{"owner": "  "}, etag).wants(t, 400, onefold.CodeMemberInvalid)
	assigned := h.call("POST", path+"/assign", h.operator("acme"), map[string]any{"owner": "joe"}, etag).wants(t, 200, "")
	if got := assigned.json["reviews"].([]any)[0].(map[string]any); got["owner"] != "joe" || got["id"] != review {
		t.Errorf("assigned: %s", assigned.raw)
	}
	if list := h.call("GET", "/v1/operations?review="+review, h.operator("acme"), nil).items(); len(list) != 1 {
		t.Errorf("operations of the review: %v", list)
	}
	if list := h.call("GET", "/v1/operations?contradicted=true", h.operator("acme"), nil).items(); len(list) != 1 {
		t.Errorf("contradicted operations: %v", list)
	}
	if old := h.call("GET", "/v1/reviews?age=1h", h.operator("acme"), nil).items(); len(old) != 0 {
		t.Errorf("old reviews: %v", old)
	}
	h.clock.Advance(2 * time.Hour)
	if old := h.call("GET", "/v1/reviews?age=1h", h.operator("acme"), nil).items(); len(old) != 1 {
		t.Errorf("old reviews: %v", old)
	}
	corrected := h.call("POST", path+"/resolve", h.operator("acme"), map[string]any{"outcome": "confirmed", "reference": "BILL-9", "reason": "it is there"}, header{"If-Match", assigned.header.Get("ETag")}).wants(t, 200, "")
	if corrected.text("state") != "confirmed" || corrected.json["contradicted"] != false {
		t.Errorf("corrected: %s", corrected.raw)
	}
}

// Proves: M20, M28
func TestEverythingIsInTimelineAndEvidence(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	op := h.uncertain("acme")
	h.act(op, "resolve", map[string]any{"outcome": "confirmed", "reference": "BILL-1", "reason": "seen <script>"}).wants(t, 200, "")
	read := h.token("acme", onefold.RoleRead)
	path := "/v1/operations/" + op.ID
	var events []string
	cursor := ""
	for {
		page := h.call("GET", path+"/timeline?limit=2"+cursor, read, nil).wants(t, 200, "")
		for _, entry := range page.items() {
			events = append(events, entry["event"].(string))
		}
		if page.json["next_cursor"] == nil {
			break
		}
		cursor = "&cursor=" + page.text("next_cursor")
	}
	if got := strings.Join(events, " "); got != "admitted begun answered resolved" {
		t.Errorf("the timeline: %s", got)
	}
	for _, wrong := range []string{"x", "-1", "99", "01"} {
		h.call("GET", path+"/timeline?cursor="+wrong, read, nil).wants(t, 400, onefold.CodeParameterInvalid)
	}
	attempts := h.call("GET", path+"/attempts", read, nil).wants(t, 200, "").items()
	if len(attempts) != 1 || attempts[0]["verdict"] != "unknown" || attempts[0]["number"] != float64(1) {
		t.Errorf("the attempts: %v", attempts)
	}
	evidence := h.call("GET", path+"/evidence", read, nil).wants(t, 200, "")
	if list := evidence.items(); len(list) != 2 || list[1]["recorded_by"].(map[string]any)["name"] != "maria" || !strings.Contains(string(evidence.raw), "<script>") {
		t.Errorf("the evidence: %s", evidence.raw)
	}
	request := h.call("GET", path+"/request", read, nil).wants(t, 200, "")
	outgoing := request.json["outgoing"].(map[string]any)
	if !strings.Contains(string(request.raw), `"total":"10.00"`) || outgoing["method"] != "POST" || strings.Contains(strings.ToLower(string(request.raw)), "authorization") {
		t.Errorf("the request: %s", request.raw)
	}
	explained := h.call("GET", path+"/explain", read, nil).wants(t, 200, "")
	if !strings.Contains(explained.text("text"), "BILL-1") || strings.Contains(explained.text("text"), "10.00") {
		t.Errorf("the explanation: %s", explained.raw)
	}
}

// Digits and spelling of the request survive the way in and out.
// Proves: I13
func TestTheRequestKeepsItsDigits(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	body := `{"capability":"payments.send","request":{"amount":1.10e2,"big":9007199254740993,"note":"<&> é \u00e9"}}`
	id := h.call("POST", "/v1/operations", h.token("acme", onefold.RoleSubmit), body, key("k")).wants(t, 201, "").text("id")
	answer := h.call("GET", "/v1/operations/"+id+"/request", h.token("acme", onefold.RoleRead), nil).wants(t, 200, "")
	if !strings.Contains(string(answer.raw), `{"amount":1.10e2,"big":9007199254740993,"note":"<&> é \u00e9"}`) {
		t.Errorf("the request: %s", answer.raw)
	}
}

// Proves: M16a
func TestGetWaitsForAChange(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id := h.fresh("acme")
	read := h.token("acme", onefold.RoleRead)
	path := "/v1/operations/" + id
	done := make(chan said, 2)
	go func() { done <- h.call("GET", path+"?wait=30&after_version=1", read, nil) }()
	h.begun(id)
	if answer := <-done; answer.status != 200 || answer.text("state") != "attempting" {
		t.Errorf("after a change: %d %s", answer.status, answer.raw)
	}
	go func() { done <- h.call("GET", path+"?wait=30", read, nil) }()
	h.ended(id, onefold.OutcomeConfirmed, "BILL-1")
	if answer := <-done; answer.status != 200 || answer.text("state") != "confirmed" {
		t.Errorf("after it was settled: %d %s", answer.status, answer.raw)
	}
	h.call("GET", path+"?wait=61", read, nil).wants(t, 400, onefold.CodeParameterInvalid)
	h.call("GET", path+"?wait=0", read, nil).wants(t, 200, "")
}
