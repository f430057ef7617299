package contract

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/onefold-dev/onefold"
)

// The sections about the target: what is sent, what protects it, how it is
// asked, and what its answers mean.

func (a *agreement) sending() {
	a.begin("sending", "What is sent")
	i := &a.op.Identity
	rows := [][]string{
		{"Request", a.requestWords()},
		{"Time-out of an attempt", span(a.op.Write.Timeout)},
		{"Request identity", formatWords(i.Format)},
		{"Identity travels in", a.carrierWords()},
		{"Reference", formatWords(a.op.ReferenceFormat)},
		{"Answer is held against the request in", a.verifyWords()},
		{"The target's record is", a.recordWords()},
	}
	a.table([]string{"What", "Here"}, rows...)
	if a.op.Go != nil {
		a.calling()
		return
	}
	a.list(
		"The outgoing request is built once and stored before the first attempt; every later attempt sends the same bytes. Credentials alone are taken fresh, and are never stored, logged or shown.",
		"Identity and reference are derived from the caller's key, not drawn: the same key gives the same ones again.",
		"An attempt is recorded durably before its first byte. It is at most one request on the wire: no redirect is followed, and nothing below onefold sends again.",
	)
}

func (a *agreement) carrierWords() string {
	c := a.op.Identity.Carrier
	switch {
	case a.op.Identity.Kind == IdentityNone:
		return "nothing: the target has no use for it"
	case c == nil:
		return "the request itself, where the contract writes it"
	case c.In == carriedByCall:
		return "the call of the function, which passes it on"
	case c.In == "path":
		return "the path"
	}
	return "the " + c.In + ", as " + code(c.Name)
}

func formatWords(f Format) string {
	words := fmt.Sprintf("%d characters, %d bits", f.Length(), f.Bits())
	switch f.Alphabet {
	case "", "uuid":
		words = "a UUID, " + words
	case "hex", "digits", "alnum", "base32hex":
		words = f.Alphabet + ", " + words
	default:
		words = "of the characters " + code(f.Alphabet) + ", " + words
	}
	if f.Reason != "" {
		words += " (fewer than 64, because: " + prose(f.Reason) + ")"
	}
	return words
}

func (a *agreement) verifyWords() string {
	if len(a.op.Verify) == 0 {
		return "nothing: an answer that confirms is believed whatever it says about amounts and names"
	}
	return andList(codes(pointersOf(a.op.Verify))) + ": what differs does not confirm, nothing is sent again, and a person decides"
}

func (a *agreement) recordWords() string {
	if a.op.References == ReferencesShared {
		return "that of one operation or of several: two operations may be confirmed by one record"
	}
	return "one operation's: an answer with a record that another operation was confirmed by does not confirm, unless the request names that record; nothing is sent again, and a person decides"
}

func pointersOf(checks []Check) []string {
	out := make([]string, len(checks))
	for i, c := range checks {
		out[i] = c.Pointer
	}
	return out
}

func (a *agreement) protection() {
	a.begin("protection", "Protection against a second effect")
	a.say("Strength: "+string(a.terms.Protection)+": "+protectionWords(a.terms.Protection)+".", "It follows from the contract:")
	reasons := make([]string, len(a.derived.Reasons))
	for i, reason := range a.derived.Reasons {
		reasons[i] = prose(reason)
	}
	a.list(reasons...)
	rows := [][]string{{"What the target enforces", a.kindWords()}}
	for _, f := range identityFacts(a.op) {
		rows = append(rows, []string{f.name, f.value})
	}
	if a.policy.Window > 0 && a.policy.Window != onefold.Forever {
		rows = append(rows, []string{"Margin kept before the window's end", fmt.Sprintf("%s: one time-out (%s) and the error of our own clock (%s)",
			seconds(a.policy.WindowMargin), seconds(a.policy.Timeout), seconds(a.policy.WindowMargin-a.policy.Timeout))})
	}
	rows = append(rows, []string{"A repeat may be sent", a.replayWords()})
	a.table([]string{"What", "Here"}, rows...)
}

func (a *agreement) kindWords() string {
	switch a.op.Identity.Kind {
	case IdentityKey:
		return "a key that is sent for this purpose"
	case IdentityUniqueReference:
		return "a reference that it takes only one time"
	case IdentityClientAssignedID:
		return "an id that the caller assigns"
	case IdentityCreateOnly:
		return "that a record is created and never replaced"
	case IdentityUpsert:
		return "nothing: a repeat writes over what is there"
	case IdentityPossibleResendFlag:
		return "nothing by itself: it only takes a flag that says that a request may be a repeat"
	case IdentityNone:
		return "nothing"
	}
	return code(string(a.op.Identity.Kind))
}

// replayWords says until when a safe repeat may begin (M11a).
func (a *agreement) replayWords() string {
	for _, step := range a.derived.Plan {
		switch {
		case step.Step != onefold.StepReplay:
		case !step.Possible:
			return "never: it would not be safe"
		case step.Until == onefold.Forever:
			return "without end, in the same scope"
		default:
			return "until " + span(step.Until) + " after the first dispatch, in the same scope"
		}
	}
	return "never: the contract does not name it"
}

func (a *agreement) lookup() {
	a.begin("lookup", "Look-up")
	a.accepted()
	if len(a.op.Lookups) == 0 {
		a.say("This contract has no look-up: the target cannot be asked whether an effect exists.",
			fmt.Sprintf("An attempt whose worker went silent counts as open for %s (straggler).", span(a.policy.Straggler)))
		return
	}
	for i := range a.op.Lookups {
		l := &a.op.Lookups[i]
		if a.op.Go != nil {
			a.lookupCall(l)
			continue
		}
		a.table([]string{"Look-up by " + string(l.By), "Here"},
			[]string{"Request", code(l.Method + " " + l.Path)},
			[]string{"Time-out", span(l.Timeout)},
			[]string{"Records stand", recordsWords(l)},
			[]string{"A record matches in", andList(codes(pointersOf(l.Match)))},
			[]string{"The target's reference is", locatorWords(l.Reference)},
			[]string{"Absent", absentWords(l)},
		)
	}
	rows := [][]string{}
	for _, f := range timeFacts(a.op) {
		rows = append(rows, []string{f.name, f.value})
	}
	rows = append(rows, []string{"Straggler: when an attempt whose worker went silent is closed", span(a.policy.Straggler) + " after its lease ran out, unless its worker reports or is known to be gone"})
	a.table([]string{"Times", "Here"}, rows...)
	a.say(a.absenceProves())
	if a.op.States != nil {
		a.statesTable("State of a record that is found", a.op.States)
	}
	if slices.ContainsFunc(a.op.Lookups, func(l Lookup) bool { return l.By == LookupByEvidence }) {
		a.say("A look-up by evidence confirms nothing by itself: the records that it finds are candidates in a review, and a person picks.")
	}
	a.list(
		"A look-up has no effect and may be repeated. Forbidden, not understood, incomplete, an error: each of these is inconclusive, never absence.",
		"One record that matches and agrees with the request confirms the operation. One that differs, one that is older than the operation, or several records go to a person.",
	)
}

// accepted says how work that the target takes on for later is waited for.
func (a *agreement) accepted() {
	work := a.op.Accepted
	if work == nil {
		return
	}
	a.table([]string{"Work that the target accepts for later", "Here"},
		[]string{"Asked for progress", code(work.Poll.Method+" "+work.Poll.Path) + ", every " + span(work.Every)},
		[]string{"Agreed time", span(work.Within) + " from the acceptance: until then it is no incident, counts as nothing unresolved, and no other step is taken"},
		[]string{"After that", "it counts as unresolved, the further steps of the recovery plan are taken, and their time begins"},
	)
	if work.States != a.op.States {
		a.statesTable("State of accepted work", work.States)
	}
}

func (a *agreement) statesTable(title string, s *States) {
	row := func(values []string, words string) []string {
		return []string{code(s.Field) + " is " + orList(codes(values)), words}
	}
	rows := [][]string{row(texts(s.Effect), "the effect exists")}
	if len(s.Pending) > 0 {
		rows = append(rows, row(texts(s.Pending), "the target is still at work on it"))
	}
	if len(s.NoEffect) > 0 {
		rows = append(rows, row(texts(s.NoEffect), "it finally failed: rejected, where no attempt is open and no effect is known"))
	}
	a.table([]string{title, "What it means"}, append(rows, []string{"any other", "nothing is proved"})...)
}

func recordsWords(l *Lookup) string {
	if l.Records == nil {
		return "nowhere apart: the body is the record"
	}
	return "at " + memberAt(*l.Records, "the top of the body")
}

func locatorWords(l *Locator) string {
	switch {
	case l == nil:
		return "not read"
	case l.Header != "":
		return "in the header " + code(l.Header)
	}
	return "at " + memberAt(l.Pointer, "the top of the body")
}

func absentWords(l *Lookup) string {
	var ways []string
	switch {
	case l.By == LookupByEvidence:
		return "never: what evidence does not find may exist all the same"
	case l.Records == nil:
	case l.Complete != nil && l.Complete.Always:
		ways = append(ways, "status 200, and no record matches")
	case l.Complete != nil:
		ways = append(ways, "status 200, no record matches, and the value "+locatorWords(&l.Complete.Locator)+" says that the page is the whole answer")
	}
	for _, w := range l.Absent {
		ways = append(ways, whenWords(w))
	}
	if len(ways) == 0 {
		return "never: nothing tells whether an answer is the whole answer"
	}
	return strings.Join(ways, "; or ")
}

func (a *agreement) absenceProves() string {
	if proves, why := provesAbsence(a.op); !proves || !a.policy.AbsenceProves {
		return "Absence proves nothing here: " + why + ". An effect that is not found may still exist."
	}
	return fmt.Sprintf("Absence is proof only where the look-up began %s or more (settle and processing together) after the end of every attempt that may have reached the target.",
		span(a.policy.Settle+a.policy.Processing))
}

func (a *agreement) answers() {
	a.begin("answers", "What the target's answers mean")
	if a.op.Go != nil {
		a.reports()
		return
	}
	a.say("The first rule that matches decides.",
		"An attempt is clean if every other attempt of its operation is closed and proven to be without effect; the first attempt always is.",
		"A refusal, or an attempt without effect, speaks for itself alone: where an earlier attempt is in doubt the operation stays in doubt, unless the rule says otherwise.")
	rows := make([][]string, len(a.op.Responses))
	for i := range a.op.Responses {
		r := &a.op.Responses[i]
		rows[i] = []string{strconv.Itoa(i + 1), code(r.Name), whenWords(r.When), outcomeWords(r)}
	}
	if work := a.op.Accepted; work != nil && work.When != nil {
		r := Response{Name: "accepted", When: *work.When, Outcome: OutcomeAccepted}
		rows = append(rows, []string{strconv.Itoa(len(rows) + 1), code(r.Name), whenWords(r.When), outcomeWords(&r)})
	}
	if len(rows) > 0 {
		a.table([]string{"No", "Rule", "When", "What it means"}, rows...)
	} else {
		a.say("This contract has no rules of its own.")
	}
	a.say("Where no rule matches:")
	generic := [][]string{}
	for _, g := range genericAnswers() {
		generic = append(generic, []string{orList(statusCodes(g.statuses)), g.words()})
	}
	a.table([]string{"Answer", "What it means"}, append(generic,
		[]string{"any other status", otherAnswer().words()},
		[]string{"no connection, or provably no byte sent", "nothing was sent: this attempt had no effect, and is tried again after a wait"},
		[]string{"no answer, a time-out, a connection that broke", "in doubt"},
	)...)
	a.list("A success whose body was cut off, or whose reference cannot be read, means that the effect exists: it is in doubt only under which reference, and nothing is sent again.")
}

// whenWords is a condition on an answer.
func whenWords(w When) string {
	var parts []string
	if len(w.Status) > 0 {
		parts = append(parts, "status "+orList(statusCodes(w.Status)))
	}
	for _, h := range w.Headers {
		parts = append(parts, "header "+code(h.Name)+" is "+orList(codes(h.Values)))
	}
	for _, j := range w.JSON {
		values := make([]string, len(j.Values))
		for i, v := range j.Values {
			values[i] = code(string(jsonOf(v)))
		}
		parts = append(parts, memberAt(j.Pointer, "the body")+" is "+orList(values))
	}
	if w.Clean != nil {
		parts = append(parts, map[bool]string{true: "the attempt is clean", false: "the attempt is not clean"}[*w.Clean])
	}
	if w.Cel != "" {
		parts = append(parts, "the expression "+code(w.Cel)+" is true (where it cannot be evaluated the answer is in doubt, and no later rule is asked)")
	}
	if len(parts) == 0 {
		return "any answer"
	}
	return andList(parts)
}

// outcomeWords is what a rule makes of an answer.
func outcomeWords(r *Response) string {
	var parts []string
	switch r.Outcome {
	case OutcomeConfirmed:
		parts = append(parts, "confirmed: the effect exists")
		if r.Reference != nil {
			parts = append(parts, "its reference stands "+locatorWords(r.Reference))
		} else {
			parts = append(parts, "the rule reads no reference, so that it has to be looked up, and nothing is sent again")
		}
	case OutcomeRejected:
		parts = append(parts, "refused for good: rejected")
		if r.Code != nil {
			parts = append(parts, "with the code "+locatorWords(r.Code))
		}
		if r.SettlesOperation {
			parts = append(parts, "also for earlier attempts in doubt")
		}
	case OutcomeNotApplied:
		parts = append(parts, "this attempt had no effect: tried again after a wait")
	case OutcomeInProgress:
		parts = append(parts, "still being worked on: waited out, never sent again at once")
	case OutcomeAccepted:
		parts = append(parts, "accepted for later: no effect yet, and asked for progress")
	case OutcomeExists:
		parts = append(parts, "such a record exists: looked up. Where nothing of ours can have made it, it is adopted only if it carries our own derived identity and agrees; otherwise a person decides")
	case OutcomeKeyConflict:
		parts = append(parts, "the target knows the identity from another request: nothing is sent again, and a person decides")
	case OutcomeUnknown:
		parts = append(parts, "in doubt")
	default:
		parts = append(parts, code(string(r.Outcome)))
	}
	if r.RetryAfter != "" {
		parts = append(parts, "the wait is what the header "+code(r.RetryAfter)+" asks for, at most "+span(maxRetryAfter))
	}
	if r.PauseConnection {
		parts = append(parts, "and the connection is paused until a person resumes it")
	}
	return strings.Join(parts, "; ")
}

// genericAnswer is what answers mean that no rule matches: on a clean attempt,
// and on any other.
type genericAnswer struct {
	statuses       []StatusMatch
	clean, unclean onefold.Outcome
	// exists: the effect counts as existing. pauses: the connection is paused
	// where the attempt is clean.
	exists, pauses bool
}

// genericAnswers says in a table what byStatus decides; a test holds the two
// against each other.
func genericAnswers() []genericAnswer {
	const unknown = onefold.OutcomeUnknown
	list := func(statuses ...int) []StatusMatch {
		out := make([]StatusMatch, len(statuses))
		for i, s := range statuses {
			out[i] = StatusMatch{Code: s}
		}
		return out
	}
	return []genericAnswer{
		{statuses: []StatusMatch{{Class: 2}}, clean: unknown, unclean: unknown, exists: true},
		{statuses: []StatusMatch{{Class: 3}}, clean: unknown, unclean: unknown},
		{statuses: list(400, 404, 405, 410, 413, 415, 422), clean: onefold.OutcomeRejected, unclean: unknown},
		{statuses: list(401, 403), clean: onefold.OutcomeNotApplied, unclean: unknown, pauses: true},
	}
}

// otherAnswer is what every status means that genericAnswers does not name.
func otherAnswer() genericAnswer {
	return genericAnswer{clean: onefold.OutcomeUnknown, unclean: onefold.OutcomeUnknown}
}

func (g genericAnswer) words() string {
	words := "in doubt"
	switch {
	case g.exists:
		return words + "; the effect counts as existing, and nothing is sent again (no success confirms without a rule)"
	case slices.Contains(g.statuses, StatusMatch{Class: 3}):
		return words + "; a redirect is never followed"
	case g.clean == onefold.OutcomeRejected:
		words = "on a clean attempt rejected, otherwise in doubt"
	case g.clean == onefold.OutcomeNotApplied:
		words = "on a clean attempt not applied, otherwise in doubt"
	}
	if g.pauses {
		words = strings.Replace(words, "not applied", "not applied, and the connection is paused", 1)
	}
	return words
}
