package identity_test

import (
	"fmt"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"github.com/onefold-dev/onefold/identity"
)

// node is a JSON value that a test can spell in many ways and change in one
// place. Numbers are sign, digits without zeros at either end, and exponent.
type node struct {
	kind     identity.Kind
	truth    bool
	text     string // of a string; digits of a number, "" for zero
	negative bool
	exponent int
	names    []string
	children []*node
}

// texts draws strings that meet every branch of escaping and member order.
func texts() *rapid.Generator[string] {
	return rapid.StringOfN(rapid.RuneFrom([]rune("ab \"\\/\b\n\x00\x1f\x7fé\u2028\ue000\uffff\U00010000😀0")), 0, 6, -1)
}

func nodes(depth int) *rapid.Generator[*node] {
	return rapid.Custom(func(t *rapid.T) *node {
		last := identity.Object
		if depth == 0 {
			last = identity.String
		}
		n := &node{kind: identity.Kind(rapid.IntRange(0, int(last)).Draw(t, "kind"))}
		switch n.kind {
		case identity.Bool:
			n.truth = rapid.Bool().Draw(t, "truth")
		case identity.String:
			n.text = texts().Draw(t, "text")
		case identity.Number:
			n.text = strings.Trim(rapid.StringMatching(`[0-9]{0,45}`).Draw(t, "digits"), "0")
			n.negative = rapid.Bool().Draw(t, "negative")
			n.exponent = rapid.OneOf(rapid.IntRange(-45, 45), rapid.IntRange(-9000, 9000)).Draw(t, "exponent")
		case identity.Array:
			n.children = rapid.SliceOfN(nodes(depth-1), 0, 4).Draw(t, "items")
		case identity.Object:
			n.names = rapid.SliceOfNDistinct(texts(), 0, 4, rapid.ID[string]).Draw(t, "names")
			n.children = rapid.SliceOfN(nodes(depth-1), len(n.names), len(n.names)).Draw(t, "members")
		case identity.Null: // nothing to draw
		}
		return n
	})
}

// spell writes the value with member order, white space, escapes and number
// spelling drawn anew.
func (n *node) spell(t *rapid.T) string {
	space := rapid.SampledFrom([]string{"", "", " ", "\n\t\r "})
	gap := func() string { return space.Draw(t, "space") }
	switch n.kind {
	case identity.Null:
		return gap() + "null" + gap()
	case identity.Bool:
		return gap() + strconv.FormatBool(n.truth) + gap()
	case identity.Number:
		return gap() + n.spellNumber(t) + gap()
	case identity.String:
		return gap() + spellText(t, n.text) + gap()
	case identity.Array:
		parts := make([]string, len(n.children))
		for i, child := range n.children {
			parts[i] = child.spell(t)
		}
		return gap() + "[" + gap() + strings.Join(parts, ",") + "]" + gap()
	default:
		places := make([]int, len(n.names))
		for i := range places {
			places[i] = i
		}
		parts := make([]string, len(n.names))
		for i, at := range rapid.Permutation(places).Draw(t, "order") {
			parts[i] = gap() + spellText(t, n.names[at]) + gap() + ":" + n.children[at].spell(t)
		}
		return gap() + "{" + gap() + strings.Join(parts, ",") + "}" + gap()
	}
}

func spellText(t *rapid.T, text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		short := strings.IndexRune("\"\\/\b\f\n\r\t", r)
		switch way := rapid.IntRange(0, 2).Draw(t, "escape"); {
		case way == 0 && short >= 0:
			b.WriteByte('\\')
			b.WriteByte(`"\/bfnrt`[short])
		case way <= 1 || r < 0x20 || r == '"' || r == '\\':
			if r >= 0x10000 {
				r -= 0x10000
				fmt.Fprintf(&b, `\u%04x\u%04X`, 0xD800+r>>10, 0xDC00+r&0x3FF)
				continue
			}
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func (n *node) spellNumber(t *rapid.T) string {
	sign := ""
	if n.negative {
		sign = "-"
	}
	if n.text == "" {
		return sign + rapid.SampledFrom([]string{"0", "0.0", "0e5", "0E-7", "0.000e+1"}).Draw(t, "zero")
	}
	zeros := rapid.IntRange(0, 3).Draw(t, "zeros")
	digits, exponent := n.text+strings.Repeat("0", zeros), n.exponent-zeros
	point := rapid.IntRange(0, len(digits)).Draw(t, "point")
	exponent += len(digits) - point
	whole, fraction := digits[:point], digits[point:]
	if whole == "" {
		whole = "0"
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	if exponent == 0 && rapid.Bool().Draw(t, "bare") {
		return sign + whole + fraction
	}
	return sign + whole + fraction + rapid.SampledFrom([]string{"e", "E"}).Draw(t, "e") + spellExponent(t, exponent)
}

func spellExponent(t *rapid.T, exponent int) string {
	sign := rapid.SampledFrom([]string{"", "+"}).Draw(t, "plus")
	if exponent < 0 {
		sign, exponent = "-", -exponent
	}
	return sign + strings.Repeat("0", rapid.IntRange(0, 2).Draw(t, "padding")) + strconv.Itoa(exponent)
}

// all returns the value and everything in it.
func (n *node) all() []*node {
	found := []*node{n}
	for _, child := range n.children {
		found = append(found, child.all()...)
	}
	return found
}

// change makes one difference somewhere in the value that no spelling explains,
// and says which.
func (n *node) change(t *rapid.T) string {
	places := n.all()
	at := places[rapid.IntRange(0, len(places)-1).Draw(t, "place")]
	if rapid.IntRange(0, 3).Draw(t, "change the kind") == 0 {
		was := at.kind
		*at = node{kind: identity.Kind((int(was) + rapid.IntRange(1, 5).Draw(t, "kind")) % 6)}
		return fmt.Sprintf("%v became %v", was, at.kind)
	}
	switch at.kind {
	case identity.Null:
		*at = node{kind: identity.Array, children: []*node{{}}}
		return "null became [null]"
	case identity.Bool:
		at.truth = !at.truth
		return "a boolean turned"
	case identity.String:
		at.text += string(rapid.SampledFrom([]rune(" a\x00\u0301")).Draw(t, "suffix"))
		return "a string grew"
	case identity.Number:
		return at.changeNumber(t)
	case identity.Array:
		if len(at.children) > 1 && rapid.Bool().Draw(t, "drop") {
			at.children = at.children[:len(at.children)-1]
			return "an element went"
		}
		at.children = append(at.children, &node{})
		return "an element came"
	default:
		if len(at.names) > 0 && rapid.Bool().Draw(t, "drop") {
			last := len(at.names) - 1
			at.names, at.children = at.names[:last], at.children[:last]
			return "a member went"
		}
		at.names, at.children = append(at.names, "a name not drawn"), append(at.children, &node{})
		return "a member came, null"
	}
}

func (n *node) changeNumber(t *rapid.T) string {
	switch {
	case n.text == "":
		n.text = "1"
		return "zero became something"
	case rapid.Bool().Draw(t, "sign"):
		n.negative = !n.negative
		return "a sign turned"
	case rapid.Bool().Draw(t, "magnitude"):
		n.exponent++
		return "a number became ten times as large"
	default:
		n.text += "1"
		n.exponent--
		return "a digit came after the last"
	}
}
