package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/api"
	"github.com/onefold-dev/onefold/internal/ids"
)

// entry is one submission of a batch.
func entry(key, total string, change ...func(map[string]any)) map[string]any {
	item := bill("acme", total)
	item["idempotency_key"] = key
	for _, f := range change {
		f(item)
	}
	return item
}

func set(name string, value any) func(map[string]any) {
	return func(m map[string]any) { m[name] = value }
}

func without(name string) func(map[string]any) { return func(m map[string]any) { delete(m, name) } }

// batch submits items in one call and returns their results.
func (h *house) batch(token string, items ...any) []map[string]any {
	h.t.Helper()
	answer := h.call("POST", "/v1/operations:batch", token, map[string]any{"items": items}).wants(h.t, http.StatusOK, "")
	results := answer.items()
	if len(results) != len(items) {
		h.t.Fatalf("%d results for %d submissions: %s", len(results), len(items), answer.raw)
	}
	return results
}

// outcome is a result in one line: its status, and code or id.
func outcome(result map[string]any) string {
	text := fmt.Sprint(result["status"])
	if problem, ok := result["problem"].(map[string]any); ok {
		text += " " + problem["code"].(string)
		for _, member := range []string{"pointer", "reason", "claim"} {
			if said, there := problem[member]; there {
				text += " " + said.(string)
			}
		}
	}
	return text
}

// Every submission of a batch is judged by itself: those that are wrong in any
// way harm none of the others, and each answers what it would have answered alone.
// Proves: I1, I3a, I10, M25
func TestBatchJudgesEachByItself(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead)
	known := h.submitted("acme", token, "known")
	deep := any("x")
	for range 65 {
		deep = []any{deep}
	}
	cases := []struct {
		item any
		want string
	}{
		{entry("b-0", "1.00"), "201"},
		{entry("known", "10.00"), "200"},
		{entry("known", "11.00"), "422 key_conflict none"},
		{entry("b-1", "1.00", set("capabilty", "x")), "400 unknown_member /capabilty unchecked"},
		{entry("b-2", "1.00", set("contract_version", "1")), "400 member_invalid /contract_version unchecked"},
		{entry("b-3", "1.00", without("request")), "400 member_invalid /request unchecked"},
		{entry("b-4", "1.00", without("idempotency_key")), "400 key_required /idempotency_key unchecked"},
		{entry("b-4", "1.00", set("idempotency_key", nil)), "400 key_required /idempotency_key unchecked"},
		{entry("b-4", "1.00", set("idempotency_key", 7)), "400 member_invalid /idempotency_key unchecked"},
		{entry("", "1.00"), "400 key_invalid /idempotency_key empty unchecked"},
		{entry("a b", "1.00"), "400 key_invalid /idempotency_key white_space unchecked"},
		{entry(strings.Repeat("k", 256), "1.00", set("x", 1)), "400 key_invalid /idempotency_key length unchecked"},
		{entry(`"b-0"`, "1.00"), "400 key_invalid /idempotency_key leading_quote unchecked"}, // as a header it would be b-0
		{"text", "400 member_invalid  unchecked"},
		{nil, "400 member_invalid  unchecked"},
		{[]any{}, "400 member_invalid  unchecked"},
		{entry("b-5", "1.00", set("capability", "none.such")), "404 capability_unknown none"},
		{entry("b-6", "1.00", set("connection", "umbrella-erp")), "404 connection_unknown none"},
		{entry("b-7", "1.00", set("request", map[string]any{"supplier_id": ""})), "422 request_invalid none"},
		{entry("b-8", "1.00", set("request", deep)), "400 json_invalid depth unchecked"},
		{entry("b-9", "1.00", set("start_deadline", "2020-01-01T00:00:00Z")), "422 deadline_past /start_deadline none"},
		{entry("b-10", "1.00", set("connection", "acme-old")), "409 connection_disabled none"},
		{entry("b-11", "2.00"), "201"},
	}
	items := make([]any, len(cases))
	for i := range cases {
		items[i] = cases[i].item
	}
	for i, result := range h.batch(token, items...) {
		want := strings.ReplaceAll(cases[i].want, "  ", " ")
		if got := strings.ReplaceAll(outcome(result), "  ", " "); got != want {
			t.Errorf("submission %d: %s, wanted %s: %v", i, got, want, result)
		}
		operation, admitted := result["operation"].(map[string]any)
		switch result["status"] {
		case float64(201):
			if result["location"] != "/v1/operations/"+operation["id"].(string) || result["replayed"] != false || operation["state"] != "prepared" {
				t.Errorf("submission %d: %v", i, result)
			}
		case float64(200):
			if operation["id"] != known || result["replayed"] != true || result["location"] != nil {
				t.Errorf("submission %d: %v", i, result)
			}
		default:
			if admitted || result["location"] != nil || result["replayed"] != false {
				t.Errorf("submission %d: %v", i, result)
			}
		}
	}
	listed := h.call("GET", "/v1/operations?limit=200", token, nil).items()
	if len(listed) != 3 {
		t.Errorf("%d operations are stored, wanted 3", len(listed))
	}
}

// C57: the same key twice in one batch. The first in order is admitted, whatever
// runs beside it.
// Proves: I1, I2, I4
func TestTheSameKeyTwiceInOneBatch(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead)
	for round := range 20 {
		var items []any
		for i := range 30 {
			k := fmt.Sprintf("r%d-%d", round, i)
			items = append(items, entry(k, "1.00"), entry(k, "1.0"), entry(k, "2.00"))
		}
		for i, result := range h.batch(token, items...) {
			want := []string{"201", "200", "422 key_conflict none"}[i%3]
			if got := outcome(result); got != want {
				t.Fatalf("round %d, submission %d: %s, wanted %s", round, i, got, want)
			}
			if i%3 == 2 {
				difference := result["problem"].(map[string]any)["differences"].([]any)[0].(map[string]any)
				if difference["pointer"] != "/request/total" || difference["accepted"] != "1.00" || difference["submitted"] != "2.00" {
					t.Errorf("the conflict: %v", difference)
				}
			}
		}
	}
	stats := h.call("GET", "/v1/stats", token, nil)
	if got := stats.json["by_state"].(map[string]any)["prepared"]; got != float64(600) {
		t.Errorf("%v operations, wanted 600", got)
	}
}

// What is wrong with the whole body refuses the whole batch, and nothing of it is
// admitted.
// Proves: I10, I3a
func TestBatchesThatAreRefusedWhole(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead)
	good, err := json.Marshal(entry("k", "1.00"))
	h.must(err)
	many := func(n int) string { return `{"items":[` + strings.Repeat(`{},`, n-1) + string(good) + `]}` }
	for _, c := range []struct {
		name, body string
		status     int
		code       onefold.Code
		pointer    string
	}{
		{"nothing", ``, 400, onefold.CodeJSONInvalid, ""},
		{"a list", `[` + string(good) + `]`, 400, onefold.CodeMemberInvalid, ""},
		{"no items", `{}`, 400, onefold.CodeMemberInvalid, "/items"},
		{"no list", `{"items":` + string(good) + `}`, 400, onefold.CodeMemberInvalid, "/items"},
		{"empty", `{"items":[]}`, 400, onefold.CodeMemberInvalid, "/items"},
		{"one too many", many(api.MaxBatch + 1), 400, onefold.CodeMemberInvalid, "/items"},
		{"an unknown member", `{"items":[` + string(good) + `],"dry_run":true}`, 400, onefold.CodeUnknownMember, "/dry_run"},
		{"cut off", `{"items":[` + string(good), 400, onefold.CodeJSONInvalid, "/items/0"},
		{"cut off behind a comma", `{"items":[` + string(good) + `,`, 400, onefold.CodeJSONInvalid, "/items/1"},
		{"cut off behind the list", `{"items":[` + string(good) + `]`, 400, onefold.CodeJSONInvalid, ""},
		{"items twice", `{"items":[` + string(good) + `],"items":[` + string(good) + `]}`, 400, onefold.CodeJSONInvalid, ""},
		{"items twice, once escaped", `{"items":[` + string(good) + `],"\u0069tems":[]}`, 400, onefold.CodeJSONInvalid, ""},
		{"bad bytes around the items", `{"items":[` + string(good) + `],"x":"` + "\xff" + `"}`, 400, onefold.CodeJSONInvalid, ""},
		{"a byte-order mark", "\xef\xbb\xbf" + `{"items":[` + string(good) + `]}`, 400, onefold.CodeJSONInvalid, ""},
		{"something behind it", `{"items":[` + string(good) + `]} x`, 400, onefold.CodeJSONInvalid, ""},
		{"too long", `{"items":[` + string(good) + `],"x":"` + strings.Repeat("x", api.MaxBatchBody) + `"}`, 413, onefold.CodeTooLarge, ""},
	} {
		answer := h.call("POST", "/v1/operations:batch", token, c.body).wants(t, c.status, c.code)
		if answer.text("pointer") != c.pointer || answer.text("claim") != "unchecked" {
			t.Errorf("%s: %s", c.name, answer.raw)
		}
	}
	h.call("POST", "/v1/operations:batch", token, io.MultiReader(strings.NewReader(strings.Repeat(" ", api.MaxBatchBody+1)))).wants(t, 413, onefold.CodeTooLarge)
	h.call("POST", "/v1/operations:batch?dry_run=true", token, map[string]any{"items": []any{entry("k", "1.00")}}).wants(t, 400, onefold.CodeParameterInvalid)
	h.call("POST", "/v1/operations:batch", token, string(good), header{"Content-Type", "text/plain"}).wants(t, 415, onefold.CodeNotJSON)
	if list := h.call("GET", "/v1/operations", token, nil); len(list.items()) != 0 {
		t.Errorf("something was admitted: %s", list.raw)
	}
	full := h.call("POST", "/v1/operations:batch", token, many(api.MaxBatch)).wants(t, 200, "").items()
	if len(full) != api.MaxBatch || outcome(full[0]) != "400 key_required /idempotency_key unchecked" || outcome(full[api.MaxBatch-1]) != "201" {
		t.Errorf("a full batch: %d results, the last %s", len(full), outcome(full[len(full)-1]))
	}
}

// A request that is too large by itself is refused by itself.
// Proves: I10
func TestOneLargeRequestInABatch(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead)
	large := entry("large", "1.00", set("capability", "payments.send"), set("connection", "acme-bank"), set("request", strings.Repeat("x", 1<<20)))
	results := h.batch(token, large, entry("small", "1.00"))
	if outcome(results[0]) != "413 too_large too_large unchecked" || outcome(results[1]) != "201" {
		t.Errorf("%s, %s", outcome(results[0]), outcome(results[1]))
	}
}

// A principal that may not read learns of others' operations id and state alone,
// and no value.
// Proves: I5, I4
func TestBatchesShowNoMoreThanSubmissions(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id := h.submitted("acme", h.named("acme", "ada", onefold.RoleSubmit), "k-ada")
	results := h.batch(h.named("acme", "ben", onefold.RoleSubmit), entry("k-ada", "10.00"), entry("k-ada", "4711.00"), entry("k-ben", "1.00"))
	if brief := results[0]["operation"].(map[string]any); len(brief) != 2 || brief["id"] != id {
		t.Errorf("another's operation: %v", brief)
	}
	if text := fmt.Sprint(results[1]); strings.Contains(text, "4711") || strings.Contains(text, "10.00") || !strings.Contains(text, "/request/total") {
		t.Errorf("a conflict: %s", text)
	}
	if own := results[2]["operation"].(map[string]any); own["idempotency_key"] != "k-ben" {
		t.Errorf("its own: %v", own)
	}
}

// A drain refuses what is new and answers what is known, one by one.
// Proves: I3a, I9
func TestADrainInABatch(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead)
	h.submitted("acme", token, "known")
	h.server.Drain()
	results := h.batch(token, entry("known", "10.00"), entry("new", "1.00"), entry("known", "12.00"))
	for i, want := range []string{"200", "503 draining none", "422 key_conflict none"} {
		if got := outcome(results[i]); got != want {
			t.Errorf("submission %d: %s, wanted %s", i, got, want)
		}
	}
	if results[1]["retry_after"] != float64(1) || results[1]["problem"].(map[string]any)["retry"] != "same_request" || results[0]["retry_after"] != nil {
		t.Errorf("draining: %v", results[1])
	}
}

// lossyStore is a real store whose answers get lost: for the keys named, Admit
// does or does not what it was asked for, nobody learns which, and the claim
// cannot be looked up until the line is mended.
type lossyStore struct {
	onefold.Store
	stored []string // admitted, and the answer lost
	lost   []string // not admitted, and the answer lost
	panics []string
	down   sync.Map // keys whose claims cannot be looked up just now
	mended atomic.Bool
}

var errLine = errors.New("the line is dead: password=hunter2")

func (s *lossyStore) Admit(ctx context.Context, a onefold.Admission) (onefold.Operation, bool, error) {
	key := a.Operation.Key
	switch {
	case s.mended.Load():
	case slices.Contains(s.panics, key):
		panic("a fault of ours about " + key)
	case slices.Contains(s.stored, key):
		if _, _, err := s.Store.Admit(ctx, a); err != nil {
			return onefold.Operation{}, false, err
		}
		s.down.Store(key, true)
		return onefold.Operation{}, false, onefold.ErrCommitUnknown
	case slices.Contains(s.lost, key):
		s.down.Store(key, true)
		return onefold.Operation{}, false, onefold.ErrCommitUnknown
	}
	return s.Store.Admit(ctx, a)
}

func (s *lossyStore) Claimed(ctx context.Context, k onefold.ClaimKey) (onefold.Operation, bool, error) {
	if _, down := s.down.Load(k.Key); down && !s.mended.Load() {
		return onefold.Operation{}, false, errLine
	}
	return s.Store.Claimed(ctx, k)
}

// An unknown commit and a fault of ours concern one submission of a batch, are
// told as what they are, and the same batch again settles them.
// Proves: I3, I3a, I9, M4, M25
func TestUnknownCommitsInABatch(t *testing.T) {
	t.Parallel()
	lossy := &lossyStore{stored: []string{"stored"}, lost: []string{"lost"}, panics: []string{"panics"}}
	h := newHouse(t, func(c *api.Config) {
		lossy.Store = c.Ledger.Store()
		ledger, err := onefold.New(lossy, onefold.Config{Contracts: c.Ledger.Contracts(), IDs: ids.Random{}, Now: c.Now, Deployment: c.Ledger.Deployment()})
		if err != nil {
			t.Fatal(err)
		}
		c.Ledger = ledger
	})
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead)
	items := []any{entry("before", "1.00"), entry("stored", "1.00"), entry("lost", "1.00"), entry("panics", "1.00"), entry("after", "1.00")}
	results := h.batch(token, items...)
	for i, want := range []string{"201", "503 store_unavailable unchecked", "503 store_unavailable unchecked", "500 internal unchecked", "201"} {
		if got := outcome(results[i]); got != want {
			t.Errorf("submission %d: %s, wanted %s", i, got, want)
		}
	}
	for _, i := range []int{1, 2} {
		problem := results[i]["problem"].(map[string]any)
		if problem["detail"] != "it is not known whether the operation was admitted" || problem["retry"] != "same_request" || results[i]["retry_after"] != float64(1) {
			t.Errorf("submission %d: %v", i, results[i])
		}
	}
	if text := fmt.Sprint(results); strings.Contains(text, "hunter2") || strings.Contains(text, "fault of ours") {
		t.Errorf("the answer tells what is for the log: %s", text)
	}
	if log := h.log.String(); !strings.Contains(log, `"items":5,"refused":3`) || !strings.Contains(log, `"cause"`) || !strings.Contains(log, `"level":"ERROR"`) {
		t.Errorf("the log: %s", log)
	}
	lossy.mended.Store(true)
	for i, want := range []string{"200", "200", "201", "201", "200"} {
		if got := outcome(h.batch(token, items[i])[0]); got != want {
			t.Errorf("submission %d again: %s, wanted %s", i, got, want)
		}
	}
}

// Batches beside batches, single submissions and their repeats: one operation for
// each key, and every answer names it.
// Proves: I2, I3, M4
func TestBatchesSideBySide(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	token := h.token("acme", onefold.RoleSubmit, onefold.RoleRead)
	const keys, callers = 200, 6
	var mu sync.Mutex
	named, admitted := map[string]string{}, map[string]int{}
	learn := func(key, id string, status int) {
		mu.Lock()
		defer mu.Unlock()
		if before := named[key]; before != "" && before != id {
			t.Errorf("%s is %s and %s", key, before, id)
		}
		named[key] = id
		if status == http.StatusCreated {
			admitted[key]++
		}
	}
	var group sync.WaitGroup
	for caller := range callers {
		group.Go(func() {
			if caller == 0 {
				for i := 0; i < keys; i += 10 {
					k := fmt.Sprint("k-", i)
					answer := h.call("POST", "/v1/operations", token, bill("acme", "1.00"), key(k))
					learn(k, answer.text("id"), answer.status)
				}
				return
			}
			items := make([]any, keys)
			for i := range items {
				items[i] = entry(fmt.Sprint("k-", (i*7+caller*31)%keys), "1.00")
			}
			for i, result := range h.batch(token, items...) {
				learn(items[i].(map[string]any)["idempotency_key"].(string), result["operation"].(map[string]any)["id"].(string), int(result["status"].(float64)))
			}
		})
	}
	group.Wait()
	for i := range keys {
		if k := fmt.Sprint("k-", i); admitted[k] != 1 {
			t.Errorf("%s was admitted %d times", k, admitted[k])
		}
	}
}

// gatheringStore is a real store before which admissions gather: none goes on
// until so many wait together.
type gatheringStore struct {
	onefold.Store
	want    int64
	waiting atomic.Int64
	full    chan struct{}
}

func (s *gatheringStore) Admit(ctx context.Context, a onefold.Admission) (onefold.Operation, bool, error) {
	if s.waiting.Add(1) == s.want {
		close(s.full)
	}
	select {
	case <-s.full:
		return s.Store.Admit(ctx, a)
	case <-ctx.Done():
		return onefold.Operation{}, false, ctx.Err()
	}
}

// The submissions of a batch wait for the store together, so that its writer puts
// them into one commit; one after another, none of these would ever be admitted.
// What that is worth BenchmarkBatch and BenchmarkSubmit say.
// Proves: M4
func TestTheSubmissionsOfABatchShareCommits(t *testing.T) {
	t.Parallel()
	gathering := &gatheringStore{want: api.BatchWorkers, full: make(chan struct{})}
	h := newHouse(t, func(c *api.Config) {
		gathering.Store = c.Ledger.Store()
		ledger, err := onefold.New(gathering, onefold.Config{Contracts: c.Ledger.Contracts(), IDs: ids.Random{}, Now: c.Now, Deployment: c.Ledger.Deployment()})
		if err != nil {
			t.Fatal(err)
		}
		c.Ledger = ledger
	})
	items := make([]any, api.MaxBatch)
	for i := range items {
		items[i] = entry(fmt.Sprint("k-", i), "10.00")
	}
	for i, result := range h.batch(h.token("acme", onefold.RoleSubmit), items...) {
		if result["status"] != float64(http.StatusCreated) {
			t.Fatalf("submission %d: %v", i, result)
		}
	}
}
