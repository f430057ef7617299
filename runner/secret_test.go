package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/internal/rig"
	"github.com/onefold-dev/onefold/internal/secret"
	"github.com/onefold-dev/onefold/sandbox"
)

// canary is a secret that no record may hold.
const canary = "canary-8c1f"

const tokenName = "ONEFOLD_S_ACME__ERP_TOKEN"

// variables are an environment whose one secret is there for the first few looks,
// and then again when it is set.
type variables struct {
	mu    sync.Mutex
	looks int
	value string
}

func (v *variables) lookup(name string) (string, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if name != tokenName {
		return "", false
	}
	if v.looks > 0 {
		v.looks--
		return canary, true
	}
	return v.value, v.value != ""
}

func (v *variables) set() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.value = canary
}

// authenticated gives the rig's connection a bearer token and little room.
func authenticated(reference string, pairs ...string) func(string) string {
	return edit(append([]string{
		"limits: {in_flight: 64", "auth: {bearer: token}\nsecrets: {token: \"" + reference + "\"}\nlimits: {in_flight: 4",
	}, pairs...)...)
}

// pauseOf is the connection's pause, nil where it has none.
func pauseOf(t *testing.T, r *rig.Rig) *onefold.PauseInfo {
	t.Helper()
	pauses, err := r.Store.Pauses(context.Background(), rig.Workspace)
	if err != nil {
		t.Fatal(err)
	}
	if len(pauses) == 0 {
		return nil
	}
	return &onefold.PauseInfo{Since: pauses[0].Since, By: pauses[0].By, Reason: pauses[0].Reason}
}

// untold fails if anything that is kept of an operation holds the secret.
func untold(t *testing.T, r *rig.Rig, op onefold.Operation) {
	t.Helper()
	evidence, err := r.Store.EvidenceOf(context.Background(), op.ID, "", 200)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := r.Store.Timeline(context.Background(), op.ID, 0, 200)
	if err != nil {
		t.Fatal(err)
	}
	if kept := fmt.Sprintf("%+v %+v %+v %+v", op, evidence, entries, pauseOf(t, r)); strings.Contains(kept, canary) {
		t.Errorf("the secret is in what is kept: %s", kept)
	}
}

// A connection's secret is missing. What is under way meanwhile learns it, nothing
// of the rest is begun, the pause says which reference it is, and when it is there
// everything goes on.
//
// Proves: M4, M13
func TestAMissingSecretSpendsNobodysBudget(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ reference, why string }{
		"a variable that is not set": {"env:" + tokenName, "env:" + tokenName + " is not set"},
		"a file that is not there":   {"file:acme/token", "file:acme/token is not there"},
		"a file without anything":    {"file:acme/empty", "file:acme/empty is empty"},
		"a file of somebody else's":  {"file:acme/elsewhere", "file:acme/elsewhere leads out of the workspace's folder"},
		"a folder in its place":      {"file:acme/folder", "file:acme/folder is no regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, folder := &variables{}, secretsFolder(t)
			r := rig.New(t, rig.Options{Edit: authenticated(c.reference), Secrets: &secret.Resolver{Folder: folder, LookupEnv: v.lookup}})
			ids := submitted(t, r, 20)
			r.Until(ids[0], "on a paused connection", func(*onefold.Operation) bool { return pauseOf(t, r) != nil })
			pause := pauseOf(t, r)
			if pause == nil || !strings.Contains(pause.Reason, c.why) {
				t.Fatalf("the connection is not paused for its secret: %+v", pause)
			}
			r.Stop() // what was under way is recorded, and nothing else begins
			waiting(t, r, ids, 4)

			v.set()
			if file, is := strings.CutPrefix(c.reference, "file:"); is {
				place(t, filepath.Join(folder, file))
			}
			r.Start()
			resume(t, r)
			for _, id := range ids {
				op := r.UntilState(id, onefold.Confirmed)
				agrees(t, r, op, 1, 1)
				untold(t, r, op)
			}
		})
	}
}

// secretsFolder is a secrets folder in which each secret of acme's is wrong in a
// way of its own.
func secretsFolder(t *testing.T) string {
	t.Helper()
	folder, outside := t.TempDir(), filepath.Join(t.TempDir(), "token")
	place := filepath.Join(folder, "acme")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(place, "folder"), 0o700),
		os.WriteFile(outside, []byte(canary), 0o600),
		os.WriteFile(filepath.Join(place, "empty"), []byte("\n"), 0o600),
		os.Symlink(outside, filepath.Join(place, "elsewhere")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// place puts the secret where it belongs, whatever is there.
func place(t *testing.T, file string) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(file), os.WriteFile(file, []byte(canary), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// submitted admits so many bills.
func submitted(t *testing.T, r *rig.Rig, n int) []string {
	t.Helper()
	ids := make([]string, n)
	for i := range ids {
		ids[i] = r.Submit("bills.create", fmt.Sprintf("k-%d", i), bill).ID
	}
	return ids
}

// waiting wants every operation to wait for its connection, none to have spent
// more than one attempt, and all of them no more than could be in flight.
func waiting(t *testing.T, r *rig.Rig, ids []string, inFlight int) {
	t.Helper()
	spent := 0
	for _, id := range ids {
		op, err := r.Store.Operation(context.Background(), rig.Workspace, id)
		if err != nil {
			t.Fatal(err)
		}
		spent += len(op.Attempts)
		if op.State != onefold.Prepared || op.Lease != nil || op.Due == nil || len(op.Attempts) > 1 || len(op.Reviews) > 0 {
			t.Errorf("%s with %d attempts, lease %+v, due %v, reviews %+v", op.State, len(op.Attempts), op.Lease, op.Due, op.Reviews)
		}
		explained(t, r, op)
		untold(t, r, op)
	}
	if spent > inFlight {
		t.Errorf("%d attempts were spent on a secret that is missing, with %d in flight at most", spent, inFlight)
	}
}

// explained wants the words for a person to say that the operation waits.
func explained(t *testing.T, r *rig.Rig, op onefold.Operation) {
	t.Helper()
	binding, err := r.Registry.Pinned(&op)
	if err != nil {
		t.Fatal(err)
	}
	text := onefold.Explain(op, binding.Terms(), binding.Policy(), pauseOf(t, r), time.Now())
	if !strings.Contains(text, "It waits: nothing is sent over the connection acme-erp, which was paused at") {
		t.Errorf("the words do not say that it waits: %s", text)
	}
}

// The secret vanishes while an answer is lost. The repeat that is due is not given
// up for a person, and not sent by another credential either: it waits.
//
// Proves: M11a
func TestAMissingSecretMakesNoReplayUnsafe(t *testing.T) {
	t.Parallel()
	for name, pairs := range map[string][]string{
		"a scope without the credential": nil,
		"a scope with the credential":    {"scope: [account]", "scope: [account, credential]"},
		"nothing but a replay is left":   {"scope: [account]", "scope: [account, credential]", "in_doubt: [replay, lookup, operator]", "in_doubt: [replay, operator]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := &variables{looks: 2} // the first attempt's digest, and the attempt
			r := rig.New(t, rig.Options{Edit: authenticated("env:"+tokenName, pairs...), Secrets: &secret.Resolver{LookupEnv: v.lookup}})
			r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect})
			op := r.Submit("bills.create", "k", bill)
			op = r.Until(op.ID, "not sent again", func(op *onefold.Operation) bool {
				return len(op.Attempts) == 2 && op.Attempts[1].Verdict == onefold.VerdictNotSent
			})
			if pause := pauseOf(t, r); pause == nil || !strings.Contains(pause.Reason, "env:"+tokenName) {
				t.Errorf("the pause is %+v", pause)
			}
			if op.State != onefold.Uncertain || len(op.Reviews) > 0 || op.Attempts[1].Kind != onefold.Replay {
				t.Errorf("%s, reviews %+v, attempts %+v", op.State, op.Reviews, op.Attempts)
			}
			v.set()
			resume(t, r)
			op = r.UntilState(op.ID, onefold.Confirmed)
			agrees(t, r, op, 1, 2)
			untold(t, r, op)
		})
	}
}

// A look-up that cannot authenticate says nothing about the effect, and its
// connection is paused, so that the time for finding out stands still. Look-ups
// go on, and find the effect as soon as the secret is there.
//
// Proves: M11, M16
func TestALookUpWithoutItsSecretPausesToo(t *testing.T) {
	t.Parallel()
	v := &variables{looks: 2}
	r := rig.New(t, rig.Options{Edit: authenticated("env:" + tokenName), Secrets: &secret.Resolver{LookupEnv: v.lookup}})
	r.Fault(sandbox.Fault{Kind: sandbox.DropAfterEffect})
	op := r.Submit("orders.create", "k", order)
	op = r.Until(op.ID, "looked up", func(op *onefold.Operation) bool { return op.Reconcile.Spent > 0 })
	if pause := pauseOf(t, r); pause == nil || !strings.Contains(pause.Reason, "env:"+tokenName+" is not set") {
		t.Errorf("the pause is %+v", pause)
	}
	v.set()
	op = r.UntilState(op.ID, onefold.Confirmed)
	agrees(t, r, op, 1, 1)
	untold(t, r, op)
	if !paused(t, r) {
		t.Error("a pause was lifted by something else than a person")
	}
}
