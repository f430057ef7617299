package contract

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/onefold-dev/onefold/identity"
)

// minPrefix is how many letters and digits two texts must share from their start for
// the one to count as the other cut short: fewer are shared by chance.
const minPrefix = 8

// asksAfresh has a look-up or poll ask for an answer of now: an answer that a cache
// kept from before proves nothing about now (M12). What the document names itself
// stays as it is.
func (t *message) asksAfresh() {
	for _, h := range [...][2]string{{"Cache-Control", "no-cache, no-store"}, {"Pragma", "no-cache"}} {
		named := false
		for i := range t.headers {
			named = named || strings.EqualFold(t.headers[i].name, h[0])
		}
		if !named {
			t.headers = append(t.headers, headerTemplate{name: h[0], text: &text{parts: []part{{plain: h[1]}}}})
		}
	}
}

// stale says why an answer may be older than its question, "" where nothing says so:
// a cache that says how long it has kept it, or that it is stale.
func stale(a *answer) string {
	for i := range a.x.Headers {
		h := &a.x.Headers[i]
		switch value := strings.TrimSpace(h.Value); {
		case strings.EqualFold(h.Name, "Age"):
			if seconds, err := strconv.ParseUint(value, 10, 64); err != nil || seconds > 0 {
				return "the answer is older than the question: it says Age: " + cut(value, maxCode)
			}
		case strings.EqualFold(h.Name, "Warning") && (strings.HasPrefix(value, "110") || strings.HasPrefix(value, "111")):
			return "the answer says that it is stale"
		}
	}
	return ""
}

// suspect tells whether a record that does not match may be the one after all: yes
// where it shows our own value, or one that is ours in another spelling, cut short or
// in a list; unclear where it came as an answer to a question for exactly ours, and
// does not show whose it is. A record that was not asked for by our value may well be
// anybody's.
func (l *lookup) suspect(m *materials, record *identity.Value, wanted []*identity.Value) truth {
	if l.own == "" || record.Kind() != identity.Object {
		return no
	}
	for i := range l.match {
		if !l.match[i].value.isOperationValue(l.own) {
			continue
		}
		ours, _ := scalarText(wanted[i])
		shown, ok := walk(record, l.match[i].tokens)
		if ok && l.showsOurs(ours, shown) {
			return yes
		}
		scalar := ok && (shown.Kind() == identity.String || shown.Kind() == identity.Number)
		if !scalar && l.Records != nil && l.asksFor(m, ours) {
			return unclear
		}
		return no
	}
	return no
}

func (l *lookup) showsOurs(ours string, shown *identity.Value) bool {
	if shown.Kind() != identity.Array {
		theirs, ok := scalarText(shown)
		return ok && similar(ours, theirs)
	}
	for _, item := range shown.Items() {
		if theirs, ok := scalarText(item); ok && similar(ours, theirs) {
			return true
		}
	}
	return false
}

// anothers tells whether the record of a poll shows, where the contract's look-ups
// recognise the operation, a value that is not the operation's: then it is an answer
// to somebody else's question. A record that shows no such member is taken at its
// word, since the name that the target gave may be a job's.
func (p *program) anothers(m *materials, record *identity.Value) bool {
	for i := range p.lookups {
		l := &p.lookups[i]
		if l.own == "" {
			continue
		}
		for j := range l.match {
			c := &l.match[j]
			if !c.value.isOperationValue(l.own) {
				continue
			}
			ours, present, err := c.value.value(m)
			if err != nil || !present {
				continue
			}
			shown, ok := walk(record, c.tokens)
			if ok && shown.Kind() != identity.Null && agree(ours, shown) != yes {
				return true
			}
		}
	}
	return false
}

// asksFor tells whether the look-up's own request names a value.
func (l *lookup) asksFor(m *materials, value string) bool {
	f, err := l.message.freeze(m, l.Timeout)
	if err != nil || value == "" {
		return false
	}
	return strings.Contains(f.Path, value) || strings.Contains(f.Path, url.QueryEscape(value)) ||
		strings.Contains(f.Path, url.PathEscape(value)) || bytes.Contains(f.Body, []byte(value))
}

// similar tells whether two texts are the same but for their case and whatever is
// neither letter nor digit, or the one is the beginning of the other.
func similar(a, b string) bool {
	a, b = bare(a), bare(b)
	if len(a) > len(b) {
		a, b = b, a
	}
	return a == b && a != "" || len(a) >= minPrefix && strings.HasPrefix(b, a)
}

// bare is a text without what is neither letter nor digit, in lower case.
func bare(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}
