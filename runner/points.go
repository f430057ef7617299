package runner

import "github.com/onefold-dev/onefold/internal/failpoint"

// The named places at which a crash test may end the process.
const (
	afterAdmission = "after-admission"
	afterLease     = "after-lease"
	afterBegin     = "after-begin"
	afterAnswer    = "after-answer"
	afterOutcome   = "after-outcome"
)

func pointAdmitted() { failpoint.Point(afterAdmission) }
func pointLeased()   { failpoint.Point(afterLease) }
func pointBegun()    { failpoint.Point(afterBegin) }
func pointAnswered() { failpoint.Point(afterAnswer) }
func pointRecorded() { failpoint.Point(afterOutcome) }
