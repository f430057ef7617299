package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/onefold-dev/onefold"
)

// MaxBatch is how many submissions one batch may have.
const MaxBatch = 1000

// BatchResult is what became of one submission of a batch: it has an operation or
// a problem, never both.
type BatchResult struct {
	// Status is the HTTP status that the submission would have had by itself.
	Status int `json:"status"`
	// Replayed: the key was known, and Operation is the one that has it.
	Replayed bool `json:"replayed"`
	// Location is the address of an operation that was admitted now.
	Location *string `json:"location"`
	// RetryAfter is in seconds; Problem has it too.
	RetryAfter *int       `json:"retry_after"`
	Operation  *Operation `json:"operation"`
	Problem    *Problem   `json:"problem"`
}

// Err is the result's problem as an error, nil where there is none.
func (r *BatchResult) Err() error {
	if r.Problem == nil {
		return nil
	}
	return r.Problem
}

// UnmarshalJSON reads a result; its operation and problem keep their own text.
func (r *BatchResult) UnmarshalJSON(raw []byte) error {
	type plain BatchResult
	if err := json.Unmarshal(raw, (*plain)(r)); err != nil {
		return err
	}
	var parts struct {
		Operation json.RawMessage `json:"operation"`
		Problem   json.RawMessage `json:"problem"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	if r.Operation != nil {
		r.Operation.keep(parts.Operation)
	}
	if r.Problem != nil {
		r.Problem.Raw = parts.Problem
		if r.RetryAfter != nil {
			r.Problem.RetryAfter = time.Duration(*r.RetryAfter) * time.Second
		}
	}
	return nil
}

// batchItem is a submission with its key among its members.
type batchItem struct {
	Key string `json:"idempotency_key"`
	Submission
}

// errShortBatch is an answer that leaves open what became of some submissions.
var errShortBatch = errors.New("the answer has not one result for each submission")

type batchAnswer struct {
	Received
	Items []BatchResult `json:"items"`
}

// Batch submits up to MaxBatch operations in one call, and returns one result for
// each in their order. They are independent: look at every result. Wait is not
// taken. An error means that there is no result at all: after *Unanswered, or a
// *Problem whose Retry is same_request, the same batch is safe to send again.
func (c *Client) Batch(ctx context.Context, submissions []Submission) ([]BatchResult, error) {
	results := make([]BatchResult, len(submissions))
	var items []batchItem
	var places []int
	for i, s := range submissions {
		if !json.Valid(s.Request) {
			// It would make the whole body no JSON.
			results[i] = BatchResult{Status: http.StatusBadRequest, Problem: noJSON()}
			continue
		}
		items, places = append(items, batchItem{s.Key, s}), append(places, i)
	}
	if len(items) == 0 {
		return results, nil
	}
	got, err := post[batchAnswer](ctx, c, nil, map[string]any{"items": items}, "v1", "operations:batch")
	if err != nil {
		return nil, err
	}
	if len(got.Items) != len(items) {
		return nil, &Unanswered{Server: c.base.Scheme + "://" + c.base.Host, Cause: errShortBatch}
	}
	for i, at := range places {
		results[at] = got.Items[i]
	}
	return results, nil
}

// noJSON is the problem of a request that cannot be put into a body; the server
// would say so too.
func noJSON() *Problem {
	return &Problem{
		Code: onefold.CodeJSONInvalid, Status: http.StatusBadRequest, Pointer: "/request", Reason: "syntax",
		Detail: "the request is no JSON", Claim: "unchecked", Retry: onefold.RetryChanged,
	}
}
