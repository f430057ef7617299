package docstest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// elsewhere are pages whose snippets another test holds, with that test's file.
var elsewhere = map[string]string{"docs/how-to/embed.md": "examples/snippets_test.go"}

// theBinary is the path of the binary that was built for the tests.
const theBinary = "ONEFOLD_DOCSTEST_BINARY"

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "onefold-docs-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := 1
	binary := filepath.Join(folder, "onefold")
	build := exec.CommandContext(context.Background(), "go", "build", "-o", binary, "github.com/onefold-dev/onefold/cmd/onefold")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
	} else if err := os.Setenv(theBinary, binary); err == nil {
		code = m.Run()
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// moduleRoot is the folder of go.mod.
func moduleRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatalf("the module's root is not where this test expects it: %v", err)
	}
	return root
}

// pages are the paths, below root, of README.md and of all pages under docs.
func pages(t *testing.T, root string) []string {
	t.Helper()
	out := []string{"README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(name, ".md") {
			rel, err := filepath.Rel(root, name)
			out = append(out, filepath.ToSlash(rel))
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func read(t *testing.T, root, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestThePagesDoWhatTheySay runs every page.
func TestThePagesDoWhatTheySay(t *testing.T) {
	t.Parallel()
	root, ran := moduleRoot(t), 0
	for _, tool := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("the pages are run with %s, which is missing here: %v", tool, err)
		}
	}
	for _, page := range pages(t, root) {
		if strings.HasPrefix(page, "docs/reference/") {
			continue
		}
		if proof, ok := elsewhere[page]; ok {
			if !strings.Contains(read(t, root, proof), filepath.Base(page)) {
				t.Errorf("%s does not hold %s, as it is said here", proof, page)
			}
			continue
		}
		snippets, err := parse(read(t, root, page))
		if err != nil {
			t.Errorf("%s: %v", page, err)
			continue
		}
		if len(snippets) == 0 {
			continue
		}
		ran++
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			if err := newSession(t, root, os.Getenv(theBinary)).play(snippets); err != nil {
				t.Errorf("%s, %v", page, err)
			}
		})
	}
	if ran < 4 {
		t.Errorf("only %d pages have snippets", ran)
	}
}

// TestAWrongPageIsFoundOut: a page that says something else than what happens
// fails, wherever it does so.
func TestAWrongPageIsFoundOut(t *testing.T) {
	t.Parallel()
	root := moduleRoot(t)
	fence := func(lines ...string) string {
		return strings.ReplaceAll(strings.Join(lines, "\n"), "'''", "```") + "\n"
	}
	for name, page := range map[string]string{
		"a command that fails":       fence("'''sh", "onefold version", "onefold nonsense", "'''"),
		"another exit code":          fence("<!-- exits 3 -->", "'''sh", "onefold nonsense", "'''"),
		"another output":             fence("'''sh", "echo one", "'''", "<!-- output -->", "'''text", "two", "'''"),
		"a line that is not there":   fence("'''sh", "echo one; echo two", "'''", "<!-- output in part -->", "'''text", "three", "'''"),
		"an output of nothing":       fence("<!-- output -->", "'''text", "two", "'''"),
		"an id that nobody saw":      fence("'''sh", "echo op_…", "'''"),
		"a document with a fault":    fence("'''yaml file=a.yaml", "kind: capability", "name: a.b", "'''"),
		"a document of nowhere":      fence("'''yaml", "kind: unheard of", "'''"),
		"what is no JSON":            fence("'''json", "{a: 1}", "'''"),
		"a program of nowhere":       fence("'''go", "func notInThisModule() {}", "'''"),
		"a server that cannot start": fence("'''sh", "onefold serve --db sqlite:none.db", "'''"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			snippets, err := parse(page)
			if err != nil {
				t.Fatal(err)
			}
			s := newSession(t, root, os.Getenv(theBinary))
			err = s.play(snippets)
			if err == nil {
				t.Error("nobody noticed")
			}
			s.running = slices.DeleteFunc(s.running, func(p *program) bool { return p.cmd.ProcessState != nil })
		})
	}
}

// documentKind is a document of onefold's.
var documentKind = regexp.MustCompile(`(?m)^kind: (capability|target|connection)$`)

// checkDocument holds a document that the page wrote against its rules, together
// with the others of its folder.
func (s *session) checkDocument(now snippet, text string) error {
	if !documentKind.MatchString(text) {
		return nil
	}
	what := now.file
	if folder := filepath.Dir(what); folder != "." {
		what = folder
	}
	out, err := exec.CommandContext(context.Background(), os.Getenv(theBinary), "apply", "--check", "-f", filepath.Join(s.folder, what)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", now.file, err, out)
	}
	return nil
}

// quoted wants a part of a document to stand in a file of the page or in an
// example.
func (s *session) quoted(part string) error {
	texts := s.files
	names, err := filepath.Glob(filepath.Join(s.root, "cmd", "onefold", "examples", "*.yaml"))
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		texts = append(texts, string(text))
	}
	if slices.ContainsFunc(texts, func(text string) bool { return standsIn(part, text) }) {
		return nil
	}
	return errors.New("it stands in no file of the page and in no example")
}

// standsIn tells whether lines follow each other in a text, indentation aside.
func standsIn(part, text string) bool {
	flat := func(text string) string {
		var b strings.Builder
		for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
			b.WriteString("\n" + strings.TrimSpace(line))
		}
		return b.String() + "\n"
	}
	return strings.Contains(flat(text), flat(part))
}

// quotedInGo wants a part of a program to stand in a Go file of the module.
func quotedInGo(root, part string) error {
	found := errors.New("found")
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		case strings.Contains(filepath.ToSlash(name), "internal/docstest/"):
			return nil
		}
		text, err := os.ReadFile(name)
		if err == nil && standsIn(part, string(text)) {
			return found
		}
		return err
	})
	if errors.Is(err, found) {
		return nil
	}
	if err == nil {
		err = errors.New("it stands in no Go file of this module")
	}
	return err
}

var (
	// link is a Markdown link to something beside the page.
	link = regexp.MustCompile(`\]\(([^)#: ]+)(#[^)]*)?\)`)
	// code is what a page shows as code, in which nothing is a link.
	code = regexp.MustCompile("(?ms)^ *```.*?^ *```$|`[^`\n]+`")
)

// TestLinksLeadSomewhere: every relative link of every page leads to a file or a
// folder.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	root, checked := moduleRoot(t), 0
	for _, page := range append(pages(t, root), "CONTRIBUTING.md", "CHANGELOG.md") {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(read(t, root, page), "code"), -1) {
			checked++
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(page), filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", page, m[1])
			}
		}
	}
	if checked < 10 {
		t.Errorf("only %d links were found", checked)
	}
}

// TestEveryPageIsInTheIndex: docs/README.md leads to every page.
func TestEveryPageIsInTheIndex(t *testing.T) {
	t.Parallel()
	root := moduleRoot(t)
	index := read(t, root, "docs/README.md")
	for _, page := range pages(t, root) {
		name, ok := strings.CutPrefix(page, "docs/")
		if !ok || name == "README.md" || strings.HasPrefix(name, "decisions/") && name != "decisions/README.md" {
			continue
		}
		if !strings.Contains(index, "("+name+")") {
			t.Errorf("docs/README.md does not lead to %s", name)
		}
	}
}
