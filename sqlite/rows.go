package sqlite

import (
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
)

// nano writes a time as nanoseconds since 1970. Times beyond what that can say
// (years before 1678 and after 2262) become the nearest one that it can: they
// only ever order work, the exact value is kept as text beside it.
func nano(t time.Time) int64 {
	switch year := t.Year(); {
	case year < 1678:
		return math.MinInt64
	case year > 2261:
		return math.MaxInt64
	}
	return t.UnixNano()
}

func fromNano(n int64) time.Time { return time.Unix(0, n).UTC() }

// nullNano and the functions below write what may be absent.
func nullNano(t *time.Time) any {
	if t == nil {
		return nil
	}
	return nano(*t)
}

func fromNullNano(n sql.NullInt64) *time.Time {
	if !n.Valid {
		return nil
	}
	t := fromNano(n.Int64)
	return &t
}

func nullText(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// nullInstant keeps a caller's instant with all its digits: a repeat is
// compared with it (I4).
func nullInstant(t *time.Time) any {
	if t == nil {
		return nil
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func fromInstant(text sql.NullString) (*time.Time, error) {
	if !text.Valid {
		return nil, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text.String)
	if err != nil {
		return nil, fmt.Errorf("a stored instant: %w", err)
	}
	return &t, nil
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// claimDigest is what a claim is unique on: the first 16 bytes of SHA-256 over
// the three parts, each after its length, so that no two triples read alike.
func claimDigest(k onefold.ClaimKey) []byte {
	h := sha256.New()
	var length [4]byte
	for _, part := range []string{k.Workspace, k.Capability, k.Key} {
		binary.BigEndian.PutUint32(length[:], uint32(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	return h.Sum(nil)[:16]
}

// standingRow is what the columns of live_operation and finished_operation say
// about a standing.
type standingRow struct {
	state      string
	version    int64
	sends      int64
	due, wake  any
	leaseToken any
	leaseOwner any
	leaseUntil any
	open       int64
	unresolved int64
	contra     int64
	result     any
	document   string
}

func rowOf(op *onefold.Operation) (standingRow, error) {
	document, err := json.Marshal(&op.Standing)
	if err != nil {
		return standingRow{}, fmt.Errorf("write a standing: %w", err)
	}
	r := standingRow{
		state: string(op.State), version: op.Version, sends: flag(sends(op)),
		due: nullNano(op.Due), wake: nullNano(op.WakeAt()),
		unresolved: flag(op.Unresolved()), contra: flag(op.Contradicted), document: string(document),
	}
	if l := op.Lease; l != nil {
		r.leaseToken, r.leaseOwner, r.leaseUntil = l.Token, l.Worker, nano(l.Until)
	}
	for i := range op.Attempts {
		if !op.Attempts[i].Closed() {
			r.open++
		}
	}
	if op.Result != nil {
		r.result = nullText(op.Result.Reference)
	}
	return r, nil
}

// sends tells whether the operation's next step would send something to the
// target, which a paused connection forbids.
func sends(op *onefold.Operation) bool {
	return op.State == onefold.Prepared || op.State == onefold.Uncertain && op.Next == onefold.NextReplay
}

// scanner is a row that is read: sql.Row or sql.Rows.
type scanner interface{ Scan(dest ...any) error }

// scanOperation reads one row of the query operation.loaded. A row whose content is
// damaged is no error: the operation is Unreadable then, and whoever wants it whole
// asks held.readable.
func scanOperation(row scanner) (*held, error) {
	h := &held{}
	a := &h.op.Admitted
	var connection, revision, notBefore, deadline, metadata, identity, reference, state, standing sql.NullString
	var retention, created int64
	finished := false
	err := row.Scan(&h.num, &a.ID, &a.Workspace, &a.Capability, &a.ContractVersion, &a.Target, &a.TargetVersion,
		&connection, &h.connection, &a.Key, &a.SubmittedBy, &revision, &notBefore, &deadline, &metadata,
		&a.Fingerprint, &a.FingerprintKey, &identity, &reference, &a.IdentityCounter, &a.Owner, &retention, &created,
		&h.live, &finished, &state, &standing)
	if err != nil {
		return nil, err
	}
	a.Connection, a.Identity, a.Reference = connection.String, identity.String, reference.String
	a.KeyRetention, a.CreatedAt = time.Duration(retention), fromNano(created)
	if revision.Valid {
		a.Revision = &revision.String
	}
	if metadata.Valid {
		a.Metadata = json.RawMessage(metadata.String)
	}
	var early, late error
	a.NotBefore, early = fromInstant(notBefore)
	a.StartDeadline, late = fromInstant(deadline)
	unread := json.Unmarshal([]byte(standing.String), &h.op.Standing)
	switch {
	case !connection.Valid:
		h.op.Unreadable = "its connection has no row"
	case early != nil || late != nil:
		h.op.Unreadable = errors.Join(early, late).Error()
	case metadata.Valid && !json.Valid(a.Metadata):
		h.op.Unreadable = "its metadata is not JSON"
	case !standing.Valid:
		h.op.Unreadable = "its standing is gone"
	case h.live && finished:
		h.op.Unreadable = "its standing lies in two places"
	case unread != nil:
		h.op.Unreadable = "its standing cannot be read: " + unread.Error()
	case string(h.op.State) != state.String:
		h.op.Unreadable = fmt.Sprintf("it is %q by its standing and %q by its row", h.op.State, state.String)
	}
	if h.op.Unreadable != "" {
		a.Metadata, h.op.Standing = nil, onefold.Standing{}
	}
	return h, nil
}

// readable refuses an operation that cannot be read.
func (h *held) readable() error {
	if h.op.Unreadable == "" {
		return nil
	}
	return unreadable(h.op.ID, "what is stored of the operation cannot be read", h.op.Unreadable)
}

// unreadable is a record that is damaged. Why is for the log and for whoever has the
// file: it may repeat what is stored.
func unreadable(id, message, why string) error {
	return &onefold.Error{Code: onefold.CodeRecordUnreadable, Operation: id, Message: message, Cause: errors.New("sqlite: " + id + ": " + why)}
}

// admittedRow is what the insert of an operation takes, but for its number and
// its connection's, which come first and eighth.
func admittedRow(num, connection int64, a *onefold.Admitted) []any {
	revision, metadata := any(nil), any(nil)
	if a.Revision != nil {
		revision = *a.Revision
	}
	if a.Metadata != nil {
		metadata = string(a.Metadata)
	}
	return []any{
		num, a.ID, a.Workspace, a.Capability, a.ContractVersion, a.Target, a.TargetVersion, connection, a.Key,
		a.SubmittedBy, revision, nullInstant(a.NotBefore), nullInstant(a.StartDeadline), metadata, a.Fingerprint,
		a.FingerprintKey, nullText(a.Identity), nullText(a.Reference), a.IdentityCounter, a.Owner,
		int64(a.KeyRetention), nano(a.CreatedAt),
	}
}

// entryRow is what the insert of a timeline entry takes.
func entryRow(num int64, workspace string, e *onefold.Entry) ([]any, error) {
	pointers := any(nil)
	if len(e.Pointers) > 0 {
		text, err := json.Marshal(e.Pointers)
		if err != nil {
			return nil, fmt.Errorf("write a timeline entry: %w", err)
		}
		pointers = string(text)
	}
	return []any{
		e.Seq, num, workspace, nano(e.At), string(e.Actor.Kind), e.Actor.Name, string(e.Event), nullText(e.Rule),
		nullText(string(e.From)), nullText(string(e.To)), e.Version, nullText(e.Evidence), nullText(e.Attempt),
		nullText(e.Review), nullText(e.Detail), nullText(e.Reason), pointers,
	}, nil
}

func scanEntry(row scanner) (onefold.Entry, error) {
	e, at := onefold.Entry{}, int64(0)
	var rule, from, to, evidence, attempt, review, detail, reason, pointers sql.NullString
	err := row.Scan(&e.Seq, &e.Operation, &at, &e.Actor.Kind, &e.Actor.Name, &e.Event, &rule, &from, &to, &e.Version,
		&evidence, &attempt, &review, &detail, &reason, &pointers)
	if err != nil {
		return e, err
	}
	e.At, e.Rule, e.From, e.To = fromNano(at), rule.String, onefold.State(from.String), onefold.State(to.String)
	e.Evidence, e.Attempt, e.Review = evidence.String, attempt.String, review.String
	e.Detail, e.Reason = detail.String, reason.String
	if pointers.Valid {
		if json.Unmarshal([]byte(pointers.String), &e.Pointers) != nil {
			// One line that is damaged hides no other, of this operation or of the feed.
			e.Pointers, e.Detail = nil, strings.TrimSpace(e.Detail+" (which members differed cannot be read)")
		}
	}
	return e, nil
}
