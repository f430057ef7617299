package contract

import (
	"slices"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// A target with `protocol: go` is spoken to by Go functions (onefold.Steps). Its
// document says everything that a contract says but how to speak: there is no
// method, no path, no rule for an answer, because a function knows that. What is
// derived from it is derived by the same code as for any other target.

// GoOperation is what a target operation has instead of requests and rules, where
// functions carry it.
type GoOperation struct {
	// Stores lists the outcomes that the target gives a repeat again (M11a).
	Stores Documented[[]onefold.Outcome]
}

// carriedByCall is the place of an identity that a function is called with.
const carriedByCall = "call"

// concurrentReported is the word for a target of which a function can tell that
// the first request is still in progress.
const concurrentReported = "reported"

// targetShapeFor is the table of a target document, by its protocol.
func targetShapeFor(tree *identity.Value) *objectShape {
	if textOf(tree, "protocol") == onefold.ProtocolGo {
		return goTargetShape()
	}
	return targetShape()
}

// goTargetShape is the table of a target document with protocol: go.
func goTargetShape() *objectShape {
	members := slices.Clone(targetShape().members)
	for i := range members {
		switch members[i].name {
		case "protocol":
			members[i].shape = constShape{identity.NewString(onefold.ProtocolGo)}
		case "operations":
			entries := members[i].shape.(mapShape)
			entries.values = goOperationShape()
			members[i].shape = entries
		}
	}
	return object(members...)
}

// goOperationShape is one entry under operations: those members of any target
// operation that say nothing about HTTP.
func goOperationShape() *objectShape {
	var members []member
	for _, m := range operationShape().members {
		switch m.name {
		case "write":
			m.shape = object(need("timeout", durationShape{positive: true}, "When the function's context ends."))
			m.doc = "The function that has the effect."
		case "identity":
			m.shape = goIdentityShape()
		case "lookup":
			m.shape = orNull(object(
				need("by", words(string(LookupByIdentity), string(LookupByReference)), "What the function looks for."),
				may("timeout", durationShape{positive: true}, "When the function's context ends; the write's by default."),
			))
			m.doc = "A function finds out; left out, there is none."
		case "verify", "references", "settle", "processing", "absence", assumed, "in_doubt", "reference_format":
		case "responses":
			continue
		default:
			// What other targets may say, no function is asked for yet.
			m = may(m.name, laterShape{same: []*identity.Value{identity.NewNull()}}, "Not supported by this release for Go functions.")
		}
		members = append(members, m)
	}
	o := object(members...)
	return o.with(func(c *checker, at string, v *identity.Value) {
		checkSibling(c, at, v, o)
		checkGoLookup(c, at, v)
	})
}

// goIdentityShape is what the target does with the identity that a function is
// called with: it travels as the function makes it travel.
func goIdentityShape() *objectShape {
	var members []member
	for _, m := range identityShape().members {
		switch m.name {
		case "carrier", "companions":
			continue
		case "stores":
			m.shape = documentedAs(listShape{
				of:       words(string(OutcomeConfirmed), string(OutcomeRejected), string(OutcomeKeyConflict), string(OutcomeUnknown)),
				distinct: true,
			})
			m.doc = "Which outcomes the target gives a repeat again."
		case "concurrent":
			m.shape = documentedAs(words(string(ConcurrentBlocks), concurrentReported, string(ConcurrentSecondMayFail), string(ConcurrentDuplicates)))
			m.doc = "What the target does with two requests of one identity at once; reported: the function reports in_progress."
		}
		members = append(members, m)
	}
	o := object(members...)
	return o.with(func(c *checker, at string, v *identity.Value) { checkSibling(c, at, v, o) })
}

// checkGoLookup holds the look-up's members against one another, as for any
// target: they may be left out only together.
func checkGoLookup(c *checker, at string, v *identity.Value) {
	there := get(v, "lookup") != nil
	for _, name := range []string{"settle", "processing", "absence"} {
		_, written := v.Get(name)
		switch {
		case written && !there:
			c.fault(identity.JoinPointer(at, name), name+" says something about a look-up, and there is none", "add lookup, or leave it out")
		case !written && there && name != "processing":
			c.fault(at, name+" is missing: the look-up's members may be left out only together", "write "+name+": undocumented if nobody knows")
		}
	}
}

// fillGoOperation reads an entry that was checked.
func fillGoOperation(entry string, v *identity.Value) TargetOperation {
	capability, number := splitVersion(entry)
	of := get(v, "identity")
	op := TargetOperation{
		Pointer:    identity.JoinPointer("/operations", entry),
		Capability: capability, CapabilityVersion: number,
		Go:    &GoOperation{Stores: memberOf(of, "stores", outcomesOf)},
		Write: Write{Timeout: durationOr(get(v, "write"), "timeout", 0)},
		Identity: TargetIdentity{
			Kind:       IdentityKind(textOf(of, "kind")),
			Carrier:    &CarrierPlace{In: carriedByCall},
			Format:     fillFormat(get(of, "format")),
			Scope:      memberOf(of, "scope", scopeOf),
			OnRepeat:   memberOf(of, "on_repeat", wordOf[OnRepeat]),
			Compares:   memberOf(of, "compares", comparesOf),
			Concurrent: memberOf(of, "concurrent", goConcurrentOf),
		},
		Verify:          fillChecks(get(v, "verify")),
		References:      References(textOr(v, "references", string(ReferencesOwn))),
		Settle:          memberOf(v, "settle", durationOf),
		Processing:      memberOf(v, "processing", durationOf),
		Absence:         memberOf(v, "absence", wordOf[Absence]),
		ReferenceFormat: fillFormat(get(v, "reference_format")),
	}
	op.Identity.Window, op.Identity.Anchor = fillWindow(of)
	op.Identity.Stores.Assumed = op.Go.Stores.Assumed
	if !op.Identity.Scope.Known() {
		op.Identity.Scope.Value = ScopeParts()
	}
	if !op.Processing.Written {
		op.Processing = Documented[time.Duration]{Value: op.Write.Timeout}
	}
	if !op.Absence.Known() {
		op.Absence.Value = AbsenceInconclusive
	}
	if l := get(v, "lookup"); l != nil {
		// A function says itself whether it saw everything: only then it reports
		// an absence.
		op.Lookups = []Lookup{{
			Pointer: op.Pointer + "/lookup", By: LookupBy(textOf(l, "by")),
			Timeout: durationOr(l, "timeout", op.Write.Timeout), Complete: &Complete{Always: true},
		}}
	}
	for _, step := range textsOf(get(v, "in_doubt")) {
		op.InDoubt = append(op.InDoubt, onefold.RecoveryStep(step))
	}
	return op
}

func outcomesOf(v *identity.Value) []onefold.Outcome {
	var out []onefold.Outcome
	for _, text := range textsOf(v) {
		out = append(out, onefold.Outcome(text))
	}
	return out
}

func goConcurrentOf(v *identity.Value) Concurrent {
	if v.Text() == concurrentReported {
		return Concurrent{Rule: string(OutcomeInProgress)}
	}
	return Concurrent{Does: ConcurrentDoes(v.Text())}
}

// GoTarget names the target of a connection whose requests Go functions carry.
func (r *Registry) GoTarget(ref onefold.ConnectionRef) (target string, ok bool) {
	set := r.set.Load()
	c := set.connections[ref]
	if c == nil {
		return "", false
	}
	t := set.targets[targetKey{c.Target, c.TargetVersion}]
	if t == nil || t.Protocol != onefold.ProtocolGo {
		return "", false
	}
	return c.Target, true
}

// targetSchema is the JSON Schema of target documents: which members there are
// depends on the protocol.
func targetSchema() []identity.Member {
	speaksGo := identity.NewObject(
		entry("properties", identity.NewObject(entry("protocol", identity.NewObject(entry("const", identity.NewString(onefold.ProtocolGo)))))),
		entry("required", identity.NewArray(identity.NewString("protocol"))),
	)
	return []identity.Member{entry("if", speaksGo), entry("then", goTargetShape().schema()), entry("else", targetShape().schema())}
}
