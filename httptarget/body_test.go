package httptarget_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/httptarget"
)

// zipped compresses a text.
func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// head begins an answer of status 201.
func head(fields ...string) string {
	return "HTTP/1.1 201 Created\r\n" + strings.Join(append(fields, "", ""), "\r\n")
}

// sized is an answer with a body of a length.
func sized(body string, fields ...string) string {
	return head(append(fields, fmt.Sprintf("Content-Length: %d", len(body)))...) + body
}

// How much of an answer is taken, and what is said of it. Complete is said of
// a body that ended as it was announced and of no other; a status that was read
// is told in every case.
func TestHowAnAnswerEnds(t *testing.T) {
	t.Parallel()
	const limit = 1000
	big, full := strings.Repeat("b", limit+1), strings.Repeat("f", limit)
	bomb := zipped(t, strings.Repeat("0", 8<<20))
	empties := strings.Repeat(zipped(t, ""), limit)
	reset := func(text string) func(*peer) { return whenRead(func(p *peer) { p.say(text); p.reset() }) }
	says := func(text string) func(*peer) { return whenRead(func(p *peer) { p.say(text) }) }
	for _, c := range []struct {
		name     string
		handle   func(*peer)
		failure  string
		body     string
		status   int
		complete bool
	}{
		{"a length", says(sized("{}")), "", "{}", 201, true},
		{"empty", says(sized("")), "", "", 201, true},
		{"full", says(sized(full)), "", full, 201, true},
		{"chunks", says(head("Transfer-Encoding: chunked") + "1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"), "", "{}", 201, true},
		{"chunks with a trailer", says(head("Transfer-Encoding: chunked") + "2\r\n{}\r\n0\r\nDigest: x\r\n\r\n"), "", "{}", 201, true},
		{"until the end", says(head() + "{}"), "", "{}", 201, true},
		{"until the end, HTTP/1.0", says("HTTP/1.0 201 Created\r\n\r\n{}"), "", "{}", 201, true},
		{"no content", says("HTTP/1.1 204 No Content\r\n\r\n"), "", "", 204, true},
		{"line feeds alone", says("HTTP/1.1 201 Created\nContent-Length: 2\n\n{}"), "", "{}", 201, true},
		{"HTML", says(sized("<html>", "Content-Type: text/html")), "", "<html>", 201, true},
		{"shorter than announced", says(head("Content-Length: 9") + "{}"), "cut_body", "{}", 201, false},
		{"longer than announced", says(head("Content-Length: 2") + "{}{}"), "", "{}", 201, true},
		{"a gigabyte announced", says(head("Content-Length: 1073741824") + "{}"), "cut_body", "{}", 201, false},
		{"a gigabyte", says(head("Content-Length: 1073741824") + big), "too_large", big[:limit], 201, false},
		{"too long", says(sized(big)), "too_large", big[:limit], 201, false},
		{"too long without a length", says(head() + big), "too_large", big[:limit], 201, false},
		{"too long in chunks", says(head("Transfer-Encoding: chunked") + "3e9\r\n" + big + "\r\n0\r\n\r\n"), "too_large", big[:limit], 201, false},
		{"no last chunk", says(head("Transfer-Encoding: chunked") + "2\r\n{}\r\n"), "cut_body", "{}", 201, false},
		{"half a chunk", says(head("Transfer-Encoding: chunked") + "4\r\n{}"), "cut_body", "{}", 201, false},
		{"no chunk", says(head("Transfer-Encoding: chunked") + "zz\r\n{}"), "protocol", "", 201, false},
		{"two lengths", says(head("Content-Length: 2", "Content-Length: 3") + "{}"), "protocol", "", 201, false},
		{"a negative length", says(head("Content-Length: -2") + "{}"), "protocol", "", 201, false},
		{"unknown framing", says(head("Transfer-Encoding: rot13") + "{}"), "protocol", "", 201, false},
		{"reset within a length", reset(head("Content-Length: 9") + "{}"), "cut_body", "", 201, false},
		{"reset without a length", reset(head() + "{}"), "cut_body", "", 201, false},
		{"gzip", says(sized(zipped(t, "{}"), "Content-Encoding: gzip")), "", "{}", 201, true},
		{"gzip, empty", says(sized("", "Content-Encoding: gzip")), "", "", 201, true},
		{"gzip in chunks", says(head("Transfer-Encoding: chunked", "Content-Encoding: GZIP") + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(zipped(t, "{}")), zipped(t, "{}"))), "", "{}", 201, true},
		{"gzip bomb", says(sized(bomb, "Content-Encoding: gzip")), "too_large", strings.Repeat("0", limit), 201, false},
		{"gzip of nothing, without end", says(sized(empties, "Content-Encoding: gzip")), "too_large", "", 201, false},
		{"no gzip", says(sized("{}", "Content-Encoding: gzip")), "bad_encoding", "", 201, false},
		{"half a gzip", says(sized(zipped(t, "{}")[:20], "Content-Encoding: gzip")), "bad_encoding", "{}", 201, false},
		{"gzip cut off", says(head("Content-Length: 99", "Content-Encoding: gzip") + zipped(t, "{}")[:20]), "cut_body", "{}", 201, false},
		{"another coding", says(sized("\x1b\x2f", "Content-Encoding: br")), "bad_encoding", "", 201, false},
		{"two codings", says(sized(zipped(t, "{}"), "Content-Encoding: gzip, gzip")), "bad_encoding", "", 201, false},
		{"a long head", says("HTTP/1.1 201 Created\r\nA: " + strings.Repeat("a", httptarget.MaxHead) + "\r\n\r\n"), "too_large", "", 201, false},
		{"many fields", says("HTTP/1.1 201 Created\r\n" + strings.Repeat("A: b\r\n", httptarget.MaxHead/6) + "\r\n"), "too_large", "", 201, false},
		{"interim answers without end", says(strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 100)), "protocol", "", 0, false},
		{"long interim answers", says(strings.Repeat("HTTP/1.1 103 Early Hints\r\nA: "+strings.Repeat("a", 8000)+"\r\n\r\n", 12)), "too_large", "", 0, false},
		{"another protocol", says("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"), "protocol", "", 101, false},
		{"no HTTP", says("SSH-2.0-OpenSSH_9.2\r\n"), "protocol", "", 0, false},
		{"HTTP/2", says("\x00\x00\x12\x04\x00\x00\x00\x00\x00"), "protocol", "", 0, false},
		{"a status of two digits", says("HTTP/1.1 20 OK\r\n\r\n"), "protocol", "", 0, false},
		{"a status of nothing", says("HTTP/1.1 000 OK\r\nContent-Length: 2\r\n\r\n{}"), "protocol", "", 0, false},
		{"half a status line", says("HTTP/1.1 201"), "no_answer", "", 0, false},
		{"half a head", says("HTTP/1.1 201 Created\r\nA: b"), "cut_body", "", 201, false},
		{"a broken head", says("HTTP/1.1 201 Created\r\nno colon\r\n\r\n"), "protocol", "", 201, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, nil, c.handle)
			x := carrier(t, func(o *httptarget.Options) { o.MaxBody = limit }).Carry(t.Context(), write(s.url(), true, body(10)))
			if x.Failure != c.failure || x.Status != c.status || x.Complete != c.complete || x.NotSent {
				t.Errorf("status %d, complete %v, failure %q, NotSent %v: %s", x.Status, x.Complete, x.Failure, x.NotSent, x.Detail)
			}
			// How much of what stood before a reset is still there is the kernel's business.
			if string(x.Body) != c.body && !strings.HasPrefix(c.name, "reset") {
				t.Errorf("body %.80q, want %.80q", x.Body, c.body)
			}
			kind := onefold.EvidenceResponse
			if c.status == 0 {
				kind = onefold.EvidenceTransport
			}
			if x.Evidence.Kind != kind || x.Evidence.Asserts != onefold.AssertsNothing || x.Evidence.Status != c.status {
				t.Errorf("evidence %s, %s, status %d", x.Evidence.Kind, x.Evidence.Asserts, x.Evidence.Status)
			}
			if (x.Detail == "") != (x.Failure == "") {
				t.Errorf("failure %q with detail %q", x.Failure, x.Detail)
			}
		})
	}
}

// The evidence of an answer: headers of the list and no others, the digest of
// the body, an excerpt without control characters, counts.
func TestTheEvidenceOfAnAnswer(t *testing.T) {
	t.Parallel()
	text := "{\"id\":\"B-1\",\"note\":\"a\x1b[31m\u202eb\xff\"}\n"
	s := serve(t, nil, whenRead(func(p *peer) {
		p.say(sized(text, "X-Request-Id: r-1", "Idempotent-Replayed: true", "Set-Cookie: session="+canary, "X-Other: "+canary,
			"Location: https://"+"erp.example/bills?token="+canary, "Retry-After: 3", "Etag: \"1\""))
	}))
	x := carrier(t, nil).Carry(t.Context(), write(s.url(), true, body(10)))
	e := x.Evidence
	sum := sha256.Sum256([]byte(text))
	if string(x.Body) != text || e.Digest != hex.EncodeToString(sum[:]) {
		t.Errorf("body %q, digest %s", x.Body, e.Digest)
	}
	if want := `{"id":"B-1","note":"a\u001b[31m\u202eb` + "\uFFFD" + `"}\n`; e.Excerpt != want {
		t.Errorf("excerpt %q, want %q", e.Excerpt, want)
	}
	want := map[string]string{
		"X-Request-Id": "r-1", "Idempotent-Replayed": "true", "Location": "erp.example", "Retry-After": "3", "Etag": `"1"`,
		"Content-Length": fmt.Sprint(len(text)),
	}
	if fmt.Sprint(e.Headers) != fmt.Sprint(want) {
		t.Errorf("headers %v", e.Headers)
	}
	if strings.Contains(fmt.Sprintf("%+v", e), canary) {
		t.Errorf("evidence %+v", e)
	}
	judged := map[string]string{}
	for _, h := range x.Headers {
		judged[h.Name] = h.Value
	}
	if judged["Set-Cookie"] == "" || judged["X-Other"] == "" || len(judged) != 8 {
		t.Errorf("for judging: %v", judged)
	}
	s.stop()
	if _, size := s.seen(); e.BytesOut != int64(size) || e.BytesIn != int64(len(sized(text)))+headerBytes(x) || e.Took <= 0 {
		t.Errorf("%d bytes out of %d, %d bytes in, took %v", e.BytesOut, size, e.BytesIn, e.Took)
	}
}

// headerBytes is how many bytes the fields but Content-Length took.
func headerBytes(x onefold.Exchange) int64 {
	n := 0
	for _, h := range x.Headers {
		if h.Name != "Content-Length" {
			n += len(h.Name) + len(": ") + len(h.Value) + len("\r\n")
		}
	}
	return int64(n)
}

// A look-up's evidence says that it is one, and HEAD has no body to wait for.
func TestTheEvidenceOfALookup(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, whenRead(func(p *peer) { p.say("HTTP/1.1 404 Not Found\r\nContent-Length: 40\r\n\r\n") }))
	d := lookup(s.url(), "/bills/7")
	d.Request.Method = http.MethodHead
	x := carrier(t, nil).Carry(t.Context(), d)
	if x.Evidence.Kind != onefold.EvidenceLookup || x.Status != http.StatusNotFound || !x.Complete {
		t.Errorf("%s, status %d, failure %q: %s", x.Evidence.Kind, x.Status, x.Failure, x.Detail)
	}
}
