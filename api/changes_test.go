package api_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/api"
	"github.com/onefold-dev/onefold/contract"
	"github.com/onefold-dev/onefold/internal/ids"
	"github.com/onefold-dev/onefold/sqlite"
)

// follower is a pull consumer: it keeps one cursor and nothing else.
type follower struct {
	h      *house
	token  string
	cursor string
	seen   []map[string]any
}

// pull asks for one page and returns how many changes came.
func (f *follower) pull(limit int) int {
	f.h.t.Helper()
	query := fmt.Sprint("?limit=", limit)
	if f.cursor != "" {
		query += "&cursor=" + url.QueryEscape(f.cursor)
	}
	page := f.h.call("GET", "/v1/changes"+query, f.token, nil).wants(f.h.t, 200, "")
	items := page.items()
	if len(items) > limit {
		f.h.t.Errorf("%d changes where %d were asked for", len(items), limit)
	}
	if n := len(items); n > 0 && items[n-1]["cursor"] != page.text("next_cursor") {
		f.h.t.Errorf("the page goes on elsewhere than after its last change: %s", page.raw)
	}
	f.seen = append(f.seen, items...)
	f.cursor = page.text("next_cursor")
	return len(items)
}

// one is a change in a line.
func one(change map[string]any) string {
	return fmt.Sprint(change["operation"], " ", change["event"], " ", change["version"])
}

// Proves: M28, I5
func TestChangesTellEverythingInOrder(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	f := &follower{h: h, token: h.token("acme", onefold.RoleOperate)}
	if f.pull(10) != 0 || f.cursor == "" {
		t.Fatal("before the first change there is no cursor to go on from")
	}
	start := f.cursor
	h.uncertain("umbrella")
	op := h.uncertain("acme")
	h.fresh("umbrella")
	second := h.fresh("acme")
	h.act(op, "resolve", map[string]any{"outcome": "confirmed", "reference": "B-1", "reason": "seen"}).wants(t, 200, "")
	h.call("POST", "/v1/operations", h.token("acme", onefold.RoleSubmit), bill("acme", "99.00"), key(h.call("GET", "/v1/operations/"+second, f.token, nil).text("idempotency_key"))).wants(t, 422, onefold.CodeKeyConflict)
	for f.pull(2) > 0 {
	}
	var got []string
	for _, change := range f.seen {
		got = append(got, one(change))
	}
	want := []string{
		op.ID + " admitted 1", op.ID + " begun 2", op.ID + " answered 3",
		second + " admitted 1", op.ID + " resolved 4", second + " noted 1",
	}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("the changes are\n%s\nwanted\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	last := f.seen[len(f.seen)-2]
	if last["from"] != "uncertain" || last["to"] != "confirmed" || last["actor"].(map[string]any)["name"] != "maria" || last["reason"] != "seen" || last["at"] == nil {
		t.Errorf("a change: %v", last)
	}
	// Every change's own cursor goes on after it, and at the end the cursor stays good.
	for i, change := range f.seen {
		g := &follower{h: h, token: h.token("acme", onefold.RoleRead), cursor: change["cursor"].(string)}
		if g.pull(200); len(g.seen) != len(f.seen)-i-1 {
			t.Errorf("after change %d come %d", i, len(g.seen))
		}
	}
	again := &follower{h: h, token: f.token, cursor: start}
	if again.pull(200); len(again.seen) != len(f.seen) {
		t.Errorf("from the cursor before the first change come %d", len(again.seen))
	}
	h.fresh("acme")
	if f.pull(200) != 1 {
		t.Error("the next change does not come after the last cursor")
	}
}

// Many write at once, in both workspaces, and steps fail between; a slow reader and
// a quick one see the same changes in the same order, each one time.
// Proves: M28, I5
func TestChangesAreNeitherSkippedNorRepeated(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	tokens := map[string]string{"acme": h.token("acme", onefold.RoleSubmit, onefold.RoleRead), "umbrella": h.token("umbrella", onefold.RoleSubmit)}
	reader := h.token("acme", onefold.RoleRead)
	const writers, each = 8, 12
	var writing sync.WaitGroup
	for w := range writers {
		workspace := []string{"acme", "umbrella"}[w%2]
		writing.Go(func() {
			for i := range each {
				k := fmt.Sprintf("w%d-%d", w, i)
				h.call("POST", "/v1/operations", tokens[workspace], bill(workspace, "1.00"), key(k))
				h.call("POST", "/v1/operations", tokens[workspace], bill(workspace, "2.00"), key(k)) // refused, and noted
				h.call("POST", "/v1/operations", tokens[workspace], bill(workspace, "x"), key(k+"-wrong"))
				if workspace == "acme" {
					h.call("POST", "/v1/operations:batch", tokens[workspace], map[string]any{"items": []any{entry(k+"-b", "1.00"), entry(k+"-c", "1.00")}})
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() { writing.Wait(); close(ended) }()
	quick, slow := &follower{h: h, token: reader}, &follower{h: h, token: reader}
	for running := true; running; {
		select {
		case <-ended:
			running = false
		default:
		}
		quick.pull(200)
		slow.pull(1)
	}
	for quick.pull(200) > 0 {
	}
	for slow.pull(7) > 0 {
	}
	seen := map[string]int{}
	for i, change := range quick.seen {
		seen[one(change)]++
		if i >= len(slow.seen) || slow.seen[i]["cursor"] != change["cursor"] {
			t.Fatalf("change %d differs between the readers", i)
		}
	}
	const wanted = writers / 2 * each * 4 // admitted, noted, and two of a batch
	if len(quick.seen) != wanted || len(slow.seen) != wanted || len(seen) != wanted {
		t.Errorf("%d and %d changes, %d different, wanted %d", len(quick.seen), len(slow.seen), len(seen), wanted)
	}
}

// A cursor shows nothing of the store's own numbers, belongs to its list and its
// workspace, and is nonsense everywhere else, as anything made up is.
// Proves: I5
func TestCursorsAreOpaqueAndBoundToTheirWorkspace(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	all := []onefold.Role{onefold.RoleSubmit, onefold.RoleRead, onefold.RoleOperate}
	cursorsOf := func(workspace string) map[string]string {
		out := map[string]string{}
		for _, list := range []string{"/v1/operations", "/v1/reviews", "/v1/changes"} {
			out[list] = h.call("GET", list+"?limit=1", h.token(workspace, all...), nil).wants(t, 200, "").text("next_cursor")
			if out[list] == "" {
				t.Fatalf("%s has no second page", list)
			}
		}
		return out
	}
	fill := func(workspace string) {
		for range 2 {
			h.call("POST", "/v1/operations", h.token(workspace, all...), map[string]any{"capability": "payments.send", "request": map[string]any{}}, key(h.ledger.NewID("k"))).wants(t, 201, "")
			h.clock.Advance(time.Second)
		}
	}
	fill("acme")
	fill("umbrella")
	ours, theirs := cursorsOf("acme"), cursorsOf("umbrella")
	token := h.token("acme", all...)
	ask := func(list, cursor string) said {
		return h.call("GET", list+"?limit=1&cursor="+url.QueryEscape(cursor), token, nil)
	}
	for list, cursor := range ours {
		ask(list, cursor).wants(t, 200, "")
		nonsense := requestID.ReplaceAllString(string(ask(list, "nonsense").wants(t, 400, onefold.CodeParameterInvalid).raw), "")
		changed := []byte(cursor)
		changed[len(changed)/2] ^= 1
		wrong := map[string]string{
			"another workspace's": theirs[list], "changed": string(changed), "cut": cursor[:len(cursor)-3], "longer": cursor + "AAAA",
			"padded": cursor + "=", "a place in plain": base64.RawURLEncoding.EncodeToString([]byte("1.0.0")), "a number": "1",
		}
		for other, foreign := range ours {
			if other != list {
				wrong["of "+other] = foreign
			}
		}
		for name, text := range wrong {
			if got := requestID.ReplaceAllString(string(ask(list, text).wants(t, 400, onefold.CodeParameterInvalid).raw), ""); got != nonsense {
				t.Errorf("%s: a cursor that is %s answers otherwise than nonsense:\n%s\n%s", list, name, got, nonsense)
			}
		}
	}
	// The length is the same, however far the store has counted.
	before := h.call("GET", "/v1/changes?limit=1", token, nil).text("next_cursor")
	items := make([]any, 400)
	for i := range items {
		items[i] = entry(fmt.Sprint("many-", i), "1.00")
	}
	h.batch(token, items...)
	f := &follower{h: h, token: token}
	for f.pull(200) > 0 {
	}
	if len(f.cursor) != len(before) || f.cursor == before {
		t.Errorf("the cursors' lengths are %d and %d", len(before), len(f.cursor))
	}
	// The first change is what it was: its place has not moved, nor has its cursor.
	if now := h.call("GET", "/v1/changes?limit=1", token, nil).text("next_cursor"); now != before {
		t.Error("the same place has two cursors")
	}
}

// After a backup was restored a cursor from the time that was lost is refused: to
// go on from it would pass over what happened since.
// Proves: I5, M28
func TestACursorFromALostTimeIsRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead)
	h.submitted("acme", token, "kept")
	backup := filepath.Join(t.TempDir(), "backup.db")
	f := &follower{h: h, token: token}
	f.pull(10)
	kept := f.cursor

	// The backup is the file as it is now; what follows is lost.
	copyLedger(t, h, backup)
	h.clock.Advance(time.Second)
	h.submitted("acme", token, "lost")
	f.pull(10)
	lost := f.cursor

	store, err := sqlite.Open(ctx, sqlite.Options{Path: backup, Driver: "sqlite", Now: h.clock.Now, IDs: ids.Random{}})
	h.must(err)
	t.Cleanup(func() { _ = store.Close() })
	restored := newHouse(t, func(c *api.Config) {
		ledger, err := onefold.New(store, onefold.Config{Contracts: c.Ledger.Contracts(), IDs: ids.Random{}, Now: h.clock.Now, Deployment: h.ledger.Deployment()})
		if err != nil {
			t.Fatal(err)
		}
		c.Ledger, c.Catalog, c.Now = ledger, contract.NewCatalog(h.registry, contract.CatalogOptions{}), h.clock.Now
	})
	at := func(cursor string) said {
		return restored.call("GET", "/v1/changes?cursor="+url.QueryEscape(cursor), token, nil)
	}
	at(lost).wants(t, 400, onefold.CodeParameterInvalid)
	if now := at(kept).wants(t, 200, ""); len(now.items()) != 0 {
		t.Errorf("the kept cursor: %s", now.raw)
	}
	h.clock.Advance(time.Second)
	restored.call("POST", "/v1/operations", token, bill("acme", "1.00"), key("after")).wants(t, 201, "")
	// The number of the lost change belongs to another one now.
	refused := at(lost).wants(t, 400, onefold.CodeParameterInvalid)
	if refused.text("parameter") != "cursor" || !strings.Contains(refused.text("detail"), "backup") {
		t.Errorf("a cursor from a lost time: %s", refused.raw)
	}
	if now := at(kept).wants(t, 200, ""); len(now.items()) != 1 {
		t.Errorf("the kept cursor: %s", now.raw)
	}
}

// copyLedger copies the house's file as VACUUM INTO leaves it.
func copyLedger(t *testing.T, h *house, to string) {
	t.Helper()
	db := openReadOnly(t, h.path)
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "VACUUM INTO ?1", to); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(to); err != nil || info.Size() == 0 {
		t.Fatalf("no backup: %v", err)
	}
}

// Every call's id is in its answer's header, in the refusal's body and in the log.
func TestRequestIds(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	seen := map[string]bool{}
	for _, call := range []string{"GET /livez", "GET /problems/internal", "GET /nothing", "DELETE /v1/operations", "GET /v1/operations", "POST /v1/operations", "HEAD /v1/stats", "GET /v1/changes?limit=0", "POST /v1/operations:batch"} {
		method, path, _ := strings.Cut(call, " ")
		answer := h.call(method, path, h.token("acme", onefold.Roles()...), nil)
		id := answer.header.Get("Request-Id")
		if seen[id] || !requestID.MatchString(id) || !strings.Contains(h.log.String(), `"request_id":"`+id+`"`) {
			t.Errorf("%s: Request-Id %q, and the log says\n%s", call, id, h.log)
		}
		if answer.status >= http.StatusBadRequest && answer.text("request_id") != id {
			t.Errorf("%s: %s", call, answer.raw)
		}
		seen[id] = true
	}
}
