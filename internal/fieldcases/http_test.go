package fieldcases

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/api"
	"github.com/onefold-dev/onefold/contract"
	"github.com/onefold-dev/onefold/internal/rig"
)

// front is a rig's HTTP interface, spoken to byte by byte.
type front struct {
	t       *testing.T
	address string
	token   string
}

// open puts the HTTP interface in front of a rig.
func open(t *testing.T, r *rig.Rig) *front {
	t.Helper()
	server, err := api.New(api.Config{
		Ledger: r.Ledger, Catalog: contract.NewCatalog(r.Registry, contract.CatalogOptions{}),
		Logger: slog.New(slog.DiscardHandler), Now: time.Now, Version: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	token, err := api.NewToken(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	err = r.Store.CreateToken(context.Background(), onefold.Token{
		ID: r.Ledger.NewID(onefold.PrefixToken), Hash: api.HashToken(token), Workspace: rig.Workspace, Name: "caller",
		Roles: []onefold.Role{onefold.RoleSubmit, onefold.RoleRead}, CreatedAt: time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	listener := httptest.NewServer(server)
	t.Cleanup(listener.Close)
	return &front{t: t, address: listener.Listener.Addr().String(), token: token}
}

// post submits over a socket of its own, with these header lines as they are;
// it returns the status and what the answer's members say.
func (f *front) post(body string, lines ...string) (status int, answer map[string]any) {
	f.t.Helper()
	c, err := net.Dial("tcp", f.address)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	head := "POST /v1/operations HTTP/1.1\r\nHost: onefold\r\nConnection: close\r\nAuthorization: Bearer " + f.token + "\r\n"
	if !strings.Contains(strings.Join(lines, "\r\n"), "Content-Type") {
		head += "Content-Type: application/json\r\n"
	}
	for _, line := range lines {
		head += line + "\r\n"
	}
	if _, err := fmt.Fprintf(c, "%sContent-Length: %d\r\n\r\n%s", head, len(body), body); err != nil {
		f.t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		f.t.Fatalf("%v: %s", err, text)
	}
	return res.StatusCode, answer
}

// A library sent the caller's key and one of its own, and elsewhere the spelling of the header's name decided.
//
// Proves: I1, I3a
func TestC26HeaderSentTwice(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	f := open(t, r)
	body := `{"capability":"bills.create","request":` + bill + `}`
	for _, lines := range [][]string{
		{"Idempotency-Key: a", "idempotency-key: b"},
		{"Idempotency-Key: a", "Idempotency-Key: a"},
		{"IDEMPOTENCY-KEY: a", `idempotency-key: "a"`},
		{"Idempotency-Key: a b"},
		{"Idempotency-Key: a, b"},
		{`Idempotency-Key: "a", "b"`},
	} {
		status, answer := f.post(body, lines...)
		if status != http.StatusBadRequest || answer["code"] != "key_invalid" || answer["claim"] != "unchecked" {
			t.Errorf("%q: %d %v, want key_invalid before anything was looked up", lines, status, answer)
		}
	}
	totals(t, r, 0, 0)
	status, first := f.post(body, "IDEMPOTENCY-KEY: a")
	if status != http.StatusCreated {
		t.Fatalf("%d %v", status, first)
	}
	for _, line := range []string{"Idempotency-Key: a", "idempotency-key:a", `Idempotency-Key: "a"`, "iDEMPOTENCY-kEY: \t a "} {
		if status, again := f.post(body, line); status != http.StatusOK || again["id"] != first["id"] {
			t.Errorf("%q: %d, operation %v; want the original %v", line, status, again["id"], first["id"])
		}
	}
	if status, other := f.post(body, "Idempotency-Key: A"); status != http.StatusCreated || other["id"] == first["id"] {
		t.Errorf("a key in another case: %d %v", status, other["id"])
	}
}
