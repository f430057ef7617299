package sqlite

import (
	"encoding/binary"
	"sync/atomic"
)

// maxRepeats bounds the finished operations that are kept for repeats of their
// keys: callers repeat what they submitted lately. An entry is about 3 KiB.
const maxRepeats = 1 << 10

// repeats keeps finished operations by the digests of their claims, one for each
// place: a newer one takes the place of an older. What it says was true once;
// who uses it asks whether it still is. It is safe for concurrent use.
type repeats struct {
	places [maxRepeats]atomic.Pointer[repeated]
}

type repeated struct {
	digest [16]byte
	held   *held // never changed
}

func (r *repeats) place(digest []byte) *atomic.Pointer[repeated] {
	return &r.places[binary.BigEndian.Uint64(digest)%maxRepeats]
}

func (r *repeats) keep(digest []byte, h *held) {
	r.place(digest).Store(&repeated{[16]byte(digest), h})
}

// find gives what was kept, nil for nothing.
func (r *repeats) find(digest []byte) *held {
	kept := r.place(digest).Load()
	if kept == nil || kept.digest != [16]byte(digest) {
		return nil
	}
	return kept.held
}
