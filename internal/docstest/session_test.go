package docstest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// patience is how long anything may take that a page waits for: far above what
	// it takes, and only a page that is wrong ever waits so long.
	patience = 60 * time.Second
	// again is how long is waited before something is asked again.
	again = 100 * time.Millisecond
)

// The addresses that pages are written with.
const (
	pageAPI     = "127.0.0.1:8080"
	pageSandbox = "127.0.0.1:8090"
)

// session is one page being run.
type session struct {
	t            *testing.T
	root, folder string // of the module; where the page is run
	state        string // file of the variables that last
	api, sandbox string // the addresses in use
	seen         string // everything that was shown
	output       func() string
	running      []*program
	files        []string // texts of the page's files
}

// program is one that runs while the page goes on.
type program struct {
	name  string // dev, serve, …
	cmd   *exec.Cmd
	out   *transcript
	ended chan error
}

// transcript takes what a program writes. It is safe for concurrent use.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *transcript) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *transcript) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// wrapper stands in for the binary: it gives dev and sandbox the addresses of
// this run, as the variables of the environment do for the other commands.
const wrapper = `#!/bin/sh
case "$1" in
dev) exec '%[1]s' "$@" --listen %[2]s --sandbox-listen %[3]s ;;
sandbox) exec '%[1]s' "$@" --listen %[3]s ;;
esac
exec '%[1]s' "$@"
`

func newSession(t *testing.T, root, binary string) *session {
	t.Helper()
	s := &session{
		t: t, root: root, folder: filepath.Join(t.TempDir(), "page"), state: filepath.Join(t.TempDir(), "state"),
		api: freeAddress(t), sandbox: freeAddress(t),
	}
	s.write("../bin/onefold", fmt.Sprintf(wrapper, binary, s.api, s.sandbox), 0o700)
	s.write("../home/.keep", "", 0o600)
	s.must(os.MkdirAll(filepath.Join(s.folder, "cmd", "onefold"), 0o700))
	s.must(os.Symlink(filepath.Join(root, "cmd", "onefold", "examples"), filepath.Join(s.folder, "cmd", "onefold", "examples")))
	env := ""
	for _, v := range [][2]string{
		{"PATH", filepath.Join(s.folder, "..", "bin") + string(os.PathListSeparator) + os.Getenv("PATH")},
		{"HOME", filepath.Join(s.folder, "..", "home")},
		{"TMPDIR", t.TempDir()},
		{"NO_COLOR", "1"},
		{"LC_ALL", "C.UTF-8"},
		{"ONEFOLD_LISTEN", s.api},
		{"ONEFOLD_SERVER", "http://" + s.api},
	} {
		env += "export " + v[0] + "='" + v[1] + "'\n"
	}
	s.must(os.WriteFile(s.state, []byte(env+"cd '"+s.folder+"'\n"), 0o600))
	t.Cleanup(s.end)
	return s
}

func (s *session) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// write makes a file of the page, with its folder.
func (s *session) write(name, text string, mode os.FileMode) {
	s.t.Helper()
	name = filepath.Join(s.folder, filepath.FromSlash(name))
	s.must(os.MkdirAll(filepath.Dir(name), 0o700))
	s.must(os.WriteFile(name, []byte(text), mode))
}

// freeAddress is an address that nobody listens at.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// play runs a page's snippets.
func (s *session) play(page []snippet) error {
	for i := range page {
		if err := s.one(page, i); err != nil {
			return fmt.Errorf("line %d: %w", page[i].line, err)
		}
	}
	return nil
}

func (s *session) one(page []snippet, i int) error {
	now := page[i]
	text := s.here(now.text)
	switch {
	case now.file != "":
		s.write(now.file, text, 0o600)
		s.files = append(s.files, now.text)
		return s.checkDocument(now, text)
	case strings.HasPrefix(now.mark, "output"):
		return s.compare(now)
	case now.mark == "after a moment":
		if i+1 == len(page) || !strings.HasPrefix(page[i+1].mark, "output") {
			return errors.New("no output follows it")
		}
		return s.until(text, page[i+1])
	case now.kind == "sh":
		code := "0"
		if wanted, exits := strings.CutPrefix(now.mark, "exits "); exits {
			code = wanted
		}
		return s.shell(text, code)
	case now.kind == "json":
		if !json.Valid([]byte(now.text)) {
			return errors.New("it is no JSON")
		}
	case now.kind == "yaml":
		return s.quoted(now.text)
	case now.kind == "go":
		return quotedInGo(s.root, now.text)
	}
	return nil
}

// here is a text of the page with the addresses of this run.
func (s *session) here(text string) string {
	return strings.NewReplacer(pageAPI, s.api, pageSandbox, s.sandbox).Replace(text)
}

// compare holds an output against what the page says.
func (s *session) compare(now snippet) error {
	if s.output == nil {
		return errors.New("nothing has written anything yet")
	}
	have := s.output()
	if err := matches(s.here(now.text), have, now.mark == "output in part"); err != nil {
		return fmt.Errorf("%w; the whole output:\n%s", err, have)
	}
	return nil
}

// until runs a snippet until the output is what the page says.
func (s *session) until(text string, output snippet) error {
	over := time.After(patience)
	for {
		err := s.shell(text, "0")
		if err == nil {
			err = s.compare(output)
		}
		if err == nil {
			return nil
		}
		select {
		case <-time.After(again):
		case <-over:
			return err
		}
	}
}

var (
	goesOn      = regexp.MustCompile(`^(?:[A-Z_]+=\S+ )*(?:\./)?onefold (dev|serve|worker|sandbox)\b`)
	placeholder = regexp.MustCompile(`\b(op|rev)_…`)
)

// shell runs a snippet. A line that starts a program which goes on is run beside
// what follows it; one with op_… is run after what stands before it was shown.
func (s *session) shell(text, code string) error {
	text = strings.ReplaceAll(text, "go run ./cmd/onefold", "onefold")
	text = strings.ReplaceAll(text, "go build -o onefold ./cmd/onefold", "cp \""+filepath.Join(s.folder, "..", "bin", "onefold")+"\" onefold")
	before, shown := "", ""
	flush := func(code string) error {
		out, err := s.run(before, code)
		before, shown = "", shown+out
		return err
	}
	for line := range strings.Lines(text) {
		begins := !strings.HasSuffix(before, "\\\n") && !strings.HasSuffix(before, "|\n") && !strings.HasSuffix(before, "&&\n")
		m := goesOn.FindStringSubmatch(line)
		if (m != nil || placeholder.MatchString(line)) && begins {
			if err := flush("0"); err != nil {
				return err
			}
		}
		line, err := s.filled(line)
		switch {
		case err != nil:
			return err
		case m != nil:
			if err := s.start(m[1], line); err != nil {
				return err
			}
		case strings.HasPrefix(line, "make "):
		default:
			before += line
		}
	}
	last := before
	if strings.TrimSpace(last) == "" && code != "0" {
		return fmt.Errorf("nothing ends with exit code %s: the last line goes on", code)
	}
	if err := flush(code); err != nil || last == "" {
		return err
	}
	s.output = func() string { return shown }
	return nil
}

// filled puts the last ids that were shown in the place of op_… and rev_….
func (s *session) filled(text string) (string, error) {
	var failed error
	text = placeholder.ReplaceAllStringFunc(text, func(p string) string {
		prefix := strings.TrimSuffix(p, "…")
		all := regexp.MustCompile(`\b`+prefix+`[0-9a-z]{26}\b`).FindAllString(s.seen, -1)
		if len(all) == 0 {
			failed = fmt.Errorf("no id %s was shown yet", p)
			return p
		}
		return all[len(all)-1]
	})
	return text, failed
}

// bash is a shell that begins where the last one ended.
func (s *session) bash(ctx context.Context, text string) *exec.Cmd {
	keep := "trap 'code=$?; { export -p; printf \"cd %q\\n\" \"$PWD\"; } >\"" + s.state + "\"; exit $code' EXIT\n"
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", ". \""+s.state+"\"\n"+keep+text)
	cmd.Env = []string{}
	cmd.Dir = s.folder
	cmd.WaitDelay = time.Second
	return cmd
}

// run runs commands, wants their exit code, and returns what they wrote.
func (s *session) run(text, code string) (string, error) {
	if strings.TrimSpace(text) == "" {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := s.bash(ctx, text)
	out, err := cmd.CombinedOutput()
	s.seen += string(out)
	if exit, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		return "", err
	} else if have := fmt.Sprint(exitCode(exit)); have != code {
		return "", fmt.Errorf("exit code %s, want %s; it wrote:\n%s", have, code, out)
	}
	return string(out), nil
}

func exitCode(exit *exec.ExitError) int {
	if exit == nil {
		return 0
	}
	return exit.ExitCode()
}

// start starts a program that goes on, and waits until it works: dev, until its
// story is told.
func (s *session) start(name, line string) error {
	s.stop(name)
	p := &program{name: name, out: &transcript{}, ended: make(chan error, 1)}
	p.cmd = s.bash(context.Background(), "trap - EXIT\n"+withExec(line))
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	if err := p.cmd.Start(); err != nil {
		return err
	}
	go func() { p.ended <- p.cmd.Wait() }()
	s.running = append(s.running, p)
	s.output = p.out.String
	over := time.After(patience)
	for {
		if s.works(p) {
			s.seen += p.out.String()
			return nil
		}
		select {
		case err := <-p.ended:
			p.ended <- err
			return fmt.Errorf("onefold %s ended: %w; it wrote:\n%s", name, err, p.out)
		case <-time.After(again):
		case <-over:
			return fmt.Errorf("onefold %s does not work; it wrote:\n%s", name, p.out)
		}
	}
}

// withExec makes the shell become the program, so that signals reach it.
func withExec(line string) string {
	i := strings.Index(line, "onefold ")
	if strings.HasSuffix(line[:i], "./") {
		i -= len("./")
	}
	return line[:i] + "exec " + line[i:]
}

// works tells whether a program that was started can be worked with.
func (s *session) works(p *program) bool {
	switch p.name {
	case "dev":
		return regexp.MustCompile(`the sandbox performed \d+ effects?, the ledger says|The story was told`).MatchString(p.out.String())
	case "serve":
		return answers("http://" + s.api + "/readyz")
	case "sandbox":
		return answers("http://" + s.sandbox + "/admin/effects")
	}
	return p.out.String() != ""
}

func answers(url string) bool {
	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(url)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// stop ends the programs that hold the addresses that a new one needs.
func (s *session) stop(name string) {
	var stay []*program
	for _, p := range s.running {
		if name == p.name || name == "dev" || name == "serve" && p.name == "dev" || name == "sandbox" && p.name == "dev" {
			s.interrupt(p)
			continue
		}
		stay = append(stay, p)
	}
	s.running = stay
}

// interrupt ends a program as Ctrl-C does, and wants it to end in good order.
func (s *session) interrupt(p *program) {
	_ = p.cmd.Process.Signal(syscall.SIGINT)
	select {
	case err := <-p.ended:
		if err != nil {
			s.t.Errorf("onefold %s ended with %v; it wrote:\n%s", p.name, err, p.out)
		}
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		s.t.Errorf("onefold %s does not end; it wrote:\n%s", p.name, p.out)
	}
}

// end ends everything that the page started, last things first.
func (s *session) end() {
	for i := len(s.running) - 1; i >= 0; i-- {
		s.interrupt(s.running[i])
	}
	s.running = nil
}
