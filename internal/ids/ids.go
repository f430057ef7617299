package ids

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/onefold-dev/onefold"
)

// Random is an onefold.IDs on crypto/rand. The zero value works and is safe for
// concurrent use.
type Random struct{}

var _ onefold.IDs = Random{}

// New returns a TypeID over a UUIDv7 of the given time.
func (Random) New(prefix string, at time.Time) string {
	var random [10]byte
	_, _ = rand.Read(random[:]) // never fails: it ends the program instead
	return onefold.FormatID(prefix, onefold.UUIDv7(at, random))
}

// Chance returns a random number.
func (Random) Chance() uint64 {
	var random [8]byte
	_, _ = rand.Read(random[:])
	return binary.LittleEndian.Uint64(random[:])
}
