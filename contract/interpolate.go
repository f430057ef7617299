package contract

import (
	"strconv"
	"strings"

	"github.com/onefold-dev/onefold/identity"
)

func itoa(i int) string { return strconv.Itoa(i) }

// text is a string with references in it.
type text struct{ parts []part }

// part is a piece of plain text, or one reference.
type part struct {
	plain string
	ref   *reference
}

// plain returns the text if no reference is in it.
func (t *text) plain() (string, bool) {
	switch {
	case len(t.parts) == 0:
		return "", true
	case len(t.parts) == 1 && t.parts[0].ref == nil:
		return t.parts[0].plain, true
	default:
		return "", false
	}
}

// text compiles a string: {{ and }} are plain braces, {…} a reference. Pieces
// of plain text are joined, so that no two stand side by side.
func (c *compiler) text(s, at string) *text {
	t := &text{}
	var plain strings.Builder
	flush := func() {
		if plain.Len() > 0 {
			t.parts = append(t.parts, part{plain: plain.String()})
			plain.Reset()
		}
	}
	for s != "" {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			break
		}
		plain.WriteString(s[:i])
		s = s[i:]
		if len(s) > 1 && s[1] == s[0] {
			plain.WriteByte(s[0])
			s = s[2:]
			continue
		}
		end := strings.IndexByte(s, '}')
		if s[0] == '}' || end < 0 {
			c.fault(at, "a brace without its partner", "plain braces are written {{ and }}")
			return t
		}
		spec := s[1:end]
		s = s[end+1:]
		if strings.HasPrefix(spec, "$") {
			c.fault(at, "a reference between braces has no $", "write {"+spec[1:]+"}")
			continue
		}
		if r := c.reference(spec, at); r != nil {
			flush()
			t.parts = append(t.parts, part{ref: r})
		}
	}
	plain.WriteString(s)
	flush()
	return t
}

// escaping says how a value's text is written at its place.
type escaping func(dst []byte, value string) ([]byte, error)

// render appends the text with its references filled in. present is false where
// an optional reference is absent: then the whole string is to be left out.
func (t *text) render(dst []byte, m *materials, escape escaping) (out []byte, present bool, err error) {
	for i := range t.parts {
		p := &t.parts[i]
		if p.ref == nil {
			dst = append(dst, p.plain...)
			continue
		}
		v, ok := m.resolve(p.ref)
		if !ok {
			if p.ref.optional {
				return dst, false, nil
			}
			return dst, false, m.missing(p.ref)
		}
		value, ok := scalarText(v)
		if !ok {
			return dst, false, m.unfit(p.ref, "has no text: it is "+article(v.Kind()))
		}
		if dst, err = escape(dst, value); err != nil {
			return dst, false, m.unfit(p.ref, err.Error())
		}
	}
	return dst, true, nil
}

// scalarText is the text of a string, a number with its own digits (I13), or a
// boolean. null and containers have none.
func scalarText(v *identity.Value) (string, bool) {
	switch v.Kind() {
	case identity.String:
		return v.Text(), true
	case identity.Number:
		return v.Number(), true
	case identity.Bool:
		return strconv.FormatBool(v.Bool()), true
	default:
		return "", false
	}
}

func article(k identity.Kind) string {
	switch k {
	case identity.Array, identity.Object:
		return "an " + k.String()
	case identity.Null:
		return "null"
	default:
		return "a " + k.String()
	}
}

// missingError says that a reference names something that is not there.
type missingError struct {
	ref *reference
	// place is a pointer that begins with /request, empty for other references.
	place string
}

// Error names the reference; it holds no value.
func (e *missingError) Error() string { return "$" + e.ref.String() + " is absent" }

// unfitError says that a referred value cannot stand where the template puts it.
type unfitError struct {
	ref    *reference
	place  string // as in missingError
	detail string
}

// Error names the reference; it holds no value.
func (e *unfitError) Error() string { return "$" + e.ref.String() + " " + e.detail }
