package identity_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/onefold-dev/onefold/identity"
)

func formats() *rapid.Generator[identity.Format] {
	return rapid.Custom(func(t *rapid.T) identity.Format {
		alphabet := rapid.SampledFrom([]string{"", "uuid", "hex", "digits", "alnum", "base32hex", "01", "+-*/", "ABCDEFGHJKLMNPQRSTUVWXYZ23456789-"}).Draw(t, "alphabet")
		f := identity.Format{Alphabet: alphabet}
		if alphabet == "" || alphabet == "uuid" {
			f.UUIDVersion = rapid.IntRange(0, 8).Draw(t, "version")
			f.Max = rapid.SampledFrom([]int{0, 36, 100}).Draw(t, "max")
			return f
		}
		f.Max = rapid.IntRange(0, 300).Draw(t, "max")
		return f
	})
}

// letters are the characters that a format allows, written down apart from the
// package.
func letters(alphabet string) string {
	switch alphabet {
	case "hex":
		return "0123456789abcdef"
	case "digits":
		return "0123456789"
	case "alnum":
		return "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	case "base32hex":
		return "0123456789abcdefghijklmnopqrstuv"
	default:
		return alphabet
	}
}

// Proves: M1, I13a
func TestDerivedValuesFitTheirFormat(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := formats().Draw(t, "format")
		if err := f.Validate(); err != nil {
			t.Fatal(err)
		}
		seed := identity.Seed{Deployment: "d", Workspace: "w", Capability: "c", Connection: "n", Key: visibleKeys().Draw(t, "key"), Purpose: identity.PurposeIdentity}
		value := identity.Derive(seed, f)
		if value != identity.Derive(seed, f) {
			t.Fatal("the same seed gave two values")
		}
		if len(value) != f.Length() || (f.Max > 0 && len(value) > f.Max) {
			t.Fatalf("%s has %d characters, the format says %d of at most %d", value, len(value), f.Length(), f.Max)
		}
		if f.Alphabet == "" || f.Alphabet == "uuid" {
			parsed, err := uuid.Parse(value)
			version := max(f.UUIDVersion, 1)
			if f.UUIDVersion == 0 {
				version = identity.DefaultUUIDVersion
			}
			if err != nil || int(parsed.Version()) != version || parsed.Variant() != uuid.RFC4122 || parsed.String() != value {
				t.Fatalf("%s is no UUID of version %d: %v", value, version, err)
			}
			return
		}
		if strings.Trim(value, letters(f.Alphabet)) != "" {
			t.Fatalf("%s leaves the alphabet %s", value, f.Alphabet)
		}
		if bits := f.Bits(); bits < 0 || bits > 256 || (f.Max > 0 && bits > f.Max*7) {
			t.Fatalf("%d bits in %d characters", bits, len(value))
		}
	})
}

// Proves: I13a
func TestEveryPartOfASeedCounts(t *testing.T) {
	t.Parallel()
	base := identity.Seed{Deployment: "d", Workspace: "w", Capability: "c", Connection: "n", Key: "k", Purpose: identity.PurposeIdentity}
	seen := map[string]int{}
	for i, change := range []func(*identity.Seed){
		func(*identity.Seed) {},
		func(s *identity.Seed) { s.Deployment = "e" },
		func(s *identity.Seed) { s.Workspace = "x" },
		func(s *identity.Seed) { s.Capability = "x" },
		func(s *identity.Seed) { s.Connection = "x" },
		func(s *identity.Seed) { s.Key = "K" },
		func(s *identity.Seed) { s.Purpose = identity.PurposeReference },
		func(s *identity.Seed) { s.Counter = 1 },
		func(s *identity.Seed) { s.Counter = 2 },
		func(s *identity.Seed) { s.Key = `k","workspace":"x` },
	} {
		seed := base
		change(&seed)
		value := identity.Derive(seed, identity.Format{})
		if other, taken := seen[value]; taken {
			t.Errorf("seeds %d and %d give %s", i, other, value)
		}
		seen[value] = i
	}
	seed := base
	seed.Counter = 3
	if text := string(seed.Canonical()); text != `{"capability":"c","connection":"n","counter":"3","deployment":"d","key":"k","purpose":"identity","workspace":"w"}` ||
		text != string(identity.Canonical(mustParse(t, text))) {
		t.Errorf("the seed is %s", text)
	}
}

// Proves: I13a
func TestFormatsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format identity.Format
		member string
	}{
		{identity.Format{Max: -1}, "max"},
		{identity.Format{Max: 35}, "max"},
		{identity.Format{Max: 32, Alphabet: "uuid"}, "max"},
		{identity.Format{UUIDVersion: 9}, "uuid_version"},
		{identity.Format{UUIDVersion: -1}, "uuid_version"},
		{identity.Format{Alphabet: "hex", UUIDVersion: 4}, "uuid_version"},
		{identity.Format{Alphabet: "x"}, "alphabet"},
		{identity.Format{Alphabet: "abca"}, "alphabet"},
		{identity.Format{Alphabet: "ab c"}, "alphabet"},
		{identity.Format{Alphabet: "abé"}, "alphabet"},
		{identity.Format{Alphabet: "ab\x00"}, "alphabet"},
		{identity.Format{Alphabet: "base32"}, "alphabet"},
		{identity.Format{Alphabet: "Base64url"}, "alphabet"},
		{identity.Format{Alphabet: "HEX"}, "alphabet"},
	} {
		err := c.format.Validate()
		var fault *identity.FormatError
		if !errors.As(err, &fault) || fault.Member != c.member || fault.Detail == "" {
			t.Errorf("%+v: %v, want a fault of %s", c.format, err, c.member)
		}
		if c.format.Length() != 0 || c.format.Bits() != 0 || identity.Derive(identity.Seed{}, c.format) != "" {
			t.Errorf("%+v is no format and gives %q", c.format, identity.Derive(identity.Seed{}, c.format))
		}
	}
}

// Proves: I13a
func TestBitsThatSurvive(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format       identity.Format
		length, bits int
	}{
		{identity.Format{}, 36, 122},
		{identity.Format{Alphabet: "uuid", Max: 64}, 36, 122},
		{identity.Format{Alphabet: "hex", Max: 15}, 15, 60},
		{identity.Format{Alphabet: "hex", Max: 16}, 16, 64},
		{identity.Format{Alphabet: "hex", Max: 255}, 64, 256},
		{identity.Format{Alphabet: "digits", Max: 19}, 19, 63},
		{identity.Format{Alphabet: "digits", Max: 20}, 20, 66},
		{identity.Format{Alphabet: "digits"}, 78, 256},
		{identity.Format{Alphabet: "alnum", Max: 21}, 21, 125},
		{identity.Format{Alphabet: "alnum"}, 43, 256},
		{identity.Format{Alphabet: "base32hex", Max: 12}, 12, 60},
		{identity.Format{Alphabet: "base32hex", Max: 13}, 13, 65},
		{identity.Format{Alphabet: "01", Max: 63}, 63, 63},
		{identity.Format{Alphabet: "01"}, 256, 256},
	} {
		if c.format.Length() != c.length || c.format.Bits() != c.bits || (c.bits < identity.MinBits) != (c.format.Bits() < identity.MinBits) {
			t.Errorf("%+v: %d characters, %d bits; want %d, %d", c.format, c.format.Length(), c.format.Bits(), c.length, c.bits)
		}
	}
	// No two keys of many share a value where the format is just wide enough.
	seen := map[string]bool{}
	for i := range 10_000 {
		seen[identity.Derive(identity.Seed{Key: "k-" + strconv.Itoa(i)}, identity.Format{Alphabet: "digits", Max: 20})] = true
	}
	if len(seen) != 10_000 {
		t.Errorf("%d values for 10000 keys", len(seen))
	}
}
