package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
)

// overdue is what is due for longer than the grace and has not begun, though a
// process runs the file: a connection's places are taken, or its target is slow.
type overdue struct {
	paused       map[onefold.ConnectionRef]bool
	unread       error // why the pauses are not known
	asks, sends  list
	longest      time.Duration
	longestNamed string
}

// closedConnections learns over which connections nothing is sent just now.
func (o *overdue) closedConnections(ctx context.Context, h Health) {
	o.paused = map[onefold.ConnectionRef]bool{}
	all, err := h.Pauses(ctx)
	o.unread = err
	for _, p := range all {
		o.paused[p.Connection] = true
	}
}

// look adds one live operation. What waits for a connection to be opened is not
// late; asking a target goes on over a closed one.
func (o *overdue) look(op *onefold.Operation, p *papers, now time.Time, grace time.Duration) {
	if op.Due == nil || op.Lease != nil || now.Sub(*op.Due) <= grace {
		return
	}
	asks := op.Next == onefold.NextLookup || op.Next == onefold.NextPoll
	switch {
	case asks:
		o.asks.add(op.ID)
	case op.Next != onefold.NextAttempt && op.Next != onefold.NextReplay:
		return // told by unplanned
	case o.closed(op, p):
		return
	default:
		o.sends.add(op.ID)
	}
	if late := now.Sub(*op.Due); late > o.longest {
		o.longest, o.longestNamed = late, op.ID
	}
}

func (o *overdue) closed(op *onefold.Operation, p *papers) bool {
	if o.paused[onefold.ConnectionRef{Workspace: op.Workspace, Connection: op.Connection}] {
		return true
	}
	if p.registry == nil {
		return false
	}
	b, err := p.find(op)
	return err != nil || b.Terms().Mode == onefold.ModeDisabled
}

// dueWork tells of work that nobody takes up in time. Where nobody runs the file
// that is what runner says.
func (e *examination) dueWork(held bool) {
	o := &e.overdue
	switch {
	case o.unread != nil:
		e.unread("due_work", o.unread)
	case !held:
		e.add("due_work", OK, "nobody runs the file: see runner", "")
	case o.asks.n+o.sends.n == 0:
		e.add("due_work", OK, "nothing is due for longer than "+e.Grace.String(), "")
	default:
		var kinds []string
		for _, kind := range []struct {
			late *list
			name string
		}{{&o.asks, "look-ups"}, {&o.sends, "writes"}} {
			if kind.late.n > 0 {
				kinds = append(kinds, fmt.Sprintf("%s: %d (%s)", kind.name, kind.late.n, kind.late))
			}
		}
		e.add("due_work", Warning,
			fmt.Sprintf("due for longer than %s and not begun, %s; the longest, %s, for %s", e.Grace, strings.Join(kinds, ", "), o.longestNamed, age(o.longest)),
			"the target is slower than what is submitted, or the connection's limits are too low for it; onefold ops explain "+o.longestNamed)
	}
}
