package contract

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// textShape is a string. pattern is anchored by whoever writes it.
type textShape struct {
	what    string // "a name such as bills.create"
	pattern *regexp.Regexp
	max     int // characters; 0 is no bound
	// refuse says what else is wrong with a text, or nothing.
	refuse func(s string) string
}

func (t textShape) check(c *checker, at string, v *identity.Value) {
	if !isKind(c, at, v, identity.String, t.what) {
		return
	}
	s := v.Text()
	switch {
	case t.pattern != nil && !t.pattern.MatchString(s):
		c.fault(at, fmt.Sprintf("%s is not %s", quoted(s), t.what), "")
	case t.max > 0 && len([]rune(s)) > t.max:
		c.fault(at, fmt.Sprintf("wants at most %d characters", t.max), "")
	case t.refuse != nil:
		if detail := t.refuse(s); detail != "" {
			c.fault(at, detail, "")
		}
	}
}

// quoted is a text for a message: short, and on one line.
func quoted(s string) string {
	const longest = 60
	if r := []rune(s); len(r) > longest {
		s = string(r[:longest]) + "…"
	}
	return strconv.Quote(s)
}

// wordShape is one of a few words. Those in later are refused as not supported yet.
type wordShape struct{ words, later []string }

func words(list ...string) wordShape { return wordShape{words: list} }

func (w wordShape) check(c *checker, at string, v *identity.Value) {
	list := strings.Join(w.words, ", ")
	if !isKind(c, at, v, identity.String, "one of "+list) {
		return
	}
	switch word := v.Text(); {
	case slices.Contains(w.words, word):
	case slices.Contains(w.later, word):
		c.later(at, word)
	default:
		c.fault(at, quoted(word)+" is not one of "+list, strings.TrimPrefix(suggest(word, w.words), "; "))
	}
}

// durationShape is a duration or one of some words.
type durationShape struct {
	words []string
	// positive durations are above zero.
	positive bool
}

func (d durationShape) check(c *checker, at string, v *identity.Value) {
	hint := "write 20s, 1h30m, 30d"
	if len(d.words) > 0 {
		hint += ", or " + strings.Join(d.words, ", ")
	}
	if v.Kind() != identity.String {
		c.fault(at, "wants a duration with its unit, not "+article(v.Kind()), hint)
		return
	}
	if slices.Contains(d.words, v.Text()) {
		return
	}
	duration, err := parseDuration(v.Text())
	switch {
	case err != nil:
		c.fault(at, fmt.Sprintf("%s is no duration", quoted(v.Text())), hint)
	case d.positive && duration == 0:
		c.fault(at, "wants a duration above zero", "")
	}
}

// day is what `d` means in a duration; a document's day has no daylight saving.
const day = 24 * time.Hour

var daysPart = regexp.MustCompile(`^([0-9]{1,6})d(.*)$`)

// parseDuration reads one of Go's durations, with `d` for days in front. It is
// never negative.
func parseDuration(s string) (time.Duration, error) {
	rest, days := s, time.Duration(0)
	if m := daysPart.FindStringSubmatch(s); m != nil {
		n, err := strconv.Atoi(m[1])
		if err != nil || time.Duration(n) > maxDuration/day {
			return 0, fmt.Errorf("duration %q is out of range", s)
		}
		days, rest = time.Duration(n)*day, m[2]
	}
	duration := time.Duration(0)
	if rest != "" || days == 0 && !strings.HasSuffix(s, "d") {
		if rest == "" || rest[0] < '0' || rest[0] > '9' {
			return 0, fmt.Errorf("duration %q is not a number and a unit", s)
		}
		var err error
		if duration, err = time.ParseDuration(rest); err != nil {
			return 0, fmt.Errorf("duration %q: %w", s, err)
		}
	}
	if days+duration > maxDuration {
		return 0, fmt.Errorf("duration %q is out of range", s)
	}
	return days + duration, nil
}

// maxDuration is the longest duration of a document: fifty years, so that the
// sum of five is still below the largest number of nanoseconds.
const maxDuration = 18_262 * day

// formatDuration is the shortest text that parseDuration reads as the same.
func formatDuration(d time.Duration) string {
	if d == onefold.Forever {
		return "forever"
	}
	if d == 0 {
		return "0s"
	}
	var b strings.Builder
	// Up to two days are easier to read in hours.
	if n := d / day; n > 2 {
		fmt.Fprintf(&b, "%dd", n)
		if d -= n * day; d == 0 {
			return b.String()
		}
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return b.String() + text
}

// integerShape is a whole number, written as one.
type integerShape struct{ min, max int }

func (n integerShape) check(c *checker, at string, v *identity.Value) {
	what := fmt.Sprintf("a whole number from %d to %d", n.min, n.max)
	if !isKind(c, at, v, identity.Number, what) {
		return
	}
	if i, err := strconv.Atoi(v.Number()); err != nil || i < n.min || i > n.max {
		c.fault(at, fmt.Sprintf("%s is not %s", v.Number(), what), "")
	}
}

// numberShape is a number, fractions included, of at least min (above min where
// over is set) and at most max.
type numberShape struct {
	min, max float64
	over     bool
}

func (n numberShape) check(c *checker, at string, v *identity.Value) {
	bound := "at least"
	if n.over {
		bound = "above"
	}
	what := fmt.Sprintf("a number %s %g and at most %.0f", bound, n.min, n.max)
	if !isKind(c, at, v, identity.Number, what) {
		return
	}
	f, err := strconv.ParseFloat(v.Number(), 64)
	if err != nil || f < n.min || f > n.max || n.over && f == n.min {
		c.fault(at, fmt.Sprintf("%s is not %s", v.Number(), what), "")
	}
}

// boolShape is true or false.
type boolShape struct{}

func (boolShape) check(c *checker, at string, v *identity.Value) {
	isKind(c, at, v, identity.Bool, "true or false")
}

// constShape is one value and nothing else.
type constShape struct{ value *identity.Value }

func (s constShape) check(c *checker, at string, v *identity.Value) {
	if !identity.EqualJSON(s.value, v) {
		c.fault(at, "can only be "+string(identity.Canonical(s.value)), "")
	}
}

// anyShape is any value; where kind is Object, any object. also looks further.
type anyShape struct {
	object bool
	what   string
	also   func(c *checker, at string, v *identity.Value)
}

func (a anyShape) check(c *checker, at string, v *identity.Value) {
	if a.object && !isKind(c, at, v, identity.Object, a.what) {
		return
	}
	if a.also != nil {
		a.also(c, at, v)
	}
}

// laterShape is a member that a later release reads. It may be there with a
// value that means the same as leaving it out.
type laterShape struct {
	same []*identity.Value
	// words are the texts that a later release knows; without any, everything is.
	words []string
}

func (l laterShape) check(c *checker, at string, v *identity.Value) {
	for _, same := range l.same {
		if identity.EqualJSON(same, v) {
			return
		}
	}
	if len(l.words) > 0 && (v.Kind() != identity.String || !slices.Contains(l.words, v.Text())) {
		c.fault(at, "unknown value", "known are retain and, in later releases, "+strings.Join(l.words, " and "))
		return
	}
	c.later(at, lastToken(at))
}

// lastToken is the name of the member that a pointer ends with.
func lastToken(pointer string) string {
	tokens, _ := identity.SplitPointer(pointer)
	if len(tokens) == 0 {
		return "document"
	}
	return tokens[len(tokens)-1]
}
