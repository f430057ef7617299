package httptarget

import (
	"bytes"
	"cmp"
	"html"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// leastHidden is the least length, in bytes, at which a secret is looked for in
	// what base64 or hexadecimal digits spell: read at every alignment, most of that
	// is noise, and any shorter text is somewhere in it.
	leastHidden = 4
	// escapings is how many times over a text may have been escaped.
	escapings = 3
	// codings is how many times over a text may have been written in digits.
	codings = 2
	// maxEntity bounds one escape of HTML, in bytes: names have some thirty, and
	// numbers may be padded with zeros.
	maxEntity = 64
)

// span is a part of what came, in bytes, its end excluded.
type span struct{ from, to int }

// view is a text as it reads once an escaping or a coding is undone, and where
// each of its bytes stands in what came.
type view struct {
	text []byte
	at   []span // nil: the text is what came
	last bool   // it goes on to the end of what came
}

func (v *view) of(i int) span {
	if v.at == nil {
		return span{i, i + 1}
	}
	return v.at[i]
}

// hunt looks for secrets in one text, in every view of it. Its time is bounded
// by the text's length: each view is at most as long as the one it was made of,
// and their depth has a limit.
type hunt struct {
	open   [][]byte // looked for in what came, and in what its escapes say
	hidden [][]byte // looked for in what digits spell
	least  int      // the length of the shortest hidden one
	torn   bool     // what came may break off within a secret
	found  []span
	cut    int // where such a secret begins; the text's end if there is none
}

// run hunts through a text, and returns it with a blot for each secret.
func (h *hunt) run(text []byte) []byte {
	h.found, h.cut = nil, len(text)
	if len(h.open) == 0 {
		return text
	}
	h.probe(&view{text: text, last: true}, h.open, codings)
	if h.found == nil {
		return text[:h.cut]
	}
	slices.SortFunc(h.found, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out []byte
	done := 0
	for _, s := range h.found {
		switch {
		case s.from >= h.cut:
		case s.from < done:
			done = max(done, s.to)
		default:
			out, done = append(append(out, text[done:s.from]...), blot...), s.to
		}
	}
	if done < h.cut {
		out = append(out, text[done:h.cut]...)
	}
	return out
}

// probe looks at a view, at what its escapes say, and at what the digits in both
// spell.
func (h *hunt) probe(v *view, secrets [][]byte, depth int) {
	h.search(v, secrets)
	h.spelled(v, depth)
	plain := v
	for range escapings {
		next := h.unescape(plain)
		if next == nil {
			break
		}
		plain = next
		h.search(plain, secrets)
	}
	if plain != v {
		h.spelled(plain, depth)
	}
}

// search finds secrets in a view's text.
func (h *hunt) search(v *view, secrets [][]byte) {
	for _, s := range secrets {
		for from := 0; ; {
			i := bytes.Index(v.text[from:], s)
			if i < 0 {
				break
			}
			from += i
			first, final := v.of(from), v.of(from+len(s)-1)
			h.found = append(h.found, span{first.from, final.to})
			from += len(s)
		}
		if !h.torn || !v.last {
			continue
		}
		if n := begun(v.text, s); n > 0 {
			h.cut = min(h.cut, v.of(len(v.text)-n).from)
		}
	}
}

// begun is the length of a secret's longest beginning, short of the whole, that a
// text ends in. Its time is that of reading both once.
func begun(text, secret []byte) int {
	// borders[i] is the length of the longest beginning of the secret that its
	// first i+1 bytes end in, short of themselves.
	borders := make([]int, len(secret))
	step := func(n int, c byte) int {
		for n > 0 && secret[n] != c {
			n = borders[n-1]
		}
		if secret[n] == c {
			n++
		}
		return n
	}
	for i := 1; i < len(secret); i++ {
		borders[i] = step(borders[i-1], secret[i])
	}
	n := 0
	for _, c := range text[max(0, len(text)-len(secret)+1):] {
		n = step(n, c)
	}
	return n
}

// unescape undoes one level of the escapes of JSON, of a URL and of HTML, and is
// nil where there are none. Where what came breaks off within an escape, the view
// ends before it.
func (h *hunt) unescape(v *view) *view {
	if !bytes.ContainsAny(v.text, `\%&`) {
		return nil
	}
	out := &view{text: make([]byte, 0, len(v.text)), at: make([]span, 0, len(v.text)), last: v.last}
	changed := false
	for i := 0; i < len(v.text); {
		char, size := escapeAt(v.text[i:])
		if size < 0 {
			if h.torn && v.last {
				changed = true
				break
			}
			size = 0
		}
		if size == 0 {
			out.text, out.at = append(out.text, v.text[i]), append(out.at, v.of(i))
			i++
			continue
		}
		whole := span{v.of(i).from, v.of(i + size - 1).to}
		for _, c := range []byte(char) {
			out.text, out.at = append(out.text, c), append(out.at, whole)
		}
		i += size
		changed = true
	}
	if !changed {
		return nil
	}
	return out
}

// escapeAt reads the escape that a text begins with: what it stands for, and its
// length; 0 if there is none, below 0 if the text ends within it.
func escapeAt(b []byte) (char string, size int) {
	switch b[0] {
	case '%':
		return hexEscape(b, 1, 2)
	case '\\':
		return backslash(b)
	case '&':
		end := bytes.IndexByte(b[:min(len(b), maxEntity)], ';')
		switch {
		case end > 0:
			piece := string(b[:end+1])
			if said := html.UnescapeString(piece); said != piece {
				return said, end + 1
			}
		case len(b) < maxEntity && !bytes.ContainsFunc(b[1:], func(r rune) bool { return r != '#' && !isWord(r) }):
			return "", -1
		}
	}
	return "", 0
}

// backslash reads an escape of JSON or JavaScript.
func backslash(b []byte) (char string, size int) {
	if len(b) == 1 {
		return "", -1
	}
	switch b[1] {
	case 'x':
		return hexEscape(b, 2, 2)
	case 'u':
		return character(b)
	}
	if i := bytes.IndexByte([]byte("nrtbf"), b[1]); i >= 0 {
		return "\n\r\t\b\f"[i : i+1], 2
	}
	return string(b[1:2]), 2
}

// character reads a JSON escape of four digits; two of them are one character
// where it needs two.
func character(b []byte) (char string, size int) {
	char, size = hexEscape(b, 2, 4)
	if size <= 0 {
		return "", size
	}
	code, err := strconv.ParseUint(string(b[2:size]), 16, 32)
	if err != nil || !utf16.IsSurrogate(rune(code)) {
		return char, size
	}
	rest := b[size:]
	if len(rest) < size {
		if bytes.HasPrefix([]byte(`\u`), rest[:min(len(rest), 2)]) {
			return "", -1
		}
		return char, size
	}
	low, err := strconv.ParseUint(string(rest[2:size]), 16, 32)
	if pair := utf16.DecodeRune(rune(code), rune(low)); err == nil && rest[0] == '\\' && rest[1] == 'u' && pair != utf8.RuneError {
		return string(pair), 2 * size
	}
	return char, size
}

// hexEscape reads an escape of so many hexadecimal digits: two are a byte, four a
// character.
func hexEscape(b []byte, from, digits int) (char string, size int) {
	value := 0
	for i := from; i < from+digits; i++ {
		if i == len(b) {
			return "", -1
		}
		d := hexDigit(b[i])
		if d < 0 {
			return "", 0
		}
		value = value<<4 | d
	}
	if digits == 2 {
		return string([]byte{byte(value)}), from + digits
	}
	return string(rune(value)), from + digits
}

func isWord(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// The answers of a coding for what is no digit.
const (
	between = -1 // may stand between digits
	foreign = -2 // ends them
)

// spelled looks at what the runs of digits in a view spell.
func (h *hunt) spelled(v *view, depth int) {
	if depth == 0 || len(h.hidden) == 0 {
		return
	}
	h.digits(v, 6, base64Digit, depth)
	h.digits(v, 4, hexDigit, depth)
}

// digits reads runs of digits of so many bits each, from every digit at which a
// byte may begin.
func (h *hunt) digits(v *view, bits int, digit func(c byte) int, depth int) {
	var run []byte
	var places []int
	flush := func(last bool) {
		if len(run)*bits >= h.least*8 || last && h.torn {
			for phase := 0; phase < 8/(bits&-bits); phase++ {
				if phase < len(run) {
					h.probe(packed(v, run[phase:], places[phase:], bits, last), h.hidden, depth-1)
				}
			}
		}
		run, places = run[:0], places[:0]
	}
	for i, c := range v.text {
		d := digit(c)
		switch {
		case d >= 0:
			run, places = append(run, byte(d)), append(places, i)
		case bits == 4 && (c == 'x' || c == 'X') && i > 0 && v.text[i-1] == '\\':
		case bits == 4 && (c == 'x' || c == 'X') && i > 0 && v.text[i-1] == '0':
			run, places = run[:len(run)-1], places[:len(places)-1] // its 0 is no digit
		case d == foreign:
			flush(false)
		}
	}
	flush(v.last)
}

// packed is the view of what a run of digits spells. A byte stands where the
// digits stand that have bits of it.
func packed(v *view, run []byte, places []int, bits int, last bool) *view {
	n := len(run) * bits / 8
	out := &view{text: make([]byte, n), at: make([]span, n), last: last}
	sum, have, next := 0, 0, 0
	for i := range n {
		for have < 8 {
			sum, have, next = sum<<bits|int(run[next]), have+bits, next+1
		}
		have -= 8
		out.text[i] = byte(sum >> have)
		sum &= 1<<have - 1
		out.at[i] = span{v.of(places[i*8/bits]).from, v.of(places[next-1]).to}
	}
	return out
}

// base64Digit is what a digit of base64 stands for, in the alphabet of a URL as in
// the other. Long texts are broken into lines.
func base64Digit(c byte) int {
	switch {
	case c >= 'A' && c <= 'Z':
		return int(c - 'A')
	case c >= 'a' && c <= 'z':
		return int(c-'a') + 26
	case c >= '0' && c <= '9':
		return int(c-'0') + 52
	case c == '+', c == '-':
		return 62
	case c == '/', c == '_':
		return 63
	case c == ' ', c == '\t', c == '\r', c == '\n':
		return between
	}
	return foreign
}

// hexDigit is what a hexadecimal digit stands for. Dumps put many things between
// the bytes.
func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	case bytes.IndexByte([]byte(" \t\r\n:;,.-_|\\"), c) >= 0:
		return between
	}
	return foreign
}
