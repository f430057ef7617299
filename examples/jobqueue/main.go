package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/examples/internal/open"
)

//go:embed documents
var documents embed.FS

// order is what a job is about.
type order struct {
	Order    string `json:"order"`
	Item     string `json:"item"`
	Quantity int    `json:"quantity"`
}

const (
	// workers take jobs at the same time.
	workers = 4
	// idle is how long a worker waits where no job is due.
	idle = 10 * time.Millisecond
)

func main() {
	data := flag.String("data", "", "folder for the databases; a temporary one if empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := open.InFolder(*data, func(folder string) error { return run(ctx, os.Stdout, folder) }); err != nil {
		fmt.Fprintln(os.Stderr, "jobqueue:", err)
		os.Exit(1)
	}
}

// run enqueues some orders, one of them twice, and works until the queue is empty.
func run(ctx context.Context, out io.Writer, folder string) (err error) {
	ledger, end, err := open.Ledger(ctx, filepath.Join(folder, "onefold.db"), "acme", []byte("a secret of this example"), documents)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	q, err := openQueue(ctx, filepath.Join(folder, "jobs.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.db.Close()) }()

	for _, o := range []order{
		{"O-1", "bolts", 100}, {"O-2", "nuts", 100}, {"O-2", "nuts", 100}, {"O-3", "washers", 40}, {"O-4", "screws", 10}, {"O-5", "rivets", 5},
	} {
		if err := q.enqueue(ctx, o); err != nil {
			return err
		}
	}
	e := &erp{answer: map[string]string{}, plans: map[string][]string{
		"O-2": {"lose"}, "O-3": {"panic"}, "O-4": {"busy", "busy"}, "O-5": {"silent", "silent", "silent", "silent", "silent", "silent"},
	}}
	if err := work(ctx, ledger, q, e); err != nil {
		return err
	}
	jobs, err := q.all(ctx)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		fmt.Fprintf(out, "job %d, %s: %s\n", j.id, j.order.Order, j.outcome)
	}
	_, err = fmt.Fprintf(out, "the ERP has %d orders\n", len(e.orders))
	return err
}

// work runs the workers until every job is done.
func work(ctx context.Context, ledger *onefold.Ledger, q *queue, e *erp) error {
	var group sync.WaitGroup
	errs := make([]error, workers)
	for i := range workers {
		group.Go(func() { errs[i] = worker(ctx, ledger, q, e) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// worker takes jobs as they are due.
func worker(ctx context.Context, ledger *onefold.Ledger, q *queue, e *erp) error {
	for {
		left, err := q.open(ctx)
		if err != nil || left == 0 {
			return err
		}
		j, ok, err := q.take(ctx, time.Now())
		if err == nil && ok {
			err = handle(ctx, ledger, q, e, j)
		}
		if err != nil {
			return err
		}
		if ok {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(idle):
		}
	}
}

// handle carries a job's order out as far as it goes now. The key is the order's
// own number: a job that was enqueued twice, or runs again, is the same operation.
func handle(ctx context.Context, ledger *onefold.Ledger, q *queue, e *erp, j job) error {
	request, err := json.Marshal(j.order)
	if err != nil {
		return err
	}
	op, err := ledger.Do(ctx, onefold.Submission{
		Workspace: "acme", Capability: "orders.create", Key: j.order.Order, Request: request, SubmittedBy: "purchasing",
	}, steps(e))
	if err == nil {
		return q.done(ctx, j.id, outcome(op))
	}
	if op.ID == "" {
		return err
	}
	problem, _ := errors.AsType[*onefold.Error](err)
	switch {
	case problem.RetryAfter > 0:
		return q.later(ctx, j.id, time.Now().Add(problem.RetryAfter))
	case errors.Is(err, onefold.ErrStoreUnavailable):
		return q.later(ctx, j.id, time.Now().Add(time.Second))
	}
	// Held, paused, or uncertain for good: time alone changes nothing.
	return q.done(ctx, j.id, fmt.Sprintf("parked (%s), it belongs to %s", op.State, op.Owner))
}

// outcome is what a settled operation means for its job.
func outcome(op onefold.Operation) string {
	switch op.State {
	case onefold.Confirmed:
		return "ordered as " + op.Result.Reference
	case onefold.Rejected:
		return "refused: " + op.Rejection.Code
	default:
		return "withdrawn"
	}
}

// steps are how onefold speaks to the ERP. Its client's panics are doubt, too.
func steps(e *erp) onefold.Steps {
	number := func(c onefold.Call) (order string, ok bool) {
		var o struct{ Order string }
		ok = json.Unmarshal(c.Request, &o) == nil
		return o.Order, ok
	}
	return onefold.Steps{
		Write: func(ctx context.Context, c onefold.Call) (onefold.WriteReport, error) {
			order, ok := number(c)
			if !ok {
				return onefold.NotSent("the request cannot be read"), nil
			}
			reference, err := e.Create(ctx, c.Identity, order)
			switch {
			case err == nil:
				return onefold.Applied(reference), nil
			case errors.Is(err, errBusy):
				return onefold.NotApplied(err.Error()), nil
			}
			return onefold.WriteReport{}, err
		},
		Lookup: func(ctx context.Context, c onefold.Call) (onefold.LookupReport, error) {
			order, ok := number(c)
			if !ok {
				return onefold.Inconclusive("the request cannot be read"), nil
			}
			reference, err := e.Find(ctx, c.Identity, order)
			switch {
			case err != nil:
				return onefold.LookupReport{}, err
			case reference == "":
				return onefold.Absent("the ERP has no order under this key"), nil
			}
			return onefold.Found(reference), nil
		},
	}
}
