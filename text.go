package onefold

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Texts of others (references, names, reasons, codes) are kept as they came, and
// JSON shows them so. Where one is put among words of ours, Shown and Named make
// sure that it makes no line, hides nothing, and is not taken for one of ours.

// The two characters without width that are part of how words and emoji are
// written: they stay after a letter that is not ASCII.
const (
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
	// brailleBlank is no white space by its category, and has no ink.
	brailleBlank = '\u2800'
)

// Blank tells whether nothing of a text can be seen: it is empty, or white space,
// controls and characters without width or ink are all there is. A blank text is
// no reference, no name and no reason.
func Blank(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsSpace(r) && r != brailleBlank &&
			!unicode.In(r, unicode.Cc, unicode.Cf, unicode.Z, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
	})
}

// ReadableReference tells whether a text can be a target's reference, whoever
// brings it: an answer, a record, a Go function, delivered evidence or a person.
// Something of it can be seen, it is one line of valid UTF-8, and nothing in it
// turns the direction of reading. Its length is for the door to bound.
func ReadableReference(text string) bool {
	return !Blank(text) && utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return r == utf8.RuneError || turns(r) || unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp)
	})
}

// ReadableName tells whether a text can be the name of who acts, owns or says
// something. It is held to what ReadableReference asks: a name with a line break
// writes lines of its own into what is told of an operation.
func ReadableName(text string) bool { return ReadableReference(text) }

// turns tells the characters that embed, override or isolate a direction of
// writing: what follows them reads otherwise than it stands.
func turns(r rune) bool { return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' }

// Shown is a text of somebody else's as it is shown where it stands alone, as in a
// cell or after a label: one line of what can be seen. Controls, separators of
// lines, marks of direction, whatever has no width or ink, and bytes that are no
// UTF-8 are written out. A text that is blank, or whose white space could be taken
// for the layout's, is put in quotes. The empty text stays empty.
func Shown(text string) string {
	switch {
	case text == "":
		return ""
	case Blank(text):
		return strconv.QuoteToASCII(text)
	}
	plain := written(text)
	if strings.TrimSpace(plain) != plain || strings.ContainsFunc(plain, unicode.IsSpace) && gapped(plain) {
		return inQuotes(plain)
	}
	return plain
}

// ShownLines is Shown for a text of several lines that stands alone, such as a
// request: line feeds and tabs stay, and nothing is put in quotes.
func ShownLines(text string) string {
	var b strings.Builder
	for rest := text; rest != ""; {
		end := strings.IndexAny(rest, "\n\t")
		if end < 0 {
			end = len(rest)
		}
		b.WriteString(written(rest[:end]))
		if end < len(rest) {
			b.WriteByte(rest[end])
			end++
		}
		rest = rest[end:]
	}
	return b.String()
}

// Named is Shown for a text within a sentence: it is in quotes unless it is one
// word, so that no words of it are taken for the sentence's own.
func Named(text string) string {
	plain := Shown(text)
	if Blank(text) || !strings.ContainsFunc(plain, func(r rune) bool { return unicode.IsSpace(r) || r == '"' }) ||
		strings.HasPrefix(plain, `"`) && plain != written(text) {
		return plain
	}
	return inQuotes(plain)
}

// named are texts as Named shows them, in one line.
func named(texts []string, between string) string {
	out := make([]string, len(texts))
	for i := range texts {
		out[i] = Named(texts[i])
	}
	return strings.Join(out, between)
}

// gapped tells whether white space follows white space.
func gapped(text string) bool {
	before := false
	for _, r := range text {
		space := unicode.IsSpace(r)
		if space && before {
			return true
		}
		before = space
	}
	return false
}

func inQuotes(plain string) string { return `"` + strings.ReplaceAll(plain, `"`, `\"`) + `"` }

// written is a text with everything written out that acts instead of being seen.
func written(text string) string {
	var b strings.Builder
	var before rune
	for rest := text; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, rest[0])
		case acts(r, before):
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteString(rest[:size])
		}
		before, rest = r, rest[size:]
	}
	return b.String()
}

func acts(r, before rune) bool {
	if r == zeroWidthNonJoiner || r == zeroWidthJoiner {
		return before < utf8.RuneSelf
	}
	return r == brailleBlank || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point)
}
