package identity

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of the strict parser (I10). A zero or negative member means its
// default.
type Limits struct {
	// MaxBytes is the longest text that is read at all.
	MaxBytes int
	// MaxDepth is how many arrays and objects may lie inside one another. The
	// outermost counts as one; scalars add nothing. Who parses an envelope
	// around a request allows one more.
	MaxDepth int
}

const (
	// DefaultMaxBytes is I10's bound of 1 MiB: a business document fits many
	// times over, and a parsed one stays within some tens of megabytes.
	DefaultMaxBytes = 1 << 20
	// DefaultMaxDepth is I10's bound: deeper than any real document, shallow
	// enough for every parser behind us.
	DefaultMaxDepth = 64
	// ceilingDepth bounds a configured MaxDepth, because parsing and writing
	// recurse and a stack is not free.
	ceilingDepth = 10_000
	// linearNames is how many member names are compared one by one before a
	// set takes over; below it the set costs more than it saves.
	linearNames = 24
	// firstChunk and largestChunk bound the blocks that values are allocated
	// in: small requests waste little, large ones take few blocks. The first
	// block has a value for each bytesPerValue of the text, as business documents
	// have with their names.
	firstChunk    = 32
	largestChunk  = 1024
	bytesPerValue = 24
)

// byteOrderMark is U+FEFF in UTF-8.
const byteOrderMark = "\xef\xbb\xbf"

// Reasons of a SyntaxError.
const (
	// ReasonSyntax: the text is not JSON by grammar, or ends too early.
	ReasonSyntax = "syntax"
	// ReasonEncoding: the text is not valid UTF-8 (overlong forms and encoded
	// surrogates included); the offset is that of the first byte at fault.
	ReasonEncoding = "encoding"
	// ReasonByteOrderMark: the text begins with U+FEFF.
	ReasonByteOrderMark = "byte_order_mark"
	// ReasonSurrogate: a \u escape names half a surrogate pair; the offset is
	// that of its backslash.
	ReasonSurrogate = "surrogate"
	// ReasonDuplicateMember: an object has a name twice, compared after
	// unescaping; the offset is that of the second name's quote.
	ReasonDuplicateMember = "duplicate_member"
	// ReasonTrailingData: something follows the value.
	ReasonTrailingData = "trailing_data"
	// ReasonDepth: arrays and objects lie deeper than Limits.MaxDepth; the
	// offset is that of the first bracket too many.
	ReasonDepth = "depth"
	// ReasonTooLarge: the text is longer than Limits.MaxBytes; the offset is
	// that of the first byte too many. Nothing else was looked at.
	ReasonTooLarge = "too_large"
	// ReasonNumberRange: a number has more than MaxDigits digits or an exponent
	// beyond MaxExponent, as written (I9); the offset is that of its first byte.
	ReasonNumberRange = "number_range"
)

// SyntaxError says why a text is no acceptable JSON. Reason is one of the
// Reason constants, Offset a byte offset in the source, Detail a sentence that
// contains nothing of the source.
type SyntaxError struct {
	Reason string
	Offset int
	Detail string
}

// Error returns reason, offset and detail in one line.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s at byte %d: %s", e.Reason, e.Offset, e.Detail)
}

// Parse reads one JSON value strictly (I10). The source is copied, so it may be
// reused afterwards. Every error is a *SyntaxError. Size, byte-order mark and
// encoding are judged first and over the whole text; of everything else the
// first fault in the text is reported.
func Parse(src []byte, l Limits) (*Value, error) {
	return parse(src, l, MaxExponent)
}

// ParseCanonical reads back what Canonical wrote. It differs from Parse in one
// point: a number that was written within the bounds of I9 may need a larger
// exponent in canonical form (1.5e-10000 becomes 15e-10001), and that is
// accepted here.
func ParseCanonical(src []byte) (*Value, error) {
	// Escapes and short exponents make a canonical text longer than its source;
	// it was bounded when it was first read.
	return parse(src, Limits{MaxBytes: maxSource, MaxDepth: ceilingDepth}, maxCanonicalExponent)
}

func parse(src []byte, l Limits, maxExponent int) (*Value, error) {
	maxBytes, maxDepth := l.MaxBytes, l.MaxDepth
	if maxBytes <= 0 {
		maxBytes = DefaultMaxBytes
	}
	if maxDepth <= 0 {
		maxDepth = DefaultMaxDepth
	}
	maxBytes, maxDepth = min(maxBytes, maxSource), min(maxDepth, ceilingDepth)
	if len(src) > maxBytes {
		return nil, fault(ReasonTooLarge, maxBytes, fmt.Sprintf("the text is longer than %d bytes", maxBytes))
	}
	doc := &document{text: string(src)}
	if strings.HasPrefix(doc.text, byteOrderMark) {
		return nil, fault(ReasonByteOrderMark, 0, "the text begins with a byte-order mark")
	}
	if !utf8.ValidString(doc.text) {
		return nil, fault(ReasonEncoding, firstInvalid(doc.text), "the text is not valid UTF-8")
	}
	p := parser{doc: doc, src: doc.text, maxDepth: maxDepth, maxExponent: maxExponent}
	p.space()
	v, err := p.value(1)
	if err != nil {
		return nil, err
	}
	p.space()
	if p.pos < len(p.src) {
		return nil, fault(ReasonTrailingData, p.pos, "something follows the value")
	}
	return v, nil
}

func fault(reason string, offset int, detail string) *SyntaxError {
	return &SyntaxError{Reason: reason, Offset: offset, Detail: detail}
}

// firstInvalid returns the offset of the first byte that is not UTF-8.
func firstInvalid(s string) int {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(s)
}

// parser walks the text once. Values come out of blocks; the members and
// elements of unfinished containers wait on two stacks, so that each finished
// container gets a slice of exactly its size.
type parser struct {
	doc         *document
	src         string
	pos         int
	maxDepth    int
	maxExponent int
	values      []Value
	chunk       int
	members     []Member
	items       []*Value
	buf         []byte // unescaped text of the string being read
}

// space skips white space by JSON's grammar.
func (p *parser) space() {
	for p.pos < len(p.src) {
		switch p.src[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end. A zero byte in the text is no
// token anywhere, so the two need no telling apart.
func (p *parser) peek() byte {
	if p.pos < len(p.src) {
		return p.src[p.pos]
	}
	return 0
}

// unexpected reports what should have stood at the current place.
func (p *parser) unexpected(wanted string) error {
	if p.pos >= len(p.src) {
		return fault(ReasonSyntax, p.pos, "the text ends where "+wanted+" should be")
	}
	return fault(ReasonSyntax, p.pos, wanted+" should be here")
}

// value reads the value that begins here; depth is its own level.
func (p *parser) value(depth int) (*Value, error) {
	start := p.pos
	switch c := p.peek(); c {
	case '{', '[':
		if depth > p.maxDepth {
			return nil, fault(ReasonDepth, p.pos, fmt.Sprintf("more than %d levels of arrays and objects", p.maxDepth))
		}
		p.pos++
		if c == '{' {
			return p.object(start, depth)
		}
		return p.array(start, depth)
	case '"':
		text, err := p.text()
		if err != nil {
			return nil, err
		}
		v := p.make(String, start)
		v.text = text
		return v, nil
	case 't':
		return p.literal("true", Bool)
	case 'f':
		return p.literal("false", Bool)
	case 'n':
		return p.literal("null", Null)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		n, err := scanNumber(p.src, p.pos, p.maxExponent)
		if err != nil {
			return nil, err
		}
		p.pos = n.end
		v := p.make(Number, start)
		v.text = p.src[start:n.end]
		return v, nil
	default:
		return nil, p.unexpected("a value")
	}
}

func (p *parser) literal(word string, kind Kind) (*Value, error) {
	if !strings.HasPrefix(p.src[p.pos:], word) {
		return nil, p.unexpected("a value")
	}
	start := p.pos
	p.pos += len(word)
	v := p.make(kind, start)
	v.truth = word == "true"
	return v, nil
}

// make takes a value from the current block; its span ends here.
func (p *parser) make(kind Kind, start int) *Value {
	if len(p.values) == cap(p.values) {
		first := min(len(p.src)/bytesPerValue+1, firstChunk)
		p.chunk = min(max(first, p.chunk*2), largestChunk)
		p.values = make([]Value, 0, p.chunk)
	}
	// Both offsets fit: parse bounds the text by maxSource.
	p.values = append(p.values, Value{kind: kind, doc: p.doc, start: int32(start), end: int32(p.pos)}) //nolint:gosec // see above
	return &p.values[len(p.values)-1]
}

// array reads what follows the opening bracket.
func (p *parser) array(start, depth int) (*Value, error) {
	base := len(p.items)
	p.space()
	if p.peek() == ']' {
		p.pos++
		return p.make(Array, start), nil
	}
	for {
		p.space()
		item, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		p.items = append(p.items, item)
		p.space()
		switch p.peek() {
		case ',':
			p.pos++
		case ']':
			p.pos++
			v := p.make(Array, start)
			v.kids = &children{items: append([]*Value(nil), p.items[base:]...)}
			p.items = p.items[:base]
			return v, nil
		default:
			return nil, p.unexpected("a comma or the end of the array")
		}
	}
}

// object reads what follows the opening brace.
func (p *parser) object(start, depth int) (*Value, error) {
	base := len(p.members)
	p.space()
	if p.peek() == '}' {
		p.pos++
		return p.make(Object, start), nil
	}
	var seen map[string]struct{}
	for {
		p.space()
		nameAt := p.pos
		if p.peek() != '"' {
			return nil, p.unexpected("a member name in quotes")
		}
		name, err := p.text()
		if err != nil {
			return nil, err
		}
		var repeated bool
		if seen, repeated = nameTaken(p.members[base:], seen, name); repeated {
			return nil, fault(ReasonDuplicateMember, nameAt, "the object already has a member of this name")
		}
		p.space()
		if p.peek() != ':' {
			return nil, p.unexpected("a colon")
		}
		p.pos++
		p.space()
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		p.members = append(p.members, Member{Name: name, Value: v, NameOffset: nameAt})
		p.space()
		switch p.peek() {
		case ',':
			p.pos++
		case '}':
			p.pos++
			v := p.make(Object, start)
			v.kids = &children{members: append([]Member(nil), p.members[base:]...)}
			p.members = p.members[:base]
			return v, nil
		default:
			return nil, p.unexpected("a comma or the end of the object")
		}
	}
}

// nameTaken says whether a name is among the members already read. Beyond
// linearNames it keeps a set (hashed with a random seed by the runtime, so
// that names cannot be chosen to collide) and returns it for the next call.
func nameTaken(read []Member, seen map[string]struct{}, name string) (map[string]struct{}, bool) {
	if len(read) < linearNames {
		for i := range read {
			if read[i].Name == name {
				return nil, true
			}
		}
		return nil, false
	}
	if seen == nil {
		seen = make(map[string]struct{}, 4*linearNames)
		for i := range read {
			seen[read[i].Name] = struct{}{}
		}
	}
	if _, taken := seen[name]; taken {
		return seen, true
	}
	seen[name] = struct{}{}
	return seen, false
}
