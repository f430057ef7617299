package contract

import (
	"fmt"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// state is what a record says about itself.
type state int

const (
	stateUnlisted state = iota
	stateEffect
	statePending
	stateNoEffect
)

// states are compiled States. Nil sorts every record as an effect.
type states struct {
	*States
	tokens []string
}

func (c *operationCompiler) states(s *States) *states {
	if s == nil {
		return nil
	}
	return &states{s, c.pointer(s.Field, s.Pointer+"/field")}
}

// sorted is a record's state with its text.
type sorted struct {
	state
	text string
}

// sort says in which list a record's state stands, and the state as JSON text.
func (s *states) sort(record *identity.Value) (state, string) {
	if s == nil {
		return stateEffect, ""
	}
	v, ok := walk(record, s.tokens)
	switch {
	case !ok:
		return stateUnlisted, "a record without " + s.Field
	case equalsAny(v, s.Effect):
		return stateEffect, shortJSON(v)
	case equalsAny(v, s.Pending):
		return statePending, shortJSON(v)
	case equalsAny(v, s.NoEffect):
		return stateNoEffect, shortJSON(v)
	}
	return stateUnlisted, shortJSON(v)
}

// named is the target's reference of a record. A poll's is the accepted work's
// where the contract names no other.
func (l *lookup) named(m *materials, a *answer, record *identity.Value) (string, bool) {
	if l.reference == nil && l.By == lookupByPoll && m.op.Accepted != nil {
		return m.op.Accepted.Reference, m.op.Accepted.Reference != ""
	}
	return l.reference.read(a, record)
}

// noEffectYet judges the one record that matches and is no effect. A record that
// is not what was approved is a case for a person while something may still come
// of it (M15), and proves nothing once it came to nothing.
func (p *program) noEffectYet(
	l *lookup, m *materials, a *answer, record *identity.Value, is sorted, out *onefold.LookupOutcome, ev *onefold.Evidence,
) {
	reference, ok := l.named(m, a, record)
	if !ok {
		reference = ""
	}
	differs := p.compare(m, record).differs
	switch {
	case is.state == statePending && out.Predates:
		// Nothing of this operation: a person sees it before anything comes of it.
		out.Result, out.Predates = onefold.LookupCandidates, false
		out.Detail = fmt.Sprintf("the target is at work on a record that is older than the operation (state %s)", is.text)
	case is.state == statePending && len(differs) > 0:
		out.Result, out.Reference, out.Differs = onefold.LookupFound, reference, differs
		out.Detail = fmt.Sprintf("the target is at work on a record that differs from the approved request (state %s)", is.text)
	case is.state == statePending:
		out.Result, out.Reference = onefold.LookupPending, reference
		out.Detail = fmt.Sprintf("the target is still at work on it (state %s)", is.text)
	case is.state == stateNoEffect && len(differs) > 0:
		out.Differs = differs // shown in the evidence; an inconclusive look-up bars nothing
		out.Detail = fmt.Sprintf("a record that failed (state %s) is not what was approved", is.text)
	case is.state == stateNoEffect:
		out.Result, out.Reference, out.FinallyFailed = onefold.LookupFound, reference, true
		out.Detail = fmt.Sprintf("the target states that it finally failed (state %s)", is.text)
		ev.Asserts = onefold.AssertsNoEffect
	default:
		// It carries what is ours, and nobody knows what its state means: a person sees
		// it, and that it is not shown later proves nothing.
		if l.By != lookupByPoll {
			out.Result = onefold.LookupCandidates
		}
		out.Detail = fmt.Sprintf("the contract lists no such state of a record: %s", is.text)
	}
}
