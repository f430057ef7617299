package identity

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// rule is one compiled comparison rule. apply returns the value that takes v's
// place, nil if v is left out. It never sees a v of nil, and null only if
// takesNull.
type rule interface {
	name() string
	describe() string
	takesNull() bool
	apply(n *normalizer, at site, v *Value) (*Value, error)
}

// site is where a value stands. parent is the thawed object or array around it,
// nil for the request itself.
type site struct{ parent *Value }

// decimalIn reads a number, or a string that is a number by grammar, exactly.
func decimalIn(v *Value) (d Decimal, complaint string) {
	switch v.Kind() {
	case Number:
		return decimalOf(v.text), ""
	case String:
		d, err := ParseDecimal(v.text)
		if err == nil {
			return d, ""
		}
		if fault := err.(*SyntaxError); fault.Reason == ReasonNumberRange { //nolint:errorlint // ParseDecimal returns nothing else
			return Decimal{}, fault.Detail
		}
	default: // nothing else is ever a number
	}
	return Decimal{}, "a decimal is a number, or a string that is a number in JSON, like \"1250.00\""
}

// decimalRule: scale is -1 where none is set.
type decimalRule struct{ scale int }

func (decimalRule) name() string    { return RuleDecimal }
func (decimalRule) takesNull() bool { return false }

func (r decimalRule) describe() string {
	if r.scale < 0 {
		return "a decimal, equal by value"
	}
	return fmt.Sprintf("a decimal, equal by value; more than %d decimal places are refused", r.scale)
}

func (r decimalRule) apply(n *normalizer, _ site, v *Value) (*Value, error) {
	d, complaint := decimalIn(v)
	if complaint != "" {
		return nil, n.refuse(complaint)
	}
	if r.scale >= 0 && d.Places() > r.scale {
		return nil, n.refuse(fmt.Sprintf("at most %d decimal places; it is never rounded", r.scale))
	}
	if v.kind == Number {
		return v, nil
	}
	return &Value{kind: Number, text: v.text}, nil
}

type textRule struct{ steps []TextStep }

func (textRule) name() string       { return RuleText }
func (textRule) takesNull() bool    { return false }
func (r textRule) describe() string { return "text, compared after: " + describeText(r.steps) }

func (r textRule) apply(n *normalizer, _ site, v *Value) (*Value, error) {
	if v.kind != String {
		return nil, n.refuse("a string should be here")
	}
	return replaceText(v, NormalizeText(r.steps, v.text)), nil
}

func replaceText(v *Value, text string) *Value {
	if v.text == text {
		return v
	}
	return &Value{kind: String, text: text}
}

type instantRule struct{}

func (instantRule) name() string     { return RuleInstant }
func (instantRule) takesNull() bool  { return false }
func (instantRule) describe() string { return "an RFC 3339 instant, equal as a point in time" }

func (instantRule) apply(n *normalizer, _ site, v *Value) (*Value, error) {
	if v.kind != String {
		return nil, n.refuse("a string should be here")
	}
	instant, complaint := normalizeInstant(v.text)
	if complaint != "" {
		return nil, n.refuse(complaint)
	}
	return replaceText(v, instant), nil
}

type dateRule struct{}

func (dateRule) name() string     { return RuleDate }
func (dateRule) takesNull() bool  { return false }
func (dateRule) describe() string { return "a calendar date (YYYY-MM-DD) that exists" }

func (dateRule) apply(n *normalizer, _ site, v *Value) (*Value, error) {
	if v.kind != String {
		return nil, n.refuse("a string should be here")
	}
	if _, ok := parseDate(v.text); !ok {
		return nil, n.refuse("a date is written YYYY-MM-DD and exists")
	}
	return v, nil
}

// quantityRule: base is the unit whose factor is 1, missing what an absent unit
// stands for (nil: nothing).
type quantityRule struct {
	unitPath   string
	unitTokens []token
	factors    map[string]Decimal
	base       string
	missing    *Value
}

func (*quantityRule) name() string    { return RuleQuantity }
func (*quantityRule) takesNull() bool { return false }

func (r *quantityRule) describe() string {
	names := make([]string, 0, len(r.factors))
	for name := range r.factors {
		names = append(names, name)
	}
	sort.Strings(names)
	for i, name := range names {
		names[i] = strconv.Quote(name) + " = " + r.factors[name].String()
	}
	return fmt.Sprintf("a quantity in the unit at %s, compared in %q (%s)", r.unitPath, r.base, strings.Join(names, ", "))
}

func (r *quantityRule) apply(n *normalizer, at site, v *Value) (*Value, error) {
	amount, complaint := decimalIn(v)
	if complaint != "" {
		return nil, n.refuse(complaint)
	}
	unit, complaint := n.takeUnit(r, at.parent)
	if complaint != "" {
		return nil, n.refuseAt(r.unitPath, complaint)
	}
	factor, known := r.factors[unit]
	if !known {
		return nil, n.refuseAt(r.unitPath, "the unit is not one that the contract knows")
	}
	result, err := amount.Mul(factor)
	if err != nil {
		return nil, n.refuse("in the unit it is compared in, the number has too many digits or too large an exponent")
	}
	return &Value{kind: Number, text: result.String()}, nil
}

type setRule struct{ multiset bool }

func (setRule) name() string    { return RuleSet }
func (setRule) takesNull() bool { return true }

func (r setRule) describe() string {
	if r.multiset {
		return "a list whose order does not matter; repeats count"
	}
	return "a list whose order does not matter; repeats are refused"
}

func (r setRule) apply(n *normalizer, _ site, v *Value) (*Value, error) {
	if v.kind != Array {
		return nil, n.refuse("an array should be here")
	}
	// All canonical forms lie in one buffer; each element knows its section.
	type element struct{ at, start, end int }
	elements := make([]element, v.Len())
	var forms []byte
	for i, item := range v.Items() {
		start := len(forms)
		forms = AppendCanonical(forms, item)
		elements[i] = element{at: i, start: start, end: len(forms)}
	}
	slices.SortStableFunc(elements, func(a, b element) int {
		return bytes.Compare(forms[a.start:a.end], forms[b.start:b.end])
	})
	if !r.multiset {
		repeat := -1
		for i := 1; i < len(elements); i++ {
			a, b := elements[i-1], elements[i]
			if bytes.Equal(forms[a.start:a.end], forms[b.start:b.end]) && (repeat < 0 || b.at < repeat) {
				repeat = b.at
			}
		}
		if repeat >= 0 {
			return nil, n.refuseAt(elementPointer(v, repeat), "the element is in the set already")
		}
	}
	items := make([]*Value, len(elements))
	for i, e := range elements {
		items[i] = v.kids.items[e.at]
	}
	return withItems(items), nil
}

// absentRule: value is in the form that the rules before it leave.
type absentRule struct{ value *Value }

func (*absentRule) name() string    { return RuleAbsent }
func (*absentRule) takesNull() bool { return true }

func (r *absentRule) describe() string {
	return "a missing member equals " + string(Canonical(r.value))
}

func (r *absentRule) apply(_ *normalizer, at site, v *Value) (*Value, error) {
	// An element of an array is never missing: leaving it out would move the
	// ones after it, and [null, 1] would equal [1].
	if at.parent.Kind() == Object && EqualJSON(v, r.value) {
		return nil, nil //nolint:nilnil // nil is "left out"
	}
	return v, nil
}

type ignoreRule struct{}

func (ignoreRule) name() string     { return RuleIgnore }
func (ignoreRule) takesNull() bool  { return true }
func (ignoreRule) describe() string { return "not part of the intent" }

func (ignoreRule) apply(*normalizer, site, *Value) (*Value, error) {
	return nil, nil //nolint:nilnil // nil is "left out"
}
