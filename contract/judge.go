package contract

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
)

const (
	// maxRetryAfter bounds the wait that a target may ask for: a day is beyond
	// every default budget, and a wrong header must not park an operation.
	maxRetryAfter = 24 * time.Hour
	// maxCode bounds a refusal's code and a target's request id, which are stored
	// and shown.
	maxCode = 200
)

// judge says what an answer to a write means, as section 3 has it ("How a
// response is judged"). It never fails: what cannot be understood is unknown.
func (p *program) judge(m *materials, x *onefold.Exchange, clean bool) (onefold.Answer, onefold.Evidence) {
	ev := x.Evidence
	ev.Status = x.Status
	switch {
	case x.NotSent && x.Status == 0:
		ev.Kind = onefold.EvidenceTransport
		ans := notSent(x)
		return finish(&ans, ev, clean)
	case x.Status == 0:
		ev.Kind = onefold.EvidenceTransport
		ans := onefold.Answer{Outcome: onefold.OutcomeUnknown, Doubt: onefold.DoubtNoAnswer, Detail: "no answer" + because(x)}
		return finish(&ans, ev, clean)
	}
	ev.Kind = onefold.EvidenceResponse
	a := readAnswer(x)
	r, blocked := p.match(a, m, clean)
	var ans onefold.Answer
	switch {
	case x.NotSent:
		// An answer to a request that was not sent: the transport contradicts
		// itself, and then nothing is known.
		ans = onefold.Answer{Outcome: onefold.OutcomeUnknown, Doubt: onefold.DoubtInternal, Detail: "an answer to a request that was not sent"}
	case r != nil:
		ev.Rule = r.Name
		ans = p.byRule(r, m, a, &ev)
	case blocked != nil:
		ev.Rule = blocked.Name
		ans = onefold.Answer{
			Outcome: onefold.OutcomeUnknown, Doubt: doubtOf(a), EffectExists: a.success(),
			Detail: fmt.Sprintf("status %d with %s; rule %q may have matched", x.Status, a.reading, blocked.Name),
		}
		if a.reading != bodyCut && a.reading != bodyStrange {
			ans.Detail = fmt.Sprintf("status %d with %s; the expression of rule %q could not be evaluated", x.Status, a.reading, blocked.Name)
		}
	default:
		ans = byStatus(a, clean)
	}
	if a.success() && a.reading == bodyCut && ans.Outcome != onefold.OutcomeConfirmed && ans.Outcome != onefold.OutcomeAccepted {
		// A success whose body was cut off: the effect exists, whatever a rule on
		// the status alone makes of it, unless it says that there is none yet.
		ans = onefold.Answer{
			Outcome: onefold.OutcomeUnknown, Doubt: onefold.DoubtUnreadable, EffectExists: true,
			Detail: fmt.Sprintf("status %d, the body was cut off", x.Status),
		}
	}
	ans.Stored = p.stores(x.Status, ans.Outcome)
	ans.TargetRequestID = requestID(a)
	return finish(&ans, ev, clean)
}

// notSent is what it means that nothing was sent. Where the connection cannot
// authenticate, no other operation of it can be sent either: it is paused, so
// that what is missing does not spend the budgets of all of them.
func notSent(x *onefold.Exchange) onefold.Answer {
	return onefold.Answer{
		Outcome: onefold.OutcomeNotSent, Detail: "nothing was sent" + because(x),
		PauseConnection: unusable(x),
	}
}

// unusable tells whether an exchange failed for what every exchange of its
// connection fails for, until somebody mends it.
func unusable(x *onefold.Exchange) bool { return x.NotSent && x.Failure == onefold.FailureSecret }

// finish fills in what the evidence says about the effect. A refusal speaks for
// the whole operation only on a clean attempt, or where the contract says so
// (M13); otherwise its evidence asserts nothing.
func finish(ans *onefold.Answer, ev onefold.Evidence, clean bool) (onefold.Answer, onefold.Evidence) {
	ev.Asserts = onefold.AssertsNothing
	switch ans.Outcome {
	case onefold.OutcomeConfirmed:
		ev.Asserts = onefold.AssertsEffect
	case onefold.OutcomeRejected, onefold.OutcomeNotApplied, onefold.OutcomeNotSent:
		if clean || ans.SettlesOperation {
			ev.Asserts = onefold.AssertsNoEffect
		}
	default:
		if ans.EffectExists {
			ev.Asserts = onefold.AssertsEffect
		}
	}
	ev.Reference = ans.Reference
	ev.Detail = ans.Detail
	ev.Mismatches = ans.Differs
	return *ans, ev
}

// match finds the first rule that holds. Where an earlier rule may have held,
// had the body been readable or its expression not failed, that rule is returned
// as blocked instead: a later rule must not speak for it.
func (p *program) match(a *answer, m *materials, clean bool) (r, blocked *rule) {
	for i := range p.rules {
		switch p.rules[i].when.holds(a, m, clean) {
		case yes:
			return &p.rules[i], nil
		case unclear:
			return nil, &p.rules[i]
		case no:
		}
	}
	return nil, nil
}

// byRule is what a matching rule says.
func (p *program) byRule(r *rule, m *materials, a *answer, ev *onefold.Evidence) onefold.Answer {
	ans := onefold.Answer{
		Outcome:         onefold.Outcome(r.Outcome),
		PauseConnection: r.PauseConnection,
		RetryAfter:      retryAfter(r.RetryAfter, a, ev.SeenAt),
		Detail:          fmt.Sprintf("status %d, rule %q: %s", a.x.Status, r.Name, r.Outcome),
	}
	switch r.Outcome {
	case OutcomeConfirmed:
		p.confirm(&ans, r, m, a)
	case OutcomeRejected:
		ans.SettlesOperation = r.SettlesOperation
		ans.Code = r.refusal(a)
	case OutcomeInProgress:
		ans.Doubt = onefold.DoubtInProgress
	case OutcomeAccepted:
		ans.Doubt = onefold.DoubtAccepted
		ans.Reference = p.named(r, a)
	case OutcomeExists:
		ans.Doubt, ans.OwnIdentity = onefold.DoubtExists, p.own
		ans.Reference = p.named(r, a)
	case OutcomeKeyConflict:
		ans.Doubt = onefold.DoubtKeyConflict
	case OutcomeNotApplied:
	case OutcomeUnknown:
		ans.Doubt = doubtOf(a)
	default:
		// Lint lets no other outcome through; if one came, it would be doubt.
		ans.Outcome, ans.Doubt, ans.EffectExists = onefold.OutcomeUnknown, onefold.DoubtInternal, a.success()
	}
	return ans
}

// named is the target's name for accepted work, or for the record that it says
// exists; empty where it cannot be read.
func (p *program) named(r *rule, a *answer) string {
	at := r.reference
	if at == nil && r.Outcome == OutcomeAccepted {
		at = p.accepted
	}
	if a.reading == bodyCut {
		return ""
	}
	if name, ok := at.read(a, a.body); ok {
		return name
	}
	return ""
}

// confirm reads the reference and holds the answer against the request (M15). A
// cut or strange body gives no reference, wherever the rule looks for it.
func (p *program) confirm(ans *onefold.Answer, r *rule, m *materials, a *answer) {
	reference, ok := r.reference.read(a, a.body)
	if !ok || a.reading == bodyCut {
		ans.EffectExists, ans.Doubt = true, onefold.DoubtUnreadable
		ans.Detail = fmt.Sprintf("status %d, rule %q: the effect exists, but its reference cannot be read from %s", a.x.Status, r.Name, a.reading)
	} else {
		ans.Reference = reference
	}
	if len(p.verify) == 0 || a.reading == bodyCut {
		return
	}
	v := p.compare(m, a.body)
	ans.Differs = v.differs
	ans.Detail += v.hint()
}

// refusal is the code of a refusal: what the rule points at, or the status.
func (r *rule) refusal(a *answer) string {
	if code, ok := r.code.read(a, a.body); ok {
		return cut(code, maxCode)
	}
	return statusCode(a.x.Status)
}

func statusCode(status int) string { return "http_" + strconv.Itoa(status) }

// byStatus is what an answer means that no rule matches.
func byStatus(a *answer, clean bool) onefold.Answer {
	status := a.x.Status
	ans := onefold.Answer{
		Outcome: onefold.OutcomeUnknown, Doubt: doubtOf(a),
		Detail: fmt.Sprintf("status %d with %s, and no rule for it", status, a.reading),
	}
	switch {
	case a.success():
		// No 2xx confirms without a rule, and none is taken for a refusal.
		ans.EffectExists = true
	case status == 400 || status == 404 || status == 405 || status == 410 || status == 413 || status == 415 || status == 422:
		if !clean {
			ans.Doubt = onefold.DoubtRefusedAfterDoubt
			break
		}
		ans.Outcome, ans.Doubt, ans.Code = onefold.OutcomeRejected, "", statusCode(status)
	case status == 401 || status == 403:
		if !clean {
			ans.Doubt = onefold.DoubtRefusedAfterDoubt
			break
		}
		ans.Outcome, ans.Doubt, ans.PauseConnection = onefold.OutcomeNotApplied, "", true
	}
	return ans
}

// doubtOf is the reason of the doubt that an answer leaves.
func doubtOf(a *answer) onefold.DoubtReason {
	switch {
	case a.x.Status >= 500 && a.x.Status <= 599:
		return onefold.DoubtServerError
	case a.reading == bodyCut, a.reading == bodyStrange:
		return onefold.DoubtUnreadable
	default:
		return onefold.DoubtUnclassified
	}
}

// stores says whether an answer is of a class that the target stores (M11a), so
// that a replay would only repeat it. What is not documented counts as stored.
func (p *program) stores(status int, outcome onefold.Outcome) bool {
	switch {
	case status == 401 || status == 403 || status == 425 || status == 429:
		return false
	case outcome == onefold.OutcomeNotApplied || outcome == onefold.OutcomeInProgress:
		return false
	case outcome == onefold.OutcomeExists:
		return true // said once, it is said again
	case !p.op.Identity.Stores.Known():
		return true
	}
	return matchesStatus(p.op.Identity.Stores.Value, status)
}

// retryAfter reads the wait that a target asks for: seconds, or an HTTP date
// against the answer's own Date, so that the two clocks are one; without it,
// against when the answer was seen.
func retryAfter(header string, a *answer, seen time.Time) time.Duration {
	if header == "" {
		return 0
	}
	value, _ := a.header(header)
	value = strings.TrimSpace(value)
	if value == "" {
		return 0
	}
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		// NaN fails both comparisons and asks for nothing.
		switch {
		case seconds >= maxRetryAfter.Seconds():
			return maxRetryAfter
		case seconds > 0:
			return time.Duration(seconds * float64(time.Second))
		}
		return 0
	}
	until, ok := httpDate(value)
	if !ok {
		return 0
	}
	now := seen
	if date, ok := a.header("Date"); ok {
		if at, ok := httpDate(date); ok {
			now = at
		}
	}
	if now.IsZero() {
		return 0
	}
	return max(0, min(until.Sub(now), maxRetryAfter))
}

// httpDate reads a date in the three forms of RFC 9110.
func httpDate(text string) (time.Time, bool) {
	for _, layout := range [...]string{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// requestID is the target's own name for the exchange, to speak with its
// support; "" where it gives none.
func requestID(a *answer) string {
	for _, name := range [...]string{"Request-Id", "X-Request-Id", "X-Correlation-Id", "X-Amzn-Requestid", "Traceparent"} {
		if value, ok := a.header(name); ok && readable(value) {
			return cut(value, maxCode)
		}
	}
	return ""
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

// because is the transport's word for what went wrong.
func because(x *onefold.Exchange) string {
	switch {
	case x.Failure == "":
		return ""
	case x.Detail == "":
		return ": " + x.Failure
	default:
		return ": " + x.Failure + ": " + x.Detail
	}
}

// String is how a body is spoken of in evidence.
func (r reading) String() string {
	switch r {
	case bodyEmpty:
		return "no body"
	case bodyJSON:
		return "a readable body"
	case bodyCut:
		return "a body that was cut off"
	default:
		return "a body that is no JSON"
	}
}
