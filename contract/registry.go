package contract

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

const (
	// DefaultStraggler is when an attempt that went silent is closed (M12a).
	DefaultStraggler = 10 * time.Minute
	// DefaultClockError is how wrong our own clock may be (M11a).
	DefaultClockError = 500 * time.Millisecond
)

// Options configure a Registry.
type Options struct {
	// Secret keys the fingerprints (I8); SecretID names it beside them.
	Secret   []byte
	SecretID string
	// Straggler is when an open attempt is closed; 0 means DefaultStraggler. It is
	// never less than an attempt's time-out (M12a).
	Straggler time.Duration
	// ClockError is part of the margin of a replay (M11a); 0 means
	// DefaultClockError.
	ClockError time.Duration
	// MaxRequest is the longest request in bytes (I10); 0 means
	// identity.DefaultMaxBytes.
	MaxRequest int
}

// Registry holds the published documents and what is compiled from them. It
// implements onefold.Contracts. Load replaces the whole set at once; readers
// take no locks and see one set or the next, never a mixture. What a set compiles
// it compiles when it is first asked for, and keeps.
type Registry struct {
	options Options
	keyed   *identity.Keyed
	set     atomic.Pointer[published]
	parsed  *trees
}

// The registry is what the ledger asks.
var _ onefold.Contracts = (*Registry)(nil)

// NewRegistry makes an empty registry.
func NewRegistry(o Options) *Registry {
	o.Straggler = cmp.Or(o.Straggler, DefaultStraggler)
	o.ClockError = cmp.Or(o.ClockError, DefaultClockError)
	o.MaxRequest = cmp.Or(o.MaxRequest, identity.DefaultMaxBytes)
	r := &Registry{options: o, keyed: identity.NewKeyed(o.Secret), parsed: newTrees()}
	r.set.Store(newPublished())
	return r
}

// published is one set of documents. It does not change, but for its caches.
type published struct {
	capabilities map[string]*capabilityVersions
	targets      map[targetKey]*targetVersion
	connections  map[onefold.ConnectionRef]*connectionRevision // the newest
	// revisions are all that were ever published: operations that were frozen
	// under one stay with it.
	revisions map[revisionKey]*connectionRevision
	// byWorkspace lists each workspace's connections by name.
	byWorkspace map[string][]*connectionRevision

	bindings sync.Map // bindingKey to *bindingSlot
	programs sync.Map // *TargetOperation to *programSlot
}

type capabilityVersions struct {
	versions map[int]*capabilityVersion
	newest   int
}

// capabilityVersion is a capability with what is compiled from it, once.
type capabilityVersion struct {
	*Capability
	compile sync.Once
	rules   *identity.Rules
	schema  *requestSchema
	err     error
}

type targetKey struct {
	name    string
	version int
}

type targetVersion struct{ *Target }

type connectionRevision struct {
	*Connection
	revision int
}

type revisionKey struct {
	connection onefold.ConnectionRef
	revision   int
}

type bindingKey struct {
	workspace, connection, capability string
	version, revision                 int
	target                            targetKey
}

type bindingSlot struct {
	once    sync.Once
	binding *binding
	err     error
}

type programSlot struct {
	once    sync.Once
	program *program
	err     error
}

func newPublished() *published {
	return &published{
		capabilities: map[string]*capabilityVersions{},
		targets:      map[targetKey]*targetVersion{},
		connections:  map[onefold.ConnectionRef]*connectionRevision{},
		revisions:    map[revisionKey]*connectionRevision{},
		byWorkspace:  map[string][]*connectionRevision{},
	}
}

// Load replaces the set by the given documents: every version of capabilities
// and targets, and of each connection the newest revision (if several are given,
// the highest counts). On an error, which names every fault, the earlier set
// stays. A document that refers to one that is not there is loaded and fails
// only when it is asked for.
func (r *Registry) Load(docs []onefold.Document) error {
	set := newPublished()
	var faults Faults
	for i := range docs {
		name := fmt.Sprintf("%s %s@%d", docs[i].Kind, docs[i].Name, docs[i].Version)
		decoded, wrong := DecodeFile(name, docs[i].Source)
		if len(wrong) == 0 && len(decoded) != 1 {
			wrong = Faults{{
				Code: onefold.CodeDocumentInvalid, Place: Place{File: name},
				Detail: fmt.Sprintf("%d documents where one was published", len(decoded)),
			}}
		}
		if len(wrong) > 0 {
			faults = append(faults, wrong...)
			continue
		}
		set.add(&decoded[0], docs[i].Version)
	}
	if err := faults.Err(); err != nil {
		return fmt.Errorf("the published documents cannot be loaded: %w", err)
	}
	for _, list := range set.byWorkspace {
		slices.SortFunc(list, func(a, b *connectionRevision) int { return cmp.Compare(a.Name, b.Name) })
	}
	r.set.Store(set)
	return nil
}

func (p *published) add(d *Document, revision int) {
	switch d.Kind {
	case KindCapability:
		have := p.capabilities[d.Name]
		if have == nil {
			have = &capabilityVersions{versions: map[int]*capabilityVersion{}}
			p.capabilities[d.Name] = have
		}
		have.versions[d.Version] = &capabilityVersion{Capability: d.Capability}
		have.newest = max(have.newest, d.Version)
	case KindTarget:
		p.targets[targetKey{d.Name, d.Version}] = &targetVersion{d.Target}
	case KindConnection:
		ref := onefold.ConnectionRef{Workspace: d.Workspace, Connection: d.Name}
		p.revisions[revisionKey{ref, revision}] = &connectionRevision{d.Connection, revision}
		have := p.connections[ref]
		switch {
		case have == nil:
			have = &connectionRevision{d.Connection, revision}
			p.connections[ref] = have
			p.byWorkspace[d.Workspace] = append(p.byWorkspace[d.Workspace], have)
		case revision >= have.revision:
			*have = connectionRevision{d.Connection, revision}
		}
	}
}

// CheckRequest parses a request strictly (I10) and says nothing else about it.
// Errors: json_invalid with reason and byte offset, too_large.
func (r *Registry) CheckRequest(raw []byte) error {
	_, err := r.parse(raw)
	return err
}

func (r *Registry) parse(raw []byte) (*identity.Value, error) {
	v, err := r.parsed.of(raw, identity.Limits{MaxBytes: r.options.MaxRequest})
	if err != nil {
		return nil, jsonError(err)
	}
	return v, nil
}

// jsonError is a parser's error as callers see it.
func jsonError(err error) error {
	syntax, ok := errors.AsType[*identity.SyntaxError](err)
	if !ok {
		return &onefold.Error{Code: onefold.CodeInternal, Message: "the request cannot be read", Cause: err}
	}
	out := &onefold.Error{
		Code: onefold.CodeJSONInvalid, Message: "the request is no acceptable JSON: " + syntax.Detail,
		Hint: "the offset counts bytes of the request itself", Reason: syntax.Reason, Offset: &syntax.Offset, Cause: err,
	}
	if syntax.Reason == identity.ReasonTooLarge {
		out.Code, out.Message, out.Hint = onefold.CodeTooLarge, syntax.Detail, ""
	}
	return out
}

// Bind finds what a new operation would run under. version 0 is the newest,
// connection "" the workspace's only one whose target serves that version.
// Errors: capability_unknown, contract_version_unknown, connection_unknown,
// connection_ambiguous.
func (r *Registry) Bind(workspace, capability string, version int, connection string) (onefold.Binding, error) {
	set := r.set.Load()
	contract, err := set.capability(capability, version)
	if err != nil {
		return nil, err
	}
	c, err := set.connection(workspace, connection, contract)
	if err != nil {
		return nil, err
	}
	return r.bind(set, contract, c, targetKey{c.Target, c.TargetVersion})
}

// Pinned finds what an admitted operation runs under: the capability and target
// versions of its admission and, once its request is frozen, the connection's
// revision of that moment with the newest one's authentication, owner, mode and
// limits. Errors as Bind's.
func (r *Registry) Pinned(op *onefold.Operation) (onefold.Binding, error) {
	set := r.set.Load()
	contract, err := set.capability(op.Capability, max(op.ContractVersion, 1))
	if err != nil {
		return nil, err
	}
	c, err := set.pinned(onefold.ConnectionRef{Workspace: op.Workspace, Connection: op.Connection}, op.ConnectionRevision)
	if err != nil {
		return nil, err
	}
	return r.bind(set, contract, c, targetKey{op.Target, op.TargetVersion})
}

// pinned is a connection for an operation that was frozen under one of its
// revisions; 0 means that it was not frozen yet.
func (p *published) pinned(ref onefold.ConnectionRef, revision int) (*connectionRevision, error) {
	newest := p.connections[ref]
	if newest == nil {
		return nil, connectionUnknown("the workspace has no connection of this name")
	}
	if revision == 0 || revision == newest.revision {
		return newest, nil
	}
	then := p.revisions[revisionKey{ref, revision}]
	if then == nil {
		return nil, connectionUnknown("the revision of the connection under which the request was frozen is not there")
	}
	c := *then.Connection
	if origin(then.URL) == origin(newest.URL) {
		// Elsewhere, the new credential is none of the old address's business.
		c.Auth, c.Secrets = newest.Auth, newest.Secrets
	}
	c.Owner, c.Mode, c.Limits, c.Acknowledged = newest.Owner, newest.Mode, newest.Limits, newest.Acknowledged
	return &connectionRevision{&c, revision}, nil
}

func (p *published) capability(name string, version int) (*capabilityVersion, error) {
	have := p.capabilities[name]
	if have == nil {
		return nil, &onefold.Error{Code: onefold.CodeCapabilityUnknown, Message: "no capability of this name is published"}
	}
	if version == 0 {
		version = have.newest
	}
	if found := have.versions[version]; found != nil {
		return found, nil
	}
	return nil, &onefold.Error{
		Code: onefold.CodeContractVersionUnknown, Message: "the capability has no such version",
		Hint: fmt.Sprintf("the newest is %d", have.newest),
	}
}

// connection finds a named connection, or the workspace's only one whose target
// serves the capability.
func (p *published) connection(workspace, name string, contract *capabilityVersion) (*connectionRevision, error) {
	if name != "" {
		c := p.connections[onefold.ConnectionRef{Workspace: workspace, Connection: name}]
		switch {
		case c == nil:
			return nil, connectionUnknown("the workspace has no connection of this name")
		case p.operation(c, contract) == nil:
			return nil, connectionUnknown("the connection's target does not serve this version of the capability")
		}
		return c, nil
	}
	var only *connectionRevision
	for _, c := range p.byWorkspace[workspace] {
		if p.operation(c, contract) == nil {
			continue
		}
		if only != nil {
			return nil, &onefold.Error{
				Code: onefold.CodeConnectionAmbiguous, Message: "more than one connection of the workspace serves the capability",
				Hint: "name the connection",
			}
		}
		only = c
	}
	if only == nil {
		return nil, connectionUnknown("no connection of the workspace serves this version of the capability")
	}
	return only, nil
}

func connectionUnknown(message string) error {
	return &onefold.Error{Code: onefold.CodeConnectionUnknown, Message: message}
}

// operation is the entry of a connection's target that serves a capability
// version.
func (p *published) operation(c *connectionRevision, contract *capabilityVersion) *TargetOperation {
	t := p.targets[targetKey{c.Target, c.TargetVersion}]
	if t == nil {
		return nil
	}
	return t.serves(contract.Name, contract.Version)
}

// serves finds the entry for a capability version; the one that names the
// version wins.
func (t *Target) serves(capability string, version int) *TargetOperation {
	var found *TargetOperation
	for i := range t.Operations {
		op := &t.Operations[i]
		if op.Capability != capability {
			continue
		}
		switch op.CapabilityVersion {
		case version:
			return op
		case 0:
			found = op
		}
	}
	return found
}

// bind returns the compiled binding, from the cache where it is there.
func (r *Registry) bind(set *published, contract *capabilityVersion, c *connectionRevision, target targetKey) (onefold.Binding, error) {
	key := bindingKey{c.Workspace, c.Name, contract.Name, contract.Version, c.revision, target}
	held, ok := set.bindings.Load(key)
	if !ok {
		held, _ = set.bindings.LoadOrStore(key, &bindingSlot{})
	}
	slot := held.(*bindingSlot)
	slot.once.Do(func() { slot.binding, slot.err = r.compile(set, contract, c, target) })
	if slot.err != nil {
		return nil, slot.err
	}
	return bound(slot.binding), nil
}

// program compiles a target operation once for all its connections.
func (p *published) program(op *TargetOperation) (*program, error) {
	held, ok := p.programs.Load(op)
	if !ok {
		held, _ = p.programs.LoadOrStore(op, &programSlot{})
	}
	slot := held.(*programSlot)
	slot.once.Do(func() {
		var faults Faults
		slot.program, faults = compileOperation(op)
		slot.err = faults.Err()
	})
	return slot.program, slot.err
}

// Limits returns a connection's limits, defaults filled in; those of an unknown
// connection are the defaults.
func (r *Registry) Limits(ref onefold.ConnectionRef) onefold.Limits {
	if c := r.set.Load().connections[ref]; c != nil {
		return limitsOf(c.Connection)
	}
	return limitsOf(&Connection{})
}

func limitsOf(c *Connection) onefold.Limits {
	return onefold.Limits{
		InFlight:   cmp.Or(c.Limits.InFlight, onefold.DefaultInFlight),
		PerSecond:  c.Limits.PerSecond,
		Unresolved: cmp.Or(c.Limits.Unresolved, onefold.DefaultUnresolved),
	}
}

// Capabilities lists the published capabilities, by name, newest version first.
func (r *Registry) Capabilities() []*Capability {
	set := r.set.Load()
	var out []*Capability
	for _, name := range slices.Sorted(maps.Keys(set.capabilities)) {
		versions := set.capabilities[name].versions
		for _, v := range slices.Backward(slices.Sorted(maps.Keys(versions))) {
			out = append(out, versions[v].Capability)
		}
	}
	return out
}

// Targets lists the published targets, by name, newest version first.
func (r *Registry) Targets() []*Target {
	set := r.set.Load()
	keys := slices.SortedFunc(maps.Keys(set.targets), func(a, b targetKey) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(b.version, a.version))
	})
	out := make([]*Target, 0, len(keys))
	for _, k := range keys {
		out = append(out, set.targets[k].Target)
	}
	return out
}

// AllConnections lists the newest revision of every connection, of all
// workspaces, in no order: for the deployment itself, not for a workspace.
func (r *Registry) AllConnections() []*Connection {
	set := r.set.Load()
	out := make([]*Connection, 0, len(set.connections))
	for _, c := range set.connections {
		out = append(out, c.Connection)
	}
	return out
}

// Connections lists a workspace's connections by name.
func (r *Registry) Connections(workspace string) []*Connection {
	list := r.set.Load().byWorkspace[workspace]
	out := make([]*Connection, 0, len(list))
	for _, c := range list {
		out = append(out, c.Connection)
	}
	return out
}
