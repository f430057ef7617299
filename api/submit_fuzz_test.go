package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/api"
)

// fuzzed is one call that a fuzzer made up.
type fuzzed struct {
	path, query, contentType, key, key2, prefer string
	body                                        []byte
}

// ledgerBook counts what a store holds by following its changes: however many
// operations there are, counting reads what is new alone.
type ledgerBook struct {
	h    *house
	last int64
}

// news counts the entries since the last time: admissions, and refusals that were
// noted. Anything else must not be there.
func (b *ledgerBook) news(t *testing.T) (admitted, noted int) {
	t.Helper()
	for {
		entries, err := b.h.store.Changes(context.Background(), "", b.last, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			b.last = e.Seq
			switch e.Event {
			case onefold.EventAdmitted:
				admitted++
			case onefold.EventNoted:
				noted++
			default:
				t.Errorf("a submission left %s", e.Event)
			}
		}
		if len(entries) < 1000 {
			return admitted, noted
		}
	}
}

// fuzzHouse is a house of which nobody waits for anything, with a key that is
// known.
func fuzzHouse(f *testing.F) (*house, *ledgerBook, string) {
	f.Helper()
	h := newHouse(f)
	h.server.FillWaitingRoom()
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead)
	h.submitted("acme", token, "known")
	entries, err := h.store.Changes(f.Context(), "", 0, 1000)
	h.must(err)
	return h, &ledgerBook{h: h, last: entries[len(entries)-1].Seq}, token
}

// serve gives a call to the real handler, past the checks of an HTTP client: what
// net/http would not let through is still answered.
func (h *house) serve(t *testing.T, token string, c *fuzzed) (said, *http.Request) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(string(c.body)))
	r.URL = &url.URL{Path: c.path, RawQuery: c.query}
	r.Header = http.Header{"Authorization": {"Bearer " + token}}
	for name, value := range map[string]string{"Content-Type": c.contentType, "Idempotency-Key": c.key, "Prefer": c.prefer} {
		if value != "" {
			r.Header[name] = []string{value}
		}
	}
	if c.key2 != "" {
		r.Header["Idempotency-Key"] = append(r.Header["Idempotency-Key"], c.key2)
	}
	w := httptest.NewRecorder()
	h.server.ServeHTTP(w, r)
	out := said{status: w.Code, header: w.Header(), raw: w.Body.Bytes()}
	if err := json.Unmarshal(out.raw, &out.json); err != nil {
		t.Fatalf("answers what is no JSON object: %v\n%s", err, out.raw)
	}
	return out, r
}

// FuzzSubmit gives whatever comes to the real handler over the real store: never a
// fault of ours, never a panic, and nothing is stored but by a 201 — apart from
// the note of a conflict, of which a few are kept (M22).
// Proves: I1, I3a, I10, M25
func FuzzSubmit(f *testing.F) {
	h, book, token := fuzzHouse(f)
	good := `{"capability":"bills.create","connection":"acme-erp","request":{"supplier_id":"S","total":"1.00"}}`
	for _, seed := range []fuzzed{
		{body: []byte(good), key: "k"},
		{body: []byte(good), key: `"k-1"`, query: "dry_run=true"},
		{body: []byte(good), key: "known", prefer: "wait=60"},
		{body: []byte(good), key: "a b", prefer: "respond-async, wait=1; x=y"},
		{body: []byte(good), key: "k", key2: "k"},
		{body: []byte(good), key: "k", query: "dry_run=false&dry_run=true"},
		{body: []byte(good), key: "k", query: "a;b%zz"},
		{body: []byte(good), key: "k", contentType: `application/json; charset="utf-8"`},
		{body: []byte(good), key: "k", contentType: "text/plain"},
		{body: []byte(`{"capability":"payments.send","request":[1e400,-0,{"a":null}],"metadata":{"x":1},"revision":"r"}`), key: "k"},
		{body: []byte(`{"capability":"bills.create","request":{},"not_before":"2030-01-01T00:00:00Z","start_deadline":"2029-01-01T00:00:00+14:00","contract_version":1}`), key: "k"},
		{body: []byte(`{"capability":"bills.create","connection":"acme-erp","request":{"supplier_id":"S","total":"1e9","memo":" \u0000\ud83d\ude00"},"amends":"op_x"}`), key: "k"},
		{body: []byte("{\"capability\":\"\xff\"}"), key: "\xff\n"},
		{body: []byte(`{"capability":"payments.send","request":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`), key: "deep"},
		{body: nil, key: "k"},
	} {
		f.Add(seed.body, seed.key, seed.key2, seed.contentType, seed.query, seed.prefer)
	}
	f.Fuzz(func(t *testing.T, body []byte, key, key2, contentType, query, prefer string) {
		if contentType == "" {
			contentType = "application/json"
		}
		c := &fuzzed{path: "/v1/operations", body: body, key: key, key2: key2, contentType: contentType, query: query, prefer: prefer}
		answer, r := h.serve(t, token, c)
		h.schemas.check(t, r, &answer)
		admitted, noted := book.news(t)
		wantAdmitted := 0
		if answer.status == http.StatusCreated {
			wantAdmitted = 1
		}
		if admitted != wantAdmitted || noted > 0 && onefold.Code(answer.text("code")) != onefold.CodeKeyConflict {
			t.Errorf("answered %d %s, and %d operations and %d notes were stored", answer.status, answer.text("code"), admitted, noted)
		}
		if answer.status >= http.StatusInternalServerError {
			t.Errorf("a fault of ours: %s\n%s", answer.raw, h.log)
		}
		if admitted == 1 {
			h.repeats(t, token, c, answer)
		}
	})
}

// repeats makes a call again: it must find the operation that it made.
func (h *house) repeats(t *testing.T, token string, c *fuzzed, first said) {
	t.Helper()
	again, _ := h.serve(t, token, c)
	if again.status != http.StatusOK || again.text("id") != first.text("id") || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the same call again: %d %s, at first %s", again.status, again.raw, first.raw)
	}
}

// FuzzBatch is FuzzSubmit for batches: as many operations are stored as results
// say 201.
// Proves: I1, I3a, I10, M25
func FuzzBatch(f *testing.F) {
	h, book, token := fuzzHouse(f)
	item := `{"idempotency_key":"%s","capability":"bills.create","connection":"acme-erp","request":{"supplier_id":"S","total":"1.00"}%s}`
	for _, seed := range []string{
		`{"items":[]}`, `{"items":[1,null,{},"x",[]]}`, `{}`, `[`,
		`{"items":[` + fmt.Sprintf(item, "a", "") + `,` + fmt.Sprintf(item, "a", `,"revision":"1"`) + `,` + fmt.Sprintf(item, "known", "") + `]}`,
		`{"items":[` + fmt.Sprintf(item, "b", `,"x":1`) + `,` + fmt.Sprintf(item, "", "") + `,` + fmt.Sprintf(item, "c d", "") + `]}`,
		`{"items":[` + fmt.Sprintf(item, "e", `,"not_before":"2030-01-01T00:00:00Z"`) + `],"items":1}`,
		`{"items":[{"idempotency_key":1},{"idempotency_key":"\ud800"}]}`,
		`{"items":[` + fmt.Sprintf(item, "f", `,"a":1,"a":2`) + `,` + fmt.Sprintf(item, "f", "") + `,{"a" "b",,},` + fmt.Sprintf(item, "g\xff", "") + `]}`,
		`{"items":[` + fmt.Sprintf(item, "h", "") + `,{"a":"b,"c":"d"},` + fmt.Sprintf(item, "i", "") + `]}`,
	} {
		f.Add([]byte(seed), "")
	}
	f.Fuzz(func(t *testing.T, body []byte, query string) {
		c := &fuzzed{path: "/v1/operations:batch", body: body, contentType: "application/json", query: query}
		answer, r := h.serve(t, token, c)
		h.schemas.check(t, r, &answer)
		admitted, noted := book.news(t)
		created, conflicts := 0, 0
		for _, result := range answer.items() {
			if result["status"] == float64(http.StatusCreated) {
				created++
			}
			if problem, ok := result["problem"].(map[string]any); ok && problem["code"] == string(onefold.CodeKeyConflict) {
				conflicts++
			}
			if status, _ := result["status"].(float64); status >= http.StatusInternalServerError {
				t.Errorf("a fault of ours: %v\n%s", result, h.log)
			}
		}
		if admitted != created || noted > conflicts || len(answer.items()) > api.MaxBatch {
			t.Errorf("answered %d with %d times 201 and %d conflicts, and %d operations and %d notes were stored", answer.status, created, conflicts, admitted, noted)
		}
		if answer.status >= http.StatusInternalServerError {
			t.Errorf("a fault of ours: %s\n%s", answer.raw, h.log)
		}
	})
}
