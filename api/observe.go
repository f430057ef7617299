package api

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/onefold-dev/onefold"
)

// pageView is one page of a list.
type pageView[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"next_cursor"`
}

// listView is one page of a list of operations, or of something of theirs.
type listView[T any] struct {
	pageView[T]
	Unreadable []unreadableView `json:"unreadable" doc:"Operations that belong to this page and whose records are damaged: they hide no other, and are no items."`
}

// unreadableView is an operation whose record is damaged.
type unreadableView struct {
	ID     string       `json:"id"`
	Code   onefold.Code `json:"code" enum:"record_unreadable" doc:"The problem that reading it alone is answered with."`
	Detail string       `json:"detail"`
}

// readable adds an operation to those of a list that cannot be read, and tells
// whether it can. What is damaged stands in the log: it may repeat what is stored.
func (c *call) readable(op *onefold.Operation, list *[]unreadableView) bool {
	if op.Unreadable == "" {
		return true
	}
	c.server.cfg.Logger.Error("a stored operation is damaged; onefold doctor says more", "request_id", c.id, "operation", op.ID, "damage", op.Unreadable)
	*list = append(*list, unreadableView{op.ID, onefold.CodeRecordUnreadable, "what is stored of the operation cannot be read"})
	return false
}

// maxTimeline bounds how much of one operation's timeline or evidence is read: an
// operation has at most onefold.MaxAttempts attempts, as many notes, and its
// look-ups' lines; one with more is shown to here.
const maxTimeline = 10_000

// operation finds the operation that the path names, in the principal's
// workspace; one of another workspace is not there (I5).
func (s *Server) operation(c *call) (onefold.Operation, error) {
	op, err := s.ledger.Operation(c.ctx, c.who.workspace, c.path["id"])
	if err == nil {
		c.operation = op.ID
	}
	return op, err
}

// visible finds an operation that the principal may see wholly. Of others it may
// know id and state, so that refusing more tells nothing new.
func (s *Server) visible(c *call) (onefold.Operation, error) {
	op, err := s.operation(c)
	if err != nil {
		return op, err
	}
	if !c.who.sees(&op) {
		return op, &permissionError{roles: []onefold.Role{onefold.RoleRead, onefold.RoleOperate}, message: "this token sees only its own submissions wholly"}
	}
	return op, nil
}

func (s *Server) getOperation(c *call) (*reply, error) {
	op, err := s.operation(c)
	if err != nil {
		return nil, err
	}
	if seconds := c.query.integer("wait", 0); seconds > 0 {
		after := int64(c.query.integer("after_version", 0))
		op, _ = s.await(c, op, seconds, func(op *onefold.Operation) bool {
			return op.Settled() || after > 0 && op.Version > after
		})
	}
	return c.operation200(&op), nil
}

func (s *Server) listOperations(c *call) (*reply, error) {
	place, err := c.place()
	if err != nil {
		return nil, err
	}
	q := onefold.Query{
		Workspace: c.who.workspace, Capability: c.query["capability"], Connection: c.query["connection"],
		State: onefold.State(c.query["state"]), Key: c.query["key"], Reference: c.query["reference"],
		Identity: c.query["identity"], Review: c.query["review"], Contradicted: c.query.boolean("contradicted"),
		CreatedFrom: c.query.instant("created_from"), CreatedTo: c.query.instant("created_to"),
		Limit: c.query.integer("limit", defaultPage), Cursor: place,
	}
	if !c.who.has(onefold.RoleRead, onefold.RoleOperate) {
		q.SubmittedBy = c.who.name
	}
	ops, next, err := s.ledger.Store().List(c.ctx, q)
	if err != nil {
		return nil, cursorError(unreachable(err))
	}
	page := listView[operationView]{pageView[operationView]{Items: []operationView{}, NextCursor: c.next(next)}, []unreadableView{}}
	for i := range ops {
		if c.readable(&ops[i], &page.Unreadable) {
			page.Items = append(page.Items, viewOperation(&ops[i]))
		}
	}
	return answerJSON(page), nil
}

// next is the cursor of the page after, nil at the end.
func (c *call) next(place string) *string {
	if place == "" {
		return nil
	}
	cursor := c.cursor(place)
	return &cursor
}

// cursorError names the parameter of a store's refusal of a cursor.
func cursorError(err error) error {
	if onefold.CodeOf(err) == onefold.CodeParameterInvalid {
		return invalidParameter("cursor", errNoCursor.Error())
	}
	return err
}

// timeline reads an operation's whole timeline, oldest first.
func (s *Server) timeline(ctx context.Context, id string) ([]onefold.Entry, error) {
	var all []onefold.Entry
	after := int64(0)
	for len(all) < maxTimeline {
		entries, err := s.ledger.Store().Timeline(ctx, id, after, maxPage)
		if err != nil {
			return nil, unreachable(err)
		}
		all = append(all, entries...)
		if len(entries) < maxPage {
			break
		}
		after = entries[len(entries)-1].Seq
	}
	return all, nil
}

func (s *Server) getTimeline(c *call) (*reply, error) {
	op, err := s.visible(c)
	if err != nil {
		return nil, err
	}
	entries, err := s.timeline(c.ctx, op.ID)
	if err != nil {
		return nil, err
	}
	return pageOf(c, entries, viewEntry)
}

func (s *Server) getAttempts(c *call) (*reply, error) {
	op, err := s.visible(c)
	if err != nil {
		return nil, err
	}
	return pageOf(c, op.Attempts, viewAttempt)
}

func (s *Server) getEvidence(c *call) (*reply, error) {
	op, err := s.visible(c)
	if err != nil {
		return nil, err
	}
	var all []onefold.Evidence
	after := ""
	for len(all) < maxTimeline {
		part, err := s.ledger.Store().EvidenceOf(c.ctx, op.ID, after, maxPage)
		if err != nil {
			return nil, unreachable(err)
		}
		all = append(all, part...)
		if len(part) < maxPage {
			break
		}
		after = part[len(part)-1].ID
	}
	return pageOf(c, all, viewEvidence)
}

// pageOf cuts a page out of an append-only list, oldest first. Its cursor counts
// what was shown, and so is stable while the list grows; it says nothing about
// other operations, as the store's own sequence numbers would (I5).
func pageOf[T, V any](c *call, all []T, view func(*T) V) (*reply, error) {
	start := 0
	if cursor, ok := c.query["cursor"]; ok {
		if start, ok = plainInteger(cursor); !ok || start > len(all) {
			return nil, invalidParameter("cursor", errNoCursor.Error())
		}
	}
	end := min(len(all), start+c.query.integer("limit", defaultPage))
	page := pageView[V]{Items: make([]V, 0, end-start)}
	for i := start; i < end; i++ {
		page.Items = append(page.Items, view(&all[i]))
	}
	if end < len(all) {
		next := strconv.Itoa(end)
		page.NextCursor = &next
	}
	return answerJSON(page), nil
}

func (s *Server) getRequest(c *call) (*reply, error) {
	op, err := s.operation(c)
	if err != nil {
		return nil, err
	}
	request, err := s.ledger.Store().Request(c.ctx, op.ID)
	if err != nil {
		return nil, unreachable(err)
	}
	frozen, found, err := s.ledger.Store().FrozenRequest(c.ctx, op.ID)
	if err != nil {
		return nil, unreachable(err)
	}
	view := requestView{
		Operation: op.ID, Request: json.RawMessage(request), NotBefore: utc(op.NotBefore), StartDeadline: utc(op.StartDeadline),
	}
	if found {
		view.Outgoing = viewOutgoing(&frozen)
	}
	return answerJSON(view), nil
}

func (s *Server) explain(c *call) (*reply, error) {
	op, err := s.visible(c)
	if err != nil {
		return nil, err
	}
	binding, err := s.ledger.Pinned(c.ctx, &op)
	if err != nil {
		return nil, err
	}
	now, err := s.ledger.Store().Now(c.ctx)
	if err != nil {
		return nil, unreachable(err)
	}
	pause, err := s.pauseOf(c, op.Connection)
	if err != nil {
		return nil, err
	}
	view := explanationView{op.ID, op.State, op.Version, onefold.Explain(op, binding.Terms(), binding.Policy(), pause, now)}
	return answerJSON(view), nil
}

// reviewView is a review with the operation that it is about.
type reviewView struct {
	ID            string               `json:"id"`
	Reason        onefold.ReviewReason `json:"reason"`
	Status        onefold.ReviewStatus `json:"status"`
	Owner         string               `json:"owner"`
	OpenedAt      time.Time            `json:"opened_at"`
	EscalateAt    *time.Time           `json:"escalate_at"`
	EscalateTo    *string              `json:"escalate_to"`
	EscalatedAt   *time.Time           `json:"escalated_at"`
	ResolvedAt    *time.Time           `json:"resolved_at"`
	ResolvedBy    *onefold.Actor       `json:"resolved_by"`
	Decision      *string              `json:"decision"`
	Justification *string              `json:"justification"`
	Evidence      *string              `json:"evidence" doc:"What opened it."`
	Detail        string               `json:"detail"`
	Candidates    []candidateView      `json:"candidates" doc:"Records at the target from which a resolution may name one."`
	Operation     operationView        `json:"operation"`
}

// candidateView is a record at the target that may be the operation's effect.
type candidateView struct {
	Reference string                   `json:"reference" doc:"The target's own; empty where it could not be read."`
	Fields    []onefold.CandidateField `json:"fields" doc:"What the record shows, by JSON Pointer; values are JSON text."`
	// RecordedBy is of the same workspace.
	RecordedBy *string `json:"recorded_by" doc:"Another operation of the connection and capability that has recorded this reference as its result."`
}

func viewCandidates(list []onefold.Candidate) []candidateView {
	out := make([]candidateView, len(list))
	for i, c := range list {
		out[i] = candidateView{c.Reference, append([]onefold.CandidateField{}, c.Fields...), optional(c.RecordedBy)}
	}
	return out
}

func (s *Server) listReviews(c *call) (*reply, error) {
	place, err := c.place()
	if err != nil {
		return nil, err
	}
	q := onefold.ReviewQuery{
		Workspace: c.who.workspace, Owner: c.query["owner"], Reason: onefold.ReviewReason(c.query["reason"]),
		Status: onefold.ReviewStatus(c.query["status"]), Limit: c.query.integer("limit", defaultPage), Cursor: place,
	}
	if age, ok := c.query["age"]; ok {
		now, err := s.ledger.Store().Now(c.ctx)
		if err != nil {
			return nil, unreachable(err)
		}
		d, err := time.ParseDuration(age)
		if err != nil {
			return nil, invalidParameter("age", "a duration such as 90m or 8h")
		}
		before := now.Add(-d)
		q.OlderThan = &before
	}
	found, next, err := s.ledger.Store().Reviews(c.ctx, q)
	if err != nil {
		return nil, cursorError(unreachable(err))
	}
	page := listView[reviewView]{pageView[reviewView]{Items: []reviewView{}, NextCursor: c.next(next)}, []unreadableView{}}
	for i := range found {
		if !c.readable(&found[i].Operation, &page.Unreadable) {
			continue
		}
		r := &found[i].Review
		page.Items = append(page.Items, reviewView{
			ID: r.ID, Reason: r.Reason, Status: r.Status, Owner: r.Owner, OpenedAt: r.OpenedAt.UTC(),
			EscalateAt: utc(r.EscalateAt), EscalateTo: optional(r.EscalateTo), EscalatedAt: utc(r.EscalatedAt),
			ResolvedAt: utc(r.ResolvedAt), ResolvedBy: r.ResolvedBy, Decision: optional(r.Decision),
			Justification: optional(r.Justification), Evidence: optional(r.Evidence), Detail: r.Detail,
			Candidates: viewCandidates(r.Candidates), Operation: viewOperation(&found[i].Operation),
		})
	}
	return answerJSON(page), nil
}
