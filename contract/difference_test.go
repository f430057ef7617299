package contract

import (
	"strings"
	"testing"
)

// What differs is shown as somebody wrote it, unless that would point at another
// value or hide the difference.
// Proves: I4
func TestDifferencesShowWhatWasWritten(t *testing.T) {
	t.Parallel()
	const plain = `{/total: {decimal: {scale: 2}}, /memo: {absent: null, text: [trim]}, /lines/*/price: {decimal: {}}}`
	const moving = `{/tags: {set: true}, /lines/*/note: {ignore: true}, /total: {decimal: {}}}`
	const measured = `{/lines/*/amount: {quantity: {unit_path: /unit, units: {g: 1, kg: 1000}}}, /lines/*/price: {decimal: {}}}`
	for _, c := range []struct{ name, compare, accepted, submitted, want string }{
		{"a decimal", plain, `{"total":"1250.00"}`, `{"total":"1250.010"}`, `/request/total "1250.00" "1250.010"`},
		{"a number", plain, `{"total":1.250e3}`, `{"total":1251}`, `/request/total 1.250e3 1251`},
		{"an absent value", plain, `{"total":1,"memo":null}`, `{"total":1,"memo":" x "}`, `/request/memo null " x "`},
		{"an absent member", plain, `{"total":1}`, `{"total":1,"memo":" x "}`, `/request/memo <nil> " x "`},
		{"a whole object", plain, `{"total":1}`, `{"total":1,"lines":[{"price":"1.50"}]}`, `/request/lines <nil> [{"price":"1.50"}]`},
		{"in an array that stays", plain, `{"lines":[{"price":"1.50"}]}`, `{"lines":[{"price":"1.60"}]}`, `/request/lines/0/price "1.50" "1.60"`},
		{"in a set", moving, `{"tags":["b","a"],"total":"1.0"}`, `{"tags":["c","a"],"total":"1"}`, `/request/tags/1 "b" "c"`},
		{"beside a set", moving, `{"tags":["b","a"],"total":"1.0"}`, `{"tags":["a","b"],"total":"2.0"}`, `/request/total "1.0" "2.0"`},
		{"a unit", measured, `{"lines":[{"amount":"5","unit":"kg","price":"1.0"}]}`, `{"lines":[{"amount":"5","unit":"g","price":"1"}]}`, `/request/lines/0/amount 5000 5`},
		{"beside a unit", measured, `{"lines":[{"amount":"5","unit":"kg","price":"1.0"}]}`, `{"lines":[{"amount":"5000","unit":"g","price":"2.0"}]}`, `/request/lines/0/price "1.0" "2.0"`},
	} {
		text := "kind: capability\nname: bills.create\nversion: 1\nrequest: {type: object}\ncompare: " + c.compare + "\n"
		r := loaded(t, doc(text, 1), doc(targetDoc("erp", 1, operationDoc("bills.create", "/bills")), 1), doc(connectionDoc("acme", "acme-erp", "erp@1", ""), 1))
		b, err := r.Bind("acme", "bills.create", 0, "")
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var got []string
		for _, d := range b.Differences([]byte(c.accepted), []byte(c.submitted)) {
			show := func(v []byte) string {
				if v == nil {
					return "<nil>"
				}
				return string(v)
			}
			got = append(got, d.Pointer+" "+show(d.Accepted)+" "+show(d.Submitted))
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, strings.Join(got, "|"), c.want)
		}
	}
}
