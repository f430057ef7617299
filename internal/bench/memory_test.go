//go:build linux

package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/onefold-dev/onefold/internal/bench/measure"
	"github.com/onefold-dev/onefold/internal/rig"
)

const (
	// inFlight is how many operations are under way at once: as many attempts as
	// the runner takes are out, the others wait for a place.
	inFlight = 10_000
	// submitters submit them.
	submitters = 50
	// patience bounds every wait for the process.
	patience = time.Minute
	// settled is how long the process may take until an idle one is measured: long
	// enough for what a start leaves behind to be collected.
	settled = 3 * time.Second
)

// BenchmarkMemory is the resident memory of `onefold serve`, the real binary,
// when it is idle and with 10,000 operations in flight at a target that takes
// every request and never answers.
func BenchmarkMemory(b *testing.B) {
	s := serve(b, silentTarget(b))
	after(b, settled)
	b.ReportMetric(s.resident(b), "idle-MB")
	c := newCaller(b, s.url, s.token)
	var group sync.WaitGroup
	for range submitters {
		group.Go(func() {
			for range inFlight / submitters {
				if _, err := c.post(b.Context(), "/v1/operations", envelope, "Idempotency-Key", measure.Key()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	after(b, settled)
	b.ReportMetric(s.resident(b), "10k-in-flight-MB")
}

// after waits for a while.
func after(b *testing.B, d time.Duration) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), d)
	defer cancel()
	<-ctx.Done()
}

// silentTarget takes connections and what comes over them, and never answers.
func silentTarget(b *testing.B) (url string) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	group.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
		}
	})
	b.Cleanup(func() {
		_ = l.Close()
		group.Wait()
		for _, conn := range open {
			_ = conn.Close()
		}
	})
	return "http://" + l.Addr().String()
}

// served is a running `onefold serve`.
type served struct {
	cmd        *exec.Cmd
	url, token string
}

// serve builds the binary, makes a database, and starts it.
func serve(b *testing.B, target string) *served {
	b.Helper()
	dir := b.TempDir()
	binary, db := filepath.Join(dir, "onefold"), "sqlite:"+filepath.Join(dir, "onefold.db")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-o", binary, "github.com/onefold-dev/onefold/cmd/onefold").CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	documents := strings.NewReplacer("SANDBOX_URL", target, "timeout: 2s", "timeout: 60s",
		"in_flight: 64", "in_flight: 20000", "unresolved: 100", "unresolved: 1000000").Replace(rig.Documents())
	file := filepath.Join(dir, "documents.yaml")
	if err := os.WriteFile(file, []byte(documents), 0o600); err != nil {
		b.Fatal(err)
	}
	command := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(b.Context(), binary, args...) //nolint:gosec // our own binary
		cmd.Env = append(os.Environ(), "ONEFOLD_BENCH_SECRET=a secret for benchmarks only", "ONEFOLD_SECRET=env:ONEFOLD_BENCH_SECRET")
		return cmd
	}
	s := &served{}
	for _, args := range [][]string{
		{"migrate", "--db", db},
		{"workspace", "create", rig.Workspace, "--db", db},
		{"token", "create", "--db", db, "--workspace", rig.Workspace, "--role", "submit,read"},
	} {
		out, err := command(args...).Output()
		if err != nil {
			b.Fatalf("onefold %v: %v", args, err)
		}
		s.token = strings.TrimSpace(string(out))
	}
	s.cmd = command("serve", "--db", db, "--apply", file, "--listen", "127.0.0.1:0", "--allow-cidr", "127.0.0.0/8",
		"--drain-timeout", "1s", "--output", "json")
	s.start(b)
	return s
}

func (s *served) start(b *testing.B) {
	b.Helper()
	var said bytes.Buffer
	s.cmd.Stderr = &said
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = s.cmd.Process.Signal(syscall.SIGKILL)
		_ = s.cmd.Wait()
	})
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(out).ReadString('\n')
		line <- text
	}()
	select {
	case text := <-line:
		var ready struct{ API string }
		if err := json.Unmarshal([]byte(text), &ready); err != nil {
			b.Fatalf("serve said %q: %v", text, err)
		}
		s.url = ready.API
	case <-time.After(patience):
		b.Fatal("serve is not ready")
	}
}

// resident is the process's resident memory in MB, as the kernel counts it.
func (s *served) resident(b *testing.B) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 64)
			if err != nil {
				b.Fatal(err)
			}
			return kib / 1024
		}
	}
	b.Fatal("the kernel does not say how much memory the process has")
	return 0
}
