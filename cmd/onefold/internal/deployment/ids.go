package deployment

import "github.com/onefold-dev/onefold/internal/ids"

// IDs makes identifiers from the machine's chance. The zero value works and is
// safe for concurrent use.
type IDs = ids.Random
