package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold/api"
	"github.com/onefold-dev/onefold/internal/page"
)

// base is a small interface; samples change one thing in it.
const base = `{
  "openapi": "3.1.0",
  "paths": {
    "/things": {
      "post": {
        "operationId": "make", "x-roles": ["submit", "read"], "security": [{"token": []}],
        "parameters": [
          {"in": "query", "name": "dry", "required": false, "schema": {"type": "boolean"}},
          {"in": "query", "name": "kind", "required": false, "schema": {"type": "string", "enum": ["a", "b"], "maxLength": 9}}
        ],
        "requestBody": {"required": false, "content": {"application/json": {"schema": {
          "type": "object", "additionalProperties": false, "required": ["name"], "properties": {
            "name": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Its name."},
            "size": {"type": ["integer", "string"], "minimum": 1},
            "at": {"type": "string", "format": "date-time"},
            "list": {"type": "array", "maxItems": 10, "items": {"type": "object", "properties": {"x": {"type": "string"}}}},
            "free": {}
          }}}}},
        "responses": {
          "200": {"description": "x", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}, "text/html": {"schema": {"type": "string"}}}},
          "202": {"description": "x", "content": {"application/json": {"schema": {"anyOf": [{"$ref": "#/components/schemas/Thing"}, {"$ref": "#/components/schemas/Brief"}]}}}}
        }
      },
      "get": {"operationId": "list", "security": [], "responses": {"200": {"content": {"application/json": {"schema": {"type": "array", "items": {"$ref": "#/components/schemas/Thing"}}}}}}}
    }
  },
  "components": {"schemas": {
    "Thing": {"type": "object", "required": ["id", "state", "part", "tags"], "properties": {
      "id": {"type": "string"}, "state": {"type": "string", "enum": ["new", "old"]}, "note": {"type": "string"},
      "part": {"oneOf": [{"$ref": "#/components/schemas/Thing"}, {"type": "null"}]},
      "tags": {"type": "object", "additionalProperties": {"type": "integer"}}, "any": {}
    }},
    "Brief": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}
  }}
}`

// changed is base with one text replaced by another.
func changed(t *testing.T, from, to string) []byte {
	t.Helper()
	if strings.Count(base, from) != 1 {
		t.Fatalf("%q stands %d times in the base", from, strings.Count(base, from))
	}
	out := strings.Replace(base, from, to, 1)
	if !json.Valid([]byte(out)) {
		t.Fatalf("%q in place of %q makes no JSON", to, from)
	}
	return []byte(out)
}

// One sample of each kind of difference: where it is, and whether it breaks.
func TestEachKindOfDifference(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, from, to string
		place          string // "" for no difference
		breaks         bool
	}{
		{"wording", `"Its name."`, `"The name."`, "", false},
		{"a route is gone", `"get": {`, `"x-get": {`, "GET /things", true},
		{"an operation has another id", `"operationId": "make"`, `"operationId": "create"`, "POST /things", true},
		{"a role is gone", `["submit", "read"]`, `["submit"]`, "POST /things", true},
		{"a role is new", `["submit", "read"]`, `["submit", "read", "admin"]`, "POST /things", false},
		{"it needs a token now", `"security": []`, `"security": [{"token": []}]`, "GET /things", true},
		{"a parameter is gone", `"name": "dry"`, `"name": "dry2"`, "POST /things query dry", true},
		{"a parameter must be there", `"name": "dry", "required": false`, `"name": "dry", "required": true`, "POST /things query dry", true},
		{"a parameter's word is gone", `["a", "b"]`, `["a"]`, "POST /things query kind", true},
		{"a parameter's word is new", `["a", "b"]`, `["a", "b", "c"]`, "POST /things query kind", false},
		{"a parameter may be shorter only", `"maxLength": 9`, `"maxLength": 8`, "POST /things query kind", true},
		{"a parameter may be longer", `"maxLength": 9`, `"maxLength": 10`, "POST /things query kind", false},
		{"the body must be there", `"requestBody": {"required": false`, `"requestBody": {"required": true`, "POST /things body", true},
		{"a member of a body is gone", `"free": {}`, `"free2": {}`, "POST /things body.free", true},
		{"a member of a body is new", `"free": {}`, `"free": {}, "more": {}`, "POST /things body.more", false},
		{"a new member must be there", `"required": ["name"], "properties": {`, `"required": ["name", "new"], "properties": {"new": {},`, "POST /things body.new", true},
		{"an old member must be there", `"required": ["name"]`, `"required": ["name", "size"]`, "POST /things body.size", true},
		{"a member need not be there", `"required": ["name"]`, `"required": []`, "POST /things body.name", false},
		{"a member takes fewer types", `["integer", "string"]`, `"integer"`, "POST /things body.size", true},
		{"a member takes more types", `["integer", "string"]`, `["integer", "string", "null"]`, "POST /things body.size", false},
		{"a member that took anything", `"free": {}`, `"free": {"type": "object"}`, "POST /things body.free", true},
		{"a member that takes anything", `"size": {"type": ["integer", "string"], "minimum": 1}`, `"size": {"minimum": 1}`, "POST /things body.size", false},
		{"a higher least", `"minimum": 1`, `"minimum": 2`, "POST /things body.size", true},
		{"a bound is new", `"minimum": 1`, `"minimum": 1, "maximum": 5`, "POST /things body.size", true},
		{"a bound is gone", `, "minimum": 1`, ``, "POST /things body.size", false},
		{"a shorter list", `"maxItems": 10`, `"maxItems": 9`, "POST /things body.list", true},
		{"a member in a list", `"x": {"type": "string"}`, `"x": {"type": "integer"}`, "POST /things body.list[].x", true},
		{"another way to write it", `"format": "date-time"`, `"format": "date"`, "POST /things body.at", true},
		{"no way to write it", `, "format": "date-time"`, ``, "POST /things body.at", false},
		{"members that are not named", `"additionalProperties": false, `, ``, "POST /things body", false},
		{"a keyword that nobody knows", `"at": {"type": "string"`, `"at": {"type": "string", "pattern": "^2"`, "POST /things body.at", true},
		{"a status is gone", `"202": {`, `"203": {`, "POST /things 202", true},
		{"a media type is gone", `"text/html"`, `"text/plain"`, "POST /things 200", true},
		{"a member of an answer is gone", `"note": {"type": "string"},`, ``, "Thing.note", true},
		{"a member of an answer is new", `"any": {}`, `"any": {}, "more": {"type": "string"}`, "Thing.more", false},
		{"a member of an answer may be missing", `["id", "state", "part", "tags"]`, `["id", "part", "tags"]`, "Thing.state", true},
		{"a member of an answer is always there", `["id", "state", "part", "tags"]`, `["id", "state", "part", "tags", "note"]`, "Thing.note", false},
		{"a word of an answer is gone", `["new", "old"]`, `["new"]`, "Thing.state", true},
		{"a word of an answer is new", `["new", "old"]`, `["new", "old", "lost"]`, "Thing.state", false},
		{"an answer's words are any text", `"string", "enum": ["new", "old"]`, `"string"`, "Thing.state", true},
		{"an answer may be null", `"note": {"type": "string"}`, `"note": {"type": ["string", "null"]}`, "Thing.note", true},
		{"an answer may be anything", `"note": {"type": "string"}`, `"note": {}`, "Thing.note", true},
		{"an answer is of one type", `"any": {}`, `"any": {"type": "string"}`, "Thing.any", false},
		{"an answer is never null", `{"oneOf": [{"$ref": "#/components/schemas/Thing"}, {"type": "null"}]}`, `{"$ref": "#/components/schemas/Thing"}`, "Thing.part", false},
		{"an answer is something more", `{"$ref": "#/components/schemas/Brief"}]`, `{"$ref": "#/components/schemas/Brief"}, {"type": "string"}]`, "POST /things 202", true},
		{"an answer is something less", `, {"$ref": "#/components/schemas/Brief"}]`, `]`, "POST /things 202", false},
		{"an answer's other members", `"additionalProperties": {"type": "integer"}`, `"additionalProperties": {"type": "string"}`, "Thing.tags.*", true},
		{"the word for alternatives", `"anyOf"`, `"oneOf"`, "", false},
	} {
		found, err := compare([]byte(base), changed(t, c.from, c.to))
		if err != nil {
			t.Fatal(err)
		}
		if c.place == "" {
			if len(found) > 0 {
				t.Errorf("%s: %v", c.name, found)
			}
			continue
		}
		at := slices.IndexFunc(found, func(d difference) bool { return d.Place == c.place })
		breaks := slices.ContainsFunc(found, func(d difference) bool { return d.Breaking })
		if at < 0 || breaks != c.breaks {
			t.Errorf("%s: wanted one at %q that breaks: %v; found %+v", c.name, c.place, c.breaks, found)
		}
	}
}

// Turned round, what was taken away is new: everything that is gone one way round
// is an addition the other way, or breaks as well.
func TestDifferencesAreFoundBothWays(t *testing.T) {
	t.Parallel()
	now := changed(t, `"note": {"type": "string"},`, ``)
	found, err := compare(now, []byte(base))
	if err != nil || len(found) != 1 || found[0].Breaking || found[0].Place != "Thing.note" {
		t.Errorf("found %+v, error %v", found, err)
	}
	if _, err := compare([]byte("{"), []byte(base)); err == nil {
		t.Error("a document that is none was compared")
	}
}

// Whatever is taken out of the document that is served is noticed: each route,
// answer, parameter, member and role, and of words the first and the last, one by
// one.
func TestNothingCanBeTakenOutUnnoticed(t *testing.T) {
	t.Parallel()
	document := api.OpenAPI("0")
	if same, err := compare(document, document); err != nil || len(same) != 0 {
		t.Fatalf("a document differs from itself: %v %v", same, err)
	}
	var before, whole object
	for _, read := range []*object{&before, &whole} {
		if err := json.Unmarshal(document, read); err != nil {
			t.Fatal(err)
		}
	}
	tried := 0
	without := func(what string) {
		t.Helper()
		tried++
		if found := differences(before, whole); !slices.ContainsFunc(found, func(d difference) bool { return d.Breaking }) {
			t.Errorf("%s was taken out, and nothing breaks: %v", what, found)
		}
	}
	takeOut(whole, "", without)
	t.Logf("%d things were taken out", tried)
	if tried < 300 {
		t.Errorf("only %d things were taken out", tried)
	}
}

// takeOut takes one thing after another out of a document, and puts it back.
func takeOut(node any, at string, without func(what string)) {
	switch v := node.(type) {
	case object:
		for name, child := range v {
			if len(name) == 3 && (name > "400" && name < "600") {
				continue // the refusals of a route are all described alike: 400 stands for them
			}
			path := at + "/" + name
			parent := at[strings.LastIndexByte(at, '/')+1:]
			if _, named := child.(object); named && slices.Contains([]string{"paths", "responses", "properties", "content"}, parent) {
				delete(v, name)
				without(path)
				v[name] = child
			}
			if items, ok := child.([]any); ok && slices.Contains([]string{"enum", "x-roles", "parameters"}, name) {
				for i, item := range items {
					if item == nil || name == "enum" && i > 0 && i < len(items)-1 {
						continue // the first and the last stand for all
					}
					v[name] = slices.Delete(slices.Clone(items), i, i+1)
					without(fmt.Sprint(path, "/", item))
				}
				v[name] = items
			}
			takeOut(child, path, without)
		}
	case []any:
		for i, child := range v {
			takeOut(child, fmt.Sprint(at, "/", i), without)
		}
	}
}

// The document that is checked in is the one that is generated; where it is not,
// this says what differs and whether the changelog has to tell it.
func TestTheCheckedInDocumentKeepsItsPromises(t *testing.T) {
	t.Parallel()
	root, err := page.Root()
	if err != nil {
		t.Fatal(err)
	}
	var told strings.Builder
	now := api.OpenAPI("0")
	if err := run(root, filepath.Join(root, filepath.FromSlash(document)), now, &told); err != nil {
		t.Error(err)
	}
	was, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(document)))
	if err != nil {
		t.Fatal(err)
	}
	if string(was) != string(now) {
		t.Errorf("%s is out of date: run make generate, and say in %s who will notice\n%s", document, changelog, told.String())
	}
}
