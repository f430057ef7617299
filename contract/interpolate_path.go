package contract

import (
	"strings"

	"github.com/onefold-dev/onefold/identity"
)

// pathTemplate is a compiled path with its query.
type pathTemplate struct {
	segments []*text // between slashes; the first slash begins the path
	query    []param
}

// param is one piece of a query between ampersands.
type param struct{ text *text }

// path compiles a path template. References stand in segments of the path and
// in values of the query, never in names.
func (c *compiler) path(s, at string) *pathTemplate {
	t := c.text(s, at)
	p := &pathTemplate{}
	if len(t.parts) == 0 || t.parts[0].ref != nil || !strings.HasPrefix(t.parts[0].plain, "/") {
		if len(c.faults) == 0 {
			c.fault(at, "a path begins with /", "")
		}
		return p
	}
	path, query, asked := t.cut('?')
	path.parts[0].plain = path.parts[0].plain[1:]
	p.segments = path.split('/')
	for _, segment := range p.segments {
		c.literals(segment, at)
		if plain, ok := segment.plain(); ok && (plain == "." || plain == ".." || plain == "" && len(p.segments) > 1 && segment != p.segments[len(p.segments)-1]) {
			c.fault(at, "a path segment may not be empty, . or ..", "")
		}
		if ref := segment.optionalReference(); ref != nil {
			c.fault(at, "{"+ref.String()+"?} stands in a path segment, which cannot be left out", "drop the ?")
		}
	}
	if !asked {
		return p
	}
	for _, piece := range query.split('&') {
		c.literals(piece, at)
		if plain, ok := piece.plain(); ok && plain == "" {
			c.fault(at, "a query parameter has no name", "")
			continue
		}
		if len(piece.parts) > 1 || piece.parts[0].ref != nil {
			if piece.parts[0].ref != nil || !strings.Contains(piece.parts[0].plain, "=") {
				c.fault(at, "a reference stands in the name of a query parameter; it may only be in the value", "")
			}
		}
		p.query = append(p.query, param{piece})
	}
	return p
}

// literals reports characters that may not stand in a path as they are, and
// percent signs without two digits. Plain braces are encoded for the author.
func (c *compiler) literals(t *text, at string) {
	for i := range t.parts {
		p := &t.parts[i]
		if p.ref != nil {
			continue
		}
		p.plain = strings.NewReplacer("{", "%7B", "}", "%7D").Replace(p.plain)
		for j := range len(p.plain) {
			switch ch := p.plain[j]; {
			case !isPathLiteral(ch):
				c.fault(at, "a path may not hold the character "+quoteByte(ch), "write it percent-encoded")
				return
			case ch == '%' && (j+2 >= len(p.plain) || !isHex(p.plain[j+1]) || !isHex(p.plain[j+2])):
				c.fault(at, "a percent sign without two hexadecimal digits", "a plain one is written %25")
				return
			}
		}
	}
}

func quoteByte(c byte) string {
	if c > 0x20 && c < 0x7F {
		return string(rune(c))
	}
	return "0x" + string([]byte{hexUpper[c>>4], hexUpper[c&15]})
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// cut splits a text at the first plain occurrence of a character.
func (t *text) cut(sep byte) (before, after *text, found bool) {
	before, after = &text{}, &text{}
	for i, p := range t.parts {
		j := -1
		if p.ref == nil {
			j = strings.IndexByte(p.plain, sep)
		}
		if j < 0 {
			before.parts = append(before.parts, p)
			continue
		}
		before.parts = append(before.parts, part{plain: p.plain[:j]})
		if j+1 < len(p.plain) {
			after.parts = append(after.parts, part{plain: p.plain[j+1:]})
		}
		after.parts = append(after.parts, t.parts[i+1:]...)
		return before, after, true
	}
	return before, after, false
}

// split cuts a text at every plain occurrence of a character. Empty plain
// pieces are dropped, so that an empty text has no parts.
func (t *text) split(sep byte) []*text {
	out := []*text{{}}
	for _, p := range t.parts {
		if p.ref != nil {
			last := out[len(out)-1]
			last.parts = append(last.parts, p)
			continue
		}
		for i, piece := range strings.Split(p.plain, string(sep)) {
			if i > 0 {
				out = append(out, &text{})
			}
			if piece != "" {
				last := out[len(out)-1]
				last.parts = append(last.parts, part{plain: piece})
			}
		}
	}
	return out
}

// render gives path and query. A query parameter with an absent optional
// reference is left out; in a path there is nothing to leave out, so that an
// absent reference is an error there, whether optional or not.
func (p *pathTemplate) render(m *materials) ([]byte, error) {
	var dst []byte
	for _, segment := range p.segments {
		dst = append(dst, '/')
		start := len(dst)
		var present bool
		var err error
		if dst, present, err = segment.render(dst, m, escapeSegment); err != nil {
			return dst, err
		}
		ref := segment.reference()
		if ref == nil {
			continue
		}
		if !present {
			return dst, m.missing(ref)
		}
		if done := string(dst[start:]); done == "" || done == "." || done == ".." {
			return dst, m.unfit(ref, errSegment.Error())
		}
	}
	sep := byte('?')
	for _, q := range p.query {
		mark := len(dst)
		next, present, err := q.text.render(append(dst, sep), m, escapeQuery)
		if err != nil {
			return dst, err
		}
		if !present {
			dst = next[:mark]
			continue
		}
		dst, sep = next, '&'
	}
	if len(dst) > maxPath {
		return dst, errTooLong
	}
	return dst, nil
}

// optionalReference is the first optional reference of a text, nil if there is
// none.
func (t *text) optionalReference() *reference {
	for i := range t.parts {
		if ref := t.parts[i].ref; ref != nil && ref.optional {
			return ref
		}
	}
	return nil
}

// reference is the first reference of a text, nil if there is none.
func (t *text) reference() *reference {
	for i := range t.parts {
		if t.parts[i].ref != nil {
			return t.parts[i].ref
		}
	}
	return nil
}

// headerTemplate is a compiled header field.
type headerTemplate struct {
	name string
	text *text
}

// header compiles a header's value. A value that is one reference with $ means
// the same as one between braces.
func (c *compiler) header(s, at string) *text {
	if isReference(s) {
		if r := c.reference(s[1:], at); r != nil {
			return &text{parts: []part{{ref: r}}}
		}
		return &text{}
	}
	t := c.text(unescapeDollar(s), at)
	if plain, ok := t.plain(); ok && (plain == "" || strings.Trim(plain, " ") != plain) && len(c.faults) == 0 {
		c.fault(at, "a header's value may not be empty or begin or end with a space", "")
	}
	for i := range t.parts {
		if _, err := escapeHeader(nil, t.parts[i].plain); err != nil {
			c.fault(at, "a header's value holds a character other than visible ASCII and spaces", "")
			break
		}
	}
	return t
}

// render returns the header's value; present is false where it is left out.
func (h *headerTemplate) render(m *materials) (value string, present bool, err error) {
	out, present, err := h.text.render(nil, m, escapeHeader)
	if err != nil || !present {
		return "", false, err
	}
	if ref := h.text.reference(); ref != nil {
		switch {
		case len(out) == 0 || out[0] == ' ' || out[len(out)-1] == ' ':
			return "", false, m.unfit(ref, errEdge.Error())
		case len(out) > maxHeader:
			return "", false, m.unfit(ref, errTooLong.Error())
		}
	}
	return string(out), true, nil
}

func operationReference(member string) *reference {
	return &reference{root: rootOperation, tokens: []string{member}, pointer: identity.JoinPointer("", member)}
}
