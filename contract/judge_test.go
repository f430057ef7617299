package contract

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

func statuses(codes ...int) []StatusMatch {
	var out []StatusMatch
	for _, c := range codes {
		if c < 10 {
			out = append(out, StatusMatch{Class: c})
		} else {
			out = append(out, StatusMatch{Code: c})
		}
	}
	return out
}

func textIs(pointer, value string) []JSONMatch {
	return []JSONMatch{{Pointer: pointer, Values: []*identity.Value{identity.NewString(value)}}}
}

func known[T any](v T) Documented[T] { return Documented[T]{Value: v, Written: true} }

func undocumentedAs[T any]() Documented[T] { return Documented[T]{Written: true, Undocumented: true} }

// exampleOperation is the specification's example of a target operation.
func exampleOperation() *TargetOperation {
	on := true
	clean := &on
	records := "/items"
	str := identity.NewString
	return &TargetOperation{
		Pointer: "/operations/bills.create", Capability: "bills.create",
		Write: Write{
			Method: "POST", Path: "/bills", Timeout: 20 * time.Second,
			Body: identity.NewObject(
				identity.Member{Name: "supplier", Value: str("$request/supplier_id")},
				identity.Member{Name: "number", Value: str("$request/invoice_number")},
				identity.Member{Name: "total", Value: str("$request/total")},
				identity.Member{Name: "memo", Value: str("$request/memo?")},
				identity.Member{Name: "external_ref", Value: str("$operation/reference")},
			),
		},
		Identity: TargetIdentity{
			Kind: IdentityKey, Carrier: &CarrierPlace{In: "header", Name: "Idempotency-Key"},
			Scope:  known([]ScopePart{ScopeAccount, ScopeCredential}),
			Window: known(24 * time.Hour), Anchor: known(AnchorFirstReceived), OnRepeat: known(RepeatFirstResponse),
			Compares: known(Compares{Mode: ComparesParameters}), Stores: known(statuses(2, 4)),
			Concurrent: known(Concurrent{Rule: "same key in progress"}),
		},
		Responses: []Response{
			{Name: "created", When: When{Status: statuses(200, 201)}, Outcome: OutcomeConfirmed, Reference: &Locator{Pointer: "/id"}},
			{Name: "same key in progress", When: When{Status: statuses(409), JSON: textIs("/code", "in_progress")}, Outcome: OutcomeInProgress, RetryAfter: "Retry-After"},
			{Name: "other body", When: When{Status: statuses(422), JSON: textIs("/code", "key_reused")}, Outcome: OutcomeKeyConflict},
			{Name: "throttled", When: When{Status: statuses(429)}, Outcome: OutcomeNotApplied, RetryAfter: "Retry-After"},
			{Name: "credentials", When: When{Status: statuses(401, 403), Clean: clean}, Outcome: OutcomeNotApplied, PauseConnection: true},
			{Name: "invalid", When: When{Status: statuses(400, 404, 422), Clean: clean}, Outcome: OutcomeRejected, Code: &Locator{Pointer: "/code"}},
		},
		Verify: []Check{{Pointer: "/total", Value: str("$request/total")}},
		Lookups: []Lookup{{
			Pointer: "/operations/bills.create/lookup/0", By: LookupByReference, Method: "GET",
			Path: "/bills?external_ref={operation/reference}", Timeout: 20 * time.Second, Records: &records, Complete: &Complete{Always: true},
			Match: []Check{{Pointer: "/external_ref", Value: str("$operation/reference")}}, Reference: &Locator{Pointer: "/id"}, Created: "/created_at",
			Absent: []When{{Status: statuses(404), JSON: textIs("/code", "not_found")}},
		}},
		Settle: known(5 * time.Second), Processing: known(30 * time.Second), Absence: known(AbsenceAuthoritative),
		InDoubt: []onefold.RecoveryStep{onefold.StepReplay, onefold.StepLookup, onefold.StepOperator},
	}
}

// programOf compiles an operation that a test wrote.
func programOf(t testing.TB, op *TargetOperation) *program {
	t.Helper()
	p, faults := compileOperation(op)
	if len(faults) > 0 {
		t.Fatalf("the test's own operation has faults: %v", Faults(faults))
	}
	return p
}

const exampleRequest = `{"supplier_id":"S-81","invoice_number":"INV-0042","total":"1250.00","currency":"EUR"}`

func exampleMaterials(t testing.TB) *materials {
	t.Helper()
	return &materials{
		request: parsed(t, exampleRequest),
		op: &onefold.Operation{Admitted: onefold.Admitted{
			ID: "op_1", Identity: "7e75d820-baa9-4780-ac98-6e677e1d6f41", Reference: "a5acd43e-f037-43f5-bbde-a26776a3b06a",
			CreatedAt: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC),
		}},
		connection: &Connection{Workspace: "acme", Name: "acme-erp", Account: "7", URL: "https://erp.example/acme"},
	}
}

// whole is an answer that was read as announced.
func whole(status int, body string, headers ...string) *onefold.Exchange {
	x := &onefold.Exchange{Status: status, Body: []byte(body), Complete: true}
	for i := 0; i+1 < len(headers); i += 2 {
		x.Headers = append(x.Headers, onefold.Header{Name: headers[i], Value: headers[i+1]})
	}
	return x
}

// cutOff is an answer whose body ended too early.
func cutOff(status int, body string) *onefold.Exchange {
	return &onefold.Exchange{Status: status, Body: []byte(body), Failure: "cut_body"}
}

// seen is what a test looks at in an answer.
type seen struct {
	outcome      onefold.Outcome
	rule         string
	reference    string
	effectExists bool
	doubt        onefold.DoubtReason
	code         string
	pause        bool
	stored       bool
	differs      int
	asserts      onefold.Assertion
}

const (
	confirmed   = onefold.OutcomeConfirmed
	rejected    = onefold.OutcomeRejected
	notApplied  = onefold.OutcomeNotApplied
	inProgress  = onefold.OutcomeInProgress
	keyConflict = onefold.OutcomeKeyConflict
	unknown     = onefold.OutcomeUnknown
	effect      = onefold.AssertsEffect
	noEffect    = onefold.AssertsNoEffect
	nothing     = onefold.AssertsNothing
)

func look(a onefold.Answer, ev onefold.Evidence) seen {
	return seen{
		outcome: a.Outcome, rule: ev.Rule, reference: a.Reference, effectExists: a.EffectExists, doubt: a.Doubt, code: a.Code,
		pause: a.PauseConnection, stored: a.Stored, differs: len(a.Differs), asserts: ev.Asserts,
	}
}

// Proves: M13, M15
func TestRulesAreTakenInOrder(t *testing.T) {
	t.Parallel()
	p, m := programOf(t, exampleOperation()), exampleMaterials(t)
	for _, c := range []struct {
		name  string
		x     *onefold.Exchange
		clean bool
		want  seen
	}{
		{"created", whole(201, `{"id":"BILL-991","total":"1250.00"}`), true, seen{outcome: confirmed, rule: "created", reference: "BILL-991", stored: true, asserts: effect}},
		{"created, unclean", whole(200, `{"id":"BILL-991","total":1250}`), false, seen{outcome: confirmed, rule: "created", reference: "BILL-991", stored: true, asserts: effect}},
		{"a number is a reference", whole(201, `{"id":900719925474099312345,"total":"1250.0"}`), true, seen{outcome: confirmed, rule: "created", reference: "900719925474099312345", stored: true, asserts: effect}},
		{"the field is not shown", whole(201, `{"id":"BILL-991"}`), true, seen{outcome: confirmed, rule: "created", reference: "BILL-991", stored: true, asserts: effect}},
		{"another total", whole(201, `{"id":"BILL-991","total":"1250.01"}`), true, seen{outcome: confirmed, rule: "created", reference: "BILL-991", stored: true, differs: 1, asserts: effect}},
		{"total is null", whole(201, `{"id":"BILL-991","total":null}`), true, seen{outcome: confirmed, rule: "created", reference: "BILL-991", stored: true, differs: 1, asserts: effect}},

		{"no reference", whole(201, `{"total":"1250.00"}`), true, seen{outcome: confirmed, rule: "created", effectExists: true, doubt: onefold.DoubtUnreadable, stored: true, asserts: effect}},
		{"empty reference", whole(201, `{"id":"","total":"1250.00"}`), true, seen{outcome: confirmed, rule: "created", effectExists: true, doubt: onefold.DoubtUnreadable, stored: true, asserts: effect}},
		{"blank reference", whole(201, `{"id":" \t"}`), true, seen{outcome: confirmed, rule: "created", effectExists: true, doubt: onefold.DoubtUnreadable, stored: true, asserts: effect}},
		{"null reference", whole(201, `{"id":null}`), true, seen{outcome: confirmed, rule: "created", effectExists: true, doubt: onefold.DoubtUnreadable, stored: true, asserts: effect}},
		{"boolean reference", whole(201, `{"id":true}`), true, seen{outcome: confirmed, rule: "created", effectExists: true, doubt: onefold.DoubtUnreadable, stored: true, asserts: effect}},
		{"object reference", whole(201, `{"id":{"v":"1"}}`), true, seen{outcome: confirmed, rule: "created", effectExists: true, doubt: onefold.DoubtUnreadable, stored: true, asserts: effect}},
		{"control character in the reference", whole(201, `{"id":"a\nb"}`), true, seen{outcome: confirmed, rule: "created", effectExists: true, doubt: onefold.DoubtUnreadable, stored: true, asserts: effect}},
		{"endless reference", whole(201, `{"id":"`+strings.Repeat("x", maxReference+1)+`"}`), true, seen{outcome: confirmed, rule: "created", effectExists: true, doubt: onefold.DoubtUnreadable, stored: true, asserts: effect}},
		{"duplicate members", whole(201, `{"id":"A","id":"B"}`), true, seen{outcome: confirmed, rule: "created", effectExists: true, doubt: onefold.DoubtUnreadable, stored: true, asserts: effect}},
		{"HTML", whole(200, `<html>OK</html>`), true, seen{outcome: confirmed, rule: "created", effectExists: true, doubt: onefold.DoubtUnreadable, stored: true, asserts: effect}},
		{"no body", whole(201, ``), true, seen{outcome: confirmed, rule: "created", effectExists: true, doubt: onefold.DoubtUnreadable, stored: true, asserts: effect}},
		{"no reference and another total", whole(201, `{"total":"1"}`), true, seen{outcome: confirmed, rule: "created", effectExists: true, doubt: onefold.DoubtUnreadable, differs: 1, stored: true, asserts: effect}},

		{"in progress", whole(409, `{"code":"in_progress"}`), true, seen{outcome: inProgress, rule: "same key in progress", doubt: onefold.DoubtInProgress, asserts: nothing}},
		{"another 409", whole(409, `{"code":"locked"}`), true, seen{outcome: unknown, doubt: onefold.DoubtUnclassified, stored: true, asserts: nothing}},
		{"409 without a body", whole(409, ``), true, seen{outcome: unknown, doubt: onefold.DoubtUnclassified, stored: true, asserts: nothing}},
		{"key conflict", whole(422, `{"code":"key_reused"}`), true, seen{outcome: keyConflict, rule: "other body", doubt: onefold.DoubtKeyConflict, stored: true, asserts: nothing}},
		{"throttled", whole(429, ``), true, seen{outcome: notApplied, rule: "throttled", asserts: noEffect}},
		{"throttled, unclean", whole(429, ``), false, seen{outcome: notApplied, rule: "throttled", asserts: nothing}},
		{"credentials", whole(401, ``), true, seen{outcome: notApplied, rule: "credentials", pause: true, asserts: noEffect}},
		{"credentials, unclean", whole(403, ``), false, seen{outcome: unknown, doubt: onefold.DoubtRefusedAfterDoubt, asserts: nothing}},
		{"invalid", whole(422, `{"code":"total_negative"}`), true, seen{outcome: rejected, rule: "invalid", code: "total_negative", stored: true, asserts: noEffect}},
		{"invalid with a number", whole(400, `{"code":6140}`), true, seen{outcome: rejected, rule: "invalid", code: "6140", stored: true, asserts: noEffect}},
		{"invalid without a code", whole(400, `{}`), true, seen{outcome: rejected, rule: "invalid", code: "http_400", stored: true, asserts: noEffect}},
		{"invalid in HTML", whole(404, `<h1>no</h1>`), true, seen{outcome: rejected, rule: "invalid", code: "http_404", stored: true, asserts: noEffect}},
		{"invalid, unclean", whole(422, `{"code":"total_negative"}`), false, seen{outcome: unknown, doubt: onefold.DoubtRefusedAfterDoubt, stored: true, asserts: nothing}},
	} {
		if got := look(p.judge(m, c.x, c.clean)); got != c.want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c.name, got, c.want)
		}
	}
}

// Without rules, by status and cleanliness: every status, both ways.
//
// Proves: M13
func TestAnswersWithoutARule(t *testing.T) {
	t.Parallel()
	op := exampleOperation()
	op.Responses, op.Verify = nil, nil
	p, m := programOf(t, op), exampleMaterials(t)
	for status := 100; status <= 999; status++ {
		for _, clean := range []bool{true, false} {
			for _, body := range []string{``, `{"id":"BILL-991"}`, `<html>`} {
				want := seen{outcome: unknown, doubt: onefold.DoubtUnclassified, asserts: nothing}
				if body == `<html>` {
					want.doubt = onefold.DoubtUnreadable
				}
				switch {
				case status >= 500 && status <= 599:
					want.doubt = onefold.DoubtServerError
				case status >= 200 && status <= 299:
					want.effectExists, want.asserts = true, effect
				}
				switch status {
				case 400, 404, 405, 410, 413, 415, 422:
					want.doubt = onefold.DoubtRefusedAfterDoubt
					if clean {
						want = seen{outcome: rejected, code: fmt.Sprintf("http_%d", status), asserts: noEffect}
					}
				case 401, 403:
					want.doubt = onefold.DoubtRefusedAfterDoubt
					if clean {
						want = seen{outcome: notApplied, pause: true, asserts: noEffect}
					}
				}
				class := status / 100
				want.stored = (class == 2 || class == 4) && status != 401 && status != 403 && status != 425 && status != 429
				if got := look(p.judge(m, whole(status, body), clean)); got != want {
					t.Errorf("status %d, clean %v, body %q:\ngot  %+v\nwant %+v", status, clean, body, got, want)
				}
			}
		}
	}
}

func TestBodiesThatWereCutOff(t *testing.T) {
	t.Parallel()
	p, m := programOf(t, exampleOperation()), exampleMaterials(t)
	for _, c := range []struct {
		name  string
		x     *onefold.Exchange
		clean bool
		want  seen
	}{
		{"a success that a rule confirms", cutOff(201, `{"id":"BILL-991","to`), true, seen{outcome: confirmed, rule: "created", effectExists: true, doubt: onefold.DoubtUnreadable, stored: true, asserts: effect}},
		{"a success whose bytes happen to be JSON", cutOff(201, `{"id":"BILL-9"}`), true, seen{outcome: confirmed, rule: "created", effectExists: true, doubt: onefold.DoubtUnreadable, stored: true, asserts: effect}},
		{"a success without a byte of body", cutOff(200, ``), true, seen{outcome: confirmed, rule: "created", effectExists: true, doubt: onefold.DoubtUnreadable, stored: true, asserts: effect}},
		{"a success without a rule", cutOff(202, `{`), true, seen{outcome: unknown, effectExists: true, doubt: onefold.DoubtUnreadable, stored: true, asserts: effect}},
		{"a success without a rule, unclean", cutOff(204, ``), false, seen{outcome: unknown, effectExists: true, doubt: onefold.DoubtUnreadable, stored: true, asserts: effect}},
		{"a 409 that may be in progress", cutOff(409, `{"code":"in_pro`), true, seen{outcome: unknown, rule: "same key in progress", doubt: onefold.DoubtUnreadable, stored: true, asserts: nothing}},
		{"a 422 that may be the key conflict", cutOff(422, `{"co`), true, seen{outcome: unknown, rule: "other body", doubt: onefold.DoubtUnreadable, stored: true, asserts: nothing}},
		{"a 422 of two meanings", whole(422, `{"code":"invalid","code":"key_reused"}`), true, seen{outcome: unknown, rule: "other body", doubt: onefold.DoubtUnreadable, stored: true, asserts: nothing}},
		{"a 409 in HTML", whole(409, `<html>`), true, seen{outcome: unknown, rule: "same key in progress", doubt: onefold.DoubtUnreadable, stored: true, asserts: nothing}},
		{"a refusal that needs no body", cutOff(400, `{"co`), true, seen{outcome: rejected, rule: "invalid", code: "http_400", stored: true, asserts: noEffect}},
		{"the same, unclean", cutOff(400, `{"co`), false, seen{outcome: unknown, doubt: onefold.DoubtRefusedAfterDoubt, stored: true, asserts: nothing}},
		{"a throttle that needs no body", cutOff(429, ``), true, seen{outcome: notApplied, rule: "throttled", asserts: noEffect}},
		{"a server error", cutOff(503, `{`), true, seen{outcome: unknown, doubt: onefold.DoubtServerError, asserts: nothing}},
	} {
		if got := look(p.judge(m, c.x, c.clean)); got != c.want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c.name, got, c.want)
		}
	}
}

// Every word of the transport for a body that did not come whole is the same.
func TestEveryFailureInABodyIsACutBody(t *testing.T) {
	t.Parallel()
	p, m := programOf(t, exampleOperation()), exampleMaterials(t)
	for _, failure := range []string{"cut_body", "timeout", "canceled", "too_large", "bad_encoding", "protocol", "something new"} {
		for _, complete := range []bool{true, false} {
			x := &onefold.Exchange{Status: 201, Failure: failure, Complete: complete, Body: []byte(`{"id":"BILL-991","total":"1250.00"}`)}
			if a, _ := p.judge(m, x, true); a.Reference != "" || !a.EffectExists {
				t.Errorf("%s, complete %v: %+v", failure, complete, a)
			}
		}
	}
}

// A rule on a success status alone that says "no effect" does not outweigh a
// body that was cut off.
func TestCutSuccessIsAnEffectWhateverARuleSays(t *testing.T) {
	t.Parallel()
	for _, outcome := range []Outcome{OutcomeRejected, OutcomeNotApplied, OutcomeInProgress, OutcomeKeyConflict, OutcomeUnknown} {
		op := exampleOperation()
		op.Responses = []Response{{Name: "odd", When: When{Status: statuses(2)}, Outcome: outcome, PauseConnection: true, SettlesOperation: true}}
		p := programOf(t, op)
		a, ev := p.judge(exampleMaterials(t), cutOff(200, `{`), true)
		if a.Outcome != unknown || !a.EffectExists || a.SettlesOperation || ev.Asserts != effect {
			t.Errorf("%s: %+v", outcome, a)
		}
	}
}

func TestTransportFailures(t *testing.T) {
	t.Parallel()
	p, m := programOf(t, exampleOperation()), exampleMaterials(t)
	for _, failure := range []string{"dns", "connect", "tls", "address_refused", "secret", "deadline_before_send"} {
		for _, clean := range []bool{true, false} {
			a, ev := p.judge(m, &onefold.Exchange{NotSent: true, Failure: failure, Detail: "why"}, clean)
			want := nothing
			if clean {
				want = noEffect
			}
			if a.Outcome != onefold.OutcomeNotSent || a.Stored || ev.Kind != onefold.EvidenceTransport || ev.Asserts != want {
				t.Errorf("%s: %+v %+v", failure, a, ev)
			}
			// What one request of a connection lacks to authenticate, all of them lack.
			if pauses := failure == onefold.FailureSecret; a.PauseConnection != pauses || !strings.Contains(a.Detail, "why") {
				t.Errorf("%s: pauses %v: %s", failure, a.PauseConnection, a.Detail)
			}
		}
	}
	for _, failure := range []string{"", "canceled", "write", "no_answer", "timeout", "protocol", "dns", "secret"} {
		a, ev := p.judge(m, &onefold.Exchange{Failure: failure}, true)
		if a.Outcome != unknown || a.Doubt != onefold.DoubtNoAnswer || a.EffectExists || a.Stored || ev.Asserts != nothing || a.PauseConnection {
			t.Errorf("%s: %+v", failure, a)
		}
	}
	contradiction := whole(201, `{"id":"BILL-991"}`)
	contradiction.NotSent = true
	if a, _ := p.judge(m, contradiction, true); a.Outcome != unknown || a.Doubt != onefold.DoubtInternal {
		t.Errorf("an answer to what was not sent: %+v", a)
	}
}

func TestConditionsAreAllNeeded(t *testing.T) {
	t.Parallel()
	yesClean, noClean := true, false
	num := func(s string) *identity.Value {
		v, err := identity.NewNumber(s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		name  string
		when  When
		x     *onefold.Exchange
		clean bool
		want  bool
	}{
		{"nothing always holds", When{}, whole(500, ``), true, true},
		{"a class", When{Status: statuses(5)}, whole(503, ``), true, true},
		{"another class", When{Status: statuses(5)}, whole(404, ``), true, false},
		{"a list", When{Status: statuses(404, 5)}, whole(404, ``), true, true},
		{"clean", When{Clean: &yesClean}, whole(404, ``), true, true},
		{"clean, on an unclean one", When{Clean: &yesClean}, whole(404, ``), false, false},
		{"unclean", When{Clean: &noClean}, whole(404, ``), false, true},
		{"header, any case of the name", When{Headers: []HeaderMatch{{"x-state", []string{"done"}}}}, whole(200, ``, "X-State", "done"), true, true},
		{"header, case of the value", When{Headers: []HeaderMatch{{"X-State", []string{"done"}}}}, whole(200, ``, "X-State", "Done"), true, false},
		{"header, one of several", When{Headers: []HeaderMatch{{"X-State", []string{"a", "b"}}}}, whole(200, ``, "X-State", "b", "x-state", "b"), true, true},
		{"header missing", When{Headers: []HeaderMatch{{"X-State", []string{""}}}}, whole(200, ``), true, false},
		{"both of two headers", When{Headers: []HeaderMatch{{"A", []string{"1"}}, {"B", []string{"2"}}}}, whole(200, ``, "A", "1"), true, false},
		{"json by value", When{JSON: []JSONMatch{{"/n", []*identity.Value{num("10")}}}}, whole(200, `{"n":1e1}`), true, true},
		{"json of another type", When{JSON: []JSONMatch{{"/n", []*identity.Value{num("10")}}}}, whole(200, `{"n":"10"}`), true, false},
		{"json one of several", When{JSON: []JSONMatch{{"/n", []*identity.Value{num("1"), identity.NewString("x")}}}}, whole(200, `{"n":"x"}`), true, true},
		{"json null is not absent", When{JSON: []JSONMatch{{"/n", []*identity.Value{identity.NewNull()}}}}, whole(200, `{}`), true, false},
		{"json null", When{JSON: []JSONMatch{{"/n", []*identity.Value{identity.NewNull()}}}}, whole(200, `{"n":null}`), true, true},
		{"json object in any order", When{JSON: []JSONMatch{{"/n", []*identity.Value{parsed(t, `{"a":1,"b":2}`)}}}}, whole(200, `{"n":{"b":2.0,"a":1}}`), true, true},
		{"json deep in an array", When{JSON: textIs("/errors/0/code", "x")}, whole(200, `{"errors":[{"code":"x"}]}`), true, true},
		{"the whole body", When{JSON: textIs("", "OK")}, whole(200, `"OK"`), true, true},
		{"both of two members", When{JSON: append(textIs("/a", "1"), textIs("/b", "2")...)}, whole(200, `{"a":"1"}`), true, false},
		{"status and json", When{Status: statuses(409), JSON: textIs("/a", "1")}, whole(200, `{"a":"1"}`), true, false},
		{"json without a body", When{JSON: textIs("/a", "1")}, whole(204, ``), true, false},
	} {
		k := operationCompiler{}
		condition := k.condition(c.when, "/when")
		if got := condition.holds(readAnswer(c.x), nil, c.clean); (got == yes) != c.want || got == unclear {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// Proves: M13
func TestSettlesIsKeptForRefusalsAlone(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[Outcome]bool{OutcomeRejected: true, OutcomeNotApplied: false, OutcomeConfirmed: false, OutcomeUnknown: false} {
		op := exampleOperation()
		op.Responses = []Response{{Name: "gone", When: When{Status: statuses(410)}, Outcome: outcome, SettlesOperation: true}}
		a, ev := programOf(t, op).judge(exampleMaterials(t), whole(410, `{}`), false)
		if a.SettlesOperation != want || (ev.Asserts == noEffect) != want {
			t.Errorf("%s: settles %v, asserts %s", outcome, a.SettlesOperation, ev.Asserts)
		}
	}
}

// Proves: M11a
func TestStoredAnswers(t *testing.T) {
	t.Parallel()
	op := exampleOperation()
	op.Responses = []Response{
		{Name: "busy", When: When{Status: statuses(409)}, Outcome: OutcomeInProgress},
		{Name: "soft", When: When{Status: statuses(400)}, Outcome: OutcomeNotApplied},
	}
	for _, c := range []struct {
		stores Documented[[]StatusMatch]
		status int
		want   bool
	}{
		{known(statuses(2, 4)), 201, true},
		{known(statuses(2, 4)), 422, true},
		{known(statuses(2, 4)), 500, false},
		{known(statuses(5)), 500, true},
		{known(statuses(502)), 500, false},
		{known(statuses(4)), 401, false},
		{known(statuses(4)), 403, false},
		{known(statuses(4)), 425, false},
		{known(statuses(4)), 429, false},
		{known(statuses(4)), 409, false}, // in progress
		{known(statuses(4)), 400, false}, // not applied
		{known([]StatusMatch(nil)), 500, false},
		{undocumentedAs[[]StatusMatch](), 500, true},
		{undocumentedAs[[]StatusMatch](), 429, false},
		{Documented[[]StatusMatch]{Undocumented: true, Assumed: &Assumption{}, Value: statuses(2)}, 500, false},
	} {
		op.Identity.Stores = c.stores
		if a, _ := programOf(t, op).judge(exampleMaterials(t), whole(c.status, `{}`), true); a.Stored != c.want {
			t.Errorf("%+v, status %d: stored %v", c.stores, c.status, a.Stored)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	p, m := programOf(t, exampleOperation()), exampleMaterials(t)
	seenAt := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		headers []string
		want    time.Duration
	}{
		{[]string{"Retry-After", "30"}, 30 * time.Second},
		{[]string{"retry-after", " 1.5 "}, 1500 * time.Millisecond},
		{[]string{"Retry-After", "0"}, 0},
		{[]string{"Retry-After", "-5"}, 0},
		{[]string{"Retry-After", "NaN"}, 0},
		{[]string{"Retry-After", "Inf"}, maxRetryAfter},
		{[]string{"Retry-After", "1e300"}, maxRetryAfter},
		{[]string{"Retry-After", "99999999999999999999999"}, maxRetryAfter},
		{[]string{"Retry-After", "soon"}, 0},
		{[]string{"Retry-After", ""}, 0},
		{nil, 0},
		{[]string{"Retry-After", "Sun, 29 Nov 2026 12:01:00 GMT"}, time.Minute},
		{[]string{"Retry-After", "Sunday, 29-Nov-26 12:01:00 UTC"}, time.Minute},
		{[]string{"Retry-After", "Sun Nov 29 12:01:00 2026"}, time.Minute},
		{[]string{"Retry-After", "Sun, 29 Nov 2026 11:59:00 GMT"}, 0},
		{[]string{"Retry-After", "Sun, 29 Nov 2037 12:00:00 GMT"}, maxRetryAfter},
		// The target's clock is an hour ahead, and its wait is still a minute.
		{[]string{"Retry-After", "Sun, 29 Nov 2026 13:01:00 GMT", "Date", "Sun, 29 Nov 2026 13:00:00 GMT"}, time.Minute},
	} {
		x := whole(429, ``, c.headers...)
		x.Evidence.SeenAt = seenAt
		if a, _ := p.judge(m, x, true); a.RetryAfter != c.want {
			t.Errorf("%v: %v, want %v", c.headers, a.RetryAfter, c.want)
		}
	}
	// No clock at all: a date says nothing.
	if a, _ := p.judge(m, whole(429, ``, "Retry-After", "Sun, 29 Nov 2026 12:01:00 GMT"), true); a.RetryAfter != 0 {
		t.Errorf("without any clock: %v", a.RetryAfter)
	}
}

func TestTargetRequestID(t *testing.T) {
	t.Parallel()
	p, m := programOf(t, exampleOperation()), exampleMaterials(t)
	for _, c := range []struct {
		headers []string
		want    string
	}{
		{[]string{"X-Request-Id", "abc"}, "abc"},
		{[]string{"x-request-id", "abc", "request-id", "req_1"}, "req_1"},
		{[]string{"X-Correlation-Id", "c"}, "c"},
		{[]string{"X-Request-Id", strings.Repeat("x", 300)}, strings.Repeat("x", maxCode)},
		{[]string{"X-Request-Id", "a\r\nb"}, ""},
		{nil, ""},
	} {
		if a, _ := p.judge(m, whole(500, ``, c.headers...), true); a.TargetRequestID != c.want {
			t.Errorf("%v: %q", c.headers, a.TargetRequestID)
		}
	}
}

func TestReferenceFromAHeader(t *testing.T) {
	t.Parallel()
	op := exampleOperation()
	op.Verify = nil
	op.Responses = []Response{{Name: "created", When: When{Status: statuses(201)}, Outcome: OutcomeConfirmed, Reference: &Locator{Header: "Location"}}}
	p, m := programOf(t, op), exampleMaterials(t)
	if a, _ := p.judge(m, whole(201, ``, "location", "/bills/7"), true); a.Reference != "/bills/7" || a.EffectExists {
		t.Errorf("%+v", a)
	}
	if a, _ := p.judge(m, whole(201, ``), true); a.Reference != "" || !a.EffectExists {
		t.Errorf("without it: %+v", a)
	}
	x := cutOff(201, ``)
	x.Headers = []onefold.Header{{Name: "Location", Value: "/bills/7"}}
	if a, _ := p.judge(m, x, true); a.Reference != "" || !a.EffectExists {
		t.Errorf("of a cut answer: %+v", a)
	}
}

// Proves: M15
func TestAgreement(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		approved, found string
		want            truth
	}{
		{`"1250.00"`, `"1250.00"`, yes},
		{`"1250.00"`, `"1250"`, yes},
		{`"1250.00"`, `1250`, yes},
		{`1250.00`, `"1250.0"`, yes},
		{`1.25e3`, `"1250"`, yes},
		{`"-0.00"`, `0`, yes},
		{`123456789012345678901234567890.1`, `"123456789012345678901234567890.10"`, yes},
		{`"1250.00"`, `"1250.01"`, no},
		{`9007199254740993`, `9007199254740992`, no},
		{`"EUR"`, `"EUR"`, yes},
		{`"EUR"`, `"USD"`, no},
		{`"EUR"`, `"eur"`, unclear},
		{`"EUR"`, `" EUR"`, unclear},
		{`"007"`, `7`, unclear},
		{`"007"`, `"7"`, no},
		{`"1E3"`, `"1000"`, no}, // document numbers, not amounts
		{`"1E3"`, `1000`, no},
		{`"x"`, `null`, no},
		{`null`, `null`, yes},
		{`true`, `"true"`, no},
		{`{"a":1}`, `{"a":1.0}`, yes},
		{`[1,2]`, `[2,1]`, no},
		{`"1"`, `["1"]`, no},
	} {
		if got := agree(parsed(t, c.approved), parsed(t, c.found)); got != c.want {
			t.Errorf("%s and %s: %v, want %v", c.approved, c.found, got, c.want)
		}
	}
}

// Proves: M15
func TestVerifyWithWhatTheRequestLeavesOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reference, body string
		differs, hidden int
	}{
		{`$request/memo`, `{"memo":null}`, 0, 0},
		{`$request/memo`, `{}`, 0, 0},
		{`$request/memo`, `{"memo":"surprise"}`, 1, 0},
		{`$request/memo?`, `{"memo":"surprise"}`, 0, 0},
		{`$request/currency`, `{"memo":"EUR"}`, 0, 0},
		{`$request/currency`, `{"memo":"USD"}`, 1, 0},
		{`$request/currency`, `{"memo":"eur"}`, 1, 0},
		{`$request/currency`, `{}`, 0, 1},
		{`{request/currency} {request/total}`, `{"memo":"EUR 1250.00"}`, 0, 0},
		{`{request/currency} {request/total}`, `{"memo":"EUR 1250"}`, 1, 0},
	} {
		op := exampleOperation()
		op.Verify = []Check{{Pointer: "/memo", Value: identity.NewString(c.reference)}}
		v := programOf(t, op).compare(exampleMaterials(t), parsed(t, c.body))
		if len(v.differs) != c.differs || len(v.hidden) != c.hidden {
			t.Errorf("%s against %s: %+v", c.reference, c.body, v)
		}
	}
}

func TestEvidenceOfAnAnswer(t *testing.T) {
	t.Parallel()
	p, m := programOf(t, exampleOperation()), exampleMaterials(t)
	x := whole(201, `{"id":"BILL-991","total":"9"}`)
	x.Evidence = onefold.Evidence{ID: "ev_1", Excerpt: "kept", Digest: "d", BytesIn: 7, Took: time.Second}
	a, ev := p.judge(m, x, true)
	if ev.ID != "ev_1" || ev.Excerpt != "kept" || ev.BytesIn != 7 || ev.Kind != onefold.EvidenceResponse || ev.Status != 201 {
		t.Errorf("the transport's part is lost: %+v", ev)
	}
	if ev.Rule != "created" || ev.Reference != "BILL-991" || ev.Detail != a.Detail || len(ev.Mismatches) != 1 ||
		ev.Mismatches[0] != (onefold.Mismatch{Pointer: "/total", Approved: `"1250.00"`, Found: `"9"`}) {
		t.Errorf("%+v", ev)
	}
	if a, _ := p.judge(m, whole(201, `{"id":"BILL-991"}`), true); !strings.Contains(a.Detail, "does not show /total") {
		t.Errorf("a field that is not shown goes unmentioned: %s", a.Detail)
	}
}
