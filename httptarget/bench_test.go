package httptarget

import (
	"strings"
	"testing"
)

// An excerpt is made of every answer: of a small one, of the longest, and of one
// that is as hard to read as it can be made.
func BenchmarkExcerpt(b *testing.B) {
	r := knows("a-credential/of+some=length")
	for name, body := range map[string]string{
		"record": `{"id":"B-1","supplier_id":"S-7","total":"100.00","currency":"EUR","created_at":"2026-11-29T18:39:00Z"}`,
		"page":   strings.Repeat(`{"id":"B-1","supplier_id":"S-7","total":"100.00","currency":"EUR"},`, 15_000),
		"coded":  strings.Repeat(coded(coded(coded(`%252561\u0025\u0036\u0031&amp;#x61;`))), 10_000),
		"torn":   strings.Repeat("a-credential/of+some=lengtha", 40_000),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r.excerpt([]byte(body), true)
			}
		})
	}
}
