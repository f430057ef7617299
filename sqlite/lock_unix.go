//go:build unix && !aix && !solaris && !illumos

package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/onefold-dev/onefold"
)

// lock takes the lock of an open file without waiting. flock belongs to the
// open file, not to the process: unlike a POSIX record lock it does not vanish
// when some other descriptor of the same file is closed, and two stores of one
// process exclude each other too. Go opens files close-on-exec, so no child
// process keeps it alive.
func lock(file *os.File) error {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return onefold.ErrRunnerTaken
		}
		return fmt.Errorf("sqlite: lock %s: %w", file.Name(), err)
	}
}

// links is how many names a file has.
func links(file fs.FileInfo) uint64 {
	if stat, ok := file.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink) //nolint:unconvert // its type differs between systems
	}
	return 1
}
