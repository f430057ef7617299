//go:build unix

package crash

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/onefold-dev/onefold/sandbox"
)

// thinkTime is how long a caller waits between two calls, on average.
const thinkTime = 500 * time.Millisecond

// promise is what a caller knows of one of its keys.
type promise struct {
	key, body string
	id        string // "" while no answer came
	// loose: the key was let go, or may have been.
	loose bool
}

// caller is a careful client: where no answer comes it repeats the same key.
type caller struct {
	*soak
	number int
	chance *rand.Rand
	made   []*promise
}

func (c *caller) live() {
	for n := 0; !c.leave.Load(); n++ {
		switch dice := c.chance.IntN(100); {
		case dice < 72 || len(c.made) == 0:
			c.submit(n)
		case dice < 82:
			c.repeat(c.any())
		case dice < 87:
			c.contradict(c.any())
		case dice < 93:
			c.withdraw(c.made[len(c.made)-1])
		default:
			c.look(c.any())
		}
		if !c.pause(time.Duration(c.chance.Int64N(2 * int64(thinkTime)))) {
			return
		}
	}
}

func (c *caller) any() *promise { return c.made[c.chance.IntN(len(c.made))] }

func (c *caller) submit(n int) {
	p := &promise{key: fmt.Sprintf("c%d-%d", c.number, n)}
	sum := fmt.Sprintf("%d.%02d", 1+c.chance.IntN(5000), c.chance.IntN(100))
	switch c.chance.IntN(3) {
	case 0:
		supplier := fmt.Sprintf("S-%d", c.number)
		if c.chance.IntN(20) == 0 {
			supplier = "S-REFUSED"
		}
		p.body = fmt.Sprintf(`{"capability":"bills.create","request":{"supplier":%q,"number":"N-%d-%d","total":%q}}`, supplier, c.number, n, sum)
	case 1:
		p.body = fmt.Sprintf(`{"capability":"orders.create","request":{"supplier":"S-%d","item":"bolt","quantity":%d}}`, c.number, n+1)
	default:
		p.body = fmt.Sprintf(`{"capability":"payments.send","request":{"payee":"P-%d","amount":%q,"currency":"EUR"}}`, c.number, sum)
	}
	if c.deliver(p) {
		c.made = append(c.made, p)
	}
}

// deliver submits until there is an answer. It is false where the operation was
// refused, or nobody answers any more.
func (c *caller) deliver(p *promise) bool {
	for {
		a := c.call(http.MethodPost, "/v1/operations", p.body, "Idempotency-Key", p.key)
		switch {
		case a.status == http.StatusCreated || a.status == http.StatusOK:
			c.heard(a)
			switch {
			case p.id == "" || p.id == a.text("id"):
			case !p.loose:
				c.t.Errorf("the key %s named %s, and now names %s", p.key, p.id, a.text("id"))
			}
			p.id, p.loose = a.text("id"), false
			c.count("answered submissions")
			return true
		case c.silent(a):
			c.count("submissions without an answer")
		default:
			c.t.Errorf("a submission got %d %v", a.status, a.body)
			return false
		}
		if !c.pause(100 * time.Millisecond) {
			return false
		}
	}
}

func (c *caller) repeat(p *promise) {
	if c.deliver(p) {
		c.count("repeats")
	}
}

// contradict asks for something else under the same key: it must start nothing.
func (c *caller) contradict(p *promise) {
	if p.loose {
		return
	}
	a := c.call(http.MethodPost, "/v1/operations", p.body[:len(p.body)-1]+`,"revision":"another"}`, "Idempotency-Key", p.key)
	switch {
	case c.silent(a):
	case a.status == http.StatusUnprocessableEntity && a.text("code") == "key_conflict":
		c.count("conflicts")
	default:
		c.t.Errorf("another intent under the key %s got %d %v", p.key, a.status, a.body)
	}
}

func (c *caller) withdraw(p *promise) {
	a := c.call(http.MethodPost, "/v1/operations/"+p.id+"/cancel", `{"reason":"changed my mind"}`)
	switch {
	case c.silent(a):
		p.loose = true
	case a.status == http.StatusOK:
		c.heard(a)
		p.loose = a.number("attempts") == 0
		c.count("withdrawals that came in time")
	case a.status == http.StatusAccepted:
		c.count("withdrawals in doubt")
	case a.status != http.StatusConflict:
		c.t.Errorf("a withdrawal got %d %v", a.status, a.body)
	}
}

func (c *caller) look(p *promise) {
	a := c.call(http.MethodGet, "/v1/operations/"+p.id+"?wait=1", "")
	switch {
	case a.status == http.StatusOK:
		c.heard(a)
	case !c.silent(a):
		c.t.Errorf("the operation %s reads %d %v", p.id, a.status, a.body)
	}
}

// operator owns what evidence alone cannot settle: it looks into the target, as a
// person would, and decides.
type operator struct {
	*soak
	chance *rand.Rand
	seen   map[string]time.Time
}

// patientFor is how long a review lies before the operator looks: what is under
// way at the target has arrived by then.
const patientFor = 2 * time.Second

func (o *operator) live() {
	for o.pause(200 * time.Millisecond) {
		connection := o.call(http.MethodGet, "/v1/connections/acme-erp", "")
		if connection.body["paused"] != nil && connection.body["paused"] != false {
			o.call(http.MethodPost, "/v1/connections/acme-erp/resume", `{"reason":"it works again"}`)
			o.count("pauses lifted")
		}
		reviews := o.call(http.MethodGet, "/v1/reviews?status=open&limit=200", "")
		for _, item := range reviews.items() {
			id, _ := item["operation"].(string)
			if inner, ok := item["operation"].(map[string]any); ok {
				id, _ = inner["id"].(string)
			}
			if o.seen[id].IsZero() {
				o.seen[id] = time.Now()
			}
			if time.Since(o.seen[id]) > patientFor {
				o.decide(id)
			}
		}
	}
}

// decide decides one operation, on what the target shows.
func (o *operator) decide(id string) {
	op := o.call(http.MethodGet, "/v1/operations/"+id, "")
	if op.status != http.StatusOK || settled(op) {
		return
	}
	if holds, _ := op.body["holds"].([]any); len(holds) > 0 && op.text("state") == "prepared" {
		hold, _ := holds[0].(map[string]any)
		o.act(op, "release", fmt.Sprintf(`{"hold":%q,"decision":%q,"reason":"looked into it"}`, hold["reason"], o.pick("proceed", "decline")))
		return
	}
	if op.text("state") != "uncertain" || !o.quiet(op) {
		return
	}
	effects := listed[sandbox.Effect](o.h.judge, "/admin/effects?account="+o.h.account+"&reference="+url.QueryEscape(op.text("reference")))
	switch {
	case len(effects) > 0:
		o.act(op, "resolve", fmt.Sprintf(`{"outcome":"confirmed","reference":%q,"reason":"found it"}`, effects[0].ID))
	case !o.act(op, "resolve", fmt.Sprintf(`{"outcome":%q,"reason":"nothing there"}`, o.pick("not_applied", "rejected"))):
		o.act(op, "resolve", `{"outcome":"rejected","reason":"nothing there"}`)
	}
}

// quiet tells whether nothing of the operation is under way, here or there.
func (o *operator) quiet(op answer) bool {
	attempts := o.call(http.MethodGet, "/v1/operations/"+op.text("id")+"/attempts?limit=200", "")
	if attempts.status != http.StatusOK {
		return false
	}
	for _, a := range attempts.items() {
		if a["ended_at"] == nil {
			return false
		}
	}
	requests := listed[sandbox.Request](o.h.judge, "/admin/requests?account="+o.h.account+"&reference="+url.QueryEscape(op.text("reference")))
	for _, r := range requests {
		if r.Outcome == sandbox.Pending {
			return false
		}
	}
	return true
}

func (o *operator) act(op answer, action, body string) bool {
	done := o.call(http.MethodPost, "/v1/operations/"+op.text("id")+"/"+action, body, "If-Match", op.header.Get("ETag"))
	o.heard(done)
	if done.status == http.StatusOK {
		o.count("decisions")
	}
	return done.status == http.StatusOK
}

func (o *operator) pick(a, b string) string {
	if o.chance.IntN(2) == 0 {
		return a
	}
	return b
}
