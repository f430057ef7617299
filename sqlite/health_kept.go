package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/onefold-dev/onefold"
)

// GapKind is what is missing of an operation.
type GapKind string

// What may be missing: the claim that holds the caller key, the approved request,
// the outgoing one, rows of evidence, lines of the timeline, and of one that is
// finished a standing that can be read and is what the columns beside it repeat.
const (
	GapClaim    GapKind = "claim"
	GapPayload  GapKind = "payload"
	GapFrozen   GapKind = "frozen"
	GapEvidence GapKind = "evidence"
	GapTimeline GapKind = "timeline"
	GapStanding GapKind = "standing"
)

// GapKinds lists the kinds in the order in which they are told.
func GapKinds() []GapKind {
	return []GapKind{GapClaim, GapPayload, GapFrozen, GapEvidence, GapTimeline, GapStanding}
}

// Gap is something that is missing of an operation, with one sentence part that
// names ids and no value.
type Gap struct {
	Kind GapKind
	Text string
}

// Searched tells how far a search among all operations came: how many were looked
// at, the newest first, and whether that was every one.
type Searched struct {
	Seen int64
	All  bool
}

// EachKept looks, from the newest operation on, whether everything is kept that
// what is kept speaks of: the claim, the approved request, the outgoing request
// where an attempt began, each evidence that standing or timeline name, and a
// timeline that begins with the admission and has a line for every version up to
// the standing's, every attempt and every observation. It holds the standing of each
// finished operation against its columns and the law; EachLive does that for the
// others. visit is called for every operation, with what was fixed at its admission
// but for times and identities, and its standing where that can be read. When ctx is
// over it returns how far it came.
//
// What left no trace cannot be missed: a look-up that learnt nothing and whose line
// and evidence are both gone, or an operation of which every row is.
func (i *Inspection) EachKept(ctx context.Context, visit func(op *onefold.Operation, gaps []Gap)) (s Searched, err error) {
	for before := int64(math.MaxInt64); ; {
		page, err := collect(ctx, i.reader, "health.kept", scanKept, before, inspectPage)
		unclaimed := map[int64]bool{}
		if err == nil {
			unclaimed, err = i.unclaimed(ctx, page)
		}
		if err != nil {
			if ctx.Err() != nil {
				return s, nil //nolint:nilerr // the time was over: what was seen is the answer, and All is false
			}
			return s, i.reader.failure("read what is kept of the operations", err)
		}
		for _, k := range page {
			visit(&k.op, k.gaps(unclaimed[k.num]))
			before = k.num
		}
		s.Seen += int64(len(page))
		if len(page) < inspectPage {
			s.All = true
			return s, nil
		}
	}
}

// unclaimed finds those of a page whose key nothing holds.
func (i *Inspection) unclaimed(ctx context.Context, page []*kept) (map[int64]bool, error) {
	pairs := make([][2]any, 0, len(page))
	for _, k := range page {
		claim := onefold.ClaimKey{Workspace: k.op.Workspace, Capability: k.op.Capability, Key: k.op.Key}
		pairs = append(pairs, [2]any{k.num, hex.EncodeToString(claimDigest(claim))})
	}
	given, err := json.Marshal(pairs)
	if err != nil {
		return nil, fmt.Errorf("write digests: %w", err)
	}
	found, err := collect(ctx, i.reader, "health.unclaimed", func(row scanner) (num int64, err error) {
		err = row.Scan(&num)
		return num, err
	}, string(given))
	out := map[int64]bool{}
	for _, num := range found {
		out[num] = true
	}
	return out, err
}

// kept is what there is of one operation.
type kept struct {
	num      int64
	op       onefold.Operation
	payload  bool
	frozen   sql.NullString
	standing *onefold.Standing // the operation's, nil where it cannot be read
	lines    []keptLine
	evidence []keptEvidence
	// wrong is what is wrong with the row of a finished operation.
	wrong []string
}

type keptLine struct {
	Seq      int64             `json:"seq"`
	Event    onefold.EventKind `json:"event"`
	Version  int64             `json:"version"`
	Evidence string            `json:"evidence"`
	Attempt  string            `json:"attempt"`
}

type keptEvidence struct {
	ID   string               `json:"id"`
	Kind onefold.EvidenceKind `json:"kind"`
}

func scanKept(row scanner) (*kept, error) {
	k, f := &kept{}, finishedRow{}
	a := &k.op.Admitted
	created, live := int64(0), false
	var deadline, standing sql.NullString
	lines, evidence := "", ""
	err := row.Scan(&k.num, &a.ID, &a.Workspace, &a.Capability, &a.ContractVersion, &a.Target, &a.TargetVersion, &a.Connection,
		&a.Key, &a.Owner, &created, &deadline, &a.FingerprintKey, &live, &f.here, &f.state, &f.version, &f.result, &f.settled,
		&f.elsewhere, &k.payload, &k.frozen, &standing, &lines, &evidence)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(lines), &k.lines); err != nil {
		return nil, fmt.Errorf("read the timeline of %s: %w", a.ID, err)
	}
	if err := json.Unmarshal([]byte(evidence), &k.evidence); err != nil {
		return nil, fmt.Errorf("read the evidence of %s: %w", a.ID, err)
	}
	slices.SortFunc(k.lines, func(a, b keptLine) int { return cmp.Compare(a.Seq, b.Seq) })
	a.CreatedAt = fromNano(created)
	var late error
	a.StartDeadline, late = fromInstant(deadline)
	unread := json.Unmarshal([]byte(standing.String), &k.op.Standing)
	if unread == nil {
		k.standing = &k.op.Standing
	} else {
		k.op.Standing = onefold.Standing{}
	}
	// One that has none, or two, is another finding.
	if f.here && !live {
		k.wrong = f.wrong(&k.op, cmp.Or(unread, late))
	}
	return k, nil
}

// finishedRow is what the columns of finished_operation say.
type finishedRow struct {
	here, elsewhere  bool
	state            string
	version, settled int64
	result           sql.NullString
}

// wrong lists in what a finished operation's row, its standing and the law disagree.
func (f *finishedRow) wrong(op *onefold.Operation, unread error) []string {
	if unread != nil {
		return []string{"its standing cannot be read: " + unread.Error()}
	}
	want, err := rowOf(op)
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, c := range []struct {
		bad  bool
		text string
	}{
		{f.elsewhere, "its workspace or time is not that of its admission"},
		{f.state != want.state, "its column state is not what its standing says"},
		{f.version != want.version, "its column version is not what its standing says"},
		{anyText(f.result) != want.result, "its column result_reference is not what its standing says"},
		{op.SettledAt == nil || nano(*op.SettledAt) != f.settled, "its column settled_at is not what its standing says"},
		{op.Live(), "it is not over, and among the finished ones"},
	} {
		if c.bad {
			out = append(out, c.text)
		}
	}
	if why := op.Broken(); why != "" {
		out = append(out, why)
	}
	return out
}

// gaps lists what is missing. Of an operation whose standing is lost, which is
// another finding, no more is said than the rest shows.
func (k *kept) gaps(unclaimed bool) []Gap {
	var out []Gap
	gap := func(missing bool, kind GapKind, text string) {
		if missing {
			out = append(out, Gap{kind, text})
		}
	}
	gap(unclaimed, GapClaim, "nothing holds its key, or tells that it was let go")
	gap(!k.payload, GapPayload, "its approved request is gone")
	if s := k.standing; s != nil {
		gap(len(s.Attempts) > 0 && !k.frozen.Valid, GapFrozen, "an attempt began, and the request that it sent is gone")
		gap(k.frozen.Valid && s.FrozenDigest != k.frozen.String, GapFrozen, "its outgoing request is not the one that its attempts began with")
	}
	for _, id := range k.unfounded() {
		gap(true, GapEvidence, id+" is named and gone")
	}
	for _, text := range k.untold() {
		gap(true, GapTimeline, text)
	}
	for _, text := range k.wrong {
		gap(true, GapStanding, text)
	}
	return out
}

// unfounded lists the evidence that is named and not there.
func (k *kept) unfounded() []string {
	var named []string
	name := func(id string) {
		if id != "" && !slices.Contains(named, id) && !slices.ContainsFunc(k.evidence, func(e keptEvidence) bool { return e.ID == id }) {
			named = append(named, id)
		}
	}
	for _, l := range k.lines {
		name(l.Evidence)
	}
	if k.standing == nil {
		return named
	}
	s := k.standing
	for i := range s.Attempts {
		name(s.Attempts[i].Evidence)
	}
	for i := range s.Reviews {
		name(s.Reviews[i].Evidence)
	}
	for _, r := range []*onefold.Result{s.Result, s.Elsewhere} {
		if r != nil {
			name(r.Evidence)
		}
	}
	if s.Rejection != nil {
		name(s.Rejection.Evidence)
	}
	return named
}

// untold lists what the timeline has to tell and does not.
func (k *kept) untold() []string {
	var out []string
	versions, newest := map[int64]bool{}, int64(0)
	begun, told := map[string]bool{}, map[string]bool{}
	for _, l := range k.lines {
		versions[l.Version], newest = true, max(newest, l.Version)
		told[l.Evidence] = true
		if l.Event == onefold.EventBegun {
			begun[l.Attempt] = true
		}
	}
	// An operation's number is that of its first line.
	if len(k.lines) == 0 || k.lines[0].Seq != k.num || k.lines[0].Event != onefold.EventAdmitted {
		out = append(out, "its timeline does not begin with its admission")
	}
	for _, e := range k.evidence {
		if seenByLine(e.Kind) && !told[e.ID] {
			out = append(out, "no line tells of "+e.ID)
		}
	}
	if k.standing == nil {
		return out
	}
	lost, first := 0, int64(0)
	for v := int64(1); v <= k.standing.Version; v++ {
		if !versions[v] {
			if lost++; lost == 1 {
				first = v
			}
		}
	}
	if lost > 0 {
		out = append(out, fmt.Sprintf("%d of its %d changes have no line, the first is the one to version %d", lost, k.standing.Version, first))
	}
	if newest > k.standing.Version {
		out = append(out, fmt.Sprintf("its newest line is of version %d, its standing of %d", newest, k.standing.Version))
	}
	for i := range k.standing.Attempts {
		if id := k.standing.Attempts[i].ID; !begun[id] {
			out = append(out, "no line tells that "+id+" began")
		}
	}
	return out
}

// seenByLine tells whether evidence of a kind always comes with a line: what was
// seen of the target does. The end of a lease, say, may come without.
func seenByLine(kind onefold.EvidenceKind) bool {
	switch kind {
	case onefold.EvidenceResponse, onefold.EvidenceTransport, onefold.EvidenceLookup, onefold.EvidencePoll, onefold.EvidenceEvent:
		return true
	case onefold.EvidenceOperator, onefold.EvidenceLeaseExpiry, onefold.EvidenceRecovery:
	}
	return false
}
