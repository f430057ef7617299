package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/api"
)

// sent makes one call past the checks that tests make of every answer.
func (h *house) sent(b *testing.B, path, token, key string, body any) {
	b.Helper()
	raw, err := json.Marshal(body)
	h.must(err)
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, h.url+path, bytes.NewReader(raw))
	h.must(err)
	r.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	answer, err := h.client.Do(r)
	h.must(err)
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode >= http.StatusMultipleChoices {
		b.Fatalf("answered %d, %v", answer.StatusCode, err)
	}
}

// BenchmarkSubmit is one submission after another, each with its own call.
func BenchmarkSubmit(b *testing.B) {
	h := newHouse(b)
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead)
	for i := 0; b.Loop(); i++ {
		h.sent(b, "/v1/operations", token, fmt.Sprint("k-", i), bill("acme", "10.00"))
	}
}

// BenchmarkBatch is a full batch; ops/s counts submissions.
func BenchmarkBatch(b *testing.B) {
	h := newHouse(b)
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead)
	items := make([]any, api.MaxBatch)
	for n := 0; b.Loop(); n++ {
		for i := range items {
			items[i] = entry(fmt.Sprint("k-", n, "-", i), "10.00")
		}
		h.sent(b, "/v1/operations:batch", token, "", map[string]any{"items": items})
	}
	b.ReportMetric(float64(b.N*len(items))/b.Elapsed().Seconds(), "ops/s")
}
