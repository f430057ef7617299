package contract

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/onefold-dev/onefold/identity"
)

const (
	// parsedPlaces bounds the requests that are kept parsed: those under way at once,
	// and what callers repeat.
	parsedPlaces = 256
	// maxParsed bounds the size of one of them, in bytes; its tree takes about ten
	// times as much.
	maxParsed = 4 << 10
)

// trees keeps requests with their trees, by their bytes: one admission reads the
// same request for its check, its schema, its fingerprint and its freeze, and a
// repeat reads what was read before. Trees never change. It is safe for concurrent
// use.
type trees struct {
	seed   maphash.Seed
	places [parsedPlaces]atomic.Pointer[parsedRequest]
}

type parsedRequest struct {
	text string
	tree *identity.Value
}

func newTrees() *trees { return &trees{seed: maphash.MakeSeed()} }

// of is the tree of a request, parsed within the given limits if it is not at hand.
func (p *trees) of(raw []byte, l identity.Limits) (*identity.Value, error) {
	if len(raw) > maxParsed || l.MaxBytes > 0 && len(raw) > l.MaxBytes {
		return identity.Parse(raw, l)
	}
	place := &p.places[maphash.Bytes(p.seed, raw)%parsedPlaces]
	if kept := place.Load(); kept != nil && kept.text == string(raw) {
		return kept.tree, nil
	}
	tree, err := identity.Parse(raw, l)
	if err != nil {
		return nil, err
	}
	place.Store(&parsedRequest{string(raw), tree})
	return tree, nil
}
