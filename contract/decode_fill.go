package contract

import (
	"strconv"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// What is below reads trees that were checked against their shape: a wrong type
// cannot come here, a missing member is its default.

// get is a member that is written and not null; nil otherwise.
func get(v *identity.Value, name string) *identity.Value {
	member, _ := v.Get(name)
	if member.Kind() == identity.Null {
		return nil
	}
	return member
}

func textOf(v *identity.Value, name string) string { return get(v, name).Text() }

func textOr(v *identity.Value, name, fallback string) string {
	if member := get(v, name); member != nil {
		return member.Text()
	}
	return fallback
}

func integer(v *identity.Value, name string) int { return integerOr(v, name, 0) }

func integerOr(v *identity.Value, name string, fallback int) int {
	if i, err := strconv.Atoi(get(v, name).Number()); err == nil {
		return i
	}
	return fallback
}

func numberOr(v *identity.Value, name string, fallback float64) float64 {
	if f, err := strconv.ParseFloat(get(v, name).Number(), 64); err == nil {
		return f
	}
	return fallback
}

func durationOr(v *identity.Value, name string, fallback time.Duration) time.Duration {
	if member := get(v, name); member != nil {
		return durationOf(member)
	}
	return fallback
}

// durationOf reads a duration, forever and unbounded.
func durationOf(v *identity.Value) time.Duration {
	switch v.Text() {
	case "forever", "unbounded":
		return onefold.Forever
	}
	d, _ := parseDuration(v.Text())
	return d
}

// documentedOf reads a fact that may be undocumented. guess is the assumption
// that stands beside it in the same object, if there is one.
func documentedOf[T any](v, guess *identity.Value, read func(*identity.Value) T) Documented[T] {
	if inside, _ := v.Get(assumed); v != nil && inside != nil {
		v, guess = nil, inside
		d := documentedOf(v, guess, read)
		d.Written = true
		return d
	}
	switch {
	case v == nil, v.Kind() == identity.String && v.Text() == undocumented:
		d := Documented[T]{Undocumented: true, Written: v != nil}
		if guess != nil {
			d.Value = read(get(guess, "value"))
			d.Assumed = &Assumption{Owner: textOf(guess, "owner"), Date: textOf(guess, "date"), Reason: textOf(guess, "reason")}
		}
		return d
	default:
		return Documented[T]{Value: read(v), Written: true}
	}
}

// memberOf reads a fact that is a member of an object, in which `assumed` may
// stand beside it.
func memberOf[T any](v *identity.Value, name string, read func(*identity.Value) T) Documented[T] {
	var guess *identity.Value
	if beside, detail := besideAssumed(v); detail == "" && beside == name {
		guess = get(v, assumed)
	}
	return documentedOf(get(v, name), guess, read)
}

func textsOf(v *identity.Value) []string {
	if v == nil {
		return nil
	}
	if v.Kind() != identity.Array {
		return []string{v.Text()}
	}
	texts := make([]string, 0, v.Len())
	for _, item := range v.Items() {
		texts = append(texts, item.Text())
	}
	return texts
}

// manyOf is the elements of an array, or the one value that stands for it.
func manyOf(v *identity.Value) []*identity.Value {
	switch {
	case v == nil:
		return nil
	case v.Kind() == identity.Array:
		return v.Items()
	default:
		return []*identity.Value{v}
	}
}

func wordOf[T ~string](v *identity.Value) T { return T(v.Text()) }
