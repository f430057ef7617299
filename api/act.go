package api

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// decision finds the operation, holds the call against may, and makes the
// decision of it. An operation for which may says no is refused; one that the
// principal must not know of is not there.
func (s *Server) decision(c *call, may func(*onefold.Operation) error) (onefold.Decision, onefold.Operation, error) {
	op, err := s.operation(c)
	if err != nil {
		return onefold.Decision{}, op, err
	}
	if err := may(&op); err != nil {
		return onefold.Decision{}, op, err
	}
	d := onefold.Decision{Workspace: c.who.workspace, Operation: op.ID, By: c.who.actor(), Reason: c.body.text("reason")}
	switch {
	case c.version != nil:
		d.IfVersion = *c.version
	case c.route.ifMatch == needsCondition:
		return d, op, &onefold.Error{
			Code: onefold.CodeIfMatchRequired, Operation: op.ID, State: op.State, Version: op.Version,
			Message: "a decision names the version that it was made on", Hint: "send the operation's ETag as If-Match",
		}
	}
	return d, op, nil
}

func anyOperation(*onefold.Operation) error { return nil }

func (s *Server) cancel(c *call) (*reply, error) {
	d, _, err := s.decision(c, func(op *onefold.Operation) error {
		if c.who.has(onefold.RoleOperate) || c.who.submitted(op) {
			return nil
		}
		return &permissionError{roles: []onefold.Role{onefold.RoleOperate}, message: "this token withdraws only its own submissions"}
	})
	if err != nil {
		return nil, err
	}
	op, err := s.ledger.Cancel(c.ctx, d, c.body.boolean("release", true))
	if err != nil {
		return nil, err
	}
	rep := c.operation200(&op)
	if op.State != onefold.Canceled {
		rep.status = http.StatusAccepted
	}
	return rep, nil
}

func (s *Server) retry(c *call) (*reply, error) {
	d, _, err := s.decision(c, anyOperation)
	if err != nil {
		return nil, err
	}
	op, err := s.ledger.Retry(c.ctx, d)
	if err != nil {
		return nil, err
	}
	return c.operation200(&op), nil
}

func (s *Server) resolve(c *call) (*reply, error) {
	d, _, err := s.decision(c, anyOperation)
	if err != nil {
		return nil, err
	}
	outcome := onefold.ResolutionOutcome(c.body.text("outcome"))
	reference := c.body.text("reference")
	switch {
	case outcome == onefold.ResolveConfirmed && reference == "":
		return nil, invalidMember("/reference", "confirmed needs the target's reference")
	case outcome != onefold.ResolveConfirmed && reference != "":
		return nil, invalidMember("/reference", "a reference belongs to the outcome confirmed alone")
	}
	op, err := s.ledger.Resolve(c.ctx, d, onefold.Resolution{Outcome: outcome, Reference: reference})
	if err != nil {
		return nil, err
	}
	return c.operation200(&op), nil
}

func (s *Server) release(c *call) (*reply, error) {
	d, _, err := s.decision(c, anyOperation)
	if err != nil {
		return nil, err
	}
	if c.body.optional("exception") != nil {
		return nil, &onefold.Error{Code: onefold.CodeNotSupportedYet, Pointer: "/exception", Message: "exceptions belong to business duplicates, which are not supported yet"}
	}
	op, err := s.ledger.Release(c.ctx, d, onefold.HoldDecision{
		Reason: onefold.HoldReason(c.body.text("hold")), Proceed: c.body.text("decision") == "proceed",
	})
	if err != nil {
		return nil, err
	}
	return c.operation200(&op), nil
}

// assign hands a review on; where one review is open, it need not be named.
func (s *Server) assign(c *call) (*reply, error) {
	d, op, err := s.decision(c, anyOperation)
	if err != nil {
		return nil, err
	}
	owner := c.body.text("owner")
	review := c.body.text("review")
	if review == "" {
		open := op.OpenReviews()
		switch len(open) {
		case 0:
			return nil, &onefold.Error{Code: onefold.CodeReviewUnknown, Message: "no review of the operation is open"}
		case 1:
			review = open[0].ID
		default:
			return nil, invalidMember("/review", "several reviews are open: name one")
		}
	}
	op, err = s.ledger.Assign(c.ctx, d, onefold.Assignment{Review: review, Owner: owner})
	if err != nil {
		return nil, err
	}
	return c.operation200(&op), nil
}

// deliver records late evidence. A principal that delivers for named connections
// knows nothing of the operations of others.
func (s *Server) deliver(c *call) (*reply, error) {
	d, _, err := s.decision(c, func(op *onefold.Operation) error {
		if c.who.delivers(op) {
			return nil
		}
		c.operation = ""
		return &onefold.Error{Code: onefold.CodeOperationUnknown, Message: "there is no such operation"}
	})
	if err != nil {
		return nil, err
	}
	e := onefold.Evidence{
		Asserts: onefold.Assertion(c.body.text("asserts")), Reference: c.body.text("reference"),
		Source: c.body.text("source"), SourceEventID: c.body.text("event_id"), OccurredAt: c.body.instant("occurred_at"),
		Detail: d.Reason,
	}
	if e.Source == "" {
		e.Source = c.who.name
	}
	if !c.who.has(onefold.RoleOperate) {
		e.Kind = onefold.EvidenceEvent // no person's word
	}
	var said []byte
	if body, ok := c.body["body"]; ok && body.Kind() != identity.Null {
		e.Excerpt, e.Digest, e.BytesIn = excerpt(body)
		said = body.Raw()
	}
	op, err := s.ledger.Deliver(c.ctx, d, e, said)
	if err != nil {
		return nil, err
	}
	return c.operation200(&op), nil
}

// excerpt keeps the beginning of a delivered body, and a digest of all of it: of
// a string its text, of anything else its JSON.
func excerpt(body *identity.Value) (text, digest string, size int64) {
	raw := string(body.Raw())
	if body.Kind() == identity.String {
		raw = body.Text()
	}
	sum := sha256.Sum256([]byte(raw))
	text = raw
	if len(text) > onefold.MaxExcerpt {
		text = strings.ToValidUTF8(text[:onefold.MaxExcerpt], "")
	}
	return text, hex.EncodeToString(sum[:]), int64(len(raw))
}
