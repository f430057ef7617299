//go:build linux || darwin || freebsd

package sqlite

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// freeSpace is how many bytes may still be written where a folder lies.
func freeSpace(folder string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return 0, fmt.Errorf("sqlite: free space of %s: %w", folder, err)
	}
	return int64(s.Bavail) * int64(s.Bsize), nil //nolint:unconvert // their types differ between systems
}
