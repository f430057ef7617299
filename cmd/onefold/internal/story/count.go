package story

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/client"
)

// look counts in the sandbox's ledger what reached it for an operation.
func (t *teller) look(ctx context.Context, reference string, told *Told) error {
	query := url.Values{"reference": {reference}}
	var requests []struct {
		Method string `json:"method"`
	}
	if err := t.Sandbox.get(ctx, "/admin/requests", query, &requests); err != nil {
		return err
	}
	for _, r := range requests {
		if r.Method == http.MethodPost {
			told.Writes++
		} else {
			told.Lookups++
		}
	}
	var effects []struct{}
	if err := t.Sandbox.get(ctx, "/admin/effects", query, &effects); err != nil {
		return err
	}
	told.Effects = len(effects)
	return nil
}

// outcome says in words how an operation ended.
func outcome(op *client.Operation, told *Told) string {
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
			if r.Status == onefold.ReviewOpen {
				return "unknown at the target; a review waits for " + r.Owner + numbers
			}
		}
		return "unknown at the target; it is being found out" + numbers
	case onefold.Prepared, onefold.Attempting:
	}
	return "not finished yet" + numbers
}

func learnt(op *client.Operation) string {
	switch {
	case op.Result.LearntFrom == onefold.LearntFromLookup:
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
	var end End
	if err := t.Sandbox.get(ctx, "/admin/summary", nil, &end); err != nil {
		return end, err
	}
	confirmed, err := t.operations(ctx, onefold.Confirmed)
	if err != nil {
		return end, err
	}
	waiting, err := t.operations(ctx, onefold.Uncertain)
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

// operations lists the ids of all operations in a state.
func (t *teller) operations(ctx context.Context, state onefold.State) ([]string, error) {
	var ids []string
	filter := client.Filter{State: state, PageOf: client.PageOf{Limit: pageSize}}
	for {
		p, err := t.API.Operations(ctx, filter)
		if err != nil {
			return nil, err
		}
		for i := range p.Items {
			ids = append(ids, p.Items[i].ID)
		}
		if p.NextCursor == nil {
			return ids, nil
		}
		filter.Cursor = *p.NextCursor
	}
}

// pageSize is as many operations as the server gives at once.
const pageSize = 200
