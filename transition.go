package onefold

import "time"

// Transition is one row of the law: in one of the states From, on the event On,
// if the condition When holds, the operation goes to To ("" means that it
// stays) and Does happens; or the event is refused with the code Refusal and
// changes nothing. Of the rows for a state and an event the first whose
// condition holds decides; where none does, the event is refused as
// not_allowed. Transitions lists all rows; the documentation's table, its
// diagram and the exhaustive tests are made from it.
type Transition struct {
	ID      string
	From    []State
	On      EventKind
	When    string // "" means always
	To      State
	Does    string
	Refusal Code
	// Quiet rows are no change of fact: they do not raise the version unless they
	// open a review. Rows that are Silent as well leave no line on the timeline
	// (leases).
	Quiet, Silent bool
	Rules         string // rules of the specification that the row carries out

	guard func(*step) bool
	act   func(*step)
}

// Apply is the law: what follows from an event. It is pure: no clock, no
// input or output, no chance. It returns the operation as it then is and what
// else has to be stored in the same transaction, or a refusal (*Error), with
// which nothing has changed. The given operation is not modified. An event
// without the payload that its kind needs is refused as internal.
func Apply(op Operation, ev Event, now time.Time) (Operation, []Effect, error) {
	if !ev.whole() {
		return op, nil, refuse(CodeInternal, "an event "+string(ev.Kind)+" without its payload")
	}
	s := &step{op: op.Clone(), ev: &ev, now: now, from: op.State}
	row := s.row()
	if row == nil {
		return op, nil, refuse(CodeNotAllowed, "a "+string(op.State)+" operation does not take "+string(ev.Kind))
	}
	if row.Refusal != "" {
		return op, nil, s.refusal(row)
	}
	s.rule = row
	if row.To != "" && row.To != op.State {
		s.move(row.To)
	}
	s.missingOver()
	if row.act != nil {
		row.act(s)
	}
	s.finish()
	if broken := s.op.Broken(); broken != "" {
		return op, nil, refuse(CodeInternal, "transition "+row.ID+" would break an invariant: "+broken)
	}
	return s.op, s.effects, nil
}

func (s *step) row() *Transition {
	for _, row := range law[lawKey{s.op.State, s.ev.Kind}] {
		if row.guard == nil || row.guard(s) {
			return row
		}
	}
	return nil
}

type lawKey struct {
	state State
	event EventKind
}

// law is the table by state and event, made once from Transitions.
var law = func() map[lawKey][]*Transition {
	byKey := map[lawKey][]*Transition{}
	for _, row := range Transitions() {
		for _, from := range row.From {
			k := lawKey{from, row.On}
			byKey[k] = append(byKey[k], &row)
		}
	}
	return byKey
}()

var (
	inPrepared   = []State{Prepared}
	inAttempting = []State{Attempting}
	inUncertain  = []State{Uncertain}
	inDoubtful   = []State{Attempting, Uncertain}
	inOpen       = []State{Prepared, Attempting, Uncertain}
	inSettled    = []State{Confirmed, Rejected, Canceled}
	inAny        = []State{Prepared, Attempting, Uncertain, Confirmed, Rejected, Canceled}
)

// Transitions lists the law, row by row, in the order in which it is tried.
func Transitions() []Transition {
	var rows []Transition
	for _, part := range [][]Transition{
		leaseRows(), beginRows(), answerRows(), lateAnswerRows(), lookupRows(), observationRows(),
		closingRows(), planRows(), withdrawalRows(), holdRows(), operatorRows(), settledRows(),
	} {
		rows = append(rows, part...)
	}
	return rows
}

func leaseRows() []Transition {
	return []Transition{
		{ID: "lease/leased", From: inOpen, On: EventLeased, When: "a live lease stands", Refusal: CodeLeased, Rules: "M7", guard: (*step).leaseLive},
		{ID: "lease/attempting", From: inAttempting, On: EventLeased, Refusal: CodeLeased, Rules: "M7 M10"},
		{ID: "lease/held", From: inPrepared, On: EventLeased, When: "held", Refusal: CodeHeld, guard: (*step).held},
		{ID: "lease/not-due", From: inOpen, On: EventLeased, When: "not due", Refusal: CodeNotDue, guard: (*step).notDue},
		{ID: "lease/prepared", From: inPrepared, On: EventLeased, Quiet: true, Silent: true, Does: "leased; nothing may be sent yet", Rules: "M7 M8", act: (*step).lease},
		{ID: "lease/uncertain", From: inUncertain, On: EventLeased, Quiet: true, Silent: true, Does: "leased to look up, poll or replay", Rules: "M7 M8", act: (*step).lease},
		{ID: "renew/holder", From: inOpen, On: EventRenewed, When: "the token is the lease's", Quiet: true, Silent: true, Does: "the lease is prolonged", Rules: "M9", guard: (*step).holds, act: (*step).renew},
		{ID: "renew/lost", From: inOpen, On: EventRenewed, Refusal: CodeLeaseLost, Rules: "M8"},
		{ID: "back/holder", From: []State{Prepared, Uncertain}, On: EventHandedBack, When: "the token is the lease's", Quiet: true, Silent: true, Does: "unleased, due as before", guard: (*step).holds, act: (*step).unlease},
		{ID: "back/lost", From: inOpen, On: EventHandedBack, Refusal: CodeLeaseLost, Rules: "M8"},
		{ID: "expiry/not-yet", From: inOpen, On: EventLeaseExpired, When: "no lease stands whose time is over or whose process is gone", Refusal: CodeNotDue, guard: (*step).leaseNotOver},
		{ID: "expiry/prepared", From: inPrepared, On: EventLeaseExpired, Quiet: true, Silent: true, Does: "unleased: nothing had begun", Rules: "M10", act: (*step).unlease},
		{ID: "expiry/attempting", From: inAttempting, On: EventLeaseExpired, To: Uncertain, Does: "the attempt is open; doubt lease_expired", Rules: "M10 M12a", act: (*step).expireAttempt},
		{ID: "expiry/uncertain", From: inUncertain, On: EventLeaseExpired, Quiet: true, Silent: true, Does: "unleased", act: (*step).unlease},
	}
}

func beginRows() []Transition {
	return []Transition{
		{ID: "begin/settled", From: inSettled, On: EventBegun, Refusal: CodeAlreadySettled, Rules: "M19a"},
		{ID: "begin/attempting", From: inAttempting, On: EventBegun, Refusal: CodeNotAllowed, Rules: "M7"},
		{ID: "begin/lease-lost", From: []State{Prepared, Uncertain}, On: EventBegun, When: "the token is not a live lease's", Refusal: CodeLeaseLost, Rules: "M7 M8", guard: (*step).notLiveHolder},
		{ID: "begin/held", From: []State{Prepared, Uncertain}, On: EventBegun, When: "held", Refusal: CodeHeld, guard: (*step).held},
		{ID: "begin/barred", From: []State{Prepared, Uncertain}, On: EventBegun, When: "barred", Refusal: CodeBarred, Rules: "M11c", guard: (*step).barred},
		{ID: "begin/paused", From: []State{Prepared, Uncertain}, On: EventBegun, When: "the connection is paused or disabled", Refusal: CodePaused, guard: (*step).connectionClosed},
		{ID: "begin/too-early", From: inPrepared, On: EventBegun, When: "before not_before", Refusal: CodeNotDue, guard: (*step).beforeStart},
		{ID: "begin/too-late", From: []State{Prepared, Uncertain}, On: EventBegun, When: "start_deadline passed", Refusal: CodeDeadlinePast, Rules: "M24", guard: (*step).pastDeadline},
		{ID: "begin/other-request", From: []State{Prepared, Uncertain}, On: EventBegun, When: "the frozen request is not the pinned one", Refusal: CodeNotAllowed, Rules: "M2a", guard: (*step).otherFrozen},
		{ID: "begin/spent", From: inPrepared, On: EventBegun, When: "the retry budget is spent", Refusal: CodeNotAllowed, guard: (*step).budgetGone},
		{ID: "begin/write", From: inPrepared, On: EventBegun, When: "a write", To: Attempting, Does: "the attempt is begun and the request pinned", Rules: "M1 M2a M4 M7", guard: (*step).isWrite, act: (*step).begin},
		{ID: "begin/replay-unsafe", From: inUncertain, On: EventBegun, When: "a replay is not safe", Refusal: CodeReplay, Rules: "M11 M11a", guard: (*step).replayUnsafe},
		{ID: "begin/replay", From: inUncertain, On: EventBegun, When: "a safe replay", To: Attempting, Does: "the replay is begun", Rules: "M11a", guard: (*step).isReplay, act: (*step).begin},
	}
}

func answerRows() []Transition {
	rows := []Transition{
		{ID: "answer/differs", When: "the answer differs from the intent", To: Uncertain, Does: "barred differs; review", Rules: "M15", guard: (*step).answerDiffers, act: (*step).endDiffers},
		{ID: "answer/key-conflict", When: "the target reports the identity used with another request", To: Uncertain, Does: "barred key_conflict; review", guard: (*step).answerKeyConflict, act: (*step).endKeyConflict},
		{ID: "answer/multiple", When: "another reference is known than the answered one, be it of an effect or of a record that exists", To: Uncertain, Does: "barred multiple_effects; review", Rules: "M15", guard: (*step).answerOtherReference, act: (*step).endMultiple},
		{ID: "answer/blocked", When: "an effect, and barred differs, key_conflict or multiple_effects", To: Uncertain, Does: "barred effect_exists; evidence for the review", Rules: "M11c M15", guard: (*step).answerEffectBlocked, act: (*step).endEffectExists},
		{ID: "answer/confirmed", When: "confirmed, with reference, and agrees; no other operation has recorded it, or it may be shared", To: Confirmed, Does: "the result is recorded", Rules: "M3 M18", guard: (*step).answerConfirms, act: (*step).endConfirmed},
		{ID: "answer/taken", When: "an effect whose reference another operation has recorded, and that may not be shared", To: Uncertain, Does: "barred effect_exists; review exists_elsewhere, which names that operation", Rules: "M3 M18", guard: (*step).answerTaken, act: (*step).endTaken},
		{ID: "answer/known-elsewhere", When: "barred effect_exists with one known reference, no other answered, and no other operation has recorded it", To: Confirmed, Does: "the reference known from elsewhere is recorded", guard: (*step).knownElsewhere, act: (*step).endKnownElsewhere},
		{ID: "answer/known-taken", When: "barred effect_exists with one known reference, which another operation has recorded", To: Uncertain, Does: "review exists_elsewhere", Rules: "M18", guard: (*step).knownTaken, act: (*step).endKnownTaken},
		{ID: "answer/unreadable", When: "an effect, but its reference cannot be read", To: Uncertain, Does: "barred effect_exists", guard: (*step).answerAnyEffect, act: (*step).endEffectExists},
		{ID: "answer/exists-taken", When: "exists, as a record that another operation has recorded", To: Uncertain, Does: "doubt exists; review exists_elsewhere", Rules: "M11b M18", guard: (*step).existsTaken, act: (*step).endExistsTaken},
		{ID: "answer/exists-elsewhere", When: "exists, though the attempt is clean and the identity not our own", To: Uncertain, Does: "review exists_elsewhere", Rules: "M11b", guard: (*step).existsElsewhere, act: (*step).endExistsElsewhere},
		{ID: "answer/exists", When: "exists", To: Uncertain, Does: "doubt exists; looked up", Rules: "M11b", guard: (*step).answerExists, act: (*step).endUncertain},
		{ID: "answer/accepted", When: "accepted for later work", To: Uncertain, Does: "doubt accepted; polled where the contract says how", Rules: "M16a", guard: outcomeIs(OutcomeAccepted), act: (*step).endAccepted},
		{ID: "answer/in-progress", When: "the same identity is in progress", To: Uncertain, Does: "doubt in_progress; waited out", Rules: "M11b", guard: outcomeIs(OutcomeInProgress), act: (*step).endUncertain},
		{ID: "answer/rejected", When: "refused for good; clean; not barred beyond withdrawn and past_deadline", To: Rejected, Does: "the refusal is recorded", Rules: "M13", guard: (*step).answerRejects, act: (*step).endRejected},
		{ID: "answer/settles", When: "refused by a rule that settles the operation; not clean; nothing barred", To: Rejected, Does: "the refusal is recorded", Rules: "M13", guard: (*step).answerSettles, act: (*step).endRejected},
		{ID: "answer/no-effect-withdrawn", When: "no effect; clean; barred withdrawn or past_deadline only", To: Canceled, Does: "withdrawn without effect", Rules: "M24", guard: (*step).noEffectWithdrawn, act: (*step).endCanceled},
		{ID: "answer/exhausted-reject", When: "no effect; clean; nothing barred; retry budget spent; the contract rejects", To: Rejected, Does: "rejected retry_exhausted", guard: (*step).noEffectSpentReject, act: (*step).endExhaustedReject},
		{ID: "answer/exhausted-hold", When: "no effect; clean; nothing barred; retry budget spent", To: Prepared, Does: "held retry_exhausted; review", Rules: "M16", guard: (*step).noEffectSpent, act: (*step).endExhaustedHold},
		{ID: "answer/no-effect", When: "no effect or not sent; clean; nothing barred", To: Prepared, Does: "due after back-off", guard: (*step).noEffectClean, act: (*step).endRetry},
		{ID: "answer/refused-after-doubt", When: "no effect, not sent, or refused; not clean, or barred", To: Uncertain, Does: "doubt refused_after_doubt", Rules: "M13", guard: (*step).answerRefuses, act: (*step).endUncertain},
		{ID: "answer/unknown", When: "anything else", To: Uncertain, Does: "in doubt", act: (*step).endUncertain},
	}
	for i := range rows {
		rows[i].From, rows[i].On = inAttempting, EventAnswered
		rows[i].When = "by the holder: " + rows[i].When
		guard := rows[i].guard
		rows[i].guard = func(s *step) bool { return s.answersNow() && (guard == nil || guard(s)) }
	}
	return rows
}

func lateAnswerRows() []Transition {
	open := []Transition{
		{ID: "late/differs", From: inDoubtful, When: "differs from the intent", To: Uncertain, Does: "barred differs; review", Rules: "M8 M15", guard: (*step).answerDiffers, act: (*step).lateDiffers},
		{ID: "late/key-conflict", From: inDoubtful, When: "the identity was used with another request", To: Uncertain, Does: "barred key_conflict; review", guard: (*step).answerKeyConflict, act: (*step).lateKeyConflict},
		{ID: "late/multiple", From: inDoubtful, When: "another reference is known than the answered one, be it of an effect or of a record that exists", To: Uncertain, Does: "barred multiple_effects; review", Rules: "M15", guard: (*step).answerOtherReference, act: (*step).lateMultiple},
		{ID: "late/effect-attempting", From: inAttempting, When: "an effect", Does: "barred effect_exists; review exists_elsewhere where it is another operation's record", Rules: "M8 M11c M18", guard: (*step).answerAnyEffect, act: (*step).lateBar},
		{ID: "late/confirmed", From: inUncertain, When: "confirms, with reference, and agrees; no other operation has recorded it, or it may be shared", To: Confirmed, Does: "the result is recorded", Rules: "M8 M18", guard: (*step).answerConfirms, act: (*step).lateConfirmed},
		{ID: "late/taken", From: inUncertain, When: "an effect whose reference another operation has recorded, and that may not be shared", Does: "barred effect_exists; review exists_elsewhere, which names that operation", Rules: "M8 M18", guard: (*step).answerTaken, act: (*step).lateTaken},
		{ID: "late/unreadable", From: inUncertain, When: "an effect without a readable reference, or barred differs, key_conflict or multiple_effects", Does: "barred effect_exists; evidence for the review", Rules: "M11c M15", guard: (*step).answerAnyEffect, act: (*step).lateBarPlanned},
		{ID: "late/withdrawn", From: inUncertain, When: "the last attempt in doubt had no effect; barred withdrawn or past_deadline only", To: Canceled, Does: "withdrawn without effect", Rules: "M24", guard: (*step).lateSettlesWithdrawn, act: (*step).lateCanceled},
		{ID: "late/no-effect", From: inUncertain, When: "the last attempt in doubt had no effect; nothing barred", To: Prepared, Does: "due after back-off", guard: (*step).lateSettles, act: (*step).latePrepared},
		{ID: "late/stays", From: inDoubtful, When: "anything else", Does: "the attempt is closed", Rules: "M8 M12a", act: (*step).lateStays},
		{ID: "late/prepared-effect", From: inPrepared, When: "confirms, with reference, and agrees; no other operation has recorded it, or it may be shared", To: Confirmed, Does: "lease revoked; contradicted if absence had been recorded", guard: (*step).answerConfirms, act: (*step).lateConfirmed},
		{ID: "late/prepared-bar", From: inPrepared, When: "an effect, without agreement or reference, or as another operation's record", To: Uncertain, Does: "lease revoked; barred effect_exists, and as it disagrees or is another's; contradicted if absence had been recorded", guard: (*step).answerAnyEffect, act: (*step).latePreparedEffect},
		{ID: "late/prepared-conflict", From: inPrepared, When: "the identity was used with another request", To: Uncertain, Does: "lease revoked; barred key_conflict; review", Rules: "M11c", guard: (*step).answerKeyConflict, act: (*step).lateKeyConflict},
		{ID: "late/prepared", From: inPrepared, When: "anything else", Does: "recorded; the attempt is closed", act: (*step).lateRecord},
	}
	rows := []Transition{
		{ID: "late/unknown-attempt", From: inAny, On: EventAnswered, When: "no such attempt, or it has answered before", Refusal: CodeNotAllowed, guard: (*step).answersNothing},
	}
	for _, row := range open {
		row.On = EventAnswered
		row.When = "late: " + row.When
		rows = append(rows, row)
	}
	return rows
}

func lookupRows() []Transition {
	return []Transition{
		{ID: "lookup/prepared-effect", From: inPrepared, On: EventLookedUp, When: "found, with reference, and agrees; no other operation has recorded it, or it may be shared", To: Confirmed, Does: "lease revoked; contradicted if absence had been recorded", guard: (*step).foundAgrees, act: (*step).foundConfirmed},
		{ID: "lookup/prepared-bar", From: inPrepared, On: EventLookedUp, When: "found, but does not agree", To: Uncertain, Does: "lease revoked; barred effect_exists, and as it disagrees; contradicted if absence had been recorded", guard: (*step).foundEffect, act: (*step).foundBar},
		{ID: "lookup/attempting-differs", From: inAttempting, On: EventLookedUp, When: "found, and differs", To: Uncertain, Does: "barred differs; review", Rules: "M15", guard: (*step).foundDiffers, act: (*step).foundBarDiffers},
		{ID: "lookup/attempting-several", From: inAttempting, On: EventLookedUp, When: "several records, or another reference than the known one", To: Uncertain, Does: "barred multiple_effects; review", Rules: "M15", guard: (*step).foundSeveral, act: (*step).foundBarSeveral},
		{ID: "lookup/attempting-effect", From: inAttempting, On: EventLookedUp, When: "found", Does: "barred effect_exists", Rules: "M11c", guard: (*step).foundOurs, act: (*step).foundBarEffect},
		{ID: "lookup/prepared-pending", From: inPrepared, On: EventLookedUp, When: "found, and the target is still at work on it", To: Uncertain, Does: "lease revoked; barred effect_exists; contradicted if absence had been recorded", Rules: "M11c", guard: (*step).foundPending, act: (*step).pendingOnPrepared},
		{ID: "lookup/attempting-pending", From: inAttempting, On: EventLookedUp, When: "found, and the target is still at work on it", Does: "barred effect_exists", Rules: "M11c", guard: (*step).foundPending, act: (*step).pendingBar},
		{ID: "lookup/recorded", From: []State{Prepared, Attempting}, On: EventLookedUp, Quiet: true, Does: "recorded"},

		{ID: "lookup/predates", From: inUncertain, On: EventLookedUp, When: "found, older than the operation", Does: "review predates", Rules: "M15", guard: (*step).foundPredates, act: (*step).foundReviewPredates},
		{ID: "lookup/elsewhere", From: inUncertain, On: EventLookedUp, When: "found, though the target called it existing on a clean attempt and it carries nothing of ours", Quiet: true, Does: "review exists_elsewhere", Rules: "M11b", guard: (*step).foundElsewhere, act: (*step).foundReviewElsewhere},
		{ID: "lookup/pending", From: inUncertain, On: EventLookedUp, When: "found, and the target is still at work on it", Does: "doubt accepted; asked again", Rules: "M16a", guard: (*step).foundPendingNews, act: (*step).foundStillPending},
		{ID: "lookup/pending-still", From: inUncertain, On: EventLookedUp, When: "found, and the target is still at work on it, as was known", Quiet: true, Does: "asked again", guard: (*step).foundPending, act: (*step).lookedUpAgain},
		{ID: "lookup/candidates", From: inUncertain, On: EventLookedUp, When: "records that evidence alone speaks for, and the review does not show them yet", Does: "review evidence, with candidates", Rules: "M14 M16", guard: (*step).foundCandidates, act: (*step).foundReviewCandidates},
		{ID: "lookup/differs", From: inUncertain, On: EventLookedUp, When: "found, and differs", Does: "barred differs; review", Rules: "M15", guard: (*step).foundDiffers, act: (*step).foundBarDiffers},
		{ID: "lookup/several", From: inUncertain, On: EventLookedUp, When: "several records, or another reference than the known one", Does: "barred multiple_effects; review", Rules: "M15", guard: (*step).foundSeveral, act: (*step).foundBarSeveral},
		{ID: "lookup/blocked", From: inUncertain, On: EventLookedUp, When: "found, and barred differs, key_conflict or multiple_effects", Does: "barred effect_exists; evidence for the review", Rules: "M11c M15", guard: (*step).foundBlocked, act: (*step).foundEvidence},
		{ID: "lookup/work-taken", From: inUncertain, On: EventLookedUp, When: "a poll of work that the target accepted from this operation finds an effect that another operation has recorded, and that may not be shared", Does: "barred effect_exists; review exists_elsewhere, which names that operation", Rules: "M3 M18", guard: (*step).foundTakenWork, act: (*step).foundReviewTakenWork},
		{ID: "lookup/taken", From: inUncertain, On: EventLookedUp, When: "found, though another operation has recorded its reference, and it may not be shared", Quiet: true, Does: "review exists_elsewhere, which names that operation", Rules: "M18", guard: (*step).foundTakenAny, act: (*step).foundReviewTaken},
		{ID: "lookup/failed", From: inUncertain, On: EventLookedUp, When: "found finally failed; no other attempt open; no effect and no other reference known", To: Rejected, Does: "the failure is recorded", guard: (*step).foundFailed, act: (*step).foundRejected},
		{ID: "lookup/failed-open", From: inUncertain, On: EventLookedUp, When: "found finally failed, but an attempt is open, or an effect or another reference known", Quiet: true, Does: "looked up again later", guard: (*step).foundFailedAny, act: (*step).lookedUpAgain},
		{ID: "lookup/found", From: inUncertain, On: EventLookedUp, When: "found, with reference, and agrees; no other operation has recorded it, or it may be shared", To: Confirmed, Does: "the result is recorded", guard: (*step).foundAgrees, act: (*step).foundConfirmed},
		{ID: "lookup/unreadable", From: inUncertain, On: EventLookedUp, When: "found, but its reference cannot be read", Does: "barred effect_exists", Rules: "M11c", guard: (*step).foundOurs, act: (*step).foundUnreadable},
		{ID: "lookup/stale", From: inUncertain, On: EventLookedUp, When: "not by the holder of the lease", Quiet: true, Does: "recorded", Rules: "M8", guard: (*step).staleLookup},
		{ID: "lookup/absent-unrefuted", From: inUncertain, On: EventLookedUp, When: "absence proven, nothing barred but withdrawn, past_deadline or restored; but an open review has a record that may be the effect", Quiet: true, Does: "left to the review's owner", Rules: "M12 M14", guard: (*step).absentUnrefuted, act: (*step).absentLeft},
		{ID: "lookup/absent-withdrawn", From: inUncertain, On: EventLookedUp, When: "absence proven; barred withdrawn or past_deadline, perhaps restored", To: Canceled, Does: "withdrawn without effect", Rules: "M12 M24", guard: (*step).absentWithdrawn, act: (*step).absentCanceled},
		{ID: "lookup/absent-exists", From: inUncertain, On: EventLookedUp, When: "absence proven, though the target says that the record exists; nothing barred but restored", Quiet: true, Does: "review exists_elsewhere; nothing is sent", Rules: "M11b M12", guard: (*step).absentExists, act: (*step).absentElsewhere},
		{ID: "lookup/absent-exhausted-reject", From: inUncertain, On: EventLookedUp, When: "absence proven; nothing barred but restored; retry budget spent; the contract rejects", To: Rejected, Does: "rejected retry_exhausted", Rules: "M12", guard: (*step).absentSpentReject, act: (*step).absentExhaustedReject},
		{ID: "lookup/absent-exhausted-hold", From: inUncertain, On: EventLookedUp, When: "absence proven; nothing barred but restored; retry budget spent", To: Prepared, Does: "held retry_exhausted; review", Rules: "M12 M16", guard: (*step).absentSpent, act: (*step).absentExhaustedHold},
		{ID: "lookup/absent", From: inUncertain, On: EventLookedUp, When: "absence proven; nothing barred but restored", To: Prepared, Does: "maybe_applied cleared; due after the retry's back-off", Rules: "M12", guard: (*step).absentProven, act: (*step).absentPrepared},
		{ID: "lookup/absent-barred", From: inUncertain, On: EventLookedUp, When: "absence proven, but otherwise barred", Does: "review absent_but_barred", Rules: "M11c M12", guard: (*step).absentBarred, act: (*step).absentReview},
		{ID: "lookup/inconclusive", From: inUncertain, On: EventLookedUp, When: "anything else", Quiet: true, Does: "due later; a review when the reconcile budget is spent", Rules: "M12 M16", act: (*step).lookedUpAgain},
	}
}

func observationRows() []Transition {
	return []Transition{
		{ID: "observe/prepared-effect", From: inPrepared, On: EventObserved, When: "an effect, with reference, and agrees in all that the contract verifies; no other operation has recorded it", To: Confirmed, Does: "lease revoked; contradicted if absence had been recorded", guard: (*step).observedAgrees, act: (*step).observedConfirmed},
		{ID: "observe/prepared-bar", From: inPrepared, On: EventObserved, When: "an effect, without agreement or reference", To: Uncertain, Does: "lease revoked; barred effect_exists, and as it disagrees; review predates or evidence where it is old or does not show enough; contradicted if absence had been recorded", Rules: "M11c M15", guard: (*step).observedEffect, act: (*step).observedOnPrepared},
		{ID: "observe/predates", From: inDoubtful, On: EventObserved, When: "an effect that is older than the operation", Does: "review predates", Rules: "M15", guard: (*step).observedPredates, act: (*step).observedReviewPredates},
		{ID: "observe/differs", From: inDoubtful, On: EventObserved, When: "an effect that differs from the intent", To: Uncertain, Does: "barred differs; review", Rules: "M15", guard: (*step).observedDiffers, act: (*step).observedBarDiffers},
		{ID: "observe/multiple", From: inDoubtful, On: EventObserved, When: "an effect with another reference than the known one", To: Uncertain, Does: "barred multiple_effects; review", Rules: "M15", guard: (*step).observedOther, act: (*step).observedBarMultiple},
		{ID: "observe/attempting", From: inAttempting, On: EventObserved, When: "an effect", Does: "stays; barred effect_exists; review evidence where it does not show all that the contract verifies", Rules: "M11c M15", guard: (*step).observedEffect, act: (*step).observedBarStays},
		{ID: "observe/failed", From: inUncertain, On: EventObserved, When: "the target states that the operation finally failed; no attempt open; no effect, no other reference and no other operation's record known", To: Rejected, Does: "the failure is recorded", guard: (*step).observedFailed, act: (*step).observedRejected},
		{ID: "observe/blocked", From: inUncertain, On: EventObserved, When: "an effect, and barred differs, key_conflict or multiple_effects", Does: "barred effect_exists; evidence for the review", Rules: "M11c M15", guard: (*step).observedBlocked, act: (*step).observedEvidence},
		{ID: "observe/taken", From: inUncertain, On: EventObserved, When: "an effect whose reference another operation has recorded", Quiet: true, Does: "review exists_elsewhere, which names that operation", Rules: "M18", guard: (*step).observedTaken, act: (*step).observedReviewTaken},
		{ID: "observe/unshown", From: inUncertain, On: EventObserved, When: "an effect, with reference, whose evidence does not show all that the contract verifies", Does: "barred effect_exists; review evidence, which says what is missing", Rules: "M11c M15", guard: (*step).observedUnshown, act: (*step).observedReviewUnshown},
		{ID: "observe/confirmed", From: inUncertain, On: EventObserved, When: "an effect, with reference, and agrees in all that the contract verifies; no other operation has recorded it", To: Confirmed, Does: "the result is recorded", guard: (*step).observedAgrees, act: (*step).observedConfirmed},
		{ID: "observe/effect", From: inUncertain, On: EventObserved, When: "an effect without a reference", Does: "barred effect_exists", guard: (*step).observedEffect, act: (*step).observedBar},
		{ID: "observe/recorded", From: inOpen, On: EventObserved, Quiet: true, Does: "recorded; shown in the review"},
	}
}

func closingRows() []Transition {
	return []Transition{
		{ID: "close/not-open", From: inAny, On: EventAttemptClosed, When: "no such open attempt", Refusal: CodeNotAllowed, guard: (*step).notOpen},
		{ID: "close/early", From: inAny, On: EventAttemptClosed, When: "by straggler, before its time", Refusal: CodeNotDue, guard: (*step).tooEarlyToClose},
		{ID: "close/uncertain", From: inUncertain, On: EventAttemptClosed, Does: "the attempt is closed; settle and processing count from now", Rules: "M12a", act: (*step).closeAndPlan},
		{ID: "close/other", From: []State{Prepared, Attempting, Confirmed, Rejected, Canceled}, On: EventAttemptClosed, Does: "the attempt is closed", Rules: "M12a", act: (*step).closeAttempt},
	}
}

func planRows() []Transition {
	return []Transition{
		{ID: "plan/lost", From: inOpen, On: EventReconsidered, When: "not by the holder of the lease", Refusal: CodeLeaseLost, Rules: "M8", guard: (*step).reconsiderLost},
		{ID: "plan/missing-long", From: []State{Prepared, Uncertain}, On: EventReconsidered, When: "the worker has not what it runs under, and had not a minute ago", Quiet: true, Does: "review unsendable; due again after a back-off", Rules: "M16", guard: (*step).missingLong, act: (*step).stayDueOwned},
		{ID: "plan/missing", From: []State{Prepared, Uncertain}, On: EventReconsidered, When: "the worker has not what it runs under", Quiet: true, Does: "due again after a back-off; nothing was tried", Rules: "M16", guard: (*step).missing, act: (*step).stayDue},
		{ID: "plan/unsendable", From: inPrepared, On: EventReconsidered, When: "the request cannot be built", Does: "held retry_exhausted; review unsendable", Rules: "M16", guard: (*step).unsendable, act: (*step).holdUnsendable},
		{ID: "plan/exhausted-reject", From: inPrepared, On: EventReconsidered, When: "retry budget spent; the contract rejects", To: Rejected, Does: "rejected retry_exhausted", guard: (*step).planSpentReject, act: (*step).exhaustReject},
		{ID: "plan/exhausted-hold", From: inPrepared, On: EventReconsidered, When: "retry budget spent", Does: "held retry_exhausted; review", Rules: "M16", guard: (*step).planSpent, act: (*step).exhaustHold},
		{ID: "plan/prepared", From: inPrepared, On: EventReconsidered, Quiet: true, Silent: true, Does: "unleased, due as before", act: (*step).unlease},
		{ID: "plan/stuck", From: inUncertain, On: EventReconsidered, When: "no look-up can be built or carried", Does: "review unsendable", Rules: "M16", guard: (*step).unsendable, act: (*step).reviewUnsendable},
		{ID: "plan/agreed-not-over", From: inAny, On: EventAgreedTimeOver, When: "there is no wait whose agreed time has just passed", Refusal: CodeNotDue, Rules: "M16a", guard: (*step).agreedTimeNotOver},
		{ID: "plan/agreed-over", From: inUncertain, On: EventAgreedTimeOver, Does: "an incident from now on, which counts as unresolved; the plan goes on", Rules: "M16a M16", act: (*step).replanKeepingDoubt},
		{ID: "plan/uncertain", From: inUncertain, On: EventReconsidered, Quiet: true, Does: "the next possible step of in_doubt is planned; a review where only the operator is left", Rules: "M11a M16", act: (*step).replan},
	}
}

func withdrawalRows() []Transition {
	return []Transition{
		{ID: "cancel/settled", From: inSettled, On: EventCanceled, Refusal: CodeAlreadySettled, Rules: "M19a"},
		{ID: "cancel/fresh", From: inPrepared, On: EventCanceled, When: "nothing was attempted", To: Canceled, Does: "the claim is released unless the caller keeps it", Rules: "M24 I7", guard: (*step).neverAttempted, act: (*step).cancelFresh},
		{ID: "cancel/prepared", From: inPrepared, On: EventCanceled, To: Canceled, Does: "the claim stays bound", Rules: "M24", act: (*step).cancel},
		{ID: "cancel/again", From: inDoubtful, On: EventCanceled, When: "withdrawn before", Quiet: true, Silent: true, Does: "nothing", guard: (*step).withdrawn},
		{ID: "cancel/withdraw", From: inDoubtful, On: EventCanceled, Does: "barred withdrawn: nothing is sent again", Rules: "M24 M11c", act: (*step).withdraw},
		{ID: "deadline/not-yet", From: inOpen, On: EventDeadlinePassed, When: "the start deadline has not passed, or was seen before", Refusal: CodeNotDue, guard: (*step).deadlineNotNews},
		{ID: "deadline/prepared", From: inPrepared, On: EventDeadlinePassed, To: Canceled, Does: "the claim stays bound", Rules: "M24", act: (*step).cancel},
		{ID: "deadline/doubtful", From: inDoubtful, On: EventDeadlinePassed, Does: "barred past_deadline", Rules: "M24 M11c", act: (*step).barDeadline},
		{ID: "recover/settled", From: inSettled, On: EventRecovered, Refusal: CodeAlreadySettled},
		{ID: "recover/open", From: inOpen, On: EventRecovered, To: Uncertain, Does: "barred restored; an outstanding attempt is open; due for look-up; holds stand", Rules: "M29", act: (*step).restore},
	}
}

func holdRows() []Transition {
	return []Transition{
		{ID: "hold/again", From: inPrepared, On: EventHoldPlaced, When: "held for that reason already", Quiet: true, Silent: true, Does: "nothing", guard: (*step).heldForThat},
		{ID: "hold/place", From: inPrepared, On: EventHoldPlaced, Does: "held; lease revoked; a review where the reason needs one", act: (*step).placeHold},
		{ID: "hold/unknown", From: inAny, On: EventHoldDecided, When: "no such hold", Refusal: CodeHoldUnknown, guard: (*step).noSuchHold},
		{ID: "hold/decline", From: inPrepared, On: EventHoldDecided, When: "declined", To: Rejected, Does: "rejected declined", guard: (*step).declines, act: (*step).declineHold},
		{ID: "hold/proceed", From: inPrepared, On: EventHoldDecided, Does: "the hold is released; due when it was the last", act: (*step).releaseHold},
	}
}

func operatorRows() []Transition {
	return []Transition{
		{ID: "retry/settled", From: inSettled, On: EventRetryAsked, Refusal: CodeAlreadySettled, Rules: "M19a"},
		{ID: "retry/held", From: inPrepared, On: EventRetryAsked, When: "held", Refusal: CodeHeld, guard: (*step).held},
		{ID: "retry/paused", From: []State{Prepared, Uncertain}, On: EventRetryAsked, When: "the connection is paused or disabled", Refusal: CodePaused, guard: (*step).connectionClosed},
		{ID: "retry/prepared", From: inPrepared, On: EventRetryAsked, Quiet: true, Does: "due now, or at not_before", act: (*step).dueNow},
		{ID: "retry/attempting", From: inAttempting, On: EventRetryAsked, Refusal: CodeRetryUnsafe, Rules: "M11"},
		{ID: "retry/unsafe", From: inUncertain, On: EventRetryAsked, When: "a replay is not safe now", Refusal: CodeRetryUnsafe, Rules: "M11a M11c", guard: (*step).askedReplayUnsafe},
		{ID: "retry/replay", From: inUncertain, On: EventRetryAsked, Quiet: true, Does: "a replay is due now", Rules: "M11a", act: (*step).replayNow},

		{ID: "resolve/no-reference", From: inAny, On: EventResolved, When: "confirmed without a reference", Refusal: CodeMemberInvalid, guard: (*step).resolvesWithoutReference},
		{ID: "resolve/prepared", From: []State{Prepared, Attempting}, On: EventResolved, Refusal: CodeNotDecidable},
		{ID: "resolve/confirmed", From: inUncertain, On: EventResolved, When: "confirmed, with a reference", To: Confirmed, Does: "the decision is recorded", guard: resolves(ResolveConfirmed), act: (*step).resolveConfirmed},
		{ID: "resolve/rejected", From: inUncertain, On: EventResolved, When: "rejected", To: Rejected, Does: "the decision is recorded", guard: resolves(ResolveRejected), act: (*step).resolveRejected},
		{ID: "resolve/attempt-open", From: inUncertain, On: EventResolved, When: "not applied, while an attempt is open", Refusal: CodeAttemptOpen, guard: (*step).attemptStillOpen},
		{ID: "resolve/barred", From: inUncertain, On: EventResolved, When: "not applied, barred effect_exists or multiple_effects", Refusal: CodeBarred, guard: (*step).effectKnown},
		{ID: "resolve/not-applied-withdrawn", From: inUncertain, On: EventResolved, When: "not applied, barred withdrawn or past_deadline", To: Canceled, Does: "withdrawn without effect", Rules: "M24", guard: (*step).withdrawnOrLate, act: (*step).resolveCanceled},
		{ID: "resolve/not-applied", From: inUncertain, On: EventResolved, When: "not applied", To: Prepared, Does: "other bars lifted; a new retry budget; due now", Rules: "M11 M11c", guard: resolves(ResolveNotApplied), act: (*step).resolvePrepared},

		{ID: "assign/unknown", From: inAny, On: EventAssigned, When: "no such open review", Refusal: CodeReviewUnknown, guard: (*step).noSuchReview},
		{ID: "assign/no-owner", From: inAny, On: EventAssigned, When: "without an owner", Refusal: CodeMemberInvalid, Rules: "M16", guard: (*step).noOwner},
		{ID: "assign/review", From: inAny, On: EventAssigned, Does: "the review has another owner", Rules: "M16", act: (*step).assign},
		{ID: "escalate/not-yet", From: inAny, On: EventEscalated, When: "no review is due to be escalated", Refusal: CodeNotDue, guard: (*step).nothingToEscalate},
		{ID: "escalate/review", From: inAny, On: EventEscalated, Does: "a second person is named", Rules: "M16", act: (*step).escalate},
	}
}

func settledRows() []Transition {
	return []Transition{
		{ID: "settled/answer-disagrees", From: inSettled, On: EventAnswered, When: "late: it disagrees with what is recorded, or denies it of the only attempt that can have had the effect", Does: "contradicted; review", Rules: "M20", guard: (*step).answerDisagrees, act: (*step).lateContradicts},
		{ID: "settled/answer", From: inSettled, On: EventAnswered, When: "late: it agrees or asserts nothing", Does: "recorded; the attempt is closed", Rules: "M19", act: (*step).lateRecord},
		{ID: "settled/lookup-disagrees", From: inSettled, On: EventLookedUp, When: "it disagrees with what is recorded", Does: "contradicted; review", Rules: "M20", guard: (*step).lookupDisagrees, act: (*step).lookupContradicts},
		{ID: "settled/lookup", From: inSettled, On: EventLookedUp, Quiet: true, Does: "recorded", Rules: "M19"},
		{ID: "settled/observed-disagrees", From: inSettled, On: EventObserved, When: "it disagrees with what is recorded: another effect, one that is not as approved, or none where one is recorded", Does: "contradicted; review", Rules: "M20", guard: (*step).observationDisagrees, act: (*step).observationContradicts},
		{ID: "settled/observed", From: inSettled, On: EventObserved, Quiet: true, Does: "recorded", Rules: "M19"},
		{ID: "settled/agreed", From: inSettled, On: EventResolved, When: "not contradicted", Refusal: CodeNotDecidable, Rules: "M20", guard: (*step).notContradicted},
		{ID: "settled/corrected", From: inSettled, On: EventResolved, When: "contradicted; confirmed with a reference", To: Confirmed, Does: "the earlier result is kept beside it; nothing is sent", Rules: "M20", guard: resolves(ResolveConfirmed), act: (*step).correct},
		{ID: "settled/upheld", From: inSettled, On: EventResolved, When: "contradicted; otherwise", Does: "unchanged; nothing is sent", Rules: "M20", act: (*step).uphold},
		{ID: "settled/lease", From: inSettled, On: EventLeased, Refusal: CodeAlreadySettled},
		{ID: "settled/renew", From: inSettled, On: EventRenewed, Refusal: CodeLeaseLost, Rules: "M8"},
		{ID: "settled/back", From: inSettled, On: EventHandedBack, Refusal: CodeLeaseLost, Rules: "M8"},
	}
}
