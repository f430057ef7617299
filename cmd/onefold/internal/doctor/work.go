package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
)

// named bounds how many operations a check names.
const named = 3

// list collects operations for one check: how many, and the first few by name.
type list struct {
	n     int
	names []string
}

func (l *list) add(name string) {
	if l.n++; len(l.names) < named {
		l.names = append(l.names, name)
	}
}

// String names the first few.
func (l *list) String() string {
	if l.n > len(l.names) {
		return strings.Join(l.names, ", ") + fmt.Sprintf(" and %d more", l.n-len(l.names))
	}
	return strings.Join(l.names, ", ")
}

// survey is what one walk over all live operations found.
type survey struct {
	now, grace               time.Time // expired before grace: housekeeping is late
	live, leased             int
	waiting, late            list // scheduled; scheduled and long overdue
	expired                  list
	open, silent, unclosed   list // attempts without an end: out, silent, silent for too long
	orphans, broken          list
	unowned                  list
	unplanned, unplannedLate list
	unresolved               int
	oldestAttempt            time.Time
	oldest                   onefold.Operation
}

// work walks over the live operations once and makes every check that they are
// needed for.
func (e *examination) work(ctx context.Context) {
	names := []string{"due_work", "leases", "open_attempts", "orphans", "records", "review_owners", "unresolved", "unplanned"}
	place, err := e.health.Runner(ctx)
	if !e.current || err != nil {
		e.unread("runner", err)
	}
	now := e.Now()
	s := &survey{now: now, grace: now.Add(-e.Grace)}
	var walk error
	if e.current {
		e.overdue.closedConnections(ctx, e.health)
		walk = e.health.EachLive(ctx, func(op *onefold.Operation, faults []string) {
			s.look(op, faults)
			if op.ID != "" {
				e.papers.open++
				e.papers.need(op)
				e.overdue.look(op, &e.papers, now, e.Grace)
			}
		})
	}
	if !e.current || walk != nil {
		for _, name := range names {
			e.unread(name, walk)
		}
		return
	}
	if err == nil {
		e.runner(s, place.Held, place.Worker, place.Taken, place.Released)
	}
	e.dueWork(err != nil || place.Held)
	e.leases(s, place.Held)
	e.attempts(s)
	e.owners(s)
	e.unresolved(s)
	e.unplanned(s)
}

// look adds one live operation.
func (s *survey) look(op *onefold.Operation, faults []string) {
	s.live++
	name := op.ID
	if name == "" {
		name = "a row of no operation"
	}
	if len(faults) > 0 {
		s.broken.add(name + " (" + strings.Join(faults, "; ") + ")")
	}
	if why := op.Broken(); why != "" {
		s.broken.add(name + " (" + why + ")")
	}
	s.schedule(op, name)
	for i := range op.Attempts {
		s.attempt(&op.Attempts[i], name)
	}
	for i := range op.Reviews {
		if r := &op.Reviews[i]; r.Status == onefold.ReviewOpen && r.Owner == "" {
			s.unowned.add(r.ID + " of " + name)
		}
	}
	if op.Unresolved() {
		if s.unresolved++; s.oldest.ID == "" || op.CreatedAt.Before(s.oldest.CreatedAt) {
			s.oldest = *op
		}
	}
}

// schedule finds who moves an operation on: a live lease, the schedule, a
// person. An open operation with none of them is an orphan (invariant 15).
func (s *survey) schedule(op *onefold.Operation, name string) {
	leased := op.Lease != nil
	if leased {
		s.leased++
		if op.Lease.Until.Before(s.grace) {
			s.expired.add(fmt.Sprintf("%s (%s, since %s)", name, op.Lease.Worker, age(s.now.Sub(op.Lease.Until))))
		}
	}
	if op.Due != nil && !leased {
		s.waiting.add(name)
		if op.Due.Before(s.grace) {
			s.late.add(name)
		}
		if op.State == onefold.Uncertain && op.Next == onefold.NextNone {
			s.unplanned.add(name)
			if op.Due.Before(s.grace) {
				s.unplannedLate.add(name)
			}
		}
	}
	if !op.Settled() && !leased && op.Due == nil && len(op.OpenReviews()) == 0 {
		s.orphans.add(name)
	}
}

// attempt counts one that has no end yet.
func (s *survey) attempt(a *onefold.Attempt, name string) {
	if a.Closed() {
		return
	}
	s.open.add(name)
	if s.oldestAttempt.IsZero() || a.BegunAt.Before(s.oldestAttempt) {
		s.oldestAttempt = a.BegunAt
	}
	if !a.Open {
		return
	}
	s.silent.add(name)
	if a.CloseAt != nil && a.CloseAt.Before(s.grace) {
		s.unclosed.add(name)
	}
}

// age is a duration for a person: whole seconds.
func age(d time.Duration) string { return d.Round(time.Second).String() }

// runner checks that somebody works where there is work.
func (e *examination) runner(s *survey, held bool, worker string, taken time.Time, released *time.Time) {
	const do = "start one: onefold serve, or onefold worker"
	since := ""
	if worker != "" {
		since = worker + ", since " + taken.UTC().Format(time.RFC3339)
	}
	switch {
	case held:
		e.add("runner", OK, "a process runs the file: "+since, "")
	case s.late.n > 0:
		e.add("runner", Failed, fmt.Sprintf("nobody runs the file, and %d operations are overdue: %s", s.late.n, s.late.String()), do)
	case s.waiting.n+s.leased > 0:
		e.add("runner", Warning, fmt.Sprintf("nobody runs the file; %d operations wait", s.waiting.n+s.leased), do)
	case worker == "":
		e.add("runner", OK, "nobody has run the file yet, and nothing waits", "")
	case released == nil:
		e.add("runner", Warning, "nobody runs the file and nothing waits; the last runner ("+since+") did not leave in good order", do)
	default:
		e.add("runner", OK, "nobody runs the file, and nothing waits", "")
	}
}

// leases checks that no lease outlived its worker.
func (e *examination) leases(s *survey, held bool) {
	if s.expired.n == 0 {
		e.add("leases", OK, fmt.Sprintf("%d live operations, %d of them leased, no lease expired", s.live, s.leased), "")
		return
	}
	do := "the runner is dead: start onefold serve, which ends what the old process held"
	if held {
		do = "the runner is stuck: look at its log, then end its process and start it anew"
	}
	e.add("leases", Failed, fmt.Sprintf("%d leases expired and nobody ended them: %s", s.expired.n, s.expired.String()), do)
}

// attempts tells of attempts that have no end.
func (e *examination) attempts(s *survey) {
	switch {
	case s.open.n == 0:
		e.add("open_attempts", OK, "none", "")
	case s.unclosed.n > 0:
		e.add("open_attempts", Failed, fmt.Sprintf("%d attempts went silent and were not closed in time: %s", s.unclosed.n, s.unclosed.String()),
			"see runner and leases: housekeeping closes them")
	case s.silent.n > 0:
		e.add("open_attempts", Warning, fmt.Sprintf("%d attempts went silent, the oldest begun %s ago: %s",
			s.silent.n, age(s.now.Sub(s.oldestAttempt)), s.silent.String()),
			"wait: each is closed by its worker's late report, by a runner's start, or when straggler is over; until then it is not sent again")
	default:
		e.add("open_attempts", OK, fmt.Sprintf("%d under way, the oldest begun %s ago", s.open.n, age(s.now.Sub(s.oldestAttempt))), "")
	}
}

// owners checks that nothing is stranded, broken or without an owner.
func (e *examination) owners(s *survey) {
	const do = "this is a fault of onefold or a changed file: keep a copy of the file and report it"
	if s.orphans.n == 0 {
		e.add("orphans", OK, "0: every open operation is leased, scheduled, or owned by a person", "")
	} else {
		e.add("orphans", Failed, fmt.Sprintf("%d open operations are neither leased, scheduled nor owned by a person: %s", s.orphans.n, s.orphans.String()),
			do+"; onefold ops resolve settles one by a person's decision")
	}
	if s.broken.n == 0 {
		e.add("records", OK, fmt.Sprintf("%d live operations keep every invariant of the law", s.live), "")
	} else {
		e.add("records", Failed, fmt.Sprintf("%d faults: %s", s.broken.n, s.broken.String()), do)
	}
	if s.unowned.n == 0 {
		e.add("review_owners", OK, "0 open reviews without an owner", "")
	} else {
		e.add("review_owners", Failed, fmt.Sprintf("%d open reviews have no owner: %s", s.unowned.n, s.unowned.String()), do)
	}
}

// unresolved names the oldest operation whose effect is unknown, and its owner.
func (e *examination) unresolved(s *survey) {
	if s.unresolved == 0 {
		e.add("unresolved", OK, "no operation is unknown at its target", "")
		return
	}
	owner := s.oldest.Owner
	if open := s.oldest.OpenReviews(); len(open) > 0 {
		owner = open[0].Owner
	}
	old := s.now.Sub(s.oldest.CreatedAt)
	found := fmt.Sprintf("%d unknown at their target; the oldest is %s, admitted %s ago, owned by %s", s.unresolved, s.oldest.ID, age(old), owner)
	if old > e.MaxAge {
		e.add("unresolved", Warning, found, "onefold ops explain "+s.oldest.ID+" says what would settle it")
		return
	}
	e.add("unresolved", OK, found, "")
}

// unplanned tells of operations whose next step no runner has planned.
func (e *examination) unplanned(s *survey) {
	switch {
	case s.unplannedLate.n > 0:
		e.add("unplanned", Warning, fmt.Sprintf("%d operations wait for a runner to plan their next step: %s", s.unplannedLate.n, s.unplannedLate.String()),
			"see runner; a runner plans them at its start")
	default:
		e.add("unplanned", OK, fmt.Sprintf("%d operations wait for their plan", s.unplanned.n), "")
	}
}
