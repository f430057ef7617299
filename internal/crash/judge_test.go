//go:build unix

package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onefold-dev/onefold/sandbox"
)

// judgeEnv makes this test program the judge: a sandbox in a process of its own,
// with a ledger in the file that the variable names.
const judgeEnv = "ONEFOLD_CRASH_JUDGE"

// beJudge serves a sandbox that takes the same reference as often as it comes
// where the contract says that nothing stops it: a second effect must be able to
// happen, or nothing would show it.
func beJudge(file string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	s, err := sandbox.Open(ctx, sandbox.Options{
		Path: file, Now: time.Now, AllowDuplicateReferences: map[string]bool{"orders": true, "payments": true},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	l, err := s.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Printf("{\"sandbox\": \"http://%s\"}\n", l.Addr())
	if err := s.Serve(ctx, l); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// judge is the target, whose ledger decides who is right.
type judge struct {
	*process
	t testing.TB
}

func newJudge(t testing.TB) *judge {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self) //nolint:gosec // this program
	cmd.Env = environment(judgeEnv + "=" + filepath.Join(t.TempDir(), "judge.db"))
	return &judge{start(t, "sandbox", cmd), t}
}

// plannedFault is a fault as the judge lists it.
type plannedFault struct {
	ID        string `json:"id"`
	Kind      string `json:"kind"`
	Path      string `json:"path"`
	Remaining int    `json:"remaining"`
	Cleared   bool   `json:"cleared"`
	Protected bool   `json:"protected"`
	Fired     []struct {
		RequestSeq int64 `json:"request_seq"`
		Effects    int   `json:"effects"`
	} `json:"fired"`
}

func (j *judge) effects(account string) []sandbox.Effect {
	return listed[sandbox.Effect](j, "/admin/effects?account="+account)
}

func (j *judge) requests(account string) []sandbox.Request {
	return listed[sandbox.Request](j, "/admin/requests?account="+account)
}

func (j *judge) faults() []plannedFault { return listed[plannedFault](j, "/admin/faults") }

// plan queues a fault.
func (j *judge) plan(fault string) {
	j.t.Helper()
	if status, said := j.ask(http.MethodPost, "/admin/faults", fault); status != http.StatusCreated {
		j.t.Fatalf("the fault %s was refused: %d %s", fault, status, said)
	}
}

func listed[T any](j *judge, path string) []T {
	j.t.Helper()
	status, said := j.ask(http.MethodGet, path, "")
	var items []T
	if err := json.Unmarshal(said, &items); err != nil || status != http.StatusOK {
		j.t.Fatalf("%s: %d %v", path, status, err)
	}
	return items
}

func (j *judge) ask(method, path, body string) (int, []byte) {
	j.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, j.url+path, strings.NewReader(body))
	if err != nil {
		j.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		j.t.Fatalf("the judge does not answer: %v\n%s", err, j.log)
	}
	defer func() { _ = res.Body.Close() }()
	said, err := io.ReadAll(res.Body)
	if err != nil {
		j.t.Fatal(err)
	}
	return res.StatusCode, said
}
