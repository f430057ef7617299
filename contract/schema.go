package contract

import (
	"encoding/json"

	"github.com/onefold-dev/onefold/identity"
)

// Schema is the published JSON Schema (2020-12) of a kind of document, indented,
// with a line feed at its end; nil for an unknown kind. It is written from the
// tables that decoding checks by. What JSON Schema cannot say (references
// between members, templates, time-outs against windows) decoding and Lint say
// alone: a document that validates may still be refused.
func Schema(kind string) []byte {
	o := shapeOf(Kind(kind))
	if o == nil {
		return nil
	}
	head := []identity.Member{
		entry("$schema", identity.NewString("https://json-schema.org/draft/2020-12/schema")),
		entry("title", identity.NewString("onefold "+kind)),
	}
	members := o.schema().Members()
	if Kind(kind) == KindTarget {
		members = targetSchema()
	}
	v := identity.NewObject(append(head, members...)...)
	// Indenting JSON that was just written cannot fail.
	out, err := json.MarshalIndent(json.RawMessage(v.AppendJSON(nil)), "", "  ")
	if err != nil {
		return nil
	}
	return append(out, '\n')
}

// shapeOf is the table of a kind of document; nil for an unknown kind.
func shapeOf(kind Kind) *objectShape {
	switch kind {
	case KindCapability:
		return capabilityShape()
	case KindTarget:
		return targetShape()
	case KindConnection:
		return connectionShape()
	}
	return nil
}

func entry(name string, v *identity.Value) identity.Member {
	return identity.Member{Name: name, Value: v}
}

func typeIs(name string, more ...identity.Member) *identity.Value {
	return identity.NewObject(append([]identity.Member{entry("type", identity.NewString(name))}, more...)...)
}

func stringValues(list []string) []*identity.Value {
	out := make([]*identity.Value, len(list))
	for i, s := range list {
		out[i] = identity.NewString(s)
	}
	return out
}

func anyOf(shapes ...*identity.Value) *identity.Value {
	return identity.NewObject(entry("anyOf", identity.NewArray(shapes...)))
}

func (o *objectShape) schema() *identity.Value {
	properties := make([]identity.Member, 0, len(o.members))
	var required []string
	for _, m := range o.members {
		described := append([]identity.Member{entry("description", identity.NewString(m.doc))}, m.shape.schema().Members()...)
		properties = append(properties, entry(m.name, identity.NewObject(described...)))
		if m.required {
			required = append(required, m.name)
		}
	}
	members := []identity.Member{entry("properties", identity.NewObject(properties...))}
	if len(required) > 0 {
		members = append(members, entry("required", identity.NewArray(stringValues(required)...)))
	}
	return typeIs("object", append(members, entry("additionalProperties", identity.NewBool(false)))...)
}

func (t textShape) schema() *identity.Value {
	var more []identity.Member
	if t.pattern != nil {
		more = append(more, entry("pattern", identity.NewString(t.pattern.String())))
	}
	if t.max > 0 {
		more = append(more, entry("maxLength", identity.NewInteger(int64(t.max))))
	}
	return typeIs("string", more...)
}

func (w wordShape) schema() *identity.Value {
	return identity.NewObject(entry("enum", identity.NewArray(stringValues(w.words)...)))
}

// durationSchemaPattern is Go's durations with days in front.
const durationSchemaPattern = `^([0-9]+d)?([0-9]+(\.[0-9]*)?(ns|us|µs|μs|ms|s|m|h))*$`

func (d durationShape) schema() *identity.Value {
	duration := typeIs("string", entry("pattern", identity.NewString(durationSchemaPattern)), entry("minLength", identity.NewInteger(2)))
	if len(d.words) == 0 {
		return duration
	}
	return anyOf(duration, identity.NewObject(entry("enum", identity.NewArray(stringValues(d.words)...))))
}

func (n integerShape) schema() *identity.Value {
	return typeIs("integer", entry("minimum", identity.NewInteger(int64(n.min))), entry("maximum", identity.NewInteger(int64(n.max))))
}

func (n numberShape) schema() *identity.Value {
	bound := "minimum"
	if n.over {
		bound = "exclusiveMinimum"
	}
	return typeIs("number", entry(bound, identity.NewInteger(int64(n.min))), entry("maximum", identity.NewInteger(int64(n.max))))
}

func (boolShape) schema() *identity.Value { return typeIs("boolean") }

func (s constShape) schema() *identity.Value { return identity.NewObject(entry("const", s.value)) }

func (a anyShape) schema() *identity.Value {
	if a.object {
		return typeIs("object")
	}
	return identity.NewObject()
}

func (l laterShape) schema() *identity.Value {
	return identity.NewObject(entry("enum", identity.NewArray(l.same...)))
}

func (l listShape) schema() *identity.Value {
	more := []identity.Member{entry("items", l.of.schema())}
	if l.min > 0 {
		more = append(more, entry("minItems", identity.NewInteger(int64(l.min))))
	}
	if l.distinct {
		more = append(more, entry("uniqueItems", identity.NewBool(true)))
	}
	return typeIs("array", more...)
}

func (k kindShape) schema() *identity.Value {
	var choices []*identity.Value
	for _, choice := range []shape{k.null, k.object, k.array, k.text, k.boolean, k.other} {
		if choice != nil {
			choices = append(choices, choice.schema())
		}
	}
	return anyOf(choices...)
}

func (m mapShape) schema() *identity.Value {
	more := []identity.Member{entry("additionalProperties", m.values.schema())}
	if m.name.pattern != nil || m.name.max > 0 {
		more = append(more, entry("propertyNames", m.name.schema()))
	}
	if m.min > 0 {
		more = append(more, entry("minProperties", identity.NewInteger(int64(m.min))))
	}
	return typeIs("object", more...)
}

func (d documentedShape) schema() *identity.Value {
	return anyOf(d.of.schema(), identity.NewObject(entry("const", identity.NewString(undocumented))), d.guess().schema())
}

func (siblingAssumption) schema() *identity.Value { return assumption(anyShape{}).schema() }
