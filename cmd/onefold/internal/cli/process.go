package cli

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/mattn/go-isatty"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/cmd/onefold/internal/deployment"
	"github.com/onefold-dev/onefold/internal/bootclock"
	"github.com/onefold-dev/onefold/internal/failpoint"
)

// Process is what a command may touch of the process that it runs in.
type Process struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// OutTerminal and ErrTerminal tell whether a person reads them.
	OutTerminal, ErrTerminal bool
	LookupEnv                func(name string) (string, bool)
	Now                      func() time.Time
	// Boot is a monotonic clock that also counts suspended time (M9).
	Boot func() time.Duration
	IDs  onefold.IDs
	// Executable is the path of the binary, "" where it is not known.
	Executable string
	// Hostname names this machine in leases, "" where it is not known.
	Hostname string
	PID      int
}

// FromOS is the process as the operating system gives it.
func FromOS() Process {
	executable, _ := os.Executable()
	host, _ := os.Hostname()
	return Process{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		OutTerminal: isTerminal(os.Stdout), ErrTerminal: isTerminal(os.Stderr),
		LookupEnv: os.LookupEnv, Now: failpoint.WallClock(time.Now), Boot: bootclock.Now, IDs: deployment.IDs{},
		Executable: executable, Hostname: host, PID: os.Getpid(),
	}
}

func isTerminal(f *os.File) bool { return isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()) }

// Main runs one command line, without the program's name, and returns the exit
// code. It returns when the command is done, or has ended in good order after
// ctx ended.
func Main(ctx context.Context, p Process, args []string) int {
	a := &app{Process: p}
	// Faults of the command line itself have to be told in the right form as well,
	// before any flag was read.
	a.json = wantsJSON(args)
	root := newRoot(a)
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		return a.fail(asFailure(err))
	}
	return a.exit
}
