package api

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/onefold-dev/onefold"
)

// submission takes a submission together from its key and its members.
func (c *call) submission(key string, body values) onefold.Submission {
	return onefold.Submission{
		Workspace: c.who.workspace, Capability: body.text("capability"), ContractVersion: body.integer("contract_version"),
		Connection: body.text("connection"), Key: key, Request: body.raw("request"), SubmittedBy: c.who.name,
		Revision: body.optional("revision"), Amends: body.optional("amends"),
		NotBefore: body.instant("not_before"), StartDeadline: body.instant("start_deadline"),
		Metadata: body.raw("metadata"), MayRead: c.who.has(onefold.RoleRead),
	}
}

// placed makes an offset that the ledger counts from the request count from the
// body, as all offsets of answers do.
func (c *call) placed(err error) error {
	at, _ := c.body["request"].Span()
	return moved(err, at)
}

// submit admits an operation or finds the one that its key has; then it waits, if
// that was preferred. The submission is durable before the waiting starts.
func (s *Server) submit(c *call) (*reply, error) {
	seconds, asked, err := preferWait(c.r.Header.Values("Prefer"))
	if err != nil {
		return nil, err
	}
	if dry := c.query.boolean("dry_run"); dry != nil && *dry {
		return s.dryRun(c)
	}
	op, replayed, err := s.ledger.Submit(c.ctx, c.submission(c.key, c.body))
	if err != nil {
		return nil, c.placed(err)
	}
	if asked {
		var waited bool
		op, waited = s.await(c, op, seconds, onefold.Rested)
		asked = waited
	}
	rep := c.operation200(&op)
	if asked {
		rep.header.Set("Preference-Applied", "wait="+strconv.Itoa(seconds))
	}
	if replayed {
		rep.header.Set("Idempotent-Replayed", "true")
		return rep, nil
	}
	rep.status = http.StatusCreated
	rep.header.Set("Location", location(&op))
	return rep, nil
}

// dryRun makes all checks and renders the outgoing request; nothing is stored.
func (s *Server) dryRun(c *call) (*reply, error) {
	p, replayed, err := s.ledger.DryRun(c.ctx, c.submission(c.key, c.body))
	if err != nil {
		return nil, c.placed(err)
	}
	view := previewView{DryRun: true, Replayed: replayed, Operation: c.viewOf(&p.Operation)}
	if c.who.sees(&p.Operation) && p.Frozen.Method != "" {
		view.Outgoing = viewOutgoing(&p.Frozen)
	}
	rep := answerJSON(view)
	if replayed {
		c.operation = p.Operation.ID
		rep.header.Set("Idempotent-Replayed", "true")
	}
	return rep, nil
}

// await waits for an operation until done says so, the time is over, the caller
// is gone, or the server drains. waited is false where there were too many
// waiting already. The operation is as it was last seen; a store that cannot be
// read meanwhile takes nothing back.
func (s *Server) await(c *call, op onefold.Operation, seconds int, done func(*onefold.Operation) bool) (_ onefold.Operation, waited bool) {
	if s.waiting.Add(1) > maxWaiting {
		s.waiting.Add(-1)
		return op, false
	}
	defer s.waiting.Add(-1)
	if done(&op) || seconds == 0 {
		return op, true
	}
	ctx, cancel := context.WithTimeout(c.ctx, time.Duration(seconds)*time.Second)
	defer cancel()
	stop := context.AfterFunc(s.draining, cancel)
	defer stop()
	fresh, err := s.ledger.Wait(ctx, c.who.workspace, op.ID, done)
	if err != nil || fresh.ID != op.ID {
		if err != nil && ctx.Err() == nil {
			s.cfg.Logger.LogAttrs(c.ctx, slog.LevelWarn, "waiting for an operation failed", slog.String("request_id", c.id), slog.String("operation", op.ID), slog.Any("error", err))
		}
		return op, true
	}
	return fresh, true
}

// viewOf is as much of an operation as the principal may see (I5).
func (c *call) viewOf(op *onefold.Operation) shownOperation {
	if c.who.sees(op) {
		return viewOperation(op)
	}
	return operationBrief{op.ID, op.State}
}

// operation200 answers with an operation and its version.
func (c *call) operation200(op *onefold.Operation) *reply {
	c.operation = op.ID
	rep := answerJSON(c.viewOf(op))
	if c.who.sees(op) {
		rep.header.Set("ETag", etag(op.Version))
	}
	return rep
}

func etag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

func location(op *onefold.Operation) string { return "/v1/operations/" + op.ID }
