package sqlite

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
)

const (
	// maxPage bounds a page of operations or reviews (section 4), defaultPage is
	// given where no limit is asked for.
	maxPage     = 200
	defaultPage = 50
)

// place is where a page ended: the time and number of its last row. Pages go
// from newer to older, so what is stored meanwhile never shifts a page.
type place struct{ at, num int64 }

// newest is the place before the first page.
func newest() place { return place{math.MaxInt64, math.MaxInt64} }

const cursorVersion = "1"

func (p place) cursor() string {
	text := cursorVersion + "." + strconv.FormatInt(p.at, 36) + "." + strconv.FormatInt(p.num, 36)
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

func readCursor(cursor string) (place, error) {
	if cursor == "" {
		return newest(), nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	parts := strings.Split(string(text), ".")
	if err != nil || len(parts) != 3 || parts[0] != cursorVersion {
		return place{}, badParameter("cursor", "is not one that a list gave")
	}
	at, err1 := strconv.ParseInt(parts[1], 36, 64)
	num, err2 := strconv.ParseInt(parts[2], 36, 64)
	if err1 != nil || err2 != nil {
		return place{}, badParameter("cursor", "is not one that a list gave")
	}
	return place{at, num}, nil
}

func badParameter(name, what string) error {
	return &onefold.Error{Code: onefold.CodeParameterInvalid, Message: name + " " + what, Reason: name}
}

func pageSize(limit int) (int, error) {
	switch {
	case limit == 0:
		return defaultPage, nil
	case limit < 0 || limit > maxPage:
		return 0, badParameter("limit", fmt.Sprintf("must be from 1 to %d", maxPage))
	}
	return limit, nil
}

// List returns a page of operations, newest first by their admission, and the
// cursor of the next page, "" at the end. Without a workspace it lists those of
// all, for the engine alone. Limit 0 means 50. One whose record is damaged has its
// place in the page as Unreadable. Errors: parameter_invalid.
func (s *Store) List(ctx context.Context, q onefold.Query) ([]onefold.Operation, string, error) {
	limit, err := pageSize(q.Limit)
	if err != nil {
		return nil, "", err
	}
	from, err := readCursor(q.Cursor)
	if err != nil {
		return nil, "", err
	}
	workspaces, err := s.workspacesOf(ctx, q.Workspace)
	if err != nil {
		return nil, "", s.readers.failure("list operations", err)
	}
	var found []*held
	for _, workspace := range workspaces {
		q.Workspace = workspace
		page, err := s.listWorkspace(ctx, q, from, limit+1)
		if err != nil {
			return nil, "", s.readers.failure("list operations", err)
		}
		found = append(found, page...)
	}
	slices.SortFunc(found, func(a, b *held) int {
		return cmp.Or(b.op.CreatedAt.Compare(a.op.CreatedAt), cmp.Compare(b.num, a.num))
	})
	next := ""
	if len(found) > limit {
		found = found[:limit]
		last := found[limit-1]
		next = place{nano(last.op.CreatedAt), last.num}.cursor()
	}
	out := make([]onefold.Operation, len(found))
	for i, h := range found {
		out[i] = h.op
	}
	return out, next, nil
}

// workspacesOf is the given workspace, or every one that ever had an operation.
func (s *Store) workspacesOf(ctx context.Context, workspace string) ([]string, error) {
	if workspace != "" {
		return []string{workspace}, nil
	}
	return collect(ctx, s.readers, "list.workspaces", scanText)
}

func (s *Store) listWorkspace(ctx context.Context, q onefold.Query, from place, limit int) ([]*held, error) {
	connection := int64(0)
	if q.Connection != "" {
		c, err := s.readers.connection(ctx, onefold.ConnectionRef{Workspace: q.Workspace, Connection: q.Connection})
		if err != nil || c == nil {
			return nil, err
		}
		connection = c.num
	}
	digests := any(nil)
	if q.Key != "" {
		var err error
		if digests, err = s.digestsOf(ctx, q); err != nil {
			return nil, err
		}
	}
	contradicted := any(nil)
	if q.Contradicted != nil {
		contradicted = flag(*q.Contradicted)
	}
	return collect(ctx, s.readers, listName(&q), scanOperation,
		q.Workspace, q.Capability, connection, string(q.State), contradicted, bound(q.CreatedFrom, math.MinInt64),
		bound(q.CreatedTo, math.MaxInt64), q.SubmittedBy, from.at, from.num, limit, digests, q.Key, q.Identity,
		q.Reference, q.Review)
}

func bound(t *time.Time, otherwise int64) int64 {
	if t == nil {
		return otherwise
	}
	return nano(*t)
}

// listName chooses the index to walk: the one that leaves the fewest rows to
// look at.
func listName(q *onefold.Query) string {
	switch {
	case q.Key != "":
		return "list.by_key"
	case q.Review != "":
		return "list.by_review"
	case q.Identity != "":
		return "list.by_identity"
	case q.Reference != "":
		return "list.by_reference"
	case q.Contradicted != nil && *q.Contradicted:
		return "list.contradicted"
	case q.State != "" && !q.State.Terminal():
		return "list.by_state"
	case q.Connection != "":
		return "list.by_connection"
	case q.Capability != "":
		return "list.by_capability"
	case q.State != "":
		return "list.by_state"
	}
	return "list.by_time"
}

// digestsOf are the digests of the claims that a key can have: with each of the
// workspace's capabilities, unless the query names one.
func (s *Store) digestsOf(ctx context.Context, q onefold.Query) (string, error) {
	capabilities := []string{q.Capability}
	if q.Capability == "" {
		var err error
		if capabilities, err = collect(ctx, s.readers, "list.capabilities", scanText, q.Workspace); err != nil {
			return "", err
		}
	}
	digests := make([]string, 0, len(capabilities))
	for _, capability := range capabilities {
		k := onefold.ClaimKey{Workspace: q.Workspace, Capability: capability, Key: q.Key}
		digests = append(digests, hex.EncodeToString(claimDigest(k)))
	}
	text, err := json.Marshal(digests)
	return string(text), err
}

// reviewRow is one row of a list of reviews.
type reviewRow struct {
	place
	review    onefold.Review
	operation string
	// unreadable says what is wrong with the row, "" where it can be read; then the
	// review has its id alone.
	unreadable string
}

// Reviews returns a page of reviews with their operations, newest first, and
// the cursor of the next page, "" at the end. Without a workspace it lists
// those of all, for the engine alone. Limit 0 means 50. Errors:
// parameter_invalid.
func (s *Store) Reviews(ctx context.Context, q onefold.ReviewQuery) ([]onefold.ReviewItem, string, error) {
	limit, err := pageSize(q.Limit)
	if err != nil {
		return nil, "", err
	}
	from, err := readCursor(q.Cursor)
	if err != nil {
		return nil, "", err
	}
	workspaces, err := s.workspacesOf(ctx, q.Workspace)
	if err != nil {
		return nil, "", s.readers.failure("list reviews", err)
	}
	var found []reviewRow
	for _, workspace := range workspaces {
		page, err := collect(ctx, s.readers, reviewListName(&q), scanReview, workspace, q.Owner, string(q.Reason),
			string(q.Status), nullNano(q.OlderThan), from.at, from.num, limit+1)
		if err != nil {
			return nil, "", s.readers.failure("list reviews", err)
		}
		found = append(found, page...)
	}
	slices.SortFunc(found, func(a, b reviewRow) int { return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(b.num, a.num)) })
	next := ""
	if len(found) > limit {
		found = found[:limit]
		next = found[limit-1].cursor()
	}
	out := make([]onefold.ReviewItem, len(found))
	for i, row := range found {
		if out[i], err = s.reviewItem(ctx, row); err != nil {
			return nil, "", err
		}
	}
	return out, next, nil
}

// reviewItem finds the operation of a review. Where the row of the list cannot be
// read the operation's own copy of the review takes its place, and where there is
// none the operation is Unreadable.
func (s *Store) reviewItem(ctx context.Context, row reviewRow) (onefold.ReviewItem, error) {
	found, err := collect(ctx, s.readers, "operation.by_id", scanOperation, row.operation, "")
	if err != nil || len(found) == 0 {
		return onefold.ReviewItem{}, cmp.Or(s.readers.failure("list reviews", err), unknownOperation(row.operation))
	}
	item := onefold.ReviewItem{Review: row.review, Operation: found[0].op}
	if row.unreadable == "" {
		return item, nil
	}
	for _, r := range item.Operation.Reviews {
		if r.ID == row.review.ID {
			item.Review = r
			return item, nil
		}
	}
	if item.Operation.Unreadable == "" {
		item.Operation.Unreadable, item.Operation.Standing = "its review "+row.review.ID+" cannot be read: "+row.unreadable, onefold.Standing{}
	}
	return item, nil
}

func reviewListName(q *onefold.ReviewQuery) string {
	switch {
	case q.Owner != "":
		return "review.by_owner"
	case q.Status != "":
		return "review.by_status"
	}
	return "review.by_workspace"
}

func scanReview(row scanner) (r reviewRow, err error) {
	document, id := "", ""
	if err := row.Scan(&r.num, &r.at, &id, &document, &r.operation); err != nil {
		return r, err
	}
	if err := json.Unmarshal([]byte(document), &r.review); err != nil {
		r.review, r.unreadable = onefold.Review{}, err.Error()
	}
	r.review.ID = id
	return r, nil
}
