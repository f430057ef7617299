package contract

import (
	"errors"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

const orderRequest = `{
	"number": "A-7", "none": [], "text": "x", "null": null,
	"lines": [{"sku": "a", "qty": 1.50, "lots": [{"id": 7}, {"id": 8, "old": true}]}, {"sku": "b\"", "qty": 2e1, "note": "n"}]
}`

// loopMaterials are an order with lines.
func loopMaterials(t testing.TB) *materials {
	m := someMaterials(t)
	m.request = parsed(t, orderRequest)
	return m
}

// Proves: I13
func TestLoopsMapArrays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, template, want string }{
		{"elements", `{"l":{"each":"$request/lines","as":"line","do":"$line/sku"}}`, `{"l":["a","b\""]}`},
		{"whole elements", `{"each":"$request/lines/0/lots","as":"lot","do":"$lot"}`, `[{"id":7},{"id":8,"old":true}]`},
		{"objects with digits kept", `{"each":"$request/lines","as":"line","do":{"s":"$line/sku","q":"$line/qty","n":"$line/note?"}}`, `[{"s":"a","q":1.50},{"s":"b\"","q":2e1,"n":"n"}]`},
		{"interpolation", `{"each":"$request/lines","as":"line","do":"{line/sku} of {request/number}"}`, `["a of A-7","b\" of A-7"]`},
		{"constants", `{"each":"$request/lines","as":"line","do":{"k":"$$line","r":"$operation/reference"}}`, `[{"k":"$line","r":"of-7h2k"},{"k":"$line","r":"of-7h2k"}]`},
		{"nested over an inner array", `{"each":"$request/lines","as":"line","do":{"each":"$line/lots?","as":"lot","do":{"s":"$line/sku","i":"$lot/id"}}}`, `[[{"s":"a","i":7},{"s":"a","i":8}]]`},
		{"nested over another array", `{"each":"$request/lines","as":"a","do":{"each":"$request/lines","as":"b","do":"{a/sku}{b/sku}"}}`, `[["aa","ab\""],["b\"a","b\"b\""]]`},
		{"two side by side, one name", `[{"each":"$request/lines","as":"x","do":1},{"each":"$request/lines/0/lots","as":"x","do":2}]`, `[[1,1],[2,2]]`},
		{"an empty array", `{"l":{"each":"$request/none","as":"x","do":"$x"}}`, `{"l":[]}`},
		{"an absent optional array", `{"a":1,"l":{"each":"$request/nothing?","as":"x","do":"$x"}}`, `{"a":1}`},
		{"an absent optional one in an array", `[1,{"each":"$request/nothing?","as":"x","do":"$x"},2]`, `[1,2]`},
		{"elements that are left out", `{"each":"$request/lines","as":"line","do":"$line/note?"}`, `["n"]`},
		{"all are left out", `{"each":"$request/lines","as":"line","do":"$line/nothing?"}`, `[]`},
		{"an element of an element", `{"each":"$request/lines/0/lots","as":"lot","do":"$lot/old?"}`, `[true]`},
	} {
		k := &compiler{}
		n := k.tree(parsed(t, c.template), "/w")
		if len(k.faults) > 0 {
			t.Errorf("%s: %v", c.name, Faults(k.faults))
			continue
		}
		m := loopMaterials(t)
		out, _, err := n.appendJSON(nil, m)
		if err != nil || string(out) != c.want {
			t.Errorf("%s: %s, %v; want %s", c.name, out, err, c.want)
		}
		v, _, err := n.value(m)
		if err != nil || !identity.EqualJSON(v, parsed(t, c.want)) {
			t.Errorf("%s as a value: %s, %v", c.name, v.AppendJSON(nil), err)
		}
		if len(m.elements) != 0 {
			t.Errorf("%s: %d elements stay behind", c.name, len(m.elements))
		}
	}
}

// What cannot be mapped is refused with its place in the request.
func TestLoopsRefuseWithTheirPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ template, pointer, why string }{
		{`{"each":"$request/nothing","as":"x","do":1}`, "/request/nothing", "absent"},
		{`{"each":"$request/text","as":"x","do":1}`, "/request/text", "a string, not an array"},
		{`{"each":"$request/null?","as":"x","do":1}`, "/request/null", "null, not an array"},
		{`{"each":"$request/lines/0?","as":"x","do":1}`, "/request/lines/0", "an object, not an array"},
		{`{"each":"$request/lines","as":"line","do":"$line/note"}`, "/request/lines/0/note", "absent"},
		{`{"each":"$request/lines","as":"line","do":{"each":"$line/lots?","as":"lot","do":"$lot/old"}}`, "/request/lines/0/lots/0/old", "absent"},
		{`{"each":"$request/lines","as":"line","do":{"each":"$line/lots","as":"lot","do":1}}`, "/request/lines/1/lots", "absent"},
		{`{"each":"$request/lines","as":"line","do":"x {line}"}`, "/request/lines/0", "has no text"},
		{`{"each":"$connection/params/region","as":"x","do":1}`, "", "a string, not an array"},
	} {
		k := &compiler{}
		n := k.tree(parsed(t, c.template), "/w")
		if len(k.faults) > 0 {
			t.Errorf("%s: %v", c.template, Faults(k.faults))
			continue
		}
		_, _, err := n.appendJSON(nil, loopMaterials(t))
		e, ok := errors.AsType[*onefold.Error](mappingError(err))
		if err == nil || !ok || e.Faults[0].Pointer != c.pointer || !strings.Contains(e.Faults[0].Detail, c.why) {
			t.Errorf("%s: %v", c.template, mappingError(err))
		}
	}
}

// A loop in a loop over the same array costs no more than its bound, whether or
// not it writes anything.
func TestLoopsAreBounded(t *testing.T) {
	t.Parallel()
	m := someMaterials(t)
	m.request = parsed(t, `{"l":[`+strings.TrimSuffix(strings.Repeat("1,", 2000), ",")+`]}`)
	for _, do := range []string{`"$b/x?"`, `1`, `{"each":"$request/l","as":"c","do":"$c/x?"}`} {
		k := &compiler{}
		n := k.tree(parsed(t, `{"each":"$request/l","as":"a","do":{"each":"$request/l","as":"b","do":`+do+`}}`), "/w")
		for what, err := range map[string]error{"bytes": third(n.appendJSON(nil, m)), "value": third(n.value(m))} {
			if err == nil || !strings.Contains(err.Error(), "longer than a target") {
				t.Errorf("%s of %s: %v", what, do, err)
			}
			m.steps = 0
		}
	}
}

func third[A, B any](_ A, _ B, err error) error { return err }

// Proves: M15
func TestMappedArraysAgreeElementByElement(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		approved, found string
		want            truth
	}{
		{`[{"s":"a","q":1.50}]`, `[{"id":1,"s":"a","q":"1.5"}]`, yes},
		{`[{"s":"a"},{"s":"b"}]`, `[{"s":"b"},{"s":"a"}]`, no},
		{`[{"s":"a"}]`, `[{"s":"a"},{"s":"b"}]`, no},
		{`[{"s":"a"}]`, `[]`, no},
		{`[{"s":"a"}]`, `[{"q":1}]`, no},
		{`[{"s":"a","n":null}]`, `[{"s":"a"}]`, yes},
		{`[{"s":"a"}]`, `[{"s":"A"}]`, unclear},
		{`[{"s":"a","q":1}]`, `[{"s":"A","q":2}]`, no},
		{`[[1],[2.0]]`, `[["1.00"],[2]]`, yes},
		{`{"a":{"b":[1]}}`, `{"a":{"b":[1],"c":2}}`, yes},
		{`[1]`, `1`, no},
	} {
		if got := agree(parsed(t, c.approved), parsed(t, c.found)); got != c.want {
			t.Errorf("%s with %s: %v, want %v", c.approved, c.found, got, c.want)
		}
	}
}
