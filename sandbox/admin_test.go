package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold/sandbox"
)

func TestEmptyListsAreLists(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, path := range []string{"effects", "requests", "faults"} {
		got := w.send("GET", "/admin/"+path, "")
		expect(t, path, fmt.Sprint(got.status, " ", got.body), "200 []\n")
	}
	expect(t, "summary", w.send("GET", "/admin/summary", "").body, `{"effects":0,"requests":0,"duplicates":[]}`+"\n")
}

func TestEffectsAndRequestsByFilter(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.send("POST", "/bills", bill("r-1"), "Idempotency-Key", "k-1")
	w.send("POST", "/acct/a/bills", bill("r-1"), "Idempotency-Key", "k-1")
	w.send("POST", "/bills", bill(""), "Idempotency-Key", "k-2")
	w.send("POST", "/bills", `{}`, "Idempotency-Key", "k-3")
	for query, want := range map[string][2]int{
		"":                              {3, 4},
		"?reference=r-1":                {2, 2},
		"?reference=k-2":                {1, 1},
		"?account=":                     {2, 3},
		"?account=a":                    {1, 1},
		"?reference=r-1&account=a":      {1, 1},
		"?after_seq=2":                  {1, 2},
		"?after_seq=0&reference=absent": {0, 0},
	} {
		for i, path := range []string{"effects", "requests"} {
			var list []map[string]any
			got := w.send("GET", "/admin/"+path+query, "")
			if err := json.Unmarshal([]byte(got.body), &list); err != nil {
				t.Fatal(err)
			}
			expect(t, path+query, len(list), want[i])
		}
	}
	var effects []map[string]any
	if err := json.Unmarshal([]byte(w.send("GET", "/admin/effects?account=a", "").body), &effects); err != nil {
		t.Fatal(err)
	}
	delete(effects[0], "record")
	expect(t, "an effect", fmt.Sprint(effects[0]), "map[account:a at:2026-03-01T12:00:00Z collection:bills id:BILL-1002 "+
		"idempotency_key:k-1 reference:r-1 request_seq:2 seq:2 visible_at:2026-03-01T12:00:00Z]")
	var requests []map[string]any
	if err := json.Unmarshal([]byte(w.send("GET", "/admin/requests?after_seq=3", "").body), &requests); err != nil {
		t.Fatal(err)
	}
	delete(requests[0], "connection")
	expect(t, "a request", fmt.Sprint(requests[0]), "map[account: at:2026-03-01T12:00:00Z body_bytes:2 "+
		"body_digest:sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a collection:bills complete:true "+
		"fault: idempotency_key:k-3 method:POST outcome:answered path:/bills query: reference:k-3 seq:4 status:422]")
}

func TestListsAreWholeBeyondOnePage(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.fault(sandbox.Fault{Kind: sandbox.Status, Status: 500, Times: 600})
	for range 601 {
		w.send("POST", "/bills", bill(""))
	}
	expect(t, "requests", len(w.requests()), 601)
	expect(t, "effects", len(w.effects()), 1)
}

func TestAdminStrictness(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, c := range []struct{ method, path, body, want string }{
		{"GET", "/admin", "", "404 not_found"},
		{"GET", "/admin/", "", "404 not_found"},
		{"GET", "/admin/effect", "", "404 not_found"},
		{"POST", "/admin/effects", "{}", "405 method_not_allowed"},
		{"DELETE", "/admin/requests", "", "405 method_not_allowed"},
		{"GET", "/admin/effects?ref=x", "", "400 invalid"},
		{"GET", "/admin/effects?after_seq=x", "", "400 invalid"},
		{"GET", "/admin/effects?after_seq=-1", "", "400 invalid"},
		{"GET", "/admin/requests?account=a&account=b", "", "400 invalid"},
		{"GET", "/admin/faults?reference=x", "", "400 invalid"},
		{"GET", "/admin/summary?reference=x", "", "400 invalid"},
		{"POST", "/admin/reset", "", "403 not_enabled"},
	} {
		got := w.send(c.method, c.path, c.body)
		expect(t, c.method+" "+c.path, fmt.Sprint(got.status, " ", got.member("code")), c.want)
	}
	expect(t, "none of it is in the log", len(w.requests()), 0)
}

func TestFaultsThatMakeNoSenseAreRefusedWithTheirPlace(t *testing.T) {
	t.Parallel()
	w := start(t)
	for body, member := range map[string]string{
		``:                               "",
		`null`:                           "",
		`7`:                              "",
		`[]`:                             "",
		`{}`:                             "/kind",
		`{"kind":"explode"}`:             "/kind",
		`{"kind":7}`:                     "/kind",
		`{"Kind":"hang"}`:                "/Kind",
		`{"kind":null}`:                  "/kind",
		`{"kind":"hang","kind":"hang"}`:  "",
		`{"kind":"hang"}x`:               "",
		`{"kind":"hang","colour":"r"}`:   "/colour",
		`{"kind":"hang","id":"F-1"}`:     "/id",
		`{"kind":"hang","times":0}`:      "/times",
		`{"kind":"hang","times":-1}`:     "/times",
		`{"kind":"hang","times":1.5}`:    "/times",
		`{"kind":"hang","method":"PUT"}`: "/method",
		`{"kind":"hang","path":"bills"}`: "/path",
		`{"kind":"hang","status":500}`:   "/status",
		`{"kind":"hang","before":5}`:     "/before",
		`{"kind":"hang","before":"5"}`:   "/before",
		`{"kind":"hang","before":"-5s"}`: "/before",
		`{"kind":"hang","before":"2h"}`:  "/before",
		`{"kind":"hang","lag":"5s"}`:     "/lag",
		`{"kind":"delay"}`:               "/before",
		`{"kind":"lag"}`:                 "/lag",

		`{"kind":"lag","lag":"1s","method":"GET"}`:         "/method",
		`{"kind":"twice","method":"GET"}`:                  "/method",
		`{"kind":"twice","effect":true}`:                   "/effect",
		`{"kind":"hang","protected":true}`:                 "/protected",
		`{"kind":"status"}`:                                "/status",
		`{"kind":"status","status":199}`:                   "/status",
		`{"kind":"status","status":"500"}`:                 "/status",
		`{"kind":"status","status":500,"bytes":1}`:         "/bytes",
		`{"kind":"status","status":500,"lag":"1s"}`:        "/lag",
		`{"kind":"cut","bytes":-1}`:                        "/bytes",
		`{"kind":"cut","of":"head"}`:                       "/of",
		`{"kind":"html","of":"body"}`:                      "/of",
		`{"kind":"hang","body":"x"}`:                       "/body",
		`{"kind":"hang","headers":{"A":"b"}}`:              "/headers",
		`{"kind":"html","headers":{"A":"b\r\nC: d"}}`:      "/headers/A",
		`{"kind":"html","headers":{"A b":"c"}}`:            "/headers/A b",
		`{"kind":"html","headers":{"content-length":"1"}}`: "/headers/content-length",
		`[{"kind":"hang"},{"kind":"hang","x":1}]`:          "/1/x",
		`[{"kind":"hang"},{"kind":"lag"}]`:                 "/1/lag",
		`[{"kind":"hang"},7]`:                              "/1",
	} {
		got := w.send("POST", "/admin/faults", body)
		expect(t, body, fmt.Sprint(got.status, got.member("code"), " ", got.member("member")), "400invalid "+member)
	}
	expect(t, "queued", w.send("GET", "/admin/faults", "").body, "[]\n")
	_, err := w.AddFault(context.Background(), sandbox.Fault{Kind: sandbox.Lag})
	var wrong *sandbox.FaultError
	expect(t, "in Go, too", errors.As(err, &wrong) && wrong.Member == "/lag", true)
}

func TestFaultsByTheAdminAPI(t *testing.T) {
	t.Parallel()
	w := start(t)
	one := w.send("POST", "/admin/faults", `{"kind":"status","status":503,"effect":true,"body":{"a":1.0},"times":2,"after":"1500ms","external_ref":"r-1"}`)
	expect(t, "created", one.status, 201)
	want := `{"id":"F-1","kind":"status","method":"POST","external_ref":"r-1","times":2,"after":"1.5s","effect":true,"status":503,` +
		`"body":"{\"a\":1.0}","queued_at":"2026-03-01T12:00:00Z","remaining":2,"cleared":false,"fired":[]}`
	expect(t, "as queued", one.body, want+"\n")
	list := w.send("POST", "/admin/faults", `[{"kind":"hang","external_ref":"never"},{"kind":"drop_before"}]`)
	expect(t, "a list gives a list", list.status == 201 && strings.HasPrefix(list.body, `[{"id":"F-2"`), true)

	w.clock.advance(time.Second)
	_, _ = w.raw("POST", "/bills", bill("r-2"))
	expect(t, "fired", strings.Contains(w.send("GET", "/admin/faults", "").body,
		`"remaining":0,"cleared":false,"fired":[{"request_seq":1,"at":"2026-03-01T12:00:01Z","effects":0}]`), true)
	expect(t, "cleared", w.send("DELETE", "/admin/faults", "").body, `{"cleared":2}`+"\n")
	expect(t, "spared", w.send("POST", "/bills", bill("r-1")).status, 201)
	all, err := w.Faults(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for i, cleared := range []bool{true, true, false} {
		expect(t, all[i].ID+" cleared", all[i].Cleared, cleared)
	}
}

func TestOversizedFaultsAreRefused(t *testing.T) {
	t.Parallel()
	w := start(t)
	got := w.send("POST", "/admin/faults", `{"kind":"html","body":"`+strings.Repeat("x", 3<<20)+`"}`)
	expect(t, "answer", fmt.Sprint(got.status, got.member("code")), "413too_large")
	expect(t, "queued", w.send("GET", "/admin/faults", "").body, "[]\n")
}

func TestQueueHasALimitAndTakesAllOrNone(t *testing.T) {
	t.Parallel()
	w := start(t)
	many := make([]sandbox.Fault, sandbox.MaxQueuedFaults)
	for i := range many {
		many[i] = sandbox.Fault{Kind: sandbox.Hang, ExternalRef: "never"}
	}
	if _, err := w.AddFaults(context.Background(), many); err != nil {
		t.Fatal(err)
	}
	full := w.send("POST", "/admin/faults", `{"kind":"hang"}`)
	expect(t, "full", fmt.Sprint(full.status, full.member("code")), "409queue_full")
	all, err := w.Faults(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "queued", len(all), sandbox.MaxQueuedFaults)
}

func TestResetForgetsEverythingWhereItIsAllowed(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *sandbox.Options) { o.AllowReset = true })
	w.fault(sandbox.Fault{Kind: sandbox.Hang, ExternalRef: "never"})
	w.send("POST", "/bills", bill("r-1"), "Idempotency-Key", "k-1")
	expect(t, "reset", w.send("POST", "/admin/reset", "").body, `{"reset":true}`+"\n")
	expect(t, "summary", w.send("GET", "/admin/summary", "").body, `{"effects":0,"requests":0,"duplicates":[]}`+"\n")
	expect(t, "faults", w.send("GET", "/admin/faults", "").body, "[]\n")
	anew := w.send("POST", "/bills", bill("r-1"), "Idempotency-Key", "k-1")
	expect(t, "key and reference are free", anew.member("id"), "BILL-1001")
	expect(t, "sequence numbers go on", w.last().Seq, int64(2))
}

func TestLoopbackOnlyUnlessAllowed(t *testing.T) {
	t.Parallel()
	w := start(t)
	_, err := w.Listen(context.Background(), "0.0.0.0:0")
	expect(t, "Listen refuses", errors.Is(err, sandbox.ErrNotLoopback), true)
	l, err := net.Listen("tcp", "0.0.0.0:0") //nolint:gosec // such a listener is what has to be refused
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "Serve refuses", errors.Is(w.Serve(context.Background(), l), sandbox.ErrNotLoopback), true)
	local, err := w.Listen(context.Background(), ":0")
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "no host is loopback", strings.HasPrefix(local.Addr().String(), "127.0.0.1:"), true)
	_ = local.Close()

	open := start(t, func(o *sandbox.Options) { o.AllowRemote = true })
	remote, err := open.Listen(context.Background(), "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = remote.Close()
}
