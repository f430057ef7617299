package identity_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/onefold-dev/onefold/identity"
)

// Proves: I9, I10, I13
func TestSpellingNeverMatters(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		drawn := nodes(3).Draw(t, "value")
		one, other := drawn.spell(t), drawn.spell(t)
		a, b := mustParseIn(t, one), mustParseIn(t, other)
		canonical := identity.Canonical(a)
		if !bytes.Equal(canonical, identity.Canonical(b)) {
			t.Fatalf("%s\nand\n%s\ndiffer:\n%s\n%s", one, other, canonical, identity.Canonical(b))
		}
		if !identity.EqualJSON(a, b) || len(identity.Diff(a, b, "")) != 0 {
			t.Fatalf("%s and %s are one value and compare unequal", one, other)
		}
		if fingerprint(a) != fingerprint(b) {
			t.Fatalf("%s and %s have two fingerprints", one, other)
		}
		// As approved and canonical are spellings like others.
		for _, spelling := range [][]byte{a.AppendJSON(nil), a.Raw(), canonical} {
			again, err := identity.ParseCanonical(spelling)
			if err != nil || !bytes.Equal(canonical, identity.Canonical(again)) {
				t.Fatalf("%s reads back otherwise: %v", spelling, err)
			}
		}
		if !json.Valid(canonical) {
			t.Fatalf("%s is no JSON", canonical)
		}
	})
}

// Proves: I8, I9, I4
func TestAnyOtherChangeMatters(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		drawn := nodes(3).Draw(t, "value")
		before := mustParseIn(t, drawn.spell(t))
		what := drawn.change(t)
		after := mustParseIn(t, drawn.spell(t))
		if bytes.Equal(identity.Canonical(before), identity.Canonical(after)) {
			t.Fatalf("%s, and the canonical form stayed %s", what, identity.Canonical(after))
		}
		if fingerprint(before) == fingerprint(after) {
			t.Fatalf("%s, and the fingerprint stayed", what)
		}
		if identity.EqualJSON(before, after) {
			t.Fatalf("%s, and the values compare equal", what)
		}
		differences := identity.Diff(before, after, "")
		if len(differences) == 0 {
			t.Fatalf("%s, and nothing differs", what)
		}
		for _, d := range differences {
			checkDifference(t, d, before, after)
		}
	})
}

// checkDifference holds a difference against the two values it names.
func checkDifference(t *rapid.T, d identity.Difference, before, after *identity.Value) {
	for _, side := range []struct{ said, whole *identity.Value }{{d.Accepted, before}, {d.Submitted, after}} {
		if there, ok := side.whole.At(d.Pointer); ok != (side.said != nil) || (ok && there != side.said) {
			t.Fatalf("the difference at %q is not what stands there", d.Pointer)
		}
	}
	if identity.EqualJSON(d.Accepted, d.Submitted) {
		t.Fatalf("the difference at %q is none", d.Pointer)
	}
}

func mustParseIn(t *rapid.T, text string) *identity.Value {
	v, err := identity.Parse([]byte(text), identity.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func fingerprint(v *identity.Value) string {
	return identity.Fingerprint([]byte("secret"), identity.Intent{Workspace: "acme", Capability: "bills.create", ContractVersion: 1, Connection: "erp", Request: v})
}

// FuzzParse holds the parser against the standard library's: what ours accepts
// is JSON, what ours calls bad syntax is not. (It is stricter in everything
// else.) Offsets always lie in the text.
func FuzzParse(f *testing.F) {
	for _, seed := range seeds() {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := identity.Parse(text, identity.Limits{})
		if err == nil {
			if !json.Valid(text) {
				t.Fatalf("accepted %q, which is no JSON", text)
			}
			start, end := v.Span()
			if !bytes.Equal(bytes.Trim(text, " \t\r\n"), text[start:end]) {
				t.Fatalf("the span of %q is %d–%d", text, start, end)
			}
			return
		}
		var fault *identity.SyntaxError
		if !errors.As(err, &fault) || fault.Offset < 0 || fault.Offset > len(text) {
			t.Fatalf("%q: %v", text, err)
		}
		switch fault.Reason {
		case identity.ReasonSyntax, identity.ReasonTrailingData:
			if json.Valid(text) {
				t.Fatalf("%q is JSON, and was refused: %v", text, err)
			}
		case identity.ReasonEncoding, identity.ReasonByteOrderMark, identity.ReasonSurrogate, identity.ReasonDuplicateMember,
			identity.ReasonDepth, identity.ReasonTooLarge, identity.ReasonNumberRange:
		default:
			t.Fatalf("%q: no such reason: %v", text, err)
		}
	})
}

// FuzzCanonical: the canonical text of whatever is accepted reads back, equals
// what it was made from, and does not change when made again.
func FuzzCanonical(f *testing.F) {
	for _, seed := range seeds() {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := identity.Parse(text, identity.Limits{})
		if err != nil {
			return
		}
		canonical := identity.Canonical(v)
		again, err := identity.ParseCanonical(canonical)
		if err != nil {
			t.Fatalf("%s does not read back: %v", canonical, err)
		}
		if twice := identity.Canonical(again); !bytes.Equal(canonical, twice) {
			t.Fatalf("%s became %s", canonical, twice)
		}
		if !identity.EqualJSON(v, again) || len(identity.Diff(v, again, "")) != 0 {
			t.Fatalf("%s differs from its source %q", canonical, text)
		}
		approved, err := identity.Parse(v.AppendJSON(nil), identity.Limits{MaxBytes: 8 << 20})
		if err != nil || !identity.EqualJSON(v, approved) {
			t.Fatalf("%q is not what goes to the target: %v", text, err)
		}
	})
}

func seeds() []string {
	return []string{
		"", "{}", " [ ] ", `{"b":1,"a":[true,false,null]}`, `"\ud83d\ude00\u0000\/"`, `"\ud800"`, "\"\xff\"", "\xef\xbb\xbf1",
		"-0.0e-7", "1e400", "1.25e-10000", "1000e10000", "1e10001", strings.Repeat("9", 41), "0." + strings.Repeat("0", 50) + "1",
		`{"a":1,"\u0061":2}`, "{} x", "01", "NaN", strings.Repeat("[", 65), `{"\ufb33":1,"\ud83d\ude00":2}`, "[1,]", `{"a"`,
	}
}
