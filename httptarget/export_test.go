package httptarget

import (
	"net/netip"
	"time"
)

// Refuses is the check of an address, for tests.
func Refuses(allow []netip.Prefix, addr netip.Addr) string { return allowance(allow).refuses(addr) }

// MaxParting bounds how many connections are left to their targets to close.
const MaxParting = maxParting

// PartPatiently has a Carrier wait for its targets to close for as long as a
// test may take.
func PartPatiently(c *Carrier) { c.links.patience = time.Hour }
