package api

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// piece is one element of a list in a body: its own bytes, unjudged, and where
// they begin in the body.
type piece struct {
	raw []byte
	at  int
}

// split cuts the list that is the member m of a body's object into its elements,
// so that each can be judged by itself. It judges no element; it follows quotes
// and brackets, and refuses the body where those do not tell for sure where an
// element ends: a result that is counted to the wrong submission is worse than a
// refusal. hollow is the body with a number and spaces in place of each element,
// as long as before, for the strict parser to judge what stands around them.
//
// A body that has no such list, or breaks off before it, comes back as it is: the
// strict parser says what is wrong with it. Errors: json_invalid with pointer and
// offset, member_invalid for a list that is too long.
func split(raw []byte, m *member) (pieces []piece, hollow []byte, err error) {
	s := splitter{src: raw, list: identity.JoinPointer("", m.name)}
	if !s.enter(m.name) {
		return nil, raw, nil
	}
	if s.space(); s.peek() == ']' {
		return nil, raw, nil
	}
	for {
		s.space()
		s.element = len(pieces)
		if s.element == m.max {
			return nil, nil, m.wrongLength(s.list)
		}
		at := s.pos
		if err := s.value(); err != nil {
			return nil, nil, err
		}
		pieces = append(pieces, piece{raw: raw[at:s.pos], at: at})
		s.space()
		switch s.peek() {
		case ',':
			s.pos++
			continue
		case ']':
			return pieces, hollowed(raw, pieces), nil
		}
		return nil, nil, s.lost("a comma or the end of the list should follow it")
	}
}

// hollowed is a body with a number in place of each piece, and spaces behind it.
func hollowed(raw []byte, pieces []piece) []byte {
	out := bytes.Clone(raw)
	for _, p := range pieces {
		at := out[p.at : p.at+len(p.raw)]
		for i := range at {
			at[i] = ' '
		}
		at[0] = '0'
	}
	return out
}

// splitter walks through a body from quote to quote and from bracket to bracket.
type splitter struct {
	src     []byte
	pos     int
	list    string // the list's pointer
	element int    // the index of the element that is being read
	open    []byte // the brackets that are open in it
}

// lost is the refusal of a body of which nobody can say where the element that is
// being read ends.
func (s *splitter) lost(detail string) error {
	at := s.pos
	return &onefold.Error{
		Code: onefold.CodeJSONInvalid, Reason: identity.ReasonSyntax, Offset: &at,
		Pointer: identity.JoinPointer(s.list, strconv.Itoa(s.element)),
		Message: "where the submission ends cannot be told, so that nothing of the batch was admitted: " + detail,
		Hint:    "the offset counts bytes of the body; let a JSON library write the body",
	}
}

// space skips white space by JSON's grammar.
func (s *splitter) space() {
	for s.pos < len(s.src) && isSpace(s.src[s.pos]) {
		s.pos++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// bounds tells what may stand on the outer side of a string's quotes.
func bounds(c byte) bool { return isSpace(c) || bytes.IndexByte([]byte("{}[],:"), c) >= 0 }

// peek is the next byte, 0 at the end.
func (s *splitter) peek() byte {
	if s.pos < len(s.src) {
		return s.src[s.pos]
	}
	return 0
}

// enter goes to the first element of the list of that name in the body's object,
// and tells whether there is one.
func (s *splitter) enter(name string) bool {
	if s.space(); s.peek() != '{' {
		return false
	}
	for {
		s.pos++
		s.space()
		at := s.pos
		if s.peek() != '"' || s.text() != nil {
			return false
		}
		named := isName(s.src[at:s.pos], name)
		if s.space(); s.peek() != ':' {
			return false
		}
		s.pos++
		s.space()
		if named && s.peek() == '[' {
			s.pos++
			return true
		}
		if s.value() != nil {
			return false
		}
		if s.space(); s.peek() != ',' {
			return false
		}
	}
}

// isName tells whether a string, in its quotes, is a member's name.
func isName(quoted []byte, name string) bool {
	const longest = len(`\u0000`) // of the ways to write one character
	if len(quoted) > longest*len(name)+2 {
		return false
	}
	v, err := identity.Parse(quoted, identity.Limits{})
	return err == nil && v.Text() == name
}

// value goes to the end of the value that begins here, whatever is in it.
func (s *splitter) value() error {
	switch s.peek() {
	case '{', '[':
		return s.container()
	case '"':
		return s.text()
	}
	at := s.pos
	for s.pos < len(s.src) && !bounds(s.src[s.pos]) && s.src[s.pos] != '"' {
		if err := s.foreign(); err != nil {
			return err
		}
		s.pos++
	}
	if s.pos == at {
		return s.lost("a value should be here")
	}
	return nil
}

// container goes to the end of the array or object that begins here. How deep it
// is and what stands in it is for the strict parser.
func (s *splitter) container() error {
	s.open = s.open[:0]
	for ; s.pos < len(s.src); s.pos++ {
		switch c := s.src[s.pos]; c {
		case '"':
			if err := s.text(); err != nil {
				return err
			}
			s.pos--
		case '{', '[':
			s.open = append(s.open, c+2) // in ASCII the closing bracket is two further on
		case '}', ']':
			last := len(s.open) - 1
			if s.open[last] != c {
				return s.lost(fmt.Sprintf("%q closes what was opened otherwise", c))
			}
			if s.open = s.open[:last]; last == 0 {
				s.pos++
				return nil
			}
		default:
			if err := s.foreign(); err != nil {
				return err
			}
		}
	}
	return s.lost("the text ends inside it")
}

// foreign refuses, outside a string, what begins a string, a comment or an escape
// in other languages than JSON: brackets behind it may mean nothing.
func (s *splitter) foreign() error {
	if bytes.IndexByte([]byte("'`\\/#"), s.src[s.pos]) >= 0 {
		return s.lost(fmt.Sprintf("outside a string, %q is no JSON", s.src[s.pos]))
	}
	return nil
}

// text goes to the end of the string that begins here. A quote with text on its
// outer side is taken for a sign that one is missing, or one too many: then
// brackets could be counted that are part of a text.
func (s *splitter) text() error {
	if s.pos > 0 && !bounds(s.src[s.pos-1]) {
		return s.lost("text stands directly before a string")
	}
	for i := s.pos + 1; i < len(s.src); i++ {
		switch s.src[i] {
		case '\\':
			i++
		case '"':
			s.pos = i + 1
			if s.pos < len(s.src) && !bounds(s.src[s.pos]) {
				return s.lost("text stands directly behind a string")
			}
			return nil
		}
	}
	s.pos = len(s.src)
	return s.lost("the text ends inside a string")
}
