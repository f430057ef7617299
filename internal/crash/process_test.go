package crash

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onefold-dev/onefold/internal/failpoint"
	"github.com/onefold-dev/onefold/internal/rig"
)

// patience bounds every wait of these tests: far beyond what any step takes, so
// that only something that never happens runs into it.
const patience = time.Minute

var binary string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "onefold-crash-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "onefold")
	build := exec.Command("go", "build", "-tags", "failpoint", "-o", binary, "github.com/onefold-dev/onefold/cmd/onefold") //nolint:gosec // fixed words
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build with failpoints:", err)
		return 1
	}
	return m.Run()
}

// process is a running onefold; it is ended, by its own pid, with the test.
type process struct {
	cmd  *exec.Cmd
	url  string
	done chan struct{}
	log  *lockedBuffer
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// start runs a command that prints one JSON line when it is ready, and reads the
// member of it that holds its address.
func start(t *testing.T, member string, env []string, args ...string) *process {
	t.Helper()
	cmd := exec.Command(binary, args...) //nolint:gosec // our own binary
	cmd.Env = append(os.Environ(), env...)
	p := &process{cmd: cmd, done: make(chan struct{}), log: &lockedBuffer{}}
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
		var ready map[string]any
		if err := json.Unmarshal([]byte(line), &ready); err != nil {
			t.Fatalf("%v said %q, which is no JSON line: %v\n%s", args, line, err, p.log)
		}
		p.url, _ = ready[member].(string)
	case <-time.After(patience):
		t.Fatalf("%v is not ready\n%s", args, p.log)
	}
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// ended waits until the process is gone.
func (p *process) ended(t *testing.T) {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Fatalf("the process did not end\n%s", p.log)
	}
}

// house is a sandbox in a process of its own and an onefold beside it.
type house struct {
	t       *testing.T
	dir     string
	db      string
	sandbox *process
	serve   *process
	token   string
}

const secretEnv = "ONEFOLD_CRASH_SECRET=a secret for crash tests only"

func newHouse(t *testing.T) *house {
	t.Helper()
	dir := t.TempDir()
	h := &house{t: t, dir: dir, db: "sqlite:" + filepath.Join(dir, "onefold.db")}
	h.sandbox = start(t, "sandbox", nil, "sandbox", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "sandbox.db"), "--output", "json")
	docs := strings.ReplaceAll(rig.Documents(), "SANDBOX_URL", h.sandbox.url)
	if err := os.WriteFile(filepath.Join(dir, "documents.yaml"), []byte(docs), 0o600); err != nil {
		t.Fatal(err)
	}
	h.command("migrate", "--db", h.db)
	h.command("workspace", "create", rig.Workspace, "--db", h.db)
	h.token = strings.TrimSpace(h.command("token", "create", "--db", h.db, "--workspace", rig.Workspace, "--role", "submit,read,operate,admin"))
	h.command("apply", "-f", filepath.Join(dir, "documents.yaml"), "--db", h.db)
	return h
}

func (h *house) env() []string {
	return []string{secretEnv, "ONEFOLD_SECRET=env:ONEFOLD_CRASH_SECRET"}
}

// command runs a command to its end and returns what it said.
func (h *house) command(args ...string) string {
	h.t.Helper()
	cmd := exec.Command(binary, args...) //nolint:gosec // our own binary
	cmd.Env = append(os.Environ(), h.env()...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		h.t.Fatalf("onefold %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// open starts onefold, armed with a failpoint or ("") without; mark is the file
// that proves that it fired.
func (h *house) open(point string) (mark string) {
	h.t.Helper()
	env := h.env()
	if point != "" {
		mark = filepath.Join(h.dir, "fired-"+point)
		env = append(env, failpoint.Variable+"="+point, failpoint.Mark+"="+mark)
	}
	h.serve = start(h.t, "api", env, "serve", "--db", h.db, "--listen", "127.0.0.1:0", "--allow-cidr", "127.0.0.0/8", "--output", "json")
	return mark
}

// answer is what the API said; status 0 means that the connection broke.
type answer struct {
	status int
	header http.Header
	body   map[string]any
}

func (h *house) call(method, path, key, body string) answer {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, h.serve.url+path, strings.NewReader(body))
	if err != nil {
		h.t.Error(err)
		return answer{}
	}
	req.Header.Set("Authorization", "Bearer "+h.token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{}
	}
	defer func() { _ = res.Body.Close() }()
	a := answer{status: res.StatusCode, header: res.Header}
	if err := json.NewDecoder(res.Body).Decode(&a.body); err != nil {
		return answer{}
	}
	return a
}

func (a answer) text(member string) string {
	s, _ := a.body[member].(string)
	return s
}

// list reads a list of the sandbox's admin API.
func (h *house) list(path string) []map[string]any {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.sandbox.url+path, http.NoBody)
	if err != nil {
		h.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var items []map[string]any
	if err := json.NewDecoder(res.Body).Decode(&items); err != nil {
		h.t.Fatalf("%s: %v", path, err)
	}
	return items
}

// fault queues a fault at the sandbox.
func (h *house) fault(text string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.sandbox.url+"/admin/faults", strings.NewReader(text))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode >= 300 {
		said, _ := io.ReadAll(res.Body)
		h.t.Fatalf("the fault was refused: %s %s", res.Status, said)
	}
}
