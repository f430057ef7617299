package api

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// batchList is the member of a batch that is cut into pieces.
func batchList(t testing.TB) *member {
	t.Helper()
	table := routes()
	for i := range table {
		if m := table[i].apart(); m != nil {
			return m
		}
	}
	t.Fatal("no route has a list whose elements are judged apart")
	return nil
}

// Texts in which quotes and brackets are easily counted wrongly, with the pieces
// that they are cut into; nil where they are refused, or hold no such list.
// Proves: I10
func TestSplit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body string
		want []string
	}{
		{`{"items":[1]}`, []string{"1"}},
		{" {\t\"items\"\r: [ 1 ,\n{} , [ ] ,\"\" ] } ", []string{"1", "{}", "[ ]", `""`}},
		{`{"items":["]","[","{\"","\\"],"x":1}`, []string{`"]"`, `"["`, `"{\""`, `"\\"`}},
		{`{"items":[{"a":"\\\""},{"b":"},{"}]}`, []string{`{"a":"\\\""}`, `{"b":"},{"}`}},
		{`{"x":{"items":[1,2]},"items":[3]}`, []string{"3"}},
		{`{"x":"\"items\":[1","items":[3]}`, []string{"3"}},
		{`{"x":["items",[1]],"items":[[3]]}`, []string{"[3]"}},
		{`{"\u0069tem\u0073":[3]}`, []string{"3"}},
		{"{\"items\":[{\xff},\"\xff\"]}", []string{"{\xff}", "\"\xff\""}},
		{`{"items":[{"a" "b":,,},{a b}]}`, []string{`{"a" "b":,,}`, `{a b}`}},
		{`{"items":[nul,+1,-,1e]}`, []string{"nul", "+1", "-", "1e"}},
		{`{"items":[]}`, nil},
		{`{"items":[ ]}`, nil},
		{`{"items":{}}`, nil},
		{`[1]`, nil},
		{`{"Items":[1]}`, nil},
		{`"items":[1]`, nil},
		{`{"items" [1]}`, nil},
		{`{"x":1 "items":[1]}`, nil},
		{`{"x","items":[1]}`, nil},
		{`{x:1,"items":[1]}`, nil},
		{``, nil},
		{`{`, nil},
		{`{"items":[1`, nil},
		{`{"items":[1,`, nil},
		{`{"items":[,]}`, nil},
		{`{"items":[1,]}`, nil},
		{`{"items":[1 2]}`, nil},
		{`{"items":[[}]}`, nil},
		{`{"items":["a]}`, nil},
		{`{"items":["a\"]}`, nil},
		{`{"items":["a"b]}`, nil},
		{`{"items":[a"b"]}`, nil},
		{`{"items":[{"a":'}'}]}`, nil},
	} {
		pieces, hollow, err := split([]byte(c.body), batchList(t))
		var got []string
		for _, p := range pieces {
			got = append(got, string(p.raw))
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: cut into %q, wanted %q (%v)", c.body, got, c.want, err)
		}
		if c.want != nil && len(hollow) != len(c.body) {
			t.Errorf("%s: hollow it is %q", c.body, hollow)
		}
	}
}

// FuzzSplit holds the cutting of a batch to its promises. A text that is strict
// JSON is cut where the strict parser sees the elements, and never refused. Of any
// other, the pieces lie in it in their order, with nothing but white space and one
// comma between them.
// Proves: I10
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{
		`{"items":[]}`, `{"items":[1,null,{},"x",[]]}`, `{}`, `[`, `{"items":[{"a":"],[\"{"},{"b":[1,{"c":"\\"}]}],"x":{"items":[1]}}`,
		`{"x":["items"],"items":[{"a":1,"a":2},{"a" 1},{"é":"\ud800"}]}`, "{\"items\":[\"\xff\",{\xfe}]}", `{"\u0069tems":[01,tru]}`,
		`{"items":[1,2],"items":[3]}`, `{"items":[{"a":"b,"c":"d"}]}`, `{"items":[{'a':1}]}`, `{"items":[[[[}]]]}`, `{"items":[1 2]}`, ` { "items" : [ 1 , ] } `,
		`{"items":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
	} {
		f.Add([]byte(seed))
	}
	list := batchList(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		pieces, hollow, err := split(raw, list)
		whole, strict := identity.Parse(raw, identity.Limits{MaxBytes: len(raw), MaxDepth: 10_000})
		if err != nil {
			refusal, ok := errors.AsType[*onefold.Error](err)
			if !ok || refusal.Code != onefold.CodeMemberInvalid && (refusal.Offset == nil || *refusal.Offset > len(raw)) {
				t.Fatalf("refused with %v", err)
			}
			if strict == nil && refusal.Code != onefold.CodeMemberInvalid {
				t.Fatalf("strict JSON is refused: %v", err)
			}
			return
		}
		if len(pieces) > list.max || len(hollow) != len(raw) {
			t.Fatalf("%d pieces, %d bytes for %d", len(pieces), len(hollow), len(raw))
		}
		if strict == nil {
			sameItems(t, whole, list.name, pieces)
		}
		end := -1
		for i, p := range pieces {
			if len(p.raw) == 0 || !bytes.Equal(raw[p.at:p.at+len(p.raw)], p.raw) || p.at < end {
				t.Fatalf("piece %d lies at %d with %d bytes", i, p.at, len(p.raw))
			}
			if i > 0 && strings.TrimSpace(string(raw[end:p.at])) != "," {
				t.Fatalf("between two pieces stands %q", raw[end:p.at])
			}
			end = p.at + len(p.raw)
		}
	})
}

// sameItems compares the pieces with what the strict parser sees.
func sameItems(t *testing.T, whole *identity.Value, name string, pieces []piece) {
	t.Helper()
	items, _ := whole.Get(name)
	if items.Kind() != identity.Array && len(pieces) > 0 || items.Kind() == identity.Array && items.Len() != len(pieces) {
		t.Fatalf("%d pieces of %d items", len(pieces), items.Len())
	}
	for i, p := range pieces {
		start, stop := items.Items()[i].Span()
		if start != p.at || stop != p.at+len(p.raw) {
			t.Fatalf("item %d lies from %d to %d, piece from %d to %d", i, start, stop, p.at, p.at+len(p.raw))
		}
	}
}
