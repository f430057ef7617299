package contract

import (
	"fmt"
	"net/url"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// goScheme is the scheme of the address of a connection whose requests Go
// functions carry: go://NAME names what the functions reach, for people and for
// the scope of a replay.
const goScheme = "go"

// isGoAddress says whether an address is one of a program's own.
func isGoAddress(u *url.URL) bool { return u.Scheme == goScheme && u.Host != "" && u.Opaque == "" }

// checkGoConnection refuses what only the HTTP transport would read.
func checkGoConnection(c *checker, at string, v *identity.Value) {
	if u, err := url.Parse(textOf(v, "url")); err != nil || !isGoAddress(u) {
		return
	}
	for _, name := range []string{"auth", "secrets"} {
		if get(v, name) != nil {
			c.fault(at+"/"+name, name+" is for requests over HTTP; Go functions authenticate by themselves", "leave it out")
		}
	}
}

// protocol holds a connection's address against the protocol of its target, and
// its protocol against that of its earlier revision: operations on their way are
// carried by other hands.
func (l *linter) protocol(d *Document) {
	c := d.Connection
	target := l.targets[fmt.Sprintf("%s@%d", c.Target, c.TargetVersion)]
	if target == nil {
		return
	}
	address := onefold.ProtocolHTTP
	if u, err := url.Parse(c.URL); err == nil && isGoAddress(u) {
		address = onefold.ProtocolGo
	}
	if spoken := target.Target.Protocol; spoken != address {
		hint := "write https://…"
		if spoken == onefold.ProtocolGo {
			hint = "write go://NAME, the name of what the functions reach"
		}
		l.fault(d, "/url", fmt.Sprintf("the target %s@%d is spoken to over %s, and this is no address for it", c.Target, c.TargetVersion, spoken), hint)
		return
	}
	old := l.published[string(KindConnection)+" "+handle(d)]
	if old == nil {
		return
	}
	before := l.targets[fmt.Sprintf("%s@%d", old.Connection.Target, old.Connection.TargetVersion)]
	if before != nil && before.Target.Protocol != target.Target.Protocol {
		l.fault(d, "/target", fmt.Sprintf("the protocol of a connection never changes; it is %s", before.Target.Protocol),
			"another protocol is another connection")
	}
}
