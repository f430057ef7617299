package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs the program on loopback until the end of the test.
func serve(t *testing.T, p *payroll) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx, io.Discard, t.TempDir(), l, p) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

// call makes one request and reads its answer.
func call(t *testing.T, method, url, key, body string) (int, map[string]any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var content map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&content); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, content
}

// Proves: I1, I3, I4, M11, M22
func TestAPayslipIsIssuedOneTimeWhateverCallersDo(t *testing.T) {
	t.Parallel()
	p := &payroll{lose: 1}
	url := serve(t, p)
	const slip = `{"employee":"E-1","month":"2026-11","net":"2100.00"}`
	status, first := call(t, "POST", url+"/payslips", "2026-11/E-1", slip)
	if status != http.StatusOK || first["state"] != "confirmed" || first["reference"] != "SLIP-1" {
		t.Fatalf("%d %v", status, first)
	}
	status, again := call(t, "POST", url+"/payslips", "2026-11/E-1", `{"net":"2100","month":"2026-11","employee":"E-1"}`)
	if status != http.StatusOK || again["id"] != first["id"] || again["reference"] != "SLIP-1" {
		t.Errorf("the repeat: %d %v", status, again)
	}
	status, quoted := call(t, "POST", url+"/payslips", `"2026-11/E-1"`, slip)
	if status != http.StatusOK || quoted["id"] != first["id"] {
		t.Errorf("the repeat with its key in quotes: %d %v", status, quoted)
	}
	status, shown := call(t, "GET", url+"/payslips/"+first["id"].(string), "", "")
	if status != http.StatusOK || shown["state"] != "confirmed" {
		t.Errorf("shown: %d %v", status, shown)
	}
	status, conflict := call(t, "POST", url+"/payslips", "2026-11/E-1", `{"employee":"E-1","month":"2026-11","net":"2200.00"}`)
	if status != http.StatusUnprocessableEntity || conflict["code"] != "key_conflict" || len(conflict["differences"].([]any)) != 1 {
		t.Errorf("a changed amount: %d %v", status, conflict)
	}
	if status, refused := call(t, "POST", url+"/payslips", "", slip); status != http.StatusBadRequest || refused["code"] != "key_required" {
		t.Errorf("without a key: %d %v", status, refused)
	}
	if status, refused := call(t, "POST", url+"/payslips", "a b", slip); status != http.StatusBadRequest || refused["code"] != "key_invalid" {
		t.Errorf("with a key that is none: %d %v", status, refused)
	}
	if status, unknown := call(t, "GET", url+"/payslips/op_1", "", ""); status != http.StatusNotFound || unknown["code"] != "operation_unknown" {
		t.Errorf("unknown: %d %v", status, unknown)
	}
	if n := p.Count(); n != 1 {
		t.Errorf("%d payslips were issued", n)
	}
}
