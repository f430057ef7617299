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
	// sameIntent is said where the operation may have had its effect, or where the
	// caller may not know whether it has.
	sameIntent = "a repeat sends the same request; a new key is for another business action, and for this one only where its operation's new_key_safe is true"
	// maxShownPointer is how long a pointer may be to stand in a hint, in bytes; the
	// differences have it anyhow.
	maxShownPointer = 120
)

// conflictHint is what a key_conflict says beside its differences: where two
// values that differ look the same, that they do, and why (I4). Values that the
// caller may not see are gone from the differences before, and nothing is said of
// them. newKeySafe is false where the caller may not know.
func (l *Ledger) conflictHint(diffs []Difference, newKeySafe bool) string {
	intent := sameIntent
	if newKeySafe {
		intent = newIntent
	}
	contracts, ok := l.cfg.Contracts.(Likener)
	if !ok {
		return intent
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
		return intent
	case more > 0:
		first = fmt.Sprintf("%s (and %d more)", first, more)
	}
	return intent + "; if none was meant to change, look closely: " + first
}

// place says where, for a hint.
func place(pointer string) string {
	if pointer == "" || len(pointer) > maxShownPointer || strings.ContainsFunc(pointer, func(r rune) bool { return r < ' ' }) {
		return ""
	}
	return " at " + pointer
}

// expiredHint is what a key_expired says beside its facts: a new key is advised only
// where the caller may know that it is safe (section 4).
func expiredHint(op *Operation, mayRead bool) string {
	switch {
	case !mayRead:
		return "this is no word that a new key is safe: have somebody who may read requests look at the operation, and use one only if its new_key_safe is true"
	case op.NewKeySafe():
		return "as far as is known, nothing was done under this key: to start the business action again, use a new one"
	case op.State == Confirmed:
		return "the business action was done: a new key would do it once more"
	}
	return "do not start the business action again under a new key: the target may have it; look at the operation"
}
