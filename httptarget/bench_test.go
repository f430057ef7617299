package httptarget

import (
	"strings"
	"testing"
)

// An excerpt is made of every answer: of a small one, and of the longest.
func BenchmarkExcerpt(b *testing.B) {
	r := newRedactor(&credential{})
	for name, body := range map[string]string{
		"record": `{"id":"B-1","supplier_id":"S-7","total":"100.00","currency":"EUR","created_at":"2026-11-29T18:39:00Z"}`,
		"page":   strings.Repeat(`{"id":"B-1","supplier_id":"S-7","total":"100.00","currency":"EUR"},`, 15_000),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r.excerpt([]byte(body))
			}
		})
	}
}
