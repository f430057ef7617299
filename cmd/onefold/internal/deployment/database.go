package deployment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the binary's SQLite, registered with database/sql under the name "sqlite"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/sqlite"
)

// driver is the name under which the SQLite driver is registered.
const driver = "sqlite"

// Database is the address of a database: --db.
type Database struct {
	// Path is the file of a SQLite database.
	Path string
}

// ParseDatabase reads sqlite:PATH. What looks like another database, or like a
// path that lacks its scheme, is refused with a sentence that says so.
func ParseDatabase(text string) (Database, error) {
	scheme, rest, found := strings.Cut(text, ":")
	switch {
	case !found:
		return Database{}, fmt.Errorf("%q is no database address; it is written sqlite:PATH", text)
	case scheme == "postgres" || scheme == "postgresql":
		return Database{}, errors.New("PostgreSQL is not supported yet; this release keeps its data in SQLite: sqlite:PATH")
	case scheme != "sqlite":
		// The address of another database may hold a password, so it is not repeated.
		return Database{}, errors.New("this release keeps its data in SQLite: sqlite:PATH")
	}
	rest = strings.TrimPrefix(rest, "//")
	switch {
	case rest == "":
		return Database{}, errors.New("the address names no file: sqlite:PATH")
	case strings.HasPrefix(rest, ":memory:") || strings.ContainsAny(rest, "?#"):
		return Database{}, errors.New("the address is sqlite: and the path of a file, without parameters")
	}
	return Database{Path: rest}, nil
}

// String is the address as --db takes it.
func (d Database) String() string { return "sqlite:" + d.Path }

// Access is how to reach an installation's database.
type Access struct {
	Database Database
	Now      func() time.Time
	IDs      onefold.IDs
	Log      *slog.Logger // nil: nobody is told
}

func (a Access) options(migrate bool) sqlite.Options {
	return sqlite.Options{Path: a.Database.Path, Driver: driver, Now: a.Now, IDs: a.IDs, Migrate: migrate, Log: a.Log}
}

// ErrNoDatabase says that the address names no database yet.
var ErrNoDatabase = errors.New("there is no database yet")

// Open opens the store. Without migrate a database that is missing, or whose
// migrations are not current, is refused, naming the command that mends it.
func (a Access) Open(ctx context.Context, migrate bool) (*sqlite.Store, error) {
	if !migrate {
		if err := a.exists(); err != nil {
			return nil, err
		}
	}
	store, err := sqlite.Open(ctx, a.options(migrate))
	if errors.Is(err, sqlite.ErrNotCurrent) {
		return nil, a.notCurrent(err)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", a.Database, err)
	}
	return store, nil
}

// exists refuses a file that is not there, so that a slip in a path makes no
// empty database.
func (a Access) exists() error {
	_, err := os.Stat(a.Database.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return a.notCurrent(ErrNoDatabase)
	}
	return nil
}

// notCurrent says which command mends it.
func (a Access) notCurrent(cause error) error {
	what := "the migrations of " + a.Database.String() + " are not current"
	if errors.Is(cause, ErrNoDatabase) {
		what = "there is no database at " + a.Database.String()
	}
	return &onefold.Error{
		Code: onefold.CodeStoreUnavailable, Message: what, Cause: cause,
		Hint: "this makes it current: onefold migrate --db " + a.Database.String(),
	}
}

// Migrate brings the database up to date, making it and its folder where there
// are none, and returns what was applied and what the database now has.
func (a Access) Migrate(ctx context.Context) (applied, all []sqlite.Migration, err error) {
	if err := os.MkdirAll(filepath.Dir(a.Database.Path), 0o700); err != nil {
		return nil, nil, fmt.Errorf("make the database's folder: %w", err)
	}
	if applied, err = sqlite.Migrate(ctx, a.options(false)); err != nil {
		return nil, nil, fmt.Errorf("migrate %s: %w", a.Database, err)
	}
	all, err = sqlite.MigrationStatus(ctx, a.options(false))
	return applied, all, err
}
