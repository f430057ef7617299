package runner_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/rig"
)

// notices are documents of their own, to be published later.
func notices(url string) string {
	return strings.ReplaceAll(`
kind: capability
name: notices.post
version: 1
request: {type: object}
---
kind: target
name: board
version: 1
protocol: http
operations:
  notices.post:
    write:
      method: POST
      path: /orders
      timeout: 2s
      body: {supplier: S-1, item: notice, quantity: 1, external_ref: $operation/reference}
    identity: {kind: none}
    responses:
      - {name: created, when: {status: [200, 201]}, outcome: confirmed, reference: /id}
    in_doubt: [operator]
---
kind: connection
workspace: acme
name: board
target: board@1
url: SANDBOX_URL
owner: maria@acme.example
acknowledged: {by: maria@acme.example, date: 2026-11-29, reason: tests}
`, "SANDBOX_URL", url)
}

// pair are two processes' worth of onefold on one file: one that admits, and
// options for one that works.
func pair(t *testing.T) (front *rig.Rig, worker rig.Options) {
	t.Helper()
	path, text := filepath.Join(t.TempDir(), "onefold.db"), ""
	front = rig.New(t, rig.Options{Path: path, Idle: true, Edit: func(s string) string { text = s; return s }})
	return front, rig.Options{
		Path: path, Sandbox: front.Sandbox, Scan: 10 * time.Millisecond, Edit: func(string) string { return text },
	}
}

// TestAWorkerReadsWhatWasJustPublished: a server admits an operation under
// documents that the worker beside it has not read. The worker reads them and
// carries it out: nobody is asked, and nothing else is on record.
//
// Proves: M16
func TestAWorkerReadsWhatWasJustPublished(t *testing.T) {
	t.Parallel()
	front, options := pair(t)
	rig.New(t, options)
	front.Publish(notices(front.URL))
	op := front.Submit("notices.post", "k", `{}`)
	op = front.UntilState(op.ID, onefold.Confirmed)
	line, err := front.Store.Timeline(context.Background(), op.ID, 0, 50)
	if err != nil || len(line) != 3 || len(op.Reviews) != 0 || op.Missing != (onefold.Budget{}) || front.Effects(op.Reference) != 1 {
		t.Errorf("%v, %d lines %+v, reviews %+v, missing %+v", err, len(line), line, op.Reviews, op.Missing)
	}
}

// TestAWorkerWithoutTheContractWaitsForIt: the document is not there. The operation
// is neither held nor told to have been tried; it is due again, and carried out as
// soon as the document is back.
//
// Proves: M16, M28
func TestAWorkerWithoutTheContractWaitsForIt(t *testing.T) {
	t.Parallel()
	front, options := pair(t)
	front.Publish(notices(front.URL))
	op := front.Submit("notices.post", "k", `{}`)
	db, err := sql.Open("sqlite", options.Path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "DELETE FROM document WHERE kind = 'capability' AND name = 'notices.post'"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	rig.New(t, options)
	op = front.Until(op.ID, "tried again", func(op *onefold.Operation) bool { return op.Missing.Spent > 1 && op.Lease == nil })
	if op.State != onefold.Prepared || len(op.Holds) != 0 || len(op.Reviews) != 0 || len(op.Attempts) != 0 || op.Due == nil || op.Retry.Spent != 0 {
		t.Errorf("it became %+v", op.Standing)
	}
	line, err := front.Store.Timeline(context.Background(), op.ID, 0, 50)
	if err != nil || len(line) != 2 || line[1].Rule != "plan/missing" || !strings.Contains(line[1].Detail, "capability_unknown") {
		t.Errorf("%v, timeline %+v", err, line)
	}
	front.Publish(notices(front.URL))
	op = front.UntilState(op.ID, onefold.Confirmed)
	if front.Effects(op.Reference) != 1 || len(op.OpenReviews()) != 0 || op.Missing != (onefold.Budget{}) {
		t.Errorf("it ended as %+v", op.Standing)
	}
}

// TestARunnerOfFunctionsReadsWhatWasJustPublished: a connection that it does not
// know looks like somebody else's to a runner that sends nothing over HTTP.
//
// Proves: M16
func TestARunnerOfFunctionsReadsWhatWasJustPublished(t *testing.T) {
	t.Parallel()
	front, options := pair(t)
	options.Idle = true
	back := rig.New(t, options)
	defer run(t, back, nil, map[string]onefold.Steps{"post-office": {
		Write: func(context.Context, onefold.Call) (onefold.WriteReport, error) {
			return onefold.Applied("LETTER-1"), nil
		},
	}})()
	front.Publish(strings.TrimPrefix(strings.TrimSpace(goDocuments), "---"))
	op := front.UntilState(front.Submit("letters.post", "k", letter).ID, onefold.Confirmed)
	if len(op.Reviews) != 0 || len(op.Attempts) != 1 {
		t.Errorf("it ended as %+v", op.Standing)
	}
}
