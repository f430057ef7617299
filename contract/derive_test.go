package contract

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onefold-dev/onefold"
)

// triple is the example's capability, target operation and connection, after
// changes to their text.
func triple(t *testing.T, changes ...string) (*Capability, *TargetOperation, *Connection) {
	t.Helper()
	var text strings.Builder
	docs := examples(t)
	for i := range docs {
		text.WriteString("---\n" + strings.TrimPrefix(string(docs[i].Source), "---\n"))
	}
	src := text.String()
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(src, changes[i]) {
			t.Fatalf("the example has no %q", changes[i])
		}
		src = strings.Replace(src, changes[i], changes[i+1], 1)
	}
	docs, faults := DecodeFile("changed.yaml", []byte(src))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return docs[0].Capability, docs[1].Target.serves("bills.create", 3), docs[2].Connection
}

// What protects, and what takes the protection away.
//
// Proves: M11a, M12, M26, M27
func TestProtection(t *testing.T) {
	t.Parallel()
	lookups := func(absence string) []string {
		return []string{"kind: key ", "kind: upsert ", "absence: authoritative ", "absence: " + absence + " "}
	}
	for _, c := range []struct {
		changes []string
		want    onefold.Protection
		why     string
	}{
		{nil, onefold.ProtectionEnforced, "for 24h, makes no second effect of a repeat, and reports concurrent ones"},
		{[]string{"{rule: same key in progress}", "blocks"}, onefold.ProtectionEnforced, "serializes concurrent ones"},
		{[]string{"guaranteed: 24h", "guaranteed: forever"}, onefold.ProtectionEnforced, "without end"},
		{
			[]string{"guaranteed: 24h", "guaranteed: undocumented, assumed: {value: 1h, owner: joe, date: 2026-01-01, reason: measured}"},
			onefold.ProtectionEnforced, "identity.window is assumed by joe on 2026-01-01: measured",
		},
		{[]string{"guaranteed: 24h", "guaranteed: undocumented"}, onefold.ProtectionReconcilable, "the window is undocumented"},
		{[]string{"{rule: same key in progress}", "second_may_fail"}, onefold.ProtectionReconcilable, "neither serialized nor reported"},
		{[]string{"{rule: same key in progress}", "undocumented"}, onefold.ProtectionReconcilable, "what concurrent repeats do is undocumented"},
		{[]string{"on_repeat: first_response", "on_repeat: new_effect"}, onefold.ProtectionReconcilable, "a repeat has a new effect"},
		{[]string{"on_repeat: first_response", "on_repeat: undocumented"}, onefold.ProtectionReconcilable, "what a repeat does is undocumented"},
		{[]string{"kind: key ", "kind: none "}, onefold.ProtectionReconcilable, "kind none"},
		{[]string{"kind: key ", "kind: possible_resend_flag "}, onefold.ProtectionReconcilable, "kind possible_resend_flag"},
		{lookups("authoritative"), onefold.ProtectionReconcilable, "absence 35s after the end of every attempt"},
		{lookups("inconclusive"), onefold.ProtectionDetectable, "the contract calls absence inconclusive"},
		{lookups("undocumented"), onefold.ProtectionDetectable, "what absence means is undocumented"},
		{append(lookups("authoritative"), "settle: 5s", "settle: undocumented"), onefold.ProtectionDetectable, "undocumented or have no bound"},
		{append(lookups("authoritative"), "processing: 30s", "processing: unbounded"), onefold.ProtectionDetectable, "undocumented or have no bound"},
	} {
		capability, op, connection := triple(t, c.changes...)
		d := Derive(capability, op, connection, Deployment{})
		if d.Protection != c.want || !strings.Contains(strings.Join(d.Reasons, "\n"), c.why) {
			t.Errorf("%q: %s because %q; want %s because %q", c.changes, d.Protection, d.Reasons, c.want, c.why)
		}
		weak := c.want == onefold.ProtectionDetectable || c.want == onefold.ProtectionNone
		if approval := d.EffectiveMode == onefold.ModeApproval; approval != weak || (d.Limitation != "") != weak {
			t.Errorf("%q: runs as %s (%s)", c.changes, d.EffectiveMode, d.Limitation)
		}
	}
	// No look-up and no enforcement is no protection at all.
	_, op, _ := triple(t, "kind: key ", "kind: none ")
	op.Lookups = nil
	if got := ProtectionOf(op); got != onefold.ProtectionNone {
		t.Errorf("without anything: %s", got)
	}
}

// An acknowledged weakness runs as declared, and a disabled connection stays
// disabled.
//
// Proves: M27
func TestAcknowledgedWeaknessRunsAsDeclared(t *testing.T) {
	t.Parallel()
	weak := []string{"kind: key ", "kind: none ", "absence: authoritative ", "absence: inconclusive "}
	for _, c := range []struct {
		changes []string
		want    onefold.Mode
	}{
		{nil, onefold.ModeApproval},
		{[]string{"acknowledged: null", "acknowledged: {by: joe, date: 2026-01-01, reason: small sums}"}, onefold.ModeAutonomous},
		{[]string{"mode: autonomous", "mode: disabled"}, onefold.ModeDisabled},
		{[]string{"mode: autonomous", "mode: approval"}, onefold.ModeApproval},
	} {
		capability, op, connection := triple(t, append(weak, c.changes...)...)
		if got := Derive(capability, op, connection, Deployment{}).EffectiveMode; got != c.want {
			t.Errorf("%q: %s, want %s", c.changes, got, c.want)
		}
	}
}

// The recovery plan says what happens, step by step, with times.
//
// Proves: M11a, M12, M16, M27a
func TestRecoveryPlan(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	for _, changes := range [][]string{
		nil,
		{"[replay, lookup, operator]", "[lookup, replay]", "guaranteed: 24h", "guaranteed: forever", "scope: [account, credential]", "scope: []"},
		{"{rule: same key in progress}", "undocumented", "scope: [account, credential]", "scope: [account]"},
		{"absence: authoritative", "absence: inconclusive", "verify: {/total: $request/total}", "verify: null"},
		{"guaranteed: 24h", "guaranteed: 20s", "[replay, lookup, operator]", "[replay]"},
		{"guaranteed: 24h", "guaranteed: undocumented", "retry: {attempts: 8", "retry: {attempts: 1"},
		{"[replay, lookup, operator]", "[operator, replay]", ", escalate: {after: 8h, to: finance-lead}", ""},
	} {
		capability, op, connection := triple(t, changes...)
		fmt.Fprintf(&out, "# %s\n", strings.Join(changes, " → "))
		for i, s := range Derive(capability, op, connection, Deployment{}).Plan {
			fmt.Fprintf(&out, "%d. %s possible=%t after=%s until=%s attempts=%d\n   %s\n",
				i+1, s.Step, s.Possible, formatDuration(s.After), formatDuration(s.Until), s.Attempts, s.Text)
		}
	}
	golden(t, "plan.golden", out.String())
}

// The policy holds every default and the deployment's own times.
//
// Proves: M11a, M12, M12a
func TestPolicy(t *testing.T) {
	t.Parallel()
	capability, op, connection := triple(t)
	want := onefold.Policy{
		RetryAttempts: 8, RetryWithin: 6 * time.Hour, RetryBackoff: onefold.Backoff{First: time.Second, Factor: 2, Max: 10 * time.Minute},
		Exhausted: onefold.ExhaustedHold, ReconcileWithin: 24 * time.Hour,
		ReconcileBackoff: onefold.Backoff{First: 5 * time.Second, Factor: 2, Max: time.Hour}, EscalateAfter: 8 * time.Hour, EscalateTo: "finance-lead",
		Owner: "maria@acme.example", InDoubt: []onefold.RecoveryStep{"replay", "lookup", "operator"},
		Timeout: 20 * time.Second, Settle: 5 * time.Second, Processing: 30 * time.Second, AbsenceProves: true, Lookups: 1,
		Straggler: 10 * time.Minute, Window: 24 * time.Hour, WindowMargin: 20500 * time.Millisecond, ConcurrentSafe: true,
	}
	if diff := cmp.Diff(want, capability.Policy(op, connection, Deployment{})); diff != "" {
		t.Error(diff)
	}
	got := capability.Policy(op, connection, Deployment{Straggler: time.Second, ClockError: 2 * time.Second})
	if got.Straggler != 20*time.Second || got.WindowMargin != 22*time.Second {
		t.Errorf("straggler %s, margin %s", got.Straggler, got.WindowMargin)
	}
	op.Lookups = nil
	if p := capability.Policy(op, connection, Deployment{}); slices.Contains(p.InDoubt, onefold.StepLookup) {
		t.Errorf("a look-up that the contract does not have: %v", p.InDoubt)
	}
	for _, c := range []struct {
		name  string
		holds func(onefold.Policy) bool
		from  string
		to    string
	}{
		{"processing is the time-out by default", func(p onefold.Policy) bool { return p.Processing == 20*time.Second && p.AbsenceProves }, "    processing: 30s ", "    # "},
		{"no window without documentation", func(p onefold.Policy) bool { return p.Window == 0 }, "guaranteed: 24h", "guaranteed: undocumented"},
		{"no window where a repeat has an effect", func(p onefold.Policy) bool { return p.Window == 0 }, "first_response ", "new_effect "},
		{"no window for an upsert", func(p onefold.Policy) bool { return p.Window == 0 }, "kind: key ", "kind: upsert "},
		{"concurrent repeats may fail", func(p onefold.Policy) bool { return !p.ConcurrentSafe }, "{rule: same key in progress}", "second_may_fail"},
		{"absence proves nothing", func(p onefold.Policy) bool { return !p.AbsenceProves }, "processing: 30s", "processing: undocumented"},
	} {
		capability, op, connection := triple(t, c.from, c.to)
		if p := capability.Policy(op, connection, Deployment{}); !c.holds(p) {
			t.Errorf("%s: %+v", c.name, p)
		}
	}
}
