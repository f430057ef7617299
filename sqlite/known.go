package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"hash/maphash"
	"strconv"
	"strings"
	"sync/atomic"
)

// maxKnown bounds the operations that are kept as this process last saw them: more
// than are under way at once, so that whoever waits for one, or is about to send
// it, reads and decodes nothing. An entry is about 4 KiB.
const maxKnown = 1 << 12

// known keeps operations by their ids as a committed step of this process left
// them, one for each place: a newer one takes the place of an older. What it says
// was true once; who uses it asks whether the file still says the same. It is safe
// for concurrent use.
type known struct {
	seed   maphash.Seed
	places [maxKnown]atomic.Pointer[held]
}

func (k *known) place(id string) *atomic.Pointer[held] {
	return &k.places[maphash.String(k.seed, id)%maxKnown]
}

// keep keeps what committed steps changed.
func (k *known) keep(changed []*held) {
	for _, h := range changed {
		k.place(h.op.ID).Store(h)
	}
}

// find gives what was kept, nil for nothing.
func (k *known) find(id string) *held {
	if k == nil {
		return nil // an inspection, which writes nothing
	}
	h := k.place(id).Load()
	if h == nil || h.op.ID != id {
		return nil
	}
	return h
}

// same tells whether an operation's standing in the file is the one that is kept:
// compared as it is written, since other processes write as well.
func (s *Store) same(ctx context.Context, h *held) (bool, error) {
	document, err := s.standings.ask(ctx, h.num)
	return err == nil && document == h.document, err
}

// lookStandings reads the standings of many operations, wherever they lie.
func (s *Store) lookStandings(batch []*asked[int64, string]) (err error) {
	ctx := context.Background() // it is many callers' statement, and a short one
	stmt, err := s.readers.statement(ctx, "standing.known")
	if err != nil {
		return err
	}
	var numbers strings.Builder
	for i, a := range batch {
		numbers.WriteByte(",["[flag(i == 0)])
		numbers.WriteString(strconv.FormatInt(a.key, 10))
	}
	numbers.WriteByte(']')
	rows, err := stmt.QueryContext(ctx, numbers.String())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	found := make(map[int64]string, len(batch))
	for rows.Next() {
		num, document := int64(0), sql.RawBytes(nil)
		if err := rows.Scan(&num, &document); err != nil {
			return err
		}
		if _, twice := found[num]; twice {
			document = nil // it is like nothing that is kept, and is found out when it is read
		}
		found[num] = string(document)
	}
	for _, a := range batch {
		a.answer = found[a.key]
	}
	return rows.Err()
}
