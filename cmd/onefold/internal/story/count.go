package story

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
)

// look counts in the sandbox's ledger what reached it for an operation.
func (t *teller) look(ctx context.Context, reference string, told *Told) error {
	query := url.Values{"reference": {reference}}
	rep, err := t.Sandbox.Get(ctx, "/admin/requests", query)
	if err != nil {
		return err
	}
	var requests []struct {
		Method string `json:"method"`
	}
	if err := json.Unmarshal(rep.Body, &requests); err != nil {
		return err
	}
	for _, r := range requests {
		if r.Method == http.MethodPost {
			told.Writes++
		} else {
			told.Lookups++
		}
	}
	if rep, err = t.Sandbox.Get(ctx, "/admin/effects", query); err != nil {
		return err
	}
	var effects []struct{}
	if err := json.Unmarshal(rep.Body, &effects); err != nil {
		return err
	}
	told.Effects = len(effects)
	return nil
}

// outcome says in words how an operation ended.
func outcome(op *operation, told *Told) string {
	numbers := fmt.Sprintf(" [%s, %s, %s]", plural(told.Writes, "write"), plural(told.Lookups, "look-up"), plural(told.Effects, "effect"))
	switch op.State {
	case onefold.Confirmed:
		return "done as " + told.Result + learnt(op) + numbers
	case onefold.Rejected:
		return "not done, refused as " + op.Rejection.Code + numbers
	case onefold.Canceled:
		return "withdrawn before sending" + numbers
	case onefold.Uncertain:
		for _, r := range op.Reviews {
			if r.Status == string(onefold.ReviewOpen) {
				return "unknown at the target; a review waits for " + r.Owner + numbers
			}
		}
		return "unknown at the target; it is being found out" + numbers
	case onefold.Prepared, onefold.Attempting:
	}
	return "not finished yet" + numbers
}

func learnt(op *operation) string {
	switch {
	case op.Result.LearntFrom == string(onefold.LearntFromLookup):
		return ", found by a look-up"
	case op.Attempts > 1:
		return ", confirmed by the answer to a later attempt"
	}
	return ""
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// count counts both ledgers. They are counted again for a while where they
// disagree; what they say in the end is told, whatever it is.
func (t *teller) count(ctx context.Context) (End, error) {
	for n := 0; ; n++ {
		end, err := t.countNow(ctx)
		if err != nil || end.Effects == end.Confirmed || n == recounts {
			return end, err
		}
		timer := time.NewTimer(recountEvery)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return end, ctx.Err()
		}
	}
}

func (t *teller) countNow(ctx context.Context) (End, error) {
	rep, err := t.Sandbox.Get(ctx, "/admin/summary", nil)
	if err != nil {
		return End{}, err
	}
	var end End
	if err := json.Unmarshal(rep.Body, &end); err != nil {
		return end, err
	}
	confirmed, err := t.operations(ctx, url.Values{"state": {string(onefold.Confirmed)}})
	if err != nil {
		return end, err
	}
	waiting, err := t.operations(ctx, url.Values{"state": {string(onefold.Uncertain)}})
	if err != nil {
		return end, err
	}
	end.Confirmed, end.Waiting = len(confirmed), append([]string{}, waiting...)
	end.Text = fmt.Sprintf("the sandbox performed %d effects, the ledger says %d", end.Effects, end.Confirmed)
	if len(end.Duplicates) > 0 {
		end.Text += "; made twice: " + strings.Join(end.Duplicates, ", ")
	}
	return end, nil
}

// operations lists the ids of all operations that a query finds.
func (t *teller) operations(ctx context.Context, query url.Values) ([]string, error) {
	var ids []string
	query.Set("limit", "200")
	for {
		rep, err := t.API.Get(ctx, "/v1/operations", query)
		if err != nil {
			return nil, err
		}
		var page struct {
			Items []struct {
				ID string `json:"id"`
			} `json:"items"`
			Next *string `json:"next_cursor"`
		}
		if err := json.Unmarshal(rep.Body, &page); err != nil {
			return nil, err
		}
		for _, item := range page.Items {
			ids = append(ids, item.ID)
		}
		if page.Next == nil {
			return ids, nil
		}
		query.Set("cursor", *page.Next)
	}
}
