package contract

import (
	"strings"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// The template language. A template is a tree of JSON values in which strings
// may refer to the approved request, the operation and the connection:
//
//   - a string that begins with $ is one reference and stands for the value it
//     names, whole objects and numbers with their own digits included (I13):
//     $request/…, $operation/id, $operation/identity, $operation/reference,
//     $connection/account, $connection/params/…;
//   - a trailing ? leaves the member, element, query parameter or header out
//     where the value is absent; without it an absent value is an error. A
//     member whose name itself ends in ? is named by a second one;
//   - {request/…} and the like, without $, inside a string is replaced by the
//     value's text, escaped as the place needs it. An absent optional one leaves
//     the whole string out;
//   - {each: $request/lines, as: line, do: {…}} is the array of what do stands for,
//     once for each element of the array that each refers to; within do, $line is
//     the element and $line/… what lies below. It nests; each may then refer to an
//     outer element. An element whose do is an absent optional reference is left
//     out. Any object of a tree that has the member each with a reference, or do
//     beside it, is one of these;
//   - $$ at the beginning of a string is a plain $; {{ and }} are plain braces.
//
// There is nothing else: no condition, no expression. A frozen request is the
// approved request, rearranged.

// templatePlace is where a template stands; it decides what is allowed and how
// values are escaped.
type templatePlace int

const (
	placeBody   templatePlace = iota // a tree: JSON of a body
	placeCheck                       // a tree: a value of verify or match
	placePath                        // a string: path and query
	placeHeader                      // a string: a header field's value
)

// root is what a reference refers to.
type root string

const (
	rootRequest    root = "request"
	rootOperation  root = "operation"
	rootConnection root = "connection"
	rootAmended    root = "amended"
	// rootAccepted is what the target called the work that it accepted; only a poll
	// can refer to it.
	rootAccepted root = "accepted"
)

// reference is one compiled reference.
type reference struct {
	root   root     // of an element: the name that the loop gives it
	tokens []string // below the root, unescaped
	// loop is the depth of the loop whose element is meant, from 1; 0 where none is.
	loop int
	// pointer is the same as text, for messages.
	pointer  string
	optional bool
}

// String is the reference as it is written behind $ or between braces.
func (r *reference) String() string { return string(r.root) + r.pointer }

// materials is what references are taken from.
type materials struct {
	request    *identity.Value
	op         *onefold.Operation
	connection *Connection
	// elements are those of the loops that are under way, the outermost first;
	// steps counts how often any loop went round, see maxSteps.
	elements []element
	steps    int
}

// element is one element of an array that a loop goes through.
type element struct {
	value *identity.Value
	// pointer is where it stands in the request, empty where it is not from there.
	pointer string
}

// resolve returns the referred value; ok is false where it is absent.
func (m *materials) resolve(r *reference) (v *identity.Value, ok bool) {
	if r.loop > 0 {
		return walk(m.elements[r.loop-1].value, r.tokens)
	}
	switch r.root {
	case rootAccepted:
		if m.op.Accepted == nil || m.op.Accepted.Reference == "" {
			return nil, false
		}
		return identity.NewString(m.op.Accepted.Reference), true
	case rootRequest:
		return walk(m.request, r.tokens)
	case rootOperation:
		text := ""
		switch r.tokens[0] {
		case "id":
			text = m.op.ID
		case "identity":
			text = m.op.Identity
		case "reference":
			text = m.op.Reference
		}
		// An operation without the value would send, or look for, nothing.
		return identity.NewString(text), text != ""
	case rootConnection:
		if r.tokens[0] == "account" {
			return identity.NewString(m.connection.Account), m.connection.Account != ""
		}
		return walk(m.connection.Params, r.tokens[1:])
	case rootAmended:
	}
	return nil, false
}

// place is where a referred value stands, or would stand, in the request; empty
// for what is not from there.
func (m *materials) place(r *reference) string {
	switch {
	case r.loop > 0 && m.elements[r.loop-1].pointer != "":
		return m.elements[r.loop-1].pointer + r.pointer
	case r.loop == 0 && r.root == rootRequest:
		return "/request" + r.pointer
	}
	return ""
}

func (m *materials) missing(r *reference) error { return &missingError{r, m.place(r)} }

func (m *materials) unfit(r *reference, detail string) error {
	return &unfitError{r, m.place(r), detail}
}

// walk follows unescaped pointer tokens from a value; a nil value is absent.
func walk(v *identity.Value, tokens []string) (*identity.Value, bool) {
	if v == nil {
		return nil, false
	}
	for _, token := range tokens {
		switch v.Kind() {
		case identity.Object:
			child, found := v.Get(token)
			if !found {
				return nil, false
			}
			v = child
		case identity.Array:
			i := elementIndex(token)
			if i < 0 || i >= v.Len() {
				return nil, false
			}
			v = v.Index(i)
		default:
			return nil, false
		}
	}
	return v, true
}

// elementIndex is the array index that a pointer token names (RFC 6901), or -1.
func elementIndex(token string) int {
	if token == "" || len(token) > 9 || (token[0] == '0' && len(token) > 1) {
		return -1
	}
	n := 0
	for i := range len(token) {
		if token[i] < '0' || token[i] > '9' {
			return -1
		}
		n = n*10 + int(token[i]-'0')
	}
	return n
}

// parseReference reads a reference without its $ or braces. detail says what is
// wrong with it; unsupported tells a reference that a later release will know.
func parseReference(text string) (r *reference, detail string, unsupported bool) {
	spec, optional := strings.CutSuffix(text, "?")
	name, rest, deep := strings.Cut(spec, "/")
	if deep {
		rest = "/" + rest
	}
	tokens, ok := identity.SplitPointer(rest)
	if !ok {
		return nil, "the reference \"" + text + "\" is not a root and a JSON Pointer", false
	}
	r = &reference{root: root(name), tokens: tokens, pointer: rest, optional: optional}
	switch r.root {
	case rootRequest:
		return r, "", false
	case rootOperation:
		if len(tokens) == 1 && (tokens[0] == "id" || tokens[0] == "identity" || tokens[0] == "reference") {
			return r, "", false
		}
		return nil, "an operation has id, identity and reference to refer to, not \"" + text + "\"", false
	case rootConnection:
		if len(tokens) > 0 && (tokens[0] == "params" || len(tokens) == 1 && tokens[0] == "account") {
			return r, "", false
		}
		return nil, "a connection has account and params to refer to, not \"" + text + "\"", false
	case rootAccepted:
		if len(tokens) == 1 && tokens[0] == "reference" {
			return r, "", false
		}
		return nil, "accepted work has reference to refer to, not \"" + text + "\"", false
	case rootAmended:
		return nil, "references to an amended operation are not supported yet", true
	default:
		return nil, "\"" + text + "\" refers to nothing that is known", false
	}
}

// node is one compiled value of a template tree. Exactly one of its forms is set.
type node struct {
	literal *identity.Value // a value without references
	ref     *reference
	text    *text
	loop    *loop
	items   []*node
	members []memberNode
	kind    identity.Kind // Array or Object, for items and members
}

type memberNode struct {
	name string
	node *node
}

// compiler turns template trees into nodes and collects what is wrong.
type compiler struct {
	place templatePlace
	// polls: the template belongs to a poll of accepted work.
	polls  bool
	loops  []string // names of the elements of the loops around, the outermost first
	faults []Fault
}

func (c *compiler) fault(at, detail, hint string) {
	c.faults = append(c.faults, Fault{Code: onefold.CodeDocumentInvalid, Pointer: at, Detail: detail, Hint: hint})
}

func (c *compiler) unsupported(at, detail string) {
	c.faults = append(c.faults, Fault{Code: onefold.CodeNotSupportedYet, Pointer: at, Detail: detail})
}

// tree compiles a value; what is wrong is reported at its pointer.
func (c *compiler) tree(v *identity.Value, at string) *node {
	switch v.Kind() {
	case identity.String:
		return c.leaf(v.Text(), at)
	case identity.Array:
		n := &node{kind: identity.Array, items: make([]*node, 0, v.Len())}
		for i, item := range v.Items() {
			n.items = append(n.items, c.tree(item, identity.JoinPointer(at, itoa(i))))
		}
		return n
	case identity.Object:
		if isLoop(v) {
			return c.loop(v, at)
		}
		n := &node{kind: identity.Object, members: make([]memberNode, 0, v.Len())}
		for _, m := range v.Members() {
			n.members = append(n.members, memberNode{m.Name, c.tree(m.Value, identity.JoinPointer(at, m.Name))})
		}
		return n
	default:
		return &node{literal: v}
	}
}

// leaf compiles one string of a tree.
func (c *compiler) leaf(s, at string) *node {
	if isReference(s) {
		r := c.reference(s[1:], at)
		if r == nil {
			return &node{literal: identity.NewString(s)}
		}
		return &node{ref: r}
	}
	t := c.text(unescapeDollar(s), at)
	if plain, ok := t.plain(); ok {
		return &node{literal: identity.NewString(plain)}
	}
	return &node{text: t}
}

// reference compiles one reference and reports what is wrong with it.
func (c *compiler) reference(spec, at string) *reference {
	if r := c.elementReference(spec); r != nil {
		return r
	}
	r, detail, unsupported := parseReference(spec)
	switch {
	case unsupported:
		c.unsupported(at, detail)
	case detail != "":
		c.fault(at, detail, "a plain $ at the beginning is written $$, plain braces {{ and }}")
	case r.root == rootAccepted && !c.polls:
		c.fault(at, "only a poll can refer to what the target accepted", "")
	case c.place == placeCheck && r.root == rootOperation && r.optional:
		c.fault(at, "an operation always has its "+r.tokens[0]+": the ? means nothing", "")
	default:
		return r
	}
	return nil
}

// isReference says whether a string of a tree is one reference.
func isReference(s string) bool {
	return strings.HasPrefix(s, "$") && !strings.HasPrefix(s, "$$")
}

// unescapeDollar turns the $$ at the beginning of a string into $.
func unescapeDollar(s string) string {
	if strings.HasPrefix(s, "$$") {
		return s[1:]
	}
	return s
}
