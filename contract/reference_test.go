package contract

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
)

// TestNoDoorTakesAReferenceThatCannotBeRead: an answer's body or header, a record,
// and what a Go function reports prove an effect without saying which, where nothing
// of the reference can be seen, or where it would not stay in its line.
//
// Proves: M11c, M26
func TestNoDoorTakesAReferenceThatCannotBeRead(t *testing.T) {
	t.Parallel()
	plain, m := programOf(t, exampleOperation()), exampleMaterials(t)
	op := exampleOperation()
	op.Responses = []Response{{Name: "created", When: When{Status: statuses(201)}, Outcome: OutcomeConfirmed, Reference: &Locator{Header: "Location"}}}
	header := programOf(t, op)
	doors := map[string]func(reference string) (got string, effect bool){
		"an answer": func(reference string) (string, bool) {
			text, err := json.Marshal(reference)
			if err != nil {
				t.Fatal(err)
			}
			a, _ := plain.judge(m, whole(201, `{"id":`+string(text)+`,"total":"1250.00"}`), true)
			return a.Reference, a.EffectExists || a.Outcome == onefold.OutcomeConfirmed
		},
		"a header": func(reference string) (string, bool) {
			a, _ := header.judge(m, whole(201, `{"total":"1250.00"}`, "Location", reference), true)
			return a.Reference, a.EffectExists || a.Outcome == onefold.OutcomeConfirmed
		},
		"a record": func(reference string) (string, bool) {
			text, err := json.Marshal(reference)
			if err != nil {
				t.Fatal(err)
			}
			one := `{"id":` + string(text) + `,"external_ref":"` + ours + `","total":"1250.00","created_at":"2026-11-29T12:00:01Z"}`
			l, _ := plain.judgeLookup(&plain.lookups[0], m, whole(200, items(one)))
			return l.Reference, l.Result == onefold.LookupFound
		},
		"a function": func(reference string) (string, bool) {
			x := &onefold.Exchange{Wrote: &onefold.WriteReport{Outcome: onefold.OutcomeConfirmed, Reference: reference}}
			a, _ := payroll(t).Judge(payslipOperation(), []byte(payslip), x, true)
			return a.Reference, a.EffectExists || a.Outcome == onefold.OutcomeConfirmed
		},
		"a function that looks up": func(reference string) (string, bool) {
			x := &onefold.Exchange{Found: &onefold.LookupReport{Result: onefold.LookupFound, Reference: reference}}
			l, _ := payroll(t).JudgeLookup(payslipOperation(), []byte(payslip), x)
			return l.Reference, l.Result == onefold.LookupFound
		},
	}
	for door, read := range doors {
		if got, effect := read("BILL-991"); got != "BILL-991" || !effect {
			t.Errorf("%s: %q, effect %v", door, got, effect)
		}
		for _, reference := range []string{
			"", " ", "\t", "\u00a0", "\u3000", "\u200b", "\u2060\ufeff", "\u3164", "\u2800", "\ufe0f", "\u200e", "a\nb", "a\u2028b", "a\u0085b", "a\x1b[2J", "\u202eabc",
			strings.Repeat("x", maxReference+1),
		} {
			if got, effect := read(reference); got != "" || !effect {
				t.Errorf("%s with %q: %q, effect %v", door, reference, got, effect)
			}
		}
	}
}

// TestEvidenceIsHeldAgainstTheRequest: what the body shows is compared, what it does
// not show is told, and without the request nothing agrees.
//
// Proves: M15
func TestEvidenceIsHeldAgainstTheRequest(t *testing.T) {
	t.Parallel()
	b := payroll(t)
	for _, c := range []struct {
		request, body    string
		differs, unshown int
	}{
		{payslip, `{"net":"2100.00","more":1}`, 0, 0},
		{payslip, `{"net":2100}`, 0, 0},
		{payslip, `"{\"net\": 2100.0}"`, 0, 0},
		{payslip, `{"net":7}`, 1, 0},
		{payslip, `{"net":null}`, 1, 0},
		{payslip, `"paid"`, 0, 1},
		{payslip, ``, 0, 1},
		{payslip, `{}`, 0, 1},
		{payslip, `{"net":`, 0, 1},
		{payslip, `{"net":1,"net":2}`, 0, 1},
		{payslip, `{"amount":{"value":7}}`, 0, 1},
		{`no json`, `{"net":1}`, 0, 1},
		{``, `{"net":1}`, 0, 1},
	} {
		j := b.JudgeEvidence(payslipOperation(), []byte(c.request), nil, []byte(c.body))
		if len(j.Differs) != c.differs || len(j.Unshown) != c.unshown || j.Predates {
			t.Errorf("%q of %q: %+v", c.body, c.request, j)
		}
	}
}
