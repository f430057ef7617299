//go:build unix

package crash

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait of these tests: far beyond what any step takes, so
// that only something that never happens runs into it.
const patience = time.Minute

// process is a running program of ours; it is ended, by its own pid, with the test.
type process struct {
	cmd  *exec.Cmd
	url  string
	done chan struct{}
	log  *tail
}

// tail keeps the end of what a process said.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const maxTail = 64 << 10

func (b *tail) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.buf = append(b.buf, p...)
	if len(b.buf) > 2*maxTail {
		b.buf = append(b.buf[:0], b.buf[len(b.buf)-maxTail:]...)
	}
	return len(p), nil
}

func (b *tail) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.buf[max(0, len(b.buf)-maxTail):])
}

// start runs a command that prints one JSON line when it is ready, and reads the
// member of it that holds its address. The address stays empty where the process
// ended before it was ready.
func start(t testing.TB, member string, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, done: make(chan struct{}), log: &tail{}}
	cmd.Stderr = p.log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 1)
	go func() {
		r := bufio.NewReader(out)
		line, _ := r.ReadString('\n')
		lines <- line
		_, _ = io.Copy(io.Discard, r)
		_ = cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(p.kill)
	select {
	case line := <-lines:
		if line == "" {
			return p
		}
		var ready map[string]any
		if err := json.Unmarshal([]byte(line), &ready); err != nil {
			t.Fatalf("%v said %q, which is no JSON line: %v\n%s", cmd.Args, line, err, p.log)
		}
		p.url, _ = ready[member].(string)
	case <-time.After(patience):
		t.Fatalf("%v is not ready\n%s", cmd.Args, p.log)
	}
	return p
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// gone tells whether the process has ended.
func (p *process) gone() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// ended waits until the process is gone.
func (p *process) ended(t testing.TB) {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Fatalf("the process did not end\n%s", p.log)
	}
}

// drained asks the process to end in good order and wants the exit code 0.
func (p *process) drained(t testing.TB) {
	t.Helper()
	p.signal(syscall.SIGTERM)
	p.ended(t)
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the exit code after SIGTERM is %d\n%s", code, p.log)
	}
}

// until asks again and again, without hurry, until something is so.
func until(t testing.TB, what string, so func() bool) {
	t.Helper()
	if !within(patience, so) {
		t.Fatalf("never came: %s", what)
	}
}

// within is until for what need not come.
func within(d time.Duration, so func() bool) bool {
	deadline := time.After(d)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-deadline:
			return so()
		case <-tick.C:
		}
	}
	return true
}

// environment is the test's own with more.
func environment(more ...string) []string { return append(os.Environ(), more...) }
