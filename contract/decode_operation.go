package contract

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// fillTarget reads a target that was checked.
func fillTarget(v *identity.Value) *Target {
	t := &Target{Name: textOf(v, "name"), Version: integer(v, "version"), Protocol: textOf(v, "protocol")}
	for _, entry := range get(v, "operations").Members() {
		if t.Protocol == onefold.ProtocolGo {
			t.Operations = append(t.Operations, fillGoOperation(entry.Name, entry.Value))
			continue
		}
		t.Operations = append(t.Operations, fillOperation(entry.Name, entry.Value))
	}
	if p := get(v, "provenance"); p != nil {
		t.Provenance = &Provenance{Source: textOf(p, "source"), Checked: textOf(p, "checked"), Probed: textOf(p, "probed")}
	}
	return t
}

func fillOperation(entry string, v *identity.Value) TargetOperation {
	capability, number := splitVersion(entry)
	op := TargetOperation{
		Pointer:    identity.JoinPointer("/operations", entry),
		Capability: capability, CapabilityVersion: number,
		Write:           fillWrite(get(v, "write")),
		Identity:        fillIdentity(get(v, "identity")),
		Verify:          fillChecks(get(v, "verify")),
		References:      References(textOr(v, "references", string(ReferencesOwn))),
		Settle:          memberOf(v, "settle", durationOf),
		Processing:      memberOf(v, "processing", durationOf),
		Absence:         memberOf(v, "absence", wordOf[Absence]),
		ReferenceFormat: fillFormat(get(v, "reference_format")),
	}
	if !op.Processing.Written {
		op.Processing = Documented[time.Duration]{Value: op.Write.Timeout}
	}
	if !op.Absence.Known() {
		op.Absence.Value = AbsenceInconclusive
	}
	for i, rule := range get(v, "responses").Items() {
		op.Responses = append(op.Responses, fillResponse(op.Pointer+"/responses/"+itoa(i), rule))
	}
	for i, lookup := range get(v, "lookup").Items() {
		op.Lookups = append(op.Lookups, fillLookup(op.Pointer+"/lookup/"+itoa(i), lookup, op.Write.Timeout))
	}
	op.States = fillStates(op.Pointer+"/states", get(v, "states"))
	op.Accepted = fillAccepted(op.Pointer+"/accepted", get(v, "accepted"), op.Write.Timeout, op.States)
	if op.States == nil && op.Accepted != nil {
		op.States = op.Accepted.States
	}
	for _, step := range textsOf(get(v, "in_doubt")) {
		op.InDoubt = append(op.InDoubt, onefold.RecoveryStep(step))
	}
	return op
}

// splitVersion parts name@3 into name and 3; 0 where there is none.
func splitVersion(s string) (string, int) {
	before, after, found := strings.Cut(s, "@")
	if !found {
		return s, 0
	}
	n, err := strconv.Atoi(after)
	if err != nil {
		return s, 0
	}
	return before, n
}

func fillWrite(v *identity.Value) Write {
	return Write{
		Method: textOf(v, "method"), Path: textOf(v, "path"), Headers: fillHeaders(get(v, "headers")),
		Body: get(v, "body"), Timeout: durationOr(v, "timeout", 0),
	}
}

func fillHeaders(v *identity.Value) []HeaderTemplate {
	var headers []HeaderTemplate
	for _, m := range v.Members() {
		headers = append(headers, HeaderTemplate{Name: m.Name, Value: m.Value.Text()})
	}
	return headers
}

func fillFormat(v *identity.Value) Format {
	return Format{
		Format: identity.Format{Max: integer(v, "max"), Alphabet: textOf(v, "alphabet"), UUIDVersion: integer(v, "uuid_version")},
		Reason: textOf(v, "reason"),
	}
}

func fillIdentity(v *identity.Value) TargetIdentity {
	t := TargetIdentity{
		Kind:       IdentityKind(textOf(v, "kind")),
		Format:     fillFormat(get(v, "format")),
		Scope:      memberOf(v, "scope", scopeOf),
		OnRepeat:   memberOf(v, "on_repeat", wordOf[OnRepeat]),
		Compares:   memberOf(v, "compares", comparesOf),
		Stores:     memberOf(v, "stores", statusesOf),
		Concurrent: memberOf(v, "concurrent", concurrentOf),
	}
	t.Window, t.Anchor = fillWindow(v)
	if !t.Scope.Known() {
		t.Scope.Value = ScopeParts()
	}
	if carrier := get(v, "carrier"); carrier != nil {
		t.Carrier = &CarrierPlace{In: textOf(carrier, "in"), Name: textOf(carrier, "name")}
	}
	for _, companion := range get(v, "companions").Items() {
		t.Companions = append(t.Companions, HeaderTemplate{Name: textOf(companion, "name"), Value: textOf(companion, "value")})
	}
	return t
}

// fillWindow reads a window in its long and its short form.
func fillWindow(v *identity.Value) (Documented[time.Duration], Documented[Anchor]) {
	window := get(v, "window")
	if _, long := window.Get("guaranteed"); !long {
		return memberOf(v, "window", durationOf), Documented[Anchor]{Undocumented: true}
	}
	return documentedOf(get(window, "guaranteed"), get(window, assumed), durationOf),
		documentedOf(get(window, "anchor"), nil, wordOf[Anchor])
}

func scopeOf(v *identity.Value) []ScopePart {
	parts := make([]ScopePart, 0, v.Len())
	for _, part := range ScopeParts() {
		if slices.Contains(textsOf(v), string(part)) {
			parts = append(parts, part)
		}
	}
	return parts
}

func comparesOf(v *identity.Value) Compares {
	if v.Kind() == identity.Array {
		return Compares{Mode: ComparesFields, Fields: textsOf(v)}
	}
	return Compares{Mode: ComparesMode(v.Text())}
}

func concurrentOf(v *identity.Value) Concurrent {
	if v.Kind() == identity.Object {
		return Concurrent{Rule: textOf(v, "rule")}
	}
	return Concurrent{Does: ConcurrentDoes(v.Text())}
}

func statusesOf(v *identity.Value) []StatusMatch {
	var out []StatusMatch
	for _, item := range manyOf(v) {
		if class := item.Text(); class != "" {
			out = append(out, StatusMatch{Class: int(class[0] - '0')})
			continue
		}
		if code, err := strconv.Atoi(item.Number()); err == nil {
			out = append(out, StatusMatch{Code: code})
		}
	}
	return out
}

func fillWhen(v *identity.Value) When {
	w := When{Status: statusesOf(get(v, "status"))}
	for _, m := range get(v, "header").Members() {
		w.Headers = append(w.Headers, HeaderMatch{Name: m.Name, Values: textsOf(m.Value)})
	}
	for _, m := range get(v, "json").Members() {
		w.JSON = append(w.JSON, JSONMatch{Pointer: m.Name, Values: manyOf(m.Value)})
	}
	if clean := get(v, "clean"); clean != nil {
		is := clean.Bool()
		w.Clean = &is
	}
	w.Cel = textOf(v, "cel")
	return w
}

func fillStates(at string, v *identity.Value) *States {
	if v == nil {
		return nil
	}
	return &States{
		Pointer: at, Field: textOf(v, "field"), Effect: manyOf(get(v, "effect")),
		Pending: manyOf(get(v, "pending")), NoEffect: manyOf(get(v, "no_effect")),
	}
}

func fillAccepted(at string, v *identity.Value, timeout time.Duration, states *States) *Accepted {
	if v == nil {
		return nil
	}
	a := &Accepted{Pointer: at, Reference: fillLocator(get(v, "reference")), States: fillStates(at+"/states", get(v, "states"))}
	if when := get(v, "when"); when != nil {
		w := fillWhen(when)
		a.When = &w
	}
	if a.States == nil {
		a.States = states
	}
	poll := get(v, "poll")
	a.Every, a.Within = durationOr(poll, "every", 0), durationOr(poll, "within", 0)
	a.Poll = fillLookup(at+"/poll", poll, timeout)
	a.Poll.By, a.Poll.Method = lookupByPoll, textOr(poll, "method", "GET")
	return a
}

func fillResponse(at string, v *identity.Value) Response {
	return Response{
		Pointer: at, Name: textOf(v, "name"), When: fillWhen(get(v, "when")), Outcome: Outcome(textOf(v, "outcome")),
		Reference: fillLocator(get(v, "reference")), Code: fillLocator(get(v, "code")),
		RetryAfter: textOf(get(v, "retry_after"), "header"), PauseConnection: get(v, "pause") != nil,
		SettlesOperation: get(v, "settles") != nil,
	}
}

func fillLocator(v *identity.Value) *Locator {
	switch v.Kind() {
	case identity.String:
		return &Locator{Pointer: v.Text()}
	case identity.Object:
		return &Locator{Header: textOf(v, "header")}
	default:
		return nil
	}
}

func fillChecks(v *identity.Value) []Check {
	var checks []Check
	for _, m := range v.Members() {
		checks = append(checks, Check{Pointer: m.Name, Value: m.Value})
	}
	return checks
}

func fillLookup(at string, v *identity.Value, timeout time.Duration) Lookup {
	l := Lookup{
		Pointer: at, By: LookupBy(textOf(v, "by")), Method: textOf(v, "method"), Path: textOf(v, "path"),
		Headers: fillHeaders(get(v, "headers")), Body: get(v, "body"), Timeout: durationOr(v, "timeout", timeout),
		Match: fillChecks(get(v, "match")), Reference: fillLocator(get(v, "reference")), Created: textOf(v, "created"),
	}
	if records := get(v, "records"); records != nil {
		at := records.Text()
		l.Records = &at
	}
	if complete := get(v, "complete"); complete.Kind() == identity.Bool {
		l.Complete = &Complete{Always: true}
	} else if complete != nil {
		l.Complete = &Complete{Locator: *fillLocator(complete)}
	}
	for _, rule := range get(v, "absent").Items() {
		l.Absent = append(l.Absent, fillWhen(rule))
	}
	return l
}
