package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/onefold-dev/onefold"
)

// OpenAPI returns the OpenAPI 3.1 document of the interface, as JSON that ends
// with a line feed. It is made from the table of routes and the types of the
// answers; version is the product's.
func OpenAPI(version string) []byte { return document(routes(), version) }

type object = map[string]any

func document(all []route, version string) []byte {
	if version == "" {
		version = "0"
	}
	shapes := newShapes()
	problem := shapes.of(problemView{})
	paths := object{}
	for i := range all {
		rt := &all[i]
		path, ok := paths[rt.path].(object)
		if !ok {
			path = object{}
			paths[rt.path] = path
		}
		path[strings.ToLower(rt.method)] = rt.describe(shapes, problem)
	}
	out, err := json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "onefold", "version": version,
			"description": "Writes to other systems, each with one intended effect or one unresolved operation with a named owner. " +
				"Members of answers are always present, null or empty where there is nothing; new ones may be added. " +
				"Unknown members and parameters of calls are refused. Times are RFC 3339 UTC, decimals strings.",
		},
		"paths": paths,
		"components": object{
			"schemas":         shapes.components,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer", "description": "A token, ofk_…"}},
		},
	}, "", "  ")
	if err != nil {
		panic("api: the document cannot be written: " + err.Error()) // maps, slices, texts and numbers can
	}
	return append(out, '\n')
}

// describe is the route's operation object.
func (rt *route) describe(shapes *shapes, problem object) object {
	out := object{"operationId": rt.name, "summary": rt.title, "responses": rt.responses(shapes, problem)}
	if rt.doc != "" {
		out["description"] = rt.doc
	}
	if rt.roles == nil {
		out["security"] = []any{}
	} else {
		out["security"] = []any{object{"token": []any{}}}
		out["x-roles"] = words(rt.roles)
	}
	if parameters := rt.parameters(); len(parameters) > 0 {
		out["parameters"] = parameters
	}
	if rt.body != nil {
		out["requestBody"] = object{
			"required": !rt.bodyOptional(),
			"content":  object{"application/json": object{"schema": objectOf(rt.body)}},
		}
	}
	return out
}

func (rt *route) parameters() []any {
	var out []any
	add := func(place, name, doc string, required bool, schema object) {
		p := object{"in": place, "name": name, "required": required, "schema": schema}
		if doc != "" {
			p["description"] = doc
		}
		out = append(out, p)
	}
	text := object{"type": "string"}
	for _, segment := range strings.Split(rt.path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			add("path", strings.TrimSuffix(name, "}"), "", true, text)
		}
	}
	if rt.key {
		add("header", "Idempotency-Key", "1 to 255 characters of visible ASCII, the first of them no quote; bare, or as a quoted structured-field string.", true, text)
	}
	if rt.prefer {
		add("header", "Prefer", "wait=SECONDS, at most 60: answer when it is settled, held, or needs a person.", false, text)
	}
	if rt.ifMatch != noCondition {
		add("header", "If-Match", "The ETag of the operation that was decided on.", rt.ifMatch == needsCondition, text)
	}
	for _, p := range rt.query {
		m := member{name: p.name, kind: p.kind, min: p.min, max: p.max, enum: p.enum}
		add("query", p.name, p.doc, false, m.schema())
	}
	return out
}

// responses are the route's successes and problems, by status.
func (rt *route) responses(shapes *shapes, problem object) object {
	out := object{}
	for _, a := range rt.answers {
		key := strconv.Itoa(a.status)
		response, ok := out[key].(object)
		if !ok {
			response = object{"description": a.doc, "content": object{}}
			out[key] = response
		}
		media := a.media
		if media == "" {
			media = "application/json"
		}
		schema := object{}
		if media != "application/json" {
			schema = object{"type": "string"}
		}
		if a.shape != nil {
			schema = shapes.of(a.shape)
		}
		response["content"].(object)[media] = object{"schema": schema} //nolint:forcetypeassert,errcheck // made above
	}
	byStatus := map[int][]string{}
	for _, code := range rt.problems() {
		status := onefold.ProblemOf(code).Status
		byStatus[status] = append(byStatus[status], string(code))
	}
	for status, codes := range byStatus {
		slices.Sort(codes)
		out[strconv.Itoa(status)] = object{
			"description": fmt.Sprintf("%s: %s", http.StatusText(status), strings.Join(codes, ", ")),
			"content":     object{"application/problem+json": object{"schema": problem}},
		}
	}
	return out
}

// problems are all codes that the route may answer.
func (rt *route) problems() []onefold.Code {
	codes := append([]onefold.Code{onefold.CodeInternal}, rt.codes...)
	if rt.roles != nil {
		codes = append(codes, onefold.CodeUnauthenticated, onefold.CodeNotPermitted, onefold.CodeParameterInvalid, onefold.CodeStoreUnavailable)
	}
	if rt.key || strings.Contains(rt.path, "{id}") {
		codes = append(codes, onefold.CodeRecordUnreadable)
	}
	if rt.key {
		codes = append(codes, onefold.CodeKeyRequired, onefold.CodeKeyInvalid)
	}
	if rt.body != nil {
		codes = append(codes, onefold.CodeTooLarge, onefold.CodeNotJSON, onefold.CodeJSONInvalid, onefold.CodeUnknownMember, onefold.CodeMemberInvalid)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// objectOf is the schema of a body.
func objectOf(members []member) object {
	properties := object{}
	var required []string
	for i := range members {
		m := &members[i]
		schema := m.schema()
		if m.doc != "" {
			schema["description"] = m.doc
		}
		if m.required {
			required = append(required, m.name)
		}
		properties[m.name] = schema
	}
	out := object{"type": "object", "additionalProperties": false, "properties": properties}
	if required != nil {
		out["required"] = required
	}
	return out
}

// schema is the schema of a member or parameter.
func (m *member) schema() object {
	out := object{}
	switch m.kind {
	case kindText, kindDuration:
		out["type"] = "string"
		if m.max > 0 {
			out["maxLength"] = m.max
		}
		if m.min > 0 || m.required && m.kind == kindText && len(m.enum) == 0 {
			out["minLength"] = max(1, m.min)
		}
	case kindInteger:
		out["type"], out["minimum"] = "integer", m.min
		if m.max > 0 {
			out["maximum"] = m.max
		}
	case kindBoolean:
		out["type"] = "boolean"
	case kindInstant:
		out["type"], out["format"] = "string", "date-time"
	case kindObject:
		out["type"] = "object"
	case kindList:
		out["type"], out["items"] = "array", objectOf(m.items)
		out["minItems"], out["maxItems"] = m.min, m.max
	case kindAny:
	}
	if len(m.enum) > 0 {
		out["enum"] = m.enum
	}
	return out
}
