package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Ending is what becomes of accepted work.
type Ending string

// The endings of accepted work.
const (
	Settles  Ending = "settled" // it is done: from then on it is an effect
	Fails    Ending = "failed"  // it failed for good: it never was an effect
	NeverEnd Ending = "pending" // it is neither done nor failed, ever
)

// Settlement is how a collection takes work on for later: a write is answered 202
// with a record in the status "pending", and After later the record is in the
// status that Ends says. A record is an effect once it is settled, and not before.
type Settlement struct {
	After time.Duration
	Ends  Ending // "" means Settles
}

const pendingStatus = "pending"

func (s Settlement) check() (Settlement, error) {
	if s.Ends == "" {
		s.Ends = Settles
	}
	if !slices.Contains([]Ending{Settles, Fails, NeverEnd}, s.Ends) {
		return s, fmt.Errorf("ends is %q; known are %s, %s, %s", s.Ends, Settles, Fails, NeverEnd)
	}
	if s.After < 0 || s.After > MaxFaultLag {
		return s, fmt.Errorf("it settles after 0 to %s", MaxFaultLag)
	}
	return s, nil
}

func checkSettlements(given map[string]Settlement) (map[string]Settlement, error) {
	checked := map[string]Settlement{}
	for name, s := range given {
		if _, known := collectionNamed(name); !known {
			return nil, fmt.Errorf("sandbox: Options.Accept: no collection %q", name)
		}
		var err error
		if checked[name], err = s.check(); err != nil {
			return nil, errors.Join(errors.New("sandbox: Options.Accept: "+name), err)
		}
	}
	return checked, nil
}

// settlement says whether the write is only accepted, and how it ends.
func (x *exchange) settlement() (Settlement, bool) {
	if x.fault.Kind == Accept {
		return Settlement{After: x.fault.Settle, Ends: x.fault.Ends}, true
	}
	s, accepts := x.sandbox.options.Accept[x.collection.name]
	return s, accepts
}

// asOf gives a record as it stands at a time; ends is "" where it was made at
// once. The status is the first thing of its spelling in a record: what stands
// before it holds no bare quotes.
func asOf(record []byte, ends Ending, settlesAt, now int64) []byte {
	if ends == "" || ends == NeverEnd || now < settlesAt {
		return record
	}
	member := func(s string) []byte { return append([]byte(`"status":`), quoted(s)...) }
	return bytes.Replace(record, member(pendingStatus), member(string(ends)), 1)
}
