//go:build !unix

package httptarget

import "net"

// canPeek: it cannot be told whether something waits to be read.
const canPeek = false

// quiet cannot be told on this system, so that every request of HTTP/2, too,
// takes a connection of its own.
func quiet(net.Conn) bool { return false }
