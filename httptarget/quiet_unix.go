//go:build unix

package httptarget

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// canPeek: it can be told whether something waits to be read.
const canPeek = true

// quiet says whether a connection is open and nothing waits to be read from
// it. An end that the other side announced, and bytes that no request asked
// for, both mean that a request on it would come to nothing.
func quiet(conn net.Conn) bool {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	var peeked error
	err = raw.Read(func(fd uintptr) bool {
		var one [1]byte
		for {
			_, _, peeked = unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK)
			if !errors.Is(peeked, unix.EINTR) {
				return true
			}
		}
	})
	return err == nil && errors.Is(peeked, unix.EAGAIN)
}
