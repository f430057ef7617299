package contract

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

const (
	// schemaURL names a request schema to the compiler. Nothing is ever fetched.
	schemaURL = "https://onefold.invalid/request.json"
	// maxRequestFaults bounds the faults of one request that are told: enough to
	// mend it in one go, and an answer that stays small.
	maxRequestFaults = 50
	// maxWideNumbers bounds the numbers of a request whose exponent is far from
	// zero. The schema's arithmetic writes them out in full, and a megabyte of
	// 1e10000 would keep a processor busy for seconds; no business document has
	// more than a few.
	maxWideNumbers = 100
	// wideExponent is from where a number counts as wide: every float and every
	// amount lies below it.
	wideExponent = 400
)

// requestSchema is a compiled JSON Schema of requests.
type requestSchema struct{ schema *jsonschema.Schema }

// compileSchema compiles a request's JSON Schema: draft 2020-12, formats
// asserted, numbers exact, references only within the schema itself. The error
// says what is wrong, without a place.
func compileSchema(v *identity.Value) (*requestSchema, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaURL, schemaValue(v)); err != nil {
		return nil, fmt.Errorf("the schema cannot be read: %w", err)
	}
	s, err := c.Compile(schemaURL)
	if err != nil {
		return nil, fmt.Errorf("the schema does not compile: %w", err)
	}
	return &requestSchema{s}, nil
}

// noLoader refuses every reference that leaves the schema: a contract means the
// same wherever and whenever it is read.
type noLoader struct{}

var errRemote = errors.New("a schema may not refer to anything outside itself")

func (noLoader) Load(string) (any, error) { return nil, errRemote }

// schemaValue is a value as the validator takes it, numbers with their digits.
func schemaValue(v *identity.Value) any {
	switch v.Kind() {
	case identity.Bool:
		return v.Bool()
	case identity.Number:
		return json.Number(v.Number())
	case identity.String:
		return v.Text()
	case identity.Array:
		list := make([]any, 0, v.Len())
		for _, item := range v.Items() {
			list = append(list, schemaValue(item))
		}
		return list
	case identity.Object:
		object := make(map[string]any, v.Len())
		for _, m := range v.Members() {
			object[m.Name] = schemaValue(m.Value)
		}
		return object
	default:
		return nil
	}
}

// check holds a request against the schema. Faults have pointers that begin
// with /request and name rules and bounds of the schema, never a value of the
// request; they come in order of their pointers.
func (s *requestSchema) check(v *identity.Value) []onefold.Fault {
	if wide := wideNumbers(v); wide > maxWideNumbers {
		return []onefold.Fault{{
			Pointer: "/request", Rule: "number",
			Detail: fmt.Sprintf("%d numbers have an exponent beyond %d; at most %d may", wide, wideExponent, maxWideNumbers),
		}}
	}
	err := s.schema.Validate(schemaValue(v))
	if err == nil {
		return nil
	}
	var faults []onefold.Fault
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		faults = flatten(nil, invalid)
	}
	if len(faults) == 0 {
		faults = append(faults, onefold.Fault{Pointer: "/request", Rule: "schema", Detail: "does not fit the contract's schema"})
	}
	slices.SortFunc(faults, func(a, b onefold.Fault) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Detail, b.Detail))
	})
	faults = slices.Compact(faults)
	return faults[:min(len(faults), maxRequestFaults)]
}

// wideNumbers counts the numbers of a value that are long when written out.
func wideNumbers(v *identity.Value) int {
	n := 0
	switch v.Kind() {
	case identity.Number:
		if i := strings.IndexAny(v.Number(), "eE"); i >= 0 {
			if exponent, err := strconv.Atoi(v.Number()[i+1:]); err != nil || max(exponent, -exponent) > wideExponent {
				return 1
			}
		}
	case identity.Array:
		for _, item := range v.Items() {
			n += wideNumbers(item)
		}
	case identity.Object:
		for _, m := range v.Members() {
			n += wideNumbers(m.Value)
		}
	default:
	}
	return n
}

// flatten turns the validator's tree into faults. Alternatives (anyOf, oneOf,
// not) are one fault each: what is wrong with every branch says less.
func flatten(out []onefold.Fault, e *jsonschema.ValidationError) []onefold.Fault {
	switch e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		for _, cause := range e.Causes {
			out = flatten(out, cause)
		}
		return out
	}
	at := "/request"
	for _, token := range e.InstanceLocation {
		at = identity.JoinPointer(at, token)
	}
	member := func(name, rule, detail string) {
		out = append(out, onefold.Fault{Pointer: identity.JoinPointer(at, name), Rule: rule, Detail: detail})
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			member(name, "required", "is required")
		}
	case *kind.DependentRequired:
		for _, name := range k.Missing {
			member(name, "dependentRequired", "is required beside "+k.Prop)
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			member(name, "additionalProperties", "is not a member that the contract knows")
		}
	case *kind.PropertyNames:
		member(k.Property, "propertyNames", "has a name that the contract does not allow")
	default:
		out = append(out, onefold.Fault{Pointer: at, Rule: keyword(e), Detail: explain(e)})
	}
	return out
}

// keyword is the schema's keyword that failed.
func keyword(e *jsonschema.ValidationError) string {
	if path := e.ErrorKind.KeywordPath(); len(path) > 0 {
		return path[len(path)-1]
	}
	switch e.ErrorKind.(type) {
	case *kind.Not:
		return "not"
	case *kind.FalseSchema:
		return "false"
	}
	return "schema"
}

// explain says in words what a keyword wants. It may name the schema's own
// bounds and the request's lengths and types, never a value of the request.
func explain(e *jsonschema.ValidationError) string {
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		return fmt.Sprintf("is %s; it must be %s", k.Got, strings.Join(k.Want, " or "))
	case *kind.Enum:
		return "must be one of " + schemaList(k.Want)
	case *kind.Const:
		return "must be " + schemaList([]any{k.Want})
	case *kind.Format:
		return "must be a valid " + k.Want
	case *kind.Pattern:
		return "must match the pattern " + k.Want
	case *kind.MinLength:
		return fmt.Sprintf("has %d characters; at least %d are needed", k.Got, k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("has %d characters; at most %d are allowed", k.Got, k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("has %d elements; at least %d are needed", k.Got, k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("has %d elements; at most %d are allowed", k.Got, k.Want)
	case *kind.MinProperties:
		return fmt.Sprintf("has %d members; at least %d are needed", k.Got, k.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf("has %d members; at most %d are allowed", k.Got, k.Want)
	case *kind.Minimum:
		return "must be at least " + k.Want.RatString()
	case *kind.Maximum:
		return "must be at most " + k.Want.RatString()
	case *kind.ExclusiveMinimum:
		return "must be more than " + k.Want.RatString()
	case *kind.ExclusiveMaximum:
		return "must be less than " + k.Want.RatString()
	case *kind.MultipleOf:
		return "must be a multiple of " + k.Want.RatString()
	case *kind.UniqueItems:
		return fmt.Sprintf("has equal elements at %d and %d", k.Duplicates[0], k.Duplicates[1])
	case *kind.AnyOf:
		return "fits none of the alternatives"
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			return "fits more than one of the alternatives"
		}
		return "fits none of the alternatives"
	case *kind.Not:
		return "fits what it must not"
	case *kind.FalseSchema:
		return "may not be here"
	default:
		return "does not fit the contract's " + keyword(e)
	}
}

// maxListed bounds the schema's values that a fault repeats.
const maxListed = 10

func schemaList(values []any) string {
	var out []string
	for i, v := range values {
		if i == maxListed {
			return strings.Join(out, ", ") + ", …"
		}
		text, err := json.Marshal(v)
		if err != nil || len(text) > maxCode {
			text = []byte("…")
		}
		out = append(out, string(text))
	}
	return strings.Join(out, ", ")
}
