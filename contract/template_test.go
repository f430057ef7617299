package contract

import (
	"errors"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// parsed reads JSON that a test wrote.
func parsed(t testing.TB, text string) *identity.Value {
	t.Helper()
	v, err := identity.Parse([]byte(text), identity.Limits{MaxBytes: len(text) + 1})
	if err != nil {
		t.Fatalf("the test's own JSON %s: %v", text, err)
	}
	return v
}

// someMaterials are a request, an operation and a connection to refer to.
func someMaterials(t testing.TB) *materials {
	t.Helper()
	return &materials{
		request: parsed(t, `{
			"supplier_id": "S-81", "total": 1250.00, "huge": 123456789012345678901234567890.10,
			"tiny": 1e-400, "lines": [{"sku": "a"}, {"sku": "b/c"}], "memo": null, "flag": true, "empty": "",
			"a/b": "slash", "m~n": "tilde", "really?": "asked", "up": "../../admin", "dots": "..", "dot": ".",
			"crlf": "x\r\nX-Evil: 1", "euro": "12 €", "nul": "a\u0000b", "space": "a b&c=d+e", "braces": "{request/total}",
			"dollar": "$request/total"
		}`),
		op: &onefold.Operation{Admitted: onefold.Admitted{
			ID: "op_1", Identity: "7e75d820-baa9-4780-ac98-6e677e1d6f41", Reference: "of-7h2k",
		}},
		connection: &Connection{Account: "7", URL: "https://erp.example/acme", Params: parsed(t, `{"region": "eu", "book": {"id": 12}}`)},
	}
}

// Proves: I13
func TestBodyTemplateRenders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, template, want string }{
		{"constants stay", `{"a":1.50,"b":null,"c":[true,"x"]}`, `{"a":1.50,"b":null,"c":[true,"x"]}`},
		{"a string", `{"s":"$request/supplier_id"}`, `{"s":"S-81"}`},
		{"a number with its digits", `{"n":"$request/total"}`, `{"n":1250.00}`},
		{"a number beyond any float", `{"n":"$request/huge","m":"$request/tiny"}`, `{"n":123456789012345678901234567890.10,"m":1e-400}`},
		{"a whole array", `{"l":"$request/lines"}`, `{"l":[{"sku":"a"},{"sku":"b/c"}]}`},
		{"an element", `{"l":"$request/lines/1/sku"}`, `{"l":"b/c"}`},
		{"null is present", `{"m":"$request/memo"}`, `{"m":null}`},
		{"null is present to an optional", `{"m":"$request/memo?"}`, `{"m":null}`},
		{"absent optional member", `{"a":1,"m":"$request/nothing?","z":2}`, `{"a":1,"z":2}`},
		{"absent optional first", `{"m":"$request/nothing?","z":2}`, `{"z":2}`},
		{"absent optional element", `["$request/nothing?",1,"$request/nothing?"]`, `[1]`},
		{"optional below something absent", `{"m":"$request/nothing/deeper?"}`, `{}`},
		{"optional below a scalar", `{"m":"$request/flag/deeper?"}`, `{}`},
		{"index beyond the end", `{"m":"$request/lines/2?","n":"$request/lines/01?","o":"$request/lines/-?"}`, `{}`},
		{"escaped pointer", `{"a":"$request/a~1b","m":"$request/m~0n"}`, `{"a":"slash","m":"tilde"}`},
		{"member that ends in a question mark", `{"a":"$request/really??"}`, `{"a":"asked"}`},
		{"operation", `["$operation/id","$operation/identity","$operation/reference"]`, `["op_1","7e75d820-baa9-4780-ac98-6e677e1d6f41","of-7h2k"]`},
		{"connection", `["$connection/account","$connection/params/region","$connection/params/book/id","$connection/params/book"]`, `["7","eu",12,{"id":12}]`},
		{"interpolation", `{"t":"bill {request/supplier_id} over {request/total}: {request/flag}"}`, `{"t":"bill S-81 over 1250.00: true"}`},
		{"absent in an interpolation leaves the member out", `{"t":"x {request/nothing?}","u":1}`, `{"u":1}`},
		{"plain dollar", `{"t":"$$5.00","u":"5 $","v":"$$$"}`, `{"t":"$5.00","u":"5 $","v":"$$"}`},
		{"plain dollar before an interpolation", `{"t":"$${request/total}"}`, `{"t":"$1250.00"}`},
		{"plain braces", `{"t":"{{request/total}}","u":"{{{request/total}}}"}`, `{"t":"{request/total}","u":"{1250.00}"}`},
		{"values are never templates", `{"a":"$request/braces","b":"{request/braces}","c":"$request/dollar"}`, `{"a":"{request/total}","b":"{request/total}","c":"$request/total"}`},
		{"control characters are JSON's business", `{"a":"x{request/crlf}","b":"$request/nul"}`, `{"a":"xx\r\nX-Evil: 1","b":"a\u0000b"}`},
		{"member names are plain", `{"$request/total":1,"{x}":2}`, `{"$request/total":1,"{x}":2}`},
		{"a member called each", `{"each":5,"x":{"each":"other"}}`, `{"each":5,"x":{"each":"other"}}`},
		{"empty containers", `{"a":{},"b":[]}`, `{"a":{},"b":[]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := compiler{place: placeBody}
			n := k.tree(parsed(t, c.template), "/body")
			if len(k.faults) > 0 {
				t.Fatalf("faults: %v", Faults(k.faults))
			}
			got, present, err := n.appendJSON(nil, someMaterials(t))
			if err != nil || !present {
				t.Fatalf("present %v, error %v", present, err)
			}
			if string(got) != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			v, present, err := n.value(someMaterials(t))
			if err != nil || !present || string(v.AppendJSON(nil)) != c.want {
				t.Errorf("as a value: %s, present %v, error %v", v.AppendJSON(nil), present, err)
			}
		})
	}
}

func TestBodyTemplateOfOneAbsentReferenceIsNoBody(t *testing.T) {
	t.Parallel()
	k := compiler{place: placeBody}
	n := k.tree(parsed(t, `"$request/nothing?"`), "/body")
	if out, present, err := n.appendJSON(nil, someMaterials(t)); present || err != nil || len(out) != 0 {
		t.Errorf("got %q, present %v, error %v", out, present, err)
	}
}

func TestAbsentReferenceIsAnErrorThatNamesIt(t *testing.T) {
	t.Parallel()
	for _, template := range []string{`{"a":[{"b":"$request/nothing"}]}`, `{"a":"x {request/nothing}"}`, `"$connection/params/nothing"`} {
		k := compiler{place: placeBody}
		n := k.tree(parsed(t, template), "/body")
		_, _, err := n.appendJSON(nil, someMaterials(t))
		if _, ok := errors.AsType[*missingError](err); !ok || !strings.Contains(err.Error(), "nothing is absent") {
			t.Errorf("%s: %v", template, err)
		}
		if _, _, err := n.value(someMaterials(t)); err == nil {
			t.Errorf("%s has a value", template)
		}
	}
	for _, template := range []string{`{"a":"x {request/lines}"}`, `{"a":"x {request/memo}"}`} {
		k := compiler{place: placeBody}
		_, _, err := k.tree(parsed(t, template), "/body").appendJSON(nil, someMaterials(t))
		if _, ok := errors.AsType[*unfitError](err); !ok {
			t.Errorf("%s: %v", template, err)
		}
	}
}

// An operation without an identity must not send, or look for, the empty text.
func TestOperationWithoutIdentityRendersNothing(t *testing.T) {
	t.Parallel()
	m := someMaterials(t)
	m.op = &onefold.Operation{}
	k := compiler{place: placeBody}
	if out, _, err := k.tree(parsed(t, `{"a":"$operation/identity"}`), "").appendJSON(nil, m); err == nil {
		t.Errorf("rendered %s", out)
	}
}

func TestBodyHasALimit(t *testing.T) {
	t.Parallel()
	m := someMaterials(t)
	m.request = parsed(t, `{"long":"`+strings.Repeat("x", 1<<20-20)+`"}`)
	k := compiler{place: placeBody}
	n := k.tree(parsed(t, `[`+strings.Repeat(`"$request/long",`, 50)+`1]`), "")
	if out, _, err := n.appendJSON(nil, m); !errors.Is(err, errTooLong) || len(out) > maxBody+2<<20 {
		t.Errorf("%d bytes, error %v", len(out), err)
	}
}

func TestPathTemplateRenders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ template, want, wrong string }{
		{"/bills", "/bills", ""},
		{"/", "/", ""},
		{"/bills/", "/bills/", ""},
		{"/bills/{request/supplier_id}/x", "/bills/S-81/x", ""},
		{"/bills/of-{operation/reference}.json", "/bills/of-of-7h2k.json", ""},
		{"/bills?external_ref={operation/reference}", "/bills?external_ref=of-7h2k", ""},
		{"/b?a=1&q={request/space}&b=2", "/b?a=1&q=a%20b%26c%3Dd%2Be&b=2", ""},
		{"/b?q={request/euro}", "/b?q=12%20%E2%82%AC", ""},
		{"/b?q={request/crlf}", "/b?q=x%0D%0AX-Evil%3A%201", ""},
		{"/b?m={request/nothing?}&n=1", "/b?n=1", ""},
		{"/b?m={request/nothing?}", "/b", ""},
		{"/b?n=1&m={request/nothing?}", "/b?n=1", ""},
		{"/b?q=x-{request/total}-{request/flag}", "/b?q=x-1250.00-true", ""},
		{"/b?q={request/empty}", "/b?q=", ""},
		{"/b/{request/euro}", "/b/12%20%E2%82%AC", ""},
		{"/b/{request/lines/1/sku}", "/b/b%2Fc", ""},
		{"/b/%7Bx%7D/{{y}}", "/b/%7Bx%7D/%7By%7D", ""},
		{"/b/{request/up}", "", ". or .."},
		{"/b/{request/dots}", "", ". or .."},
		{"/b/{request/dot}/c", "", ". or .."},
		{"/b/{request/empty}", "", "empty"},
		{"/b/{request/dot}{request/dot}", "", ". or .."},
		{"/b/x{request/dots}", "/b/x..", ""},
		{"/b/{request/crlf}", "", "control"},
		{"/b/{request/nul}", "", "control"},
		{"/b/{request/nothing}", "", "absent"},
		{"/b?q={request/nothing}", "", "absent"},
		{"/b/{request/lines}", "", "an array"},
		{"/b?q={request/memo}", "", "null"},
	} {
		k := compiler{place: placePath}
		p := k.path(c.template, "/path")
		if len(k.faults) > 0 {
			t.Errorf("%s: %v", c.template, Faults(k.faults))
			continue
		}
		got, err := p.render(someMaterials(t))
		switch {
		case c.wrong != "":
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s gave %q and %v, want an error with %q", c.template, got, err, c.wrong)
			}
		case err != nil || string(got) != c.want:
			t.Errorf("%s gave %q and %v, want %q", c.template, got, err, c.want)
		}
	}
}

func TestPathCannotLeadElsewhere(t *testing.T) {
	t.Parallel()
	k := compiler{place: placePath}
	p := k.path("/accounts/{request/x}/bills", "")
	for _, hostile := range []string{
		"..", ".", "", "../x", "x/../y", "x/..", `..\x`, `x\..\y`, "./x", "\r\n", "\x00", "\x7f", "a\tb",
	} {
		m := &materials{request: identity.NewObject(identity.Member{Name: "x", Value: identity.NewString(hostile)})}
		if out, err := p.render(m); err == nil {
			t.Errorf("%q gave %s", hostile, out)
		}
	}
	for _, harmless := range []string{"%2e%2e", "a?b", "a#b", "a&b", "INV/2026/7", "...", "..a", "日本", "a%2Fb", ";x", "@", ":"} {
		m := &materials{request: identity.NewObject(identity.Member{Name: "x", Value: identity.NewString(harmless)})}
		out, err := p.render(m)
		if err != nil {
			t.Errorf("%q: %v", harmless, err)
			continue
		}
		inside := strings.TrimSuffix(strings.TrimPrefix(string(out), "/accounts/"), "/bills")
		if strings.ContainsAny(inside, "/?#&;@:\\ ") {
			t.Errorf("%q became %q", harmless, out)
		}
	}
}

func TestHeaderTemplateRenders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ template, want, wrong string }{
		{"v1", "v1", ""},
		{"$operation/identity", "7e75d820-baa9-4780-ac98-6e677e1d6f41", ""},
		{"of-{operation/id}", "of-op_1", ""},
		{"\"{operation/identity}\"", "\"7e75d820-baa9-4780-ac98-6e677e1d6f41\"", ""},
		{"$$x {{y}}", "$x {y}", ""},
		{"{request/space}", "a b&c=d+e", ""},
		{"{request/crlf}", "", "visible ASCII"},
		{"{request/euro}", "", "visible ASCII"},
		{"{request/nul}", "", "visible ASCII"},
		{"$request/empty", "", "empty"},
		{"$request/nothing", "", "absent"},
		{"$request/lines", "", "an array"},
	} {
		k := compiler{place: placeHeader}
		h := headerTemplate{name: "X", text: k.header(c.template, "/h")}
		if len(k.faults) > 0 {
			t.Errorf("%s: %v", c.template, Faults(k.faults))
			continue
		}
		got, present, err := h.render(someMaterials(t))
		switch {
		case c.wrong != "":
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s gave %q and %v, want an error with %q", c.template, got, err, c.wrong)
			}
		case err != nil || !present || got != c.want:
			t.Errorf("%s gave %q, present %v and %v, want %q", c.template, got, present, err, c.want)
		}
	}
	k := compiler{place: placeHeader}
	h := headerTemplate{name: "X", text: k.header("x {request/nothing?}", "/h")}
	if got, present, err := h.render(someMaterials(t)); present || err != nil {
		t.Errorf("an absent optional reference gave %q and %v", got, err)
	}
}

// checkTemplate compiles one template at a place, as decoding does for each of
// an operation's.
func checkTemplate(v *identity.Value, at string, place templatePlace) []Fault {
	c := compiler{place: place}
	switch place {
	case placePath:
		c.path(v.Text(), at)
	case placeHeader:
		c.header(v.Text(), at)
	case placeBody, placeCheck:
		c.tree(v, at)
	}
	return c.faults
}

func TestTemplateFaultsNameTheirPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		place    templatePlace
		template string // JSON
		at       string
		code     onefold.Code
		wrong    string
	}{
		{placeBody, `{"a":["x","$line/sku"]}`, "/w/a/1", onefold.CodeDocumentInvalid, "nothing that is known"},
		{placeBody, `{"a":"$5.00"}`, "/w/a", onefold.CodeDocumentInvalid, "nothing that is known"},
		{placeBody, `{"a":"$"}`, "/w/a", onefold.CodeDocumentInvalid, "nothing that is known"},
		{placeBody, `{"a/b":"$response/x"}`, "/w/a~1b", onefold.CodeDocumentInvalid, "nothing that is known"},
		{placeBody, `{"a":"$request/x~2"}`, "/w/a", onefold.CodeDocumentInvalid, "JSON Pointer"},
		{placeBody, `{"a":"$operation/state"}`, "/w/a", onefold.CodeDocumentInvalid, "id, identity and reference"},
		{placeBody, `{"a":"$operation"}`, "/w/a", onefold.CodeDocumentInvalid, "id, identity and reference"},
		{placeBody, `{"a":"$operation/id/x"}`, "/w/a", onefold.CodeDocumentInvalid, "id, identity and reference"},
		{placeBody, `{"a":"$connection/secrets/token"}`, "/w/a", onefold.CodeDocumentInvalid, "account and params"},
		{placeBody, `{"a":"$connection"}`, "/w/a", onefold.CodeDocumentInvalid, "account and params"},
		{placeBody, `{"a":"$amended/result/reference"}`, "/w/a", onefold.CodeNotSupportedYet, "not supported yet"},
		{placeBody, `{"a":{"each":"$request/lines","as":"line"}}`, "/w/a", onefold.CodeDocumentInvalid, "do is missing"},
		{placeBody, `{"a":{"each":"$request/lines","as":"line","do":"$accepted/reference"}}`, "/w/a/do", onefold.CodeDocumentInvalid, "only a poll"},
		{placeBody, `{"a":[{"each":"$request/lines","as":"line","do":1},"$line"]}`, "/w/a/1", onefold.CodeDocumentInvalid, "nothing that is known"},
		{placeBody, `{"a":"x {request/y"}`, "/w/a", onefold.CodeDocumentInvalid, "brace"},
		{placeBody, `{"a":"x } y"}`, "/w/a", onefold.CodeDocumentInvalid, "brace"},
		{placeBody, `{"a":"x {} y"}`, "/w/a", onefold.CodeDocumentInvalid, "nothing that is known"},
		{placeBody, `{"a":"x {$request/y}"}`, "/w/a", onefold.CodeDocumentInvalid, "no $"},
		{placeCheck, `"$operation/identity?"`, "/w", onefold.CodeDocumentInvalid, "means nothing"},
		{placePath, `"bills"`, "/w", onefold.CodeDocumentInvalid, "begins with /"},
		{placePath, `"$request/path"`, "/w", onefold.CodeDocumentInvalid, "begins with /"},
		{placePath, `"{request/path}"`, "/w", onefold.CodeDocumentInvalid, "begins with /"},
		{placePath, `""`, "/w", onefold.CodeDocumentInvalid, "begins with /"},
		{placePath, `"//erp.example/x"`, "/w", onefold.CodeDocumentInvalid, "segment"},
		{placePath, `"/a/../b"`, "/w", onefold.CodeDocumentInvalid, "segment"},
		{placePath, `"/a b"`, "/w", onefold.CodeDocumentInvalid, "character"},
		{placePath, `"/a#b"`, "/w", onefold.CodeDocumentInvalid, "character"},
		{placePath, `"/a\r\nb"`, "/w", onefold.CodeDocumentInvalid, "character"},
		{placePath, `"/ä"`, "/w", onefold.CodeDocumentInvalid, "character"},
		{placePath, `"/a%zz"`, "/w", onefold.CodeDocumentInvalid, "percent"},
		{placePath, `"/a?{request/name}=1"`, "/w", onefold.CodeDocumentInvalid, "name of a query parameter"},
		{placePath, `"/a?x{request/name}=1"`, "/w", onefold.CodeDocumentInvalid, "name of a query parameter"},
		{placePath, `"/a?"`, "/w", onefold.CodeDocumentInvalid, "no name"},
		{placePath, `"/a?x=1&"`, "/w", onefold.CodeDocumentInvalid, "no name"},
		{placePath, `"/a/{request/x?}"`, "/w", onefold.CodeDocumentInvalid, "cannot be left out"},
		{placeHeader, `"a\r\nb"`, "/w", onefold.CodeDocumentInvalid, "visible ASCII"},
		{placeHeader, `""`, "/w", onefold.CodeDocumentInvalid, "empty"},
		{placeHeader, `" x"`, "/w", onefold.CodeDocumentInvalid, "space"},
		{placeHeader, `"$nobody/x"`, "/w", onefold.CodeDocumentInvalid, "nothing that is known"},
	} {
		faults := checkTemplate(parsed(t, c.template), "/w", c.place)
		if len(faults) != 1 {
			t.Errorf("%s: %d faults: %v", c.template, len(faults), Faults(faults))
			continue
		}
		f := faults[0]
		if f.Pointer != c.at || f.Code != c.code || !strings.Contains(f.Detail, c.wrong) {
			t.Errorf("%s: %s at %q: %s", c.template, f.Code, f.Pointer, f.Detail)
		}
	}
}
