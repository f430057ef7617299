package contract

import (
	"errors"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// Defaults of a capability (I26 and section 3).
const (
	defaultKeyRetention     = 30 * day
	defaultPayloadRetention = 30 * day
	defaultHistory          = 395 * day // thirteen months
	defaultRetryAttempts    = 8
	defaultRetryWithin      = 6 * time.Hour
	defaultReconcileWithin  = 24 * time.Hour
)

func defaultRetryBackoff() onefold.Backoff {
	return onefold.Backoff{First: time.Second, Factor: 2, Max: 10 * time.Minute}
}

func defaultReconcileBackoff() onefold.Backoff {
	return onefold.Backoff{First: 5 * time.Second, Factor: 2, Max: time.Hour}
}

// capabilityShape is the table of a capability document.
func capabilityShape() *objectShape {
	unset := laterShape{same: []*identity.Value{identity.NewNull()}}
	none := laterShape{same: []*identity.Value{identity.NewNull(), identity.NewObject()}}
	kept := durationShape{words: []string{"forever"}}
	return object(
		need("kind", constShape{identity.NewString(string(KindCapability))}, "What this document is."),
		need("name", capabilityName, "Dotted words, for example bills.create."),
		need("version", versionNumber, "Rises with every change: a published version never changes (I12)."),
		may("summary", sentence, "What it does, in one line."),
		may("owner", personName, "Whose capability it is."),
		need("request", anyShape{also: checkRequestSchema}, "The JSON Schema (2020-12) of a request."),
		may("compare", orNull(anyShape{object: true, what: "an object of rules", also: checkCompare}), "How two requests are compared (I11): JSON Pointer to rules."),
		may("identities", none, "Business identities; not supported by this release."),
		may("amount", orNull(object(
			need("value", jsonPointer, "Where a request's sum stands."),
			may("currency", jsonPointer, "Where its currency stands."),
		)), "The sum of a request, for limits and the console."),
		may("approval", unset, "When persons must approve; not supported by this release."),
		may("amends", unset, "What a request may amend; not supported by this release."),
		may("serialize", unset, "What waits for what (I25); not supported by this release."),
		may("payload", laterShape{same: []*identity.Value{identity.NewString("retain"), identity.NewNull()}, words: []string{"until_settled", "fingerprint_only"}}, "How the payload is kept; this release knows retain."),
		may("key_time", unset, "Whether keys carry their time (I30); not supported by this release."),
		may("retention", orNull(object(
			may("key", kept, "How long a key is honoured; 30d by default."),
			may("tombstone", kept, "How long an expired key is still recognised; forever by default."),
			may("payload", kept, "How long the approved request is kept; 30d by default."),
			may("history", kept, "How long operations, attempts and evidence are kept; 13 months by default."),
			may("identity", kept, "How long business claims are kept; forever by default."),
		)), "How long things are kept (I26), from the later of admission and last settlement."),
		may("retry", orNull(object(
			may("attempts", integerShape{min: 1, max: maxAttempts}, "Writes and replays together; 8 by default."),
			may("within", durationShape{positive: true}, "From the first dispatch; 6h by default."),
			may("backoff", backoff().with(backoffOrder(defaultRetryBackoff())), "1s, doubled, at most 10m, by default."),
			may("exhausted", words(string(onefold.ExhaustedHold), string(onefold.ExhaustedReject)), "What becomes of an operation whose budget is spent."),
		)), "The budget of writes and replays."),
		may("reconcile", orNull(object(
			may("within", durationShape{positive: true}, "From the first doubt; 24h by default."),
			may("backoff", backoff().with(backoffOrder(defaultReconcileBackoff())), "5s, doubled, at most 1h, by default."),
			may("escalate", orNull(object(
				need("after", durationShape{positive: true}, "From the opening of a review."),
				need("to", personName, "Who is named beside the owner."),
			)), "Who is named when a review stays open; nobody by default."),
		)), "The budget of finding out."),
	)
}

// backoffOrder refuses a longest wait below the first.
func backoffOrder(fallback onefold.Backoff) func(c *checker, at string, v *identity.Value) {
	return func(c *checker, at string, v *identity.Value) {
		if b := fillBackoff(v, fallback); b.Max < b.First {
			c.fault(at, "max is "+formatDuration(b.Max)+", shorter than first with "+formatDuration(b.First), "")
		}
	}
}

// checkRequestSchema compiles the schema of a capability's requests.
func checkRequestSchema(c *checker, at string, v *identity.Value) {
	if v.Kind() != identity.Object && v.Kind() != identity.Bool {
		c.fault(at, "wants a JSON Schema, not "+article(v.Kind()), "")
		return
	}
	_, err := compileSchema(v)
	if err == nil {
		return
	}
	// What is no schema is told by the deepest of its members that is wrong.
	if wrong, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if invalid, ok := errors.AsType[*jsonschema.ValidationError](wrong.Err); ok {
			cause := deepest(invalid)
			for _, token := range cause.InstanceLocation {
				at = identity.JoinPointer(at, token)
			}
			c.fault(at, "this is no JSON Schema: it "+explain(cause), "")
			return
		}
	}
	c.fault(at, strings.Join(strings.Fields(err.Error()), " "), "")
}

// deepest is the first of the causes that lie deepest in what was validated.
func deepest(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return e
	}
	best := deepest(e.Causes[0])
	for _, cause := range e.Causes[1:] {
		if d := deepest(cause); len(d.InstanceLocation) > len(best.InstanceLocation) {
			best = d
		}
	}
	return best
}

// checkCompare compiles the comparison rules (I11).
func checkCompare(c *checker, at string, v *identity.Value) {
	if _, err := identity.CompileRules(v); err != nil {
		if wrong, ok := errors.AsType[*identity.DefinitionError](err); ok {
			c.fault(at+wrong.Pointer, wrong.Detail, "")
			return
		}
		c.fault(at, err.Error(), "")
	}
}

// fillCapability reads a capability that was checked.
func fillCapability(v *identity.Value) *Capability {
	c := &Capability{
		Name: textOf(v, "name"), Version: integer(v, "version"), Summary: textOf(v, "summary"), Owner: textOf(v, "owner"),
		Request: get(v, "request"), Compare: get(v, "compare"),
	}
	if amount := get(v, "amount"); amount != nil {
		c.Amount = &Amount{Value: textOf(amount, "value"), Currency: textOf(amount, "currency")}
	}
	kept := get(v, "retention")
	c.Retention = Retention{
		Key:       durationOr(kept, "key", defaultKeyRetention),
		Tombstone: durationOr(kept, "tombstone", onefold.Forever),
		Payload:   durationOr(kept, "payload", defaultPayloadRetention),
		History:   durationOr(kept, "history", defaultHistory),
		Identity:  durationOr(kept, "identity", onefold.Forever),
	}
	retry := get(v, "retry")
	c.Retry = Retry{
		Attempts:  integerOr(retry, "attempts", defaultRetryAttempts),
		Within:    durationOr(retry, "within", defaultRetryWithin),
		Backoff:   fillBackoff(get(retry, "backoff"), defaultRetryBackoff()),
		Exhausted: onefold.Exhausted(textOr(retry, "exhausted", string(onefold.ExhaustedHold))),
	}
	reconcile := get(v, "reconcile")
	escalate := get(reconcile, "escalate")
	c.Reconcile = Reconcile{
		Within:        durationOr(reconcile, "within", defaultReconcileWithin),
		Backoff:       fillBackoff(get(reconcile, "backoff"), defaultReconcileBackoff()),
		EscalateAfter: durationOr(escalate, "after", 0),
		EscalateTo:    textOf(escalate, "to"),
	}
	return c
}

func fillBackoff(v *identity.Value, fallback onefold.Backoff) onefold.Backoff {
	return onefold.Backoff{
		First:  durationOr(v, "first", fallback.First),
		Factor: numberOr(v, "factor", fallback.Factor),
		Max:    durationOr(v, "max", fallback.Max),
	}
}
