package identity_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold/identity"
)

func shown(v *identity.Value) string {
	if v == nil {
		return "absent"
	}
	return string(v.AppendJSON(nil))
}

func differences(accepted, submitted *identity.Value) string {
	var lines []string
	for _, d := range identity.Diff(accepted, submitted, "/request") {
		lines = append(lines, fmt.Sprintf("%s: %s → %s", d.Pointer, shown(d.Accepted), shown(d.Submitted)))
	}
	return strings.Join(lines, "\n")
}

// Proves: I4, M22
func TestDiffNamesTheDeepestMembersThatDiffer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, accepted, submitted, want string }{
		{"nothing", `{"a":1.0,"b":[{}]}`, `{"b":[{}],"a":1}`, ""},
		{"a value", `{"total":"1250.00"}`, `{"total":"1205.00"}`, `/request/total: "1250.00" → "1205.00"`},
		{"the digits as written", `[1.50]`, `[1.6]`, `/request/0: 1.50 → 1.6`},
		{"absent and null", `{"memo":null}`, `{}`, `/request/memo: null → absent`},
		{"two sides", `{"a":1,"c":1}`, `{"b":1,"c":2}`, "/request/a: 1 → absent\n/request/b: absent → 1\n/request/c: 1 → 2"},
		{"deep", `{"l":[{"x":1,"y":2},{"x":3}]}`, `{"l":[{"x":1,"y":5},{"x":3,"z":{}}]}`, "/request/l/0/y: 2 → 5\n/request/l/1/z: absent → {}"},
		{"a shorter array", `[1,2,3]`, `[1]`, "/request/1: 2 → absent\n/request/2: 3 → absent"},
		{"elements by index", `[` + strings.Repeat("0,", 10) + `1]`, `[0,9` + strings.Repeat(",0", 8) + `,2]`, "/request/1: 0 → 9\n/request/10: 1 → 2"},
		{"another kind", `{"a":{"b":1}}`, `{"a":[1]}`, `/request/a: {"b":1} → [1]`},
		{"empty of another kind", `{"a":{}}`, `{"a":[]}`, `/request/a: {} → []`},
		{"a number and its text", `1`, `"1"`, `/request: 1 → "1"`},
		{"escaped names", `{"a/b":{"~":1}}`, `{"a/b":{"~":2}}`, `/request/a~1b/~0: 1 → 2`},
		{"booleans", `[true]`, `[false]`, `/request/0: true → false`},
		{"composed and decomposed", `"é"`, `"e\u0301"`, "/request: \"é\" → \"e\u0301\""},
	} {
		if got := differences(mustParse(t, c.accepted), mustParse(t, c.submitted)); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
	one := mustParse(t, "1")
	if differences(nil, nil) != "" || differences(nil, one) != "/request: absent → 1" || differences(one, nil) != "/request: 1 → absent" {
		t.Error("an absent request is not told apart")
	}
	if !identity.EqualJSON(nil, nil) || identity.EqualJSON(one, nil) || identity.EqualJSON(nil, identity.NewNull()) {
		t.Error("absent equals something else")
	}
}

// Proves: I4
func TestDiffIsBounded(t *testing.T) {
	t.Parallel()
	ones, twos := "["+strings.Repeat("1,", 5000)+"1]", "["+strings.Repeat("2,", 5000)+"2]"
	found := identity.Diff(mustParse(t, ones), mustParse(t, twos), "")
	if len(found) != identity.MaxDifferences || found[0].Pointer != "/0" || found[99].Pointer != "/99" {
		t.Errorf("%d differences", len(found))
	}
}
