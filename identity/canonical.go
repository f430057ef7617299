package identity

import (
	"slices"
	"strings"
)

// Canonical returns the canonical form of a value (I9): RFC 8785's member
// order, escapes and absence of white space, with numbers as exact decimals.
// Two values are equal if and only if their canonical forms are.
func Canonical(v *Value) []byte { return AppendCanonical(nil, v) }

// AppendCanonical appends the canonical form of a value (I9).
func AppendCanonical(dst []byte, v *Value) []byte {
	w := canonicalWriter{dst: dst}
	w.value(v)
	return w.dst
}

// canonicalWriter appends to dst. order is a stack of member places, one
// section for each object that is being written.
type canonicalWriter struct {
	dst   []byte
	order []int32
}

func (w *canonicalWriter) value(v *Value) {
	switch v.Kind() {
	case Null:
		w.dst = append(w.dst, "null"...)
	case Bool:
		w.dst = appendBool(w.dst, v.truth)
	case Number:
		w.dst = appendNumber(w.dst, v.text)
	case String:
		w.dst = appendString(w.dst, v.text)
	case Array:
		w.dst = append(w.dst, '[')
		for i, item := range v.Items() {
			if i > 0 {
				w.dst = append(w.dst, ',')
			}
			w.value(item)
		}
		w.dst = append(w.dst, ']')
	case Object:
		w.object(v.Members())
	}
}

func (w *canonicalWriter) object(members []Member) {
	base := len(w.order)
	w.order = appendOrder(w.order, members)
	w.dst = append(w.dst, '{')
	for i := range members {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		// The stack may have moved while the member before was written.
		m := &members[w.order[base+i]]
		w.dst = appendString(w.dst, m.Name)
		w.dst = append(w.dst, ':')
		w.value(m.Value)
	}
	w.dst = append(w.dst, '}')
	w.order = w.order[:base]
}

// appendOrder appends the places of the members in canonical order.
func appendOrder(order []int32, members []Member) []int32 {
	base, sorted := len(order), true
	for i := range members {
		order = append(order, int32(i)) //nolint:gosec // a text holds fewer than 2^31 members
		sorted = sorted && (i == 0 || compareNames(members[i-1].Name, members[i].Name) < 0)
	}
	if !sorted {
		slices.SortFunc(order[base:], func(a, b int32) int {
			return compareNames(members[a].Name, members[b].Name)
		})
	}
	return order
}

// compareNames orders names by their UTF-16 code units, as RFC 8785 asks. In
// valid UTF-8 that is the order of the bytes, except that characters beyond
// U+FFFF (first byte F0 and above) come before U+E000–U+FFFF (EE, EF), because
// their surrogates do.
func compareNames(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if x >= 0xEE && y >= 0xEE && (x >= 0xF0) != (y >= 0xF0) {
			x, y = y, x
		}
		if x < y {
			return -1
		}
		return 1
	}
	return len(a) - len(b)
}

func appendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, "true"...)
	}
	return append(dst, "false"...)
}

// appendNumber appends the canonical text of a number's digits. A whole number
// of at most 40 digits is its own canonical text, and most numbers are such.
func appendNumber(dst []byte, raw string) []byte {
	if len(raw) <= plainDigits && raw != "-0" && !strings.ContainsAny(raw, ".eE") {
		return append(dst, raw...)
	}
	return decimalOf(raw).AppendCanonical(dst)
}

const hexDigits = "0123456789abcdef"

// appendString appends a string in quotes with RFC 8785's escapes: the short
// ones where they exist, \u00xx for the other control characters, nothing else.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[done:i]...)
		done = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xF])
		}
	}
	dst = append(dst, s[done:]...)
	return append(dst, '"')
}

// AppendJSON appends the value as compact JSON as it was approved: members in
// their order, numbers with their own digits (I13).
func (v *Value) AppendJSON(dst []byte) []byte {
	switch v.Kind() {
	case Bool:
		return appendBool(dst, v.truth)
	case Number:
		return append(dst, v.text...)
	case String:
		return appendString(dst, v.text)
	case Array:
		dst = append(dst, '[')
		for i, item := range v.Items() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.AppendJSON(dst)
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for i, m := range v.Members() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, m.Name)
			dst = append(dst, ':')
			dst = m.Value.AppendJSON(dst)
		}
		return append(dst, '}')
	default:
		return append(dst, "null"...)
	}
}
