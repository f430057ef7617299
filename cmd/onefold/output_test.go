package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/onefold-dev/onefold/cmd/onefold/internal/cli"
)

// serving are the commands that run until they are ended; what they say at their
// beginning is told on standard error where standard output takes nothing.
func serving() []string { return []string{"dev", "sandbox", "serve", "worker"} }

// withOutput runs the binary with a file as its standard output.
func withOutput(ts *testscript.TestScript, out *os.File, args []string) (code int, signal syscall.Signal, stderr string) {
	defer func() { _ = out.Close() }()
	cmd := exec.Command(filepath.Join(os.Getenv(binaryFolder), "onefold"), args...)
	var errOut bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = ts.Getenv("WORK"), environ(ts), out, &errOut
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		status := exit.Sys().(syscall.WaitStatus)
		if status.Signaled() {
			signal = status.Signal()
		}
		return exit.ExitCode(), signal, errOut.String()
	}
	ts.Check(err)
	return 0, 0, errOut.String()
}

// full CODE ARGS… runs the binary with a standard output that takes nothing: it must
// end with that exit code, and say on standard error, in the form asked for, that its
// answer is lost.
func full(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: full CODE ARGS...")
	}
	out, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	ts.Check(err)
	code, _, stderr := withOutput(ts, out, args[1:])
	want := "no space left on device"
	if slices.Contains(args, "json") {
		want = `"code":"output_unwritten"`
	}
	if strconv.Itoa(code) != args[0] || !strings.Contains(stderr, want) {
		ts.Fatalf("exit code %d, want %s; it said: %s", code, args[0], stderr)
	}
	ts.Logf("%s", stderr)
}

// leaves ARGS… runs the binary for a reader that has gone: it must end by the signal
// that ends tools in a pipeline, and say nothing.
func leaves(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: leaves ARGS...")
	}
	reader, writer, err := os.Pipe()
	ts.Check(err)
	ts.Check(reader.Close())
	if code, signal, stderr := withOutput(ts, writer, args); signal != syscall.SIGPIPE || stderr != "" {
		ts.Fatalf("exit code %d, signal %v, it said: %q", code, signal, stderr)
	}
}

// unshown HOW ARGS… runs token create with a standard output that shows it to nobody
// (full, gone, null, closed): it must fail and say so.
func unshown(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: unshown HOW ARGS...")
	}
	var out *os.File
	var err error
	switch args[0] {
	case "full", "null":
		out, err = os.OpenFile("/dev/"+args[0], os.O_WRONLY, 0)
	case "gone":
		var reader *os.File
		reader, out, err = os.Pipe()
		ts.Check(err)
		ts.Check(reader.Close())
	case "closed":
		err := ts.Exec("sh", append([]string{"-c", `exec onefold "$@" >&-`, "sh"}, args[1:]...)...)
		if code := exitCode(ts, err); code != cli.ExitFailed {
			ts.Fatalf("exit code %d with a closed standard output", code)
		}
		return
	}
	ts.Check(err)
	if code, signal, stderr := withOutput(ts, out, args[1:]); code != cli.ExitFailed || signal != 0 || !strings.Contains(stderr, "output_unwritten") {
		ts.Fatalf("exit code %d, signal %v; it said: %s", code, signal, stderr)
	}
}

// No command that prints is left out of the story of the full output.
func TestEveryCommandMeetsAFullOutput(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(filepath.Join("testdata", "script", "output.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var walk func(c *cobra.Command)
	seen := 0
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		path := strings.TrimPrefix(c.CommandPath(), "onefold ")
		if c.HasSubCommands() || slices.Contains(serving(), path) {
			return
		}
		seen++
		if !slices.ContainsFunc(strings.Split(string(script), "\n"), func(line string) bool {
			words := strings.Fields(line)
			return len(words) > 2 && words[0] == "full" && strings.HasPrefix(strings.Join(words[2:], " ")+" ", path+" ")
		}) {
			t.Errorf("%s does not meet a full output", path)
		}
	}
	walk(cli.New(cli.FromOS()))
	if seen < 25 {
		t.Errorf("only %d commands", seen)
	}
}

// A server goes on serving when nobody can be told its address on standard output: it
// is told on standard error, and ends in good order.
//
// Proves: M26
func TestAServerOutlivesAFullOutput(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"text", "json"} {
		out, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = out.Close() }()
		cmd := exec.Command(filepath.Join(os.Getenv(binaryFolder), "onefold"), "sandbox", "--listen", "127.0.0.1:0", "--output", form)
		cmd.Stdout = out
		said, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		address := addressIn(t, said)
		var effects []any
		getJSON(t, address+"/admin/effects", "", &effects)
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: it ended with %v", form, err)
		}
	}
}

// addressIn reads on until a line names an address.
func addressIn(t *testing.T, said io.Reader) string {
	t.Helper()
	s := bufio.NewScanner(said)
	for s.Scan() {
		if found := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(s.Text()); found != "" {
			return found
		}
	}
	t.Fatal("no address was told")
	return ""
}
