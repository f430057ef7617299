package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/api"
	"github.com/onefold-dev/onefold/contract"
	"github.com/onefold-dev/onefold/internal/bench/measure"
	"github.com/onefold-dev/onefold/internal/rig"
)

// benchToken is the caller's token: well formed, and no secret.
func benchToken(tb testing.TB) string {
	tb.Helper()
	token, err := api.NewToken(strings.NewReader("twenty-four bytes of text"))
	if err != nil {
		tb.Fatal(err)
	}
	return token
}

// caller speaks to a server over real sockets.
type caller struct {
	url, token string
	client     *http.Client
}

func newCaller(tb testing.TB, url, token string) *caller {
	tb.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 1024}
	tb.Cleanup(transport.CloseIdleConnections)
	return &caller{url, token, &http.Client{Transport: transport}}
}

// overHTTP serves a rig's ledger on loopback.
func overHTTP(b *testing.B, r *rig.Rig) *caller {
	b.Helper()
	server, err := api.New(api.Config{
		Ledger: r.Ledger, Catalog: contract.NewCatalog(r.Registry, contract.CatalogOptions{}), Now: time.Now,
		Logger: slog.New(slog.DiscardHandler), Version: "bench",
	})
	if err != nil {
		b.Fatal(err)
	}
	token := benchToken(b)
	err = r.Store.CreateToken(b.Context(), onefold.Token{
		ID: r.Ledger.NewID("tok"), Workspace: rig.Workspace, Name: "bench", Hash: api.HashToken(token),
		Roles: []onefold.Role{onefold.RoleSubmit, onefold.RoleRead}, CreatedAt: time.Now(),
	})
	if err != nil {
		b.Fatal(err)
	}
	listener := httptest.NewUnstartedServer(server)
	listener.Config = server.HTTPServer()
	listener.Start()
	b.Cleanup(listener.Close)
	return newCaller(b, listener.URL, token)
}

// post sends one call and reads its answer.
func (c *caller) post(ctx context.Context, path, body string, header ...string) ([]byte, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Authorization", "Bearer "+c.token)
	q.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	answer, err := c.client.Do(q)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("answered %d: %s", answer.StatusCode, text)
	}
	return text, err
}

const envelope = `{"capability":"bills.create","request":` + measure.Request + `}`

// BenchmarkHTTPAdmission is BenchmarkAdmission over HTTP.
func BenchmarkHTTPAdmission(b *testing.B) {
	each(b, "onefold", func(b *testing.B, callers int) {
		c := overHTTP(b, rig.New(b, options(true)))
		measure.Together(b, callers, func() error {
			_, err := c.post(b.Context(), "/v1/operations", envelope, "Idempotency-Key", measure.Key())
			return err
		})
	})
}

// BenchmarkHTTPWholePath is BenchmarkWholePath over HTTP: one call that submits
// and waits.
func BenchmarkHTTPWholePath(b *testing.B) {
	each(b, "onefold", func(b *testing.B, callers int) {
		c := overHTTP(b, rig.New(b, options(false)))
		measure.Together(b, callers, func() error {
			text, err := c.post(b.Context(), "/v1/operations", envelope, "Idempotency-Key", measure.Key(), "Prefer", "wait=30")
			if err != nil {
				return err
			}
			var op struct{ State string }
			if err := json.Unmarshal(text, &op); err != nil || op.State != string(onefold.Confirmed) {
				return fmt.Errorf("the operation is %q, %w", op.State, err)
			}
			return nil
		})
	})
}
