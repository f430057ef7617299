package onefold

import (
	"fmt"
	"strings"
)

// Likener is what Contracts may be beside: it tells why two values that differ
// look the same to most who read them. It is for hints alone.
type Likener interface {
	// Alike returns a clause that goes on after "the two values", "" where they look
	// different. Both are JSON text.
	Alike(accepted, submitted []byte) string
}

const (
	newIntent = "a changed decision is a new operation under a new key"
	// maxShownPointer is how long a pointer may be to stand in a hint, in bytes; the
	// differences have it anyhow.
	maxShownPointer = 120
)

// conflictHint is what a key_conflict says beside its differences: where two
// values that differ look the same, that they do, and why (I4). Values that the
// caller may not see are gone from the differences before, and nothing is said of
// them.
func (l *Ledger) conflictHint(diffs []Difference) string {
	contracts, ok := l.cfg.Contracts.(Likener)
	if !ok {
		return newIntent
	}
	var first string
	more := 0
	note := func(what, pointer, clause string) {
		switch {
		case clause == "":
		case first != "":
			more++
		default:
			first = fmt.Sprintf("%s%s %s", what, place(pointer), clause)
		}
	}
	var gone, come []Difference
	for _, d := range diffs {
		switch {
		case d.Accepted != nil && d.Submitted != nil:
			note("the two values", d.Pointer, contracts.Alike(d.Accepted, d.Submitted))
		case d.Accepted != nil:
			gone = append(gone, d)
		case d.Submitted != nil:
			come = append(come, d)
		}
	}
	// A member whose name was written otherwise is one that went and one that came.
	for _, g := range gone {
		for _, c := range come {
			if len(g.Pointer) <= maxShownPointer && len(c.Pointer) <= maxShownPointer {
				note("the names of two members", g.Pointer, contracts.Alike([]byte(quote(g.Pointer)), []byte(quote(c.Pointer))))
			}
		}
	}
	switch {
	case first == "":
		return newIntent
	case more > 0:
		first = fmt.Sprintf("%s (and %d more)", first, more)
	}
	return newIntent + "; if none was meant to change, look closely: " + first
}

// place says where, for a hint.
func place(pointer string) string {
	if pointer == "" || len(pointer) > maxShownPointer || strings.ContainsFunc(pointer, func(r rune) bool { return r < ' ' }) {
		return ""
	}
	return " at " + pointer
}
