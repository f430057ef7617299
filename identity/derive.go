package identity

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"strconv"
)

// Purpose says what a value is derived for (I13a).
type Purpose string

// The purposes.
const (
	// PurposeIdentity: the request identity.
	PurposeIdentity Purpose = "identity"
	// PurposeReference: the reference under which the target shows the effect.
	PurposeReference Purpose = "reference"
)

// Seed is what an identity or reference is derived from (I13a). Key is the
// caller key as ParseKey returns it. Counter is zero unless an earlier value
// collided; then it is the stored counter and enters the seed as a member
// "counter", a decimal string.
type Seed struct {
	Deployment, Workspace, Capability, Connection, Key string
	Purpose                                            Purpose
	Counter                                            int
}

// Canonical returns the text that is digested: the canonical form (I9) of the
// seed's object.
func (s Seed) Canonical() []byte {
	// The members stand in canonical order.
	dst := make([]byte, 0, 256)
	dst = appendString(append(dst, `{"capability":`...), s.Capability)
	dst = appendString(append(dst, `,"connection":`...), s.Connection)
	if s.Counter != 0 {
		dst = appendString(append(dst, `,"counter":`...), strconv.Itoa(s.Counter))
	}
	dst = appendString(append(dst, `,"deployment":`...), s.Deployment)
	dst = appendString(append(dst, `,"key":`...), s.Key)
	dst = appendString(append(dst, `,"purpose":`...), string(s.Purpose))
	dst = appendString(append(dst, `,"workspace":`...), s.Workspace)
	return append(dst, '}')
}

// Derive returns the value for a seed in a format (I13a). Equal arguments give
// equal values, for ever: a ledger restored from an older copy sends the same
// identity again for the same key.
//
// As a UUID it is the digest's first 128 bits with version and variant set.
// In any other alphabet the digest, as a big-endian integer, is divided again
// and again by the alphabet's size, and the remainders in that order are the
// characters; there are f.Length() of them, whatever the seed.
//
// The format must be valid (Validate); for one that is not the answer is "",
// which is no identity and must not be sent.
func Derive(s Seed, f Format) string {
	length := f.Length()
	if length == 0 {
		return ""
	}
	digest := sha256.Sum256(s.Canonical())
	if f.isUUID() {
		version := f.UUIDVersion
		if version == 0 {
			version = DefaultUUIDVersion
		}
		return uuidText([16]byte(digest[:16]), byte(version)) //nolint:gosec // 1 to 8, validated
	}
	letters := f.letters()
	var limbs [4]uint64
	for i := range limbs {
		limbs[i] = binary.BigEndian.Uint64(digest[8*i:])
	}
	text := make([]byte, length)
	for i := range text {
		remainder := uint64(0)
		for j := range limbs {
			limbs[j], remainder = bits.Div64(remainder, limbs[j], uint64(len(letters)))
		}
		text[i] = letters[remainder]
	}
	return string(text)
}

func uuidText(b [16]byte, version byte) string {
	b[6] = b[6]&0x0F | version<<4
	b[8] = b[8]&0x3F | 0x80
	text := make([]byte, 0, uuidLength)
	for i, end := range [...]int{4, 6, 8, 10, 16} {
		start := [...]int{0, 4, 6, 8, 10}[i]
		if i > 0 {
			text = append(text, '-')
		}
		text = hex.AppendEncode(text, b[start:end])
	}
	return string(text)
}
