package sqlite

import (
	"fmt"
	"math"

	"golang.org/x/sys/windows"
)

// freeSpace is how many bytes may still be written where a folder lies.
func freeSpace(folder string) (int64, error) {
	name, err := windows.UTF16PtrFromString(folder)
	if err != nil {
		return 0, fmt.Errorf("sqlite: free space of %s: %w", folder, err)
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(name, &free, nil, nil); err != nil {
		return 0, fmt.Errorf("sqlite: free space of %s: %w", folder, err)
	}
	return int64(min(free, math.MaxInt64)), nil
}
