package contract

import (
	"strings"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

const (
	// maxMismatchText bounds a value that is shown to a person beside the approved
	// one; the whole answer's digest is in the evidence.
	maxMismatchText = 500
	// maxHidden bounds the list of fields that an answer does not show.
	maxHidden = 10
)

// verified is what holding an answer or record against the approved request
// gave (M15).
type verified struct {
	differs []onefold.Mismatch
	// hidden are the fields that the answer does not show. It neither agrees nor
	// differs in them: an answer of "201 and an id" is no disagreement. The
	// evidence says so, because then only the identity speaks for the record.
	hidden []string
}

// compare holds a record against the approved request. What the request leaves
// out must be missing or null in the record, unless the contract marks the
// reference with ?, which leaves it unchecked.
func (p *program) compare(m *materials, record *identity.Value) verified {
	var out verified
	for i := range p.verify {
		c := &p.verify[i]
		approved, present, err := c.value.value(m)
		if err == nil && !present {
			continue
		}
		if err != nil {
			approved = identity.NewNull()
		}
		found, shown := walk(record, c.tokens)
		switch {
		case !shown && approved.Kind() == identity.Null:
		case !shown:
			out.hidden = append(out.hidden, c.pointer)
		case agree(approved, found) != yes:
			out.differs = append(out.differs, onefold.Mismatch{
				Pointer: c.pointer, Approved: shortJSON(approved), Found: shortJSON(found),
			})
		}
	}
	return out
}

// hint names the fields that were not shown, "" if there are none.
func (v *verified) hint() string {
	if len(v.hidden) == 0 {
		return ""
	}
	names := v.hidden
	if len(names) > maxHidden {
		names = append(append([]string(nil), names[:maxHidden]...), "…")
	}
	return "; the answer does not show " + strings.Join(names, ", ")
}

// shortJSON is a value as JSON text, cut to a length that a review can show.
func shortJSON(v *identity.Value) string { return short(v, maxMismatchText) }

func short(v *identity.Value, longest int) string {
	text := string(v.AppendJSON(nil))
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "…"
}

// agree compares an approved value with one that a target shows. Numbers are
// equal by value, also where one side, or both, are strings that hold a plain
// decimal: targets return "1250.00" as 1250 and "1250.0". Arrays agree element by
// element; objects where every approved member does, since a target's record
// shows more than it was sent. Everything else is equal as JSON. It is unclear, not no, where the two may still be the same
// thing in another spelling: a number against digits that are no number by
// grammar (007), a text in other case or with spaces around it.
func agree(approved, found *identity.Value) truth {
	if identity.EqualJSON(approved, found) {
		return yes
	}
	if approved.Kind() == found.Kind() && (approved.Kind() == identity.Array || approved.Kind() == identity.Object) {
		return agreeWithin(approved, found)
	}
	a, aScalar := spelling(approved)
	b, bScalar := spelling(found)
	if !aScalar || !bScalar {
		return no
	}
	if x, ok := plainDecimal(approved, a); ok {
		if y, ok := plainDecimal(found, b); ok {
			if x.Equal(y) {
				return yes
			}
			return no
		}
	}
	if strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b)) {
		return unclear
	}
	if approved.Kind() != found.Kind() && strings.TrimLeft(a, "0") == strings.TrimLeft(b, "0") {
		return unclear
	}
	return no
}

// agreeWithin compares arrays or objects.
func agreeWithin(approved, found *identity.Value) truth {
	result := yes
	one := func(a, b *identity.Value) bool {
		switch agree(a, b) {
		case no:
			result = no
		case unclear:
			result = unclear
		case yes:
		}
		return result != no
	}
	if approved.Kind() == identity.Array {
		if approved.Len() != found.Len() {
			return no
		}
		for i, item := range approved.Items() {
			if !one(item, found.Index(i)) {
				break
			}
		}
		return result
	}
	for _, m := range approved.Members() {
		v, ok := found.Get(m.Name)
		if !ok && m.Value.Kind() == identity.Null {
			continue
		}
		if !ok || !one(m.Value, v) {
			return no
		}
	}
	return result
}

// spelling is the text of a string or number.
func spelling(v *identity.Value) (string, bool) {
	if v.Kind() != identity.String && v.Kind() != identity.Number {
		return "", false
	}
	return scalarText(v)
}

// plainDecimal reads a number, or a string that holds one without an exponent:
// texts such as 1E3 are as likely to be somebody's document number.
func plainDecimal(v *identity.Value, text string) (identity.Decimal, bool) {
	if v.Kind() == identity.String && strings.ContainsAny(text, "eE") {
		return identity.Decimal{}, false
	}
	d, err := identity.ParseDecimal(text)
	return d, err == nil
}
