package onefold

import (
	"math"
	"time"
)

// Backoff is a growing wait: First × Factor^n, at most Max, with jitter.
type Backoff struct {
	First  time.Duration
	Factor float64 // at least 1
	Max    time.Duration
}

// jitterShare is how much of a wait is drawn by chance: a quarter spreads a
// herd and still keeps the documented order of magnitude.
const jitterShare = 0.25

// Wait returns the wait before try n (0 is the first repetition). chance is any
// number; it decides the jitter, so that the same chance gives the same wait.
func (b Backoff) Wait(n int, chance uint64) time.Duration {
	factor := math.Max(1, b.Factor)
	wait := float64(b.First) * math.Pow(factor, float64(max(0, n)))
	if top := float64(b.Max); b.Max > 0 && !(wait < top) {
		wait = top
	}
	wait = math.Min(wait, float64(math.MaxInt64/2))
	share := float64(chance%1024) / 1024 * jitterShare
	return time.Duration(wait * (1 - share))
}

// Exhausted is what happens to a prepared operation whose retry budget is spent.
type Exhausted string

// The ways to end a spent retry budget.
const (
	ExhaustedHold   Exhausted = "hold"
	ExhaustedReject Exhausted = "reject"
)

// RecoveryStep is one word of a contract's in_doubt list.
type RecoveryStep string

// The steps that in_doubt may name.
const (
	StepReplay   RecoveryStep = "replay"
	StepLookup   RecoveryStep = "lookup"
	StepOperator RecoveryStep = "operator"
	// StepPoll is no word of in_doubt: it comes first in the plan of a contract
	// that says how accepted work is asked for progress.
	StepPoll RecoveryStep = "poll"
)

// Forever is the Window of a target that recognises an identity without end.
const Forever time.Duration = math.MaxInt64

// Policy is what the pinned contract says about time, budgets and recovery: all
// that the law needs to know of it. Durations of zero are zero, not defaults;
// the contract package fills the defaults in.
type Policy struct {
	RetryAttempts int // writes and replays together
	RetryWithin   time.Duration
	RetryBackoff  Backoff
	Exhausted     Exhausted

	ReconcileWithin  time.Duration
	ReconcileBackoff Backoff
	EscalateAfter    time.Duration // 0: nobody is named
	EscalateTo       string
	Owner            string // the connection's owner now

	// PollEvery and PollWithin are how a target that accepts for later is asked for
	// progress, and for how long that is agreed; zero where the contract agrees on
	// nothing.
	PollEvery, PollWithin time.Duration

	// InDoubt is the contract's list, tried in order.
	InDoubt []RecoveryStep
	// Timeout is the write's whole time-out.
	Timeout time.Duration
	// Settle and Processing count from the end of every attempt (M12).
	Settle, Processing time.Duration
	// AbsenceProves tells that an absent look-up may prove absence.
	AbsenceProves bool
	// Lookups is how many look-ups by an own value the contract has, which take turns:
	// absence is proven once each of them has said so. 0 counts as one.
	Lookups int
	// Straggler is when an open attempt is closed (M12a); never less than Timeout.
	Straggler time.Duration

	// Replay terms (M11a). Window is 0 where the target recognises nothing.
	Window       time.Duration
	WindowMargin time.Duration // one time-out plus clock error
	// ConcurrentSafe: the target serializes or reports concurrent repeats.
	ConcurrentSafe bool

	// SharedReferences: the contract says that several operations may have one record
	// at the target, so that its direct word confirms although another operation has
	// recorded the same reference (M18).
	SharedReferences bool
}

// ConnectionStanding is a connection's run-time state, kept by the store.
type ConnectionStanding struct {
	Paused   bool
	Disabled bool
	// PausedFor is all time that the connection was ever paused, up to now.
	PausedFor time.Duration
}
