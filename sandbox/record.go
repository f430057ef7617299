package sandbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// openStatus is the status of a record that was made at once.
const openStatus = "open"

// RefusedParty is the supplier or payee whose writes are always refused with 422 supplier_blocked.
const RefusedParty = "S-REFUSED"

// Limits of submitted members.
const (
	maxText      = 200 // a name, a reference: what a real system would keep in a column
	maxNumber    = 40  // an invoice number, and the digits of an amount
	firstNumber  = 1001
	currencySize = 3
)

// collection is one kind of record that the sandbox keeps.
type collection struct {
	name   string
	prefix string // of its ids
	fields []field
	party  string // the field that RefusedParty is compared with
}

type fieldType int

const (
	text     fieldType = iota // a non-empty string
	amount                    // a plain decimal, as a JSON number or a string of its digits
	positive                  // an amount above zero
	currency                  // three capital letters
)

type field struct {
	name     string
	kind     fieldType
	limit    int
	required bool
}

// collectionNamed gives the collection with a name, as it stands in a path.
func collectionNamed(name string) (collection, bool) {
	reference := field{name: "external_ref", kind: text, limit: maxText}
	supplier := field{name: "supplier", kind: text, limit: maxText, required: true}
	switch name {
	case "bills":
		return collection{name: name, prefix: "BILL-", party: "supplier", fields: []field{
			reference, supplier,
			{name: "number", kind: text, limit: maxNumber, required: true},
			{name: "total", kind: amount, required: true},
			{name: "currency", kind: currency},
		}}, true
	case "orders":
		return collection{name: name, prefix: "ORD-", party: "supplier", fields: []field{
			reference, supplier,
			{name: "item", kind: text, limit: maxText, required: true},
			{name: "quantity", kind: positive, required: true},
		}}, true
	case "payments":
		return collection{name: name, prefix: "PAY-", party: "payee", fields: []field{
			reference,
			{name: "payee", kind: text, limit: maxText, required: true},
			{name: "amount", kind: positive, required: true},
			{name: "currency", kind: currency, required: true},
		}}, true
	}
	return collection{}, false
}

// member is one member of a JSON object, its value as it was spelled.
type member struct {
	name  string
	value json.RawMessage
}

var (
	errNotUTF8    = errors.New("is not UTF-8")
	errNotObject  = errors.New("is not one JSON object")
	errRepeated   = errors.New("has a repeated member")
	errTrailing   = errors.New("has something after the JSON value")
	errBrokenJSON = errors.New("is not valid JSON")
)

// parseObject reads one JSON object, its members in order, values untouched. Nothing may follow it.
func parseObject(raw []byte) ([]member, error) {
	if !utf8.Valid(raw) {
		return nil, errNotUTF8
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if opening, err := decoder.Token(); err != nil {
		return nil, errBrokenJSON
	} else if opening != json.Delim('{') {
		return nil, errNotObject
	}
	var members []member
	seen := map[string]bool{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, errBrokenJSON
		}
		m := member{name: name.(string)} // the decoder gives nothing else at a name's place
		if err := decoder.Decode(&m.value); err != nil {
			return nil, errBrokenJSON
		}
		if seen[m.name] {
			return nil, fmt.Errorf("%w: %q", errRepeated, m.name)
		}
		seen[m.name] = true
		members = append(members, m)
	}
	if _, err := decoder.Token(); err != nil {
		return nil, errBrokenJSON
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errTrailing
	}
	return members, nil
}

func valueOf(members []member, name string) (json.RawMessage, bool) {
	for _, m := range members {
		if m.name == name && string(m.value) != "null" {
			return m.value, true
		}
	}
	return nil, false
}

// textOf gives a member's string, or "" where it is absent or something else.
func textOf(members []member, name string) string {
	value, _ := valueOf(members, name)
	var content string
	if json.Unmarshal(value, &content) != nil {
		return ""
	}
	return content
}

// check gives the first submitted member that is missing or invalid, and why; "" where there is none.
func (c collection) check(members []member) (name, why string) {
	for _, own := range []string{"id", "status", "created_at"} {
		if _, given := valueOf(members, own); given {
			return own, "is given by the sandbox"
		}
	}
	for _, f := range c.fields {
		value, given := valueOf(members, f.name)
		switch {
		case !given && f.required:
			return f.name, "is missing"
		case given:
			if why := f.check(value); why != "" {
				return f.name, why
			}
		}
	}
	return "", ""
}

func (f field) check(value json.RawMessage) string {
	var content string
	isString := json.Unmarshal(value, &content) == nil
	switch f.kind {
	case amount, positive:
		digits := content
		if !isString {
			digits = string(value)
		}
		if !isDecimal(digits) {
			return "must be a decimal of at most 40 characters"
		}
		if f.kind == positive && (digits[0] == '-' || strings.Trim(digits, "0.") == "") {
			return "must be above zero"
		}
	case currency:
		if !isString || len(content) != currencySize || strings.Trim(content, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			return "must be three capital letters"
		}
	case text:
		if !isString || content == "" || len(content) > f.limit {
			return fmt.Sprintf("must be a string of 1 to %d bytes", f.limit)
		}
	}
	return ""
}

// isDecimal accepts -?digits[.digits]: the forms in which money is written, no exponents.
func isDecimal(s string) bool {
	whole, fraction, pointed := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	return len(s) <= maxNumber && allDigits(whole) && (!pointed || allDigits(fraction))
}

func allDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// record builds what the sandbox keeps and answers: its own members first, then the submitted ones as they were spelled.
func record(id, status string, at time.Time, members []member) ([]byte, error) {
	reference := json.RawMessage("null")
	if given, found := valueOf(members, "external_ref"); found {
		reference = given
	}
	all := []member{
		{"id", quoted(id)},
		{"external_ref", reference},
		{"status", quoted(status)},
		{"created_at", quoted(at.UTC().Format(time.RFC3339Nano))},
	}
	for _, m := range members {
		switch m.name {
		case "external_ref", "id", "status", "created_at":
		default:
			all = append(all, m)
		}
	}
	var out bytes.Buffer
	for i, m := range all {
		out.WriteByte("{,"[min(i, 1)])
		out.Write(quoted(m.name))
		out.WriteByte(':')
		if err := json.Compact(&out, m.value); err != nil {
			return nil, fmt.Errorf("sandbox: record: %w", err)
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

func quoted(s string) json.RawMessage {
	out, err := json.Marshal(s)
	if err != nil {
		panic("sandbox: a string has no JSON form: " + err.Error()) // encoding/json has one for every string
	}
	return out
}

// parameters is what an idempotency key is bound to: method, collection, and the body's content. The order of members
// and white space make no difference; the spelling of numbers does.
func parameters(method, collectionName string, body []byte) string {
	content := append([]byte("raw\n"), body...)
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) == nil && utf8.Valid(body) {
		_, end := decoder.Token()
		if sorted, err := json.Marshal(value); err == nil && errors.Is(end, io.EOF) {
			content = append([]byte("json\n"), sorted...)
		}
	}
	return digest(append([]byte(method+"\n"+collectionName+"\n"), content...))
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}
