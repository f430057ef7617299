package onefold_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/onefold-dev/onefold"
)

// blanks are texts of which nothing can be seen.
func blanks() []string {
	return []string{
		"", " ", "\t", "\n", "\r\n", "\u0085", "\u00a0", "\u2003", "\u2028", "\u2029", "\u3000", "\u200b", "\ufeff", "\u2060",
		"\u200d", "\u202e", "\u2066", "\u00ad", "\u034f", "\u115f", "\u3164", "\uffa0", "\ufe0f", "\u180e", "\u2800", "\U000e0041",
		"\x00", "\x1b", " \u200b\u3164\n",
	}
}

// Proves: M26
func TestWhatCannotBeSeenIsNoReference(t *testing.T) {
	t.Parallel()
	for _, text := range blanks() {
		if !onefold.Blank(text) || onefold.ReadableReference(text) {
			t.Errorf("%q: blank %v, reference %v", text, onefold.Blank(text), onefold.ReadableReference(text))
		}
		if shown := onefold.Shown(text); text != "" && (!strings.HasPrefix(shown, `"`) || onefold.Blank(strings.Trim(shown, `" `)) && strings.Trim(text, " ") != "") {
			t.Errorf("%q is shown as %q, of which nothing can be seen", text, shown)
		}
	}
	for _, text := range []string{"R1", "b", "Beleg 7", "\u0661", "\u00e4", "R\u200e1", "\U0001f600\ufe0f", "https://erp.example/b/1?x=y", ".", "\u0301"} {
		if onefold.Blank(text) || !onefold.ReadableReference(text) {
			t.Errorf("%q: blank %v, reference %v", text, onefold.Blank(text), onefold.ReadableReference(text))
		}
	}
	for _, text := range []string{"a\nb", "a\rb", "a\tb", "a\x00b", "a\x1b[2Jb", "a\x7fb", "a\u0085b", "a\u2028b", "a\u2029b", "a\u202eb", "\u2067a", "a\xffb", "a\ufffdb"} {
		if onefold.Blank(text) || onefold.ReadableReference(text) {
			t.Errorf("%q: blank %v, reference %v", text, onefold.Blank(text), onefold.ReadableReference(text))
		}
		if onefold.ReadableName(text) {
			t.Errorf("%q: it is no reference, and is a name", text)
		}
	}
}

// TestTextsOfOthersMakeNoLine: whatever somebody sends, what is shown of it is one
// line without a character that acts, and in a sentence it is one word or in quotes.
//
// Proves: M26
func TestTextsOfOthersMakeNoLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, shown, named string }{
		{"", "", ""},
		{"BILL-7", "BILL-7", "BILL-7"},
		{"maria@acme.example", "maria@acme.example", "maria@acme.example"},
		{"Beleg 7", "Beleg 7", `"Beleg 7"`},
		{`a "b"`, `a "b"`, `"a \"b\""`},
		{`"b"`, `"b"`, `"\"b\""`},
		{"Z.\nNext: Nothing.", `Z.\nNext: Nothing.`, `"Z.\nNext: Nothing."`},
		{"Z.\u2028Next:\u3164Nothing.", `Z.\u2028Next:\u3164Nothing.`, `Z.\u2028Next:\u3164Nothing.`},
		{"a  b", `"a  b"`, `"a  b"`},
		{" a", `" a"`, `" a"`},
		{"a\u00a0\u00a0b", "\"a\u00a0\u00a0b\"", "\"a\u00a0\u00a0b\""},
		{" ", `" "`, `" "`},
		{"\u200b", `"\u200b"`, `"\u200b"`},
		{"\u202egnp.exe", `\u202egnp.exe`, `\u202egnp.exe`},
		{"\x1b[31mred", `\x1b[31mred`, `\x1b[31mred`},
		{"R\u200d1", `R\u200d1`, `R\u200d1`},
		{"\u0646\u200c\u0645", "\u0646\u200c\u0645", "\u0646\u200c\u0645"},
		{"\U0001f469\u200d\U0001f52c", "\U0001f469\u200d\U0001f52c", "\U0001f469\u200d\U0001f52c"},
		{"a\xffb", `a\xffb`, `a\xffb`},
		{"\u65e5\u672c\u3000\u8a9e", "\u65e5\u672c\u3000\u8a9e", "\"\u65e5\u672c\u3000\u8a9e\""},
	} {
		if shown, named := onefold.Shown(c.text), onefold.Named(c.text); shown != c.shown || named != c.named {
			t.Errorf("%q: shown as %q, named as %q; must be %q and %q", c.text, shown, named, c.shown, c.named)
		}
	}
}

// FuzzTextsOfOthers: what is shown is one line of characters that can be seen, in a
// sentence it cannot be left, and the empty text alone shows nothing.
func FuzzTextsOfOthers(f *testing.F) {
	for _, text := range append(blanks(), "R1", "a\nb", `"x" y`, `\"`, "a\xff", "\u202ea b") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		shown, named := onefold.Shown(text), onefold.Named(text)
		for _, out := range []string{shown, named} {
			if strings.ContainsFunc(out, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) }) || (out == "") != (text == "") {
				t.Errorf("%q is shown as %q", text, out)
			}
		}
		if strings.ContainsFunc(named, unicode.IsSpace) && (!strings.HasPrefix(named, `"`) || !strings.HasSuffix(named, `"`)) {
			t.Errorf("%q is named %q, which ends where it likes", text, named)
		}
	})
}
