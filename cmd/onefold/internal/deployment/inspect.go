package deployment

import (
	"context"
	"fmt"

	"github.com/onefold-dev/onefold/sqlite"
)

// Inspect opens the database for a look that changes nothing. A database that
// is missing is refused, naming the command that makes it.
func (a Access) Inspect(ctx context.Context) (*sqlite.Inspection, error) {
	if err := a.exists(); err != nil {
		return nil, err
	}
	i, err := sqlite.Inspect(ctx, a.options(false))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", a.Database, err)
	}
	return i, nil
}
