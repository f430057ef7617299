package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/sqlite"
)

// keptCheck is a check for one kind of row that may be gone.
type keptCheck struct {
	kind sqlite.GapKind
	name string
	// ok is what is said of operations that have everything, missing of those that
	// have not, and do what to do first of all.
	ok, missing, do string
}

func keptChecks() []keptCheck {
	return []keptCheck{
		{
			sqlite.GapClaim, "claims", "have their key held, or its release told", "have a key that nothing holds",
			"stop whoever submits: a repeat of such a key would be taken for new and sent again",
		},
		{
			sqlite.GapPayload, "payloads", "have their approved request", "have no approved request",
			"such an operation is not sent or compared any more: decide it with onefold ops resolve, after a look at the target",
		},
		{
			sqlite.GapFrozen, "outgoing_requests", "have the request that they sent", "have not the request that they sent",
			"do not retry such an operation: what went out cannot be repeated as it was; decide it with onefold ops resolve, after a look at the target",
		},
		{
			sqlite.GapEvidence, "evidence", "have the evidence that they name", "name evidence that is gone",
			"do not decide such an operation by what is left: look at the target first",
		},
		{
			sqlite.GapTimeline, "timelines", "have a line for every change", "have changes that no line tells of",
			"take such a timeline for incomplete: who or what changed the operation is not known",
		},
		{
			sqlite.GapStanding, "standings", "that are over have a standing that reads, as their columns repeat it", "have not the standing that their columns repeat",
			"do not believe what such an operation is listed as, or found by: look at its evidence and at the target",
		},
	}
}

// kept looks for rows that were deleted, within its time.
func (e *examination) kept(ctx context.Context) {
	const do = "; this is a fault of onefold or a changed file: stop onefold, keep a copy of the file and of its -wal, compare it with the last good backup, and report it"
	bounded, cancel := context.WithTimeout(ctx, e.Within)
	defer cancel()
	lists := map[sqlite.GapKind]*list{}
	for _, kind := range sqlite.GapKinds() {
		lists[kind] = &list{}
	}
	var s sqlite.Searched
	var err error
	if e.current {
		s, err = e.health.EachKept(bounded, func(op *onefold.Operation, gaps []sqlite.Gap) {
			e.keyIDs[op.FingerprintKey] = true
			if op.Settled() {
				e.papers.need(op)
			}
			texts := map[sqlite.GapKind][]string{}
			for _, g := range gaps {
				texts[g.Kind] = append(texts[g.Kind], g.Text)
			}
			for kind, told := range texts {
				lists[kind].add(op.ID + " (" + shortened(told) + ")")
			}
		})
	}
	for _, c := range keptChecks() {
		found := lists[c.kind]
		switch {
		case !e.current || err != nil:
			e.unread(c.name, err)
		case found.n > 0:
			e.add(c.name, Failed, fmt.Sprintf("%d of %s %s: %s", found.n, searched(s), c.missing, found.String()), c.do+do)
		case s.Seen == 0 && !s.All:
			e.add(c.name, NotChecked, "the search was not over within "+e.Within.String(), "give it more time with --within")
		default:
			e.add(c.name, OK, searched(s)+" "+c.ok, "")
		}
	}
}

// shortened names the first few of what is missing of one operation.
func shortened(texts []string) string {
	if more := len(texts) - named; more > 0 {
		return strings.Join(texts[:named], "; ") + fmt.Sprintf("; and %d more", more)
	}
	return strings.Join(texts, "; ")
}

// searched says among how many operations something was looked for.
func searched(s sqlite.Searched) string {
	if s.All {
		return fmt.Sprintf("all %d operations", s.Seen)
	}
	return fmt.Sprintf("the newest %d operations (the time was over)", s.Seen)
}
