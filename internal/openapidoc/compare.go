package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// difference is one way in which a document differs from an earlier one.
type difference struct {
	// Place is where: a route ("POST /v1/operations"), a part of one
	// ("POST /v1/operations body.capability"), or a member of a named shape
	// ("Operation.state").
	Place string
	What  string
	// Breaking: a program that was right before may fail now.
	Breaking bool
}

func (d difference) String() string { return "`" + d.Place + "`: " + d.What }

// object is a JSON object.
type object = map[string]any

// comparison finds the differences between two documents.
type comparison struct {
	old, now object // the components' schemas
	seen     map[string]bool
	found    []difference
}

// compare lists what an OpenAPI document changes against an earlier one, in order
// of place. What is read and what is sent are held to opposite rules: a call may
// take more than before and an answer may hold more than before, never less; a
// value in a call may be of more kinds, in an answer of fewer. A word of an
// enumeration that is gone breaks both. Wording never breaks. A change that these
// rules do not know counts as breaking, so that somebody looks at it.
func compare(old, now []byte) ([]difference, error) {
	var before, after object
	if err := json.Unmarshal(old, &before); err != nil {
		return nil, fmt.Errorf("the earlier document: %w", err)
	}
	if err := json.Unmarshal(now, &after); err != nil {
		return nil, fmt.Errorf("the document: %w", err)
	}
	return differences(before, after), nil
}

// differences is compare for documents that were read.
func differences(before, after object) []difference {
	c := &comparison{old: schemasOf(before), now: schemasOf(after), seen: map[string]bool{}}
	was, is := routesOf(before), routesOf(after)
	for _, name := range keysOf(was, is) {
		switch {
		case is[name] == nil:
			c.breaks(name, "the route is gone")
		case was[name] == nil:
			c.adds(name, "a new route")
		default:
			c.route(name, was[name], is[name])
		}
	}
	slices.SortFunc(c.found, func(a, b difference) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(c.found)
}

func (c *comparison) breaks(place, what string, args ...any) {
	c.found = append(c.found, difference{place, fmt.Sprintf(what, args...), true})
}

func (c *comparison) adds(place, what string, args ...any) {
	c.found = append(c.found, difference{place, fmt.Sprintf(what, args...), false})
}

// route compares one route with what it was.
func (c *comparison) route(name string, was, is object) {
	if was["operationId"] != is["operationId"] {
		c.breaks(name, "its operationId was %v and is %v: generated clients call it by that", was["operationId"], is["operationId"])
	}
	c.access(name, was, is)
	c.parameters(name, parametersOf(was), parametersOf(is))
	c.body(name, part(was, "requestBody"), part(is, "requestBody"))
	answered, answers := part(was, "responses"), part(is, "responses")
	for _, status := range keysOf(answered, answers) {
		switch place := name + " " + status; {
		case answers[status] == nil:
			c.breaks(place, "the answer is gone")
		case answered[status] == nil:
			c.adds(place, "a new answer")
		default:
			c.content(place, part(part(answered, status), "content"), part(part(answers, status), "content"), answer)
		}
	}
}

// access compares who may call a route.
func (c *comparison) access(name string, was, is object) {
	if open, closed := len(list(was["security"])) == 0, len(list(is["security"])) > 0; open && closed {
		c.breaks(name, "it was open to everybody and needs a token")
	}
	before, after := texts(was["x-roles"]), texts(is["x-roles"])
	for _, role := range missing(before, after) {
		c.breaks(name, "the role %s may not call it any more", role)
	}
	for _, role := range missing(after, before) {
		c.adds(name, "the role %s may call it", role)
	}
}

func (c *comparison) parameters(name string, was, is map[string]object) {
	for _, key := range keysOf(was, is) {
		place := name + " " + key
		before, after := was[key], is[key]
		required := after["required"] == true
		switch {
		case after == nil:
			c.breaks(place, "the parameter is gone; calls with it are refused")
		case before == nil && required:
			c.breaks(place, "a new parameter that must be there")
		case before == nil:
			c.adds(place, "a new parameter")
		default:
			if required && before["required"] != true {
				c.breaks(place, "the parameter must be there now")
			}
			c.schema(place, part(before, "schema"), part(after, "schema"), request)
		}
	}
}

func (c *comparison) body(name string, was, is object) {
	place := name + " body"
	switch {
	case was == nil && is == nil:
	case is == nil:
		c.breaks(place, "the route takes no body any more")
	case was == nil && is["required"] == true:
		c.breaks(place, "the route needs a body now")
	case was == nil:
		c.adds(place, "the route takes a body")
	default:
		if is["required"] == true && was["required"] != true {
			c.breaks(place, "the body must be there now")
		}
		c.content(place, part(was, "content"), part(is, "content"), request)
	}
}

// content compares media type by media type.
func (c *comparison) content(place string, was, is object, way direction) {
	for _, media := range keysOf(was, is) {
		switch {
		case is[media] == nil:
			c.breaks(place, "%s is gone", media)
		case was[media] == nil:
			c.adds(place, "also as %s", media)
		default:
			c.schema(place, part(part(was, media), "schema"), part(part(is, media), "schema"), way)
		}
	}
}

// schemasOf are the named schemas of a document.
func schemasOf(document object) object { return part(part(document, "components"), "schemas") }

// routesOf are a document's operations by method and path.
func routesOf(document object) map[string]object {
	out := map[string]object{}
	for path, item := range part(document, "paths") {
		methods, _ := item.(object)
		for method, described := range methods {
			if operation, ok := described.(object); ok {
				out[strings.ToUpper(method)+" "+path] = operation
			}
		}
	}
	return out
}

// parametersOf are a route's parameters by place and name.
func parametersOf(route object) map[string]object {
	out := map[string]object{}
	for _, item := range list(route["parameters"]) {
		if p, ok := item.(object); ok {
			out[fmt.Sprint(p["in"], " ", p["name"])] = p
		}
	}
	return out
}

// part is a member that is an object, nil where there is none.
func part(o object, name string) object {
	out, _ := o[name].(object)
	return out
}

func list(v any) []any {
	out, _ := v.([]any)
	return out
}

// texts are the strings of a list.
func texts(v any) []string {
	var out []string
	for _, item := range list(v) {
		if text, ok := item.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// missing lists what is in one list and not in the other.
func missing(from, in []string) []string {
	return slices.DeleteFunc(slices.Clone(from), func(s string) bool { return slices.Contains(in, s) })
}

// keysOf are the keys of both maps, in order.
func keysOf[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}
