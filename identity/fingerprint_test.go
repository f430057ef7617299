package identity_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold/identity"
)

// Proves: I8
func TestEveryPartOfAnIntentCounts(t *testing.T) {
	t.Parallel()
	base := identity.Intent{Workspace: "acme", Capability: "bills.create", ContractVersion: 3, Connection: "erp", Request: mustParse(t, `{"a":1}`)}
	intents := map[string]identity.Intent{"base": base}
	for name, change := range map[string]func(*identity.Intent){
		"workspace":  func(in *identity.Intent) { in.Workspace = "globex" },
		"capability": func(in *identity.Intent) { in.Capability = "bills.pay" },
		"version":    func(in *identity.Intent) { in.ContractVersion = 4 },
		"connection": func(in *identity.Intent) { in.Connection = "erp2" },
		"request":    func(in *identity.Intent) { in.Request = mustParse(t, `{"a":2}`) },
		"swapped":    func(in *identity.Intent) { in.Workspace, in.Connection = in.Connection, in.Workspace },
		"injected":   func(in *identity.Intent) { in.Workspace = `acme","x":"` },
	} {
		in := base
		change(&in)
		intents[name] = in
	}
	seen := map[string]string{}
	for name, in := range intents {
		for _, secret := range []string{"one", "two"} {
			made := identity.Fingerprint([]byte(secret), in)
			if other, taken := seen[made]; taken {
				t.Errorf("%s under %s has the fingerprint of %s", name, secret, other)
			}
			seen[made] = name
			if len(made) != identity.FingerprintLength || !strings.HasPrefix(made, "v1:") || strings.ToLower(made) != made {
				t.Errorf("%s is no fingerprint", made)
			}
		}
		if !json.Valid(in.Canonical()) {
			t.Errorf("%s: %s", name, in.Canonical())
		}
	}
}

// Proves: I8
func TestKeyedIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	secret := []byte("secret")
	keyed := identity.NewKeyed(secret)
	copy(secret, "gone!!")
	const callers, rounds = 8, 50
	done := make(chan error)
	for caller := range callers {
		go func() {
			in := identity.Intent{Workspace: "acme", Request: identity.NewString(strings.Repeat("x", caller*20_000))}
			want := identity.Fingerprint([]byte("secret"), in)
			for range rounds {
				if got := keyed.Fingerprint(in); got != want {
					done <- fmt.Errorf("caller %d got %s", caller, got)
					return
				}
				if keyed.Check() != identity.KeyCheck([]byte("secret")) {
					done <- fmt.Errorf("caller %d got another check value", caller)
					return
				}
			}
			done <- nil
		}()
	}
	for range callers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// Proves: I8
func TestKeyCheckTellsSecretsApart(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, secret := range []string{"", "a", "b", "a\n", strings.Repeat("a", 100)} {
		check := identity.KeyCheck([]byte(secret))
		if seen[check] || !strings.HasPrefix(check, "v1:") || len(check) != 3+32 || (secret != "" && strings.Contains(check, secret) && len(secret) > 1) {
			t.Errorf("%q has the check value %s", secret, check)
		}
		seen[check] = true
	}
}

// request2KB is a bill of the size that the benchmarks stand for.
func request2KB() []byte {
	var b strings.Builder
	b.WriteString(`{"supplier_id":"S-81","invoice_number":"INV-0042","total":"1250.00","currency":"EUR","memo":" Overhaul ","trace_id":"4bf92f3577b34da6","lines":[`)
	for i := 0; b.Len() < 1900; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"sku":"A-%04d","description":"Gasket, flat, 40 mm","quantity":%d,"unit_price":"12.50","tax":0.19}`, i, i+1)
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

func benchmarkRules(b *testing.B) *identity.Rules {
	return mustRules(b, `{"/total": {"decimal": {"scale": 2}}, "/memo": {"absent": null, "text": ["trim"]},
		"/trace_id": {"ignore": true}, "/lines/*/unit_price": {"decimal": {"scale": 2}}}`)
}

// BenchmarkFingerprint2KB is what admission pays for identity: normalized
// request to fingerprint.
func BenchmarkFingerprint2KB(b *testing.B) {
	request, err := benchmarkRules(b).Normalize(mustParse(b, string(request2KB())))
	if err != nil {
		b.Fatal(err)
	}
	keyed := identity.NewKeyed([]byte("a secret of a sensible length, 32 bytes"))
	in := identity.Intent{Workspace: "acme", Capability: "bills.create", ContractVersion: 3, Connection: "acme-erp", Request: request}
	b.ReportAllocs()
	for b.Loop() {
		keyed.Fingerprint(in)
	}
}

// BenchmarkAdmission2KB is the whole way from bytes to fingerprint and both
// derived values.
func BenchmarkAdmission2KB(b *testing.B) {
	source, rules := request2KB(), benchmarkRules(b)
	keyed := identity.NewKeyed([]byte("a secret of a sensible length, 32 bytes"))
	b.ReportAllocs()
	b.SetBytes(int64(len(source)))
	for b.Loop() {
		v, err := identity.Parse(source, identity.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		request, err := rules.Normalize(v)
		if err != nil {
			b.Fatal(err)
		}
		keyed.Fingerprint(identity.Intent{Workspace: "acme", Capability: "bills.create", ContractVersion: 3, Connection: "acme-erp", Request: request})
		seed := identity.Seed{Deployment: "d", Workspace: "acme", Capability: "bills.create", Connection: "acme-erp", Key: "k-1", Purpose: identity.PurposeIdentity}
		identity.Derive(seed, identity.Format{})
		identity.Derive(seed, identity.Format{Alphabet: identity.AlphabetAlnum, Max: 21})
	}
}

func BenchmarkParse2KB(b *testing.B) {
	source := request2KB()
	b.ReportAllocs()
	b.SetBytes(int64(len(source)))
	for b.Loop() {
		if _, err := identity.Parse(source, identity.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
