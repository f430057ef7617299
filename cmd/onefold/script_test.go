package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// again is how long a script's question waits before it is asked again.
const again = 50 * time.Millisecond

// exits CODE PROGRAM ARGS… runs a program that must end with that exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS...")
	}
	if code := exitCode(ts, ts.Exec(args[1], args[2:]...)); strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

func exitCode(ts *testscript.TestScript, err error) int {
	if err == nil {
		return 0
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	ts.Fatalf("%v", err)
	return -1
}

// eventually CODE PROGRAM ARGS… runs a program again and again until it ends with
// that exit code.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually CODE PROGRAM ARGS...")
	}
	until := time.After(patience)
	for {
		code := exitCode(ts, ts.Exec(args[1], args[2:]...))
		if strconv.Itoa(code) == args[0] {
			return
		}
		select {
		case <-time.After(again):
		case <-until:
			ts.Fatalf("still exit code %d, want %s", code, args[0])
		}
	}
}

// processes is the key of a script's running processes.
const processes = "processes"

// group is a script's running processes.
type group struct {
	mu      sync.Mutex
	running map[string]*process
}

// process is one that a script started.
type process struct {
	cmd   *exec.Cmd
	ended chan error
	lines *transcript
}

// transcript is what a process wrote on standard output so far.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
	read chan struct{}
}

func (t *transcript) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.WriteString(line)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

func (g *group) killAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.running {
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// start NAME PROGRAM ARGS… starts a program and waits for its first line, a JSON
// object; its text members become variables NAME_member.
func start(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: start NAME PROGRAM ARGS...")
	}
	name := args[0]
	program, err := exec.LookPath(args[1])
	if args[1] == "onefold" {
		program, err = os.Getenv(binaryFolder)+"/onefold", nil
	}
	ts.Check(err)
	cmd := exec.Command(program, args[2:]...)
	cmd.Dir = ts.Getenv("WORK")
	cmd.Env = environ(ts)
	errFile, err := os.Create(ts.MkAbs(name + ".err"))
	ts.Check(err)
	defer func() { _ = errFile.Close() }()
	cmd.Stderr = errFile
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	p := &process{cmd: cmd, ended: make(chan error, 1), lines: &transcript{read: make(chan struct{})}}
	first := make(chan string, 1)
	go func() {
		r := bufio.NewReader(out)
		for n := 0; ; n++ {
			line, err := r.ReadString('\n')
			p.lines.add(line)
			if n == 0 {
				first <- line
			}
			if err != nil {
				break
			}
		}
		p.ended <- cmd.Wait()
	}()
	g := ts.Value(processes).(*group)
	g.mu.Lock()
	g.running[name] = p
	g.mu.Unlock()
	select {
	case line := <-first:
		members := map[string]any{}
		if err := json.Unmarshal([]byte(line), &members); err != nil {
			ts.Fatalf("%s: the first line is no JSON object: %q; it said: %s", name, line, ts.ReadFile(name+".err"))
		}
		for member, value := range members {
			if text, ok := value.(string); ok {
				ts.Setenv(name+"_"+member, text)
			}
		}
	case <-time.After(patience):
		ts.Fatalf("%s wrote no line", name)
	}
}

// environ is the script's environment as a process takes it.
func environ(ts *testscript.TestScript) []string {
	var out []string
	for _, name := range []string{
		"PATH", "HOME", "TMPDIR", "WORK", "TEST_SECRET", "OTHER_SECRET", "ONEFOLD_SECRET", "ONEFOLD_DB", "ONEFOLD_LISTEN",
		"ONEFOLD_ALLOW_CIDR", "ONEFOLD_SERVER", "ONEFOLD_TOKEN",
	} {
		if value := ts.Getenv(name); value != "" {
			out = append(out, name+"="+value)
		}
	}
	return out
}

// signal NAME SIGNAL CODE signals a program and waits until it has ended with that
// exit code; then NAME.out holds its standard output.
func stop(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: signal NAME SIGNAL CODE")
	}
	signals := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL}
	g := ts.Value(processes).(*group)
	g.mu.Lock()
	p := g.running[args[0]]
	g.mu.Unlock()
	if p == nil {
		ts.Fatalf("nothing runs as %s", args[0])
	}
	if args[1] != "-" { // - waits only: the signal was sent before
		ts.Check(p.cmd.Process.Signal(signals[args[1]]))
	}
	if args[2] == "-" { // - does not wait
		return
	}
	select {
	case err := <-p.ended:
		g.mu.Lock()
		delete(g.running, args[0])
		g.mu.Unlock()
		ts.Check(os.WriteFile(ts.MkAbs(args[0]+".out"), []byte(p.lines.String()), 0o600))
		if code := exitCode(ts, err); strconv.Itoa(code) != args[2] {
			ts.Fatalf("%s ended with exit code %d, want %s; it said: %s", args[0], code, args[2], ts.ReadFile(args[0]+".err"))
		}
	case <-time.After(patience):
		ts.Fatalf("%s does not end", args[0])
	}
}

// checkJSON SOURCE [PATH VALUE] wants stdout, stderr or a file to be JSON (for
// stderr and files: on every line), and a member of the last line to have a
// value; [!] negates the comparison.
func checkJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 && len(args) != 3 {
		ts.Fatalf("usage: json SOURCE [PATH VALUE]")
	}
	value := readJSON(ts, args[0])
	if len(args) == 1 {
		return
	}
	if have := pick(ts, value, args[1]); (have == args[2]) == neg {
		ts.Fatalf("%s is %s, compared with %s", args[1], have, args[2])
	}
}

// setJSON VARIABLE SOURCE PATH keeps a member in a variable.
func setJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: setjson VARIABLE SOURCE PATH")
	}
	ts.Setenv(args[0], pick(ts, readJSON(ts, args[1]), args[2]))
}

// readJSON parses every line of a source and returns the last.
func readJSON(ts *testscript.TestScript, source string) any {
	text := ts.ReadFile(source)
	var last any
	lines := 0
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	for {
		var value any
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			ts.Fatalf("%s is no JSON: %v\n%s", source, err, text)
		}
		last = value
		lines++
	}
	if lines == 0 {
		ts.Fatalf("%s is empty", source)
	}
	return last
}

// pick follows a path of names and numbers; "len" is a list's length.
func pick(ts *testscript.TestScript, value any, path string) string {
	for part := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			next, there := v[part]
			if !there {
				ts.Fatalf("%s: there is no member %q", path, part)
			}
			value = next
		case []any:
			if part == "len" {
				value = json.Number(strconv.Itoa(len(v)))
				continue
			}
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(v) {
				ts.Fatalf("%s: a list of %d has no %q", path, len(v), part)
			}
			value = v[i]
		default:
			ts.Fatalf("%s: %q is in no object", path, part)
		}
	}
	if text, ok := value.(string); ok {
		return text
	}
	text, err := json.Marshal(value)
	ts.Check(err)
	return string(text)
}

// get URL STATUS [PATH VALUE] asks until the answer has that status, and that
// member that value, and keeps the body in the file body.
func get(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 && len(args) != 4 {
		ts.Fatalf("usage: get URL STATUS [PATH VALUE]")
	}
	until := time.After(patience)
	for {
		status, body, err := fetch(http.MethodGet, args[0], nil)
		if err == nil && strconv.Itoa(status) == args[1] {
			ts.Check(os.WriteFile(ts.MkAbs("body"), []byte(body), 0o600))
			if len(args) == 2 || pick(ts, readJSON(ts, "body"), args[2]) == args[3] {
				return
			}
		}
		select {
		case <-time.After(again):
		case <-until:
			ts.Fatalf("still %d %v", status, err)
		}
	}
}

// post URL STATUS FILE posts a file's JSON.
func post(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: post URL STATUS FILE")
	}
	status, body, err := fetch(http.MethodPost, args[0], strings.NewReader(ts.ReadFile(args[2])))
	ts.Check(err)
	if strconv.Itoa(status) != args[1] {
		ts.Fatalf("status %d, want %s: %s", status, args[1], body)
	}
	ts.Check(os.WriteFile(ts.MkAbs("body"), []byte(body), 0o600))
}

func fetch(method, url string, in io.Reader) (status int, body string, err error) {
	req, err := http.NewRequest(method, url, in)
	if err != nil {
		return 0, "", err
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, "", fmt.Errorf("read: %w", err)
	}
	return answer.StatusCode, string(text), nil
}
