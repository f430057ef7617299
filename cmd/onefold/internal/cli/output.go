package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/onefold-dev/onefold"
)

// The forms of output.
const (
	outputText = "text"
	outputJSON = "json"
)

// wantsJSON looks for --output json in an unparsed command line, so that a
// command line that cannot be parsed is refused in the form that it asks for.
func wantsJSON(args []string) bool {
	want := false
	for i, arg := range args {
		value, found := "", false
		switch {
		case arg == "--":
			return want
		case arg == "--output" || arg == "-o":
			if i+1 < len(args) {
				value, found = args[i+1], true
			}
		case strings.HasPrefix(arg, "--output="):
			value, found = arg[len("--output="):], true
		case strings.HasPrefix(arg, "-o="):
			value, found = arg[len("-o="):], true
		}
		if found {
			want = value == outputJSON
		}
	}
	return want
}

// answer prints a command's answer: the value as one line of JSON, or what text
// writes for a person. It is called once by a command that succeeds. The error is
// that of standard output, in either form.
func (a *app) answer(value any, text func(w io.Writer)) error {
	if err := a.writeAnswer(a.Stdout, value, text); err != nil {
		return err
	}
	return a.unwritten()
}

func (a *app) writeAnswer(w io.Writer, value any, text func(w io.Writer)) error {
	if a.json {
		return writeLine(w, value)
	}
	text(w)
	return nil
}

// line prints one line of JSON.
func (a *app) line(value any) error { return writeLine(a.Stdout, value) }

func writeLine(w io.Writer, value any) error {
	out, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("the answer cannot be written as JSON: %w", err)
	}
	_, err = w.Write(append(out, '\n'))
	return err
}

// table prints rows under headings; cells of a row are in their order.
func table(w io.Writer, headings []string, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(headings, "\t"))
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	_ = t.Flush() // an error of standard output is kept by the outlet
}

// pairs prints facts, one a line; a fact without a value is left out.
func pairs(w io.Writer, facts ...[2]string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range facts {
		if f[1] != "" {
			fmt.Fprintf(t, "%s\t%s\n", f[0], f[1])
		}
	}
	_ = t.Flush()
}

// The colours, used on a terminal and never alone: each stands beside its word.
const (
	green  = "32"
	yellow = "33"
	blue   = "34"
	dim    = "2"
	bold   = "1"
)

// color paints text where a person reads it on a terminal and did not ask for
// no colour (NO_COLOR).
func (a *app) color(code, text string) string {
	if !a.colors() {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (a *app) colors() bool {
	none, set := a.LookupEnv("NO_COLOR")
	term, _ := a.LookupEnv("TERM")
	return a.OutTerminal && !a.json && (!set || none == "") && term != "dumb"
}

// plain is text from elsewhere as it may be shown on a terminal, on one line and
// alone in its place: what could move the cursor, paint, turn the direction of
// writing or hide something is written out.
func plain(s string) string { return onefold.Shown(s) }

// named is plain for a text between words of ours.
func named(s string) string { return onefold.Named(s) }

// plainLines is plain for texts of several lines: line feeds and tabs stay.
func plainLines(s string) string { return onefold.ShownLines(s) }

// indented is plainLines for a text whose lines must not be taken for lines of
// ours: the further ones stand in from the margin.
func indented(s string) string { return strings.ReplaceAll(plainLines(s), "\n", "\n      ") }
