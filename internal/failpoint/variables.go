package failpoint

// Variable names the environment variable that arms failpoints of a build with
// the tag failpoint: a comma-separated list of PLACE, PLACE@N or PLACE@N=ACTION.
// PLACE is before-NAME or after-NAME; N is the how-manieth time that it is
// reached (1 if left out); ACTION is kill (if left out: SIGKILL), stop (SIGSTOP)
// or panic. Mark names the variable with the file to which a line with PLACE is
// appended when it fires.
const (
	Variable = "ONEFOLD_FAILPOINT"
	Mark     = "ONEFOLD_FAILPOINT_MARK"
)

// The names of places that are no event of the law: events give theirs.
const (
	// Sent is one exchange with a target, a write or a look-up.
	Sent = "sent"
	// Committed is one commit of a store.
	Committed = "committed"
)
