package sqlite

import (
	"database/sql"
	"errors"

	"github.com/onefold-dev/onefold"
)

// maxShared bounds how many operations with one target reference are looked at for
// one of the same connection and capability. Connections number their records
// alike, so that a reference may be on record many times; a step must not wait for
// all of them to be read.
const maxShared = 4096

// recorded tells which of the references that an event gives to weigh another
// operation of the same connection and capability has recorded as its result
// (M18). A connection is one workspace's, so that no other's operations are seen.
func (s *session) recorded(h *held, ev *onefold.Event) (map[string]string, error) {
	var found map[string]string
	for _, reference := range ev.References(&h.op) {
		id := ""
		err := s.row("result.recorded", []any{reference, h.num, h.connection, h.op.Capability, int64(maxShared)}, &id)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if found == nil {
			found = map[string]string{}
		}
		found[reference] = id
	}
	return found, nil
}
