package onefold

import "fmt"

// Broken names the invariant that the operation breaks, or "" if it keeps them
// all. It is asserted after every step of the law and may be asserted after
// every read; a broken one is a fault of onefold, never of a caller.
func (o *Operation) Broken() string {
	for i := range o.Reviews {
		if o.Reviews[i].Owner == "" || o.Reviews[i].ID == "" {
			return "a review without owner or id (M16)"
		}
	}
	switch o.State {
	case Prepared:
		return o.brokenPrepared()
	case Attempting:
		return o.brokenAttempting()
	case Uncertain:
		return o.brokenUncertain()
	case Confirmed, Rejected, Canceled:
		return o.brokenSettled()
	}
	return fmt.Sprintf("unknown state %q", o.State)
}

func (o *Operation) brokenPrepared() string {
	switch {
	case o.IsBarred():
		return "prepared, but barred"
	case o.MaybeApplied:
		return "prepared, but maybe applied"
	case o.OpenAttempt():
		return "prepared with an attempt that is not closed"
	case len(o.Holds) > 0 && (o.Due != nil || o.Lease != nil):
		return "held, but due or leased"
	case len(o.Holds) == 0 && o.Due == nil && o.Lease == nil:
		return "prepared, but stranded: neither due nor leased nor held"
	}
	return ""
}

func (o *Operation) brokenAttempting() string {
	out := 0
	for i := range o.Attempts {
		if a := &o.Attempts[i]; !a.Closed() && !a.Open {
			out++
		}
	}
	switch {
	case o.Lease == nil:
		return "attempting without a lease"
	case out != 1:
		return "attempting, but not with one attempt out"
	case len(o.Holds) > 0:
		return "attempting, but held"
	case o.FrozenDigest == "" || o.FirstDispatched == nil:
		return "attempting, but the request is not frozen"
	}
	return ""
}

func (o *Operation) brokenUncertain() string {
	for i := range o.Attempts {
		if a := &o.Attempts[i]; !a.Closed() && !a.Open {
			return "uncertain with an attempt out under a lease"
		}
	}
	switch {
	case o.Doubt == nil:
		return "uncertain without a doubt"
	case o.Due == nil && o.Lease == nil && o.openReview("") == nil:
		return "uncertain, but stranded: neither scheduled nor owned by a person"
	}
	return ""
}

func (o *Operation) brokenSettled() string {
	switch {
	case o.Lease != nil || o.Due != nil || len(o.Holds) > 0:
		return "settled, but leased, due or held"
	case o.SettledAt == nil:
		return "settled without a time"
	case o.State == Confirmed && (o.Result == nil || o.Result.Reference == ""):
		return "confirmed without a reference"
	case o.State == Rejected && o.Rejection == nil:
		return "rejected without a reason"
	case o.Contradicted && o.openReview("") == nil:
		return "contradicted without an open review"
	}
	return ""
}
