package contract

import (
	"slices"
	"strings"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// maxAnswer is the longest body that is read as JSON: a page of a look-up with
// hundreds of records fits, and a hostile one costs some tens of megabytes at
// most. A longer body counts as unreadable.
const maxAnswer = 2 << 20

// reading says how far a body could be read.
type reading int

const (
	bodyEmpty   reading = iota // whole, and nothing in it
	bodyJSON                   // whole and JSON
	bodyCut                    // not read as announced, for whatever reason
	bodyStrange                // whole, but no JSON that has one meaning
)

// answer is an Exchange with a status, as rules see it.
type answer struct {
	x       *onefold.Exchange
	reading reading
	body    *identity.Value // nil unless bodyJSON
	// cel is the answer as expressions see it, made when the first one asks.
	cel map[string]any
}

// readAnswer reads the body strictly: duplicate members, invalid UTF-8 or too
// deep nesting make it strange, because two readers could understand it
// differently (I10).
func readAnswer(x *onefold.Exchange) *answer {
	a := &answer{x: x}
	switch {
	case !x.Complete || x.Failure != "":
		a.reading = bodyCut
	case len(x.Body) == 0:
		a.reading = bodyEmpty
	default:
		body, err := identity.Parse(x.Body, identity.Limits{MaxBytes: maxAnswer})
		if err != nil {
			a.reading = bodyStrange
			return a
		}
		a.reading, a.body = bodyJSON, body
	}
	return a
}

// success says whether the status line says that the target did what it was
// asked.
func (a *answer) success() bool { return a.x.Status >= 200 && a.x.Status <= 299 }

// header returns the value of a header that has one. Where it comes several times
// with different values it has none: whoever takes the first reads what suits him.
func (a *answer) header(name string) (value string, ok bool) {
	for i := range a.x.Headers {
		if !strings.EqualFold(a.x.Headers[i].Name, name) {
			continue
		}
		if ok && a.x.Headers[i].Value != value {
			return "", false
		}
		value, ok = a.x.Headers[i].Value, true
	}
	return value, ok
}

// hasHeader says whether a header has one of the values. It is unclear where some of
// its lines do and others do not.
func (a *answer) hasHeader(name string, values []string) truth {
	with, without := false, false
	for i := range a.x.Headers {
		if strings.EqualFold(a.x.Headers[i].Name, name) {
			has := slices.Contains(values, a.x.Headers[i].Value)
			with, without = with || has, without || !has
		}
	}
	switch {
	case with && without:
		return unclear
	case with:
		return yes
	}
	return no
}

// truth is the answer to a question that an unreadable body leaves open.
type truth int

const (
	no truth = iota
	yes
	unclear
)

// rule is a compiled response rule.
type rule struct {
	*Response
	when      condition
	reference *locator
	code      *locator
}

// condition is a compiled When.
type condition struct {
	When
	json       []jsonCondition
	expression *expression // nil for none
}

type jsonCondition struct {
	tokens []string
	values []*identity.Value
}

func (c *operationCompiler) rule(r *Response) rule {
	return rule{
		Response:  r,
		when:      c.condition(r.When, r.Pointer+"/when"),
		reference: c.locator(r.Reference, r.Pointer+"/reference"),
		code:      c.locator(r.Code, r.Pointer+"/code"),
	}
}

func (c *operationCompiler) condition(w When, at string) condition {
	out := condition{When: w}
	for _, j := range w.JSON {
		out.json = append(out.json, jsonCondition{c.pointer(j.Pointer, identity.JoinPointer(at+"/json", j.Pointer)), j.Values})
	}
	if w.Cel != "" {
		expression, detail := compileExpression(w.Cel)
		if detail != "" {
			c.fault(at+"/cel", detail, "it may use response.status, response.headers, response.json, request and clean, and must be true or false")
		}
		out.expression = expression
	}
	return out
}

// holds says whether a condition holds for an answer. It is unclear where all
// that can be seen holds and the rest would stand in a body that could not be
// read (a cut 409 may be any of the contract's 409s), an expression failed, or a
// header says both.
func (c *condition) holds(a *answer, m *materials, clean bool) truth {
	if c.Clean != nil && *c.Clean != clean {
		return no
	}
	if len(c.Status) > 0 && !matchesStatus(c.Status, a.x.Status) {
		return no
	}
	result := yes
	for i := range c.Headers {
		switch a.hasHeader(c.Headers[i].Name, c.Headers[i].Values) {
		case no:
			return no
		case unclear:
			result = unclear
		case yes:
		}
	}
	if len(c.json) > 0 && (a.reading == bodyCut || a.reading == bodyStrange) {
		return unclear
	}
	for i := range c.json {
		v, ok := walk(a.body, c.json[i].tokens)
		if !ok || !equalsAny(v, c.json[i].values) {
			return no
		}
	}
	if c.expression != nil {
		switch c.expression.holds(a, m, clean) {
		case no:
			return no
		case unclear:
			return unclear
		case yes:
		}
	}
	return result
}

func matchesStatus(list []StatusMatch, status int) bool {
	for _, m := range list {
		if m.Matches(status) {
			return true
		}
	}
	return false
}

// equalsAny compares numbers by value and everything else as JSON.
func equalsAny(v *identity.Value, list []*identity.Value) bool {
	for _, one := range list {
		if identity.EqualJSON(v, one) {
			return true
		}
	}
	return false
}

// maxReference bounds a target's reference: it is stored, indexed and shown, and
// no system's own reference is longer. A longer one is unreadable.
const maxReference = 512

// read returns the text at a place of the answer or of a record in it: a string
// or a number with its own digits. Anything else, an empty text, one that is
// too long or holds control characters is unreadable.
func (l *locator) read(a *answer, record *identity.Value) (string, bool) {
	if l == nil {
		return "", false
	}
	if l.header != "" {
		value, ok := a.header(l.header)
		return value, ok && readable(value)
	}
	v, ok := walk(record, l.tokens)
	if !ok || v.Kind() == identity.Bool {
		return "", false
	}
	value, ok := scalarText(v)
	return value, ok && readable(value)
}

func readable(s string) bool {
	return len(s) <= maxReference && onefold.ReadableReference(s)
}
