package cli

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"
	"unicode"
)

// Colour is for a person on a terminal who did not ask for none, and never for a
// program.
func TestColourIsForTerminals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		terminal bool
		json     bool
		env      map[string]string
		want     bool
	}{
		{"a terminal", true, false, nil, true},
		{"a pipe", false, false, nil, false},
		{"json on a terminal", true, true, nil, false},
		{"NO_COLOR", true, false, map[string]string{"NO_COLOR": "1"}, false},
		{"NO_COLOR, empty", true, false, map[string]string{"NO_COLOR": ""}, true},
		{"a dumb terminal", true, false, map[string]string{"TERM": "dumb"}, false},
	} {
		a := &app{json: c.json, Process: Process{OutTerminal: c.terminal, LookupEnv: func(name string) (string, bool) {
			value, ok := c.env[name]
			return value, ok
		}}}
		if got := strings.Contains(a.color(green, "word"), "\x1b["); got != c.want || !strings.Contains(a.color(green, "word"), "word") {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// Text from elsewhere cannot move a terminal's cursor.
func TestTextFromElsewhereIsHarmless(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain ü €": "plain ü €", "a\x1b[2Jb": `a\x1b[2Jb`, "two\nlines": `two\nlines`, "\u009b31m": `\u009b31m`, "": "",
		"paid \u202e05.1\u202c": `paid \u202e05.1\u202c`, "\u2066a\u2069\u200e\u200f": `\u2066a\u2069\u200e\u200f`,
		"one\u2028two\u2029": `one\u2028two\u2029`, "ze\u200bro\ufeff\u2060": `ze\u200bro\ufeff\u2060`, "tag \U000e0041": `tag \U000e0041`,
		"c1 \x9b": `c1 \x9b`, "a family \U0001F468\u200d\U0001F469": "a family \U0001F468\u200d\U0001F469", `"C:\x"`: `"C:\x"`,
	} {
		if got := plain(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// Texts of several lines keep their lines and nothing else.
func TestLinesFromElsewhereAreHarmless(t *testing.T) {
	t.Parallel()
	if got := plainLines("a\n\tb\r\x1b[A\u202e"); got != "a\n\tb"+`\r\x1b[A\u202e` {
		t.Errorf("it became %q", got)
	}
	var out bytes.Buffer
	problemText(&out, map[string]any{
		"detail": "refused \x1b[1A\u202e", "hint": "\u2066", "code": "x\u009b", "bars": []string{"\u200f"},
		"faults": []any{map[string]any{"pointer": "/\u2028", "detail": "\u2029\x07"}},
	})
	if strings.ContainsFunc(out.String(), func(r rune) bool { return r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }) {
		t.Errorf("a problem is shown as %q", out.String())
	}
}

// Durations are Go's, with days in front.
func TestDurations(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "90d": 90 * 24 * time.Hour, "1d12h": 36 * time.Hour, "1.5h": 90 * time.Minute,
	} {
		if got, err := parseDuration(in); err != nil || got != want {
			t.Errorf("%s: %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "d", "-1d", "soon", "1", "1.5d", "99999999999d", "1d2d", "1dd"} {
		if got, err := parseDuration(in); err == nil {
			t.Errorf("%q became %v", in, got)
		}
	}
}

// A command that is interrupted says so and fails; what it would have printed is
// not there.
func TestInterruptedIsAFailure(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errOut bytes.Buffer
	code := Main(ctx, Process{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errOut, Now: time.Now,
		LookupEnv: func(name string) (string, bool) { return map[string]string{envToken: "ofk_x"}[name], true },
	}, []string{"ops", "list", "--output", "json"})
	if code != ExitFailed || out.Len() != 0 || !strings.Contains(errOut.String(), `"code":"interrupted"`) {
		t.Errorf("exit code %d, %q, %q", code, out.String(), errOut.String())
	}
}

// Standard output that breaks ends a command with a failure, not in silence.
func TestABrokenOutputIsAFailure(t *testing.T) {
	t.Parallel()
	var errOut bytes.Buffer
	code := Main(t.Context(), Process{Stdout: broken{}, Stderr: &errOut, Now: time.Now, LookupEnv: func(string) (string, bool) { return "", false }},
		[]string{"version", "--output", "json"})
	if code != ExitFailed || errOut.Len() == 0 {
		t.Errorf("exit code %d, %q", code, errOut.String())
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
