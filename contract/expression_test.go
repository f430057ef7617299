package contract

import (
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
)

// holdsFor evaluates an expression over an answer and a request.
func holdsFor(t *testing.T, text string, x *onefold.Exchange, request string, clean bool) truth {
	t.Helper()
	e, detail := compileExpression(text)
	if detail != "" {
		t.Fatalf("%s: %s", text, detail)
	}
	m := &materials{}
	if request != "" {
		m.request = parsed(t, request)
	}
	return e.holds(readAnswer(x), m, clean)
}

// Proves: M13
func TestExpressionsSeeTheAnswerAndTheRequest(t *testing.T) {
	t.Parallel()
	x := whole(409, `{"code":"dup","rows":[{"n":1},{"n":2}],"ok":false,"none":null,"total":"12.50"}`)
	x.Headers = []onefold.Header{{Name: "Retry-After", Value: "5"}, {Name: "Via", Value: "a"}, {Name: "via", Value: "b"}}
	for text, want := range map[string]truth{
		`response.status == 409`:                                    yes,
		`response.status >= 500`:                                    no,
		`response.headers["retry-after"] == "5"`:                    yes,
		`response.headers["via"] == "a, b"`:                         yes,
		`"x-other" in response.headers`:                             no,
		`response.json.code == "dup" && clean`:                      yes,
		`response.json.rows.exists(r, r.n == 2)`:                    yes,
		`response.json.rows.all(r, r.n > 1)`:                        no,
		`response.json.none == null`:                                yes,
		`response.json.code.matches("^d[a-z]+$")`:                   yes,
		`!response.json.ok`:                                         yes,
		`decimal(response.json.total) == decimal(request.total)`:    yes,
		`has(response.json.missing)`:                                no,
		`response.json.missing == 1`:                                unclear,
		`response.status == 409 || response.json.missing == 1`:      yes,
		`response.json.rows[5].n == 1`:                              unclear,
		`response.headers["x-other"] == "1"`:                        unclear,
		`request.missing == 1`:                                      unclear,
		`response.json.code > 5`:                                    unclear,
		`response.json.ok && response.json.code`:                    no, // the left side decides
		`decimal(response.json.code) == decimal("1")`:               unclear,
		`int(response.json.code) == 1`:                              unclear,
		`1 / (response.status - 409) == 1`:                          unclear,
		`[1, 2, 3].map(n, n / 0) == []`:                             unclear,
		`response.json == {"code": "dup"}`:                          no,
		`type(decimal("1")) == type(decimal("2"))`:                  yes,
		`decimal("0.1") < decimal("0.2")`:                           yes,
		`decimal("2") <= decimal(2) && decimal(2u) >= decimal("2")`: yes,
		`decimal(0.1) > decimal("0.09999999999999999999")`:          yes,
	} {
		if got := holdsFor(t, text, x, `{"total":12.5}`, true); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	for _, unreadable := range []*onefold.Exchange{whole(409, `no json`), {Status: 409, Body: []byte(`{"code":"d`)}} {
		if got := holdsFor(t, `response.json.code == "dup"`, unreadable, `{}`, true); got != unclear {
			t.Errorf("over %q: %v", unreadable.Body, got)
		}
		if got := holdsFor(t, `response.status == 409`, unreadable, ``, true); got != yes {
			t.Errorf("the status alone, over %q: %v", unreadable.Body, got)
		}
	}
	if got := holdsFor(t, `response.json == null`, whole(204, ``), ``, false); got != yes {
		t.Errorf("an empty body: %v", got)
	}
	if got := holdsFor(t, `request.total == 1`, whole(204, ``), ``, false); got != unclear {
		t.Errorf("a request that cannot be read: %v", got)
	}
}

// Proves: I9, I13
func TestNumbersKeepTheirValueInExpressions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]truth{
		// Whole numbers are whole, however they are written.
		`response.json.n == 3`:                      yes,
		`3 == response.json.n`:                      yes,
		`response.json.e == 300`:                    yes,
		`response.json.big == 9007199254740993`:     yes,
		`response.json.big == 9007199254740992`:     no,
		`response.json.big + 1 > response.json.big`: yes,
		// Up to fifteen digits a double is the number.
		`response.json.d == 12.50`:                                      yes,
		`response.json.d < 12.500000000001`:                             yes,
		`response.json.d > 12`:                                          yes,
		`12.5 == response.json.d`:                                       yes,
		`decimal(response.json.d) == decimal("12.500")`:                 yes,
		`decimal(response.json.tenth) == decimal("0.1")`:                yes,
		`decimal(response.json.tenth) + decimal("1") == decimal("1.1")`: unclear,
		// Beyond, it is a decimal: exact, and never taken for a neighbour.
		`decimal(response.json.long) == decimal("0.12345678901234567890123456789")`: yes,
		`decimal(response.json.long) == decimal("0.12345678901234567890123456788")`: no,
		`response.json.long == 0.12345678901234568`:                                 unclear,
		`response.json.huge > 5`:                         unclear,
		`decimal(response.json.huge) > decimal(5)`:       yes,
		`decimal(response.json.far) == decimal("1e400")`: yes,
	} {
		e, detail := compileExpression(text)
		if detail != "" {
			if want == unclear {
				continue // refused when the document is read
			}
			t.Errorf("%s: %s", text, detail)
			continue
		}
		x := whole(200, `{"n":3.0,"e":3e2,"big":9007199254740993,"d":12.50,"tenth":0.1,"long":0.12345678901234567890123456789,"huge":123456789012345678901234567890,"far":1e400}`)
		if got := e.holds(readAnswer(x), &materials{}, true); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// What an expression may cost is bounded, and what goes beyond is doubt.
func TestExpressionsThatCostTooMuchAreDoubt(t *testing.T) {
	t.Parallel()
	rows := `{"rows":[` + strings.TrimSuffix(strings.Repeat(`1,`, 3000), ",") + `],"text":"` + strings.Repeat("a", 100_000) + `"}`
	for _, text := range []string{
		`response.json.rows.all(a, response.json.rows.all(b, a == b))`,
		`response.json.rows.map(a, response.json.rows.map(b, response.json.rows)).size() == 1`,
		`response.json.rows.all(a, response.json.text.matches("(a+)+b$") || true)`,
	} {
		x := whole(200, rows)
		done := make(chan truth, 1)
		go func() { done <- holdsFor(t, text, x, ``, true) }()
		select {
		case got := <-done:
			if got != unclear {
				t.Errorf("%s: %v", text, got)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%s goes on for ever", text)
		}
	}
	if got := holdsFor(t, `response.json.rows.all(a, a == 1)`, whole(200, rows), ``, true); got != yes {
		t.Errorf("a walk over a large answer: %v", got)
	}
}

// An expression that fails stops the rules: what stands behind it neither
// confirms nor rejects.
//
// Proves: M11c, M13
func TestNothingBehindAFailedExpressionSpeaks(t *testing.T) {
	t.Parallel()
	rules := []Response{
		{Name: "first", When: When{Cel: `response.json.state == "x"`}, Outcome: OutcomeKeyConflict},
		{Name: "ok", When: When{Status: statuses(201)}, Outcome: OutcomeConfirmed, Reference: &Locator{Pointer: "/id"}},
		{Name: "no", When: When{Status: statuses(422)}, Outcome: OutcomeRejected},
	}
	p, faults := compileOperation(&TargetOperation{Write: Write{Path: "/x"}, Responses: rules})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	op := &onefold.Operation{}
	for _, c := range []struct {
		x      *onefold.Exchange
		want   onefold.Outcome
		exists bool
	}{
		{whole(201, `{"id":"7"}`), onefold.OutcomeUnknown, true},
		{whole(422, `{"code":"no"}`), onefold.OutcomeUnknown, false},
		{whole(201, `{"id":"7","state":"y"}`), onefold.OutcomeConfirmed, false},
		{whole(422, `{"state":"x"}`), onefold.OutcomeKeyConflict, false},
		{whole(422, `{"state":5}`), onefold.OutcomeRejected, false},
	} {
		a, ev := p.judge(&materials{op: op}, c.x, true)
		if a.Outcome != c.want || a.EffectExists != c.exists {
			t.Errorf("%d %s: %s, effect exists %v (%s)", c.x.Status, c.x.Body, a.Outcome, a.EffectExists, ev.Detail)
		}
	}
}

func FuzzExpressions(f *testing.F) {
	for _, text := range []string{
		`response.status == 409 && response.json.code == "dup"`, `decimal(response.json.a) > decimal("1")`, `request.lines.exists(l, l.q > 2)`,
		`response.json.a.b.c[3] == {"x": [1, 2u, 3.5, null]}`, `"\u00e9".matches("[")`, `[[]].map(x, x) == clean`, `dyn(1) == decimal(1)`,
	} {
		f.Add(text, `{"a":1e999,"lines":[{"q":1}]}`)
	}
	f.Fuzz(func(t *testing.T, text, body string) {
		if len(text) > maxExpression {
			return
		}
		e, detail := compileExpression(text)
		if detail != "" {
			return
		}
		m := &materials{}
		first := e.holds(readAnswer(whole(200, body)), m, true)
		if again := e.holds(readAnswer(whole(200, body)), m, true); again != first {
			t.Errorf("%q over %q: %v, then %v", text, body, first, again)
		}
	})
}
