package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// devRun is a running `onefold dev --output json`.
type devRun struct {
	cmd   *exec.Cmd
	lines chan string // everything on standard output, line by line
	err   *syncBuffer
}

// syncBuffer takes what a process writes.
type syncBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func startDev(t *testing.T, data string) *devRun {
	t.Helper()
	d := &devRun{err: &syncBuffer{}, lines: make(chan string, 1000)}
	d.cmd = exec.Command(filepath.Join(os.Getenv(binaryFolder), "onefold"),
		"dev", "--data", data, "--listen", "127.0.0.1:0", "--sandbox-listen", "127.0.0.1:0", "--output", "json")
	d.cmd.Stderr = d.err
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(d.lines)
		s := bufio.NewScanner(out)
		for s.Scan() {
			d.lines <- s.Text()
		}
	}()
	t.Cleanup(func() { _ = d.cmd.Process.Kill() })
	return d
}

// next is the next line as an object; ok is false at the end.
func (d *devRun) next(t *testing.T) (members map[string]any, ok bool) {
	t.Helper()
	select {
	case line, more := <-d.lines:
		if !more {
			return nil, false
		}
		if err := json.Unmarshal([]byte(line), &members); err != nil {
			t.Fatalf("a line is no JSON object: %q", line)
		}
		return members, true
	case <-time.After(patience):
		t.Fatalf("no further line; standard error: %s", d.err)
		return nil, false
	}
}

// end interrupts it and wants exit code 0 and no further line.
func (d *devRun) end(t *testing.T) {
	t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for line := range d.lines {
		t.Errorf("a line after the end of the story: %s", line)
	}
	if err := d.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v; standard error: %s", err, d.err)
	}
}

func getJSON(t *testing.T, url, token string, v any) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := (&http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s", url, answer.StatusCode, text)
	}
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatalf("%s: %v: %s", url, err, text)
	}
}

type devPage struct {
	Items []struct {
		ID     string `json:"id"`
		State  string `json:"state"`
		Result *struct {
			Reference string `json:"reference"`
		} `json:"result"`
		Reference string `json:"reference"`
	} `json:"items"`
}

// A newcomer starts dev in an empty folder. Its first line says what is where; the
// story makes at least twelve operations and is over within ten seconds but for
// the one that waits for a person; the sandbox's ledger and ours then name the
// same effects, one for each confirmed operation. A second start uses the same
// data and token and tells nothing again.
//
// Proves: M11a, M12, M13, M16, M22, M24
func TestDevTellsItsStory(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	d := startDev(t, data)
	first, _ := d.next(t)
	began := time.Now()
	if first["console"] != nil || first["workspace"] != "acme" || first["data"] != data || len(first) != 6 {
		t.Errorf("the first line is %v", first)
	}
	api, sandbox, token := fmt.Sprint(first["api"]), fmt.Sprint(first["sandbox"]), fmt.Sprint(first["token"])

	steps, states := 0, map[string]int{}
	var end map[string]any
	for {
		line, ok := d.next(t)
		if !ok {
			t.Fatalf("it ended early; standard error: %s", d.err)
		}
		if line["step"] == nil {
			end = line
			break
		}
		steps++
		states[fmt.Sprint(line["state"])]++
		if line["failed"] != false {
			t.Errorf("step %v: %v", line["step"], line["outcome"])
		}
		if effects := line["effects"].(float64); effects > 1 || (line["state"] == "confirmed") != (effects == 1) {
			t.Errorf("step %v is %v with %v effects", line["step"], line["state"], effects)
		}
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the story took %v", took)
	}
	if steps < 12 || states["rejected"] == 0 || states["canceled"] == 0 || states["uncertain"] != 1 {
		t.Errorf("%d steps that ended %v", steps, states)
	}

	agree(t, api, sandbox, token, end)
	modes(t, data)
	d.end(t)

	again := startDev(t, data)
	second, _ := again.next(t)
	if second["token"] != token || second["workspace"] != "acme" {
		t.Errorf("the second start says %v", second)
	}
	var p devPage
	getJSON(t, fmt.Sprint(second["api"])+"/v1/operations?limit=200", token, &p)
	if len(p.Items) != steps {
		t.Errorf("after the second start there are %d operations, before it were %d", len(p.Items), steps)
	}
	again.end(t)
}

// A dev that is killed in the middle of its story tells it anew, with new
// operations, at the next start; once it was told to its end it is not repeated.
//
// Proves: M12, M24
func TestDevTellsAnEndedStoryAnew(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	d := startDev(t, data)
	d.next(t)
	if line, _ := d.next(t); line["step"] == nil {
		t.Fatalf("no step of the story: %v", line)
	}
	if err := d.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = d.cmd.Wait() // killed

	again := startDev(t, data)
	again.next(t)
	keys, end := map[string]bool{}, false
	for !end {
		line, ok := again.next(t)
		if !ok {
			t.Fatalf("it ended early; standard error: %s", again.err)
		}
		if end = line["step"] == nil; end {
			if twice, _ := line["duplicates"].([]any); len(twice) > 0 {
				t.Errorf("made twice: %v", twice)
			}
			break
		}
		if line["failed"] != false {
			t.Errorf("step %v: %v", line["step"], line["outcome"])
		}
		keys[fmt.Sprint(line["operation"])] = true
	}
	if len(keys) < 12 {
		t.Errorf("the second telling has %d operations", len(keys))
	}
	again.end(t)

	third := startDev(t, data)
	third.next(t)
	third.end(t)
}

// agree holds the two ledgers against each other, effect by effect.
func agree(t *testing.T, api, sandbox, token string, end map[string]any) {
	t.Helper()
	var effects []struct {
		ID        string `json:"id"`
		Reference string `json:"reference"`
	}
	getJSON(t, sandbox+"/admin/effects", "", &effects)
	var p devPage
	getJSON(t, api+"/v1/operations?limit=200", token, &p)
	performed := map[string]string{}
	for _, e := range effects {
		if performed[e.Reference] != "" {
			t.Errorf("two effects for %s", e.Reference)
		}
		performed[e.Reference] = e.ID
	}
	confirmed := 0
	for _, op := range p.Items {
		if op.State != "confirmed" {
			if performed[op.Reference] != "" {
				t.Errorf("%s is %s and has the effect %s", op.ID, op.State, performed[op.Reference])
			}
			continue
		}
		confirmed++
		if performed[op.Reference] != op.Result.Reference {
			t.Errorf("%s says %s, the sandbox %s", op.ID, op.Result.Reference, performed[op.Reference])
		}
	}
	want := fmt.Sprintf("the sandbox performed %d effects, the ledger says %d", len(effects), confirmed)
	if end["text"] != want || len(effects) != confirmed || end["effects"] != float64(len(effects)) {
		t.Errorf("the story ends with %v, want %q", end, want)
	}
}

// modes wants what is secret to be its owner's alone.
func modes(t *testing.T, data string) {
	t.Helper()
	for _, name := range []string{"secret", "token", "onefold.db", "secrets/acme/erp-token"} {
		info, err := os.Stat(filepath.Join(data, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode().Perm())
		}
	}
}

// Whoever reads the announcement can paste it: both lines work, in a shell.
func TestDevsLinesWork(t *testing.T) {
	t.Parallel()
	out := &syncBuffer{}
	cmd := exec.Command(filepath.Join(os.Getenv(binaryFolder), "onefold"),
		"dev", "--data", filepath.Join(t.TempDir(), "data"), "--listen", "127.0.0.1:0", "--sandbox-listen", "127.0.0.1:0")
	cmd.Stderr = out
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	s := bufio.NewScanner(pipe)
	ran := 0
	for s.Scan() {
		line := strings.TrimSpace(s.Text())
		if strings.HasPrefix(line, "curl ") || strings.HasPrefix(line, "ONEFOLD_TOKEN=") {
			pasted, err := exec.Command("sh", "-c", line).CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v\n%s", line, err, pasted)
			}
			if strings.HasPrefix(line, "curl ") && !strings.Contains(string(pasted), `"state":"confirmed"`) {
				t.Errorf("curl answered %s", pasted)
			}
			ran++
		}
		if strings.HasPrefix(line, "ONEFOLD_TOKEN=") && strings.Contains(line, "ops explain") {
			break // the last line: what remains for a person
		}
	}
	if ran != 3 {
		t.Errorf("%d lines were found to paste; standard error: %s", ran, out)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for s.Scan() { // until it ends
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v; standard error: %s", err, out)
	}
}

// Two of one folder: the second says so, and so does one whose port is taken.
func TestDevSaysWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	d := startDev(t, data)
	first, _ := d.next(t)
	binary := filepath.Join(os.Getenv(binaryFolder), "onefold")
	for _, c := range []struct {
		args       []string
		want, code string
	}{
		{[]string{"dev", "--data", data, "--listen", "127.0.0.1:0", "--sandbox-listen", "127.0.0.1:0"}, "another onefold dev uses", "folder_in_use"},
		{[]string{
			"dev", "--data", data + "2", "--listen", strings.TrimPrefix(fmt.Sprint(first["api"]), "http://"), "--sandbox-listen", "127.0.0.1:0",
		}, "is in use", "address_in_use"},
	} {
		out, err := exec.Command(binary, append(c.args, "--output", "json")...).CombinedOutput()
		var problem map[string]any
		if err == nil || json.Unmarshal(out, &problem) != nil || !strings.Contains(fmt.Sprint(problem["detail"]), c.want) ||
			problem["code"] != c.code || problem["hint"] == nil || problem["type"] != "urn:onefold:cli:"+c.code {
			t.Errorf("%v: %v: %s", c.args, err, out)
		}
	}
	if err := d.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for range d.lines { // the story is left in the middle
	}
	if err := d.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v; standard error: %s", err, d.err)
	}
}
