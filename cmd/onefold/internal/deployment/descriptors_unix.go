//go:build unix

package deployment

import "syscall"

// maxDescriptors bounds what is reckoned with where the system sets no limit.
const maxDescriptors = 1 << 20

// descriptors is how many file descriptors the process may have.
func descriptors() (n int, known bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false
	}
	return int(min(uint64(limit.Cur), maxDescriptors)), true //nolint:gosec,unconvert // bounded above; some systems count in int64
}
