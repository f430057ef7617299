package docstest

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// snippet is one fenced block of a page.
type snippet struct {
	line int // of its fence
	kind string
	file string // that it is written to, "" for none
	mark string // what the comment above it says
	text string // with a line's end at its end
}

var (
	openFence = regexp.MustCompile("^```([a-z]+)(?: file=([A-Za-z0-9._/-]+))?$")
	markLine  = regexp.MustCompile(`^<!-- (.+) -->$`)
)

// marks are what may stand above a fence; exits takes a number.
var marks = regexp.MustCompile(`^(exits [0-9]+|after a moment|output|output in part)$`)

// kinds are the fences that may be used.
var kinds = []string{"sh", "text", "json", "yaml", "go", "markdown"}

// parse takes a page apart.
func parse(text string) ([]snippet, error) {
	var out []snippet
	var now *snippet
	mark := ""
	for i, line := range strings.Split(text, "\n") {
		switch {
		case now != nil && line == "```":
			if err := now.check(); err != nil {
				return nil, fmt.Errorf("line %d: %w", now.line, err)
			}
			out, now = append(out, *now), nil
		case now != nil:
			now.text += line + "\n"
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			m := openFence.FindStringSubmatch(line)
			if m == nil {
				return nil, fmt.Errorf("line %d: %q is no fence that is known here", i+1, line)
			}
			now, mark = &snippet{line: i + 1, kind: m[1], file: m[2], mark: mark}, ""
		default:
			if m := markLine.FindStringSubmatch(line); m != nil {
				mark = m[1]
				continue
			}
			if mark != "" && marks.MatchString(mark) {
				return nil, fmt.Errorf("line %d: nothing follows <!-- %s -->", i, mark)
			}
			mark = ""
		}
	}
	if now != nil {
		return nil, fmt.Errorf("line %d: the fence is not closed", now.line)
	}
	return out, nil
}

// check refuses what would never be looked at.
func (s *snippet) check() error {
	output := strings.HasPrefix(s.mark, "output")
	switch {
	case !slices.Contains(kinds, s.kind):
		return fmt.Errorf("nobody knows what %q means here", s.kind)
	case s.mark != "" && !marks.MatchString(s.mark):
		return fmt.Errorf("nobody knows what <!-- %s --> means", s.mark)
	case output && (s.kind != "text" && s.kind != "json" || s.file != ""):
		return fmt.Errorf("an output is text or json, not %s", s.kind)
	case s.mark != "" && !output && s.kind != "sh":
		return fmt.Errorf("<!-- %s --> is for sh", s.mark)
	case s.kind == "text" && s.file == "" && !output:
		return fmt.Errorf("a text that is neither an output nor a file is not looked at by anybody")
	case s.file != "" && (path.IsAbs(s.file) || strings.Contains(s.file, "..")):
		return fmt.Errorf("the file %s lies outside", s.file)
	}
	return nil
}

// matches tells whether an output is what a page says; in part, whether every
// line of the page is in it. It returns what is missing.
func matches(want, have string, part bool) error {
	wanted, got := lines(want), lines(have)
	if part {
		for _, w := range wanted {
			if w != "" && !slices.ContainsFunc(got, linePattern(w).MatchString) {
				return fmt.Errorf("no line is like %q", w)
			}
		}
		return nil
	}
	return matchLines(wanted, got)
}

// matchLines matches all lines; … alone stands for any of them.
func matchLines(want, got []string) error {
	for len(want) > 0 {
		if want[0] == "…" {
			var err error
			for skip := 0; skip <= len(got); skip++ {
				if err = matchLines(want[1:], got[skip:]); err == nil {
					return nil
				}
			}
			return err
		}
		if len(got) == 0 {
			return fmt.Errorf("it ends before %q", want[0])
		}
		if !linePattern(want[0]).MatchString(got[0]) {
			return fmt.Errorf("the line %q is not like %q", got[0], want[0])
		}
		want, got = want[1:], got[1:]
	}
	if len(got) > 0 {
		return fmt.Errorf("it goes on with %q", got[0])
	}
	return nil
}

func linePattern(line string) *regexp.Regexp {
	var parts []string
	for part := range strings.SplitSeq(line, "…") {
		parts = append(parts, regexp.QuoteMeta(part))
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$")
}

// lines are the lines of a text without white space at their ends, and without
// empty lines at the end.
func lines(text string) []string {
	var out []string
	for line := range strings.SplitSeq(strings.TrimRight(text, " \n"), "\n") {
		out = append(out, strings.TrimRight(line, " \t\r"))
	}
	return out
}

// TestPagesAreTakenApart: fences, files and marks, and what is refused because
// nobody would ever look at it.
func TestPagesAreTakenApart(t *testing.T) {
	t.Parallel()
	page := "# A\n\n```sh\ntrue\n```\n\n<!-- output -->\n```text\nx\n\ny\n```\n<!-- a remark -->\ntext\n\n```yaml file=a/b.yaml\nkind: x\n```\n"
	got, err := parse(page)
	want := []snippet{{3, "sh", "", "", "true\n"}, {8, "text", "", "output", "x\n\ny\n"}, {16, "yaml", "a/b.yaml", "", "kind: x\n"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %v", got, err)
	}
	for _, bad := range []string{
		"```\nx\n```\n", "```python\nx\n```\n", "```text\nx\n```\n", "```sh\nx\n", "  ```sh\nx\n  ```\n", "```sh title=x\nx\n```\n",
		"<!-- output -->\n```sh\nx\n```\n", "<!-- exits 3 -->\n```text\nx\n```\n", "<!-- not run -->\n```sh\nx\n```\n",
		"<!-- output -->\n\n```text\nx\n```\n", "```yaml file=../x\nx\n```\n", "```yaml file=/x\nx\n```\n", "<!-- output -->\n```text file=x\nx\n```\n",
	} {
		if got, err := parse(bad); err == nil {
			t.Errorf("%q was taken as %v", bad, got)
		}
	}
}

// TestOutputsAreCompared: whole, with gaps, and in part.
func TestOutputsAreCompared(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want, have string
		part, good bool
	}{
		{"a\nb\n", "a\nb\n\n", false, true},
		{"a\n", "a  \n", false, true},
		{"a\n", "a\nb\n", false, false},
		{"a\nb\n", "a\n", false, false},
		{"a … z\n", "a b z\n", false, true},
		{"a … z\n", "a b\n", false, false},
		{"a.c\n", "abc\n", false, false},
		{"…\nz\n", "x\ny\nz\n", false, true},
		{"…\nz\n", "z\n", false, true},
		{"a\n…\n", "a\n", false, true},
		{"…\ny\n", "x\ny\nz\n", false, false},
		{"z\nx\n", "x\ny\nz\n", true, true},
		{"x\n\nz …\n", "x\ny\nz 1\n", true, true},
		{"w\n", "x\ny\n", true, false},
		{"a\n", "", true, false},
	} {
		if err := matches(c.want, c.have, c.part); (err == nil) != c.good {
			t.Errorf("%q against %q, in part %v: %v", c.want, c.have, c.part, err)
		}
	}
}
