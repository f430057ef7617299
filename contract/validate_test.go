package contract

import (
	"fmt"
	"strings"
	"testing"
)

const exampleSchema = `{
	"type": "object", "required": ["supplier_id", "total", "currency"], "additionalProperties": false,
	"properties": {
		"supplier_id": {"type": "string", "minLength": 1},
		"document": {"enum": ["invoice", "credit_note"]},
		"total": {"type": "string", "maxLength": 20},
		"currency": {"type": "string", "pattern": "^[A-Z]{3}$"},
		"memo": {"type": ["string", "null"]},
		"due": {"type": "string", "format": "date"},
		"count": {"type": "integer", "minimum": 1, "maximum": 9007199254740992, "multipleOf": 1},
		"rate": {"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.01},
		"lines": {"type": "array", "minItems": 1, "uniqueItems": true, "items": {"$ref": "#/$defs/line"}},
		"either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
		"never": false
	},
	"$defs": {"line": {"type": "object", "required": ["sku"], "properties": {"sku": {"type": "string"}, "next": {"$ref": "#/$defs/line"}}}}
}`

func schemaOf(t testing.TB, text string) *requestSchema {
	t.Helper()
	s, err := compileSchema(parsed(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRequestsAreValidated(t *testing.T) {
	t.Parallel()
	s := schemaOf(t, exampleSchema)
	const base = `"supplier_id":"S","total":"1","currency":"EUR"`
	for _, c := range []struct{ request, want string }{
		{`{` + base + `}`, ""},
		{`{` + base + `,"memo":null,"due":"2026-11-29","count":9007199254740992,"rate":0.10,"either":1}`, ""},
		{`{` + base + `,"count":9007199254740993}`, "/request/count maximum must be at most 9007199254740992"},
		{`{` + base + `,"count":1.0}`, ""},
		{`{` + base + `,"count":1.5}`, "/request/count type is number; it must be integer"},
		{`{` + base + `,"rate":0.015}`, "/request/rate multipleOf must be a multiple of 1/100"},
		{`{` + base + `,"rate":1e400}`, ""},
		{`{` + base + `,"rate":0}`, "/request/rate exclusiveMinimum must be more than 0"},
		{`{}`, "/request/currency required is required|/request/supplier_id required is required|/request/total required is required"},
		{`[]`, "/request type is array; it must be object"},
		{`{` + base + `,"x/y":1}`, "/request/x~1y additionalProperties is not a member that the contract knows"},
		{`{"supplier_id":"","total":1,"currency":"eur"}`, "/request/currency pattern must match the pattern ^[A-Z]{3}$|/request/supplier_id minLength has 0 characters; at least 1 are needed|/request/total type is number; it must be string"},
		{`{` + base + `,"document":"secret-value"}`, `/request/document enum must be one of "invoice", "credit_note"`},
		{`{` + base + `,"due":"2026-02-30"}`, "/request/due format must be a valid date"},
		{`{` + base + `,"lines":[{"sku":"a"},{"next":{"sku":1}}]}`, "/request/lines/1/next/sku type is number; it must be string|/request/lines/1/sku required is required"},
		{`{` + base + `,"lines":[{"sku":"a"},{"sku":"a"}]}`, "/request/lines uniqueItems has equal elements at 0 and 1"},
		{`{` + base + `,"either":true}`, "/request/either anyOf fits none of the alternatives"},
		{`{` + base + `,"never":1}`, "/request/never false may not be here"},
	} {
		var got []string
		for _, f := range s.check(parsed(t, c.request)) {
			got = append(got, f.Pointer+" "+f.Rule+" "+f.Detail)
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.request, strings.Join(got, "|"), c.want)
		}
		if strings.Contains(strings.Join(got, "|"), "secret-value") {
			t.Errorf("%s: a fault repeats the payload", c.request)
		}
	}
}

func TestSchemaReadsNothingElse(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		`{"$ref":"https://example.com/other.json"}`,
		`{"$ref":"file:///etc/passwd"}`,
		`{"$ref":"other.json"}`,
		`{"$schema":"https://example.com/dialect"}`,
		`{"type":"nonsense"}`,
		`{"pattern":"("}`,
		`{"$ref":"#/$defs/missing"}`,
		`7`,
	} {
		if _, err := compileSchema(parsed(t, schema)); err == nil {
			t.Errorf("%s compiles", schema)
		}
	}
}

func TestFaultsAreBounded(t *testing.T) {
	t.Parallel()
	s := schemaOf(t, `{"items":{"type":"string"}}`)
	faults := s.check(parsed(t, `[`+strings.Repeat(`1,`, 5000)+`1]`))
	if len(faults) != maxRequestFaults {
		t.Errorf("%d faults", len(faults))
	}
}

// A request of the largest size that is made of enormous numbers costs little:
// written out in full, they would not end within the test's time-out.
func TestEnormousNumbersCostLittle(t *testing.T) {
	t.Parallel()
	s := schemaOf(t, `{"items":{"type":"integer","minimum":0,"multipleOf":7}}`)
	for _, one := range []string{"1e10000", "1e-10000", "1E9999"} {
		faults := s.check(parsed(t, `[`+strings.Repeat(one+",", 100_000)+`1]`))
		if len(faults) != 1 || faults[0].Rule != "number" {
			t.Errorf("%s: %v", one, faults)
		}
	}
	if faults := s.check(parsed(t, `[7e400, 7e401]`)); len(faults) != 0 {
		t.Errorf("a few are refused: %v", faults)
	}
}

func TestNestedSchemaFaultsHaveTheirPlace(t *testing.T) {
	t.Parallel()
	s := schemaOf(t, `{"allOf":[{"if":{"required":["a"]},"then":{"required":["b"]}},{"not":{"required":["c"]}}],"propertyNames":{"maxLength":3},"dependentRequired":{"d":["e"]}}`)
	for request, want := range map[string]string{
		`{"a":1}`:    "/request/b required",
		`{"c":1}`:    "/request not",
		`{"long":1}`: "/request/long propertyNames",
		`{"d":1}`:    "/request/e dependentRequired",
	} {
		faults := s.check(parsed(t, request))
		if len(faults) != 1 || faults[0].Pointer+" "+faults[0].Rule != want {
			t.Errorf("%s: %v", request, fmt.Sprint(faults))
		}
	}
}
