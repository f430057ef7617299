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
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/examples/internal/open"
)

//go:embed documents
var documents embed.FS

// salary is one row of the payroll.
type salary struct {
	Employee string `json:"employee"`
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
}

func main() {
	every := flag.Duration("every", 200*time.Millisecond, "how often the payroll comes back")
	data := flag.String("data", "", "folder for the database; a temporary one if empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := open.InFolder(*data, func(folder string) error { return run(ctx, os.Stdout, folder, *every) }); err != nil {
		fmt.Fprintln(os.Stderr, "cron:", err)
		os.Exit(1)
	}
}

// run comes back every so often until every salary of the month is settled.
func run(ctx context.Context, out io.Writer, folder string, every time.Duration) (err error) {
	ledger, end, err := open.Ledger(ctx, filepath.Join(folder, "onefold.db"), "acme", []byte("a secret of this example"), documents)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()

	b := &bank{trouble: map[string]error{"E-1": errLost, "E-2": errDown, "E-3": errRefused}}
	payroll := []salary{{"E-1", "2100.00", "EUR"}, {"E-2", "1980.50", "EUR"}, {"E-3", "2400.00", "EUR"}, {"E-4", "1700.00", "EUR"}}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for len(payroll) > 0 {
		if payroll, err = round(ctx, out, ledger, b, "2026-11", payroll); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	_, err = fmt.Fprintf(out, "the bank has %d transfers in its books\n", len(b.books))
	return err
}

// round pays what is not settled yet, and returns what is left for the next one.
func round(ctx context.Context, out io.Writer, ledger *onefold.Ledger, b *bank, month string, payroll []salary) (left []salary, err error) {
	for _, s := range payroll {
		op, err := pay(ctx, ledger, b, month, s)
		switch {
		case err != nil && op.ID == "":
			return nil, err // nothing was admitted: the submission itself is wrong
		case err != nil:
			fmt.Fprintf(out, "%s is left for later: %s (%s)\n", s.Employee, onefold.CodeOf(err), op.State)
			left = append(left, s)
		case op.State == onefold.Confirmed:
			fmt.Fprintf(out, "%s is paid as %s, learnt from the %s\n", s.Employee, op.Result.Reference, op.Result.LearntFrom)
		case op.State == onefold.Rejected:
			fmt.Fprintf(out, "%s is refused: %s\n", s.Employee, op.Rejection.Code)
		default:
			fmt.Fprintf(out, "%s was withdrawn\n", s.Employee)
		}
	}
	return left, nil
}

// pay pays one salary. The key says which effect is meant: one salary of one
// month. However often this is called, it is paid one time.
func pay(ctx context.Context, ledger *onefold.Ledger, b *bank, month string, s salary) (onefold.Operation, error) {
	request, err := json.Marshal(s)
	if err != nil {
		return onefold.Operation{}, err
	}
	return ledger.Do(ctx, onefold.Submission{
		Workspace: "acme", Capability: "salaries.pay", Key: month + "/" + s.Employee,
		Request: request, SubmittedBy: "payroll",
	}, steps(b))
}

// steps are how onefold speaks to the bank.
func steps(b *bank) onefold.Steps {
	return onefold.Steps{
		Write: func(ctx context.Context, c onefold.Call) (onefold.WriteReport, error) {
			s, ok := read(c)
			if !ok {
				return onefold.NotSent("the request cannot be read"), nil
			}
			number, err := b.Pay(ctx, transfer{Reference: c.Reference, Employee: s.Employee, Amount: s.Amount})
			switch {
			case err == nil:
				return onefold.Applied(number), nil
			case errors.Is(err, errDown):
				return onefold.NotSent(err.Error()), nil
			case errors.Is(err, errRefused):
				return onefold.Refused("no_such_account", err.Error()), nil
			}
			return onefold.WriteReport{}, err // perhaps paid, perhaps not
		},
		Lookup: func(ctx context.Context, c onefold.Call) (onefold.LookupReport, error) {
			number, t, found := b.Find(ctx, c.Reference)
			if !found {
				return onefold.Absent("the bank's books have no such reference"), nil
			}
			report := onefold.Found(number)
			var err error
			report.Record, err = json.Marshal(t)
			return report, err
		},
	}
}

// read reads the approved request.
func read(c onefold.Call) (s salary, ok bool) {
	ok = json.Unmarshal(c.Request, &s) == nil
	return s, ok
}
