package onefold

import (
	"context"
	"errors"
	"time"
)

// EvidenceJudgement is what came of holding delivered evidence against its
// operation (Binding.JudgeEvidence). The zero value is evidence in which nothing
// stands against the operation.
type EvidenceJudgement struct {
	// Differs are the fields in which it differs from the approved request (M15).
	Differs []Mismatch
	// Unshown are the JSON Pointers of what the contract verifies and it does not show.
	Unshown []string
	// Predates tells that what it speaks of is older than the operation (M15), MadeAt
	// of when the record is, where its body shows that.
	Predates bool
	MadeAt   *time.Time
	// Detail is a sentence for a person; empty where there is nothing to say.
	Detail string
}

// unheld is the judgement of evidence that could be held against nothing: a person
// has to see to all of it.
func unheld(why string) EvidenceJudgement {
	return EvidenceJudgement{Unshown: []string{""}, Detail: why}
}

// Deliver records evidence that came late or by hand (M8, M17–M20). Its Kind is
// EvidenceEvent where a machine delivers it for the target, and EvidenceOperator,
// whatever else it says, where a person does. body is the JSON text of what was
// said, nil for none: of an effect it is held against the approved request by the
// contract's verify fields, as an answer is (M15). What differs does not confirm,
// what does not show them all goes to a person, and neither does what is older than
// the operation. The same source and event id a second time changes nothing. Errors:
// operation_unknown, member_invalid, stale_version, store_unavailable.
func (l *Ledger) Deliver(ctx context.Context, d Decision, e Evidence, body []byte) (Operation, error) {
	switch e.Asserts {
	case AssertsEffect, AssertsNoEffect, AssertsNothing:
	default:
		return Operation{}, &Error{Code: CodeMemberInvalid, Pointer: "/asserts", Message: "asserts is effect_exists, no_effect or nothing"}
	}
	if e.Reference != "" && !ReadableReference(e.Reference) {
		return Operation{}, unreadableReference()
	}
	for _, text := range []struct{ pointer, words string }{{"/source", e.Source}, {"/event_id", e.SourceEventID}} {
		if text.words != "" && Blank(text.words) {
			return Operation{}, &Error{Code: CodeMemberInvalid, Pointer: text.pointer, Message: "what is given must not be blank"}
		}
	}
	op, err := l.Operation(ctx, d.Workspace, d.Operation)
	if err != nil {
		return Operation{}, err
	}
	o := Observation{Asserts: e.Asserts, Reference: e.Reference, Attempt: e.Attempt}
	if e.Asserts == AssertsEffect {
		j, err := l.judgeDelivered(ctx, &op, e.OccurredAt, body)
		if err != nil {
			return Operation{}, err
		}
		o.Differs, o.Unshown, o.Predates = j.Differs, j.Unshown, j.Predates
		e.Mismatches, e.Detail = j.Differs, joined(e.Detail, j.Detail)
		if e.OccurredAt == nil {
			e.OccurredAt = j.MadeAt
		}
	}
	e.ID, e.RecordedBy = l.NewID(PrefixEvidence), d.By
	if e.Kind != EvidenceEvent {
		e.Kind, o.ByHand = EvidenceOperator, true
	}
	return l.decide(ctx, d, Event{Kind: EventObserved, Evidence: &e, Observation: &o})
}

func unreadableReference() *Error {
	return &Error{
		Code: CodeMemberInvalid, Pointer: "/reference", Message: "a reference is one line of text that can be seen",
		Hint: "it holds no control characters, no separators of lines and nothing that turns the direction of writing",
	}
}

// judgeDelivered holds evidence of an effect against the contract. What cannot be
// held against anything, because contract or request is not to be had here, is not
// lost for that, and confirms nothing.
func (l *Ledger) judgeDelivered(ctx context.Context, op *Operation, at *time.Time, body []byte) (EvidenceJudgement, error) {
	binding, err := l.Pinned(ctx, op)
	switch {
	case CodeOf(err) == CodeContractUnavailable:
		return unheld("its contract cannot be loaded here, so that it was held against nothing"), nil
	case err != nil:
		return EvidenceJudgement{}, err
	}
	request, err := l.store.Request(ctx, op.ID)
	if _, refused := errors.AsType[*Error](err); refused {
		return unheld("the approved request cannot be read, so that it was held against nothing"), nil
	}
	if err != nil {
		return EvidenceJudgement{}, unavailable(err)
	}
	return judgeEvidenceOf(binding, op, request, at, body), nil
}

// judgeEvidenceOf is Binding.JudgeEvidence, whose fault is no reason to lose what
// was delivered.
func judgeEvidenceOf(b Binding, op *Operation, request []byte, at *time.Time, body []byte) (j EvidenceJudgement) {
	defer func() {
		if recover() != nil {
			j = unheld("holding it against the contract failed")
		}
	}()
	return b.JudgeEvidence(op, request, at, body)
}
