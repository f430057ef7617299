package contract

import (
	"slices"
	"strings"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// message is a compiled outgoing request.
type message struct {
	method string
	path   *pathTemplate
	// headers are in the order in which they are sent, but for Content-Type and
	// Accept, which stand first and last unless the document names them itself.
	headers []headerTemplate
	typed   bool // the document names Content-Type
	accepts bool // the document names Accept
	body    *node
}

// check is one compiled member of verify or match.
type check struct {
	pointer string
	tokens  []string
	value   *node
}

// program is a target operation, compiled: what it takes to render its requests
// and to read its answers.
type program struct {
	op      *TargetOperation
	write   message
	rules   []rule
	verify  []check
	lookups []lookup
	poll    *lookup // nil where nothing is polled
	// accepted is where the target's name for accepted work stands.
	accepted *locator
	// expressions: a condition of a response rule looks at the request.
	expressions bool
	// own: a look-up can tell whether a record that the target says exists carries
	// this operation's own derived value (M11b).
	own bool
}

// checkTemplates reports what is wrong with the templates of a target
// operation, each fault with its pointer into the document. An operation
// without faults compiles.
func checkTemplates(op *TargetOperation) []Fault {
	_, faults := compileOperation(op)
	return faults
}

// compileOperation compiles a target operation. The program may be used only if
// there are no faults.
func compileOperation(op *TargetOperation) (*program, []Fault) {
	if op.Go != nil {
		return compileGoOperation(op)
	}
	c := &operationCompiler{}
	p := &program{op: op}
	p.write = c.message(op.Pointer+"/write", op.Write.Method, op.Write.Path, op.Write.Headers, op.Write.Body)
	c.carrier(op, &p.write)
	p.verify = c.checks(op.Verify, op.Pointer+"/verify")
	for i := range op.Responses {
		p.rules = append(p.rules, c.rule(&op.Responses[i]))
	}
	for i := range op.Lookups {
		p.lookups = append(p.lookups, c.lookup(&op.Lookups[i], op.States))
	}
	c.accepted(op, p)
	for i := range p.rules {
		p.expressions = p.expressions || p.rules[i].when.expression != nil
	}
	p.own = slices.Contains(op.InDoubt, onefold.StepLookup) &&
		slices.ContainsFunc(p.lookups, func(l lookup) bool { return l.own != "" && carries(op, l.own) })
	return p, c.faults
}

// accepted compiles how accepted work is waited for. Its condition is asked
// last, as one more response rule.
func (c *operationCompiler) accepted(op *TargetOperation, p *program) {
	a := op.Accepted
	if a == nil {
		return
	}
	p.accepted = c.locator(a.Reference, a.Pointer+"/reference")
	if a.When != nil {
		p.rules = append(p.rules, c.rule(&Response{Pointer: a.Pointer, Name: "accepted", When: *a.When, Outcome: OutcomeAccepted}))
	}
	c.polls = true
	poll := c.lookup(&a.Poll, a.States)
	c.polls = false
	p.poll = &poll
}

// carries says whether the write carries one of the operation's derived values.
func carries(op *TargetOperation, member string) bool {
	if member == "identity" && op.Identity.Carrier != nil {
		return true
	}
	return slices.ContainsFunc(writtenTexts(op), func(s string) bool { return strings.Contains(s, "operation/"+member) })
}

// operationCompiler collects faults over all templates of an operation.
type operationCompiler struct {
	polls  bool // what is compiled belongs to a poll
	faults []Fault
}

func (c *operationCompiler) fault(at, detail, hint string) {
	c.faults = append(c.faults, Fault{Code: onefold.CodeDocumentInvalid, Pointer: at, Detail: detail, Hint: hint})
}

// in runs a compiler for one place and keeps its faults.
func (c *operationCompiler) in(place templatePlace, run func(*compiler)) {
	inner := compiler{place: place, polls: c.polls}
	run(&inner)
	c.faults = append(c.faults, inner.faults...)
}

func (c *operationCompiler) message(at, method, path string, headers []HeaderTemplate, body *identity.Value) message {
	m := message{method: method}
	c.in(placePath, func(k *compiler) { m.path = k.path(path, at+"/path") })
	for _, h := range headers {
		c.header(&m, h, identity.JoinPointer(at+"/headers", h.Name))
	}
	if body != nil {
		c.in(placeBody, func(k *compiler) { m.body = k.tree(body, at+"/body") })
	}
	return m
}

// header compiles one header field and adds it to the message.
func (c *operationCompiler) header(m *message, h HeaderTemplate, at string) {
	lower := strings.ToLower(h.Name)
	switch {
	case lower == "" || strings.IndexFunc(lower, func(r rune) bool { return r > 0x7F || !isToken(byte(r)) }) >= 0:
		c.fault(at, "\""+h.Name+"\" is not the name of a header", "")
		return
	case ownedByTransport(lower):
		c.fault(at, "the header "+h.Name+" belongs to the transport or to the connection's auth", "leave it out")
		return
	}
	for _, have := range m.headers {
		if strings.EqualFold(have.name, h.Name) {
			c.fault(at, "the header "+h.Name+" is set twice", "")
			return
		}
	}
	m.typed = m.typed || lower == "content-type"
	m.accepts = m.accepts || lower == "accept"
	out := headerTemplate{name: h.Name}
	c.in(placeHeader, func(k *compiler) { out.text = k.header(h.Value, at) })
	m.headers = append(m.headers, out)
}

// ownedByTransport names the headers that frame or route a request, or carry
// credentials: a frozen request has none of them (M2a).
func ownedByTransport(lower string) bool {
	switch lower {
	case "host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer",
		"expect", "authorization", "proxy-authorization", "proxy-connection", "cookie", "user-agent",
		"accept-encoding", "content-encoding":
		return true
	}
	return false
}

// carrier places the request identity where the target wants it, and the
// companions beside it. Their headers go before the document's own.
func (c *operationCompiler) carrier(op *TargetOperation, m *message) {
	own := m.headers
	m.headers = nil
	at := op.Pointer + "/identity"
	if place := op.Identity.Carrier; place != nil {
		at := at + "/carrier"
		switch place.In {
		case "header":
			c.header(m, HeaderTemplate{place.Name, "{operation/identity}"}, at+"/name")
		case "query":
			name := string(appendPercent(nil, place.Name))
			m.path.query = append(m.path.query, param{&text{parts: []part{
				{plain: name + "="},
				{ref: operationReference("identity")},
			}}})
		case "body":
			c.carrierInBody(place, m, at+"/name")
		case "path":
			if !m.path.holdsIdentity() {
				c.fault(at, "the path does not hold {operation/identity}", "")
			}
		}
	}
	for _, h := range op.Identity.Companions {
		c.header(m, h, identity.JoinPointer(at+"/companions", h.Name))
	}
	for _, h := range own {
		for _, have := range m.headers {
			if strings.EqualFold(have.name, h.name) {
				c.fault(identity.JoinPointer(op.Pointer+"/write/headers", h.name), "the header "+h.name+" is set twice", "the identity's carrier and companions set it already")
			}
		}
	}
	m.headers = append(m.headers, own...)
}

func (c *operationCompiler) carrierInBody(place *CarrierPlace, m *message, at string) {
	tokens, ok := identity.SplitPointer(place.Name)
	if !ok || len(tokens) == 0 {
		c.fault(at, "the identity's place in the body is a JSON Pointer to a member", "")
		return
	}
	if m.body == nil {
		m.body = &node{kind: identity.Object}
	}
	if err := m.body.put(tokens, "identity"); err != nil {
		c.fault(at, "the body has something else at the identity's place", "let the template say $operation/identity there, or nothing")
	}
}

// holdsIdentity says whether a segment of the path refers to the identity.
func (p *pathTemplate) holdsIdentity() bool {
	for _, segment := range p.segments {
		for i := range segment.parts {
			if r := segment.parts[i].ref; r != nil && r.root == rootOperation && r.tokens[0] == "identity" {
				return true
			}
		}
	}
	return false
}

// checks compiles the members of verify or match.
func (c *operationCompiler) checks(list []Check, at string) []check {
	out := make([]check, 0, len(list))
	for _, k := range list {
		place := identity.JoinPointer(at, k.Pointer)
		tokens, ok := identity.SplitPointer(k.Pointer)
		if !ok {
			c.fault(place, "\""+k.Pointer+"\" is not a JSON Pointer", "")
			continue
		}
		one := check{pointer: k.Pointer, tokens: tokens}
		c.in(placeCheck, func(inner *compiler) { one.value = inner.tree(k.Value, place) })
		out = append(out, one)
	}
	return out
}

// locator is a compiled Locator.
type locator struct {
	header string
	tokens []string
}

func (c *operationCompiler) locator(l *Locator, at string) *locator {
	if l == nil {
		return nil
	}
	if l.Header != "" {
		return &locator{header: l.Header}
	}
	return &locator{tokens: c.pointer(l.Pointer, at)}
}

func (c *operationCompiler) pointer(pointer, at string) []string {
	tokens, ok := identity.SplitPointer(pointer)
	if !ok {
		c.fault(at, "\""+pointer+"\" is not a JSON Pointer", "")
	}
	return tokens
}
