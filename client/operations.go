package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
)

// Submission is what is submitted. Capability, Key and Request are needed; the
// others are left out where they are zero.
type Submission struct {
	Capability      string          `json:"capability"`
	ContractVersion int             `json:"contract_version,omitempty"`
	Connection      string          `json:"connection,omitempty"`
	Request         json.RawMessage `json:"request"`
	Revision        *string         `json:"revision,omitempty"`
	NotBefore       *time.Time      `json:"not_before,omitempty"`
	StartDeadline   *time.Time      `json:"start_deadline,omitempty"`
	Metadata        json.RawMessage `json:"metadata,omitempty"`
	// Key is the caller key, bare (I1): one that begins with a quote is refused.
	Key string `json:"-"`
	// Wait asks to wait until the operation is settled, held, or needs a person.
	Wait time.Duration `json:"-"`
}

// Submitted is an operation with how it came about.
type Submitted struct {
	Operation
	// Replayed: the key was known, and this is the operation that has it.
	Replayed bool
}

// Submit submits an operation. After *Unanswered, or a *Problem whose Retry is
// same_request, the same submission is safe to send again.
func (c *Client) Submit(ctx context.Context, s Submission) (Submitted, error) {
	a, err := c.submit(ctx, s, nil)
	if err != nil {
		return Submitted{}, err
	}
	op, err := decoded[Operation](a)
	if err == nil && !op.answers(s.Key) {
		err = a.foreign("status %d with an operation of another key", a.status)
	}
	if err != nil {
		return Submitted{}, err
	}
	return Submitted{Operation: op, Replayed: a.header.Get("Idempotent-Replayed") == "true"}, nil
}

// DryRun makes all checks and renders the outgoing request; nothing is stored.
func (c *Client) DryRun(ctx context.Context, s Submission) (Preview, error) {
	s.Wait = 0
	a, err := c.submit(ctx, s, url.Values{"dry_run": {"true"}})
	if err != nil {
		return Preview{}, err
	}
	return decoded[Preview](a)
}

func (c *Client) submit(ctx context.Context, s Submission, query url.Values) (*answer, error) {
	key, err := headerKey(s.Key)
	if err != nil {
		return nil, err
	}
	if bad := s.unwritable(); bad != nil {
		return nil, bad
	}
	r := request{method: http.MethodPost, path: []string{"v1", "operations"}, query: query, body: s, header: http.Header{}, wait: s.Wait}
	r.header.Set("Idempotency-Key", key)
	if s.Wait > 0 {
		r.header.Set("Prefer", "wait="+strconv.Itoa(seconds(s.Wait)))
	}
	return c.do(ctx, r)
}

// headerKey writes a key as a header takes it. One that begins with a quote is no
// key; it is sent in the quoted form, so that the server refuses it as it stands
// and does not take another key out of it.
func headerKey(key string) (string, error) {
	if strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", &Problem{
			Code: onefold.CodeKeyInvalid, Status: http.StatusBadRequest, Reason: "visible_ascii", Claim: "unchecked",
			Detail: "a key consists of visible ASCII characters", Retry: onefold.RetryChanged,
		}
	}
	if strings.HasPrefix(key, `"`) {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`, nil
	}
	return key, nil
}

// Operation reads an operation. wait, unless 0, waits until it is settled, or its
// version is above afterVersion (unless that is 0).
func (c *Client) Operation(ctx context.Context, id string, wait time.Duration, afterVersion int64) (Operation, error) {
	q := url.Values{}
	if wait > 0 {
		q.Set("wait", strconv.Itoa(seconds(wait)))
		if afterVersion > 0 {
			q.Set("after_version", strconv.FormatInt(afterVersion, 10))
		}
	}
	a, err := c.do(ctx, request{method: http.MethodGet, path: []string{"v1", "operations", id}, query: q, wait: wait})
	if err != nil {
		return Operation{}, err
	}
	return decodedOf(a, id)
}

// decodedOf reads the operation that was asked for, and no other.
func decodedOf(a *answer, id string) (Operation, error) {
	op, err := decoded[Operation](a)
	if err == nil && op.ID != id {
		return Operation{}, a.foreign("status %d with another operation", a.status)
	}
	return op, err
}

// Filter limits a list of operations; empty members do not.
type Filter struct {
	Capability   string
	Connection   string
	State        onefold.State
	Key          string
	Reference    string
	Identity     string
	Review       string
	Contradicted *bool
	CreatedFrom  *time.Time
	CreatedTo    *time.Time
	PageOf
}

// Operations lists operations, newest first.
func (c *Client) Operations(ctx context.Context, f Filter) (Page[Operation], error) {
	q := f.values()
	for name, value := range map[string]string{
		"capability": f.Capability, "connection": f.Connection, "state": string(f.State), "key": f.Key,
		"reference": f.Reference, "identity": f.Identity, "review": f.Review,
	} {
		set(q, name, value)
	}
	if f.Contradicted != nil {
		q.Set("contradicted", strconv.FormatBool(*f.Contradicted))
	}
	setTime(q, "created_from", f.CreatedFrom)
	setTime(q, "created_to", f.CreatedTo)
	return get[Page[Operation]](ctx, c, 0, q, "v1", "operations")
}

func (p PageOf) values() url.Values {
	q := url.Values{}
	setLimit(q, p.Limit)
	set(q, "cursor", p.Cursor)
	return q
}

// Timeline reads what changed an operation, oldest first.
func (c *Client) Timeline(ctx context.Context, id string, p PageOf) (Page[Entry], error) {
	return get[Page[Entry]](ctx, c, 0, p.values(), "v1", "operations", id, "timeline")
}

// Changes reads changes of all of the workspace's operations in the order in which
// they were committed, oldest first, after a cursor ("" from the beginning). Keep
// the cursor of what was worked off: NextCursor after a whole page, or a change's
// own. An empty page says that there is nothing new yet.
func (c *Client) Changes(ctx context.Context, p PageOf) (Changes, error) {
	return get[Changes](ctx, c, 0, p.values(), "v1", "changes")
}

// Attempts reads an operation's attempts in the order of their numbers.
func (c *Client) Attempts(ctx context.Context, id string, p PageOf) (Page[Attempt], error) {
	return get[Page[Attempt]](ctx, c, 0, p.values(), "v1", "operations", id, "attempts")
}

// Evidence reads an operation's evidence, oldest first.
func (c *Client) Evidence(ctx context.Context, id string, p PageOf) (Page[Evidence], error) {
	return get[Page[Evidence]](ctx, c, 0, p.values(), "v1", "operations", id, "evidence")
}

// Request reads the approved request and the frozen outgoing one.
func (c *Client) Request(ctx context.Context, id string) (Request, error) {
	return get[Request](ctx, c, 0, nil, "v1", "operations", id, "request")
}

// Explain reads an operation in plain language.
func (c *Client) Explain(ctx context.Context, id string) (Explanation, error) {
	return get[Explanation](ctx, c, 0, nil, "v1", "operations", id, "explain")
}
