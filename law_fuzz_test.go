package onefold

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// TestAnEventWithoutItsPayloadIsRefused: of each kind, in each state, with
// nothing but the kind.
func TestAnEventWithoutItsPayloadIsRefused(t *testing.T) {
	t.Parallel()
	bare := 0
	for _, kind := range append(EventKinds(), EventAdmitted, EventNoted, "", "never heard of") {
		for _, state := range States() {
			s := &scene{state: state, attempts: shapes(state)[1], profile: profiles(state)[0]}
			op := s.build()
			ev := Event{Kind: kind, ReviewID: "rev_new"}
			got, effects, err := Apply(op, ev, noon)
			if err == nil {
				continue // a kind that needs none
			}
			if !reflect.DeepEqual(got, op) || len(effects) > 0 {
				t.Errorf("%q on %s was refused and changed something", kind, state)
			}
			if !ev.whole() {
				bare++
				if CodeOf(err) != CodeInternal {
					t.Errorf("%q on %s without payload: %v", kind, state, err)
				}
			}
		}
	}
	if want := 14 * len(States()); bare != want {
		t.Errorf("%d refusals for want of a payload, want %d", bare, want)
	}
}

// stir changes facts of an operation so that it may be one that cannot be: what
// a store that lost a part might give back.
func stir(op *Operation, seed uint64) {
	bit := func(n int) bool { return seed>>n&1 != 0 }
	if bit(0) {
		op.Doubt = nil
	}
	if bit(1) {
		op.Lease = nil
	}
	if bit(2) {
		op.Attempts = append(op.Attempts, Attempt{})
	}
	if bit(3) && len(op.Attempts) > 0 {
		a := &op.Attempts[0]
		a.EndedAt, a.Open, a.OpenSince, a.CloseAt = nil, bit(4), nil, nil
	}
	if bit(5) {
		op.Result = nil
	}
	if bit(6) {
		op.Reviews = nil
	}
	if bit(7) {
		op.State = "of another release"
	}
	if bit(8) {
		op.FirstDispatched, op.Retry.Since = nil, nil
	}
	if bit(9) {
		op.Owner = ""
	}
	if bit(10) {
		op.Holds, op.Due = append(op.Holds, Hold{}), nil
	}
	if bit(11) {
		op.Barred = append(op.Barred, "of another release", BarRestored)
	}
}

// FuzzApply gives the law any event with any payload, on operations that can be
// and on broken ones: it never panics, never changes what it was given, and
// what it lets through keeps the assertions.
func FuzzApply(f *testing.F) {
	f.Add(uint8(0), uint16(0), uint8(0), uint8(0), uint64(0), []byte(`{"Kind":"leased","Lease":{"Worker":"w","For":1000}}`))
	f.Add(uint8(1), uint16(1), uint8(1), uint8(0), uint64(0), []byte(`{"Kind":"answered","Answer":{"Attempt":"att_1","Token":1,"Outcome":"confirmed","Reference":"B"}}`))
	f.Add(uint8(2), uint16(64), uint8(2), uint8(3), uint64(1), []byte(`{"Kind":"looked_up","Lookup":{"Token":2,"Result":"found","Reference":"B","Differs":[{}]}}`))
	f.Add(uint8(2), uint16(3), uint8(1), uint8(1), uint64(12), []byte(`{"Kind":"attempt_closed","Close":{"Attempt":"att_1","By":"straggler"}}`))
	f.Add(uint8(2), uint16(0), uint8(4), uint8(0), uint64(0), []byte(`{"Kind":"resolved","Resolution":{"Outcome":"not_applied"}}`))
	f.Add(uint8(3), uint16(0), uint8(0), uint8(1), uint64(0), []byte(`{"Kind":"observed","Observation":{"Asserts":"effect_exists"}}`))
	f.Add(uint8(0), uint16(0), uint8(0), uint8(10), uint64(0), []byte(`{"Kind":"hold_decided","Hold":{"Reason":"approval","Proceed":true}}`))
	f.Add(uint8(2), uint16(0), uint8(2), uint8(0), uint64(0), []byte(`{"Kind":"begun","Begin":{"Kind":"replay","Token":2},"Policy":{"Window":9223372036854775807}}`))
	for seed := range uint64(12) {
		f.Add(uint8(seed%6), uint16(0), uint8(seed), uint8(0), uint64(1)<<seed, []byte(`{"Kind":"recovered","Policy":{"RetryBackoff":{"Factor":-1}}}`))
	}
	f.Fuzz(func(t *testing.T, stateN uint8, barN uint16, shapeN, profileN uint8, seed uint64, event []byte) {
		state := States()[int(stateN)%len(States())]
		s := &scene{
			state: state, bars: bars(barN % 128), attempts: shapes(state)[int(shapeN)%len(shapes(state))],
			profile: profiles(state)[int(profileN)%len(profiles(state))], seen: barN > 127,
		}
		op := s.build()
		stir(&op, seed)
		ev := Event{Policy: s.policy(), ReviewID: "rev_new"}
		if json.Unmarshal(event, &ev) != nil {
			return
		}
		before := snapshot(op)
		got, effects, err := Apply(op, ev, noon.Add(time.Duration(seed>>12)))
		if !reflect.DeepEqual(op, before) {
			t.Error("the given operation was changed")
		}
		if err != nil && len(effects) > 0 {
			t.Error("a refusal has effects")
		}
		if err == nil && got.Broken() != "" {
			t.Errorf("broken: %s", got.Broken())
		}
		_, _ = got.WakeAt(), got.Live()
	})
}
