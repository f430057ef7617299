package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/onefold-dev/onefold"
)

// Options say which file, through which driver, by which clock.
type Options struct {
	// Path is the database file; it is made, readable by its owner alone, where
	// there is none. Memory databases are not durable and are not supported.
	Path string
	// Driver is the name under which a SQLite driver is registered with
	// database/sql, such as "sqlite" for modernc.org/sqlite.
	Driver string
	// DSN makes the driver's data source name of an absolute path; nil gives the
	// URI form "file:/path", which the known drivers take.
	DSN func(path string) string
	// Now is the clock, which is the store's time (M9), and IDs makes identifiers.
	Now func() time.Time
	IDs onefold.IDs
	// Migrate brings the file up to date at Open; without it a file that is not
	// current is refused with ErrNotCurrent.
	Migrate bool
	// Readers is the number of connections that read beside the writer; 0 means
	// DefaultReaders.
	Readers int
	// BusyTimeout is how long to wait for another process that writes; 0 means
	// DefaultBusyTimeout.
	BusyTimeout time.Duration
	// Log takes what nobody is there to be told; nil discards it.
	Log *slog.Logger
}

const (
	// DefaultReaders is the number of reading connections: more than the cores of
	// a small machine, few enough that their caches stay small.
	DefaultReaders = 4
	// DefaultBusyTimeout is how long a connection waits for another process: far
	// above any transaction of ours, far below a caller's patience with a stuck one.
	DefaultBusyTimeout = 5 * time.Second
)

// filled checks the options and returns them with defaults and an absolute
// path without symbolic links, so that two spellings of a file are one.
func (o Options) filled() (Options, error) {
	switch {
	case o.Path == "":
		return o, errors.New("sqlite: no path given")
	case o.Driver == "":
		return o, errors.New("sqlite: no driver named")
	case o.Now == nil || o.IDs == nil:
		return o, errors.New("sqlite: no clock or no maker of identifiers given")
	case o.Readers < 0 || o.BusyTimeout < 0:
		return o, errors.New("sqlite: a negative number of readers or busy time-out")
	}
	path, err := realPath(o.Path)
	if err != nil {
		return o, err
	}
	o.Path = path
	if o.Readers == 0 {
		o.Readers = DefaultReaders
	}
	if o.BusyTimeout == 0 {
		o.BusyTimeout = DefaultBusyTimeout
	}
	if o.DSN == nil {
		o.DSN = fileURI
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// now is the store's time: UTC, without a monotonic part, to the microsecond,
// so that every engine can hold it.
func (o *Options) now() time.Time { return o.Now().UTC().Truncate(time.Microsecond) }

func fileURI(path string) string {
	uri := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path)}
	return uri.String()
}

func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("sqlite: path: %w", err)
	}
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("sqlite: path: %w", err)
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", fmt.Errorf("sqlite: folder of the database: %w", err)
	}
	return filepath.Join(folder, filepath.Base(path)), nil
}

// makeFile makes an empty file that only its owner may read, if there is none.
// A file that exists is not opened: closing it again would drop the locks that
// other connections of this process hold on it.
func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sqlite: make the database file: %w", err)
	}
	return f.Close()
}

// Store is an open store; Open makes it. It is safe for concurrent use.
type Store struct {
	opts    Options
	queries queries
	writer  *writer
	readers *reader
	runner  runnerPlace
	// presence is shared with the writer.
	presence *presence
	// Questions that many ask at once.
	claims    gather[[16]byte, claimState]
	standings gather[int64, string]
	repeats   repeats
	known     *known
	pauses    pauses
	poison    poison
}

var _ onefold.Store = (*Store)(nil)

// Open opens the store in a file. Errors: ErrNotCurrent and ErrForeignFile with
// what to do about it, ErrLinked, ErrSettings where durability is not in force, ErrVersion
// for a SQLite that is too old, store_unavailable.
func Open(ctx context.Context, opts Options) (_ *Store, err error) {
	opts, err = opts.filled()
	if err != nil {
		return nil, err
	}
	q, err := loadQueries()
	if err != nil {
		return nil, err
	}
	if err := makeFile(opts.Path); err != nil {
		return nil, err
	}
	if opts.Migrate {
		if _, err := Migrate(ctx, opts); err != nil {
			return nil, err
		}
	}
	s := &Store{
		opts: opts, queries: q, known: &known{seed: maphash.MakeSeed()},
		presence: &presence{path: opts.Path, log: opts.Log},
	}
	s.presence.place = &s.runner
	s.claims.look, s.standings.look = s.lookClaims, s.lookStandings
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	if err := s.presence.note(); err != nil {
		return nil, err
	}
	if s.writer, err = openWriter(ctx, &s.opts, q, s.known, &s.pauses, s.presence); err != nil {
		return nil, err
	}
	if s.readers, err = openReader(ctx, &s.opts, q); err != nil {
		return nil, err
	}
	s.readers.present = s.presence
	if err := errors.Join(s.presence.note(), s.Ping(ctx)); err != nil {
		return nil, err
	}
	return s, nil
}

// Close waits for steps under way, gives the runner's place back and releases
// everything. Calls that come later are refused as store_unavailable.
func (s *Store) Close() error {
	var failed error
	if s.writer != nil {
		s.writer.stop()
	}
	failed = errors.Join(failed, s.runner.free())
	if s.readers != nil {
		failed = errors.Join(failed, s.readers.close())
	}
	if s.writer != nil {
		failed = errors.Join(failed, s.writer.close())
	}
	return failed
}

// Now is the store's time (M9).
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	return s.opts.now(), nil
}

// Ping tells whether the file is the one that was opened, can be read, and has the
// migrations of this release.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.presence.check(); err != nil {
		return err
	}
	migrations, err := embeddedMigrations()
	if err != nil {
		return err
	}
	applied, err := appliedMigrations(ctx, s.readers.db)
	if err != nil {
		return s.readers.failure("ping", err)
	}
	return checkCurrent(migrations, applied)
}

// reader is the pool of connections that read. It never writes: its
// connections are query_only.
type reader struct {
	db      *sql.DB
	queries queries
	cache   statements
	present *presence // nil for an inspection
}

// statement is a query by its name, ready to be run, unless the file is another one
// than was opened: what it says then is nobody's truth any more.
func (r *reader) statement(ctx context.Context, name string) (*sql.Stmt, error) {
	if r.present != nil {
		if err := r.present.check(); err != nil {
			return nil, err
		}
	}
	return r.cache.get(ctx, r.queries, name)
}

func openReader(ctx context.Context, opts *Options, q queries) (*reader, error) {
	c, err := newConnector(opts, readerSettings(opts))
	if err != nil {
		return nil, err
	}
	r := &reader{db: sql.OpenDB(c), queries: q}
	r.db.SetMaxOpenConns(opts.Readers)
	r.db.SetMaxIdleConns(opts.Readers)
	r.cache.prepare = func(ctx context.Context, text string) (*sql.Stmt, error) { return r.db.PrepareContext(ctx, text) }
	if err := r.warm(ctx, opts.Readers); err != nil {
		_ = r.db.Close()
		return nil, r.failure("open for reading", err)
	}
	return r, nil
}

// warm opens all connections at once; the pool keeps them. A store that has
// opened needs no further file descriptor to read, whoever takes the rest.
func (r *reader) warm(ctx context.Context, n int) (err error) {
	for range n {
		conn, opened := r.db.Conn(ctx)
		if opened != nil {
			return opened
		}
		defer func() { err = errors.Join(err, conn.Close()) }() // back to the pool, when all are open
	}
	return nil
}

func (r *reader) close() error {
	return errors.Join(r.cache.close(), r.db.Close())
}

// failure says what a failed read means for its caller.
func (r *reader) failure(what string, err error) error { return storeError(what, err) }
