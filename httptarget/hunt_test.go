package httptarget

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/onefold-dev/onefold/internal/secret"
)

// said has characters that break words off, so that no other rule cuts it.
const said = "s3cr!t TOKEN/value+XYZ=09Qz#ü$end"

func knows(values ...string) *redactor {
	cred := &credential{}
	for _, v := range values {
		cred.values = append(cred.values, secret.New([]byte(v)))
	}
	return newRedactor(cred)
}

// each writes every byte of a text in a format, with something in between.
func each(format, gap, text string) string {
	var b strings.Builder
	for i := range len(text) {
		if i > 0 {
			b.WriteString(gap)
		}
		fmt.Fprintf(&b, format, text[i])
	}
	return b.String()
}

func coded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// ways are the spellings in which a target may repeat the whole of what it got.
var ways = map[string]func(string) string{
	"plain":               func(s string) string { return s },
	"URL":                 url.QueryEscape,
	"URL twice":           func(s string) string { return url.QueryEscape(url.QueryEscape(s)) },
	"URL three times":     func(s string) string { return url.PathEscape(url.PathEscape(url.PathEscape(s))) },
	"URL, every byte":     func(s string) string { return each("%%%02x", "", s) },
	"HTML of URL":         func(s string) string { return html.EscapeString(each("%%%02X", "", s)) },
	"HTML":                func(s string) string { return each("&#%d;", "", s) },
	"JavaScript":          func(s string) string { return each(`\x%02x`, "", s) },
	"hex":                 func(s string) string { return hex.EncodeToString([]byte(s)) },
	"hex with colons":     func(s string) string { return each("%02x", ":", s) },
	"hex with blanks":     func(s string) string { return each("%02X", " ", s) },
	"hex with 0x":         func(s string) string { return each("0x%02x", ", ", s) },
	"hex of URL":          func(s string) string { return hex.EncodeToString([]byte(url.QueryEscape(s))) },
	"base64":              coded,
	"base64 of a URL":     func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	"base64 in JSON":      func(s string) string { return strings.ReplaceAll(coded(s), "/", `\/`) },
	"base64 in URL":       func(s string) string { return url.QueryEscape(coded(s)) },
	"base64 in lines":     func(s string) string { return regexp.MustCompile(`.{19}`).ReplaceAllString(coded(s), "$0\r\n") },
	"base64 in JSON line": func(s string) string { return regexp.MustCompile(`.{19}`).ReplaceAllString(coded(s), `$0\n`) },
	"base64 of URL":       func(s string) string { return coded(url.QueryEscape(s)) },
	"base64 of JSON":      func(s string) string { return coded(each(`\u%04x`, "", url.PathEscape(s))) },
	"base64 twice":        func(s string) string { return coded("Basic " + coded("user:"+s)) },
}

// A target may repeat all that it was sent, in any coding: the secret within is
// blotted wherever in the text it begins.
func TestASecretWithinACodedTextIsBlotted(t *testing.T) {
	t.Parallel()
	r := knows(said)
	for name, spell := range ways {
		for _, before := range []string{"", "x", "xy", "xyz", "POST / HTTP/1.1\r\nAuthorization: K "} {
			whole := spell(before + said + "\r\nHost: erp.example\r\n")
			for where, got := range map[string]string{
				"excerpt": r.excerpt([]byte(`{"got": "`+whole+`", "id": "B-1"}`), false), "text": r.text([]byte(whole)), "known": r.known(whole),
			} {
				if !strings.Contains(got, blot) || where == "excerpt" && !strings.HasSuffix(got, `", "id": "B-1"}`) {
					t.Errorf("%s behind %q, %s: %s", name, before, where, got)
				}
				for _, read := range []func(string) string{unhex, unbase64, unescaped} {
					once := read(got)
					for _, again := range []string{got, once, unhex(once), unbase64(once), unescaped(once)} {
						if strings.Contains(again, said[:5]) || strings.Contains(again, "TOKEN") || strings.Contains(again, "end\r\n") {
							t.Errorf("%s behind %q, %s: %s reads as %q", name, before, where, got, again)
						}
					}
				}
			}
		}
	}
}

func unhex(s string) string {
	digits := regexp.MustCompile(`0x|[^0-9a-fA-F]`).ReplaceAllString(s, "")
	b, _ := hex.DecodeString(digits[:len(digits)&^1])
	return string(b)
}

func unbase64(s string) string {
	var out strings.Builder
	for _, run := range regexp.MustCompile(`[A-Za-z0-9+/]{4,}`).FindAllString(s, -1) {
		for phase := range 4 {
			b, _ := base64.RawStdEncoding.DecodeString(run[phase : phase+(len(run)-phase)&^3])
			out.Write(b)
			out.WriteByte('\n')
		}
	}
	return out.String()
}

func unescaped(s string) string {
	for range 3 {
		s = html.UnescapeString(regexp.MustCompile(`\\(?:u00|x)|%(?:25)*`).ReplaceAllString(s, "%"))
		if plain, err := url.QueryUnescape(s); err == nil {
			s = plain
		}
	}
	return s
}

// An answer may break off within an echo, at any byte and in any spelling: what
// began there is not kept.
func TestASecretThatAnAnswerBreaksOffInIsNotKept(t *testing.T) {
	t.Parallel()
	const lead = `{"error": "you sent `
	r := knows(said)
	for name, spell := range ways {
		whole := spell(said)
		if name == "base64 twice" {
			continue // its beginning is no secret; TestASecretWithinACodedTextIsBlotted has it whole
		}
		for cut := range len(whole) {
			got := r.excerpt([]byte(lead+whole[:cut]), true)
			// The last byte's own spelling may be there in part.
			if left := strings.TrimPrefix(got, lead); !strings.HasPrefix(got, lead) && got != strings.TrimSpace(lead) || len(left) > 3 && left != got && left != blot {
				t.Fatalf("%s, cut at %d of %q: %s", name, cut, whole, got)
			}
		}
	}
	// What is no secret stays, up to the word that was cut.
	if got := r.excerpt([]byte(`{"id": "B-1", "status": "op`), true); got != `{"id": "B-1", "status": "` {
		t.Error(got)
	}
}

// What has nothing of a secret stays as it is, whatever it looks like.
func TestWhatHoldsNoSecretStays(t *testing.T) {
	t.Parallel()
	r := knows(said, "1001", "another-secret-of-some-length")
	for _, body := range []string{
		`{"id":"0191d1ad-bd5b-4c8a-a77a-5f26a0b7a1f9","at":"2026-11-29T18:39:00Z","total":"100.00","mail":"a%20b@erp.example"}`,
		`<p>5 &lt; 6 &amp; 100% of "C:/x" is 0x1f, &#8364; 3</p>`,
		`{"image":"` + coded(strings.Repeat("not a secret at all, ", 40)) + `","sum":"` + hex.EncodeToString([]byte("nothing of the kind")) + `"}`,
	} {
		if got := r.excerpt([]byte(body), false); got != body {
			t.Errorf("%s\nbecame %s", body, got)
		}
	}
}

// However hard a text is to read, an excerpt of it is made within its bounds, and
// says nothing of a secret that stands in it plainly.
func FuzzHunt(f *testing.F) {
	for _, seed := range []string{
		`%25252525`, `\u`, `\ud83d\u`, `\ud83d\ude00`, `&#x`, `&amp;amp;amp;#x2`, `\x`, `0x`, `x`, "aGlkZGVuIHZhbHVl", strings.Repeat("%25", 100), strings.Repeat("hidden valu", 20),
	} {
		f.Add([]byte(seed), 3)
	}
	r := knows("hidden value", "aaaaaab", "%41", `\u`)
	f.Fuzz(func(t *testing.T, body []byte, at int) {
		at = min(max(at, 0), len(body))
		for _, spell := range []func(string) string{ways["plain"], ways["hex with colons"], ways["URL, every byte"], coded} {
			text := append(append(append([]byte{}, body[:at]...), '"'), spell("hidden value")...)
			for _, torn := range []bool{false, true} {
				got := r.hunt(0, torn).run(append(append([]byte{}, text...), '"'))
				if strings.Contains(string(got), spell("hidden value")) {
					t.Errorf("%q became %q", text, got)
				}
			}
			if got := r.hunt(0, true).run(text[:len(text)-1]); len(got) > at+1 && strings.Contains(string(got[at+1:]), spell("hidden v")[:8]) {
				t.Errorf("torn: %q became %q", text, got)
			}
		}
	})
}
