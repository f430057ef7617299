//go:build !unix

package httptarget

import "net"

// quiet cannot be told on this system, so that every request takes a
// connection of its own.
func quiet(net.Conn) bool { return false }
