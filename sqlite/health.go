package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/onefold-dev/onefold"
)

const (
	// inspectPage is how many rows an inspection reads at once: small, so that it
	// holds the write-ahead log back for no longer than a page.
	inspectPage = 500
	// integrityFaults bounds what an integrity check lists: one is enough to act on.
	integrityFaults = 10
	// newestEntries is how many entries of the timeline tell the newest times: a
	// clock that went back shows in the last of them.
	newestEntries = 1000
)

// Inspection is a look at a store's file from beside: it changes nothing that is
// stored, repairs nothing, and may be made while other processes work. What it
// finds is not judged here. Inspect makes it; Close ends it.
//
// While nobody else has the file open, closing it copies the write-ahead log
// back, as the end of any last connection does.
type Inspection struct {
	opts   Options
	reader *reader
}

// Inspect opens a file for an inspection. It makes and migrates nothing.
// Errors: ErrVersion, and store_unavailable where the file cannot be read.
func Inspect(ctx context.Context, opts Options) (*Inspection, error) {
	opts, err := opts.filled()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(opts.Path); err != nil {
		return nil, unavailable("the database file cannot be used", "look whether its path is right", err)
	}
	q, err := loadQueries()
	if err != nil {
		return nil, err
	}
	settings := append(sharedSettings(&opts, readerCache), setting{"query_only", "1", "1"})
	r, err := inspectReader(ctx, &opts, q, settings)
	if err != nil {
		return nil, err
	}
	return &Inspection{opts: opts, reader: r}, nil
}

func inspectReader(ctx context.Context, opts *Options, q queries, settings []setting) (*reader, error) {
	c, err := newConnector(opts, settings)
	if err != nil {
		return nil, err
	}
	r := &reader{db: sql.OpenDB(c), queries: q}
	r.db.SetMaxOpenConns(1)
	r.cache.prepare = func(ctx context.Context, text string) (*sql.Stmt, error) { return r.db.PrepareContext(ctx, text) }
	if err := r.db.PingContext(ctx); err != nil {
		return nil, errors.Join(r.failure("open for an inspection", err), r.db.Close())
	}
	return r, nil
}

// Close ends the inspection.
func (i *Inspection) Close() error { return i.reader.close() }

// Durability is what decides whether a commit survives a loss of power.
type Durability struct {
	// JournalMode is the file's own, as it stands: "wal" is needed.
	JournalMode string
	// Synchronous is what a connection reads back after it was set up as the store
	// sets its writing ones up: "2" (FULL) is needed. It is a setting of each
	// connection, and the store refuses one that does not have it.
	Synchronous string
	// Version is the SQLite of this program's driver, Minimum what is needed.
	Version, Minimum string
}

// Durability reads the settings on which durability rests.
func (i *Inspection) Durability(ctx context.Context) (d Durability, err error) {
	d.Minimum = minimumVersion
	db := i.reader.db
	if err := errors.Join(
		db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&d.Version),
		db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&d.JournalMode),
	); err != nil {
		return d, i.reader.failure("read the settings", err)
	}
	// A connection like the writer's, but for what would change the file.
	settings := slices.DeleteFunc(writerSettings(&i.opts), func(s setting) bool {
		return s.name == "journal_mode" || s.name == "query_only" || s.name == "wal_autocheckpoint"
	})
	for n := range settings {
		if settings[n].name == "synchronous" {
			settings[n].want = "" // told, not demanded
		}
	}
	r, err := inspectReader(ctx, &i.opts, i.reader.queries, append(settings, setting{"query_only", "1", "1"}))
	if err != nil {
		return d, err
	}
	level := 0
	err = r.db.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&level)
	d.Synchronous = strconv.Itoa(level)
	return d, errors.Join(i.reader.failure("read the settings", err), r.close())
}

// Integrity runs SQLite's quick check and returns what it complains of, at most
// ten things. It reads the whole file: bound it by ctx.
func (i *Inspection) Integrity(ctx context.Context) (faults []string, err error) {
	rows, err := i.reader.db.QueryContext(ctx, fmt.Sprintf("PRAGMA quick_check(%d)", integrityFaults))
	if err != nil {
		return nil, i.reader.failure("check the integrity", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		text := ""
		if err := rows.Scan(&text); err != nil {
			return nil, i.reader.failure("check the integrity", err)
		}
		if text != "ok" {
			faults = append(faults, text)
		}
	}
	return faults, i.reader.failure("check the integrity", rows.Err())
}

// Migrations tells how many migrations of this release are applied. Errors:
// ErrNotCurrent, ErrMigrationEdited, ErrNewerDatabase, ErrForeignFile.
func (i *Inspection) Migrations(ctx context.Context) (applied int, err error) {
	migrations, err := embeddedMigrations()
	if err != nil {
		return 0, err
	}
	have, err := appliedMigrations(ctx, i.reader.db)
	if err != nil {
		return 0, i.reader.failure("read the migrations", err)
	}
	return len(have), checkCurrent(migrations, have)
}

// Files are the sizes of the store's files in bytes.
type Files struct {
	Database, Log int64
	// Free is what may still be written where they lie; FreeErr says why it is not
	// known.
	Free    int64
	FreeErr error
}

// Files measures the store's files.
func (i *Inspection) Files() (f Files, err error) {
	if f.Database, err = sizeOf(i.opts.Path); err != nil {
		return f, err
	}
	if f.Log, err = sizeOf(i.opts.Path + "-wal"); err != nil {
		return f, err
	}
	f.Free, f.FreeErr = freeSpace(filepath.Dir(i.opts.Path))
	return f, nil
}

func sizeOf(name string) (int64, error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("sqlite: size of a file: %w", err)
	}
	return info.Size(), nil
}

// RunnerPlace is who runs the file.
type RunnerPlace struct {
	// Held tells whether a process has the runner's place now.
	Held bool
	// Worker is the last runner's name, "" where there never was one; Taken is
	// when it began, Released when it left in good order, nil where it did not.
	Worker   string
	Taken    time.Time
	Released *time.Time
}

// Runner tells who runs the file. It looks whether the runner's lock is free, and
// shares it for that moment: a runner that starts at the very same moment asks
// again for longer than a look takes.
func (i *Inspection) Runner(ctx context.Context) (p RunnerPlace, err error) {
	if p.Held, err = runnerHolds(i.opts.Path + lockSuffix); err != nil {
		return p, err
	}
	taken, released := int64(0), sql.NullInt64{}
	err = i.reader.row(ctx, "health.runner", []any{int64(math.MaxInt64)}, &p.Worker, &taken, &released)
	if errors.Is(err, sql.ErrNoRows) {
		return p, nil
	}
	p.Taken, p.Released = fromNano(taken), fromNullNano(released)
	return p, i.reader.failure("read who ran the file", err)
}

func runnerHolds(path string) (held bool, err error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("sqlite: the runner's lock file: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return lockHeld(file)
}

// EachLive shows every live operation, with what is wrong with its row: what the
// law says about it is not asked here (Operation.Broken). An operation whose
// standing cannot be read is shown with its id, workspace and state alone.
func (i *Inspection) EachLive(ctx context.Context, visit func(op *onefold.Operation, faults []string)) error {
	for after := int64(math.MinInt64); ; {
		page, err := collect(ctx, i.reader, "health.live", scanLive, after, inspectPage)
		if err != nil {
			return i.reader.failure("read the live operations", err)
		}
		for _, l := range page {
			visit(&l.op, l.faults)
			after = l.num
		}
		if len(page) < inspectPage {
			return nil
		}
	}
}

// inspected is a live operation and what is wrong with its row.
type inspected struct {
	num    int64
	op     onefold.Operation
	faults []string
}

func scanLive(row scanner) (*inspected, error) {
	l, have := &inspected{}, standingRow{}
	a := &l.op.Admitted
	var created, unlisted int64
	elsewhere := false
	var deadline, worker, result sql.NullString
	var due, wake, token, until sql.NullInt64
	err := row.Scan(&l.num, &a.ID, &a.Workspace, &a.Connection, &a.Owner, &deadline, &a.Capability,
		&a.ContractVersion, &a.Target, &a.TargetVersion, &elsewhere, &created, &have.state, &have.version,
		&have.sends, &due, &wake, &token, &worker, &until, &have.open, &have.unresolved, &have.contra, &result,
		&have.document, &unlisted)
	if err != nil {
		return nil, err
	}
	have.due, have.wake, have.leaseToken, have.leaseUntil = anyInt(due), anyInt(wake), anyInt(token), anyInt(until)
	have.leaseOwner, have.result = anyText(worker), anyText(result)
	a.CreatedAt = fromNano(created)
	fault := func(bad bool, text string) {
		if bad {
			l.faults = append(l.faults, text)
		}
	}
	fault(a.ID == "", fmt.Sprintf("row %d belongs to no operation that was admitted", l.num))
	fault(a.Connection == "", "its connection has no row")
	fault(elsewhere, "its workspace, connection or time is not that of its admission")
	fault(unlisted > 0, fmt.Sprintf("%d of its open reviews are not in the list of reviews as they are", unlisted))
	if a.StartDeadline, err = fromInstant(deadline); err != nil {
		fault(true, err.Error())
	}
	if err := json.Unmarshal([]byte(have.document), &l.op.Standing); err != nil {
		l.op.Standing = onefold.Standing{State: onefold.State(have.state)}
		fault(true, "its standing cannot be read: "+err.Error())
		return l, nil //nolint:nilerr // a finding of the inspection, not its failure
	}
	want, err := rowOf(&l.op)
	if err != nil {
		return nil, err
	}
	for _, column := range have.differs(want) {
		fault(true, "its column "+column+" is not what its standing says")
	}
	fault(!l.op.Live(), "it is over, and among the live ones")
	return l, nil
}

func anyInt(n sql.NullInt64) any {
	if !n.Valid {
		return nil
	}
	return n.Int64
}

func anyText(s sql.NullString) any {
	if !s.Valid {
		return nil
	}
	return s.String
}

// differs names the columns in which two rows differ, the document aside.
func (r standingRow) differs(other standingRow) []string {
	var names []string
	for _, c := range []struct {
		name string
		a, b any
	}{
		{"state", r.state, other.state},
		{"version", r.version, other.version},
		{"sends", r.sends, other.sends},
		{"due_at", r.due, other.due},
		{"wake_at", r.wake, other.wake},
		{"lease_token", r.leaseToken, other.leaseToken},
		{"lease_worker", r.leaseOwner, other.leaseOwner},
		{"lease_until", r.leaseUntil, other.leaseUntil},
		{"open_attempts", r.open, other.open},
		{"unresolved", r.unresolved, other.unresolved},
		{"contradicted", r.contra, other.contra},
		{"result_reference", r.result, other.result},
	} {
		if c.a != c.b {
			names = append(names, c.name)
		}
	}
	return names
}

// EachOpenReview shows every review that the list of reviews has as open, with
// its operation's id ("" where there is none), and what is wrong with it.
func (i *Inspection) EachOpenReview(ctx context.Context, visit func(id, operation string, faults []string)) error {
	type item struct {
		num                 int64
		id, operation       string
		owner, text         string
		review              onefold.Review
		unreadable, foreign bool
	}
	scan := func(row scanner) (r item, err error) {
		if err := row.Scan(&r.num, &r.id, &r.operation, &r.owner, &r.text); err != nil {
			return r, err
		}
		r.unreadable = json.Unmarshal([]byte(r.text), &r.review) != nil
		r.foreign = r.operation == ""
		return r, nil
	}
	for after := int64(math.MinInt64); ; {
		page, err := collect(ctx, i.reader, "health.reviews", scan, after, inspectPage)
		if err != nil {
			return i.reader.failure("read the open reviews", err)
		}
		for _, r := range page {
			var faults []string
			for _, f := range []struct {
				bad  bool
				text string
			}{
				{r.unreadable, "it cannot be read"},
				{r.foreign, "it belongs to no operation"},
				{!r.unreadable && (r.owner == "" || r.review.Owner == ""), "it has no owner"},
				{!r.unreadable && r.owner != r.review.Owner && r.review.Owner != "", "its row names another owner than the review"},
				{!r.unreadable && (r.review.ID != r.id || r.review.Status != onefold.ReviewOpen), "its row is not what the review says"},
			} {
				if f.bad {
					faults = append(faults, f.text)
				}
			}
			visit(r.id, r.operation, faults)
			after = r.num
		}
		if len(page) < inspectPage {
			return nil
		}
	}
}

// Admitted is what a search among all operations found.
type Admitted struct {
	Searched
	// Lost are ids of operations whose standing lies nowhere, or in two places;
	// Strays are numbers of finished standings whose operation is gone.
	Lost   []string
	Strays []int64
}

// Admitted looks, from the newest operation on, whether each has its one
// standing. When ctx is over it returns what it saw, with All false.
func (i *Inspection) Admitted(ctx context.Context) (out Admitted, err error) {
	type place struct {
		num, places int64
		id          string
	}
	scan := func(row scanner) (p place, err error) {
		err = row.Scan(&p.num, &p.id, &p.places)
		return p, err
	}
	for before := int64(math.MaxInt64); ; {
		page, err := collect(ctx, i.reader, "health.admitted", scan, before, inspectPage)
		if err != nil {
			if ctx.Err() != nil {
				return out, nil //nolint:nilerr // the time was over: what was seen is the answer, and All is false
			}
			return out, i.reader.failure("read the operations", err)
		}
		for _, p := range page {
			if p.places != 1 {
				out.Lost = append(out.Lost, p.id)
			}
			before = p.num
		}
		out.Seen += int64(len(page))
		if len(page) < inspectPage {
			out.All, out.Strays, err = i.strays(ctx)
			return out, err
		}
	}
}

// strays looks for finished standings of no operation; all is false when the time
// was over. Those of live ones are shown by EachLive.
func (i *Inspection) strays(ctx context.Context) (all bool, strays []int64, err error) {
	type row struct {
		num  int64
		here bool
	}
	scan := func(s scanner) (r row, err error) {
		err = s.Scan(&r.num, &r.here)
		return r, err
	}
	for before := int64(math.MaxInt64); ; {
		page, err := collect(ctx, i.reader, "health.finished", scan, before, inspectPage)
		if err != nil {
			if ctx.Err() != nil {
				return false, strays, nil //nolint:nilerr // as above
			}
			return false, strays, i.reader.failure("read the finished operations", err)
		}
		for _, r := range page {
			if before = r.num; !r.here {
				strays = append(strays, r.num)
			}
		}
		if len(page) < inspectPage {
			return true, strays, nil
		}
	}
}

// Times are when things were written, by the clock of whoever wrote them.
type Times struct {
	// Newest is the newest of the newest entries, documents and runners; zero in
	// an empty store.
	Newest time.Time
	// Back is the largest step back between neighbours among the newest thousand
	// entries, which are in the order of their commits.
	Back time.Duration
}

// Times reads when the newest things were written.
func (i *Inspection) Times(ctx context.Context) (t Times, err error) {
	number := func(row scanner) (n int64, err error) {
		err = row.Scan(&n)
		return n, err
	}
	entries, err := collect(ctx, i.reader, "health.entries", number, int64(math.MaxInt64), newestEntries)
	if err != nil {
		return t, i.reader.failure("read the newest times", err)
	}
	newest := int64(0)
	if err := i.reader.row(ctx, "health.published", nil, &newest); err != nil {
		return t, i.reader.failure("read the newest times", err)
	}
	worker, taken, released := "", int64(0), sql.NullInt64{}
	err = i.reader.row(ctx, "health.runner", []any{int64(math.MaxInt64)}, &worker, &taken, &released)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return t, i.reader.failure("read the newest times", err)
	}
	newest = max(newest, taken, released.Int64)
	for n, at := range entries {
		newest = max(newest, at)
		if n > 0 {
			t.Back = max(t.Back, time.Duration(at-entries[n-1]))
		}
	}
	if newest > 0 {
		t.Newest = fromNano(newest)
	}
	return t, nil
}

// Pauses lists the paused connections of all workspaces.
func (i *Inspection) Pauses(ctx context.Context) ([]onefold.Pause, error) {
	return i.store().Pauses(ctx, "")
}

// Documents returns all published documents, of all workspaces.
func (i *Inspection) Documents(ctx context.Context) ([]onefold.Document, error) {
	return i.store().AllDocuments(ctx)
}

// Installation returns what identifies this copy of the data.
func (i *Inspection) Installation(ctx context.Context) (onefold.Installation, error) {
	return i.store().Installation(ctx)
}

// store is the inspection as a store that can only read.
func (i *Inspection) store() *Store {
	return &Store{opts: i.opts, queries: i.reader.queries, readers: i.reader}
}
