package failpoint

// Variable names the environment variable that arms failpoints of a build with
// the tag failpoint: a comma-separated list of PLACE, PLACE@N or PLACE@N=ACTION.
// PLACE is before-NAME or after-NAME; N is the how-manieth time that it is
// reached (1 if left out); ACTION is kill (if left out: SIGKILL), stop (SIGSTOP),
// panic, or hold: who reached the place goes no further until the file that Go
// names is there, while everybody else does.
//
// Mark names the variable with the file to which a line with PLACE is appended
// when it fires. Trace names the one with the file to which Note appends. Wall
// names the one with the file whose text, a duration such as -24h, is how wrong
// the wall clock of the process is; it is read again each time.
const (
	Variable = "ONEFOLD_FAILPOINT"
	Mark     = "ONEFOLD_FAILPOINT_MARK"
	Go       = "ONEFOLD_FAILPOINT_GO"
	Trace    = "ONEFOLD_FAILPOINT_TRACE"
	Wall     = "ONEFOLD_FAILPOINT_WALL"
)

// The names of places that are no event of the law: events give theirs.
const (
	// Claimed is the look-up of a claim, before anything else is checked.
	Claimed = "claimed"
	// Frozen is the building of the outgoing request.
	Frozen = "frozen"
	// FirstByte is the handing over of a write's first byte: before it the attempt
	// was allowed to start, and nothing but the write itself comes after it. It has
	// no after.
	FirstByte = "first_byte"
	// Sent is one exchange with a target, a write or a look-up.
	Sent = "sent"
	// Committed is one commit of a store.
	Committed = "committed"
	// Taken is the record that a runner has got its place; LeaseEnded and
	// AttemptEnded are what it ends of an earlier one whose process is gone.
	Taken        = "taken"
	LeaseEnded   = "lease_ended"
	AttemptEnded = "attempt_ended"
)
