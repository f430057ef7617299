package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/api"
)

func versionTag(v int64) string { return `"` + strconv.FormatInt(v, 10) + `"` }

// schemas hold answers against the document.
type schemas struct {
	mu       sync.Mutex
	paths    map[string]map[string]any
	compiler *jsonschema.Compiler
}

// documentSchemas reads the document. Its objects are closed here, so that an
// answer with a member that is not described fails.
func documentSchemas(t testing.TB) *schemas {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(api.OpenAPI("test")))
	if err != nil {
		t.Fatal(err)
	}
	top := doc.(map[string]any)
	for _, schema := range top["components"].(map[string]any)["schemas"].(map[string]any) {
		schema.(map[string]any)["additionalProperties"] = false
	}
	s := &schemas{paths: map[string]map[string]any{}, compiler: jsonschema.NewCompiler()}
	for path, item := range top["paths"].(map[string]any) {
		s.paths[path] = item.(map[string]any)
	}
	s.compiler.DefaultDraft(jsonschema.Draft2020)
	if err := s.compiler.AddResource("openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	return s
}

// pathOf finds the described path of a call.
func (s *schemas) pathOf(called string) string {
	if _, ok := s.paths[called]; ok {
		return called
	}
	have := strings.Split(called, "/")
	for path := range s.paths {
		if fits(strings.Split(path, "/"), have) {
			return path
		}
	}
	return ""
}

func fits(want, have []string) bool {
	if len(want) != len(have) {
		return false
	}
	for i := range want {
		if named := strings.HasPrefix(want[i], "{"); named && have[i] == "" || !named && want[i] != have[i] {
			return false
		}
	}
	return true
}

// check holds one answer against the document: its status, media type and body.
func (s *schemas) check(t testing.TB, r *http.Request, answer *said) {
	t.Helper()
	path := s.pathOf(r.URL.Path)
	if answer.status >= http.StatusBadRequest {
		codesSeen.Store(onefold.Code(answer.text("code")), true)
	}
	op, _ := s.paths[path][strings.ToLower(r.Method)].(map[string]any)
	if path == "" || op == nil {
		if answer.status != http.StatusNotFound && answer.status != http.StatusMethodNotAllowed {
			t.Errorf("%s %s is not described and answers %d", r.Method, r.URL.Path, answer.status)
		}
		return
	}
	media := answer.header.Get("Content-Type")
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	at := "openapi.json#/paths/" + escape.Replace(path) + "/" + strings.ToLower(r.Method) + "/responses/" +
		strconv.Itoa(answer.status) + "/content/" + escape.Replace(media) + "/schema"
	s.mu.Lock()
	defer s.mu.Unlock()
	schema, err := s.compiler.Compile(strings.ReplaceAll(strings.ReplaceAll(at, "{", "%7B"), "}", "%7D"))
	if err != nil {
		t.Errorf("%s %s answers %d %s, which is not described: %v", r.Method, path, answer.status, media, err)
		return
	}
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(answer.raw))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(body); err != nil {
		t.Errorf("%s %s answers %d otherwise than described: %v\n%s", r.Method, path, answer.status, err, answer.raw)
	}
	if code := answer.text("code"); code != "" && answer.status >= http.StatusBadRequest {
		described, _ := op["responses"].(map[string]any)[strconv.Itoa(answer.status)].(map[string]any)
		if words, _ := described["description"].(string); !slices.Contains(strings.FieldsFunc(words, func(r rune) bool { return r == ' ' || r == ',' || r == ':' }), code) {
			t.Errorf("%s %s answers %s, which is not among its codes: %s", r.Method, path, code, words)
		}
	}
}

func readDocument(t *testing.T) map[string]any {
	t.Helper()
	raw, err := os.ReadFile("../docs/reference/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(raw, api.OpenAPI("0")) {
		t.Fatal("docs/reference/openapi.json is out of date: run make generate, and say in CHANGELOG who will notice")
	}
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// Section 4's routes, with the roles that it gives them, written a second time.
var routesOfSection4 = map[string]string{
	"POST /v1/operations":                          "submit",
	"POST /v1/operations:batch":                    "submit",
	"GET /v1/changes":                              "read operate",
	"GET /v1/operations":                           "submit read operate",
	"GET /v1/operations/{id}":                      "submit read operate",
	"GET /v1/operations/{id}/timeline":             "submit read operate",
	"GET /v1/operations/{id}/attempts":             "submit read operate",
	"GET /v1/operations/{id}/evidence":             "submit read operate",
	"GET /v1/operations/{id}/request":              "read",
	"GET /v1/operations/{id}/explain":              "submit read operate",
	"POST /v1/operations/{id}/cancel":              "submit operate",
	"POST /v1/operations/{id}/retry":               "operate",
	"POST /v1/operations/{id}/resolve":             "operate",
	"POST /v1/operations/{id}/release":             "operate",
	"POST /v1/operations/{id}/assign":              "operate",
	"POST /v1/operations/{id}/evidence":            "operate evidence",
	"GET /v1/reviews":                              "read operate",
	"GET /v1/capabilities":                         "submit read operate admin",
	"GET /v1/targets":                              "submit read operate admin",
	"GET /v1/connections":                          "submit read operate admin",
	"GET /v1/connections/{name}":                   "submit read operate admin",
	"POST /v1/connections/{name}/pause":            "operate admin",
	"POST /v1/connections/{name}/resume":           "operate admin",
	"POST /v1/connections:pause":                   "operate admin",
	"POST /v1/connections:resume":                  "operate admin",
	"GET /v1/agreements/{capability}/{connection}": "submit read operate admin",
	"GET /v1/stats":                                "read operate admin",
	"GET /v1/tokens":                               "admin",
	"POST /v1/documents":                           "admin",
	"GET /livez":                                   "",
	"GET /readyz":                                  "",
	"GET /openapi.json":                            "",
	"GET /problems":                                "",
	"GET /problems/{code}":                         "",
}

// Proves: I5
func TestTheDocumentIsSectionFour(t *testing.T) {
	t.Parallel()
	doc := readDocument(t)
	found := map[string]string{}
	for path, item := range doc["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			var roles []string
			list, _ := op.(map[string]any)["x-roles"].([]any)
			for _, role := range list {
				roles = append(roles, role.(string))
			}
			found[strings.ToUpper(method)+" "+path] = strings.Join(roles, " ")
		}
	}
	for route, roles := range routesOfSection4 {
		if got, ok := found[route]; !ok || got != roles {
			t.Errorf("%s is for %q, section 4 says %q", route, got, roles)
		}
		delete(found, route)
	}
	for route := range found {
		t.Errorf("%s is served and not in section 4's list", route)
	}
	if doc["openapi"] != "3.1.0" {
		t.Error("not an OpenAPI 3.1 document")
	}
}

func TestTheOperationHasTheMembersOfSectionFour(t *testing.T) {
	t.Parallel()
	want := strings.Fields(`id workspace capability contract_version connection idempotency_key submitted_by revision fingerprint
		identity reference state new_key_safe doubt next attempts maybe_applied barred contradicted holds result rejection reviews
		business_identities amends amended_by duplicate_of payload metadata created_at updated_at settled_at key_expires_at version`)
	schema := readDocument(t)["components"].(map[string]any)["schemas"].(map[string]any)["Operation"].(map[string]any)
	var got, required []string
	for name := range schema["properties"].(map[string]any) {
		got = append(got, name)
	}
	for _, name := range schema["required"].([]any) {
		required = append(required, name.(string))
	}
	slices.Sort(want)
	slices.Sort(got)
	slices.Sort(required)
	if !slices.Equal(want, got) || !slices.Equal(want, required) {
		t.Errorf("members %v\nrequired %v\nsection 4 %v", got, required, want)
	}
}

func TestTheServerAnswersWithItsDocument(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	answer := h.call("GET", "/openapi.json", "", nil).wants(t, http.StatusOK, "")
	if !bytes.Equal(answer.raw, api.OpenAPI("test")) {
		t.Error("the served document is not the generated one")
	}
}

// Codes that no call can be answered with in this release, and why.
var codesOfNoCall = map[onefold.Code]string{
	onefold.CodeKeyTimeRequired:      "key times come with finite tombstones",
	onefold.CodeKeyTooOld:            "key times come with finite tombstones",
	onefold.CodeKeyInOpenTransaction: "the caller's own transaction",
	onefold.CodeAmendsUnknown:        "amendments",
	onefold.CodeBusinessDuplicate:    "business identities",
	onefold.CodeOriginalUnsettled:    "business identities",
	onefold.CodeWorkspaceExists:      "workspaces are created on the database",
	onefold.CodeTokenUnknown:         "tokens are revoked on the database",
	onefold.CodeLeaseLost:            "a worker's refusal",
	onefold.CodeNotDue:               "a worker's refusal",
	onefold.CodeLeased:               "a worker's refusal",
	onefold.CodeReplay:               "a worker's refusal",
	onefold.CodeNotAllowed:           "no action of the interface is outside the table",
}

// Described, and not to be had here: another kind of payload, or a publisher's.
var codesNotSeen = []onefold.Code{onefold.CodePayloadNotRetained, onefold.CodeWorkspaceUnknown}

// codesSeen are the codes with which the tests of this package were answered.
var codesSeen sync.Map

// unseenCodes lists what the document promises and no test has met.
func unseenCodes() []string {
	var out []string
	for _, p := range onefold.Problems() {
		_, seen := codesSeen.Load(p.Code)
		_, none := codesOfNoCall[p.Code]
		if seen == (none || slices.Contains(codesNotSeen, p.Code)) {
			out = append(out, string(p.Code))
		}
	}
	return out
}

func TestTheDocumentNamesEveryCodeThatACallCanMeet(t *testing.T) {
	t.Parallel()
	text := string(api.OpenAPI("0"))
	for _, p := range onefold.Problems() {
		if p.Code == onefold.CodeMethodNotAllowed {
			continue // it belongs to an address, not to one of its methods
		}
		named := strings.Contains(text, ": "+string(p.Code)+"\"") || strings.Contains(text, ": "+string(p.Code)+",") ||
			strings.Contains(text, " "+string(p.Code)+"\"") || strings.Contains(text, ", "+string(p.Code)+",")
		if _, none := codesOfNoCall[p.Code]; named == none {
			t.Errorf("%s: named in the document: %v; reason why no call meets it: %q", p.Code, named, codesOfNoCall[p.Code])
		}
	}
}
