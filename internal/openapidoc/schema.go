package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// direction says who writes a value: the caller or the server.
type direction string

const (
	request direction = "request"
	answer  direction = "answer"
)

// schema compares two schemas of a value.
func (c *comparison) schema(place string, was, is object, way direction) {
	if several(was) || several(is) {
		c.alternatives(place, was, is, way) // by name, and so before names are followed
		return
	}
	was, oldName := follow(was, c.old)
	is, newName := follow(is, c.now)
	if oldName != "" || newName != "" {
		key := fmt.Sprint(way, oldName, ">", newName)
		if oldName != "" && newName != "" && c.seen[key] {
			return
		}
		c.seen[key] = true
		if newName != "" {
			place = newName
		}
	}
	if several(was) || several(is) {
		c.alternatives(place, was, is, way)
		return
	}
	c.types(place, was, is, way)
	c.words(place, was, is, way)
	c.members(place, was, is, way)
	c.bounds(place, was, is, way)
	c.format(place, was, is, way)
	if was["items"] != nil || is["items"] != nil {
		c.schema(place+"[]", part(was, "items"), part(is, "items"), way)
	}
	c.others(place, was, is)
}

// follow finds the schema that a reference names.
func follow(schema, named object) (_ object, name string) {
	ref, ok := schema["$ref"].(string)
	if !ok {
		return schema, ""
	}
	name = ref[strings.LastIndexByte(ref, '/')+1:]
	return part(named, name), name
}

func several(schema object) bool { return schema["anyOf"] != nil || schema["oneOf"] != nil }

// alternatives compares what a value may be one of. One that is described by
// nothing may be everything.
func (c *comparison) alternatives(place string, was, is object, way direction) {
	before, after := alternativesOf(was), alternativesOf(is)
	for _, key := range keysOf(before, after) {
		switch {
		case before[key] != nil && after[key] != nil:
			c.schema(place, before[key], after[key], way)
		case before[key] != nil && after[anything] == nil:
			c.narrowed(place, way, "it may not be %s any more", key)
		case after[key] != nil && before[anything] == nil:
			c.widened(place, way, "it may also be %s", key)
		}
	}
}

// anything is how an alternative without a type is recognised.
const anything = "anything"

// alternativesOf are a schema's alternatives by what they are recognised by: the
// name of a shape, or a type.
func alternativesOf(schema object) map[string]object {
	all := slices.Concat(list(schema["anyOf"]), list(schema["oneOf"]))
	if !several(schema) {
		all = []any{schema}
	}
	out := map[string]object{}
	for _, item := range all {
		one, _ := item.(object)
		key := anything
		if ref, ok := one["$ref"].(string); ok {
			key = ref[strings.LastIndexByte(ref, '/')+1:]
		} else if kinds := typesOf(one); kinds != nil {
			key = strings.Join(kinds, " or ")
		}
		if one == nil {
			one = object{}
		}
		out[key] = one
	}
	return out
}

// narrowed: fewer values than before. A caller may have sent one of them.
func (c *comparison) narrowed(place string, way direction, what string, args ...any) {
	c.found = append(c.found, difference{place, fmt.Sprintf(what, args...), way == request})
}

// widened: more values than before. A reader may not know them.
func (c *comparison) widened(place string, way direction, what string, args ...any) {
	c.found = append(c.found, difference{place, fmt.Sprintf(what, args...), way == answer})
}

// typesOf are a schema's types, nil for any.
func typesOf(schema object) []string {
	if one, ok := schema["type"].(string); ok {
		return []string{one}
	}
	out := texts(schema["type"])
	slices.Sort(out)
	return out
}

func (c *comparison) types(place string, was, is object, way direction) {
	before, after := typesOf(was), typesOf(is)
	switch {
	case before == nil && after == nil:
	case before == nil:
		c.narrowed(place, way, "it may be nothing but %s now", strings.Join(after, " or "))
	case after == nil:
		c.widened(place, way, "it may be anything now")
	default:
		for _, kind := range missing(before, after) {
			if kind == "integer" && slices.Contains(after, "number") {
				continue // it is one
			}
			c.narrowed(place, way, "it may not be %s any more", kind)
		}
		for _, kind := range missing(after, before) {
			c.widened(place, way, "it may also be %s", kind)
		}
	}
}

// words compares enumerations. A word that is gone breaks both: who sends it is
// refused, who waits for it waits in vain.
func (c *comparison) words(place string, was, is object, way direction) {
	before, after := texts(was["enum"]), texts(is["enum"])
	switch {
	case before == nil && after == nil:
	case before == nil:
		c.narrowed(place, way, "it may be nothing but %s now", strings.Join(after, ", "))
	case after == nil:
		c.widened(place, way, "it is no longer one of a few words")
	default:
		for _, word := range missing(before, after) {
			c.breaks(place, "the value %q is gone", word)
		}
		for _, word := range missing(after, before) {
			c.adds(place, "a new value %q", word)
		}
	}
}

// members compares the members of objects.
func (c *comparison) members(place string, was, is object, way direction) {
	before, after := part(was, "properties"), part(is, "properties")
	needed, needs := texts(was["required"]), texts(is["required"])
	for _, name := range keysOf(before, after) {
		at := place + "." + name
		had, has := slices.Contains(needed, name), slices.Contains(needs, name)
		switch {
		case after[name] == nil:
			c.breaks(at, "the member is gone")
			continue
		case before[name] == nil && way == request && has:
			c.breaks(at, "a new member that must be there")
			continue
		case before[name] == nil:
			c.adds(at, "a new member")
			continue
		case way == request && has && !had:
			c.breaks(at, "the member must be there now")
		case way == answer && had && !has:
			c.breaks(at, "the member may be missing now")
		case had != has:
			c.adds(at, "whether the member is there: %v, and was %v", has, had)
		}
		c.schema(at, part(before, name), part(after, name), way)
	}
	c.rest(place, was["additionalProperties"], is["additionalProperties"], way)
}

// rest compares what members an object may have that are not named.
func (c *comparison) rest(place string, was, is any, way direction) {
	before, named := was.(object)
	after, names := is.(object)
	switch {
	case reflect.DeepEqual(was, is):
	case named && names:
		c.schema(place+".*", before, after, way)
	case is == false || names && was != false:
		c.narrowed(place, way, "it may not have all the other members that it might have had")
	default:
		c.widened(place, way, "it may have other members")
	}
}

// bounds compares the limits on sizes and numbers.
func (c *comparison) bounds(place string, was, is object, way direction) {
	for _, upper := range []string{"maxLength", "maximum", "maxItems"} {
		c.bound(place, upper, was[upper], is[upper], way, func(a, b float64) bool { return b < a })
	}
	for _, lower := range []string{"minLength", "minimum", "minItems"} {
		c.bound(place, lower, was[lower], is[lower], way, func(a, b float64) bool { return b > a })
	}
}

func (c *comparison) bound(place, name string, was, is any, way direction, tighter func(was, is float64) bool) {
	before, had := was.(float64)
	after, has := is.(float64)
	switch {
	case had == has && before == after:
	case !had || has && tighter(before, after):
		c.narrowed(place, way, "%s is %v, and was %v", name, is, was)
	default:
		c.widened(place, way, "%s is %v, and was %v", name, is, was)
	}
}

// format compares how a text is written.
func (c *comparison) format(place string, was, is object, way direction) {
	before, after := was["format"], is["format"]
	switch {
	case before == after:
	case before == nil:
		c.narrowed(place, way, "it is written as %v now", after)
	case after == nil:
		c.widened(place, way, "it is no longer written as %v", before)
	default:
		c.breaks(place, "it is written as %v, and was as %v", after, before)
	}
}

// others finds changes of keywords that no rule is known for.
func (c *comparison) others(place string, was, is object) {
	known := []string{
		"type", "enum", "properties", "required", "additionalProperties", "items", "format", "anyOf", "oneOf", "$ref",
		"maxLength", "maximum", "maxItems", "minLength", "minimum", "minItems", "description", "title", "example", "examples",
	}
	for _, keyword := range keysOf(was, is) {
		if slices.Contains(known, keyword) || reflect.DeepEqual(was[keyword], is[keyword]) {
			continue
		}
		before, _ := json.Marshal(was[keyword])
		after, _ := json.Marshal(is[keyword])
		c.breaks(place, "%s is %s, and was %s: nobody has said yet whether that breaks anything", keyword, after, before)
	}
}
