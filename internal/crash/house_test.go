//go:build unix

package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold/internal/failpoint"
	"github.com/onefold-dev/onefold/internal/rig"
)

// built is what all tests of the package share: the binary with failpoints, and a
// database with a workspace and a token, to be copied.
var built struct {
	binary, database, token string
}

const secretEnv = "ONEFOLD_CRASH_SECRET=a secret for crash tests only"

func TestMain(m *testing.M) {
	if file := os.Getenv(judgeEnv); file != "" {
		os.Exit(beJudge(file))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "onefold-crash-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if transport, ok := http.DefaultTransport.(*http.Transport); ok {
		transport.MaxIdleConnsPerHost = 2 * callers
	}
	built.binary = filepath.Join(dir, "onefold")
	built.database = filepath.Join(dir, "template.db")
	build := exec.Command("go", "build", "-tags", "failpoint", "-o", built.binary, "github.com/onefold-dev/onefold/cmd/onefold") //nolint:gosec // fixed words
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build with failpoints:", err)
		return 1
	}
	db := "sqlite:" + built.database
	for _, args := range [][]string{
		{"migrate", "--db", db},
		{"workspace", "create", rig.Workspace, "--db", db},
		{"token", "create", "--db", db, "--workspace", rig.Workspace, "--role", "submit,read,operate,admin"},
	} {
		said, err := command(args...)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		built.token = strings.TrimSpace(said)
	}
	return m.Run()
}

// command runs a command to its end and returns what it said.
func command(args ...string) (string, error) {
	cmd := exec.Command(built.binary, args...) //nolint:gosec // our own binary
	cmd.Env = environment(secretEnv, "ONEFOLD_SECRET=env:ONEFOLD_CRASH_SECRET")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("onefold %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out), nil
}

// house is a target in a process of its own and an onefold beside it.
type house struct {
	t       testing.TB
	dir     string
	judge   *judge
	account string // of the house at the judge, which may serve many
	serve   *process
	// flags are those of serve beside the usual ones.
	flags []string
	// more is more of serve's environment.
	more []string
	// armed tells that this start of serve has failpoints; memo is what a story
	// remembers from one telling to the next.
	armed bool
	memo  map[string]string
	wrap  func(*exec.Cmd) *exec.Cmd
}

// newHouse lays a database out and starts nothing but, where none is given, a
// judge. edit changes the documents.
func newHouse(t testing.TB, j *judge, account string, edit func(string) string) *house {
	t.Helper()
	if j == nil {
		j = newJudge(t)
	}
	h := &house{t: t, dir: t.TempDir(), judge: j, account: account, memo: map[string]string{}}
	template, err := os.ReadFile(built.database)
	if err != nil {
		t.Fatal(err)
	}
	h.write("onefold.db", template)
	docs := strings.ReplaceAll(rig.Documents(), "SANDBOX_URL", j.url+"/acct/"+account)
	if edit != nil {
		docs = edit(docs)
	}
	h.write("documents.yaml", []byte(docs))
	return h
}

func (h *house) file(name string) string { return filepath.Join(h.dir, name) }

// write writes a file so that a reader sees the old content or the new.
func (h *house) write(name string, content []byte) {
	h.t.Helper()
	err := os.WriteFile(h.file(name+".new"), content, 0o600)
	if err == nil {
		err = os.Rename(h.file(name+".new"), h.file(name))
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// open starts onefold, armed with failpoints or ("") without. It may be gone
// again before it was ready.
func (h *house) open(points string) {
	h.t.Helper()
	_ = os.Remove(h.file("fired"))
	_ = os.Remove(h.file("go"))
	h.armed = points != ""
	h.serve = start(h.t, "api", h.serving(points))
}

func (h *house) serving(points string) *exec.Cmd {
	args := append([]string{
		"serve", "--db", "sqlite:" + h.file("onefold.db"), "--apply", h.file("documents.yaml"), "--listen", "127.0.0.1:0",
		"--allow-cidr", "127.0.0.0/8", "--output", "json",
	}, h.flags...)
	cmd := exec.Command(built.binary, args...) //nolint:gosec // our own binary
	cmd.Env = environment(append([]string{
		secretEnv, "ONEFOLD_SECRET=env:ONEFOLD_CRASH_SECRET",
		failpoint.Variable + "=" + points, failpoint.Mark + "=" + h.file("fired"), failpoint.Go + "=" + h.file("go"),
		failpoint.Trace + "=" + h.file("trace"),
	}, h.more...)...)
	if h.wrap != nil {
		cmd = h.wrap(cmd)
	}
	return cmd
}

// fired tells whether a failpoint of this start has fired.
func (h *house) fired(place string) bool {
	place, _, _ = strings.Cut(place, "=")
	place, _, _ = strings.Cut(place, "@")
	marks, err := os.ReadFile(h.file("fired"))
	return err == nil && strings.Contains("\n"+string(marks), "\n"+place+"\n")
}

// letGo lets what a failpoint holds go on.
func (h *house) letGo() { h.write("go", nil) }

// fault plans a fault for this house's requests to a collection.
func (h *house) fault(collection, members string) {
	h.t.Helper()
	h.judge.plan(fmt.Sprintf(`{"path":"/acct/%s/%s",%s}`, h.account, collection, members))
}

// answer is what the API said; status 0 means that the connection broke.
type answer struct {
	status int
	header http.Header
	body   map[string]any
}

func (a answer) text(member string) string {
	s, _ := a.body[member].(string)
	return s
}

func (a answer) number(member string) int {
	n, _ := a.body[member].(float64)
	return int(n)
}

func (a answer) items() []map[string]any {
	list, _ := a.body["items"].([]any)
	items := make([]map[string]any, len(list))
	for i := range list {
		items[i], _ = list[i].(map[string]any)
	}
	return items
}

func (h *house) call(method, path, key, body string) answer {
	return send(h.serve.url, method, path, body, "Idempotency-Key", key)
}

// decide acts on an operation as it now is.
func (h *house) decide(id, action, body string) answer {
	op := h.call(http.MethodGet, "/v1/operations/"+id, "", "")
	return send(h.serve.url, http.MethodPost, "/v1/operations/"+id+"/"+action, body, "If-Match", op.header.Get("ETag"))
}

// send makes one request of the API.
func send(address, method, path, body string, headers ...string) answer {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address+path, strings.NewReader(body))
	if err != nil {
		return answer{}
	}
	req.Header.Set("Authorization", "Bearer "+built.token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] != "" {
			req.Header.Set(headers[i], headers[i+1])
		}
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

// await asks for an operation until it is so, or the process is gone.
func (h *house) await(id, what string, so func(answer) bool) (answer, bool) {
	h.t.Helper()
	var op answer
	until(h.t, what+" of "+id, func() bool {
		op = h.call(http.MethodGet, "/v1/operations/"+id, "", "")
		return h.serve.gone() || op.status == http.StatusOK && so(op)
	})
	return op, !h.serve.gone()
}

func settled(op answer) bool {
	switch op.text("state") {
	case "confirmed", "rejected", "canceled":
		return true
	}
	return false
}

func inState(state string) func(answer) bool {
	return func(op answer) bool { return op.text("state") == state }
}

// soon is a time of the wall clock in the form of the API.
func soon(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339Nano) }
