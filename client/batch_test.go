package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/client"
)

// Each submission of a batch has its own result, in the order of the submissions,
// also those that could not be put into the call.
// Proves: I1, I4, I13
func TestBatch(t *testing.T) {
	t.Parallel()
	b, ctx := newBureau(t), t.Context()
	first, err := b.Submit(ctx, payment(`od"d`))
	must(t, err)
	changed, broken, labels := payment(`od"d`), payment("broken"), payment("labels")
	changed.Request, broken.Request, labels.Metadata = json.RawMessage(`{"amount": 2}`), json.RawMessage(`{"amount":`), json.RawMessage(`{`)
	results, err := b.Batch(ctx, []client.Submission{payment("new"), broken, payment(`od"d`), changed, payment("a b"), payment("new"), labels})
	must(t, err)
	for i, want := range []struct {
		status   int
		replayed bool
		err      error
	}{
		{201, false, nil}, {400, false, onefold.ErrJSONInvalid}, {200, true, nil}, {422, false, onefold.ErrKeyConflict}, {400, false, onefold.ErrKeyInvalid}, {200, true, nil}, {400, false, onefold.ErrJSONInvalid},
	} {
		r := results[i]
		if r.Status != want.status || r.Replayed != want.replayed || !errors.Is(r.Err(), want.err) || (r.Operation == nil) != (want.err != nil) {
			t.Errorf("result %d: %+v, error %v", i, r, r.Err())
		}
	}
	if results[2].Operation.ID != first.ID || !json.Valid(results[0].Operation.Raw) || *results[0].Location != "/v1/operations/"+results[0].Operation.ID {
		t.Errorf("the results: %+v", results)
	}
	if p := results[3].Problem; len(p.Differences) == 0 || !json.Valid(p.Raw) || p.Operation != first.ID {
		t.Errorf("a conflict: %+v", p)
	}
	request, err := b.Request(ctx, results[0].Operation.ID)
	must(t, err)
	if string(request.Request) != `{"amount":1.10,"note":"<&>"}` {
		t.Errorf("the request: %s", request.Raw)
	}
	b.ledger.Drain()
	late, err := b.Batch(ctx, []client.Submission{payment("late")})
	must(t, err)
	if !errors.Is(late[0].Err(), onefold.ErrDraining) || late[0].Problem.RetryAfter != time.Second || late[0].Problem.Retry != onefold.RetrySame {
		t.Errorf("while draining: %+v", late[0].Problem)
	}
	_, err = b.Batch(ctx, make([]client.Submission, 0))
	must(t, err)
	_, err = b.Batch(ctx, many(client.MaxBatch+1))
	isProblem(t, err, onefold.CodeMemberInvalid, client.ExitRefused)
}

// Texts go out as they are: what is wrong in one is its own problem, counted from
// its first byte, and what is no JSON at all stays here.
// Proves: I1, I10, I13
func TestBatchesOfTexts(t *testing.T) {
	t.Parallel()
	b, ctx := newBureau(t), t.Context()
	const good = `{ "idempotency_key":"k-1", "capability":"payments.send", "request":{"amount": 1.10} }`
	results, err := b.BatchJSON(ctx, []json.RawMessage{
		json.RawMessage(good), json.RawMessage(`{"idempotency_key":`), json.RawMessage(`{"idempotency_key":"k-2","idempotency_key":"k-3"}`),
		json.RawMessage(`{"idempotency_key":"k-4","dry":true}`), json.RawMessage(good), json.RawMessage("\"\xff\""),
	})
	must(t, err)
	for i, want := range []struct {
		status, offset int
		code           onefold.Code
	}{
		{201, -1, ""}, {400, -1, onefold.CodeJSONInvalid}, {400, 25, onefold.CodeJSONInvalid}, {400, 25, onefold.CodeUnknownMember}, {200, -1, ""}, {400, 1, onefold.CodeJSONInvalid},
	} {
		code, offset := onefold.Code(""), -1
		if p := results[i].Problem; p != nil {
			code = p.Code
			if p.Offset != nil {
				offset = *p.Offset
			}
		}
		if results[i].Status != want.status || code != want.code || offset != want.offset {
			t.Errorf("result %d: %d %s at %d, wanted %+v", i, results[i].Status, code, offset, want)
		}
	}
	request, err := b.Request(ctx, results[0].Operation.ID)
	must(t, err)
	if string(request.Request) != `{"amount":1.10}` {
		t.Errorf("the request: %s", request.Raw)
	}
	long := json.RawMessage(`"` + strings.Repeat("x", client.MaxBatchBytes-2) + `"`)
	results, err = b.BatchJSON(ctx, []json.RawMessage{long})
	must(t, err)
	if results[0].Status != 413 {
		t.Errorf("as long as it may be together: %+v", results[0].Problem)
	}
	_, err = b.BatchJSON(ctx, []json.RawMessage{json.RawMessage(string(long) + " ")})
	isProblem(t, err, onefold.CodeTooLarge, client.ExitRefused)
}

func many(n int) []client.Submission {
	out := make([]client.Submission, n)
	for i := range out {
		out[i] = payment(fmt.Sprint("k-", i))
	}
	return out
}

// An answer that leaves open what became of a submission is no answer.
func TestABatchThatIsAnsweredInPart(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"items":[{"status":201}]}`)
	}))
	defer server.Close()
	c, err := client.New(client.Options{Server: server.URL, Token: "ofk_secret"})
	must(t, err)
	defer c.Close()
	_, err = c.Batch(t.Context(), many(2))
	if _, ok := errors.AsType[*client.Unanswered](err); !ok || strings.Contains(err.Error(), "ofk_secret") {
		t.Errorf("half an answer: %v", err)
	}
}

// A pull consumer keeps one cursor.
// Proves: M28
func TestChanges(t *testing.T) {
	t.Parallel()
	b, ctx := newBureau(t), t.Context()
	start, err := b.Changes(ctx, client.PageOf{})
	must(t, err)
	if len(start.Items) != 0 || start.NextCursor == "" {
		t.Fatalf("before the first change: %s", start.Raw)
	}
	_, err = b.Batch(ctx, many(5))
	must(t, err)
	cursor, seen := start.NextCursor, 0
	for {
		page, err := b.Changes(ctx, client.PageOf{Limit: 2, Cursor: cursor})
		must(t, err)
		if len(page.Items) == 0 {
			break
		}
		for _, change := range page.Items {
			seen++
			if change.Event != onefold.EventAdmitted || change.Operation == "" || *change.To != onefold.Prepared || change.Actor.Name != "maria" {
				t.Errorf("a change: %+v", change)
			}
		}
		cursor = page.NextCursor
	}
	if seen != 5 {
		t.Errorf("%d changes, wanted 5", seen)
	}
	_, err = b.Changes(ctx, client.PageOf{Cursor: "x"})
	isProblem(t, err, onefold.CodeParameterInvalid, client.ExitRefused)
}
