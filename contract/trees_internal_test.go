package contract

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/onefold-dev/onefold/identity"
)

// TestAParsedRequestIsThatOfItsBytes asks for many requests again and again, some
// of which share a place, from buffers that are written over afterwards: each answer
// is what parsing its bytes gives, and what is refused is refused every time.
//
// Proves: I8, I10
func TestAParsedRequestIsThatOfItsBytes(t *testing.T) {
	t.Parallel()
	p := newTrees()
	limits := identity.Limits{MaxBytes: 8 << 10}
	for round := range 3 {
		for i := range 4 * parsedPlaces {
			text := fmt.Sprintf(`{"number":"INV-%d","total":%d.50}`, i, i)
			raw := []byte(text)
			got, err := p.of(raw, limits)
			clear(raw)
			if err != nil {
				t.Fatal(err)
			}
			want, err := identity.Parse([]byte(text), limits)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(identity.Canonical(got), identity.Canonical(want)) {
				t.Fatalf("round %d: %s became %s", round, text, identity.Canonical(got))
			}
		}
		for _, bad := range []string{`{"a":1,"a":1}`, `{"a":`, "{\"a\":\"\xff\"}", ``} {
			if v, err := p.of([]byte(bad), limits); err == nil {
				t.Errorf("round %d: %q was taken: %s", round, bad, identity.Canonical(v))
			}
		}
	}
	long := []byte(`{"memo":"` + string(bytes.Repeat([]byte("x"), 2*maxParsed)) + `"}`)
	for range 2 {
		if _, err := p.of(long, limits); err == nil {
			t.Error("a request beyond its limit was taken")
		}
	}
	short := []byte(`{"memo":"within the larger limit"}`)
	if _, err := p.of(short, limits); err != nil {
		t.Fatal(err)
	}
	if _, err := p.of(short, identity.Limits{MaxBytes: 8}); err == nil {
		t.Error("what was parsed under a larger limit was taken under a smaller one")
	}
}
