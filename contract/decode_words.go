package contract

import (
	"regexp"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// The patterns of names. A capability is dotted words, everything else hyphened
// ones, so that names fit paths, file names and environment variables.
var (
	capabilityPattern = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$`)
	namePattern       = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	entryPattern      = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*(@[1-9][0-9]{0,8})?$`)
	targetRefPattern  = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*@[1-9][0-9]{0,8}$`)
	memberPattern     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)
	headerPattern     = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	classPattern      = regexp.MustCompile(`^[1-5]xx$`)
	anyText           = regexp.MustCompile(`^.+$`)
	linePattern       = regexp.MustCompile(`^[^\x00-\x1F\x7F]*[^\x00-\x1F\x7F ][^\x00-\x1F\x7F]*$`)
)

// Bounds of what documents hold, generous and finite.
const (
	maxName     = 100
	maxSentence = 1000
	maxVersion  = 999_999_999
	maxAttempts = 1000
	maxLimit    = 1_000_000
	// maxExpression is the longest expression, in characters: a condition on an
	// answer that needs more is a case for several rules.
	maxExpression = 2000
)

// Shapes of single values that several tables use.
var (
	capabilityName     = textShape{what: "a capability's name such as bills.create", pattern: capabilityPattern, max: maxName}
	plainName          = textShape{what: "a name of small letters, digits and single hyphens", pattern: namePattern, max: maxName}
	personName         = textShape{what: "a name on one line", pattern: linePattern, max: maxName * 2, refuse: refuseBlank}
	sentence           = textShape{what: "a line of text", pattern: linePattern, max: maxSentence, refuse: refuseBlank}
	accountName        = textShape{what: "an account's name on one line", pattern: linePattern, max: maxName * 2, refuse: refuseBlank}
	isoDate            = textShape{what: "a date such as 2026-11-29", refuse: refuseDate}
	dateOrNever        = textShape{what: "a date such as 2026-11-29, or never", refuse: refuseDateOrNever}
	jsonPointer        = textShape{what: "a JSON Pointer", refuse: refusePointer}
	wholeOrPointer     = textShape{what: "a JSON Pointer", refuse: refuseWholeOrPointer}
	headerName         = textShape{what: "a header's name", pattern: headerPattern, max: maxName}
	pathTemplateText   = textShape{what: "a path with references in braces"}
	headerTemplateText = textShape{what: "text with references in braces"}
	secretName         = textShape{what: "a secret's name", pattern: memberPattern, max: maxName}
	versionNumber      = integerShape{min: 1, max: maxVersion}
	always             = constShape{identity.NewBool(true)}
)

// refuseBlank refuses texts of which nothing can be seen: no pattern lists all the
// characters that have no ink.
func refuseBlank(s string) string {
	if onefold.Blank(s) {
		return quoted(s) + " is blank"
	}
	return ""
}

// never is the date of what was not done.
const never = "never"

func refuseDate(s string) string {
	if _, err := time.Parse(time.DateOnly, s); err != nil {
		return quoted(s) + " is not a date such as 2026-11-29"
	}
	return ""
}

func refuseDateOrNever(s string) string {
	if s == never {
		return ""
	}
	return refuseDate(s)
}

func refusePointer(s string) string {
	if _, ok := identity.SplitPointer(s); !ok || s == "" {
		return quoted(s) + " is not a JSON Pointer such as /id"
	}
	return ""
}

func refuseWholeOrPointer(s string) string {
	if s == "" {
		return ""
	}
	return refusePointer(s)
}

// template is a tree with references; checkTemplates compiles what is in it.
func template() shape { return anyShape{} }

// backoff is a growing wait.
func backoff() *objectShape {
	return object(
		may("first", durationShape{positive: true}, "The first wait."),
		may("factor", numberShape{min: 1, max: maxAttempts}, "By how much each wait is longer than the one before; fractions are fine."),
		may("max", durationShape{positive: true}, "The longest wait."),
	)
}
