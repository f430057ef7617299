package onefold

import (
	"encoding/binary"
	"strings"
	"time"
)

// The prefixes of identifiers.
const (
	PrefixOperation = "op"
	PrefixAttempt   = "att"
	PrefixEvidence  = "ev"
	PrefixReview    = "rev"
	PrefixToken     = "tok"
)

// idAlphabet is the TypeID alphabet (Crockford's base 32, lower case).
const idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// idSuffixLength is the number of base 32 digits of 128 bits.
const idSuffixLength = 26

// IDs makes new identifiers. Implementations are safe for concurrent use.
type IDs interface {
	// New returns a TypeID over a UUIDv7 of the given time.
	New(prefix string, at time.Time) string
	// Chance returns a random number, for jitter.
	Chance() uint64
}

// FormatID writes 16 bytes as a TypeID: prefix, underscore, 26 digits.
func FormatID(prefix string, u [16]byte) string {
	var out [idSuffixLength]byte
	hi, lo := binary.BigEndian.Uint64(u[:8]), binary.BigEndian.Uint64(u[8:])
	for i := idSuffixLength - 1; i >= 0; i-- {
		out[i] = idAlphabet[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return prefix + "_" + string(out[:])
}

// UUIDv7 lays out a time (millisecond precision) and ten random bytes as a
// UUID of version 7.
func UUIDv7(at time.Time, random [10]byte) [16]byte {
	var u [16]byte
	ms := uint64(at.UnixMilli())
	u[0], u[1], u[2] = byte(ms>>40), byte(ms>>32), byte(ms>>24)
	u[3], u[4], u[5] = byte(ms>>16), byte(ms>>8), byte(ms)
	copy(u[6:], random[:])
	u[6] = u[6]&0x0f | 0x70
	u[8] = u[8]&0x3f | 0x80
	return u
}

// ParseID reads a TypeID with the given prefix; ok is false for anything else.
func ParseID(prefix, id string) (u [16]byte, ok bool) {
	digits, found := strings.CutPrefix(id, prefix+"_")
	if !found || len(digits) != idSuffixLength || digits[0] > '7' {
		return u, false
	}
	var hi, lo uint64
	for i := range len(digits) {
		d := strings.IndexByte(idAlphabet, digits[i])
		if d < 0 {
			return u, false
		}
		hi = hi<<5 | lo>>59
		lo = lo<<5 | uint64(d)
	}
	binary.BigEndian.PutUint64(u[:8], hi)
	binary.BigEndian.PutUint64(u[8:], lo)
	return u, true
}

// IDTime returns the time that an identifier carries, to the millisecond; the
// zero time for anything that is no identifier with that prefix.
func IDTime(prefix, id string) time.Time {
	u, ok := ParseID(prefix, id)
	if !ok {
		return time.Time{}
	}
	ms := int64(u[0])<<40 | int64(u[1])<<32 | int64(u[2])<<24 | int64(u[3])<<16 | int64(u[4])<<8 | int64(u[5])
	return time.UnixMilli(ms).UTC()
}
