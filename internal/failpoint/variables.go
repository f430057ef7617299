package failpoint

// Variable names the environment variable that arms one failpoint of a build
// with the tag failpoint, as NAME or NAME@N (the N-th time that it is reached; 1
// is the first); Mark names the one with the file which is written when it fires.
const (
	Variable = "ONEFOLD_FAILPOINT"
	Mark     = "ONEFOLD_FAILPOINT_MARK"
)
