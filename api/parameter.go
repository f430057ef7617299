package api

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// parameter is one query parameter of a route. Limits on texts are in bytes.
type parameter struct {
	name     string
	kind     kind
	min, max int
	enum     []string
	doc      string
	// key: it is a caller key, and held against the rules of keys, so that one that
	// no operation can have is not answered like one that none has.
	key bool
}

// parameters are the query parameters that a call has, checked.
type parameters map[string]string

func invalidParameter(name, message string) error {
	return &parameterError{name: name, message: message}
}

// parameterError is a parameter_invalid with the parameter's name.
type parameterError struct{ name, message string }

func (e *parameterError) Error() string { return "parameter " + e.name + ": " + e.message }

// readParameters holds a query against what the route knows.
func readParameters(query string, known []parameter) (parameters, error) {
	given, err := url.ParseQuery(query)
	if err != nil {
		return nil, invalidParameter("", "the query cannot be read: percent-encoding is broken, or a semicolon stands in it")
	}
	out := parameters{}
	for _, name := range slices.Sorted(mapKeys(given)) {
		i := slices.IndexFunc(known, func(p parameter) bool { return p.name == name })
		if i < 0 {
			return nil, invalidParameter(clip(name), "this call does not know the parameter"+knows(known))
		}
		if len(given[name]) > 1 {
			return nil, invalidParameter(name, "the parameter is there more than once")
		}
		if wrong := known[i].check(given[name][0]); wrong != "" {
			return nil, invalidParameter(name, wrong)
		}
		out[name] = given[name][0]
	}
	return out, nil
}

func mapKeys(m url.Values) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func knows(known []parameter) string {
	if len(known) == 0 {
		return "; it has none"
	}
	list := make([]string, len(known))
	for i := range known {
		list[i] = known[i].name
	}
	return "; it knows " + strings.Join(list, ", ")
}

// check says what is wrong with a value, "" if nothing is.
func (p *parameter) check(value string) string {
	switch p.kind {
	case kindInteger:
		n, ok := plainInteger(value)
		if !ok || n < p.min || p.max > 0 && n > p.max {
			if p.max > 0 {
				return fmt.Sprintf("a whole number from %d to %d", p.min, p.max)
			}
			return fmt.Sprintf("a whole number, at least %d", p.min)
		}
	case kindBoolean:
		if value != "true" && value != "false" {
			return "true or false"
		}
	case kindInstant:
		if _, ok := instant(value); !ok {
			return "a time by RFC 3339 with an offset, such as 2026-11-29T14:03:07Z (a + is written %2B)"
		}
	case kindDuration:
		if d, err := time.ParseDuration(value); err != nil || d < 0 {
			return "a duration such as 90m or 8h"
		}
	case kindText, kindObject, kindAny, kindList:
		m := member{name: p.name, enum: p.enum, min: 1, max: p.max}
		if wrong := m.checkText(value); wrong != "" || !p.key {
			return wrong
		}
		if wrong, ok := errors.AsType[*identity.KeyError](identity.ValidateKey(value)); ok {
			return strings.TrimSuffix(wrong.Detail+": "+wrong.Hint, ": ")
		}
	}
	return ""
}

// plainInteger reads digits without sign, space or needless zeros.
func plainInteger(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && strconv.Itoa(n) == s
}

func (p parameters) integer(name string, otherwise int) int {
	if n, err := strconv.Atoi(p[name]); err == nil {
		return n
	}
	return otherwise
}

func (p parameters) boolean(name string) *bool {
	value, ok := p[name]
	if !ok {
		return nil
	}
	b := value == "true"
	return &b
}

func (p parameters) instant(name string) *time.Time {
	if t, ok := instant(p[name]); ok {
		return &t
	}
	return nil
}

// ifMatch reads the If-Match header: nil where there is none, else the version.
func ifMatch(headers []string) (*int64, error) {
	const name = "If-Match"
	switch len(headers) {
	case 0:
		return nil, nil //nolint:nilnil // no condition is a valid condition
	case 1:
	default:
		return nil, invalidParameter(name, "the header is there more than once")
	}
	digits, ok := strings.CutPrefix(headers[0], `"`)
	digits, closed := strings.CutSuffix(digits, `"`)
	version, err := strconv.ParseInt(digits, 10, 64)
	if !ok || !closed || err != nil || version < 1 || strconv.FormatInt(version, 10) != digits {
		return nil, invalidParameter(name, `one version in quotes, as ETag gives it: "7"`)
	}
	return &version, nil
}

// preferWait reads wait=SECONDS from the Prefer headers (RFC 7240); other
// preferences are other people's. More than the most is the most: the answer
// says what was applied.
func preferWait(headers []string) (seconds int, asked bool, err error) {
	for _, header := range headers {
		for _, preference := range strings.Split(header, ",") {
			token, _, _ := strings.Cut(preference, ";")
			name, value, _ := strings.Cut(token, "=")
			if !strings.EqualFold(strings.TrimSpace(name), "wait") {
				continue
			}
			if asked {
				return 0, false, invalidParameter("Prefer", "wait is there more than once")
			}
			value = strings.TrimSpace(value)
			if quoted, ok := strings.CutPrefix(value, `"`); ok {
				value = strings.TrimSuffix(quoted, `"`)
			}
			n, ok := plainInteger(value)
			if !ok {
				return 0, false, invalidParameter("Prefer", "wait is a whole number of seconds")
			}
			seconds, asked = min(n, maxWait), true
		}
	}
	return seconds, asked, nil
}

// page are the parameters that every list has.
func page() []parameter {
	return []parameter{
		{name: "limit", kind: kindInteger, min: 1, max: maxPage, doc: "How many items at most (default 50)."},
		{name: "cursor", max: maxCursor, doc: "Where to go on: next_cursor of the page before."},
	}
}

// rejected makes the domain's error of a parameterError.
func (e *parameterError) problem() *onefold.Error {
	return &onefold.Error{Code: onefold.CodeParameterInvalid, Message: e.message, Cause: e}
}
