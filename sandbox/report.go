package sandbox

import (
	"context"
	"encoding/json"
	"time"
)

// Effect is one thing that happened in the fake business: a bill, order or payment that was made. Effects are never
// changed or removed (but by a reset). What was accepted for later is one from the moment it settles, under the number
// of its acceptance; what fails or never ends is none.
type Effect struct {
	Seq            int64           `json:"seq"`             // order of commit, from 1
	ID             string          `json:"id"`              // such as BILL-1001; unique in the collection over all accounts
	Reference      string          `json:"reference"`       // external_ref, or the idempotency key where there is none, or ""
	IdempotencyKey string          `json:"idempotency_key"` // "" where the request carried none
	Collection     string          `json:"collection"`      // bills, orders or payments
	Account        string          `json:"account"`         // the name after /acct/, or ""
	At             time.Time       `json:"at"`              // UTC
	VisibleAt      time.Time       `json:"visible_at"`      // UTC; when look-ups begin to show it
	RequestSeq     int64           `json:"request_seq"`     // the request that made it; two effects share one under "twice"
	Record         json.RawMessage `json:"record"`          // what the collection answers for it
	// SettledAt is when accepted work became the effect (UTC); nil where it was one at once. At is then the acceptance.
	SettledAt *time.Time `json:"settled_at,omitempty"`
}

// Outcome says what became of a request's answer.
type Outcome string

// The outcomes of a request.
const (
	Pending  Outcome = "pending"  // still being handled, or waiting under a fault
	Answered Outcome = "answered" // a whole answer was handed to the kernel
	CutShort Outcome = "cut"      // an answer began, and less than it promised was sent
	Dropped  Outcome = "dropped"  // no answer
)

// Request is one request that reached the sandbox, of any method and any outcome, but for those of the admin API.
type Request struct {
	Seq            int64     `json:"seq"`             // order of arrival in the log, from 1
	At             time.Time `json:"at"`              // UTC; when its head had been read
	Connection     int64     `json:"connection"`      // number of its connection since the sandbox was opened; 0 outside Serve
	Method         string    `json:"method"`          //
	Path           string    `json:"path"`            // without the query
	Query          string    `json:"query"`           // as it was sent
	Account        string    `json:"account"`         //
	Collection     string    `json:"collection"`      // "" where the path names none
	IdempotencyKey string    `json:"idempotency_key"` //
	Reference      string    `json:"reference"`       // as Effect.Reference; in a look-up its external_ref
	BodyDigest     string    `json:"body_digest"`     // "sha256:" and 64 hex digits, of the bytes that BodyBytes counts
	BodyBytes      int64     `json:"body_bytes"`      // how many arrived; of an oversized body only MaxBody+1 are looked at
	Complete       bool      `json:"complete"`        // whether the body arrived whole
	Outcome        Outcome   `json:"outcome"`         //
	Status         int       `json:"status"`          // the status that the client was sent; 0 while pending and when dropped
	Fault          string    `json:"fault"`           // id of the fault that it took, or ""
}

// Summary is the ledger in three numbers, so to say.
type Summary struct {
	Effects    int64    `json:"effects"`
	Requests   int64    `json:"requests"`
	Duplicates []string `json:"duplicates"` // references with more than one effect in one account, sorted; never nil
}

// Filter narrows a list. The zero value is everything.
type Filter struct {
	Reference *string // equal to it
	Account   *string // equal to it; "" is the ledger without an account prefix
	AfterSeq  int64   // later than it
}

// pageSize is how many rows one transaction reads, so that no reader keeps the writers waiting long.
const pageSize = 500

// Effects gives every effect, in order of commit.
func (s *Sandbox) Effects(ctx context.Context) ([]Effect, error) { return s.FindEffects(ctx, Filter{}) }

// FindEffects gives the effects that pass the filter, in order of commit. The answer is never nil without an error.
func (s *Sandbox) FindEffects(ctx context.Context, f Filter) ([]Effect, error) {
	return allPages(f, func(f Filter) ([]Effect, int64, error) { return s.effectPage(ctx, f) })
}

// Requests gives every request that was logged, in order of arrival.
func (s *Sandbox) Requests(ctx context.Context) ([]Request, error) {
	return s.FindRequests(ctx, Filter{})
}

// FindRequests gives the requests that pass the filter, in order of arrival. The answer is never nil without an error.
func (s *Sandbox) FindRequests(ctx context.Context, f Filter) ([]Request, error) {
	return allPages(f, func(f Filter) ([]Request, int64, error) { return s.requestPage(ctx, f) })
}

// Summary counts effects and requests and names the references with more than one effect.
func (s *Sandbox) Summary(ctx context.Context) (Summary, error) { return s.summary(ctx, nil) }

func (s *Sandbox) summary(ctx context.Context, account *string) (Summary, error) {
	sum := Summary{Duplicates: []string{}}
	err := s.within(ctx, func(t transaction) error {
		if _, err := t.one("effect.count", []any{&sum.Effects}, account, s.now()); err != nil {
			return err
		}
		if _, err := t.one("request.count", []any{&sum.Requests}, account); err != nil {
			return err
		}
		return t.each("effect.duplicates", func(scan func(...any) error) error {
			var reference string
			err := scan(&reference)
			sum.Duplicates = append(sum.Duplicates, reference)
			return err
		}, account, s.now())
	})
	return sum, err
}

// now is the sandbox's time as its file has it.
func (s *Sandbox) now() int64 { return s.options.Now().UnixNano() }

// Reset forgets everything: effects, requests, stored answers and faults. Sequence numbers go on. A request that is
// being handled meanwhile may still leave an effect behind. It does not ask Options.AllowReset, which is for the network.
func (s *Sandbox) Reset(ctx context.Context) error {
	return s.within(ctx, func(t transaction) error {
		for _, name := range []string{
			"effect.clear", "settlement.clear", "effect.clear_numbers", "request.clear", "answer.clear", "fault.clear", "fault.clear_firings",
		} {
			if _, err := t.exec(name); err != nil {
				return err
			}
		}
		return nil
	})
}

// allPages reads page after page; page also gives the last row's sequence number.
func allPages[T any](f Filter, page func(Filter) ([]T, int64, error)) ([]T, error) {
	all := []T{}
	for {
		rows, last, err := page(f)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
		if len(rows) < pageSize {
			return all, nil
		}
		f.AfterSeq = last
	}
}

func (s *Sandbox) effectPage(ctx context.Context, f Filter) (page []Effect, last int64, err error) {
	err = s.within(ctx, func(t transaction) error {
		return t.each("effect.list", func(scan func(...any) error) error {
			var e Effect
			var at, visible, settlesAt int64
			var record string
			var ends Ending
			err := scan(&e.Seq, &e.ID, &e.Account, &e.Collection, &e.Reference, &e.IdempotencyKey, &at, &visible,
				&e.RequestSeq, &record, &ends, &settlesAt)
			e.At, e.VisibleAt, e.Record = instant(at), instant(visible), json.RawMessage(record)
			if ends != "" {
				settled := instant(settlesAt)
				e.SettledAt, e.Record = &settled, asOf(e.Record, ends, settlesAt, settlesAt)
			}
			page, last = append(page, e), e.Seq
			return err
		}, f.AfterSeq, f.Reference, f.Account, pageSize, s.now())
	})
	return page, last, err
}

func (s *Sandbox) requestPage(ctx context.Context, f Filter) (page []Request, last int64, err error) {
	err = s.within(ctx, func(t transaction) error {
		return t.each("request.list", func(scan func(...any) error) error {
			var r Request
			var at, fault int64
			err := scan(&r.Seq, &at, &r.Connection, &r.Method, &r.Path, &r.Query, &r.Account, &r.Collection,
				&r.IdempotencyKey, &r.Reference, &r.BodyDigest, &r.BodyBytes, &r.Complete, &r.Outcome, &r.Status, &fault)
			r.At, r.Fault = instant(at), faultID(fault)
			page, last = append(page, r), r.Seq
			return err
		}, f.AfterSeq, f.Reference, f.Account, pageSize)
	})
	return page, last, err
}

func instant(nanoseconds int64) time.Time { return time.Unix(0, nanoseconds).UTC() }
