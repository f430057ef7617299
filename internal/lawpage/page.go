package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/onefold-dev/onefold"
)

// render writes the page for a law.
func render(law []onefold.Transition) ([]byte, error) {
	if err := worded(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(opening)
	b.WriteString("\n## States\n\n| state | what is known | who moves it on |\n|---|---|---|\n")
	for _, s := range onefold.States() {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s |\n", s, anchor(s), stateWords[s][0], stateWords[s][1])
	}
	b.WriteString("\n`confirmed`, `rejected` and `canceled` are terminal: later evidence never moves them by itself (M20).\n")
	b.WriteString("\n## Diagram\n\nEach arrow is at least one row below; rows that stay in their state are left out.\n\n")
	b.WriteString("```mermaid\n" + diagram(law) + "```\n")
	b.WriteString("\n## Events\n\n| event | what happened |\n|---|---|\n")
	for _, kind := range onefold.EventKinds() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", kind, eventWords[kind])
	}
	b.WriteString("\n## Bars\n\nWhile any bar is set, no write and no replay begins; look-ups go on (M11c).\n\n| bar | what it means | what lifts it |\n|---|---|---|\n")
	for _, bar := range onefold.Bars() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", bar, barWords[bar][0], barWords[bar][1])
	}
	b.WriteString("\n## Holds\n\nA prepared operation is due when no hold is left.\n\n| hold | what it waits for |\n|---|---|\n")
	for _, reason := range onefold.HoldReasons() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", reason, holdWords[reason])
	}
	b.WriteString("\n" + tablesOpening)
	for _, s := range onefold.States() {
		table(&b, law, s)
	}
	return b.Bytes(), nil
}

const opening = `# States and transitions

<!-- Written by ` + "`go run ./internal/lawpage`" + `; do not edit. -->

A state says what is known about the effect at the target, never what the engine happens to be doing. What follows from
an event is written down in one table, and this page is made from it. Rule numbers (M8, M11a, …) are those of the
specification; [the rules page](rules.md) says which tests prove them.
`

const tablesOpening = `## Transitions

Of the rows for a state and an event, the first whose condition holds decides. Where none does, or the event has no row,
it is refused as ` + "`not_allowed`" + ` and changes nothing. A refusal names its problem code and changes nothing
either. The version rises with every row except those marked *quiet*, and with those if they open a review.
`

// worded makes sure that everything on the page has its sentence.
func worded() error {
	for _, s := range onefold.States() {
		if stateWords[s][0] == "" {
			return fmt.Errorf("words.go says nothing of the state %s", s)
		}
	}
	for _, kind := range onefold.EventKinds() {
		if eventWords[kind] == "" {
			return fmt.Errorf("words.go says nothing of the event %s", kind)
		}
	}
	for _, bar := range onefold.Bars() {
		if barWords[bar][0] == "" {
			return fmt.Errorf("words.go says nothing of the bar %s", bar)
		}
	}
	for _, reason := range onefold.HoldReasons() {
		if holdWords[reason] == "" {
			return fmt.Errorf("words.go says nothing of the hold %s", reason)
		}
	}
	return nil
}

func anchor(s onefold.State) string { return "from-" + string(s) }

// table writes the rows of one state, in the order of their events.
func table(b *bytes.Buffer, law []onefold.Transition, from onefold.State) {
	fmt.Fprintf(b, "\n### From %s\n\n| event | if | to | what happens | row | rules |\n|---|---|---|---|---|---|\n", from)
	var without []string
	for _, kind := range onefold.EventKinds() {
		found := false
		for i := range law {
			row := &law[i]
			if row.On != kind || !slices.Contains(row.From, from) {
				continue
			}
			found = true
			fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s | %s |\n", kind, orElse(row.When, "otherwise, or always"), target(row, from), what(row), row.ID, row.Rules)
		}
		if !found {
			without = append(without, "`"+string(kind)+"`")
		}
	}
	if len(without) > 0 {
		fmt.Fprintf(b, "\nWithout a row, and so refused: %s.\n", strings.Join(without, ", "))
	}
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func target(row *onefold.Transition, from onefold.State) string {
	switch {
	case row.Refusal != "":
		return "—"
	case row.To == "" || row.To == from:
		return "stays"
	}
	return "**" + string(row.To) + "**"
}

func what(row *onefold.Transition) string {
	switch {
	case row.Refusal != "":
		return "refused: `" + string(row.Refusal) + "`"
	case row.Quiet:
		return row.Does + " *(quiet)*"
	}
	return row.Does
}

// diagram draws the rows that change the state, one arrow for each pair of
// states with the events that lead there.
func diagram(law []onefold.Transition) string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n    [*] --> prepared: admitted\n")
	for _, from := range onefold.States() {
		for _, to := range onefold.States() {
			var events []string
			for i := range law {
				row := &law[i]
				if row.To == to && from != to && row.Refusal == "" && slices.Contains(row.From, from) && !slices.Contains(events, string(row.On)) {
					events = append(events, string(row.On))
				}
			}
			if len(events) > 0 {
				fmt.Fprintf(&b, "    %s --> %s: %s\n", from, to, strings.Join(events, ", "))
			}
		}
	}
	for _, s := range onefold.States() {
		if s.Terminal() {
			fmt.Fprintf(&b, "    %s --> [*]\n", s)
		}
	}
	return b.String()
}
