package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/onefold-dev/onefold"
)

// Catalog shows what a Registry holds: the lists of capabilities, targets and
// connections, and the integration agreements. It reads the documents that run,
// so it can never show others. It is safe for concurrent use, and every answer
// belongs to its caller.
//
// Capabilities and targets belong to the deployment and are the same for
// everybody. Of connections, each method names those of the given workspace
// alone, and a connection of another workspace is answered like one that does
// not exist (I5).
type Catalog struct {
	registry *Registry
	options  CatalogOptions
}

// CatalogOptions are what a catalog cannot know from documents.
type CatalogOptions struct {
	// AllowCIDRs are the special address ranges that the deployment lets targets
	// have (--allow-cidr); agreements show them.
	AllowCIDRs []netip.Prefix
	// Proxy is HOST:PORT of the forward proxy through which every target is reached
	// (--proxy), empty for none; agreements show it, and what it means for addresses.
	Proxy string
}

// NewCatalog makes the catalog of a registry.
func NewCatalog(r *Registry, o CatalogOptions) *Catalog {
	o.AllowCIDRs = slices.Clone(o.AllowCIDRs)
	return &Catalog{registry: r, options: o}
}

// Capabilities lists the published capabilities by name, each in its newest
// version and with the workspace's connections that serve that version.
func (c *Catalog) Capabilities(workspace string) []onefold.CapabilityInfo {
	set := c.registry.set.Load()
	out := make([]onefold.CapabilityInfo, 0, len(set.capabilities))
	for _, name := range slices.Sorted(maps.Keys(set.capabilities)) {
		have := set.capabilities[name]
		newest := have.versions[have.newest]
		info := onefold.CapabilityInfo{
			Name: name, Version: have.newest, Versions: slices.Sorted(maps.Keys(have.versions)),
			Summary: newest.Summary, Owner: newest.Owner, Request: json.RawMessage(jsonOf(newest.Request)), Connections: []string{},
		}
		for _, connection := range set.byWorkspace[workspace] {
			if set.operation(connection, newest) != nil {
				info.Connections = append(info.Connections, connection.Name)
			}
		}
		out = append(out, info)
	}
	return out
}

// Targets lists the published targets by name, each in its newest version.
func (c *Catalog) Targets() []onefold.TargetInfo {
	set := c.registry.set.Load()
	versions := map[string][]int{}
	for key := range set.targets {
		versions[key.name] = append(versions[key.name], key.version)
	}
	out := make([]onefold.TargetInfo, 0, len(versions))
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		all := slices.Sorted(slices.Values(versions[name]))
		target := set.targets[targetKey{name, all[len(all)-1]}]
		info := onefold.TargetInfo{
			Name: name, Version: target.Version, Versions: all, Protocol: target.Protocol,
			Operations: make([]onefold.TargetOperationInfo, 0, len(target.Operations)),
		}
		for i := range target.Operations {
			info.Operations = append(info.Operations, operationInfo(&target.Operations[i]))
		}
		out = append(out, info)
	}
	return out
}

func operationInfo(op *TargetOperation) onefold.TargetOperationInfo {
	name := op.Capability
	if op.CapabilityVersion != 0 {
		name = fmt.Sprintf("%s@%d", name, op.CapabilityVersion)
	}
	return onefold.TargetOperationInfo{Capability: name, Protection: ProtectionOf(op), InDoubt: slices.Clone(op.InDoubt)}
}

// Connections lists the workspace's connections by name.
func (c *Catalog) Connections(workspace string) []onefold.ConnectionInfo {
	set := c.registry.set.Load()
	list := set.byWorkspace[workspace]
	out := make([]onefold.ConnectionInfo, 0, len(list))
	for _, connection := range list {
		out = append(out, c.connection(set, connection))
	}
	return out
}

// Connection shows one of the workspace's connections. Errors:
// connection_unknown.
func (c *Catalog) Connection(workspace, name string) (onefold.ConnectionInfo, error) {
	set := c.registry.set.Load()
	connection := set.connections[onefold.ConnectionRef{Workspace: workspace, Connection: name}]
	if connection == nil {
		return onefold.ConnectionInfo{}, noSuchConnection()
	}
	return c.connection(set, connection), nil
}

func noSuchConnection() error {
	return connectionUnknown("the workspace has no connection of this name")
}

func (c *Catalog) connection(set *published, of *connectionRevision) onefold.ConnectionInfo {
	info := onefold.ConnectionInfo{
		Workspace: of.Workspace, Name: of.Name, Revision: of.revision, Account: of.Account,
		Target: of.Target, TargetVersion: of.TargetVersion, URL: of.URL, Owner: of.Owner,
		Mode: of.Mode, Limits: limitsOf(of.Connection), Serves: []onefold.ServedCapability{},
	}
	if ack := of.Acknowledged; ack != nil {
		info.Acknowledged = &onefold.AcknowledgementInfo{By: ack.By, Date: ack.Date, Reason: ack.Reason}
	}
	for _, name := range slices.Sorted(maps.Keys(set.capabilities)) {
		capability := set.newestServed(of, name)
		if capability == nil {
			continue
		}
		op := set.operation(of, capability)
		derived := Derive(capability.Capability, op, of.Connection, c.deployment())
		served := onefold.ServedCapability{
			Capability: name, Version: capability.Version, Protection: derived.Protection, Mode: derived.EffectiveMode,
			Plan: make([]string, 0, len(derived.Plan)), Warnings: c.warnings(set, of, op, derived),
		}
		for _, step := range derived.Plan {
			served.Plan = append(served.Plan, step.Text)
		}
		info.Serves = append(info.Serves, served)
	}
	return info
}

func (c *Catalog) deployment() Deployment {
	return Deployment{Straggler: c.registry.options.Straggler, ClockError: c.registry.options.ClockError}
}

// newestServed is the newest version of a capability that the connection's
// target serves; nil where there is none.
func (p *published) newestServed(c *connectionRevision, name string) *capabilityVersion {
	have := p.capabilities[name]
	if have == nil {
		return nil
	}
	for _, version := range slices.Backward(slices.Sorted(maps.Keys(have.versions))) {
		if p.operation(c, have.versions[version]) != nil {
			return have.versions[version]
		}
	}
	return nil
}

// warnings are what Lint warns of in the target operation, with M27's
// limitation first: every place that shows the connection says it. The age of
// the provenance is not judged, since that takes a clock.
func (c *Catalog) warnings(set *published, of *connectionRevision, op *TargetOperation, derived Derived) []string {
	out := []string{}
	if derived.Limitation != "" {
		out = append(out, derived.Limitation)
	}
	target := set.targets[targetKey{of.Target, of.TargetVersion}]
	document := &Document{Kind: KindTarget, Name: target.Name, Version: target.Version, Target: target.Target}
	l := newLinter(&Set{Deployment: c.deployment()})
	l.operationWarnings(document, op)
	l.provenance(document)
	for _, w := range l.warnings {
		out = append(out, w.Detail)
	}
	return out
}
