package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/onefold-dev/onefold"
)

const (
	// MaxBatch is how many submissions one batch may have.
	MaxBatch = 1000
	// MaxBatchBytes is how many bytes they may have together, as JSON with a comma
	// between any two: the server takes 8 MiB, with what stands around them.
	MaxBatchBytes = 8<<20 - len(`{"items":[]}`)
)

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
var errShortBatch = fmt.Errorf("%w: it has not one result for each submission, an operation or a problem", errForeign)

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
	var items []json.RawMessage
	var places []int
	for i, s := range submissions {
		if bad := s.unwritable(); bad != nil {
			results[i] = refusedHere(bad)
			continue
		}
		item, err := written(batchItem{s.Key, s})
		if err != nil {
			return nil, err
		}
		items, places = append(items, item), append(places, i)
	}
	got, err := c.BatchJSON(ctx, items)
	if err != nil {
		return nil, err
	}
	for i, at := range places {
		results[at] = got[i]
	}
	return results, nil
}

// BatchJSON is Batch for submissions that are JSON texts already: objects with
// idempotency_key, capability, request and the other members of the interface, up
// to MaxBatch of them and MaxBatchBytes together, with a comma for each. They are
// sent as they are, and the server judges what is in them; one that is no JSON by
// grammar is refused here, as the server would. A problem's Offset counts bytes of
// the submission; in its Raw it counts those of the body that carried all of them.
func (c *Client) BatchJSON(ctx context.Context, submissions []json.RawMessage) ([]BatchResult, error) {
	results := make([]BatchResult, len(submissions))
	body := []byte(`{"items":[`)
	var places, starts []int
	for i, s := range submissions {
		if !json.Valid(s) {
			results[i] = refusedHere(noJSON("", "the submission is no JSON"))
			continue
		}
		if len(places) > 0 {
			body = append(body, ',')
		}
		places, starts = append(places, i), append(starts, len(body))
		body = append(body, s...)
	}
	if len(places) == 0 {
		return results, nil
	}
	got, err := post[batchAnswer](ctx, c, nil, rawBody(append(body, "]}"...)), "v1", "operations:batch")
	if err != nil {
		return nil, err
	}
	if len(got.Items) != len(places) {
		return nil, &Unanswered{Server: c.base.Scheme + "://" + c.base.Host, Cause: errShortBatch}
	}
	for i, at := range places {
		var sent struct {
			Key string `json:"idempotency_key"`
		}
		_ = json.Unmarshal(submissions[at], &sent) // what has no key that can be read is refused
		if !got.Items[i].answers(sent.Key) {
			return nil, &Unanswered{Server: c.base.Scheme + "://" + c.base.Host, Cause: errShortBatch}
		}
		results[at] = got.Items[i]
		if p := results[at].Problem; p != nil && p.Offset != nil {
			offset := *p.Offset - starts[i]
			p.Offset = &offset
		}
	}
	return results, nil
}

func refusedHere(p *Problem) BatchResult { return BatchResult{Status: p.Status, Problem: p} }

// unwritable is what keeps a submission from being put into a body, nil for
// nothing; the server would say so too.
func (s *Submission) unwritable() *Problem {
	switch {
	case !json.Valid(s.Request):
		return noJSON("/request", "the request is no JSON")
	case s.Metadata != nil && !json.Valid(s.Metadata):
		return noJSON("/metadata", "the metadata is no JSON")
	}
	return nil
}

func noJSON(pointer, detail string) *Problem {
	return &Problem{
		Code: onefold.CodeJSONInvalid, Status: http.StatusBadRequest, Pointer: pointer, Reason: "syntax",
		Detail: detail, Claim: "unchecked", Retry: onefold.RetryChanged,
	}
}
