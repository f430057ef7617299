package fieldcases

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/identity"
	"github.com/onefold-dev/onefold/internal/rig"
)

// A key was looked up without the operation that it was given for: a cancel was answered with the stored create.
//
// Proves: I2, I5
func TestC32OneKeyForTwoOperations(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	ordered := r.UntilState(r.Submit("orders.create", "k1", order).ID, onefold.Confirmed)
	billed, replayed, err := submit(r, "bills.create", "k1", bill)
	if err != nil || replayed || billed.ID == ordered.ID || billed.Identity == ordered.Identity || billed.Reference == ordered.Reference {
		t.Fatalf("%v, replayed %v: the bill is %s, the order %s; want two of which neither answers for the other", err, replayed, billed.ID, ordered.ID)
	}
	billed = r.UntilState(billed.ID, onefold.Confirmed)
	agrees(t, r, ordered, 1, 1)
	agrees(t, r, billed, 1, 1)
	if !strings.HasPrefix(billed.Result.Reference, "BILL-") || !strings.HasPrefix(replays(t, r, ordered, order).Result.Reference, "ORD-") {
		t.Errorf("the bill hears of %s", billed.Result.Reference)
	}
	// Under its own capability the key is one intent and no other.
	conflicts(t, r, ordered, `{"supplier":"S-81","item":"nut","quantity":12}`, "/request/item")
}

// A missing key was hashed like any other: everybody without a key got the first one's answer.
//
// Proves: I1
func TestC33NoKeyAtAll(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	for key, code := range map[string]onefold.Code{
		"": onefold.CodeKeyRequired, "   ": onefold.CodeKeyInvalid, "\t": onefold.CodeKeyInvalid, "a b": onefold.CodeKeyInvalid, "\u00a0": onefold.CodeKeyInvalid,
	} {
		for _, request := range []string{bill, `{"supplier":"S-82","number":"1","total":"2"}`} {
			if _, _, err := submit(r, "bills.create", key, request); onefold.CodeOf(err) != code {
				t.Errorf("key %q: %v, want %s", key, err, code)
			}
		}
	}
	for _, values := range [][]string{nil, {""}, {`""`}, {"   "}, {`" "`}, {"\t"}} {
		_, err := identity.ParseKey(values)
		var refused *identity.KeyError
		if !errors.As(err, &refused) {
			t.Errorf("header values %q are a key", values)
		}
	}
	f := open(t, r)
	for line, code := range map[string]string{"X-Nothing: 1": "key_required", "Idempotency-Key:": "key_invalid", `Idempotency-Key: ""`: "key_invalid", "Idempotency-Key:    ": "key_invalid"} {
		for _, request := range []string{bill, `{"supplier":"S-82","number":"1","total":"2"}`} {
			if status, answer := f.post(`{"capability":"bills.create","request":`+request+`}`, line); status != http.StatusBadRequest || answer["code"] != code {
				t.Errorf("header %q: %d %v, want %s", line, status, answer["code"], code)
			}
		}
	}
	ops, _, err := r.Store.List(context.Background(), onefold.Query{Workspace: rig.Workspace, Limit: 10})
	if err != nil || len(ops) != 0 {
		t.Errorf("%v: %d operations are on record", err, len(ops))
	}
	totals(t, r, 0, 0)
}

// A key was made of invoice, amount and currency: a second try by other means got the failed first one back.
//
// Proves: M3
func TestC34ContentTakenForIdentity(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: patient})
	const declined = `{"payee":"S-REFUSED","amount":"10.00","currency":"EUR"}`
	first := r.UntilState(r.Submit("payments.send", "card", declined).ID, onefold.Rejected)
	if second := r.Submit("payments.send", "link", declined); second.ID == first.ID || second.State == onefold.Rejected {
		t.Errorf("another key hears of the failed one: %s", second.State)
	}
	// Two equal transfers on purpose are two.
	a := r.UntilState(r.Submit("payments.send", "a", payment).ID, onefold.Confirmed)
	b := r.UntilState(r.Submit("payments.send", "b", payment).ID, onefold.Confirmed)
	agrees(t, r, a, 1, 1)
	agrees(t, r, b, 1, 1)
	if a.Result.Reference == b.Result.Reference || a.Fingerprint != b.Fingerprint {
		t.Errorf("%s and %s, fingerprints %s and %s", a.Result.Reference, b.Result.Reference, a.Fingerprint, b.Fingerprint)
	}
}

// One side sorted arrays too before it compared, and instalments in another order became the same request.
//
// Proves: I11, I11a
func TestC41ListsAreNotSets(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Idle: true, Edit: forms("  /tags: {set: true}\n", "lines", "tags")})
	op := r.Submit("forms.file", "k", `{"lines":[{"sku":"A"},{"sku":"B"}],"tags":["x","y"]}`)
	replays(t, r, op, `{"tags":["y","x"],"lines":[{"sku":"A"},{"sku":"B"}]}`)
	conflicts(t, r, op, `{"lines":[{"sku":"B"},{"sku":"A"}],"tags":["x","y"]}`, "/request/lines/0/sku", "/request/lines/1/sku")
	if _, _, err := submit(r, "forms.file", "k2", `{"tags":["x","x"]}`); onefold.CodeOf(err) != onefold.CodeRequestInvalid {
		t.Errorf("a set with an element twice: %v, want request_invalid", err)
	}
	r.Start()
	op = r.Until(op.ID, "confirmed", func(op *onefold.Operation) bool { return op.State == onefold.Confirmed })
	if !strings.Contains(record(t, r, op), `"tags":["x","y"]`) {
		t.Errorf("the target got another order: %s", record(t, r, op))
	}
}

// A derived key ignored null against absent, and cut time into buckets: retries fell apart at noon, repeats fell together.
//
// Proves: I11, M22
func TestC42NullAbsentAndTheClock(t *testing.T) {
	t.Parallel()
	c := &clock{}
	r := rig.New(t, rig.Options{Idle: true, Now: c.now, Edit: forms("")})
	strict := r.Submit("forms.file", "k", `{"memo":null,"amount":"5.00"}`)
	conflicts(t, r, strict, `{"amount":"5.00"}`, "/request/memo")
	lenient := r.Submit("bills.create", "k", `{"supplier":"S","number":"1","total":"5.00","memo":null}`)
	replays(t, r, lenient, `{"total":"5.00","supplier":"S","number":"1"}`)
	conflicts(t, r, lenient, `{"supplier":"S","number":"1","total":"5.00","memo":"x"}`, "/request/memo")
	for _, d := range []time.Duration{2 * time.Second, time.Minute, 13 * time.Hour} {
		c.ahead.Add(int64(d))
		replays(t, r, lenient, `{"supplier":"S","number":"1","total":"5.00"}`)
	}
}

// An attempt id, a clock and a freshly encrypted card in the body made a new key on every retry, and a second charge.
//
// Proves: I11, M2a
func TestC43VolatileMembersInTheBody(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: forms(`  /checkoutAttemptId: {ignore: true}
  /sdkData/createdAt: {ignore: true}
  /paymentMethod/encryptedCard: {ignore: true}
`, "amount", "checkoutAttemptId")})
	op := r.Submit("forms.file", "k", `{"amount":"12.00","checkoutAttemptId":"a1","sdkData":{"createdAt":1},"paymentMethod":{"encryptedCard":"x1"}}`)
	again := `{"amount":"12.00","checkoutAttemptId":"a2","sdkData":{"createdAt":2},"paymentMethod":{"encryptedCard":"x2"}}`
	replays(t, r, op, again)
	conflicts(t, r, op, strings.Replace(again, "12.00", "12.01", 1), "/request/amount")
	op = r.UntilState(op.ID, onefold.Confirmed)
	replays(t, r, op, again)
	agrees(t, r, op, 1, 1)
	if !strings.Contains(record(t, r, op), `"checkoutAttemptId":"a1"`) {
		t.Errorf("the target got what was not approved: %s", record(t, r, op))
	}
}

// The carrier's raw bytes were hashed, and its call number grew: each true retry was refused.
//
// Proves: I8, I9
func TestC44EnvelopeInTheFingerprint(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	send := func(metadata, request string) (onefold.Operation, bool, error) {
		s := r.Submission("orders.create", "k", request)
		s.Metadata = []byte(metadata)
		return r.Ledger.Submit(context.Background(), s)
	}
	op, replayed, err := send(`{"id":1,"via":"http"}`, order)
	if err != nil || replayed {
		t.Fatal(err, replayed)
	}
	// Over HTTP, from another client, with the members in another order.
	if status, answer := open(t, r).post("{ \"metadata\": {\"id\": 7}, \"request\":"+order+", \"capability\": \"orders.create\"}", "Idempotency-Key: k"); status != http.StatusOK || answer["id"] != op.ID {
		t.Errorf("over HTTP: %d %v, want the original %s", status, answer, op.ID)
	}
	for metadata, request := range map[string]string{
		`{"id":2,"via":"cli"}`:      " {\n\t\"quantity\": 12.0, \"item\": \"bolt\", \"supplier\": \"S\\u002d81\"}\r\n",
		`{"id":3,"_meta":{"a":1}}`:  `{"item":"bolt","quantity":1.2e1,"supplier":"S-81"}`,
		`{"id":4,"trace":"00-abc"}`: order,
	} {
		again, replayed, err := send(metadata, request)
		if err != nil || !replayed || again.ID != op.ID {
			t.Errorf("%s: %v, replayed %v", metadata, err, replayed)
		}
	}
	agrees(t, r, r.UntilState(op.ID, onefold.Confirmed), 1, 1)
}

// The retry carried a fresh temporary link to the same file, and was taken for another request.
//
// Proves: I11
func TestC45TemporaryLinkInTheBody(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Idle: true, Edit: forms("  /url: {ignore: true}\n")})
	op := r.Submit("forms.file", "k", `{"file":{"sha256":"9f01","type":"application/pdf"},"url":"https://t.example/1?sig=aa"}`)
	replays(t, r, op, `{"file":{"sha256":"9f01","type":"application/pdf"},"url":"https://t.example/1?sig=bb"}`)
	conflicts(t, r, op, `{"file":{"sha256":"9f02","type":"application/pdf"},"url":"https://t.example/1?sig=aa"}`, "/request/file/sha256")
}

// Uploads were told apart by their random boundary, or by their file's name, which fails both ways.
//
// Proves: I10, I11
func TestC46UploadsToldApartByTheirFrame(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Idle: true, Edit: forms("  /parts/*/name: {ignore: true}\n")})
	// A framed body is no request: files are named by what is in them.
	framed := "------a\r\nContent-Disposition: form-data; name=\"f\"; filename=\"inv.pdf\"\r\n\r\n%PDF\r\n------a--\r\n"
	_, _, err := submit(r, "forms.file", "k", framed)
	if onefold.CodeOf(err) != onefold.CodeJSONInvalid {
		t.Errorf("a multipart body: %v, want json_invalid", err)
	}
	if status, answer := open(t, r).post(framed, "Idempotency-Key: k", "Content-Type: multipart/form-data; boundary=----a"); status != http.StatusUnsupportedMediaType || answer["code"] != "not_json" {
		t.Errorf("a multipart body over HTTP: %d %v, want not_json", status, answer)
	}
	op := r.Submit("forms.file", "k", `{"parts":[{"field":"f","name":"inv.pdf","type":"application/pdf","sha256":"aa"},{"field":"g","sha256":"bb"}]}`)
	replays(t, r, op, `{"parts":[{"sha256":"aa","type":"application/pdf","name":"inv (1).pdf","field":"f"},{"sha256":"bb","field":"g"}]}`)
	conflicts(t, r, op, `{"parts":[{"field":"f","name":"inv.pdf","type":"application/pdf","sha256":"cc"},{"field":"g","sha256":"bb"}]}`, "/request/parts/0/sha256")
	if _, _, err := submit(r, "forms.file", "k", `{"parts":[{"field":"g","sha256":"bb"},{"field":"f","name":"inv.pdf","type":"application/pdf","sha256":"aa"}]}`); !errors.Is(err, onefold.ErrKeyConflict) {
		t.Errorf("parts in another order: %v, want key_conflict", err)
	}
	// Where the contract says nothing, a name counts.
	plain := rig.New(t, rig.Options{Idle: true, Edit: forms("")})
	op = plain.Submit("forms.file", "k", `{"name":"inv.pdf","sha256":"aa"}`)
	conflicts(t, plain, op, `{"name":"inv (1).pdf","sha256":"aa"}`, "/request/name")
}

// 8.20 times 100 became 819 cents, and the amount at the provider no longer matched the order.
//
// Proves: I9, I11, I13
func TestC48CentsLostInFloatingPoint(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: forms("  /amount: {decimal: {scale: 2}}\n", "amount", "rate")})
	op := r.Submit("forms.file", "k", `{"amount":8.20}`)
	for _, same := range []string{`"8.20"`, `8.2`, `"8.2"`, `820e-2`, `"8.200"`} {
		replays(t, r, op, `{"amount":`+same+`}`)
	}
	for _, other := range []string{`8.19`, `"8.21"`, `82`} {
		conflicts(t, r, op, `{"amount":`+other+`}`, "/request/amount")
	}
	_, _, err := submit(r, "forms.file", "k2", `{"amount":"10.005"}`)
	if e := asError(t, err); e.Code != onefold.CodeRequestInvalid || len(e.Faults) != 1 || !strings.HasSuffix(e.Faults[0].Pointer, "/amount") {
		t.Errorf("a tenth of a cent: %v %+v", err, e.Faults)
	}
	// Where nobody says that it is money, a string is no number, and digits count.
	plain := r.Submit("forms.file", "k3", `{"rate":0.1}`)
	replays(t, r, plain, `{"rate":0.10}`)
	conflicts(t, r, plain, `{"rate":0.10000000000000001}`, "/request/rate")
	conflicts(t, r, plain, `{"rate":"0.1"}`, "/request/rate")
	op = r.UntilState(op.ID, onefold.Confirmed)
	if !strings.Contains(record(t, r, op), `"amount":8.20`) {
		t.Errorf("the target got other digits: %s", record(t, r, op))
	}
}

// A number of nineteen digits went through a double and left as another order's.
//
// Proves: I9, I13
func TestC49LongNumbersChanged(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: forms("", "order_id", "n")})
	op := r.Submit("forms.file", "k", `{"order_id":4634343214213523454,"n":9007199254740993}`)
	conflicts(t, r, op, `{"order_id":4634343214213523455,"n":9007199254740993}`, "/request/order_id")
	conflicts(t, r, op, `{"order_id":4634343214213523454,"n":9007199254740992}`, "/request/n")
	op = r.UntilState(op.ID, onefold.Confirmed)
	if kept := record(t, r, op); !strings.Contains(kept, `"order_id":4634343214213523454`) || !strings.Contains(kept, `"n":9007199254740993`) {
		t.Errorf("the target got other digits: %s", kept)
	}
}

// The same word in two Unicode spellings was two requests, and no one could see a difference.
//
// Proves: I9, I11
func TestC50OneWordInTwoSpellings(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Idle: true, Edit: forms("  /number: {text: [nfc]}\n")})
	op := r.Submit("forms.file", "k", `{"name":"Caf\u00e9"}`)
	conflicts(t, r, op, `{"name":"Cafe\u0301"}`, "/request/name")
	replays(t, r, op, "{\"name\":\"Caf\u00e9\"}")
	op = r.Submit("forms.file", "k2", `{"number":"RE\u00c9-1","s":"\u0041"}`)
	replays(t, r, op, `{"number":"REE\u0301-1","s":"A"}`)
}

// A retry carried one more label, so that the charge could be found later, and went through as new.
//
// Proves: I4, M22
func TestC52LabelAddedToTheRetry(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Edit: forms("", "amount")})
	op := r.UntilState(r.Submit("forms.file", "c1", `{"amount":"12.12","metadata":{"try":"1"}}`).ID, onefold.Confirmed)
	conflicts(t, r, op, `{"amount":"12.12","metadata":{"try":"2"}}`, "/request/metadata/try")
	noted := false
	for _, e := range timeline(t, r, op) {
		noted = noted || e.Event == onefold.EventNoted && strings.Contains(strings.Join(e.Pointers, " "), "/metadata/try")
	}
	if !noted {
		t.Error("the refused submission is not on the original's timeline")
	}
	agrees(t, r, op, 1, 1)
	totals(t, r, 1, 1)
}
