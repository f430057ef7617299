package onefold_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onefold-dev/onefold"
	"github.com/onefold-dev/onefold/contract"
	"github.com/onefold-dev/onefold/machine"
	"github.com/onefold-dev/onefold/sqlite"
)

// counting counts what a follower asks of the documents behind it.
type counting struct {
	onefold.Documents
	asked, read atomic.Int64
}

func (c *counting) DocumentsRevision(ctx context.Context) (int64, error) {
	c.asked.Add(1)
	return c.Documents.DocumentsRevision(ctx)
}

func (c *counting) AllDocuments(ctx context.Context) ([]onefold.Document, error) {
	c.read.Add(1)
	return c.Documents.AllDocuments(ctx)
}

// published stores documents, as another process would.
func published(t *testing.T, store onefold.Documents, text string) {
	t.Helper()
	decoded, faults := contract.DecodeFile("documents.yaml", []byte(text))
	must(t, faults.Err())
	var docs []onefold.Document
	for i := range decoded {
		docs = append(docs, decoded[i].Publication())
	}
	_, err := store.Publish(t.Context(), docs)
	must(t, err)
}

// notes are a capability of its own with a target and a connection of functions.
func notes(name string) string {
	return strings.ReplaceAll(`
kind: capability
name: NAME.post
version: 1
request: {type: object, required: [text], properties: {text: {type: string}}}
---
kind: target
name: NAME
version: 1
protocol: go
operations:
  NAME.post:
    write: {timeout: 10s}
    identity: {kind: none}
    in_doubt: [operator]
---
kind: connection
workspace: acme
name: NAME
target: NAME@1
url: go://NAME
owner: maria@acme.example
acknowledged: {by: maria@acme.example, date: 2026-11-29, reason: tests}
`, "NAME", name)
}

// openStore opens a store of its own on a file.
func openStore(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Driver: "sqlite", Now: time.Now, IDs: machine.IDs(), Migrate: true})
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	return store
}

// TestUnknownNamesReadNothingTwice: whoever asks for names that do not exist, for
// ever, costs one small question each time. The documents are read when others
// have published, once.
//
// Proves: I3a
func TestUnknownNamesReadNothingTwice(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "onefold.db")
	mine, other := openStore(t, path), openStore(t, path)
	_, err := mine.CreateWorkspace(t.Context(), "acme")
	must(t, err)
	installation, err := mine.Installation(t.Context())
	must(t, err)
	registry := contract.NewRegistry(contract.Options{Secret: []byte("a secret of the scene"), SecretID: "s1"})
	source := &counting{Documents: mine}
	follower := onefold.Follow(source, registry.Load)
	ledger, err := onefold.New(mine, onefold.Config{
		Contracts: registry, Documents: follower, IDs: machine.IDs(), Now: time.Now, Deployment: installation.Deployment,
	})
	must(t, err)
	submit := func(capability, key string) error {
		_, _, err := ledger.Submit(t.Context(), onefold.Submission{Workspace: "acme", Capability: capability, Key: key, Request: []byte(doNote)})
		return err
	}
	for round := range 3 {
		name := fmt.Sprintf("notes%d", round)
		published(t, other, notes(name))
		for n := range 50 {
			if err := submit("none.such", "k"); !errors.Is(err, onefold.ErrCapabilityUnknown) {
				t.Fatalf("an unknown name: %v", err)
			}
			if asked, read := source.asked.Load(), source.read.Load(); asked != int64(round*50+n+1) || read != int64(round+1) {
				t.Fatalf("after %d refusals and %d publications: asked %d times, read %d times", round*50+n+1, round+1, asked, read)
			}
		}
		// What is known is not asked for.
		must(t, submit(name+".post", fmt.Sprintf("k-%d", round)))
		if asked := source.asked.Load(); asked != int64(round*50+50) {
			t.Errorf("a known name was asked for: %d", asked)
		}
	}
	if revision, err := mine.DocumentsRevision(t.Context()); err != nil || revision != follower.Revision() || revision == 0 {
		t.Errorf("revision %d is loaded, %d is published: %v", follower.Revision(), revision, err)
	}
}

// gated are documents whose revision is told when the gate opens.
type gated struct {
	counting
	gate chan struct{}
}

func (g *gated) DocumentsRevision(context.Context) (int64, error) {
	g.asked.Add(1)
	<-g.gate
	return 1, nil
}

func (g *gated) AllDocuments(context.Context) ([]onefold.Document, error) {
	g.read.Add(1)
	return nil, nil
}

// TestManyWhoAskAtOnceShareOneQuestion: a question that was under way when they
// came may be older than what they look for, so that they share the next one. Who
// gives up waiting does not wait, and takes nothing from the others.
func TestManyWhoAskAtOnceShareOneQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &gated{gate: make(chan struct{})}
		follower := onefold.Follow(source, func([]onefold.Document) error { return nil })
		var group sync.WaitGroup
		ask := func(ctx context.Context, want error) {
			group.Go(func() {
				if err := follower.Renew(ctx); !errors.Is(err, want) {
					t.Errorf("answered %v, want %v", err, want)
				}
			})
		}
		leader, leave := context.WithCancel(t.Context())
		ask(leader, nil)
		synctest.Wait()
		for range 100 {
			ask(t.Context(), nil)
		}
		hasty, giveUp := context.WithCancel(t.Context())
		ask(hasty, context.Canceled)
		synctest.Wait()
		giveUp()
		leave()
		synctest.Wait()
		close(source.gate)
		group.Wait()
		if asked, read := source.asked.Load(), source.read.Load(); asked != 2 || read != 1 {
			t.Errorf("asked %d times, read %d times", asked, read)
		}
	})
}

// TestDocumentsThatCannotBeLoadedAreReadOnce: a newer onefold has published what
// this one cannot read. What was loaded stays, the refusal says that nobody knows
// here what is published, and the set is read again only when it is another one, or
// when whoever looks now and then does.
//
// Proves: I3a
func TestDocumentsThatCannotBeLoadedAreReadOnce(t *testing.T) {
	t.Parallel()
	s := newDoScene(t, doOptions{})
	source := &counting{Documents: s.Store}
	wrong := errors.New("line 3: a member of the future")
	var broken atomic.Bool
	broken.Store(true)
	follower := onefold.Follow(source, func([]onefold.Document) error {
		if broken.Load() {
			return wrong
		}
		return nil
	})
	for range 20 {
		err := follower.Renew(t.Context())
		if !errors.Is(err, onefold.ErrContractUnavailable) || !errors.Is(err, wrong) || strings.Contains(err.Error(), "line 3") {
			t.Fatalf("answered %v", err)
		}
	}
	if read := source.read.Load(); read != 1 || follower.Revision() != 0 {
		t.Errorf("read %d times, and %d is loaded", read, follower.Revision())
	}
	if err := follower.Load(t.Context()); !errors.Is(err, wrong) || source.read.Load() != 2 {
		t.Errorf("looked again: %v, read %d times", err, source.read.Load())
	}
	broken.Store(false)
	if err := follower.Renew(t.Context()); err == nil {
		t.Error("the same set was read again, though nobody published another")
	}
	published(t, s.Store, notes("later"))
	if err := follower.Renew(t.Context()); err != nil || follower.Revision() == 0 {
		t.Errorf("another set: %v", err)
	}
}

// TestWhatOthersPublishedIsKnown: two programs on one file. What one of them admits
// under a document that the other has not read yet, the other finds, carries out and
// decides. One that takes nothing up says so, and never that the key is free.
//
// Proves: I3a, I4, M22
func TestWhatOthersPublishedIsKnown(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "onefold.db")
	one := newDoScene(t, doOptions{path: path})
	two := newDoScene(t, doOptions{path: path})
	alone := newDoScene(t, doOptions{path: path, alone: true})
	published(t, one.Store, notes("fresh"))
	s := one.submission("fresh.post", "k", doNote)
	op, replayed, err := one.Ledger.Submit(t.Context(), s)
	if err != nil || replayed {
		t.Fatal(replayed, err)
	}

	// The one that takes nothing up.
	_, _, err = alone.Ledger.Submit(t.Context(), s)
	e, ok := errors.AsType[*onefold.Error](err)
	if !ok || e.Code != onefold.CodeContractUnavailable || e.ClaimChecked || e.Operation != op.ID || e.State != op.State ||
		e.Reason != string(onefold.CodeCapabilityUnknown) || strings.Contains(e.Error()+e.Hint, onefold.KeyNotUsed) {
		t.Errorf("a repeat that cannot be compared: %+v", e)
	}
	if errors.Is(err, onefold.ErrCapabilityUnknown) {
		t.Error("who asks for the sentinel hears that the capability is unknown")
	}
	s.MayRead = false
	_, _, err = alone.Ledger.Submit(t.Context(), s)
	if e, ok := errors.AsType[*onefold.Error](err); !ok || e.Operation != op.ID || e.State != "" || e.Version != 0 {
		t.Errorf("whoever may not read hears %+v", e)
	}
	s.MayRead = true
	if _, _, err := alone.Ledger.DryRun(t.Context(), s); !errors.Is(err, onefold.ErrContractUnavailable) {
		t.Errorf("a dry run: %v", err)
	}
	steps := onefold.Steps{Write: func(context.Context, onefold.Call) (onefold.WriteReport, error) { return onefold.Applied("N-1"), nil }}
	if _, err := alone.Ledger.Do(t.Context(), s, steps); !errors.Is(err, onefold.ErrContractUnavailable) {
		t.Errorf("Do: %v", err)
	}
	by := onefold.Decision{Workspace: "acme", Operation: op.ID, By: onefold.Actor{Kind: onefold.ActorPrincipal, Name: "maria"}, Reason: "tests"}
	if _, err := alone.Ledger.Retry(t.Context(), by); !errors.Is(err, onefold.ErrContractUnavailable) {
		t.Errorf("retry: %v", err)
	}

	// The one that does.
	if again, replayed, err := two.Ledger.Submit(t.Context(), s); err != nil || !replayed || again.ID != op.ID {
		t.Errorf("a repeat: %v %v %s", err, replayed, again.ID)
	}
	published(t, one.Store, notes("fresher"))
	if done, err := two.Ledger.Do(t.Context(), two.submission("fresher.post", "k", doNote), steps); err != nil || done.State != onefold.Confirmed {
		t.Errorf("Do under what was just published: %v, %s", err, done.State)
	}
	if _, _, err := two.Ledger.Submit(t.Context(), two.submission("none.such", "k", doNote)); !errors.Is(err, onefold.ErrCapabilityUnknown) {
		t.Errorf("what nobody published: %v", err)
	} else if e, _ := errors.AsType[*onefold.Error](err); !e.ClaimChecked {
		t.Error("its claim was looked up, and there is none")
	}

	// A person can withdraw what nobody here can carry out.
	if op, err = alone.Ledger.Cancel(t.Context(), by, false); err != nil || op.State != onefold.Canceled {
		t.Errorf("withdrawn: %v, %s", err, op.State)
	}
}

// TestAReenabledConnectionAdmits: that a connection is disabled is not said after
// the document that says so was replaced.
func TestAReenabledConnectionAdmits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "onefold.db")
	one, two := newDoScene(t, doOptions{path: path}), newDoScene(t, doOptions{path: path})
	published(t, one.Store, notes("memos")+"mode: disabled\n")
	if _, _, err := two.Ledger.Submit(t.Context(), two.submission("memos.post", "k", doNote)); !errors.Is(err, onefold.ErrConnectionDisabled) {
		t.Fatalf("disabled: %v", err)
	}
	published(t, one.Store, notes("memos"))
	if _, _, err := two.Ledger.Submit(t.Context(), two.submission("memos.post", "k", doNote)); err != nil {
		t.Errorf("enabled again: %v", err)
	}
}
