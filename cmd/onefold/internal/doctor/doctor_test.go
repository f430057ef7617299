package doctor_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/cmd/onefold/internal/deployment"
	"github.com/onefold-dev/onefold/cmd/onefold/internal/doctor"
	"github.com/onefold-dev/onefold/contract"
	"github.com/onefold-dev/onefold/sqlite"
	"github.com/onefold-dev/onefold/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// documents are what the suite's operations are admitted under.
const documents = `
kind: capability
name: ` + storetest.Capability + `
version: 1
request: {type: object}
---
kind: target
name: erp
version: 1
protocol: http
operations:
  ` + storetest.Capability + `:
    write: {method: POST, path: /bills, timeout: 2s, body: {amount: $request/amount}}
    identity: {kind: none}
    responses:
      - {name: made, when: {status: 201}, outcome: confirmed, reference: /id}
    in_doubt: [operator]
---
kind: connection
workspace: ` + storetest.Workspace + `
name: ` + storetest.Connection + `
target: erp@1
url: https://erp.example
owner: maria@acme.example
acknowledged: {by: maria, date: 2026-01-01, reason: a test}
`

// clinic is a store of the test's, and the doctor beside it. Its operations are
// due at their admission.
type clinic struct {
	*storetest.Subject
	t       *testing.T
	opts    sqlite.Options
	store   *sqlite.Store
	options doctor.Options
}

func newClinic(t *testing.T) *clinic {
	t.Helper()
	c := &clinic{t: t, Subject: &storetest.Subject{Clock: storetest.NewClock(), IDs: &storetest.IDs{}}}
	c.opts = sqlite.Options{
		Path: filepath.Join(t.TempDir(), "ledger.db"), Driver: "sqlite", Now: c.Clock.Now, IDs: c.IDs, Migrate: true,
	}
	c.open()
	t.Cleanup(c.close)
	// The suite's attempts are frozen under the connection's third revision.
	for _, owner := range []string{"joe", "jim", "maria"} {
		docs, faults := contract.DecodeFile("documents.yaml", []byte(strings.Replace(documents, "owner: maria", "owner: "+owner, 1)))
		if err := faults.Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.store.Publish(context.Background(), deployment.ToStore(docs, "test")); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.store.RememberSecret(context.Background(), "k1", "v1:one"); err != nil {
		t.Fatal(err)
	}
	// The machine's free space is not what these tests are about, but for the one that says so.
	began := c.Clock.Now()
	c.options = doctor.Options{
		MinFree: 1, Now: c.Clock.Now, Boot: func() time.Duration { return c.Clock.Now().Sub(began) },
	}
	return c
}

func (c *clinic) open() {
	c.t.Helper()
	store, err := sqlite.Open(context.Background(), c.opts)
	if err != nil {
		c.t.Fatal(err)
	}
	c.store, c.Store = store, store
}

func (c *clinic) close() {
	c.t.Helper()
	if c.store == nil {
		return
	}
	if err := c.store.Close(); err != nil {
		c.t.Error(err)
	}
	c.store = nil
}

// sql changes the file behind the store's back.
func (c *clinic) sql(statements ...string) {
	c.t.Helper()
	db, err := sql.Open("sqlite", c.opts.Path)
	if err != nil {
		c.t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	defer func() {
		if err := db.Close(); err != nil {
			c.t.Error(err)
		}
	}()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			c.t.Fatalf("%v, in: %s", err, s)
		}
	}
}

// examine makes all checks, by name.
func (c *clinic) examine() map[string]doctor.Check {
	c.t.Helper()
	i, err := sqlite.Inspect(context.Background(), c.opts)
	if err != nil {
		c.t.Fatal(err)
	}
	report := doctor.Examine(context.Background(), i, c.options)
	if err := i.Close(); err != nil {
		c.t.Error(err)
	}
	byName, failed := map[string]doctor.Check{}, false
	for _, check := range report.Checks {
		if _, twice := byName[check.Name]; twice {
			c.t.Errorf("the check %s is there twice", check.Name)
		}
		byName[check.Name] = check
		failed = failed || check.Status == doctor.Failed
		if check.Found == "" || (check.Do == "") != (check.Status == doctor.OK) {
			c.t.Errorf("%s says too little: %+v", check.Name, check)
		}
	}
	if report.OK == failed {
		c.t.Errorf("ok is %v", report.OK)
	}
	return byName
}

// names are all checks in their order.
func names() []string {
	return []string{
		"sqlite_version", "journal_mode", "synchronous", "integrity", "migrations", "wal_size", "disk_space", "runner", "due_work", "leases",
		"open_attempts", "orphans", "records", "review_owners", "unresolved", "unplanned", "admitted", "claims",
		"payloads", "outgoing_requests", "evidence", "timelines", "standings", "documents", "sequence", "fingerprints", "reviews", "pauses", "clock", "secret", "connection_secrets",
	}
}

// finds wants the named checks to have their status and every other one to be
// ok; a secret that is not given is not checked.
func (c *clinic) finds(want map[string]doctor.Status) map[string]doctor.Check {
	c.t.Helper()
	have := c.examine()
	if len(have) != len(names()) {
		c.t.Errorf("%d checks, want %d", len(have), len(names()))
	}
	for _, name := range names() {
		status, named := want[name]
		switch {
		case named:
		case name == "secret" && !c.options.SecretGiven, name == "fingerprints" && len(c.options.Secret) == 0:
			status = doctor.NotChecked
		default:
			status = doctor.OK
		}
		if have[name].Status != status {
			c.t.Errorf("%s is %s, want %s: %s", name, have[name].Status, status, have[name].Found)
		}
	}
	return have
}

// TestAHealthyInstallation: an empty store, and one with work of every kind and
// somebody who does it.
//
// Proves: M16
func TestAHealthyInstallation(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	c.finds(nil)

	release, err := c.store.TakeRunner(context.Background(), "w1")
	if err != nil {
		t.Fatal(err)
	}
	c.Admit(t, "waits")
	c.Attempting(t, c.Admit(t, "under way").ID)
	c.Ended(t, c.Admit(t, "done").ID, onefold.OutcomeConfirmed, "BILL-1")
	doubt := c.Ended(t, c.Admit(t, "in doubt").ID, onefold.OutcomeUnknown, "")
	have := c.finds(nil)
	if found := have["unresolved"].Found; !strings.Contains(found, doubt.ID) || !strings.Contains(found, "owned by ada") {
		t.Errorf("the oldest unresolved operation: %s", found)
	}
	if found := have["runner"].Found; !strings.Contains(found, "w1") {
		t.Errorf("the runner: %s", found)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if c.finds(map[string]doctor.Status{"runner": doctor.Warning})["runner"].Do == "" {
		t.Error("nobody is told to start a runner")
	}
	if _, err := c.store.TakeRunner(context.Background(), "w2"); err != nil {
		t.Errorf("an examination keeps a runner out: %v", err)
	}
}

// sabotage is something that is wrong, made for real.
type sabotage struct {
	name string
	make func(c *clinic)
	want map[string]doctor.Status
}

func failed(names ...string) map[string]doctor.Status {
	want := map[string]doctor.Status{}
	for _, name := range names {
		want[name] = doctor.Failed
	}
	return want
}

// TestEveryFaultIsFound makes each thing that can be wrong go wrong for real, and
// wants its check, and no other, to say so.
//
// Proves: M16, I8
func TestEveryFaultIsFound(t *testing.T) {
	t.Parallel()
	for _, s := range append(append(recordSabotages(), workSabotages()...), fileSabotages()...) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			c := newClinic(t)
			s.make(c)
			c.finds(s.want)
		})
	}
}

// running has a runner hold the file for the rest of the test.
func (c *clinic) running() {
	c.t.Helper()
	if _, err := c.store.TakeRunner(context.Background(), "w1"); err != nil {
		c.t.Fatal(err)
	}
}

// pause pauses the connection of all operations.
func (c *clinic) pause() {
	c.t.Helper()
	ref := onefold.ConnectionRef{Workspace: storetest.Workspace, Connection: storetest.Connection}
	if _, err := c.store.PauseConnection(context.Background(), ref, storetest.Caller(), "401"); err != nil {
		c.t.Fatal(err)
	}
}

// silent has an attempt whose worker went silent: its lease expired.
func (c *clinic) silent() onefold.Operation {
	c.t.Helper()
	op := c.Attempting(c.t, c.Admit(c.t, "silent").ID)
	c.WaitFor(op.Lease.Until)
	ev := c.Event(onefold.EventLeaseExpired, onefold.Actor{Kind: onefold.ActorEngine, Name: "scan"})
	ev.Lease = &onefold.LeaseGrant{Worker: op.Lease.Worker, Token: op.Lease.Token}
	ev.Evidence = &onefold.Evidence{
		ID: c.IDs.New(onefold.PrefixEvidence, c.Clock.Now()), Kind: onefold.EvidenceLeaseExpiry, Asserts: onefold.AssertsNothing,
	}
	return c.Step(c.t, op.ID, ev).Operation
}

// reviewed has an open review, owned by ada.
func (c *clinic) reviewed() onefold.Operation {
	c.t.Helper()
	op := c.Attempting(c.t, c.Admit(c.t, "reviewed").ID)
	ev := c.Answer(op.Attempts[0].ID, op.Token, onefold.OutcomeUnknown, "")
	ev.Policy.InDoubt = []onefold.RecoveryStep{onefold.StepOperator}
	op = c.Step(c.t, op.ID, ev).Operation
	if len(op.OpenReviews()) != 1 {
		c.t.Fatalf("no review is open: %+v", op.Standing)
	}
	return op
}

func workSabotages() []sabotage {
	return []sabotage{
		{"a runner that is dead", func(c *clinic) {
			c.Attempting(c.t, c.Admit(c.t, "k").ID)
			c.Clock.Advance(time.Minute)
		}, map[string]doctor.Status{"leases": doctor.Failed, "runner": doctor.Warning}},
		{"a runner that is stuck", func(c *clinic) {
			c.running()
			c.Attempting(c.t, c.Admit(c.t, "k").ID)
			c.Clock.Advance(time.Minute)
		}, failed("leases")},
		{"nobody runs the file, and work is overdue", func(c *clinic) {
			c.Admit(c.t, "k")
			c.Clock.Advance(time.Minute)
		}, failed("runner")},
		{"look-ups and writes that nobody takes up, though a process runs the file", func(c *clinic) {
			c.running()
			c.Ended(c.t, c.Admit(c.t, "asked").ID, onefold.OutcomeUnknown, "")
			c.Admit(c.t, "sent")
			c.Clock.Advance(time.Minute)
		}, map[string]doctor.Status{"due_work": doctor.Warning}},
		{"a look-up that nobody takes up, over a paused connection", func(c *clinic) {
			c.running()
			c.Ended(c.t, c.Admit(c.t, "asked").ID, onefold.OutcomeUnknown, "")
			c.pause()
			c.Clock.Advance(time.Minute)
		}, map[string]doctor.Status{"due_work": doctor.Warning, "pauses": doctor.Warning}},
		{"a write that waits for its paused connection", func(c *clinic) {
			c.running()
			c.Admit(c.t, "sent")
			c.pause()
			c.Clock.Advance(time.Minute)
		}, map[string]doctor.Status{"pauses": doctor.Warning}},
		{"an attempt that went silent", func(c *clinic) { c.running(); c.silent() }, map[string]doctor.Status{"open_attempts": doctor.Warning}},
		{"a silent attempt that nobody closed", func(c *clinic) {
			c.running()
			op := c.silent()
			c.WaitFor(op.Attempts[0].CloseAt.Add(time.Minute))
		}, map[string]doctor.Status{"open_attempts": doctor.Failed, "due_work": doctor.Warning}},
		{"an operation that nobody plans", func(c *clinic) {
			op := c.Attempting(c.t, c.Admit(c.t, "k").ID)
			c.running() // ends what the earlier worker held, and has no contract to plan with
			if now, err := c.store.Operation(context.Background(), "", op.ID); err != nil || now.Next != onefold.NextNone {
				c.t.Fatalf("it is planned: %+v %v", now.Next, err)
			}
			c.Clock.Advance(time.Minute)
		}, map[string]doctor.Status{"unplanned": doctor.Warning}},
		{"an operation that is unknown for days", func(c *clinic) {
			c.reviewed()
			c.Clock.Advance(72 * time.Hour)
		}, map[string]doctor.Status{"unresolved": doctor.Warning}},
		{"a paused connection", (*clinic).pause, map[string]doctor.Status{"pauses": doctor.Warning}},
		{"records of the future", func(c *clinic) {
			c.Ended(c.t, c.Admit(c.t, "k").ID, onefold.OutcomeConfirmed, "BILL-1")
			c.Clock.Advance(-time.Hour)
		}, failed("clock")},
		{"a clock that went back", func(c *clinic) {
			c.Ended(c.t, c.Admit(c.t, "k").ID, onefold.OutcomeConfirmed, "BILL-1")
			c.Clock.Advance(-time.Hour)
			c.Ended(c.t, c.Admit(c.t, "k2").ID, onefold.OutcomeConfirmed, "BILL-2")
			c.Clock.Advance(2 * time.Hour)
		}, map[string]doctor.Status{"clock": doctor.Warning}},
		{"a clock that jumps", func(c *clinic) { c.options.Boot = jumping() }, failed("clock")},
	}
}

// jumping is a monotonic clock on which an hour passes between two readings.
func jumping() func() time.Duration {
	n := time.Duration(0)
	return func() time.Duration { n += time.Hour; return n }
}

func recordSabotages() []sabotage {
	stranded := func(c *clinic) {
		c.Ended(c.t, c.Admit(c.t, "k").ID, onefold.OutcomeUnknown, "")
		c.sql(`UPDATE live_operation SET due_at = NULL, standing = json_remove(standing, '$.due')`)
	}
	return []sabotage{
		{"an operation that nobody moves on", stranded, failed("orphans", "records")},
		{"a row that breaks the law", func(c *clinic) {
			c.running()
			c.Admit(c.t, "k")
			c.sql(`UPDATE live_operation SET standing = json_set(standing, '$.maybe_applied', json('true'))`)
		}, failed("records")},
		{"a column that lies", func(c *clinic) {
			c.running()
			c.Admit(c.t, "k")
			c.sql(`UPDATE live_operation SET due_at = due_at + 1`)
		}, failed("records")},
		{"a standing that nobody can read", func(c *clinic) {
			c.reviewed()
			c.sql(`UPDATE live_operation SET standing = 'lost'`)
		}, failed("orphans", "records")},
		{"a live row of no operation", func(c *clinic) {
			c.running()
			c.Admit(c.t, "k")
			c.sql(`UPDATE live_operation SET operation = 999`, `INSERT INTO operation SELECT 999, 'op_x', workspace, capability, contract_version, target, target_version,
				connection, 'k2', submitted_by, revision, not_before, start_deadline, metadata, fingerprint, fingerprint_key, 'i2', 'r2', 0, owner,
				key_retention, created_at, 0 FROM operation`, `DELETE FROM operation`)
		}, failed("records", "sequence")},
		{"an operation whose standing is gone", func(c *clinic) {
			c.Admit(c.t, "k")
			c.sql(`DROP TRIGGER live_operation_is_not_lost`, `DELETE FROM live_operation`)
		}, failed("admitted")},
		{"a review without owner in the operation", func(c *clinic) {
			c.reviewed()
			c.sql(`UPDATE live_operation SET standing = json_set(standing, '$.reviews[0].owner', '')`)
		}, failed("review_owners", "records")},
		{"a review without owner in the list", func(c *clinic) {
			c.reviewed()
			c.sql(`UPDATE review SET document = json_set(document, '$.owner', '')`)
		}, failed("reviews")},
		{"a review that the list has closed", func(c *clinic) {
			c.reviewed()
			c.sql(`UPDATE review SET status = 'resolved'`)
		}, failed("records")},
		{"a review of no operation", func(c *clinic) {
			c.reviewed()
			c.sql(`UPDATE review SET operation = 999`)
		}, failed("reviews")},
		{"another secret", func(c *clinic) {
			c.options.SecretGiven, c.options.SecretID, c.options.SecretCheck = true, "k2", "v1:two"
		}, failed("secret")},
		{"a secret whose check value is gone, found without any secret", func(c *clinic) {
			c.running()
			c.Admit(c.t, "k")
			c.sql(`DELETE FROM secret_check`)
		}, failed("secret")},
		{"another secret in its place", func(c *clinic) {
			c.running()
			c.Admit(c.t, "k")
			c.sql(`UPDATE secret_check SET key_id = 'k2', check_value = 'v1:two'`)
			c.options.SecretGiven, c.options.SecretID, c.options.SecretCheck = true, "k2", "v1:two"
		}, failed("secret")},
		{"the right secret", func(c *clinic) {
			c.options.SecretGiven, c.options.SecretID, c.options.SecretCheck = true, "k1", "v1:one"
		}, nil},
		{"a secret that cannot be read", func(c *clinic) {
			c.options.SecretGiven, c.options.SecretTrouble, c.options.SecretHint = true, "there is no such file", "name another"
		}, failed("secret")},
	}
}

func fileSabotages() []sabotage {
	after := func(status doctor.Status) map[string]doctor.Status {
		want := map[string]doctor.Status{"migrations": doctor.Failed}
		for _, name := range names()[7:] {
			want[name] = status
		}
		return want
	}
	return []sabotage{
		{"another journal mode", func(c *clinic) {
			c.close()
			c.sql(`PRAGMA journal_mode = DELETE`)
		}, failed("journal_mode")},
		{"a log that grows", func(c *clinic) { c.options.MaxLog = 256 << 10; c.growLog() }, failed("wal_size")},
		{"a full disk", func(c *clinic) { c.options.MinFree = 1 << 62 }, failed("disk_space")},
		{"a page that was overwritten", (*clinic).damage, failed("integrity")},
		{"no time to look", func(c *clinic) { c.Admit(c.t, "k"); c.running(); c.options.Within = 1 }, map[string]doctor.Status{
			"integrity": doctor.NotChecked, "admitted": doctor.NotChecked, "claims": doctor.NotChecked, "payloads": doctor.NotChecked,
			"outgoing_requests": doctor.NotChecked, "evidence": doctor.NotChecked, "timelines": doctor.NotChecked, "standings": doctor.NotChecked,
		}},
		{"a migration that was not run", func(c *clinic) { c.close(); c.sql(`DELETE FROM migration`) }, after(doctor.NotChecked)},
		{"a migration of a later release", func(c *clinic) {
			c.close()
			c.sql(`INSERT INTO migration SELECT max(version) + 1, 'later', checksum, applied_at FROM migration`)
		}, after(doctor.NotChecked)},
		{"a migration that was edited", func(c *clinic) {
			c.close()
			c.sql(`UPDATE migration SET checksum = replace(hex(zeroblob(32)), '0', 'f')`)
		}, after(doctor.NotChecked)},
		{"another program's file", func(c *clinic) {
			c.close()
			if err := os.Remove(c.opts.Path); err != nil {
				c.t.Fatal(err)
			}
			c.sql(`PRAGMA journal_mode = WAL`, `CREATE TABLE recipe (name TEXT)`)
		}, after(doctor.NotChecked)},
	}
}

// growLog keeps a reader's transaction open while others write.
func (c *clinic) growLog() {
	c.t.Helper()
	db, err := sql.Open("sqlite", c.opts.Path)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = db.Close() })
	pinned, err := db.Begin()
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = pinned.Rollback() })
	n := 0
	if err := pinned.QueryRow(`SELECT count(*) FROM operation`).Scan(&n); err != nil {
		c.t.Fatal(err)
	}
	for _, k := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
		c.Ended(c.t, c.Admit(c.t, k).ID, onefold.OutcomeConfirmed, "BILL-"+k)
	}
}

// damage writes over a page of an index, so that no table is touched.
func (c *clinic) damage() {
	c.t.Helper()
	c.close()
	db, err := sql.Open("sqlite", c.opts.Path)
	if err != nil {
		c.t.Fatal(err)
	}
	page := int64(0)
	if err := db.QueryRow(`SELECT rootpage FROM sqlite_schema WHERE name = 'token_by_workspace'`).Scan(&page); err != nil {
		c.t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		c.t.Fatal(err)
	}
	file, err := os.OpenFile(c.opts.Path, os.O_RDWR, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := file.WriteAt([]byte(strings.Repeat("?", 64)), (page-1)*4096); err != nil {
		c.t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		c.t.Fatal(err)
	}
}
