package runner

import (
	"context"
	"time"
)

// perScan bounds how many operations one scan looks after; the next one takes
// the rest.
const perScan = 256

// housekeep looks after what time alone changes: expired leases, silent
// attempts, passed start deadlines, agreed times that are over, reviews that
// nobody took up. Expiry is found
// by scanning states (M10).
func (r *Runner) housekeep(ctx context.Context) {
	ticker := time.NewTicker(r.cfg.Scan)
	defer ticker.Stop()
	for {
		r.scan(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (r *Runner) scan(ctx context.Context) {
	now, err := r.store.Now(ctx)
	if err != nil {
		r.trouble(ctx, "the store's time cannot be had", err)
		return
	}
	overdue, err := r.store.Overdue(ctx, now, perScan)
	if err != nil {
		r.trouble(ctx, "overdue operations cannot be listed", err)
		return
	}
	for i := range overdue {
		if ctx.Err() != nil {
			return
		}
		r.worker.Tend(ctx, overdue[i], now)
	}
}
