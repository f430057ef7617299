package sandbox

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Limits of look-ups.
const (
	DefaultPage = 50  // items in a page without ?limit=
	MaxPage     = 200 // items in any page
)

// perform does the request in the ledger: a look-up, or a write under the rules of keys and references.
func (x *exchange) perform(t transaction) (answer, []Effect, error) {
	if x.request.Method == http.MethodGet {
		found, err := x.lookUp(t)
		return found, nil, err
	}
	if x.request.IdempotencyKey == "" {
		return x.write(t)
	}
	stored, found, err := x.storedAnswer(t)
	if err != nil || found {
		return stored, nil, err
	}
	said, effects, err := x.write(t)
	if err != nil {
		return answer{}, nil, err
	}
	_, err = t.exec("answer.put", x.request.Account, x.request.IdempotencyKey, x.parameters(),
		x.request.At.UnixNano(), said.status, string(said.body))
	return said, effects, err
}

// storedAnswer gives what the key was answered first, or the refusal of other parameters, while the window lasts.
func (x *exchange) storedAnswer(t transaction) (said answer, found bool, err error) {
	var bound, body string
	var receivedAt int64
	var status int
	found, err = t.one("answer.get", []any{&bound, &receivedAt, &status, &body}, x.request.Account, x.request.IdempotencyKey)
	switch {
	case err != nil || !found:
		return answer{}, false, err
	case !x.request.At.Before(instant(receivedAt).Add(x.sandbox.options.Window)):
		return answer{}, false, nil
	case bound != x.parameters():
		return keyReused(), true, nil
	}
	return jsonAnswer(status, []byte(body)).with("Idempotent-Replayed", "true"), true, nil
}

// write refuses the request, or makes its effect: under the fault Twice a second one too, unless that delivery would
// have been caught.
func (x *exchange) write(t transaction) (answer, []Effect, error) {
	if why := x.memberError; why != nil {
		return refusal(http.StatusBadRequest, "invalid", "the body "+why.Error()), nil, nil //nolint:nilerr // the answer is the error's
	}
	if name, why := x.collection.check(x.members); why != "" {
		return refusal(http.StatusUnprocessableEntity, "invalid", name+" "+why, "member", "/"+name), nil, nil
	}
	if textOf(x.members, x.collection.party) == RefusedParty {
		return refusal(http.StatusUnprocessableEntity, "supplier_blocked", RefusedParty+" is blocked",
			"member", "/"+x.collection.party), nil, nil
	}
	unique := x.externalRef != "" && !x.sandbox.options.AllowDuplicateReferences[x.collection.name]
	if unique {
		var holder string
		taken, err := t.one("effect.holder", []any{&holder}, x.request.Account, x.collection.name, x.externalRef)
		if err != nil {
			return answer{}, nil, err
		}
		if taken { // whatever became of it
			return refusal(http.StatusConflict, "duplicate_reference", "this external_ref has been used", "id", holder), nil, nil
		}
	}
	first, err := x.effect(t)
	if err != nil {
		return answer{}, nil, err
	}
	status, effects := http.StatusCreated, []Effect{first}
	caught := x.fault.Protected && (unique || x.request.IdempotencyKey != "")
	if x.fault.Kind == Twice && !caught {
		second, err := x.effect(t)
		if err != nil {
			return answer{}, nil, err
		}
		effects = append(effects, second)
	}
	if _, accepts := x.settlement(); accepts {
		status, effects = http.StatusAccepted, nil
	}
	return jsonAnswer(status, first.Record), effects, nil
}

// effect makes one effect of the request.
func (x *exchange) effect(t transaction) (Effect, error) {
	var number int64
	if _, err := t.one("effect.number", []any{&number}, x.collection.name, firstNumber); err != nil {
		return Effect{}, err
	}
	lag := x.sandbox.options.LookupLag
	if x.fault.Lag > 0 {
		lag = x.fault.Lag
	}
	now := x.sandbox.options.Now().UTC()
	e := Effect{
		ID:             x.collection.prefix + strconv.FormatInt(number, 10),
		Reference:      x.request.Reference,
		IdempotencyKey: x.request.IdempotencyKey,
		Collection:     x.collection.name,
		Account:        x.request.Account,
		At:             now,
		VisibleAt:      now.Add(lag),
		RequestSeq:     x.request.Seq,
	}
	settlement, accepts := x.settlement()
	status := openStatus
	if accepts {
		status = pendingStatus
	}
	var err error
	if e.Record, err = record(e.ID, status, now, x.members); err != nil {
		return Effect{}, err
	}
	inserted, err := t.exec("effect.insert", e.ID, e.Account, e.Collection, x.externalRef, e.Reference, e.IdempotencyKey,
		e.At.UnixNano(), e.VisibleAt.UnixNano(), e.RequestSeq, string(e.Record))
	if err != nil {
		return Effect{}, err
	}
	if e.Seq, err = inserted.LastInsertId(); err != nil {
		return Effect{}, fmt.Errorf("sandbox: effect: %w", err)
	}
	if accepts {
		_, err = t.exec("settlement.insert", e.Seq, now.Add(settlement.After).UnixNano(), string(settlement.Ends))
	}
	return e, err
}

// lookUp answers GET, from what is visible by now.
func (x *exchange) lookUp(t transaction) (answer, error) {
	now := x.sandbox.options.Now().UTC()
	if x.id != "" {
		var found string
		var ends Ending
		var settlesAt int64
		known, err := t.one("effect.visible_by_id", []any{&found, &ends, &settlesAt}, x.request.Account, x.collection.name, x.id, now.UnixNano())
		if err != nil || known {
			return jsonAnswer(http.StatusOK, asOf([]byte(found), ends, settlesAt, now.UnixNano())), err
		}
		return refusal(http.StatusNotFound, "not_found", "no such record"), nil
	}
	asked, err := readPage(x.r.URL.RawQuery)
	if err != nil {
		return refusal(http.StatusBadRequest, "invalid", err.Error()), nil
	}
	return x.listPage(t, asked, now)
}

// listPage answers one page. "complete" is true only where the page holds everything that matches: the last page of
// several is not complete, because a client that sees it alone has not seen the others.
func (x *exchange) listPage(t transaction, asked page, now time.Time) (answer, error) {
	name, arguments := "effect.visible", []any{x.request.Account, x.collection.name, asked.after, now.UnixNano(), asked.limit + 1}
	if asked.byReference {
		name, arguments = "effect.visible_by_reference",
			[]any{x.request.Account, x.collection.name, x.externalRef, asked.after, now.UnixNano(), asked.limit + 1}
	}
	var items []string
	var last int64
	more := false
	err := t.each(name, func(scan func(...any) error) error {
		var seq, settlesAt int64
		var item string
		var ends Ending
		if err := scan(&seq, &item, &ends, &settlesAt); err != nil {
			return err
		}
		if len(items) == asked.limit {
			more = true
			return nil
		}
		items, last = append(items, string(asOf([]byte(item), ends, settlesAt, now.UnixNano()))), seq
		return nil
	}, arguments...)
	if err != nil {
		return answer{}, err
	}
	next := "null"
	if more {
		next = string(quoted(strconv.FormatInt(last, 10)))
	}
	complete := !more && asked.after == 0
	return jsonAnswer(http.StatusOK, fmt.Appendf(nil, `{"items":[%s],"complete":%t,"next_cursor":%s}`,
		strings.Join(items, ","), complete, next)), nil
}

// page is what a list's query asks for.
type page struct {
	byReference bool
	limit       int
	after       int64
}

func readPage(query string) (page, error) {
	p := page{limit: DefaultPage}
	values, err := url.ParseQuery(query)
	if err != nil {
		return p, fmt.Errorf("the query cannot be read")
	}
	for name, given := range values {
		number, bad := strconv.ParseInt(given[0], 10, 64)
		switch {
		case len(given) > 1:
			return p, fmt.Errorf("%s is given more than once", name)
		case name == "external_ref" && given[0] != "":
			p.byReference = true
		case name == "external_ref":
			return p, fmt.Errorf("external_ref is empty")
		case name == "limit" && bad == nil && number >= 1 && number <= MaxPage:
			p.limit = int(number)
		case name == "limit":
			return p, fmt.Errorf("limit is 1 to %d", MaxPage)
		case name == "cursor" && bad == nil && number >= 1:
			p.after = number
		case name == "cursor":
			return p, fmt.Errorf("cursor is none of ours")
		default:
			return p, fmt.Errorf("%q is no parameter", name)
		}
	}
	return p, nil
}
