package identity

import (
	"math"
	"strconv"
	"strings"
)

// Kind says which of the six JSON types a Value has.
type Kind uint8

// The kinds. The zero Kind is Null.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// String returns the JSON name of the kind, for messages: null, boolean,
// number, string, array or object.
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "boolean"
	case Number:
		return "number"
	case String:
		return "string"
	case Array:
		return "array"
	case Object:
		return "object"
	default:
		return "invalid"
	}
}

// document is the text that parsed values were cut from. It is a string, so
// that no caller can change it under the values' feet.
type document struct{ text string }

// children holds what only arrays and objects have, apart from Value so that
// the many scalars of a large request stay small.
type children struct {
	items   []*Value
	members []Member
}

// Value is one JSON value: parsed by Parse, or built by the New functions. It
// keeps the digits its numbers came in with (I13), the order of its members,
// and, if it was parsed, its byte span in the source. A Value does not change
// after it was made and is safe for concurrent use. A nil *Value reads as null
// everywhere in this package except where a function says that nil means
// absent.
type Value struct {
	kind  Kind
	truth bool
	// thawed marks a container that a running normalizer owns and may change,
	// gapped one that holds gaps, moved an array that lost some. All are false in
	// every value that a caller can see.
	thawed     bool
	gapped     bool
	moved      bool
	start, end int32
	doc        *document // nil in values that were built
	text       string    // content of a string, digits of a number
	kids       *children // nil in scalars and empty containers
}

// Member is one member of an object. NameOffset is the byte offset of the
// name's opening quote in the source, -1 in built values.
type Member struct {
	Name       string
	Value      *Value
	NameOffset int
}

// Kind returns the type of the value; Null for nil.
func (v *Value) Kind() Kind {
	if v == nil {
		return Null
	}
	return v.kind
}

// Members returns the members of an object in the order they were written, nil
// for every other kind. The slice belongs to the value and must not be changed.
func (v *Value) Members() []Member {
	if v == nil || v.kids == nil {
		return nil
	}
	return v.kids.members
}

// Items returns the elements of an array in order, nil for every other kind.
// The slice belongs to the value and must not be changed.
func (v *Value) Items() []*Value {
	if v == nil || v.kids == nil {
		return nil
	}
	return v.kids.items
}

// Len returns the number of elements of an array or members of an object, zero
// for every other kind.
func (v *Value) Len() int {
	if v == nil || v.kids == nil {
		return 0
	}
	return len(v.kids.items) + len(v.kids.members)
}

// Index returns element i of an array, or the value of member i of an object
// in written order; nil if there is none.
func (v *Value) Index(i int) *Value {
	if i < 0 || i >= v.Len() {
		return nil
	}
	if v.kind == Array {
		return v.kids.items[i]
	}
	return v.kids.members[i].Value
}

// Get returns the value of an object's member and whether the object has it.
// It looks through the members one by one.
func (v *Value) Get(name string) (*Value, bool) {
	if i := v.find(name); i >= 0 {
		return v.kids.members[i].Value, true
	}
	return nil, false
}

// find returns the place of a member, or -1.
func (v *Value) find(name string) int {
	members := v.Members()
	for i := range members {
		if members[i].Name == name {
			return i
		}
	}
	return -1
}

// Text returns the content of a string after unescaping, "" for other kinds.
func (v *Value) Text() string {
	if v.Kind() != String {
		return ""
	}
	return v.text
}

// Number returns a number's digits exactly as they were written (I13), "" for
// other kinds.
func (v *Value) Number() string {
	if v.Kind() != Number {
		return ""
	}
	return v.text
}

// Decimal returns a number's exact value, and false for other kinds.
func (v *Value) Decimal() (Decimal, bool) {
	if v.Kind() != Number {
		return Decimal{}, false
	}
	return decimalOf(v.text), true
}

// Bool returns the content of a boolean, false for other kinds.
func (v *Value) Bool() bool { return v.Kind() == Bool && v.truth }

// Span returns the byte offsets of the value in the source it was parsed from:
// the first byte and the one after the last. Built values answer (-1, -1).
func (v *Value) Span() (start, end int) {
	if v == nil || v.doc == nil {
		return -1, -1
	}
	return int(v.start), int(v.end)
}

// Raw returns a copy of the source bytes of a parsed value, without white space
// around it; of a built value, its compact JSON.
func (v *Value) Raw() []byte {
	if v == nil || v.doc == nil {
		return v.AppendJSON(nil)
	}
	return []byte(v.doc.text[v.start:v.end])
}

// NewNull returns the value null.
func NewNull() *Value { return &Value{kind: Null} }

// NewBool returns true or false.
func NewBool(b bool) *Value { return &Value{kind: Bool, truth: b} }

// NewString returns a string. JSON text is Unicode: bytes that are not valid
// UTF-8 become U+FFFD.
func NewString(s string) *Value {
	return &Value{kind: String, text: strings.ToValidUTF8(s, "\uFFFD")}
}

// NewNumber returns a number with the given digits, which must be one JSON
// number by grammar and within the bounds of I9; otherwise a *SyntaxError with
// ReasonSyntax or ReasonNumberRange and the offset in raw.
func NewNumber(raw string) (*Value, error) {
	if _, err := ParseDecimal(raw); err != nil {
		return nil, err
	}
	return &Value{kind: Number, text: raw}, nil
}

// NewInteger returns a whole number.
func NewInteger(i int64) *Value {
	return &Value{kind: Number, text: strconv.FormatInt(i, 10)}
}

// NewArray returns an array of the given elements; a nil element is null.
func NewArray(items ...*Value) *Value {
	own := make([]*Value, len(items))
	for i, item := range items {
		own[i] = orNull(item)
	}
	return withItems(own)
}

// NewObject returns an object with the given members in that order; a nil
// value is null. Of members with one name the last value counts, at the place
// of the first, because an object with a repeated name has no canonical form.
func NewObject(members ...Member) *Value {
	own := make([]Member, 0, len(members))
	places := make(map[string]int, len(members))
	for _, m := range members {
		name := strings.ToValidUTF8(m.Name, "\uFFFD")
		if at, taken := places[name]; taken {
			own[at].Value = orNull(m.Value)
			continue
		}
		places[name] = len(own)
		own = append(own, Member{Name: name, Value: orNull(m.Value), NameOffset: -1})
	}
	return withMembers(own)
}

func orNull(v *Value) *Value {
	if v == nil {
		return NewNull()
	}
	return v
}

// withItems makes an array that takes over the slice.
func withItems(items []*Value) *Value {
	v := &Value{kind: Array}
	if len(items) > 0 {
		v.kids = &children{items: items}
	}
	return v
}

// withMembers makes an object that takes over the slice.
func withMembers(members []Member) *Value {
	v := &Value{kind: Object}
	if len(members) > 0 {
		v.kids = &children{members: members}
	}
	return v
}

// maxSource is the longest text whose offsets fit a Value's span. It is far
// above any limit that a deployment may sensibly set.
const maxSource = math.MaxInt32 - 1
