package contract

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

const (
	// createdTolerance is how much earlier than the operation's admission a record
	// may say it was made without being older (M15, predates). The record's time is
	// the target's clock, often cut to seconds or minutes; a minute covers that and
	// the error of any clock that is synchronised at all, and is far shorter than
	// the life of a record that somebody made for other reasons.
	createdTolerance = time.Minute
	// createdDateTolerance is the same where the record gives a date alone: its day
	// may be counted in any time zone.
	createdDateTolerance = 24 * time.Hour
	// maxNamed bounds the references that a text about several records names.
	maxNamed = 5
)

// lookup is a compiled look-up.
type lookup struct {
	*Lookup
	states    *states // nil: every record is an effect
	message   message
	records   []string // nil with Records nil: the body is the record
	complete  *locator
	match     []check
	reference *locator
	created   []string
	absent    []condition
	// own is the derived value of the operation, identity or reference, that a
	// matching record carries; empty where it need carry none.
	own string
}

func (c *operationCompiler) lookup(l *Lookup, s *States) lookup {
	out := lookup{
		Lookup:    l,
		states:    c.states(s),
		message:   c.message(l.Pointer, l.Method, l.Path, l.Headers, l.Body),
		match:     c.checks(l.Match, l.Pointer+"/match"),
		reference: c.locator(l.Reference, l.Pointer+"/reference"),
	}
	out.message.asksAfresh()
	if l.Records != nil {
		out.records = c.pointer(*l.Records, l.Pointer+"/records")
	}
	if l.Created != "" {
		out.created = c.pointer(l.Created, l.Pointer+"/created")
	}
	if l.Complete != nil && !l.Complete.Always {
		out.complete = c.locator(&l.Complete.Locator, l.Pointer+"/complete")
	}
	for i := range l.Absent {
		out.absent = append(out.absent, c.condition(l.Absent[i], fmt.Sprintf("%s/absent/%d", l.Pointer, i)))
	}
	for i := range out.match {
		for _, member := range []string{"identity", "reference"} {
			if n := out.match[i].value; n != nil && l.By != LookupByEvidence && n.isOperationValue(member) {
				out.own = member
			}
		}
	}
	return out
}

// pick chooses the look-up of an operation's next turn and renders it. The
// contract's look-ups take turns as the reconcile budget is spent, so that one
// which never concludes does not keep the others from being asked; one that
// cannot be rendered for this request gives way to the next. The choice depends
// on the operation and the request alone, so that an answer is judged by the
// look-up that was sent.
//
// Where a poll is next it is the poll, unless that cannot be rendered: a target
// that never named the work that it accepted can still be looked at.
func (p *program) pick(m *materials) (l *lookup, f onefold.Frozen, err error) {
	if p.poll != nil && (m.op.Next == onefold.NextPoll || len(p.lookups) == 0) {
		if f, err = p.poll.message.freeze(m, p.poll.Timeout); err == nil {
			return p.poll, f, nil
		}
	}
	for i := range p.lookups {
		turn := (m.op.Reconcile.Spent%len(p.lookups) + i + len(p.lookups)) % len(p.lookups)
		l = &p.lookups[turn]
		if f, err = l.message.freeze(m, l.Timeout); err == nil {
			return l, f, nil
		}
	}
	return nil, f, err
}

// judgeLookup says what a look-up's answer means: found, several, absent or
// inconclusive (section 3). Whether an absence proves anything is the law's to
// say (M12).
func (p *program) judgeLookup(l *lookup, m *materials, x *onefold.Exchange) (onefold.LookupOutcome, onefold.Evidence) {
	ev := x.Evidence
	ev.Kind, ev.Status, ev.Asserts = onefold.EvidenceLookup, x.Status, onefold.AssertsNothing
	if l != nil && l.By == lookupByPoll {
		ev.Kind = onefold.EvidencePoll
	}
	out := onefold.LookupOutcome{Result: onefold.LookupInconclusive}
	switch {
	case l == nil:
		out.Detail = "the contract has no look-up for this operation"
	case x.NotSent || x.Status == 0:
		out.Detail = "the look-up had no answer" + because(x)
		out.PauseConnection = unusable(x)
	default:
		p.read(l, m, readAnswer(x), &out, &ev)
	}
	ev.Detail, ev.Reference, ev.Mismatches = out.Detail, out.Reference, out.Differs
	return out, ev
}

// read judges a look-up that was answered.
func (p *program) read(l *lookup, m *materials, a *answer, out *onefold.LookupOutcome, ev *onefold.Evidence) {
	seen := l.search(m, a)
	out.OwnIdentity = l.own != "" && len(seen.matching) > 0
	switch {
	case l.By == LookupByEvidence:
		p.candidates(l, m, a, seen, out)
		return
	case l.By == lookupByPoll && len(seen.matching) == 1 && p.anothers(m, seen.matching[0]):
		out.OwnIdentity = false
		out.Detail = "the answer shows a record that carries another value than this operation's: it is not the accepted work"
		return
	case len(seen.matching) == 1 && !seen.fuzzy:
		p.found(l, m, a, seen.matching[0], out, ev)
		return
	case len(seen.similar) > 0 && l.By != lookupByPoll:
		// What may be ours is shown to a person: once it was seen, an empty page
		// afterwards is no proof that there never was anything.
		out.Result, out.Detail = onefold.LookupCandidates, seen.why
		out.Candidates = p.shown(l, a, append(seen.matching, seen.similar...))
		return
	case len(seen.matching) > 1:
		out.Result = onefold.LookupSeveral
		out.Detail = fmt.Sprintf("%d different records match: %s", len(seen.matching), l.names(a, seen.matching))
		out.Candidates = p.shown(l, a, seen.matching)
		ev.Asserts = onefold.AssertsEffect
		return
	case l.By == lookupByPoll:
		// Whether the work is known at all is a look-up's to say: a poll proves no absence.
		if out.Detail = seen.why; out.Detail == "" {
			out.Detail = "the answer does not show the accepted work"
		}
		return
	}
	if seen.why == "" {
		seen.why = stale(a)
	}
	for i := range l.absent {
		// A body that was cut off is trouble on the way, not the target's word.
		if l.absent[i].Clean == nil && a.reading != bodyCut && len(seen.matching) == 0 && !seen.fuzzy && stale(a) == "" && l.absent[i].holds(a, m, false) == yes {
			out.Result = onefold.LookupAbsent
			out.Detail = fmt.Sprintf("status %d says that there is none", a.x.Status)
			p.absence(ev)
			return
		}
	}
	out.Detail = seen.why
	if out.Detail == "" && !l.whole(a) {
		out.Detail = "nothing matches, but the page may not be the whole answer"
	}
	if out.Detail == "" {
		out.Result = onefold.LookupAbsent
		out.Detail = fmt.Sprintf("none of %d records matches", seen.records)
		p.absence(ev)
	}
}

// absence marks evidence of absence as such where the contract says that a
// look-up can prove it; when it does is decided by the law (M12).
func (p *program) absence(ev *onefold.Evidence) {
	if p.op.Absence.Known() && p.op.Absence.Value == AbsenceAuthoritative {
		ev.Asserts = onefold.AssertsNoEffect
	}
}

// found judges the one record that matches.
func (p *program) found(l *lookup, m *materials, a *answer, record *identity.Value, out *onefold.LookupOutcome, ev *onefold.Evidence) {
	out.Candidates = p.shown(l, a, []*identity.Value{record})
	is, text := l.states.sort(record)
	if is != stateUnlisted && !l.dated(m, record, out, ev) {
		return
	}
	if is != stateEffect {
		p.noEffectYet(l, m, a, record, sorted{is, text}, out, ev)
		return
	}
	ev.Asserts = onefold.AssertsEffect
	reference, ok := l.named(m, a, record)
	out.Result, out.Reference, out.Detail = onefold.LookupFound, reference, "one record matches"
	if !ok {
		// The effect exists, whatever it is called: the law bars every further send.
		out.Reference, out.Detail = "", "a record matches, but its reference cannot be read"
	}
	v := p.compare(m, record)
	out.Differs = v.differs
	out.Detail += v.hint()
}

// dated reads when a record was made, where the contract says that it shows that.
// One that does not, or not in a readable way, cannot be judged: it may be older
// than the operation (M15), so that it is shown to a person, whatever else it says.
func (l *lookup) dated(m *materials, record *identity.Value, out *onefold.LookupOutcome, ev *onefold.Evidence) bool {
	if l.Created == "" {
		return true
	}
	at, date, ok := l.madeAt(record)
	if !ok {
		out.Result = onefold.LookupCandidates
		out.Detail = "a record matches, but its own time cannot be read from " + l.Created + ": it may be older than the operation"
		return false
	}
	ev.OccurredAt = &at
	out.Predates = older(at, date, m.op.CreatedAt)
	return true
}

// dayOr is a time, or the beginning of its day (UTC).
func dayOr(at time.Time, day bool) time.Time {
	if day {
		return at.UTC().Truncate(24 * time.Hour)
	}
	return at
}

// search is what the candidates of an answer say.
type search struct {
	matching []*identity.Value // different records that match
	records  int
	// fuzzy: a record may be the one in another spelling; similar are those.
	fuzzy   bool
	similar []*identity.Value
	// why it is that no match proves nothing, "" if nothing stands against it.
	why string
}

// search looks through the candidates. The same record listed twice is one.
func (l *lookup) search(m *materials, a *answer) search {
	var s search
	if !a.success() || a.reading != bodyJSON {
		s.why = fmt.Sprintf("status %d with %s", a.x.Status, a.reading)
		return s
	}
	candidates, why := l.candidates(a)
	if why == "" && a.x.Status != 200 {
		why = fmt.Sprintf("status %d", a.x.Status)
	}
	s.why, s.records = why, len(candidates)
	wanted, why := l.wanted(m)
	if why != "" {
		s.why = why
		return s
	}
	for _, record := range candidates {
		truth := l.matches(record, wanted)
		if truth == no {
			switch l.suspect(m, record, wanted) {
			case unclear:
				s.fuzzy, s.why = true, "a record came for our value that does not show whose it is"
			case yes:
				s.doubtful(record, "a record came that may be the one, though it does not show it as it was sent")
				continue
			case no:
			}
		}
		if truth == unclear && l.By == LookupByEvidence {
			truth = yes // a person sees the spelling
		}
		switch truth {
		case yes:
			s.add(l, a, record)
		case unclear:
			s.doubtful(record, "a record may be the one in another spelling")
		case no:
			if record.Kind() != identity.Object && s.why == "" {
				s.why = "a candidate is " + article(record.Kind()) + ", no record"
			}
		}
	}
	if s.why == "" && l.Records == nil {
		// A body that is the record can be something else entirely, an error inside
		// a 200 for instance. Only a rule under absent knows what absence looks like.
		s.why = "the body is not the record that was asked for"
	}
	return s
}

// doubtful keeps a record that may be the one.
func (s *search) doubtful(record *identity.Value, why string) {
	s.fuzzy, s.why, s.similar = true, why, append(s.similar, record)
}

// add keeps a matching record unless it is one of those that were seen: equal
// as a whole, or of the same readable reference.
func (s *search) add(l *lookup, a *answer, record *identity.Value) {
	reference, ok := l.reference.read(a, record)
	for _, have := range s.matching {
		if identity.EqualJSON(have, record) {
			return
		}
		if other, readable := l.reference.read(a, have); ok && readable && other == reference && l.reference.header == "" {
			return
		}
	}
	s.matching = append(s.matching, record)
}

// candidates are the records of an answer; why says what stands against its
// proving anything.
func (l *lookup) candidates(a *answer) (list []*identity.Value, why string) {
	if l.Records == nil {
		return []*identity.Value{a.body}, ""
	}
	v, ok := walk(a.body, l.records)
	switch {
	case !ok:
		return nil, "the answer has no " + *l.Records
	case v.Kind() != identity.Array:
		return nil, "the answer's " + *l.Records + " is " + article(v.Kind()) + ", no list"
	}
	return v.Items(), ""
}

// wanted renders what a record must show. A member that cannot be rendered
// makes the look-up inconclusive, and so does a match of nothing.
func (l *lookup) wanted(m *materials) (values []*identity.Value, why string) {
	for i := range l.match {
		v, present, err := l.match[i].value.value(m)
		if err != nil || !present {
			return nil, "the contract's match needs a value that the request does not have"
		}
		values = append(values, v)
	}
	if len(values) == 0 && l.By != lookupByPoll {
		return nil, "the contract's match names nothing"
	}
	return values, ""
}

// matches says whether a record shows every wanted value.
func (l *lookup) matches(record *identity.Value, wanted []*identity.Value) truth {
	result := yes
	if len(l.match) == 0 && record.Kind() != identity.Object {
		return no
	}
	for i := range l.match {
		v, ok := walk(record, l.match[i].tokens)
		if !ok {
			return no
		}
		switch agree(wanted[i], v) {
		case no:
			return no
		case unclear:
			result = unclear
		case yes:
		}
	}
	return result
}

// whole says whether the answer is the whole answer. It must say so itself
// where the contract does not: no word, or another than true, is no.
func (l *lookup) whole(a *answer) bool {
	switch {
	case l.Complete == nil:
		return false
	case l.Complete.Always:
		return true
	case l.complete.header != "":
		value, ok := a.header(l.complete.header)
		return ok && strings.EqualFold(value, "true")
	}
	v, ok := walk(a.body, l.complete.tokens)
	return ok && v.Bool()
}

// names lists the references of records, for a review.
func (l *lookup) names(a *answer, records []*identity.Value) string {
	var names []string
	for i, record := range records {
		if i == maxNamed {
			names = append(names, "…")
			break
		}
		reference, ok := l.reference.read(a, record)
		if !ok {
			names = append(names, "one without a readable reference")
			continue
		}
		names = append(names, onefold.Named(reference))
	}
	return strings.Join(names, ", ")
}

// madeAt reads a record's own time: RFC 3339, an ISO date, or seconds or
// milliseconds since 1970.
func (l *lookup) madeAt(record *identity.Value) (at time.Time, date, ok bool) {
	if l.Created == "" {
		return at, false, false
	}
	v, shown := walk(record, l.created)
	if !shown {
		return at, false, false
	}
	if v.Kind() == identity.Number {
		return epoch(v)
	}
	if at, err := time.Parse(time.RFC3339Nano, strings.ToUpper(v.Text())); err == nil {
		return at.UTC(), false, true
	}
	if at, err := time.Parse(time.DateOnly, v.Text()); err == nil {
		return at, true, true
	}
	return at, false, false
}

// epoch reads a number as seconds since 1970, or as milliseconds where seconds
// would lie beyond the year 5000.
func epoch(v *identity.Value) (at time.Time, date, ok bool) {
	const milliseconds = 1e11
	n, err := strconv.ParseFloat(v.Number(), 64)
	switch {
	case err != nil || math.Abs(n) >= milliseconds*1000:
		return at, false, false
	case math.Abs(n) >= milliseconds:
		return time.UnixMilli(int64(n)).UTC(), false, true
	default:
		return time.Unix(int64(n), 0).UTC(), false, true
	}
}
