package identity_test

import (
	"fmt"

	"github.com/onefold-dev/onefold/identity"
)

// Two submissions of one bill, spelled by two clients, are one intent; one cent
// more is another.
func ExampleRules_Normalize() {
	compare, err := identity.Parse([]byte(`{
		"/total": {"decimal": {"scale": 2}},
		"/memo":  {"text": ["trim"], "absent": ""},
		"/trace": {"ignore": true}}`), identity.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	rules, err := identity.CompileRules(compare)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, body := range []string{
		`{"total": "1250.00", "memo": " ", "trace": "a"}`,
		`{"trace": "b", "total": 1250}`,
		`{"total": "1250.01"}`,
		`{"total": "1250.001"}`,
	} {
		request, err := identity.Parse([]byte(body), identity.Limits{})
		if err != nil {
			fmt.Println(err)
			continue
		}
		normalized, err := rules.Normalize(request)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%s\n", identity.Canonical(normalized))
	}
	// Output:
	// {"total":1250}
	// {"total":1250}
	// {"total":1250.01}
	// /total (decimal): at most 2 decimal places; it is never rounded
}

func ExampleDiff() {
	accepted, err := identity.Parse([]byte(`{"total": 1250.00, "lines": [{"sku": "A"}]}`), identity.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	submitted, err := identity.Parse([]byte(`{"total": 1250, "lines": [{"sku": "B", "n": 1}]}`), identity.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range identity.Diff(accepted, submitted, "/request") {
		fmt.Println(d.Pointer)
	}
	// Output:
	// /request/lines/0/n
	// /request/lines/0/sku
}
