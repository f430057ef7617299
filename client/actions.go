package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/onefold-dev/onefold"
)

// Decision says on which operation, in which version, and why.
type Decision struct {
	Operation string
	// Version is the one that was decided on (the operation's Version). Retry,
	// Resolve, Release and Assign need it; 0 leaves it out.
	Version int64
	// Reason is needed for Resolve and Release.
	Reason string
}

func (c *Client) act(ctx context.Context, action string, d Decision, body map[string]any) (*answer, Operation, error) {
	r := request{method: http.MethodPost, path: []string{"v1", "operations", d.Operation, action}, header: http.Header{}, body: body}
	if d.Reason != "" {
		body["reason"] = d.Reason
	}
	if d.Version > 0 {
		r.header.Set("If-Match", `"`+strconv.FormatInt(d.Version, 10)+`"`)
	}
	a, err := c.do(ctx, r)
	if err != nil {
		return nil, Operation{}, err
	}
	op, err := decodedOf(a, d.Operation)
	return a, op, err
}

// Cancel withdraws an operation. recorded tells that something was under way, so
// that the withdrawal is only recorded: nothing is sent again, and an effect may
// exist. keepKey keeps the key bound where it would be released.
func (c *Client) Cancel(ctx context.Context, d Decision, keepKey bool) (op Operation, recorded bool, err error) {
	body := map[string]any{}
	if keepKey {
		body["release"] = false
	}
	a, op, err := c.act(ctx, "cancel", d, body)
	return op, err == nil && a.status == http.StatusAccepted, err
}

// Retry makes the due attempt, or a safe replay, now.
func (c *Client) Retry(ctx context.Context, d Decision) (Operation, error) {
	_, op, err := c.act(ctx, "retry", d, map[string]any{})
	return op, err
}

// Resolve decides an uncertain or contradicted operation; reference is the
// target's, for the outcome confirmed alone.
func (c *Client) Resolve(ctx context.Context, d Decision, outcome onefold.ResolutionOutcome, reference string) (Operation, error) {
	body := map[string]any{"outcome": outcome}
	if reference != "" {
		body["reference"] = reference
	}
	_, op, err := c.act(ctx, "resolve", d, body)
	return op, err
}

// Release decides one hold.
func (c *Client) Release(ctx context.Context, d Decision, hold onefold.HoldReason, proceed bool) (Operation, error) {
	decision := "decline"
	if proceed {
		decision = "proceed"
	}
	_, op, err := c.act(ctx, "release", d, map[string]any{"hold": hold, "decision": decision})
	return op, err
}

// Assign hands a review to another owner; review may be empty where one is open.
func (c *Client) Assign(ctx context.Context, d Decision, review, owner string) (Operation, error) {
	body := map[string]any{"owner": owner}
	if review != "" {
		body["review"] = review
	}
	_, op, err := c.act(ctx, "assign", d, body)
	return op, err
}

// Delivery is late evidence. Asserts is needed.
type Delivery struct {
	Asserts    onefold.Assertion
	Reference  string
	Source     string
	EventID    string
	OccurredAt *time.Time
	Body       json.RawMessage
}

// Deliver records late evidence.
func (c *Client) Deliver(ctx context.Context, d Decision, e Delivery) (Operation, error) {
	body := map[string]any{"asserts": e.Asserts}
	for name, value := range map[string]string{"reference": e.Reference, "source": e.Source, "event_id": e.EventID} {
		if value != "" {
			body[name] = value
		}
	}
	if e.OccurredAt != nil {
		body["occurred_at"] = e.OccurredAt.UTC().Format(time.RFC3339Nano)
	}
	if e.Body != nil {
		body["body"] = e.Body
	}
	_, op, err := c.act(ctx, "evidence", d, body)
	return op, err
}

// ReviewFilter limits a list of reviews; empty members do not.
type ReviewFilter struct {
	Owner  string
	Reason onefold.ReviewReason
	Status onefold.ReviewStatus
	// Age lists those that were opened at least so long ago.
	Age time.Duration
	PageOf
}

// Reviews lists reviews, newest first.
func (c *Client) Reviews(ctx context.Context, f ReviewFilter) (Page[Review], error) {
	q := f.values()
	set(q, "owner", f.Owner)
	set(q, "reason", string(f.Reason))
	set(q, "status", string(f.Status))
	if f.Age > 0 {
		q.Set("age", f.Age.String())
	}
	return get[Page[Review]](ctx, c, 0, q, "v1", "reviews")
}

// Connections lists the workspace's connections by name.
func (c *Client) Connections(ctx context.Context, p PageOf) (Page[Connection], error) {
	return get[Page[Connection]](ctx, c, 0, p.values(), "v1", "connections")
}

// Connection reads one connection.
func (c *Client) Connection(ctx context.Context, name string) (Connection, error) {
	return get[Connection](ctx, c, 0, nil, "v1", "connections", name)
}

// Pause stops every begin through a connection; look-ups go on.
func (c *Client) Pause(ctx context.Context, name, reason string) (Connection, error) {
	return post[Connection](ctx, c, nil, reasonBody(reason), "v1", "connections", name, "pause")
}

// Resume ends a pause.
func (c *Client) Resume(ctx context.Context, name, reason string) (Connection, error) {
	return post[Connection](ctx, c, nil, reasonBody(reason), "v1", "connections", name, "resume")
}

// PauseAll pauses every connection of the workspace.
func (c *Client) PauseAll(ctx context.Context, reason string) (Switched, error) {
	return post[Switched](ctx, c, nil, reasonBody(reason), "v1", "connections:pause")
}

// ResumeAll resumes every connection of the workspace.
func (c *Client) ResumeAll(ctx context.Context, reason string) (Switched, error) {
	return post[Switched](ctx, c, nil, reasonBody(reason), "v1", "connections:resume")
}

func reasonBody(reason string) map[string]any {
	if reason == "" {
		return map[string]any{}
	}
	return map[string]any{"reason": reason}
}

// Agreement reads the agreement of a capability over a connection.
func (c *Client) Agreement(ctx context.Context, capability, connection string) (Agreement, error) {
	return get[Agreement](ctx, c, 0, nil, "v1", "agreements", capability, connection)
}

// Stats counts the workspace's work.
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	return get[Stats](ctx, c, 0, nil, "v1", "stats")
}

// Capabilities lists the published capabilities by name.
func (c *Client) Capabilities(ctx context.Context, p PageOf) (Page[onefold.CapabilityInfo], error) {
	return get[Page[onefold.CapabilityInfo]](ctx, c, 0, p.values(), "v1", "capabilities")
}

// Targets lists the published targets by name.
func (c *Client) Targets(ctx context.Context, p PageOf) (Page[onefold.TargetInfo], error) {
	return get[Page[onefold.TargetInfo]](ctx, c, 0, p.values(), "v1", "targets")
}

// Tokens lists the workspace's tokens, without their secrets.
func (c *Client) Tokens(ctx context.Context, p PageOf) (Page[onefold.Token], error) {
	return get[Page[onefold.Token]](ctx, c, 0, p.values(), "v1", "tokens")
}

// SourceFile is one file of documents.
type SourceFile struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Publish publishes documents, all or none; with dryRun they are only checked.
func (c *Client) Publish(ctx context.Context, files []SourceFile, dryRun bool) (Publication, error) {
	query := url.Values{}
	if dryRun {
		query.Set("dry_run", "true")
	}
	return post[Publication](ctx, c, query, map[string]any{"files": files}, "v1", "documents")
}
