//go:build (!unix && !windows) || aix || solaris || illumos

package sqlite

import (
	"errors"
	"os"
)

// lock cannot be had here: without a lock that ends with its process nobody may
// be the runner of a file.
func lock(*os.File) error {
	return errors.New("sqlite: this system has no file lock that ends with its process: nobody can be the runner here")
}
