package api_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/api"
)

// Every code has a page, for people and for programs.
func TestEveryProblemHasItsPage(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	index := h.call("GET", "/problems", "", nil, header{"Accept", "text/html"}).wants(t, 200, "")
	data := h.call("GET", "/problems", "", nil, header{"Accept", "application/json"}).wants(t, 200, "")
	if len(data.items()) != len(onefold.Problems()) {
		t.Errorf("%d problems are listed", len(data.items()))
	}
	for _, p := range onefold.Problems() {
		path := "/problems/" + string(p.Code)
		if !strings.Contains(string(index.raw), `href="`+path+`"`) {
			t.Errorf("%s is not on the list of problems", p.Code)
		}
		page := h.call("GET", path, "", nil, header{"Accept", "text/html,application/xhtml+xml,*/*;q=0.8"}).wants(t, 200, "")
		if text := string(page.raw); !strings.Contains(text, "<h1>") || !strings.Contains(text, "May the request be sent again?") || page.header.Get("Content-Security-Policy") == "" {
			t.Errorf("the page of %s: %s", p.Code, text)
		}
		for _, accept := range []string{"application/json", "application/problem+json", "application/json, text/html"} {
			entry := h.call("GET", path, "", nil, header{"Accept", accept})
			if entry.status != 200 || entry.text("code") != string(p.Code) || entry.json["status"] != float64(p.Status) || entry.text("retry") != string(p.Retry) {
				t.Errorf("%s as data: %s", p.Code, entry.raw)
			}
		}
	}
}

// Each page says, to people and to programs, what happened, whether the same
// request may be sent again and whether that helps, and what to do; and each of
// the three answers about a repetition is a sentence of its own.
// Proves: M25
func TestEveryPageSaysWhetherToRetryAndWhatToDo(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	begins := map[onefold.RetryAdvice]string{
		onefold.RetrySame: "Yes: the very same request", onefold.RetryChanged: "It is safe, but it fails again", onefold.RetryNever: "It is safe, and it never helps",
	}
	said := map[string]onefold.RetryAdvice{}
	for _, p := range onefold.Problems() {
		page := h.call("GET", "/problems/"+string(p.Code), "", nil, header{"Accept", "text/html"}).wants(t, 200, "")
		text := html.UnescapeString(string(page.raw))
		answers := regexp.MustCompile(`<dt>([^<]*)</dt><dd>(.*)</dd>`).FindAllStringSubmatch(text, -1)
		if len(answers) != 3 || answers[0][2] != p.Meaning || answers[2][1] != "What to do" || answers[2][2] != p.Advice {
			t.Fatalf("the page of %s: %s", p.Code, text)
		}
		if answers[1][1] != "May the request be sent again?" || !strings.HasPrefix(answers[1][2], begins[p.Retry]) {
			t.Errorf("%s: whether to send again: %q", p.Code, answers[1][2])
		}
		said[answers[1][2]] = p.Retry
		if !strings.HasSuffix(p.Advice, ".") && !strings.HasSuffix(p.Advice, "`") || len(p.Advice) < 20 {
			t.Errorf("%s: what to do: %q", p.Code, p.Advice)
		}
		data := h.call("GET", "/problems/"+string(p.Code), "", nil, header{"Accept", "application/json"})
		if data.status != 200 || data.text("retry") != string(p.Retry) || data.text("meaning") != p.Meaning || data.text("advice") != p.Advice {
			t.Errorf("%s as data: %s", p.Code, data.raw)
		}
	}
	if len(said) != len(begins) {
		t.Errorf("%d sentences about sending again: %v", len(said), said)
	}
}

// brokenCatalog panics, as a fault of ours might.
type brokenCatalog struct{ api.Catalog }

func (brokenCatalog) Targets() []onefold.TargetInfo { panic("a secret in a panic") }

// A panic is a 500 that tells nothing, and a line in the log that tells all.
func TestAPanicIsInternal(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(c *api.Config) { c.Catalog = brokenCatalog{c.Catalog} })
	answer := h.call("GET", "/v1/targets", h.token("acme", onefold.RoleRead), nil).wants(t, 500, onefold.CodeInternal)
	if strings.Contains(string(answer.raw), "secret") || strings.Contains(string(answer.raw), ".go") || answer.text("detail") != "internal error" {
		t.Errorf("a panic shows: %s", answer.raw)
	}
	if log := h.log.String(); !strings.Contains(log, "a secret in a panic") || !strings.Contains(log, answer.header.Get("Request-Id")) || !strings.Contains(log, "problem_test.go") {
		t.Errorf("the log of a panic: %s", log)
	}
	h.call("GET", "/v1/capabilities", h.token("acme", onefold.RoleRead), nil).wants(t, 200, "")
}

// A store that is gone is said to be gone: nothing of its own words gets out, and
// the probe that must not ask it stays well.
// Proves: I3a
func TestAStoreThatIsGone(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit)
	h.call("GET", "/readyz", "", nil).wants(t, 200, "")
	h.must(h.store.Close())
	answer := h.call("POST", "/v1/operations", token, bill("acme", "1.00"), key("k")).wants(t, 503, onefold.CodeStoreUnavailable)
	if answer.text("claim") != "unchecked" || answer.header.Get("Retry-After") == "" || answer.text("retry") != "same_request" {
		t.Errorf("without a store: %s", answer.raw)
	}
	for _, word := range []string{"sql", "SELECT", "database"} {
		if strings.Contains(string(answer.raw), word) {
			t.Errorf("the answer says %q: %s", word, answer.raw)
		}
	}
	h.call("GET", "/readyz", "", nil).wants(t, 503, onefold.CodeStoreUnavailable)
	h.call("GET", "/livez", "", nil).wants(t, 200, "")
}

func TestReadinessAsksWhatElseIsNeeded(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(c *api.Config) {
		c.Ready = func(context.Context) error { return errors.New("secret env:NAME is missing") }
	})
	answer := h.call("GET", "/readyz?probe=1", "", nil).wants(t, 503, onefold.CodeNotReady)
	if strings.Contains(string(answer.raw), "env:NAME") || !strings.Contains(h.log.String(), "env:NAME") {
		t.Errorf("readiness: %s", answer.raw)
	}
}

// The log has one line for each call, with ids and without anything that a caller
// wrote.
func TestTheLog(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead)
	trace := "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	answer := h.call("POST", "/v1/operations", token, bill("acme", "47110815.33"), key("key-of-the-caller"), header{"Traceparent", trace})
	h.call("GET", "/v1/operations?key=key-of-the-caller", token, nil, header{"Traceparent", "00-bad\n-01"[:6]})
	log := h.log.String()
	for _, want := range []string{answer.text("id"), answer.header.Get("Request-Id"), "4bf92f3577b34da6a3ce929d0e0e4736", `"route":"/v1/operations"`, `"status":201`, `"workspace":"acme"`, `"principal":"submit-read-service"`, "duration_ms"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %s:\n%s", want, log)
		}
	}
	for _, never := range []string{"key-of-the-caller", "47110815", token, "S-81"} {
		if strings.Contains(log, never) {
			t.Errorf("the log says %q", never)
		}
	}
	if lines := strings.Count(log, "\n"); lines != 2 {
		t.Errorf("%d lines for 2 calls", lines)
	}
}

// shelf is a publisher that answers as it is told.
type shelf struct {
	err  error
	seen []api.SourceFile
	by   string
}

func (s *shelf) Publish(_ context.Context, workspace, by string, files []api.SourceFile, dryRun bool) (api.Publication, error) {
	s.seen, s.by = files, workspace+"/"+by
	return api.Publication{DryRun: dryRun, Stored: []api.DocumentName{{Kind: "connection", Workspace: workspace, Name: "x", Version: 1}}}, s.err
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	publisher := &shelf{}
	h := newHouse(t, func(c *api.Config) { c.Publisher = publisher })
	admin := h.token("acme", onefold.RoleAdmin)
	body := map[string]any{"files": []any{map[string]any{"name": "a.yaml", "text": "kind: connection\n"}}}
	done := h.call("POST", "/v1/documents?dry_run=true", admin, body).wants(t, 200, "")
	if done.json["dry_run"] != true || publisher.by != "acme/admin-service" || string(publisher.seen[0].Text) != "kind: connection\n" {
		t.Errorf("published: %s %v", done.raw, publisher)
	}
	publisher.err = &onefold.Error{Code: onefold.CodeDocumentInvalid, Faults: []onefold.Fault{{Pointer: "a.yaml:3:1", Rule: "unknown_member", Detail: "x"}}}
	h.call("POST", "/v1/documents", admin, body).wants(t, 422, onefold.CodeDocumentInvalid)
	publisher.err = &onefold.Error{Code: onefold.CodeVersionImmutable, Message: "x"}
	h.call("POST", "/v1/documents", admin, body).wants(t, 409, onefold.CodeVersionImmutable)
	for body, pointer := range map[string]string{
		`{"files":[]}`: "/files", `{"files":[{"name":"x"}]}`: "/files/0/text", `{"files":[{"name":"x","text":"y"},3]}`: "/files/1",
	} {
		if answer := h.call("POST", "/v1/documents", admin, body).wants(t, 400, onefold.CodeMemberInvalid); answer.text("pointer") != pointer {
			t.Errorf("%s: %s", body, answer.raw)
		}
	}
	without := newHouse(t)
	without.call("POST", "/v1/documents", without.token("acme", onefold.RoleAdmin), `{"files":[{"name":"x","text":"y"}]}`).wants(t, 404, onefold.CodeNotFound)
}

func TestTokenForm(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for i := range 200 {
		token, err := api.NewToken(&digestReader{seed: fmt.Sprint(i)})
		if err != nil || !api.WellFormedToken(token) || len(token) != 43 || seen[token] {
			t.Fatalf("token %q: %v", token, err)
		}
		seen[token] = true
		for at := range token {
			other := byte('0')
			if token[at] == other {
				other = '1'
			}
			if api.WellFormedToken(token[:at] + string(other) + token[at+1:]) {
				t.Errorf("%q with its character %d changed passes", token, at)
			}
		}
		if len(api.HashToken(token)) != 64 || api.HashToken(token) == api.HashToken(token+"x") {
			t.Error("the digest of a token")
		}
	}
	if _, err := api.NewToken(strings.NewReader("too little")); err == nil {
		t.Error("a token was made of too little chance")
	}
}

func TestAServerNeedsItsParts(t *testing.T) {
	t.Parallel()
	if _, err := api.New(api.Config{}); err == nil {
		t.Error("a server was made of nothing")
	}
	h := newHouse(t)
	server := h.server.HTTPServer()
	if server.Handler != http.Handler(h.server) || server.ReadHeaderTimeout == 0 || server.ReadTimeout.Seconds() <= 60 || server.WriteTimeout.Seconds() <= 60 || server.IdleTimeout == 0 {
		t.Errorf("time-outs: %+v", server)
	}
}
