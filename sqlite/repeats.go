package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	// maxRepeats bounds the finished operations that are kept for repeats of their
	// keys: callers repeat what they submitted lately. An entry is about 3 KiB.
	maxRepeats = 1 << 10
	// maxAsked bounds the claims that one statement looks up: above it nothing is
	// saved any more, and the first of them would wait for the last.
	maxAsked = 256
)

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

// claims looks claims up, many with one statement: while one runs, those who ask
// gather for the next, as steps do at the writer. Each answer is younger than its
// question. It is safe for concurrent use.
type claims struct {
	readers *reader

	mu      sync.Mutex
	waiting []*claimAsked
	reading bool
}

type claimAsked struct {
	digest []byte
	state  claimState
	err    error
	done   chan struct{}
}

// ask looks one claim up.
func (c *claims) ask(ctx context.Context, digest []byte) (claimState, error) {
	if err := ctx.Err(); err != nil {
		return claimState{}, err
	}
	a := &claimAsked{digest: digest, done: make(chan struct{})}
	c.mu.Lock()
	c.waiting = append(c.waiting, a)
	idle := !c.reading
	c.reading = true
	c.mu.Unlock()
	if idle {
		go c.read()
	}
	select {
	case <-a.done:
		return a.state, a.err
	case <-ctx.Done():
		return claimState{}, ctx.Err()
	}
}

// read answers until nobody waits.
func (c *claims) read() {
	for {
		// Whoever is about to ask asks first: a statement for two costs little more
		// than one for one.
		runtime.Gosched()
		c.mu.Lock()
		n := min(len(c.waiting), maxAsked)
		batch := c.waiting[:n:n]
		c.waiting = c.waiting[n:]
		c.reading = n > 0
		c.mu.Unlock()
		if n == 0 {
			return
		}
		err := c.look(batch)
		for _, a := range batch {
			a.err = err
			close(a.done)
		}
	}
}

func (c *claims) look(batch []*claimAsked) (err error) {
	ctx := context.Background() // it is many callers' statement, and a short one
	stmt, err := c.readers.cache.get(ctx, c.readers.queries, "claim.known")
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(ctx, digestsOf(batch))
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
		a.state = found[[16]byte(a.digest)]
	}
	return rows.Err()
}

// digestsOf writes a JSON array of hex texts.
func digestsOf(batch []*claimAsked) string {
	var b strings.Builder
	b.Grow(len(batch)*(2*len(batch[0].digest)+len(`"",`)) + len(`[]`))
	for i, a := range batch {
		b.WriteString([2]string{`","`, `["`}[int(flag(i == 0))])
		b.WriteString(hex.EncodeToString(a.digest))
	}
	b.WriteString(`"]`)
	return b.String()
}
