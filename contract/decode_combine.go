package contract

import (
	"fmt"
	"strings"

	"github.com/onefold-dev/onefold/identity"
)

// listShape is an array of at least min elements.
type listShape struct {
	of  shape
	min int
	// distinct lists do not repeat an element.
	distinct bool
	// empty says what is wrong with too short a list.
	empty string
}

func (l listShape) check(c *checker, at string, v *identity.Value) {
	if !isKind(c, at, v, identity.Array, "a list") {
		return
	}
	if v.Len() < l.min {
		detail := "the list is empty"
		if l.empty != "" {
			detail += ": " + l.empty
		}
		c.fault(at, detail, "")
	}
	seen := map[string]bool{}
	for i, item := range v.Items() {
		below := fmt.Sprintf("%s/%d", at, i)
		l.of.check(c, below, item)
		if text := string(identity.Canonical(item)); l.distinct {
			if seen[text] {
				c.fault(below, text+" is in the list twice", "")
			}
			seen[text] = true
		}
	}
}

// oneOrMore is a value or a list of such values.
func oneOrMore(of shape) shape {
	return kindShape{array: listShape{of: of, min: 1}, other: of}
}

// kindShape chooses by the value's type. A nil choice for a type is other.
type kindShape struct{ null, object, array, text, boolean, other shape }

func (k kindShape) pick(v *identity.Value) shape {
	choice := shape(nil)
	switch v.Kind() {
	case identity.Null:
		choice = k.null
	case identity.Object:
		choice = k.object
	case identity.Array:
		choice = k.array
	case identity.String:
		choice = k.text
	case identity.Bool:
		choice = k.boolean
	case identity.Number:
	}
	if choice == nil {
		return k.other
	}
	return choice
}

func (k kindShape) check(c *checker, at string, v *identity.Value) { k.pick(v).check(c, at, v) }

// orNull also takes null, which means the same as leaving the member out.
func orNull(s shape) shape { return kindShape{null: constShape{identity.NewNull()}, other: s} }

// mapShape is an object whose members' names are values themselves.
type mapShape struct {
	name   textShape
	values shape
	min    int
}

func (m mapShape) check(c *checker, at string, v *identity.Value) {
	if !isKind(c, at, v, identity.Object, "an object") {
		return
	}
	if v.Len() < m.min {
		c.fault(at, "is empty", "")
	}
	for _, entry := range v.Members() {
		below := identity.JoinPointer(at, entry.Name)
		m.name.check(c, below, identity.NewString(entry.Name))
		m.values.check(c, below, entry.Value)
	}
}

// undocumented is the value of a fact that a target's documentation does not
// tell; assumed stands beside it where somebody answers for a guess.
const (
	undocumented = "undocumented"
	assumed      = "assumed"
)

// documentedShape is a fact that may be undocumented, with an assumption in its
// place where somebody answers for it: `undocumented`, or
// {value: undocumented, assumed: {value, owner, date, reason}}, where value may
// be left out.
type documentedShape struct {
	of shape
	// own is a member by which of has a place for `assumed` itself.
	own string
}

func documentedAs(of shape) documentedShape { return documentedShape{of: of} }

func (d documentedShape) guess() *objectShape {
	return object(
		may("value", words(undocumented), "Always undocumented: what is documented needs no assumption."),
		need(assumed, assumption(d.of), "Who answers for which guess."),
	)
}

func (d documentedShape) check(c *checker, at string, v *identity.Value) {
	if v.Kind() == identity.String && v.Text() == undocumented {
		return
	}
	_, guessed := v.Get(assumed)
	if _, own := v.Get(d.own); guessed && !own {
		d.guess().check(c, at, v)
		return
	}
	d.of.check(c, at, v)
}

// assumption is the value that somebody answers for.
func assumption(of shape) *objectShape {
	return object(
		need("value", of, "What is acted on."),
		need("owner", personName, "Who answers for it."),
		need("date", isoDate, "When it was assumed."),
		need("reason", sentence, "Why."),
	)
}

// siblingAssumption is `assumed` written beside an undocumented member of the
// same object. It belongs to the only member that is undocumented.
type siblingAssumption struct{}

func (siblingAssumption) check(c *checker, at string, v *identity.Value) {
	isKind(c, at, v, identity.Object, "an object with value, owner, date and reason")
}

// checkSibling holds `assumed` against the one member that it can stand beside.
func checkSibling(c *checker, at string, v *identity.Value, o *objectShape) {
	guess, there := v.Get(assumed)
	if !there {
		return
	}
	below := identity.JoinPointer(at, assumed)
	name, detail := besideAssumed(v)
	if detail != "" {
		c.fault(below, detail, "write it in the member itself: {assumed: {value, owner, date, reason}}")
		return
	}
	of := o.find(name).shape
	if d, ok := of.(documentedShape); ok {
		of = d.of
	}
	assumption(of).check(c, below, guess)
}

// besideAssumed is the member that a sibling `assumed` speaks of.
func besideAssumed(v *identity.Value) (name, detail string) {
	var open []string
	for _, m := range v.Members() {
		if m.Value.Kind() == identity.String && m.Value.Text() == undocumented {
			open = append(open, m.Name)
		}
	}
	switch len(open) {
	case 0:
		return "", "stands beside no undocumented member"
	case 1:
		return open[0], ""
	default:
		return "", "could belong to each of " + strings.Join(open, ", ")
	}
}
