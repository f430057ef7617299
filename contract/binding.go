package contract

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// binding is one capability version at one target operation over one
// connection. It implements onefold.Binding and never changes.
type binding struct {
	registry   *Registry
	contract   *capabilityVersion
	program    *program
	connection *Connection
	terms      onefold.Terms
	policy     onefold.Policy
	route      onefold.Route
}

var _ onefold.Binding = (*binding)(nil)

// compile makes a binding. What the documents lack is an error of the code that
// a caller would get for it.
func (r *Registry) compile(set *published, contract *capabilityVersion, c *connectionRevision, key targetKey) (*binding, error) {
	target := set.targets[key]
	if target == nil {
		return nil, connectionUnknown(fmt.Sprintf("the connection's target %s@%d is not published", key.name, key.version))
	}
	op := target.serves(contract.Name, contract.Version)
	if op == nil {
		return nil, connectionUnknown("the connection's target does not serve this version of the capability")
	}
	contract.compile.Do(contract.compileOnce)
	if contract.err != nil {
		return nil, contract.err
	}
	program, err := set.program(op)
	if err != nil {
		return nil, err
	}
	protection := ProtectionOf(op)
	b := &binding{registry: r, contract: contract, program: program, connection: c.Connection}
	b.terms = onefold.Terms{
		Capability: contract.Name, ContractVersion: contract.Version,
		Target: target.Name, TargetVersion: target.Version, Protocol: target.Protocol,
		Workspace: c.Workspace, Connection: c.Name, ConnectionRevision: c.revision,
		Owner: c.Owner, Mode: effectiveMode(c.Connection, protection), DeclaredMode: c.Mode,
		Protection: protection, Acknowledged: c.Acknowledged != nil,
		Limits:       limitsOf(c.Connection),
		KeyRetention: contract.Retention.Key,
	}
	b.policy = contract.Policy(op, c.Connection, Deployment{Straggler: r.options.Straggler, ClockError: r.options.ClockError})
	b.route = onefold.Route{
		Workspace: c.Workspace, Connection: c.Name, Revision: c.revision, Account: c.Account, Params: jsonOf(c.Params), URL: c.URL, Auth: c.Auth, Secrets: maps.Clone(c.Secrets),
		// A reused connection (of HTTP/2: those of HTTP/1.1 are not) that the server
		// closes while idle makes false doubt, which only an enforced identity
		// resolves by itself (section 3).
		FreshWrites: protection != onefold.ProtectionEnforced,
	}
	return b, nil
}

func (c *capabilityVersion) compileOnce() {
	if c.rules, c.err = identity.CompileRules(c.Compare); c.err != nil {
		c.err = documentError(c.Capability, c.err)
		return
	}
	if c.schema, c.err = compileSchema(c.Request); c.err != nil {
		c.err = documentError(c.Capability, c.err)
	}
}

func documentError(c *Capability, err error) error {
	return &onefold.Error{
		Code:    onefold.CodeDocumentInvalid,
		Message: fmt.Sprintf("the published capability %s@%d cannot be used: %v", c.Name, c.Version, err),
		Cause:   err,
	}
}

// effectiveMode is the mode in force (M27): a weakly protected connection acts
// by itself only where somebody acknowledged the limitation.
func effectiveMode(c *Connection, p onefold.Protection) onefold.Mode {
	weak := p == onefold.ProtectionNone || p == onefold.ProtectionDetectable
	if c.Mode == onefold.ModeAutonomous && weak && c.Acknowledged == nil {
		return onefold.ModeApproval
	}
	return c.Mode
}

// absenceTerms are the times of M12 and whether an absence may prove anything:
// the contract says so, both times are known and end.
func absenceTerms(op *TargetOperation) (settle, processing time.Duration, proves bool) {
	proves = op.Absence.Known() && op.Absence.Value == AbsenceAuthoritative
	bounded := func(d Documented[time.Duration]) time.Duration {
		if !d.Known() || d.Value == onefold.Forever {
			proves = false
			return 0
		}
		return d.Value
	}
	settle = bounded(op.Settle)
	processing = bounded(op.Processing)
	return settle, processing, proves
}

// recognises says whether the target makes no second effect of a repeat inside
// a known window, so that a replay is possible at all (M11a). A flag for
// possible resends would have to be switched on from the second attempt, which a
// request that is frozen once cannot do (M2a): such a target is never sent a
// replay.
func recognises(op *TargetOperation) bool {
	i := &op.Identity
	switch i.Kind {
	case IdentityNone, IdentityUpsert, IdentityPossibleResendFlag:
		return false
	case IdentityKey, IdentityUniqueReference, IdentityClientAssignedID, IdentityCreateOnly:
	}
	return i.Window.Known() && i.OnRepeat.Known() && i.OnRepeat.Value != RepeatNewEffect
}

// Terms returns the facts that admission and the interfaces show.
func (b *binding) Terms() onefold.Terms { return b.terms }

// Policy returns what the law needs to know; its list is the caller's own.
func (b *binding) Policy() onefold.Policy {
	p := b.policy
	p.InDoubt = slices.Clone(p.InDoubt)
	return p
}

// Route returns where requests travel; its map is the caller's own.
func (b *binding) Route() onefold.Route {
	r := b.route
	r.Secrets = maps.Clone(r.Secrets)
	return r
}

// Fingerprint normalizes a request (I11) and digests the intent (I8).
func (b *binding) Fingerprint(request []byte) (fingerprint, keyID string, err error) {
	v, err := b.registry.parse(request)
	if err != nil {
		return "", "", err
	}
	normal, err := b.contract.rules.Normalize(v)
	if err != nil {
		return "", "", ruleError(err)
	}
	return b.registry.keyed.Fingerprint(identity.Intent{
		Workspace: b.terms.Workspace, Capability: b.terms.Capability, ContractVersion: b.terms.ContractVersion,
		Connection: b.terms.Connection, Request: normal,
	}), b.registry.options.SecretID, nil
}

// ruleError is a value that does not fit a comparison rule (I11a).
func ruleError(err error) error {
	fault := onefold.Fault{Pointer: "/request", Rule: "compare", Detail: "does not fit a comparison rule"}
	if rule, ok := errors.AsType[*identity.RuleError](err); ok {
		fault = onefold.Fault{Pointer: "/request" + rule.Pointer, Rule: rule.Rule, Detail: rule.Detail}
	}
	return requestInvalid([]onefold.Fault{fault}, err)
}

func requestInvalid(faults []onefold.Fault, cause error) error {
	return &onefold.Error{
		Code: onefold.CodeRequestInvalid, Message: "the request does not fit the contract: " + faults[0].Pointer + " " + faults[0].Detail,
		Faults: faults, Cause: cause,
	}
}

// Validate holds a request against the contract's JSON Schema.
func (b *binding) Validate(request []byte) error {
	v, err := b.registry.parse(request)
	if err != nil {
		return err
	}
	if faults := b.contract.schema.check(v); len(faults) > 0 {
		return requestInvalid(faults, nil)
	}
	return nil
}

// Derive makes request identity and reference (I13a).
func (b *binding) Derive(deployment, key string, counter int) (string, string) {
	seed := identity.Seed{
		Deployment: deployment, Workspace: b.terms.Workspace, Capability: b.terms.Capability,
		Connection: b.terms.Connection, Key: key, Purpose: identity.PurposeIdentity, Counter: counter,
	}
	id := identity.Derive(seed, b.program.op.Identity.Format.Format)
	seed.Purpose = identity.PurposeReference
	return id, identity.Derive(seed, b.program.op.ReferenceFormat.Format)
}

// Freeze builds the outgoing write (M2a). Errors: request_invalid with a fault
// of the rule "mapping".
func (b *binding) Freeze(op *onefold.Operation, request []byte) (onefold.Frozen, error) {
	v, err := b.registry.parseApproved(request)
	if err != nil {
		return onefold.Frozen{}, err
	}
	return b.program.write.freeze(b.materials(op, v), b.program.op.Write.Timeout)
}

func (b *binding) materials(op *onefold.Operation, request *identity.Value) *materials {
	return &materials{request: request, op: op, connection: b.connection}
}

// approved reads the request for judging. It was valid when it was admitted; if
// it cannot be read any more, references to it are absent.
func (b *binding) approved(op *onefold.Operation, request []byte) *materials {
	v, err := b.registry.parseApproved(request)
	if err != nil {
		v = nil
	}
	return b.materials(op, v)
}

// Judge says what an answer to a write means.
func (b *binding) Judge(op *onefold.Operation, request []byte, x *onefold.Exchange, clean bool) (onefold.Answer, onefold.Evidence) {
	m := b.materials(op, nil)
	if len(b.program.verify) > 0 || b.program.expressions {
		m = b.approved(op, request)
	}
	ans, ev := b.program.judge(m, x, clean)
	if ans.Outcome == onefold.OutcomeConfirmed {
		ans.NamedByRequest = b.program.asksFor(b.approved(op, request), ans.Reference)
	}
	return ans, ev
}

// LookupRequest builds the look-up whose turn it is, or the poll where a poll is
// next; ok is false where the contract has neither.
func (b *binding) LookupRequest(op *onefold.Operation, request []byte) (f onefold.Frozen, ok bool, err error) {
	if len(b.program.lookups) == 0 && b.program.poll == nil {
		return onefold.Frozen{}, false, nil
	}
	v, err := b.registry.parseApproved(request)
	if err != nil {
		return onefold.Frozen{}, true, err
	}
	_, f, err = b.program.pick(b.materials(op, v))
	return f, true, err
}

// JudgeLookup says what the answer to LookupRequest's request means, for the
// same operation and request.
func (b *binding) JudgeLookup(op *onefold.Operation, request []byte, x *onefold.Exchange) (onefold.LookupOutcome, onefold.Evidence) {
	m := b.approved(op, request)
	l, _, err := b.program.pick(m)
	if err != nil {
		l = nil
	}
	out, ev := b.program.judgeLookup(l, m, x)
	if l != nil && l.By == lookupByPoll && out.Result == onefold.LookupFound {
		out.NamedByRequest = b.program.asksFor(m, out.Reference)
	}
	return out, ev
}

// scopeVersion separates the digest of scopes from any other.
const scopeVersion = "onefold scope 1"

// Scope digests what must be equal for a replay (M11a). Each part is taken from
// where a change of it shows: the account from the connection; the environment
// from the origin of its address; the endpoint from its whole address and the
// write's method and path template; the version from the target document; the
// region from the origin and the connection's parameter of that name; the
// credential from its digest.
func (b *binding) Scope(credential string) string {
	parts := b.program.op.Identity.Scope.Value
	if !b.program.op.Identity.Scope.Known() {
		parts = ScopeParts()
	}
	h := sha256.New()
	write := func(pieces ...string) {
		var length [8]byte
		for _, piece := range pieces {
			binary.BigEndian.PutUint64(length[:], uint64(len(piece)))
			h.Write(length[:])
			h.Write([]byte(piece))
		}
	}
	write(scopeVersion)
	for _, part := range ScopeParts() {
		if !slices.Contains(parts, part) {
			continue
		}
		write(string(part))
		switch part {
		case ScopeAccount:
			write(b.connection.Account)
		case ScopeEnvironment:
			write(origin(b.connection.URL), b.param("environment"))
		case ScopeCredential:
			write(credential)
		case ScopeEndpoint:
			write(b.connection.URL, b.program.op.Write.Method, b.program.op.Write.Path)
		case ScopeVersion:
			write(b.terms.Target, fmt.Sprint(b.terms.TargetVersion))
		case ScopeRegion:
			write(origin(b.connection.URL), b.param("region"))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// param is a connection parameter as canonical JSON, empty where there is none.
func (b *binding) param(name string) string {
	v, ok := b.connection.Params.Get(name)
	if !ok {
		return ""
	}
	return string(identity.Canonical(v))
}

// origin is the scheme and host of an address; the whole text where it has none.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	return u.Scheme + "://" + u.Host
}
