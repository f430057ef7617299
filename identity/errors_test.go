package identity_test

import (
	"testing"

	"github.com/onefold-dev/onefold/identity"
)

// Error texts reach callers and logs, so they are pinned, and none repeats
// anything of the payload, the key or the secret.
//
// Proves: I1, I10, I11a
func TestErrorTexts(t *testing.T) {
	t.Parallel()
	_, syntax := identity.Parse([]byte(`{"secret":1,"secret":2}`), identity.Limits{})
	_, empty := identity.Parse([]byte(`[`), identity.Limits{})
	_, definition := identity.CompileRules(mustParse(t, `{"/a/b": {"decimal": {"scale": "two"}}}`))
	_, absent := identity.CompileRules(mustParse(t, `{"/a": {"date": true, "absent": "never"}}`))
	_, rule := mustRules(t, `{"/a": {"set": true}}`).Normalize(mustParse(t, `{"a":["secret","secret"]}`))
	_, missing := identity.ParseKey(nil)
	_, key := identity.ParseKey([]string{"my secret"})
	for _, c := range []struct {
		err  error
		want string
	}{
		{syntax, "duplicate_member at byte 12: the object already has a member of this name"},
		{empty, "syntax at byte 1: the text ends where a value should be"},
		{definition, "compare/~1a~1b/decimal/scale: scale is a whole number of decimal places, zero or more"},
		{absent, "compare/~1a/absent: the other rules refuse this value: a date is written YYYY-MM-DD and exists"},
		{rule, "/a/1 (set): the element is in the set already"},
		{missing, "key_required: the header Idempotency-Key is missing"},
		{key, "key_invalid: a key contains no white space, and none is trimmed"},
		{identity.Format{Max: 3}.Validate(), "max: a UUID has 36 characters and is never cut"},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", c.err, c.want)
		}
	}
}
