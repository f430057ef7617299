package identity_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/onefold-dev/onefold/identity"
)

// Proves: I10, I9
func TestParseErrorsCarryReasonAndOffset(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) }
	for _, c := range []struct {
		name, text, reason string
		offset             int
	}{
		{"nothing", "", identity.ReasonSyntax, 0},
		{"white space only", " \n ", identity.ReasonSyntax, 3},
		{"a word", "  nul", identity.ReasonSyntax, 2},
		{"a word that goes on", "nullx", identity.ReasonTrailingData, 4},
		{"an unknown word in an array", "[1,NaN]", identity.ReasonSyntax, 3},
		{"a missing element", "[1,]", identity.ReasonSyntax, 3},
		{"a missing comma", "[1 2]", identity.ReasonSyntax, 3},
		{"an open array", "[1", identity.ReasonSyntax, 2},
		{"an open object", `{"a":1`, identity.ReasonSyntax, 6},
		{"a name without quotes", `{a:1}`, identity.ReasonSyntax, 1},
		{"a missing colon", `{"a" 1}`, identity.ReasonSyntax, 5},
		{"a missing member", `{"a":1,}`, identity.ReasonSyntax, 7},
		{"a missing value", `{"a":}`, identity.ReasonSyntax, 5},
		{"a wrong bracket", `{"a":[1}`, identity.ReasonSyntax, 7},
		{"an open string", `"abc`, identity.ReasonSyntax, 4},
		{"an open string after an escape", `"a\n`, identity.ReasonSyntax, 4},
		{"a control character", "\"a\x01\"", identity.ReasonSyntax, 2},
		{"a control character after an escape", "\"\\na\x1f\"", identity.ReasonSyntax, 4},
		{"an unknown escape", `"a\x"`, identity.ReasonSyntax, 2},
		{"an escape at the end", `"a\`, identity.ReasonSyntax, 2},
		{"a short unicode escape", `"\u12G4"`, identity.ReasonSyntax, 1},
		{"a unicode escape at the end", `"\u12`, identity.ReasonSyntax, 1},
		{"a leading zero", `[01]`, identity.ReasonSyntax, 2},
		{"a lone minus", `-`, identity.ReasonSyntax, 1},
		{"a plus", `+1`, identity.ReasonSyntax, 0},
		{"a point without digits", `[1.]`, identity.ReasonSyntax, 3},
		{"an exponent without digits", `[1e+]`, identity.ReasonSyntax, 4},
		{"a zero byte", "[1\x00]", identity.ReasonSyntax, 2},
		{"a second value", "{} x", identity.ReasonTrailingData, 3},
		{"a second bracket", "{}}", identity.ReasonTrailingData, 2},
		{"a byte-order mark", "\xef\xbb\xbf{}", identity.ReasonByteOrderMark, 0},
		{"a byte-order mark inside", "{}\xef\xbb\xbf", identity.ReasonTrailingData, 2},
		{"a stray byte", "{\"s\":\"\xff\"}", identity.ReasonEncoding, 6},
		{"a stray byte behind a syntax error", "{x \xff", identity.ReasonEncoding, 3},
		{"an encoded surrogate", "\"\xed\xa0\x80\"", identity.ReasonEncoding, 1},
		{"an overlong form", "\"a\xc0\xaf\"", identity.ReasonEncoding, 2},
		{"a cut character", "\"\xe2\x82", identity.ReasonEncoding, 1},
		{"a high surrogate", `["x","a\ud800"]`, identity.ReasonSurrogate, 7},
		{"a low surrogate", `"\udfff"`, identity.ReasonSurrogate, 1},
		{"a high surrogate before a letter", `"\ud800\u0041"`, identity.ReasonSurrogate, 1},
		{"a surrogate in a name", `{"\ud800":1}`, identity.ReasonSurrogate, 2},
		{"a duplicate member", `{"a":1,"a":2}`, identity.ReasonDuplicateMember, 7},
		{"a duplicate after unescaping", `{"a":1, "\u0061":2}`, identity.ReasonDuplicateMember, 8},
		{"a duplicate before a syntax error", `{"a":1,"a":x}`, identity.ReasonDuplicateMember, 7},
		{"too deep", deep(65), identity.ReasonDepth, 64},
		{"too deep by an object", deep(64) + `{`, identity.ReasonDepth, 64},
		{"too many digits", `[1` + strings.Repeat("0", 1000) + `]`, identity.ReasonNumberRange, 1},
		{"too many digits in a fraction", `-0.` + strings.Repeat("1", 1000), identity.ReasonNumberRange, 0},
		{"too large an exponent", `{"n": 1e10001}`, identity.ReasonNumberRange, 6},
		{"too small an exponent", `1E-10001`, identity.ReasonNumberRange, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v, err := identity.Parse([]byte(c.text), identity.Limits{})
			var got *identity.SyntaxError
			if !errors.As(err, &got) {
				t.Fatalf("accepted as %s", identity.Canonical(v))
			}
			if got.Reason != c.reason || got.Offset != c.offset || got.Detail == "" {
				t.Errorf("got %v, want %s at %d", got, c.reason, c.offset)
			}
		})
	}
}

// Proves: I10
func TestParseLimitsAreConfigurable(t *testing.T) {
	t.Parallel()
	reason := func(text string, l identity.Limits) string {
		_, err := identity.Parse([]byte(text), l)
		var fault *identity.SyntaxError
		if errors.As(err, &fault) {
			return fmt.Sprintf("%s %d", fault.Reason, fault.Offset)
		}
		return "accepted"
	}
	million := `"` + strings.Repeat("a", 1<<20-2) + `"`
	for _, c := range []struct {
		text   string
		limits identity.Limits
		want   string
	}{
		{million, identity.Limits{}, "accepted"},
		{million + " ", identity.Limits{}, "too_large 1048576"},
		{million + " ", identity.Limits{MaxBytes: 1<<20 + 1}, "accepted"},
		{"[]", identity.Limits{MaxBytes: 1}, "too_large 1"},
		{"[[]]", identity.Limits{MaxDepth: 1}, "depth 1"},
		{"[[]]", identity.Limits{MaxDepth: 2}, "accepted"},
		{"1", identity.Limits{MaxDepth: 1}, "accepted"},
		{strings.Repeat("[", 64) + strings.Repeat("]", 64), identity.Limits{}, "accepted"},
	} {
		if got := reason(c.text, c.limits); got != c.want {
			t.Errorf("%.20s… with %+v: %s, want %s", c.text, c.limits, got, c.want)
		}
	}
}

// Whatever is hostile must be judged in time near linear in its length; a
// quadratic step anywhere would let this test run for minutes.
//
// Proves: I10
func TestHostileInputIsJudgedQuickly(t *testing.T) {
	t.Parallel()
	var names, wide strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&names, `,"pre%05x":0`, i)
		fmt.Fprintf(&wide, `,{"t":%d}`, i)
	}
	roomy := identity.Limits{MaxBytes: 8 << 20}
	object := "{" + names.String()[1:] + "}"
	for _, c := range []struct{ name, text, want string }{
		{"a million brackets", strings.Repeat("[", 1<<20), identity.ReasonDepth},
		{"a hundred thousand names", object, ""},
		{"a hundred thousand names and one again", object[:len(object)-1] + `,"pre00000":1}`, identity.ReasonDuplicateMember},
		{"a huge exponent", "1e" + strings.Repeat("9", 1<<20), identity.ReasonNumberRange},
		{"a million digits", strings.Repeat("9", 1<<20), identity.ReasonNumberRange},
		{"escapes only", `"` + strings.Repeat(`\u00e9`, 170_000) + `"`, ""},
		{"half a million numbers", "[1" + strings.Repeat(",1", 500_000) + "]", ""},
	} {
		v, err := identity.Parse([]byte(c.text), roomy)
		var fault *identity.SyntaxError
		if errors.As(err, &fault) != (c.want != "") || (fault != nil && fault.Reason != c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if err == nil && !identity.EqualJSON(v, v) {
			t.Errorf("%s: differs from itself", c.name)
		}
	}
	rules := mustRules(t, `{"/*/t": {"ignore": true}, "": {"set": {"multiset": true}}}`)
	v, err := identity.Parse([]byte("["+wide.String()[1:]+"]"), roomy)
	if err != nil {
		t.Fatal(err)
	}
	normalized, err := rules.Normalize(v)
	if err != nil || normalized.Len() != 100_000 || normalized.Index(0).Len() != 0 {
		t.Errorf("a hundred thousand left out: %v, %d elements", err, normalized.Len())
	}
	if again, err := identity.Parse([]byte(object), roomy); err != nil || len(identity.Diff(again, normalized, "")) != 1 {
		t.Errorf("an object and an array differ in one place, %v", err)
	}
}

// Proves: I10, I13
func TestValueKeepsWhatItWasReadFrom(t *testing.T) {
	t.Parallel()
	source := []byte(` { "b" : [ 1.50 , "x\ty" ] , "a" : true, "e": {}, "z": null } `)
	v, err := identity.Parse(source, identity.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	clear(source)
	type fact struct {
		Pointer, Kind, Raw string
		Start, End         int
	}
	var got []fact
	for _, pointer := range []string{"", "/b", "/b/0", "/b/1", "/a", "/e", "/z"} {
		at, ok := v.At(pointer)
		if !ok {
			t.Fatalf("nothing at %q", pointer)
		}
		start, end := at.Span()
		got = append(got, fact{pointer, at.Kind().String(), string(at.Raw()), start, end})
	}
	want := []fact{
		{"", "object", `{ "b" : [ 1.50 , "x\ty" ] , "a" : true, "e": {}, "z": null }`, 1, 61},
		{"/b", "array", `[ 1.50 , "x\ty" ]`, 9, 26},
		{"/b/0", "number", `1.50`, 11, 15},
		{"/b/1", "string", `"x\ty"`, 18, 24},
		{"/a", "boolean", `true`, 35, 39},
		{"/e", "object", `{}`, 46, 48},
		{"/z", "null", `null`, 55, 59},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if names := v.Members(); names[1].Name != "a" || names[1].NameOffset != 29 {
		t.Errorf("member a: %+v", names[1])
	}
	if text := string(v.AppendJSON(nil)); text != `{"b":[1.50,"x\ty"],"a":true,"e":{},"z":null}` {
		t.Errorf("as approved: %s", text)
	}
	b, _ := v.Get("b")
	if b.Index(0).Number() != "1.50" || b.Index(1).Text() != "x\ty" || b.Index(2) != nil || b.Index(-1) != nil || b.Len() != 2 {
		t.Error("the array does not hold what was written")
	}
	if d, ok := b.Index(0).Decimal(); !ok || d.String() != "1.5" {
		t.Errorf("the decimal is %v", d)
	}
}

// Proves: I9
func TestBuiltValuesEqualParsedOnes(t *testing.T) {
	t.Parallel()
	number, err := identity.NewNumber("1.50")
	if err != nil {
		t.Fatal(err)
	}
	built := identity.NewObject(
		identity.Member{Name: "z", Value: identity.NewArray(number, nil, identity.NewBool(true), identity.NewArray())},
		identity.Member{Name: "a", Value: identity.NewString("twice")},
		identity.Member{Name: "e", Value: identity.NewObject()},
		identity.Member{Name: "a", Value: identity.NewString("bad\xff")},
		identity.Member{Name: "i", Value: identity.NewInteger(-7)},
		identity.Member{Name: "n"},
	)
	text := `{"z":[1.50,null,true,[]],"a":"bad` + "\uFFFD" + `","e":{},"i":-7,"n":null}`
	if got := string(built.AppendJSON(nil)); got != text {
		t.Errorf("built %s", got)
	}
	if string(built.Raw()) != text || !identity.EqualJSON(built, mustParse(t, text)) {
		t.Error("the built value differs from the parsed one")
	}
	if start, end := built.Span(); start != -1 || end != -1 {
		t.Error("a built value has a span")
	}
	for _, raw := range []string{"", "01", "1 ", " 1", "1e10001", "NaN", "1,5"} {
		if v, err := identity.NewNumber(raw); err == nil {
			t.Errorf("%q became the number %s", raw, v.Number())
		}
	}
	var absent *identity.Value
	if absent.Kind() != identity.Null || absent.Len() != 0 || absent.Bool() || string(absent.Raw()) != "null" || string(identity.Canonical(nil)) != "null" {
		t.Error("nil does not read as null")
	}
}

// The examples of RFC 6901 section 5, and what names nothing.
func TestAtFollowsJSONPointer(t *testing.T) {
	t.Parallel()
	v := mustParse(t, `{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8,"~1":9,"01":[1]}`)
	for pointer, want := range map[string]string{
		"/foo": `["bar","baz"]`, "/foo/0": `"bar"`, "/foo/1": `"baz"`, "/": `0`, "/a~1b": `1`, "/c%d": `2`, "/e^f": `3`, "/g|h": `4`,
		`/i\j`: `5`, `/k"l`: `6`, "/ ": `7`, "/m~0n": `8`, "/~01": `9`, "/01/0": `1`,
	} {
		if at, ok := v.At(pointer); !ok || string(at.Raw()) != want {
			t.Errorf("%s: %s, want %s", pointer, at.Raw(), want)
		}
	}
	if at, ok := v.At(""); !ok || at != v {
		t.Error("the empty pointer does not name the whole")
	}
	for _, pointer := range []string{"foo", "/foo/2", "/foo/-", "/foo/01", "/foo/+1", "/foo/99999999999999999999", "/foo/0/x", "/~", "/m~n", "/m~2n", "/~~0", "/none", "/foo/"} {
		if at, ok := v.At(pointer); ok {
			t.Errorf("%q names %s", pointer, at.Raw())
		}
	}
	for _, token := range []string{"", "a", "/", "~", "~1/~0", "é"} {
		tokens, ok := identity.SplitPointer(identity.JoinPointer("/x", token))
		if !ok || len(tokens) != 2 || tokens[1] != token {
			t.Errorf("%q came back as %q", token, tokens)
		}
	}
}
