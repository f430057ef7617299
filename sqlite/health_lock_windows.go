package sqlite

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// lockHeld tells whether somebody holds the lock of a file. It asks for a lock
// that others may share, so that two who ask at once do not see each other.
func lockHeld(file *os.File) (bool, error) {
	err := windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("sqlite: lock %s: %w", file.Name(), err)
	}
	return false, nil
}
