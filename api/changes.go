package api

import (
	"strconv"
	"strings"

	"github.com/onefold-dev/onefold"
)

// changeView is one change of one operation: a line of its timeline, with its
// place among all changes of the workspace. Some lines change nothing (noted: a
// refused submission, M22); their from and to are equal, or their version is not
// new.
type changeView struct {
	Cursor    string `json:"cursor" doc:"Its place: asking with it gives what comes after it."`
	Operation string `json:"operation"`
	entryView
}

// changesView is a page of changes. Other than with other lists there is always a
// cursor to go on from, because more changes will come.
type changesView struct {
	Items      []changeView `json:"items"`
	NextCursor string       `json:"next_cursor" doc:"Where to go on, also after the last page: an empty page says that there is nothing new yet."`
}

// changePlace is a place between two changes: after the entry with a sequence
// number. The number is given in the order of commits by the store's one writer,
// in the transaction that it belongs to, so that whoever has seen a number will
// never see a lower one appear. Gaps in it mean nothing.
//
// at is the entry's time. It makes sure that the entry is still the one that the
// reader saw: after a backup was restored the number may belong to another one,
// and what the reader would miss must not be passed over in silence.
type changePlace struct{ seq, at int64 }

func (p changePlace) text() string {
	return strconv.FormatInt(p.seq, 36) + "." + strconv.FormatInt(p.at, 36)
}

// readChangePlace reads what text wrote; "" is the place before the first change.
func readChangePlace(text string) (p changePlace, ok bool) {
	if text == "" {
		return p, true
	}
	seq, at, _ := strings.Cut(text, ".")
	var err1, err2 error
	p.seq, err1 = strconv.ParseInt(seq, 36, 64)
	p.at, err2 = strconv.ParseInt(at, 36, 64)
	return p, err1 == nil && err2 == nil && p.seq >= 0
}

// placeOf is the place after an entry.
func placeOf(e *onefold.Entry) changePlace { return changePlace{e.Seq, e.At.UnixNano()} }

// listChanges answers with the workspace's changes after a place, oldest first.
func (s *Server) listChanges(c *call) (*reply, error) {
	text, err := c.place()
	if err != nil {
		return nil, err
	}
	from, ok := readChangePlace(text)
	if !ok {
		return nil, invalidParameter("cursor", errNoCursor.Error())
	}
	entries, err := s.changesAfter(c, from, c.query.integer("limit", defaultPage))
	if err != nil {
		return nil, err
	}
	out := changesView{Items: make([]changeView, len(entries)), NextCursor: c.cursor(from.text())}
	for i := range entries {
		e := &entries[i]
		out.NextCursor = c.cursor(placeOf(e).text())
		out.Items[i] = changeView{Cursor: out.NextCursor, Operation: e.Operation, entryView: viewEntry(e)}
	}
	return answerJSON(out), nil
}

// changesAfter reads entries after a place. The entry at the place is read with
// them: if it is not there, or another, the reader's history is not this one.
func (s *Server) changesAfter(c *call, from changePlace, limit int) ([]onefold.Entry, error) {
	after := from.seq
	if from.seq > 0 {
		after, limit = from.seq-1, limit+1
	}
	entries, err := s.ledger.Store().Changes(c.ctx, c.who.workspace, after, limit)
	if err != nil || from.seq == 0 {
		return entries, unreachable(err)
	}
	if len(entries) == 0 || placeOf(&entries[0]) != from {
		return nil, invalidParameter("cursor", "the change that the cursor stands after is not there any more; a backup may have been restored: read from the beginning")
	}
	return entries[1:], nil
}
