//go:build !linux && !darwin && !freebsd && !windows

package sqlite

import "errors"

// freeSpace cannot be told here.
func freeSpace(string) (int64, error) {
	return 0, errors.New("sqlite: this system does not say how much space is free")
}
