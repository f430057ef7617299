package contract

import (
	"errors"
	"strings"
)

// Why a value cannot stand at its place. None of them holds the value.
var (
	errControl  = errors.New("holds a control character, which a path cannot carry")
	errDots     = errors.New("holds . or .. as a part, which would lead to another path")
	errSegment  = errors.New("leaves a path segment empty, or . or .. alone in it")
	errHeader   = errors.New("holds a character other than visible ASCII and spaces, which a header cannot carry")
	errEdge     = errors.New("leaves a header empty, or with a space at its beginning or end")
	errTooLong  = errors.New("makes the request longer than a target can be expected to take")
	errNoObject = errors.New("the place of the identity in the body lies inside a value that is no object")
)

const hexUpper = "0123456789ABCDEF"

// escapePlain writes a value into a JSON string; the quotes and escapes of JSON
// come when the string is written.
func escapePlain(dst []byte, value string) ([]byte, error) { return append(dst, value...), nil }

// escapeQuery percent-encodes everything but the unreserved characters of
// RFC 3986: a space is %20, so that no reader takes + for it.
func escapeQuery(dst []byte, value string) ([]byte, error) {
	return appendPercent(dst, value), nil
}

// escapeSegment does the same for a path segment and refuses what could lead to
// another path. Servers that decode before they route see %2F as a slash, so
// that . and .. are refused between encoded slashes, too.
func escapeSegment(dst []byte, value string) ([]byte, error) {
	for i := range len(value) {
		if value[i] < 0x20 || value[i] == 0x7F {
			return dst, errControl
		}
	}
	if strings.ContainsAny(value, `/\`) {
		for _, piece := range strings.FieldsFunc(value, func(r rune) bool { return r == '/' || r == '\\' }) {
			if piece == "." || piece == ".." {
				return dst, errDots
			}
		}
	}
	return appendPercent(dst, value), nil
}

func appendPercent(dst []byte, value string) []byte {
	for i := range len(value) {
		if c := value[i]; isUnreserved(c) {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', hexUpper[c>>4], hexUpper[c&15])
		}
	}
	return dst
}

// escapeHeader refuses what could end a header or begin another one. Nothing is
// escaped, because header values have no escapes that every target knows.
func escapeHeader(dst []byte, value string) ([]byte, error) {
	for i := range len(value) {
		if value[i] < 0x20 || value[i] > 0x7E {
			return dst, errHeader
		}
	}
	return append(dst, value...), nil
}

// isUnreserved tells the characters that mean themselves anywhere in a URL.
func isUnreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '-' || c == '.' || c == '_' || c == '~'
}

// isPathLiteral tells the characters that a document may write into a path or
// query as they are; everything else is written percent-encoded by the author.
func isPathLiteral(c byte) bool {
	return isUnreserved(c) || strings.IndexByte("!$&'()*+,;=:@/?%", c) >= 0
}

// isToken tells the characters of a header name (RFC 9110).
func isToken(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}
