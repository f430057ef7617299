package contract

import (
	"fmt"
	"strings"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// checker holds one document against its shape and collects what is wrong, so
// that its author sees everything at once.
type checker struct {
	file   string
	places map[string]Place
	faults Faults
}

func (c *checker) add(f Fault) {
	if len(c.faults) >= maxFaults {
		return
	}
	f.Place = placeOf(c.places, f.Pointer)
	if f.File == "" {
		f.File = c.file
	}
	c.faults = append(c.faults, f)
}

func (c *checker) fault(pointer, detail, hint string) {
	c.add(Fault{Code: onefold.CodeDocumentInvalid, Pointer: pointer, Detail: detail, Hint: hint})
}

// later refuses what a later release will read: accepted and ignored it would
// be a promise that nobody keeps.
func (c *checker) later(pointer, what string) {
	c.add(Fault{
		Code: onefold.CodeNotSupportedYet, Pointer: pointer,
		Detail: what + " is not supported by this release", Hint: "leave it out",
	})
}

// shape is what a value of a document may be. The tables of shapes are the one
// description of the documents: decoding checks by them, and the published JSON
// Schemas are written from them.
type shape interface {
	// check reports what is wrong with a value at a pointer.
	check(c *checker, at string, v *identity.Value)
	// schema is the JSON Schema of the same values, as far as JSON Schema can say it.
	schema() *identity.Value
}

// member is one member of an object.
type member struct {
	name  string
	shape shape
	// doc is what an editor shows.
	doc string
	// required members have to be written; missing says why, if more than
	// "is missing" is to be said.
	required bool
	missing  string
}

// need and may make members.
func need(name string, s shape, doc string) member {
	return member{name: name, shape: s, doc: doc, required: true}
}

func may(name string, s shape, doc string) member {
	return member{name: name, shape: s, doc: doc}
}

// objectShape is an object with known members. extra looks at several members
// together, after each was found to be right.
type objectShape struct {
	members []member
	extra   func(c *checker, at string, v *identity.Value)
}

func object(members ...member) *objectShape { return &objectShape{members: members} }

func (o *objectShape) with(extra func(c *checker, at string, v *identity.Value)) *objectShape {
	return &objectShape{members: o.members, extra: extra}
}

func (o *objectShape) names() []string {
	names := make([]string, len(o.members))
	for i, m := range o.members {
		names[i] = m.name
	}
	return names
}

func (o *objectShape) find(name string) *member {
	for i := range o.members {
		if o.members[i].name == name {
			return &o.members[i]
		}
	}
	return nil
}

func (o *objectShape) check(c *checker, at string, v *identity.Value) {
	if !isKind(c, at, v, identity.Object, "an object") {
		return
	}
	before := len(c.faults)
	for _, m := range v.Members() {
		below := identity.JoinPointer(at, m.Name)
		known := o.find(m.Name)
		if known == nil {
			c.fault(below, fmt.Sprintf("there is no member %q here", m.Name), strings.TrimPrefix(suggest(m.Name, o.names()), "; "))
			continue
		}
		known.shape.check(c, below, m.Value)
	}
	for _, m := range o.members {
		if _, there := v.Get(m.name); m.required && !there {
			detail := m.name + " is missing"
			if m.missing != "" {
				detail += ": " + m.missing
			}
			c.fault(at, detail, "")
		}
	}
	if o.extra != nil && len(c.faults) == before {
		o.extra(c, at, v)
	}
}

// isKind reports a value of the wrong type.
func isKind(c *checker, at string, v *identity.Value, want identity.Kind, what string) bool {
	if v.Kind() == want {
		return true
	}
	c.fault(at, fmt.Sprintf("wants %s, not %s", what, article(v.Kind())), "")
	return false
}

// suggest is "; did you mean x?" for the nearest of the names, or empty.
func suggest(word string, names []string) string {
	best, least := "", max(1, min(3, len([]rune(word))/2))+1
	for _, name := range names {
		if d := distance(word, name); d < least {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// distance is how many letters have to be added, dropped, changed or swapped
// with their neighbour to get from one word to the other. Words longer than any
// member's name are never near.
func distance(from, to string) int {
	const longest = 64
	a, b := []rune(strings.ToLower(from)), []rune(to)
	if len(a) > longest || len(b) > longest {
		return longest
	}
	var before, above []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, above, row = above, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
