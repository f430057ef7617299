package identity

import (
	"strconv"
	"strings"
)

// At returns the value that a JSON Pointer (RFC 6901) names inside v, and
// whether it exists. The empty pointer names v itself. A text that is no
// pointer, "-", and an index with leading zeros name nothing.
func (v *Value) At(pointer string) (*Value, bool) {
	tokens, ok := SplitPointer(pointer)
	if !ok || v == nil {
		return nil, false
	}
	for _, token := range tokens {
		switch v.Kind() {
		case Object:
			child, found := v.Get(token)
			if !found {
				return nil, false
			}
			v = child
		case Array:
			i := arrayIndex(token)
			if i < 0 || i >= v.Len() {
				return nil, false
			}
			v = v.Index(i)
		default:
			return nil, false
		}
	}
	return v, true
}

// SplitPointer returns the unescaped reference tokens of a JSON Pointer, and
// false if the text is none: neither empty nor begun with a slash, or with a ~
// that is followed by neither 0 nor 1.
func SplitPointer(pointer string) ([]string, bool) {
	if pointer == "" {
		return nil, true
	}
	if pointer[0] != '/' {
		return nil, false
	}
	tokens := strings.Split(pointer[1:], "/")
	for i, token := range tokens {
		for at := strings.IndexByte(token, '~'); at >= 0; {
			if at+1 >= len(token) || (token[at+1] != '0' && token[at+1] != '1') {
				return nil, false
			}
			next := strings.IndexByte(token[at+1:], '~')
			if next < 0 {
				break
			}
			at += 1 + next
		}
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
	}
	return tokens, true
}

// JoinPointer returns the pointer with one more reference token, escaped.
func JoinPointer(pointer, token string) string {
	return string(appendToken([]byte(pointer), token))
}

func appendToken(dst []byte, token string) []byte {
	dst = append(dst, '/')
	for i := range len(token) {
		switch c := token[i]; c {
		case '~':
			dst = append(dst, '~', '0')
		case '/':
			dst = append(dst, '~', '1')
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// arrayIndex returns the index that a token names by RFC 6901, or -1.
func arrayIndex(token string) int {
	if token == "" || (token[0] == '0' && len(token) > 1) || digitsAt(token, 0) != token {
		return -1
	}
	i, err := strconv.Atoi(token)
	if err != nil {
		return -1
	}
	return i
}

// step is one step of a path into a value: an element, or a member if index is
// negative. Paths are kept as steps and written as pointers only when somebody
// reads them.
type step struct {
	name  string
	index int
}

func pointerOf(prefix string, path []step) string {
	dst := []byte(prefix)
	for _, s := range path {
		if s.index < 0 {
			dst = appendToken(dst, s.name)
			continue
		}
		dst = append(dst, '/')
		dst = strconv.AppendInt(dst, int64(s.index), 10)
	}
	return string(dst)
}
