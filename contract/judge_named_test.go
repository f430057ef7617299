package contract

import (
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// A write names a record where a segment of its path, a whole value of its query or
// a text or number of its body is the target's reference: as part of a longer one,
// or as the name of a member, it is none.
//
// Proves: M2a, M18
func TestWhetherTheRequestNamesTheRecord(t *testing.T) {
	t.Parallel()
	str := identity.NewString
	for name, c := range map[string]struct {
		method, path string
		body         *identity.Value
		request      string
		reference    string
		want         bool
	}{
		"a segment of the path":      {"PATCH", "/contacts/{request/id}/name", nil, `{"id":"C-7"}`, "C-7", true},
		"with what is around it":     {"PATCH", "/contacts/C-{request/id}", nil, `{"id":7}`, "C-7", true},
		"written as percents":        {"PATCH", "/contacts/{request/id}", nil, `{"id":"a/b c%2F"}`, "a/b c%2F", true},
		"a number":                   {"PATCH", "/contacts/{request/id}", nil, `{"id":7}`, "7", true},
		"a part of a segment":        {"PATCH", "/contacts/{request/id}", nil, `{"id":"C-71"}`, "C-7", false},
		"a value of the query":       {"POST", "/contacts?merge={request/id}&x=1", nil, `{"id":"C 7&"}`, "C 7&", true},
		"a name in the query":        {"POST", "/contacts?merge={request/id}", nil, `{"id":"1"}`, "merge", false},
		"a member of the body":       {"POST", "/c", str("$request"), `{"a":[{"id":"C-7"}]}`, "C-7", true},
		"a number in the body":       {"POST", "/c", str("$request"), `{"id":7}`, "7", true},
		"a text that JSON escapes":   {"POST", "/c", str("$request"), `{"id":"C\"7\u0001"}`, "C\"7\x01", true},
		"a part of a text":           {"POST", "/c", str("$request"), `{"memo":"as C-7 has it"}`, "C-7", false},
		"the name of a member":       {"POST", "/c", str("$request"), `{"C-7":true}`, "C-7", false},
		"neither true nor null":      {"POST", "/c", str("$request"), `{"a":true,"b":null}`, "true", false},
		"what is not sent":           {"POST", "/c", identity.NewObject(identity.Member{Name: "id", Value: str("$request/id")}), `{"id":"1","old":"C-7"}`, "C-7", false},
		"a body that cannot be made": {"POST", "/c", identity.NewObject(identity.Member{Name: "id", Value: str("$request/id")}), `{"old":"C-7"}`, "C-7", false},
		"no reference":               {"POST", "/c", nil, `{}`, "", false},
	} {
		op := exampleOperation()
		op.Write.Method, op.Write.Path, op.Write.Body = c.method, c.path, c.body
		op.Identity.Carrier = nil
		m := exampleMaterials(t)
		m.request = parsed(t, c.request)
		if got := programOf(t, op).asksFor(m, c.reference); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The flag comes with every judgment that names a record, over HTTP and for Go
// functions, and the law is told where the contract shares records.
//
// Proves: M18
func TestJudgmentsSayWhetherTheRequestNamesTheRecord(t *testing.T) {
	t.Parallel()
	const request = `{"email":"ada@acme.example","name":"Ada"}`
	b := bindingOf(t, "agreements/shared.yaml", "contacts.merge")
	if !b.Policy().SharedReferences {
		t.Error("the law is not told that records are shared")
	}
	op := &onefold.Operation{Admitted: onefold.Admitted{ID: "op_1", Reference: "ours"}}
	for body, want := range map[string]bool{`{"id":"C-7"}`: false, `{"id":"ada@acme.example"}`: true, `{"id":"Ada"}`: true} {
		a, _ := b.Judge(op, []byte(request), whole(200, body), true)
		if a.Outcome != onefold.OutcomeConfirmed || a.NamedByRequest != want {
			t.Errorf("%s: %+v", body, a)
		}
	}
	// What a look-up finds is no direct word, a poll of the operation's own work is.
	found, _ := b.JudgeLookup(op, []byte(request), whole(200, `{"id":"ada@acme.example","name":"Ada","last_change":"ours"}`))
	if found.Result != onefold.LookupFound || found.NamedByRequest || !found.OwnIdentity {
		t.Errorf("found: %+v", found)
	}
	work := bindingOf(t, "agreements/accepted.yaml", "payments.transfer")
	asked := *op
	asked.Next, asked.Accepted = onefold.NextPoll, &onefold.Acceptance{Reference: "W-1"}
	const transfer = `{"payee":"P-1","amount":"12.50","currency":"EUR"}`
	for reference, want := range map[string]bool{"PAY-7": false, "P-1": true} {
		body := strings.Replace(transferRecord("ours", "settled", "12.50"), "PAY-7", reference, 1)
		polled, ev := work.JudgeLookup(&asked, []byte(transfer), whole(200, body))
		if ev.Kind != onefold.EvidencePoll || polled.Result != onefold.LookupFound || polled.NamedByRequest != want {
			t.Errorf("%s: %+v", reference, polled)
		}
	}

	b = payroll(t)
	if b.Policy().SharedReferences {
		t.Error("records are shared without a word of the contract")
	}
	for reference, want := range map[string]bool{"P-1": false, "E-1": true} {
		a, _ := b.Judge(op, []byte(payslip), &onefold.Exchange{Wrote: &onefold.WriteReport{Outcome: onefold.OutcomeConfirmed, Reference: reference}}, true)
		if a.Outcome != onefold.OutcomeConfirmed || a.NamedByRequest != want {
			t.Errorf("%s: %+v", reference, a)
		}
	}
}
