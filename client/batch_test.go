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
	changed, broken := payment(`od"d`), payment("broken")
	changed.Request, broken.Request = json.RawMessage(`{"amount": 2}`), json.RawMessage(`{"amount":`)
	results, err := b.Batch(ctx, []client.Submission{payment("new"), broken, payment(`od"d`), changed, payment("a b"), payment("new")})
	must(t, err)
	for i, want := range []struct {
		status   int
		replayed bool
		err      error
	}{
		{201, false, nil}, {400, false, onefold.ErrJSONInvalid}, {200, true, nil}, {422, false, onefold.ErrKeyConflict}, {400, false, onefold.ErrKeyInvalid}, {200, true, nil},
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
