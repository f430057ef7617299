package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ErrQueueFull says that the faults would be more than MaxQueuedFaults; none of them was queued.
var ErrQueueFull = fmt.Errorf("sandbox: more than %d queued faults", MaxQueuedFaults)

// Firing is one request that took a fault.
type Firing struct {
	RequestSeq int64     `json:"request_seq"`
	At         time.Time `json:"at"`      // UTC; when the request took it, before anything was done about the request
	Effects    int64     `json:"effects"` // effects of that request so far: tells a lost success from a lost refusal
}

// FaultState is a fault that was queued, and what became of it.
type FaultState struct {
	Fault
	QueuedAt  time.Time // UTC
	Remaining int       // how many requests it still takes
	Cleared   bool      // taken back by ClearFaults before Remaining was 0 by itself
	Fired     []Firing  // in order; never nil
}

// MarshalJSON gives the fault's own members, then queued_at, remaining, cleared and fired.
func (f FaultState) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		faultMembers
		QueuedAt  time.Time `json:"queued_at"`
		Remaining int       `json:"remaining"`
		Cleared   bool      `json:"cleared"`
		Fired     []Firing  `json:"fired"`
	}{f.members(), f.QueuedAt, f.Remaining, f.Cleared, f.Fired})
}

func faultID(number int64) string {
	if number == 0 {
		return ""
	}
	return "F-" + strconv.FormatInt(number, 10)
}

// AddFault queues a fault behind those that wait already and gives its id. A fault that makes no sense is a
// *FaultError; a full queue is ErrQueueFull.
func (s *Sandbox) AddFault(ctx context.Context, f Fault) (string, error) {
	ids, err := s.AddFaults(ctx, []Fault{f})
	if err != nil {
		var wrong *FaultError
		if errors.As(err, &wrong) {
			wrong.Member = strings.TrimPrefix(wrong.Member, "/0")
		}
		return "", err
	}
	return ids[0], nil
}

// AddFaults queues all the faults, in order, or none; a *FaultError names the first that is wrong by its index.
func (s *Sandbox) AddFaults(ctx context.Context, faults []Fault) (ids []string, err error) {
	checked := make([]Fault, len(faults))
	for i, f := range faults {
		var wrong *FaultError
		if checked[i], err = f.check(); errors.As(err, &wrong) {
			return nil, &FaultError{Member: "/" + strconv.Itoa(i) + wrong.Member, Detail: wrong.Detail}
		}
	}
	err = s.within(ctx, func(t transaction) error {
		var waiting int
		if _, err := t.one("fault.count_queued", []any{&waiting}); err != nil {
			return err
		}
		if waiting+len(checked) > MaxQueuedFaults {
			return ErrQueueFull
		}
		for _, f := range checked {
			spec, err := json.Marshal(f)
			if err != nil {
				return fmt.Errorf("sandbox: fault: %w", err)
			}
			result, err := t.exec("fault.insert", s.options.Now().UnixNano(), string(spec), f.Times)
			if err != nil {
				return err
			}
			number, err := result.LastInsertId()
			if err != nil {
				return fmt.Errorf("sandbox: fault: %w", err)
			}
			ids = append(ids, faultID(number))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ids, nil
}

// Faults gives every fault that was ever queued, in order, with what fired. The answer is never nil without an error.
func (s *Sandbox) Faults(ctx context.Context) ([]FaultState, error) {
	return allPages(Filter{}, func(f Filter) (page []FaultState, last int64, err error) {
		err = s.within(ctx, func(t transaction) error {
			page, last, err = faultPage(t, f.AfterSeq, s.now())
			return err
		})
		return page, last, err
	})
}

func faultPage(t transaction, after, now int64) (page []FaultState, last int64, err error) {
	var numbers []int64
	err = t.each("fault.list", func(scan func(...any) error) error {
		var number, queuedAt int64
		var spec string
		state := FaultState{Fired: []Firing{}}
		if err := scan(&number, &queuedAt, &spec, &state.Remaining, &state.Cleared); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(spec), &state.Fault); err != nil {
			return err
		}
		state.ID, state.QueuedAt = faultID(number), instant(queuedAt)
		page, numbers = append(page, state), append(numbers, number)
		return nil
	}, after, pageSize)
	if err != nil {
		return nil, 0, err
	}
	for i, number := range numbers {
		last = number
		err := t.each("fault.firings", func(scan func(...any) error) error {
			var firing Firing
			var at int64
			err := scan(&firing.RequestSeq, &at, &firing.Effects)
			firing.At = instant(at)
			page[i].Fired = append(page[i].Fired, firing)
			return err
		}, number, now)
		if err != nil {
			return nil, 0, err
		}
	}
	return page, last, nil
}

// ClearFaults takes back what still waits and says how many faults that were. What fired stays listed.
func (s *Sandbox) ClearFaults(ctx context.Context) (int64, error) {
	var cleared int64
	err := s.within(ctx, func(t transaction) error {
		result, err := t.exec("fault.clear_queued")
		if err != nil {
			return err
		}
		cleared, err = result.RowsAffected()
		return err
	})
	return cleared, err
}

// register logs the request and lets it take the oldest fault that matches, in one commit: whatever happens after
// this, and be it the death of the process, the request has been seen.
func (x *exchange) register() error {
	return x.sandbox.store.within(x.store, func(t transaction) error {
		r := &x.request
		result, err := t.exec("request.insert", r.At.UnixNano(), r.Connection, r.Method, r.Path, r.Query, r.Account, r.Collection,
			r.IdempotencyKey, r.Reference, r.BodyDigest, r.BodyBytes, r.Complete, string(r.Outcome), r.Status)
		if err != nil {
			return err
		}
		if r.Seq, err = result.LastInsertId(); err != nil || r.Outcome != Pending {
			return err
		}
		return x.takeFault(t)
	})
}

func (x *exchange) takeFault(t transaction) error {
	var taken int64
	err := t.each("fault.queued", func(scan func(...any) error) error {
		var number int64
		var spec string
		var f Fault
		if err := scan(&number, &spec); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(spec), &f); err != nil {
			return err
		}
		if taken == 0 && f.matches(x.request.Method, x.request.Path, x.externalRef, x.request.IdempotencyKey) {
			taken, x.fault = number, f
		}
		return nil
	})
	if err != nil || taken == 0 {
		return err
	}
	x.request.Fault = faultID(taken)
	if _, err := t.exec("fault.use", taken); err != nil {
		return err
	}
	if _, err := t.exec("fault.fire", taken, x.request.Seq, x.request.At.UnixNano()); err != nil {
		return err
	}
	_, err = t.exec("request.fault", x.request.Seq, taken)
	return err
}
