package identity

import (
	"unicode/utf16"
	"unicode/utf8"
)

// Bounds of a number (I9).
const (
	// MaxDigits is how many digits a number may be written with, whole and
	// fraction together: more than any ledger needs, few enough for exact
	// arithmetic in microseconds.
	MaxDigits = 1000
	// MaxExponent is how large a written exponent may be, either way.
	MaxExponent = 10_000
	// maxCanonicalExponent is the largest exponent that the canonical form of a
	// number within the two bounds can have: dropped zeros and decimal places
	// move it by fewer than MaxDigits.
	maxCanonicalExponent = MaxExponent + MaxDigits
)

// text reads the string whose opening quote stands here and returns its
// content. A string without escapes is a piece of the source and costs
// nothing.
func (p *parser) text() (string, error) {
	start := p.pos + 1
	for i := start; i < len(p.src); i++ {
		switch c := p.src[i]; {
		case c == '"':
			p.pos = i + 1
			return p.src[start:i], nil
		case c == '\\':
			return p.escaped(start, i)
		case c < 0x20:
			return "", fault(ReasonSyntax, i, "a control character in a string must be escaped")
		}
	}
	return "", fault(ReasonSyntax, len(p.src), "the text ends inside a string")
}

// escaped goes on with a string whose first escape stands at i.
func (p *parser) escaped(start, i int) (string, error) {
	p.buf = append(p.buf[:0], p.src[start:i]...)
	for i < len(p.src) {
		switch c := p.src[i]; {
		case c == '"':
			p.pos = i + 1
			return string(p.buf), nil
		case c < 0x20:
			return "", fault(ReasonSyntax, i, "a control character in a string must be escaped")
		case c != '\\':
			p.buf = append(p.buf, c)
			i++
		case i+1 < len(p.src) && p.src[i+1] == 'u':
			r, size, err := p.codePoint(i)
			if err != nil {
				return "", err
			}
			p.buf = utf8.AppendRune(p.buf, r)
			i += size
		default:
			plain, known := shortEscape(p.src, i+1)
			if !known {
				return "", fault(ReasonSyntax, i, "this is no JSON escape")
			}
			p.buf = append(p.buf, plain)
			i += 2
		}
	}
	return "", fault(ReasonSyntax, len(p.src), "the text ends inside a string")
}

// shortEscape returns what the letter after a backslash stands for.
func shortEscape(s string, at int) (byte, bool) {
	if at >= len(s) {
		return 0, false
	}
	switch c := s[at]; c {
	case '"', '\\', '/':
		return c, true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	default:
		return 0, false
	}
}

// codePoint reads the \u escape at i, or a pair of them, and returns the code
// point and the length of what it read.
func (p *parser) codePoint(i int) (rune, int, error) {
	unit, ok := hexUnit(p.src, i+2)
	if !ok {
		return 0, 0, fault(ReasonSyntax, i, "four hexadecimal digits should follow \\u")
	}
	if !utf16.IsSurrogate(unit) {
		return unit, 6, nil
	}
	if i+7 < len(p.src) && p.src[i+6] == '\\' && p.src[i+7] == 'u' {
		if low, ok := hexUnit(p.src, i+8); ok {
			if r := utf16.DecodeRune(unit, low); r != utf8.RuneError {
				return r, 12, nil
			}
		}
	}
	return 0, 0, fault(ReasonSurrogate, i, "half a surrogate pair is no character")
}

// hexUnit reads four hexadecimal digits.
func hexUnit(s string, at int) (rune, bool) {
	if at+4 > len(s) {
		return 0, false
	}
	var unit rune
	for _, c := range []byte(s[at : at+4]) {
		unit <<= 4
		switch {
		case c >= '0' && c <= '9':
			unit |= rune(c - '0')
		case c >= 'a' && c <= 'f':
			unit |= rune(c-'a') + 10
		case c >= 'A' && c <= 'F':
			unit |= rune(c-'A') + 10
		default:
			return 0, false
		}
	}
	return unit, true
}

// number is a number's parts as written.
type number struct {
	end             int
	negative        bool
	whole, fraction string
	exponent        int
}

// scanNumber reads the JSON number that begins at a place of s. Whether
// anything may follow it is for the caller to say.
func scanNumber(s string, at, maxExponent int) (number, error) {
	n := number{end: at}
	if n.end < len(s) && s[n.end] == '-' {
		n.negative = true
		n.end++
	}
	n.whole = digitsAt(s, n.end)
	if n.whole == "" {
		return n, fault(ReasonSyntax, n.end, "a digit should be here")
	}
	if n.whole[0] == '0' && len(n.whole) > 1 {
		return n, fault(ReasonSyntax, n.end+1, "a number has no leading zeros")
	}
	n.end += len(n.whole)
	if n.end < len(s) && s[n.end] == '.' {
		n.fraction = digitsAt(s, n.end+1)
		if n.fraction == "" {
			return n, fault(ReasonSyntax, n.end+1, "a digit should follow the decimal point")
		}
		n.end += 1 + len(n.fraction)
	}
	if n.end < len(s) && (s[n.end] == 'e' || s[n.end] == 'E') {
		sign := 1
		n.end++
		if n.end < len(s) && (s[n.end] == '+' || s[n.end] == '-') {
			if s[n.end] == '-' {
				sign = -1
			}
			n.end++
		}
		digits := digitsAt(s, n.end)
		if digits == "" {
			return n, fault(ReasonSyntax, n.end, "a digit should be in the exponent")
		}
		n.end += len(digits)
		n.exponent = sign * boundedInt(digits, maxExponent)
	}
	if len(n.whole)+len(n.fraction) > MaxDigits {
		return n, fault(ReasonNumberRange, at, "a number has at most 1000 digits")
	}
	if n.exponent > maxExponent || n.exponent < -maxExponent {
		return n, fault(ReasonNumberRange, at, "an exponent lies within 10000 either way")
	}
	return n, nil
}

// digitsAt returns the run of digits at a place, perhaps empty.
func digitsAt(s string, at int) string {
	end := at
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	return s[at:end]
}

// boundedInt reads digits, stopping as soon as the result is above the bound.
func boundedInt(digits string, bound int) int {
	n := 0
	for _, c := range []byte(digits) {
		if n = n*10 + int(c-'0'); n > bound {
			return bound + 1
		}
	}
	return n
}
