package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"

	"github.com/onefold-dev/onefold"
)

// lock takes the lock of an open file without waiting. It belongs to the
// handle and is free when the process ends.
func lock(file *os.File) error {
	err := windows.LockFileEx(windows.Handle(file.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return onefold.ErrRunnerTaken
	}
	if err != nil {
		return fmt.Errorf("sqlite: lock %s: %w", file.Name(), err)
	}
	return nil
}

// links is how many names a file has; here nobody says.
func links(fs.FileInfo) uint64 { return 1 }
