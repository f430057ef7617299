package httptarget

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/onefold-dev/onefold"
)

const (
	// blot stands where something was taken out.
	blot = "[redacted]"
	// excerptWindow is how much of a body is looked at for its excerpt, in bytes:
	// what is blotted makes room for what follows. It bounds the time, too.
	excerptWindow = 4 * onefold.MaxExcerpt
	// maxHeaderValue bounds one header's value in evidence, in bytes.
	maxHeaderValue = 256
	// minHeaderSecret is the least length at which a secret is looked for in the
	// headers that answers are judged by: a shorter one would be found in numbers
	// that are none of its business, and change what the answer means.
	minHeaderSecret = 8
	// minCard is how many digits a card's number has at least.
	minCard = 13
)

// evidenceHeaders are the fields that evidence keeps: what the answer is, what
// the target calls it, and whether it is an answer given before.
var evidenceHeaders = []string{
	"Allow", "Content-Encoding", "Content-Length", "Content-Type", "Date", "Etag", "Idempotency-Prior", "Idempotency-Replayed",
	"Idempotency-Status", "Idempotent-Replayed", "Intuit_tid", "Last-Modified", "Paypal-Debug-Id", "Ratelimit-Limit",
	"Ratelimit-Remaining", "Ratelimit-Reset", "Request-Id", "Retry-After", "X-Amzn-Requestid", "X-Correlation-Id",
	"X-Idempotent-Replayed", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "X-Request-Id",
}

// suspect is a pattern of what looks like a credential, whoever's it is. Where
// the pattern has a group, the group stays. It is looked for only in a text
// that has one of the words, in lower case: most answers have none.
type suspect struct {
	words   []string
	pattern *regexp.Regexp
}

var suspects = []suspect{
	{
		[]string{"private key"},
		regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|$)`),
	},
	// A header line, as error pages repeat it.
	{
		[]string{"authorization", "cookie"},
		regexp.MustCompile(`(?i)(\b(?:proxy-)?(?:authorization|cookie|set-cookie)2?\s*[:=]\s*)[^\s"'<][^\r\n"'<]*`),
	},
	// A member or parameter whose name says what it holds.
	{
		[]string{"authorization", "cookie", "token", "secret", "passw", "passphrase", "key", "signature", "session", "cvv", "cvc"},
		regexp.MustCompile(`(?i)((?:authorization|cookie|token|secret|passw(?:or)?d|passphrase|api[_-]?key|private[_-]?key|access[_-]?key|signature|session[_-]?id|cvv|cvc)["']?\s*[:=]\s*)(?:"(?:[^"\\]|\\.)*(?:"|$)|'(?:[^'\\]|\\.)*(?:'|$)|[^\s"',;&<>{}\[\]]+)`),
	},
	{
		[]string{"bearer", "basic", "digest"},
		regexp.MustCompile(`(?i)(\b(?:bearer|basic|digest)\s+)[A-Za-z0-9._~+/=-]{6,}`),
	},
	{
		[]string{"eyj"},
		regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]*)*`),
	},
	{
		[]string{"k_", "whsec_", "gh", "xox", "akia", "asia", "aiza"},
		regexp.MustCompile(`\b(?:sk|pk|rk|whsec)_[A-Za-z0-9_]{8,}|\bgh[pousr]_[A-Za-z0-9]{16,}|\bxox[a-z]-[A-Za-z0-9-]{8,}|\bA[KS]IA[0-9A-Z]{16}\b|\bAIza[A-Za-z0-9_-]{20,}`),
	},
}

// card is a run of digits that may be a card's number.
var card = regexp.MustCompile(`\b\d(?:[ -]?\d){12,18}\b`)

// redactor takes out of texts what must not be kept: the secrets of this
// exchange, however they are spelled, and what looks like anybody's.
type redactor struct {
	secrets [][]byte // in every spelling that has a name
	hidden  [][]byte // as they are, where digits may spell them
	inner   []string // those that may be looked for in headers, longest first
}

// newRedactor makes the redactor for an exchange's credential.
func newRedactor(cred *credential) *redactor {
	r := &redactor{}
	for _, v := range slices.Concat(cred.values, cred.derived) {
		secret := string(v.Reveal())
		if secret == "" {
			continue
		}
		for _, form := range append(spellings(secret), variants(secret)...) {
			if form == "" {
				continue
			}
			r.secrets = append(r.secrets, []byte(form))
			if len(form) >= minHeaderSecret {
				r.inner = append(r.inner, form)
			}
		}
		for _, form := range append(variants(secret), secret) {
			if len(form) >= leastHidden {
				r.hidden = append(r.hidden, []byte(form))
			}
		}
	}
	slices.SortFunc(r.inner, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return r
}

// hunt is a hunt for the secrets of at least so many bytes.
func (r *redactor) hunt(least int, torn bool) *hunt {
	short := func(s []byte) bool { return len(s) < least }
	h := &hunt{open: r.secrets, hidden: r.hidden, torn: torn}
	if slices.ContainsFunc(h.open, short) {
		h.open = slices.DeleteFunc(slices.Clone(h.open), short)
		h.hidden = slices.DeleteFunc(slices.Clone(h.hidden), short)
	}
	for i, s := range h.hidden {
		if i == 0 || len(s) < h.least {
			h.least = len(s)
		}
	}
	return h
}

// variants are what a secret becomes before anything is escaped: blanks that a form
// writes as +, and characters beyond ASCII whose bytes were taken for one each.
func variants(s string) []string {
	var out []string
	if strings.Contains(s, " ") {
		out = append(out, strings.ReplaceAll(s, " ", "+"))
	}
	if strings.ContainsFunc(s, func(c rune) bool { return c >= utf8.RuneSelf }) {
		var wide strings.Builder
		for _, c := range []byte(s) {
			wide.WriteRune(rune(c))
		}
		out = append(out, wide.String())
	}
	return out
}

// spellings are the ways in which an answer may repeat a secret.
func spellings(s string) []string {
	quoted, err := json.Marshal(s)
	if err != nil {
		quoted = []byte(`""`)
	}
	var plain bytes.Buffer
	coder := json.NewEncoder(&plain)
	coder.SetEscapeHTML(false)
	if err := coder.Encode(s); err != nil {
		plain.Reset()
	}
	return []string{
		s, strings.Trim(string(quoted), `"`), strings.Trim(strings.TrimSpace(plain.String()), `"`), url.QueryEscape(s), url.PathEscape(s),
		html.EscapeString(s), hex.EncodeToString([]byte(s)), strings.ToUpper(hex.EncodeToString([]byte(s))),
		base64.StdEncoding.EncodeToString([]byte(s)), base64.RawStdEncoding.EncodeToString([]byte(s)),
		base64.URLEncoding.EncodeToString([]byte(s)), base64.RawURLEncoding.EncodeToString([]byte(s)),
	}
}

// known blots the exchange's own secrets out of a short text of the target's
// that is kept for its meaning, such as a reference: what merely looks like a
// credential stays.
func (r *redactor) known(text string) string {
	return string(r.hunt(minHeaderSecret, false).run([]byte(text)))
}

// text blots secrets and suspects out of a text.
func (r *redactor) text(b []byte) string { return suspicious(r.hunt(0, false).run(b)) }

// suspicious blots out of a text what looks like a credential.
func suspicious(b []byte) string {
	text := strings.ToValidUTF8(string(b), "\uFFFD")
	lower := strings.ToLower(text)
	for _, s := range suspects {
		if !slices.ContainsFunc(s.words, func(word string) bool { return strings.Contains(lower, word) }) {
			continue
		}
		keep := ""
		if s.pattern.NumSubexp() > 0 {
			keep = "${1}"
		}
		text = s.pattern.ReplaceAllString(text, keep+blot)
	}
	if !hasDigits(text, minCard) {
		return text
	}
	return card.ReplaceAllStringFunc(text, func(digits string) string {
		if isCard(digits) {
			return blot
		}
		return digits
	})
}

// hasDigits says whether a text has so many digits with nothing but single
// blanks and hyphens between them.
func hasDigits(text string, n int) bool {
	run, gap := 0, false
	for i := range len(text) {
		switch c := text[i]; {
		case '0' <= c && c <= '9':
			if run++; run >= n {
				return true
			}
			gap = false
		case (c == ' ' || c == '-') && run > 0 && !gap:
			gap = true
		default:
			run, gap = 0, false
		}
	}
	return false
}

// isCard says whether digits carry the check digit of a card's number (Luhn).
func isCard(text string) bool {
	sum, n := 0, 0
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] < '0' || text[i] > '9' {
			continue
		}
		d := int(text[i] - '0')
		if n%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
		n++
	}
	return n >= minCard && sum%10 == 0
}

// excerpt makes what is kept of a body: its beginning, blotted, as text of
// valid UTF-8 without control characters, at most onefold.MaxExcerpt bytes. A body
// that is torn breaks off anywhere, as one does that is longer than what is looked at.
func (r *redactor) excerpt(body []byte, torn bool) string {
	if len(body) > excerptWindow {
		body, torn = body[:excerptWindow], true
	}
	body = r.hunt(0, torn).run(body)
	if torn {
		// A credential that the cut went through may no longer look like one.
		body = bytes.TrimRightFunc(body, func(c rune) bool {
			return c == utf8.RuneError || strings.ContainsRune("._~+/=-", c) || unicode.IsLetter(c) || unicode.IsDigit(c)
		})
	}
	return escape(suspicious(body), onefold.MaxExcerpt)
}

// line makes one short line of a text.
func (r *redactor) line(text string) string { return escape(r.text([]byte(text)), maxHeaderValue) }

// escape writes control characters, and those that change the direction or
// the look of what surrounds them, as escapes, and cuts after max bytes.
func escape(text string, most int) string {
	var b strings.Builder
	for _, c := range text {
		piece := string(c)
		switch {
		case c == '\n':
			piece = `\n`
		case c == '\r':
			piece = `\r`
		case c == '\t':
			piece = `\t`
		case unicode.IsControl(c), unicode.Is(unicode.Cf, c), c == '\u2028', c == '\u2029':
			piece = fmt.Sprintf(`\u%04x`, c)
		}
		if b.Len()+len(piece) > most {
			break
		}
		b.WriteString(piece)
	}
	return b.String()
}

// headers lists what came, by name, for judging. A secret of this exchange
// that the target repeats is blotted there too.
func (r *redactor) headers(h http.Header) []onefold.Header {
	var out []onefold.Header
	for name, values := range h {
		for _, value := range values {
			for _, s := range r.inner {
				value = strings.ReplaceAll(value, s, blot)
			}
			out = append(out, onefold.Header{Name: name, Value: value})
		}
	}
	slices.SortStableFunc(out, func(a, b onefold.Header) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// evidenceHeaders picks what evidence keeps. Of Location the host alone: its
// path and query often carry what opens it.
func (r *redactor) evidenceHeaders(h http.Header) map[string]string {
	out := map[string]string{}
	for _, name := range evidenceHeaders {
		if values := h.Values(name); len(values) > 0 {
			out[name] = r.line(strings.Join(values, ", "))
		}
	}
	if place := h.Get("Location"); place != "" {
		out["Location"] = "same host"
		if u, err := url.Parse(place); err != nil {
			out["Location"] = "unreadable"
		} else if u.Host != "" {
			out["Location"] = r.line(u.Host)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// digest is SHA-256 (hex) of a body as it was read, empty for none.
func digest(body []byte) string {
	if len(body) == 0 {
		return ""
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
