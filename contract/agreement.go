package contract

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// agreement is everything that an integration agreement is written from. It is
// what runs: the capability version, target operation and connection of a
// binding, and the binding's own terms and policy.
type agreement struct {
	page

	capability *Capability
	newest     int // of the capability's versions
	rules      *identity.Rules
	target     *Target
	op         *TargetOperation
	connection *Connection
	terms      onefold.Terms
	policy     onefold.Policy
	derived    Derived
	maxRequest int
	allow      []netip.Prefix
	proxy      string
}

// Agreement writes the integration agreement of a capability over one of the
// workspace's connections, from the contract that runs (I33): of the newest
// version that the connection serves. The same documents always give the same
// text. Errors: capability_unknown, connection_unknown, and document_invalid
// where the published documents cannot be compiled.
func (c *Catalog) Agreement(workspace, capability, connection string) (onefold.Agreement, error) {
	registry, set := c.registry, c.registry.set.Load()
	newest, err := set.capability(capability, 0)
	if err != nil {
		return onefold.Agreement{}, err
	}
	of := set.connections[onefold.ConnectionRef{Workspace: workspace, Connection: connection}]
	if of == nil {
		return onefold.Agreement{}, noSuchConnection()
	}
	contract := set.newestServed(of, capability)
	if contract == nil {
		return onefold.Agreement{}, connectionUnknown("the connection's target does not serve the capability")
	}
	key := targetKey{of.Target, of.TargetVersion}
	bound, err := registry.bind(set, contract, of, key)
	if err != nil {
		return onefold.Agreement{}, err
	}
	a := &agreement{
		capability: contract.Capability, newest: newest.Version, rules: contract.rules,
		target: set.targets[key].Target, op: set.operation(of, contract), connection: of.Connection,
		terms: bound.Terms(), policy: bound.Policy(), maxRequest: registry.options.MaxRequest, allow: c.options.AllowCIDRs,
		proxy: c.options.Proxy,
	}
	a.derived = Derive(contract.Capability, a.op, of.Connection, c.deployment())
	a.write()
	return onefold.Agreement{
		Workspace: of.Workspace, Capability: contract.Name, ContractVersion: contract.Version,
		Connection: of.Name, Target: a.target.Name, TargetVersion: a.target.Version,
		Protection: a.terms.Protection, Mode: a.terms.Mode,
		Sections: a.published(), Markdown: a.markdown(),
	}, nil
}

func (a *agreement) write() {
	a.title = "Integration agreement: " + code(a.terms.Capability) + " over " + code(a.terms.Connection)
	for _, part := range []func(){
		a.overview, a.keys, a.comparison, a.repeats, a.duplicates, a.retention,
		a.sending, a.protection, a.lookup, a.answers,
		a.recovery, a.budgets, a.limits, a.mode, a.assumptions, a.addresses, a.notPromised,
	} {
		part()
	}
}

func (a *agreement) overview() {
	a.begin("overview", "In short")
	a.say("This page says what onefold does with a request for "+code(a.terms.Capability)+" over the connection "+code(a.terms.Connection)+".",
		"It is written from the published documents that run, and from nothing else.",
		"What onefold keeps: one intended effect at the target, or one unresolved operation with a named owner, as far as the target's contract supports it.")
	a.table([]string{"What", "Here"},
		[]string{"Workspace", code(a.terms.Workspace)},
		[]string{"Capability", a.capabilityWords()},
		[]string{"Connection", fmt.Sprintf("%s, revision %d, account %s", code(a.terms.Connection), a.terms.ConnectionRevision, code(a.connection.Account))},
		[]string{"Target", fmt.Sprintf("%s, version %d", code(a.terms.Target), a.terms.TargetVersion)},
		[]string{"Protection", string(a.terms.Protection) + ": " + protectionWords(a.terms.Protection)},
		[]string{"Mode in force", a.modeInForce()},
		[]string{"Owner of what stays unresolved", prose(a.terms.Owner)},
	)
	if a.newest != a.terms.ContractVersion {
		a.say(fmt.Sprintf("The newest version of the capability is %d, which this connection does not serve: a submission over it has to say contract_version %d.",
			a.newest, a.terms.ContractVersion))
	}
	a.say("An operation that is on its way keeps the versions of capability and target under which it was admitted; publishing newer ones changes nothing for it.")
}

func (a *agreement) capabilityWords() string {
	words := fmt.Sprintf("%s, version %d", code(a.terms.Capability), a.terms.ContractVersion)
	if a.capability.Summary != "" {
		words += ": " + prose(a.capability.Summary)
	}
	if a.capability.Owner != "" {
		words += " (owner: " + prose(a.capability.Owner) + ")"
	}
	return words
}

// modeInForce says with the mode why it is not the declared one (M27).
func (a *agreement) modeInForce() string {
	words := modeWords(a.terms.Mode)
	if a.derived.Limitation != "" {
		words += "; declared " + string(a.terms.DeclaredMode) + ", but " + prose(a.derived.Limitation)
	}
	return words
}

func protectionWords(p onefold.Protection) string {
	switch p {
	case onefold.ProtectionEnforced:
		return "the target itself keeps a repeat from having a second effect"
	case onefold.ProtectionReconcilable:
		return "the target does not keep a repeat from having a second effect, but a look-up can show both that the effect exists and that it does not"
	case onefold.ProtectionDetectable:
		return "a look-up can find the effect, but nothing can show that there is none"
	case onefold.ProtectionNone:
		return "the target neither recognises a repeat nor can be asked what happened"
	}
	return "unknown"
}

func modeWords(m onefold.Mode) string {
	switch m {
	case onefold.ModeAutonomous:
		return "autonomous: operations go out by themselves"
	case onefold.ModeApproval:
		return "approval: each operation waits until a person lets it go"
	case onefold.ModeDisabled:
		return "disabled: no new operations are admitted and nothing is sent"
	}
	return "unknown"
}

// span is a duration as a person says it.
func span(d time.Duration) string {
	const week, most = 7 * day, 120 // more than that is read in the next unit
	for _, unit := range []struct {
		size time.Duration
		name string
		from time.Duration // below, the next smaller unit reads better
	}{{day, "day", week}, {time.Hour, "hour", time.Hour}, {time.Minute, "minute", time.Minute}, {time.Second, "second", time.Second}} {
		if d == onefold.Forever || d < unit.from || d%unit.size != 0 {
			continue
		}
		n := int64(d / unit.size)
		if n > most && unit.size < day {
			break
		}
		if n == 1 {
			return "1 " + unit.name
		}
		return strconv.FormatInt(n, 10) + " " + unit.name + "s"
	}
	return formatDuration(d)
}

// orList is "a", "a or b", "a, b or c".
func orList(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " or " + parts[len(parts)-1]
}

// codes marks each of a list.
func codes(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = code(s)
	}
	return out
}
