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

// Enabled tells whether this build has failpoints.
const Enabled = true

// Variable names the environment variable that arms one failpoint, as
// NAME or NAME@N (the N-th time that it is reached; 1 is the first), and Mark
// the one that names the file which is written when it fires.
const (
	Variable = "ONEFOLD_FAILPOINT"
	Mark     = "ONEFOLD_FAILPOINT_MARK"
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
