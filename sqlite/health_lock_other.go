//go:build (!unix && !windows) || aix || solaris || illumos

package sqlite

import (
	"errors"
	"os"
)

// lockHeld cannot be told here.
func lockHeld(*os.File) (bool, error) {
	return false, errors.New("sqlite: this system has no file lock that ends with its process")
}
