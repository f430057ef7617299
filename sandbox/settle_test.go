package sandbox_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/onefold-dev/onefold/sandbox"
)

const transfer = `{"payee":"P-1","amount":"7.00","currency":"EUR","external_ref":"r-1","memo":{"status":"pending"}}`

func accepting(s sandbox.Settlement) func(*sandbox.Options) {
	return func(o *sandbox.Options) { o.Accept = map[string]sandbox.Settlement{"payments": s} }
}

func TestAcceptedWorkIsAnEffectOnceItSettles(t *testing.T) {
	t.Parallel()
	w := start(t, accepting(sandbox.Settlement{After: time.Minute}))
	made := w.send("POST", "/payments", transfer, "Idempotency-Key", "k-1")
	expect(t, "status", made.status, 202)
	expect(t, "record's status", made.member("status"), "pending")
	expect(t, "effects while pending", len(w.effects()), 0)
	expect(t, "summary while pending", w.send("GET", "/admin/summary", "").body, `{"effects":0,"requests":1,"duplicates":[]}`+"\n")
	expect(t, "by id", w.send("GET", "/payments/PAY-1001", "").member("status"), "pending")
	expect(t, "its reference is taken", w.send("POST", "/payments", transfer).status, 409)
	w.clock.advance(time.Minute)
	found := w.send("GET", "/payments/PAY-1001", "")
	expect(t, "by id, later", found.member("status"), "settled")
	expect(t, "nothing else changed", strings.Replace(found.body, `"settled"`, `"pending"`, 1), made.body)
	expect(t, "in the list", strings.Contains(w.send("GET", "/payments?external_ref=r-1", "").body, `"status":"settled"`), true)
	expect(t, "the key repeats the acceptance", w.send("POST", "/payments", transfer, "Idempotency-Key", "k-1").status, 202)
	effects := w.effects()
	if len(effects) != 1 || effects[0].SettledAt == nil || effects[0].SettledAt.Sub(effects[0].At) != time.Minute {
		t.Fatalf("effects %+v", effects)
	}
	expect(t, "effect's record", string(effects[0].Record), found.body)
}

func TestAcceptedWorkThatFailsOrNeverEndsHasNoEffect(t *testing.T) {
	t.Parallel()
	for ends, status := range map[sandbox.Ending]string{sandbox.Fails: "failed", sandbox.NeverEnd: "pending"} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			id := w.fault(sandbox.Fault{Kind: sandbox.Accept, Settle: time.Second, Ends: ends})
			expect(t, "status", w.send("POST", "/payments", transfer).status, 202)
			w.clock.advance(time.Hour)
			expect(t, "by id", w.send("GET", "/payments/PAY-1001", "").member("status"), status)
			expect(t, "effects", len(w.effects()), 0)
			expect(t, "fired", w.fired(id)[0].Effects, int64(0))
			expect(t, "its reference stays taken", w.send("POST", "/payments", transfer).status, 409)
			expect(t, "the next one is made at once", w.send("POST", "/payments", strings.Replace(transfer, "r-1", "r-2", 1)).status, 201)
		})
	}
}

func TestAcceptRefusesWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	w := start(t)
	for body, member := range map[string]string{
		`{"kind":"accept","ends":"perhaps"}`:        "/ends",
		`{"kind":"accept","method":"GET"}`:          "/method",
		`{"kind":"accept","settle":"9000h"}`:        "/ends",
		`{"kind":"delay","before":"1s","ends":"x"}`: "/ends",
		`{"kind":"lag","lag":"1s","settle":"1s"}`:   "/settle",
	} {
		refused := w.send("POST", "/admin/faults", body)
		expect(t, body, refused.status, 400)
		expect(t, body, refused.member("member"), member)
	}
	queued := w.send("POST", "/admin/faults", `{"kind":"accept","settle":"2s","ends":"failed"}`)
	expect(t, "settle", queued.member("settle"), "2s")
	expect(t, "ends", queued.member("ends"), "failed")
	for _, bad := range []map[string]sandbox.Settlement{{"invoices": {}}, {"bills": {Ends: "x"}}, {"bills": {After: -1}}} {
		if s, err := sandbox.Open(context.Background(), sandbox.Options{Now: w.clock.Now, Accept: bad}); err == nil {
			t.Errorf("%v was taken: %v", bad, s.Close())
		}
	}
}

// A ledger from before anything could be accepted is taken over as it is.
func TestALedgerOfTheFirstVersionIsTakenOver(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	w := start(t, func(o *sandbox.Options) { o.Path = path })
	w.send("POST", "/payments", transfer)
	w.stop()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec("DROP TABLE settlements; PRAGMA user_version = 1")
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	again := start(t, func(o *sandbox.Options) { o.Path = path }, accepting(sandbox.Settlement{}))
	expect(t, "effects", len(again.effects()), 1)
	expect(t, "its memo is its own", strings.Contains(string(again.effects()[0].Record), `"memo":{"status":"pending"}`), true)
	expect(t, "accepts", again.send("POST", "/payments", strings.Replace(transfer, "r-1", "r-2", 1)).status, 202)
	expect(t, "settled at once", len(again.effects()), 2)
}
