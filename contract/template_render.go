package contract

import "github.com/onefold-dev/onefold/identity"

// leaf returns what a reference, a text or a literal stands for; present is
// false where an optional reference is absent.
func (n *node) leaf(m *materials) (v *identity.Value, present bool, err error) {
	switch {
	case n.ref != nil:
		v, ok := m.resolve(n.ref)
		if !ok && !n.ref.optional {
			return nil, false, m.missing(n.ref)
		}
		return v, ok, nil
	case n.text != nil:
		out, present, err := n.text.render(nil, m, escapePlain)
		if err != nil || !present {
			return nil, false, err
		}
		return identity.NewString(string(out)), true, nil
	default:
		return n.literal, true, nil
	}
}

// appendJSON appends the tree as compact JSON: members in the template's order,
// numbers with their own digits (I13). present is false where the whole tree is
// an absent optional reference.
func (n *node) appendJSON(dst []byte, m *materials) (out []byte, present bool, err error) {
	if n.loop != nil {
		return n.loop.appendJSON(dst, m)
	}
	switch n.kind {
	case identity.Array:
		dst = append(dst, '[')
		empty := len(dst)
		for _, item := range n.items {
			if dst, err = item.appendItem(dst, empty, m); err != nil {
				return dst, false, err
			}
		}
		dst = append(dst, ']')
	case identity.Object:
		dst = append(dst, '{')
		empty := len(dst)
		for i := range n.members {
			mark := len(dst)
			if mark > empty {
				dst = append(dst, ',')
			}
			dst = identity.NewString(n.members[i].name).AppendJSON(dst)
			dst = append(dst, ':')
			if dst, present, err = n.members[i].node.appendJSON(dst, m); err != nil {
				return dst, false, err
			}
			if !present {
				dst = dst[:mark]
			}
		}
		dst = append(dst, '}')
	default:
		v, present, err := n.leaf(m)
		if err != nil || !present {
			return dst, false, err
		}
		dst = v.AppendJSON(dst)
	}
	if len(dst) > maxBody {
		return dst, false, errTooLong
	}
	return dst, true, nil
}

// appendItem appends the tree as one element of an array whose first element
// begins at start, or nothing where it is absent.
func (n *node) appendItem(dst []byte, start int, m *materials) ([]byte, error) {
	mark := len(dst)
	if mark > start {
		dst = append(dst, ',')
	}
	next, present, err := n.appendJSON(dst, m)
	if err != nil || present {
		return next, err
	}
	return next[:mark], nil
}

// value builds what the tree stands for.
func (n *node) value(m *materials) (v *identity.Value, present bool, err error) {
	if n.loop != nil {
		return n.loop.build(m)
	}
	switch n.kind {
	case identity.Array:
		items := make([]*identity.Value, 0, len(n.items))
		for _, item := range n.items {
			v, present, err := item.value(m)
			if err != nil {
				return nil, false, err
			}
			if present {
				items = append(items, v)
			}
		}
		return identity.NewArray(items...), true, nil
	case identity.Object:
		members := make([]identity.Member, 0, len(n.members))
		for i := range n.members {
			v, present, err := n.members[i].node.value(m)
			if err != nil {
				return nil, false, err
			}
			if present {
				members = append(members, identity.Member{Name: n.members[i].name, Value: v})
			}
		}
		return identity.NewObject(members...), true, nil
	default:
		return n.leaf(m)
	}
}

// isOperationValue says whether the node is the plain reference to one of the
// operation's values.
func (n *node) isOperationValue(member string) bool {
	return n.ref != nil && n.ref.root == rootOperation && n.ref.tokens[0] == member
}

// put places an operation's value at a place of a body, making objects on the
// way. It fails where something else stands there, or on the way.
func (n *node) put(tokens []string, member string) error {
	if n.kind != identity.Object {
		return errNoObject
	}
	at := -1
	for i := range n.members {
		if n.members[i].name == tokens[0] {
			at = i
		}
	}
	if len(tokens) == 1 {
		switch {
		case at < 0:
			n.members = append(n.members, memberNode{tokens[0], &node{ref: operationReference(member)}})
			return nil
		case n.members[at].node.isOperationValue(member):
			return nil
		default:
			return errNoObject
		}
	}
	if at < 0 {
		n.members = append(n.members, memberNode{tokens[0], &node{kind: identity.Object}})
		at = len(n.members) - 1
	}
	return n.members[at].node.put(tokens[1:], member)
}
