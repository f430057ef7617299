package contract

import (
	"strings"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
)

// targetShape is the table of a target document.
func targetShape() *objectShape {
	return object(
		need("kind", constShape{identity.NewString(string(KindTarget))}, "What this document is."),
		need("name", plainName, "The kind of external system."),
		need("version", versionNumber, "Rises with every change: a published version never changes (I12)."),
		need("protocol", words(onefold.ProtocolHTTP, onefold.ProtocolGo), "How the target is spoken to; go: by functions of a Go program."),
		need("operations", mapShape{
			name:   textShape{what: "a capability's name, or one version of it such as bills.create@3", pattern: entryPattern, max: maxName},
			values: operationShape(), min: 1,
		}, "How the target behaves, by capability; bills.create@3 serves one version and wins over bills.create."),
		may("provenance", orNull(object(
			need("source", sentence, "Where the facts come from."),
			may("checked", dateOrNever, "When they were last compared with it."),
			may("probed", dateOrNever, "When they were last tried at the target."),
		)), "Where this document's facts come from."),
	)
}

// operationShape is one entry under operations.
func operationShape() *objectShape {
	o := object(
		need("write", writeShape(), "The request that has the effect."),
		need("identity", identityShape(), "What the target does with the request identity."),
		need("responses", listShape{of: responseShape()}, "What answers mean; the first rule that matches wins."),
		may("accepted", orNull(acceptedShape()), "How a target that takes work on for later is waited for."),
		may("verify", orNull(checksShape()), "What an answer or a found record must agree with (M15)."),
		may("references", words(string(ReferencesOwn), string(ReferencesShared)), "Whether each operation has a record of its own at the target, or several may share one, as with upserts; own by default."),
		may("lookup", orNull(listShape{of: lookupShape()}), "How to find out; tried in order."),
		may("states", orNull(statesShape()), "What a found record says about itself; those of accepted where they are left out."),
		may("settle", documentedAs(durationShape{words: []string{"unbounded"}}), "How long a finished effect may stay invisible."),
		may("processing", documentedAs(durationShape{words: []string{"unbounded"}}), "How long the target may still work on a request whose connection is gone; the write's time-out by default."),
		may("absence", documentedAs(words(string(AbsenceAuthoritative), string(AbsenceInconclusive))), "What an absent record proves."),
		may(assumed, siblingAssumption{}, "The assumption for the undocumented member beside it."),
		member{
			name: "in_doubt", required: true, missing: "a contract for a write says what happens in doubt (M27a)",
			shape: listShape{
				of: words(string(onefold.StepReplay), string(onefold.StepLookup), string(onefold.StepOperator)), min: 1, distinct: true,
				empty: "a contract for a write says what happens in doubt (M27a)",
			},
			doc: "What happens in doubt, tried in order.",
		},
		may("reference_format", orNull(formatShape()), "The shape of $operation/reference; a UUID by default."),
		may("events", laterShape{same: []*identity.Value{identity.NewNull()}}, "Events from the target; not supported by this release."),
	)
	return o.with(func(c *checker, at string, v *identity.Value) {
		checkSibling(c, at, v, o)
		checkConcurrentRule(c, at, v)
		checkLookupGroup(c, at, v)
		checkAccepted(c, at, v)
	})
}

func writeShape() *objectShape {
	return object(
		need("method", words("POST", "PUT", "PATCH", "DELETE", "GET"), "The HTTP method."),
		need("path", pathTemplateText, "Path and query below the connection's address; {request/…} interpolates."),
		may("headers", orNull(mapShape{name: headerName, values: headerTemplateText}), "Header fields; {request/…} interpolates."),
		need("timeout", durationShape{positive: true}, "For the whole exchange."),
		may("body", template(), "The JSON body: a tree in which strings that begin with $ are references."),
	)
}

func identityShape() *objectShape {
	o := object(
		need("kind", words(string(IdentityKey), string(IdentityUniqueReference), string(IdentityClientAssignedID), string(IdentityCreateOnly),
			string(IdentityUpsert), string(IdentityPossibleResendFlag), string(IdentityNone)), "What the target enforces."),
		may("carrier", orNull(object(
			need("in", words("header", "query", "body", "path"), "Where the identity travels."),
			may("name", textShape{what: "a name", pattern: linePattern, max: maxName}, "The header's or parameter's name, or the JSON Pointer in the body; none for a path."),
		).with(checkCarrier)), "Where the identity travels; left out where the templates carry it."),
		may("companions", orNull(listShape{of: object(
			need("in", wordShape{words: []string{"header"}, later: []string{"query", "body"}}, "Where the value travels; this release knows header."),
			need("name", headerName, "The header's name."),
			need("value", headerTemplateText, "The value; {request/…} interpolates."),
			may("from", wordShape{words: []string{"first"}, later: []string{"second"}}, "first: frozen with the first attempt. Values that are switched on from the second are not supported by this release."),
		)}), "Values that go with the identity, frozen with the first attempt."),
		may("format", orNull(formatShape()), "The shape of the identity; a UUID of version 4 by default."),
		may("scope", documentedAs(listShape{of: words(scopeWords()...), distinct: true}), "What must be equal for a replay (M11a); undocumented counts as everything."),
		may("window", documentedShape{of: kindShape{object: windowShape(), other: windowDuration()}, own: "guaranteed"}, "How long the target recognises the identity."),
		may("on_repeat", documentedAs(words(string(RepeatFirstResponse), string(RepeatCurrentState), string(RepeatExistingObject),
			string(RepeatConflictMeansDone), string(RepeatNewEffect))), "How the target answers a repeat."),
		may("compares", documentedAs(kindShape{
			array: listShape{of: sentence, min: 1, distinct: true},
			other: words(string(ComparesBodyBytes), string(ComparesParameters), string(ComparesNothing)),
		}), "What the target holds a repeat against; a list names the fields."),
		may("stores", documentedAs(listShape{of: statusShape(), distinct: true}), "Which answers the target replays to a repeat."),
		may("concurrent", documentedAs(kindShape{
			object: object(need("rule", sentence, "The name of the response rule.")),
			other:  words(string(ConcurrentBlocks), string(ConcurrentSecondMayFail), string(ConcurrentDuplicates)),
		}), "What the target does with two requests of one identity at once: a rule that reports it, or a word."),
		may(assumed, siblingAssumption{}, "The assumption for the undocumented member beside it."),
	)
	return o.with(func(c *checker, at string, v *identity.Value) { checkSibling(c, at, v, o) })
}

func scopeWords() []string {
	parts := make([]string, 0, len(ScopeParts()))
	for _, part := range ScopeParts() {
		parts = append(parts, string(part))
	}
	return parts
}

func windowDuration() shape { return durationShape{words: []string{"forever"}, positive: true} }

func windowShape() *objectShape {
	return object(
		need("guaranteed", documentedAs(windowDuration()), "A duration, forever, or undocumented."),
		may("anchor", documentedAs(words(string(AnchorFirstSent), string(AnchorFirstReceived), string(AnchorFirstCompleted),
			string(AnchorUntilTerminalState))), "From when the window counts."),
		may(assumed, assumption(windowDuration()), "The assumption for guaranteed."),
	).with(func(c *checker, at string, v *identity.Value) {
		if _, there := v.Get(assumed); there && get(v, "guaranteed").Text() != undocumented {
			c.fault(identity.JoinPointer(at, assumed), "stands beside no undocumented member", "write guaranteed: undocumented")
		}
	})
}

func formatShape() *objectShape {
	return object(
		may("max", integerShape{min: 1, max: maxLimit}, "The longest text that fits, in characters."),
		may("alphabet", textShape{what: "uuid, hex, digits, alnum, base32hex, or the characters themselves", pattern: anyText, max: maxName}, "uuid, hex, digits, alnum, base32hex, or the characters themselves."),
		may("uuid_version", integerShape{min: 1, max: 8}, "The version that a UUID says; 4 by default."),
		may("reason", sentence, "Why fewer than 64 bits are enough (I13a)."),
	)
}

func statusShape() shape {
	return kindShape{text: textShape{what: "a class of statuses such as 4xx", pattern: classPattern}, other: integerShape{min: 100, max: 599}}
}

func whenMembers() []member {
	values := kindShape{array: listShape{of: scalarShape(), min: 1}, other: scalarShape()}
	return []member{
		may("status", oneOrMore(statusShape()), "A status, a class such as 5xx, or a list of them."),
		may("header", mapShape{name: headerName, values: oneOrMore(sentence), min: 1}, "Header to value or list of values."),
		may("json", mapShape{name: jsonPointer, values: values, min: 1}, "JSON Pointer into the body to value or list of values."),
		may("clean", boolShape{}, "Whether every other attempt is proven without effect."),
		may("cel", orNull(textShape{what: "an expression", max: maxExpression}), "A CEL expression over response.status, response.headers, response.json, request and clean; an error in it means no match and uncertain."),
	}
}

// scalarShape is any value but an object or array.
func scalarShape() shape {
	simple := textShape{what: "text, a number, true, false or null"}
	return kindShape{object: simple, array: simple, text: textShape{what: "text"}, other: anyShape{}}
}

func locatorShape() shape {
	return kindShape{object: object(need("header", headerName, "The header that has it.")), other: jsonPointer}
}

func responseShape() *objectShape {
	return object(
		need("name", textShape{what: "a name on one line", pattern: linePattern, max: maxName}, "Shown in evidence."),
		need("when", object(whenMembers()...), "All that is present must hold."),
		need("outcome", wordShape{
			words: []string{
				string(OutcomeConfirmed), string(OutcomeRejected), string(OutcomeNotApplied), string(OutcomeInProgress),
				string(OutcomeAccepted), string(OutcomeExists), string(OutcomeKeyConflict), string(OutcomeUnknown),
			},
		}, "What it says about its attempt (M13)."),
		may("reference", locatorShape(), "Where the target's own reference stands; of accepted work, its name for it."),
		may("code", locatorShape(), "Where the refusal's code stands."),
		may("retry_after", object(need("header", headerName, "The header that says it.")), "When to come back."),
		may("pause", words("connection"), "The connection is paused."),
		may("settles", words("operation"), "The refusal speaks for every attempt (M13)."),
	)
}

func checksShape() shape { return mapShape{name: jsonPointer, values: template()} }

func lookupShape() *objectShape {
	return object(
		need("by", words(string(LookupByIdentity), string(LookupByReference), string(LookupByEvidence)), "What the look-up asks for; one by evidence finds candidates for a person (M14)."),
		need("method", words("GET", "POST"), "The HTTP method."),
		need("path", pathTemplateText, "Path and query; {operation/reference} interpolates."),
		may("headers", orNull(mapShape{name: headerName, values: headerTemplateText}), "Header fields."),
		may("body", template(), "The JSON body, for look-ups that have one."),
		may("timeout", durationShape{positive: true}, "For the whole exchange; the write's by default."),
		may("records", wholeOrPointer, "Where the candidates stand; left out, the body is the record."),
		may("complete", kindShape{boolean: always, other: locatorShape()}, "true, or what tells whether the page is the whole answer."),
		may("match", orNull(checksShape()), "What makes a record this operation's."),
		need("reference", locatorShape(), "Where the target's own reference stands in the record."),
		may("created", jsonPointer, "Where the record's own time stands (M15)."),
		may("absent", orNull(listShape{of: object(whenMembers()...).with(refuseEmptyWhen)}), "Rules that also mean absence."),
	).with(func(c *checker, at string, v *identity.Value) {
		if get(v, "records") != nil && get(v, "match").Len() == 0 {
			c.fault(at, "match is missing: records are told apart by it", "")
		}
	})
}

func refuseEmptyWhen(c *checker, at string, v *identity.Value) {
	if v.Len() == 0 {
		c.fault(at, "a rule without a condition would call everything absent", "")
	}
}

// checkCarrier holds the carrier's name against its place.
func checkCarrier(c *checker, at string, v *identity.Value) {
	named, there := v.Get("name")
	switch in := textOf(v, "in"); {
	case in == "path" && there:
		c.fault(at+"/name", "a path has no name for the identity", "write {operation/identity} into the path")
	case in == "path":
	case !there:
		c.fault(at, "name is missing", "")
	case in == "header":
		headerName.check(c, at+"/name", named)
	case in == "body":
		jsonPointer.check(c, at+"/name", named)
	}
}

// checkConcurrentRule wants the rule that concurrent names to be there.
func checkConcurrentRule(c *checker, at string, v *identity.Value) {
	seen := map[string]bool{}
	for i, rule := range get(v, "responses").Items() {
		if named := textOf(rule, "name"); seen[named] {
			c.fault(at+"/responses/"+itoa(i)+"/name", "two rules are called "+quoted(named), "")
		} else {
			seen[named] = true
		}
	}
	rule := textOf(get(get(v, "identity"), "concurrent"), "rule")
	if rule == "" || seen[rule] {
		return
	}
	names := make([]string, 0, len(seen))
	for _, r := range get(v, "responses").Items() {
		names = append(names, textOf(r, "name"))
	}
	c.fault(at+"/identity/concurrent/rule", "no response rule is called "+quoted(rule), strings.TrimPrefix(suggest(rule, names), "; "))
}

// checkLookupGroup holds the look-up's members against one another: they may be
// left out only together, but processing has a default.
func checkLookupGroup(c *checker, at string, v *identity.Value) {
	lookups := get(v, "lookup")
	absence := memberOf(v, "absence", wordOf[Absence])
	if lookups.Len() == 0 {
		for _, name := range []string{"settle", "processing", "absence"} {
			if _, there := v.Get(name); there {
				c.fault(identity.JoinPointer(at, name), name+" says something about a look-up, and there is none", "add lookup, or leave it out")
			}
		}
		return
	}
	for _, name := range []string{"settle", "absence"} {
		if _, there := v.Get(name); !there {
			c.fault(at, name+" is missing: the look-up's members may be left out only together", "write "+name+": undocumented if nobody knows")
		}
	}
	for i, lookup := range lookups.Items() {
		if _, there := lookup.Get("complete"); !there && absence.Value == AbsenceAuthoritative {
			c.fault(at+"/lookup/"+itoa(i), "complete is missing: it may be left out only with absence: inconclusive", "")
		}
	}
}
