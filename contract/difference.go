package contract

import (
	"slices"
	"strings"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// requestPointer begins every pointer into a request.
const requestPointer = "/request"

// Differences compares as the contract says (I4); requests that the contract's
// rules refuse are compared as they are. Values are shown as they were written
// ("1250.00") where that says the same: not inside arrays whose elements the rules
// move, not for a number that means something only with its unit, and not where
// both were written alike. There they are shown as they were compared.
func (b *binding) Differences(accepted, submitted []byte) []onefold.Difference {
	a, errA := b.registry.parse(accepted)
	s, errS := b.registry.parse(submitted)
	if errA != nil || errS != nil {
		return nil
	}
	na, errA := b.contract.rules.Normalize(a)
	ns, errS := b.contract.rules.Normalize(s)
	if errA != nil || errS != nil {
		na, ns = a, s
	}
	found := identity.Diff(na, ns, requestPointer)
	out := make([]onefold.Difference, 0, len(found))
	shows := scriptOf(b.contract.rules)
	for _, d := range found {
		tokens, _ := identity.SplitPointer(strings.TrimPrefix(d.Pointer, requestPointer))
		one := onefold.Difference{Pointer: d.Pointer, Accepted: jsonOf(d.Accepted), Submitted: jsonOf(d.Submitted)}
		left, there := shows.written(a, tokens)
		right, also := shows.written(s, tokens)
		if there && also && !identity.EqualJSON(left, right) {
			one.Accepted, one.Submitted = jsonOf(left), jsonOf(right)
		}
		out = append(out, one)
	}
	return out
}

// script is what comparison rules leave of the places and meanings of values.
type script struct {
	// moved: elements of arrays may have another index in the compared form.
	moved bool
	// measured are the names of members that mean something only with their unit.
	measured []string
}

func scriptOf(rules *identity.Rules) script {
	var s script
	for _, d := range rules.Describe() {
		switch {
		case d.Ignored || d.Rule == identity.RuleSet:
			s.moved = true
		case d.Rule == identity.RuleQuantity:
			tokens, _ := identity.SplitPointer(d.Pointer)
			s.measured = append(s.measured, tokens[len(tokens)-1])
		}
	}
	return s
}

// written finds the value of a request that a compared one was made from, nil
// where the request has none; ok is false where it would not say the same.
func (s script) written(v *identity.Value, tokens []string) (_ *identity.Value, ok bool) {
	if n := len(tokens); n > 0 && slices.Contains(s.measured, tokens[n-1]) {
		return nil, false
	}
	for _, token := range tokens {
		if s.moved && v.Kind() == identity.Array {
			return nil, false
		}
		next, there := v.At(identity.JoinPointer("", token))
		if !there {
			return nil, true
		}
		v = next
	}
	return v, true
}

// jsonOf is a value as JSON text; nil stays nil.
func jsonOf(v *identity.Value) []byte {
	if v == nil {
		return nil
	}
	return v.AppendJSON(nil)
}
