package contract

import "github.com/onefold-dev/onefold/identity"

// The tables of what becomes of work that a target takes on for later.

func acceptedShape() *objectShape {
	return object(
		may("when", object(whenMembers()...).with(refuseAlways), "The answer that means it, where no response rule matches."),
		may("reference", locatorShape(), "Where the target's name for the work stands: $accepted/reference in the poll."),
		need("poll", pollShape(), "How to ask for progress."),
		may("states", orNull(statesShape()), "What a polled record says about itself; the operation's states where they are left out."),
	)
}

func refuseAlways(c *checker, at string, v *identity.Value) {
	if v.Len() == 0 {
		c.fault(at, "a condition that always holds would call every answer accepted", "")
	}
}

func pollShape() *objectShape {
	return object(
		may("method", words("GET", "POST"), "The HTTP method; GET by default."),
		need("path", pathTemplateText, "Path and query; {accepted/reference} interpolates, too."),
		may("headers", orNull(mapShape{name: headerName, values: headerTemplateText}), "Header fields."),
		may("body", template(), "The JSON body, for polls that have one."),
		may("timeout", durationShape{positive: true}, "For the whole exchange; the write's by default."),
		need("every", durationShape{positive: true}, "How often it is asked."),
		need("within", durationShape{positive: true}, "The agreed time, from the acceptance: until then the wait is no incident (M16a)."),
		may("records", wholeOrPointer, "Where the candidates stand; left out, the body is the record."),
		may("match", orNull(checksShape()), "What makes a record this operation's; may be left out where the body is the record."),
		may("reference", locatorShape(), "Where the target's own reference stands in the record; accepted's by default."),
	).with(func(c *checker, at string, v *identity.Value) {
		if get(v, "records") != nil && get(v, "match").Len() == 0 {
			c.fault(at, "match is missing: records are told apart by it", "")
		}
	})
}

// statesShape sorts a record by the value of one field.
func statesShape() *objectShape {
	lists := []string{"effect", "pending", "no_effect"}
	of := oneOrMore(scalarShape())
	return object(
		need("field", jsonPointer, "Where the state stands in a record."),
		need(lists[0], of, "States in which the effect exists."),
		may(lists[1], of, "States in which the target is still at work."),
		may(lists[2], of, "States in which it finally failed, without effect."),
	).with(func(c *checker, at string, v *identity.Value) {
		seen := map[string]string{}
		for _, list := range lists {
			for _, state := range manyOf(get(v, list)) {
				text := string(identity.Canonical(state))
				if other, twice := seen[text]; twice {
					c.fault(at+"/"+list, text+" stands in "+other+" already", "a state means one thing")
				}
				seen[text] = list
			}
		}
	})
}

// checkAccepted wants a way into accepted, and states to judge the polls by.
func checkAccepted(c *checker, at string, v *identity.Value) {
	accepted := get(v, "accepted")
	if accepted == nil {
		return
	}
	if get(accepted, "states") == nil && get(v, "states") == nil {
		c.fault(at+"/accepted", "states is missing: what an answer to a poll means", "write it here, or beside lookup")
	}
	if get(accepted, "when") != nil {
		return
	}
	for _, rule := range get(v, "responses").Items() {
		if textOf(rule, "outcome") == string(OutcomeAccepted) {
			return
		}
	}
	c.fault(at+"/accepted", "when is missing, and no response rule says accepted", "")
}
