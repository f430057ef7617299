package api

import (
	"strings"
	"testing"

	"github.com/onefold-dev/onefold"
)

// FuzzBody holds every route's decoder to its promise: whatever comes in, there
// is a decoded body or one of three refusals, and the refusal repeats no more of
// the input than a member's name.
// Proves: I10
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[]`, `null`, `{"capability":"a","request":{}}`, `{"capability":1}`, `{"x":1}`, `{"a":{"a":[1,{"b":"c"}]}}`,
		`{"request":1e400,"capability":"a","metadata":{"a":null}}`, "{\"reason\":\"\xff\"}", `{"reason":"\ud800"}`,
		`{"files":[{"name":"x","text":"y"}]}`, `{"not_before":"2026-01-01T00:00:00Z"}`, `{"asserts":"effect_exists","body":[]}`,
		strings.Repeat("[", 300), `{"` + strings.Repeat("m", 500) + `":1}`,
	} {
		f.Add([]byte(seed))
	}
	table := routes()
	f.Fuzz(func(t *testing.T, raw []byte) {
		for i := range table {
			rt := &table[i]
			if rt.body == nil {
				continue
			}
			decoded, _, err := rt.decodeBody(raw)
			if err == nil {
				for _, m := range rt.body {
					if _, there := decoded[m.name]; m.required && !there {
						t.Fatalf("%s: decoded without %s", rt.path, m.name)
					}
				}
				continue
			}
			switch code := onefold.CodeOf(err); code {
			case onefold.CodeJSONInvalid, onefold.CodeUnknownMember, onefold.CodeMemberInvalid:
			default:
				t.Fatalf("%s: %s: %v", rt.path, code, err)
			}
			if text := err.Error() + domainError(err).Pointer + domainError(err).Hint; len(text) > 1000 {
				t.Fatalf("%s: a refusal of %d bytes", rt.path, len(text))
			}
		}
	})
}
