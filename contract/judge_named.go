package contract

import (
	"bytes"
	"net/url"
	"slices"
	"strings"

	"github.com/onefold-dev/onefold/identity"
)

// asksFor tells whether the write itself names a record (M18): then the record was
// there before, and an answer that names it says that it was changed. It looks at
// the frozen request, which is made anew here: it has the same bytes every time (M2a).
func (p *program) asksFor(m *materials, reference string) bool {
	if reference == "" {
		return false
	}
	f, err := p.write.freeze(m, p.op.Write.Timeout)
	return err == nil && (pathNames(f.Path, reference) || bodyNames(f.Body, reference))
}

// pathNames tells whether a segment of the path, or a whole value of its query, is
// the reference.
func pathNames(target, reference string) bool {
	path, query, _ := strings.Cut(target, "?")
	for segment := range strings.SplitSeq(path, "/") {
		if text, err := url.PathUnescape(segment); err == nil && text == reference {
			return true
		}
	}
	for pair := range strings.SplitSeq(query, "&") {
		_, value, _ := strings.Cut(pair, "=")
		if text, err := url.QueryUnescape(value); err == nil && text == reference {
			return true
		}
	}
	return false
}

// bodyNames tells whether a text or number anywhere in a JSON body is the reference.
func bodyNames(body []byte, reference string) bool {
	if !bytes.Contains(body, []byte(reference)) && !bytes.ContainsRune(body, '\\') {
		return false // no need to read it
	}
	v, err := identity.Parse(body, identity.Limits{MaxBytes: max(len(body), 1)})
	return err == nil && holdsText(v, reference)
}

func holdsText(v *identity.Value, text string) bool {
	switch v.Kind() {
	case identity.Array:
		return slices.ContainsFunc(v.Items(), func(item *identity.Value) bool { return holdsText(item, text) })
	case identity.Object:
		return slices.ContainsFunc(v.Members(), func(m identity.Member) bool { return holdsText(m.Value, text) })
	default:
		have, ok := spelling(v)
		return ok && have == text
	}
}
