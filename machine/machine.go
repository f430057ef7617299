package machine

import (
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/bootclock"
	"github.com/onefold-dev/onefold/internal/ids"
)

// Boot is a monotonic clock that also counts suspended time where the system has
// one (M9): onefold.Config.Boot and runner.Config.Boot. Only the difference of two
// of its readings in one process means anything.
func Boot() time.Duration { return bootclock.Now() }

// IDs makes identifiers from the machine's random source: TypeIDs over UUIDv7. It
// is safe for concurrent use.
func IDs() onefold.IDs { return ids.Random{} }
