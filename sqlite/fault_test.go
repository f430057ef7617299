package sqlite_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// faultError is a driver's error with SQLite's result code.
type faultError struct {
	code int
	text string
}

func (e *faultError) Error() string { return e.text }
func (e *faultError) Code() int     { return e.code }

// faults is a driver that passes everything on to the real one and can be told
// to do otherwise: before or after a statement, or instead of a query.
type faults struct {
	inner driver.Driver
	name  string

	mu     sync.Mutex
	before func(text string) error // an error replaces the statement
	after  func(text string) error // an error replaces its success
	answer map[string]string       // the one value that a query gives instead

	commits atomic.Int64
}

// registered numbers the drivers of this test program: a name cannot be given
// twice.
type registered struct{ n atomic.Int64 }

var drivers = &registered{}

// newFaults registers a driver for one test.
func newFaults(t testing.TB) *faults {
	t.Helper()
	db, err := sql.Open("sqlite", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	f := &faults{inner: db.Driver(), name: fmt.Sprintf("faulty-%d", drivers.n.Add(1))}
	sql.Register(f.name, f)
	return f
}

func (f *faults) set(before, after func(text string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before, f.after = before, after
}

// once gives an error to the first statement that begins with a text.
func once(begins string, err error) func(string) error {
	var given atomic.Bool
	return func(text string) error {
		if strings.HasPrefix(text, begins) && given.CompareAndSwap(false, true) {
			return err
		}
		return nil
	}
}

func (f *faults) around(text string, run func() error) error {
	f.mu.Lock()
	before, after := f.before, f.after
	f.mu.Unlock()
	if before != nil {
		if err := before(text); err != nil {
			return err
		}
	}
	if err := run(); err != nil {
		return err
	}
	if text == "COMMIT" {
		f.commits.Add(1)
	}
	if after != nil {
		return after(text)
	}
	return nil
}

// Open implements driver.Driver.
func (f *faults) Open(name string) (driver.Conn, error) {
	c, err := f.inner.Open(name)
	if err != nil {
		return nil, err
	}
	return &faultyConn{Conn: c, faults: f}, nil
}

type faultyConn struct {
	driver.Conn
	faults *faults
}

func (c *faultyConn) Prepare(text string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), text)
}

func (c *faultyConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	s, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return &faultyStmt{Stmt: s, text: text, faults: c.faults}, nil
}

func (c *faultyConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
}

type faultyStmt struct {
	driver.Stmt
	text   string
	faults *faults
}

func (s *faultyStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (r driver.Result, err error) {
	err = s.faults.around(s.text, func() (err error) {
		r, err = s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
		return err
	})
	return r, err
}

func (s *faultyStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (r driver.Rows, err error) {
	s.faults.mu.Lock()
	value, instead := s.faults.answer[s.text]
	s.faults.mu.Unlock()
	if instead {
		return &oneValue{value: value}, nil
	}
	err = s.faults.around(s.text, func() (err error) {
		r, err = s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
		return err
	})
	return r, err
}

// oneValue is a row with one column.
type oneValue struct {
	value string
	read  bool
}

func (o *oneValue) Columns() []string { return []string{"value"} }
func (o *oneValue) Close() error      { return nil }

func (o *oneValue) Next(dest []driver.Value) error {
	if o.read {
		return io.EOF
	}
	o.read, dest[0] = true, o.value
	return nil
}
