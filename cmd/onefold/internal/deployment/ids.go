package deployment

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/onefold-dev/onefold"
)

// IDs makes identifiers from the machine's chance. The zero value works and is
// safe for concurrent use.
type IDs struct{}

var _ onefold.IDs = IDs{}

// New returns a TypeID over a UUIDv7 of the given time.
func (IDs) New(prefix string, at time.Time) string {
	var random [10]byte
	read(random[:])
	return onefold.FormatID(prefix, onefold.UUIDv7(at, random))
}

// Chance returns a random number.
func (IDs) Chance() uint64 {
	var random [8]byte
	read(random[:])
	return binary.BigEndian.Uint64(random[:])
}

// read fills b from the system's chance, which never fails: since Go 1.24 the
// runtime ends the process where the system has none.
func read(b []byte) { _, _ = rand.Read(b) }
