package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/sqlite"
)

func asProblem(err error) (*onefold.Error, bool) { return errors.AsType[*onefold.Error](err) }

// durability checks what a commit rests on.
func (e *examination) durability(ctx context.Context) {
	d, err := e.health.Durability(ctx)
	if err != nil {
		for _, name := range []string{"sqlite_version", "journal_mode", "synchronous"} {
			e.add(name, Failed, "it cannot be read: "+reason(err), "look whether the file is a database of onefold's, and at the disk")
		}
		return
	}
	e.add("sqlite_version", OK, fmt.Sprintf("SQLite %s (at least %s)", d.Version, d.Minimum), "")
	status, found := OK, "the file is in WAL mode"
	if d.JournalMode != "wal" {
		status, found = Failed, "the file is in the journal mode "+d.JournalMode+", not wal: readers and the writer stop each other"
	}
	e.add("journal_mode", status, found, "find out who changed it; the next start of onefold serve sets it back")
	status, found = OK, "FULL: a commit is on the disk before it is acknowledged"
	if d.Synchronous != "2" {
		status, found = Failed, "a connection reads back "+d.Synchronous+", not 2 (FULL): acknowledged work can be lost with the power"
	}
	e.add("synchronous", status, found, "use a SQLite driver that keeps PRAGMA synchronous = FULL; onefold does not run without")
}

// integrity looks through the file's structure, within its time.
func (e *examination) integrity(ctx context.Context) {
	const do = "stop onefold, keep a copy of the file and of its -wal, and restore the last good backup"
	bounded, cancel := context.WithTimeout(ctx, e.Within)
	defer cancel()
	faults, err := e.health.Integrity(bounded)
	switch {
	case err != nil && bounded.Err() != nil:
		e.add("integrity", NotChecked, fmt.Sprintf("the quick check was not over within %s", e.Within), "give it more time with --within")
	case err != nil:
		e.add("integrity", Failed, "it cannot be checked: "+reason(err), do)
	case len(faults) > 0:
		e.add("integrity", Failed, "the quick check complains: "+strings.Join(faults, "; "), do)
	default:
		e.add("integrity", OK, "the quick check has no complaint", "")
	}
}

// migrations checks that the tables are those of this release.
func (e *examination) migrations(ctx context.Context) {
	n, err := e.health.Migrations(ctx)
	e.current = err == nil
	switch {
	case err == nil:
		e.add("migrations", OK, fmt.Sprintf("%d applied, all of this release", n), "")
	case errors.Is(err, sqlite.ErrNotCurrent):
		e.add("migrations", Failed, reason(err), "run onefold migrate")
	case errors.Is(err, sqlite.ErrNewerDatabase):
		e.add("migrations", Failed, reason(err), "use the release that migrated it, or a later one")
	case errors.Is(err, sqlite.ErrForeignFile):
		e.add("migrations", Failed, reason(err), "give the path of onefold's own database")
	case errors.Is(err, sqlite.ErrMigrationEdited):
		e.add("migrations", Failed, reason(err), "use a release as it was published")
	default:
		e.add("migrations", Failed, "they cannot be read: "+reason(err), "look at the disk and at integrity")
	}
}

// files checks the size of the log and the free space.
func (e *examination) files() {
	f, err := e.health.Files()
	if err != nil {
		e.add("wal_size", Failed, reason(err), "look at the folder of the database")
		e.add("disk_space", NotChecked, "the files cannot be measured", "look at the folder of the database")
		return
	}
	found := fmt.Sprintf("the write-ahead log has %s, the database %s", size(f.Log), size(f.Database))
	if f.Log > e.MaxLog {
		e.add("wal_size", Failed, found+fmt.Sprintf("; at most %s is expected", size(e.MaxLog)),
			"look for a process that keeps a transaction open on the file: a backup, a shell, a reader that hangs")
	} else {
		e.add("wal_size", OK, found, "")
	}
	switch {
	case f.FreeErr != nil:
		e.add("disk_space", NotChecked, reason(f.FreeErr), "look with the system's own tools")
	case f.Free < e.MinFree:
		e.add("disk_space", Failed, fmt.Sprintf("%s free, at least %s is wanted", size(f.Free), size(e.MinFree)),
			"make room: a full disk stops every admission and every outcome")
	default:
		e.add("disk_space", OK, size(f.Free)+" free", "")
	}
}

// size is a number of bytes for a person.
func size(n int64) string {
	for _, unit := range []struct {
		bytes int64
		name  string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= unit.bytes {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(unit.bytes), unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
