package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// ErrSettings says that a connection does not have the settings on which
// durability rests. The store does not run without them.
var ErrSettings = errors.New("sqlite: a setting is not in force")

// ErrVersion says that the driver's SQLite is older than minimumVersion.
var ErrVersion = errors.New("sqlite: the driver's SQLite is too old")

// minimumVersion is the first SQLite without the race between a reset of the
// write-ahead log and a checkpoint, in which committed pages could be lost.
const minimumVersion = "3.51.3"

const (
	// checkpointPages is how far the write-ahead log grows before it is copied
	// back, 32 MiB: rarer copies write each random leaf of the claims once
	// instead of many times; a longer log makes opening after a crash slower.
	checkpointPages = 8192
	// logSizeLimit truncates a log that a long reader let grow.
	logSizeLimit = 64 << 20
	// connectEvery is how long to wait before opening a busy file again.
	connectEvery = 5 * time.Millisecond
	// writerCache and readerCache bound the page caches, in KiB.
	writerCache = 32 << 10
	readerCache = 4 << 10
)

// setting is one PRAGMA: what is set on every new connection, in this order,
// and what must be read back. want "" is not read back.
type setting struct{ name, value, want string }

func writerSettings(opts *Options) []setting {
	return append(sharedSettings(opts, writerCache),
		setting{"journal_mode", "WAL", "wal"},
		setting{"synchronous", "FULL", "2"},
		// Where the system's own sync does not reach the disk (macOS); nothing elsewhere.
		setting{"fullfsync", "1", ""},
		setting{"checkpoint_fullfsync", "1", ""},
		setting{"wal_autocheckpoint", strconv.Itoa(checkpointPages), strconv.Itoa(checkpointPages)},
		setting{"journal_size_limit", strconv.Itoa(logSizeLimit), ""},
		setting{"query_only", "0", "0"},
	)
}

func readerSettings(opts *Options) []setting {
	return append(sharedSettings(opts, readerCache),
		setting{"journal_mode", "", "wal"},
		setting{"query_only", "1", "1"},
	)
}

// sharedSettings begin with the busy time-out: what follows may have to wait.
func sharedSettings(opts *Options, cache int) []setting {
	timeout := strconv.FormatInt(opts.BusyTimeout.Milliseconds(), 10)
	return []setting{
		{"busy_timeout", timeout, timeout},
		{"foreign_keys", "0", "0"},
		{"recursive_triggers", "0", ""},
		{"trusted_schema", "0", ""},
		{"temp_store", "MEMORY", ""},
		{"cache_size", strconv.Itoa(-cache), ""},
	}
}

// connector opens connections of the caller's driver and gives each of them its
// settings before anybody uses it. Data source names differ between drivers;
// this does not.
type connector struct {
	open     func(ctx context.Context) (driver.Conn, error)
	driver   driver.Driver
	settings []setting
	timeout  time.Duration
}

func newConnector(opts *Options, settings []setting) (*connector, error) {
	dsn := opts.DSN(opts.Path)
	db, err := sql.Open(opts.Driver, dsn)
	if err != nil {
		return nil, fmt.Errorf("sqlite: driver %q: %w", opts.Driver, err)
	}
	d := db.Driver()
	if err := db.Close(); err != nil {
		return nil, fmt.Errorf("sqlite: driver %q: %w", opts.Driver, err)
	}
	c := &connector{driver: d, settings: settings, timeout: opts.BusyTimeout}
	c.open = func(context.Context) (driver.Conn, error) { return d.Open(dsn) }
	if dc, ok := d.(driver.DriverContext); ok {
		inner, err := dc.OpenConnector(dsn)
		if err != nil {
			return nil, fmt.Errorf("sqlite: driver %q: %w", opts.Driver, err)
		}
		c.open = inner.Connect
	}
	return c, nil
}

// Connect implements driver.Connector. SQLite does not wait for another
// connection that switches a new file to a write-ahead log at the same moment,
// whatever the busy time-out: such a refusal is tried again here.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	over := time.NewTimer(c.timeout)
	defer over.Stop()
	for {
		conn, err := c.connect(ctx)
		if err == nil || classify(err) != failureBusy {
			return conn, err
		}
		again := time.NewTimer(connectEvery)
		select {
		case <-again.C:
			continue
		case <-over.C:
		case <-ctx.Done():
		}
		again.Stop()
		return nil, err
	}
}

func (c *connector) connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.prepare(conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// Driver implements driver.Connector.
func (c *connector) Driver() driver.Driver { return c.driver }

func (c *connector) prepare(conn driver.Conn) error {
	version, err := scalar(conn, "SELECT sqlite_version()")
	if err != nil {
		return err
	}
	if olderThan(version, minimumVersion) {
		return fmt.Errorf("%w: it is %s, needed is %s", ErrVersion, version, minimumVersion)
	}
	for _, s := range c.settings {
		if s.value == "" {
			continue
		}
		if _, err := scalar(conn, "PRAGMA "+s.name+" = "+s.value); err != nil {
			return fmt.Errorf("sqlite: set %s: %w", s.name, err)
		}
	}
	for _, s := range c.settings {
		if s.want == "" {
			continue
		}
		have, err := scalar(conn, "PRAGMA "+s.name)
		if err != nil {
			return fmt.Errorf("sqlite: read %s back: %w", s.name, err)
		}
		if !strings.EqualFold(have, s.want) {
			return fmt.Errorf("%w: %s is %q, needed is %q", ErrSettings, s.name, have, s.want)
		}
	}
	return nil
}

// scalar runs one statement without parameters and returns the first column of
// its first row as text, "" where it has none.
func scalar(conn driver.Conn, text string) (_ string, err error) {
	stmt, err := conn.Prepare(text)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
	rows, err := query(stmt)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	row := make([]driver.Value, len(rows.Columns()))
	first := ""
	for n := 0; ; n++ {
		if err := rows.Next(row); errors.Is(err, io.EOF) {
			return first, nil
		} else if err != nil {
			return "", err
		}
		if n == 0 && len(row) > 0 {
			first = asText(row[0])
		}
	}
}

func query(stmt driver.Stmt) (driver.Rows, error) {
	if q, ok := stmt.(driver.StmtQueryContext); ok {
		return q.QueryContext(context.Background(), nil)
	}
	return stmt.Query(nil) //nolint:staticcheck // the way of drivers that know no contexts
}

func asText(v driver.Value) string {
	switch v := v.(type) {
	case []byte:
		return string(v)
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}

// olderThan compares dotted versions; a part that is no number counts as 0.
func olderThan(version, minimum string) bool {
	have, need := strings.Split(version, "."), strings.Split(minimum, ".")
	for i := range need {
		h, n := 0, 0
		if i < len(have) {
			h, _ = strconv.Atoi(have[i])
		}
		n, _ = strconv.Atoi(need[i])
		if h != n {
			return h < n
		}
	}
	return false
}
