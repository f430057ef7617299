package faultvfs

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"net/url"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ncruces/go-sqlite3"
	sqlite3driver "github.com/ncruces/go-sqlite3/driver"
	"github.com/ncruces/go-sqlite3/vfs"
)

// Place is where a fault happens.
type Place string

// The places of faults.
const (
	// LogWrite is a write to the write-ahead log: in a small transaction its pages
	// are written by the commit alone. Nothing of it is written.
	LogWrite Place = "log write"
	// LogSync is the sync of the write-ahead log at the end of a commit. The pages
	// and the mark of the commit are in the file by then, and stay there: whether
	// the commit happened is decided by who reads the file next.
	LogSync Place = "log sync"
	// CommitAnswer is the end of a COMMIT that was carried out: it happened, and
	// whoever asked for it is told an error.
	CommitAnswer Place = "commit answer"
	// CommitBegin is the beginning of a COMMIT: it is not carried out.
	CommitBegin Place = "commit begin"
)

// The errors of SQLite that a fault can give.
var (
	ErrIO   error = sqlite3.IOERR_WRITE
	ErrSync error = sqlite3.IOERR_FSYNC
	ErrFull error = sqlite3.FULL
	ErrBusy error = sqlite3.BUSY
)

// Fault is one thing that goes wrong.
type Fault struct {
	Place Place
	Error error
	// Lasting faults happen each time until Heal.
	Lasting bool
}

// Disk is a SQLite on a disk that fails on command. It is safe for concurrent use.
type Disk struct {
	name  string
	mu    sync.Mutex
	fault Fault
	armed bool
	fired int
}

// New registers a driver and a file system under a name, which a program may use
// for one Disk only: a driver cannot be taken back.
func New(name string) *Disk {
	d := &Disk{name: name}
	vfs.Register(name, fileSystem{vfs.Find(""), d})
	sql.Register(name, connector{d})
	return d
}

// Driver is the name under which database/sql knows it.
func (d *Disk) Driver() string { return d.name }

// DSN is the data source name of a file on the disk.
func (d *Disk) DSN(path string) string {
	uri := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: url.Values{"vfs": {d.name}}.Encode()}
	return uri.String()
}

// Fail arms a fault, in place of one that is armed.
func (d *Disk) Fail(f Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault, d.armed = f, true
}

// Heal disarms.
func (d *Disk) Heal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed = false
}

// Fired tells how many faults have happened.
func (d *Disk) Fired() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.fired
}

// at gives the error of the fault that is armed for a place, if one is.
func (d *Disk) at(p Place) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.armed || d.fault.Place != p {
		return nil
	}
	d.armed = d.fault.Lasting
	d.fired++
	return d.fault.Error
}

// fileSystem is the machine's own, with faults.
type fileSystem struct {
	vfs.VFS
	disk *Disk
}

// Open implements vfs.VFS.
func (s fileSystem) Open(name string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, out, err := s.VFS.Open(name, flags)
	return s.wrap(f, flags), out, err
}

// OpenFilename implements vfs.VFSFilename.
func (s fileSystem) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	inner, ok := s.VFS.(vfs.VFSFilename)
	if !ok {
		return s.Open(name.String(), flags)
	}
	f, out, err := inner.OpenFilename(name, flags)
	return s.wrap(f, flags), out, err
}

func (s fileSystem) wrap(f vfs.File, flags vfs.OpenFlag) vfs.File {
	if f == nil {
		return nil
	}
	return &file{File: f, disk: s.disk, log: flags&vfs.OPEN_WAL != 0}
}

// file is one open file; log tells that it is a write-ahead log.
type file struct {
	vfs.File
	disk *Disk
	log  bool
}

// WriteAt implements io.WriterAt.
func (f *file) WriteAt(p []byte, off int64) (int, error) {
	if f.log {
		if err := f.disk.at(LogWrite); err != nil {
			return 0, err
		}
	}
	return f.File.WriteAt(p, off)
}

// Sync implements vfs.File.
func (f *file) Sync(flags vfs.SyncFlag) error {
	if f.log {
		if err := f.disk.at(LogSync); err != nil {
			return err
		}
	}
	return f.File.Sync(flags)
}

// SharedMemory implements vfs.FileSharedMemory.
func (f *file) SharedMemory() vfs.SharedMemory {
	if inner, ok := f.File.(vfs.FileSharedMemory); ok {
		return inner.SharedMemory()
	}
	return nil
}

// connector opens connections whose commits can lose their answers.
type connector struct{ disk *Disk }

// Open implements driver.Driver.
func (c connector) Open(name string) (driver.Conn, error) {
	inner, err := (&sqlite3driver.SQLite{}).Open(name)
	if err != nil {
		return nil, err
	}
	return &conn{inner.(sqlite3driver.Conn), c.disk}, nil
}

// conn is one connection.
type conn struct {
	sqlite3driver.Conn
	disk *Disk
}

// PrepareContext implements driver.ConnPrepareContext.
func (c *conn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	s, err := c.Conn.PrepareContext(ctx, text)
	if err != nil || !strings.EqualFold(strings.TrimSpace(text), "COMMIT") {
		return s, err
	}
	return &commit{s.(statement), c.disk}, nil
}

// Prepare implements driver.Conn.
func (c *conn) Prepare(text string) (driver.Stmt, error) { return c.Conn.Prepare(text) }
