package contend

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/bootclock"
	"github.com/onefold-dev/onefold/internal/rig"
	"github.com/onefold-dev/onefold/sandbox"
)

// turned is the machine's clock, which a test turns forward.
type turned struct{ by atomic.Int64 }

func (c *turned) Now() time.Time { return time.Now().Add(time.Duration(c.by.Load())) }

// late carries requests and lets nobody know the first answer before it may.
type late struct {
	onefold.Carrier
	first     atomic.Bool
	out, tell chan struct{}
}

func (l *late) Carry(ctx context.Context, d onefold.Dispatch) onefold.Exchange {
	x := l.Carrier.Carry(ctx, d)
	if d.Write && l.first.CompareAndSwap(false, true) {
		close(l.out)
		<-l.tell
	}
	return x
}

// inDoubt brings an operation into doubt with its first attempt still open: the
// effect is there, the lease is over, and the worker has not told yet.
func inDoubt(t *testing.T, clock *turned) (*rig.Rig, onefold.Operation, func()) {
	t.Helper()
	l := &late{out: make(chan struct{}), tell: make(chan struct{})}
	r := rig.New(t, rig.Options{
		Scan: 20 * time.Millisecond, Now: clock.Now, Boot: bootclock.Now,
		Wrap: func(c onefold.Carrier) onefold.Carrier { l.Carrier = c; return l },
		// The answer comes, however slow the machine is.
		Edit: func(docs string) string { return strings.ReplaceAll(docs, "timeout: 1s", "timeout: 1m") },
	})
	// Look-ups tell nothing: the answer and the operator are alone with each other.
	r.Fault(sandbox.Fault{Kind: sandbox.Status, Status: 503, Method: "GET", Times: 1000})
	tell := sync.OnceFunc(func() { close(l.tell) })
	t.Cleanup(tell)
	op := r.Submit("payments.send", "k", `{"payee":"P-1","amount":"99.90","currency":"EUR"}`)
	<-l.out
	clock.by.Add(int64(2 * onefold.DefaultLease))
	op = r.Until(op.ID, "in doubt", func(op *onefold.Operation) bool { return op.State == onefold.Uncertain && len(op.OpenReviews()) > 0 })
	if !op.OpenAttempt() {
		t.Fatalf("the attempt is not open: %+v", op.Attempts)
	}
	return r, op, tell
}

// A person decides at the moment at which the worker tells after all. Whoever is
// first, nothing is lost: the decision is refused as stale, or the answer
// contradicts it.
//
// Proves: M8, M16, M19a, M20
func TestADecisionAgainstALateAnswer(t *testing.T) {
	t.Parallel()
	const rounds = 9
	var persons, answers atomic.Int64
	var group sync.WaitGroup
	for i := range rounds {
		group.Go(func() {
			if personFirst := againstALateAnswer(t, i%3 == 0, i%3 == 1); personFirst {
				persons.Add(1)
			} else {
				answers.Add(1)
			}
		})
	}
	group.Wait()
	t.Logf("the person was first %d times, the answer %d times", persons.Load(), answers.Load())
	if persons.Load() == 0 || answers.Load() == 0 {
		t.Error("it was always the same")
	}
}

// againstALateAnswer lets the person be first, or the answer, or both come at
// once, and tells who was.
func againstALateAnswer(t *testing.T, person, answer bool) (personFirst bool) {
	r, op, tell := inDoubt(t, &turned{})
	_, err := r.Ledger.Resolve(context.Background(), rig.Operator(op, "nothing there"), onefold.Resolution{Outcome: onefold.ResolveNotApplied})
	if onefold.CodeOf(err) != onefold.CodeAttemptOpen {
		t.Errorf("not applied, while the attempt is open, got %v", err)
	}
	var decided error
	decide := func() {
		d := rig.Operator(op, "the bank says no")
		d.IfVersion = op.Version
		_, decided = r.Ledger.Resolve(context.Background(), d, onefold.Resolution{Outcome: onefold.ResolveRejected})
	}
	switch {
	case person:
		decide()
		tell()
	case answer:
		tell()
		r.UntilState(op.ID, onefold.Confirmed)
		decide()
	default:
		var both sync.WaitGroup
		both.Go(decide)
		both.Go(tell)
		both.Wait()
	}
	end := r.Until(op.ID, "told", func(op *onefold.Operation) bool { return op.Settled() && !op.OpenAttempt() })
	if decided == nil {
		if end.State != onefold.Rejected || !end.Contradicted || len(end.OpenReviews()) == 0 || end.NewKeySafe() {
			t.Errorf("rejected, and then the effect came: %s, contradicted %v, %d open reviews, new key safe %v", end.State, end.Contradicted, len(end.OpenReviews()), end.NewKeySafe())
		}
	} else if code := onefold.CodeOf(decided); end.State != onefold.Confirmed || end.Contradicted || code != onefold.CodeStaleVersion && code != onefold.CodeNotDecidable {
		t.Errorf("the answer was first: %s, contradicted %v; the person got %v", end.State, end.Contradicted, decided)
	}
	r.Stop()
	if r.Effects(op.Reference) != 1 || r.Writes(op.Reference) != 1 {
		t.Errorf("%d effects, %d requests", r.Effects(op.Reference), r.Writes(op.Reference))
	}
	return decided == nil
}

// Many decide on what they all saw: one decision stands, the others are told that
// it is not so any more.
//
// Proves: M16, M28
func TestOfDecisionsAtOnceOneStands(t *testing.T) {
	t.Parallel()
	const people = 12
	r, op, tell := inDoubt(t, &turned{})
	outcomes := []onefold.Resolution{{Outcome: onefold.ResolveRejected}, {Outcome: onefold.ResolveConfirmed, Reference: "PAY-1001"}}
	results := make([]error, people)
	start := make(chan struct{})
	var group sync.WaitGroup
	for i := range people {
		group.Go(func() {
			<-start
			d := rig.Operator(op, fmt.Sprint("person ", i))
			d.By.Name, d.IfVersion = fmt.Sprint("person-", i), op.Version
			_, results[i] = r.Ledger.Resolve(context.Background(), d, outcomes[i%2])
		})
	}
	close(start)
	group.Wait()
	winner := -1
	for i, err := range results {
		switch {
		case err == nil && winner >= 0:
			t.Errorf("%d and %d both decided", winner, i)
		case err == nil:
			winner = i
		case onefold.CodeOf(err) != onefold.CodeStaleVersion:
			t.Errorf("person %d got %v", i, err)
		}
	}
	if winner < 0 {
		t.Fatal("nobody's decision stands")
	}
	now, err := r.Ledger.Operation(context.Background(), rig.Workspace, op.ID)
	want := []onefold.State{onefold.Rejected, onefold.Confirmed}[winner%2]
	if err != nil || now.State != want {
		t.Errorf("the operation is %s, %v; person %d decided %s", now.State, err, winner, want)
	}
	timeline, err := r.Store.Timeline(context.Background(), op.ID, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	decisions := 0
	for _, e := range timeline {
		if e.Event == onefold.EventResolved {
			decisions++
			if e.Actor.Name != fmt.Sprint("person-", winner) || e.Reason != fmt.Sprint("person ", winner) {
				t.Errorf("the timeline names %s (%s), person %d decided", e.Actor.Name, e.Reason, winner)
			}
		}
	}
	if decisions != 1 {
		t.Errorf("the timeline has %d decisions", decisions)
	}
	tell()
	r.Until(op.ID, "told", func(op *onefold.Operation) bool { return !op.OpenAttempt() })
}

// A lease is renewed and found expired at the same moment, again and again: it
// is either, never both.
//
// Proves: M7, M8, M9, M10
func TestARenewalAgainstExpiry(t *testing.T) {
	t.Parallel()
	const rounds = 60
	var clock atomic.Int64
	clock.Store(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	r := rig.New(t, rig.Options{Idle: true, Now: func() time.Time { return time.Unix(0, clock.Load()).UTC() }})
	ctx := context.Background()
	const lease = time.Minute
	renewed, expired := 0, 0
	for i := range rounds {
		op := r.Submit("orders.create", fmt.Sprint("k-", i), `{"supplier":"S-81","item":"bolt","quantity":12}`)
		c, err := r.Ledger.Step(ctx, op.ID, onefold.Event{Kind: onefold.EventLeased, Lease: &onefold.LeaseGrant{Worker: "w", For: lease}}, 0)
		if err != nil {
			t.Fatal(err)
		}
		token := c.Operation.Lease.Token
		clock.Add(int64(lease)) // over at this very moment
		var renewals, expiries [4]error
		start := make(chan struct{})
		var group sync.WaitGroup
		for k := range renewals {
			group.Go(func() {
				<-start
				_, renewals[k] = r.Ledger.Step(ctx, op.ID, onefold.Event{Kind: onefold.EventRenewed, Lease: &onefold.LeaseGrant{Token: token, For: lease}}, 0)
			})
			group.Go(func() {
				<-start
				_, expiries[k] = r.Ledger.Step(ctx, op.ID, onefold.Event{Kind: onefold.EventLeaseExpired, Lease: &onefold.LeaseGrant{Token: token}}, 0)
			})
		}
		close(start)
		group.Wait()
		now, err := r.Ledger.Operation(ctx, rig.Workspace, op.ID)
		if err != nil {
			t.Fatal(err)
		}
		held, ended := count(renewals[:]), count(expiries[:])
		switch {
		case ended == 0 && held == len(renewals) && now.Lease != nil && now.Lease.Token == token:
			renewed++
		case ended == 1 && held == 0 && now.Lease == nil && now.State == onefold.Prepared:
			expired++
			again, err := r.Ledger.Step(ctx, op.ID, onefold.Event{Kind: onefold.EventLeased, Lease: &onefold.LeaseGrant{Worker: "v", For: lease}}, 0)
			if err != nil || again.Operation.Lease.Token <= token {
				t.Errorf("the next lease: %v, %+v after token %d", err, again.Operation.Lease, token)
			}
		default:
			t.Errorf("%d of %d renewals and %d expiries took place; the lease is %+v, the state %s: %v %v",
				held, len(renewals), ended, now.Lease, now.State, renewals, expiries)
		}
	}
	t.Logf("%d renewed, %d expired", renewed, expired)
}

func count(errs []error) (done int) {
	for _, err := range errs {
		if err == nil {
			done++
		}
	}
	return done
}
