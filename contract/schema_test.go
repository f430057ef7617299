package contract

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/onefold-dev/onefold/identity"
)

// published compiles the schemas as an editor would.
func publishedSchemas(t *testing.T) map[Kind]*jsonschema.Schema {
	t.Helper()
	out := map[Kind]*jsonschema.Schema{}
	for _, kind := range Kinds() {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema(string(kind))))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		url := "https://onefold.invalid/" + string(kind)
		if err := c.AddResource(url, v); err != nil {
			t.Fatal(err)
		}
		if out[kind], err = c.Compile(url); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// Each published schema is what its golden file says, so that a change of it is
// seen.
func TestSchemasAreKept(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		golden(t, "schema/"+string(kind)+".json", string(Schema(string(kind))))
	}
	if got := Schema("subscription"); got != nil {
		t.Errorf("a schema of what is no kind: %s", got)
	}
}

// What decoding takes, the schema takes; what the schema refuses, decoding
// refuses. Held over every sample, over every sample with one member more, and
// over every sample with one member less, at every place.
func TestSchemaAndDecoderAgree(t *testing.T) {
	t.Parallel()
	schemas := publishedSchemas(t)
	validates := func(tree *identity.Value) bool {
		kind, _ := tree.Get("kind")
		s := schemas[Kind(kind.Text())]
		return s != nil && s.Validate(schemaValue(tree)) == nil
	}
	more, less := 0, 0
	for _, folder := range []string{"good", "warn", "bad", "later"} {
		for _, name := range sampled(t, folder) {
			src, err := os.ReadFile("testdata/" + name)
			if err != nil {
				t.Fatal(err)
			}
			raws, _ := readFile(name, src)
			for _, r := range raws {
				if r.tree.Kind() != identity.Object {
					continue
				}
				_, faults := decodeDocument(name, r)
				accepted := len(faults) == 0
				if fine := validates(r.tree); accepted && !fine {
					t.Errorf("%s: decoding takes what the schema refuses", name)
				}
				if !accepted {
					continue
				}
				for _, m := range mutants(r.tree, "", false) {
					more++
					_, faults := decodeDocument(name, raw{tree: m.tree, places: r.places})
					if len(faults) == 0 || validates(m.tree) {
						t.Errorf("%s: an unknown member at %q: decoder refuses: %v, schema refuses: %v", name, m.at, len(faults) > 0, !validates(m.tree))
					}
				}
				for _, m := range mutants(r.tree, "", true) {
					less++
					_, faults := decodeDocument(name, raw{tree: m.tree, places: r.places})
					if len(faults) == 0 && !validates(m.tree) {
						t.Errorf("%s: without %q: the schema refuses what decoding takes", name, m.at)
					}
				}
			}
		}
	}
	if more < 200 || less < 500 {
		t.Errorf("only %d members added and %d taken away: the samples do not exercise the tables", more, less)
	}
}

type mutant struct {
	at   string
	tree *identity.Value
}

// free are members whose content belongs to the author: what is in them is not
// named by any table.
var free = []string{"request", "compare", "body", "params", "operations", "headers", "header", "json", "verify", "match", "secrets"}

// mutants lists the trees with one unknown member more, or one member less.
func mutants(v *identity.Value, at string, less bool) []mutant {
	var out []mutant
	members := slices.Clone(v.Members())
	if v.Kind() == identity.Object {
		if !less && !slices.Contains(free, lastToken(at)) {
			out = append(out, mutant{at, identity.NewObject(append(members, identity.Member{Name: "unheard_of", Value: identity.NewNull()})...)})
		}
		for i, m := range members {
			below := identity.JoinPointer(at, m.Name)
			if less {
				out = append(out, mutant{below, identity.NewObject(slices.Delete(slices.Clone(members), i, i+1)...)})
			}
			if slices.Contains(free, m.Name) && m.Name != "operations" && m.Name != "header" {
				continue
			}
			for _, inner := range mutants(m.Value, below, less) {
				changed := slices.Clone(members)
				changed[i].Value = inner.tree
				out = append(out, mutant{inner.at, identity.NewObject(changed...)})
			}
		}
	}
	for i, item := range v.Items() {
		for _, inner := range mutants(item, fmt.Sprintf("%s/%d", at, i), less) {
			changed := slices.Clone(v.Items())
			changed[i] = inner.tree
			out = append(out, mutant{inner.at, identity.NewArray(changed...)})
		}
	}
	return out
}

// Every member that decoding knows is described in the schema.
func TestSchemaDescribesEveryMember(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		text := string(Schema(string(kind)))
		walkShapes(shapeOf(kind), func(o *objectShape) {
			for _, m := range o.members {
				if m.doc == "" || !strings.HasSuffix(m.doc, ".") {
					t.Errorf("%s: member %s has no sentence: %q", kind, m.name, m.doc)
				}
				if !strings.Contains(text, fmt.Sprintf("%q: {", m.name)) {
					t.Errorf("%s: member %s is not in the schema", kind, m.name)
				}
			}
		})
	}
}

// walkShapes visits every object of a table.
func walkShapes(s shape, visit func(*objectShape)) {
	switch s := s.(type) {
	case *objectShape:
		visit(s)
		for _, m := range s.members {
			walkShapes(m.shape, visit)
		}
	case listShape:
		walkShapes(s.of, visit)
	case mapShape:
		walkShapes(s.values, visit)
	case documentedShape:
		walkShapes(s.of, visit)
		walkShapes(s.guess(), visit)
	case kindShape:
		for _, choice := range []shape{s.null, s.object, s.array, s.text, s.boolean, s.other} {
			walkShapes(choice, visit)
		}
	}
}
