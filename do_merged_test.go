package onefold_test

import (
	"context"
	"testing"

	"github.com/onefold-dev/onefold"
)

// A function reports the record of an earlier payout for another one: the system
// behind it has merged the two. That confirms the first alone, unless the request
// names the record or the contract says that records are shared.
//
// Proves: M3, M18
func TestAFunctionThatReportsAnEarlierRecordConfirmsOneOperation(t *testing.T) {
	t.Parallel()
	shared := replaced("    verify: {/amount: $request/amount}\n", "    verify: {/amount: $request/amount}\n    references: shared\n")
	for name, c := range map[string]struct {
		edit      func(string) string
		reference string
		want      error
	}{
		"merged":               {nil, "DOC-1", onefold.ErrRetryUnsafe},
		"named by the request": {nil, "P-1", nil},
		"shared":               {shared, "DOC-1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, b := newDoScene(t, doOptions{edit: c.edit}), &books{}
			b.answer = func(context.Context, onefold.Call) (onefold.WriteReport, error) {
				return onefold.Applied(c.reference), nil
			}
			first := s.do("payouts.send", "k-1", doPayout, b.steps(), nil)
			second := s.do("payouts.send", "k-2", doPayout, b.steps(), c.want)
			if c.want == nil {
				return
			}
			open := second.OpenReviews()
			if !second.IsBarred(onefold.BarEffectExists) || len(open) != 1 || open[0].Reason != onefold.ReviewExistsElsewhere || open[0].Candidates[0].RecordedBy != first.ID {
				t.Errorf("barred %v, reviews %+v", second.Barred, open)
			}
		})
	}
}
