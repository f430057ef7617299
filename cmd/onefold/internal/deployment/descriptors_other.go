//go:build !unix

package deployment

// descriptors is how many file descriptors the process may have: this system
// sets no limit that matters.
func descriptors() (n int, known bool) { return 0, false }
