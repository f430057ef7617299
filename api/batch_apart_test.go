package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/api"
)

// plain is a submission as text, with more of it behind its request.
func plain(key, more string) string {
	return `{"idempotency_key":"` + key + `","capability":"bills.create","connection":"acme-erp","request":{"supplier_id":"S","total":"1.00"}` + more + `}`
}

// What is wrong in one submission's text is that submission's problem, with the
// place in the whole body; those before and behind it are admitted. It says what
// the same text says that is submitted alone.
// Proves: I1, I3a, I10, M25
func TestBrokenSubmissionsHarmNoOthers(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead)
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for i, c := range []struct {
		name, item string
		// outcome as the helper of that name tells it, and the text before which the
		// offset points; "" for no offset.
		outcome, before string
	}{
		{"a member twice", `{"capability":"a","capability":"b"}`, "400 json_invalid duplicate_member", `"capability":"b"`},
		{"the key twice", plain("x", `,"idempotency_key":"y"`), "400 json_invalid duplicate_member", `"idempotency_key":"y"`},
		{"a member twice, once escaped", plain("x", `,"\u0072equest":1`), "400 json_invalid duplicate_member", `"\u0072equest"`},
		{"a member twice, deep in the request", plain("x", `,"metadata":{"a":[{"b":1,"b":2}]}`), "400 json_invalid duplicate_member", `"b":2`},
		{"a byte that is no UTF-8", plain("x", `,"revision":"`+"a\xffb"+`"`), "400 json_invalid encoding", "\xffb"},
		{"a character cut off before the quote", plain("x", `,"revision":"`+"a\xe2\x82"+`"`), "400 json_invalid encoding", "\xe2\x82"},
		{"a bad byte outside a string", "{\xff}", "400 json_invalid encoding", "\xff"},
		{"half a surrogate pair", plain("x", `,"revision":"\ud800"`), "400 json_invalid surrogate", `\ud800`},
		{"a line feed in a string", plain("x", ",\"revision\":\"a\nb\""), "400 json_invalid syntax", "\nb"},
		{"an escape that is none", plain("x", `,"revision":"\q"`), "400 json_invalid syntax", `\q`},
		{"a colon missing", `{"idempotency_key" "x"}`, "400 json_invalid syntax", `"x"`},
		{"a comma missing", `{"idempotency_key":"x" "capability":1}`, "400 json_invalid syntax", `"capability":1`},
		{"a comma too many", `{"idempotency_key":"x",}`, "400 json_invalid syntax", "}"},
		{"a comma in front", `{,"idempotency_key":"x"}`, "400 json_invalid syntax", `,"idem`},
		{"a name without quotes", `{idempotency_key:"x"}`, "400 json_invalid syntax", "idem"},
		{"a word that is none", plain("x", `,"revision":None`), "400 json_invalid syntax", "None"},
		{"a submission that is a word", `NaN`, "400 json_invalid syntax", "NaN"},
		{"a number that is none", plain("x", `,"contract_version":01`), "400 json_invalid syntax", `1}`},
		{"too many digits", plain("x", `,"contract_version":1`+strings.Repeat("0", 1000)), "400 json_invalid number_range", "1000"},
		{"too large an exponent", plain("x", `,"metadata":{"a":1e10001}`), "400 json_invalid number_range", "1e10001"},
		{"too deep by one", `{"idempotency_key":"x","capability":"payments.send","request":` + deep(65) + `}`, "400 json_invalid depth", deep(1)},
		{"far too deep", `{"idempotency_key":"x","request":` + deep(5000) + `}`, "400 json_invalid depth", strings.Repeat("[", 5000-64) + "]"},
		{"an unknown member", plain("x", `,"dry_run":true`), "400 unknown_member /dry_run", `"dry_run"`},
		{"a wrong type", plain("x", `,"contract_version":"1"`), "400 member_invalid /contract_version", ""},
		{"no object", `"x"`, "400 member_invalid", ""},
		{"no key", `{}`, "400 key_required /idempotency_key", ""},
		{"longer than a submission may be", plain("x", `,"revision":"`+strings.Repeat("x", 2<<20)+`"`), "413 too_large", ""},
		{"a request longer than it may be", `{"idempotency_key":"x","capability":"payments.send","request":"` + strings.Repeat("x", 1<<20) + `"}`, "413 too_large too_large", `x"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := `{ "items" : [` + plain(fmt.Sprint("before-", i), "") + " ,\n" + c.item + `,` + plain(fmt.Sprint("behind-", i), "") + `] }`
			answer := h.call("POST", "/v1/operations:batch", token, body).wants(t, http.StatusOK, "")
			results := answer.items()
			if len(results) != 3 || outcome(results[0]) != "201" || outcome(results[2]) != "201" {
				t.Fatalf("the others: %s", answer.raw)
			}
			if got := outcome(results[1]); got != c.outcome+" unchecked" {
				t.Errorf("%s, wanted %s", got, c.outcome)
			}
			offset, told := results[1]["problem"].(map[string]any)["offset"].(float64)
			if told != (c.before != "") {
				t.Fatalf("the offset: %v", results[1])
			}
			if told && !strings.HasPrefix(body[int(offset):], c.before) {
				t.Errorf("the offset %v points before %.20q, wanted %.20q", offset, body[int(offset):], c.before)
			}
			if strings.Contains(c.outcome, "json_invalid") {
				alone(t, h, token, c.item, offset-float64(strings.Index(body, c.item)), results[1])
			}
		})
	}
}

// alone submits a text that is no acceptable JSON by itself: the answer is what the
// batch says of it, but for where the offset counts from.
func alone(t *testing.T, h *house, token, item string, offset float64, result map[string]any) {
	t.Helper()
	problem := result["problem"].(map[string]any)
	single := h.call("POST", "/v1/operations", token, item, key("alone")).wants(t, http.StatusBadRequest, onefold.CodeJSONInvalid)
	if single.json["reason"] != problem["reason"] || single.json["offset"] != offset {
		t.Errorf("alone: %s, in the batch %v", single.raw, result)
	}
}

// Where it cannot be known for sure how many submissions there are and where each
// ends, nothing is admitted, and the refusal says where it was lost.
// Proves: I3a, I10, M25
func TestSubmissionsWithoutCertainBounds(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead)
	for name, item := range map[string]string{
		"a bracket missing":             `{"idempotency_key":"x","request":[1}`,
		"a brace missing":               `{"idempotency_key":"x","request":{"a":1}`,
		"a brace too many":              `{"idempotency_key":"x"}}`,
		"a bracket too many":            `{"idempotency_key":"x"}]`,
		"a quote missing at the end":    `{"idempotency_key":"x}`,
		"a quote missing at the front":  `{"idempotency_key":x"}`,
		"a quote missing before":        `{idempotency_key":"x"}`,
		"a quote that is not escaped":   `{"idempotency_key":"x","revision":"say "hi" now"}`,
		"an inch":                       `{"idempotency_key":"x","revision":"a 5" pipe"}`,
		"two strings, and no comma":     `{"idempotency_key":"x""revision":"1"}`,
		"quotes of another language":    `{'idempotency_key':'},{'}`,
		"a comment":                     `{"idempotency_key":"x" /* } , { */ }`,
		"another comment":               "{\"idempotency_key\":\"x\" # }\n}",
		"text that was escaped twice":   `{\"idempotency_key\":\"x\"}`,
		"a comma missing between":       `{"idempotency_key":"x"} {"idempotency_key":"y"}`,
		"a comma missing between words": `true false`,
		"nothing between the commas":    ``,
		"a stray word":                  `{"idempotency_key":"x"} x`,
		"a colon":                       `"idempotency_key":"x"`,
	} {
		body := `{"items":[` + plain("before", "") + `,` + item + `,` + plain("behind", "") + `]}`
		answer := h.call("POST", "/v1/operations:batch", token, body).wants(t, http.StatusBadRequest, onefold.CodeJSONInvalid)
		offset, told := answer.json["offset"].(float64)
		if !told || int(offset) > len(body) || answer.text("claim") != "unchecked" {
			t.Errorf("%s: %s", name, answer.raw)
		}
		if at := answer.text("pointer"); name != "a brace too many" && name != "a bracket too many" && at != "/items/1" && at != "/items/2" {
			t.Errorf("%s: lost at %q: %s", name, at, answer.raw)
		}
	}
	if list := h.call("GET", "/v1/operations", token, nil); len(list.items()) != 0 {
		t.Errorf("something was admitted: %s", list.raw)
	}
}

// A body that is far from any limit but for the number of its elements costs no
// more than finding that out, and what stands behind the limit is not looked at.
// Proves: I10
func TestTooManySubmissionsOfAnyKind(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit)
	for _, item := range []string{"0", "[]", `""`, `{"a":[{}]}`} {
		body := `{"items":[` + strings.Repeat(item+",", api.MaxBatch) + `"` + strings.Repeat("]", 1000)
		answer := h.call("POST", "/v1/operations:batch", token, body).wants(t, http.StatusBadRequest, onefold.CodeMemberInvalid)
		if answer.text("pointer") != "/items" || answer.text("detail") != fmt.Sprintf("items has 1 to %d elements", api.MaxBatch) {
			t.Errorf("%s: %s", item, answer.raw)
		}
	}
}

// The offset of a request that is too large by itself counts bytes of the body, as
// every offset does, whichever call carries it.
// Proves: I10
func TestOffsetsCountFromTheBody(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit)
	request, err := json.Marshal(strings.Repeat("x", 1<<20))
	h.must(err)
	body := `{"capability":"payments.send","request":` + string(request) + `}`
	want := float64(strings.Index(body, `"x`) + 1<<20)
	for _, query := range []string{"", "?dry_run=true"} {
		answer := h.call("POST", "/v1/operations"+query, token, body, key("k")).wants(t, http.StatusRequestEntityTooLarge, onefold.CodeTooLarge)
		if answer.json["offset"] != want {
			t.Errorf("%s: the offset is %v, wanted %v", query, answer.json["offset"], want)
		}
	}
}
