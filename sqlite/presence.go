package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"

	"github.com/onefold-dev/onefold"
)

// logSuffix names the write-ahead log, which SQLite makes once and keeps for as
// long as anybody has the file open.
const logSuffix = "-wal"

// presence tells whether the open file is still the one at its path. A file that
// was removed, moved or replaced by a copy goes on to take writes that nobody will
// ever find again, while a second process may open what lies at the path now: what
// is written then is lost, and what waits in both is sent by both (M4, M29). It
// never opens the file: closing it again would drop the locks that this process has
// on it. It is safe for concurrent use.
type presence struct {
	path  string
	log   *slog.Logger
	place *runnerPlace

	mu   sync.Mutex
	file fs.FileInfo // as it was opened
	wal  fs.FileInfo // nil until it was seen
	gone bool        // at the last look
}

// ErrLinked says that the database file has more than one name (hard links).
var ErrLinked = errors.New("sqlite: the database file has another name as well: a hard link; remove it, or copy the file")

// errGone is the cause of what is refused once the file is another one.
var errGone = errors.New("the file at the database's path is not the one that is open")

// note remembers the file that was opened. It is called before and after it is
// opened: both must see the same one.
func (p *presence) note() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	is, err := os.Stat(p.path)
	if err != nil {
		return storeError("open", errors.Join(errGone, err))
	}
	if p.file != nil && !os.SameFile(p.file, is) {
		return goneError(errGone)
	}
	// Each name has a log and a lock of its own: two processes would not see each
	// other.
	if links(is) > 1 {
		return fmt.Errorf("%w: %s", ErrLinked, p.path)
	}
	p.file = is
	return nil
}

// check refuses once the file, its log or the runner's lock is not the one that this
// process has. A file that is put back is as good as before.
func (p *presence) check() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.look()
	if gone := err != nil; gone != p.gone {
		p.gone = gone
		if gone {
			p.log.Error("the database file, its log or the runner's lock was removed, moved or replaced while it is open: nothing is admitted, sent or answered any more",
				"path", p.path, "error", err)
		} else {
			p.log.Warn("the database file is back at its path", "path", p.path)
		}
	}
	if err != nil {
		return goneError(err)
	}
	return nil
}

func (p *presence) look() error {
	is, err := os.Stat(p.path)
	if err != nil {
		return errors.Join(errGone, err)
	}
	if !os.SameFile(p.file, is) {
		return errGone
	}
	if err := p.place.still(p.log); err != nil {
		return err
	}
	wal, err := os.Stat(p.path + logSuffix)
	switch {
	case p.wal == nil && errors.Is(err, fs.ErrNotExist):
		return nil // nobody has written yet
	case err != nil:
		return errors.Join(errGone, err)
	case p.wal == nil:
		p.wal = wal
	case !os.SameFile(p.wal, wal):
		return errGone
	}
	return nil
}

func goneError(cause error) error {
	return &onefold.Error{
		Code: onefold.CodeStoreUnavailable, Cause: cause,
		Message: "the file of the store was removed, moved or replaced while this process had it open",
		Hint:    "put it back, or restart on the file that is to be used: what lies at its path is another one",
	}
}
