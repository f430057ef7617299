package contract

import (
	"regexp"
	"slices"
	"strings"

	"github.com/onefold-dev/onefold/identity"
)

// maxSteps bounds how often the loops of one rendered request go round, all of
// them together: a hundred thousand lines are more than the limit of a request's
// size lets any target expect, and a loop in a loop over the same array costs no
// more than that.
const maxSteps = 100_000

var elementPattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// loop is a compiled {each, as, do}.
type loop struct {
	each *reference
	do   *node
}

// isLoop recognises {each: $…, as: …, do: …}, and what is meant as one.
func isLoop(v *identity.Value) bool {
	each, ok := v.Get("each")
	if !ok {
		return false
	}
	_, do := v.Get("do")
	return do || each.Kind() == identity.String && isReference(each.Text())
}

// loop compiles an object that maps an array.
func (c *compiler) loop(v *identity.Value, at string) *node {
	before := len(c.faults)
	members := []string{"each", "as", "do"}
	for _, m := range v.Members() {
		if !slices.Contains(members, m.Name) {
			c.fault(identity.JoinPointer(at, m.Name), "there is no member "+quoted(m.Name)+" beside each", strings.TrimPrefix(suggest(m.Name, members), "; "))
		}
	}
	each, _ := v.Get("each")
	as, named := v.Get("as")
	do, body := v.Get("do")
	switch {
	case each.Kind() != identity.String || !isReference(each.Text()):
		c.fault(at+"/each", "each wants a reference to an array, such as $request/lines", "")
	case !named:
		c.fault(at, "as is missing: the name of an element, such as line", "")
	case !body:
		c.fault(at, "do is missing: what each element becomes", "")
	default:
		c.elementName(as, at+"/as")
	}
	if len(c.faults) > before {
		return &node{literal: v}
	}
	source := c.reference(each.Text()[1:], at+"/each")
	c.loops = append(c.loops, as.Text())
	inner := c.tree(do, at+"/do")
	c.loops = c.loops[:len(c.loops)-1]
	if source == nil {
		return &node{literal: v}
	}
	return &node{loop: &loop{each: source, do: inner}}
}

// elementName refuses a name that would hide something else.
func (c *compiler) elementName(v *identity.Value, at string) {
	name := v.Text()
	switch root(name) {
	case rootRequest, rootOperation, rootConnection, rootAmended, rootAccepted:
		c.fault(at, quoted(name)+" is the name of something else", "call the element line, item, …")
		return
	}
	switch {
	case v.Kind() != identity.String || !elementPattern.MatchString(name):
		c.fault(at, "as wants a name of small letters, digits and _, such as line", "")
	case slices.Contains(c.loops, name):
		c.fault(at, "a loop around this one calls its element "+quoted(name)+" already", "")
	}
}

// elementReference compiles a reference to an element of a loop around; nil
// where the text names none.
func (c *compiler) elementReference(spec string) *reference {
	text, optional := strings.CutSuffix(spec, "?")
	name, rest, deep := strings.Cut(text, "/")
	depth := slices.Index(c.loops, name) + 1
	if depth == 0 {
		return nil
	}
	if deep {
		rest = "/" + rest
	}
	tokens, ok := identity.SplitPointer(rest)
	if !ok {
		return nil
	}
	return &reference{root: root(name), tokens: tokens, loop: depth, pointer: rest, optional: optional}
}

// walk calls one for each element, with the element in place. present is false
// where the array is absent and may be.
func (l *loop) walk(m *materials, one func() error) (present bool, err error) {
	array, ok := m.resolve(l.each)
	switch {
	case !ok && l.each.optional:
		return false, nil
	case !ok:
		return false, m.missing(l.each)
	case array.Kind() != identity.Array:
		return false, m.unfit(l.each, "is "+article(array.Kind())+", not an array")
	}
	place := m.place(l.each)
	m.elements = append(m.elements, element{})
	depth := len(m.elements)
	defer func() { m.elements = m.elements[:depth-1] }()
	for i, item := range array.Items() {
		if m.steps++; m.steps > maxSteps {
			return false, m.unfit(l.each, errTooLong.Error())
		}
		m.elements[depth-1] = element{value: item}
		if place != "" {
			m.elements[depth-1].pointer = place + "/" + itoa(i)
		}
		if err := one(); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (l *loop) appendJSON(dst []byte, m *materials) (out []byte, present bool, err error) {
	mark := len(dst)
	dst = append(dst, '[')
	start := len(dst)
	present, err = l.walk(m, func() error {
		var err error
		if dst, err = l.do.appendItem(dst, start, m); err == nil && len(dst) > maxBody {
			err = errTooLong
		}
		return err
	})
	if err != nil || !present {
		return dst[:mark], false, err
	}
	return append(dst, ']'), true, nil
}

func (l *loop) build(m *materials) (v *identity.Value, present bool, err error) {
	items := []*identity.Value{}
	present, err = l.walk(m, func() error {
		v, present, err := l.do.value(m)
		if err == nil && present {
			items = append(items, v)
		}
		return err
	})
	if err != nil || !present {
		return nil, false, err
	}
	return identity.NewArray(items...), true, nil
}
