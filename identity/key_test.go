package identity_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/onefold-dev/onefold/identity"
)

// Proves: I1
func TestParseKey(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 255)
	for _, c := range []struct {
		name   string
		values []string
		key    string
		rule   string // of key_invalid; "required" for key_required
	}{
		{"bare", []string{"k-1"}, "k-1", ""},
		{"quoted", []string{`"k-1"`}, "k-1", ""},
		{"case counts", []string{"K-1"}, "K-1", ""},
		{"quoted with escapes", []string{`"a\"b\\c"`}, `a"b\c`, ""},
		{"a quote inside a bare key", []string{`a"b`}, `a"b`, ""},
		{"a backslash inside a bare key", []string{`a\b`}, `a\b`, ""},
		{"a comma is a character", []string{"a,b"}, "a,b", ""},
		{"first and last visible character", []string{"!~"}, "!~", ""},
		{"longest", []string{long}, long, ""},
		{"longest, quoted", []string{`"` + long + `"`}, long, ""},
		{"longest, escaped", []string{`"k` + strings.Repeat(`\"`, 254) + `"`}, "k" + strings.Repeat(`"`, 254), ""},

		{"no header", nil, "", "required"},
		{"no values", []string{}, "", "required"},
		{"two values", []string{"k-1", "k-1"}, "", identity.KeyRuleOneValue},
		{"two values, one empty", []string{"", "k-1"}, "", identity.KeyRuleOneValue},
		{"empty", []string{""}, "", identity.KeyRuleEmpty},
		{"empty, quoted", []string{`""`}, "", identity.KeyRuleEmpty},
		{"a key that is one quote", []string{`"\""`}, "", identity.KeyRuleLeadingQuote},
		{"a key that is quoted twice", []string{`"\"k-1\""`}, "", identity.KeyRuleLeadingQuote},
		{"a quote and white space", []string{`"\"k 1"`}, "", identity.KeyRuleLeadingQuote},
		{"a quote alone", []string{`"`}, "", identity.KeyRuleQuoted},
		{"not closed", []string{`"k-1`}, "", identity.KeyRuleQuoted},
		{"closed by an escaped quote", []string{`"k-1\"`}, "", identity.KeyRuleQuoted},
		{"something behind the quote", []string{`"k-1"x`}, "", identity.KeyRuleQuoted},
		{"a parameter", []string{`"k-1";a=1`}, "", identity.KeyRuleQuoted},
		{"a quote in the middle", []string{`"a"b"`}, "", identity.KeyRuleQuoted},
		{"a list", []string{`"a", "b"`}, "", identity.KeyRuleQuoted},
		{"another escape", []string{`"a\nb"`}, "", identity.KeyRuleQuoted},
		{"non-ASCII in quotes", []string{`"é"`}, "", identity.KeyRuleQuoted},
		{"a tab in quotes", []string{"\"a\tb\""}, "", identity.KeyRuleQuoted},
		{"white space in quotes", []string{`"k 1"`}, "", identity.KeyRuleWhiteSpace},
		{"white space inside", []string{"k 1"}, "", identity.KeyRuleWhiteSpace},
		{"white space in front", []string{" k-1"}, "", identity.KeyRuleWhiteSpace},
		{"white space behind", []string{"k-1\t"}, "", identity.KeyRuleWhiteSpace},
		{"white space before a quote", []string{` "k-1"`}, "", identity.KeyRuleWhiteSpace},
		{"white space only", []string{" "}, "", identity.KeyRuleWhiteSpace},
		{"a line feed", []string{"k\n1"}, "", identity.KeyRuleWhiteSpace},
		{"a no-break space", []string{"k\u00a01"}, "", identity.KeyRuleWhiteSpace},
		{"non-ASCII", []string{"clé"}, "", identity.KeyRuleVisibleASCII},
		{"a stray byte", []string{"k\xff"}, "", identity.KeyRuleVisibleASCII},
		{"delete", []string{"k\x7f"}, "", identity.KeyRuleVisibleASCII},
		{"a zero byte", []string{"k\x00"}, "", identity.KeyRuleVisibleASCII},
		{"too long", []string{long + "k"}, "", identity.KeyRuleLength},
		{"too long, quoted", []string{`"` + long + `k"`}, "", identity.KeyRuleLength},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			key, err := identity.ParseKey(c.values)
			var fault *identity.KeyError
			if errors.As(err, &fault) != (c.rule != "") || key != c.key {
				t.Fatalf("got %q, %v", key, err)
			}
			code := identity.CodeKeyInvalid
			if c.rule == "required" {
				code, c.rule = identity.CodeKeyRequired, ""
			}
			if fault != nil && (fault.Code != code || fault.Rule != c.rule || fault.Detail == "") {
				t.Errorf("got %+v, want %s by %q", fault, code, c.rule)
			}
		})
	}
}

func visibleKeys() *rapid.Generator[string] {
	return rapid.StringOfN(rapid.RuneFrom([]rune("!\"\\ak-1,;~ZZ")), 1, 255, -1)
}

// Bare and quoted are one key in the header, and no text is a key in one form and
// another key in the other: what is a key when it is taken bare is the same key as
// a value of the header.
// Proves: I1
func TestQuotedAndBareFormAreOneKey(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := visibleKeys().Draw(t, "text")
		asHeader, err := identity.ParseKey([]string{text})
		if wrong := identity.ValidateKey(text); wrong != nil {
			if text[0] != '"' || err == nil && asHeader == text {
				t.Fatalf("%q is no key: %v; as a header it is %q, %v", text, wrong, asHeader, err)
			}
			return
		}
		if err != nil || asHeader != text {
			t.Fatalf("bare %q came back as %q, %v", text, asHeader, err)
		}
		quoted, err := identity.QuoteKey(text)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := identity.ParseKey([]string{quoted}); err != nil || back != text {
			t.Fatalf("%q came back as %q, %v", quoted, back, err)
		}
	})
	if _, err := identity.QuoteKey("a b"); err == nil {
		t.Error("a key with white space was quoted")
	}
}
