package sandbox_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold/sandbox"
)

// asked sends one request with a head of its own over a connection of its own.
func (w *world) asked(method, path, host, body string, headers ...string) int {
	w.t.Helper()
	c, err := net.Dial("tcp", w.address)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %d\r\n", method, path, host, len(body))
	for _, h := range headers {
		fmt.Fprintf(c, "%s\r\n", h)
	}
	fmt.Fprintf(c, "\r\n%s", body)
	got, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	_ = got.Body.Close()
	return got.StatusCode
}

// The admin API has no authentication, so a page that is open in a browser on the same
// machine must not be able to use it: not under a name that was made to point here, not
// from another origin, and not with a body that a browser sends without asking.
func TestNoPageOfOthersUsesTheAdminAPI(t *testing.T) {
	t.Parallel()
	w := start(t)
	const (
		fault = `{"kind":"drop_after_effect"}`
		json  = "Content-Type: application/json"
	)
	port := w.address[strings.LastIndex(w.address, ":"):]
	for _, host := range []string{"127.0.0.1" + port, "localhost" + port, "LOCALHOST", "erp.localhost" + port, "[::1]" + port, "127.8.9.1", w.address} {
		expect(t, "reads as "+host, w.asked("GET", "/admin/effects", host, ""), 200)
		expect(t, "queues as "+host, w.asked("POST", "/admin/faults", host, fault, json, "Origin: http://"+host, "Sec-Fetch-Site: same-origin"), 201)
	}
	for _, host := range []string{"evil.example", "evil.example" + port, "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "[2001:db8::1]" + port, "notlocalhost", ""} {
		expect(t, "reads as "+host, w.asked("GET", "/admin/requests", host, ""), 403)
		expect(t, "queues as "+host, w.asked("POST", "/admin/faults", host, fault, json), 403)
		expect(t, "takes back as "+host, w.asked("DELETE", "/admin/faults", host, ""), 403)
	}
	for _, origin := range []string{"http://evil.example", "null", "http://127.0.0.1:1", "http://localhost" + port, "file://", "http://" + w.address + ".evil.example", "%"} {
		expect(t, "reads from "+origin, w.asked("GET", "/admin/effects", w.address, "", "Origin: "+origin), 403)
		expect(t, "queues from "+origin, w.asked("POST", "/admin/faults", w.address, fault, json, "Origin: "+origin), 403)
	}
	for _, site := range []string{"cross-site", "same-site"} {
		expect(t, "queues "+site, w.asked("POST", "/admin/faults", w.address, fault, json, "Sec-Fetch-Site: "+site), 403)
	}
	for _, kind := range []string{"Content-Type: text/plain", "Content-Type: application/x-www-form-urlencoded", "Content-Type: multipart/form-data; boundary=x", "Content-Type: application/json, text/plain", "Content-Type:", "X-None: 1"} {
		expect(t, "queues with "+kind, w.asked("POST", "/admin/faults", w.address, fault, kind), 415)
	}
	expect(t, "queues with a parameter", w.asked("POST", "/admin/faults", w.address, fault, "Content-Type: application/json; charset=utf-8"), 201)
	expect(t, "takes back", w.asked("DELETE", "/admin/faults", w.address, ""), 200)
	expect(t, "the bank's customers may call it what they like", w.asked("GET", "/bills?external_ref=r", "bank.example", "", "Origin: http://shop.example"), 200)
}

// Whoever lets other machines in answers for the names that they use.
func TestWhereOthersAreLetInTheHostIsTheirs(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *sandbox.Options) { o.AllowRemote = true })
	expect(t, "a name", w.asked("GET", "/admin/effects", "sandbox:8090", ""), 200)
	expect(t, "a page of another's", w.asked("GET", "/admin/effects", "sandbox:8090", "", "Origin: http://evil.example"), 403)
}
