package httptarget_test

import (
	"context"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/onefold-dev/onefold/httptarget"
)

// refusedAddresses must not be connected to unless the deployment says so.
// Many of them pass for public by the predicates of package netip.
var refusedAddresses = []string{
	"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "100.100.100.200", "127.0.0.1", "127.1.2.3",
	"168.63.129.16", "169.254.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.192", "192.0.2.1",
	"192.88.99.1", "192.168.0.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1",
	"255.255.255.255", "::", "::1", "::127.0.0.1", "::10.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
	"::ffff:168.63.129.16", "::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::8.8.8.8", "64:ff9b:1::10.0.0.1", "100::1", "2001::1",
	"2001:2::1", "2001:10::1", "2001:db8::1", "2002:7f00:1::1", "2002:808:808::1", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254",
	"fd20:ce::254", "fe80::1", "febf::1", "fec0::1", "feff::1", "ff02::1", "ff0e::1",
}

// names resolves from a map; a name that is not in it leads nowhere.
func names(known map[string][]string) func(context.Context, string) ([]netip.Addr, error) {
	return func(_ context.Context, host string) ([]netip.Addr, error) {
		var out []netip.Addr
		for _, a := range known[host] {
			out = append(out, netip.MustParseAddr(a))
		}
		return out, nil
	}
}

// Every special address is refused, written as an address or hidden behind a
// name, alone or among public ones, in whatever order; nothing was sent.
func TestSpecialAddressesAreRefused(t *testing.T) {
	t.Parallel()
	known := map[string][]string{}
	var urls []string
	for i, a := range refusedAddresses {
		n := strconv.Itoa(i)
		known["alone"+n+".example"] = []string{a}
		known["first"+n+".example"] = []string{a, "8.8.8.8", "2606:4700::1111"}
		known["last"+n+".example"] = []string{"8.8.8.8", "2606:4700::1111", a}
		urls = append(urls, "http://alone"+n+".example", "http://first"+n+".example", "https://last"+n+".example")
		if strings.Contains(a, ":") {
			a = "[" + a + "]"
		}
		urls = append(urls, "http://"+a, "https://"+a+":8443/base")
	}
	// Spellings of loopback that only some resolvers know; what they lead to is what counts.
	for _, host := range []string{"2130706433", "0x7f000001", "0177.0.0.1", "127.1", "localhost", "localhost."} {
		known[strings.TrimSuffix(host, ".")] = []string{"127.0.0.1"}
		urls = append(urls, "http://"+host)
	}
	c := carrier(t, func(o *httptarget.Options) { o.AllowCIDRs, o.Resolve = nil, names(known) })
	for _, url := range urls {
		x := c.Carry(t.Context(), write(url, true, body(10)))
		if !x.NotSent || x.Failure != "address_refused" || x.Evidence.BytesOut != 0 {
			t.Errorf("%s: NotSent %v, failure %q: %s", url, x.NotSent, x.Failure, x.Detail)
		}
	}
}

// What a deployment allows is what it named: a range opens itself, not what is
// embedded behind a translator, and no range opens a metadata address.
func TestADeploymentAllowsWhatItNames(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		allow   string
		address string
		refused bool
	}{
		{"10.0.0.0/8", "10.1.2.3", false},
		{"10.0.0.0/8", "::ffff:10.1.2.3", false},
		{"::ffff:10.0.0.0/104", "10.1.2.3", false},
		{"10.0.0.0/8", "11.0.0.1", false}, // public anyway
		{"10.0.0.0/9", "10.128.0.1", true},
		{"10.0.0.0/8", "192.168.0.1", true},
		{"64:ff9b::/96", "64:ff9b::8.8.8.8", false},
		{"64:ff9b::/96", "64:ff9b::127.0.0.1", true},
		{"2002::/16", "2002:7f00:1::1", true},
		{"2002::/16", "2002:808:808::1", false},
		{"2001::/23", "2001:0:1:2:3:4:80ff:fffe", true}, // Teredo for 127.0.0.1
		{"::/96", "::127.0.0.1", true},
		{"::1/128", "::1", false},
		{"0.0.0.0/0", "169.254.169.254", true},
		{"169.254.0.0/16", "169.254.169.254", true},
		{"169.254.0.0/16", "169.254.9.9", false},
		{"169.254.169.254/32", "169.254.169.254", false},
		{"0.0.0.0/0", "168.63.129.16", true},
		{"fd00::/8", "fd00:ec2::254", true},
		{"fd00::/8", "fd00:ec3::254", false},
		{"fd00:ec2::254/128", "fd00:ec2::254", false},
		{"0.0.0.0/0", "::1", true},
	} {
		if got := httptarget.Refuses([]netip.Prefix{netip.MustParsePrefix(v.allow)}, netip.MustParseAddr(v.address)); (got != "") != v.refused {
			t.Errorf("%s with %s allowed: refused %q", v.address, v.allow, got)
		}
	}
}

// A name that leads elsewhere at its second look-up gains nothing: each
// connection is made to the address that was checked for it.
func TestRebindingGainsNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, whenRead(func(p *peer) { p.say(created) }))
	_, port, _ := strings.Cut(s.listener.Addr().String(), ":")
	var asked atomic.Int64
	c := carrier(t, func(o *httptarget.Options) {
		o.Resolve = func(context.Context, string) ([]netip.Addr, error) {
			if asked.Add(1)%2 == 1 {
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
			}
			return []netip.Addr{netip.MustParseAddr("10.9.9.9")}, nil
		}
	})
	d := write("http://erp.example:"+port, true, body(10))
	for i := range 4 {
		x := c.Carry(t.Context(), d)
		if i%2 == 0 && x.Status != http.StatusCreated || i%2 == 1 && (x.Failure != "address_refused" || !x.NotSent) {
			t.Errorf("write %d: status %d, failure %q: %s", i, x.Status, x.Failure, x.Detail)
		}
		if asked.Load() != int64(i+1) {
			t.Errorf("write %d: the name was asked %d times", i, asked.Load())
		}
	}
}

// The next address is tried where one refuses; a redirect to a special address
// is not followed, as no redirect is.
func TestTheNextAddressIsTried(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, whenRead(func(p *peer) {
		p.say(answer(http.StatusTemporaryRedirect, "", "Location: http://169.254.169.254/latest"))
	}))
	_, port, _ := strings.Cut(s.listener.Addr().String(), ":")
	c := carrier(t, func(o *httptarget.Options) {
		// Nobody listens at 127.0.0.2 and 127.0.0.3 on that port.
		o.Resolve = names(map[string][]string{"erp.example": {"127.0.0.2", "127.0.0.3", "127.0.0.1", "127.0.0.1"}})
	})
	x := c.Carry(t.Context(), write("http://ERP.example:"+port, true, body(10)))
	if x.Status != http.StatusTemporaryRedirect || x.Evidence.Headers["Location"] != "169.254.169.254" {
		t.Errorf("status %d, failure %q, headers %v: %s", x.Status, x.Failure, x.Evidence.Headers, x.Detail)
	}
	if s.connections() != 1 {
		t.Errorf("%d connections", s.connections())
	}
}

// predicateGaps is the table of P9: ranges that the predicates of package netip
// let pass as public, by name, with an address of each.
var predicateGaps = []struct{ name, address string }{
	{"100.64/10, carrier-grade NAT", "100.64.0.1"},
	{"100.64/10, its end", "100.127.255.254"},
	{"0/8, this network", "0.1.2.3"},
	{"192.0.0/24, protocol assignments", "192.0.0.9"},
	{"198.18/15, benchmarking", "198.18.0.1"},
	{"198.18/15, its end", "198.19.255.255"},
	{"240/4, reserved", "240.0.0.1"},
	{"limited broadcast", "255.255.255.255"},
	{"a cloud's metadata at a public address", "168.63.129.16"},
	{"IPv4-compatible loopback", "::127.0.0.1"},
	{"NAT64 of loopback", "64:ff9b::127.0.0.1"},
	{"NAT64 of a public address", "64:ff9b::8.8.8.8"},
	{"6to4 of loopback", "2002:7f00:1::1"},
	{"6to4 of a public address", "2002:808:808::1"},
	{"site-local", "fec0::1"},
	{"documentation, IPv4", "192.0.2.1"},
	{"documentation, IPv6", "2001:db8::1"},
}

// Every row of P9 is refused when dialling: written in the URL, behind a name,
// behind a name that led elsewhere a moment before, and behind a name that leads
// there among others. The predicates would have let it pass. Nothing was sent.
func TestThePredicatesGapsAreRefusedWhenDialling(t *testing.T) {
	t.Parallel()
	for _, row := range predicateGaps {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			addr := netip.MustParseAddr(row.address)
			if addr.IsPrivate() || addr.IsLoopback() || addr.IsLinkLocalUnicast() || addr.IsMulticast() || addr.IsUnspecified() {
				t.Error("the predicates know it: the row is none of P9's")
			}
			s := serve(t, nil, whenRead(func(p *peer) { p.say(created) }))
			_, port, _ := strings.Cut(s.listener.Addr().String(), ":")
			public := netip.MustParseAddr("127.0.0.1") // stands for one: this deployment allows it
			var asked atomic.Int64
			c := carrier(t, func(o *httptarget.Options) {
				o.Resolve = func(_ context.Context, host string) ([]netip.Addr, error) {
					switch {
					case host == "rebinds.example" && asked.Add(1) == 1:
						return []netip.Addr{public}, nil
					case host == "among.example":
						return []netip.Addr{public, addr}, nil
					}
					return []netip.Addr{addr}, nil
				}
			})
			if x := c.Carry(t.Context(), write("http://rebinds.example:"+port, true, body(10))); x.Status != http.StatusCreated {
				t.Errorf("before it rebinds: status %d, failure %q: %s", x.Status, x.Failure, x.Detail)
			}
			for _, host := range []string{netip.AddrPortFrom(addr, 80).String(), "named.example", "rebinds.example:" + port, "among.example:" + port} {
				x := c.Carry(t.Context(), write("http://"+host, true, body(10)))
				if !x.NotSent || x.Failure != "address_refused" || x.Evidence.BytesOut != 0 {
					t.Errorf("%s: NotSent %v, failure %q: %s", host, x.NotSent, x.Failure, x.Detail)
				}
			}
			if n := s.connections(); n != 1 {
				t.Errorf("%d connections", n)
			}
		})
	}
}
