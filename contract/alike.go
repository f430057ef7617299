package contract

import (
	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

var _ onefold.Likener = (*Registry)(nil)

// Alike says why two JSON values that differ look the same to most who read them,
// as a clause behind "the two values"; "" where they look different (I4). What the
// contract's rules call equal is no difference and never comes here.
func (*Registry) Alike(accepted, submitted []byte) string {
	a, errA := identity.ParseCanonical(accepted)
	s, errS := identity.ParseCanonical(submitted)
	if errA != nil || errS != nil {
		return ""
	}
	return identity.Alike(a, s)
}
