//go:build unix

package crash

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/onefold-dev/onefold/sandbox"
)

// mostWaiting bounds the faults that wait for a request.
const mostWaiting = 24

// planner plans faults at the target and sees them happen, by the target's own
// log. It keeps to what the documents promise of the target: a fault may lose,
// delay, cut, repeat and garble; it does not make the target say "refused" of
// what it did, or work on a request for longer than the contract says.
type planner struct {
	*soak
	chance *rand.Rand
	after  int64 // the last request of the log that was seen

	stop        atomic.Bool // nothing new
	waiting     atomic.Int64
	outstanding map[string]string // fault → its collection, where it is about look-ups
}

// kinds are all that the target knows.
func (p *planner) kinds() []string {
	var kinds []string
	for _, k := range sandbox.Kinds() {
		kinds = append(kinds, string(k))
	}
	return kinds
}

func (p *planner) live() {
	todo := p.kinds()
	p.waiting.Store(1)
	for p.pause(40 * time.Millisecond) {
		p.follow()
		switch {
		case len(p.outstanding) == 0 && p.stop.Load() && len(todo) == 0:
			p.waiting.Store(0)
		case p.stop.Load() && len(todo) == 0:
			// A look-up that a fault waits for needs a lost answer.
			for _, collection := range p.outstanding {
				if collection != "" && len(p.outstanding) < mostWaiting {
					p.plan(collection, "POST", `"kind":"drop_after_effect"`)
					break
				}
			}
		case len(p.outstanding) < mostWaiting:
			kind := p.kinds()[p.chance.IntN(len(p.kinds()))]
			if len(todo) > 0 {
				kind, todo = todo[0], todo[1:]
			}
			p.random(sandbox.Kind(kind))
		}
	}
}

// follow reads on in the target's log.
func (p *planner) follow() {
	requests := listed[sandbox.Request](p.h.judge, fmt.Sprintf("/admin/requests?account=%s&after_seq=%d", p.h.account, p.after))
	for _, r := range requests {
		p.after = r.Seq
		if r.Fault != "" {
			delete(p.outstanding, r.Fault)
		}
	}
}

func (p *planner) plan(collection, method, members string) {
	p.t.Helper()
	status, said := p.h.judge.ask("POST", "/admin/faults", fmt.Sprintf(`{"path":"/acct/%s/%s","method":%q,%s}`, p.h.account, collection, method, members))
	_, id, _ := strings.Cut(string(said), `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	if status != 201 || id == "" {
		p.t.Errorf("the fault %s was refused: %d %s", members, status, said)
		return
	}
	if method == "POST" {
		collection = ""
	}
	p.outstanding[id] = collection
}

// random plans a fault of the kind somewhere.
func (p *planner) random(kind sandbox.Kind) {
	collection := []string{"bills", "orders", "payments"}[p.chance.IntN(3)]
	members := fmt.Sprintf(`"kind":%q`, kind)
	// Look-ups of bills are rare: their lost answers are replayed.
	about := slices.Contains([]sandbox.Kind{sandbox.Twice, sandbox.Lag, sandbox.Accept}, kind) // effects
	if collection != "bills" && !about && p.chance.IntN(5) == 0 {
		p.plan(collection, "GET", members+p.lookup(kind))
		return
	}
	p.plan(collection, "POST", members+p.write(kind))
}

func (p *planner) upTo(d time.Duration) string {
	return (time.Millisecond + time.Duration(p.chance.Int64N(int64(d))).Truncate(time.Millisecond)).String()
}

func (p *planner) maybe() bool { return p.chance.IntN(2) == 0 }

func (p *planner) write(kind sandbox.Kind) string {
	switch kind {
	case sandbox.Delay:
		if p.maybe() {
			return `,"before":"` + p.upTo(600*time.Millisecond) + `"`
		}
		return `,"after":"` + p.upTo(2500*time.Millisecond) + `"`
	case sandbox.Cut:
		return p.cut()
	case sandbox.Status:
		if p.maybe() {
			return fmt.Sprintf(`,"status":%d,"effect":%t`, []int{500, 502, 503, 504}[p.chance.IntN(4)], p.maybe())
		}
		return fmt.Sprintf(`,"status":%d`, []int{302, 400, 401, 403, 404, 408, 409, 422, 425, 429}[p.chance.IntN(10)])
	case sandbox.HTML:
		if p.chance.IntN(3) == 0 {
			return `,"status":404`
		}
		return fmt.Sprintf(`,"status":%d,"effect":%t`, []int{200, 502}[p.chance.IntN(2)], p.maybe())
	case sandbox.WrongLength:
		return fmt.Sprintf(`,"bytes":%d`, 1+p.chance.IntN(100))
	case sandbox.Twice:
		return fmt.Sprintf(`,"protected":%t`, p.maybe())
	case sandbox.Lag:
		return `,"lag":"` + p.upTo(30*time.Millisecond) + `"`
	case sandbox.Hang, sandbox.Redirect:
		return fmt.Sprintf(`,"effect":%t`, p.maybe())
	case sandbox.Accept:
		// These contracts know no acceptance: a 202 is an effect for them, and so it must be one soon.
		return `,"settle":"` + p.upTo(30*time.Millisecond) + `"`
	case sandbox.DropAfterEffect, sandbox.DropBefore, sandbox.Unauthorized:
	}
	return ""
}

func (p *planner) lookup(kind sandbox.Kind) string {
	switch kind {
	case sandbox.Delay:
		return `,"before":"` + p.upTo(2*time.Second) + `"`
	case sandbox.Cut:
		return p.cut()
	case sandbox.Status:
		return fmt.Sprintf(`,"status":%d`, []int{302, 401, 403, 404, 409, 429, 500, 503}[p.chance.IntN(8)])
	case sandbox.HTML:
		return fmt.Sprintf(`,"status":%d`, []int{200, 404, 502}[p.chance.IntN(3)])
	case sandbox.WrongLength:
		return fmt.Sprintf(`,"bytes":%d`, 1+p.chance.IntN(100))
	case sandbox.DropAfterEffect, sandbox.DropBefore, sandbox.Twice, sandbox.Unauthorized, sandbox.Lag, sandbox.Hang, sandbox.Redirect,
		sandbox.Accept:
		// As they are.
	}
	return ""
}

func (p *planner) cut() string {
	of := "response"
	if p.maybe() {
		of = "body"
	}
	return fmt.Sprintf(`,"of":%q,"bytes":%d`, of, p.chance.IntN(300))
}
