package cli

import (
	"cmp"
	"context"
	"errors"
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
	// OutNowhere tells that nobody can ever read what is written to standard output:
	// it is the null device, which also stands in for one that was closed when the
	// process began.
	OutNowhere bool
	LookupEnv  func(name string) (string, bool)
	Now        func() time.Time
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
		OutTerminal: isTerminal(os.Stdout), ErrTerminal: isTerminal(os.Stderr), OutNowhere: leadsNowhere(os.Stdout),
		LookupEnv: os.LookupEnv, Now: failpoint.WallClock(time.Now), Boot: bootclock.Now, IDs: deployment.IDs{},
		Executable: executable, Hostname: host, PID: os.Getpid(),
	}
}

func isTerminal(f *os.File) bool { return isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()) }

// leadsNowhere tells whether a file takes everything and keeps nothing.
func leadsNowhere(f *os.File) bool {
	there, err := f.Stat()
	if err != nil {
		return true
	}
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(there, null)
}

// Main runs one command line, without the program's name, and returns the exit
// code. It returns when the command is done, or has ended in good order after
// ctx ended.
func Main(ctx context.Context, p Process, args []string) int {
	p.Stdout = &outlet{to: p.Stdout}
	a := &app{Process: p}
	// Faults of the command line itself have to be told in the right form as well,
	// before any flag was read.
	a.json = wantsJSON(args)
	root := newRoot(a)
	root.SetArgs(args)
	return a.end(root.ExecuteContext(ctx))
}

// end says what went wrong, if anything did, and gives the exit code. An answer
// that could not be written is a failure, whatever the command made of it; the exit
// code that stood for what became of the work is kept, since that is true all the
// same.
func (a *app) end(err error) int {
	lost := a.unwritten()
	if err == nil {
		err = lost
	}
	if err == nil {
		return a.exit
	}
	if _, is := errors.AsType[*failure](err); !is && isUnwritten(err) {
		if exit := cmp.Or(a.exit, ExitFailed); readerLeft(err) {
			return exit
		}
		f := asFailure(err)
		f.exit = cmp.Or(a.exit, f.exit)
		return a.fail(f)
	}
	if lost != nil && !isUnwritten(err) && !readerLeft(lost) {
		a.note("%s", lost)
	}
	return a.fail(asFailure(err))
}
