package contract

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// Proves: M2a, I13
func TestFrozenRequest(t *testing.T) {
	t.Parallel()
	p := programOf(t, exampleOperation())
	f, err := p.write.freeze(exampleMaterials(t), p.op.Write.Timeout)
	if err != nil {
		t.Fatal(err)
	}
	if f.Method != "POST" || f.Path != "/bills" || f.Timeout != 20*time.Second {
		t.Errorf("%+v", f)
	}
	if want := `{"supplier":"S-81","number":"INV-0042","total":"1250.00","external_ref":"` + ours + `"}`; string(f.Body) != want {
		t.Errorf("body %s\nwant %s", f.Body, want)
	}
	want := []onefold.Header{
		{Name: "Content-Type", Value: "application/json"},
		{Name: "Idempotency-Key", Value: "7e75d820-baa9-4780-ac98-6e677e1d6f41"},
		{Name: "Accept", Value: "application/json"},
	}
	if len(f.Headers) != len(want) {
		t.Fatalf("headers %+v", f.Headers)
	}
	for i := range want {
		if f.Headers[i] != want[i] {
			t.Errorf("header %d is %+v, want %+v", i, f.Headers[i], want[i])
		}
	}
	if f.Digest != frozenDigest(&f) || len(f.Digest) != 64 {
		t.Errorf("digest %s", f.Digest)
	}
}

func TestIdentityTravelsWhereTheTargetWantsIt(t *testing.T) {
	t.Parallel()
	const id = "7e75d820-baa9-4780-ac98-6e677e1d6f41"
	object := func(text string) *identity.Value { return parsed(t, text) }
	for _, c := range []struct {
		name, path string
		body       *identity.Value
		carrier    *CarrierPlace
		wantPath   string
		wantBody   string
		wrong      string
	}{
		{"query", "/b", nil, &CarrierPlace{"query", "request id"}, "/b?request%20id=" + id, "", ""},
		{"query beside others", "/b?a=1&m={request/nothing?}", nil, &CarrierPlace{"query", "requestid"}, "/b?a=1&requestid=" + id, "", ""},
		{"body", "/b", object(`{"a":1}`), &CarrierPlace{"body", "/meta/key"}, "/b", `{"a":1,"meta":{"key":"` + id + `"}}`, ""},
		{"body that holds it", "/b", object(`{"key":"$operation/identity","a":1}`), &CarrierPlace{"body", "/key"}, "/b", `{"key":"` + id + `","a":1}`, ""},
		{"no body yet", "/b", nil, &CarrierPlace{"body", "/key"}, "/b", `{"key":"` + id + `"}`, ""},
		{"path", "/b/{operation/identity}", nil, &CarrierPlace{"path", ""}, "/b/" + id, "", ""},
		{"path without it", "/b", nil, &CarrierPlace{"path", ""}, "", "", "does not hold"},
		{"body with something else there", "/b", object(`{"key":"x"}`), &CarrierPlace{"body", "/key"}, "", "", "something else"},
		{"body inside a reference", "/b", object(`{"doc":"$request"}`), &CarrierPlace{"body", "/doc/key"}, "", "", "something else"},
		{"body that is a list", "/b", object(`[1]`), &CarrierPlace{"body", "/0"}, "", "", "something else"},
		{"body without a pointer", "/b", object(`{}`), &CarrierPlace{"body", "key"}, "", "", "JSON Pointer"},
		{"templates alone", "/b", object(`{"k":"$operation/identity"}`), nil, "/b", `{"k":"` + id + `"}`, ""},
	} {
		op := exampleOperation()
		op.Write.Path, op.Write.Body, op.Identity.Carrier = c.path, c.body, c.carrier
		p, faults := compileOperation(op)
		if c.wrong != "" {
			if len(faults) != 1 || !strings.Contains(faults[0].Detail, c.wrong) || !strings.HasPrefix(faults[0].Pointer, op.Pointer+"/identity/carrier") {
				t.Errorf("%s: %v", c.name, Faults(faults))
			}
			continue
		}
		if len(faults) > 0 {
			t.Errorf("%s: %v", c.name, Faults(faults))
			continue
		}
		f, err := p.write.freeze(exampleMaterials(t), time.Second)
		if err != nil || f.Path != c.wantPath || string(f.Body) != c.wantBody {
			t.Errorf("%s: %s %s %v", c.name, f.Path, f.Body, err)
		}
	}
}

func TestHeadersOfAFrozenRequest(t *testing.T) {
	t.Parallel()
	op := exampleOperation()
	op.Identity.Companions = []HeaderTemplate{{"Prefer", "respond-async"}}
	op.Write.Headers = []HeaderTemplate{
		{"content-type", "application/vnd.erp+json"}, {"X-Memo", "m {request/memo?}"}, {"X-Region", "$connection/params/region"}, {"ACCEPT", "*/*"},
	}
	m := exampleMaterials(t)
	m.connection.Params = parsed(t, `{"region":"eu"}`)
	f, err := programOf(t, op).write.freeze(m, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range f.Headers {
		got = append(got, h.Name+"="+h.Value)
	}
	want := "Idempotency-Key=7e75d820-baa9-4780-ac98-6e677e1d6f41 Prefer=respond-async content-type=application/vnd.erp+json X-Region=eu ACCEPT=*/*"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
	for _, bad := range []HeaderTemplate{
		{"Host", "x"},
		{"Content-Length", "1"},
		{"transfer-encoding", "chunked"},
		{"Authorization", "Bearer x"},
		{"Cookie", "x"},
		{"", "x"},
		{"X Y", "x"},
		{"X:", "x"},
		{"X\r\nY", "x"},
		{"Ä", "x"},
		{"idempotency-key", "x"},
		{"User-Agent", "x"},
	} {
		op := exampleOperation()
		op.Write.Headers = []HeaderTemplate{bad}
		if faults := checkTemplates(op); len(faults) != 1 || !strings.HasPrefix(faults[0].Pointer, op.Pointer+"/write/headers") {
			t.Errorf("%+v: %v", bad, Faults(faults))
		}
	}
	op = exampleOperation()
	op.Write.Headers = []HeaderTemplate{{"X-A", "1"}, {"x-a", "2"}}
	if faults := checkTemplates(op); len(faults) != 1 || !strings.Contains(faults[0].Detail, "twice") {
		t.Errorf("a header twice: %v", Faults(faults))
	}
}

func TestRequestThatCannotBeBuilt(t *testing.T) {
	t.Parallel()
	for template, pointer := range map[string]string{
		`{"a":{"b":"$request/lines/0/sku"}}`: "/request/lines/0/sku",
		`{"a":"x {request/supplier}"}`:       "/request/supplier",
		`{"a":"$connection/params/x"}`:       "",
	} {
		op := exampleOperation()
		op.Write.Body = parsed(t, template)
		_, err := programOf(t, op).write.freeze(exampleMaterials(t), time.Second)
		refused, ok := errors.AsType[*onefold.Error](err)
		if !ok || refused.Code != onefold.CodeRequestInvalid || len(refused.Faults) != 1 ||
			refused.Faults[0].Pointer != pointer || refused.Faults[0].Rule != "mapping" {
			t.Errorf("%s: %v", template, err)
		}
	}
}

// Each piece of a request counts for its digest, and nothing moves from one
// piece into the next unseen.
//
// Proves: M2a
func TestDigestCoversEverythingThatIsSent(t *testing.T) {
	t.Parallel()
	base := onefold.Frozen{
		Method: "POST", Path: "/b", Headers: []onefold.Header{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}}, Body: []byte("{}"),
	}
	digests := map[string]string{frozenDigest(&base): "the first"}
	for name, change := range map[string]func(*onefold.Frozen){
		"method":         func(f *onefold.Frozen) { f.Method = "PUT" },
		"path":           func(f *onefold.Frozen) { f.Path = "/b?" },
		"header name":    func(f *onefold.Frozen) { f.Headers[0].Name = "AA" },
		"header value":   func(f *onefold.Frozen) { f.Headers[0].Value = "11" },
		"header order":   func(f *onefold.Frozen) { f.Headers[0], f.Headers[1] = f.Headers[1], f.Headers[0] },
		"one less":       func(f *onefold.Frozen) { f.Headers = f.Headers[:1] },
		"shifted":        func(f *onefold.Frozen) { f.Headers[0] = onefold.Header{Name: "A1", Value: ""} },
		"method in path": func(f *onefold.Frozen) { f.Method, f.Path = "POST/", "b" },
		"body":           func(f *onefold.Frozen) { f.Body = []byte("{ }") },
		"empty body":     func(f *onefold.Frozen) { f.Body = []byte{} },
		"no body":        func(f *onefold.Frozen) { f.Body = nil },
	} {
		f := base
		f.Headers = append([]onefold.Header(nil), base.Headers...)
		change(&f)
		digest := frozenDigest(&f)
		if have, taken := digests[digest]; taken {
			t.Errorf("%s has the digest of %s", name, have)
		}
		digests[digest] = name
	}
}

// drawn draws JSON text.
func drawn(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		switch kind := rapid.IntRange(0, 6).Draw(t, "kind"); {
		case kind == 0:
			return "null"
		case kind == 1:
			return rapid.SampledFrom([]string{"true", "false"}).Draw(t, "bool")
		case kind == 2:
			return rapid.StringMatching(`-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?`).Draw(t, "number")
		case kind <= 4 || depth == 0:
			return string(identity.NewString(rapid.String().Draw(t, "string")).AppendJSON(nil))
		case kind == 5:
			return "[" + strings.Join(rapid.SliceOfN(drawn(depth-1), 0, 4).Draw(t, "items"), ", ") + "]"
		default:
			names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-c/~]{0,2}`), 0, 4, rapid.ID).Draw(t, "names")
			var members []string
			for _, name := range names {
				members = append(members, string(identity.NewString(name).AppendJSON(nil))+" : "+drawn(depth-1).Draw(t, "member"))
			}
			return "{" + strings.Join(members, ",") + "}"
		}
	})
}

// The same operation and request always give the same bytes; a value arrives as
// it was approved, digits, order and all; and the body is always one JSON value.
//
// Proves: M2a, I13
func TestFreezingTwiceGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	op := exampleOperation()
	op.Write.Body = parsed(t, `{"all":"$request","text":"<{operation/reference}>","x":"$request/a?"}`)
	b := &binding{registry: NewRegistry(Options{}), program: programOf(t, op), connection: exampleMaterials(t).connection}
	operation := exampleMaterials(t).op
	rapid.Check(t, func(t *rapid.T) {
		request := []byte(drawn(3).Draw(t, "request"))
		first, err := b.Freeze(operation, request)
		if err != nil {
			t.Fatalf("%s: %v", request, err)
		}
		second, err := b.Freeze(operation, bytes.Clone(request))
		if err != nil || first.Digest != second.Digest || !bytes.Equal(first.Body, second.Body) {
			t.Fatalf("%s then %s", first.Body, second.Body)
		}
		approved, _ := identity.Parse(request, identity.Limits{})
		if want := `{"all":` + string(approved.AppendJSON(nil)) + `,"text":"<` + ours + `>"`; !strings.HasPrefix(string(first.Body), want) {
			t.Fatalf("%s does not begin with %s", first.Body, want)
		}
		if _, err := identity.Parse(first.Body, identity.Limits{MaxDepth: 70}); err != nil {
			t.Fatalf("%s: %v", first.Body, err)
		}
	})
}

// Whatever stands in a request, a path keeps its shape and a header its line.
func TestHostileValuesStayInTheirPlace(t *testing.T) {
	t.Parallel()
	op := exampleOperation()
	op.Write.Path = "/accounts/{request/x}/bills?q={request/x}&z=1"
	op.Write.Headers = []HeaderTemplate{{"X-Note", "n{request/x}n"}}
	p, m := programOf(t, op), exampleMaterials(t)
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.String().Draw(t, "value")
		local := *m
		local.request = identity.NewObject(
			identity.Member{Name: "x", Value: identity.NewString(value)},
			identity.Member{Name: "supplier_id", Value: identity.NewString("s")},
			identity.Member{Name: "invoice_number", Value: identity.NewString("i")},
			identity.Member{Name: "total", Value: identity.NewString("1")},
		)
		f, err := p.write.freeze(&local, time.Second)
		if err != nil {
			return
		}
		path, query, _ := strings.Cut(f.Path, "?")
		if strings.Count(path, "/") != 3 || strings.Count(query, "&") != 1 || strings.Count(query, "=") != 2 || strings.Contains(f.Path, "#") {
			t.Fatalf("%q became %s", value, f.Path)
		}
		for _, h := range f.Headers {
			if strings.ContainsFunc(h.Value, func(r rune) bool { return r < 0x20 || r > 0x7E }) {
				t.Fatalf("%q became %q", value, h.Value)
			}
		}
	})
}
