package contract

import (
	"testing"

	"github.com/onefold-dev/onefold"
)

// anExchange makes an answer out of what a fuzzer found.
func anExchange(status int, body []byte, header, value string, complete bool, failure string) *onefold.Exchange {
	return &onefold.Exchange{
		Status: status, Body: body, Complete: complete, Failure: failure,
		Headers: []onefold.Header{{Name: header, Value: value}, {Name: "Retry-After", Value: value}},
	}
}

func seeds(f *testing.F) {
	for _, body := range []string{
		``, `{}`, `{"id":"BILL-991","total":"1250.00"}`, `{"id":{"a":[1e400]}}`, `<html>`, "\xff", `[[[[`, `{"a":1,"a":2}`, `null`,
		items(record(ours, "B")), items(record(ours, "B"), record(ours, "C")), `{"items":{}}`, `{"items":[1,null,{}]}`,
		`{"items":[{"external_ref":"` + ours + `","id":1e9999,"created_at":-1e308,"total":"1e9"}]}`,
	} {
		for _, status := range []int{0, 200, 201, 302, 401, 404, 409, 422, 500, -1} {
			f.Add(status, []byte(body), "Location", "x", true, "", true)
			f.Add(status, []byte(body), "Date", "Sun, 29 Nov 2026 12:01:00 GMT", false, "cut_body", false)
		}
	}
}

// Whatever a target answers, a write's answer is judged without a panic and
// never says more than it shows.
//
// Proves: M6, M13
func FuzzJudge(f *testing.F) {
	seeds(f)
	p := programOf(f, exampleOperation())
	bare := exampleOperation()
	bare.Responses, bare.Verify = nil, nil
	q := programOf(f, bare)
	m := exampleMaterials(f)
	f.Fuzz(func(t *testing.T, status int, body []byte, header, value string, complete bool, failure string, clean bool) {
		x := anExchange(status, body, header, value, complete, failure)
		x.Evidence.SeenAt = m.op.CreatedAt
		for _, program := range []*program{p, q} {
			a, ev := program.judge(m, x, clean)
			switch {
			case a.Outcome == "":
				t.Fatalf("no outcome: %+v", a)
			case a.Outcome == onefold.OutcomeNotSent:
				t.Fatalf("an answer proves that nothing was sent: %+v", a)
			case a.Outcome == confirmed && (status < 200 || status > 299):
				t.Fatalf("status %d confirms: %+v", status, a)
			case a.Reference != "" && (a.Outcome != confirmed || !complete || failure != ""):
				t.Fatalf("a reference out of nothing: %+v", a)
			case status >= 200 && status <= 299 && a.Outcome != confirmed && !a.EffectExists:
				t.Fatalf("a success is taken for none: %+v", a)
			case a.Outcome == rejected && !clean:
				t.Fatalf("a refusal on an unclean attempt: %+v", a)
			case a.Outcome == unknown && a.Doubt == "":
				t.Fatalf("doubt without a reason: %+v", a)
			case a.RetryAfter < 0 || a.RetryAfter > maxRetryAfter:
				t.Fatalf("a wait of %v", a.RetryAfter)
			case len(a.Code) > maxCode || len(a.TargetRequestID) > maxCode || len(a.Reference) > maxReference:
				t.Fatalf("texts without bound: %+v", a)
			case program == q && a.Outcome == confirmed:
				t.Fatalf("confirmed without a rule: %+v", a)
			case ev.Asserts == noEffect && (a.EffectExists || a.Outcome == confirmed):
				t.Fatalf("evidence against its own answer: %+v %+v", a, ev)
			}
		}
	})
}

// Whatever a target answers, a look-up's answer is judged without a panic, and
// absence is only ever read out of a whole, readable answer.
//
// Proves: M12
func FuzzJudgeLookup(f *testing.F) {
	seeds(f)
	p, m := programOf(f, exampleOperation()), exampleMaterials(f)
	f.Fuzz(func(t *testing.T, status int, body []byte, header, value string, complete bool, failure string, _ bool) {
		out, ev := p.judgeLookup(&p.lookups[0], m, anExchange(status, body, header, value, complete, failure))
		switch out.Result {
		case found:
			if ev.Asserts != effect {
				t.Fatalf("%+v %+v", out, ev)
			}
		case absent:
			if status != 200 && status != 404 || !complete || failure != "" || len(body) == 0 {
				t.Fatalf("absence out of nothing: %+v", out)
			}
		case several, inconclusive, onefold.LookupCandidates:
			if out.Reference != "" || out.Result == onefold.LookupCandidates && (ev.Asserts != nothing || len(out.Candidates) != 1) {
				t.Fatalf("%+v", out)
			}
		default:
			t.Fatalf("no result: %+v", out)
		}
		if out.Detail == "" {
			t.Fatal("no word about it")
		}
	})
}

// A body of the largest size that is read costs no more than its size: what
// grows with its square would not end within the test's own time-out.
func TestLargeHostileBodiesAreJudged(t *testing.T) {
	t.Parallel()
	p, m := programOf(t, exampleOperation()), exampleMaterials(t)
	for _, body := range [][]byte{
		hostile(`[`, maxAnswer), hostile(`{"items":[`, 40), hostile(`{"id":"`, maxAnswer+10),
		[]byte(`{"items":[` + string(hostile(`1,`, maxAnswer-20)) + `1]}`),
		[]byte(`{"items":[` + string(hostile(`{},`, maxAnswer-20)) + `{}]}`),
	} {
		p.judge(m, whole(200, string(body)), true)
		p.judgeLookup(&p.lookups[0], m, whole(200, string(body)))
	}
}

func hostile(piece string, length int) []byte {
	var out []byte
	for len(out)+len(piece) <= length {
		out = append(out, piece...)
	}
	return out
}
