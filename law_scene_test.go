package onefold

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Operations as they can be, built for the walk.

var (
	dawn = time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC) // admission
	noon = dawn.Add(6 * time.Hour)                     // the time of the events
)

const (
	ourRef   = "BILL-1"
	otherRef = "BILL-2"
)

// scene says what an operation looks like. Attempts are one letter each, in
// order: x is out, o went silent and is open, u ended without an answer, s was
// closed by straggler, i is in progress at the target, n was not sent, r was
// refused, a and p are s proven without effect by absence and by an operator.
type scene struct {
	state    State
	bars     bars
	attempts string
	seen     bool // the reference ourRef was named by evidence
	profile
}

// profile are the flags that are not walked in full against all others.
type profile struct {
	lease        string // "", live, over
	spent        string // "", count, time
	reject       bool   // what an exhausted budget leads to
	contradicted bool
	absence      bool // absence or "not applied" was recorded
	paused       bool
	deadline     string // "", ahead, past
	early        bool   // not_before lies ahead
	inconclusive bool   // absence proves nothing
	noReplay     bool   // the window is over
	lookedUp     bool   // the reconcile budget is spent
	concurrent   bool   // the target serializes repeats
	holds        []HoldReason
	unscheduled  bool // nothing is due: a person has it
	doubt        DoubtReason
	awaited      time.Duration // until when, from dawn, the target has to finish what it accepted
	named        string        // what it calls that work
	foundName    bool          // a look-up found the name
	shown        bool          // a review shows a record that may be the effect
	shared       bool          // records may be those of several operations
	missing      string        // "", long: no worker has had its contract since dawn, told: and a person knows
}

func (s *scene) policy() *Policy {
	p := &Policy{
		RetryAttempts: 5, RetryWithin: 24 * time.Hour, RetryBackoff: Backoff{First: time.Second, Factor: 2, Max: time.Minute},
		Exhausted: ExhaustedHold, ReconcileWithin: 48 * time.Hour, ReconcileBackoff: Backoff{First: time.Second, Factor: 2, Max: time.Hour},
		Owner: "maria", InDoubt: []RecoveryStep{StepReplay, StepLookup, StepOperator}, Timeout: 20 * time.Second,
		Settle: 5 * time.Second, Processing: 30 * time.Second, AbsenceProves: !s.inconclusive, Straggler: 10 * time.Minute,
		Window: 24 * time.Hour, WindowMargin: 21 * time.Second, ConcurrentSafe: s.concurrent,
	}
	p.SharedReferences = s.shared
	if s.reject {
		p.Exhausted = ExhaustedReject
	}
	if s.noReplay {
		p.Window = time.Hour
	}
	if s.awaited != 0 {
		p.PollEvery, p.PollWithin = time.Minute, 5*time.Hour
	}
	if s.lookedUp {
		p.ReconcileWithin = time.Hour
	}
	return p
}

func at(d time.Duration) *time.Time {
	t := dawn.Add(d)
	return &t
}

func (s *scene) attempt(i int) Attempt {
	begun := time.Duration(i+1) * 10 * time.Minute
	a := Attempt{
		ID: fmt.Sprintf("att_%d", i+1), Number: i + 1, Kind: Write, Worker: "w", Token: int64(i + 1), BegunAt: *at(begun),
		EndedAt: at(begun + time.Minute), Verdict: VerdictUnknown,
	}
	switch s.attempts[i] {
	case 'x':
		a.EndedAt, a.Verdict = nil, ""
	case 'o':
		a.EndedAt, a.Verdict, a.Open = nil, "", true
		a.OpenSince, a.CloseAt = at(begun+time.Minute), at(5*time.Hour)
		if i%2 == 1 {
			a.CloseAt = at(7 * time.Hour) // not closed by straggler yet
		}
	case 's':
		a.ClosedBy = ClosedByStraggler
	case 'i':
		a.Verdict = VerdictInProgress
	case 'n':
		a.Verdict = VerdictNotSent
	case 'r':
		a.Verdict = VerdictRejected
	case 'a':
		a.ClosedBy, a.ProvenBy = ClosedByStraggler, ProvenByAbsence
	case 'p':
		a.ClosedBy, a.ProvenBy = ClosedByProcessEnd, ProvenByOperator
	}
	return a
}

func review(id string, reason ReviewReason) Review {
	return Review{ID: id, Reason: reason, Status: ReviewOpen, Owner: "maria", OpenedAt: dawn}
}

// build makes the operation.
func (s *scene) build() Operation {
	op := Operation{Admitted: Admitted{ID: "op_1", Workspace: "acme", Owner: "maria", CreatedAt: dawn, KeyRetention: time.Hour}}
	op.State, op.Barred, op.Version, op.UpdatedAt = s.state, s.bars.list(), 7, dawn
	op.AbsenceRecorded, op.Contradicted = s.absence, s.contradicted
	for i := range s.attempts {
		op.Attempts = append(op.Attempts, s.attempt(i))
	}
	op.Token = int64(len(s.attempts))
	if len(s.attempts) > 0 {
		op.FrozenDigest, op.Scope, op.FirstDispatched = "frozen", "scope", at(10*time.Minute)
		op.Retry = Budget{Spent: len(s.attempts), Since: at(10 * time.Minute)}
	}
	switch s.spent {
	case "count":
		op.Retry = Budget{Spent: 5, Since: at(10 * time.Minute)}
	case "time":
		op.Retry = Budget{Spent: 1, Since: at(-24 * time.Hour)}
	}
	if s.seen {
		op.SeenReferences = []string{ourRef}
	}
	if s.contradicted {
		op.Reviews = append(op.Reviews, review("rev_contradicted", ReviewContradicted))
	}
	if s.shown {
		op.Reviews = append(op.Reviews, review("rev_evidence", ReviewEvidence))
		op.Reviews[len(op.Reviews)-1].Candidates = []Candidate{{Reference: "BILL-7"}}
	}
	switch s.deadline {
	case "ahead":
		op.StartDeadline = at(8 * time.Hour)
	case "past":
		op.StartDeadline = at(4 * time.Hour)
	}
	if s.early {
		op.NotBefore = at(7 * time.Hour)
	}
	if s.state.Terminal() {
		s.settle(&op)
	} else {
		s.open(&op)
	}
	if s.missing != "" {
		op.Missing = Budget{Spent: 9, Since: at(0)}
	}
	if s.missing == "told" {
		op.Reviews = append(op.Reviews, review("rev_missing", ReviewUnsendable))
	}
	op.EffectSuggested = speaks(&op)
	return op
}

func (s *scene) settle(op *Operation) {
	op.SettledAt, op.Next = at(3*time.Hour), NextNone
	op.MaybeApplied = strings.ContainsAny(s.attempts, "o")
	switch s.state {
	case Confirmed:
		op.Result = &Result{Reference: ourRef, LearntFrom: LearntFromResponse, At: *op.SettledAt}
	case Rejected:
		op.Rejection = &Rejection{Code: "refused", At: *op.SettledAt}
	default: // a canceled operation carries nothing more
	}
}

func (s *scene) open(op *Operation) {
	doubtful := slices.ContainsFunc(op.Attempts, func(a Attempt) bool { return !harmless(&a) && (a.EndedAt != nil || a.Open) })
	op.MaybeApplied = s.state == Uncertain || doubtful
	op.Due, op.Next = at(5*time.Hour), NextAttempt
	switch s.state {
	case Attempting:
		op.Due = nil
		if s.seen && s.bars&exists != 0 {
			op.Elsewhere = &Result{Reference: ourRef, LearntFrom: LearntFromEvent, Evidence: "ev_earlier", At: dawn}
			op.ElsewhereShared = s.shared
		}
	case Uncertain:
		op.Doubt = &Doubt{Reason: DoubtNoAnswer, Since: *at(time.Hour)}
		op.Reconcile = Budget{Spent: 1, Since: at(time.Hour)}
		if s.doubt != "" {
			op.Doubt.Reason = s.doubt
		}
		if s.doubt == DoubtAccepted && s.awaited != 0 {
			op.Accepted = &Acceptance{Reference: s.named, Found: s.foundName, At: *at(time.Hour), Until: *at(s.awaited)}
		}
	default: // a prepared operation carries nothing more
	}
	for i, reason := range s.holds {
		id := fmt.Sprintf("rev_hold_%d", i)
		op.Holds = append(op.Holds, Hold{Reason: reason, Since: dawn, Review: id})
		op.Reviews = append(op.Reviews, review(id, ReviewReason(reason)))
		op.Due, op.Next = nil, NextOperator
	}
	if s.unscheduled {
		op.Due, op.Next = nil, NextOperator
		op.Reviews = append(op.Reviews, review("rev_operator", ReviewOperatorOnly))
		op.Reviews[len(op.Reviews)-1].EscalateAt, op.Reviews[len(op.Reviews)-1].EscalateTo = at(5*time.Hour), "otto"
	}
	until := at(6*time.Hour + 30*time.Second)
	if s.lease == "over" {
		until = at(5 * time.Hour)
	}
	if s.lease != "" {
		if s.state != Attempting {
			op.Token++
		}
		op.Lease = &Lease{Token: op.Token, Worker: "w", Until: *until}
	}
}

func (s *scene) String() string {
	return fmt.Sprintf("%s barred %v, attempts %q, seen %v, %+v", s.state, s.bars.list(), s.attempts, s.seen, s.profile)
}

// allBars are all sets of bars, fewBars those that stand for them: none, each
// alone, and the pairs and threes that rows tell apart.
func allBars() (sets []bars) {
	for b := range 128 {
		sets = append(sets, bars(b))
	}
	return sets
}

func fewBars() []bars {
	return []bars{
		0, exists, differs, multiple, conflict, withdrawn, late, restored,
		withdrawn | late, withdrawn | restored, exists | withdrawn, exists | restored, exists | differs, conflict | late,
	}
}

// profiles are the walked combinations of the other flags for a state.
func profiles(state State) []profile {
	if state.Terminal() {
		return []profile{{}, {contradicted: true}, {absence: true, deadline: "past"}, {contradicted: true, absence: true}}
	}
	ps := []profile{
		{lease: "live"},
		{lease: "over", deadline: "ahead"},
		{lease: "live", spent: "count"},
		{lease: "live", spent: "time", reject: true, absence: true},
		{lease: "live", absence: true, noReplay: true, deadline: "past"},
		{lease: "live", paused: true, concurrent: true, inconclusive: true, awaited: time.Hour},
		{lease: "over", spent: "count", reject: true, contradicted: true, absence: true},
		{lease: "live", shared: true},
	}
	if state == Attempting {
		return ps
	}
	ps = append(ps, profile{}, profile{deadline: "past"}, profile{early: true, lease: "live"}, profile{concurrent: true, absence: true})
	if state == Uncertain {
		return append(
			ps, profile{holds: []HoldReason{HoldApproval}, lease: "live"}, profile{unscheduled: true, contradicted: true},
			profile{doubt: DoubtExists, lease: "live"}, profile{doubt: DoubtExists, lease: "live", spent: "count", absence: true},
			profile{doubt: DoubtAccepted, awaited: 8 * time.Hour, lease: "live"}, profile{doubt: DoubtAccepted, awaited: 5 * time.Hour, inconclusive: true},
			profile{lease: "live", noReplay: true, lookedUp: true}, profile{lease: "live", noReplay: true, lookedUp: true, contradicted: true},
			profile{doubt: DoubtAccepted, awaited: 8 * time.Hour, lease: "live", named: ourRef},
			profile{doubt: DoubtAccepted, awaited: 8 * time.Hour, lease: "live", named: ourRef, foundName: true},
			profile{doubt: DoubtAccepted, awaited: 8 * time.Hour, lease: "live", named: otherRef, shared: true},
			profile{lease: "live", shown: true}, profile{lease: "live", shown: true, spent: "count"},
			profile{lease: "live", missing: "long"}, profile{lease: "live", missing: "told", noReplay: true, lookedUp: true},
		)
	}
	// No operation is prepared once an effect contradicted its absence.
	ps = slices.DeleteFunc(ps, func(p profile) bool { return p.contradicted })
	return append(
		ps, profile{lease: "live", missing: "long"}, profile{lease: "live", missing: "told"},
		profile{holds: []HoldReason{HoldApproval}}, profile{holds: []HoldReason{HoldRetryExhausted}, spent: "count"},
		profile{holds: []HoldReason{HoldApproval, HoldRetryExhausted}, absence: true, deadline: "past"},
		profile{holds: []HoldReason{HoldApproval, HoldRetryExhausted}, early: true, paused: true},
	)
}

func shapes(state State) []string {
	switch state {
	case Prepared:
		return []string{"", "n", "r", "a", "p", "na", "ap"}
	case Attempting:
		return []string{"x", "ux", "ox", "sx", "nx", "ax", "px", "six", "oox"}
	case Uncertain:
		return []string{"", "o", "u", "s", "i", "n", "a", "p", "so", "no", "us", "uo", "ns", "as", "oo"}
	default:
		return []string{"", "n", "u", "o", "s", "a", "p", "us", "ps"}
	}
}

// scenes walks every operation of a state with its nth profile.
func scenes(state State, n int, p profile, yield func(*scene)) {
	sets, seens := fewBars(), []bool{false, true}
	switch {
	case state == Prepared:
		sets = []bars{0}
	case state.Terminal():
		sets = []bars{0, withdrawn, exists | differs}
	case state == Uncertain && n == 0:
		sets = allBars()
	case state == Uncertain:
		seens = seens[n%2 : n%2+1]
	}
	for _, b := range sets {
		for i, attempts := range shapes(state) {
			for _, seen := range seens {
				if len(sets) > 100 && seen != ((i+int(b))%2 == 0) {
					continue // each set of bars with both, over the attempts
				}
				yield(&scene{state: state, bars: b, attempts: attempts, seen: seen, profile: p})
			}
		}
	}
}
