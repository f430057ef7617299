package httptarget

import "net/netip"

// Refuses is the check of an address, for tests.
func Refuses(allow []netip.Prefix, addr netip.Addr) string { return allowance(allow).refuses(addr) }
