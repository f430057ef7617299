package runner

import (
	"context"

	"github.com/onefold-dev/onefold"
)

// carrierOf chooses who carries requests under the given terms: the transport,
// or the Go functions that were registered for the target; nil where there are
// none.
func (r *Runner) carrierOf(t onefold.Terms) onefold.Carrier {
	if t.Protocol != onefold.ProtocolGo {
		return r.carrier
	}
	steps, known := r.cfg.Targets[t.Target]
	if !known {
		return nil
	}
	return r.ledger.CarrierOf(steps)
}

// carries tells whether this runner carries a connection's requests. Operations
// of a Go target for which it has no functions are left to the program that has
// them.
func (r *Runner) carries(c onefold.ConnectionRef) bool {
	target, byGo := r.ledger.Contracts().GoTarget(c)
	if !byGo {
		return r.carrier != nil
	}
	_, known := r.cfg.Targets[target]
	return known
}

// carry leases one operation and carries it one step on. A refusal of the lease
// is another worker's, a hold's or a decision's, and no news; store_unavailable
// is.
func (r *Runner) carry(ctx context.Context, item onefold.DueItem, withdrawn func() bool) error {
	return r.worker.Carry(ctx, item.ID, withdrawn)
}
