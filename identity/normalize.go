package identity

import (
	"fmt"
	"slices"
	"strconv"
)

// RuleError says that a request's value does not fit a comparison rule: the
// answer is request_invalid (I11a). Pointer names the value in the request, with
// array indexes filled in; Rule is the rule's name; Detail contains nothing of
// the request.
type RuleError struct {
	Pointer string
	Rule    string
	Detail  string
}

// Error returns pointer, rule and detail in one line.
func (e *RuleError) Error() string {
	return fmt.Sprintf("%s (%s): %s", e.Pointer, e.Rule, e.Detail)
}

// Normalize returns the request as the rules leave it (I11a), ready for
// Canonical and Fingerprint. The request itself is not changed; the result
// shares with it what no rule touched. Every error is a *RuleError.
//
// Rules apply from the deepest pointer to the shallowest, those of one depth in
// the order written, those under one pointer in the order written. A pointer
// that finds nothing does nothing. Where the specification leaves a choice:
//
//   - absent compares what the rules before it left with its own value as the
//     same rules leave it; write it after decimal or text if "0.00" or " " shall
//     count as absent too. It leaves out members of objects only, because an
//     array's element is never missing.
//   - ignore also removes elements of arrays. Indexes in pointers are those of
//     the request as submitted.
//   - quantity takes its unit as it was before any quantity rewrote it, so
//     several quantities may share a unit. A missing unit is the absent value
//     of the rule on the unit's own pointer, if there is one; otherwise refused.
//   - a quantity's result must itself be within the bounds of I9.
func (r *Rules) Normalize(request *Value) (*Value, error) {
	if r == nil || len(r.groups) == 0 || request == nil {
		return request, nil
	}
	n := normalizer{}
	depth := len(r.groups[0].tokens)
	for _, g := range r.groups {
		if len(g.tokens) < depth {
			// What was left out stays as a gap while rules of its depth run, so
			// that indexes hold; shallower rules see the values without it.
			n.closeGaps()
			depth = len(g.tokens)
		}
		n.group = g
		next, err := n.descend(site{}, request, 0)
		if err != nil {
			return nil, err
		}
		request = next
	}
	return n.finish(request), nil
}

// normalizer is one run of rules over one request. It copies each container
// before it first changes something in it ("thaws" it) and works in the copies.
type normalizer struct {
	group  *group
	rule   rule
	path   []step
	thawed []*Value
	gaps   []*Value // containers with gaps (nil values)
	units  map[unitPlace]string
}

// unitPlace is a member that holds a unit: the thawed object and the name.
type unitPlace struct {
	object *Value
	name   string
}

// descend applies the current group to everything that its pointer names from
// level on, and returns the value that takes v's place.
func (n *normalizer) descend(at site, v *Value, level int) (*Value, error) {
	if v == nil {
		return nil, nil //nolint:nilnil // a gap stays one
	}
	if level == len(n.group.tokens) {
		for _, apply := range n.group.rules {
			next, err := n.apply(apply, at, v)
			if err != nil || next == nil {
				return nil, err
			}
			v = next
		}
		return v, nil
	}
	t := n.group.tokens[level]
	first, end := n.reach(v, t)
	for i := first; i < end; i++ {
		// The rule quantity changes the object around its number.
		if level == len(n.group.tokens)-1 && n.group.hasQuantity() {
			v = n.thaw(v)
		}
		child := n.enter(v, i)
		next, err := n.descend(site{parent: v}, child, level+1)
		if err != nil {
			return nil, err
		}
		n.path = n.path[:len(n.path)-1]
		if next == child {
			continue
		}
		v = n.thaw(v)
		n.put(v, i, next)
	}
	return v, nil
}

func (g *group) hasQuantity() bool {
	return slices.ContainsFunc(g.rules, func(r rule) bool { _, ok := r.(*quantityRule); return ok })
}

// reach returns the range of places in a container that a token stands for.
func (n *normalizer) reach(v *Value, t token) (first, end int) {
	switch {
	case t.star:
		return 0, v.Len()
	case v.kind == Object:
		if i := v.find(t.name); i >= 0 {
			return i, i + 1
		}
	case v.kind == Array && t.index >= 0 && t.index < v.Len():
		return t.index, t.index + 1
	}
	return 0, 0
}

// enter puts place i of a container on the path and returns what is there.
func (n *normalizer) enter(v *Value, i int) *Value {
	if v.kind == Array {
		n.path = append(n.path, step{index: i})
		return v.kids.items[i]
	}
	m := &v.kids.members[i]
	n.path = append(n.path, step{name: m.Name, index: -1})
	return m.Value
}

// put stores a value, or a gap, at place i of a thawed container.
func (n *normalizer) put(v *Value, i int, next *Value) {
	if next == nil && !v.gapped {
		v.gapped = true
		n.gaps = append(n.gaps, v)
	}
	if v.kind == Array {
		v.kids.items[i] = next
		return
	}
	v.kids.members[i].Value = next
}

// apply runs one rule on one value; null passes those that do not take it.
func (n *normalizer) apply(r rule, at site, v *Value) (*Value, error) {
	if v.kind == Null && !r.takesNull() {
		return v, nil
	}
	n.rule = r
	return r.apply(n, at, v)
}

// thaw returns a copy of a container that the run may change: v itself if it
// is one already.
func (n *normalizer) thaw(v *Value) *Value {
	if v.thawed {
		return v
	}
	own := &Value{kind: v.kind, thawed: true, kids: &children{
		items: slices.Clone(v.Items()), members: slices.Clone(v.Members()),
	}}
	n.thawed = append(n.thawed, own)
	return own
}

// closeGaps takes what was left out from its containers.
func (n *normalizer) closeGaps() {
	for _, v := range n.gaps {
		v.gapped, v.moved = false, true
		v.kids.items = slices.DeleteFunc(v.kids.items, func(item *Value) bool { return item == nil })
		v.kids.members = slices.DeleteFunc(v.kids.members, func(m Member) bool { return m.Value == nil })
	}
	n.gaps = n.gaps[:0]
}

// finish ends the run: from here on nothing of the result changes.
func (n *normalizer) finish(v *Value) *Value {
	n.closeGaps()
	for _, own := range n.thawed {
		own.thawed, own.moved = false, false
	}
	return v
}

// takeUnit returns the unit that a quantity in the given thawed object came in
// with, and leaves the base unit in its place.
func (n *normalizer) takeUnit(r *quantityRule, object *Value) (unit, complaint string) {
	const missing = "the quantity's unit is missing"
	if object.Kind() != Object {
		return "", "a quantity and its unit are members of one object"
	}
	last := len(r.unitTokens) - 1
	for _, t := range r.unitTokens[:last] {
		i, end := n.reach(object, t)
		if i == end || object.Index(i) == nil {
			return "", missing
		}
		if kind := object.Index(i).Kind(); kind != Object && kind != Array {
			return "", "a unit is a member of an object"
		}
		inner := n.thaw(object.Index(i))
		n.put(object, i, inner)
		object = inner
	}
	if object.kind != Object {
		return "", "a unit is a member of an object"
	}
	name := r.unitTokens[last].name
	i := object.find(name)
	var found *Value
	if i >= 0 {
		found = object.kids.members[i].Value
	}
	if found == nil {
		found = r.missing
	}
	place := unitPlace{object: object, name: name}
	unit, known := n.units[place]
	if !known {
		if found == nil {
			return "", missing
		}
		if found.kind != String {
			return "", "a unit is a string"
		}
		unit = found.text
	}
	if n.units == nil {
		n.units = map[unitPlace]string{}
	}
	n.units[place] = unit
	base := NewString(r.base)
	if i < 0 {
		object.kids.members = append(object.kids.members, Member{Name: name, Value: base, NameOffset: -1})
		return unit, ""
	}
	object.kids.members[i].Value = base
	return unit, ""
}

// refuse says that the value at the current path does not fit the current rule.
func (n *normalizer) refuse(detail string) error { return n.refuseAt("", detail) }

// refuseAt does so for another place: an element under the current path or, for
// a unit, a pointer from the object around it.
func (n *normalizer) refuseAt(pointer, detail string) error {
	path := n.path
	if _, quantity := n.rule.(*quantityRule); quantity && pointer != "" {
		path = path[:len(path)-1]
	}
	return &RuleError{Pointer: pointerOf("", path) + pointer, Rule: n.rule.name(), Detail: detail}
}

// elementPointer names an element of the array at the current path; the array
// itself, if elements before it may have been left out.
func elementPointer(array *Value, i int) string {
	if array.moved {
		return ""
	}
	return "/" + strconv.Itoa(i)
}
