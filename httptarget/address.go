package httptarget

import (
	"encoding/binary"
	"net/netip"
	"slices"
)

// special is a range of addresses that a target's name must not lead to.
type special struct {
	prefix netip.Prefix
	what   string
}

// specials are the ranges of the registries of special addresses, and the
// addresses at which clouds tell machines their secrets. The predicates of
// package netip let many of them pass.
var specials = []special{
	{netip.MustParsePrefix("0.0.0.0/8"), "this network"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private"},
	{netip.MustParsePrefix("100.64.0.0/10"), "carrier-grade NAT"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private"},
	{netip.MustParsePrefix("192.0.0.0/24"), "protocol assignments"},
	{netip.MustParsePrefix("192.0.2.0/24"), "documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "6to4 relay"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private"},
	{netip.MustParsePrefix("198.18.0.0/15"), "benchmarking"},
	{netip.MustParsePrefix("198.51.100.0/24"), "documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},
	{netip.MustParsePrefix("::/96"), "unspecified, loopback or embedded IPv4"},
	{netip.MustParsePrefix("::ffff:0:0:0/96"), "translated IPv4"},
	{netip.MustParsePrefix("64:ff9b::/96"), "NAT64"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "NAT64"},
	{netip.MustParsePrefix("100::/32"), "discard"},
	{netip.MustParsePrefix("2001::/23"), "protocol assignments"},
	{netip.MustParsePrefix("2001:db8::/32"), "documentation"},
	{netip.MustParsePrefix("2002::/16"), "6to4"},
	{netip.MustParsePrefix("3fff::/20"), "documentation"},
	{netip.MustParsePrefix("5f00::/16"), "segment routing"},
	{netip.MustParsePrefix("fc00::/7"), "private"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("fec0::/10"), "site-local"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
}

// metadata are the addresses at which a machine's own cloud answers. Each is
// opened by an entry of its own alone.
var metadata = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"), // most clouds
	netip.MustParseAddr("169.254.169.253"), // a cloud's resolver
	netip.MustParseAddr("169.254.170.2"),   // container credentials
	netip.MustParseAddr("169.254.170.23"),  // container credentials
	netip.MustParseAddr("169.254.0.23"),    // Tencent
	netip.MustParseAddr("168.63.129.16"),   // Azure, a public address
	netip.MustParseAddr("100.100.100.200"), // Alibaba
	netip.MustParseAddr("192.0.0.192"),     // Oracle
	netip.MustParseAddr("fd00:ec2::254"),   // AWS
	netip.MustParseAddr("fd00:ec2::23"),    // AWS, container credentials
	netip.MustParseAddr("fd20:ce::254"),    // Google
}

// allowance is what a deployment opens of the special ranges.
type allowance []netip.Prefix

// refuses says why an address must not be connected to, empty if it may be. An
// IPv4 address inside an IPv6 one is judged as well: opening a translator's
// range opens none of the special addresses behind it.
func (a allowance) refuses(addr netip.Addr) string {
	addr = addr.Unmap().WithZone("")
	if !addr.IsValid() {
		return "no address"
	}
	if why := a.refusesPlain(addr); why != "" {
		return why
	}
	if inner, ok := embedded(addr); ok {
		if why := a.refuses(inner); why != "" {
			return why + ", embedded"
		}
	}
	return ""
}

func (a allowance) refusesPlain(addr netip.Addr) string {
	if slices.Contains(metadata, addr) {
		if a.covers(addr, addr.BitLen()) {
			return ""
		}
		return "metadata"
	}
	for _, s := range specials {
		if s.prefix.Contains(addr) && !a.covers(addr, 0) {
			return s.what
		}
	}
	return ""
}

// covers says whether an entry at least so long holds the address. An entry for
// IPv4 that is spelled as IPv6 (::ffff:10.0.0.0/104) holds it too.
func (a allowance) covers(addr netip.Addr, bits int) bool {
	for _, p := range a {
		if p.Addr().Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		if p.Bits() >= bits && p.Contains(addr) {
			return true
		}
	}
	return false
}

// embedded finds the IPv4 address that an IPv6 one stands for.
func embedded(addr netip.Addr) (netip.Addr, bool) {
	if addr.Is4() {
		return netip.Addr{}, false
	}
	b := addr.As16()
	four := func(i int) (netip.Addr, bool) { return netip.AddrFrom4([4]byte(b[i : i+4])), true }
	head := binary.BigEndian.Uint32(b[:4])
	switch {
	case head>>16 == 0x2002: // 6to4
		return four(2)
	case head == 0x20010000: // Teredo: the client's address, inverted
		for i := 12; i < 16; i++ {
			b[i] = ^b[i]
		}
		return four(12)
	case head == 0x0064ff9b: // NAT64, well known and local
		return four(12)
	case head == 0 && binary.BigEndian.Uint32(b[4:8]) == 0: // ::a.b.c.d and ::ffff:0:a.b.c.d
		if addr == netip.IPv6Unspecified() || addr == netip.IPv6Loopback() {
			return netip.Addr{}, false
		}
		return four(12)
	}
	return netip.Addr{}, false
}
