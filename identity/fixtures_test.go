package identity_test

import (
	"errors"
	"testing"

	"github.com/onefold-dev/onefold/identity"
)

func mustParse(t testing.TB, text string) *identity.Value {
	t.Helper()
	v, err := identity.Parse([]byte(text), identity.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func mustRules(t testing.TB, compare string) *identity.Rules {
	t.Helper()
	rules, err := identity.CompileRules(mustParse(t, compare))
	if err != nil {
		t.Fatalf("%s: %v", compare, err)
	}
	return rules
}

// pointerIn returns the pointer that an error of the rules carries, "none" for
// other errors.
func pointerIn(err error) string {
	var rule *identity.RuleError
	if errors.As(err, &rule) {
		return rule.Pointer
	}
	var definition *identity.DefinitionError
	if errors.As(err, &definition) {
		return definition.Pointer
	}
	return "none"
}
