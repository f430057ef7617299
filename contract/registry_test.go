package contract

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// capabilityDoc is bills.create in a version; extra are members below it.
func capabilityDoc(name string, version int, extra string) string {
	return fmt.Sprintf(`
kind: capability
name: %s
version: %d
request:
  type: object
  required: [supplier_id, total, currency]
  additionalProperties: false
  properties:
    supplier_id: {type: string, minLength: 1}
    invoice_number: {type: string}
    total: {type: string}
    currency: {type: string, pattern: "^[A-Z]{3}$"}
    memo: {type: [string, "null"]}
    trace_id: {type: string}
compare:
  /total: {decimal: {scale: 2}}
  /memo: {absent: null, text: [trim]}
  /trace_id: {ignore: true}
%s`, name, version, extra)
}

// operationDoc is an entry of a target, enforced by keys.
func operationDoc(entry, path string) string {
	return fmt.Sprintf(`
  %s:
    write: {method: POST, path: %s, timeout: 20s, body: {supplier: $request/supplier_id, total: $request/total, memo: $request/memo?, ref: $operation/reference}}
    identity:
      kind: key
      carrier: {in: header, name: Idempotency-Key}
      scope: [account, credential]
      window: {guaranteed: 24h, anchor: first_received}
      on_repeat: first_response
      compares: parameters
      stores: [2xx, 4xx]
      concurrent: {rule: busy}
    responses:
      - {name: created, when: {status: [200, 201]}, outcome: confirmed, reference: /id}
      - {name: busy, when: {status: 409, json: {/code: in_progress}}, outcome: in_progress}
      - {name: other body, when: {status: 422, json: {/code: key_reused}}, outcome: key_conflict}
      - {name: invalid, when: {status: [400, 422], clean: true}, outcome: rejected, code: /code}
      - {name: broken, when: {status: 5xx}, outcome: unknown}
    verify: {/total: $request/total}
    lookup:
      - {by: reference, method: GET, path: "/bills?external_ref={operation/reference}", records: /items, complete: true, match: {/external_ref: $operation/reference}, reference: /id}
    settle: 5s
    processing: 30s
    absence: authoritative
    in_doubt: [replay, lookup, operator]
`, entry, path)
}

// bareOperationDoc is an entry of a target that protects nothing.
const bareOperationDoc = `
  bills.create:
    write: {method: POST, path: /bills, timeout: 15m, body: $request}
    identity: {kind: none}
    responses:
      - {name: created, when: {status: 201}, outcome: confirmed, reference: /id}
    in_doubt: [operator]
`

func targetDoc(name string, version int, operations ...string) string {
	return fmt.Sprintf("kind: target\nname: %s\nversion: %d\nprotocol: http\noperations:\n%s", name, version, strings.Join(operations, ""))
}

func connectionDoc(workspace, name, target, extra string) string {
	return fmt.Sprintf("kind: connection\nworkspace: %s\nname: %s\ntarget: %s\nurl: https://erp.example/acme\nowner: maria@acme.example\n%s", workspace, name, target, extra)
}

// doc is a published document; connections have a revision.
func doc(source string, revision int) onefold.Document {
	return onefold.Document{Source: []byte(source), Version: revision}
}

func loaded(t testing.TB, docs ...onefold.Document) *Registry {
	t.Helper()
	r := NewRegistry(Options{Secret: []byte("vector-secret"), SecretID: "s1"})
	if err := r.Load(docs); err != nil {
		t.Fatal(err)
	}
	return r
}

// acme is a workspace with one enforced connection, beside another with two.
func acme(t testing.TB) *Registry {
	t.Helper()
	return loaded(
		t,
		doc(capabilityDoc("bills.create", 3, ""), 3),
		doc(capabilityDoc("bills.create", 1, ""), 1),
		doc(capabilityDoc("orders.create", 1, ""), 1),
		doc(targetDoc("erp", 1, operationDoc("bills.create", "/bills"), operationDoc("bills.create@1", "/old-bills")), 1),
		doc(targetDoc("erp", 2, operationDoc("bills.create", "/v2/bills")), 2),
		doc(targetDoc("bare", 1, bareOperationDoc), 1),
		doc(connectionDoc("acme", "acme-erp", "erp@1", "account: \"7\"\n"), 2),
		doc(connectionDoc("twice", "first", "erp@1", ""), 1),
		doc(connectionDoc("twice", "second", "erp@2", ""), 1),
		doc(connectionDoc("weak", "bare", "bare@1", ""), 1),
		doc(connectionDoc("known-weak", "bare", "bare@1", "acknowledged: {by: maria@acme.example, date: 2026-11-29, reason: few and watched}\n"), 1),
		doc(connectionDoc("lost", "lost", "erp@9", ""), 1),
	)
}

func codeOf(err error) onefold.Code {
	if err == nil {
		return ""
	}
	return onefold.CodeOf(err)
}

func TestBindFindsWhatANewOperationRunsUnder(t *testing.T) {
	t.Parallel()
	r := acme(t)
	for _, c := range []struct {
		workspace, capability string
		version               int
		connection            string
		code                  onefold.Code
		want                  string
	}{
		{"acme", "bills.create", 0, "", "", "bills.create@3 erp@1 acme-erp /bills"},
		{"acme", "bills.create", 3, "acme-erp", "", "bills.create@3 erp@1 acme-erp /bills"},
		{"acme", "bills.create", 1, "", "", "bills.create@1 erp@1 acme-erp /old-bills"},
		{"twice", "bills.create", 0, "second", "", "bills.create@3 erp@2 second /v2/bills"},
		{"twice", "bills.create", 0, "", onefold.CodeConnectionAmbiguous, ""},
		{"acme", "bills.delete", 0, "", onefold.CodeCapabilityUnknown, ""},
		{"acme", "bills.delete", 7, "nowhere", onefold.CodeCapabilityUnknown, ""},
		{"acme", "bills.create", 2, "", onefold.CodeContractVersionUnknown, ""},
		{"acme", "bills.create", 4, "nowhere", onefold.CodeContractVersionUnknown, ""},
		{"acme", "bills.create", -1, "", onefold.CodeContractVersionUnknown, ""},
		{"acme", "bills.create", 0, "nowhere", onefold.CodeConnectionUnknown, ""},
		{"acme", "bills.create", 0, "first", onefold.CodeConnectionUnknown, ""}, // another workspace's
		{"acme", "orders.create", 0, "", onefold.CodeConnectionUnknown, ""},
		{"acme", "orders.create", 0, "acme-erp", onefold.CodeConnectionUnknown, ""},
		{"nobody", "bills.create", 0, "", onefold.CodeConnectionUnknown, ""},
		{"lost", "bills.create", 0, "", onefold.CodeConnectionUnknown, ""},
		{"lost", "bills.create", 0, "lost", onefold.CodeConnectionUnknown, ""},
	} {
		b, err := r.Bind(c.workspace, c.capability, c.version, c.connection)
		if codeOf(err) != c.code {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if err != nil {
			if b != nil {
				t.Errorf("%+v: a binding beside an error", c)
			}
			continue
		}
		terms := b.Terms()
		f, err := b.Freeze(exampleMaterials(t).op, []byte(exampleRequest))
		got := fmt.Sprintf("%s@%d %s@%d %s %s", terms.Capability, terms.ContractVersion, terms.Target, terms.TargetVersion, terms.Connection, f.Path)
		if err != nil || got != c.want {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
}

// An operation keeps the versions of its admission and meets the connection as
// it is now.
//
// Proves: I12
func TestPinnedVersionsStay(t *testing.T) {
	t.Parallel()
	docs := []onefold.Document{
		doc(capabilityDoc("bills.create", 1, ""), 1),
		doc(targetDoc("erp", 1, operationDoc("bills.create", "/bills")), 1),
		doc(connectionDoc("acme", "acme-erp", "erp@1", ""), 1),
	}
	r := loaded(t, docs...)
	admitted := &onefold.Admitted{
		Workspace: "acme", Capability: "bills.create", ContractVersion: 1, Target: "erp", TargetVersion: 1, Connection: "acme-erp",
	}
	docs = append(
		docs,
		doc(capabilityDoc("bills.create", 2, ""), 2),
		doc(targetDoc("erp", 2, operationDoc("bills.create", "/v2/bills")), 2),
		doc(connectionDoc("acme", "acme-erp", "erp@2", "owner2: x\n"), 2),
	)
	if err := r.Load(docs); err == nil {
		t.Fatal("an unknown member was loaded")
	} else if !strings.Contains(err.Error(), "owner2") {
		t.Errorf("the refusal does not name it: %v", err)
	}
	if b, err := r.Bind("acme", "bills.create", 0, ""); err != nil || b.Terms().ContractVersion != 1 {
		t.Errorf("a refused set replaced the earlier one: %v", err)
	}
	docs[len(docs)-1] = doc(strings.Replace(connectionDoc("acme", "acme-erp", "erp@2", ""), "maria", "nora", 1), 2)
	if err := r.Load(docs); err != nil {
		t.Fatal(err)
	}
	b, err := r.Pinned(&onefold.Operation{Admitted: *admitted})
	if err != nil {
		t.Fatal(err)
	}
	if got := b.Terms(); got.ContractVersion != 1 || got.TargetVersion != 1 || got.ConnectionRevision != 2 || got.Owner != "nora@acme.example" {
		t.Errorf("%+v", got)
	}
	if b, err := r.Bind("acme", "bills.create", 0, ""); err != nil || b.Terms().TargetVersion != 2 || b.Terms().ContractVersion != 2 {
		t.Errorf("a new operation: %v", err)
	}
	for _, gone := range []func(*onefold.Admitted){
		func(a *onefold.Admitted) { a.Capability = "other" },
		func(a *onefold.Admitted) { a.ContractVersion = 9 },
		func(a *onefold.Admitted) { a.TargetVersion = 9 },
		func(a *onefold.Admitted) { a.Connection = "other" },
		func(a *onefold.Admitted) { a.Workspace = "other" },
	} {
		other := *admitted
		gone(&other)
		if _, err := r.Pinned(&onefold.Operation{Admitted: other}); err == nil {
			t.Errorf("%+v is pinned to something", other)
		}
	}
}

// An operation that was frozen under a revision keeps its address; how the
// connection authenticates, who owns it and its mode are those of now.
//
// Proves: M2a
func TestAFrozenOperationKeepsItsRevision(t *testing.T) {
	t.Parallel()
	first := connectionDoc("acme", "acme-erp", "erp@1", "")
	second := strings.Replace(strings.Replace(first, "maria", "nora", 1), "https://erp.example", "https://other.example", 1)
	r := loaded(t, doc(capabilityDoc("bills.create", 1, ""), 1), doc(targetDoc("erp", 1, operationDoc("bills.create", "/bills")), 1),
		doc(first, 1), doc(second, 2))
	op := onefold.Operation{Admitted: onefold.Admitted{
		Workspace: "acme", Capability: "bills.create", ContractVersion: 1, Target: "erp", TargetVersion: 1, Connection: "acme-erp",
	}}
	fresh, err := r.Pinned(&op)
	if err != nil {
		t.Fatal(err)
	}
	op.ConnectionRevision = 1
	frozen, err := r.Pinned(&op)
	if err != nil {
		t.Fatal(err)
	}
	if got := frozen.Route(); !strings.HasPrefix(got.URL, "https://erp.example") || got.Revision != 1 {
		t.Errorf("a frozen operation goes to %s, revision %d", got.URL, got.Revision)
	}
	if got := fresh.Route(); !strings.HasPrefix(got.URL, "https://other.example") || got.Revision != 2 {
		t.Errorf("one that is not frozen goes to %s, revision %d", got.URL, got.Revision)
	}
	if got := frozen.Terms().Owner; got != "nora@acme.example" {
		t.Errorf("the owner is %s", got)
	}
	op.ConnectionRevision = 7
	if _, err := r.Pinned(&op); err == nil {
		t.Error("a revision that is not there was replaced by another")
	}
}

// The newest revision of a connection counts, in whatever order they come.
func TestNewestRevisionCounts(t *testing.T) {
	t.Parallel()
	base := []onefold.Document{doc(capabilityDoc("bills.create", 1, ""), 1), doc(targetDoc("erp", 1, operationDoc("bills.create", "/bills")), 1)}
	older, newer := doc(connectionDoc("acme", "c", "erp@1", "mode: disabled\n"), 4), doc(connectionDoc("acme", "c", "erp@1", ""), 5)
	for _, order := range [][]onefold.Document{{older, newer}, {newer, older}} {
		b, err := loaded(t, append(append([]onefold.Document(nil), base...), order...)...).Bind("acme", "bills.create", 0, "")
		if err != nil || b.Terms().ConnectionRevision != 5 || b.Terms().DeclaredMode != onefold.ModeAutonomous {
			t.Errorf("%v", err)
		}
	}
}

// Proves: I10
func TestRequestsAreParsedStrictly(t *testing.T) {
	t.Parallel()
	r := NewRegistry(Options{Secret: []byte("s"), MaxRequest: 64})
	for _, c := range []struct {
		raw    string
		code   onefold.Code
		reason string
		offset int
	}{
		{`{"a":1}`, "", "", 0},
		{`7`, "", "", 0},
		{`{"a":1,"a":2}`, onefold.CodeJSONInvalid, identity.ReasonDuplicateMember, 7},
		{`{"a":1} x`, onefold.CodeJSONInvalid, identity.ReasonTrailingData, 8},
		{"\"\xff\"", onefold.CodeJSONInvalid, identity.ReasonEncoding, 1},
		{``, onefold.CodeJSONInvalid, identity.ReasonSyntax, 0},
		{strings.Repeat("[", 64), onefold.CodeJSONInvalid, identity.ReasonSyntax, 64},
		{strings.Repeat(" ", 65), onefold.CodeTooLarge, identity.ReasonTooLarge, 64},
	} {
		err := r.CheckRequest([]byte(c.raw))
		if codeOf(err) != c.code {
			t.Errorf("%q: %v", c.raw, err)
			continue
		}
		if refused, ok := errors.AsType[*onefold.Error](err); ok {
			if refused.Reason != c.reason || refused.Offset == nil || *refused.Offset != c.offset {
				t.Errorf("%q: %s at %v", c.raw, refused.Reason, refused.Offset)
			}
		}
	}
}

// Proves: I8, I11
func TestBindingFingerprints(t *testing.T) {
	t.Parallel()
	b, err := acme(t).Bind("acme", "bills.create", 3, "acme-erp")
	if err != nil {
		t.Fatal(err)
	}
	printOf := func(request string) string {
		t.Helper()
		f, key, err := b.Fingerprint([]byte(request))
		if err != nil || key != "s1" {
			t.Fatalf("%s: %v, key %s", request, err, key)
		}
		return f
	}
	one := printOf(`{"supplier_id":"S-81","total":"1250.00","currency":"EUR"}`)
	for _, same := range []string{
		`{"currency":"EUR","total":"1250","supplier_id":"S-81"}`,
		`{"supplier_id":"S-81","total":1250.0,"currency":"EUR","memo":null,"trace_id":"x"}`,
	} {
		if printOf(same) != one {
			t.Errorf("%s is another intent", same)
		}
	}
	for _, other := range []string{
		`{"supplier_id":"S-81","total":"1250.01","currency":"EUR"}`,
		`{"supplier_id":"s-81","total":"1250.00","currency":"EUR"}`,
	} {
		if printOf(other) == one {
			t.Errorf("%s is the same intent", other)
		}
	}
	want := identity.Fingerprint([]byte("vector-secret"), identity.Intent{
		Workspace: "acme", Capability: "bills.create", ContractVersion: 3, Connection: "acme-erp",
		Request: parsed(t, `{"supplier_id":"S-81","total":1250,"currency":"EUR"}`),
	})
	if one != want {
		t.Errorf("%s, want %s", one, want)
	}
	_, _, err = b.Fingerprint([]byte(`{"supplier_id":"S-81","total":"1250.001","currency":"EUR"}`))
	refused, ok := errors.AsType[*onefold.Error](err)
	if !ok || refused.Code != onefold.CodeRequestInvalid || refused.Faults[0].Pointer != "/request/total" || refused.Faults[0].Rule != "decimal" {
		t.Errorf("%v", err)
	}
	if strings.Contains(err.Error(), "1250.001") {
		t.Errorf("the refusal repeats the payload: %v", err)
	}
	if _, _, err := b.Fingerprint([]byte(`{`)); codeOf(err) != onefold.CodeJSONInvalid {
		t.Errorf("%v", err)
	}
}

// Proves: I4
func TestBindingDifferences(t *testing.T) {
	t.Parallel()
	b, err := acme(t).Bind("acme", "bills.create", 0, "")
	if err != nil {
		t.Fatal(err)
	}
	const accepted = `{"supplier_id":"S-81","total":"1250.00","currency":"EUR","memo":" x ","trace_id":"1"}`
	for _, c := range []struct{ submitted, want string }{
		{`{"supplier_id":"S-81","total":"1250","currency":"EUR","memo":"x","trace_id":"2"}`, ""},
		{`{"supplier_id":"S-81","total":"1250.01","currency":"EUR","memo":"x"}`, `/request/total "1250.00" "1250.01"`},
		{`{"supplier_id":"S-81","total":"1250.00","currency":"EUR"}`, `/request/memo " x " <nil>`},
		{`{"supplier_id":"S-82","total":"1250.00","currency":"EUR","memo":"x","extra":[1]}`, `/request/extra <nil> [1]|/request/supplier_id "S-81" "S-82"`},
		// What the rules refuse is compared as it is.
		{`{"supplier_id":"S-81","total":true,"currency":"EUR","memo":" x ","trace_id":"1"}`, `/request/total "1250.00" true`},
		{`not json`, ""},
	} {
		var got []string
		for _, d := range b.Differences([]byte(accepted), []byte(c.submitted)) {
			show := func(v []byte) string {
				if v == nil {
					return "<nil>"
				}
				return string(v)
			}
			got = append(got, d.Pointer+" "+show(d.Accepted)+" "+show(d.Submitted))
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.submitted, strings.Join(got, "|"), c.want)
		}
	}
}

func TestBindingValidates(t *testing.T) {
	t.Parallel()
	b, err := acme(t).Bind("acme", "bills.create", 0, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Validate([]byte(exampleRequest)); err != nil {
		t.Error(err)
	}
	err = b.Validate([]byte(`{"supplier_id":"S","total":"1","currency":"secret"}`))
	refused, ok := errors.AsType[*onefold.Error](err)
	if !ok || refused.Code != onefold.CodeRequestInvalid || len(refused.Faults) != 1 || refused.Faults[0].Pointer != "/request/currency" {
		t.Fatalf("%v", err)
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the refusal repeats the payload: %v", err)
	}
}

// Proves: M1, I13a
func TestBindingDerives(t *testing.T) {
	t.Parallel()
	r := acme(t)
	b, _ := r.Bind("acme", "bills.create", 3, "")
	older, _ := r.Bind("acme", "bills.create", 1, "")
	const deployment = "01jdzk3m8e7v9q2x4r6t8w0y1z"
	id, reference := b.Derive(deployment, "k-1", 0)
	// The public vectors.
	if id != "7e75d820-baa9-4780-ac98-6e677e1d6f41" || reference != "a5acd43e-f037-43f5-bbde-a26776a3b06a" {
		t.Errorf("%s and %s", id, reference)
	}
	if again, _ := older.Derive(deployment, "k-1", 0); again != id {
		t.Errorf("another contract version derives %s", again)
	}
	if other, otherRef := b.Derive(deployment, "k-1", 1); other == id || otherRef == reference {
		t.Error("a counter changes nothing")
	}
}

// Proves: M11a, M27
func TestTermsAndPolicyOfABinding(t *testing.T) {
	t.Parallel()
	r := acme(t)
	enforced, err := r.Bind("acme", "bills.create", 3, "")
	if err != nil {
		t.Fatal(err)
	}
	terms, policy := enforced.Terms(), enforced.Policy()
	if terms.Protection != onefold.ProtectionEnforced || terms.Mode != onefold.ModeAutonomous || terms.KeyRetention != 720*time.Hour ||
		terms.Limits.InFlight != onefold.DefaultInFlight || terms.Limits.Unresolved != onefold.DefaultUnresolved || terms.ConnectionRevision != 2 {
		t.Errorf("%+v", terms)
	}
	if policy.Window != 24*time.Hour || policy.WindowMargin != 20*time.Second+DefaultClockError || !policy.ConcurrentSafe ||
		!policy.AbsenceProves || policy.Settle != 5*time.Second || policy.Processing != 30*time.Second || policy.Straggler != DefaultStraggler ||
		policy.RetryAttempts != 8 || policy.Owner != "maria@acme.example" {
		t.Errorf("%+v", policy)
	}
	if route := enforced.Route(); route.FreshWrites || route.URL != "https://erp.example/acme" || route.Revision != 2 {
		t.Errorf("%+v", route)
	}
	policy.InDoubt[0] = "changed"
	if enforced.Policy().InDoubt[0] != onefold.StepReplay {
		t.Error("a caller changed the policy")
	}
	weak, err := r.Bind("weak", "bills.create", 3, "")
	if err != nil {
		t.Fatal(err)
	}
	terms, policy = weak.Terms(), weak.Policy()
	if terms.Protection != onefold.ProtectionNone || terms.Mode != onefold.ModeApproval || terms.DeclaredMode != onefold.ModeAutonomous || terms.Acknowledged {
		t.Errorf("%+v", terms)
	}
	if policy.Window != 0 || policy.ConcurrentSafe || policy.AbsenceProves || policy.Straggler != 15*time.Minute {
		t.Errorf("%+v", policy)
	}
	if !weak.Route().FreshWrites {
		t.Error("a write without protection would reuse a connection of HTTP/2")
	}
	if _, ok, err := weak.LookupRequest(exampleMaterials(t).op, []byte(exampleRequest)); ok || err != nil {
		t.Errorf("a look-up out of nothing: %v", err)
	}
	if out, _ := weak.JudgeLookup(exampleMaterials(t).op, []byte(exampleRequest), whole(200, items())); out.Result != inconclusive {
		t.Errorf("%+v", out)
	}
	if acknowledged, _ := r.Bind("known-weak", "bills.create", 0, ""); acknowledged.Terms().Mode != onefold.ModeAutonomous {
		t.Error("an acknowledged connection still waits for approval")
	}
	if limits := r.Limits(onefold.ConnectionRef{Workspace: "x", Connection: "y"}); limits.InFlight != onefold.DefaultInFlight {
		t.Errorf("%+v", limits)
	}
}

// Proves: M11a
func TestScopeSeesWhatItNames(t *testing.T) {
	t.Parallel()
	base := exampleMaterials(t)
	scope := func(change func(*binding, *TargetOperation)) string {
		op := exampleOperation()
		connection := *base.connection
		connection.Params = parsed(t, `{"region":"eu","environment":"live","other":1}`)
		b := &binding{program: &program{op: op}, connection: &connection, terms: onefold.Terms{Target: "erp", TargetVersion: 1}}
		change(b, op)
		return b.Scope("credential")
	}
	with := func(parts Documented[[]ScopePart], change func(*binding, *TargetOperation)) string {
		return scope(func(b *binding, op *TargetOperation) {
			op.Identity.Scope = parts
			change(b, op)
		})
	}
	none := func(*binding, *TargetOperation) {}
	changes := map[ScopePart][]func(*binding, *TargetOperation){
		ScopeAccount: {func(b *binding, _ *TargetOperation) { b.connection.Account = "8" }},
		ScopeEnvironment: {
			func(b *binding, _ *TargetOperation) { b.connection.URL = "https://test.example/acme" },
			func(b *binding, _ *TargetOperation) {
				b.connection.Params = parsed(t, `{"region":"eu","environment":"test"}`)
			},
		},
		ScopeEndpoint: {
			func(b *binding, _ *TargetOperation) { b.connection.URL = "https://erp.example/other" },
			func(_ *binding, op *TargetOperation) { op.Write.Path = "/v2/bills" },
			func(_ *binding, op *TargetOperation) { op.Write.Method = "PUT" },
		},
		ScopeVersion: {func(b *binding, _ *TargetOperation) { b.terms.TargetVersion = 2 }},
		ScopeRegion: {
			func(b *binding, _ *TargetOperation) { b.connection.URL = "https://us.erp.example/acme" },
			func(b *binding, _ *TargetOperation) {
				b.connection.Params = parsed(t, `{"region":"us","environment":"live"}`)
			},
		},
	}
	for part, list := range changes {
		for i, change := range list {
			if with(known([]ScopePart{part}), none) == with(known([]ScopePart{part}), change) {
				t.Errorf("scope [%s] does not see change %d", part, i)
			}
			if with(known(ScopeParts()), none) == with(known(ScopeParts()), change) || with(undocumentedAs[[]ScopePart](), none) == with(undocumentedAs[[]ScopePart](), change) {
				t.Errorf("the whole scope does not see change %d of %s", i, part)
			}
			if with(known([]ScopePart(nil)), none) != with(known([]ScopePart(nil)), change) {
				t.Errorf("an empty scope sees change %d of %s", i, part)
			}
		}
	}
	b := &binding{program: &program{op: exampleOperation()}, connection: base.connection}
	if b.Scope("a") == b.Scope("b") {
		t.Error("scope [account, credential] does not see another credential")
	}
	b.program.op.Identity.Scope = known([]ScopePart{ScopeAccount})
	if b.Scope("a") != b.Scope("b") {
		t.Error("scope [account] sees the credential")
	}
	if with(undocumentedAs[[]ScopePart](), none) != with(known(ScopeParts()), none) {
		t.Error("undocumented is not all parts")
	}
}

// Many callers bind while sets are replaced under them.
func TestLoadingBesideReaders(t *testing.T) {
	t.Parallel()
	sets := [2][]onefold.Document{}
	for i := range sets {
		sets[i] = []onefold.Document{
			doc(capabilityDoc("bills.create", 1, ""), 1),
			doc(targetDoc("erp", i+1, operationDoc("bills.create", "/bills")), i+1),
			doc(connectionDoc("acme", "acme-erp", fmt.Sprintf("erp@%d", i+1), ""), i+1),
		}
	}
	r := loaded(t, sets[0]...)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 300 {
				b, err := r.Bind("acme", "bills.create", 0, "")
				if err != nil {
					t.Error(err)
					return
				}
				if terms := b.Terms(); terms.TargetVersion != terms.ConnectionRevision {
					t.Errorf("a mixture of two sets: %+v", terms)
				}
				if _, _, err := b.Fingerprint([]byte(exampleRequest)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 20 {
		if err := r.Load(sets[i%2]); err != nil {
			t.Error(err)
		}
	}
	readers.Wait()
}
