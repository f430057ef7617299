package identity_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/onefold-dev/onefold/identity"
)

// Proves: I11, I11a
func TestCompileRulesRefusesWhatIsNoRule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, compare, pointer string }{
		{"not an object", `[]`, ""},
		{"no pointer", `{"total": {"ignore": true}}`, "/total"},
		{"a bad escape", `{"/a~2": {"ignore": true}}`, "/~1a~02"},
		{"no rules under it", `{"/a": {}}`, "/~1a"},
		{"a list of rules", `{"/a": ["ignore"]}`, "/~1a"},
		{"an unknown rule", `{"/a": {"ignored": true}}`, "/~1a/ignored"},
		{"ignore of the whole", `{"": {"ignore": true}}`, "//ignore"},
		{"absence of the whole", `{"": {"absent": 1}}`, "//absent"},
		{"ignore: false", `{"/a": {"ignore": false}}`, "/~1a/ignore"},
		{"instant: an object", `{"/a": {"instant": {}}}`, "/~1a/instant"},
		{"date: a text", `{"/a": {"date": "true"}}`, "/~1a/date"},
		{"decimal: true", `{"/a": {"decimal": true}}`, "/~1a/decimal"},
		{"decimal: an unknown member", `{"/a": {"decimal": {"scales": 2}}}`, "/~1a/decimal/scales"},
		{"a scale below zero", `{"/a": {"decimal": {"scale": -1}}}`, "/~1a/decimal/scale"},
		{"half a scale", `{"/a": {"decimal": {"scale": 0.5}}}`, "/~1a/decimal/scale"},
		{"a scale in words", `{"/a": {"decimal": {"scale": "2"}}}`, "/~1a/decimal/scale"},
		{"a scale beyond every number", `{"/a": {"decimal": {"scale": 1e10}}}`, "/~1a/decimal/scale"},
		{"set: false", `{"/a": {"set": false}}`, "/~1a/set"},
		{"set: an empty object", `{"/a": {"set": {}}}`, "/~1a/set"},
		{"multiset in words", `{"/a": {"set": {"multiset": "yes"}}}`, "/~1a/set"},
		{"set: an unknown member", `{"/a": {"set": {"multiset": true, "by": "/id"}}}`, "/~1a/set/by"},
		{"text: a name", `{"/a": {"text": "trim"}}`, "/~1a/text"},
		{"text: no steps", `{"/a": {"text": []}}`, "/~1a/text"},
		{"text: an unknown step", `{"/a": {"text": ["trim", "upper"]}}`, "/~1a/text/1"},
		{"text: strip without characters", `{"/a": {"text": ["strip"]}}`, "/~1a/text/0"},
		{"text: strip of nothing", `{"/a": {"text": [{"strip": ""}]}}`, "/~1a/text/0/strip"},
		{"text: two steps in one", `{"/a": {"text": [{"strip": "-", "trim": true}]}}`, "/~1a/text/0"},
		{"quantity: true", `{"/a": {"quantity": true}}`, "/~1a/quantity"},
		{"quantity of the whole", `{"": {"quantity": {"unit_path": "/u", "units": {"g": 1}}}}`, "//quantity"},
		{"quantity of everything", `{"/*": {"quantity": {"unit_path": "/u", "units": {"g": 1}}}}`, "/~1*/quantity"},
		{"quantity without a unit path", `{"/a": {"quantity": {"units": {"g": 1}}}}`, "/~1a/quantity/unit_path"},
		{"a unit path that is none", `{"/a": {"quantity": {"unit_path": "u", "units": {"g": 1}}}}`, "/~1a/quantity/unit_path"},
		{"a unit path with a star", `{"/a": {"quantity": {"unit_path": "/*/u", "units": {"g": 1}}}}`, "/~1a/quantity/unit_path"},
		{"a unit path to the quantity", `{"/a": {"quantity": {"unit_path": "/a", "units": {"g": 1}}}}`, "/~1a/quantity/unit_path"},
		{"quantity without units", `{"/a": {"quantity": {"unit_path": "/u"}}}`, "/~1a/quantity/units"},
		{"no unit of factor 1", `{"/a": {"quantity": {"unit_path": "/u", "units": {"kg": 1000}}}}`, "/~1a/quantity/units"},
		{"two units of factor 1", `{"/a": {"quantity": {"unit_path": "/u", "units": {"g": 1, "gram": 1.0}}}}`, "/~1a/quantity/units"},
		{"a factor of zero", `{"/a": {"quantity": {"unit_path": "/u", "units": {"g": 1, "x/y": 0}}}}`, "/~1a/quantity/units/x~1y"},
		{"a factor below zero", `{"/a": {"quantity": {"unit_path": "/u", "units": {"g": 1, "x": "-2"}}}}`, "/~1a/quantity/units/x"},
		{"a factor in words", `{"/a": {"quantity": {"unit_path": "/u", "units": {"g": "one"}}}}`, "/~1a/quantity/units/g"},
		{"quantity: an unknown member", `{"/a": {"quantity": {"unit_path": "/u", "units": {"g": 1}, "base": "g"}}}`, "/~1a/quantity/base"},
		{"an absent value that is no decimal", `{"/a": {"decimal": {}, "absent": "none"}}`, "/~1a/absent"},
		{"an absent value that a deeper rule refuses", `{"/a": {"absent": {"b": "x"}}, "/a/b": {"decimal": {}}}`, "/~1a/absent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := identity.CompileRules(mustParse(t, c.compare))
			var fault *identity.DefinitionError
			if !errors.As(err, &fault) {
				t.Fatalf("accepted (%v)", err)
			}
			if fault.Pointer != c.pointer || fault.Detail == "" {
				t.Errorf("got %v, want it at %s", fault, c.pointer)
			}
		})
	}
}

// Proves: I11, I33
func TestDescribeListsRulesAsWritten(t *testing.T) {
	t.Parallel()
	rules := mustRules(t, `{
		"/trace_id": {"ignore": true},
		"/lines/*/amount": {"decimal": {"scale": 2}},
		"/memo": {"absent": null, "text": ["trim", {"strip": "-"}]},
		"/at": {"instant": true}, "/on": {"date": true}, "/n": {"decimal": {}},
		"/qty": {"quantity": {"unit_path": "/unit", "units": {"kg": 1000, "g": 1}}},
		"/tags": {"set": true}, "/parts": {"set": {"multiset": true}}}`)
	var got []string
	for _, d := range rules.Describe() {
		got = append(got, d.Pointer+" "+d.Rule+": "+d.Detail)
	}
	want := []string{
		`/trace_id ignore: not part of the intent`,
		`/lines/*/amount decimal: a decimal, equal by value; more than 2 decimal places are refused`,
		`/memo absent: a missing member equals null`,
		`/memo text: text, compared after: trim, strip "-"`,
		`/at instant: an RFC 3339 instant, equal as a point in time`,
		`/on date: a calendar date (YYYY-MM-DD) that exists`,
		`/n decimal: a decimal, equal by value`,
		`/qty quantity: a quantity in the unit at /unit, compared in "g" ("g" = 1, "kg" = 1000)`,
		`/tags set: a list whose order does not matter; repeats are refused`,
		`/parts set: a list whose order does not matter; repeats count`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"/trace_id"}, rules.Ignored()); diff != "" {
		t.Error(diff)
	}
}

// Proves: I11
func TestNoRulesChangeNothing(t *testing.T) {
	t.Parallel()
	request := mustParse(t, `{"a": " 1.0 "}`)
	for _, compare := range []*identity.Value{nil, identity.NewNull(), identity.NewObject()} {
		rules, err := identity.CompileRules(compare)
		if err != nil || len(rules.Describe()) != 0 {
			t.Fatal(err)
		}
		if got, err := rules.Normalize(request); err != nil || got != request {
			t.Errorf("the request changed: %v", err)
		}
	}
	var none *identity.Rules
	if got, err := none.Normalize(request); err != nil || got != request || none.Describe() != nil {
		t.Errorf("the request changed: %v", err)
	}
	if got, err := mustRules(t, `{"/a": {"ignore": true}}`).Normalize(nil); err != nil || got != nil {
		t.Errorf("nothing became something: %v", err)
	}
}

// The target receives what was approved: normalizing must leave the request
// alone, and may be done by many at a time.
//
// Proves: I13, I11a
func TestNormalizeLeavesTheRequestAlone(t *testing.T) {
	t.Parallel()
	rules := mustRules(t, `{
		"/lines/*/qty": {"quantity": {"unit_path": "/unit", "units": {"g": 1, "kg": 1000}}},
		"/lines/*/trace": {"ignore": true}, "/lines": {"set": true},
		"/memo": {"text": ["trim"], "absent": ""}, "/total": {"decimal": {"scale": 2}}}`)
	text := `{"memo":" ","total":"10.50","lines":[{"qty":"2","unit":"kg","trace":1},{"qty":5.0,"unit":"g"},{"trace":3}]}`
	request := mustParse(t, text)
	want := `{"lines":[{"qty":2000,"unit":"g"},{"qty":5,"unit":"g"},{}],"total":10.5}`
	done := make(chan string)
	const callers = 8
	for range callers {
		go func() {
			normalized, err := rules.Normalize(request)
			if err != nil {
				done <- err.Error()
				return
			}
			// What the rules left, they leave again.
			again, err := rules.Normalize(normalized)
			if err != nil || !identity.EqualJSON(normalized, again) {
				done <- "normalizing twice changes something"
				return
			}
			done <- string(identity.Canonical(normalized))
		}()
	}
	for range callers {
		if got := <-done; got != want {
			t.Errorf("got %s", got)
		}
	}
	if got := string(request.AppendJSON(nil)); got != text {
		t.Errorf("the request became %s", got)
	}
}

// Proves: I11, I11a
func TestRulesMakeEqualWhatTheyCallEqual(t *testing.T) {
	t.Parallel()
	rules := mustRules(t, `{
		"/total": {"decimal": {"scale": 2}}, "/memo": {"text": ["trim", "casefold"], "absent": ""},
		"/tags": {"set": true}, "/trace": {"ignore": true},
		"/qty": {"quantity": {"unit_path": "/unit", "units": {"g": 1, "kg": 1000}}}}`)
	canonical := func(t *rapid.T, text string) string {
		v, err := rules.Normalize(mustParseIn(t, text))
		if err != nil {
			t.Fatal(err)
		}
		return string(identity.Canonical(v))
	}
	pick := func(t *rapid.T, spellings ...string) string { return rapid.SampledFrom(spellings).Draw(t, "spelling") }
	rapid.Check(t, func(t *rapid.T) {
		spell := func(total, quantity []string) string {
			members := []string{pick(t, total...), pick(t, quantity...), pick(t, `"tags":["a","b","c"]`, `"tags":["c","a","b"]`)}
			for _, more := range []string{
				pick(t, "", `"memo":""`, `"memo":" \t"`),
				pick(t, "", `"trace":1`, `"trace":{"x":[]}`),
			} {
				if more != "" {
					members = append(members, more)
				}
			}
			return "{" + strings.Join(rapid.Permutation(members).Draw(t, "order"), ",") + "}"
		}
		total := []string{`"total":12.5`, `"total":"12.50"`, `"total":"125e-1"`}
		quantity := []string{`"qty":"1.5","unit":"kg"`, `"qty":1500,"unit":"g"`, `"unit":"kg","qty":1.50`}
		one := canonical(t, spell(total, quantity))
		if other := canonical(t, spell(total, quantity)); one != other {
			t.Fatalf("%s\n%s", one, other)
		}
		if other := canonical(t, spell([]string{`"total":12.51`, `"total":null`}, quantity)); one == other {
			t.Fatal("another total made no difference")
		}
		if other := canonical(t, spell(total, []string{`"qty":1.5,"unit":"g"`, `"qty":1499,"unit":"g"`, `"unit":"g"`})); one == other {
			t.Fatal("another quantity made no difference")
		}
	})
}

// Proves: I11, I11a
func TestRefusalsSayWhereAndWhichRule(t *testing.T) {
	t.Parallel()
	rules := mustRules(t, `{"/lines/*/amount": {"text": ["trim"], "decimal": {"scale": 2}},
		"/a~1b/*": {"instant": true}, "/tags": {"set": true}, "/tags/0": {"ignore": true}}`)
	for _, c := range []struct{ request, pointer, rule string }{
		{`{"lines":[{"amount":"1"},{"amount":"1.234"}]}`, "/lines/1/amount", identity.RuleDecimal},
		{`{"lines":[{"amount":"1"},{"amount":2}]}`, "/lines/1/amount", identity.RuleText},
		{`{"lines":{"x/y":{"amount":"?"}}}`, "/lines/x~1y/amount", identity.RuleDecimal},
		{`{"a/b":{"~":"now"}}`, "/a~1b/~0", identity.RuleInstant},
		{`{"tags":["x","y","y"]}`, "/tags", identity.RuleSet}, // an element before it was left out
	} {
		_, err := rules.Normalize(mustParse(t, c.request))
		var fault *identity.RuleError
		if !errors.As(err, &fault) || fault.Pointer != c.pointer || fault.Rule != c.rule || fault.Detail == "" {
			t.Errorf("%s: %v, want %s at %s", c.request, err, c.rule, c.pointer)
		}
	}
	for _, request := range []string{`{"lines":"none"}`, `{"lines":[1,null,[]]}`, `{"a/b":null}`, `7`} {
		if _, err := rules.Normalize(mustParse(t, request)); err != nil {
			t.Errorf("%s holds nothing that a rule names: %v", request, err)
		}
	}
}

// Proves: I18
func TestTextStepsServeOtherRules(t *testing.T) {
	t.Parallel()
	steps, err := identity.CompileTextSteps(mustParse(t, `["nfkc", "trim", "casefold", {"strip": " -./#"}, "strip_leading_zeros"]`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		" 0042-A ": "42a", "\uff10\uff10\uff14\uff12a": "42a", "#00": "0", "": "", "RE/2026.1": "re20261",
	} {
		if got := identity.NormalizeText(steps, text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	if _, err := identity.CompileTextSteps(mustParse(t, `["nope"]`)); err == nil || pointerIn(err) != "/0" {
		t.Errorf("an unknown step: %v", err)
	}
}
