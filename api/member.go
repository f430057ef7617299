package api

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// kind is the type of a body's member or of a parameter.
type kind uint8

const (
	kindText kind = iota
	kindInteger
	kindBoolean
	kindInstant
	kindDuration
	kindObject
	kindAny // any JSON value, null included
	kindList
)

// member is one member that a body may have. Limits on texts are in bytes.
type member struct {
	name     string
	kind     kind
	required bool
	min, max int
	enum     []string
	doc      string
	// visible: something of the text can be seen. Blanks alone are no name and no
	// reason.
	visible bool
	// named: one line that reads as it stands, as the name of somebody has to.
	named bool
	// items describes the elements of a kindList: objects of these members.
	items []member
	// apart: the elements are cut out as they stand (split) and read one by one by
	// whoever serves the route, since a fault of one does not concern the others. A
	// body has at most one such member, and max bounds it.
	apart bool
}

// maxEchoedName bounds how much of an unknown member's or parameter's name is
// said back: enough to recognise a misspelling.
const maxEchoedName = 100

// values are the members that a body has, decoded as their specification says.
type values map[string]*identity.Value

// maxDepth is how deep a body, or a submission of a batch, may be: one level more
// than the request in it.
const maxDepth = identity.DefaultMaxDepth + 1

// parseBody reads what is a body, or one submission of it, strictly (I10).
func parseBody(raw []byte, what string) (*identity.Value, error) {
	v, err := identity.Parse(raw, identity.Limits{MaxBytes: len(raw), MaxDepth: maxDepth})
	if err == nil {
		return v, nil
	}
	syntax, ok := errors.AsType[*identity.SyntaxError](err)
	if !ok {
		return nil, err
	}
	return nil, &onefold.Error{
		Code: onefold.CodeJSONInvalid, Message: "the " + what + " is no acceptable JSON: " + syntax.Detail,
		Hint: "the offset counts bytes of the body", Reason: syntax.Reason, Offset: &syntax.Offset,
	}
}

// moved makes an offset that counts from a part of the body count from the body's
// beginning; other errors pass as they are.
func moved(err error, at int) error {
	e, ok := errors.AsType[*onefold.Error](err)
	if !ok || e.Offset == nil {
		return err
	}
	shifted, offset := *e, *e.Offset+at
	shifted.Offset = &offset
	return &shifted
}

// decode holds an object against its members. Of several faults the unknown
// member that stands first is told, then the member that is wrong first in the
// order of the specification.
func decode(v *identity.Value, members []member, at string) (values, error) {
	if v.Kind() != identity.Object {
		return nil, invalidMember(at, "a JSON object is needed here, not "+article(v.Kind()))
	}
	for _, m := range v.Members() {
		if !slices.ContainsFunc(members, func(want member) bool { return want.name == m.Name }) {
			offset := m.NameOffset
			return nil, &onefold.Error{
				Code: onefold.CodeUnknownMember, Pointer: identity.JoinPointer(at, clip(m.Name)), Offset: &offset,
				Message: "this call does not know the member", Hint: "it knows " + strings.Join(names(members), ", "),
			}
		}
	}
	out := values{}
	for i := range members {
		m := &members[i]
		got, there := v.Get(m.name)
		if there && got.Kind() == identity.Null && m.kind != kindAny {
			there = false
		}
		pointer := identity.JoinPointer(at, m.name)
		switch {
		case there:
			if err := m.check(got, pointer); err != nil {
				return nil, err
			}
			out[m.name] = got
		case m.required:
			return nil, invalidMember(pointer, m.name+" is required")
		}
	}
	return out, nil
}

func names(members []member) []string {
	out := make([]string, len(members))
	for i := range members {
		out[i] = members[i].name
	}
	return out
}

func article(k identity.Kind) string {
	switch k {
	case identity.Null:
		return "null"
	case identity.Array, identity.Object:
		return "an " + k.String()
	default:
		return "a " + k.String()
	}
}

func clip(s string) string {
	if len(s) <= maxEchoedName {
		return s
	}
	return strings.ToValidUTF8(s[:maxEchoedName], "") + "…"
}

func invalidMember(pointer, message string) error {
	return &onefold.Error{Code: onefold.CodeMemberInvalid, Pointer: pointer, Message: message}
}

// check holds one value against its member; messages contain nothing of it.
func (m *member) check(v *identity.Value, pointer string) error {
	wrong := func(format string, args ...any) error {
		return invalidMember(pointer, m.name+" "+fmt.Sprintf(format, args...))
	}
	wants := map[kind]identity.Kind{
		kindText: identity.String, kindInteger: identity.Number, kindBoolean: identity.Bool,
		kindInstant: identity.String, kindObject: identity.Object, kindList: identity.Array,
	}
	if want, ok := wants[m.kind]; ok && v.Kind() != want {
		return wrong("is %s, not %s", article(want), article(v.Kind()))
	}
	switch m.kind {
	case kindText:
		if err := m.checkText(v.Text()); err != "" {
			return wrong("%s", err)
		}
	case kindInteger:
		n, err := strconv.Atoi(v.Number())
		if err != nil || n < m.min || m.max > 0 && n > m.max {
			return wrong("is a whole number written in plain digits%s", m.bounds())
		}
	case kindInstant:
		if _, ok := instant(v.Text()); !ok {
			return wrong("%s", instantHint)
		}
	case kindList:
		if v.Len() < m.min || m.max > 0 && v.Len() > m.max {
			return m.wrongLength(pointer)
		}
		if m.apart {
			return nil
		}
		for i, item := range v.Items() {
			if _, err := decode(item, m.items, identity.JoinPointer(pointer, strconv.Itoa(i))); err != nil {
				return err
			}
		}
	case kindBoolean, kindObject, kindAny, kindDuration:
	}
	return nil
}

// wrongLength is the refusal of a list with too few or too many elements.
func (m *member) wrongLength(pointer string) error {
	return invalidMember(pointer, fmt.Sprintf("%s has %d to %d elements", m.name, m.min, m.max))
}

// checkText says what is wrong with a text, "" if nothing is.
func (m *member) checkText(text string) string {
	switch {
	case len(m.enum) > 0 && !slices.Contains(m.enum, text):
		return "is one of " + strings.Join(m.enum, ", ")
	case text == "" && (m.required || m.min > 0):
		return "must not be empty"
	case m.visible && text != "" && onefold.Blank(text):
		return "must not be blank"
	case m.named && text != "" && !onefold.ReadableName(text):
		return "must be one visible line, without controls or marks of direction"
	case m.max > 0 && len(text) > m.max:
		return fmt.Sprintf("has at most %d bytes", m.max)
	case strings.ContainsRune(text, 0):
		return "must not contain U+0000"
	}
	return ""
}

func (m *member) bounds() string {
	switch {
	case m.max > 0:
		return fmt.Sprintf(" from %d to %d", m.min, m.max)
	case m.min > 0:
		return fmt.Sprintf(", at least %d", m.min)
	}
	return ""
}

const instantHint = "is a time by RFC 3339 with an offset, such as 2026-11-29T14:03:07Z"

// instantForm is RFC 3339 section 5.6 with at most nanoseconds and an offset of
// less than a day: the standard library alone takes a comma, a one-digit hour and
// an offset of any size.
var instantForm = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// instant reads a time strictly by RFC 3339, in UTC.
func instant(text string) (time.Time, bool) {
	if !instantForm.MatchString(text) {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, strings.ToUpper(text))
	if err != nil || t.UTC().Year() < 1 || t.UTC().Year() > 9999 {
		return time.Time{}, false
	}
	return t.UTC(), true
}

// text returns a text, "" where the member is absent.
func (v values) text(name string) string { return v[name].Text() }

// optional returns a text, nil where the member is absent.
func (v values) optional(name string) *string {
	if got, ok := v[name]; ok {
		text := got.Text()
		return &text
	}
	return nil
}

func (v values) integer(name string) int {
	n, err := strconv.Atoi(v[name].Number())
	if err != nil {
		return 0 // absent; what is there was checked
	}
	return n
}

// boolean returns a boolean, or otherwise where the member is absent.
func (v values) boolean(name string, otherwise bool) bool {
	if got, ok := v[name]; ok {
		return got.Bool()
	}
	return otherwise
}

func (v values) instant(name string) *time.Time {
	got, ok := v[name]
	if !ok {
		return nil
	}
	t, ok := instant(got.Text())
	if !ok {
		return nil
	}
	return &t
}

// raw returns a member's own bytes, nil where it is absent.
func (v values) raw(name string) []byte {
	if got, ok := v[name]; ok {
		return got.Raw()
	}
	return nil
}
