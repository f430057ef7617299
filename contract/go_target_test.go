package contract

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onefold-dev/onefold"
)

// payroll is the binding of the documents that agreements/go.yaml holds, after a
// change of their text.
func payroll(t *testing.T, pairs ...string) onefold.Binding {
	t.Helper()
	return bindingOf(t, "agreements/go.yaml", "payslips.issue", pairs...)
}

// bindingOf is the binding of a capability of the workspace acme that a file's
// documents make, after a change of their text.
func bindingOf(t *testing.T, file, capability string, pairs ...string) onefold.Binding {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	decoded, faults := DecodeFile(file, []byte(strings.NewReplacer(pairs...).Replace(string(text))))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	var docs []onefold.Document
	for i := range decoded {
		docs = append(docs, doc(string(decoded[i].Source), max(decoded[i].Version, 1)))
	}
	b, err := loaded(t, docs...).Bind("acme", capability, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const payslip = `{"employee": "E-1", "month": "2026-11", "net": "2100.00"}`

func payslipOperation() *onefold.Operation {
	return &onefold.Operation{Admitted: onefold.Admitted{
		Identity: "a1b2", Reference: "r-1", CreatedAt: time.Date(2026, time.November, 29, 12, 0, 0, 0, time.UTC),
	}}
}

// A call is frozen as a request is: the same operation and request always give
// the same digest, and the approved bytes go out as they came in.
//
// Proves: M2a, I13
func TestACallIsFrozen(t *testing.T) {
	t.Parallel()
	b := payroll(t)
	if terms := b.Terms(); terms.Protocol != onefold.ProtocolGo || terms.Protection != onefold.ProtectionEnforced {
		t.Errorf("%+v", terms)
	}
	first, err := b.Freeze(payslipOperation(), []byte(payslip))
	if err != nil {
		t.Fatal(err)
	}
	again, _ := b.Freeze(payslipOperation(), []byte(payslip))
	if diff := cmp.Diff(first, again); diff != "" || string(first.Body) != payslip || first.Timeout != 20*time.Second {
		t.Errorf("%s\n%+v", diff, first)
	}
	other := payslipOperation()
	other.Reference = "r-2"
	if changed, _ := b.Freeze(other, []byte(payslip)); changed.Digest == first.Digest {
		t.Error("another reference has the same digest")
	}
	if look, ok, err := b.LookupRequest(payslipOperation(), []byte(payslip)); err != nil || !ok || look.Timeout != 5*time.Second {
		t.Errorf("look-up: %v, %v, %s", err, ok, look.Timeout)
	}
	if _, err := b.Freeze(payslipOperation(), []byte("{")); onefold.CodeOf(err) != onefold.CodeJSONInvalid {
		t.Errorf("no JSON: %v", err)
	}
	if route := b.Route(); route.Account != "payroll" || string(route.Params) != `{"region":"eu"}` || route.URL != "go://payroll" {
		t.Errorf("%+v", route)
	}
}

// What a report means for its attempt, and whether a replay would only repeat it.
//
// Proves: M11a, M13, M15
func TestReportsAreJudged(t *testing.T) {
	t.Parallel()
	wrote := func(r onefold.WriteReport) onefold.Exchange { return onefold.Exchange{Wrote: &r, Complete: true} }
	record := func(text string) onefold.WriteReport {
		r := onefold.Applied("SLIP-1")
		r.Record = []byte(text)
		return r
	}
	for name, c := range map[string]struct {
		x       onefold.Exchange
		clean   bool
		want    onefold.Outcome
		asserts onefold.Assertion
		stored  bool
		differs int
	}{
		"applied":                    {wrote(onefold.Applied("SLIP-1")), true, onefold.OutcomeConfirmed, onefold.AssertsEffect, true, 0},
		"applied, agrees by value":   {wrote(record(`{"net": 2100}`)), true, onefold.OutcomeConfirmed, onefold.AssertsEffect, true, 0},
		"applied, differs":           {wrote(record(`{"net": "2200.00"}`)), true, onefold.OutcomeConfirmed, onefold.AssertsEffect, true, 1},
		"applied, strange record":    {wrote(record(`{"net": `)), true, onefold.OutcomeConfirmed, onefold.AssertsEffect, true, 0},
		"refused, clean":             {wrote(onefold.Refused("closed", "")), true, onefold.OutcomeRejected, onefold.AssertsNoEffect, true, 0},
		"refused, not clean":         {wrote(onefold.Refused("closed", "")), false, onefold.OutcomeRejected, onefold.AssertsNothing, true, 0},
		"refused for all":            {wrote(onefold.WriteReport{Outcome: onefold.OutcomeRejected, SettlesOperation: true}), false, onefold.OutcomeRejected, onefold.AssertsNoEffect, true, 0},
		"not applied":                {wrote(onefold.NotApplied("busy")), true, onefold.OutcomeNotApplied, onefold.AssertsNoEffect, false, 0},
		"not sent":                   {wrote(onefold.NotSent("refused")), true, onefold.OutcomeNotSent, onefold.AssertsNoEffect, false, 0},
		"in doubt":                   {wrote(onefold.InDoubt("500")), true, onefold.OutcomeUnknown, onefold.AssertsNothing, false, 0},
		"key conflict":               {wrote(onefold.WriteReport{Outcome: onefold.OutcomeKeyConflict}), true, onefold.OutcomeKeyConflict, onefold.AssertsNothing, false, 0},
		"nothing":                    {wrote(onefold.WriteReport{}), true, onefold.OutcomeUnknown, onefold.AssertsNothing, false, 0},
		"accepted is no report":      {wrote(onefold.WriteReport{Outcome: onefold.OutcomeAccepted}), true, onefold.OutcomeUnknown, onefold.AssertsNothing, false, 0},
		"an error":                   {onefold.Exchange{Failure: "error", Detail: "reset"}, true, onefold.OutcomeUnknown, onefold.AssertsNothing, false, 0},
		"not called":                 {onefold.Exchange{NotSent: true, Failure: "canceled"}, true, onefold.OutcomeNotSent, onefold.AssertsNoEffect, false, 0},
		"no secret":                  {onefold.Exchange{NotSent: true, Failure: "secret", Detail: "env:A is not set"}, true, onefold.OutcomeNotSent, onefold.AssertsNoEffect, false, 0},
		"an effect without its name": {wrote(onefold.Applied("\t")), true, onefold.OutcomeConfirmed, onefold.AssertsEffect, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, e := payroll(t).Judge(payslipOperation(), []byte(payslip), &c.x, c.clean)
			if a.Outcome != c.want || e.Asserts != c.asserts || a.Stored != c.stored || len(a.Differs) != c.differs {
				t.Errorf("%+v, asserts %s", a, e.Asserts)
			}
			if strings.ContainsAny(e.Detail, "\n\t") || e.Detail == "" {
				t.Errorf("the detail is %q", e.Detail)
			}
			if a.PauseConnection != (c.x.Failure == onefold.FailureSecret) {
				t.Errorf("pauses %v", a.PauseConnection)
			}
		})
	}
	exists := wrote(onefold.WriteReport{Outcome: onefold.OutcomeExists, Reference: "SLIP-1"})
	if a, e := payroll(t).Judge(payslipOperation(), []byte(payslip), &exists, true); a.Reference != "SLIP-1" || e.Reference != "SLIP-1" || e.Asserts != onefold.AssertsNothing {
		t.Errorf("a record that exists is known as %+v", a)
	}
	// What is not documented counts as stored.
	x := wrote(onefold.InDoubt("500"))
	if a, _ := payroll(t, "stores: [confirmed, rejected]", "stores: undocumented").Judge(payslipOperation(), []byte(payslip), &x, true); !a.Stored {
		t.Error("an answer that the target may store is taken for one that it does not")
	}
}

// Proves: M12, M15
func TestLookUpReportsAreJudged(t *testing.T) {
	t.Parallel()
	older := onefold.Found("SLIP-1")
	older.Created = payslipOperation().CreatedAt.Add(-time.Hour)
	same := onefold.Found("SLIP-1")
	same.Created = payslipOperation().CreatedAt.Add(-time.Second) // the target's clock
	for name, c := range map[string]struct {
		report   *onefold.LookupReport
		want     onefold.LookupResult
		asserts  onefold.Assertion
		predates bool
	}{
		"found":        {&same, onefold.LookupFound, onefold.AssertsEffect, false},
		"older":        {&older, onefold.LookupFound, onefold.AssertsEffect, true},
		"absent":       {&onefold.LookupReport{Result: onefold.LookupAbsent}, onefold.LookupAbsent, onefold.AssertsNoEffect, false},
		"several":      {&onefold.LookupReport{Result: onefold.LookupSeveral}, onefold.LookupSeveral, onefold.AssertsEffect, false},
		"inconclusive": {&onefold.LookupReport{Result: onefold.LookupInconclusive}, onefold.LookupInconclusive, onefold.AssertsNothing, false},
		"nameless":     {&onefold.LookupReport{Result: onefold.LookupFound}, onefold.LookupFound, onefold.AssertsEffect, false},
		"nothing":      {&onefold.LookupReport{}, onefold.LookupInconclusive, onefold.AssertsNothing, false},
		"no report":    {nil, onefold.LookupInconclusive, onefold.AssertsNothing, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, e := payroll(t).JudgeLookup(payslipOperation(), []byte(payslip), &onefold.Exchange{Found: c.report})
			if l.Result != c.want || e.Asserts != c.asserts || l.Predates != c.predates {
				t.Errorf("%+v, asserts %s", l, e.Asserts)
			}
		})
	}
}

func TestGoTargetsAreToldFromOthers(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/agreements/go.yaml")
	if err != nil {
		t.Fatal(err)
	}
	decoded, _ := DecodeFile("go.yaml", text)
	docs := []onefold.Document{doc(targetDoc("erp", 1, operationDoc("bills.create", "/bills")), 1), doc(connectionDoc("acme", "acme-erp", "erp@1", ""), 1)}
	for i := range decoded {
		docs = append(docs, doc(string(decoded[i].Source), max(decoded[i].Version, 1)))
	}
	r := loaded(t, docs...)
	for name, want := range map[string]string{"payroll": "payroll", "acme-erp": "", "unknown": ""} {
		if target, ok := r.GoTarget(onefold.ConnectionRef{Workspace: "acme", Connection: name}); target != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", name, target, ok)
		}
	}
}
