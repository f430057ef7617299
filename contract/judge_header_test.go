package contract

import (
	"testing"

	"github.com/onefold-dev/onefold"
)

// TestAHeaderThatSaysBothSaysNothing answers with lines of one header that differ: a
// reference from it is unreadable, a condition on it is unclear, and a page that it
// calls complete may not be the whole.
//
// Proves: M11c, M12
func TestAHeaderThatSaysBothSaysNothing(t *testing.T) {
	t.Parallel()
	k := operationCompiler{}
	condition := k.condition(When{Headers: []HeaderMatch{{"X-Done", []string{"no"}}}}, "/when")
	for _, c := range []struct {
		lines []string
		want  truth
	}{
		{[]string{"X-Done", "no"}, yes},
		{[]string{"X-Done", "yes"}, no},
		{nil, no},
		{[]string{"X-Done", "no", "x-done", "no"}, yes},
		{[]string{"X-Done", "no", "X-Done", "yes"}, unclear},
		{[]string{"X-Done", "yes", "X-Done", "no"}, unclear},
	} {
		if got := condition.holds(readAnswer(whole(200, ``, c.lines...)), nil, true); got != c.want {
			t.Errorf("%v: %v, want %v", c.lines, got, c.want)
		}
	}
	a := readAnswer(whole(201, ``, "Location", "/w/1", "location", "/w/2", "X-One", "1", "X-One", "1"))
	if value, ok := a.header("Location"); ok {
		t.Errorf("two places were read as %q", value)
	}
	if value, ok := a.header("X-One"); !ok || value != "1" {
		t.Errorf("the same twice was read as %q, %v", value, ok)
	}
	op := exampleOperation()
	op.Lookups[0].Complete = &Complete{Locator: Locator{Header: "X-Complete"}}
	p, m := programOf(t, op), exampleMaterials(t)
	for _, c := range []struct {
		lines []string
		want  onefold.LookupResult
	}{
		{[]string{"X-Complete", "true"}, onefold.LookupAbsent},
		{[]string{"X-Complete", "true", "X-Complete", "false"}, onefold.LookupInconclusive},
	} {
		if out, _ := p.judgeLookup(&p.lookups[0], m, whole(200, `{"items":[]}`, c.lines...)); out.Result != c.want {
			t.Errorf("complete %v: %s", c.lines, out.Result)
		}
	}
}
