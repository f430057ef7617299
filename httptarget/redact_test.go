package httptarget

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/secret"
)

// What looks like a credential is blotted, whoever's it is; what does not stays
// readable.
func TestWhatLooksLikeACredentialIsBlotted(t *testing.T) {
	t.Parallel()
	r := newRedactor(&credential{})
	for text, want := range map[string]string{
		`Authorization: Basic dXNlcjpwYXNz`:                                    `Authorization: [redacted]`,
		"Cookie: a=b; c=d\nHost: x":                                            `Cookie: [redacted]\nHost: x`,
		"Set-Cookie: session=abc; Path=/":                                      `Set-Cookie: [redacted]`,
		`{"access_token":"abc\"d","id":"B-1"}`:                                 `{"access_token":[redacted],"id":"B-1"}`,
		`{"client_secret": "abc`:                                               `{"client_secret": [redacted]`,
		`?api_key=abc&x=1`:                                                     `?api_key=[redacted]&x=1`,
		`{"password":12345,"n":1}`:                                             `{"password":[redacted],"n":1}`,
		`use Bearer abcdefghij now`:                                            `use Bearer [redacted] now`,
		`jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln end`:                    `jwt [redacted] end`,
		`key sk_live_abcdefgh12345678.`:                                        `key [redacted].`,
		`card 4111 1111 1111 1111 and 4111111111111111`:                        `card [redacted] and [redacted]`,
		`number 4111111111111112 stays`:                                        `number 4111111111111112 stays`,
		`B-0191d1ad-bd5b-4c8a-a77a-5f26a0b7a1f9`:                               `B-0191d1ad-bd5b-4c8a-a77a-5f26a0b7a1f9`,
		`{"code":"invalid","total":"100.00","currency":"EUR"}`:                 `{"code":"invalid","total":"100.00","currency":"EUR"}`,
		"-----BEGIN EC PRIVATE KEY-----\nabc\n-----END EC PRIVATE KEY-----\nx": `[redacted]\nx`,
		"a\x00b\x7fc\u0085d\u200be\u2028":                                      `a\u0000b\u007fc\u0085d\u200be\u2028`,
	} {
		if got := r.excerpt([]byte(text), false); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// A secret is found wherever a long body holds it, and where the cut goes
// through it or through what looks like one, no part of it is left over.
func TestNothingOfASecretIsLeftAtTheCut(t *testing.T) {
	t.Parallel()
	const value = "s3cr3t-value-of-some-length"
	r := newRedactor(&credential{values: []secret.Value{secret.New([]byte(value))}})
	jwt := "eyJhbGciOiJIUzI1NiJ9" + strings.Repeat("A", 60) + ".eyJzdWIiOiIxIn0.c2ln"
	for _, edge := range []int{onefold.MaxExcerpt, excerptWindow} {
		for shift := 0; shift < 140; shift += 3 {
			start := edge - shift
			for _, hidden := range []string{value, jwt} {
				body := strings.Repeat(" ", start) + hidden + strings.Repeat(" ", excerptWindow)
				got := r.excerpt([]byte(body), false)
				if strings.Contains(got, hidden[:6]) || len(got) > onefold.MaxExcerpt || !utf8.ValidString(got) {
					t.Fatalf("%d before %d: ends in %q", shift, edge, strings.TrimSpace(got))
				}
				// The same where what came before made room.
				body = strings.Repeat(value+" ", start/(len(value)+1)) + hidden + strings.Repeat(" ", excerptWindow)
				if got := r.excerpt([]byte(body), false); strings.Contains(got, hidden[:6]) {
					t.Fatalf("%d before %d, with room: ends in %q", shift, edge, got[len(got)-60:])
				}
			}
		}
	}
}

// Whatever bytes come, an excerpt is valid text within its bounds.
func FuzzExcerpt(f *testing.F) {
	f.Add([]byte("{\"a\":\"\xff\xfe\u202e\"}"))
	f.Add([]byte(strings.Repeat("é", onefold.MaxExcerpt)))
	f.Add([]byte("password=\"" + strings.Repeat("\\", 5000)))
	r := newRedactor(&credential{values: []secret.Value{secret.New([]byte("hidden"))}})
	f.Fuzz(func(t *testing.T, body []byte) {
		got := r.excerpt(body, true)
		if len(got) > onefold.MaxExcerpt || !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\n\r\x1b") || strings.Contains(got, "hidden") {
			t.Errorf("%q became %q", body, got)
		}
	})
}
