package contract

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
)

// bankOperation is the example of a target that accepts for later.
func bankOperation(t *testing.T) (*program, *materials) {
	t.Helper()
	src, err := os.ReadFile("testdata/good/bank.yaml")
	if err != nil {
		t.Fatal(err)
	}
	docs, faults := DecodeFile("bank.yaml", src)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	m := someMaterials(t)
	m.request = parsed(t, `{"payee":"P-1","amount":"12.50","currency":"EUR"}`)
	m.op.Reference, m.op.CreatedAt = ours, time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	return programOf(t, &docs[1].Target.Operations[0]), m
}

func transferRecord(ref, status, amount string) string {
	return `{"id":"PAY-7","external_ref":"` + ref + `","status":"` + status + `","payee":"P-1","amount":"` + amount + `","currency":"EUR","created_at":"2026-11-29T12:00:01Z"}`
}

// Proves: M11b, M16a
func TestAcceptanceAndExistenceAreJudged(t *testing.T) {
	t.Parallel()
	p, m := bankOperation(t)
	for _, c := range []struct {
		name      string
		x         *onefold.Exchange
		outcome   onefold.Outcome
		reference string
		own       bool
	}{
		{"accepted", whole(202, transferRecord(ours, "pending", "12.50")), onefold.OutcomeAccepted, "PAY-7", false},
		{"accepted without a name", whole(202, `{}`), onefold.OutcomeAccepted, "", false},
		{"accepted, cut off", cutOff(202, `{"id":"PA`), onefold.OutcomeAccepted, "", false},
		{"accepted, no body", whole(202, ``), onefold.OutcomeAccepted, "", false},
		{"paid", whole(201, transferRecord(ours, "settled", "12.50")), onefold.OutcomeConfirmed, "PAY-7", false},
		{"another success", whole(200, transferRecord(ours, "settled", "12.50")), onefold.OutcomeUnknown, "", false},
		{"exists", whole(409, `{"code":"duplicate_reference","id":"PAY-1"}`), onefold.OutcomeExists, "PAY-1", true},
		{"exists, unnamed", whole(409, `{"code":"duplicate_reference"}`), onefold.OutcomeExists, "", true},
		{"exists, cut off", cutOff(409, `{"code":"duplic`), onefold.OutcomeUnknown, "", false},
	} {
		a, ev := p.judge(m, c.x, true)
		if a.Outcome != c.outcome || a.Reference != c.reference || a.OwnIdentity != c.own || ev.Reference != c.reference {
			t.Errorf("%s: %+v", c.name, a)
		}
		if c.outcome == onefold.OutcomeAccepted && (ev.Asserts != onefold.AssertsNothing || a.EffectExists || ev.Rule != "accepted") {
			t.Errorf("%s: asserts %s by %q", c.name, ev.Asserts, ev.Rule)
		}
		if c.outcome == onefold.OutcomeExists && !a.Stored {
			t.Errorf("%s: it could be asked again", c.name)
		}
	}
}

// Proves: M11b
func TestOnlyADerivedValueThatIsSentAndFoundIsOurOwn(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*TargetOperation){
		"the reference is not sent": func(op *TargetOperation) { op.Write.Body = parsed(t, `{"external_ref":"$request/payee"}`) },
		"the record is not told by it": func(op *TargetOperation) {
			op.Lookups[0].Match = []Check{{"/external_ref", parsed(t, `"$request/payee"`)}}
		},
		"there is only evidence": func(op *TargetOperation) { op.Lookups = op.Lookups[1:] },
		"it is not looked up":    func(op *TargetOperation) { op.InDoubt = []onefold.RecoveryStep{onefold.StepOperator} },
	} {
		p, m := bankOperation(t)
		op := *p.op
		op.Lookups = append([]Lookup(nil), op.Lookups...)
		change(&op)
		a, _ := programOf(t, &op).judge(m, whole(409, `{"code":"duplicate_reference"}`), true)
		if a.OwnIdentity {
			t.Errorf("%s, and yet it counts as our own", name)
		}
	}
}

// Proves: M11, M15
func TestRecordsAreSortedByTheirState(t *testing.T) {
	t.Parallel()
	p, m := bankOperation(t)
	m.op.Accepted = &onefold.Acceptance{Reference: "PAY-7"}
	// A look-up shows it to a person; a poll, of work that is known, says nothing.
	const unknownState onefold.LookupResult = "unknown state"
	for _, c := range []struct {
		name, record string
		result       onefold.LookupResult
		failed       bool
		differs      int
		asserts      onefold.Assertion
	}{
		{"settled", transferRecord(ours, "settled", "12.5"), found, false, 0, effect},
		{"settled and differs", transferRecord(ours, "settled", "13"), found, false, 1, effect},
		{"pending", transferRecord(ours, "pending", "12.50"), onefold.LookupPending, false, 0, nothing},
		{"pending and differs", transferRecord(ours, "received", "13"), found, false, 1, nothing},
		{"failed", transferRecord(ours, "failed", "12.50"), found, true, 0, noEffect},
		{"failed and differs", transferRecord(ours, "returned", "13"), inconclusive, false, 1, nothing},
		{"unlisted", transferRecord(ours, "Settled", "12.50"), unknownState, false, 0, nothing},
		{"without a state", `{"id":"PAY-7","external_ref":"` + ours + `","amount":"12.50"}`, unknownState, false, 0, nothing},
		{"a state of another type", `{"id":"PAY-7","external_ref":"` + ours + `","amount":"12.50","status":null}`, unknownState, false, 0, nothing},
	} {
		for kind, l := range map[onefold.EvidenceKind]*lookup{onefold.EvidenceLookup: &p.lookups[0], onefold.EvidencePoll: p.poll} {
			body := items(c.record)
			if kind == onefold.EvidencePoll {
				body = c.record
			}
			want := c.result
			if want == unknownState {
				want = map[onefold.EvidenceKind]onefold.LookupResult{onefold.EvidenceLookup: onefold.LookupCandidates, onefold.EvidencePoll: inconclusive}[kind]
			}
			out, ev := p.judgeLookup(l, m, whole(200, body))
			if out.Result != want || out.FinallyFailed != c.failed || len(out.Differs) != c.differs || ev.Asserts != c.asserts || ev.Kind != kind {
				t.Errorf("%s by %s: %+v, asserts %s", c.name, kind, out, ev.Asserts)
			}
			if out.OwnIdentity != (kind == onefold.EvidenceLookup) {
				t.Errorf("%s by %s: own identity %v", c.name, kind, out.OwnIdentity)
			}
		}
	}
	// Two records are two, whatever their states.
	out, _ := p.judgeLookup(&p.lookups[0], m, whole(200, items(transferRecord(ours, "failed", "12.50"), strings.Replace(transferRecord(ours, "settled", "12.50"), "PAY-7", "PAY-8", 1))))
	if out.Result != several || len(out.Candidates) != 2 || out.Candidates[1].Reference != "PAY-8" {
		t.Errorf("two records: %+v", out)
	}
}

// A poll that is answered with another operation's record says nothing of ours,
// whatever state that record is in; one that does not show whose it is counts.
//
// Proves: M15, M18
func TestAPollOfAnothersRecordSaysNothing(t *testing.T) {
	t.Parallel()
	p, m := bankOperation(t)
	m.op.Accepted = &onefold.Acceptance{Reference: "PAY-7"}
	for _, status := range []string{"settled", "failed", "pending"} {
		for body, says := range map[string]bool{
			transferRecord("another", status, "12.50"):                          false,
			transferRecord(strings.ToUpper(ours), status, "12.50"):              false,
			transferRecord(ours, status, "12.50"):                               true,
			`{"id":"PAY-7","amount":"12.50","status":"` + status + `"}`:         true,
			`{"id":"PAY-7","external_ref":null,"status":"` + status + `"}`:      true,
			`{"id":"PAY-7","external_ref":["` + ours + `"],"status":"settled"}`: false,
		} {
			out, ev := p.judgeLookup(p.poll, m, whole(200, body))
			if (out.Result == inconclusive) == says || !says && ev.Asserts != onefold.AssertsNothing {
				t.Errorf("%s: %+v, asserts %s", body, out, ev.Asserts)
			}
		}
	}
}

// Proves: M12
func TestAPollProvesNoAbsence(t *testing.T) {
	t.Parallel()
	p, m := bankOperation(t)
	for name, x := range map[string]*onefold.Exchange{
		"not found": whole(404, `{"code":"not_found"}`), "gone": whole(410, ``), "a list": whole(200, `[]`), "nothing": whole(200, ``),
		"forbidden": whole(403, `{}`), "html": whole(200, `<html>`), "cut": cutOff(200, `{"sta`), "no answer": {Failure: "timeout"},
		"somewhere else": whole(303, transferRecord(ours, "settled", "12.50")),
	} {
		if out, ev := p.judgeLookup(p.poll, m, x); out.Result != inconclusive || ev.Asserts != onefold.AssertsNothing || out.Detail == "" {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

// The poll goes out where a poll is next and the work has a name; otherwise a
// look-up does, and its answer is judged as one.
func TestThePollGivesWayToALookupWithoutAName(t *testing.T) {
	t.Parallel()
	p, m := bankOperation(t)
	for _, c := range []struct {
		next     onefold.NextAction
		accepted *onefold.Acceptance
		path     string
	}{
		{onefold.NextPoll, &onefold.Acceptance{Reference: "PAY/7"}, "/payments/PAY%2F7"},
		{onefold.NextPoll, &onefold.Acceptance{}, "/payments?external_ref=" + ours},
		{onefold.NextLookup, &onefold.Acceptance{Reference: "PAY-7"}, "/payments?external_ref=" + ours},
		{onefold.NextLookup, nil, "/payments?external_ref=" + ours},
	} {
		m.op.Next, m.op.Accepted = c.next, c.accepted
		if _, f, err := p.pick(m); err != nil || f.Path != c.path || f.Method != "GET" {
			t.Errorf("%s %+v: %s, %v", c.next, c.accepted, f.Path, err)
		}
	}
}

// Proves: M14
func TestEvidenceGivesCandidates(t *testing.T) {
	t.Parallel()
	p, m := bankOperation(t)
	l := &p.lookups[1]
	one := transferRecord("another", "settled", "12.50")
	two := strings.NewReplacer("PAY-7", "PAY-8", "12.50", "12.5", "P-1", "p-1").Replace(one)
	older := strings.NewReplacer("PAY-7", "PAY-9", "2026-11-29", "2026-10-29").Replace(one)
	nameless := strings.NewReplacer(`"id":"PAY-7"`, `"id":null`, "another", "third").Replace(one)
	out, ev := p.judgeLookup(l, m, whole(200, items(one, two, older, nameless, transferRecord("x", "settled", "99"))))
	if out.Result != onefold.LookupCandidates || len(out.Candidates) != 3 || ev.Asserts != onefold.AssertsNothing || out.OwnIdentity || out.Reference != "" {
		t.Fatalf("%+v, asserts %s", out, ev.Asserts)
	}
	if out.Candidates[1].Reference != "PAY-8" || out.Candidates[2].Reference != "" || !strings.Contains(out.Detail, "1 older") {
		t.Errorf("%+v", out)
	}
	shown := map[string]string{}
	for _, f := range out.Candidates[0].Fields {
		shown[f.Pointer] = f.Value
	}
	if shown["/payee"] != `"P-1"` || shown["/status"] != `"settled"` || shown["/created_at"] == "" || len(shown) != 5 {
		t.Errorf("shown are %v", shown)
	}
	// However sure the page is of being the whole one: nothing found proves nothing.
	x := whole(200, items(), "X-Complete", "true")
	if out, ev := p.judgeLookup(l, m, x); out.Result != inconclusive || ev.Asserts != onefold.AssertsNothing {
		t.Errorf("nothing found: %+v", out)
	}
	var many []string
	for i := range onefold.MaxCandidates + 5 {
		many = append(many, strings.Replace(one, "PAY-7", "PAY-"+itoa(100+i), 1))
	}
	if out, _ := p.judgeLookup(l, m, whole(200, items(many...))); len(out.Candidates) != onefold.MaxCandidates || !strings.Contains(out.Detail, itoa(len(many))+" records") {
		t.Errorf("%d candidates of many: %s", len(out.Candidates), out.Detail)
	}
}

// What follows from the documents: times of the wait, the plan, the sum of I27.
func TestWhatFollowsFromAcceptance(t *testing.T) {
	t.Parallel()
	p, _ := bankOperation(t)
	c := &Capability{Retry: Retry{Attempts: 8, Within: time.Hour}, Reconcile: Reconcile{Within: time.Hour}}
	d := Derive(c, p.op, &Connection{Owner: "maria", Mode: onefold.ModeAutonomous}, Deployment{})
	if d.Policy.PollEvery != 5*time.Second || d.Policy.PollWithin != 24*time.Hour {
		t.Errorf("polls every %s within %s", d.Policy.PollEvery, d.Policy.PollWithin)
	}
	steps := make([]string, 0, len(d.Plan))
	for _, s := range d.Plan {
		steps = append(steps, string(s.Step))
	}
	if got := strings.Join(steps, " "); got != "poll lookup operator" {
		t.Errorf("the plan is %s", got)
	}
	for i, want := range []string{`"settled" in /status confirms it, "failed" or "returned" rejects it`, "one found by evidence is a candidate for a person", "accepted work is not before its 24h are over"} {
		if !strings.Contains(d.Plan[i].Text, want) {
			t.Errorf("step %d: %s", i, d.Plan[i].Text)
		}
	}
	if op := *p.op; true {
		op.Lookups = op.Lookups[1:]
		if got := ProtectionOf(&op); got != onefold.ProtectionEnforced {
			t.Errorf("with a reference that is enforced for ever: %s", got)
		}
		op.Identity.Kind = IdentityNone
		if got := ProtectionOf(&op); got != onefold.ProtectionDetectable {
			t.Errorf("with evidence alone: %s", got)
		}
	}
}
