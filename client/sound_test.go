package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/client"
)

// impostor answers every call with a status and a JSON text.
func impostor(t *testing.T, status int, body string) *client.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if status != http.StatusNoContent {
			_, _ = io.WriteString(w, body)
		}
	}))
	t.Cleanup(server.Close)
	c, err := client.New(client.Options{Server: server.URL, Token: "ofk_secret"})
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

// Something else than a onefold server may answer with success and JSON: a gateway,
// a catch-all, a wrong port. Nothing was stored or done there, and nobody says so.
//
// Proves: M22, M26
func TestASuccessOfSomebodyElseIsNoAnswer(t *testing.T) {
	t.Parallel()
	const other = `{"id":"op_1","state":"confirmed","idempotency_key":"another"}`
	calls := map[string]func(ctx context.Context, c *client.Client) error{
		"Submit": func(ctx context.Context, c *client.Client) error { _, err := c.Submit(ctx, payment("k")); return err },
		"Batch": func(ctx context.Context, c *client.Client) error {
			_, err := c.Batch(ctx, []client.Submission{payment("k")})
			return err
		},
		"DryRun": func(ctx context.Context, c *client.Client) error { _, err := c.DryRun(ctx, payment("k")); return err },
		"Operation": func(ctx context.Context, c *client.Client) error {
			_, err := c.Operation(ctx, "op_2", 0, 0)
			return err
		},
		"Resolve": func(ctx context.Context, c *client.Client) error {
			_, err := c.Resolve(ctx, client.Decision{Operation: "op_2", Version: 1, Reason: "x"}, onefold.ResolveRejected, "")
			return err
		},
		"Operations": func(ctx context.Context, c *client.Client) error {
			_, err := c.Operations(ctx, client.Filter{})
			return err
		},
		"Changes": func(ctx context.Context, c *client.Client) error {
			_, err := c.Changes(ctx, client.PageOf{})
			return err
		},
		"Explain": func(ctx context.Context, c *client.Client) error { _, err := c.Explain(ctx, "op_2"); return err },
		"Request": func(ctx context.Context, c *client.Client) error { _, err := c.Request(ctx, "op_2"); return err },
		"Stats":   func(ctx context.Context, c *client.Client) error { _, err := c.Stats(ctx); return err },
		"Publish": func(ctx context.Context, c *client.Client) error { _, err := c.Publish(ctx, nil, false); return err },
		"Connections": func(ctx context.Context, c *client.Client) error {
			_, err := c.Connections(ctx, client.PageOf{})
			return err
		},
	}
	for body, status := range map[string]int{
		`{}`: 201, `{"ok":true}`: 200, ` `: 204, `[]`: 200, `null`: 202, `{"state":"confirmed"}`: 201, `{"id":"op_1"}`: 200,
		`{"id":"7","state":"confirmed"}`: 201, `{"id":"op_","state":"confirmed"}`: 201, `{"id":"op_1","state":"weird"}`: 201, other: 201,
		`{"items":[{}]}`: 200, `{"items":[{"status":201,"operation":` + other + `}]}`: 200, `{"items":[{"status":400,"problem":{}}]}`: 200,
	} {
		c := impostor(t, status, body)
		for name, call := range calls {
			if name == "Operations" || name == "Connections" {
				if strings.HasPrefix(body, `{"items"`) {
					continue // a list it is
				}
			}
			err := call(t.Context(), c)
			if _, ok := errors.AsType[*client.Unanswered](err); !ok || client.ExitCode(err) != client.ExitFailed || strings.Contains(err.Error(), "ofk_secret") {
				t.Errorf("%s answered with %d %s: %v", name, status, body, err)
			}
		}
	}
}

// A token that may not see an operation is told its id and state alone: that is an
// answer.
//
// Proves: M22
func TestAnOperationThatMayNotBeSeenIsAnAnswer(t *testing.T) {
	t.Parallel()
	c := impostor(t, http.StatusOK, `{"id":"op_1","state":"uncertain"}`)
	got, err := c.Submit(t.Context(), payment("k"))
	if err != nil || got.ID != "op_1" || got.State != onefold.Uncertain {
		t.Errorf("%+v, %v", got, err)
	}
	b := impostor(t, http.StatusOK, `{"items":[{"status":200,"replayed":true,"operation":{"id":"op_1","state":"uncertain"}},{"status":409,"problem":{"code":"key_conflict"}}]}`)
	results, err := b.BatchJSON(t.Context(), []json.RawMessage{json.RawMessage(`{"idempotency_key":"k"}`), json.RawMessage(`{"idempotency_key":"l"}`)})
	if err != nil || results[0].Operation.State != onefold.Uncertain || results[1].Problem.Code != onefold.CodeKeyConflict {
		t.Errorf("%+v, %v", results, err)
	}
}
