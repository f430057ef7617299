package measure

import (
	"path/filepath"
	"sync/atomic"
	"testing"

	_ "github.com/ncruces/go-sqlite3/driver" // registers "sqlite3", which takes a file system by name
	"github.com/ncruces/go-sqlite3/vfs"
)

// Driver is the name of the SQLite driver whose files a Disk can hold. It is
// another than the one that the binary ships, over the same SQLite: what is
// written and synced is the engine's doing.
const Driver = "sqlite3"

// Disk is the machine's own disk and counts what is written to it and synced. It
// is safe for concurrent use.
type Disk struct {
	name         string
	syncs, bytes atomic.Int64
}

// NewDisk registers a disk under a name, which a program may use once.
func NewDisk(name string) *Disk {
	d := &Disk{name: name}
	vfs.Register(name, counted{vfs.Find(""), d})
	return d
}

// DSN is the data source name of a file on the disk, with a query of settings
// ("" for none).
func (d *Disk) DSN(path, settings string) string {
	query := "?vfs=" + d.name
	if settings != "" {
		query += "&" + settings[1:]
	}
	return "file:" + filepath.ToSlash(path) + query
}

// Reset counts from zero.
func (d *Disk) Reset() { d.syncs.Store(0); d.bytes.Store(0) }

// Report tells what one of b.N operations cost: syncs of any file, the
// checkpoints' included, and bytes written to the log and to the database.
func (d *Disk) Report(b *testing.B) {
	b.Helper()
	b.ReportMetric(float64(d.syncs.Load())/float64(b.N), "fsyncs/op")
	b.ReportMetric(float64(d.bytes.Load())/float64(b.N), "written-B/op")
}

type counted struct {
	vfs.VFS
	disk *Disk
}

// Open implements vfs.VFS.
func (c counted) Open(name string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, out, err := c.VFS.Open(name, flags)
	return c.wrap(f), out, err
}

// OpenFilename implements vfs.VFSFilename.
func (c counted) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	inner, ok := c.VFS.(vfs.VFSFilename)
	if !ok {
		return c.Open(name.String(), flags)
	}
	f, out, err := inner.OpenFilename(name, flags)
	return c.wrap(f), out, err
}

func (c counted) wrap(f vfs.File) vfs.File {
	if f == nil {
		return nil
	}
	return &file{f, c.disk}
}

// file is one open file.
type file struct {
	vfs.File
	disk *Disk
}

// WriteAt implements io.WriterAt.
func (f *file) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.File.WriteAt(p, off)
	f.disk.bytes.Add(int64(n))
	return n, err
}

// Sync implements vfs.File.
func (f *file) Sync(flags vfs.SyncFlag) error {
	f.disk.syncs.Add(1)
	return f.File.Sync(flags)
}

// SharedMemory implements vfs.FileSharedMemory.
func (f *file) SharedMemory() vfs.SharedMemory {
	if inner, ok := f.File.(vfs.FileSharedMemory); ok {
		return inner.SharedMemory()
	}
	return nil
}
