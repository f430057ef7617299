package sqlite

import (
	"context"
	"math"

	"github.com/onefold-dev/onefold"
)

// requestPage is how many requests an inspection has in memory at once: each has at
// most 1 MiB.
const requestPage = 50

// Sequence is the counter of sequence numbers, and what was written under them.
type Sequence struct {
	// Counter is the last number that was given, by the counter; -1 where it has no
	// row. Written is the greatest that a row carries. They are equal: each number is
	// written in the transaction that gives it.
	Counter, Written int64
}

// Sequence reads the counter and the greatest number in use, at one moment.
func (i *Inspection) Sequence(ctx context.Context) (s Sequence, err error) {
	err = i.reader.row(ctx, "timeline.last", nil, &s.Counter, &s.Written)
	return s, i.reader.failure("read the sequence", err)
}

// EachRequest shows, from the newest operation on, each approved request as it is
// stored, with its fingerprint and what else that was made of. When ctx is over it
// returns how far it came; All tells nothing of operations without a request.
func (i *Inspection) EachRequest(ctx context.Context, visit func(op *onefold.Operation, request []byte)) (s Searched, err error) {
	type stored struct {
		num     int64
		op      onefold.Operation
		request []byte
	}
	scan := func(row scanner) (r stored, err error) {
		a := &r.op.Admitted
		err = row.Scan(&r.num, &a.ID, &a.Workspace, &a.Capability, &a.ContractVersion, &a.Target, &a.TargetVersion, &a.Connection,
			&a.Fingerprint, &a.FingerprintKey, &r.request)
		return r, err
	}
	for before := int64(math.MaxInt64); ; {
		page, err := collect(ctx, i.reader, "health.requests", scan, before, requestPage)
		if err != nil {
			if ctx.Err() != nil {
				return s, nil //nolint:nilerr // the time was over: what was seen is the answer, and All is false
			}
			return s, i.reader.failure("read the requests", err)
		}
		for n := range page {
			if ctx.Err() != nil {
				return s, nil //nolint:nilerr // as above
			}
			visit(&page[n].op, page[n].request)
			before = page[n].num
			s.Seen++
		}
		if len(page) < requestPage {
			s.All = true
			return s, nil
		}
	}
}
