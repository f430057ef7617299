package identity_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/onefold-dev/onefold/identity"
)

// What differs and looks the same is told by why it does; what looks different,
// or is equal, is told nothing.
// Proves: I4, I9
func TestAlike(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, want string }{
		{`"M\u00fcller"`, `"Mu\u0308ller"`, identity.AlikeInForm},
		{`"\ud55c"`, `"\u1112\u1161\u11ab"`, identity.AlikeInForm},
		{`"\u212b"`, `"\u00c5"`, identity.AlikeInForm},
		{`"a b"`, `"a\u00a0b"`, identity.AlikeUnseen},
		{`"ab"`, `"a\u200bb"`, identity.AlikeUnseen},
		{`"ab"`, `"\ufeffab"`, identity.AlikeUnseen},
		{`"ab"`, `"a\u00adb"`, identity.AlikeUnseen},
		{`"ab"`, `"a\u202eb"`, identity.AlikeUnseen},
		{`"ab"`, `"ab\ufe0f"`, identity.AlikeUnseen},
		{`"ab"`, `"ab\u3164"`, identity.AlikeUnseen},
		{`"ab"`, `"ab\u0085"`, identity.AlikeUnseen},
		{`"ab"`, `"ab "`, identity.AlikeUnseen},
		{`"a b"`, `"a  b"`, identity.AlikeUnseen},
		{`"M\u00fcller "`, `"Mu\u0308ller"`, identity.AlikeUnseen},
		{`"e\u0301"`, `"e\u200b\u0301"`, identity.AlikeUnseen},
		{`"12"`, `"\uff11\uff12"`, identity.AlikeInCompatibility},
		{`"file"`, `"\ufb01le"`, identity.AlikeInCompatibility},
		{`"S-81"`, `"\u0405-81"`, identity.AlikeInShape},
		{`"S-81"`, `"S\u201181"`, identity.AlikeInShape},
		{`"S-81"`, `"S\u201381"`, identity.AlikeInShape},
		{`"INV-0042"`, `"INV-OO42"`, identity.AlikeInShape},
		{`"IBAN1"`, `"lBANl"`, identity.AlikeInShape},
		{`"\u0420\u0410\u0423"`, `"PAY"`, ""}, // the Cyrillic capital U is not Y
		{`"\u0441\u043e\u0440\u0443"`, `"copy"`, identity.AlikeInShape},
		{`"\u0391\u0392"`, `"AB"`, identity.AlikeInShape},
		{`"\u0451"`, `"\u00eb"`, identity.AlikeInShape},
		{`"it's"`, `"it\u2019s"`, identity.AlikeInShape},
		{`9007199254740993`, `9007199254740992`, identity.AlikeInDigits},
		{`0.1`, `0.10000000000000000001`, identity.AlikeInDigits},
		{`1e400`, `1e401`, identity.AlikeInDigits},
		{`1e-400`, `0`, identity.AlikeInDigits},

		{`0.1`, `0.2`, ""},
		{`9007199254740992`, `9007199254740994`, ""},
		{`1e400`, `-1e400`, ""},
		{`"a"`, `"b"`, ""},
		{`"Paper"`, `"paper"`, ""},
		{`"10.00"`, `"10.0"`, ""},
		{`"0.1"`, `"0.10000000000000000001"`, ""},
		{`1`, `"1"`, ""},
		{`true`, `false`, ""},
		{`null`, `0`, ""},
		{`[1]`, `[2]`, ""},
		{`{}`, `[]`, ""},
		{`1.0`, `1`, ""},
		{`"a"`, `"a"`, ""},
		{`""`, `"x"`, ""},
	} {
		a, err := identity.Parse([]byte(c.a), identity.Limits{})
		if err != nil {
			t.Fatalf("%s: %v", c.a, err)
		}
		b, err := identity.Parse([]byte(c.b), identity.Limits{})
		if err != nil {
			t.Fatalf("%s: %v", c.b, err)
		}
		if got := identity.Alike(a, b); got != c.want {
			t.Errorf("%s and %s %s", c.a, c.b, got)
		}
		if got := identity.Alike(b, a); got != c.want {
			t.Errorf("%s and %s the other way round %s", c.b, c.a, got)
		}
	}
	if got := identity.Alike(nil, identity.NewString("x")); got != "" {
		t.Errorf("nothing and a text %s", got)
	}
}

// Texts without a character in common never look alike, equal ones neither, and it
// makes no difference which of the two is asked about.
// Proves: I4
func TestAlikeIsAboutDifferences(t *testing.T) {
	t.Parallel()
	texts := rapid.StringOfN(rapid.RuneFrom([]rune("a\u0430 bO0l1\u200b\u0308\u00fc-\u2010'\u2019\uff11\ufb01")), 0, 12, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := texts.Draw(t, "a"), texts.Draw(t, "b")
		x, y := identity.NewString(a), identity.NewString(b)
		got := identity.Alike(x, y)
		if got != identity.Alike(y, x) {
			t.Fatalf("%q and %q: which is asked about makes a difference", a, b)
		}
		if a == b && got != "" {
			t.Fatalf("%q is like itself: %s", a, got)
		}
		if other := identity.NewString(strings.Repeat("z", 1+len(a))); identity.Alike(x, other) != "" {
			t.Fatalf("%q is like a text of other characters", a)
		}
	})
}
