package onefold

import (
	"fmt"
	"math/bits"
	"time"
)

// Polls is what asking for progress of accepted work came to. A poll that tells
// what the one before has told is not kept by itself: it is counted here, and its
// evidence and its line on the timeline are left out, but for the 1st, 2nd, 4th,
// 8th, … of a row. So what is kept of a wait grows with the logarithm of its
// length. A poll that changes anything is always kept (M28).
type Polls struct {
	Times  int       `json:"times"`
	LastAt time.Time `json:"last_at"`
	// Meaning is what the last one told, in a word; Same counts how many have told
	// it in a row.
	Meaning string `json:"meaning,omitempty"`
	Same    int    `json:"same,omitempty"`
	// Kept counts those that changed nothing and were kept.
	Kept int `json:"kept,omitempty"`
}

// maxKeptPolls bounds the kept polls of one wait that changed nothing, beside the
// 1st, 2nd, 4th, … of all: a target whose answers alternate tells nothing new with
// each of them.
const maxKeptPolls = 100

// notePoll counts a poll of accepted work, or a look-up in its place where the
// target gave the work no name to ask for.
func (s *step) notePoll() {
	l, a := s.ev.Lookup, s.op.Accepted
	if l == nil || a == nil || !l.Polled && !s.op.AwaitedAsAgreed() {
		return
	}
	polls := Polls{}
	if a.Polls != nil {
		polls = *a.Polls
	}
	meaning := s.pollMeaning()
	if meaning != polls.Meaning {
		polls.Meaning, polls.Same = meaning, 0
	}
	polls.Times, polls.Same, polls.LastAt = polls.Times+1, polls.Same+1, s.now
	if s.uneventful() {
		s.unkept = !powerOfTwo(polls.Times) && (polls.Kept >= maxKeptPolls || !powerOfTwo(polls.Same))
		if !s.unkept {
			polls.Kept++
		}
	}
	if polls.Same > 1 {
		s.repeated = fmt.Sprintf("told %d times in a row, of %d times that it was asked", polls.Same, polls.Times)
	}
	asked := *a
	asked.Polls = &polls
	s.op.Accepted = &asked
}

// pollMeaning tells two answers apart that mean different things. A text about a
// failure on the way, or of the target's own, may differ each time and is not in it.
func (s *step) pollMeaning() string {
	l := s.ev.Lookup
	meaning := string(l.Result) + " " + l.Reference
	if l.Result == LookupPending {
		return meaning + " " + l.Detail
	}
	if e := s.ev.Evidence; e != nil {
		meaning += fmt.Sprintf(" %d", e.Status)
	}
	if l.PauseConnection {
		meaning += " unusable"
	}
	return meaning
}

func powerOfTwo(n int) bool { return n > 0 && bits.OnesCount(uint(n)) == 1 }
