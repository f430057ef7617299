package identity

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"slices"
	"strconv"
	"sync"
)

const (
	// RuleSetVersion is the version of the canonical form and the comparison
	// rules. It is part of every fingerprint and stored beside it (I8).
	RuleSetVersion = "v1"
	// fingerprintPrefix marks how a fingerprint was made.
	fingerprintPrefix = "v1:"
	// FingerprintLength is the length of a fingerprint's text.
	FingerprintLength = len(fingerprintPrefix) + 2*sha256.Size
	// keptBuffer is up to which size a buffer is kept for the next fingerprint:
	// a rare large request shall not hold its memory for ever.
	keptBuffer = 64 << 10
)

// Intent is what a fingerprint covers (I8). Request is the normalized request
// (Rules.Normalize), not the one submitted.
type Intent struct {
	Workspace, Capability string
	ContractVersion       int
	Connection            string
	Request               *Value
}

// Canonical returns the text that is digested (I8): the canonical form of the
// object of capability, connection, contract_version, request, rules and
// workspace.
func (in Intent) Canonical() []byte { return in.appendTo(&canonicalWriter{}) }

func (in Intent) appendTo(w *canonicalWriter) []byte {
	// The members stand in canonical order.
	w.dst = appendString(append(w.dst, `{"capability":`...), in.Capability)
	w.dst = appendString(append(w.dst, `,"connection":`...), in.Connection)
	w.dst = strconv.AppendInt(append(w.dst, `,"contract_version":`...), int64(in.ContractVersion), 10)
	w.dst = append(w.dst, `,"request":`...)
	w.value(in.Request)
	w.dst = appendString(append(w.dst, `,"rules":`...), RuleSetVersion)
	w.dst = appendString(append(w.dst, `,"workspace":`...), in.Workspace)
	w.dst = append(w.dst, '}')
	return w.dst
}

// Fingerprint returns the fingerprint of an intent under a secret (I8): "v1:"
// and the 64 lower-case hexadecimal digits of HMAC-SHA-256. Who makes many
// uses Keyed.
func Fingerprint(secret []byte, in Intent) string { return NewKeyed(secret).Fingerprint(in) }

// KeyCheck returns a value by which a secret can be recognised (I8), to be
// stored where the secret must not be: "v1:" and 32 hexadecimal digits, made by
// HMAC-SHA-256 from the secret over a text that no intent can be. It gives away
// nothing of a secret with enough entropy; a guessable one it lets be guessed,
// as every fingerprint under it does.
func KeyCheck(secret []byte) string { return NewKeyed(secret).Check() }

// Keyed makes fingerprints under one secret and keeps its hashes and buffers
// between calls. Only NewKeyed makes one; it is safe for concurrent use.
type Keyed struct {
	secret []byte
	pool   sync.Pool // of *keyedWork
}

// keyedWork is what one fingerprint needs while it is made.
type keyedWork struct {
	mac    hash.Hash
	writer canonicalWriter
	sum    [sha256.Size]byte
	text   [FingerprintLength]byte
}

// NewKeyed takes a copy of the secret: its bytes as resolved, a file's trailing
// newline already removed (I8). Any length is accepted; whether it is long
// enough is for the configuration to say.
func NewKeyed(secret []byte) *Keyed { return &Keyed{secret: slices.Clone(secret)} }

func (k *Keyed) take() *keyedWork {
	if work, ok := k.pool.Get().(*keyedWork); ok {
		work.mac.Reset()
		work.writer.dst, work.writer.order = work.writer.dst[:0], work.writer.order[:0]
		return work
	}
	return &keyedWork{mac: hmac.New(sha256.New, k.secret)}
}

func (k *Keyed) giveBack(work *keyedWork) {
	if cap(work.writer.dst) <= keptBuffer && cap(work.writer.order) <= keptBuffer {
		k.pool.Put(work)
	}
}

// Fingerprint returns the same text as the function Fingerprint does for the
// secret (I8).
func (k *Keyed) Fingerprint(in Intent) string {
	work := k.take()
	defer k.giveBack(work)
	// A hash never fails to take what is written to it.
	_, _ = work.mac.Write(in.appendTo(&work.writer))
	text := append(work.text[:0], fingerprintPrefix...)
	return string(hex.AppendEncode(text, work.mac.Sum(work.sum[:0])))
}

// Check returns the same text as KeyCheck does for the secret (I8).
func (k *Keyed) Check() string {
	work := k.take()
	defer k.giveBack(work)
	// An intent's text begins with a brace.
	_, _ = work.mac.Write([]byte("onefold key check v1"))
	text := append(work.text[:0], fingerprintPrefix...)
	return string(hex.AppendEncode(text, work.mac.Sum(work.sum[:0])[:sha256.Size/2]))
}
