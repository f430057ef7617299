package api_test

import (
	"context"
	"database/sql"
	"net/http"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
)

// harm changes a ledger's file beside its store.
func (h *house) harm(statements ...string) {
	h.t.Helper()
	db, err := sql.Open("sqlite", "file:"+h.path)
	h.must(err)
	for _, s := range statements {
		_, err := db.ExecContext(context.Background(), s)
		h.must(err)
	}
	h.must(db.Close())
}

// TestADamagedRecordIsToldOfByItsName: one operation's standing, and one token's
// roles, are written over. The lists of the workspace go on and name it, reading and
// repeating it answers what is so, and nothing of what lies in the file is told.
//
// Proves: I3a, I5
func TestADamagedRecordIsToldOfByItsName(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead, onefold.RoleOperate, onefold.RoleAdmin)
	broken := h.token("acme", onefold.RoleEvidence)
	sound, bad := h.submitted("acme", token, "sound"), h.submitted("acme", token, "bad")
	h.begun(bad)
	h.ended(bad, onefold.OutcomeUnknown, "")
	held := h.call("POST", "/v1/operations", token, map[string]any{"capability": "payments.send", "request": map[string]any{"amount": "1"}}, key("held")).wants(t, http.StatusCreated, "").text("id")
	h.harm("UPDATE live_operation SET standing = 'c4nary' WHERE operation IN (SELECT num FROM operation WHERE id IN ('"+bad+"', '"+held+"'))",
		"UPDATE token SET roles = 'c4nary' WHERE name = 'evidence-service'")

	list := h.call("GET", "/v1/operations", token, nil).wants(t, http.StatusOK, "")
	if items := list.items(); len(items) != 1 || items[0]["id"] != sound {
		t.Errorf("listed are %s", list.raw)
	}
	named := func(answer said, want ...string) {
		t.Helper()
		all, _ := answer.json["unreadable"].([]any)
		if len(all) != len(want) {
			t.Errorf("named are %s, want %v", answer.raw, want)
			return
		}
		for i, id := range want {
			if one, _ := all[i].(map[string]any); one["id"] != id || one["code"] != string(onefold.CodeRecordUnreadable) || one["detail"] == "" {
				t.Errorf("named is %v, want %s", all[i], id)
			}
		}
	}
	named(list, held, bad)
	answers := []said{list}
	for _, q := range []string{"?state=uncertain", "?key=bad", "?connection=acme-erp&created_from=2026-01-01T00:00:00Z"} {
		answer := h.call("GET", "/v1/operations"+q, token, nil).wants(t, http.StatusOK, "")
		named(answer, bad)
		answers = append(answers, answer)
	}
	named(h.call("GET", "/v1/operations?limit=1", token, nil).wants(t, http.StatusOK, ""), held)
	reviews := h.call("GET", "/v1/reviews", token, nil).wants(t, http.StatusOK, "")
	named(reviews, held)
	answers = append(answers, reviews)

	for _, path := range []string{"", "/timeline", "/attempts", "/evidence", "/request", "/explain"} {
		answer := h.call("GET", "/v1/operations/"+bad+path, token, nil).wants(t, http.StatusInternalServerError, onefold.CodeRecordUnreadable)
		if answer.text("retry") != "never" || answer.text("operation_id") != bad || answer.header.Get("Retry-After") != "" {
			t.Errorf("%s answers %s", path, answer.raw)
		}
		answers = append(answers, answer)
	}
	h.call("GET", "/v1/operations/"+bad, h.token("umbrella", onefold.RoleRead), nil).wants(t, http.StatusNotFound, onefold.CodeOperationUnknown)
	repeat := h.call("POST", "/v1/operations", token, bill("acme", "10.00"), key("bad")).wants(t, http.StatusInternalServerError, onefold.CodeRecordUnreadable)
	if repeat.text("claim") == "none" || !strings.Contains(repeat.text("hint"), "another key") {
		t.Errorf("a repeat: %s", repeat.raw)
	}
	answers = append(answers, repeat)
	h.call("GET", "/v1/stats", token, nil).wants(t, http.StatusOK, "")
	h.call("GET", "/v1/operations/"+sound, token, nil).wants(t, http.StatusOK, "")
	h.submitted("acme", token, "new")

	tokens := h.call("GET", "/v1/tokens", token, nil).wants(t, http.StatusOK, "")
	if len(tokens.items()) < 2 {
		t.Errorf("the tokens: %s", tokens.raw)
	}
	h.call("GET", "/v1/operations", broken, nil).wants(t, http.StatusForbidden, onefold.CodeNotPermitted)
	for _, answer := range append(answers, tokens) {
		if strings.Contains(string(answer.raw), "c4nary") || strings.Contains(string(answer.raw), "sqlite") {
			t.Errorf("it tells what lies in the file: %s", answer.raw)
		}
	}
	if log := h.log.String(); !strings.Contains(log, bad) || !strings.Contains(log, "invalid character 'c'") {
		t.Errorf("the log does not say what is damaged: %s", log)
	}
}
