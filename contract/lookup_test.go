package contract

import (
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

const (
	found        = onefold.LookupFound
	absent       = onefold.LookupAbsent
	inconclusive = onefold.LookupInconclusive
	several      = onefold.LookupSeveral
)

const ours = "a5acd43e-f037-43f5-bbde-a26776a3b06a"

// record is one item as the target lists it.
func record(ref, id string) string {
	return `{"id":"` + id + `","external_ref":"` + ref + `","total":"1250.00","created_at":"2026-11-29T12:00:01Z"}`
}

func items(list ...string) string { return `{"items":[` + strings.Join(list, ",") + `]}` }

// Proves: M12, M15
func TestLookupsAreJudged(t *testing.T) {
	t.Parallel()
	p, m := programOf(t, exampleOperation()), exampleMaterials(t)
	other := record("another", "BILL-1")
	for _, c := range []struct {
		name      string
		x         *onefold.Exchange
		result    onefold.LookupResult
		reference string
		asserts   onefold.Assertion
		why       string
	}{
		{"one", whole(200, items(record(ours, "BILL-991"))), found, "BILL-991", effect, "one record"},
		{"one among others", whole(200, items(other, record(ours, "BILL-991"), other)), found, "BILL-991", effect, ""},
		{"the same one twice", whole(200, items(record(ours, "BILL-991"), record(ours, "BILL-991"))), found, "BILL-991", effect, ""},
		{"the same one, updated meanwhile", whole(200, items(record(ours, "BILL-991"), `{"external_ref":"`+ours+`","id":"BILL-991","total":"1250.00"}`)), found, "BILL-991", effect, ""},
		{"two", whole(200, items(record(ours, "BILL-991"), record(ours, "BILL-992"))), several, "", effect, "BILL-991, BILL-992"},
		{"two, one without a reference", whole(200, items(record(ours, "BILL-991"), `{"external_ref":"`+ours+`"}`)), several, "", effect, "without a readable reference"},
		{"its reference is missing", whole(200, items(`{"external_ref":"`+ours+`","created_at":"2026-11-29"}`)), found, "", effect, "cannot be read"},
		{"none", whole(200, items()), absent, "", noEffect, "none of 0"},
		{"others alone", whole(200, items(other, other)), absent, "", noEffect, "none of 2"},
		// The question was for ours alone: what does not show whose it is may be ours.
		{"one that does not show whose it is", whole(200, items(other, `{"id":"BILL-2"}`)), inconclusive, "", nothing, "does not show whose"},
		{"one that belongs to null", whole(200, items(`{"id":"BILL-3","external_ref":null}`)), inconclusive, "", nothing, "does not show whose"},
		{"one that belongs to an object", whole(200, items(`{"id":"BILL-3","external_ref":{"id":"x"}}`)), inconclusive, "", nothing, "does not show whose"},
		{"ours in a list", whole(200, items(`{"id":"BILL-3","external_ref":["x","`+ours+`"]}`)), onefold.LookupCandidates, "", nothing, "may be the one"},
		{"ours without dashes", whole(200, items(record(strings.ReplaceAll(ours, "-", ""), "BILL-3"))), onefold.LookupCandidates, "", nothing, "may be the one"},
		{"ours in braces", whole(200, items(record("{"+ours+"}", "BILL-3"))), onefold.LookupCandidates, "", nothing, "may be the one"},
		{"ours cut short", whole(200, items(record(ours[:30], "BILL-3"))), onefold.LookupCandidates, "", nothing, "may be the one"},
		{"none, from a cache", whole(200, items(), "Age", "60"), inconclusive, "", nothing, "older than the question"},
		{"none, just fetched", whole(200, items(), "Age", "0"), absent, "", noEffect, ""},
		{"none, stale", whole(200, items(), "Warning", `110 - "Response is Stale"`), inconclusive, "", nothing, "stale"},
		{"not found, from a cache", whole(404, `{"code":"not_found"}`, "age", "3600"), inconclusive, "", nothing, ""},
		{"one, from a cache", whole(200, items(record(ours, "BILL-991")), "Age", "60"), found, "BILL-991", effect, ""},
		{"not found by a rule", whole(404, `{"code":"not_found"}`), absent, "", noEffect, "status 404"},
		{"not found without the code", whole(404, `{"code":"no_route"}`), inconclusive, "", nothing, "status 404"},
		{"not found in HTML", whole(404, `<html>`), inconclusive, "", nothing, "status 404"},
		{"not found, cut off", cutOff(404, `{"code":"not_found"}`), inconclusive, "", nothing, "cut off"},
		{"forbidden", whole(403, `{}`), inconclusive, "", nothing, "403"},
		{"server error with a list", whole(500, items()), inconclusive, "", nothing, "500"},
		{"another success without it", whole(206, items()), inconclusive, "", nothing, "206"},
		{"another success with it", whole(206, items(record(ours, "BILL-991"))), found, "BILL-991", effect, ""},
		{"a redirect", whole(302, items()), inconclusive, "", nothing, "302"},
		{"HTML with 200", whole(200, `<html>`), inconclusive, "", nothing, "no JSON"},
		{"an error inside 200", whole(200, `{"error":"internal"}`), inconclusive, "", nothing, "no /items"},
		{"items is null", whole(200, `{"items":null}`), inconclusive, "", nothing, "null, no list"},
		{"items is an object", whole(200, `{"items":`+record(ours, "BILL-991")+`}`), inconclusive, "", nothing, "no list"},
		{"an item is no record", whole(200, items(`"BILL-1"`)), inconclusive, "", nothing, "no record"},
		{"an item is no record beside ours", whole(200, items(`null`, record(ours, "BILL-991"))), found, "BILL-991", effect, ""},
		{"cut off with ours in it", cutOff(200, items(record(ours, "BILL-991"))), inconclusive, "", nothing, "cut off"},
		{"no body", whole(200, ``), inconclusive, "", nothing, "no body"},
		{"duplicate members", whole(200, `{"items":[],"items":[]}`), inconclusive, "", nothing, "no JSON"},
		{"ours in upper case", whole(200, items(record(strings.ToUpper(ours), "BILL-991"))), onefold.LookupCandidates, "", nothing, "another spelling"},
		{"ours and its twin in upper case", whole(200, items(record(ours, "BILL-991"), record(strings.ToUpper(ours), "BILL-992"))), onefold.LookupCandidates, "", nothing, "another spelling"},
		{"no answer", &onefold.Exchange{Failure: "timeout", Detail: "after 20 s"}, inconclusive, "", nothing, "timeout"},
		{"not sent", &onefold.Exchange{NotSent: true, Failure: "dns"}, inconclusive, "", nothing, "dns"},
		{"no secret", &onefold.Exchange{NotSent: true, Failure: "secret", Detail: "env:A is not set"}, inconclusive, "", nothing, "env:A is not set"},
	} {
		out, ev := p.judgeLookup(&p.lookups[0], m, c.x)
		if out.Result != c.result || out.Reference != c.reference || ev.Asserts != c.asserts || !strings.Contains(out.Detail, c.why) {
			t.Errorf("%s: %+v, asserts %s", c.name, out, ev.Asserts)
		}
		if out.PauseConnection != (c.x.Failure == onefold.FailureSecret) {
			t.Errorf("%s: pauses %v", c.name, out.PauseConnection)
		}
		if ev.Kind != onefold.EvidenceLookup || ev.Detail != out.Detail || ev.Reference != out.Reference || ev.Status != c.x.Status {
			t.Errorf("%s: %+v", c.name, ev)
		}
	}
}

// Proves: M15
func TestFoundRecordsAreVerified(t *testing.T) {
	t.Parallel()
	p, m := programOf(t, exampleOperation()), exampleMaterials(t)
	for _, c := range []struct {
		record   string
		differs  int
		predates bool
		why      string
	}{
		{`"total":1250,"created_at":"2026-11-29T12:00:01Z"`, 0, false, ""},
		{`"total":"1249.99","created_at":"2026-11-29T12:00:01Z"`, 1, false, ""},
		{`"created_at":"2026-11-29T12:00:01Z"`, 0, false, "does not show /total"},
		{`"total":1250,"created_at":"2026-11-29T11:59:00Z"`, 0, false, ""}, // a minute of clock error
		{`"total":1250,"created_at":"2026-11-29T11:58:59.9Z"`, 0, true, ""},
		{`"total":1250,"created_at":"2026-11-29T13:00:00+02:00"`, 0, true, ""},
		{`"total":1250,"created_at":"2026-11-29t12:00:00z"`, 0, false, ""},
		{`"total":1250,"created_at":"2026-11-28"`, 0, false, ""}, // the day before, in some time zone
		{`"total":1250,"created_at":"2026-11-27"`, 0, true, ""},
		{`"total":1250,"created_at":1795953600`, 0, false, ""},
		{`"total":1250,"created_at":1795953599000`, 0, false, ""},
		{`"total":1250,"created_at":1795950000`, 0, true, ""},
		{`"total":1250,"created_at":1795950000000`, 0, true, ""},
	} {
		x := whole(200, items(`{"id":"BILL-991","external_ref":"`+ours+`",`+c.record+`}`))
		out, ev := p.judgeLookup(&p.lookups[0], m, x)
		if out.Result != found || len(out.Differs) != c.differs || out.Predates != c.predates || !strings.Contains(out.Detail, c.why) {
			t.Errorf("%s: %+v", c.record, out)
		}
		if len(ev.Mismatches) != c.differs {
			t.Errorf("%s: evidence %+v", c.record, ev)
		}
	}
}

// A record whose own time is declared and cannot be read may be older than the
// operation, whatever else it says: it is shown to a person, and confirms nothing.
//
// Proves: M15
func TestARecordThatCannotBeDatedGoesToAPerson(t *testing.T) {
	t.Parallel()
	states := func(op *TargetOperation) {
		op.States = &States{
			Field: "/status", Effect: []*identity.Value{identity.NewString("open")}, Pending: []*identity.Value{identity.NewString("queued")},
			NoEffect: []*identity.Value{identity.NewString("void")},
		}
	}
	for _, created := range []string{``, `,"created_at":null`, `,"created_at":"yesterday"`, `,"created_at":1e400`, `,"created_at":{}`} {
		for _, change := range []func(*TargetOperation){func(*TargetOperation) {}, states} {
			for _, rest := range []string{`"status":"open","total":1250`, `"status":"queued"`, `"status":"void"`, `"status":"open","total":1`} {
				op := exampleOperation()
				change(op)
				p, m := programOf(t, op), exampleMaterials(t)
				out, ev := p.judgeLookup(&p.lookups[0], m, whole(200, items(`{"id":"BILL-991","external_ref":"`+ours+`",`+rest+created+`}`)))
				if out.Result != onefold.LookupCandidates || len(out.Candidates) != 1 || out.Candidates[0].Reference != "BILL-991" || out.Reference != "" ||
					out.FinallyFailed || ev.Asserts != nothing || !strings.Contains(out.Detail, "/created_at") {
					t.Errorf("%s%s: %+v, asserts %s", rest, created, out, ev.Asserts)
				}
			}
		}
	}
	// Work on a record that is older is no work of this operation.
	op := exampleOperation()
	states(op)
	p, m := programOf(t, op), exampleMaterials(t)
	for status, want := range map[string]onefold.LookupResult{"open": found, "queued": onefold.LookupCandidates, "void": found} {
		out, _ := p.judgeLookup(&p.lookups[0], m, whole(200, items(`{"id":"B","external_ref":"`+ours+`","status":"`+status+`","created_at":"2025-01-01"}`)))
		if out.Result != want || out.Predates != (want == found) {
			t.Errorf("%s: %+v", status, out)
		}
	}
}

// Proves: M12
func TestAbsenceNeedsAWholePage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		complete *Complete
		x        *onefold.Exchange
		want     onefold.LookupResult
	}{
		{nil, whole(200, items()), inconclusive},
		{&Complete{Always: true}, whole(200, items()), absent},
		{&Complete{Locator: Locator{Pointer: "/last"}}, whole(200, `{"items":[],"last":true}`), absent},
		{&Complete{Locator: Locator{Pointer: "/last"}}, whole(200, `{"items":[],"last":false}`), inconclusive},
		{&Complete{Locator: Locator{Pointer: "/last"}}, whole(200, `{"items":[],"last":"true"}`), inconclusive},
		{&Complete{Locator: Locator{Pointer: "/last"}}, whole(200, `{"items":[]}`), inconclusive},
		{&Complete{Locator: Locator{Header: "X-Last"}}, whole(200, items(), "X-Last", "true"), absent},
		{&Complete{Locator: Locator{Header: "X-Last"}}, whole(200, items(), "X-Last", "0"), inconclusive},
		{&Complete{Locator: Locator{Header: "X-Last"}}, whole(200, items()), inconclusive},
		{nil, whole(404, `{"code":"not_found"}`), absent},
		{nil, whole(200, items(record(ours, "BILL-991"))), found},
	} {
		op := exampleOperation()
		op.Lookups[0].Complete = c.complete
		p := programOf(t, op)
		if out, _ := p.judgeLookup(&p.lookups[0], exampleMaterials(t), c.x); out.Result != c.want {
			t.Errorf("%+v, %s: %+v", c.complete, c.x.Body, out)
		}
	}
}

// Where the body is the record, another body is no proof of absence.
func TestBodyThatIsTheRecord(t *testing.T) {
	t.Parallel()
	op := exampleOperation()
	op.Lookups[0].Path, op.Lookups[0].Records = "/bills/{operation/reference}", nil
	p, m := programOf(t, op), exampleMaterials(t)
	for body, want := range map[string]onefold.LookupResult{
		record(ours, "BILL-991"):      found,
		record("another", "BILL-991"): inconclusive,
		`{"error":"internal"}`:        inconclusive,
		`[]`:                          inconclusive,
		`null`:                        inconclusive,
	} {
		if out, _ := p.judgeLookup(&p.lookups[0], m, whole(200, body)); out.Result != want {
			t.Errorf("%s: %+v", body, out)
		}
	}
}

func TestMatchNeedsAllItsMembers(t *testing.T) {
	t.Parallel()
	op := exampleOperation()
	op.Lookups[0].Match = []Check{
		{Pointer: "/external_ref", Value: identity.NewString("$operation/reference")},
		{Pointer: "/supplier/id", Value: identity.NewString("$request/supplier_id")},
	}
	p, m := programOf(t, op), exampleMaterials(t)
	for body, want := range map[string]onefold.LookupResult{
		`{"external_ref":"` + ours + `","supplier":{"id":"S-81"},"id":"B","created_at":"2026-11-29"}`: found,
		// Nobody else has our reference: what has it and differs is no absence.
		`{"external_ref":"` + ours + `","supplier":{"id":"S-82"},"id":"B"}`: onefold.LookupCandidates,
		`{"external_ref":"` + ours + `","id":"B"}`:                          onefold.LookupCandidates,
		`{"external_ref":"x","supplier":{"id":"S-81"},"id":"B"}`:            absent,
		`{"external_ref":"` + ours + `","supplier":{"id":"s-81"},"id":"B"}`: onefold.LookupCandidates,
	} {
		if out, _ := p.judgeLookup(&p.lookups[0], m, whole(200, items(body))); out.Result != want {
			t.Errorf("%s: %+v", body, out)
		}
	}
	for _, match := range [][]Check{nil, {{Pointer: "/x", Value: identity.NewString("$request/nothing?")}}, {{Pointer: "/x", Value: identity.NewString("$request/nothing")}}} {
		op.Lookups[0].Match = match
		p := programOf(t, op)
		if out, _ := p.judgeLookup(&p.lookups[0], m, whole(200, items())); out.Result != inconclusive {
			t.Errorf("%+v: %+v", match, out)
		}
		if out, _ := p.judgeLookup(&p.lookups[0], m, whole(200, items(record(ours, "B")))); out.Result != inconclusive {
			t.Errorf("%+v: %+v", match, out)
		}
	}
}

// An inconclusive contract still finds, but its absence asserts nothing.
func TestInconclusiveAbsenceAssertsNothing(t *testing.T) {
	t.Parallel()
	op := exampleOperation()
	op.Absence = known(AbsenceInconclusive)
	p := programOf(t, op)
	out, ev := p.judgeLookup(&p.lookups[0], exampleMaterials(t), whole(200, items()))
	if out.Result != absent || ev.Asserts != nothing {
		t.Errorf("%+v, asserts %s", out, ev.Asserts)
	}
}

func TestLookupsTakeTurns(t *testing.T) {
	t.Parallel()
	op := exampleOperation()
	first := op.Lookups[0]
	needy, last := first, first
	needy.Path, last.Path = "/bills/{request/nothing}", "/all"
	op.Lookups = []Lookup{first, needy, last}
	p, m := programOf(t, op), exampleMaterials(t)
	for spent, want := range map[int]string{0: "/bills?external_ref=" + ours, 1: "/all", 2: "/all", 3: "/bills?external_ref=" + ours} {
		m.op.Reconcile.Spent = spent
		l, f, err := p.pick(m)
		if err != nil || f.Path != want || f.Method != "GET" || f.Timeout != 20*time.Second || f.Body != nil {
			t.Errorf("turn %d: %+v, %v", spent, f, err)
		}
		if (want == "/all") != (l == &p.lookups[2]) {
			t.Errorf("turn %d is judged by another look-up", spent)
		}
	}
	op.Lookups = []Lookup{needy}
	if l, _, err := programOf(t, op).pick(m); err == nil || l != nil {
		t.Error("a look-up that cannot be rendered was chosen")
	}
}
