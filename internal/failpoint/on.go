//go:build failpoint

package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

var reached atomic.Int64

// Point kills the process with SIGKILL if the named place is armed, after
// writing the mark that proves it.
func Point(name string) {
	armed, count, _ := strings.Cut(os.Getenv(Variable), "@")
	if armed == "" || armed != name {
		return
	}
	nth, err := strconv.ParseInt(count, 10, 64)
	if err != nil {
		nth = 1
	}
	if reached.Add(1) != nth {
		return
	}
	if mark := os.Getenv(Mark); mark != "" {
		if err := os.WriteFile(mark, []byte(name+"\n"), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, "failpoint: the mark cannot be written:", err)
		}
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal ends the process
}
