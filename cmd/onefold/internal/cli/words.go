package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
)

// operation is as much of an operation as is shown to a person.
type operation struct {
	ID              string           `json:"id"`
	Workspace       string           `json:"workspace"`
	Capability      string           `json:"capability"`
	ContractVersion int              `json:"contract_version"`
	Connection      string           `json:"connection"`
	Key             string           `json:"idempotency_key"`
	SubmittedBy     string           `json:"submitted_by"`
	Identity        string           `json:"identity"`
	Reference       string           `json:"reference"`
	State           onefold.State    `json:"state"`
	NewKeySafe      bool             `json:"new_key_safe"`
	Doubt           *doubt           `json:"doubt"`
	Next            next             `json:"next"`
	Attempts        int              `json:"attempts"`
	Barred          []string         `json:"barred"`
	Contradicted    bool             `json:"contradicted"`
	Holds           []hold           `json:"holds"`
	Result          *result          `json:"result"`
	Rejection       *rejection       `json:"rejection"`
	Reviews         []review         `json:"reviews"`
	Metadata        *json.RawMessage `json:"metadata"`
	CreatedAt       time.Time        `json:"created_at"`
	SettledAt       *time.Time       `json:"settled_at"`
	Version         int64            `json:"version"`
}

type doubt struct {
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
}

type next struct {
	Action string     `json:"action"`
	At     *time.Time `json:"at"`
}

type hold struct {
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
	Review string    `json:"review"`
}

type result struct {
	Reference  string    `json:"reference"`
	LearntFrom string    `json:"learnt_from"`
	At         time.Time `json:"at"`
}

type rejection struct {
	Code   string    `json:"code"`
	Detail string    `json:"detail"`
	At     time.Time `json:"at"`
}

type review struct {
	ID       string    `json:"id"`
	Reason   string    `json:"reason"`
	Status   string    `json:"status"`
	Owner    string    `json:"owner"`
	OpenedAt time.Time `json:"opened_at"`
}

// openReview is the first review that still needs its owner.
func (o *operation) openReview() *review {
	for i := range o.Reviews {
		if o.Reviews[i].Status == string(onefold.ReviewOpen) {
			return &o.Reviews[i]
		}
	}
	return nil
}

// rested tells whether waiting any longer needs something other than time.
func (o *operation) rested() bool {
	return o.State.Terminal() || len(o.Holds) > 0 || o.State == onefold.Uncertain && o.openReview() != nil
}

// stateWords are the words for a state (specification, section 8), with a sign:
// the word alone tells it, the colour never does.
func (o *operation) stateWords() string {
	switch {
	case o.Contradicted:
		return "! Conflicting answers"
	case o.State == onefold.Prepared && len(o.Holds) > 0:
		return "‖ Held: " + o.Holds[0].Reason
	}
	switch o.State {
	case onefold.Prepared:
		return "○ Accepted, not sent yet"
	case onefold.Attempting:
		return "→ Being sent"
	case onefold.Uncertain:
		return "? Unknown at the target"
	case onefold.Confirmed:
		return "✓ Done, confirmed by " + o.confirmedBy()
	case onefold.Rejected:
		return "✗ Not done, confirmed by " + "the refusal " + o.rejectionCode()
	case onefold.Canceled:
		return "− Withdrawn before sending"
	}
	return string(o.State)
}

func (o *operation) rejectionCode() string {
	if o.Rejection == nil {
		return ""
	}
	return plain(o.Rejection.Code)
}

func (o *operation) confirmedBy() string {
	if o.Result == nil {
		return "nothing that is shown"
	}
	switch o.Result.LearntFrom {
	case "response":
		return "the target's answer"
	case "lookup":
		return "a look-up"
	case "operator":
		return "a person"
	}
	return o.Result.LearntFrom
}

// stateColor is the colour that stands beside a state's words.
func (o *operation) stateColor() string {
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

// operationText shows one operation.
func (a *app) operationText(w io.Writer, o operation) {
	if o.Capability == "" { // a token that may not see more
		fmt.Fprintf(w, "%s  %s\n", o.ID, o.State)
		return
	}
	fmt.Fprintf(w, "%s\n", a.color(o.stateColor(), o.stateWords()))
	facts := [][2]string{
		{"operation", o.ID},
		{"what", fmt.Sprintf("%s@%d over %s", o.Capability, o.ContractVersion, o.Connection)},
		{"key", plain(o.Key) + " (submitted by " + plain(o.SubmittedBy) + ")"},
		{"reference", plain(o.Reference)},
	}
	if r := o.Result; r != nil {
		facts = append(facts, [2]string{"result", fmt.Sprintf("%s, learnt from %s at %s", plain(r.Reference), r.LearntFrom, when(r.At))})
	}
	if r := o.Rejection; r != nil {
		facts = append(facts, [2]string{"refused", strings.TrimSuffix(fmt.Sprintf("%s: %s", plain(r.Code), plain(r.Detail)), ": ")})
	}
	if d := o.Doubt; d != nil {
		facts = append(facts, [2]string{"in doubt", fmt.Sprintf("%s, since %s", d.Reason, when(d.Since))})
	}
	if len(o.Barred) > 0 {
		facts = append(facts, [2]string{"barred", strings.Join(o.Barred, ", ") + ": nothing is sent again"})
	}
	for _, h := range o.Holds {
		facts = append(facts, [2]string{"held", fmt.Sprintf("%s, since %s", h.Reason, when(h.Since))})
	}
	if r := o.openReview(); r != nil {
		facts = append(facts, [2]string{"review", fmt.Sprintf("%s (%s), owned by %s", r.ID, r.Reason, plain(r.Owner))})
	}
	if o.Next.Action != "none" {
		facts = append(facts, [2]string{"next", strings.TrimSpace(o.Next.Action + " " + whenOpt(o.Next.At))})
	}
	facts = append(facts, [2]string{"attempts", fmt.Sprint(o.Attempts)}, [2]string{"admitted", when(o.CreatedAt)},
		[2]string{"settled", whenOpt(o.SettledAt)}, [2]string{"new key safe", map[bool]string{true: "yes", false: "no"}[o.NewKeySafe]},
		[2]string{"version", fmt.Sprint(o.Version)})
	pairs(w, facts...)
}

// operationTable shows a page of operations.
func operationTable(w io.Writer, p page[operation]) {
	rows := make([][]string, 0, len(p.Items))
	for i := range p.Items {
		o := &p.Items[i]
		target := ""
		if o.Result != nil {
			target = plain(o.Result.Reference)
		}
		rows = append(rows, []string{o.ID, o.Capability, o.Connection, shorten(plain(o.Key), 32), o.stateWords(), target, when(o.CreatedAt)})
	}
	tableOr(w, "no operation is found", []string{"ID", "CAPABILITY", "CONNECTION", "KEY", "STATE", "TARGET'S REFERENCE", "ADMITTED"}, rows)
	more(w, p.NextCursor)
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
