package sqlite_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/sqlite"
	"github.com/onefold-dev/onefold/storetest"
)

// hurt is a store whose file is changed behind its back.
type hurt struct {
	*storetest.Subject
	t    *testing.T
	opts sqlite.Options
	log  *logged
}

// logged is what a store has logged.
type logged struct{ strings.Builder }

func newHurt(t *testing.T) *hurt {
	t.Helper()
	h := &hurt{t: t, log: &logged{}}
	h.Subject = subject(t, func(o *sqlite.Options) {
		o.Log = slog.New(slog.NewTextHandler(h.log, nil))
		h.opts = *o
	})
	return h
}

// sql closes the store, changes the file with all triggers off, and opens it again.
func (h *hurt) sql(statements ...string) {
	h.t.Helper()
	if err := h.Store.Close(); err != nil {
		h.t.Fatal(err)
	}
	db, err := sql.Open(h.opts.Driver, "file:"+h.opts.Path)
	if err != nil {
		h.t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	triggers := map[string]string{}
	all := ""
	if err := db.QueryRow("SELECT json_group_object(name, sql) FROM sqlite_master WHERE type = 'trigger'").Scan(&all); err != nil {
		h.t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(all), &triggers); err != nil {
		h.t.Fatal(err)
	}
	run := func(text string) {
		if _, err := db.Exec(text); err != nil {
			h.t.Fatalf("%v, in: %s", err, text)
		}
	}
	for name := range triggers {
		run("DROP TRIGGER " + name)
	}
	for _, s := range statements {
		run(s)
	}
	for _, text := range triggers {
		run(text)
	}
	if err := db.Close(); err != nil {
		h.t.Fatal(err)
	}
	store, err := sqlite.Open(context.Background(), h.opts)
	if err != nil {
		h.t.Fatal(err)
	}
	h.Store = store
}

// at is a condition on a table that hangs on an operation.
func at(id string) string {
	return " WHERE operation = (SELECT num FROM operation WHERE id = '" + id + "')"
}

// damages are ways in which one operation's record can be damaged, of one that is
// live (true) or finished.
func damages(live bool, id string) map[string][]string {
	table := map[bool]string{true: "live_operation", false: "finished_operation"}[live]
	all := map[string][]string{
		"an empty standing":            {"UPDATE " + table + " SET standing = ''" + at(id)},
		"a standing that is cut off":   {"UPDATE " + table + " SET standing = substr(standing, 1, 40)" + at(id)},
		"a standing of another kind":   {"UPDATE " + table + " SET standing = '[]'" + at(id)},
		"another state than the row's": {"UPDATE " + table + " SET standing = json_set(standing, '$.state', 'canceled')" + at(id)},
		"no standing":                  {"DELETE FROM " + table + at(id)},
		"metadata that is none":        {"UPDATE operation SET metadata = '{' WHERE id = '" + id + "'"},
		"an instant that is none":      {"UPDATE operation SET start_deadline = 'soon' WHERE id = '" + id + "'"},
		"a connection that has no row": {"UPDATE operation SET connection = 99 WHERE id = '" + id + "'"},
		"a standing in two places": {map[bool]string{
			true:  "INSERT INTO finished_operation SELECT operation, workspace, created_at, 1, 'rejected', version, NULL, standing FROM live_operation" + at(id),
			false: "INSERT INTO live_operation SELECT operation, workspace, 1, created_at, state, version, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, result_reference, standing FROM finished_operation" + at(id),
		}[live]},
	}
	return all
}

// TestADamagedRecordHidesNoOther damages one of three operations in every way. It is
// told of by its name, by an error that is no reason to ask again, and the others
// are listed, counted, stepped and found as before.
//
// Proves: I3a
func TestADamagedRecordHidesNoOther(t *testing.T) {
	t.Parallel()
	for _, live := range []bool{true, false} {
		for name := range damages(live, "") {
			t.Run(fmt.Sprintf("%s, live %v", name, live), func(t *testing.T) {
				t.Parallel()
				hidesNoOther(t, live, name)
			})
		}
	}
}

func hidesNoOther(t *testing.T, live bool, name string) {
	ctx := context.Background()
	h := newHurt(t)
	first := h.Admit(t, "first")
	bad := h.Admit(t, "bad")
	if !live {
		h.Ended(t, bad.ID, onefold.OutcomeConfirmed, "BILL-1")
	}
	last := h.Admit(t, "last")
	h.sql(damages(live, bad.ID)[name]...)

	all, _, err := h.Store.List(ctx, onefold.Query{Workspace: storetest.Workspace})
	if err != nil {
		t.Fatalf("the list: %v", err)
	}
	var listed []string
	for i := range all {
		listed = append(listed, all[i].ID)
		if (all[i].Unreadable != "") != (all[i].ID == bad.ID) {
			t.Errorf("%s is unreadable: %q", all[i].ID, all[i].Unreadable)
		}
	}
	if !slices.Equal(listed, []string{last.ID, bad.ID, first.ID}) {
		t.Errorf("listed are %v", listed)
	}
	refused := func(what string, err error) {
		t.Helper()
		if onefold.CodeOf(err) != onefold.CodeRecordUnreadable {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err = h.Store.Operation(ctx, storetest.Workspace, bad.ID)
	refused("a read", err)
	if _, err := h.Store.Operation(ctx, "umbrella", bad.ID); onefold.CodeOf(err) != onefold.CodeOperationUnknown {
		t.Errorf("a read from another workspace: %v", err)
	}
	_, _, err = h.Store.Claimed(ctx, onefold.ClaimKey{Workspace: storetest.Workspace, Capability: storetest.Capability, Key: "bad"})
	refused("a repeat", err)
	_, _, err = h.Store.Admit(ctx, h.Admission("bad"))
	refused("a repeat that asks the writer", err)
	_, err = h.Store.Step(ctx, bad.ID, h.Lease(), 0)
	refused("a step", err)
	if _, err := h.Store.Stats(ctx, storetest.Workspace); err != nil {
		t.Errorf("the counts: %v", err)
	}
	for _, op := range []onefold.Operation{first, last} {
		if got := h.Step(t, op.ID, h.Lease()).Operation; got.Lease == nil {
			t.Errorf("%s is not leased", op.ID)
		}
	}
	h.Admit(t, "new")
}

// TestScansGoAroundADamagedRecord lets leases expire, one of them of a record that is
// damaged, and a runner start on it.
//
// Proves: M10, M12a
func TestScansGoAroundADamagedRecord(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h := newHurt(t)
	var ids []string
	for n := range 4 {
		op := h.Attempting(t, h.Admit(t, fmt.Sprint("k", n)).ID)
		ids = append(ids, op.ID)
	}
	h.sql("UPDATE live_operation SET standing = ''"+at(ids[0]), "UPDATE live_operation SET wake_at = 1"+at(ids[0]),
		"UPDATE live_operation SET wake_at = 2, standing = json_remove(standing, '$.lease')"+at(ids[1]))
	h.Clock.Advance(time.Hour)
	found, err := h.Store.Overdue(ctx, h.Clock.Now(), 1)
	if err != nil || len(found) != 1 || found[0].ID != ids[2] && found[0].ID != ids[3] {
		t.Errorf("overdue are %v, error %v", found, err)
	}
	if found, err := h.Store.Overdue(ctx, h.Clock.Now(), 100); err != nil || len(found) != 2 {
		t.Errorf("overdue are %d, error %v", len(found), err)
	}
	release, err := h.Store.TakeRunner(ctx, "w2")
	if err != nil {
		t.Fatalf("a runner cannot start: %v", err)
	}
	defer func() {
		if err := release(); err != nil {
			t.Error(err)
		}
	}()
	for _, id := range ids[2:] {
		if op, err := h.Store.Operation(ctx, "", id); err != nil || op.State != onefold.Uncertain {
			t.Errorf("%s is %s, error %v", id, op.State, err)
		}
	}
	if text := h.log.String(); strings.Count(text, "operation="+ids[0]) != 1 || !strings.Contains(text, "cannot be read") || !strings.Contains(text, "wake_at") {
		t.Errorf("the log says:\n%s", text)
	}
}

// TestADamagedRecordTakesNobodysPlace asks for one due operation at a time, of a
// connection whose longest waiting ones cannot be leased: one cannot be read, one is
// due by its row alone.
//
// Proves: M10
func TestADamagedRecordTakesNobodysPlace(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h := newHurt(t)
	unread, early, sound := h.Admit(t, "unread"), h.Admit(t, "early"), h.Admit(t, "sound")
	h.sql("UPDATE live_operation SET standing = '', due_at = 1"+at(unread.ID),
		"UPDATE live_operation SET due_at = 2, standing = json_set(standing, '$.due', '2199-01-01T00:00:00Z')"+at(early.ID))
	one := map[onefold.ConnectionRef]int{{Workspace: storetest.Workspace, Connection: storetest.Connection}: 1}
	next := func() string {
		t.Helper()
		items, err := h.Store.Due(ctx, h.Clock.Now(), one, 0)
		if err != nil || len(items) != 1 {
			t.Fatalf("due are %v, error %v", items, err)
		}
		return items[0].ID
	}
	for _, want := range []string{unread.ID, early.ID, sound.ID} {
		id := next()
		if id != want {
			t.Fatalf("due is %s, want %s", id, want)
		}
		if _, err := h.Store.Step(ctx, id, h.Lease(), 0); (err == nil) != (id == sound.ID) {
			t.Fatalf("lease %s: %v", id, err)
		}
	}
	// What was mended by hand meanwhile goes on by itself.
	h.Clock.Advance(time.Hour)
	if id := next(); id != unread.ID {
		t.Errorf("an hour later %s is due", id)
	}
}

// TestTheCounterGoesOnAfterWhatIsThere sets the counter of sequence numbers back, and
// takes it away: what is admitted then gets numbers that nothing has.
//
// Proves: M28
func TestTheCounterGoesOnAfterWhatIsThere(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, text := range map[string]string{"behind": "UPDATE sequence SET last = 0", "gone": "DELETE FROM sequence"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHurt(t)
			h.Ended(t, h.Admit(t, "done").ID, onefold.OutcomeConfirmed, "BILL-1")
			before, err := h.Store.Changes(ctx, "", 0, 100)
			if err != nil {
				t.Fatal(err)
			}
			h.sql(text)
			op := h.Admit(t, "new")
			h.Admit(t, "newer")
			after, err := h.Store.Changes(ctx, "", before[len(before)-1].Seq, 100)
			if err != nil || len(after) != 2 || after[0].Operation != op.ID || after[0].Seq != before[len(before)-1].Seq+1 {
				t.Errorf("the changes after it: %+v, error %v", after, err)
			}
			if log := h.log.String(); strings.Count(log, "the counter of sequence numbers is behind") != 1 {
				t.Errorf("the log says:\n%s", log)
			}
			i, err := sqlite.Inspect(ctx, h.opts)
			if err != nil {
				t.Fatal(err)
			}
			if s, err := i.Sequence(ctx); err != nil || s.Counter != s.Written {
				t.Errorf("the counter is %+v, error %v", s, err)
			}
			if err := i.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSecretsInUseAreSeen gives the first and the last of many operations, and a
// stretch of them between, another secret's id: a short look at the file sees all.
//
// Proves: I8
func TestSecretsInUseAreSeen(t *testing.T) {
	t.Parallel()
	h := newHurt(t)
	if i, err := h.Store.Installation(context.Background()); err != nil || len(i.KeyIDs) != 0 {
		t.Errorf("of an empty store: %+v, %v", i, err)
	}
	const operations = 200
	for n := range operations {
		key := map[bool]string{true: "between", false: "most"}[n > 100 && n < 110]
		switch n {
		case 0:
			key = "oldest"
		case operations - 1:
			key = "newest"
		}
		h.Admit(t, fmt.Sprint("k", n), func(op *onefold.Operation) { op.FingerprintKey = key })
	}
	i, err := h.Store.Installation(context.Background())
	if err != nil || !slices.Equal(i.KeyIDs, []string{"between", "most", "newest", "oldest"}) {
		t.Errorf("seen are %v, error %v", i.KeyIDs, err)
	}
}

// TestADamagedReviewHidesNoOther: the operation's own copy takes its place in the list.
func TestADamagedReviewHidesNoOther(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h := newHurt(t)
	var ids []string
	for n := range 3 {
		op := h.Ended(t, h.Admit(t, fmt.Sprint("k", n)).ID, onefold.OutcomeUnknown, "")
		ev := h.Event(onefold.EventLookedUp, h.Lease().Actor)
		h.WaitFor(*op.Due)
		op = h.Step(t, op.ID, h.Lease()).Operation
		ev.Lookup = &onefold.LookupOutcome{Token: op.Token, Began: h.Clock.Now(), Result: onefold.LookupSeveral}
		ev.Evidence = &onefold.Evidence{ID: h.IDs.New(onefold.PrefixEvidence, h.Clock.Now()), Kind: onefold.EvidenceLookup, Asserts: onefold.AssertsEffect}
		op = h.Step(t, op.ID, ev).Operation
		if len(op.OpenReviews()) != 1 {
			t.Fatalf("%d reviews are open", len(op.OpenReviews()))
		}
		ids = append(ids, op.ID)
	}
	h.sql("UPDATE review SET document = ''"+at(ids[0]), "UPDATE review SET document = ''"+at(ids[1]), "UPDATE live_operation SET standing = ''"+at(ids[1]))
	items, _, err := h.Store.Reviews(ctx, onefold.ReviewQuery{Workspace: storetest.Workspace})
	if err != nil || len(items) != 3 {
		t.Fatalf("%d reviews, error %v", len(items), err)
	}
	for n, item := range items {
		id := ids[2-n]
		if item.Operation.ID != id || (item.Operation.Unreadable != "") != (id == ids[1]) || id != ids[1] && item.Review.Owner == "" {
			t.Errorf("review %d: %+v of %s (%s)", n, item.Review, item.Operation.ID, item.Operation.Unreadable)
		}
	}
}
