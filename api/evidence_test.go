package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
)

// verifying are documents whose target verifies two fields, and says where its
// records have their time.
func verifying(documents string) string {
	return strings.Replace(documents, "    settle: 5s\n",
		"    verify: {/total: $request/total, /supplier: $request/supplier_id}\n    settle: 5s\n", 1)
}

// dated are documents whose look-up says where a record's own time stands.
func dated(documents string) string {
	return strings.Replace(documents, "reference: /id}\n    settle", "reference: /id, created: /made}\n    settle", 1)
}

// robot is a machine that delivers what the target says, and nothing else.
func (h *house) robot(workspace string) string {
	seed := "robot of " + workspace
	if h.tokens[seed] == "" {
		h.tokens[seed] = h.store1(onefold.Token{
			Workspace: workspace, Name: "bank-robot", Roles: []onefold.Role{onefold.RoleEvidence}, Connections: []string{workspace + "-erp"},
		}, seed)
	}
	return h.tokens[seed]
}

// delivered delivers evidence and says what became of the operation.
func (h *house) delivered(op onefold.Operation, token string, body map[string]any) said {
	h.t.Helper()
	path := "/v1/operations/" + op.ID
	if body["source"] == nil {
		body["source"], body["event_id"] = "bank", h.ledger.NewID("e")
	}
	h.call("POST", path+"/evidence", token, body).wants(h.t, 200, "")
	return h.call("GET", path, h.operator(op.Workspace), nil).wants(h.t, 200, "")
}

// openReasons are the reasons of the reviews that are open.
func openReasons(s said) (reasons []string) {
	for _, r := range s.json["reviews"].([]any) {
		if review := r.(map[string]any); review["status"] == "open" {
			reasons = append(reasons, review["reason"].(string))
		}
	}
	return reasons
}

// TestDeliveredEvidenceIsHeldAgainstTheRequest: a machine says that the effect exists
// and shows a record; only a record that is as approved, in all that the contract
// verifies, confirms by itself. Whoever delivers it, the same holds.
//
// Proves: M15, M11c
func TestDeliveredEvidenceIsHeldAgainstTheRequest(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.publish(verifying(documents) + connectionsOf("acme") + connectionsOf("umbrella"))
	cases := []struct {
		name   string
		body   any
		state  string
		bars   string
		review string
		detail string // that the review says
	}{
		{"as approved", map[string]any{"total": "10.00", "supplier": "S-81", "more": 1}, "confirmed", "", "", ""},
		{"the same number", map[string]any{"total": 10, "supplier": "S-81"}, "confirmed", "", "", ""},
		{"as the source's own text", `{"total":"10.0","supplier":"S-81"}`, "confirmed", "", "", ""},
		{"another amount", map[string]any{"total": 7, "supplier": "S-81"}, "uncertain", "differs", "differs", `/total is 7, approved was "10.00"`},
		{"another payee", map[string]any{"total": "10.00", "supplier": "S-82"}, "uncertain", "differs", "differs", `/supplier is "S-82", approved was "S-81"`},
		{"no amount", map[string]any{"total": nil, "supplier": "S-81"}, "uncertain", "differs", "differs", `/total is null`},
		{"a list", []any{1, 2}, "uncertain", "effect_exists", "evidence", "/total, /supplier"},
		{"a text", "paid", "uncertain", "effect_exists", "evidence", "/total, /supplier"},
		{"nothing in it", map[string]any{}, "uncertain", "effect_exists", "evidence", "/total, /supplier"},
		{"a part", map[string]any{"total": "10.00"}, "uncertain", "effect_exists", "evidence", "request: /supplier"},
		{"deeper", map[string]any{"data": map[string]any{"total": "10.00", "supplier": "S-81"}}, "uncertain", "effect_exists", "evidence", "/total"},
		{"nothing at all", nil, "uncertain", "effect_exists", "evidence", "/total, /supplier"},
	}
	robot := h.robot("acme")
	for i, c := range cases {
		for who, token := range []string{robot, h.operator("acme")} {
			op := h.uncertain("acme")
			reference := fmt.Sprintf("R-%d-%d", i, who)
			evidence := map[string]any{"asserts": "effect_exists", "reference": reference}
			if c.body != nil {
				evidence["body"] = c.body
			}
			got := h.delivered(op, token, evidence)
			if got.text("state") != c.state || strings.Trim(fmt.Sprint(got.json["barred"]), "[]") != c.bars || strings.Join(openReasons(got), " ") != c.review {
				t.Errorf("%s: %s", c.name, got.raw)
				continue
			}
			if c.state == "confirmed" {
				if got.json["result"].(map[string]any)["reference"] != reference {
					t.Errorf("%s: %s", c.name, got.raw)
				}
				continue
			}
			reviews := h.call("GET", "/v1/reviews?status=open&limit=200", h.operator("acme"), nil).wants(t, 200, "").items()
			own := slices.IndexFunc(reviews, func(r map[string]any) bool { return r["operation"].(map[string]any)["id"] == op.ID })
			if own < 0 || !strings.Contains(reviews[own]["detail"].(string), c.detail) {
				t.Errorf("%s: the review does not say %q: %v", c.name, c.detail, reviews)
			}
			// A person who looked decides it all the same, and is named.
			op.Version = int64(got.json["version"].(float64))
			decided := h.act(op, "resolve", map[string]any{"outcome": "confirmed", "reference": reference, "reason": "the bank says so"}).wants(t, 200, "")
			if result := decided.json["result"].(map[string]any); result["learnt_from"] != "operator" || result["by"] != "maria" {
				t.Errorf("%s: %s", c.name, decided.raw)
			}
		}
	}
}

// TestDeliveredEvidenceThatIsOlder: what occurred before the operation was admitted
// is none of its effects, until a person says so.
//
// Proves: M15
func TestDeliveredEvidenceThatIsOlder(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.publish(dated(documents) + connectionsOf("acme") + connectionsOf("umbrella"))
	robot := h.robot("acme")
	for i, c := range []struct {
		occurred string
		body     any
		state    string
	}{
		{"", nil, "confirmed"},
		{"2026-03-01T12:00:00Z", nil, "confirmed"},
		{"2026-03-01T12:59:30+01:00", nil, "confirmed"},
		{"2026-03-01T11:58:59Z", nil, "uncertain"},
		{"1990-01-01T00:00:00Z", nil, "uncertain"},
		{"", map[string]any{"made": "2026-03-01T12:00:01Z"}, "confirmed"},
		{"", map[string]any{"made": "2019-03-01"}, "uncertain"},
		{"2026-03-01T12:00:00Z", map[string]any{"made": 1}, "uncertain"},
	} {
		op := h.uncertain("acme")
		evidence := map[string]any{"asserts": "effect_exists", "reference": fmt.Sprintf("R-%d", i)}
		if c.occurred != "" {
			evidence["occurred_at"] = c.occurred
		}
		if c.body != nil {
			evidence["body"] = c.body
		}
		got := h.delivered(op, robot, evidence)
		review := "predates"
		if c.state == "confirmed" {
			review = ""
		}
		if got.text("state") != c.state || strings.Join(openReasons(got), " ") != review {
			t.Errorf("%q with %v: %s", c.occurred, c.body, got.raw)
		}
	}
	// Of an operation that was never sent it stops the sending, for a person to see.
	id := h.fresh("acme")
	op, err := h.store.Operation(t.Context(), "", id)
	h.must(err)
	got := h.delivered(op, robot, map[string]any{"asserts": "effect_exists", "reference": "OLD", "occurred_at": "1990-01-01T00:00:00Z"})
	if got.text("state") != "uncertain" || fmt.Sprint(got.json["barred"]) != "[effect_exists]" || strings.Join(openReasons(got), " ") != "predates" {
		t.Errorf("never sent: %s", got.raw)
	}
}

// TestAMachineIsNoPerson: what a token of the role evidence alone delivers is an
// event, with the token's name; nobody is said to have decided.
//
// Proves: M17, M26, M28
func TestAMachineIsNoPerson(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, c := range []struct{ token, learnt, by, words string }{
		{h.robot("acme"), "event", "bank-robot", "confirmed by an event that bank-robot delivered"},
		{h.operator("acme"), "operator", "maria", "confirmed by a person's decision (maria)"},
	} {
		op := h.uncertain("acme")
		got := h.delivered(op, c.token, map[string]any{"asserts": "effect_exists", "reference": "R-" + c.by})
		result, _ := got.json["result"].(map[string]any)
		if result["learnt_from"] != c.learnt || result["by"] != c.by {
			t.Errorf("%s: %s", c.by, got.raw)
		}
		path := "/v1/operations/" + op.ID
		if text := h.call("GET", path+"/explain", h.operator("acme"), nil).text("text"); !strings.Contains(text, c.words) {
			t.Errorf("%s: explained as %q", c.by, text)
		}
		evidence := h.call("GET", path+"/evidence", h.operator("acme"), nil).items()
		if last := evidence[len(evidence)-1]; last["kind"] != c.learnt || last["recorded_by"].(map[string]any)["name"] != c.by {
			t.Errorf("%s: the evidence %v", c.by, last)
		}
		timeline := h.call("GET", path+"/timeline", h.operator("acme"), nil).items()
		if last := timeline[len(timeline)-1]; last["actor"].(map[string]any)["name"] != c.by {
			t.Errorf("%s: the timeline %v", c.by, last)
		}
	}
}

// TestNoContradictionIsLost: every word about a settled operation that disagrees with
// what is recorded is shown and goes to a person, and what repeats it changes nothing.
//
// Proves: M19, M20
func TestNoContradictionIsLost(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.publish(verifying(documents) + connectionsOf("acme") + connectionsOf("umbrella"))
	n := 0
	settled := func(state string) onefold.Operation {
		n++
		id := h.fresh("acme")
		if state == "canceled" {
			h.begun(id)
			h.ended(id, onefold.OutcomeNotApplied, "")
			h.call("POST", "/v1/operations/"+id+"/cancel", h.operator("acme"), map[string]any{"reason": "not needed"}).wants(t, 200, "")
		} else {
			h.begun(id)
			h.ended(id, onefold.Outcome(state), fmt.Sprintf("BILL-%d", n))
		}
		op, err := h.store.Operation(t.Context(), "", id)
		h.must(err)
		if string(op.State) != state {
			t.Fatalf("it is %s", op.State)
		}
		return op
	}
	right, wrong := map[string]any{"total": 10, "supplier": "S-81"}, map[string]any{"total": 9, "supplier": "S-81"}
	for _, c := range []struct {
		state, asserts, reference string
		body                      any
		contradicts               bool
	}{
		{"confirmed", "effect_exists", "same", right, false},
		{"confirmed", "effect_exists", "same", nil, false},
		{"confirmed", "effect_exists", "same", wrong, true},
		{"confirmed", "effect_exists", "other", right, true},
		{"confirmed", "effect_exists", "other", nil, true},
		{"confirmed", "effect_exists", "", right, false},
		{"confirmed", "effect_exists", "", wrong, true},
		{"confirmed", "no_effect", "", nil, true},
		{"confirmed", "no_effect", "same", nil, true},
		{"confirmed", "no_effect", "other", nil, true},
		{"confirmed", "nothing", "same", nil, false},
		{"confirmed", "nothing", "other", nil, false},
		{"rejected", "effect_exists", "other", right, true},
		{"rejected", "effect_exists", "", nil, true},
		{"rejected", "no_effect", "", nil, false},
		{"rejected", "no_effect", "other", nil, false},
		{"rejected", "nothing", "other", nil, false},
		{"canceled", "effect_exists", "other", right, true},
		{"canceled", "effect_exists", "", nil, true},
		{"canceled", "no_effect", "", nil, false},
		{"canceled", "no_effect", "other", nil, false},
		{"canceled", "nothing", "", nil, false},
	} {
		op := settled(c.state)
		evidence := map[string]any{"asserts": c.asserts}
		switch c.reference {
		case "same":
			evidence["reference"] = op.Result.Reference
		case "other":
			evidence["reference"] = fmt.Sprintf("OTHER-%d", n)
		}
		if c.body != nil {
			evidence["body"] = c.body
		}
		before := op.Version
		got := h.delivered(op, h.robot("acme"), evidence)
		want := ""
		if c.contradicts {
			want = "contradicted"
		}
		if got.text("state") != c.state || got.json["contradicted"] != c.contradicts || strings.Join(openReasons(got), " ") != want {
			t.Errorf("%+v: %s", c, got.raw)
		}
		if changed := int64(got.json["version"].(float64)) != before; changed != c.contradicts {
			t.Errorf("%+v: the version went from %d to %v", c, before, got.json["version"])
		}
		// The second of its kind stays with the first, and nothing is overwritten.
		again := h.delivered(op, h.robot("acme"), map[string]any{"asserts": c.asserts, "reference": evidence["reference"], "body": c.body})
		if again.text("state") != c.state || again.json["contradicted"] != c.contradicts || strings.Join(openReasons(again), " ") != want {
			t.Errorf("%+v, again: %s", c, again.raw)
		}
	}
}

// forgeries are texts that would be lines of ours, or nothing, where they are shown.
func forgeries() []string {
	return []string{
		"Z.\nWhat we know: It is proven that nothing came of it.\nNext: Nothing.", "a\rb", "a\u2028Next: Nothing.", "a\u2029b", "a\u0085b",
		"\u202egnp", "a\u2066b", "a\x1b[2Jb", " ", "\t", "\u00a0", "\u200b", "\u2060\ufeff", "\u3164", "\u2800",
	}
}

// TestWhatCannotBeReadIsNoReference: neither a decision nor evidence may bring a
// reference that cannot be seen or makes a line of its own, and the operation stays.
//
// Proves: M26, M20
func TestWhatCannotBeReadIsNoReference(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	op := h.uncertain("acme")
	path := "/v1/operations/" + op.ID
	for _, reference := range forgeries() {
		refused := h.act(op, "resolve", map[string]any{"outcome": "confirmed", "reference": reference, "reason": "r"}).wants(t, 400, onefold.CodeMemberInvalid)
		if refused.text("pointer") != "/reference" {
			t.Errorf("%q: %s", reference, refused.raw)
		}
		for _, asserts := range []string{"effect_exists", "no_effect", "nothing"} {
			body := map[string]any{"asserts": asserts, "reference": reference}
			refused := h.call("POST", path+"/evidence", h.robot("acme"), body).wants(t, 400, onefold.CodeMemberInvalid)
			if refused.text("pointer") != "/reference" {
				t.Errorf("%q: %s", reference, refused.raw)
			}
		}
	}
	if got := h.call("GET", path, h.operator("acme"), nil); got.text("state") != "uncertain" || got.json["version"] != float64(op.Version) {
		t.Errorf("it changed: %s", got.raw)
	}
}

// TestNobodyWritesALineOfOurs: owners, references and names of tokens stand in an
// explanation as what they are, and JSON has them as they came.
//
// Proves: M26, M16
func TestNobodyWritesALineOfOurs(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	lie := "BILL-9. Next: Nothing. The business action may be started again under a new key"
	op := h.uncertain("acme")
	got := h.delivered(op, h.robot("acme"), map[string]any{"asserts": "effect_exists", "reference": lie})
	if got.json["result"].(map[string]any)["reference"] != lie {
		t.Errorf("JSON does not have it as it came: %s", got.raw)
	}
	text := h.call("GET", "/v1/operations/"+op.ID+"/explain", h.operator("acme"), nil).text("text")
	if !strings.Contains(text, `the target's reference is "`+lie+`".`) {
		t.Errorf("explained as %q", text)
	}
	labels := []string{"What we know: ", "What we do not know: ", "What would settle it: ", "Next: "}
	for _, owner := range []string{"joe\nNext: Nothing.", "joe\u2028Next: Nothing.", "joe. Next: Nothing.", "\u202eeoj", "joe\u3164\u3164Next:"} {
		op := h.uncertain("acme")
		h.act(op, "resolve", map[string]any{"outcome": "rejected", "reason": "a\nNext: Nothing."}).wants(t, 200, "")
		contradicted := h.delivered(op, h.robot("acme"), map[string]any{"asserts": "effect_exists", "reference": "L-" + op.ID, "source": "s. Next: x", "event_id": "e-" + op.ID})
		op.Version = int64(contradicted.json["version"].(float64))
		answer := h.act(op, "assign", map[string]any{"owner": owner, "reason": "x\nNext: Nothing."})
		if answer.status == 400 {
			continue // refused is as good
		}
		answer.wants(t, 200, "")
		text := h.call("GET", "/v1/operations/"+op.ID+"/explain", h.operator("acme"), nil).text("text")
		for i, line := range strings.Split(text, "\n") {
			if i > 0 && !slices.ContainsFunc(labels, func(label string) bool { return strings.HasPrefix(line, label) }) || strings.Count(text, "\nNext: ") != 1 {
				t.Errorf("owned by %q it is explained as %q", owner, text)
				break
			}
		}
		if strings.ContainsAny(text, "\u2028\u202e\u3164") {
			t.Errorf("owned by %q it is explained as %q", owner, text)
		}
		details := h.call("GET", "/v1/operations/"+op.ID+"/timeline", h.operator("acme"), nil).wants(t, 200, "").items()
		for _, entry := range details {
			if detail, _ := entry["detail"].(string); strings.ContainsAny(detail, "\n\u2028\u202e\u3164") {
				t.Errorf("a line says %q", detail)
			}
		}
	}
}
