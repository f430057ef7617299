//go:build (!unix && !windows) || aix || solaris || illumos

package sqlite

import (
	"errors"
	"io/fs"
	"os"
)

// lock cannot be had here: without a lock that ends with its process nobody may
// be the runner of a file.
func lock(*os.File) error {
	return errors.New("sqlite: this system has no file lock that ends with its process: nobody can be the runner here")
}

// links is how many names a file has; here nobody says.
func links(fs.FileInfo) uint64 { return 1 }
