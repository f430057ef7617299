package api

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
)

// anyOf is an answer that has one of several shapes.
type anyOf []any

// shapes makes JSON Schemas of the types of answers. Named structs become
// components.
type shapes struct {
	components object
	words      map[reflect.Type][]string
}

func newShapes() *shapes {
	return &shapes{components: object{}, words: map[reflect.Type][]string{
		reflect.TypeFor[onefold.State]():       words(onefold.States()),
		reflect.TypeFor[onefold.Bar]():         words(onefold.Bars()),
		reflect.TypeFor[onefold.HoldReason]():  words(onefold.HoldReasons()),
		reflect.TypeFor[onefold.Role]():        words(onefold.Roles()),
		reflect.TypeFor[onefold.Code]():        codeWords(),
		reflect.TypeFor[onefold.RetryAdvice](): words([]onefold.RetryAdvice{onefold.RetrySame, onefold.RetryChanged, onefold.RetryNever}),
		reflect.TypeFor[onefold.NextAction](): words([]onefold.NextAction{
			onefold.NextAttempt, onefold.NextReplay, onefold.NextLookup, onefold.NextPoll, onefold.NextOperator,
			onefold.NextPayload, onefold.NextPredecessor, onefold.NextNone,
		}),
		reflect.TypeFor[onefold.LearntFrom](): words([]onefold.LearntFrom{
			onefold.LearntFromResponse, onefold.LearntFromLookup, onefold.LearntFromPoll, onefold.LearntFromEvent,
			onefold.LearntFromOperator, onefold.LearntFromAdopted,
		}),
		reflect.TypeFor[onefold.ReviewStatus](): words([]onefold.ReviewStatus{onefold.ReviewOpen, onefold.ReviewResolved}),
		reflect.TypeFor[onefold.AttemptKind]():  words([]onefold.AttemptKind{onefold.Write, onefold.Replay}),
		reflect.TypeFor[onefold.Assertion]():    words([]onefold.Assertion{onefold.AssertsEffect, onefold.AssertsNoEffect, onefold.AssertsNothing}),
		reflect.TypeFor[onefold.Mode]():         words([]onefold.Mode{onefold.ModeAutonomous, onefold.ModeApproval, onefold.ModeDisabled}),
		reflect.TypeFor[onefold.Protection](): words([]onefold.Protection{
			onefold.ProtectionEnforced, onefold.ProtectionReconcilable, onefold.ProtectionDetectable, onefold.ProtectionNone,
		}),
	}}
}

func codeWords() []string {
	var out []string
	for _, p := range onefold.Problems() {
		out = append(out, string(p.Code))
	}
	return out
}

// of returns the schema of a value's type.
func (s *shapes) of(value any) object {
	if several, ok := value.(anyOf); ok {
		list := make([]any, len(several))
		for i := range several {
			list[i] = s.of(several[i])
		}
		// Not oneOf: objects of answers are open, so that a whole operation is also
		// one of which only id and state are described.
		return object{"anyOf": list}
	}
	return s.typeOf(reflect.TypeOf(value))
}

func (s *shapes) typeOf(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[json.RawMessage](), reflect.TypeFor[any]():
		return object{}
	case reflect.TypeFor[shownOperation]():
		return s.of(anyOf{operationView{}, operationBrief{}})
	case reflect.TypeFor[perhapsOperation]():
		return nullable(s.of(anyOf{operationView{}, operationBrief{}}))
	}
	switch t.Kind() {
	case reflect.Pointer:
		return nullable(s.typeOf(t.Elem()))
	case reflect.String:
		out := object{"type": "string"}
		if words := s.words[t]; words != nil {
			out["enum"] = words
		}
		return out
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Slice:
		return object{"type": "array", "items": s.typeOf(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.typeOf(t.Elem())}
	case reflect.Struct:
		return s.component(t)
	default:
		panic("api: an answer holds a " + t.String() + ", which has no schema")
	}
}

// nullable allows null beside a schema.
func nullable(schema object) object {
	if kind, ok := schema["type"].(string); ok {
		schema["type"] = []string{kind, "null"}
		if enum, ok := schema["enum"].([]string); ok {
			values := make([]any, 0, len(enum)+1)
			for _, word := range enum {
				values = append(values, word)
			}
			schema["enum"] = append(values, nil)
		}
		return schema
	}
	if several, ok := schema["anyOf"].([]any); ok {
		return object{"anyOf": append(several, object{"type": "null"})}
	}
	return object{"oneOf": []any{schema, object{"type": "null"}}}
}

// component describes a struct once and refers to it.
func (s *shapes) component(t reflect.Type) object {
	name := componentName(t)
	ref := object{"$ref": "#/components/schemas/" + name}
	if _, done := s.components[name]; done {
		return ref
	}
	s.components[name] = object{} // a type that holds itself ends here
	properties := object{}
	var required []string
	s.fields(t, properties, &required)
	slices.Sort(required)
	s.components[name] = object{"type": "object", "properties": properties, "required": required}
	return ref
}

// fields describes a struct's members, those of embedded structs included.
func (s *shapes) fields(t reflect.Type, properties object, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && tag == "" {
			s.fields(f.Type, properties, required)
			continue
		}
		if tag == "-" || tag == "" {
			continue
		}
		schema := s.typeOf(f.Type)
		if enum := f.Tag.Get("enum"); enum != "" {
			schema = object{"type": "string", "enum": strings.Split(enum, ",")}
			if f.Type.Kind() == reflect.Pointer {
				schema = nullable(schema)
			}
		}
		if doc := f.Tag.Get("doc"); doc != "" {
			schema["description"] = doc
		}
		properties[tag] = schema
		if !strings.Contains(options, "omitempty") {
			*required = append(*required, tag)
		}
	}
}

// componentName is a type's name for readers of the document: operationView is
// Operation, a page of them OperationPage.
func componentName(t reflect.Type) string {
	name := t.Name()
	if generic, inner, ok := strings.Cut(name, "["); ok && (generic == "pageView" || generic == "listView") {
		inner = strings.TrimSuffix(inner, "]")
		name = inner[strings.LastIndexByte(inner, '.')+1:]
		return capital(strings.TrimSuffix(name, "View")) + "Page"
	}
	return capital(strings.TrimSuffix(name, "View"))
}

func capital(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
