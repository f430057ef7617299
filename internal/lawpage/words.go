package main

import "github.com/onefold-dev/onefold"

// stateWords says what is known in each state, and who moves it on.
var stateWords = map[onefold.State][2]string{
	onefold.Prepared:   {"No effect exists.", "The runner, when the operation is due and nothing holds it."},
	onefold.Attempting: {"An effect may be happening now: one leased attempt is out.", "The holder of the lease."},
	onefold.Uncertain:  {"An effect may exist; perhaps an attempt went silent.", "A look-up, a safe replay, an event; then the review's owner."},
	onefold.Confirmed:  {"The effect exists and its reference is recorded.", "Nobody."},
	onefold.Rejected:   {"No effect exists and none will be tried.", "Nobody."},
	onefold.Canceled:   {"No effect exists; the operation was withdrawn.", "Nobody."},
}

// eventWords says what each event is.
var eventWords = map[onefold.EventKind]string{
	onefold.EventLeased:         "A worker takes the operation for a while.",
	onefold.EventRenewed:        "The holder prolongs its lease.",
	onefold.EventHandedBack:     "The holder gives its lease back without having begun.",
	onefold.EventLeaseExpired:   "The scan found a lease whose time is over, or whose process is gone.",
	onefold.EventBegun:          "The holder begins an attempt; it is durable before the first byte.",
	onefold.EventAnswered:       "What came of an attempt, told by its holder or late.",
	onefold.EventLookedUp:       "What a look-up at the target found.",
	onefold.EventObserved:       "Evidence from elsewhere: an event of the target's, or delivered by hand.",
	onefold.EventAttemptClosed:  "An attempt that went silent is closed.",
	onefold.EventReconsidered:   "What was planned is not possible now; the plan is made anew.",
	onefold.EventCanceled:       "A caller or an operator withdraws the operation.",
	onefold.EventDeadlinePassed: "The start deadline passed.",
	onefold.EventHoldPlaced:     "A reason to wait is added.",
	onefold.EventHoldDecided:    "A person releases a hold, or declines the operation under it.",
	onefold.EventRetryAsked:     "An operator asks for the due attempt or a safe replay now.",
	onefold.EventResolved:       "An operator decides an uncertain or contradicted operation.",
	onefold.EventAssigned:       "A review is handed to another owner.",
	onefold.EventEscalated:      "A review stayed open too long; a second person is named.",
	onefold.EventAgreedTimeOver: "The target has not finished what it accepted in the agreed time.",
	onefold.EventRecovered:      "The store was recovered after a restore.",
}

// barWords says what each bar means, and what lifts it.
var barWords = map[onefold.Bar][2]string{
	onefold.BarEffectExists:    {"The effect is known to exist, but not what it is.", "nothing"},
	onefold.BarDiffers:         {"What the target holds differs from what was approved.", "an operator's decision"},
	onefold.BarMultipleEffects: {"The target holds several records under one identity.", "nothing"},
	onefold.BarKeyConflict:     {"The target saw the identity with another request.", "an operator's decision"},
	onefold.BarWithdrawn:       {"The operation was withdrawn after an attempt had begun.", "nothing"},
	onefold.BarPastDeadline:    {"The start deadline passed after an attempt had begun.", "nothing"},
	onefold.BarRestored:        {"The store was restored from a copy.", "proven absence, or an operator's decision"},
}

// holdWords says what each hold waits for.
var holdWords = map[onefold.HoldReason]string{
	onefold.HoldApproval:              "A person's approval, because of the connection's mode or the contract.",
	onefold.HoldSuspectedDuplicate:    "A decision: another operation has the same business identity.",
	onefold.HoldSameNumberOtherPeriod: "A decision: the same number was used in another period.",
	onefold.HoldIdentityIncomplete:    "A decision: the business identity lacks a field.",
	onefold.HoldAmendment:             "The operation that this one amends.",
	onefold.HoldRetryExhausted:        "A person: the retry budget is spent, or the request cannot be sent.",
	onefold.HoldAwaitingPayload:       "The payload, which was not retained.",
	onefold.HoldRecovery:              "A person, after a restore.",
}
