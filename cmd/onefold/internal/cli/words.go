package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/client"
)

// openReview is the first review that still needs its owner.
func openReview(o *client.Operation) *client.OperationReview {
	for i := range o.Reviews {
		if o.Reviews[i].Status == onefold.ReviewOpen {
			return &o.Reviews[i]
		}
	}
	return nil
}

// rested tells whether waiting any longer needs something other than time.
func rested(o *client.Operation) bool {
	return o.State.Terminal() || len(o.Holds) > 0 || o.State == onefold.Uncertain && openReview(o) != nil
}

// stateWords are the words for a state (specification, section 8), with a sign:
// the word alone tells it, the colour never does.
func stateWords(o *client.Operation) string {
	switch {
	case o.Contradicted:
		return "! Conflicting answers"
	case o.State == onefold.Prepared && len(o.Holds) > 0:
		return "‖ Held: " + string(o.Holds[0].Reason)
	}
	switch o.State {
	case onefold.Prepared:
		return "○ Accepted, not sent yet"
	case onefold.Attempting:
		return "→ Being sent"
	case onefold.Uncertain:
		return "? Unknown at the target"
	case onefold.Confirmed:
		return "✓ Done, confirmed by " + confirmedBy(o)
	case onefold.Rejected:
		return "✗ Not done, confirmed by the refusal " + rejectionCode(o)
	case onefold.Canceled:
		return "− Withdrawn before sending"
	}
	return string(o.State)
}

func rejectionCode(o *client.Operation) string {
	if o.Rejection == nil {
		return ""
	}
	return named(o.Rejection.Code)
}

func confirmedBy(o *client.Operation) string {
	if o.Result == nil {
		return "nothing that is shown"
	}
	switch o.Result.LearntFrom {
	case onefold.LearntFromResponse:
		return "the target's answer"
	case onefold.LearntFromLookup:
		return "a look-up"
	case onefold.LearntFromOperator:
		return "a person"
	case onefold.LearntFromEvent:
		return "an event"
	default:
		return string(o.Result.LearntFrom)
	}
}

// byWords names whose word a result is, where it is somebody's.
func byWords(r *onefold.Result) string {
	if r.By == "" {
		return ""
	}
	return " by " + named(r.By)
}

// stateColor is the colour that stands beside a state's words.
func stateColor(o *client.Operation) string {
	switch {
	case o.Contradicted, o.State == onefold.Uncertain, len(o.Holds) > 0:
		return yellow
	case o.State == onefold.Confirmed:
		return green
	case o.State == onefold.Prepared, o.State == onefold.Attempting:
		return blue
	}
	return dim
}

// showOperation prints an operation.
func (a *app) showOperation(o *client.Operation) error {
	return a.show(o.Raw, func(w io.Writer) { a.operationText(w, o) })
}

// operationText shows one operation to a person.
func (a *app) operationText(w io.Writer, o *client.Operation) {
	if o.Capability == "" { // a token that may not see more
		fmt.Fprintf(w, "%s  %s\n", o.ID, o.State)
		return
	}
	fmt.Fprintf(w, "%s\n", a.color(stateColor(o), stateWords(o)))
	facts := [][2]string{
		{"operation", o.ID},
		{"what", fmt.Sprintf("%s@%d over %s", o.Capability, o.ContractVersion, o.Connection)},
		{"key", plain(o.Key) + " (submitted by " + named(o.SubmittedBy) + ")"},
		{"reference", plain(o.Reference)},
	}
	if r := o.Result; r != nil {
		facts = append(facts, [2]string{"result", fmt.Sprintf("%s, learnt from %s%s at %s", named(r.Reference), r.LearntFrom, byWords(r), when(r.At))})
	}
	if r := o.Rejection; r != nil {
		facts = append(facts, [2]string{"refused", strings.TrimSuffix(fmt.Sprintf("%s: %s", named(r.Code), plain(r.Detail)), ": ")})
	}
	facts = append(facts, openFacts(o)...)
	facts = append(
		facts,
		[2]string{"attempts", fmt.Sprint(o.Attempts)},
		[2]string{"admitted", when(o.CreatedAt)},
		[2]string{"settled", whenOpt(o.SettledAt)},
		[2]string{"new key safe", map[bool]string{true: "yes", false: "no"}[o.NewKeySafe]},
		[2]string{"version", fmt.Sprint(o.Version)},
	)
	pairs(w, facts...)
}

// openFacts are what keeps an operation from being settled.
func openFacts(o *client.Operation) [][2]string {
	var facts [][2]string
	if d := o.Doubt; d != nil {
		facts = append(facts, [2]string{"in doubt", fmt.Sprintf("%s, since %s", d.Reason, when(d.Since))})
	}
	if len(o.Barred) > 0 {
		var words []string
		for _, b := range o.Barred {
			words = append(words, string(b))
		}
		facts = append(facts, [2]string{"barred", strings.Join(words, ", ") + ": nothing is sent again"})
	}
	for _, h := range o.Holds {
		facts = append(facts, [2]string{"held", fmt.Sprintf("%s, since %s", h.Reason, when(h.Since))})
	}
	if r := openReview(o); r != nil {
		facts = append(facts, [2]string{"review", fmt.Sprintf("%s (%s), owned by %s", r.ID, r.Reason, named(r.Owner))})
	}
	if o.Next.Action != onefold.NextNone {
		facts = append(facts, [2]string{"next", strings.TrimSpace(string(o.Next.Action) + " " + whenOpt(o.Next.At))})
	}
	return facts
}

// operationTable shows a page of operations.
func operationTable(w io.Writer, p *client.Page[client.Operation]) {
	rows := make([][]string, 0, len(p.Items))
	for i := range p.Items {
		o := &p.Items[i]
		target := ""
		if o.Result != nil {
			target = plain(o.Result.Reference)
		}
		rows = append(rows, []string{o.ID, o.Capability, o.Connection, shorten(plain(o.Key), 32), stateWords(o), target, when(o.CreatedAt)})
	}
	tableOr(w, "no operation is found", []string{"ID", "CAPABILITY", "CONNECTION", "KEY", "STATE", "TARGET'S REFERENCE", "ADMITTED"}, rows)
	damaged(w, p.Unreadable)
	more(w, p.NextCursor)
}

// damaged names the operations of a page whose stored records are damaged.
func damaged(w io.Writer, all []client.Unreadable) {
	for _, u := range all {
		fmt.Fprintf(w, "\n%s belongs here and cannot be read: %s (%s); onefold doctor says what is damaged\n", plain(u.ID), plain(u.Detail), plain(string(u.Code)))
	}
}

// more says how to get the next page.
func more(w io.Writer, cursor *string) {
	if cursor != nil {
		fmt.Fprintf(w, "\nthere is more: --cursor %s\n", *cursor)
	}
}

// shorten cuts a text for a table.
func shorten(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return string(runes[:most-1]) + "…"
}
