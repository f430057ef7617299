package api_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
)

// Every wrong key has its code and its rule, and stores nothing.
// Proves: I1
func TestWrongKeys(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead)
	for k, rule := range map[string]string{
		"": "empty", `""`: "empty", "a b": "white_space", "kéy": "visible_ascii", strings.Repeat("k", 256): "length",
		`"open`: "quoted", `"a"b`: "quoted", `"a\b"`: "quoted", `"a b"`: "white_space", `"\"a\""`: "leading_quote", `"\""`: "leading_quote",
	} {
		answer := h.call("POST", "/v1/operations", token, bill("acme", "1.00"), key(k)).wants(t, 400, onefold.CodeKeyInvalid)
		if answer.text("reason") != rule || answer.text("claim") != "unchecked" {
			t.Errorf("%q: %s", k, answer.raw)
		}
	}
	h.call("POST", "/v1/operations", token, bill("acme", "1.00")).wants(t, 400, onefold.CodeKeyRequired)
	h.call("POST", "/v1/operations", token, bill("acme", "1.00"), key("a"), key("a")).wants(t, 400, onefold.CodeKeyInvalid)
	h.call("POST", "/v1/operations", token, bill("acme", "1.00"), key(strings.Repeat("k", 255))).wants(t, 201, "")
	if list := h.call("GET", "/v1/operations", token, nil); len(list.items()) != 1 {
		t.Errorf("%d operations were stored", len(list.items()))
	}
}

// Proves: I10
func TestWrongBodies(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead)
	nested := func(levels int) string {
		return `{"capability":"payments.send","request":` + strings.Repeat("[", levels) + strings.Repeat("]", levels) + "}"
	}
	for _, c := range []struct {
		name, body string
		code       onefold.Code
		reason     string
		pointer    string
		offset     float64
	}{
		{"empty", " ", onefold.CodeJSONInvalid, "syntax", "", 1},
		{"no object", `[]`, onefold.CodeMemberInvalid, "", "", -1},
		{"cut off", `{"capability":`, onefold.CodeJSONInvalid, "syntax", "", 14},
		{"twice", `{"capability":"a","capability":"b"}`, onefold.CodeJSONInvalid, "duplicate_member", "", 18},
		{"twice, deep", `{"capability":"a","request":{"x":1,"\u0078":2}}`, onefold.CodeJSONInvalid, "duplicate_member", "", 35},
		{"encoding", "{\"capability\":\"\xff\"}", onefold.CodeJSONInvalid, "encoding", "", 15},
		{"mark", "\xef\xbb\xbf{}", onefold.CodeJSONInvalid, "byte_order_mark", "", 0},
		{"surrogate", `{"capability":"\ud800"}`, onefold.CodeJSONInvalid, "surrogate", "", 15},
		{"more", `{} {}`, onefold.CodeJSONInvalid, "trailing_data", "", 3},
		{"200 levels", nested(200), onefold.CodeJSONInvalid, "depth", "", 104},
		{"65 levels", nested(65), onefold.CodeJSONInvalid, "depth", "", 104},
		{"digits", `{"capability":"a","request":` + strings.Repeat("1", 1001) + `}`, onefold.CodeJSONInvalid, "number_range", "", 28},
		{"unknown", `{"capability":"a","requst":{}}`, onefold.CodeUnknownMember, "", "/requst", 18},
		{"case", `{"Capability":"a","request":{}}`, onefold.CodeUnknownMember, "", "/Capability", 1},
		{"pointer", `{"a/b~c":1}`, onefold.CodeUnknownMember, "", "/a~1b~0c", 1},
		{"missing", `{"request":{}}`, onefold.CodeMemberInvalid, "", "/capability", -1},
		{"null", `{"capability":null,"request":{}}`, onefold.CodeMemberInvalid, "", "/capability", -1},
		{"blank", `{"capability":"","request":{}}`, onefold.CodeMemberInvalid, "", "/capability", -1},
		{"kind", `{"capability":["a"],"request":{}}`, onefold.CodeMemberInvalid, "", "/capability", -1},
		{"version", `{"capability":"a","request":{},"contract_version":"1"}`, onefold.CodeMemberInvalid, "", "/contract_version", -1},
		{"fraction", `{"capability":"a","request":{},"contract_version":1.5}`, onefold.CodeMemberInvalid, "", "/contract_version", -1},
		{"nought", `{"capability":"a","request":{},"contract_version":0}`, onefold.CodeMemberInvalid, "", "/contract_version", -1},
		{"huge", `{"capability":"a","request":{},"contract_version":99999999999999999999}`, onefold.CodeMemberInvalid, "", "/contract_version", -1},
		{"metadata", `{"capability":"a","request":{},"metadata":[]}`, onefold.CodeMemberInvalid, "", "/metadata", -1},
		{"no offset", `{"capability":"a","request":{},"not_before":"2026-01-01T00:00:00"}`, onefold.CodeMemberInvalid, "", "/not_before", -1},
		{"no date", `{"capability":"a","request":{},"not_before":"2026-02-30T00:00:00Z"}`, onefold.CodeMemberInvalid, "", "/not_before", -1},
		{"comma", `{"capability":"a","request":{},"not_before":"2026-02-20T00:00:00,5Z"}`, onefold.CodeMemberInvalid, "", "/not_before", -1},
		{"one digit", `{"capability":"a","request":{},"not_before":"2026-02-20T0:00:00Z"}`, onefold.CodeMemberInvalid, "", "/not_before", -1},
		{"far offset", `{"capability":"a","request":{},"not_before":"2026-02-20T00:00:00+24:00"}`, onefold.CodeMemberInvalid, "", "/not_before", -1},
		{"nul", `{"capability":"a","request":{},"revision":"a\u0000"}`, onefold.CodeMemberInvalid, "", "/revision", -1},
		{"long", `{"capability":"a","request":{},"revision":"` + strings.Repeat("r", 256) + `"}`, onefold.CodeMemberInvalid, "", "/revision", -1},
		{"order", `{"capability":"bills.create","connection":"acme-erp","request":{"supplier_id":"S","total":"1"},"not_before":"2030-01-02T00:00:00Z","start_deadline":"2030-01-01T00:00:00Z"}`, onefold.CodeMemberInvalid, "", "/not_before", -1},
	} {
		answer := h.call("POST", "/v1/operations", token, c.body, key("k")).wants(t, 400, c.code)
		offset, located := answer.json["offset"].(float64)
		if answer.text("reason") != c.reason || answer.text("pointer") != c.pointer || located != (c.offset >= 0) || located && offset != c.offset {
			t.Errorf("%s: %s", c.name, answer.raw)
		}
	}
	h.call("POST", "/v1/operations", token, nested(64), key("deep")).wants(t, 422, onefold.CodeRequestInvalid)
	if list := h.call("GET", "/v1/operations", token, nil); len(list.items()) != 0 {
		t.Errorf("%d operations were stored", len(list.items()))
	}
}

func TestWrongContentTypes(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit)
	for _, media := range []string{"", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1", "application/jsonp", "application/json, text/plain", ";"} {
		h.call("POST", "/v1/operations", token, `{}`, key("k"), header{"Content-Type", media}).wants(t, 415, onefold.CodeNotJSON)
	}
	for _, media := range []string{"application/json", "application/json; charset=UTF-8", "Application/JSON"} {
		h.call("POST", "/v1/operations", token, `{}`, key("k"), header{"Content-Type", media}).wants(t, 400, onefold.CodeMemberInvalid)
	}
	var bomb bytes.Buffer
	packed := gzip.NewWriter(&bomb)
	if _, err := packed.Write(make([]byte, 8<<20)); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	h.call("POST", "/v1/operations", token, &bomb, key("k"), header{"Content-Encoding", "gzip"}).wants(t, 415, onefold.CodeNotJSON)
}

// countedReader counts what was taken from it.
type countedReader struct {
	taken atomic.Int64
	left  int64
}

func (r *countedReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), r.left)
	for i := range p[:n] {
		p[i] = ' '
	}
	r.left -= n
	r.taken.Add(n)
	return int(n), nil
}

// A body that is too long costs its limit, however it comes.
// Proves: I10
func TestTooLargeBodies(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleOperate)
	h.call("POST", "/v1/operations", token, strings.Repeat(" ", 3<<20), key("k")).wants(t, 413, onefold.CodeTooLarge)
	h.call("POST", "/v1/operations", token, io.MultiReader(strings.NewReader(strings.Repeat(" ", 3<<20))), key("k")).wants(t, 413, onefold.CodeTooLarge)
	large := `{"capability":"payments.send","request":"` + strings.Repeat("x", 1<<20) + `"}`
	answer := h.call("POST", "/v1/operations", token, large, key("k")).wants(t, 413, onefold.CodeTooLarge)
	if answer.text("claim") != "unchecked" {
		t.Errorf("a request that is too large: %s", answer.raw)
	}
	h.call("POST", "/v1/operations/op_x/cancel", token, strings.Repeat(" ", 65<<10)).wants(t, 413, onefold.CodeTooLarge)

	// Half a gigabyte that is sent for ever is not taken in.
	endless := &countedReader{left: 512 << 20}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/v1/operations", endless)
	h.must(err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", "k")
	if reply, err := h.client.Do(r); err == nil {
		reply.Body.Close()
		if reply.StatusCode != 413 {
			t.Errorf("an endless body: %d", reply.StatusCode)
		}
	}
	if taken := endless.taken.Load(); taken > 64<<20 {
		t.Errorf("%d bytes of an endless body were taken", taken)
	}

	// With Expect: 100-continue nothing is asked for that would be refused.
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(h.url, "http://"))
	h.must(err)
	defer connection.Close()
	h.must(connection.SetDeadline(time.Now().Add(10 * time.Second)))
	_, err = fmt.Fprintf(connection, "POST /v1/operations HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nIdempotency-Key: k\r\nContent-Length: 3000000\r\nExpect: 100-continue\r\n\r\n", token)
	h.must(err)
	if line, err := bufio.NewReader(connection).ReadString('\n'); err != nil || !strings.Contains(line, " 413 ") {
		t.Errorf("before a body that is too long: %q %v", line, err)
	}
}

func TestWrongAddressesMethodsAndParameters(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.Roles()...)
	for _, path := range []string{"/", "/v1", "/v1/operations/", "/v1//operations", "/v1/operations/x/y/z", "/V1/operations", "/v2/operations", "/problems/none", "/v1/operations:batches", "/v1/changes/x", "/../v1/operations"} {
		h.call("GET", path, token, nil).wants(t, 404, onefold.CodeNotFound)
	}
	for call, allow := range map[string]string{
		"DELETE /v1/operations": "POST, GET, HEAD", "PUT /v1/operations/x": "GET, HEAD", "GET /v1/operations/x/cancel": "POST",
		"GET /v1/operations:batch": "POST", "POST /v1/changes": "GET, HEAD",
		"POST /livez": "GET, HEAD", "OPTIONS /v1/reviews": "GET, HEAD", "BREW /v1/reviews": "GET, HEAD",
	} {
		method, path, _ := strings.Cut(call, " ")
		answer := h.call(method, path, token, nil).wants(t, 405, onefold.CodeMethodNotAllowed)
		if answer.header.Get("Allow") != allow {
			t.Errorf("%s: Allow %q, wanted %q", call, answer.header.Get("Allow"), allow)
		}
	}
	for query, parameter := range map[string]string{
		"?stat=confirmed": "stat", "?state=done": "state", "?state=": "state", "?state=confirmed&state=confirmed": "state", "?limit=0": "limit",
		"?limit=201": "limit", "?limit=+5": "limit", "?limit=ten": "limit", "?contradicted=yes": "contradicted", "?created_from=yesterday": "created_from",
		"?created_to=2026-01-01": "created_to", "?cursor=": "cursor", "?key=%00": "key", "?a;b": "", "?key=%zz": "", "?key=" + strings.Repeat("k", 256): "key",
		"?key=%22k-1%22": "key", "?key=a+b": "key", "?key=k%C3%A4": "key",
	} {
		answer := h.call("GET", "/v1/operations"+query, token, nil).wants(t, 400, onefold.CodeParameterInvalid)
		if answer.text("parameter") != parameter {
			t.Errorf("%s: %s", query, answer.raw)
		}
	}
	for _, call := range []string{"/v1/stats?x=1", "/v1/operations/x?wait=-1", "/v1/operations/x?after_version=0", "/v1/reviews?status=done", "/v1/reviews?age=-1h", "/v1/reviews?age=old", "/v1/connections/acme-erp?limit=1"} {
		h.call("GET", call, token, nil).wants(t, 400, onefold.CodeParameterInvalid)
	}
	if head := h.call("HEAD", "/v1/stats", token, nil); head.status != 200 || len(head.raw) != 0 {
		t.Errorf("HEAD: %d", head.status)
	}
}

// Every action decodes its body as strictly as a submission.
func TestActionsAreStrict(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id := h.fresh("acme")
	token := h.operator("acme")
	for _, c := range []struct {
		action, body string
		code         onefold.Code
		pointer      string
	}{
		{"cancel", `{"why":"x"}`, onefold.CodeUnknownMember, "/why"},
		{"cancel", `{"release":"yes"}`, onefold.CodeMemberInvalid, "/release"},
		{"cancel", `[]`, onefold.CodeMemberInvalid, ""},
		{"cancel", `{"reason":5}`, onefold.CodeMemberInvalid, "/reason"},
		{"resolve", `{}`, onefold.CodeMemberInvalid, "/outcome"},
		{"resolve", ``, onefold.CodeJSONInvalid, ""},
		{"resolve", `{"outcome":"done","reason":"x"}`, onefold.CodeMemberInvalid, "/outcome"},
		{"resolve", `{"outcome":"rejected","reason":""}`, onefold.CodeMemberInvalid, "/reason"},
		{"release", `{"hold":"x","decision":"proceed","reason":"x"}`, onefold.CodeMemberInvalid, "/hold"},
		{"release", `{"hold":"approval","decision":"proceed"}`, onefold.CodeMemberInvalid, "/reason"},
		{"resolve", `{"outcome":"rejected","reason":" "}`, onefold.CodeMemberInvalid, "/reason"},
		{"resolve", `{"outcome":"rejected","reason":"\u200b\n\u2060"}`, onefold.CodeMemberInvalid, "/reason"},
		{"resolve", `{"outcome":"confirmed","reference":"\u3000","reason":"x"}`, onefold.CodeMemberInvalid, "/reference"},
		{"release", `{"hold":"approval","decision":"proceed","reason":"\u00a0"}`, onefold.CodeMemberInvalid, "/reason"},
		{"assign", `{}`, onefold.CodeMemberInvalid, "/owner"},
		{"assign", `{"owner":"\t"}`, onefold.CodeMemberInvalid, "/owner"},
		{"assign", `{"owner":"\u2800\ufeff"}`, onefold.CodeMemberInvalid, "/owner"},
		{"assign", `{"owner":"joe\nWhat we know: nothing"}`, onefold.CodeMemberInvalid, "/owner"},
		{"assign", `{"owner":"joe\u202eeoj"}`, onefold.CodeMemberInvalid, "/owner"},
		{"evidence", `{"asserts":"nothing","source":"bank\u2028robot"}`, onefold.CodeMemberInvalid, "/source"},
		{"evidence", `{"asserts":"effect_exists","reference":" "}`, onefold.CodeMemberInvalid, "/reference"},
		{"evidence", `{"asserts":"nothing","source":"\u200d"}`, onefold.CodeMemberInvalid, "/source"},
		{"evidence", `{"asserts":"nothing","event_id":"\u00a0"}`, onefold.CodeMemberInvalid, "/event_id"},
		{"evidence", `{"asserts":"maybe"}`, onefold.CodeMemberInvalid, "/asserts"},
		{"evidence", `{"asserts":"nothing","occurred_at":"now"}`, onefold.CodeMemberInvalid, "/occurred_at"},
		{"retry", `{"reason":"` + strings.Repeat("r", 4097) + `"}`, onefold.CodeMemberInvalid, "/reason"},
	} {
		answer := h.call("POST", "/v1/operations/"+id+"/"+c.action, token, c.body, header{"If-Match", `"1"`}).wants(t, 400, c.code)
		if answer.text("pointer") != c.pointer || answer.text("claim") != "" {
			t.Errorf("%s %s: %s", c.action, c.body, answer.raw)
		}
	}
	if op := h.call("GET", "/v1/operations/"+id, token, nil); op.header.Get("ETag") != `"1"` {
		t.Errorf("a refused action changed the operation: %s", op.raw)
	}
}

// A client that writes its whole body before it reads gets the refusal, not a
// broken pipe.
func TestATooLongBodyIsRefusedToClientsThatWriteFirst(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit)
	for _, head := range []string{"Content-Length: 3145728\r\n", "Transfer-Encoding: chunked\r\n"} {
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(h.url, "http://"))
		h.must(err)
		_, err = fmt.Fprintf(connection, "POST /v1/operations HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nIdempotency-Key: k\r\nContent-Type: application/json\r\n%s\r\n", token, head)
		if err != nil {
			t.Fatal(err)
		}
		part := strings.Repeat(" ", 3<<20)
		if strings.HasPrefix(head, "Transfer") {
			part = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(part), part)
		}
		if _, err := io.WriteString(connection, part); err != nil {
			t.Errorf("%s: the body could not be written: %v", strings.TrimSpace(head), err)
		}
		line, err := bufio.NewReader(connection).ReadString('\n')
		if err != nil || !strings.Contains(line, " 413 ") {
			t.Errorf("%s: %q, %v", strings.TrimSpace(head), line, err)
		}
		_ = connection.Close()
	}
}
