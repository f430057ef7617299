package sandbox_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold/sandbox"
)

func TestRecordKeepsWhatWasSubmittedDigitForDigit(t *testing.T) {
	t.Parallel()
	w := start(t)
	made := w.send("POST", "/bills", `{"supplier":"S-1","number":"A-7","total":10.500,"external_ref":"ref-1","memo":{"a":[1.0,null]}}`)
	expect(t, "status", made.status, 201)
	want := `{"id":"BILL-1001","external_ref":"ref-1","status":"open","created_at":"2026-03-01T12:00:00Z",` +
		`"supplier":"S-1","number":"A-7","total":10.500,"memo":{"a":[1.0,null]}}`
	expect(t, "record", made.body, want)
	expect(t, "by id", w.send("GET", "/bills/BILL-1001", "").body, want)
	expect(t, "by reference", w.send("GET", "/bills?external_ref=ref-1", "").body,
		`{"items":[`+want+`],"complete":true,"next_cursor":null}`)
	effects := w.effects()
	expect(t, "effects", len(effects), 1)
	expect(t, "effect's record", string(effects[0].Record), want)
	expect(t, "effect's request", effects[0].RequestSeq, w.requests()[0].Seq)
}

func TestThreeCollectionsAndAccountsOfTheirOwn(t *testing.T) {
	t.Parallel()
	w := start(t)
	expect(t, "bill", w.send("POST", "/bills", bill("r")).member("id"), "BILL-1001")
	expect(t, "order", w.send("POST", "/orders", `{"supplier":"S-1","item":"bolt","quantity":3,"external_ref":"r"}`).member("id"), "ORD-1001")
	expect(t, "payment", w.send("POST", "/payments", `{"payee":"S-1","amount":"7.00","currency":"EUR","external_ref":"r"}`).member("id"), "PAY-1001")
	other := w.send("POST", "/acct/acme/bills", bill("r"))
	expect(t, "the reference is free in another account", other.status, 201)
	expect(t, "ids are counted across accounts", other.member("id"), "BILL-1002")
	expect(t, "not seen from elsewhere", w.send("GET", "/bills/BILL-1002", "").status, 404)
	expect(t, "seen at home", w.send("GET", "/acct/acme/bills/BILL-1002", "").status, 200)
	expect(t, "nothing in a third", w.send("GET", "/acct/third/bills", "").body, `{"items":[],"complete":true,"next_cursor":null}`)
	expect(t, "account in the ledger", w.effects()[3].Account, "acme")
}

func TestRefusalsHaveNoEffectAndAreLogged(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 201)
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		code, member             string
	}{
		{"not JSON", "POST", "/bills", `{"supplier":`, 400, "invalid", "<nil>"},
		{"a list", "POST", "/bills", `[]`, 400, "invalid", "<nil>"},
		{"something after it", "POST", "/bills", bill("") + "}", 400, "invalid", "<nil>"},
		{"repeated member", "POST", "/bills", `{"supplier":"a","supplier":"b","number":"1","total":1}`, 400, "invalid", "<nil>"},
		{"not UTF-8", "POST", "/bills", "{\"supplier\":\"\xff\",\"number\":\"1\",\"total\":1}", 400, "invalid", "<nil>"},
		{"empty", "POST", "/bills", ``, 400, "invalid", "<nil>"},
		{"missing", "POST", "/bills", `{"number":"1","total":1}`, 422, "invalid", "/supplier"},
		{"null is missing", "POST", "/bills", `{"supplier":null,"number":"1","total":1}`, 422, "invalid", "/supplier"},
		{"wrong type", "POST", "/bills", `{"supplier":1,"number":"1","total":1}`, 422, "invalid", "/supplier"},
		{"exponent", "POST", "/bills", `{"supplier":"S","number":"1","total":1e3}`, 422, "invalid", "/total"},
		{"no digits", "POST", "/bills", `{"supplier":"S","number":"1","total":"1."}`, 422, "invalid", "/total"},
		{"long reference", "POST", "/bills", bill(long), 422, "invalid", "/external_ref"},
		{"own member", "POST", "/bills", `{"id":"X","supplier":"S","number":"1","total":1}`, 422, "invalid", "/id"},
		{"zero", "POST", "/orders", `{"supplier":"S","item":"i","quantity":"0.0"}`, 422, "invalid", "/quantity"},
		{"negative", "POST", "/payments", `{"payee":"S","amount":-1,"currency":"EUR"}`, 422, "invalid", "/amount"},
		{"currency", "POST", "/payments", `{"payee":"S","amount":1,"currency":"eur"}`, 422, "invalid", "/currency"},
		{"blocked", "POST", "/bills", `{"supplier":"S-REFUSED","number":"1","total":1}`, 422, "supplier_blocked", "/supplier"},
		{"blocked payee", "POST", "/payments", `{"payee":"S-REFUSED","amount":1,"currency":"EUR"}`, 422, "supplier_blocked", "/payee"},
		{"no collection", "POST", "/invoices", bill(""), 404, "not_found", "<nil>"},
		{"bad account", "POST", "/acct/a%20b/bills", bill(""), 404, "not_found", "<nil>"},
		{"no record", "GET", "/bills/BILL-1", "", 404, "not_found", "<nil>"},
		{"post to a record", "POST", "/bills/BILL-1", bill(""), 405, "method_not_allowed", "<nil>"},
		{"delete", "DELETE", "/bills", "", 405, "method_not_allowed", "<nil>"},
		{"unknown parameter", "GET", "/bills?ref=1", "", 400, "invalid", "<nil>"},
		{"limit", "GET", "/bills?limit=201", "", 400, "invalid", "<nil>"},
		{"cursor", "GET", "/bills?cursor=x", "", 400, "invalid", "<nil>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			got := w.send(c.method, c.path, c.body)
			expect(t, "status", got.status, c.status)
			expect(t, "code", got.member("code"), c.code)
			expect(t, "member", got.member("member"), c.member)
			expect(t, "effects", len(w.effects()), 0)
			logged := w.last()
			expect(t, "logged outcome", logged.Outcome, sandbox.Answered)
			expect(t, "logged status", logged.Status, c.status)
			expect(t, "logged whole", logged.Complete, true)
		})
	}
}

func TestTokenIsDemandedOfCollectionsOnly(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *sandbox.Options) { o.Token = "secret" })
	for _, header := range []string{"", "Bearer wrong", "secret", "Bearer secret "} {
		got, err := w.raw("POST", "/bills", bill(""), "Connection", "close", "Authorization", header+"x")
		if err != nil || !strings.HasPrefix(got, "HTTP/1.1 401 ") {
			t.Errorf("%q: %q, %v", header, got, err)
		}
	}
	expect(t, "effects", len(w.effects()), 0)
	expect(t, "right token", w.send("POST", "/bills", bill(""), "Authorization", "Bearer secret").status, 201)
	expect(t, "admin", w.send("GET", "/admin/summary", "").status, 200)
	expect(t, "logged", len(w.requests()), 5)
}

func TestReferenceIsUniqueUnlessTheCollectionAllowsRepeats(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *sandbox.Options) { o.AllowDuplicateReferences = map[string]bool{"orders": true} })
	first := w.send("POST", "/bills", bill("r-1"))
	again := w.send("POST", "/bills", bill("r-1"))
	expect(t, "status", again.status, 409)
	expect(t, "code", again.member("code"), "duplicate_reference")
	expect(t, "names the holder", again.member("id"), first.member("id"))
	order := `{"supplier":"S","item":"i","quantity":1,"external_ref":"r-2"}`
	expect(t, "one order", w.send("POST", "/orders", order).status, 201)
	expect(t, "another", w.send("POST", "/orders", order).status, 201)
	sum := w.send("GET", "/admin/summary", "").body
	expect(t, "summary", sum, `{"effects":3,"requests":4,"duplicates":["r-2"]}`+"\n")
}

func TestListPagesAndOnlyAWholeAnswerIsComplete(t *testing.T) {
	t.Parallel()
	w := start(t)
	for range 5 {
		w.send("POST", "/bills", bill(""))
	}
	var ids []string
	cursor := ""
	for page := range 3 {
		got := w.send("GET", "/bills?limit=2"+cursor, "")
		expect(t, fmt.Sprintf("page %d complete", page), got.member("complete"), "false")
		for _, part := range strings.Split(got.body, `"id":"`)[1:] {
			id, _, _ := strings.Cut(part, `"`)
			ids = append(ids, id)
		}
		cursor = "&cursor=" + got.member("next_cursor")
	}
	expect(t, "all of them once", strings.Join(ids, " "), "BILL-1001 BILL-1002 BILL-1003 BILL-1004 BILL-1005")
	expect(t, "after the last", cursor, "&cursor=<nil>")
	expect(t, "one page", w.send("GET", "/bills?limit=5", "").member("complete"), "true")
}

func TestLookupLagsBehindWrites(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *sandbox.Options) { o.LookupLag = 5 * time.Second })
	w.send("POST", "/bills", bill("r-1"))
	w.clock.advance(5*time.Second - 1)
	expect(t, "list", w.send("GET", "/bills?external_ref=r-1", "").body, `{"items":[],"complete":true,"next_cursor":null}`)
	expect(t, "by id", w.send("GET", "/bills/BILL-1001", "").status, 404)
	expect(t, "a write knows", w.send("POST", "/bills", bill("r-1")).status, 409)
	w.clock.advance(1)
	expect(t, "by id, later", w.send("GET", "/bills/BILL-1001", "").status, 200)
	expect(t, "list, later", strings.Contains(w.send("GET", "/bills?external_ref=r-1", "").body, "BILL-1001"), true)
}

func TestCutAndOversizedBodiesAreLoggedButNotHandled(t *testing.T) {
	t.Parallel()
	logged := make(chan sandbox.Request, 1)
	w := start(t, func(o *sandbox.Options) { o.Received = func(r sandbox.Request) { logged <- r } })
	id := w.fault(sandbox.Fault{Kind: sandbox.Status, Status: 503})

	connection, err := net.Dial("tcp", w.address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(connection, "POST /bills HTTP/1.1\r\nHost: s\r\nIdempotency-Key: k-1\r\nContent-Length: 50\r\n\r\n{\"supplier\":"); err != nil {
		t.Fatal(err)
	}
	if err := connection.Close(); err != nil {
		t.Fatal(err)
	}
	cut := <-logged
	expect(t, "complete", cut.Complete, false)
	expect(t, "bytes", cut.BodyBytes, int64(len(`{"supplier":`)))
	expect(t, "outcome", cut.Outcome, sandbox.Dropped)
	expect(t, "identity from the head", cut.Reference, "k-1")

	big := w.send("POST", "/bills", `{"supplier":"`+strings.Repeat("x", sandbox.MaxBody)+`"}`)
	expect(t, "oversized", big.status, 413)
	expect(t, "its code", big.member("code"), "too_large")
	expect(t, "logged", (<-logged).Complete, false)

	chunked, err := http.NewRequest("POST", w.url+"/bills", io.MultiReader(strings.NewReader(strings.Repeat(" ", sandbox.MaxBody+1))))
	if err != nil {
		t.Fatal(err)
	}
	response, err := w.client.Do(chunked)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	expect(t, "oversized without a length", response.StatusCode, 413)
	expect(t, "bytes looked at", (<-logged).BodyBytes, int64(sandbox.MaxBody+1))

	expect(t, "effects", len(w.effects()), 0)
	expect(t, "the fault still waits", len(w.fired(id)), 0)
}

func TestKeepAliveCountsRequestsNotConnections(t *testing.T) {
	t.Parallel()
	w := start(t)
	transport := &http.Transport{MaxConnsPerHost: 1}
	defer transport.CloseIdleConnections()
	w.client.Transport = transport
	for range 3 {
		w.send("POST", "/bills", bill(""))
	}
	fresh, err := w.raw("GET", "/bills", "", "Connection", "close")
	if err != nil || !strings.HasPrefix(fresh, "HTTP/1.1 200") {
		t.Fatalf("%q, %v", fresh, err)
	}
	var connections []int64
	for _, r := range w.requests() {
		connections = append(connections, r.Connection)
	}
	expect(t, "connections of four requests", fmt.Sprint(connections), "[1 1 1 2]")
}
