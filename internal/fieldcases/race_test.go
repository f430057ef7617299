package fieldcases

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/rig"
	"github.com/onefold-dev/onefold/sandbox"
)

// heard is what one caller of several was told.
type heard struct {
	op       onefold.Operation
	replayed bool
	err      error
}

// atOnce lets n callers loose at the same time.
func atOnce(n int, call func(i int) (onefold.Operation, bool, error)) []heard {
	all := make([]heard, n)
	start := make(chan struct{})
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			<-start
			all[i].op, all[i].replayed, all[i].err = call(i)
		})
	}
	close(start)
	group.Wait()
	return all
}

// one fails unless a single caller was admitted and all the others found its
// operation.
func one(t *testing.T, all []heard) onefold.Operation {
	t.Helper()
	fresh := 0
	for i, h := range all {
		if h.err != nil || h.op.ID != all[0].op.ID {
			t.Errorf("caller %d: %v, operation %s; want %s", i, h.err, h.op.ID, all[0].op.ID)
		}
		if !h.replayed {
			fresh++
		}
	}
	if fresh != 1 {
		t.Errorf("%d callers were told that theirs is new", fresh)
	}
	return all[0].op
}

// raw opens the store's file beside it.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Two creates passed the look-up together, and the loser failed only when its work was done and it committed.
//
// Proves: I3
func TestC53TwoCreatesCommitTogether(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	op := one(t, atOnce(50, func(int) (onefold.Operation, bool, error) { return submit(r, "bills.create", "k53", bill) }))
	agrees(t, r, r.UntilState(op.ID, onefold.Confirmed), 1, 1)
	totals(t, r, 1, 1)
}

// A batch that held one key twice crashed the ledger, because only committed rows were looked at.
//
// Proves: I3, I4
func TestC57OneKeyTwiceInABatch(t *testing.T) {
	t.Parallel()
	const batches = 20
	r := rig.New(t, rig.Options{})
	const changed = `{"supplier":"S-81","number":"INV-0042","total":"1250.01"}`
	bodies := []string{bill, bill, changed}
	// All of them share the writer's commits.
	all := atOnce(3*batches, func(i int) (onefold.Operation, bool, error) {
		return submit(r, "bills.create", key("x", i/3), bodies[i%3])
	})
	for b := range batches {
		fresh, conflicts := 0, 0
		for _, h := range all[3*b : 3*b+3] {
			switch {
			case onefold.CodeOf(h.err) == onefold.CodeKeyConflict:
				conflicts++
			case h.err != nil:
				t.Errorf("batch %d: %v", b, h.err)
			case !h.replayed:
				fresh++
			}
		}
		// The changed one conflicts, or was first and the two others do.
		if fresh != 1 || conflicts != 1 && conflicts != 2 {
			t.Errorf("batch %d: %d new, %d conflicts", b, fresh, conflicts)
		}
		op, found, err := r.Store.Claimed(context.Background(), onefold.ClaimKey{Workspace: rig.Workspace, Capability: "bills.create", Key: key("x", b)})
		if err != nil || !found {
			t.Fatalf("batch %d: %v, found %v", b, err, found)
		}
		agrees(t, r, r.UntilState(op.ID, onefold.Confirmed), 1, 1)
	}
	totals(t, r, batches, batches)
}

// A handler checked, worked and marked only then; the sender's repeat passed the check and everything ran twice.
//
// Proves: M17, M19
func TestC58CheckedWorkedAndThenMarked(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	r := rig.New(t, rig.Options{Store: stepsIf(func(ev onefold.Event) error {
		if ev.Kind == onefold.EventObserved && down.Load() {
			return &onefold.Error{Code: onefold.CodeStoreUnavailable}
		}
		return nil
	})})
	r.Fault(sandbox.Fault{Kind: sandbox.DropBefore})
	op := inReview(r, r.Submit("payments.send", "k", payment))
	before := len(evidenceOf(t, r, op))
	down.Store(true)
	if _, err := deliver(r, op, onefold.AssertsEffect, "SM1", "PAY-1"); onefold.CodeOf(err) != onefold.CodeStoreUnavailable {
		t.Errorf("with the store down: %v, want store_unavailable", err)
	}
	if got := now(t, r, op); got.State != onefold.Uncertain || len(evidenceOf(t, r, got)) != before {
		t.Errorf("with the store down it became %s, with %d pieces of evidence after %d", got.State, len(evidenceOf(t, r, got)), before)
	}
	down.Store(false)
	all := atOnce(20, func(int) (onefold.Operation, bool, error) {
		got, err := deliver(r, op, onefold.AssertsEffect, "SM1", "PAY-1")
		return got, false, err
	})
	for _, h := range all {
		if h.err != nil || h.op.State != onefold.Confirmed {
			t.Errorf("%v, %s", h.err, h.op.State)
		}
	}
	seen, settled := 0, 0
	for _, e := range evidenceOf(t, r, op) {
		if e.SourceEventID == "SM1" {
			seen++
		}
	}
	for _, e := range timeline(t, r, op) {
		if e.To == onefold.Confirmed && e.From != onefold.Confirmed {
			settled++
		}
	}
	if seen != 1 || settled != 1 {
		t.Errorf("one event is on record %d times and settled it %d times", seen, settled)
	}
}

// entering tells when an admission comes to the store.
type entering struct {
	onefold.Store
	entered chan struct{}
}

func (e *entering) Admit(ctx context.Context, a onefold.Admission) (onefold.Operation, bool, error) {
	close(e.entered)
	return e.Store.Admit(ctx, a)
}

// Two claimed one key; the loser heard "there already", the winner rolled back, and nobody ran it.
//
// Proves: I3, M4
func TestC59WinnerRolledBack(t *testing.T) {
	t.Parallel()
	// What the claim of this key looks like is learnt from another file.
	twin := filepath.Join(t.TempDir(), "twin.db")
	other := rig.New(t, rig.Options{Path: twin, Idle: true})
	other.Submit("bills.create", "k59", bill)
	var digest []byte
	if err := raw(t, twin).QueryRow("SELECT digest FROM claim").Scan(&digest); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "onefold.db")
	e := &entering{entered: make(chan struct{})}
	r := rig.New(t, rig.Options{Path: path, Store: func(s onefold.Store) onefold.Store { e.Store = s; return e }})
	ctx := context.Background()
	winner, err := raw(t, path).Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = winner.Close() }()
	if _, err := winner.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if _, err := winner.ExecContext(ctx, "INSERT INTO claim (digest, key, operation) VALUES (?, 'k59', 1)", digest); err != nil {
		t.Fatal(err)
	}
	told := make(chan heard, 1)
	go func() {
		op, replayed, err := submit(r, "bills.create", "k59", bill)
		told <- heard{op, replayed, err}
	}()
	<-e.entered
	select {
	case h := <-told:
		t.Errorf("answered against a row that nobody had committed: %v, replayed %v", h.err, h.replayed)
	case <-time.After(100 * time.Millisecond):
	}
	if _, err := winner.ExecContext(ctx, "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	h := <-told
	if h.err != nil || h.replayed {
		t.Fatalf("after the roll-back: %v, replayed %v; want a new operation", h.err, h.replayed)
	}
	agrees(t, r, r.UntilState(h.op.ID, onefold.Confirmed), 1, 1)
}

// A row was deleted between the conflict and the read; the answer was "new", with nothing on record behind it.
//
// Proves: I3, I7, M24
func TestC60KeyFreedBetweenConflictAndRead(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Idle: true})
	ctx := context.Background()
	freed := make(chan onefold.Operation, 1000)
	var freeing, callers sync.WaitGroup
	freeing.Go(func() {
		for op := range freed {
			if _, err := r.Ledger.Cancel(ctx, rig.Operator(op, "not now"), true); err != nil {
				t.Error(err)
			}
		}
	})
	var admitted atomic.Int64
	for range 20 {
		callers.Go(func() {
			for admitted.Load() < 12 {
				op, replayed, err := submit(r, "bills.create", "k60", bill)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := r.Ledger.Operation(ctx, rig.Workspace, op.ID); err != nil {
					t.Errorf("an answer with nothing behind it: %v", err)
				}
				if !replayed {
					admitted.Add(1)
					freed <- op
				}
			}
		})
	}
	callers.Wait()
	close(freed)
	freeing.Wait()
	last := r.Submit("bills.create", "k60", bill)
	held, rows := 0, int64(0)
	for cursor := ""; ; {
		page, next, err := r.Store.List(ctx, onefold.Query{Workspace: rig.Workspace, Key: "k60", Limit: 200, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for i := range page {
			rows++
			if !page[i].KeyReleased {
				held++
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	if held != 1 || rows != admitted.Load()+1 {
		t.Errorf("%d operations hold the key; %d rows for %d admissions", held, rows, admitted.Load()+1)
	}
	r.Start()
	agrees(t, r, r.UntilState(last.ID, onefold.Confirmed), 1, 1)
	totals(t, r, 1, 1)
}

// An insert that did nothing on conflict gave back no row, or an id that was never stored.
//
// Proves: I3, I5
func TestC61ConflictAnswersWithAMadeUpID(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "onefold.db")
	r := rig.New(t, rig.Options{Path: path})
	// Half of the callers come through another opening of the same file.
	beside := rig.New(t, rig.Options{Path: path, Sandbox: r.Sandbox, Idle: true})
	op := one(t, atOnce(200, func(i int) (onefold.Operation, bool, error) {
		from := r
		if i%2 == 1 {
			from = beside
		}
		op, replayed, err := submit(from, "orders.create", "k61", order)
		if err != nil {
			return op, replayed, err
		}
		_, err = from.Ledger.Operation(context.Background(), rig.Workspace, op.ID)
		return op, replayed, err
	}))
	agrees(t, r, r.UntilState(op.ID, onefold.Confirmed), 1, 1)
	totals(t, r, 1, 1)
}

// Uniqueness held for each month's partition alone: a retry after midnight of the last day was new.
//
// Proves: I2
func TestC62UniqueWithinAPartitionOnly(t *testing.T) {
	t.Parallel()
	c := &clock{}
	path := filepath.Join(t.TempDir(), "onefold.db")
	r := rig.New(t, rig.Options{Path: path, Now: c.now, Scan: soon, Edit: edit("owner: accounts-payable\n", "owner: accounts-payable\nretention: {key: 2400h}\n")})
	op := r.UntilState(r.Submit("bills.create", "k62", bill).ID, onefold.Confirmed)
	for range 3 {
		c.forward(r, 32*24*time.Hour)
		replays(t, r, op, bill)
	}
	agrees(t, r, op, 1, 1)
	rows, err := raw(t, path).Query("SELECT i.name FROM pragma_index_list('claim') AS l, pragma_index_info(l.name) AS i WHERE l.\"unique\" = 1")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns := 0
	for rows.Next() {
		var column string
		if err := rows.Scan(&column); err != nil {
			t.Fatal(err)
		}
		if columns++; column != "digest" {
			t.Errorf("the claim's uniqueness depends on %s", column)
		}
	}
	if err := rows.Err(); err != nil || columns == 0 {
		t.Errorf("%v: %d columns make a claim unique", err, columns)
	}
}

// follow reads a workspace's changes by cursor until stop is closed and nothing
// is left.
func follow(t *testing.T, r *rig.Rig, workspace string, stop <-chan struct{}) []onefold.Entry {
	t.Helper()
	var all []onefold.Entry
	after := int64(0)
	for last := false; ; {
		page, err := r.Store.Changes(context.Background(), workspace, after, 7)
		if err != nil {
			t.Error(err)
			return all
		}
		all = append(all, page...)
		if len(page) > 0 {
			after = page[len(page)-1].Seq
			continue
		}
		if last {
			return all
		}
		select {
		case <-stop:
			last = true
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// A rolled-back insert left a hole in the numbers, and the reader waited there for ever.
//
// Proves: M28
func TestC113HoleThatNeverFills(t *testing.T) {
	t.Parallel()
	const many = 100
	r := rig.New(t, rig.Options{Idle: true, Edit: func(text string) string {
		// The same documents serve a second workspace, whose entries are holes to the first.
		last := text[strings.LastIndex(text, "---\n"):]
		return text + edit("workspace: acme", "workspace: beside")(last)
	}, Store: func(s onefold.Store) onefold.Store {
		if _, err := s.CreateWorkspace(context.Background(), "beside"); err != nil {
			panic(err)
		}
		return s
	}})
	stop := make(chan struct{})
	read := make(chan []onefold.Entry, 1)
	go func() { read <- follow(t, r, rig.Workspace, stop) }()
	admit := func(i int) (onefold.Operation, bool, error) {
		s := r.Submission("bills.create", key("k", i), bill)
		if i%3 == 0 {
			s.Workspace = "beside"
		}
		return r.Ledger.Submit(context.Background(), s)
	}
	// One hole for certain, then as chance has it.
	all := make([]heard, 5, many)
	for i := range all {
		all[i].op, all[i].replayed, all[i].err = admit(i)
	}
	all = append(all, atOnce(many-len(all), func(i int) (onefold.Operation, bool, error) { return admit(i + 5) })...)
	close(stop)
	want := map[string]bool{}
	for i, h := range all {
		if h.err != nil {
			t.Fatal(h.err)
		}
		if i%3 != 0 {
			want[h.op.ID] = true
		}
	}
	entries := <-read
	holes := 0
	for i, e := range entries {
		if !want[e.Operation] {
			t.Errorf("%s was read twice, or belongs to another workspace", e.Operation)
		}
		delete(want, e.Operation)
		if i > 0 && e.Seq > entries[i-1].Seq+1 {
			holes++
		}
	}
	if len(want) != 0 || holes == 0 {
		t.Errorf("the reader missed %d of them, over %d holes", len(want), holes)
	}
}

// Events were sorted by transaction and id, which is still not the order in which they were committed.
//
// Proves: M28
func TestC115OrderThatIsNotTheOrderOfCommits(t *testing.T) {
	t.Parallel()
	const many = 25
	r := rig.New(t, rig.Options{})
	stop := make(chan struct{})
	read := make(chan []onefold.Entry, 1)
	go func() { read <- follow(t, r, rig.Workspace, stop) }()
	all := atOnce(many, func(i int) (onefold.Operation, bool, error) { return submit(r, "bills.create", key("k", i), bill) })
	for _, h := range all {
		if h.err != nil {
			t.Fatal(h.err)
		}
		r.UntilState(h.op.ID, onefold.Confirmed)
	}
	close(stop)
	version, state, seq := map[string]int64{}, map[string]onefold.State{}, int64(0)
	for _, e := range <-read {
		if e.Seq <= seq {
			t.Errorf("entry %d came after %d", e.Seq, seq)
		}
		seq = e.Seq
		if e.Version < version[e.Operation] || e.From != state[e.Operation] {
			t.Errorf("%s: version %d after %d, from %q while it was %q", e.Operation, e.Version, version[e.Operation], e.From, state[e.Operation])
		}
		version[e.Operation], state[e.Operation] = e.Version, e.To
	}
	for _, h := range all {
		if state[h.op.ID] != onefold.Confirmed {
			t.Errorf("the reader, who followed while it was written, last saw %s %q", h.op.ID, state[h.op.ID])
		}
	}
}

// A transaction that read first and wrote later failed at once with "database is locked", whatever the time-out.
//
// Proves: I3, M4
func TestC125DatabaseIsLocked(t *testing.T) {
	t.Parallel()
	const writers, each = 16, 4
	path := filepath.Join(t.TempDir(), "onefold.db")
	roomy := edit("unresolved: 100", "unresolved: 1000")
	r := rig.New(t, rig.Options{Path: path, Idle: true, Edit: roomy})
	beside := rig.New(t, rig.Options{Path: path, Sandbox: r.Sandbox, Idle: true, Edit: roomy})
	var others sync.WaitGroup
	for range 8 {
		others.Go(func() {
			for range 20 {
				if _, _, err := r.Store.List(context.Background(), onefold.Query{Workspace: rig.Workspace, Limit: 50}); err != nil {
					t.Errorf("a reader: %v", err)
					return
				}
			}
		})
	}
	// Two openings of the file write, and a foreign one takes the lock now and then.
	foreign := raw(t, path)
	others.Go(func() {
		for range 10 {
			if _, err := foreign.Exec("UPDATE sequence SET last = last + 1000"); err != nil {
				t.Errorf("the foreign writer: %v", err)
			}
		}
	})
	all := atOnce(writers*each, func(i int) (op onefold.Operation, replayed bool, err error) {
		from := r
		if i%2 == 1 {
			from = beside
		}
		return submit(from, "bills.create", key("k", i), bill)
	})
	others.Wait()
	for i, h := range all {
		if h.err != nil || h.replayed {
			t.Errorf("writer %d: %v, replayed %v", i, h.err, h.replayed)
		}
		if _, err := r.Ledger.Operation(context.Background(), rig.Workspace, h.op.ID); err != nil {
			t.Errorf("writer %d: what was acknowledged is not there: %v", i, err)
		}
	}
}
