package identity

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Names of the comparison rules (I11).
const (
	RuleDecimal  = "decimal"
	RuleText     = "text"
	RuleInstant  = "instant"
	RuleDate     = "date"
	RuleQuantity = "quantity"
	RuleSet      = "set"
	RuleAbsent   = "absent"
	RuleIgnore   = "ignore"
)

// DefinitionError says what is wrong with a compare document (or a list of text
// steps). Pointer is a JSON Pointer from the document that was compiled, so a
// rule at /total is found under /~1total.
type DefinitionError struct {
	Pointer string
	Detail  string
}

// Error returns pointer and detail.
func (e *DefinitionError) Error() string {
	return fmt.Sprintf("compare%s: %s", e.Pointer, e.Detail)
}

func wrong(pointer, detail string) *DefinitionError {
	return &DefinitionError{Pointer: pointer, Detail: detail}
}

// within puts a prefix in front of the pointer of a definition's fault.
func within(prefix string, err error) error {
	var fault *DefinitionError
	if errors.As(err, &fault) {
		return wrong(prefix+fault.Pointer, fault.Detail)
	}
	return err
}

// Rules is a compiled compare document (I11, I11a). It does not change after it
// was compiled and is safe for concurrent use. A nil *Rules has no rules.
type Rules struct {
	groups    []*group // in order of application: deepest first, else as written
	described []RuleDescription
}

// group is what stands under one pointer.
type group struct {
	pointer string
	tokens  []token
	rules   []rule
}

// token is one step of a rule's pointer. index is the array index it may also
// name, or -1.
type token struct {
	name  string
	index int
	star  bool
}

// RuleDescription is one rule as a reader of the agreement sees it (I33). Rules
// come in the order they were written. Ignored marks members that are not part
// of the intent.
type RuleDescription struct {
	Pointer string
	Rule    string
	Detail  string
	Ignored bool
}

// Describe returns every rule in the order written.
func (r *Rules) Describe() []RuleDescription {
	if r == nil {
		return nil
	}
	return slices.Clone(r.described)
}

// Ignored returns the pointers that are not part of the intent, as written.
func (r *Rules) Ignored() []string {
	var pointers []string
	for _, d := range r.Describe() {
		if d.Ignored {
			pointers = append(pointers, d.Pointer)
		}
	}
	return pointers
}

// CompileRules reads a compare document: an object from JSON Pointers, in which
// * stands for every element or member, to objects from rule names to their
// arguments, in the order in which they shall apply. nil, null and {} are no
// rules. Every fault is a *DefinitionError:
//
//   - a pointer that is none by RFC 6901, or a rule that does not exist;
//   - an argument of the wrong shape, or with members that the rule does not know;
//   - ignore or absent on the whole request, which cannot be left out;
//   - a quantity whose units do not hold exactly one factor of 1, or a factor
//     that is not above zero; on the whole request or on *, where no one object
//     holds both the number and its unit; or whose unit_path names no other member;
//   - an absent value that the rules before it, or deeper ones, refuse.
func CompileRules(compare *Value) (*Rules, error) {
	r := &Rules{}
	if compare.Kind() == Null {
		return r, nil
	}
	if compare.Kind() != Object {
		return nil, wrong("", "compare is an object from JSON Pointers to rules")
	}
	for _, m := range compare.Members() {
		g, err := r.compileGroup(m)
		if err != nil {
			return nil, within(JoinPointer("", m.Name), err)
		}
		r.groups = append(r.groups, g)
	}
	slices.SortStableFunc(r.groups, func(a, b *group) int { return len(b.tokens) - len(a.tokens) })
	for _, g := range r.groups {
		if err := r.settleAbsent(g); err != nil {
			return nil, within(JoinPointer(JoinPointer("", g.pointer), RuleAbsent), err)
		}
		// A shallower absent value may hold quantities that this one completes.
		r.settleUnits()
	}
	return r, nil
}

// compileGroup reads the rules under one pointer.
func (r *Rules) compileGroup(m Member) (*group, error) {
	names, ok := SplitPointer(m.Name)
	if !ok {
		return nil, wrong("", "a rule stands under a JSON Pointer, like /lines/*/amount")
	}
	if m.Value.Kind() != Object || m.Value.Len() == 0 {
		return nil, wrong("", "under a pointer stands an object of at least one rule")
	}
	g := &group{pointer: m.Name, tokens: compileTokens(names)}
	for _, named := range m.Value.Members() {
		compiled, err := compileRule(g, named.Name, named.Value)
		if err != nil {
			return nil, within(JoinPointer("", named.Name), err)
		}
		g.rules = append(g.rules, compiled)
		r.described = append(r.described, RuleDescription{
			Pointer: m.Name, Rule: named.Name, Detail: compiled.describe(), Ignored: named.Name == RuleIgnore,
		})
	}
	return g, nil
}

func compileTokens(names []string) []token {
	tokens := make([]token, len(names))
	for i, name := range names {
		tokens[i] = token{name: name, index: arrayIndex(name), star: name == "*"}
	}
	return tokens
}

func compileRule(g *group, name string, argument *Value) (rule, error) {
	switch name {
	case RuleDecimal:
		return compileDecimal(argument)
	case RuleText:
		steps, err := CompileTextSteps(argument)
		return textRule{steps: steps}, err
	case RuleInstant:
		return instantRule{}, mustBeTrue(name, argument)
	case RuleDate:
		return dateRule{}, mustBeTrue(name, argument)
	case RuleQuantity:
		return compileQuantity(g, argument)
	case RuleSet:
		return compileSet(argument)
	case RuleAbsent:
		if len(g.tokens) == 0 {
			return nil, wrong("", "the whole request cannot be absent")
		}
		return &absentRule{value: argument}, nil
	case RuleIgnore:
		if len(g.tokens) == 0 {
			return nil, wrong("", "the whole request cannot be ignored")
		}
		return ignoreRule{}, mustBeTrue(name, argument)
	default:
		return nil, wrong("", "a rule is decimal, text, instant, date, quantity, set, absent or ignore")
	}
}

func mustBeTrue(name string, argument *Value) error {
	if argument.Kind() == Bool && argument.truth {
		return nil
	}
	return wrong("", name+" takes true")
}

// onlyMembers refuses members that a rule does not know.
func onlyMembers(argument *Value, known ...string) error {
	for _, m := range argument.Members() {
		if !slices.Contains(known, m.Name) {
			return wrong(JoinPointer("", m.Name), "this is not known here; known: "+strings.Join(known, ", "))
		}
	}
	return nil
}

// maxScale is the largest scale that can mean anything: no number has more
// decimal places (I9).
const maxScale = maxCanonicalExponent

func compileDecimal(argument *Value) (rule, error) {
	r := decimalRule{scale: -1}
	if argument.Kind() != Object {
		return nil, wrong("", "decimal takes an object: {} or {scale: 2}")
	}
	if err := onlyMembers(argument, "scale"); err != nil {
		return nil, err
	}
	if scale, found := argument.Get("scale"); found {
		d, ok := scale.Decimal()
		if !ok || d.Places() > 0 || d.Sign() < 0 || d.Cmp(Decimal{small: maxScale}) > 0 {
			return nil, wrong("/scale", "scale is a whole number of decimal places, zero or more")
		}
		r.scale = boundedInt(d.String(), maxScale)
	}
	return r, nil
}

func compileSet(argument *Value) (rule, error) {
	if argument.Kind() == Bool && argument.truth {
		return setRule{}, nil
	}
	multiset, found := argument.Get("multiset")
	if !found || multiset.Kind() != Bool {
		return nil, wrong("", "set takes true or {multiset: true}")
	}
	return setRule{multiset: multiset.truth}, onlyMembers(argument, "multiset")
}

func compileQuantity(g *group, argument *Value) (rule, error) {
	switch {
	case len(g.tokens) == 0:
		return nil, wrong("", "a quantity is a member of an object that also holds its unit")
	case g.tokens[len(g.tokens)-1].star:
		return nil, wrong("", "a quantity's pointer ends in a name: * would stand for its unit as well")
	case argument.Kind() != Object:
		return nil, wrong("", "quantity takes {unit_path: pointer, units: {name: factor}}")
	}
	if err := onlyMembers(argument, "unit_path", "units"); err != nil {
		return nil, err
	}
	path, _ := argument.Get("unit_path")
	names, ok := SplitPointer(path.Text())
	if !ok || len(names) == 0 || slices.Contains(names, "*") {
		return nil, wrong("/unit_path", "unit_path is a JSON Pointer from the object that holds the quantity, like /unit")
	}
	if names[0] == g.tokens[len(g.tokens)-1].name {
		return nil, wrong("/unit_path", "unit_path names another member than the quantity")
	}
	r := &quantityRule{unitPath: path.Text(), unitTokens: compileTokens(names), factors: map[string]Decimal{}}
	units, _ := argument.Get("units")
	if units.Kind() != Object || units.Len() == 0 {
		return nil, wrong("/units", "units is an object from unit names to factors")
	}
	one, bases := Decimal{small: 1}, 0
	for _, m := range units.Members() {
		factor, complaint := decimalIn(m.Value)
		if complaint != "" || factor.Sign() <= 0 {
			return nil, wrong(JoinPointer("/units", m.Name), "a factor is a decimal above zero")
		}
		if factor == one {
			r.base = m.Name
			bases++
		}
		r.factors[m.Name] = factor
	}
	if bases != 1 {
		return nil, wrong("/units", "exactly one unit has the factor 1: the one that quantities are compared in")
	}
	return r, nil
}

// settleAbsent brings the absent values of a group to the form that the rules
// before them leave, so that "a missing member equals that value" holds however
// the value is spelled. Rules after an absent have no say: they are applied
// after it in a request, too. null stays null.
func (r *Rules) settleAbsent(g *group) error {
	for i, candidate := range g.rules {
		absent, ok := candidate.(*absentRule)
		if !ok || absent.value.Kind() == Null {
			continue
		}
		v, err := r.beneath(g).Normalize(absent.value)
		if err == nil {
			v, err = applyAll(g.rules[:i], v)
		}
		if err != nil {
			return wrong("", "the other rules refuse this value: "+err.(*RuleError).Detail) //nolint:errorlint // both return nothing else
		}
		absent.value = v
	}
	return nil
}

// applyAll applies rules to a value that stands by itself. A quantity is taken
// to be in the base unit already, and what is left out in a request stays.
func applyAll(rules []rule, v *Value) (*Value, error) {
	n := normalizer{}
	for _, apply := range rules {
		if _, ok := apply.(*quantityRule); ok {
			apply = decimalRule{scale: -1}
		}
		switch apply.(type) {
		case *absentRule, ignoreRule:
			continue
		}
		next, err := n.apply(apply, site{}, v)
		if err != nil {
			return nil, err
		}
		v = next
	}
	return n.finish(v), nil
}

// beneath returns the rules that reach into the values of a group's pointer, as
// rules on such a value.
func (r *Rules) beneath(g *group) *Rules {
	below := &Rules{}
	for _, deeper := range r.groups {
		if len(deeper.tokens) > len(g.tokens) && covers(deeper.tokens, g.tokens) {
			below.groups = append(below.groups, &group{
				pointer: deeper.pointer, tokens: deeper.tokens[len(g.tokens):], rules: deeper.rules,
			})
		}
	}
	return below
}

// covers says whether the pattern stands, as far as the other reaches, for
// everything that the other stands for.
func covers(pattern, other []token) bool {
	for i := range other {
		if !pattern[i].star && pattern[i] != other[i] {
			return false
		}
	}
	return true
}

// settleUnits gives each quantity the unit that a missing one stands for: the
// absent value of the rule on the unit's own pointer, if there is one.
func (r *Rules) settleUnits() {
	for _, g := range r.groups {
		for _, candidate := range g.rules {
			q, ok := candidate.(*quantityRule)
			if !ok {
				continue
			}
			place := append(slices.Clone(g.tokens[:len(g.tokens)-1]), q.unitTokens...)
			for _, other := range r.groups {
				if !slices.Equal(place, other.tokens) {
					continue
				}
				for _, candidate := range other.rules {
					if absent, ok := candidate.(*absentRule); ok && absent.value.Kind() == String {
						q.missing = absent.value
					}
				}
			}
		}
	}
}
