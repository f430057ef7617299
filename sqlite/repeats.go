package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
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

// claimState is what a look at a claim says: whether it is held, by which
// operation, and that one's version if it is finished, -1 if it is live.
type claimState struct {
	held         bool
	num, version int64
}

// is tells whether an operation that was finished is as it was read: a finished
// operation changes with its version, whichever process writes.
func (c claimState) is(h *held) bool { return c.num == h.num && c.version == h.op.Version }

// lookClaims looks many claims up.
func (s *Store) lookClaims(batch []*asked[[16]byte, claimState]) (err error) {
	ctx := context.Background() // it is many callers' statement, and a short one
	stmt, err := s.readers.statement(ctx, "claim.known")
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(ctx, hexOf(batch))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	found := make(map[[16]byte]claimState, len(batch))
	for rows.Next() {
		digest, state := sql.RawBytes(nil), claimState{held: true}
		if err := rows.Scan(&digest, &state.num, &state.version); err != nil {
			return err
		}
		if len(digest) != 16 {
			return fmt.Errorf("a claim has a digest of %d bytes", len(digest))
		}
		found[[16]byte(digest)] = state
	}
	for _, a := range batch {
		a.answer = found[a.key]
	}
	return rows.Err()
}

// hexOf writes a JSON array of hex texts.
func hexOf(batch []*asked[[16]byte, claimState]) string {
	var b strings.Builder
	b.Grow(len(batch)*(2*len(batch[0].key)+len(`"",`)) + len(`[]`))
	for i, a := range batch {
		b.WriteString([2]string{`","`, `["`}[int(flag(i == 0))])
		b.WriteString(hex.EncodeToString(a.key[:]))
	}
	b.WriteString(`"]`)
	return b.String()
}
