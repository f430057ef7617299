//go:build unix && !aix && !solaris && !illumos

package sqlite

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockHeld tells whether somebody holds the lock of a file. It asks for a lock
// that others may share, so that two who ask at once do not see each other.
func lockHeld(file *os.File) (bool, error) {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
		switch {
		case err == nil:
			return false, nil
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return true, nil
		}
		return false, fmt.Errorf("sqlite: lock %s: %w", file.Name(), err)
	}
}
