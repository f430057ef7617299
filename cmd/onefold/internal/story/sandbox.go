package story

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

const (
	// adminTimeout bounds one call of the sandbox's admin API, which waits for nothing.
	adminTimeout = 10 * time.Second
	// maxAdmin bounds what is read of its answer.
	maxAdmin = 16 << 20
)

// Sandbox is the sandbox's admin API.
type Sandbox struct {
	// URL is its address, HTTP the client that reaches it.
	URL  string
	HTTP *http.Client
}

// get reads a path of the admin API into v.
func (s Sandbox) get(ctx context.Context, path string, query url.Values, v any) error {
	return s.call(ctx, http.MethodGet, path+"?"+query.Encode(), nil, v)
}

// queue queues faults.
func (s Sandbox) queue(ctx context.Context, faults []fault) error {
	body, err := json.Marshal(faults)
	if err != nil {
		return err
	}
	return s.call(ctx, http.MethodPost, "/admin/faults", body, &[]struct{}{})
}

func (s Sandbox) call(ctx context.Context, method, path string, body []byte, v any) error {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	answer, err := s.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAdmin))
	if err != nil {
		return err
	}
	if answer.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("the sandbox answered %d: %s", answer.StatusCode, text)
	}
	return json.Unmarshal(text, v)
}
