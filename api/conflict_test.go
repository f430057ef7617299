package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// Where two values of a conflict look the same, the hint says that they are not,
// and why, by single call and batch alike; where they look different it says
// nothing of the kind. Who may not see the values is told nothing of them.
// Proves: I4, I5, I9
func TestAConflictOfWhatLooksTheSame(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token, blind := h.token("acme", onefold.RoleSubmit, onefold.RoleRead), h.token("acme", onefold.RoleSubmit)
	body := func(request, more string) string {
		return `{"capability":"payments.send","connection":"acme-bank","request":` + request + more + `}`
	}
	const plain = "a repeat sends the same request; a new key is for another business action, and for this one only where its operation's new_key_safe is true"
	for i, c := range []struct{ name, accepted, submitted, more, changed, hint string }{
		{"normalization", `{"to":"M\u00fcller"}`, `{"to":"Mu\u0308ller"}`, "", "", "the two values at /request/to " + identity.AlikeInForm},
		{"a zero-width space", `{"to":"Miller"}`, `{"to":"Mil\u200bler"}`, "", "", "the two values at /request/to " + identity.AlikeUnseen},
		{"full width", `{"n":["12"]}`, `{"n":["\uff11\uff12"]}`, "", "", "the two values at /request/n/0 " + identity.AlikeInCompatibility},
		{"another alphabet", `{"to":"PAY"}`, `{"to":"\u0420AY"}`, "", "", "the two values at /request/to " + identity.AlikeInShape},
		{"digits", `{"n":9007199254740993}`, `{"n":9007199254740992}`, "", "", "the two values at /request/n " + identity.AlikeInDigits},
		{"several", `{"n":["a b",1,"b c"]}`, `{"n":["a\u00a0b",2,"b\u00a0c"]}`, "", "", "the two values at /request/n/0 " + identity.AlikeUnseen + " (and 1 more)"},
		{"names", `{"caf\u00e9":1}`, `{"cafe\u0301":1}`, "", "", "the names of two members at /request/caf\u00e9 " + identity.AlikeInForm},
		{"revision", `{}`, `{}`, `,"revision":"v-1"`, `,"revision":"v\u20111"`, "the two values at /revision " + identity.AlikeInShape},
		{"a control character", `{}`, `{}`, `,"revision":"\u0007"`, `,"revision":"\u0007\u0001"`, "the two values at /revision " + identity.AlikeUnseen},
		{"other texts", `{"to":"Miller"}`, `{"to":"Muller"}`, "", "", ""},
		{"other names", `{"to":1}`, `{"from":1}`, "", "", ""},
		{"other numbers", `{"n":1}`, `{"n":2}`, "", "", ""},
		{"other types", `{"n":1}`, `{"n":"1"}`, "", "", ""},
	} {
		k := "k-" + string(rune('a'+i))
		h.call("POST", "/v1/operations", token, body(c.accepted, c.more), key(k)).wants(t, http.StatusCreated, "")
		want := plain
		if c.hint != "" {
			want += "; if none was meant to change, look closely: " + c.hint
		}
		changed := c.changed
		if changed == "" {
			changed = c.more
		}
		single := h.call("POST", "/v1/operations", token, body(c.submitted, changed), key(k)).wants(t, http.StatusUnprocessableEntity, onefold.CodeKeyConflict)
		if single.text("hint") != want {
			t.Errorf("%s: the hint is %q, wanted %q", c.name, single.text("hint"), want)
		}
		many := h.call("POST", "/v1/operations:batch", token, `{"items":[`+strings.Replace(body(c.submitted, changed), "{", `{"idempotency_key":"`+k+`",`, 1)+`]}`).wants(t, http.StatusOK, "")
		if problem := many.items()[0]["problem"].(map[string]any); problem["hint"] != want {
			t.Errorf("%s: in a batch the hint is %q", c.name, problem["hint"])
		}
		refused := h.call("POST", "/v1/operations", blind, body(c.submitted, changed), key(k)).wants(t, http.StatusUnprocessableEntity, onefold.CodeKeyConflict)
		if refused.text("hint") != plain {
			t.Errorf("%s: who may not read is told %q", c.name, refused.text("hint"))
		}
	}
}
