package identity_test

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/onefold-dev/onefold/identity"
)

// rational is the oracle: the same number, by the standard library.
func rational(t *rapid.T, text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%s is no number", text)
	}
	return r
}

func numberTexts() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,3})?([eE][-+]?[0-4])?`),
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,60})(\.[0-9]{1,60})?([eE][-+]?[0-9]{1,2})?`),
	)
}

// Proves: I9
func TestDecimalAgreesWithRationals(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		one, other := numberTexts().Draw(t, "one"), numberTexts().Draw(t, "other")
		a, errA := identity.ParseDecimal(one)
		b, errB := identity.ParseDecimal(other)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		x, y := rational(t, one), rational(t, other)
		if a.Cmp(b) != x.Cmp(y) || a.Equal(b) != (x.Cmp(y) == 0) || a.Sign() != x.Sign() || a.IsZero() != (x.Sign() == 0) {
			t.Fatalf("%s against %s: %d, should be %d", one, other, a.Cmp(b), x.Cmp(y))
		}
		if rational(t, a.String()).Cmp(x) != 0 {
			t.Fatalf("%s is written %s", one, a)
		}
		product, err := a.Mul(b)
		if err != nil || rational(t, product.String()).Cmp(new(big.Rat).Mul(x, y)) != 0 {
			t.Fatalf("%s × %s = %s, %v", one, other, product, err)
		}
		shifted := new(big.Rat).Mul(x, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(a.Places())), nil)))
		if !shifted.IsInt() {
			t.Fatalf("%s has more than %d places", one, a.Places())
		}
	})
}

// Proves: I9
func TestDecimalPlacesAndBounds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"1.250": 2, "100": 0, "0.000": 0, "1e-3": 3, "1.5e1": 0, "-0.5": 1, "10e-1": 0, "1e-10000": 10000, "1e10000": 0,
	} {
		d, err := identity.ParseDecimal(text)
		if err != nil || d.Places() != want {
			t.Errorf("%s has %d places, %v; want %d", text, d.Places(), err, want)
		}
	}
	for _, c := range []struct {
		text, reason string
		offset       int
	}{
		{"", identity.ReasonSyntax, 0},
		{"1 ", identity.ReasonSyntax, 1},
		{"12,50", identity.ReasonSyntax, 2},
		{"-x", identity.ReasonSyntax, 1},
		{"1e10001", identity.ReasonNumberRange, 0},
		{strings.Repeat("1", 1001), identity.ReasonNumberRange, 0},
	} {
		_, err := identity.ParseDecimal(c.text)
		var fault *identity.SyntaxError
		if !errors.As(err, &fault) || fault.Reason != c.reason || fault.Offset != c.offset {
			t.Errorf("%.10s: %v, want %s at %d", c.text, err, c.reason, c.offset)
		}
	}
}

// Proves: I9
func TestProductsStayWithinTheBoundsOfNumbers(t *testing.T) {
	t.Parallel()
	parse := func(text string) identity.Decimal {
		d, err := identity.ParseDecimal(text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, c := range []struct {
		a, b string
		fits bool
	}{
		{"1e5000", "1e5000", true},
		{"1e5000", "1e5001", false},
		{"1e-5000", "1e-5001", false},
		{"0", "1e10000", true},
		{strings.Repeat("3", 500), strings.Repeat("3", 500), true},
		{strings.Repeat("3", 501), strings.Repeat("7", 501), false},
		{"5e-10000", "2", true},
	} {
		product, err := parse(c.a).Mul(parse(c.b))
		if (err == nil) != c.fits {
			t.Errorf("%.10s × %.10s = %.20s, %v", c.a, c.b, product, err)
		}
		if err == nil {
			if _, err := identity.NewNumber(product.String()); err != nil {
				t.Errorf("%.10s × %.10s is no number that could be submitted: %v", c.a, c.b, err)
			}
		}
	}
	big := []string{"-1e10000", "-1e-10000", "0", "1e-10000", "1e9999", strings.Repeat("9", 1000) + "e9000", "1e10000"}
	for i := range big {
		for j := range big {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := parse(big[i]).Cmp(parse(big[j])); got != want {
				t.Errorf("%.10s against %.10s: %d", big[i], big[j], got)
			}
		}
	}
}
